#!/usr/bin/env python3
"""Checks that long commands show their progress on a terminal, and print none elsewhere.

    test_progress.py SWEEP [WORKLOADS HUGE_PAGES]

Each command runs first with standard error on a terminal that this program makes, then on a pipe.
"""

import os
import pty
import subprocess
import sys

LINE = "\r\x1b[K"


def said_on_terminal(command):
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs, stdin=subprocess.DEVNULL) as running:
        os.close(theirs)
        said = b""
        try:
            while part := os.read(ours, 4096):
                said += part
        except OSError:  # the command has closed its end
            pass
    os.close(ours)
    return running.returncode, said.decode()


def fault(command, words):
    """What is wrong, or None."""
    status, said = said_on_terminal(command)
    lines = said.split(LINE)
    if status != 0 or not any(words in line for line in lines):
        return f"on a terminal: {words!r} is missing; exit status {status}: {said!r}"
    if lines[-1].strip() != "":
        return f"the last line stays on the terminal: {said!r}"
    piped = subprocess.run(command, capture_output=True, text=True)
    return f"on a pipe: {piped.stderr!r}" if piped.stderr != "" or LINE in piped.stdout else None


def main():
    sweep, *programs = sys.argv[1:]
    expected = [([sys.executable, sweep, "/bin/echo", "x"], " of 35 runs, 0 wrong")]
    if programs:
        workloads, huge_pages = programs
        expected += [
            ([workloads, "store", "--small", "--runs=2"], "workloads: store with cradle, run 2 of 2"),
            ([huge_pages, "touch", "--pages=small", "--case=50M", "--runs=1"], "huge-pages: 50M on small, run 1 of 1"),
        ]
    faults = 0
    for command, words in expected:
        wrong = fault(command, words)
        if wrong is not None:
            faults += 1
            print(*command, wrong, sep="\n    ")
    print(f"{len(expected)} commands, {faults} wrong")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
