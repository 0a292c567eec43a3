"""Puts together what Sphinx reads: the pages of docs/ where they lie, the reference, and the sources that pages link to.

docs/README.md becomes the front page, and the lists of docs/pages.md the navigation. A link to a header leads to its
reference, one to another file to a page that shows it.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import cplusplus
import headers
import order
import reference

ROOT = headers.ROOT
FRONT, LISTS, TOOLS = (ROOT / "docs" / name for name in ("README.md", "pages.md", "tools.md"))
OUTSIDE = ["CONTRIBUTING.md", "CHANGELOG.md", "README.md", "examples/stackvm/README.md"]
PICTURES = {".svg", ".png"}
LANGUAGES = {".c": "c", ".h": "c", ".py": "python", ".pml": "text"}
LINK = re.compile(r"(\]\()([^()\s]+)(\))")
# A page that the text names by its file is named by its title.
BY_FILE = re.compile(r"\[[\w./-]+\.md\](?=\([\w./-]+\.md[#)])")
FENCE = "~" * 20  # which no source has
FENCED = re.compile(r"(^```.*?^```$|`[^`\n]*`)", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^## (.*)$", re.MULTILINE)
BULLET = re.compile(r"^(?:-|\d+\.) \[(.*?)\]\((.*?)\)", re.MULTILINE)
INSTALLED = ["cradle-heap", "cradle-report", "cradle-rootcheck"]


def pages():
    """The Markdown pages of the manual but for the front page, relative to the root."""
    found = [path.relative_to(ROOT) for path in sorted((ROOT / "docs").rglob("*.md")) if path != FRONT]
    return [*found, *map(Path, OUTSIDE)]


class Stage:
    def __init__(self, folder):
        self.folder = folder
        self.shown = set()  # sources that a page links to

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def copy(self, source):
        target = self.folder / source.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)

    def link(self, link, page, place):
        """A link of a page of the tree, as it is from a place in the stage."""
        name, mark, anchor = link.partition("#")
        if not name or re.match(r"[a-z]+:", link):
            return link
        target = Path(os.path.normpath(ROOT / page.parent / name)).relative_to(ROOT)
        if target == FRONT.relative_to(ROOT):
            target = Path("index.md")
        elif target == Path("include/cradle"):
            target = Path("reference/index.rst")
        elif ROOT / target == cplusplus.HEADER:
            target = Path("reference/cplusplus.rst")
        elif target.parts[:2] == ("include", "cradle"):
            target = Path("reference", target.stem + ".rst")
        elif target.suffix != ".md" and target.suffix not in PICTURES:
            target = self.show(target)
        return os.path.relpath(target, place.parent) + mark + anchor

    def show(self, source):
        """The page that shows a file or a folder of the sources."""
        page = Path("source", str(source).replace("/", "-") + ".md")
        if source not in self.shown:
            self.shown.add(source)
            if (ROOT / source).is_dir():
                below = sorted(path.relative_to(ROOT) for path in (ROOT / source).iterdir() if path.is_file())
                text = "\n".join(f"- [{path.name}]({self.show(path).name})" for path in below)
            else:
                language = LANGUAGES.get(source.suffix, "text")
                text = f"{FENCE}{language}\n{(ROOT / source).read_text(encoding='utf-8')}{FENCE}"
            self.write(page, f"---\norphan: true\nnosearch: true\n---\n\n# {source}\n\n{text}\n")
        return page

    def with_links(self, text, page, place):
        parts = FENCED.split(text)
        parts[::2] = [LINK.sub(lambda m: m[1] + self.link(m[2], page, place) + m[3], BY_FILE.sub("[]", part)) for part in parts[::2]]
        return "".join(parts)

    def add_page(self, page):
        text = (ROOT / page).read_text(encoding="utf-8")
        if ROOT / page == TOOLS:
            text += "".join(help_of(name) for name in INSTALLED)
        if str(page) == "README.md":
            text = text.replace("# Cradle\n", "# Try it\n", 1)
        self.write(page, front_matter(str(page)) + self.with_links(text, page, page))

    def add_front(self):
        """docs/README.md, and for the navigation a list for each heading of docs/pages.md."""
        page, place = FRONT.relative_to(ROOT), Path("index.md")
        text = FRONT.read_text(encoding="utf-8")
        _, *parts = HEADING.split(LISTS.read_text(encoding="utf-8"))
        lists = [toctree(heading, [(title, self.link(name, page, place)) for title, name in BULLET.findall(body)])
                 for heading, body in zip(parts[::2], parts[1::2], strict=True)]
        lists.append(toctree("Everything", [("All pages", self.link(LISTS.name, page, place))]))
        self.write(place, front_matter(str(place)) + self.with_links(text, page, place) + "\n" + "\n".join(lists))

    def add_reference(self):
        every = headers.read_all()
        text = reference.Text(every, {str(page) for page in pages()})
        for header in every:
            if header.is_public:
                self.write(f"reference/{header.path.stem}.rst", reference.page_of(header, text))
        self.write("reference/cplusplus.rst", cplusplus.page(text))
        self.write("reference/index.rst", reference.index_of(every, text, order.HEADERS))


def front_matter(page):
    """The settings of a page for MyST and for the search."""
    if page in order.NOT_SEARCHED:
        return "---\nnosearch: true\n---\n\n"
    if page in order.KEYWORDS:
        return f"---\nmyst:\n  html_meta:\n    keywords: {order.KEYWORDS[page]}\n---\n\n"
    return ""


def toctree(caption, links):
    names = [f"{title} <{link.removesuffix('.md').removesuffix('.rst')}>" for title, link in links]
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *names, "```", ""])


def help_of(tool):
    said = subprocess.run([sys.executable, ROOT / "tools" / tool, "--help"], capture_output=True, text=True, check=True,
                          env={**os.environ, "COLUMNS": "100"})
    return f"\n## {tool} --help\n\n```text\n{said.stdout.rstrip()}\n```\n"


def make(folder):
    """Writes all that Sphinx reads."""
    stage = Stage(folder)
    for page in pages():
        stage.add_page(page)
    for path in (ROOT / "docs").rglob("*"):
        if path.suffix in PICTURES:
            stage.copy(path)
    stage.add_front()
    stage.add_reference()
