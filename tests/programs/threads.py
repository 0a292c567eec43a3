#!/usr/bin/env python3
"""The example with threads prints what its lists must hold, with any number of workers, plain and in stress modes. In
turns, a run is the same each time: its log shows it. (With one worker: of several that wait for one condition, the
system chooses who goes on.)

    threads.py PROGRAM
"""

import json
import os
import subprocess
import sys
import tempfile
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


# Of the log: what happens, but not when.
EVENTS = {"gc-minor", "gc-collect-step", "gc-collect-done"}
CLOCKS = {"t", "heap", "time_ns", "processor_ns", "stop_ns"}


def story(program, plain, folder, mode):
    log = os.path.join(folder, "log.json")
    run = subprocess.run([program, "1", "30"], capture_output=True, text=True, check=False, timeout=100,
                         env={**plain, **mode, "CRADLE_GC_NURSERY": "64k", "CRADLE_LOG": "json,gc:" + log})
    with open(log, encoding="utf-8") as lines:
        events = [json.loads(line) for line in lines]
    return run.stdout + run.stderr, [{key: value for key, value in event.items() if key not in CLOCKS}
                                     for event in events if event["event"] in EVENTS]


def check_turns(program, plain):
    """Each seed twice. The main thread waits for the one worker, so other seeds may have the same story."""
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        for mode in (",turns=1", ",turns=2", ",turns=3", "5,major=3,turns=1"):
            first, again = (story(program, plain, folder, {"CRADLE_STRESS": mode}) for _ in range(2))
            if first[0] != expected(30):
                faults.append(f"{mode}: {first[0]!r}")
            if first[1] != again[1] or not first[1]:
                faults.append(f"{mode}: {len(first[1])} and {len(again[1])} events, which differ, or none")
    return faults


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
    if sys.platform == "linux":
        faults += check_turns(sys.argv[1], plain)
    print("\n".join(faults) or f"{len(runs)} runs")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
