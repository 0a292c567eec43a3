#!/usr/bin/env python3
"""Every exported function has a row in tests/heap/test_every_function.c, and every public one stands in docs/failures.md.

    every_function.py ROOT PROGRAM

PROGRAM is that test, which lists its rows. The functions are those that the headers declare with CRADLE_API; for the
page only those outside of include/cradle/detail/.
"""

import re
import subprocess
import sys
from pathlib import Path

from surface import COMMENT, PUBLIC, public_headers

EXPORTED = re.compile(PUBLIC.pattern.replace("CRADLE_API|CRADLE_INLINE", "CRADLE_API"))


def exported_by(headers):
    return {name for text in headers for name in EXPORTED.findall(text)}


def main():
    root, program = Path(sys.argv[1]), sys.argv[2]
    headers = [COMMENT.sub("", path.read_text(encoding="utf-8")) for path in sorted((root / "include/cradle").rglob("*.h"))]
    exported = exported_by(headers)
    listed = set(subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split())
    page = (root / "docs/failures.md").read_text(encoding="utf-8")
    told = set(re.findall(r"`(cradle_\w+)`", page))
    faults = [f"{name}: tests/heap/test_every_function.c has no row for it" for name in sorted(exported - listed)]
    faults += [f"{name}: tests/heap/test_every_function.c has a row for it, and no header" for name in sorted(listed - exported)]
    faults += [f"{name}: docs/failures.md does not say how it fails" for name in sorted(exported_by(public_headers(root)) - told)]
    print("\n".join(faults) or f"{len(exported)} exported functions")
    return 1 if faults or len(exported) < 80 else 0


if __name__ == "__main__":
    sys.exit(main())
