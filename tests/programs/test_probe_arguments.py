#!/usr/bin/env python3
"""Stops at every static probe of tests/probed_program in gdb, and compares the arguments with those that the program
prints.

    test_probe_arguments.py PROGRAM DOCUMENT

The document, docs/probes.md, names the probes; the program must reach each of them. gdb also runs this file, to set the
breakpoints. Exits with 77, which meson reads as skipped, if gdb is not installed, has no Python, or is not allowed to
trace programs.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROW = re.compile(r"^\| `(\w+)` \| ([^|]+) \|", re.MULTILINE)
MET = "probe: "
TEXTS = {"mutator", "why", "last"}


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def stop_at_probes(gdb, probes):
    """In gdb: each probe writes a line with its name and arguments, as 64-bit numbers or texts, and the program goes on."""
    class Probe(gdb.Breakpoint):
        def __init__(self, name, arguments):
            super().__init__(f"-probe-stap cradle:{name}", internal=True)
            self.name, self.arguments = name, arguments

        def stop(self):
            values = [int(gdb.parse_and_eval(f"(unsigned long)$_probe_arg{i}")) for i in range(len(self.arguments))]
            for i, argument in enumerate(self.arguments):
                if argument in TEXTS and values[i] != 0:
                    values[i] = gdb.parse_and_eval(f"(char *)$_probe_arg{i}").string().replace(" ", "_")
            gdb.write(" ".join([MET + self.name, *map(str, values)]) + "\n")
            return False

    for name, arguments in probes:
        Probe(name, arguments)


def by_name(lines):
    """The arguments of each probe, in order."""
    found = {}
    for line in lines:
        name, *arguments = line.split()
        found.setdefault(name, []).append(arguments)
    return found


def main():
    program, document = sys.argv[1:]
    if shutil.which("gdb") is None:
        skip("gdb is not installed")
    rows = ROW.findall(pathlib.Path(document).read_text(encoding="utf-8"))
    probes = [(name, [argument.strip() for argument in arguments.split(",")]) for name, arguments in rows]
    here = str(pathlib.Path(__file__).resolve().parent)
    script = f"import sys; sys.dont_write_bytecode = True; sys.path.insert(0, {here!r}); " \
             f"import test_probe_arguments as test; test.stop_at_probes(gdb, {probes!r})"
    with tempfile.TemporaryDirectory() as folder:
        own = pathlib.Path(folder, "program")  # what gdb writes would stand in the middle of the program's lines
        command = ["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex", "set width 0", "-ex", f"python {script}",
                   "-ex", f"run >{own}", program]
        sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"  # only one tracer is possible, and that is gdb
        said = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=200,
                              env={**os.environ, "ASAN_OPTIONS": sanitizer}).stdout
        lines = own.read_text(encoding="utf-8").splitlines() if own.exists() else []
    if "Python scripting is not supported" in said:
        skip("gdb has no Python")
    if "ptrace: Operation not permitted" in said or "Could not trace the inferior" in said:
        skip("gdb may not trace programs here")
    if "exited normally" not in said:
        print(said)
        return 1
    names = {name for name, _ in probes}
    met = by_name(line[len(MET):] for line in said.splitlines() if line.startswith(MET))
    expected = by_name(line for line in lines if line.split(" ")[0] in names)
    wrong = [name for name in sorted(names) if not met.get(name) or met[name] != expected.get(name)]
    for name in wrong:
        print(f"{name}: the arguments were {met.get(name, [])[:5]}..., not {expected.get(name, [])[:5]}...")
    print(f"{len(names)} probes, met {sum(map(len, met.values()))} times")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
