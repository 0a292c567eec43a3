#!/usr/bin/env python3
"""Checks that the tutorial shows the program that is in the tree: tutorial.py PAGE SOURCE

SOURCE must equal the C or C++ blocks of PAGE, by its own ending, put together, and be no longer than the page says.
"""

import difflib
import sys
from pathlib import Path

from snippets import text_of

LINES_MAX = 100


def main():
    page, source = map(Path, sys.argv[1:3])
    expected = text_of(page, source.suffix.removeprefix(".")).splitlines()
    found = source.read_text(encoding="utf-8").splitlines()
    difference = list(difflib.unified_diff(expected, found, str(page), str(source), lineterm=""))
    print("\n".join(difference) or f"{source} is the program of {page}, {len(found)} lines")
    if len(found) > LINES_MAX:
        print(f"{source} has {len(found)} lines, more than {LINES_MAX}")
    return 1 if difference or len(found) > LINES_MAX else 0


if __name__ == "__main__":
    sys.exit(main())
