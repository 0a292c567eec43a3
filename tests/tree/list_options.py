#!/usr/bin/env python3
"""Compares the table of docs/environment.md with the library's, which list-options prints.

    list_options.py PROGRAM PAGE
"""

import difflib
import pathlib
import subprocess
import sys


def main():
    program, page = sys.argv[1:]
    printed = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    shown = [line for line in pathlib.Path(page).read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    for line in difflib.unified_diff(shown, printed, "the page", "list-options", lineterm="", n=0):
        print(line)
    rows = [line.split("|")[1] for line in printed[2:]]
    print(f"{sum(',' not in row for row in rows)} variables, {len(rows)} rows")
    return 0 if shown == printed and len(printed) > 2 else 1


if __name__ == "__main__":
    sys.exit(main())
