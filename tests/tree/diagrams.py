#!/usr/bin/env python3
"""Checks the diagrams of docs/diagrams: diagrams.py ROOT

Each .svg was drawn from the .dot beside it as that is now, and a page shows it. Where Graphviz is installed, each is drawn
again: it must say and join the same. Places and sizes depend on the machine's fonts, so they are not compared.
"""

import re
import shutil
import sys
import xml.etree.ElementTree
from pathlib import Path

ROOT = Path(sys.argv[1]).resolve()
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools" / "cradle_manual"))

import diagrams  # noqa: E402

# A node's or an edge's name, and a line of text.
SAID = re.compile(r"<(?:title|text)\b[^>]*>(.*?)</(?:title|text)>")
IMAGE = re.compile(r"!\[([^\]]*)\]\((?:\.\./)?diagrams/(\S+?)\)")


def main():
    sources = sorted(diagrams.FOLDER.glob("*.dot"))
    shown = {name: words for page in (ROOT / "docs").rglob("*.md") for words, name in IMAGE.findall(page.read_text(encoding="utf-8"))}
    has_dot, faults = shutil.which("dot") is not None, []
    for source in sources:
        picture = source.with_suffix(".svg")
        text = picture.read_text(encoding="utf-8") if picture.exists() else ""
        if diagrams.mark(source) not in text:
            faults.append(f"{picture.name} is not drawn from {source.name} as it is now: tools/manual --draw")
        elif has_dot and SAID.findall(diagrams.drawn(source)) != SAID.findall(text):
            faults.append(f"{picture.name} does not say what dot draws from {source.name}: tools/manual --draw")
        elif not xml.etree.ElementTree.fromstring(text.encode()).tag.endswith("svg"):
            faults.append(f"{picture.name} is no SVG")
        if len(shown.get(picture.name, "").split()) < 3:
            faults.append(f"no page shows {picture.name}, or none says in words what it shows")
    print("\n".join(faults) or f"{len(sources)} diagrams" + ("" if has_dot else ", not drawn again: Graphviz is not installed"))
    return 1 if faults or len(sources) < 7 else 0


if __name__ == "__main__":
    sys.exit(main())
