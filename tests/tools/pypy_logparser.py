#!/usr/bin/env python3
"""Reads a log in text form with PyPy's own log parser, and compares what it found with what cradle-report finds.

    pypy_logparser.py LOG

pip gets the parser (rpython/tool/logparser.py) from PyPI's package rpython, and lib2to3, which Python has up to 3.12,
converts it to Python 3. Run this script by hand: it needs the network.
"""

import collections
import pathlib
import subprocess
import sys
import tarfile
import tempfile

FILES = ("__init__.py", "tool/__init__.py", "tool/logparser.py", "tool/progressbar.py", "tool/terminal.py", "rlib/__init__.py")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))


def fetch(folder):
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", folder, "rpython"], check=True
    )
    with tarfile.open(next(pathlib.Path(folder).glob("rpython-*.tar.gz"))) as archive:
        for member in archive:
            inside = member.name.partition("/")[2]
            if inside.removeprefix("rpython/") in FILES:
                target = pathlib.Path(folder) / inside
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.extractfile(member).read())
            if inside == "rpython/rlib/debug.py":
                debug = archive.extractfile(member).read().decode()
    start = debug.index("class DebugLog")  # the rest of that file needs all of RPython
    (pathlib.Path(folder) / "rpython/rlib/debug.py").write_text(debug[start : debug.index("\ndef ", start)])
    subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "lib2to3", "--write", "--nobackups", f"{folder}/rpython"],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    sys.path.insert(0, str(folder))


def count(entries, found):
    for entry in entries:
        if len(entry) == 4:
            found[entry[0]] += 1
            count(entry[3], found)
    return found


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    from cradle_report import readers

    with tempfile.TemporaryDirectory() as folder:
        fetch(folder)
        from rpython.tool import logparser

        theirs = count(logparser.parse_log_file(sys.argv[1], verbose=False), collections.Counter())
    ours = collections.Counter(section.name for section in readers.read(sys.argv[1]).sections)
    del theirs["cradle-log"]  # cradle-report does not count the head
    for name in sorted(theirs | ours):
        print(f"{name:<24} {theirs[name]:>8} {ours[name]:>8}")
    if theirs != ours:
        sys.exit("PyPy's parser and cradle-report differ")


if __name__ == "__main__":
    main()
