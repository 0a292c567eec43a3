#!/usr/bin/env python3
"""Checks every state of a model with spin: the model must hold, and each variant without one of the rules must fail.

    spin_model.py SPIN COMPILER MODEL

The comment at the top of the model lists the variants, one on a line: its number and the missing rule. With an r behind
the number, each process's last choice is tried first, because that finds the failure in a hundredth of the states. If
spin is not installed (SPIN is empty), the test says so and is skipped.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

VARIANT = re.compile(r"^ \* {1,3}(\d+)(r?) {1,2}(.+)$", re.MULTILINE)
ERRORS = re.compile(r"errors: (\d+)")
STATES = re.compile(r"(\d+) states, stored")
TOO_LITTLE = ("search depth too small", "out of memory")
OPTIONS = ["-O2", "-w", "-DSAFETY"]
DEPTH = "-m1000000"
SKIPPED = 77


def run(command, folder, broken=0):
    environment = {**os.environ, "BROKEN": str(broken)}
    return subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def look(folder, program, broken):
    """(errors, states) of a variant, or None and what went wrong."""
    output = run([f"./{program}", DEPTH], folder, broken).stdout
    errors, states = ERRORS.search(output), STATES.search(output)
    if errors is None or states is None or any(words in output for words in TOO_LITTLE):
        return None, output
    return int(errors[1]), int(states[1])


def main():
    spin, compiler, model = *sys.argv[1:3], Path(sys.argv[3]).resolve()
    if not spin:
        print(f"spin is not installed: {model.name} is not looked at (tools/setup installs it)")
        return SKIPPED
    found = VARIANT.findall(model.read_text(encoding="utf-8"))
    variants = {int(number): text for number, _, text in found}
    reversed_ones = {int(number) for number, is_reversed, _ in found if is_reversed}
    if list(variants) != list(range(1, len(variants) + 1)) or not variants:
        print(f"{model.name} does not list its variants as 1, 2, 3: {list(variants)}")
        return 1
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        commands = [[spin, "-a", str(model)], [compiler, *OPTIONS, "-o", "pan", "pan.c"]]
        commands += [[compiler, *OPTIONS, "-DT_REVERSE", "-o", "reversed", "pan.c"]] if reversed_ones else []
        for command in commands:
            result = run(command, folder)
            if result.returncode != 0:
                print(f"{' '.join(command)}: {result.stdout}")
                return 1
        for broken, text in {0: "the model", **variants}.items():
            errors, states = look(folder, "reversed" if broken in reversed_ones else "pan", broken)
            name = f"{broken}, {text}" if broken else text
            if errors is None:
                print(f"{name}: not tried: {states}")
                faults += 1
                continue
            print(f"{name}: {states} states, {'fails' if errors else 'holds'}", flush=True)
            faults += (errors > 0) != (broken > 0)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
