#!/usr/bin/env python3
"""The example with fibers says the same plain and in every stress mode.

    fibers.py PROGRAM
"""

import os
import subprocess
import sys

PRIMES = "2 3 5 7 11 13 17 19 23 29 31 37 \n12 primes\nthe same leaves: 1 0\nfibers freed: 18\n"
MODES = [
    {}, {"CRADLE_GC_NURSERY": "32k"}, {"CRADLE_GC_PAUSE": "1us", "CRADLE_GC_NURSERY": "32k"},
    {"CRADLE_GC_THREADS": "1", "CRADLE_GC_NURSERY": "32k"}, {"CRADLE_STRESS": "1"}, {"CRADLE_STRESS": "7,major=2"},
    {"CRADLE_STRESS": "3", "CRADLE_VERIFY": "1"}, {"CRADLE_STRESS": "3,major=3", "CRADLE_GC_THREADS": "1"},
    {"CRADLE_STRESS": "5", "CRADLE_QUARANTINE": "8"}, {"CRADLE_STRESS": "1,major=2", "CRADLE_QUARANTINE": "4"},
    {"CRADLE_STRESS": "auto"},
]


def main():
    plain = {name: value for name, value in os.environ.items() if not name.startswith("CRADLE_")}
    faults = []
    for mode in MODES:
        run = subprocess.run([sys.argv[1], "40"], capture_output=True, text=True, env={**plain, **mode}, check=False)
        if run.returncode != 0 or run.stdout != PRIMES or "not accepted" in run.stderr or ": unknown" in run.stderr:
            faults.append(f"{mode}: exit {run.returncode}: {run.stdout!r} {run.stderr!r}")
    print("\n".join(faults) or f"{len(MODES)} modes")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
