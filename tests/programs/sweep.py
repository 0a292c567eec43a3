#!/usr/bin/env python3
"""Runs a program with various nursery sizes and stress modes; the output of every run must be the same.

    sweep.py [--long] [--timeout SECONDS] PROGRAM [ARGUMENT...]

The program starts its heap with cradle_heap_new_from_environment, so that the CRADLE_ variables set here reach it. Each
run must exit with 0, print what the first run printed, and say nothing about a CRADLE_ variable on standard error (if a
value were refused, the sweep would check less than it claims). In a cross build Meson's MESON_EXE_WRAPPER runs the
program. --long runs every combination; without it, a few that take seconds.
"""

import argparse
import concurrent.futures
import itertools
import os
import shlex
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import progress  # noqa: E402

SIZES = ["4K", "5K", "8K", "12K", "16K", "32K", "48K", "64K", "100K", "128K", "256K", "512K", "1M", "3M", "4M", "8M",
         "16M", "32M", "64M"]
STRESS = [{}, {"CRADLE_STRESS": "1"}, {"CRADLE_STRESS": "7"}, {"CRADLE_STRESS": "3,major=5"},
          {"CRADLE_STRESS": "5,seed=11", "CRADLE_QUARANTINE": "3"}, {"CRADLE_QUARANTINE": "1"}]
VERIFY = [{}, {"CRADLE_VERIFY": "1"}]
SLOWNESS = 5  # of emulators
QUICK_SIZES = ["4K", "5K", "32K", "1M", "64M"]
QUICK_VERIFIED = ["4K", "64K"]


def combinations(every):
    """The environments to run in. The first is the plainest, with whose output the others are compared."""
    yield {"CRADLE_GC_NURSERY": "4M"}
    if every:
        for size, stress, verify in itertools.product(SIZES, STRESS, VERIFY):
            yield {"CRADLE_GC_NURSERY": size, **stress, **verify}
        for policy in ("off", "hugetlb"):
            yield {"CRADLE_GC_NURSERY": "64K", "CRADLE_HUGEPAGES": policy}
        return
    for size, stress in itertools.product(QUICK_SIZES, STRESS):
        yield {"CRADLE_GC_NURSERY": size, **stress}
    for size in QUICK_VERIFIED:
        yield {"CRADLE_GC_NURSERY": size, "CRADLE_VERIFY": "1"}
        yield {"CRADLE_GC_NURSERY": size, "CRADLE_VERIFY": "1", "CRADLE_STRESS": "7"}


def run(command, variables, timeout):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CRADLE_")}
    environment.update(variables)
    try:
        return subprocess.run(command, env=environment, capture_output=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return None


def fault(result, expected):
    """A sentence that says what is wrong with a run; None when nothing is."""
    if result is None:
        return "did not end in time"
    if result.returncode != 0:
        what = f"signal {-result.returncode}" if result.returncode < 0 else f"exit status {result.returncode}"
        return f"{what}: {result.stderr.decode(errors='replace')[-2000:].strip()}"
    if b"CRADLE_" in result.stderr:
        return f"a variable was refused: {result.stderr.decode(errors='replace').strip()}"
    if not result.stdout:
        return "printed nothing"
    return first_difference(expected, result.stdout) if result.stdout != expected else None


def first_difference(expected, got):
    pairs = itertools.zip_longest(expected.splitlines(), got.splitlines())
    for number, (a, b) in enumerate(pairs, 1):
        if a != b:
            return f"line {number} differs: expected {a!r}, got {b!r}"
    return "differs in its line ends"


def sweep(command, every, timeout):
    runs = list(combinations(every))
    faults = done = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        first = run(command, runs[0], timeout)
        expected = first.stdout if first else b""
        rest = pool.map(lambda variables: run(command, variables, timeout), runs[1:])
        for variables, result in zip(runs, itertools.chain([first], rest)):
            words = fault(result, expected)
            done += 1
            progress.show(f"sweep: {done} of {len(runs)} runs, {faults} wrong")
            if words is None:
                continue
            faults += 1
            progress.show()
            line = " ".join(f"{name}={value}" for name, value in variables.items())
            print(f"{line} {' '.join(command)}\n    {words}")
    progress.show()
    print(f"{len(runs)} runs, {faults} wrong")
    return 1 if faults else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--long", action="store_true", help="every combination")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for each run (120)")
    parser.add_argument("program")
    parser.add_argument("argument", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    wrapper = shlex.split(os.environ.get("MESON_EXE_WRAPPER", ""))
    timeout = arguments.timeout * (SLOWNESS if wrapper else 1)
    return sweep([*wrapper, arguments.program, *arguments.argument], arguments.long, timeout)


if __name__ == "__main__":
    sys.exit(main())
