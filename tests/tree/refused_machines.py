#!/usr/bin/env python3
"""Checks that the headers refuse machines with 32-bit pointers, and say what they need.

    refused_machines.py COMPILER INCLUDE_DIRECTORY

Each option below selects such a machine; one that the compiler does not know is named and left out.
"""

import subprocess
import sys

OPTIONS = ["-m32", "-mx32", "-mabi=ilp32"]
MESSAGE = "64-bit pointers"


def compile_text(compiler, options, text):
    command = [compiler, "-std=c11", "-fsyntax-only", *options, "-x", "c", "-"]
    return subprocess.run(command, input=text + "\n", capture_output=True, text=True)


def main():
    compiler, include = sys.argv[1:3]
    faults = tried = 0
    for option in OPTIONS:
        if compile_text(compiler, [option], "_Static_assert(sizeof(void *) == 4, \"\");").returncode != 0:
            print(f"{option}: {compiler} does not know it here")
            continue
        tried += 1
        result = compile_text(compiler, [option, "-I", include], "#include <cradle/cradle.h>")
        if result.returncode == 0 or MESSAGE not in result.stderr:
            print(f"{option}: not refused with \"{MESSAGE}\": {result.stderr}")
            faults += 1
        else:
            print(f"{option}: refused")
    if tried == 0:
        print("skipped: the compiler knows none of these machines")
        return 77
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
