"""Calls that --fix moves into statements of their own, before the one in which they stand: f(a, make(m)) becomes
pair *made_1 = make(m); f(a, made_1). Only where they run in any case, and once: not in a condition's second part or a loop's head.
"""

import re

from clang.cindex import CursorKind

from . import syntax
from .edits import in_braces, indentation, line_of, place_in_text
from .rooting import Left

CONDITIONS = {syntax.LOGICAL_AND, syntax.LOGICAL_OR}
BODIES_LAST = {CursorKind.IF_STMT, CursorKind.WHILE_STMT, CursorKind.FOR_STMT}
LABELS = {CursorKind.CASE_STMT, CursorKind.DEFAULT_STMT, CursorKind.LABEL_STMT}
STATEMENTS = {CursorKind.RETURN_STMT, CursorKind.DECL_STMT, CursorKind.IF_STMT, CursorKind.SWITCH_STMT}


class Hoisting:
    def __init__(self, analysis, edits, tried):
        self.facts = analysis.facts
        self.edits = edits
        self.tried = tried
        self.named = {}  # function: the numbers that names got in this round

    def add(self, findings):
        """The number of calls that were moved; of each statement one in a round."""
        moved, statements = 0, set()
        movable = [finding for finding in findings if finding.kind == "order" and finding.call is not None]
        for finding in sorted(movable, key=lambda finding: (finding.file, finding.call.line, finding.call.column)):
            function = self.facts.functions[finding.place]
            try:
                statement, alone = statement_of(function, finding.call)
                if id(statement) not in statements:
                    self._move(function, statement, finding.call, alone)
                    statements.add(id(statement))
                    moved += 1
            except Left as why:
                self.tried[key_of(finding.call)] = str(why)
        return moved

    def _move(self, function, statement, call, alone):
        file, start = function.cursor.location.file.name, statement.cursor.extent.start.offset
        kind = call.own_type().spelling
        parent = next(node for node in function.nodes if any(child is call for child in node.children))
        place = place_in_text(call, parent)
        if place is None or place[0] != file or place[1] < start:
            raise Left("the call is made in a macro's body")
        if kind == "void":
            raise Left("the call has no result")
        text = syntax.contents(file)[place[1] : place[2]].decode("utf-8", "replace")
        if (file, start, text) in self.tried:
            raise Left("moving the call did not help")
        self.tried[file, start, text] = None
        name = self._new_name(function, call)
        declaration = f"{kind}{'' if kind.endswith('*') else ' '}{name} = {text};"
        if alone:
            if not in_braces(self.edits, file, statement, declaration):
                raise Left("the statement with the call is in a macro's body")
        else:
            is_first = not syntax.contents(file)[line_of(file, start)[0] : start].strip()
            self.edits.insert(file, start, declaration + (f"\n{indentation(file, start)}" if is_first else " "))
        self.edits.replace(file, *place[1:], name)

    def _new_name(self, function, call):
        body = syntax.contents(function.cursor.location.file.name)[
            function.cursor.extent.start.offset : function.cursor.extent.end.offset]
        stem = re.sub(r"\W", "", call.name) or "result"
        number = self.named.get(function.usr, 0)
        while True:
            number += 1
            if f"{stem}_{number}".encode() not in body:
                self.named[function.usr] = number
                return f"{stem}_{number}"


def key_of(call):
    return call.file, call.line, call.column


def statement_of(function, call):
    """The statement in which the call runs once in any case, before anything that depends on it; and whether it needs braces to
    have another one before it. Raises Left if there is none."""
    parents = {id(child): node for node in function.nodes for child in node.children}
    node = call
    while True:
        parent = parents.get(id(node))
        if parent is None:
            raise Left("the call stands in no statement")
        is_first = parent.children[0] is node
        kind = parent.kind
        if kind == CursorKind.COMPOUND_STMT or kind in LABELS or kind in BODIES_LAST and not is_first and is_body(parent, node):
            break
        check_parent(parent, is_first)
        node = parent
    if node.kind not in STATEMENTS and not node.kind.is_expression():
        raise Left("the call is in a loop's head: it runs in each round")
    block = parents.get(id(parent))
    alone = parent.kind != CursorKind.COMPOUND_STMT or block is not None and block.kind == CursorKind.SWITCH_STMT
    if alone and node.kind == CursorKind.DECL_STMT:
        raise Left("the call is in a declaration behind a label: put it in braces")
    return node, alone


def check_parent(parent, is_first):
    """Raises Left if a call in this part of an expression or statement cannot move out of it."""
    if parent.kind == CursorKind.CONDITIONAL_OPERATOR and not is_first or parent.operator in CONDITIONS and not is_first:
        raise Left("the call is made only if a condition holds")
    if parent.operator == syntax.COMMA and not is_first:
        raise Left("the call follows a comma, behind which it must stay")
    if parent.kind == CursorKind.DECL_STMT and not is_first:
        raise Left("the call is in a declaration behind another one: declare the variable in a line of its own")
    if parent.kind == CursorKind.StmtExpr:
        raise Left("the call is in a statement expression")
    if parent.kind.is_statement() and parent.kind not in STATEMENTS:
        raise Left("the call is in a loop's head: it runs in each round")


def is_body(parent, node):
    return parent.kind == CursorKind.IF_STMT or parent.children[-1] is node
