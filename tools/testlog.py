#!/usr/bin/env python3
"""Reads Meson's record of a test run, meson-logs/testlog*.json.

    testlog.py BUILD LOG    BUILD is the build's name. Prints how many tests passed, failed and were skipped; then a line for each
                            test that failed, such as "BUILD, setup SETUP: TEST failed", and below it the end of what it wrote
"""

import json
import sys
from pathlib import Path

END_LINES, ENDS = 20, 5
# A sanitizer's legend, behind all that it has to say.
LEGEND = "\nShadow bytes around"


def end_of(test):
    """The last lines of what a test wrote; its errors are behind the rest."""
    text = test.get("stdout", "") + test.get("stderr", "").partition(LEGEND)[0]
    return text.splitlines()[-END_LINES:]


def how_failed(test):
    if test["result"] == "TIMEOUT":
        return "took too long"
    return f"failed by signal {-test['returncode']}" if test.get("returncode", 0) < 0 else "failed"


def read(path):
    """Returns how many tests passed, how many were skipped, and of each other one its name, how it failed, and the end of its output."""
    passed = skipped = 0
    failures = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        test = json.loads(line)
        if test["result"] in ("OK", "EXPECTEDFAIL"):
            passed += 1
        elif test["result"] == "SKIP":
            skipped += 1
        else:
            failures.append((test["name"].rpartition(" / ")[2], how_failed(test), end_of(test)))
    return passed, skipped, failures


def report(run, failures):
    """The lines that say what failed in a run. Of many tests only the first ones show what they wrote, so that all names are in sight."""
    lines = []
    for number, (name, how, end) in enumerate(failures):
        lines.append(f"  {run}: {name} {how}")
        lines += [f"    | {said}".rstrip() for said in end if number < ENDS]
    return lines


def main():
    build, path = sys.argv[1], Path(sys.argv[2])
    if not path.exists():
        print(0, 1, 0, f"  {build}: no test ran", sep="\n")
        return
    passed, skipped, failures = read(path)
    setup = path.stem.removeprefix("testlog").removeprefix("-")
    print(passed, len(failures), skipped, *report(f"{build}, setup {setup}" if setup else build, failures), sep="\n")


if __name__ == "__main__":
    main()
