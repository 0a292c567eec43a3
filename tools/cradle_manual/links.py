"""An extension of Sphinx: code in the text that is a public name or an environment variable becomes a link to its description."""

import re

from docutils import nodes
from sphinx.domains.c import CDomain
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

NAME = re.compile(r"((?:cradle|CRADLE)_\w+(?:\.\w+)*)(?:\(\)|=.*)?$")
VARIABLES = "docs/environment"


class Names(CDomain):
    """Parameters are no names to search for."""

    def get_objects(self):
        return (found for found in super().get_objects() if found[2] != "functionParam")


def name_variables(app, doctree):
    """Gives each row of the table of variables an anchor, and an entry in the search and in the index."""
    env = app.env
    if env.docname != VARIABLES:
        return
    for row in doctree.findall(nodes.row):
        literal = next(iter(row[0].findall(nodes.literal)), None)
        if literal is not None and literal.astext().startswith("CRADLE_"):
            name = literal.astext()
            row["ids"].append(name)
            env.domains["std"].note_object("envvar", name, name, location=row)


class LinkNames(SphinxPostTransform):
    default_priority = 5

    def run(self, **_):
        places = self.places()
        for literal in list(self.document.findall(nodes.literal)):
            found = NAME.match(literal.astext())
            if not found or isinstance(literal.parent, (nodes.reference, nodes.title)):
                continue
            place = places.get(found[1]) or places.get(found[1].partition(".")[0])
            if place is None or place[1] in literal.parent.parent.get("ids", []):
                continue
            page, anchor = place
            contents = literal.deepcopy()
            literal.replace_self(make_refnode(self.app.builder, self.env.docname, page, anchor, contents, found[1]))

    def places(self):
        """The page and the anchor of each name."""
        if not hasattr(self.env, "cradle_places"):
            objects = [*self.env.domains["std"].get_objects(), *self.env.domains["c"].get_objects()]
            self.env.cradle_places = {name: (page, anchor) for name, _, kind, page, anchor, _ in objects
                                      if kind not in ("doc", "label")}
        return self.env.cradle_places


def forget(app, env):
    """The places are of one build."""
    if hasattr(env, "cradle_places"):
        del env.cradle_places


def setup(app):
    app.add_domain(Names, override=True)
    app.connect("doctree-read", name_variables)
    app.connect("env-updated", forget)
    app.add_post_transform(LinkNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
