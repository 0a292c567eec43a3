"""An extension of Sphinx: the text of each page in one script, from which scripts/excerpts.js shows an excerpt for each hit of
the search. Sphinx would fetch the pages, which a browser refuses for pages that are read as files.
"""

import json
from pathlib import Path

from docutils import nodes
from sphinx import addnodes

SCRIPT = "texts.js"
UNREAD = (nodes.title, nodes.image, nodes.comment, nodes.raw, addnodes.index, addnodes.toctree, addnodes.desc_signature)
BLOCKS = (nodes.paragraph, nodes.term, nodes.line, nodes.caption)


class Part:
    """What stands between one anchor and the next: a section, a name of the reference or a row with an anchor."""

    def __init__(self, ids, title):
        self.ids, self.title, self.prose, self.code = ids, title, [], []

    def as_list(self):
        return [self.ids, self.title, *(" ".join(" ".join(texts).split()) for texts in (self.prose, self.code))]


def parts_of(doctree):
    parts = [Part([], "")]
    collect(doctree, parts[0], parts)
    return [part.as_list() for part in parts if part.prose or part.code]


def collect(node, part, parts):
    if isinstance(node, UNREAD):
        return
    inner = part
    if isinstance(node, nodes.section):
        inner = Part(node["ids"][:1], node[node.first_child_matching_class(nodes.title)].astext())
    elif isinstance(node, addnodes.desc):
        inner = Part([one for signature in node.findall(addnodes.desc_signature) if signature.parent is node for one in signature["ids"]], "")
    elif isinstance(node, nodes.row) and node["ids"]:
        inner = Part(node["ids"][:1], "")
    if inner is not part:
        parts.append(inner)
    if isinstance(node, nodes.literal_block):
        inner.code.append(node.astext())
    elif isinstance(node, BLOCKS):
        inner.prose.append("".join(text.astext() for text in node.findall(nodes.Text)))  # without what an image says
    else:
        for child in node.children:
            collect(child, inner, parts)


def add_scripts(app, page, template, context, doctree):
    if page == "search":
        app.add_js_file(SCRIPT)
        app.add_js_file("excerpts.js", defer="defer")  # after the script of the search


def write(app, exception):
    if exception is not None:
        return
    pages = {page: parts_of(app.env.get_doctree(page)) for page in sorted(app.env.found_docs)
             if "nosearch" not in app.env.metadata[page]}
    script = "const texts = " + json.dumps(pages, ensure_ascii=False, separators=(",", ":")) + ";\n"
    (Path(app.outdir) / "_static" / SCRIPT).write_text(script, encoding="utf-8")


def setup(app):
    app.connect("html-page-context", add_scripts)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
