#!/usr/bin/env python3
"""Tests that huge-pages-report makes a page with pictures of results that huge-pages wrote.

    huge_report.py HUGE_PAGES REPORT

The results come from runs with little work; those of whole processes are invented. Without matplotlib it says so and
exits with 77.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SKIP = 77
FIRST_TOUCH_BYTES = 50 << 20
BENCHES = {"touch": [], "access": ["--most=64M"], "fault": [], "pymalloc": ["--most=256M"], "nursery": [], "graph": ["--case=256M"]}
PROCESSES = {
    "rows": [
        {"benchmark": "touch", "case": "50M", "pages": "small", "seconds": [0.03, 0.01, 0.02]},
        {"benchmark": "touch", "case": "50M", "pages": "thp", "seconds": [0.01, 0.01, 0.01]},
    ],
    "skipped": [{"benchmark": "touch", "case": "50M", "pages": "hugetlb", "reason": "made up"}],
}
program, report = (pathlib.Path(word).resolve() for word in sys.argv[1:3])


def python_with_matplotlib():
    """The build may use another Python than the one that has the system's packages."""
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import matplotlib"], capture_output=True).returncode == 0:
            return python
    return None


def prepare(folder):
    for name, more in BENCHES.items():
        words = [program, name, "--divide=100", "--runs=1", "--most=64M" if name == "touch" else "--most=1G", "--pages=small,thp", *more]
        (folder / f"{name}.json").write_text(subprocess.run([*words, "--json"], capture_output=True, text=True, check=True).stdout)
    (folder / "processes.json").write_text(json.dumps(PROCESSES))


def wrong_with(page, folder):
    text = page.read_text()
    for name in BENCHES:
        if f"\n## {name}: " not in text:
            yield f"no section about {name}"
    for name in ("access", "pymalloc"):
        if f"({name}.svg)" not in text or "<svg" not in (folder / f"{name}.svg").read_text():
            yield f"no picture of {name}"
    if "| touch 50M | 20 ms | 10 ms (-50.0 %) |" not in text or "made up" not in text:
        yield "the whole processes are not as they should be"
    faults = FIRST_TOUCH_BYTES // os.sysconf("SC_PAGESIZE")
    if not re.search(rf"^\| 50M, touch \| [\d.]+ [a-z]+ \| [\d.]+ [a-z]+ \([\d.]+x\) \| {faults}, \d+ \|$", text, re.MULTILINE):
        yield "the first touch on small pages and on huge ones is not as it should be"


python = python_with_matplotlib()
if python is None:
    print("skipped: there is no matplotlib, which draws the pictures")
    sys.exit(SKIP)
with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    prepare(folder)
    page = folder / "page" / "results.md"
    words = [python, "-B", report, f"--build={program.parent.parent}", f"--results={folder}", f"--page={page}"]
    result = subprocess.run(words, capture_output=True, text=True)
    wrong = list(wrong_with(page, page.parent)) if result.returncode == 0 else [result.stderr]
for words in wrong:
    print(f"WRONG: {words}")
sys.exit(1 if wrong else 0)
