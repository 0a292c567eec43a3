#!/usr/bin/env python3
"""Counts with valgrind's callgrind what roots cost.

    test_root_cost.py PROGRAM

PROGRAM (bench/deep-roots) makes N minor collections 300,000 roots deep, or pushes and pops N roots, or opens and closes
the scopes of as many. The difference between the runs with 2 N and N, divided by N, is the cost of one in instructions,
including the loop. The test fails above the limits of MOST. The limit of a collection is for all roots together, so it
allows no scan of each word of a deep shadow stack. A scope may cost no more than a push and a pop. Exits with 77, which
meson reads as skipped, where valgrind is not installed.
"""

import re
import shutil
import subprocess
import sys
import tempfile

DEPTH = 300_000
# Arguments before N: (N, instructions allowed).
MOST = {
    ("minors", "shadow", str(DEPTH)): (20, 5_000),
    ("minors", "scoped", str(DEPTH)): (10, 30 * DEPTH),
    ("pairs", "shadow"): (100_000, 16),
    ("pairs", "scoped"): (100_000, 16),
}


def instructions(program, arguments, count, folder):
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", program, *arguments, str(count)]
    result = subprocess.run(command, capture_output=True, text=True)
    collected = re.search(r"Collected : (\d+)", result.stderr)
    if result.returncode != 0 or collected is None:
        sys.exit(f"callgrind did not run {program} {' '.join(arguments)}:\n{result.stderr[-2000:]}")
    return int(collected.group(1))


def main():
    program = sys.argv[1]
    if shutil.which("valgrind") is None:
        print("skipped: valgrind is not installed")
        return 77
    failed, each = False, {}
    with tempfile.TemporaryDirectory() as folder:
        for arguments, (count, most) in MOST.items():
            once, twice = (instructions(program, arguments, n, folder) for n in (count, 2 * count))
            each[arguments] = (twice - once) / count
            print(f"{' '.join(arguments):24} {each[arguments]:12.1f} instructions; at most {most} are allowed")
            failed |= each[arguments] > most
    if each["pairs", "scoped"] > each["pairs", "shadow"]:
        print("a scope costs more than a push and a pop")
        failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
