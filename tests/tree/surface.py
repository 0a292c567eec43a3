#!/usr/bin/env python3
"""Counts the public functions and macros, and checks that docs/design/weight.md explains those that nothing uses, and
that every benchmark is used.

    surface.py ROOT

Public are the functions, and the macros with parameters, of include/cradle/*.h; there are at most MOST. Each is used by
an example, a benchmark, a page or another public header, or weight.md says why it exists. Every program of bench/ is
named by a page or run by a test.
"""

import os
import re
import sys
from pathlib import Path

MOST = 137

CODE = {".c", ".h", ".cpp", ".py", ""}
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
PUBLIC = re.compile(r"\b(?:CRADLE_API|CRADLE_INLINE)\b[^;{=()]*?(?:__attribute__\(\(.*?\)\)\s*)?[^;{=()]*?\b(cradle_\w+)\s*\(")
MACRO = re.compile(r"^#define ((?:CRADLE|cradle)_\w+)\(", re.MULTILINE)
PROGRAM = re.compile(r"executable\('([\w-]+)'")


def public_headers(root):
    """The text of each, without comments."""
    return [COMMENT.sub("", path.read_text(encoding="utf-8")) for path in sorted((root / "include/cradle").glob("*.h"))]


def code_below(folder):
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in CODE:
            yield COMMENT.sub("", path.read_text(encoding="utf-8", errors="replace"))


def words_of(texts):
    return {word for text in texts for word in re.findall(r"\b(?:CRADLE|cradle)_\w+", text)}


def unused(root):
    """The number of public names, and those that only tests and docs/failures.md name, which is a list."""
    headers = public_headers(root)
    public = {name for text in headers for name in (*PUBLIC.findall(text), *MACRO.findall(text))}
    pages = [path.read_text(encoding="utf-8") for path in sorted((root / "docs").glob("*.md")) if path.name != "failures.md"]
    used = words_of([*pages, *(text for folder in ("examples", "bench") for text in code_below(root / folder))])
    twice = {name for name in public if sum(len(re.findall(rf"\b{name}\b", text)) for text in headers) > 1}
    return len(public), public - used - twice


def programs(root):
    yield from PROGRAM.findall((root / "bench/meson.build").read_text(encoding="utf-8"))
    for path in (root / "bench").iterdir():
        if path.is_file() and os.access(path, os.X_OK):
            yield path.name


def main():
    root = Path(sys.argv[1]).resolve()
    pages = "".join(path.read_text(encoding="utf-8") for path in [root / "README.md", *sorted((root / "docs").rglob("*.md"))])
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", (root / "docs/design/weight.md").read_text(encoding="utf-8"), re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    count, nobody = unused(root)
    faults = [f"{count} public functions and macros; at most {MOST} may be"] if count > MOST else []
    faults += [f"{name}: nothing uses it, and docs/design/weight.md does not say why it is there" for name in sorted(nobody - listed)]
    faults += [f"{name}: docs/design/weight.md has it as one that nothing uses" for name in sorted(listed - nobody)]
    tests = (root / "tests/meson.build").read_text(encoding="utf-8")
    faults += [f"bench/{name}: no page quotes it and no test runs it" for name in programs(root)
               if not re.search(rf"bench/{re.escape(name)}\b", pages) and name.replace("-", "_") not in tests]
    print("\n".join(faults) or f"{count} public functions and macros, {len(nobody)} that only tests use; every benchmark is quoted or run")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
