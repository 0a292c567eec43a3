"""Reads C files for the checks of the tree: comments and literals, #include lines, and the functions of a file."""

import re
from pathlib import Path

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include\b[ \t]*(?:<([^>\n]*)>|"([^"\n]*)"|(.*))', re.MULTILINE)
COMMENT_OR_LITERAL = re.compile(
    r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.)*", re.MULTILINE | re.DOTALL)
INNERMOST_BRACES = re.compile(r"\{[^{}]*\}")
BODY = "\0"  # replaces a pair of braces and their contents
NOT_OUTER = re.compile(r"=|\b(?:static|typedef|_Static_assert|CRADLE_INLINE|CRD_ALWAYS_INLINE)\b")
OUTER_NAME = re.compile(r"\b(crd_\w+)\s*\(")


def blank(text):
    """Only the line ends of the text, so that line numbers stay right."""
    return " " + "\n" * text.count("\n")


def without_comments(text):
    keep = lambda match: match[0] if match[0][0] in "\"'" else blank(match[0])
    return COMMENT_OR_LITERAL.sub(keep, text)


def without_literals(text):
    """The text without literals and comments."""
    return COMMENT_OR_LITERAL.sub(lambda match: blank(match[0]), text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def read(root, path):
    return (root / path).read_text(encoding="utf-8", errors="replace")


def c_files(root, folder):
    """The C files in a folder of the tree and below, as paths from the root."""
    return [path.relative_to(root) for path in sorted((root / folder).rglob("*.[ch]"))]


def resolve(root, source, name, quoted):
    """The project's file that an #include means, relative to root; None: a header of the system."""
    places = [source.parent] if quoted else []
    for place in places + [root, root / "include"]:
        path = (place / name).resolve()
        if path.is_file() and root in path.parents:
            return path.relative_to(root)
    return None


class Include:
    """One #include line. name: None where a macro says what is included; target: None for a header of the system."""

    def __init__(self, root, path, text, match):
        self.line = line_of(text, match.start())
        self.name = match[1] or match[2]
        self.quoted = match[2] is not None
        self.target = self.name and resolve(root, root / path, self.name, self.quoted)


def includes_of(root, path):
    text = without_comments(read(root, path))
    return [Include(root, path, text, match) for match in INCLUDE.finditer(text)]


def outer_functions(text):
    """(name, line, whether it is defined there) of each crd_ function that other files can see."""
    code = DIRECTIVE.sub(lambda match: blank(match[0]), without_literals(text))
    while INNERMOST_BRACES.search(code):
        code = INNERMOST_BRACES.sub(lambda match: BODY + blank(match[0]), code)
    for statement in re.finditer(rf"[^;{BODY}]*[;{BODY}]", code):
        name = OUTER_NAME.search(statement[0])
        if name is None:
            continue
        before = statement[0][: name.start()]
        if before.count("(") == before.count(")") and not NOT_OUTER.search(before):
            yield name[1], line_of(code, statement.start() + name.start()), statement[0][-1] == BODY


def project_root():
    return Path(__file__).resolve().parents[3]
