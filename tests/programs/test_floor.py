#!/usr/bin/env python3
"""Checks the cost of the smallest program: memory, huge pages and system calls, but never times.

    test_floor.py FLOOR

FLOOR is the program of bench/floor.c, which prints a table of costs. Where these cannot be checked, the test says why
and exits with 77.
"""

import subprocess
import sys

SKIP = 77
# Limits for a program that makes 10,000 objects and exits, above the costs of a program that does nothing.
MIB_MOST = 1.2
CALLS_MOST = 60


def rows(text):
    table = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 6 and cells[2].replace(".", "").isdigit():
            table[cells[0]] = {"MiB": float(cells[2]), "huge": float(cells[3]), "calls": int(cells[5])}
    return table


def main():
    table = rows(subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout)
    first = subprocess.run([sys.argv[1], "create"], check=True, capture_output=True, text=True).stdout
    assert first.startswith("The first heap: made in "), first
    nothing, failures = table["nothing"], []
    if nothing["MiB"] <= 0 or nothing["huge"] != 0:
        print("skipped: the system does not tell how much is resident, or all memory is huge")
        return SKIP
    for name in "cradle", "cradle-kept", "cradle, static", "cradle-kept, static":
        row = table[name]
        more = row["MiB"] - nothing["MiB"]
        print(f"{name}: {more:.2f} MiB more than nothing, {row['huge']} MiB huge, {row['calls']} calls")
        if more > MIB_MOST or row["huge"] != 0:
            failures.append(f"{name} has {more:.2f} MiB more than a program that does nothing; at most {MIB_MOST}")
        if 0 < nothing["calls"] and row["calls"] > nothing["calls"] + CALLS_MOST:
            failures.append(f"{name} makes {row['calls']} calls, {nothing['calls']} without a heap")
    for failure in failures:
        print(f"WRONG: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
