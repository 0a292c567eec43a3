"""What the public headers declare, with the comments that belong to it. clang reads the headers.

A comment at the beginning of a line belongs to the declarations below it, down to the next empty line or the next such
comment; one in or behind a declaration belongs to that. A comment with nothing directly below it is a text of the header.
"""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
INCLUDE = ROOT / "include"
sys.path.insert(0, str(ROOT / "tools"))

from clang.cindex import CursorKind, TokenKind, TypeKind  # noqa: E402
from rootcheck import syntax  # noqa: E402

# Names that only the headers use.
PRIVATE = re.compile(r"CRADLE_\w*_$|CRADLE_(BEGIN|END)_DECLS$|\w+_H$|CRADLE_ROOTCHECK$")
SECTION = re.compile(r"/\* --- (.*?) --- \*/$", re.DOTALL)
KINDS = {
    CursorKind.FUNCTION_DECL: "function",
    CursorKind.MACRO_DEFINITION: "macro",
    CursorKind.TYPEDEF_DECL: "type",
    CursorKind.STRUCT_DECL: "struct",
    CursorKind.UNION_DECL: "union",
    CursorKind.ENUM_DECL: "enum",
    CursorKind.VAR_DECL: "var",
}
RECORDS = {CursorKind.STRUCT_DECL, CursorKind.UNION_DECL, CursorKind.ENUM_DECL}
MEMBERS = {CursorKind.FIELD_DECL: "member", CursorKind.ENUM_CONSTANT_DECL: "enumerator"}


@dataclass
class Comment:
    first: int
    last: int
    text: str
    begins_line: bool


@dataclass
class Declaration:
    kind: str
    cursor: object
    members: list = field(default_factory=list)  # groups

    @property
    def name(self):
        return self.cursor.spelling

    @property
    def first(self):
        return self.cursor.extent.start.line

    @property
    def last(self):
        return self.cursor.extent.end.line

    @property
    def may_collect(self):
        marks = [child.spelling for child in self.cursor.get_children() if child.kind == CursorKind.ANNOTATE_ATTR]
        return "cradle_may_collect" in marks


@dataclass
class Group:
    """A comment and the declarations that it belongs to; either may be missing. A section has a title only."""

    comment: str = ""
    declarations: list = field(default_factory=list)
    section: str = ""
    is_shared: bool = True  # the comment stands above, for all that follow

    @property
    def is_documented(self):
        return bool(self.comment) or any(member.comment for one in self.declarations for member in one.members)


@dataclass
class Header:
    path: Path
    essay: str
    groups: list

    @property
    def name(self):
        return str(self.path.relative_to(INCLUDE))

    @property
    def is_public(self):
        return "detail" not in self.path.relative_to(INCLUDE).parts

    def declarations(self):
        return [one for group in self.groups for one in group.declarations]


def plain(text):
    """A comment's text, without its marks."""
    text = re.sub(r"^\s*\* ?", "", text.removeprefix("/*").removesuffix("*/"), flags=re.MULTILINE)
    return text.strip("\n ").rstrip()


def comments_of(unit, path, lines):
    found = []
    for token in unit.get_tokens(extent=unit.cursor.extent):
        if token.kind == TokenKind.COMMENT:
            start, end = token.extent.start, token.extent.end
            begins = not lines[start.line - 1].encode()[: start.column - 1].strip()
            found.append(Comment(start.line, end.line, token.spelling, begins))
    return found


def declarations_of(cursor, path):
    """The declarations that a program may use, in the order of the lines."""
    found = []
    for child in cursor.get_children():
        if child.kind not in KINDS or child.location.file is None or Path(child.location.file.name) != path:
            continue
        if not child.spelling or PRIVATE.match(child.spelling) or not child.spelling.lower().startswith("cradle_"):
            continue
        if child.kind in RECORDS and not child.is_definition():
            continue
        if child.kind == CursorKind.TYPEDEF_DECL and names_a_record(child):
            continue
        found.append(Declaration(KINDS[child.kind], child))
    known, unique = set(), []
    for one in sorted(found, key=lambda one: one.first):
        if one.name not in known:  # a macro with a definition for each compiler
            known.add(one.name)
            unique.append(one)
    return unique


def names_a_record(typedef):
    """Whether the typedef only names the structure of the same name, which is shown in its place."""
    record = typedef.underlying_typedef_type.get_declaration()
    return record.kind in RECORDS and record.spelling == typedef.spelling and record.is_definition()


def group(declarations, comments, lines, last=0):
    """Comments and declarations in the order of the lines, those together that belong together."""
    groups, current = [], None
    inside = [(one.first, one.last) for one in declarations]
    leading = [c for c in comments if c.begins_line and not any(first < c.first <= end for first, end in inside)]
    for one in sorted([*leading, *declarations], key=lambda one: one.first):
        between = lines[last : one.first - 1]
        if isinstance(one, Comment):
            section = SECTION.match(one.text)
            current = Group(section=section[1]) if section else Group(plain(one.text))
            groups.append(current)
        else:
            behind = "\n\n".join(plain(c.text) for c in comments if not c.begins_line and c.first == one.last)
            if not is_of(current, one, behind, between, last):
                current = Group(is_shared=False)
                groups.append(current)
            current.declarations.append(one)
            if one.first != last:
                current.comment = "\n\n".join(filter(None, [current.comment, behind]))
        last = max(last, one.last)
    return groups


def is_of(group, declaration, behind, between, last):
    """Whether the group's comment is the declaration's, too."""
    if group is None or group.section or not all(between):
        return False
    return declaration.first == last or not group.declarations or (group.is_shared and not behind)


def add_members(declaration, comments, lines):
    fields = []
    for child in (child for child in declaration.cursor.get_children() if child.kind in MEMBERS):
        one = Declaration(MEMBERS[child.kind], child)
        array = child.type.get_array_element_type()
        record = (child.type if array.kind == TypeKind.INVALID else array).get_declaration()
        if child.kind == CursorKind.FIELD_DECL and record.kind in RECORDS and record.is_anonymous():
            nested = Declaration(KINDS[record.kind], record)
            add_members(nested, comments, lines)
            one.kind, one.members = nested.kind, nested.members
        fields.append(one)
    if fields:
        inside = [c for c in comments if declaration.first < c.first <= declaration.last]
        declaration.members = group(fields, inside, lines, declaration.first)


def read(path):
    unit = syntax.parse(path, ["-xc", "-std=c11", f"-I{INCLUDE}"])
    lines = path.read_text(encoding="utf-8").splitlines()
    comments = comments_of(unit, path, lines)
    declarations = declarations_of(unit.cursor, path)
    for one in declarations:
        if one.cursor.kind in RECORDS:
            add_members(one, comments, lines)
    essay, *rest = comments
    return Header(path, plain(essay.text), group(declarations, rest, lines, essay.last))


def read_all():
    """All headers. A type that one of them announces, and another defines, is the other's."""
    found = [read(path) for path in sorted(INCLUDE.rglob("*.h"))]
    defined = {one.name for header in found for one in header.declarations() if one.kind != "type"}
    for one in (one for header in found for one in header.groups):
        one.declarations = [each for each in one.declarations if each.kind != "type" or each.name not in defined]
    return found


def uncommented(headers):
    """Public names without a comment, in words."""
    return [f"include/{header.name}: {one.name} has no comment"
            for header in headers for found in header.groups if not found.is_documented for one in found.declarations]
