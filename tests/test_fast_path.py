#!/usr/bin/env python3
"""Counts the instructions of an allocation, the loop around it included, with valgrind's callgrind.

    test_fast_path.py PROGRAM [MOST]

PROGRAM N allocates N objects (bench/fast-path-loop). The difference between 2 N and N objects is the loop and nothing else,
because the nursery holds them all. More than MOST instructions (11, RPython's figure) is a failure. Exits with 77, which meson
reads as skipped, where valgrind is not installed.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

COUNT = 1_000_000


def instructions(program, count, folder):
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", program, str(count)]
    result = subprocess.run(command, capture_output=True, text=True)
    collected = re.search(r"Collected : (\d+)", result.stderr)
    if result.returncode != 0 or collected is None:
        sys.exit(f"callgrind did not run {program}:\n{result.stderr[-2000:]}")
    return int(collected.group(1))


def main():
    program, most = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 11.0
    if shutil.which("valgrind") is None:
        print("skipped: valgrind is not installed")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        once, twice = (instructions(program, count, pathlib.Path(folder)) for count in (COUNT, 2 * COUNT))
    each = (twice - once) / COUNT
    print(f"{each:.3f} instructions an allocation, loop included; at most {most:g} are allowed")
    # Start-up reads files of the system whose length may change between the two runs.
    return 0 if each <= most + 0.001 else 1


if __name__ == "__main__":
    sys.exit(main())
