#!/usr/bin/env python3
"""Uses the library as its users do.

    run.py installed   installs a build into an empty prefix; compiles a program against it with pkg-config and the
                       plain compiler, linked to the archive and to the shared library, and the tutorial's VM as
                       docs/building.md does, with pkg-config and with CMake; runs each installed tool; uninstalls it. The build
                       that docs/building.md installs must consist of nothing else
    run.py symbols     checks that the shared library exports the names of exported-names.txt and no other, and that the
                       archive defines no global name but cradle_ and crd_; --write makes the list
    run.py subproject  builds the program in a Meson project that has the source tree under subprojects/
    run.py wrap        builds the tutorial's VM as docs/building.md does, as a Meson project with a wrap file
    run.py two-files   the same from cradle.c and cradle.h, and with them the model test and others: at -O3, where the compiler sees the
                       whole library at once and punishes a wrong alias; and with the POSIX backend
    run.py copies      uses several copies of the two files in one program: shared objects that hide the library, which dlopen
                       loads (with musl, too, if musl-gcc is there), two prefixes in one source file, and all of it static
    run.py cmake       builds the program in a CMake project that has the source tree in a folder or fetches it, and installs
                       the library by CMake alone
    run.py headers     compiles each public header alone, as C11 and as C++17, macros.c, and consumer.cpp as every C++ from
                       11 to 20, with every compiler found and the warnings that hosts turn on

Exits with 0, 1 (failed) or 77 (cannot be done here).
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tree"))
from snippets import blocks_of, text_of  # noqa: E402

ROOT = HERE.parent.parent
BUILDING = ROOT / "docs" / "building.md"
EXPORTED = HERE / "exported-names.txt"
TUTORIAL = ROOT / "examples" / "tutorial" / "vm.c"
# A program of the tutorial's machine, and what it prints.
VM_CODE, VM_ANSWER = "e=l 1000=n [n l,=l n1-+=n n] 0=s [s l<+=s l>=l l?] s.", "500500"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
# What hosts turn on besides: nothing of it may come from a header or a macro of the library.
STRICT = ["-Wcast-align", "-Wcast-qual", "-Wconversion", "-Wshadow", "-Wsign-conversion", "-Wundef"]
# Where only what is built and found matters.
UNOPTIMISED = "-Doptimization=0"
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


# --- the tutorial's machine ---


def fresh(folder):
    """An empty folder with the tutorial's program in it."""
    shutil.copy(TUTORIAL, empty(folder))
    return folder


def check_vm(program, environment=os.environ):
    for variables in ({}, {"CRADLE_STRESS": "1,major=100"}):
        answer = run([program, VM_CODE], env={**environment, **variables}).strip()
        expect(answer == VM_ANSWER, f"{program} printed {answer!r}, not {VM_ANSWER!r}")


def documented_command(part):
    """The line of docs/building.md that compiles the machine with the words of part in it."""
    lines = [line for block in blocks_of(BUILDING) if block.words == ["sh"] for line in block.lines]
    return only((line for line in lines if part in line), f"command with {part} in {BUILDING}")


# --- an installed library ---


def installed(arguments):
    work = empty(arguments.work)
    # What was installed from this build before must stay what "uninstall" takes away.
    log = arguments.build / "meson-logs" / "install-log.txt"
    before = log.read_text() if log.exists() else None
    try:
        run([arguments.meson, "install", "-C", arguments.build, "--no-rebuild", "--quiet", "--destdir", work / "stage"])
        machine, environment = use_installed(arguments, work)
        use_tools(arguments, work, machine, environment)
        run(["ninja", "-C", arguments.build, "uninstall"])
    finally:
        if before is not None:
            log.write_text(before)
    left = [str(path) for path in (work / "stage").rglob("*")]
    expect(not left, f"left after uninstalling: {left}")
    builds_nothing_else(arguments, work)


def builds_nothing_else(arguments, work):
    """The build that docs/building.md installs compiles no test, benchmark or example."""
    lines = [line.strip() for line in BUILDING.read_text(encoding="utf-8").splitlines()]
    words = shlex.split(only((line for line in lines if line.startswith("meson setup") and "--prefix" in line), "meson setup"))
    run([arguments.meson, "setup", work / "build", *words[3:]], cwd=ROOT)
    steps = run(["ninja", "-C", work / "build", "-n"]).splitlines()
    expect(any("Linking target libcradle.so" in step for step in steps), "the library is not built")
    strangers = [step for step in steps if re.search(r" (tests|bench|examples)/", step)]
    expect(not strangers, f"not installed, but built: {strangers}")


def use_installed(arguments, work):
    """Returns the tutorial's machine and the environment that it runs in."""
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
        machine = compile_consumer(arguments, work / "hundred-lines", ask("--cflags"), libraries, "../programs/hundred_lines.c")
        run([sys.executable, HERE.parent / "programs" / "sweep.py", machine])
        made += 1
    if list(library_folder.glob("libcradle.so")):
        program = compile_consumer(arguments, work / "consumer-shared", ask("--cflags"), ask("--libs"))
        expect(b"libcradle.so.1" in program.read_bytes(), "the shared library was not used")
        check_consumer(arguments, program, {**os.environ, "LD_LIBRARY_PATH": str(library_folder)})
        made += 1
    expect(made > 0, "no library was installed")

    libraries = {**os.environ, "LD_LIBRARY_PATH": str(library_folder)}
    folder = fresh(work / "pkg-config")
    flags = shlex.join(ask("--cflags", "--libs"))
    command = documented_command("pkg-config").replace("$(pkg-config --cflags --libs cradle)", flags)
    expect(flags in command, f"{BUILDING} asks pkg-config for something else")
    run(with_compiler(command, shlex.split(arguments.cc)), cwd=folder)
    check_vm(folder / "vm", libraries)
    use_cmake(arguments, fresh(work / "cmake"), prefix, libraries)
    return folder / "vm", libraries


# --- the installed tools ---


def use_tools(arguments, work, machine, environment):
    stage = work / "stage"
    folder = only(stage.rglob("bin"), "bin")
    share = folder.parent / "share"
    expect((share / "licenses" / "cradle" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes(), "the licence differs")
    tools = {name: folder / name for name in ("cradle-heap", "cradle-report", "cradle-rootcheck")}
    expect({path.name for path in folder.iterdir()} == set(tools), f"in bin: {sorted(path.name for path in folder.iterdir())}")
    environment = {**environment, "PYTHONDONTWRITEBYTECODE": "1"}  # or there is more than was installed
    for name, tool in tools.items():
        expect(f"usage: {name}" in run([tool, "--help"], env=environment), f"{name} --help says something else")
        expect(run([tool, "--version"], env=environment) == f"{name} {arguments.version}\n", f"{name} --version says something else")
        expect((share / "man" / "man1" / f"{name}.1").exists(), f"{name} has no man page")

    log = work / "gc.log"
    run([machine, VM_CODE], env={**environment, "CRADLE_LOG": f"gc:{log}", "CRADLE_GC_NURSERY": "4K"})
    expect("minor" in run([tools["cradle-report"], log], env=environment), "cradle-report finds no collection")
    use_rootcheck(tools["cradle-rootcheck"], folder.parent / "include", machine.with_name("vm.c"), environment)
    use_gdb_script(stage, share, environment)


def use_rootcheck(tool, include, source, environment):
    """With the libclang of the tree's Python tools, which an installed tool does not look for, or the one that it finds."""
    python = ROOT / ".venv" / "bin" / "python"
    command = [python if python.exists() else sys.executable, tool, source, "--", "-I", include]
    try:
        run(command, env=environment)
    except Failure as failure:
        expect("libclang's Python module is missing" in str(failure), str(failure))
        print("libclang is not installed: cradle-rootcheck was only asked for its help")


def use_gdb_script(stage, share, environment):
    libraries = [path for path in stage.rglob("libcradle.so.*.*.*") if not path.name.endswith(".py")]
    for library in libraries:
        script = share / "gdb" / "auto-load" / library.relative_to(stage).with_name(library.name + "-gdb.py")
        expect(script.exists(), f"gdb would look for {script}")
        if shutil.which("gdb") is not None:
            told = run(["gdb", "-nx", "-batch", "-ex", f"source {script}", "-ex", "help cradle heap"], env=environment)
            expect("cradle heap [EXPRESSION]" in told, f"gdb knows no command of {script}: {told}")


def with_compiler(command, compiler):
    words = shlex.split(command)
    expect(words[0] == "cc", f"not a compiler's command: {command}")
    return [*compiler, *words[1:]]


def use_cmake(arguments, folder, prefix, libraries):
    cmake = shutil.which("cmake")
    if cmake is None:
        print("cmake is not installed: find_package is not tried")
        return
    cmake_with_ninja = [cmake, "-G", "Ninja"]  # Meson needs ninja, so it is there; make may not be
    project = text_of(BUILDING, "cmake")
    for target in ("cradle::cradle", "cradle::static", "Cradle::cradle", "Cradle::static"):
        (folder / "CMakeLists.txt").write_text(project.replace("cradle::cradle", target))
        build = folder / target.replace("::", "-")
        run([*cmake_with_ninja, "-S", folder, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}",
             f"-DCMAKE_C_COMPILER={shlex.split(arguments.cc)[-1]}", f"-DCMAKE_C_FLAGS={arguments.flags}"])
        run([cmake, "--build", build])
        check_vm(build / "vm", libraries)
    # A version that is not there must be refused.
    for version in ("0.1", "1.99", "2.0"):
        (folder / "CMakeLists.txt").write_text(project.replace("Cradle 1", f"Cradle {version}"))
        done = subprocess.run([*cmake_with_ninja, "-S", folder, "-B", folder / version, f"-DCMAKE_PREFIX_PATH={prefix}"],
                              capture_output=True, text=True, check=False)
        expect(done.returncode != 0 and "Cradle" in done.stderr, f"CMake takes this version for {version}")


def compile_consumer(arguments, program, cflags, libraries, source="consumer.c"):
    command = [*shlex.split(arguments.cc), "-std=c11", *WARNINGS, *shlex.split(arguments.flags), *cflags, HERE / source]
    run([*command, "-o", program, *libraries])
    return program


def check_consumer(arguments, program, environment):
    answer = run([program], env=environment).strip()
    expect(answer == arguments.version, f"{program} printed {answer!r}, not {arguments.version!r}")


# --- names ---


NM = shutil.which(os.environ.get("NM", "nm"))


def check_names(library, allowed):
    """The names that the library exports."""
    if NM is None:
        print(f"nm is not installed: the names in {library.name} are not checked")
        return set()
    words = ["-D"] if ".so" in library.name else []
    listing = run([NM, *words, "--defined-only", "--extern-only", "--format=posix", library])
    # The second word is a letter, the kind; it is not in the line that says that a file has no symbols.
    names = {line.split()[0] for line in listing.splitlines() if len(line.split()) > 1 and len(line.split()[1]) == 1}
    # sys/sdt.h defines it in whatever has static probes: weak, hidden, and shared by all of them.
    names.discard("_.stapsdt.base")
    strangers = sorted(name for name in names if not name.startswith(allowed))
    expect(not strangers, f"{library.name}: names without a prefix: {', '.join(strangers)}")
    expect("cradle_heap_new" in names, f"{library.name}: cradle_heap_new is missing")
    print(f"{library.name}: {len(names)} names")
    return names


def check_exported(names, write):
    """The list and the library must agree: docs/releases.md says when a name may be taken away."""
    if write:
        EXPORTED.write_text("".join(f"{name}\n" for name in sorted(names)), encoding="utf-8")
    listed = set(EXPORTED.read_text(encoding="utf-8").split())
    expect(names >= listed, f"no longer exported, so that old programs do not start: {', '.join(sorted(listed - names))} "
                            "(docs/releases.md; tests/consumers/exported-names.txt)")
    expect(names == listed, f"exported, but not in tests/consumers/exported-names.txt: {', '.join(sorted(names - listed))} "
                            "(\"tests/consumers/run.py symbols --write LIBRARY\" writes the list)")


def symbols(arguments):
    if NM is None:
        return SKIPPED
    for library in arguments.libraries:
        is_shared = ".so" in library.name
        names = check_names(library, ("cradle_",) if is_shared else ("cradle_", "crd_"))
        if is_shared:
            check_exported(names, arguments.write)
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
        run([arguments.meson, "setup", UNOPTIMISED, *options, build, source])
        targets = json.loads(run([arguments.meson, "introspect", "--targets", build]))
        names = {target["name"] for target in targets}
        expect(names == {"cradle", "consumer"}, f"a subproject makes {sorted(names)}")
        run([arguments.meson, "compile", "-C", build])
        program = build / "consumer"
        linked = b"libcradle.so" in program.read_bytes()
        expect(linked == (kind == "default"), f"{kind}: linked to the wrong library")
        check_consumer(arguments, program, os.environ)


def commit_all(folder):
    """Makes the folder a repository of what lies in it."""
    identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@localhost", "-c", "commit.gpgsign=false"]
    for words in (["init", "--quiet"], ["add", "."], [*identity, "commit", "--quiet", "-m", "All"]):
        run(["git", "-C", folder, *words])


def wrap(arguments):
    if shutil.which("git") is None:
        print("git is not installed")
        return SKIPPED
    # The repository that the wrap file names: the library as it lies here.
    repository = empty(arguments.work) / "repository"
    for name in ("include", "gc", "runtime"):
        shutil.copytree(arguments.source / name, repository / name)
    for name in ("meson.build", "meson_options.txt"):
        shutil.copy(arguments.source / name, repository)
    commit_all(repository)

    folder = fresh(arguments.work / "my-vm")
    (folder / "meson.build").write_text(text_of(BUILDING, "meson"))
    (folder / "subprojects").mkdir()
    text = text_of(BUILDING, "ini")
    expect("url = URL\n" in text, f"{BUILDING}: the wrap file has no place for the repository")
    (folder / "subprojects" / "cradle.wrap").write_text(text.replace("url = URL\n", f"url = {repository.as_uri()}\n"))
    # An installed library must not take the subproject's place.
    run([arguments.meson, "setup", UNOPTIMISED, "--wrap-mode=forcefallback", folder / "build", folder])
    run([arguments.meson, "compile", "-C", folder / "build"])
    check_vm(folder / "build" / "vm")
    return 0


# --- two files ---


def two_files(arguments):
    folder = fresh(arguments.work)
    run([sys.executable, arguments.source / "tools" / "amalgamate", folder / "cradle"])
    compiler = shlex.split(arguments.cc)
    run(with_compiler(documented_command("-c cradle/cradle.c"), compiler), cwd=folder)
    run(with_compiler(documented_command("cradle.o"), compiler), cwd=folder)
    check_vm(folder / "vm")

    flat = fresh(folder / "flat")
    for name in ("cradle.c", "cradle.h"):
        shutil.copy(folder / "cradle" / name, flat)
    program = (flat / "vm.c").read_text()
    expect('"cradle/cradle.h"' in program, "the tutorial includes another header")
    (flat / "vm.c").write_text(program.replace('"cradle/cradle.h"', '"cradle.h"'))
    run([*compiler, "-std=c11", "vm.c", "cradle.c", "-o", "vm"], cwd=flat)
    check_vm(flat / "vm")

    library = folder / "cradle.o"
    # The builds of tools/check have the POSIX backend with optimisation, so the second is for the macro.
    for flags, operations in (["-O3"], 10000), (["-O0", "-DCRADLE_PLATFORM_POSIX=1"], 6000):
        words = [*compiler, "-std=c11", *WARNINGS, *flags, "-I", folder]
        run([*words, "-c", folder / "cradle" / "cradle.c", "-o", library])
        check_names(library, ("cradle_",))
        # What reads dumps is made from the tree, since it knows their format from gc/.
        tree = ["-DMODEL_PUBLIC", "-I", arguments.source, "-I", arguments.source / "include"]
        run([*compiler, "-std=c11", *WARNINGS, *flags, *tree, "-c", HERE.parent / "model" / "model_walk.c", "-o", folder / "model_walk.o"])
        run([*words, folder / "vm.c", library, "-o", folder / "vm"])
        run([*words, HERE.parent / "programs" / "hundred_lines.c", library, "-o", folder / "hundred_lines"])
        model = [HERE.parent / "model" / "test_model.c", folder / "model_walk.o"]
        run([*words, "-DMODEL_PUBLIC", "-I", arguments.source, *model, library, "-o", folder / "test_model"])
        check_vm(folder / "vm")
        run([folder / "hundred_lines"])
        run([folder / "test_model", "--ops", operations])

    if shutil.which("g++") is None:
        print("g++ is not installed: cradle.h is not tried in C++")
        return
    run(["g++", "-std=c++17", *WARNINGS, "-I", folder, HERE / "consumer.cpp", library, "-o", folder / "consumer"])
    run([folder / "consumer"])
    # cradle.hpp beside the two files, in a folder of any name.
    (folder / "cradle").rename(folder / "gc")
    tutorial = (arguments.source / "examples" / "tutorial" / "vm.cpp").read_text()
    (folder / "vm.cpp").write_text(tutorial.replace("<cradle/cradle.hpp>", '"gc/cradle.hpp"'))
    run(["g++", "-std=c++17", *WARNINGS, "vm.cpp", library, "-o", "vm-cpp"], cwd=folder)
    check_vm(folder / "vm-cpp")
    (folder / "gc").rename(folder / "cradle")
    run(["g++", "-std=c++17", *WARNINGS, "-I", folder, HERE.parent / "cpp" / "test_cpp.cpp", library, "-o", folder / "test_cpp"])
    run([folder / "test_cpp"])


# --- a part of a CMake project ---


def cmake(arguments):
    program = shutil.which("cmake")
    if program is None:
        print("cmake is not installed")
        return SKIPPED
    work = empty(arguments.work)
    configure = [program, "-G", "Ninja", f"-DCMAKE_C_COMPILER={shlex.split(arguments.cc)[-1]}"]
    tree = fresh(work / "tree")
    (tree / "cradle").symlink_to(arguments.source, target_is_directory=True)
    (tree / "CMakeLists.txt").write_text(documented_project("tree"))
    run([*configure, "-S", tree, "-B", tree / "build"])
    flags = (tree / "build" / "build.ninja").read_text()
    expect("-O2" in flags, "without a build type, the library is not optimised")
    run([*configure, "-S", tree, "-B", tree / "build", "-DCMAKE_BUILD_TYPE=Debug"])  # now the compiler need not
    run([program, "--build", tree / "build"])
    check_vm(tree / "build" / "vm")
    run([program, "--install", tree / "build", "--prefix", work / "nothing"])
    expect(not (work / "nothing").exists(), "a part of another project installs something")

    fetched = fresh(work / "fetched")
    text = documented_project("fetched")
    expect("GIT_REPOSITORY URL GIT_TAG main" in text, f"{BUILDING}: FetchContent has no place for the repository")
    # The tree as it lies here; git's part is CMake's.
    text = text.replace("GIT_REPOSITORY URL GIT_TAG main", f"SOURCE_DIR {arguments.source}")
    (fetched / "CMakeLists.txt").write_text(text)
    run([*configure, "-S", fetched, "-B", fetched / "build", "-DBUILD_SHARED_LIBS=ON", "-DCMAKE_BUILD_TYPE=Debug", "-DCRADLE_INSTALL=ON"])
    run([program, "--build", fetched / "build"])
    expect(b"libcradle.so.1" in (fetched / "build" / "vm").read_bytes(), "BUILD_SHARED_LIBS makes no shared library")
    check_vm(fetched / "build" / "vm")
    prefix = work / "prefix"
    run([program, "--install", fetched / "build", "--prefix", prefix])
    installed_library = only(prefix.rglob("libcradle.so"), "libcradle.so")
    check_exported(check_names(installed_library, ("cradle_",)), False)
    user = fresh(work / "user")
    (user / "CMakeLists.txt").write_text(text_of(BUILDING, "cmake"))
    run([*configure, "-S", user, "-B", user / "build", f"-DCMAKE_PREFIX_PATH={prefix}"])
    run([program, "--build", user / "build"])
    check_vm(user / "build" / "vm", {**os.environ, "LD_LIBRARY_PATH": str(installed_library.parent)})
    return 0


def documented_project(kind):
    """The project of docs/building.md, with another way to find the library."""
    way = only((block for block in blocks_of(BUILDING) if block.words == ["cmake", kind]), f"block cmake {kind}").text
    text = text_of(BUILDING, "cmake")
    expect("find_package(Cradle 1 REQUIRED)\n" in text, f"{BUILDING}: the project finds the library in another way")
    return text.replace("find_package(Cradle 1 REQUIRED)\n", way)


# --- several copies ---


HIDDEN = '-DCRADLE_API=__attribute__((__visibility__("hidden")))'
STATIC = "-DCRADLE_API=static __attribute__((__unused__))"


def amalgamated(arguments, folder, *words):
    run([sys.executable, arguments.source / "tools" / "amalgamate", *words, folder])
    return folder


def copies(arguments):
    work = empty(arguments.work)
    compiler = shlex.split(arguments.cc)
    newer = amalgamated(arguments, work / "newer")
    header = newer / "cradle.h"
    text = header.read_text()
    expect("#define CRADLE_VERSION_MAJOR 1\n" in text, "the version stands elsewhere in cradle.h")
    header.write_text(text.replace("#define CRADLE_VERSION_MAJOR 1\n", "#define CRADLE_VERSION_MAJOR 2\n"))
    folders = [amalgamated(arguments, work / "older"), newer]
    use_shared_copies(compiler, work, folders, "exported", [], "10000 10000 0 0")  # they meet
    use_shared_copies(compiler, work, folders, "hidden", [HIDDEN], "10000 10000 20000 20000")
    if shutil.which("musl-gcc") is not None:
        use_shared_copies(["musl-gcc"], work, folders[1:], "musl", [HIDDEN], "20000 20000")
    else:
        print("musl-gcc is not installed: the two files are not tried with musl")
    use_prefixes(arguments, compiler, work)
    use_static_copy(compiler, work, folders[0])


def use_shared_copies(compiler, work, folders, kind, flags, answer):
    """A shared object for each folder, all loaded into one program."""
    build = [*compiler, "-std=c11", *WARNINGS, "-D_GNU_SOURCE", "-pthread"]
    loader = work / f"load-{kind}"
    run([*build, HERE / "load.c", "-o", loader, "-Wl,--no-as-needed", "-ldl"])
    libraries = [work / f"{kind}-{folder.name}.so" for folder in folders]
    for folder, library in zip(folders, libraries):
        run([*build, *flags, "-shared", "-fPIC", "-I", folder, HERE / "copy.c", folder / "cradle.c", "-o", library])
        if flags and NM is not None:
            names = run([NM, "-D", "--defined-only", library])
            expect("cradle_" not in names and "copy_works" in names, f"{library.name} exports {names}")
    told = run([loader, *libraries]).strip()
    expect(told == answer, f"{kind} copies answer {told}, not {answer}")


def use_prefixes(arguments, compiler, work):
    """Two copies under other names, both in one source file. Nothing in them has the old names, but environment variables."""
    parts, sources = [], []
    for name in ("first", "other_gc"):
        folder = amalgamated(arguments, work / name, "--prefix", name)
        part = (HERE / "copy.c").read_text().replace('"cradle.h"', f'"{name}.h"')
        part = part.replace("cradle_", f"{name}_").replace("CRADLE_", f"{name.upper()}_")
        parts.append(re.sub(r"\b(pair|pair_types|list_of_numbers|copy_works)\b", rf"{name}_\1", part))
        sources += [folder / f"{name}.c"]
        left = set(re.findall(r"(?<!\w)cradle_\w+", (folder / f"{name}.h").read_text() + (folder / f"{name}.c").read_text()))
        expect(not left, f"names that --prefix {name} leaves: {sorted(left)[:10]}")
        macros = {word for word in re.findall(r"(?<!\w)CRADLE_\w+", (folder / f"{name}.h").read_text())}
        known = set(re.findall(r"`(CRADLE_\w+)`", (ROOT / "docs" / "environment.md").read_text()))
        expect(macros <= known, f"macros that --prefix {name} leaves: {sorted(macros - known)[:10]}")
    program = work / "prefixes.c"
    program.write_text("".join(parts) + "int main(void) { return first_copy_works() == 10000 && other_gc_copy_works() == 10000 ? 0 : 1; }\n")
    build = [*compiler, "-std=c11", *WARNINGS]
    run([*build, "-I", work / "first", "-I", work / "other_gc", program, *sources, "-o", work / "prefixes", "-pthread"])
    run([work / "prefixes"])
    log = run([work / "prefixes"], env={**os.environ, "CRADLE_LOG": "gc-heap-end:-"})
    expect(log.count("{gc-heap-end") == 2, "a renamed copy does not read CRADLE_LOG")
    for name in ("Caps", "", "a-b", "9x", "x_", "cradle.c"):
        command = [sys.executable, arguments.source / "tools" / "amalgamate", "--prefix", name, work / "refused"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        expect(done.returncode == 2 and "are accepted, such as lang_gc" in done.stderr, f"--prefix {name!r} is accepted")


def use_static_copy(compiler, work, folder):
    """The library as a part of one source file, which exports nothing."""
    program = work / "static.c"
    program.write_text('#include "cradle.c"\n#include "copy.c"\nint main(void) { return copy_works() == 10000 ? 0 : 1; }\n')
    build = [*compiler, "-std=c11", *WARNINGS, STATIC, "-I", folder, "-I", HERE]
    run([*build, "-c", program, "-o", work / "static.o"])
    if NM is not None:
        names = run([NM, "--defined-only", "--extern-only", "--format=posix", work / "static.o"])
        expect("cradle_" not in names, f"a static copy exports {names}")
    run([*compiler, work / "static.o", "-o", work / "static", "-pthread"])
    run([work / "static"])


# --- headers alone ---


# What programs define for themselves; the headers must not stumble over it.
MACROS = [f"-D{name}=__attribute__((__{name}__))" for name in ("noinline", "unused", "cold", "always_inline", "warn_unused_result")]


def headers(arguments):
    include = arguments.source / "include"
    found = sorted(include.rglob("*.h")) + sorted(include.rglob("*.hpp"))
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
        words = [compiler, "-x", language, f"-std={standard}", *WARNINGS, *STRICT, *MACROS, "-I", str(include)]
        if compiler == "g++":  # clang++ warns of C's own functions, too
            words.append("-Wold-style-cast")
        if "clang" in compiler:
            words.append("-Wthread-safety")
        words += ["-fsyntax-only", "-"]
        done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
        return "" if done.returncode == 0 else f"{compiler} {name}:\n{done.stderr}"

    def compile_consumer(compiler, *words):
        program = HERE / ("consumer.cpp" if compiler.endswith("++") else "macros.c")
        words = [compiler, *words, *WARNINGS, *STRICT, *MACROS, "-I", str(include), "-fsyntax-only", str(program)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return "" if done.returncode == 0 else f"{' '.join(words)}:\n{done.stderr}"

    with ThreadPoolExecutor() as pool:
        jobs = [pool.submit(compile_alone, compiler, header) for compiler in compilers for header in found
                if header.suffix == ".h" or compiler.endswith("++")]
        for compiler in compilers:
            if compiler.endswith("++"):
                jobs += [pool.submit(compile_consumer, compiler, f"-std=c++{year}") for year in (11, 14, 17, 20)]
                jobs.append(pool.submit(compile_consumer, compiler, "-std=c++11", "-DCRADLE_CHECKED=1"))
            else:
                jobs += [pool.submit(compile_consumer, compiler, "-std=c11", f"-DCRADLE_CHECKED={on}") for on in (0, 1)]
        errors = [job.result() for job in jobs if job.result()]
    print(f"{len(found)} headers, each with {', '.join(compilers)}")
    expect(not errors, "\n".join(errors))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    source = argparse.ArgumentParser(add_help=False)
    source.add_argument("--source", type=Path, default=ROOT)
    work = argparse.ArgumentParser(add_help=False)
    work.add_argument("--work", type=lambda text: Path(text).resolve(),
                      help="a folder that is emptied; else one outside of the tree, taken away in the end")
    consumer = argparse.ArgumentParser(add_help=False, parents=[work])
    consumer.add_argument("--meson", default="meson")
    consumer.add_argument("--version", required=True, help="the version that the program must print")

    command = commands.add_parser("installed", parents=[consumer])
    command.add_argument("--build", type=Path, required=True)
    command.add_argument("--cc", default="cc")
    command.add_argument("--flags", default="", help="for the compiler")
    command.set_defaults(function=installed)
    command = commands.add_parser("symbols")
    command.add_argument("libraries", type=Path, nargs="+")
    command.add_argument("--write", action="store_true", help="write the list of the shared library's names")
    command.set_defaults(function=symbols)
    command = commands.add_parser("subproject", parents=[source, consumer])
    command.set_defaults(function=subproject)
    command = commands.add_parser("wrap", parents=[source, consumer])
    command.set_defaults(function=wrap)
    command = commands.add_parser("two-files", parents=[source, work])
    command.add_argument("--cc", default="cc")
    command.set_defaults(function=two_files)
    command = commands.add_parser("cmake", parents=[source, consumer])
    command.add_argument("--cc", default="cc")
    command.set_defaults(function=cmake)
    command = commands.add_parser("copies", parents=[source, work])
    command.add_argument("--cc", default="cc")
    command.set_defaults(function=copies)
    command = commands.add_parser("headers", parents=[source])
    command.set_defaults(function=headers)

    arguments = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix="cradle-") as outside:
            if getattr(arguments, "work", outside) is None:
                arguments.work = Path(outside).resolve()
            return arguments.function(arguments) or 0
    except Failure as failure:
        print(failure)
        return 1


if __name__ == "__main__":
    sys.exit(main())
