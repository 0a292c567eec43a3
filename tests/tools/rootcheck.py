#!/usr/bin/env python3
"""Runs tools/cradle-rootcheck on the files of tests/rootcheck, whose comments say what must be found.

    rootcheck.py TOOL INCLUDE_DIRECTORY FOLDER BUILD PATH...

Every finding must be expected on its line, by kind and by a word of its text, and every expectation must be met. In the
files of BUILD's compile database under each PATH nothing may be found. What --fix makes of the program in
FOLDER/unrooted is compiled, linked with BUILD's library and run. The tool's own messages for bad input are tried too.
If both .venv and the distribution have libclang, the files are read with each, because the two versions give different
details. Exits with 77, which Meson takes for a skip, when libclang is not installed.

Loading Python's modules and libclang takes longer than most files. So this program loads them once and forks for each run
(Forked), but for bad input, which is given to the tool as users start it.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
from importlib.machinery import SourceFileLoader
from pathlib import Path

EXPECTED = re.compile(r"expect: (\w+) ((?:(?!//|\*/).)*)")
FOUND = re.compile(r"(.*?):(\d+):\d+: (\w+): (.*)")
LEFT, WANTED_LEFT = "  left: ", re.compile(r"/\* left: (.*) \*/")
# What the program in FOLDER/unrooted prints.
PRINTED = "5050\n7 5050\n41\n6050 5050\ncradle\n10\n"
SECONDS_MOST = 60
SKIPPED = 77


def run(tool, *words, cwd=None, env=None):
    return subprocess.run([sys.executable, tool, *map(str, words)], capture_output=True, text=True, cwd=cwd, env=env)


class Forked:
    """The tool, loaded with libclang. Calling it runs it on words in a fork, as run does in a new process."""

    def __init__(self, tool):
        self.main = loaded(tool).main
        sys.path.insert(0, str(tool.parent))
        from rootcheck import fix, needless, program, syntax  # noqa: F401: for the forks

        syntax.prepare()

    def __call__(self, *words, cwd=None):
        words = [str(word) for word in words]
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            sys.stdout.flush()
            child = os.fork()
            if child == 0:
                os._exit(self._run(words, cwd, out, err))
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            texts = [file.seek(0) or file.read() for file in (out, err)]
        return subprocess.CompletedProcess(words, status, *texts)

    def _run(self, words, cwd, out, err):
        """The exit status."""
        sys.stdout, sys.stderr, sys.argv = out, err, ["cradle-rootcheck", *words]
        try:
            os.chdir(cwd or ".")
            status = self.main()
        except SystemExit as end:
            status = end.code
        except BaseException:
            traceback.print_exc()
            status = 3
        out.flush()
        err.flush()
        return status


def loaded(tool):
    loader = SourceFileLoader("cradle_rootcheck", str(tool))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def expectations(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        for kind, text in EXPECTED.findall(line):
            yield number, kind, text.strip()


def check_file(tool, include, path):
    """The number of expectations, and what differs, in words."""
    needless = ["--needless"] if path.stem == "needless" else []
    result = tool(*needless, path, "--", "-std=c++17" if path.suffix == ".cc" else "-std=c11", "-I", include)
    wanted = list(expectations(path))
    total = len(wanted)
    faults = []
    if result.returncode not in (0, 1):
        return total, [f"exit status {result.returncode}: {result.stderr}"]
    for line in result.stdout.splitlines():
        match = FOUND.match(line)
        if not match:
            continue
        number, kind, text = int(match[2]), match[3], match[4]
        met = next((w for w in wanted if w[0] == number and w[1] == kind and w[2] in text), None)
        if met is None:
            faults.append(f"not expected: {line}")
        else:
            wanted.remove(met)
    faults += [f"not found: {path.name}:{number}: {kind} {text}" for number, kind, text in wanted]
    if (result.returncode == 1) != (total > 0):
        faults.append(f"exit status {result.returncode} with {total} expectations")
    return total, faults


def check_refusals(tool, include, folder):
    """The tool must name the bad input and exit with status 2 or that of argparse."""
    cases = [
        ("a build folder that is none", ["-p", folder], "compile_commands.json"),
        ("a file that is not there", [folder / "absent.c", "--", "-I", include], "absent.c"),
        ("a file that does not compile", [folder / "rooted.c", "--"], "cradle/cradle.h"),
        ("options without a file", ["--", "-I", include], "no file is named"),
        ("changes without --fix", ["--in-place", folder], "--in-place is for --fix"),
        ("a folder without C files", [folder.parent.parent / "docs", "--", "-I", include], "no C file lies there"),
    ]
    for name, words, text in cases:
        result = run(tool, *words)
        if result.returncode != 2 or text not in result.stderr:
            yield f"{name}: exit status {result.returncode}, and no \"{text}\" in: {result.stderr}"


def check_without_database(tool, include, folder):
    """Without a compile database the tool still reads a folder, and gives a hint about what is missing."""
    with tempfile.TemporaryDirectory() as place:
        for name in ("rooted.c", "stores.c", "program.h"):
            shutil.copy(folder / name, place)
        (Path(place) / "within").mkdir()
        shutil.copy(folder / "inside.c", Path(place) / "within")
        shutil.copy(folder / "program.h", Path(place) / "within")
        result = run(tool, "--count", ".", "--", "-I", include, cwd=place)
        if result.returncode != 0 or not result.stdout.startswith("3 files, "):
            yield f"a folder: exit status {result.returncode}: {result.stdout}{result.stderr}"
        for words, text in (((), "-- -I INCLUDE"), (("rooted.c",), "cradle-rootcheck PATH... -- -I INCLUDE")):
            result = run(tool, *words, cwd=place)
            if result.returncode != 2 or text not in result.stderr:
                yield f"without a database: exit status {result.returncode}, and no \"{text}\" in: {result.stderr}"


def check_programs(tool, include, folder):
    """Each program's main is read, though both have one name."""
    result = tool(folder / "programs", "--", "-I", include)
    found = sorted(match[3] for match in map(FOUND.match, result.stdout.splitlines()) if match)
    if found != ["global", "stale", "stale"]:
        yield f"two programs: {result.stdout}{result.stderr}"


def check_hint(tool, include, folder):
    """If values have no type of their own, the tool says that it does not follow them, and how that is mended."""
    with tempfile.TemporaryDirectory() as place:
        text = (folder / "values.c").read_text(encoding="utf-8")
        program = Path(place) / "values.c"
        program.write_text(re.sub(r"\b(in_slot|in_items|in_structure|in_range|visited|stored) (?=\w|\*)", "uint64_t ", text), encoding="utf-8")
        options = (program, "--", "-std=c11", "-I", include)
        for words, wanted in (((), True), (("--value-type", "elsewhere"), False)):
            hint = tool(*words, *options).stderr
            if ("'box.inside' (uint64_t), 'entry.value' (uint64_t), 'items of list' (uint64_t) may hold" in hint) != wanted:
                yield f"values without a type, {words}: {hint}"


def check_help(tool):
    """--help needs no libclang. An empty module clang, first on the path, hides libclang here, and the copied tree has
    no .venv."""
    with tempfile.TemporaryDirectory() as place:
        copy = copy_without_venv(tool, place)
        hidden = Path(place) / "hidden"
        hidden.mkdir()
        (hidden / "clang.py").write_text("raise ImportError('hidden')\n", encoding="utf-8")
        result = run(copy, "--help", env={**os.environ, "PYTHONPATH": str(hidden)})
        if result.returncode != 0 or "--in-place" not in result.stdout:
            yield f"--help without libclang: exit status {result.returncode}: {result.stderr}"


def check_fix(tool, include, folder, build):
    """On the program without roots, --fix writes all of them, in the diff and in the file, and the result runs under
    stress."""
    with tempfile.TemporaryDirectory() as place:
        program = Path(shutil.copy(folder / "unrooted" / "program.c", place))
        options = ["program.c", "--", "-std=c11", "-I", include]
        before = program.read_text(encoding="utf-8")
        if tool(*options, cwd=place).returncode != 1:
            yield "the program without roots has no findings"
        diff = tool("--fix", *options, cwd=place)
        if program.read_text(encoding="utf-8") != before:
            yield "--fix has changed the file, without --in-place"
        fixed = tool("--fix", "--in-place", *options, cwd=place)
        if diff.returncode != 0 or fixed.returncode != 0:
            yield f"--fix leaves findings: {diff.stderr}{fixed.stderr}"
        removed = [line for line in diff.stdout.splitlines() if line.startswith("-") and not line.startswith("---")]
        added = [line[1:] for line in diff.stdout.splitlines() if line.startswith("+") and not line.startswith("+++")]
        lines = program.read_text(encoding="utf-8").splitlines()
        if not added or any(line not in lines for line in added) or len(lines) != len(before.splitlines()) + len(added) - len(removed):
            yield f"the diff is not what --in-place writes: {diff.stdout}"
        if tool(*options, cwd=place).returncode != 0:
            yield "findings are left in the file that --fix has written"
        yield from check_running(program, include, build)


def check_lines(tool, include, folder):
    """Findings that --fix leaves are reported with the lines that the file has after the command, whether it was
    changed or not, and with the reason."""
    with tempfile.TemporaryDirectory() as place:
        inner = Path(place) / "inner"
        inner.mkdir()
        shutil.copy(folder / "program.h", place)
        program = Path(shutil.copy(folder / "unrooted" / "left.c", inner))
        for in_place in ((), ("--in-place",)):
            result = tool("--fix", *in_place, program, "--", "-std=c11", "-I", include)
            lines = program.read_text(encoding="utf-8").splitlines()
            told = [int(match[2]) for line in result.stderr.splitlines() if (match := FOUND.match(line))]
            reasons = [line[len(LEFT) :] for line in result.stderr.splitlines() if line.startswith(LEFT)]
            wanted = {number: match[1] for number, line in enumerate(lines, 1) if (match := WANTED_LEFT.search(line))}
            left = list(wanted)
            if len(reasons) == len(left) and not all(map(str.__contains__, reasons, wanted.values())):
                yield f"--fix {' '.join(in_place)} says why it leaves each: {reasons}, and not: {wanted}"
            call = next(number for number, line in enumerate(lines, 1) if "/* the call */" in line)
            if told != left or len(reasons) != len(left) or f"line {call}, which" not in result.stderr:
                yield f"--fix {' '.join(in_place)} tells lines {told} of {left}, and not line {call}: {result.stderr}"


def check_running(program, include, build):
    library = next((path for name in ("libcradle.so", "libcradle.a") if (path := build / name).exists()), None)
    if library is None:
        print("not compiled and run: the build has no library")
        return
    made = program.parent / "program"
    compiler = os.environ.get("CC", "cc").split()
    compiled = subprocess.run(
        [*compiler, "-std=c11", "-Wall", "-Werror", "-I", include, program, library, f"-Wl,-rpath,{build}", "-pthread", "-lm", "-o", made],
        capture_output=True, text=True)
    if compiled.returncode != 0:
        yield f"what --fix has written does not compile: {compiled.stderr}"
        return
    for stress in ({}, {"CRADLE_STRESS": "1"}, {"CRADLE_STRESS": "1,major=10", "CRADLE_VERIFY": "1"}):
        try:
            result = subprocess.run([made], capture_output=True, text=True, env={**os.environ, **stress}, timeout=SECONDS_MOST)
        except subprocess.TimeoutExpired:
            yield f"what --fix has written does not end with {stress}"
            continue
        if result.returncode != 0 or result.stdout != PRINTED:
            yield f"what --fix has written, with {stress}: exit status {result.returncode}: {result.stdout}{result.stderr}"


def begin_tree(tool, build, paths):
    """The longest run, beside the others."""
    words = [sys.executable, tool, "-p", build, *paths]
    return subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def check_tree(reading):
    """The tree's own programs are correct, so nothing may be found in them."""
    said = reading.communicate()[0]
    print("".join(line for line in said.splitlines(keepends=True) if "may collect" in line), end="")
    if reading.returncode != 0:
        yield f"in the tree: exit status {reading.returncode}\n{said}"


def check_files(tool, include, folder):
    faults = []
    for path in sorted(folder.glob("*.c*")):
        total, differing = check_file(tool, include, path)
        print(f"{path.name}: {total} findings expected, {len(differing)} differences")
        faults += differing
    return faults


def copy_without_venv(tool, folder):
    """The tool in a tree of its own, where it finds no .venv and takes the distribution's libclang."""
    tools = Path(shutil.copytree(tool.parent / "rootcheck", Path(folder) / "tools" / "rootcheck")).parent
    shutil.copy(tool.parent / "cradle_version.py", tools)
    shutil.copy(tool.parent.parent / "meson.build", folder)
    return Path(shutil.copy(tool, tools))


def check_with_distribution(tool, include, folder):
    """Reads the files once more, in another process: this one has loaded a libclang."""
    with tempfile.TemporaryDirectory() as other:
        copy = copy_without_venv(tool, other)
        result = run(__file__, copy, include, folder)
        if result.returncode == SKIPPED:
            print("not tried with the distribution's libclang: it is not installed (python3-clang)")
            return
        print(f"\nwith the distribution's libclang:\n{result.stdout}", end="")
        if result.returncode != 0:
            yield f"with the distribution's libclang: exit status {result.returncode}: {result.stderr}"


def go_on_with_libclang(tool):
    try:
        loaded(tool).run_by_first_with_libclang(__file__)
    except SystemExit:
        print("skipped: libclang's Python module is not installed (tools/setup)")
        sys.exit(SKIPPED)


def check_all(tool, include, folder, build, paths):
    """Begins with what starts processes, while the tree is read beside it."""
    tree = begin_tree(tool, build, paths)
    faults = [*check_refusals(tool, include, folder), *check_without_database(tool, include, folder), *check_help(tool)]
    if (tool.parent.parent / ".venv" / "made-from").exists():
        faults += check_with_distribution(tool, include, folder)
    forked = Forked(tool)
    faults += check_files(forked, include, folder)
    faults += [*check_programs(forked, include, folder), *check_hint(forked, include, folder)]
    faults += check_fix(forked, include, folder, build)
    faults += check_lines(forked, include, folder)
    return [*faults, *check_tree(tree)]


def main():
    tool, include, folder, *whole = (Path(word).resolve() for word in sys.argv[1:])
    go_on_with_libclang(tool)
    faults = check_all(tool, include, folder, whole[0], whole[1:]) if whole else check_files(Forked(tool), include, folder)
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
