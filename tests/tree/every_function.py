#!/usr/bin/env python3
"""Every exported function has a row in tests/heap/test_every_function.c, and a public one that has to refuse something
has its place in include/cradle/detail/places.h.

    every_function.py ROOT PROGRAM

PROGRAM is that test, which lists its rows. The functions are those that the headers declare with CRADLE_API; a public
one is declared outside of include/cradle/detail/. docs/failures.md names nothing else.
"""

import re
import subprocess
import sys
from pathlib import Path

from surface import COMMENT, PUBLIC, public_headers, words_of

# Without a place, and why.
PLACELESS = {"cradle_mutator_new": "a C++ program may call it outside of functions"}
PLACE = re.compile(r"^#define (cradle_\w+)\(\.\.\.\)", re.MULTILINE)
EXPORTED = re.compile(PUBLIC.pattern.replace("CRADLE_API|CRADLE_INLINE", "CRADLE_API"))


def exported_by(headers):
    return {name for text in headers for name in EXPORTED.findall(text)}


def main():
    root, program = Path(sys.argv[1]), sys.argv[2]
    headers = [COMMENT.sub("", path.read_text(encoding="utf-8")) for path in sorted((root / "include/cradle").rglob("*.h"))]
    exported = exported_by(headers)
    listed, refusing = (set(subprocess.run([program, option], capture_output=True, text=True, check=True).stdout.split())
                        for option in ("--list", "--rows"))
    public = exported_by(public_headers(root))
    placed = {name for path in (root / "include/cradle/detail").glob("*places.h") for name in PLACE.findall(path.read_text(encoding="utf-8"))}
    page = (root / "docs/failures.md").read_text(encoding="utf-8")
    told = set(re.findall(r"`(cradle_\w+)`", page))
    faults = [f"{name}: tests/heap/test_every_function.c has no row for it" for name in sorted(exported - listed)]
    faults += [f"{name}: tests/heap/test_every_function.c has a row for it, and no header" for name in sorted(listed - exported)]
    faults += [f"{name}: include/cradle/detail/places.h has no line for it" for name in sorted((public & refusing) - placed - {*PLACELESS})]
    faults += [f"{name}: docs/failures.md names it, and no header" for name in sorted(told - words_of(public_headers(root)))]
    print("\n".join(faults) or f"{len(exported)} exported functions")
    return 1 if faults or len(exported) < 80 else 0


if __name__ == "__main__":
    sys.exit(main())
