#!/usr/bin/env python3
"""Runs the programs of both example VMs on other systems, because the VMs' own tests use features that only Linux has.

    vms.py SCHEME STACKVM EXAMPLES

SCHEME and STACKVM: the programs, run by MESON_EXE_WRAPPER; EXAMPLES: the folder of that name. Each program must print
its expected output, both by default and with a nursery of 64 KiB and a collection at every twentieth point, until these
have taken as long as the program itself: notes that fewer collections took place than were asked for are left out. The
ends of lines may be those of Windows. LEFT_OUT lists the programs that need what this system lacks, UNSTRESSED those whose
collections take too long through an emulator.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

STRESSED = {"CRADLE_GC_NURSERY": "64K", "CRADLE_STRESS": "20,major=5,times=2"}
LEFT_OUT = {}
UNSTRESSED = {"memory.vm"}
NOTE = re.compile(r"^cradle: stress: .* collections took place.*\n", re.MULTILINE)


def said(program, path, arguments, variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CRADLE_")}
    environment.update(variables)
    command = [*shlex.split(os.environ.get("MESON_EXE_WRAPPER", "")), program, *arguments, path.name]
    run = subprocess.run(command, cwd=path.parent, env=environment, capture_output=True, timeout=600, stdin=subprocess.DEVNULL)
    return [NOTE.sub("", text.replace(b"\r\n", b"\n").decode(errors="replace")) for text in (run.stdout, run.stderr)]


def of_scheme(path):
    """The expected output of the program as one text, and a function that joins its two outputs in the same form."""
    expected = path.with_suffix(".expected")

    def together(output, errors):
        output += "" if not output or output.endswith("\n") else "\n"
        output += f"--- errors\n{errors}" if errors else ""
        return re.sub(r"(.)\1{99,}", r"\1...", output)  # the form of the expected files of tests/programs/test_scheme.py
    return (expected.read_text(encoding="utf-8", errors="replace") if expected.exists() else None), together


def of_stackvm(path):
    expected = path.with_suffix(".out")
    return (expected.read_text(encoding="utf-8", errors="replace") if expected.exists() else None), lambda output, errors: output + errors


def options_of(path):
    """The options and variables that a Scheme program states in its first lines."""
    options, variables = [], {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("; options: "):
            options = line.removeprefix("; options: ").split()
        elif line.startswith("; variables: "):
            variables = dict(part.split("=") for part in line.removeprefix("; variables: ").split())
        elif not line.startswith(";"):
            break
    return options, variables


def main():
    scheme, stackvm, examples = sys.argv[1:]
    programs = [(scheme, path, of_scheme) for path in sorted(Path(examples, "scheme", "tests").glob("*.scm"))]
    programs += [(stackvm, path, of_stackvm) for path in sorted(Path(examples, "stackvm", "tests").glob("*.vm"))]
    faults = runs = 0
    for program, path, kind in programs:
        expected, together = kind(path)
        if path.name in LEFT_OUT or expected is None:
            print(f"skipped: {path.name}: {LEFT_OUT.get(path.name, 'nothing is expected of it')}")
            continue
        options, variables = options_of(path)
        slow = path.name in UNSTRESSED and os.environ.get("MESON_EXE_WRAPPER")
        if slow:
            print(f"{path.name}: without stress, which takes too long here")
        for setting in ({},) if slow else ({}, STRESSED):
            printed = said(os.path.abspath(program), path, options, {**variables, **setting})
            runs += 1
            if together(*printed) != expected:
                faults += 1
                print(f"{path.name} with {setting}: printed\n{together(*printed)[:600]}\nin place of\n{expected[:600]}")
    print(f"{runs} runs of {len(programs)} programs, {faults} with faults")
    return 1 if faults or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
