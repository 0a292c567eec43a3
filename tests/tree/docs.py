#!/usr/bin/env python3
"""Checks the documentation's links and commands: docs.py ROOT

Every relative link of README.md, CONTRIBUTING.md, SECURITY.md and the pages under docs/ leads to a file that is there, and to a
heading of it where it names one; docs/pages.md leads to every page. Every command that begins with a file of tools/ or
tests/ can be run: the file is there and executable. No page contains a phrase of UNCLEAR, because readers had to read
these twice.
"""

import os
import re
import sys
from pathlib import Path

LINK = re.compile(r"(?<!!)\[[^\]\[]*\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
CODE = re.compile(r"^```.*?^```|^(?: {4}|\t).*?$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
# A line of code, or words in backquotes that hold more than the file.
COMMAND = re.compile(r"^(?: {4,}|\t)(?:\$ )?((?:tools|tests)/\S+)|`((?:tools|tests)/[^\s`]+) [^`\n]+`", re.MULTILINE)
# Phrases that readers had to read twice: write "there is no" for "is none", for example, and "are reported" for "are told".
UNCLEAR = ["is none", "dealt with", "are told", "told of", "is through with", "that that", "such a one", "so many as", "as ever",
           "goes before it"]


def unclear_in(page, root):
    prose = " ".join(CODE.sub("", page.read_text(encoding="utf-8")).split())
    for turn in UNCLEAR:
        if re.search(rf"\b{turn}\b", prose, re.IGNORECASE):
            yield f'{page.relative_to(root)}: "{turn}" is to be said in plainer words'


def anchors(page):
    """The link names (anchors) of a page's headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(text)}


def faults_of(page, root):
    for link in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        where = f"{page.relative_to(root)}: {link}"
        if not target.exists():
            yield f"{where}: not there"
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            yield f"{where}: no such heading"


def commands_of(page):
    return {line or quoted for line, quoted in COMMAND.findall(page.read_text(encoding="utf-8"))}


def main():
    root = Path(sys.argv[1]).resolve()
    outside = [root / "README.md", root / "CONTRIBUTING.md", root / "SECURITY.md"]
    pages = [*outside, *sorted((root / "docs").rglob("*.md"))]
    faults = [fault for page in pages for check in (faults_of, unclear_in) for fault in check(page, root)]
    commands = {(page, command) for page in pages for command in commands_of(page)}
    faults += sorted(f"{page.relative_to(root)}: {command} cannot be run" for page, command in commands
                     if not os.access(root / command, os.X_OK))
    index = root / "docs" / "pages.md"
    listed = {(index.parent / link.partition("#")[0]).resolve() for link in LINK.findall(index.read_text(encoding="utf-8"))}
    faults += [f"docs/pages.md does not lead to {page.relative_to(root)}" for page in pages[len(outside):]
               if page not in listed | {index, index.parent / "README.md"}]
    print("\n".join(faults) or f"{len(pages)} pages, every link leads somewhere; {len(commands)} commands")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
