#!/usr/bin/env python3
"""Compiles what cradle/cradle.hpp must refuse, and looks for its reason, in words, in the compiler's message.

    cpp_messages.py INCLUDE_DIRECTORY [COMPILER...]

Every static_assert of the header is met by a snippet here. Each is compiled with all warnings as errors, and so are the
snippets that must be accepted, these as C++20, too. Without a compiler the test is skipped.
"""

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wno-unused", "-Wno-unused-parameter", "-Werror"]
STANDARDS = ["-std=c++17", "-std=c++20"]
SKIPPED = 77

HEAD = """#include <cradle/cradle.hpp>
#include <string>
struct node { uint64_t header; cradle::slot<node> next; cradle::weak_slot<node> weak; };
CRADLE_TYPE(node, "node", header, next, weak)
struct row { uint64_t header, length; using item = cradle::slot<node>; };
CRADLE_TYPE(row, "row", header, length)
using types = cradle::types<node, row>;
"""
FUNCTION = "void f(cradle_mutator *m, cradle::root<node> &n, cradle::root<row> &r) CRADLE_MAY_COLLECT;\n" \
           "void f(cradle_mutator *m, cradle::root<node> &n, cradle::root<row> &r) { %s }\n"


def inside(text):
    """A statement of a function."""
    return FUNCTION % text


def structure(fields, listed="header, a", more=""):
    return f'struct thing {{ {fields} }};\n{more}CRADLE_TYPE(thing, "thing", {listed})\nusing all = cradle::types<thing>;\n' \
           "static_assert(sizeof(all::rows) != 0);\n"


ACCEPTED = [
    structure("uint64_t header; cradle::slot<node> a;"),
    structure("uint64_t header; cradle::outside<std::string> a;"),
    structure("uint64_t header; int32_t a, b; cradle::slot<void> c; int32_t d;", "header, a, b, c, d"),
    structure("uint64_t header, a, length; using item = uint16_t;", "header, a, length"),
    structure("uint64_t header; struct { double x, y; } a;"),
    structure("uint64_t header, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o;", "header, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o"),
    structure("uint64_t header;", "header"),
    inside("n[&node::next] = n; n.at(n->next) = nullptr; r[3] = n; n = r[3]; n->next->next.init(nullptr);"),
    inside("n[&node::next] = types::make<node>(m); n[&node::weak] = n; if (n->weak.get(m) == n) return;"),
    inside("for (node *each : cradle::items(r)) if (each) return;"),
    inside("cradle::root<void> any(m, n); r = types::as<row>(any);"),
]

# Words of the message, and what is refused with them.
REFUSED = [
    ("the structure must be of standard layout",
     structure("uint64_t header; uint64_t a; private: uint64_t b;", more='#pragma GCC diagnostic ignored "-Winvalid-offsetof"\n')),
    ("the structure must have no destructor", structure("uint64_t header; uint64_t a; ~thing() {}")),
    ("the first field must be the header", structure("cradle::slot<node> header; uint64_t a;")),
    ("the first field must be the header", structure("uint64_t header; uint64_t a;", "a")),
    ("every field of the structure must be listed, in order", structure("uint64_t header; uint64_t a; cradle::slot<node> b;")),
    ("every field of the structure must be listed, in order", structure("uint64_t header; uint64_t a; cradle::slot<node> b;", "header, b")),
    ("every field of the structure must be listed, in order",
     structure("uint64_t header; uint64_t a; cradle::slot<node> b;", "header, b, a")),
    ("every field of the structure must be listed, in order", structure("uint64_t header; uint64_t a;", "header, a, a")),
    ("a pointer is no slot", structure("uint64_t header; node *a;")),
    ("a pointer is no slot", structure("uint64_t header; void *a[3];")),
    ("plain data without slots in it", structure("uint64_t header; struct { cradle::slot<node> inner; } a;")),
    ("plain data without slots in it", structure("uint64_t header; std::string a;")),
    ("a slot must be in the first 64 words", structure("uint64_t header; cradle::slot<node> a[64];")),
    ("objects are aligned to 8", structure("uint64_t header; alignas(16) uint64_t a;")),
    ("items must be slots or plain data", structure("uint64_t header, length; using item = node *;", "header, length")),
    ("items must be slots or plain data", structure("uint64_t header, length; using item = node;", "header, length")),
    ('a structure with items must have a field "uint64_t length"', structure("uint64_t header, a; using item = char;")),
    ('a structure with items must have a field "uint64_t length"',
     structure("uint64_t header; uint32_t length; using item = char;", "header, length")),
    ("a structure needs its CRADLE_TYPE",
     "struct other { uint64_t header; };\nusing all = cradle::types<other>;\nstatic_assert(sizeof(all::rows) != 0);\n"),
    ("the structure is not one of these types", structure("uint64_t header, a;") + inside("types::make<thing>(m);")),
    ("a structure with items is made with their number", inside("types::make<row>(m);")),
    ("only a structure with items is made with a number", inside("types::make<node>(m, 3);")),
    ("a slot is assigned through a root", inside("n->next = n.get();")),
    ("a slot is assigned through a root", inside("n->next = nullptr;")),
    ("a slot is assigned through a root", inside("n->next = n->next->next;")),
    ("read it with get(mutator)", inside("node *weak = n->weak;")),
    ("only a weak slot is read with a mutator", inside("n->next.get(m);")),
    ("the structure has no items", inside("n[3] = nullptr;")),
    ("without the *", inside("cradle::root<node *> twice(m);")),
    ("a value must be 8 bytes", inside("cradle::value_root<int> value(m);")),
    ("a value must be 8 bytes", structure("uint64_t header; cradle::value_slot<char> a;")),
    # What the language refuses without words of the header: wrong types, copies, roots that outlive their scope.
    (None, inside("n[&node::next] = r;")),
    (None, inside("n[&row::length] = 3;")),
    (None, inside("*n = *n;")),
    (None, inside("cradle::root<node> copy(n);")),
    (None, inside("new cradle::root<node>(m);")),
    (None, inside("auto kept = n[&node::next]; kept = nullptr;")),
    (None, inside("for (node *each : cradle::items(cradle::root<row>(m))) (void)each;")),
]


class Compiler:
    """A compiler with a standard, and HEAD precompiled."""

    def __init__(self, name, standard, include, folder):
        self.label, self.head = f"{name} {standard}", Path(folder, "head.hpp")
        self.command = [name, standard, *WARNINGS, "-I", include]
        self.head.write_text(HEAD, encoding="utf-8")
        precompiled = self.head.with_suffix(".hpp.pch" if "clang" in name else ".hpp.gch")
        subprocess.run([*self.command, "-x", "c++-header", self.head, "-o", precompiled], check=True)

    def compiled(self, text):
        return subprocess.run([*self.command, "-include", self.head, "-x", "c++", "-fsyntax-only", "-"], input=text, capture_output=True,
                              text=True, env={**os.environ, "LC_ALL": "C"})

    def refuses(self, text):
        result = self.compiled(text)
        return f"{self.label} refuses:\n{text}{result.stderr}" if result.returncode != 0 else ""

    def accepts(self, reason, text):
        """Also a snippet that is refused for another reason."""
        result = self.compiled(text)
        told = reason is None or reason in result.stderr.replace('\\"', '"')
        return "" if result.returncode != 0 and told else f"{self.label} accepts, or does not say {reason!r}:\n{text}{result.stderr}"


def unmet(include):
    """The messages of the header that no snippet meets."""
    text = (Path(include) / "cradle/cradle.hpp").read_text(encoding="utf-8")
    messages = [re.sub(r'(?<!\\)"\s*"', "", message)[1:-1].replace('\\"', '"') for message in
                re.findall(r'static_assert\([^;]*?,\s*("(?:[^"\\]|\\.)*"(?:\s*"(?:[^"\\]|\\.)*")*)\);', text)]
    if len(messages) != text.count("static_assert("):
        return [f"{text.count('static_assert(')} static_asserts in cradle.hpp, but {len(messages)} messages were read"]
    reasons = [reason for reason, _ in REFUSED if reason]
    return [f"no snippet meets {message}" for message in messages if not any(reason in message for reason in reasons)]


def main():
    include, *compilers = sys.argv[1:]
    if not compilers:
        print("there is no C++ compiler: skipped")
        return SKIPPED
    with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor(2) as pool:
        jobs = []
        for name in compilers:
            for standard in STANDARDS:
                compiler = Compiler(name, standard, include, tempfile.mkdtemp(dir=work))
                jobs += [pool.submit(compiler.refuses, text) for text in ACCEPTED]
                if standard == STANDARDS[0]:
                    jobs += [pool.submit(compiler.accepts, *case) for case in REFUSED]
        faults = [job.result() for job in jobs if job.result()] + unmet(include)
    print("\n".join(faults))
    print(f"{len(compilers)} compilers, {len(ACCEPTED)} snippets accepted, {len(REFUSED)} refused, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
