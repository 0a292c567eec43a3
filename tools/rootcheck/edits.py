"""Changes to the text of files, by byte offset. They are collected first and applied together."""

from . import syntax


class Edits:
    def __init__(self):
        self.files = {}  # name: list of (start, end, text), in the order in which they were asked for

    def replace(self, name, start, end, text):
        self.files.setdefault(name, []).append((start, end, text.encode()))

    def insert(self, name, offset, text):
        self.replace(name, offset, offset, text)

    def apply(self):
        """The new texts by name. If changes overlap, only the first is made; the next round tries the others again."""
        texts = {}
        for name, changes in self.files.items():
            old, new, at = syntax.contents(name), b"", 0
            for start, end, text in sorted(changes, key=lambda change: change[:2]):
                if start >= at:
                    new += old[at:start] + text
                    at = end
            texts[name] = new + old[at:]
        return texts


def place_in_text(node, parent=None):
    """(file, start, end) of what is written for an expression, or None. A call that a macro makes is written as the macro's use,
    if it is all that the macro makes, which the parent tells: nothing around the call begins there, too."""
    (name, start), (other, end) = (syntax.file_place(place) for place in (node.cursor.extent.start, node.cursor.extent.end))
    if name is None or name != other:
        return None
    if end <= start or not is_written_at(name, start, first_name(node)):
        if parent is None or syntax.file_place(parent.cursor.extent.start) == (name, start):
            return None
        end = end_of_use(syntax.contents(name), start)
    return (name, start, end) if end is not None and start < end else None


def first_name(node):
    """The leftmost name in an expression; another one is written there where a macro makes it."""
    while node.children:
        node = node.children[0]
    return node.name


def end_of_use(text, start):
    """The offset behind the parentheses that follow a name."""
    at = text.find(b"(", start)
    if at < 0 or not text[start:at].decode("utf-8", "replace").strip().isidentifier():
        return None
    depth = 0
    while at < len(text):
        depth += (text[at : at + 1] == b"(") - (text[at : at + 1] == b")")
        at += 1
        if depth == 0:
            return at
    return None


def text_of(node, parent=None):
    place = place_in_text(node, parent)
    return syntax.contents(place[0])[place[1] : place[2]].decode("utf-8", "replace") if place is not None else None


def is_written_at(name, offset, word):
    return syntax.contents(name)[offset : offset + len(word)] == word.encode()


def line_of(name, offset):
    """Start and end of the line that holds the offset."""
    text = syntax.contents(name)
    end = text.find(b"\n", offset)
    return text.rfind(b"\n", 0, offset) + 1, len(text) if end < 0 else end


def indentation(name, offset):
    start, end = line_of(name, offset)
    line = syntax.contents(name)[start:end].decode("utf-8", "replace")
    return line[: len(line) - len(line.lstrip())]


def statement_after(edits, name, offset, text):
    """Inserts a statement behind another, on its own line if only a comment follows there."""
    rest = syntax.contents(name)[offset : line_of(name, offset)[1]].strip()
    if not rest or rest.startswith(b"//") or rest.startswith(b"/*") and rest.endswith(b"*/"):
        edits.insert(name, line_of(name, offset)[1], f"\n{indentation(name, offset)}{text}")
    else:
        edits.insert(name, offset, f" {text}")


def statement_at_start(edits, name, block, text):
    """Inserts a statement behind the opening brace of a block."""
    start, end = block.cursor.extent.start.offset, block.cursor.extent.end.offset
    line_end = line_of(name, start)[1]
    if line_end >= end:
        edits.insert(name, start + 1, f" {text}")
        return
    first = next((child for child in block.children if child.cursor.extent.start.offset > line_end), None)
    inner = indentation(name, first.cursor.extent.start.offset) if first is not None else indentation(name, start) + "  "
    rest = syntax.contents(name)[start + 1 : line_end].strip()
    if not rest or rest.startswith(b"//") or rest.startswith(b"/*") and rest.endswith(b"*/"):
        edits.insert(name, line_end, f"\n{inner}{text}")
    else:
        edits.insert(name, start + 1, f" {text}")


def in_braces(edits, name, statement, text):
    """Makes a statement that stands alone behind an if, a loop's head or a label a block that begins with text, or returns False."""
    start, end = statement.cursor.extent.start.offset, statement_end(name, statement)
    if end is None:
        return False
    source = syntax.contents(name)
    indent = indentation(name, start)
    before = start
    while source[before - 1 : before].isspace():
        before -= 1
    if source[before:start].count(b"\n"):  # in a line of its own
        indent = indentation(name, before)
    edits.replace(name, before, start, f" {{\n{indent}  {text}\n{indent}  ")
    edits.insert(name, end, f"\n{indent}}}")
    return True


def statement_end(name, statement):
    """The offset behind a statement's semicolon, or None if no semicolon follows. libclang's extent mostly ends before it."""
    text, offset = syntax.contents(name), statement.cursor.extent.end.offset
    if statement.kind.is_statement() and text[offset - 1 : offset] in (b"}", b";"):
        return offset
    while offset < len(text) and text[offset : offset + 1].isspace():
        offset += 1
    return offset + 1 if text[offset : offset + 1] == b";" else None
