"""The page of the C++ header in the reference: each class as its public part declares it, with the comments, but without the bodies
of functions. Sphinx's C++ domain is not used: templates and marks of clang are more than it reads.
"""

import re

from headers import INCLUDE, SECTION, plain

HEADER = INCLUDE / "cradle" / "cradle.hpp"
DETAIL = re.compile(r"namespace detail \{.*?\} // namespace detail\n", re.DOTALL)
MARKS = re.compile(r"CRADLE_ATTRIBUTE\([^()]*(?:\([^()]*\))?\) ?|CRADLE_HPP_INLINE_ ")
# A comment at the beginning of a line, and a class, an alias or a macro.
ITEM = re.compile(r"^/\*.*?\*/\n|^(?:template [^;{]*?)?(?:class|struct) [^;{]*\{.*?^\};\n|^(?:template [^;{]*?)?using [^;]*;\n|^#define \w+\([^)]*\)",
                  re.MULTILINE | re.DOTALL)
NAME = re.compile(r"(?:template <.*?> )?(?:class|struct|using|#define) (\w+)")
INITIALISERS = re.compile(r"\s: .*", re.DOTALL)


def members(body):
    """The comments and declarations of a class's body, one after the other."""
    found, now, deep, at = [], "", 0, 0
    while at < len(body):
        if body.startswith("/*", at):
            end = body.index("*/", at) + 2
            found.append("\n".join(line.removeprefix("  ") for line in body[at:end].splitlines()))
            at = end
            continue
        letter = body[at]
        deep += {"{": 1, "}": -1}.get(letter, 0)
        if letter in ";}" and deep == 0:
            declaration = " ".join(INITIALISERS.sub("", now.split("{")[0]).removesuffix("= ").split())
            found += [declaration.removesuffix(" =") + ";"] if declaration else []
            now = ""
        else:
            now += letter
        at += 1
    return found


def synopsis(declaration):
    """A class without its bodies, another declaration as it is."""
    declaration = MARKS.sub("", declaration)
    head, brace, body = declaration.partition("{")
    if not brace:
        return declaration.strip()
    body = body.rpartition("}")[0].partition(" private:")[0]
    body = body.partition(" public:")[2] or body
    return "\n".join([head + "{", *("  " + line for one in members(body) for line in one.splitlines()), "};"])


def page(text):
    """The page, as lines of reStructuredText."""
    source = DETAIL.sub("", HEADER.read_text(encoding="utf-8"))
    essay, *items = ITEM.findall(source)
    name = "cradle/" + HEADER.name
    lines = [name, "=" * len(name), "", f"``#include <{name}>``", "", *text.blocks(plain(essay.strip()))]
    comment = ""
    for item in items:
        section = SECTION.match(item.strip())
        if section:
            lines += ["", section[1].capitalize(), "-" * len(section[1]), ""]
        elif item.startswith("/*"):
            comment = plain(item.strip())
        elif comment:  # what has none, such as a deduction guide, needs no entry
            known, is_macro = NAME.match(MARKS.sub("", item))[1], item.startswith("#define")
            if known.endswith("_"):
                continue
            title = known if is_macro else f"cradle::{known}"
            lines += ["", f"``{title}``", ("-" if is_macro else "^") * (len(title) + 4), "", *text.blocks(comment)]
            lines += [".. code-block:: cpp", ""]
            lines += ["   " + line if line else "" for line in synopsis(item).splitlines()] + [""]
            comment = ""
    return "\n".join(lines) + "\n"
