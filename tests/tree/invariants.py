#!/usr/bin/env python3
"""Every numbered invariant of the collector is checked somewhere, and the collector has assertions enough.

    invariants.py [ROOT]                uncited invariants, citations of none, wrong numbers; exits with 1 if any
    invariants.py --list [ROOT]         each invariant, and the places that cite it
    invariants.py --assertions [ROOT]   ASSERTs in 100 lines of gc/, by room; exits with 1 below 2
    invariants.py --self-test           plants mistakes in a small tree; each must be found

A line " *   [arena.1] ..." of a comment defines an invariant. A literal in gc/ cites it (the message of an ASSERT or of
the verifier), or a test does: the *.c, *.h, *.py and *.pml of tests/. A citation in a comment of gc/ must name an
invariant that exists, but does not count as a check. The numbers of one name begin with 1 and have no gaps. Invariants
of include/ and runtime/ need no citation.
"""

import argparse
import re
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

from layers import rooms, source

DEFINITION = {  # in gc/ definitions are indented further, because a citation may also begin a comment line
    "gc": re.compile(r"^ \* {2,}\[([a-z]\w*)\.(\d+)\]", re.MULTILINE),
    "include": re.compile(r"^ \* {2,}\[([a-z]\w*)\.(\d+)\]", re.MULTILINE),
    "runtime": re.compile(r"^ \* +\[([a-z]\w*)\.(\d+)\]", re.MULTILINE),
}
CITATION = re.compile(r"\[([a-z]\w*)\.(\d+)\]")
TESTS = ("*.c", "*.h", "*.py", "*.pml")
PAGES = ("CONTRIBUTING.md", "docs")
ASSERTION = re.compile(r"(?<!define )\bASSERT\(")
LEAST_ASSERTIONS = 2  # per 100 lines that are neither blank nor a comment


def numbers_in(pattern, text):
    """((name, number), line) of each match."""
    for match in pattern.finditer(text):
        yield (match[1], int(match[2])), source.line_of(text, match.start())


def words(invariant):
    return "[{}.{}]".format(*invariant)


class Invariants:
    def __init__(self, root):
        self.root = root
        self.defined = defaultdict(list)  # (name, number) -> places; a place is "file:line"
        self.checked = defaultdict(list)  # (name, number) -> places that check it
        self.mentioned = defaultdict(list)  # (name, number) -> all places except its definition
        for folder, definition in DEFINITION.items():
            for path in source.c_files(root, folder):
                self.read_source(path, definition)
        for pattern in TESTS:
            for path in sorted((root / "tests").rglob(pattern)):
                if path.name != Path(__file__).name:
                    self.read_other(path, checks=True)
        for path in PAGES:
            for page in sorted((root / path).rglob("*.md")) if (root / path).is_dir() else [root / path]:
                self.read_other(page, checks=False)

    def read_source(self, path, definition):
        text = source.read(self.root, path)
        for invariant, line in numbers_in(definition, text):
            self.defined[invariant].append(f"{path}:{line}")
        undefined = definition.sub("", text)
        for invariant, line in numbers_in(CITATION, undefined):
            self.mentioned[invariant].append(f"{path}:{line}")
        for literal in source.COMMENT_OR_LITERAL.finditer(text):
            if literal[0][0] == '"':
                line = source.line_of(text, literal.start())
                for invariant, _ in numbers_in(CITATION, literal[0]):
                    self.checked[invariant].append(f"{path}:{line}")

    def read_other(self, path, checks):
        if not path.is_file():
            return
        for invariant, line in numbers_in(CITATION, path.read_text(encoding="utf-8", errors="replace")):
            place = f"{path.relative_to(self.root)}:{line}"
            self.mentioned[invariant].append(place)
            if checks:
                self.checked[invariant].append(place)

    def required(self):
        return sorted(invariant for invariant, places in self.defined.items() if places[0].startswith("gc/"))

    def faults(self):
        for invariant in self.required():
            if invariant not in self.checked:
                yield f"{self.defined[invariant][0]}: no message of gc/ and no test cites {words(invariant)}"
        for invariant, places in sorted(self.mentioned.items()):
            if invariant not in self.defined:
                yield from (f"{place}: there is no {words(invariant)}" for place in places)
        last = Counter()
        for invariant, places in sorted(self.defined.items()):
            name, number = invariant
            if len(places) > 1:
                yield f"{places[1]}: {words(invariant)} is defined twice; it is in {places[0]}, too"
            if number != last[name] + 1:
                yield f"{places[0]}: {words(invariant)} comes after {last[name]}"
            last[name] = number

    def counts(self):
        """A line for each file that defines invariants."""
        files, checked = Counter(), Counter()
        for invariant in self.required():
            path = self.defined[invariant][0].split(":")[0]
            files[path] += 1
            checked[path] += invariant in self.checked
        return [f"{path}: {count} invariants, {checked[path]} of them checked" for path, count in sorted(files.items())]

    def table(self):
        for invariant in self.required():
            yield f"{words(invariant)} of {self.defined[invariant][0]}: {', '.join(self.checked[invariant]) or 'NOTHING'}"


# --- assertions ---


def assertions(root):
    """{room: [assertions, lines that are neither blank nor a comment]}"""
    found = defaultdict(lambda: [0, 0])
    for path in source.c_files(root, "gc"):
        text = source.without_comments(source.read(root, path))
        found[rooms.room_of(path)][0] += len(ASSERTION.findall(text))
        found[rooms.room_of(path)][1] += sum(1 for line in text.splitlines() if line.strip())
    return found


def check_assertions(root):
    found = assertions(root)
    asserted, lines = (sum(row[column] for row in found.values()) for column in (0, 1))
    for room, row in [*sorted(found.items(), key=lambda item: str(item[0])), ("total", (asserted, lines))]:
        print(f"{room!s:18} {row[0]:4} ASSERTs in {row[1]:5} lines: {100 * row[0] / max(row[1], 1):.1f} in 100")
    return asserted * 100 >= LEAST_ASSERTIONS * lines > 0


# --- the self-test ---

CLEAN = {
    "gc/heap.h": "/* The heap.\n *\n *   [heap.1] It is.\n *   [heap.2] It stays.\n */\n",
    "gc/old/span.c": "/* Spans.\n *\n *   [span.1] A span.\n */\n/* What holds\n * [span.1] up. */\n"
    'void f(void) { ASSERT(1, "[heap.1] it is"); return "it went " "[heap.2]"; }\n',
    "runtime/log.h": "/* A log.\n *\n * [log.1] Logs.\n */\n",
    "runtime/log.c": "/* [log.1] */\n",
    "tests/test_span.c": "/* [span.1] */\n",
    "docs/page.md": "`[heap.1]`\n",
}

# Each: a file, what is added to it, and what the one fault must say.
PLANTED = [
    ("gc/heap.h", "/*\n *   [heap.3] It grows.\n */", "gc/heap.h:7: no message of gc/ and no test cites [heap.3]"),
    ("gc/heap.h", "/*\n *   [heap.3] It grows.\n */ /* [heap.3] */", "no test cites [heap.3]"),
    ("gc/heap.h", "/*\n *   [heap.4] It grows.\n */ char *s = \"[heap.4]\";", "gc/heap.h:7: [heap.4] comes after 2"),
    ("gc/heap.h", "/*\n *   [heap.2] It grows.\n */", "gc/heap.h:7: [heap.2] is defined twice; it is in gc/heap.h:4, too"),
    ("gc/old/span.c", "/*\n *   [heap.1] It grows.\n */", "[heap.1] is defined twice"),
    ("gc/old/span.c", "/* [heap.3] */", "gc/old/span.c:8: there is no [heap.3]"),
    ("gc/old/span.c", "char *s = \"[spam.1]\";", "there is no [spam.1]"),
    ("tests/test_span.c", "/* [span.2] */", "tests/test_span.c:2: there is no [span.2]"),
    ("tests/spin/barrier.pml", "/* [span.2] */", "tests/spin/barrier.pml:1: there is no [span.2]"),
    ("docs/page.md", "`[span.2]`", "docs/page.md:2: there is no [span.2]"),
    ("runtime/log.c", "/* [log.2] */", "there is no [log.2]"),
    ("runtime/log.h", "/*\n * [log.3] Sinks.\n */", "[log.3] comes after 1"),
]


def in_a_tree(files, question):
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return question(Path(root))


def self_test():
    faults_of = lambda files: in_a_tree(files, lambda root: list(Invariants(root).faults()))
    clean = faults_of(CLEAN)
    failures = [f"the clean tree has faults: {clean}"] if clean else []
    for name, added, expected in PLANTED:
        found = faults_of({**CLEAN, name: CLEAN.get(name, "") + added + "\n"})
        if len(found) != 1 or expected not in found[0]:
            failures.append(f"{name} with {added!r}: expected {expected!r} alone, found {found}")
    counted = in_a_tree({"gc/heap.c": '/* ASSERT(no) */\n\n#define ASSERT(x)\nASSERT(1, "yes"); // 2\n/*\n*/ int a;\n'}, assertions)
    if dict(counted) != {"spine": [1, 3]}:
        failures.append(f"expected one ASSERT in three lines of the spine, found {dict(counted)}")
    for failure in failures:
        print(failure)
    print(f"{len(PLANTED) + 1} cases planted, {len(failures)} wrong answers")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", type=Path, default=source.project_root(), metavar="ROOT")
    what = parser.add_mutually_exclusive_group()
    for option in ("--list", "--assertions", "--self-test"):
        what.add_argument(option, action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    root = arguments.root.resolve()
    if arguments.assertions:
        return 0 if check_assertions(root) else 1
    invariants = Invariants(root)
    if arguments.list:
        print("\n".join(invariants.table()))
        return 0
    faults = list(invariants.faults())
    print("\n".join([*invariants.counts(), *faults]))
    required = invariants.required()
    print(f"{len(required)} invariants, {sum(invariant in invariants.checked for invariant in required)} checked, {len(faults)} faults")
    return 1 if faults or not required else 0


if __name__ == "__main__":
    sys.exit(main())
