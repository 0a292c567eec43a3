#!/usr/bin/env python3
"""Looks at every state of the model of the write barrier with spin: the model must hold, and each broken variant must fail.

    spin_model.py SPIN COMPILER MODEL
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

BROKEN = range(1, 7)
ERRORS = re.compile(r"errors: (\d+)")
STATES = re.compile(r"(\d+) states, stored")
# Breadth first, so that a failure is found by its shortest way.
OPTIONS = ["-O2", "-w", "-DSAFETY", "-DBFS"]


def run(command, folder):
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def look(spin, compiler, model, broken, folder):
    """(errors, states) of a variant, or None and what went wrong."""
    for command in ([spin, f"-DBROKEN={broken}", "-a", model], [compiler, *OPTIONS, "-o", "pan", "pan.c"]):
        result = run(command, folder)
        if result.returncode != 0:
            return None, f"{' '.join(command)}: {result.stdout}"
    result = run(["./pan"], folder)
    errors, states = ERRORS.search(result.stdout), STATES.search(result.stdout)
    if errors is None or states is None or "search depth too small" in result.stdout or "out of memory" in result.stdout:
        return None, result.stdout
    return int(errors[1]), int(states[1])


def main():
    spin, compiler, model = *sys.argv[1:3], str(Path(sys.argv[3]).resolve())
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        for broken in (0, *BROKEN):
            errors, states = look(spin, compiler, model, broken, folder)
            name = f"broken variant {broken}" if broken else "the model"
            if errors is None:
                print(f"{name}: not tried: {states}")
                faults += 1
                continue
            print(f"{name}: {states} states, {'fails' if errors else 'holds'}", flush=True)
            faults += (errors > 0) != (broken > 0)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
