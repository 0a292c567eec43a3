#!/usr/bin/env python3
"""Compares the static probes in the shared library with the table of docs/probes.md: names and numbers of arguments.

    test_probes.py LIBRARY DOCUMENT

Exits with 77, which meson reads as skipped, where readelf is not installed.
"""

import pathlib
import re
import shutil
import subprocess
import sys

PROBE = re.compile(r"Provider: cradle\s+Name: (\w+)\s+Location: \S+ Base: \S+ Semaphore: \S+\s+Arguments: ?(.*)")
ROW = re.compile(r"^\| `(\w+)` \| ([^|]+) \|", re.MULTILINE)


def main():
    library, document = sys.argv[1:]
    if shutil.which("readelf") is None:
        print("skipped: readelf is not installed")
        return 77
    result = subprocess.run(["readelf", "--notes", "--wide", library], capture_output=True, text=True, check=True)
    built = {(name, len(arguments.split())) for name, arguments in PROBE.findall(result.stdout)}
    rows = ROW.findall(pathlib.Path(document).read_text(encoding="utf-8"))
    documented = {(name, len(arguments.split(","))) for name, arguments in rows}
    for name, count in sorted(built - documented):
        print(f"{name} with {count} arguments is in {library}, but not in {document}")
    for name, count in sorted(documented - built):
        print(f"{name} with {count} arguments is in {document}, but not in {library}")
    print(f"{len(built)} probes")
    return 0 if built and built == documented else 1


if __name__ == "__main__":
    sys.exit(main())
