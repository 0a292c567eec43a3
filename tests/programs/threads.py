#!/usr/bin/env python3
"""The example with threads prints what its lists must hold, with any number of workers, plain and in stress modes.

    threads.py PROGRAM
"""

import os
import subprocess
import sys
from collections import Counter

TASKS = 30
MODES = [
    {}, {"CRADLE_GC_NURSERY": "64k"}, {"CRADLE_GC_PAUSE": "1us", "CRADLE_GC_NURSERY": "64k"},
    {"CRADLE_GC_THREADS": "1", "CRADLE_GC_NURSERY": "64k"}, {"CRADLE_STRESS": "1"}, {"CRADLE_STRESS": "7,major=2"},
    {"CRADLE_STRESS": "1", "CRADLE_VERIFY": "1"}, {"CRADLE_STRESS": "3,major=3", "CRADLE_GC_THREADS": "1"},
]
MORE_TASKS = 3000  # for which the small nurseries collect
WORKERS = [1, 3, 8]


def sequence(number):
    while number != 1:
        yield number
        number = number // 2 if number % 2 == 0 else 3 * number + 1
    yield 1


def expected(tasks):
    counts = Counter(number for task in range(1, tasks + 1) for number in sequence(task))
    total = sum(number * count for number, count in counts.items())
    return f"{tasks} lists, {sum(counts.values())} numbers, {len(counts)} different; sums {total} and {total}\n"


def main():
    plain = {name: value for name, value in os.environ.items() if not name.startswith("CRADLE_")}
    faults = []
    runs = [(mode, workers, tasks) for mode in MODES for workers in WORKERS
            for tasks in ([TASKS] if "CRADLE_STRESS" in mode else [TASKS, MORE_TASKS])]
    for mode, workers, tasks in runs:
        run = subprocess.run([sys.argv[1], str(workers), str(tasks)], capture_output=True, text=True, env={**plain, **mode},
                             check=False)
        if run.returncode != 0 or run.stdout != expected(tasks) or run.stderr != "":
            faults.append(f"{mode}, {workers} workers: exit {run.returncode}: {run.stdout!r} {run.stderr!r}")
    print("\n".join(faults) or f"{len(runs)} runs")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
