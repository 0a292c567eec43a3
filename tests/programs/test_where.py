#!/usr/bin/env python3
"""Checks that the message with which a mistake ends a program leads to the line of the mistake.

    test_where.py --cc='CC ...' --archive=LIBRARY.a [--shared=LIBRARY.so] [--flag=FLAG ...] ROOT

Builds tests/programs/where_program.c in the usual ways and runs it with each kind of mistake. Runs the addr2line commands that
the program printed in a shell, unchanged, and looks in their output for the lines that the program's comments mark.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

COMMAND = "addr2line -f -p -i -e "
# Exit status 77: skipped.
SKIPPED = 77


class Failure(Exception):
    pass


def expect(condition, message, said):
    if not condition:
        raise Failure(f"{message}\n--- it said:\n{said}")


class Program:
    def __init__(self, path, source, has_lines=True):
        self.path, self.has_lines = path, has_lines
        self.lines = {}
        for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), 1):
            if line.endswith(" */") and ";" in line:
                self.lines[line[line.rindex("/*") + 3 : -3]] = number

    def end(self, name, status, **settings):
        """What the program wrote to standard error."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith("CRADLE_")}
        done = subprocess.run([self.path, name], env={**environment, **settings}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True, errors="replace", timeout=120, cwd="/")
        expect(done.returncode == -status, f"{self.path} {name}: ended with {done.returncode}, not {-status}", done.stderr)
        return done.stderr

    def expect_line(self, said, line, message):
        """Expects the marked line in addr2line's output for the commands after the message."""
        after = said.partition(message)[2]
        expect(after, f'{self.path}: "{message}" is missing', said)
        commands = []
        for text in after.splitlines()[1:]:
            if not text.startswith(COMMAND):
                break
            commands.append(text)
        expect(commands, f'{self.path}: no command follows "{message}"', said)
        told = "".join(subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                      check=True).stdout for command in commands)
        if self.has_lines:
            wanted = f"where_program.c:{self.lines[line]}\n"
            expect(wanted in told.replace(" (discriminator ", "\n"), f"{self.path}: {wanted.strip()} ({line}) is not in:\n{told}", said)
        return told


def check_ends(program):
    """Tries each kind of mistake in an unchecked program."""
    abort, fault = 6, 11
    said = program.end("pop", abort)
    expect("in the call at" not in said, "an unchecked caller has a place", said)
    program.expect_line(said, "pop", "cradle: called from, the innermost first (? for a line: compile that file with -g):")
    said = program.end("barrier", abort, CRADLE_VERIFY="1")
    expect("; right after collection 1, wrong before collection 2; no store through the barrier is known" in said,
           "the verifier does not say when the heap was right", said)
    program.expect_line(said, "the last right one", "cradle: the heap was right after collection 1, which was called from")
    program.expect_line(said, "barrier", "cradle: called from")
    said = program.end("stale", fault, CRADLE_QUARANTINE="4")
    program.expect_line(said, "stale", ", used by:")
    said = program.end("memory", abort, CRADLE_GC_MAX="32M")
    expect("cradle: cradle_new: out of memory: 24 bytes asked for" in said, "no message", said)
    program.expect_line(said, "memory", "cradle: called from")
    said = program.end("stress", abort, CRADLE_STRESS="1,strict")
    program.expect_line(said, "stress", "cradle: called from")


def check_checked(program):
    """Tries each kind of mistake in a program compiled with CRADLE_CHECKED."""
    for end, message in (("pop", "words held: 0); in the call at "), ("barrier", "; in the call at ")):
        said = program.end(end, 6, CRADLE_VERIFY="1")
        expect(f"where_program.c:{program.lines[end]}\n" in said.partition(message)[2].splitlines(keepends=True)[0],
               f"{end}: no place after {message!r}", said)
    said = program.end("barrier-stored", 6, CRADLE_VERIFY="1")
    expect(f"where_program.c:{program.lines['stored']}; in the call" in
           said.partition("; the last store through the barrier into it, after collection 1: ")[2], "no last store", said)
    said = program.end("memory", 6, CRADLE_GC_MAX="32M")
    expect(f"where_program.c:{program.lines['memory']}\n" in said.partition("; in the call at ")[2], "memory: no place", said)


def check_stripped(program):
    said = program.end("pop", 6)
    program.expect_line(said, "pop", "cradle: called from")


def check_partial(program):
    """Only the library was compiled with -g."""
    said = program.end("pop", 6)
    told = program.expect_line(said, "pop", "(? for a line: compile that file with -g):")
    expect("where_program.c:?\n" in told and "crd_abort_here at" in told, f"not the functions of the program and the lines of the library:\n{told}", said)


def static_links(cc, folder):
    """Whether there is an archive of the C library."""
    (folder / "empty.c").write_text("int main(void) { return 0; }\n", encoding="utf-8")
    command = [*cc, "-static", "-o", folder / "empty", folder / "empty.c"]
    return subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0


def amalgamation(arguments, folder):
    subprocess.run([sys.executable, arguments.root / "tools/amalgamate", folder], check=True)
    (folder / "cradle").mkdir()
    (folder / "cradle/cradle.h").write_text('#include "../cradle.h"\n', encoding="utf-8")
    return folder / "cradle.c"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cc", type=shlex.split, default=["cc"])
    parser.add_argument("--archive", type=Path, required=True)
    parser.add_argument("--shared", type=Path)
    parser.add_argument("--flag", action="append", default=[])
    parser.add_argument("root", type=Path)
    arguments = parser.parse_args()
    arguments.root = arguments.root.resolve()
    source = arguments.root / "tests/programs/where_program.c"
    if shutil.which("addr2line") is None:
        print("there is no addr2line")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "with a blank and a '"
        folder.mkdir()

        def build(name, *words, include=arguments.root / "include", **attributes):
            path = folder / name
            subprocess.run([*arguments.cc, "-std=c11", *arguments.flag, "-g", "-O1", f"-I{include}", "-o", path, source, *words],
                           check=True)
            print(f"built {name}", flush=True)
            return Program(path, source, **attributes)

        archive = arguments.archive.resolve()
        if b"backtrace" not in archive.read_bytes():
            print("the C library has no backtrace()")
            return SKIPPED
        try:
            check_ends(build("pie", "-fPIE", "-pie", archive))
            check_ends(build("not-pie", "-fno-pie", "-no-pie", archive))
            check_ends(build("exporting", "-rdynamic", archive))
            check_checked(build("checked", "-DCRADLE_CHECKED=1", archive))
            check_stripped(build("stripped", "-s", archive, has_lines=False))
            check_partial(build("partial", "-g0", archive, has_lines=False))
            if static_links(arguments.cc, folder):
                check_ends(build("static", "-static", archive))
            if arguments.shared:
                shared = arguments.shared.resolve()
                program = build("shared", shared, f"-Wl,-rpath,{shared.parent}")
                check_ends(program)
                said = program.end("pop", 6)
                expect(f"{COMMAND}{shared.parent}/" in said and "/shared' 0x" in said, "not two files", said)
            two_files = folder / "two-files-sources"
            library = amalgamation(arguments, two_files)
            check_checked(build("two-files", "-DCRADLE_CHECKED=1", library, include=two_files))
        except Failure as failure:
            print(failure)
            return 1
    print("every end leads to its line")
    return 0


if __name__ == "__main__":
    sys.exit(main())
