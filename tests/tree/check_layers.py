#!/usr/bin/env python3
"""Checks which folder includes which, who calls the system, and what each room of gc/ keeps to itself.

    check_layers.py [--only RULE,...] [ROOT]   checks the tree; prints each violation; exits with 1 if there is one
    check_layers.py --self-test                plants violations in a small tree, one at a time; each must be found

The rules:

    folders   include/      C's own headers and <cradle/...>
              gc/           include/ and gc/; no input or output, no environment, no memory mapping
              gc/platform/  the same, and the system
              runtime/      include/, runtime/, gc/base/ and gc/platform/
              examples/     include/ and the example's own headers
              bench/        include/ and bench/
              tests/        anything, but gc/ only through tests/inside.h; no .c of the library
              only include/ and gc/ may include files of a folder detail/ of include/
    circles   headers do not include each other in a circle
    rooms     inside gc/ the includes go one way: tests/tree/layers/rooms.py has the table
    repeats   a file of gc/ does not include a header of include/, base/, object/, old/ or its own room that another
              of its includes brings; it always includes its own header and gc/heap.h
    headers   a crd_ function that X.c defines for other files is declared in the header of the same name, and nowhere else
    lengths   a header that many people read stays short
    casts     casts between addresses and words, and masks of an object's header, are in gc/object/ and gc/base/address.h
"""

import argparse
import re
import sys
import tempfile
from pathlib import Path

from layers import planted, rooms, source

RULES = ("folders", "circles", "rooms", "repeats", "headers", "lengths", "casts")

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
    "runtime": ("include", "runtime", "gc/base", "gc/platform"),
    "examples": ("include", "examples"),
    "bench": ("include", "bench"),
}

# Headers of gc/ that stand for the system, which tests include where they mean it.
NOT_INSIDE = ("gc/platform/calls.h", "gc/platform/windows.h")

# Outside gc/platform the collector must not use these.
GC_HEADERS_REFUSED = {"stdio.h", "sys/mman.h", "unistd.h", "fcntl.h"}
GC_CALLS_REFUSED = re.compile(
    r"""(?<![\w.>])(
      getenv | secure_getenv | setenv | putenv
    | mmap | munmap | mremap | madvise | mprotect | syscall
    | v?(?:f|d|s|sn|as)?printf | puts | fputs | fputc | putchar | perror | fopen | fdopen | open
    )\s*\(""",
    re.VERBOSE,
)

# A .c file whose functions are declared in a header of another name; that header; and why.
OTHER_HEADERS = [
    ("gc/platform/pages_linux.c", "gc/platform/pages.h", "one interface, of which each system has its own .c"),
    ("gc/platform/pages_posix.c", "gc/platform/pages.h", "one interface, of which each system has its own .c"),
    ("gc/platform/input_posix.c", "gc/platform/input.h", "one interface, of which each kind of system has its own .c"),
    ("gc/platform/limits_posix.c", "gc/platform/limits.h", "one interface, of which each kind of system has its own .c"),
    ("gc/platform/gate_pthread.c", "gc/platform/gate.h", "one interface, of which each kind of system has its own .c"),
    ("gc/platform/thread_pthread.c", "gc/platform/thread.h", "one interface, of which each kind of system has its own .c"),
    ("gc/platform/hardware_sysctl.c", "gc/platform/hardware.h", "one interface, of which each kind of system has its own .c"),
    ("gc/old/mark_beside.c", "gc/old/marker.h", "the second core is one module, of which tests compile the rounds again"),
    ("gc/old/span_check.c", "gc/old/span.h", "what only the verifier asks of spans"),
    ("gc/image/enter.c", "gc/image/image.h", "loading an image is one module of several files"),
    ("gc/image/objects.c", "gc/image/image.h", "loading an image is one module of several files"),
    ("gc/image/open.c", "gc/image/image.h", "loading an image is one module of several files"),
    ("gc/instruments/verify_objects.c", "gc/instruments/verify.h", "the verifier is one module of several files"),
    ("gc/instruments/verify_parts.c", "gc/instruments/verify.h", "the verifier is one module of several files"),
]

# Functions that no .c file of gc/ defines, and why.
DEFINED_BY_TESTS = {
    "crd_fault_should_fail": "a test that makes system calls fail says which",
}

MOST_LINES = {"gc/heap.h": 200}

# Casts and masks for which a named function exists, and the files that may still write them.
CASTS_REFUSED = re.compile(
    r"""(?<!sizeof)\((?:uintptr_t | (?:const\ )?cradle_word\ \*)\)
      | \bHEADER_FORWARDED\b
      | (?:&= | \|= | & | \|)\ ?~?HEADER_""",
    re.VERBOSE,
)
MAY_CAST = ("gc/object/", "gc/platform/", "gc/base/address.h")


class Checker:
    def __init__(self, root, rules=RULES):
        self.root = Path(root).resolve()
        self.rules = rules
        self.violations = []
        self.includes = {}  # file -> its #include lines

    def report(self, rule, path, line, message):
        if rule in self.rules:
            self.violations.append(f"{path}:{line}: {message}")

    def check(self):
        for folder in (*MAY_INCLUDE, "tests"):
            for path in source.c_files(self.root, folder):
                self.includes[path] = source.includes_of(self.root, path)
        for path in self.includes:
            self.check_includes(path)
            if path.parts[0] == "gc":
                self.check_text(path)
        self.check_circles()
        self.check_repeats()
        self.check_upward_arrows()
        self.check_declarations()
        return self.violations

    def check_test(self, path):
        looks_inside = path.as_posix() == "tests/inside.h" or path.name.endswith("_calls.h")
        for include in self.includes[path]:
            if include.target is None or include.target.parts[0] not in ("gc", "runtime"):
                continue
            name = include.target.as_posix()
            if name.endswith(".c"):
                self.report("folders", path, include.line, f"{name} is the library's own: tests/meson.build compiles it once more")
            elif name.startswith("gc/") and not looks_inside and name not in NOT_INSIDE:
                self.report("folders", path, include.line, f"tests look into gc/ through tests/inside.h, not by {name}")

    # --- checks of each #include ---

    def check_includes(self, path):
        folder = path.parts[0]
        if folder == "gc" and rooms.room_of(path) is None:
            self.report("rooms", path, 1, f"{path.parent} is no room: tests/tree/layers/rooms.py has the table")
        if folder == "tests":
            self.check_test(path)
            return
        for include in self.includes[path]:
            if include.name is None:
                self.report("folders", path, include.line, "an #include of a macro cannot be checked")
            elif include.target is None:
                self.check_system_include(path, include)
            elif not any(include.target.is_relative_to(below) for below in MAY_INCLUDE[folder]):
                self.report("folders", path, include.line, f"{folder}/ may not include {include.target}")
            elif "detail" in include.target.parts and folder not in ("include", "gc"):
                self.report("folders", path, include.line, f"{include.target} is for the public headers alone")
            elif folder == "gc":
                self.check_room(path, include)

    def check_system_include(self, path, include):
        folder, name = path.parts[0], include.name
        if include.quoted or name.startswith("cradle/"):
            self.report("folders", path, include.line, f"{name} is not in the tree")
        elif folder == "include" and name not in C_HEADERS:
            self.report("folders", path, include.line, f"include/ may include C's own headers only, not <{name}>")
        elif folder == "gc" and path.parts[1] != "platform" and name in GC_HEADERS_REFUSED:
            self.report("folders", path, include.line, f"<{name}> belongs in gc/platform/ or runtime/")

    def check_room(self, path, include):
        room, below = rooms.room_of(path), rooms.room_of(include.target)
        if None in (room, below) or rooms.is_allowed(room, below) or rooms.reason_of(path, include.target):
            return
        self.report("rooms", path, include.line, f"{room} may not include {include.target} ({below})")

    def check_circles(self):
        done, open_files = set(), []

        def visit(path):
            if path in open_files:
                circle = open_files[open_files.index(path):] + [path]
                self.report("circles", path, 1, "circle of includes: " + " -> ".join(map(str, circle)))
                return
            if path in done:
                return
            open_files.append(path)
            for include in self.includes.get(path, []):
                if include.target:
                    visit(include.target)
            open_files.pop()
            done.add(path)

        for path in sorted(self.includes):
            visit(path)

    def brought_by(self, path, seen):
        """Adds everything that a header includes, directly or indirectly, to seen."""
        for include in self.includes.get(path, []):
            if include.target and include.target not in seen:
                seen.add(include.target)
                self.brought_by(include.target, seen)
        return seen

    def check_repeats(self):
        for path in self.includes:
            if path.parts[0] != "gc":
                continue
            targets = {include.target for include in self.includes[path]} - {None, path}
            for include in self.includes[path]:
                target = include.target
                if target in (None, own_header(path), Path("gc/heap.h")):
                    continue
                if target.parts[0] != "include" and rooms.room_of(target) not in ("base", "object", "old", rooms.room_of(path)):
                    continue
                bringing = [other for other in sorted(targets) if other != target and target in self.brought_by(other, set())]
                if bringing:
                    self.report("repeats", path, include.line, f"{target} comes with {bringing[0]}: leave it out")

    def check_upward_arrows(self):
        for name, header, _ in rooms.UPWARD_ARROWS:
            includes = self.includes.get(Path(name), [])
            if not any(str(include.target) == header for include in includes):
                self.report("rooms", name, 1, f"no upward arrow to {header} is needed: take it out of tests/tree/layers/rooms.py")

    # --- the text of a file ---

    def check_text(self, path):
        text = source.read(self.root, path)
        code = source.without_literals(text)
        if path.parts[1] != "platform":
            for match in GC_CALLS_REFUSED.finditer(code):
                line = source.line_of(code, match.start())
                self.report("folders", path, line, f"{match[1]}() belongs in gc/platform/ or runtime/")
        if not str(path).startswith(MAY_CAST):
            for match in CASTS_REFUSED.finditer(code):
                line = source.line_of(code, match.start())
                self.report("casts", path, line, f"{match[0]} belongs in gc/object/ or gc/base/address.h")
        lines, most = text.count("\n"), MOST_LINES.get(str(path))
        if most is not None and lines > most:
            self.report("lengths", path, lines, f"{lines} lines; at most {most}")

    # --- which header declares what ---

    def check_declarations(self):
        declared, defined = {}, {}  # name -> {file: line}
        for path in self.includes:
            if path.parts[0] == "gc":
                for name, line, is_definition in source.outer_functions(source.read(self.root, path)):
                    (defined if is_definition else declared).setdefault(name, {})[path] = line
        for name in DEFINED_BY_TESTS:
            if not declared.pop(name, None):
                self.report("headers", "gc", 1, f"{name} is declared nowhere any more: take it out of DEFINED_BY_TESTS")
        for name, files in declared.items():
            own = {own_header(path) for path in defined.get(name, ())}
            for path, line in files.items():
                fault = self.declaration_fault(name, path, own, files)
                if fault is not None:
                    self.report("headers", path, line, fault)
        for name, files in defined.items():
            if name not in declared:
                for path, line in files.items():
                    self.report("headers", path, line,
                                f"{name} is declared in no header: make it static, or declare it in {own_header(path)}")
        for name, header, _ in OTHER_HEADERS:
            if not any(Path(name) in defined[function] and Path(header) in files
                       for function, files in declared.items() if function in defined):
                self.report("headers", name, 1, f"{name} needs no other header any more: take it out of OTHER_HEADERS")

    @staticmethod
    def declaration_fault(name, path, own, files):
        """What is wrong with a declaration of a function in a file, or None. own: the headers that it belongs in."""
        if path.suffix == ".c":
            return f"{name} is declared in a .c; include its header"
        if not own:
            return f"{name} is defined in no .c"
        if path in own:
            return None
        if own & set(files):
            return f"{name} is declared in {min(own)}, too"
        return f"{name} is declared in {path}; its place is {min(own)}"


def own_header(path):
    return next((Path(header) for name, header, _ in OTHER_HEADERS if name == str(path)), path.with_suffix(".h"))


def violations_of(files):
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return Checker(root).check()


def self_test():
    clean = violations_of(planted.CLEAN)
    failures = [f"the clean tree has violations: {clean}"] if clean else []
    cases = [({name: lines + "\n" + planted.CLEAN.get(name, "")}, expected) for name, lines, expected in planted.PLANTED]
    cases += planted.REPLACED
    for files, expected in cases:
        found = violations_of({**planted.CLEAN, **files})
        folder = min(files).split("/")[0]
        if len(found) != 1 or expected not in found[0] or not found[0].startswith(folder):
            failures.append(f"{files}: expected {expected!r} alone, found {found}")
    for failure in failures:
        print(failure)
    print(f"{len(cases)} violations planted, {len(failures)} wrong answers")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", type=Path, default=source.project_root(), metavar="ROOT")
    parser.add_argument("--only", metavar="RULE,...", default=",".join(RULES))
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    unknown = set(arguments.only.split(",")) - set(RULES)
    if unknown:
        parser.error(f"no such rule: {', '.join(sorted(unknown))}; the rules are {', '.join(RULES)}")
    if arguments.self_test:
        return self_test()
    checker = Checker(arguments.root, arguments.only.split(","))
    violations = checker.check()
    if not checker.includes:
        print(f"no source files found in {checker.root}")
        return 2
    for violation in violations:
        print(violation)
    print(f"{len(checker.includes)} files, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
