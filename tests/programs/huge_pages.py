#!/usr/bin/env python3
"""Runs the benchmark huge-pages with little work, and checks that huge pages reduce the number of page faults enough.

    huge_pages.py HUGE_PAGES BACKEND

BACKEND is the library's backend; only the one named linux asks for huge pages.
Only numbers of page faults are judged, never times. Exits with 77, saying why, when the system gives no huge pages.
"""

import json
import os
import pathlib
import subprocess
import sys

SKIP = 77
POOL_TRIES = 4
POOL = pathlib.Path("/proc/sys/vm/nr_hugepages")
program, backend = sys.argv[1:3]
failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)
        print(f"WRONG: {what}")


def call(*arguments, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CRADLE_")}
    return subprocess.run([program, *arguments], env=dict(environment, **variables), capture_output=True, text=True, timeout=100)


def measure(*arguments):
    result = call(*arguments, "--pages=small,thp", "--runs=1", "--json")
    expect(result.returncode == 0, f"{arguments}: {result.stderr}")
    return json.loads(result.stdout) if result.returncode == 0 else dict(rows=[], skipped=[])


def row(result, case, phase, pages):
    for one in result["rows"]:
        if (one["case"], one["phase"], one["pages"]) == (case, phase, pages):
            return one
    return None


def test_names():
    names = [line.split()[0] for line in call("--list").stdout.splitlines()]
    expect(names == ["touch", "access", "fault", "pymalloc", "nursery", "graph"], f"the six benchmarks are listed, got {names}")
    cases = [line.split()[0] for line in call("--list", "pymalloc").stdout.splitlines()]
    expect("random_walk" in cases and len(cases) == 9, f"the nine mixes are listed, got {cases}")


def test_refusals():
    for arguments, words in (
        (["nonsense"], "no such benchmark 'nonsense'"),
        ([], "the name of one benchmark"),
        (["touch", "--pages=small,giant"], "--pages 'giant': accepted is"),
        (["touch", "--case=3G"], "--case '3G': accepted is"),
        (["touch", "--most=much"], "--most 'much': accepted is"),
        (["touch", "--runs=0"], "--runs '0': accepted is"),
        (["touch", "--once"], "--once 'touch': accepted is"),
    ):
        result = call(*arguments)
        expect(result.returncode == 2 and words in result.stderr, f"{arguments}: says {words!r}, got {result.stderr!r}")
    result = call("touch", CRADLE_HUGEPAGES="off")
    expect(result.returncode == 2 and "CRADLE_HUGEPAGES is set" in result.stderr, f"a policy in the environment is refused, got {result}")


def test_work():
    """Each benchmark runs. The program fails if the runs of a case differ in their checksum."""
    for name, *more in (("access", "--most=64M"), ("fault",), ("pymalloc",), ("nursery",), ("graph", "--case=256M")):
        result = measure(name, "--divide=100", *more)
        kinds = {one["pages"] for one in result["rows"]}
        expect("small" in kinds, f"{name}: ran on small pages, got {kinds}")
        expect(all(one["operations"] > 0 and one["min_ns"] > 0 for one in result["rows"]), f"{name}: every phase ran")
    expect("change" in call("fault", "--divide=100", "--runs=1", "--pages=small").stdout, "a table with its heading")


def use_pool():
    """None if the pool is as large as before the run; otherwise a sentence that says how it differs."""
    before = POOL.read_text() if POOL.exists() else None
    result = json.loads(call("fault", "--divide=20", "--pages=hugetlb", "--runs=1", "--json").stdout)
    expect(result["rows"] or result["skipped"][0]["reason"], f"the pool is used, or skipped with a reason: {result}")
    for one in result["skipped"]:
        print(f"the pool was not used: {one['reason']}")
    for one in result["rows"]:
        expect(one["huge_bytes"] > 0, f"the pool's pages are seen: {one}")
    after = POOL.read_text() if POOL.exists() else None
    return None if after == before else f"the pool has as many pages as before: {before!r}, {after!r}"


def test_pool():
    """Tries several times, because another program may resize the pool meanwhile."""
    for _ in range(POOL_TRIES):
        wrong = use_pool()
        if wrong is None:
            return
    expect(False, wrong)


def test_faults():
    """Why the reduction could not be checked; None when it was checked."""
    result = measure("touch", "--most=64M")
    if backend != "linux":
        print(f"heap-50M is not judged: the {backend} backend asks for no huge pages")
    for case in ("50M", "heap-50M") if backend == "linux" else ("50M",):
        small, huge = (row(result, case, "touch", pages) for pages in ("small", "thp"))
        if huge is None:
            return result["skipped"][0]["reason"]
        if not any(one["huge_bytes"] for one in result["rows"]):
            return "the kernel gave no huge page, neither to a mapping nor to a heap, though they are on"
        page, pages = os.sysconf("SC_PAGESIZE"), small["operations"]
        unit = int(pathlib.Path("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size").read_text()) // page
        given = huge["huge_bytes"] // page
        # Where the kernel refused huge pages, each base page may fault; the heap itself needs a few pages more. A heap's
        # first arena and its metadata keep base pages (gc/old/arena_memory.h).
        allowed = pages // unit + max(0, pages - given) + 64 + (2 * unit + 64 if case.startswith("heap") else 0)
        expect(given > 0, f"{case}: the kernel gives huge pages, and this got none")
        expect(small["faults"] >= pages, f"{case}: small pages fault once each, {pages} pages, {small['faults']:.0f} faults")
        expect(huge["faults"] <= allowed, f"{case}: huge pages fault at most {allowed} times, got {huge['faults']:.0f}")
        print(f"{case}: {small['faults']:.0f} faults on small pages, {huge['faults']:.0f} on huge ones")
    return None


test_names()
test_refusals()
test_work()
test_pool()
skipped = test_faults()
print(f"{len(failures)} wrong")
if skipped and not failures:
    print(f"skipped: the reduction of page faults: {skipped}")
sys.exit(1 if failures else SKIP if skipped else 0)
