#!/usr/bin/env python3
"""Finds #include lines of gc/ and runtime/ from which nothing is used, with clang-include-cleaner.

    needless_includes.py [ROOT]         names them; exits with 1 if there are any
    needless_includes.py --fix [ROOT]   removes them; a file that got a header through one of them must include it itself
    needless_includes.py --self-test    plants some in a small tree; each must be found

Every .c and .h is read as a file of its own. An include is needless if three things hold. clang-include-cleaner finds
no use of its header. The file uses no member of a structure defined in the header (the tool misses these when the
structure is also declared elsewhere). The file compiles without the line. A missing include is not a fault: a header
may come through another one.

Needs the clang-include-cleaner of tools/python-tools.txt in .venv. Without it the script says so and exits with 77.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from layers import source

FOLDERS = ("gc", "runtime")
TOOL = source.project_root() / ".venv" / "bin" / "clang-include-cleaner"
VERSIONS = source.project_root() / "tools" / "python-tools.txt"
FLAGS = ("-std=c11", "-D_GNU_SOURCE", "-w")

# Includes that stay although the tool finds no use: file, header, reason.
KEPT = [
    ("gc/platform/hardware_sysctl.c", "gc/platform/hardware.h", "for systems other than Linux"),
    ("gc/base/sanitizers.h", "cradle/detail/compiler.h", "for CRADLE_ASAN and CRADLE_TSAN, which are seldom defined"),
    ("gc/parts.h", "cradle/base.h", "for the headers that include it, which name parts and C's types only"),
]

# Headers that the tool ignores, and words of which a file that uses the header has at least one.
WORDS = {
    "assert.h": r"assert|static_assert",
    "float.h": r"(?:FLT|DBL|LDBL)_\w+",
    "inttypes.h": r"(?:PRI|SCN)\w+|u?int\w*_t|strto[iu]max",
    "limits.h": r"\w+_(?:MIN|MAX)|CHAR_BIT",
    "poll.h": r"poll|pollfd|POLL\w+",
    "stdarg.h": r"va_\w+",
    "stdatomic.h": r"atomic_\w+|memory_order\w*|_Atomic",
    "stdbool.h": r"bool|true|false",
    "stddef.h": r"size_t|ptrdiff_t|NULL|offsetof|max_align_t",
    "stdint.h": r"u?int\w*_t|U?INT\w*_(?:C|MIN|MAX)|SIZE_MAX",
}

CHANGE = re.compile(r'^- (?:"([^"]*)"|<([^>]*)>) @Line:(\d+)', re.MULTILINE)
STRUCTURE = re.compile(r"\b(?:struct|union)\b[^;{}()]*(\{(?:[^{}]|\{[^{}]*\})*\})")
MEMBER = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*|:\s*\d+\s*)?[,;]")
ACCESS = re.compile(r"(?:->|\.)\s*(\w+)")


class Include:
    def __init__(self, path, name, is_quoted, line):
        self.path, self.name, self.is_quoted, self.line = path, name, is_quoted, line

    def __str__(self):
        name = f'"{self.name}"' if self.is_quoted else f"<{self.name}>"
        return f"{self.path}:{self.line}: nothing is used of {name}"


class Cleaner:
    def __init__(self, root, kept=tuple(KEPT)):
        self.root = root
        self.kept = {(path, name) for path, name, _ in kept}

    def run_tool(self, path):
        """(what it prints, whether the file compiles)"""
        command = [TOOL, "--disable-insert", "--print=changes", path, "--", *FLAGS, f"-I{self.root}", f"-I{self.root / 'include'}"]
        ran = subprocess.run(command, cwd=self.root, capture_output=True, text=True, timeout=60)
        return ran.stdout + ran.stderr, ran.returncode == 0

    def needless(self, path):
        """The needless includes of a file, or a line that says why the file cannot be read."""
        told, compiles = self.run_tool(self.root / path)
        if not compiles:
            return [f"{path}: clang-include-cleaner cannot read it:\n{told}"]
        found = [Include(path, quoted or angled, bool(quoted), int(line)) for quoted, angled, line in CHANGE.findall(told)]
        return [include for include in found if self.can_go(include)] + list(self.without_words(path))

    def without_words(self, path):
        """The includes of headers in the table above whose words the file does not have."""
        code = source.INCLUDE.sub("", source.without_literals(source.read(self.root, path)))
        for include in source.includes_of(self.root, path):
            if include.target is None and include.name in WORDS and not re.search(rf"\b(?:{WORDS[include.name]})\b", code):
                yield Include(path, include.name, include.quoted, include.line)

    def can_go(self, include):
        if (str(include.path), include.name) in self.kept or self.uses_a_member(include):
            return False
        lines = source.read(self.root, include.path).split("\n")
        lines[include.line - 1] = ""
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder, include.path.name)
            copy.write_text("\n".join(lines), encoding="utf-8")
            return self.run_tool(copy)[1]

    def uses_a_member(self, include):
        header = source.resolve(self.root, self.root / include.path, include.name, include.is_quoted)
        if header is None:
            return False
        structures = STRUCTURE.findall(source.without_literals(source.read(self.root, header)))
        members = {member for body in structures for member in MEMBER.findall(body)}
        return bool(members & set(ACCESS.findall(source.without_literals(source.read(self.root, include.path)))))

    def check(self):
        paths = [path for folder in FOLDERS for path in source.c_files(self.root, folder)
                 if not path.stem.endswith("windows")]  # other systems cannot compile these
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return len(paths), [include for found in pool.map(self.needless, paths) for include in found]


def fix(root, includes):
    for include in sorted(includes, key=lambda include: include.line, reverse=True):
        lines = source.read(root, include.path).split("\n")
        del lines[include.line - 1]
        (root / include.path).write_text("\n".join(lines), encoding="utf-8")


def why_skipped():
    wanted = re.search(r"^clang-include-cleaner==(\S+)", VERSIONS.read_text(encoding="utf-8"), re.MULTILINE)[1]
    if not TOOL.exists():
        return f"clang-include-cleaner {wanted} is not installed: tools/setup installs it into .venv"
    told = subprocess.run([TOOL, "--version"], capture_output=True, text=True, timeout=60).stdout
    if f"version {wanted}\n" not in told:
        return f"clang-include-cleaner {wanted} is wanted: tools/setup installs it into .venv; found\n{told}"
    return None


# --- the self-test ---

GUARDED = "#ifndef {0}_H\n#define {0}_H\n{1}#endif\n"
PLANTED = {
    "include/cradle/base.h": GUARDED.format("BASE", "#include <stdint.h>\ntypedef struct crd_heap crd_heap;\ntypedef int crd_state;\n"),
    "gc/heap.h": GUARDED.format("HEAP", "#include <cradle/base.h>\n"
                                "struct crd_heap { crd_state state; union { int first, second[2]; } u; };\n"),
    "gc/mask.h": GUARDED.format("MASK", "#define MASK 1\n"),
    "gc/unused.h": GUARDED.format("UNUSED", "struct crd_unused { int third; };\n"),
    "gc/collect.h": GUARDED.format("COLLECT", '#include <cradle/base.h>\n#include "gc/heap.h"\nint crd_collect(crd_heap *heap);\n'),
    "gc/collect.c": '#include "gc/collect.h"\n#include <string.h>\n#include "gc/heap.h"\n#include "gc/mask.h"\n#include "gc/unused.h"\n'
    "int crd_collect(crd_heap *heap) { return heap->u.second[1] + MASK; }\n",
    "gc/number.h": GUARDED.format("NUMBER", "#include <cradle/base.h>\n#include <stddef.h>\nextern uint32_t crd_number;\n"),
    "runtime/log.c": '#include <stdio.h>\n#include <stdint.h>\n#include <string.h>\nvoid f(void) { puts("int64_t"); }\n',
}
EXPECTED = """\
gc/collect.c:2: nothing is used of <string.h>
gc/collect.c:5: nothing is used of "gc/unused.h"
gc/collect.h:4: nothing is used of "gc/heap.h"
gc/number.h:4: nothing is used of <stddef.h>
runtime/log.c:2: nothing is used of <stdint.h>"""


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        for name, text in PLANTED.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        cleaner = Cleaner(root, [("runtime/log.c", "string.h", "for the self-test")])
        found = cleaner.check()[1]
        told = "\n".join(str(include) for include in found)
        if told != EXPECTED:
            print(f"expected\n{EXPECTED}\nfound\n{told}")
            return 1
        fix(root, found)
        left = source.read(root, Path("gc/collect.c")).split("\n")[:3]
        if left != ['#include "gc/collect.h"', '#include "gc/heap.h"', '#include "gc/mask.h"']:
            print(f"taking the needless ones out has left {left}")
            return 1
    print(f"{len(EXPECTED.splitlines())} needless includes planted, all found")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", type=Path, default=source.project_root(), metavar="ROOT")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--fix", action="store_true")
    what.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    skipped = why_skipped()
    if skipped is not None:
        print(skipped)
        return 77
    if arguments.self_test:
        return self_test()
    root = arguments.root.resolve()
    count, needless = Cleaner(root).check()
    print("\n".join(map(str, needless)))
    if arguments.fix:
        fix(root, [include for include in needless if isinstance(include, Include)])
    print(f"{count} files, {len(needless)} includes that can go" + (" are gone" if arguments.fix else ""))
    return 1 if (needless and not arguments.fix) or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
