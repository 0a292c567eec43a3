#!/usr/bin/env python3
"""Counts with valgrind's callgrind the cost of services, their cost for a program that uses none, and the cost of
tracing.

    test_service_cost.py SERVICE-LOOP TRACE-LOOP

bench/service-loop KIND N lets N objects die young, or makes N empty minor collections; bench/trace-loop KIND N promotes
N objects, and marks and sweeps them four times where the kind says so. The difference between the runs with 2 N and N,
divided by N, is the cost of one in instructions, including the loop. The test fails above the limits of the tables
below. The limits leave room for another compiler, but not for another pass over the objects. Exits with 77, which meson
reads as skipped, where valgrind is not installed.
"""

import re
import shutil
import subprocess
import sys
import tempfile

# Kind: (N, instructions allowed). N fills a nursery of 1 MiB several times.
SERVICES = {
    "minor": (2_000, 1_050),
    "plain": (200_000, 12),
    "weak": (200_000, 60),
    "destructor": (200_000, 75),
    "ephemeron": (200_000, 150),
    "finalizer": (200_000, 600),
}
# Cells of 24 bytes and arrays of 8 words, one for each kind of items. Each record also makes a string and a number.
TRACING = {
    "promote-cell": (20_000, 130),
    "promote-tree": (20_000, 215),
    "promote-references": (20_000, 720),
    "promote-values": (20_000, 770),
    "promote-entries": (20_000, 800),
    "promote-mixed": (20_000, 780),
    "promote-record": (20_000, 830),
    "mark-cell": (20_000, 540),
    "mark-tree": (20_000, 570),
    "mark-references": (20_000, 2_300),
    "mark-values": (20_000, 3_050),
    "mark-entries": (20_000, 3_200),
    "mark-mixed": (20_000, 2_900),
    "mark-record": (20_000, 2_300),
}


def instructions(program, kind, count, folder):
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", program, kind, str(count)]
    result = subprocess.run(command, capture_output=True, text=True)
    collected = re.search(r"Collected : (\d+)", result.stderr)
    if result.returncode != 0 or collected is None:
        sys.exit(f"callgrind did not run {program} {kind}:\n{result.stderr[-2000:]}")
    return int(collected.group(1))


def main():
    programs = {sys.argv[1]: SERVICES, sys.argv[2]: TRACING}
    if shutil.which("valgrind") is None:
        print("skipped: valgrind is not installed")
        return 77
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for program, kinds in programs.items():
            for kind, (count, most) in kinds.items():
                once, twice = (instructions(program, kind, n, folder) for n in (count, 2 * count))
                each = (twice - once) / count
                print(f"{kind:18} {each:7.1f} instructions; at most {most} are allowed")
                failed |= each > most
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
