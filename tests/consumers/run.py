#!/usr/bin/env python3
"""Uses the library as its users do.

    run.py installed   installs a build into an empty prefix and compiles a program against it with
                       pkg-config and the plain compiler, linked to the archive and to the shared library
    run.py symbols     checks that the shared library exports cradle_ names only, and that the archive
                       defines no global name but cradle_ and crd_
    run.py subproject  builds the program in a Meson project that has the source tree under subprojects/
    run.py headers     compiles each public header alone, as C11 and as C++17, with every compiler found

Exits with 0, 1 (failed) or 77 (cannot be done here).
"""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
SKIPPED = 77


class Failure(Exception):
    pass


def run(command, **options):
    command = [str(word) for word in command]
    print("+", shlex.join(command), flush=True)
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options
    )
    if done.returncode != 0:
        raise Failure(f"{done.stdout}exit status {done.returncode}: {shlex.join(command)}")
    return done.stdout


def expect(condition, message):
    if not condition:
        raise Failure(message)


def empty(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def only(paths, what):
    paths = list(paths)
    expect(len(paths) == 1, f"expected one {what}, found {[str(path) for path in paths]}")
    return paths[0]


# --- an installed library ---


def installed(arguments):
    work = empty(arguments.work)
    run([arguments.meson, "install", "-C", arguments.build, "--no-rebuild", "--quiet",
         "--destdir", work / "stage"])
    pc = only((work / "stage").rglob("cradle.pc"), "cradle.pc")
    header = only((work / "stage").rglob("include/cradle/cradle.h"), "cradle.h")
    prefix = header.parents[2]
    pkg_config = os.environ.get("PKG_CONFIG", "pkg-config")

    def ask(*words):
        environment = {**os.environ, "PKG_CONFIG_LIBDIR": str(pc.parent), "PKG_CONFIG_PATH": ""}
        command = [pkg_config, f"--define-variable=prefix={prefix}", *words, "cradle"]
        return shlex.split(run(command, env=environment))

    expect(ask("--modversion") == [arguments.version], "pkg-config tells another version")
    expect(str(prefix / "include") in " ".join(ask("--cflags")), "--cflags lacks the prefix")
    made = 0
    library_folder = pc.parent.parent
    if list(library_folder.glob("libcradle.a")):
        libraries = ["-Wl,-Bstatic", *ask("--static", "--libs"), "-Wl,-Bdynamic"]
        program = compile_consumer(arguments, work / "consumer-static", ask("--cflags"), libraries)
        expect(b"libcradle.so" not in program.read_bytes(), "the archive was not used")
        check_consumer(arguments, program, os.environ)
        machine = compile_consumer(arguments, work / "hundred-lines", ask("--cflags"), libraries, "../hundred_lines.c")
        run([sys.executable, HERE.parent / "sweep.py", machine])
        made += 1
    if list(library_folder.glob("libcradle.so")):
        program = compile_consumer(arguments, work / "consumer-shared", ask("--cflags"), ask("--libs"))
        expect(b"libcradle.so.0" in program.read_bytes(), "the shared library was not used")
        check_consumer(arguments, program, {**os.environ, "LD_LIBRARY_PATH": str(library_folder)})
        made += 1
    expect(made > 0, "no library was installed")


def compile_consumer(arguments, program, cflags, libraries, source="consumer.c"):
    command = [*shlex.split(arguments.cc), "-std=c11", *WARNINGS, *cflags, HERE / source]
    run([*command, "-o", program, *libraries])
    return program


def check_consumer(arguments, program, environment):
    answer = run([program], env=environment).strip()
    expect(answer == arguments.version, f"{program} printed {answer!r}, not {arguments.version!r}")


# --- names ---


def symbols(arguments):
    nm = shutil.which(os.environ.get("NM", "nm"))
    if nm is None:
        return SKIPPED
    for library in arguments.libraries:
        shared = ".so" in library.name
        words = ["-D"] if shared else []
        listing = run([nm, *words, "--defined-only", "--extern-only", "--format=posix", library])
        names = {line.split()[0] for line in listing.splitlines() if len(line.split()) > 1}
        allowed = ("cradle_",) if shared else ("cradle_", "crd_")
        # sys/sdt.h defines it in whatever has static probes: weak, hidden, and shared by all of them.
        strangers = sorted(name for name in names - {"_.stapsdt.base"} if not name.startswith(allowed))
        expect(not strangers, f"{library.name}: names without a prefix: {', '.join(strangers)}")
        expect("cradle_version" in names, f"{library.name}: cradle_version is missing")
        print(f"{library.name}: {len(names)} names")
    return 0


# --- a subproject ---


def subproject(arguments):
    work = empty(arguments.work)
    source = work / "source"
    (source / "subprojects").mkdir(parents=True)
    shutil.copy(HERE / "project" / "meson.build", source)
    shutil.copy(HERE / "consumer.c", source)
    (source / "subprojects" / "cradle").symlink_to(arguments.source, target_is_directory=True)
    for kind in ("default", "static"):
        build = work / kind
        options = [] if kind == "default" else [f"-Dcradle:default_library={kind}"]
        run([arguments.meson, "setup", *options, build, source])
        targets = json.loads(run([arguments.meson, "introspect", "--targets", build]))
        names = {target["name"] for target in targets}
        expect(names == {"cradle", "consumer"}, f"a subproject makes {sorted(names)}")
        run([arguments.meson, "compile", "-C", build])
        program = build / "consumer"
        linked = b"libcradle.so" in program.read_bytes()
        expect(linked == (kind == "default"), f"{kind}: linked to the wrong library")
        check_consumer(arguments, program, os.environ)


# --- headers alone ---


def headers(arguments):
    include = arguments.source / "include"
    found = sorted(include.rglob("*.h"))
    expect(found, "no public headers")
    languages = {"gcc": ("c", "c11"), "clang": ("c", "c11"), "g++": ("c++", "c++17"), "clang++": ("c++", "c++17")}
    compilers = [name for name in languages if shutil.which(name)]
    if not compilers:
        return SKIPPED

    def compile_alone(compiler, header):
        language, standard = languages[compiler]
        # Twice, for the include guard; and a function, because ISO C forbids an empty file.
        name = header.relative_to(include)
        text = f"#include <{name}>\n#include <{name}>\nint used(void);\nint used(void) {{ return 0; }}\n"
        words = [compiler, "-x", language, f"-std={standard}", *WARNINGS, "-I", str(include)]
        if "clang" in compiler:
            words.append("-Wthread-safety")
        words += ["-fsyntax-only", "-"]
        done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
        return "" if done.returncode == 0 else f"{compiler} {name}:\n{done.stderr}"

    with ThreadPoolExecutor() as pool:
        jobs = [pool.submit(compile_alone, compiler, header) for compiler in compilers for header in found]
        errors = [job.result() for job in jobs if job.result()]
    print(f"{len(found)} headers, each with {', '.join(compilers)}")
    expect(not errors, "\n".join(errors))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    source = argparse.ArgumentParser(add_help=False)
    source.add_argument("--source", type=Path, default=HERE.parent.parent)
    consumer = argparse.ArgumentParser(add_help=False)
    consumer.add_argument("--work", type=lambda text: Path(text).resolve(), required=True, help="an own folder; it is emptied")
    consumer.add_argument("--meson", default="meson")
    consumer.add_argument("--version", required=True, help="the version that the program must print")

    command = commands.add_parser("installed", parents=[consumer])
    command.add_argument("--build", type=Path, required=True)
    command.add_argument("--cc", default="cc")
    command.set_defaults(function=installed)
    command = commands.add_parser("symbols")
    command.add_argument("libraries", type=Path, nargs="+")
    command.set_defaults(function=symbols)
    command = commands.add_parser("subproject", parents=[source, consumer])
    command.set_defaults(function=subproject)
    command = commands.add_parser("headers", parents=[source])
    command.set_defaults(function=headers)

    arguments = parser.parse_args()
    try:
        return arguments.function(arguments) or 0
    except Failure as failure:
        print(failure)
        return 1


if __name__ == "__main__":
    sys.exit(main())
