#!/usr/bin/env python3
"""Checks that an allocation has the same instructions on Windows as on this machine, and prints its time under Wine
next to the native time.

    windows_fast_path.py ROOT PROGRAM

PROGRAM is bench/fast-path-loop.c built for Windows, which the command in MESON_EXE_WRAPPER runs. The native program is
built here with cc. Exits with 77, which meson reads as skipped, where objdump or cc is missing.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

FEW, MANY = 1_000_000, 501_000_000
ROUNDS = 5
MOST = 9


def loop_of(program):
    """The names of the instructions in the loop, including the jump back."""
    told = subprocess.run(["objdump", "-d", "--no-show-raw-insn", program], check=True, capture_output=True, text=True).stdout
    body = re.search(r"<loop_node>:\n(.*?)\n\n", told, re.DOTALL)
    lines = [re.match(r"\s*([0-9a-f]+):\s+(\w+)\s*([0-9a-f]*)", line) for line in body[1].splitlines()]
    lines = [(int(line[1], 16), line[2], line[3]) for line in lines if line is not None]
    for end, (address, name, to) in enumerate(lines):
        if name.startswith("j") and to and lines[0][0] <= int(to, 16) < address:
            return [name for at, name, _ in lines[:end + 1] if at >= int(to, 16)]
    sys.exit(f"{program}: loop_node has no loop")


def seconds(command, count):
    begin = time.monotonic()
    subprocess.run([*command, str(count)], check=True)
    return time.monotonic() - begin


def nanoseconds(command):
    """The time of an allocation: the least of some rounds, without the program's start and end."""
    return min(seconds(command, MANY) for _ in range(ROUNDS)) / (MANY - FEW) * 1e9 - min(
        seconds(command, FEW) for _ in range(ROUNDS)) / (MANY - FEW) * 1e9


def build_native(root, folder):
    subprocess.run([root / "tools" / "amalgamate", folder / "cradle"], check=True, stdout=subprocess.DEVNULL)
    native = folder / "fast-path-loop"
    subprocess.run(["cc", "-std=c11", "-O2", "-D_GNU_SOURCE", f"-I{root / 'include'}", root / "bench" / "fast-path-loop.c",
                    folder / "cradle" / "cradle.c", "-o", native, "-lpthread"], check=True,
                   env={**os.environ, "PATH": os.defpath})  # Meson's PATH begins with the programs of the other compiler
    return native


def main():
    root, program, wrapper = pathlib.Path(sys.argv[1]), sys.argv[2], shlex.split(os.environ.get("MESON_EXE_WRAPPER", ""))
    for needed in ("objdump", "cc"):
        if shutil.which(needed) is None:
            print(f"{needed} is not installed")
            return 77
    with tempfile.TemporaryDirectory() as folder:
        native = build_native(root, pathlib.Path(folder))
        there, here = loop_of(program), loop_of(native)
        print(f"Windows: {len(there)} instructions: {' '.join(there)}\nnative:  {len(here)} instructions: {' '.join(here)}")
        print(f"nanoseconds an allocation: {nanoseconds([*wrapper, program]):.2f} under Wine, {nanoseconds([native]):.2f} natively")
    return 0 if there == here and len(there) == MOST else 1


if __name__ == "__main__":
    sys.exit(main())
