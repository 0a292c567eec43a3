#!/usr/bin/env python3
"""Counts the instructions of an allocation, the loop around it included, with valgrind's callgrind.

    test_fast_path.py PROGRAM [KIND=MOST...]

PROGRAM N KIND allocates N objects of a kind (bench/fast-path-loop). The instructions in the kind's loop for 2 N
objects, less those for N, are those of N allocations, because the nursery holds all objects. One allocation in each MiB
takes the slow path, which adds less than TOLERANCE to the average. The test fails above MOST instructions (11 for the
kind node, RPython's figure). Exits with 77, which meson reads as skipped, where valgrind is not installed.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

COUNTS = {"node": 1_000_000, "typed": 1_000_000}
OTHER_COUNT = 300_000
TOLERANCE = 0.005


def instructions(program, count, kind, folder):
    loop = "loop_" + kind.replace("-", "_")
    command = ["valgrind", "--tool=callgrind", f"--toggle-collect={loop}", f"--callgrind-out-file={folder}/out",
               program, str(count), kind]
    result = subprocess.run(command, capture_output=True, text=True)
    collected = re.search(r"Collected : (\d+)", result.stderr)
    if result.returncode != 0 or collected is None:
        sys.exit(f"callgrind did not run {program}:\n{result.stderr[-2000:]}")
    return int(collected.group(1))


def main():
    program, limits = sys.argv[1], sys.argv[2:] or ["node=11"]
    if shutil.which("valgrind") is None:
        print("skipped: valgrind is not installed")
        return 77
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for kind, most in (limit.split("=") for limit in limits):
            count = COUNTS.get(kind, OTHER_COUNT)
            once, twice = (instructions(program, objects, kind, pathlib.Path(folder)) for objects in (count, 2 * count))
            each = (twice - once) / count
            print(f"{kind:18} {each:7.3f} instructions an allocation, loop included; at most {most} are allowed")
            failed |= not 1 < each <= float(most) + TOLERANCE  # 0: the loop was not found
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
