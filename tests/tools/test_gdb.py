#!/usr/bin/env python3
"""Runs tools/gdb/cradle_gdb.py in gdb on tests/gdb_program and checks its output.

    test_gdb.py SCRIPT PROGRAM BESIDE IMAGE

BESIDE is tests/gdb_beside, which stops while the collector's thread marks; IMAGE is tests/gdb_image, whose heap is made from an
image.

Exits with 77, which meson reads as skipped, if gdb is not installed, has no Python, or is not allowed to trace
programs.
"""

import os
import re
import shutil
import subprocess
import sys

COMMANDS = [
    "cradle what 1", "break stop_here", "run", "cradle heap heap", "cradle heap", "cradle what old", "cradle what young",
    "cradle what (char *)large + 80", "cradle what (char *)large + 80000", "cradle what &global",
    "cradle what heap->space.nursery.end - 8", "cradle who-refers old", "cradle who-refers young",
    "print $cradle_value(values->item[0])", "print $cradle_value(values->item[1])", "print *young",
    "print *old", "cradle heap 5", "cradle what", "continue", "cradle who-refers old", "break stop_in_walk", "continue",
    "cradle heap", "break stop_at_exit", "continue", "print \"global\"", "print global_heap", "cradle heap",
]

# The output that gdb must print, in order.
EXPECTED = [
    r"No variable here refers to a heap",
    r"heap 0x[0-9a-f]+: the program runs\ncollections: 1 minor, 0 major\nnursery: .*, 128 of \d+ bytes filled\n"
    r"old generation: \d+ bytes, \d+ of them large; 1 arenas of \d+ committed\n"
    r"major collection: none runs; threshold: \d+ bytes\n"
    r"remembered objects: 0, recorded slots of large arrays: 0\n.*\n"
    r" +1 +80016  vector\n +1 +64  entries\\x1b\[2J\n +2 +48  pair\n +1 +40  values\n",
    r"heap 0x[0-9a-f]+: the program runs",
    r"0x[0-9a-f]+: pair, 24 bytes, old\n  word 1: 0x0\n  word 2: 0x0\n",
    r"0x[0-9a-f]+: pair, 24 bytes, young, hash 0x[0-9a-f]+\n  word 1: pair at 0x[0-9a-f]+\n  word 2: 0x0\n",
    r"0x[0-9a-f]+: vector, 80016 bytes, old, pinned\n  0x[0-9a-f]+ is byte 80 of it\n",
    r"0x[0-9a-f]+ is byte 80000 of it\n",
    r"item 9999: pair at 0x",
    r"0x[0-9a-f]+ is not in the heap",
    r"0x[0-9a-f]+ is in the nursery, but not inside an object",
    r"global root 0x[0-9a-f]+\nscoped root without a name, variable at 0x[0-9a-f]+\n"
    r"shadow stack, word 0 from the bottom( of the root stack at 0x[0-9a-f]+)\n"
    r"scoped root without a name, variable at 0x[0-9a-f]+\1\nframes, word 0\1\n0x[0-9a-f]+: vector, .*: item 9999\n"
    r"0x[0-9a-f]+: pair, 24 bytes, young, hash 0x[0-9a-f]+: word 1\n7 references to 0x[0-9a-f]+: pair, 24 bytes, old\n",
    r"handle 0x100000000\nshadow stack, word 0 from the bottom\n"
    r"0x[0-9a-f]+: values, 40 bytes, young: item 0\n0x[0-9a-f]+: entries\\x1b\[2J, 64 bytes, young: item 2, word 1\n"
    r"4 references to",
    r"\"reference to 0x[0-9a-f]+: pair, 24 bytes, young, hash 0x[0-9a-f]+\"",
    r"\"immediate 0x150\"",
    r"0x[0-9a-f]+: pair, 24 bytes, young, hash 0x[0-9a-f]+ = \{first = 0x[0-9a-f]+, rest = 0x0\}",
    r"0x[0-9a-f]+: pair, 24 bytes, old = \{first = 0x0, rest = 0x0\}",
    r"5 is NULL, or neither a cradle_heap \* nor a cradle_mutator \*",
    r"Usage: cradle what ADDRESS",
    r"7 references to .*\nNot searched: finalizer queues, weak slots, ephemerons and weak sets\.\n",
    r"heap 0x[0-9a-f]+: the program walks it\n(.*\n){5}No list of objects, because the program walks it\.\n",
    r"\"global\"\n\$\d+ = \(cradle_heap \*\) (0x[0-9a-f]+)(?: <[^\n]*>)?\nheap \1: the program runs\ncollections: 0 minor, 0 major\n"
    r"(.*\n){3}reader: parked, or without a thread, thread \d+\nmutator 2: runs, thread \d+\n",
]

BESIDE_COMMANDS = ["break stop_here", "run", "cradle heap heap", "info threads", "cradle what first", "thread find cradle-marker",
                   "thread 2", "cradle heap", "thread 1", "continue"]
BESIDE_EXPECTED = [
    r"heap 0x[0-9a-f]+: the program runs\n(.*\n){3,6}?major collection: marking.*\n"
    r"minor collections with helpers: \d+(; the last was alone: [a-z ]+)?\n",
    r"\"?cradle-marker\"?",
    r"0x[0-9a-f]+: node, 32 bytes, old\n  word 1: node at 0x[0-9a-f]+\n",
    r"Thread 2 has (?:target )?name 'cradle-marker'",
    r"(heap 0x[0-9a-f]+: the program runs\n(.*\n){3,6}?major collection: marking|No variable here refers to a heap)",
    r"exited normally",
]

IMAGE_COMMANDS = ["break stop_here", "run", "cradle heap heap", "cradle what saved", "cradle what made", "cradle who-refers saved",
                  "cradle who-refers items", "continue", "cradle heap heap", "cradle what saved", "cradle who-refers items"]
IMAGE_EXPECTED = [
    r"old generation: .*\nimage: sealed, where it was saved\nmajor collection: none runs.*\n.*\n.*\n +1 +40016  vector\n +2 +48  pair\n",
    r"0x[0-9a-f]+: pair, 24 bytes, old, in a sealed image\n  word 1: 0x0\n",
    r"0x[0-9a-f]+: pair, 24 bytes, old\n  word 1: pair at 0x[0-9a-f]+\n",
    r"0x[0-9a-f]+: vector, 40016 bytes, old, in a sealed image: item 4999\n",
    r"2 references to 0x[0-9a-f]+: pair, 24 bytes, old, in a sealed image\n",
    r"global root 0x[0-9a-f]+, the\\nitems of the image\n1 references to 0x[0-9a-f]+: vector, 40016 bytes, old, in a sealed image\n",
    r"\nimage: not sealed, where it was saved\n",
    r"0x[0-9a-f]+: pair, 24 bytes, old\n  word 1: 0x0\n",
    r"global root 0x[0-9a-f]+, the\\nitems of the image\n1 references to 0x[0-9a-f]+: vector, 40016 bytes, old\n",
]


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def gdb(*arguments):
    command = ["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=100)
    return result.stdout + result.stderr


def ask(script, program, commands, expected):
    """Whether gdb prints the expected output, in order, when the commands stop the program."""
    arguments = [word for command in commands for word in ("-ex", command)]
    # Standard error goes into the same stream, so that errors appear in the right order.
    command = ["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex", "set width 0", "-x", script, *arguments, program]
    # LeakSanitizer must trace the ending process, which it cannot do while the debugger traces it.
    environment = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
    said = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=200, env=environment).stdout
    if "ptrace: Operation not permitted" in said or "Could not trace the inferior" in said:
        skip("gdb may not trace programs here")
    rest = said
    for answer in expected:
        match = re.search(answer, rest)
        if match is None:
            print(f"not said, or not in its place: {answer}\n--- gdb said:\n{said}")
            return False
        rest = rest[match.end():]
    return True


def main():
    script, program, beside, image = sys.argv[1:]
    if shutil.which("gdb") is None:
        skip("gdb is not installed")
    if "answer 42" not in gdb("-ex", "python print('answer', 42)"):
        skip("gdb has no Python")
    asked = [(program, COMMANDS, EXPECTED), (beside, BESIDE_COMMANDS, BESIDE_EXPECTED), (image, IMAGE_COMMANDS, IMAGE_EXPECTED)]
    if not all(ask(script, *each) for each in asked):
        return 1
    print(f"{sum(len(expected) for _, _, expected in asked)} answers")
    return 0


if __name__ == "__main__":
    sys.exit(main())
