#!/usr/bin/env python3
"""Every message with which the collector refuses misuse is met by a test.

    misuse_messages.py SOURCES PROGRAM...

Reads the words of the messages from the sources in the folder: the literals that reach crd_misuse, straight or through a
function that only passes them on. Runs the test programs, which write each message that they met to the file that MISUSE_LOG
names, and prints the words that were in none of them. Exits with 1 if there are such.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

LITERAL = re.compile(r'"((?:\\.|[^"\\])*)"')
# Functions that take a message, and those whose results are one.
PASS_ON = ("crd_misuse", "entry_misuse", "slots_misuse", "go_on")
RETURN = ("called_from", "slots_fault", "items_fault", "crd_type_fault")


def functions(text):
    """(name, body) of each function; definitions begin in the first column and end with a brace there."""
    for match in re.finditer(r"^(?:[\w*]+[ \t*]+)+\**(\w+)\([^;{]*?\)[^;{]*\{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        yield match[1], match[2]


def arguments_of(body, name):
    """The text between the parentheses of each call."""
    for match in re.finditer(rf"\b{name}\(", body):
        depth, at = 1, match.end()
        while depth and at < len(body):
            literal = LITERAL.match(body, at)
            if literal:
                at = literal.end()
                continue
            depth += {"(": 1, ")": -1}.get(body[at], 0)
            at += 1
        yield body[match.end() : at - 1]


def joined(text):
    """The literals of a piece of code, neighbouring ones as one."""
    return [m.replace('\\"', '"') for m in LITERAL.findall(re.sub(r'"\s*\n?\s*"', "", text))]


def words_of(text):
    for name, body in functions(text):
        for call in PASS_ON:
            for arguments in arguments_of(body, call):
                yield from joined(arguments)
        if re.search(r"crd_misuse\([^;]*text\.buffer\)", body):
            for arguments in arguments_of(body, "crd_text_add"):
                yield from joined(arguments)
            yield from joined(" ".join(re.findall(r"\.buffer = (\"[^\"]*\")", body)))
        if name in RETURN:
            for statement in re.findall(r"return ([^;]*);", body):
                yield from joined(statement)


def self_test():
    planted = 'static void f(int a) {\n  if (a) crd_misuse(h, "one "\n     "two");\n  x("three");\n}\n'
    assert list(words_of(planted)) == ["one two"], list(words_of(planted))
    planted = 'void g(void) {\n  crd_text_add(&text, ")(");\n  crd_misuse(heap, text.buffer);\n}\n'
    assert list(words_of(planted)) == [")("], list(words_of(planted))


def main():
    self_test()
    sources, programs = Path(sys.argv[1]), sys.argv[2:]
    wanted = [(path.name, words) for path in sorted(sources.glob("*.c"))
              for words in words_of(path.read_text(encoding="utf-8")) if re.search(r"\w", words)]
    met = ""
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as log:
        for program in programs:
            ran = subprocess.run([program], env={**os.environ, "MISUSE_LOG": log.name}, capture_output=True, text=True,
                                 errors="replace", timeout=240)
            met += ran.stderr
            if ran.returncode != 0:
                print(f"{program} failed")
                return 1
        met += log.read()
    missing = [(name, words) for name, words in wanted if words not in met]
    for name, words in missing:
        print(f'{name}: no test meets "{words}"')
    print(f"{len(wanted)} messages and parts of them, {len(missing)} not met")
    return 1 if missing or len(wanted) < 40 else 0


if __name__ == "__main__":
    sys.exit(main())
