#!/usr/bin/env python3
"""Compiles and runs the C code of documentation pages.

    snippets.py [--cc COMMAND] [--flag FLAG]... [--library FILE]... PAGE...

The C blocks of a page make programs:

    ```c            the next part of the page's main program
    ```c NAME       the next part of the program NAME
    ```c try        a main of its own for what the main program has so far; it must be run
    <!-- c NAME     the same as ```c NAME, for what a compiler wants and a reader knows; ends with -->

The word needs=LIBRARY after the NAME links the program with -lLIBRARY; where LIBRARY.h is missing, the program is
skipped and named. A program with the word machine=NAME is skipped in the same way on another machine. A program without
main is only compiled. One with main is run three times, plain, collecting at every allocation, and with a small nursery
and the verifier; it must exit with 0 each time, and print what a ```text block after it shows. If a ```sh block stands
between them, its lines that begin with ./ are the runs, with their arguments.
"""

import argparse
import os
import platform
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

FENCE = re.compile(r"^```(.*)$")
HIDDEN = re.compile(r"^<!-- (c\b.*)$")
WARNINGS = ["-Wall", "-Wextra", "-Wno-unused", "-Werror"]
RUNS = [{}, {"CRADLE_STRESS": "1,major=7"}, {"CRADLE_GC_NURSERY": "4K", "CRADLE_VERIFY": "1"}]


class Block:
    def __init__(self, info, line):
        self.words, self.line, self.lines = info.split(), line, []

    @property
    def text(self):
        return "".join(f"{line}\n" for line in self.lines)


def blocks_of(page):
    """The fenced blocks of a page and its hidden C blocks, in order."""
    blocks, end = [], None
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if end is not None:
            if line == end:
                end = None
            else:
                blocks[-1].lines.append(line)
        elif match := FENCE.match(line) or HIDDEN.match(line):
            blocks.append(Block(match[1], number))
            end = "```" if line.startswith("`") else "-->"
    if end is not None:
        raise SystemExit(f"{page}:{blocks[-1].line}: the block is not closed")
    return blocks


def text_of(page, language):
    """The text of all blocks of one language that have no name."""
    return "".join(block.text for block in blocks_of(page) if block.words == [language])


class Program:
    def __init__(self, page, name):
        self.page, self.name, self.parts, self.needs, self.machine = page, name, [], [], None
        self.arguments, self.output = [[]], None

    def add(self, block):
        # This makes the compiler's messages name the page's lines.
        self.parts.append(f'#line {block.line + 1} "{self.page}"\n{block.text}')
        for word in block.words:
            if word.startswith("needs="):
                self.needs.append(word.removeprefix("needs="))
            if word.startswith("machine="):
                self.machine = word.removeprefix("machine=")

    @property
    def text(self):
        return "".join(self.parts)

    @property
    def runs(self):
        return re.search(r"^int main\(", self.text, re.MULTILINE) is not None


def programs_of(page):
    programs, last = {}, None
    for block in blocks_of(page):
        if block.words[:1] == ["sh"] and last is not None:
            last.arguments = [shlex.split(line)[1:] for line in block.lines if line.startswith("./")]
            continue
        if block.words[:1] == ["text"] and last is not None:
            last.output = block.text
        if block.words[:1] != ["c"]:
            last = None
            continue
        name = next((word for word in block.words[1:] if "=" not in word), "main")
        if name == "try":
            last = programs[f"try at line {block.line}"] = Program(page, f"try at line {block.line}")
            last.parts += programs["main"].parts if "main" in programs else []
        else:
            last = programs.setdefault(name, Program(page, name))
        last.add(block)
    return programs.values()


def missing(program, cc):
    if program.machine not in (None, platform.machine()):
        return f"this machine is {platform.machine()}, not {program.machine}"
    for library in program.needs:
        probe = subprocess.run([*cc, "-E", "-"], input=f"#include <{library}.h>\n", text=True, capture_output=True)
        if probe.returncode != 0:
            return f"{library}.h is not installed"
    return None


def check(program, arguments, work):
    """What is wrong with a program, in words; None when nothing is."""
    command = [*arguments.cc, "-std=c11", *WARNINGS, *arguments.flag, "-x", "c", "-"]
    if not program.runs:
        done = subprocess.run([*command, "-fsyntax-only"], input=program.text, text=True, capture_output=True)
        return done.stderr if done.returncode != 0 else None
    binary = work / "program"
    command += ["-o", binary, "-x", "none", *arguments.library, *(f"-l{library}" for library in program.needs)]
    done = subprocess.run(command, input=program.text, text=True, capture_output=True)
    if done.returncode != 0:
        return done.stderr
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CRADLE_")}
    for variables in RUNS:
        where, printed = " ".join(f"{name}={value}" for name, value in variables.items()) or "run plainly", ""
        for words in program.arguments:
            try:
                done = subprocess.run([binary, *words], env={**clean, **variables}, text=True, capture_output=True, timeout=60)
            except subprocess.TimeoutExpired:
                return f"{where}: did not end in a minute"
            if done.returncode != 0:
                return f"{where}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
            printed += done.stdout
        if program.output is not None and printed != program.output:
            return f"{where}: printed\n{printed}in place of\n{program.output}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cc", type=shlex.split, default=["cc"], help="the compiler and its first words")
    parser.add_argument("--flag", action="append", default=[], help="for the compiler; can be repeated")
    parser.add_argument("--library", action="append", default=[], help="a file to link with; can be repeated")
    parser.add_argument("page", type=Path, nargs="+")
    arguments = parser.parse_args()
    made = faults = 0
    with tempfile.TemporaryDirectory() as work:
        for page in arguments.page:
            for program in programs_of(page):
                name = f"{page}: {program.name}"
                if why := missing(program, arguments.cc):
                    print(f"{name}: skipped, {why}")
                    continue
                made += 1
                if fault := check(program, arguments, Path(work)):
                    faults += 1
                    print(f"{name}: {fault}")
    print(f"{made} programs, {faults} wrong")
    return 1 if faults or made == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
