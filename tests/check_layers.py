#!/usr/bin/env python3
"""Checks which folder includes which, and who calls the system.

    include/      C's own headers and <cradle/...>
    gc/           include/ and gc/; no input or output, no environment, no memory mapping
    gc/platform/  the same, and the system
    runtime/      include/ and runtime/
    examples/     include/ and the example's own headers
    bench/        include/ and bench/
    tests/        anything

Inside a folder, headers must not include each other in a circle.

    check_layers.py [ROOT]       checks the tree; prints each violation; exits with 1 if there is one
    check_layers.py --self-test  plants one violation after the other in a small tree; each must be found
"""

import re
import sys
import tempfile
from pathlib import Path

C_HEADERS = {
    name + ".h"
    for name in """assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp
    signal stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath
    threads time uchar wchar wctype""".split()
}

# What each folder may include besides the system's headers.
MAY_INCLUDE = {
    "include": ("include",),
    "gc": ("include", "gc"),
    "runtime": ("include", "runtime"),
    "examples": ("include", "examples"),
    "bench": ("include", "bench"),
}

# Outside gc/platform the collector does without these.
GC_HEADERS_REFUSED = {"stdio.h", "sys/mman.h", "unistd.h", "fcntl.h"}
GC_CALLS_REFUSED = re.compile(
    r"""(?<![\w.>])(
      getenv | secure_getenv | setenv | putenv
    | mmap | munmap | mremap | madvise | mprotect | syscall
    | v?(?:f|d|s|sn|as)?printf | puts | fputs | fputc | putchar | perror | fopen | fdopen | open
    )\s*\(""",
    re.VERBOSE,
)

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include\b[ \t]*(?:<([^>\n]*)>|"([^"\n]*)"|(.*))', re.MULTILINE)
COMMENT_OR_LITERAL = re.compile(
    r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL
)


def blank(text):
    """The same number of lines, and nothing else."""
    return " " + "\n" * text.count("\n")


def without_comments(text):
    keep = lambda match: match[0] if match[0][0] in "\"'" else blank(match[0])
    return COMMENT_OR_LITERAL.sub(keep, text)


def without_literals(text):
    return COMMENT_OR_LITERAL.sub(lambda match: blank(match[0]), text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def resolve(root, source, name, quoted):
    """The project's file that an #include means, relative to root; None: a header of the system."""
    places = [source.parent] if quoted else []
    for place in places + [root, root / "include"]:
        path = (place / name).resolve()
        if path.is_file() and root in path.parents:
            return path.relative_to(root)
    return None


def folder_of(path):
    return path.parts[0]


class Checker:
    def __init__(self, root):
        self.root = Path(root).resolve()
        self.violations = []
        self.includes = {}  # file -> the project's files that it includes

    def report(self, path, line, message):
        self.violations.append(f"{path}:{line}: {message}")

    def check(self):
        for folder in (*MAY_INCLUDE, "tests"):
            for source in sorted((self.root / folder).rglob("*.[ch]")):
                self.check_file(source.relative_to(self.root))
        self.check_circles()
        return self.violations

    def check_file(self, path):
        text = without_comments((self.root / path).read_text(encoding="utf-8", errors="replace"))
        targets = self.includes.setdefault(path, [])
        for match in INCLUDE.finditer(text):
            name = match[1] or match[2]
            line = line_of(text, match.start())
            if name is None:
                if folder_of(path) != "tests":
                    self.report(path, line, "an #include of a macro cannot be checked")
                continue
            quoted = match[2] is not None
            target = resolve(self.root, self.root / path, name, quoted)
            if target is not None:
                targets.append(target)
                self.check_project_include(path, line, target)
            else:
                self.check_system_include(path, line, name, quoted)
        if folder_of(path) == "gc" and path.parts[1] != "platform":
            code = without_literals(text)
            for match in GC_CALLS_REFUSED.finditer(code):
                line = line_of(code, match.start())
                self.report(path, line, f"{match[1]}() belongs in gc/platform/ or runtime/")

    def check_project_include(self, path, line, target):
        folder, below = folder_of(path), folder_of(target)
        if folder == "tests":
            return
        if below not in MAY_INCLUDE[folder]:
            self.report(path, line, f"{folder}/ may not include {target}")

    def check_system_include(self, path, line, name, quoted):
        folder = folder_of(path)
        if folder == "tests":
            return
        if quoted or name.startswith("cradle/"):
            self.report(path, line, f"{name} is not in the tree")
        elif folder == "include" and name not in C_HEADERS:
            self.report(path, line, f"include/ may include C's own headers only, not <{name}>")
        elif folder == "gc" and path.parts[1] != "platform" and name in GC_HEADERS_REFUSED:
            self.report(path, line, f"<{name}> belongs in gc/platform/ or runtime/")

    def check_circles(self):
        done, open_files = set(), []

        def visit(path):
            if path in open_files:
                circle = open_files[open_files.index(path):] + [path]
                self.report(path, 1, "circle of includes: " + " -> ".join(map(str, circle)))
                return
            if path in done:
                return
            open_files.append(path)
            for target in self.includes.get(path, []):
                visit(target)
            open_files.pop()
            done.add(path)

        for path in sorted(self.includes):
            visit(path)


# --- the self-test ---

CLEAN = {
    "include/cradle/cradle.h": "#include <cradle/base.h>\n",
    "include/cradle/base.h": "#include <stdint.h>\n",
    "gc/heap.h": "#include <cradle/cradle.h>\n",
    "gc/heap.c": '#include "gc/heap.h"\n#include <string.h>\n#include "gc/platform/pages.h"\n'
    '/* mmap(here) and\n#include <stdio.h> in a comment */\nconst char *s = "getenv(";\n'
    "void crd_mmap(int); void f(void) { crd_mmap(1); }\n",
    "gc/platform/pages.h": "#include <stddef.h>\n",
    "gc/platform/pages.c": '#include "gc/platform/pages.h"\n#include <sys/mman.h>\n'
    "#include <fcntl.h>\nint f(void) { return open(0); }\n",
    "runtime/log.c": '#include <stdio.h>\n#include <cradle/cradle.h>\n#include "runtime/log.h"\n',
    "runtime/log.h": "#include <cradle/base.h>\n",
    "examples/vm.c": '#include <stdio.h>\n#include <cradle/cradle.h>\n#include "vm.h"\n',
    "examples/vm.h": "",
    "bench/loop.c": '#include <unistd.h>\n#include "bench/timing.h"\n#include <cradle/cradle.h>\n',
    "bench/timing.h": "",
    "tests/test_heap.c": '#include <sys/mman.h>\n#include "gc/heap.h"\n#include "runtime/log.h"\n',
}

# Each: the file, the lines put in front of it, and what the one violation must say.
PLANTED = [
    ("include/cradle/base.h", "#include <unistd.h>", "include/ may include C's own headers only"),
    ("include/cradle/base.h", "#include <sys/mman.h>", "C's own headers only"),
    ("include/cradle/base.h", "#include <gc/platform/pages.h>", "include/ may not include gc/"),
    ("include/cradle/cradle.h", '#include "../../runtime/log.h"', "may not include runtime/log.h"),
    ("include/cradle/base.h", "#include <cradle/absent.h>", "not in the tree"),
    ("include/cradle/base.h", "#include <cradle/cradle.h>", "circle of includes"),
    ("gc/heap.c", '#include "runtime/log.h"', "gc/ may not include runtime/log.h"),
    ("gc/heap.c", '#include "../runtime/log.h"', "gc/ may not include runtime/log.h"),
    ("gc/heap.h", '#  include "bench/timing.h"', "gc/ may not include bench/timing.h"),
    ("gc/heap.h", '#include "gc/heap.h"', "circle of includes"),
    ("gc/platform/pages.c", '#include "runtime/log.h"', "gc/ may not include runtime/log.h"),
    ("gc/heap.c", "#include <stdio.h>", "<stdio.h> belongs in"),
    ("gc/heap.h", "#include <sys/mman.h>", "<sys/mman.h> belongs in"),
    ("gc/heap.c", "#include <unistd.h>", "<unistd.h> belongs in"),
    ("gc/heap.c", "#include <fcntl.h>", "<fcntl.h> belongs in"),
    ("gc/heap.c", "#define WHERE <stdio.h>\n#include WHERE", "an #include of a macro"),
    ("gc/heap.c", 'char *e(void) { return getenv("X"); }', "getenv() belongs in"),
    ("gc/heap.c", "void *m(void) { return mmap (0); }", "mmap() belongs in"),
    ("gc/heap.c", "int m(void) { return munmap(0); }", "munmap() belongs in"),
    ("gc/heap.c", "int m(void) { return madvise(0); }", "madvise() belongs in"),
    ("gc/heap.c", "int m(void) { return mprotect(0); }", "mprotect() belongs in"),
    ("gc/heap.c", 'void p(void) { printf("x"); }', "printf() belongs in"),
    ("gc/heap.c", 'void p(void) { fprintf(0, "x"); }', "fprintf() belongs in"),
    ("gc/heap.c", 'void p(void) { snprintf(0, 0, "x"); }', "snprintf() belongs in"),
    ("gc/heap.h", 'static void *o(void) { return fopen("x", "r"); }', "fopen() belongs in"),
    ("runtime/log.c", '#include "gc/heap.h"', "runtime/ may not include gc/heap.h"),
    ("runtime/log.h", '#include "bench/timing.h"', "runtime/ may not include bench/timing.h"),
    ("examples/vm.c", '#include "gc/heap.h"', "examples/ may not include gc/heap.h"),
    ("examples/vm.h", '#include "runtime/log.h"', "examples/ may not include runtime/log.h"),
    ("examples/vm.c", '#include "bench/timing.h"', "examples/ may not include bench/timing.h"),
    ("bench/loop.c", '#include "gc/heap.h"', "bench/ may not include gc/heap.h"),
    ("bench/timing.h", '#include "runtime/log.h"', "bench/ may not include runtime/log.h"),
]


def violations_of(files):
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return Checker(root).check()


def self_test():
    failures = []
    clean = violations_of(CLEAN)
    if clean:
        failures.append(f"the clean tree has violations: {clean}")
    for name, lines, expected in PLANTED:
        found = violations_of({**CLEAN, name: lines + "\n" + CLEAN[name]})
        if len(found) != 1 or expected not in found[0] or not found[0].startswith(name.split("/")[0]):
            failures.append(f"{name} with {lines!r}: expected {expected!r} alone, found {found}")
    for failure in failures:
        print(failure)
    print(f"{len(PLANTED)} violations planted, {len(failures)} wrong answers")
    return 1 if failures else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    if len(arguments) > 1 or (arguments and arguments[0].startswith("-")):
        print(__doc__)
        return 2
    checker = Checker(arguments[0] if arguments else Path(__file__).parent.parent)
    violations = checker.check()
    for violation in violations:
        print(violation)
    if not checker.includes:
        print("no source files found")
        return 2
    print(f"{len(checker.includes)} files, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
