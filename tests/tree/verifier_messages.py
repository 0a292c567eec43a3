#!/usr/bin/env python3
"""Checks that for each message of the verifier a test breaks a heap so that the verifier prints it.

    verifier_messages.py SOURCES PROGRAM...

Reads the words of the messages from the sources in the folder: all literals in the verifier's own files, and the
results of the functions that check a structure (crd_pins_check and others, with the static functions of their files).
Runs the test programs, which write the verifier's messages to the file that MISUSE_LOG names, and prints the words that
no message had. Exits with 1 if there are any.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from misuse_messages import FUNCTION, Function, arguments_of, words_in

CHECK = re.compile(r"\bcrd_\w+_check\b")
# Messages that report no broken heap, or that cannot occur, such as the default of a switch.
NOTES = r"crd_event_note(?:_about)?|ASSERT"
# Messages that no test can cause, with the reason.
NOT_MET = {}


def without(body, name):
    for arguments in list(arguments_of(body, name)):
        body = body.replace(f"({arguments})", "()")
    return body


def functions(text):
    return [Function(*match.groups()) for match in FUNCTION.finditer(text)]


def messages(path, text):
    """The words of a file's messages: all literals in the verifier's own files, the results of the checks in other
    files."""
    is_verifier = path.name.startswith("verify")
    for function in functions(text):
        body = without(function.body, rf"(?:{NOTES})")
        if is_verifier:
            yield from words_in(body)
        elif function.returns_words:
            for piece in Function("", function.name, body).returned():
                yield from words_in(piece)


def wanted_in(sources):
    for path in sorted(sources.rglob("*.c")):
        text = path.read_text(encoding="utf-8")
        is_check = re.search(r"^const char \*crd_\w+_check\(", text, re.MULTILINE) is not None
        if path.name.startswith("verify") or is_check:
            for words in messages(path, text):
                if re.search(r"\w{3}", words) and not words.startswith("cradle_"):
                    yield path.relative_to(sources), words


def self_test():
    text = 'static const char *check_a(int a) {\n  ASSERT(a, "never");\n  return a ? "one " "two" : NULL;\n}\n'
    assert list(messages(Path("table.c"), text)) == ["one two"]
    text = 'static void f(v *x) {\n  crd_event_note(x, "a note");\n  crd_fault(x, "of %s at %p", n, a);\n}\n'
    assert [words for words in messages(Path("verify_x.c"), text) if words] == ["of ", " at "]


def main():
    self_test()
    sources, programs = Path(sys.argv[1]), sys.argv[2:]
    wanted = list(dict.fromkeys(wanted_in(sources)))
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as log:
        for program in programs:
            ran = subprocess.run([program], env={**os.environ, "MISUSE_LOG": log.name}, capture_output=True, text=True,
                                 errors="replace", timeout=240)
            if ran.returncode != 0:
                print(f"{program} failed")
                return 1
        met = log.read()
    missing = [(path, words) for path, words in wanted if words not in met and words not in NOT_MET]
    stale = [words for words in NOT_MET if words in met]
    for path, words in missing:
        print(f'{path}: no test makes the verifier say "{words}"')
    for words in stale:
        print(f'"{words}" is met: take it out of NOT_MET')
    print(f"{len(wanted)} messages and parts of them, {len(missing)} not met")
    return 1 if missing or stale or len(wanted) < 80 else 0


if __name__ == "__main__":
    sys.exit(main())
