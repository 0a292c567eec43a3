#!/usr/bin/env python3
"""Counts with valgrind's callgrind what services cost, and what they cost a program that uses none.

    test_service_cost.py PROGRAM

PROGRAM KIND N (bench/service-loop) lets N objects die young, or makes N empty minor collections. The difference between 2 N and N
is the instructions of one, the loop included. More than MOST allows is a failure; the limits leave room for another compiler,
not for another pass over the objects. Exits with 77, which meson reads as skipped, where valgrind is not installed.
"""

import re
import shutil
import subprocess
import sys
import tempfile

# Kind: (N, instructions allowed). A nursery of 1 MiB is filled several times.
MOST = {
    "minor": (2_000, 820),
    "plain": (200_000, 12),
    "weak": (200_000, 60),
    "destructor": (200_000, 75),
    "ephemeron": (200_000, 150),
    "finalizer": (200_000, 600),
}


def instructions(program, kind, count, folder):
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", program, kind, str(count)]
    result = subprocess.run(command, capture_output=True, text=True)
    collected = re.search(r"Collected : (\d+)", result.stderr)
    if result.returncode != 0 or collected is None:
        sys.exit(f"callgrind did not run {program} {kind}:\n{result.stderr[-2000:]}")
    return int(collected.group(1))


def main():
    program = sys.argv[1]
    if shutil.which("valgrind") is None:
        print("skipped: valgrind is not installed")
        return 77
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for kind, (count, most) in MOST.items():
            once, twice = (instructions(program, kind, n, folder) for n in (count, 2 * count))
            each = (twice - once) / count
            print(f"{kind:12} {each:7.1f} instructions; at most {most} are allowed")
            failed |= each > most
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
