#!/usr/bin/env python3
"""Runs tools/cradle-rootcheck on the files of tests/rootcheck, whose comments say what must be found.

    rootcheck.py TOOL INCLUDE_DIRECTORY FOLDER BUILD PATH...

Every finding must be expected on its line, by kind and by a word of its text, and every expectation must be met. In the
files of BUILD's compile database under each PATH nothing may be found. The tool's own messages for bad input are tried too.
Where both .venv and the distribution have libclang, which differ in what they tell, all this is done with each.
Exits with 77, which Meson takes for a skip, when libclang is not installed.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

EXPECTED = re.compile(r"expect: (\w+) ((?:(?!//|\*/).)*)")
FOUND = re.compile(r"(.*?):(\d+):\d+: (\w+): (.*)")
LIBCLANG_MISSING = "libclang's Python module is missing"


def run(tool, *words):
    return subprocess.run([sys.executable, tool, *map(str, words)], capture_output=True, text=True)


def expectations(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        for kind, text in EXPECTED.findall(line):
            yield number, kind, text.strip()


def check_file(tool, include, path):
    """The number of expectations, and what differs, in words."""
    result = run(tool, path, "--", "-std=c11", "-I", include)
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
    """Bad input must be named, with exit status 2 or argparse's."""
    cases = [
        ("a build folder that is none", ["-p", folder], "compile_commands.json"),
        ("a file that is not there", [folder / "absent.c", "--", "-I", include], "absent.c"),
        ("a file that does not compile", [folder / "rooted.c", "--"], "cradle/cradle.h"),
        ("options without a file", ["--", "-I", include], "no file is named"),
    ]
    for name, words, text in cases:
        result = run(tool, *words)
        if result.returncode != 2 or text not in result.stderr:
            yield f"{name}: exit status {result.returncode}, and no \"{text}\" in: {result.stderr}"


def check_tree(tool, build, paths):
    """The tree's own programs, which are right."""
    result = run(tool, "-p", build, *paths)
    print("".join(result.stdout.splitlines(keepends=True)[-1:]), end="")
    if result.returncode != 0:
        yield f"in the tree: exit status {result.returncode}\n{result.stdout}{result.stderr}"


def check_all(tool, include, folder, build, paths):
    faults = list(check_refusals(tool, include, folder))
    for path in sorted(folder.glob("*.c")):
        total, differing = check_file(tool, include, path)
        print(f"{path.name}: {total} findings expected, {len(differing)} differences")
        faults += differing
    return faults + list(check_tree(tool, build, paths))


def has_libclang(tool):
    return LIBCLANG_MISSING not in run(tool, "--help").stderr


def copy_without_venv(tool, folder):
    """The tool in a tree of its own, where it finds no .venv and takes the distribution's libclang."""
    tools = Path(shutil.copytree(tool.parent / "rootcheck", Path(folder) / "tools" / "rootcheck")).parent
    return Path(shutil.copy(tool, tools))


def main():
    tool, include, folder, build, *paths = (Path(word) for word in sys.argv[1:])
    if not has_libclang(tool):
        print("skipped: libclang's Python module is not installed (tools/setup)")
        return 77
    faults = check_all(tool, include, folder, build, paths)
    if (tool.parent.parent / ".venv" / "made-from").exists():
        with tempfile.TemporaryDirectory() as other:
            copy = copy_without_venv(tool, other)
            if has_libclang(copy):
                print("\nwith the distribution's libclang:")
                faults += check_all(copy, include, folder, build, paths)
            else:
                print("not tried with the distribution's libclang: it is not installed (python3-clang)")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
