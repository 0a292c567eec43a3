#!/usr/bin/env python3
"""Checks the man pages of the installed tools, in tools/man/.

    manpages.py TOOLS VERSION    each option of --help is in the page, and no other; --version prints the version
    manpages.py --lint TOOLS     mandoc, or man, has nothing to say about them; exits with 77 where neither is installed
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

OPTION = re.compile(r"^  (-\w)?(?:, )?(--[\w-]+)?", re.MULTILINE)


def printed(tool, word):
    return subprocess.run([sys.executable, tool, word], capture_output=True, text=True, check=True).stdout


def options_of_help(text):
    return {option for pair in OPTION.findall(text.partition("\noptions:\n")[2]) for option in pair if option}


def options_of_page(text):
    items = re.findall(r"^\.It (Fl .*)$", text, re.MULTILINE)
    words = {word for item in items for word in re.findall(r"(?:Fl |, )(-?[\w-]+)", item)}
    return {f"-{word}" for word in words}


def faults_of(page, version):
    tool = page.parent.parent / page.stem
    asked, told = options_of_help(printed(tool, "--help")), options_of_page(page.read_text(encoding="utf-8"))
    if asked - told:
        yield f"{page.name}: nothing about {', '.join(sorted(asked - told))}, which --help has"
    if told - asked:
        yield f"{page.name}: {', '.join(sorted(told - asked))} is unknown to --help"
    if printed(tool, "--version") != f"{page.stem} {version}\n":
        yield f"{page.stem} --version prints {printed(tool, '--version')!r}, not the version {version}"


def lint(pages):
    if shutil.which("mandoc"):
        command, environment = ["mandoc", "-T", "lint", "-W", "warning"], os.environ
    elif shutil.which("man"):
        command, environment = ["man", "--warnings", "-E", "UTF-8", "-l", "-T", "utf8", "-Z"], {**os.environ, "LC_ALL": "C.UTF-8"}
    else:
        print("neither mandoc nor man is installed: the layout of the pages is not checked")
        return 77
    for page in pages:
        done = subprocess.run([*command, page], capture_output=True, text=True, check=False, env=environment)
        said = done.stdout if "lint" in command else done.stderr
        if done.returncode or said:
            print(f"{page.name}: {said}")
            return 1
    return 0


def main():
    pages = sorted((Path(sys.argv[2] if sys.argv[1] == "--lint" else sys.argv[1]) / "man").glob("*.1"))
    if sys.argv[1] == "--lint":
        return lint(pages)
    faults = [fault for page in pages for fault in faults_of(page, sys.argv[2])]
    print("\n".join(faults) or f"{len(pages)} man pages")
    return 1 if faults or len(pages) < 3 else 0


if __name__ == "__main__":
    sys.exit(main())
