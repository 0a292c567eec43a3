"""The reference: a page a header, written in Sphinx's C domain. The names and types come from clang, through hawkmoth."""

import re
from pathlib import Path

from hawkmoth.doccursor import DocCursor

# What is a mark of reStructuredText's, and what becomes a link or code.
WORD = re.compile(r"`[^`]+`|\bdocs/[\w/-]+\.md\b|\bcradle/\w+\.h\b|\b(?:cradle_|CRADLE_|options\.)\w+(?:\.\w+)*|[\\*_|`]")
ITEM = re.compile(r"(?:- |(\[\w+\.\d+\]|\d+\.) +)(.*)")
VALUE_MAX = 60  # characters of a constant's definition


class Text:
    """Turns comments into reStructuredText, with links to the names that are known."""

    def __init__(self, headers, pages):
        self.roles = {name: kind for header in headers if header.is_public
                      for one in header.declarations() for name, kind in roles_of(one)}
        self.headers = {header.name for header in headers if header.is_public}
        self.pages = pages

    def word(self, match):
        word = match[0]
        if len(word) == 1:
            return "\\" + word
        if word in self.headers:
            return f"\\ :doc:`{word} </reference/{word.removeprefix('cradle/').removesuffix('.h')}>`\\ "
        if word in self.pages:
            return f"\\ :doc:`/{word.removesuffix('.md')}`\\ "
        name = word.strip("`")
        target = "cradle_" + name if name.startswith("options.") else name
        if target in self.roles:
            return f"\\ :c:{self.roles[target]}:`{name} <{target}>`\\ "
        return f"\\ ``{name}``\\ "

    def inline(self, text):
        return WORD.sub(self.word, text)

    def blocks(self, comment):
        """Paragraphs as they are, deeper lines as items or, if they are none, as code."""
        result = []
        for paragraph in filter(None, re.split(r"\n\s*\n", comment)):
            for deep, lines in runs(paragraph.splitlines()):
                result += self.deep(lines) if deep else [self.inline(" ".join(lines)), ""]
        return result

    def deep(self, lines):
        if not ITEM.match(lines[0].strip()):
            return ["::", "", *("   " + line for line in lines), ""]
        items, result = [], []
        for line in lines:
            if item := ITEM.match(line.strip()):
                items.append([f"**{item[1]}** {self.inline(item[2])}" if item[1] else self.inline(item[2])])
            else:
                items[-1].append(self.inline(line.strip()))
        for item in items:
            result += ["- " + " ".join(item), ""]
        return result


def roles_of(one, above=""):
    """What links to the declaration and to those inside of it: (name, role)."""
    name = above + one.name
    yield name, "func" if one.kind == "function" else one.kind
    for inner in (inner for group in one.members for inner in group.declarations):
        yield from roles_of(inner, "" if one.kind == "enum" else name + ".")


def runs(lines):
    """Neighbouring lines that are indented, and those that are not: (whether, lines)."""
    found = []
    for line in lines:
        deep = line.startswith("  ")
        if not found or found[-1][0] != deep:
            found.append((deep, []))
        found[-1][1].append(line)
    return found


def signature(one):
    """As Sphinx's C domain takes it."""
    cursor = DocCursor(domain="c", cursor=one.cursor)
    if one.kind in ("member", "var"):
        return joined(cursor.type, cursor.decl_name)
    if one.kind == "macro":
        return one.name if cursor.args is None else f"{one.name}({', '.join(name for _, name in cursor.args)})"
    if one.kind == "function":
        returned = cursor.type.removeprefix("static ").removeprefix("inline ")
        return joined(returned, f"{one.name}({arguments(cursor)})")
    if one.kind == "type" and cursor.is_function_pointer_typedef:
        return joined(cursor.type, f"(*{one.name})({arguments(cursor)})")
    return one.name


def arguments(cursor):
    return ", ".join(joined(kind, name) for kind, name in cursor.args)


def joined(kind, name):
    return f"{kind}{'' if not kind or kind.endswith('*') else ' '}{name}"


def value_of(one):
    """What stands behind the name of a macro without arguments, if it is short."""
    if one.kind != "macro" or DocCursor(domain="c", cursor=one.cursor).args is not None:
        return None
    extent = one.cursor.extent
    text = Path(extent.start.file.name).read_bytes()[extent.start.offset : extent.end.offset].decode()
    value = " ".join(text.removeprefix(one.name).replace("\\\n", " ").split())
    return value if value and len(value) <= VALUE_MAX and "__" not in value else None


def entry(group, text):
    """A directive for each kind of declaration in the group; the last has the comment."""
    lines, kinds = [], {}
    for one in group.declarations:
        kinds.setdefault(one.kind, []).append(one)
    if not group.declarations:
        return text.blocks(group.comment)
    *others, (kind, last) = kinds.items()
    for other, found in others:
        below = ["Told below, with " + text.inline(last[0].name) + ".", ""]
        lines += [*directive(other, found), *indented([*details(found), *below, *members(found, text)])]
    body = [*details(last), *text.blocks(group.comment), *members(last, text)]
    return [*lines, *directive(kind, last), *indented(body)]


def members(declarations, text):
    return [line for one in declarations for inner in one.members for line in entry(inner, text)]


def details(declarations):
    """Lines with what only the declarations say, such as the values of constants."""
    lines = []
    values = [(one.name, value) for one in declarations if (value := value_of(one))]
    if len(declarations) == 1 and values:
        lines += [f"``{values[0][1]}``", ""]
    elif values:
        lines += [*(f"| ``{name}``: ``{value}``" for name, value in values), ""]
    collecting = [one.name for one in declarations if one.may_collect]
    if collecting:
        which = "" if len(collecting) == len(declarations) else ": " + ", ".join(f"``{name}``" for name in collecting)
        lines += [f"*May collect{which}.*", ""]
    return lines


def directive(kind, declarations):
    first, *others = [signature(one) for one in declarations]
    begin = f".. c:{kind}:: "
    return ["", begin + first, *(" " * len(begin) + other for other in others), ""]


def indented(lines):
    return ["   " + line if line else "" for line in lines]


def title_of(text):
    return [text, "=" * len(text), ""]


def page_of(header, text):
    lines = [*title_of(header.name), "``#include <" + header.name + ">``", "", *text.blocks(header.essay)]
    for group in header.groups:
        if group.section:
            title = group.section[0].upper() + " ".join(group.section[1:].split())
            lines += ["", text.inline(title), "-" * (len(text.inline(title)) + 2), ""]
        else:
            lines += entry(group, text)
    return "\n".join(lines) + "\n"


def first_sentence(comment):
    return re.match(r".*?\.(?=\s|$)|.*", " ".join(comment.split()))[0]


def index_of(headers, text, order):
    """The list of headers by what they are for, and the pages' place in the navigation."""
    by_name = {header.name.removeprefix("cradle/").removesuffix(".h"): header for header in headers if header.is_public}
    missing = set(by_name) ^ {name for _, names in order for name in names}
    if missing:
        raise SystemExit(f"tools/cradle_manual/order.py and include/cradle do not agree about: {', '.join(sorted(missing))}")
    lines = [*title_of("Reference"), "Every public name, from the comments of the headers. A function that may collect says so.",
             "The :ref:`genindex` has all names in the order of the alphabet.", ""]
    for group, names in order:
        lines += ["", group, "-" * len(group), ""]
        lines += [f"- :doc:`{name}`: {text.inline(first_sentence(by_name[name].essay))}" for name in names]
        lines += ["", ".. toctree::", "   :hidden:", "", *(f"   {name}" for name in names), ""]
    lines += ["", "C++", "---", "", "- :doc:`cplusplus`: types, slots, roots and owners for C++17", "",
              ".. toctree::", "   :hidden:", "", "   cplusplus", ""]
    return "\n".join(lines) + "\n"
