#!/usr/bin/env python3
"""Checks that each tool prints its usage, that with unknown arguments it does no work, and that it ends without a word
when nobody reads what it prints.

    usage.py TOOLS [SPAN_TABLE]

TOOLS is the folder tools/. The Python tools run without the packages that they need for work.
"""

import os
import pathlib
import signal
import subprocess
import sys


def words_without_reader(command):
    """What it says when its output is a pipe whose reader has gone, or None where it ends by SIGPIPE."""
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(writer)
    return None if result.returncode == -signal.SIGPIPE else f"{result.returncode}\n{result.stderr}"


def main():
    tools = pathlib.Path(sys.argv[1])
    bare_python = [sys.executable, "-I", "-S"]
    cases = [
        ([tools / "quickstart", "--help"], 0, "usage: tools/quickstart"),
        ([tools / "quickstart", "now"], 2, "usage: tools/quickstart"),
        ([tools / "check", "--help"], 0, "usage: tools/check [--all]"),
        ([tools / "check", "--fast"], 2, "usage: tools/check [--all]"),
        ([tools / "check", "--all", "twice"], 2, "usage: tools/check [--all]"),
        ([*bare_python, tools / "cradle-heap", "--help"], 0, "usage: cradle-heap"),
        ([*bare_python, tools / "cradle-heap", "--no-such-option"], 2, "usage: cradle-heap"),
        ([*bare_python, tools / "cradle-heap", "dump"], 1, "cradle-heap needs numpy"),
        ([*bare_python, tools / "cradle-report", "--help"], 0, "usage: cradle-report"),
        ([*bare_python, tools / "cradle-rootcheck", "--help"], 0, "usage: cradle-rootcheck"),
        ([*bare_python, tools / "release", "--help"], 0, "usage: tools/release"),
        ([*bare_python, tools / "release", "--fast"], 2, "usage: tools/release"),
        ([tools / "abi", "--help"], 0, "usage: tools/abi"),
        ([tools / "abi", "--fast"], 2, "usage: tools/abi"),
        ([tools / "manual", "--help"], 0, "usage: tools/manual"),
        ([tools / "manual", "--fast"], 2, "usage: tools/manual"),
        ([*bare_python, tools / "include-graph", "--help"], 0, "usage: include-graph"),
        ([*bare_python, tools / "include-graph", "--files", "attic"], 2, "no such room: attic"),
    ]
    for span_table in sys.argv[2:]:
        cases += [
            ([span_table, "--help"], 0, "usage: span-table"),
            ([span_table, "64"], 2, "span-table: no arguments are known: 64"),
        ]
    faults = 0
    for command, status, words in cases:
        # If set-up did more than print its usage, it would fail without a PATH.
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, env={"PATH": ""})
        if result.returncode != status or words not in (result.stderr if status else result.stdout):
            faults += 1
            print(*command, f": expected exit status {status} and {words!r}: {result.returncode}\n{result.stdout}{result.stderr}")
    printing = [[*bare_python, tools / name, "--help"] for name in ("cradle-heap", "cradle-report", "cradle-rootcheck", "include-graph")]
    for command in printing:
        words = words_without_reader(command)
        if words is not None:
            faults += 1
            print(*command, f": without a reader: {words}")
    print(f"{len(cases) + len(printing)} commands, {faults} wrong")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
