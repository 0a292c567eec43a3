#!/usr/bin/env python3
"""Checks that docs/design/weight.md explains every public function that nothing calls, and that every benchmark is
used.

    surface.py ROOT

Every public function is called by an example, a benchmark, the runtime, a tool or another public function, or weight.md
says why it exists. Every program of bench/ is named by a page or run by a test.
"""

import os
import re
import sys
from pathlib import Path

CODE = {".c", ".h", ".cpp", ".py", ""}
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
# The macro of a function in cradle/detail/places.h does not count as a call.
PLACED = re.compile(r"^#define (cradle_\w+)\(\.\.\.\) (?:\\\n)?.*CRADLE_PLACED\(\1\(.*$", re.MULTILINE)
PUBLIC = re.compile(r"\b(?:CRADLE_API|CRADLE_INLINE)\b[^;{=()]*?(?:__attribute__\(\(.*?\)\)\s*)?[^;{=()]*?\b(cradle_\w+)\s*\(")
PROGRAM = re.compile(r"executable\('([\w-]+)'")
CALLERS = ("examples", "bench", "runtime", "tools")


def code_below(folder):
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in CODE and path.parent.name != "rootcheck":  # only names functions
            text = path.read_text(encoding="utf-8", errors="replace")
            yield COMMENT.sub("", text) if path.suffix in (".c", ".h", ".cpp") else text


def words_of(texts):
    return {word for text in texts for word in re.findall(r"\bcradle_\w+", text)}


def uncalled(root):
    """The number of public functions, and those that only tests and pages call."""
    headers = [PLACED.sub("", COMMENT.sub("", path.read_text(encoding="utf-8")))
               for path in sorted((root / "include/cradle").rglob("*.h"))]
    public = {name for text in headers for name in PUBLIC.findall(text)}
    called = words_of(text for folder in CALLERS for text in code_below(root / folder))
    twice = {name for name in public if sum(len(re.findall(rf"\b{name}\b", text)) for text in headers) > 1}
    return len(public), public - called - twice


def programs(root):
    yield from PROGRAM.findall((root / "bench/meson.build").read_text(encoding="utf-8"))
    for path in (root / "bench").iterdir():
        if path.is_file() and os.access(path, os.X_OK):
            yield path.name


def main():
    root = Path(sys.argv[1]).resolve()
    pages = "".join(path.read_text(encoding="utf-8") for path in [root / "README.md", *sorted((root / "docs").rglob("*.md"))])
    rows = re.findall(r"^\| (`cradle_\w+`(?:, `cradle_\w+`)*) \|", (root / "docs/design/weight.md").read_text(encoding="utf-8"), re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"`(cradle_\w+)`", row)}
    count, nobody = uncalled(root)
    faults = [f"{name}: nobody calls it, and docs/design/weight.md does not say why it is there" for name in sorted(nobody - listed)]
    faults += [f"{name}: docs/design/weight.md has it as one that nobody calls" for name in sorted(listed - nobody)]
    tests = (root / "tests/meson.build").read_text(encoding="utf-8")
    faults += [f"bench/{name}: no page quotes it and no test runs it" for name in programs(root)
               if not re.search(rf"bench/{re.escape(name)}\b", pages) and name.replace("-", "_") not in tests]
    print("\n".join(faults) or f"{count} public functions, {len(nobody)} that only tests call; every benchmark is quoted or run")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
