#!/usr/bin/env python3
"""Runs every workload of the suite at a small size: normally, on malloc, and under stress with the verifier and tiny
nurseries.

    workloads.py PROGRAM

Each run must exit with 0 (the workloads check their own data, and the variants' checksums are compared) and print JSON
with the fields that its readers rely on. Bad usage must be refused with a message.
"""

import concurrent.futures
import json
import os
import subprocess
import sys

FIELDS = ["seconds", "gc_share", "pause_p50_ns", "pause_p999_ns", "pause_max_ns", "peak_resident_bytes", "live_bytes"]
VARIANTS = ["arena", "arena-fresh", "malloc"]
TIMED = {"pause", "soak"}  # they run for a second each
ENVIRONMENTS = [
    {},
    {"CRADLE_GC_NURSERY": "4K", "CRADLE_VERIFY": "1"},
    {"CRADLE_GC_NURSERY": "5K", "CRADLE_VERIFY": "1", "CRADLE_STRESS": "3,major=7"},
    {"CRADLE_GC_NURSERY": "64K", "CRADLE_STRESS": "1"},
]
REFUSED = [
    ([], "name of a workload"),
    (["no-such-workload"], "no such workload"),
    (["binary-trees", "40"], "SIZE is out of range"),
    (["binary-trees", "--slots=5"], "binary-trees takes no --slots"),
    (["pause", "5"], "takes no SIZE"),
    (["store", "--slots=0"], "--slots wants"),
    (["store", "--peer=tcmalloc"], "--peer wants"),
    (["cache", "--peer=arena"], "cache has no variant on arena"),
    (["store", "--peer=arena-fresh"], "store has no variant on arena-fresh"),
    (["soak", "--peer=malloc"], "soak has no variant on malloc"),
    (["--list", "store"], "--list takes nothing else: store"),
    (["--list", "--small"], "--list takes nothing else: --small"),
    (["--small", "--list"], "--list takes nothing else: --small"),
]


def run(program, arguments, variables=None):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CRADLE_")}
    environment.update(variables or {})
    try:
        return subprocess.run([program, *arguments], env=environment, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(program, 124, "", "did not end in time")


def fault(result, name, on_arena):
    """A sentence that says what is wrong with a run; None when nothing is."""
    if result.returncode != 0:
        return f"exit status {result.returncode}: {result.stderr[-2000:].strip()}"
    if "CRADLE_" in result.stderr:
        return f"a variable was refused: {result.stderr.strip()}"
    try:
        row = json.loads(result.stdout)
    except json.JSONDecodeError as error:
        return f"not JSON: {error}: {result.stdout[:500]}"
    missing = [field for field in FIELDS + (["bare_seconds"] if on_arena else []) if field not in row]
    if missing or row["workload"] != name:
        return f"its JSON lacks {missing}: {result.stdout.strip()}"
    return None


def jobs(program, names):
    """Yields name, arguments, variables, and whether the workload has a variant on the arena."""
    for name in names:
        # A variant that is there and fails, or does not end, is a fault of the run below.
        variants = [peer for peer in VARIANTS if run(program, [name, "--small", "--peer=" + peer]).returncode != 2]
        for number, variables in enumerate(ENVIRONMENTS):
            if name in TIMED and number not in (0, 2):
                continue
            peers = [] if variables else ["--peer=" + peer for peer in variants]
            yield name, [name, "--small", "--json", *peers], variables, "arena" in variants


def main():
    program = sys.argv[1]
    names = [line.split()[0] for line in run(program, ["--list"]).stdout.splitlines()]
    faults = [] if len(names) >= 16 else [f"--list names {len(names)} workloads"]
    for arguments, words in REFUSED:
        result = run(program, arguments)
        if result.returncode != 2 or words not in result.stderr:
            faults.append(f"{arguments}: expected exit status 2 and {words!r}: {result.returncode}, {result.stderr.strip()}")
    work = list(jobs(program, names))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda job: run(program, job[1], job[2]), work)
        for (name, arguments, variables, on_arena), result in zip(work, results):
            words = fault(result, name, on_arena)
            if words is not None:
                faults.append(" ".join([f"{k}={v}" for k, v in variables.items()] + arguments) + f"\n    {words}")
    for words in faults:
        print(words)
    print(f"{len(names)} workloads, {len(work)} runs, {len(REFUSED)} bad usages, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
