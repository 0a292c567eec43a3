#!/usr/bin/env python3
"""Tests what tools/include-graph prints of a small tree, and that it says what is wrong with its arguments.

    include_graph.py INCLUDE_GRAPH
"""

import subprocess
import sys
import tempfile
from pathlib import Path

TREE = {
    "include/cradle/heap.h": "",
    "gc/heap.h": '#include <cradle/heap.h>\n#include "gc/old/span.h"\n',
    "gc/collect.c": '#include <string.h>\n#include "gc/heap.h"\n#include "gc/instruments/verify.h"\n',
    "gc/instruments/stress.h": "",
    "gc/instruments/verify.h": '// #include "gc/old/mark.h"\n',
    "gc/old/mark.c": '#include "gc/heap.h"\n#include "gc/old/span.h"\n#include "gc/instruments/stress.h"\n',
    "gc/old/span.h": '#include "../base/check.h"\n',
    "gc/base/check.h": "",
}

TEXT = """\
platform: 0 files
base: 1 file
report: 0 files
object: 0 files
ground: 0 files
old: 2 files
  includes base
    gc/old/span.h -> gc/base/check.h
  includes instruments-lower
    gc/old/mark.c -> gc/instruments/stress.h  (NOT ALLOWED)
  includes heap
    gc/old/mark.c -> gc/heap.h  (NOT ALLOWED)
tables: 0 files
instruments-lower: 1 file
young: 0 files
death: 0 files
heap: 1 file
  includes old
    gc/heap.h -> gc/old/span.h
spine: 1 file
  includes heap
    gc/collect.c -> gc/heap.h
  includes instruments-upper
    gc/collect.c -> gc/instruments/verify.h  (points up: options.verify asks for a verification before and after each collection)
image: 0 files
instruments-upper: 1 file
"""

TEXT_OF_OLD = """\
gc/old/mark.c
  includes gc/heap.h  (NOT ALLOWED)
  includes gc/instruments/stress.h  (NOT ALLOWED)
  includes gc/old/span.h
gc/old/span.h
  includes gc/base/check.h
  included by gc/heap.h
  included by gc/old/mark.c
"""

ARROWS_OF_DOT = """\
  "spine" -> "heap" [label="1", color=black];
  "spine" -> "instruments-upper" [label="1", color=blue];
  "heap" -> "old" [label="1", color=black];
  "old" -> "heap" [label="1", color=red];
  "old" -> "instruments-lower" [label="1", color=red];
  "old" -> "base" [label="1", color=black];
}
"""

failures = 0


def expect(ran, status, words, is_whole=False):
    global failures
    output = ran.stdout if status == 0 else ran.stderr
    if ran.returncode != status or (output != words if is_whole else words not in output):
        failures += 1
        print(f"{ran.args[1:]}: expected {status} and\n{words}\nfound {ran.returncode} and\n{ran.stdout}{ran.stderr}")


def main():
    def graph(*arguments):
        return subprocess.run([sys.executable, sys.argv[1], *arguments], capture_output=True, text=True, timeout=60)

    with tempfile.TemporaryDirectory() as root:
        for name, content in TREE.items():
            path = Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        expect(graph("--root", root), 0, TEXT, is_whole=True)
        expect(graph("--root", root, "--files", "old"), 0, TEXT_OF_OLD, is_whole=True)
        expect(graph("--root", root, "--dot"), 0, ARROWS_OF_DOT)
        expect(graph("--root", f"{root}/include"), 2, "has no folder gc/ with C files")
        Path(root, "gc", "cellar").mkdir()
        Path(root, "gc", "cellar", "wine.c").touch()
        expect(graph("--root", root), 2, "gc/cellar/wine.c is in no room: tests/tree/layers/rooms.py has the table")
    expect(graph(), 0, "instruments-upper: ")
    expect(graph("--files", "attic"), 2, "no such room: attic; the rooms are platform, base, report, object, ground,")
    expect(graph("--files", "old", "--dot"), 2, "not allowed with argument")
    expect(graph("old"), 2, "unrecognized arguments: old")
    expect(graph("--help"), 0, "for each room, from below, the rooms that it includes")
    print(f"{failures} of the outputs are wrong" if failures else "each output is as expected")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
