#!/usr/bin/env python3
"""Removes roots at random from a program that is right, and prints what tools/cradle-rootcheck makes of it.

    rootcheck_judge.py [--seed N] [--count N] TOOL INCLUDE_DIRECTORY FOLDER

FOLDER's C files are copied. COUNT of their CRADLE_ROOT and CRADLE_ROOT_VALUE lines are removed, chosen by the seed. For each it
prints whether a finding in the same function names the variable, or --needless had called the root needless. Findings that belong
to no removed root are false, or follow from one: judge them from the source.
"""

import argparse
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = re.compile(r"^[ \t]*CRADLE_ROOT(?:_VALUE)?\([^,\n]*, (\w[\w.]*)\);[ \t]*$")
FOUND = re.compile(r"(.*?):(\d+):\d+: (\w+): (.*) \[(\w+)\]$")


def read(tool, include, folder, *words):
    ran = subprocess.run([sys.executable, tool, *words, folder, "--", "-std=gnu11", "-I", include, "-I", folder, "-I", folder.parent],
                         capture_output=True, text=True, cwd=folder)
    if ran.returncode not in (0, 1):
        sys.exit(f"{tool}: {ran.stderr}")
    return [match.groups() for line in ran.stdout.splitlines() if (match := FOUND.match(line))]


def function_at(lines, number):
    """The name of the function whose body holds a line: the last line before it that begins in the first column with a name."""
    for line in reversed(lines[:number]):
        match = re.match(r"[A-Za-z_][^;=]*?(\w+)\(", line)
        if match:
            return match[1]
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("paths", nargs=3, type=Path, metavar="PATH")
    args = parser.parse_args()
    tool, include, folder = (path.resolve() for path in args.paths)
    with tempfile.TemporaryDirectory() as place:
        copy = Path(shutil.copytree(folder, Path(place) / folder.name))
        shutil.copytree(folder.parent.parent / "runtime", Path(place) / "runtime", dirs_exist_ok=True)
        needless = {(name, re.search(r"'(.*?)'", text)[1], function)
                    for name, _, kind, text, function in read(tool, include, copy, "--needless") if kind == "needless"}
        places = [(path, number, match[1]) for path in sorted(copy.rglob("*.c"))
                  for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()) if (match := ROOT.match(line))]
        removed = random.Random(args.seed).sample(places, min(args.count, len(places)))
        owners = []
        for path, number, variable in removed:
            lines = path.read_text(encoding="utf-8").splitlines()
            owners.append((path.name, variable, function_at(lines, number)))
            path.write_text("\n".join([*lines[:number], "", *lines[number + 1 :], ""]), encoding="utf-8")
        found = read(tool, include, copy)
    left = list(found)
    for name, variable, function in sorted(owners):
        mine = [one for one in found if one[4] == function and Path(one[0]).name == name and f"'{variable}'" in one[3]]
        left = [one for one in left if one not in mine]
        verdict = "found" if mine else "needless" if (name, variable, function) in needless else "MISSED"
        print(f"{verdict}: {name}: {variable} in {function}")
    for one in left:
        print(f"besides: {':'.join(one[:3])}: {one[3]} [{one[4]}]")
    print(f"seed {args.seed}: {len(places)} roots, {len(removed)} removed, {len(found)} findings, {len(left)} of them besides")


if __name__ == "__main__":
    main()
