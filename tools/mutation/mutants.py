"""The mutants of a C file: where they are, what they change, and the file's text with all of them guarded.

A guard is CRD_MUTANT(n), which is 1 in a process whose environment chooses mutant n, and notes that the process came there. A
mutant is one of these classes:

    call     a call whose value is not used is dropped       logic    && becomes ||, and || becomes &&
    assign   an assignment, or a step by one, is dropped     value    true becomes false, and false becomes true
    jump     a return, break or continue is dropped          last     a loop leaves its last element out
    flip     a condition, or a truth returned, is negated    order    two statements change places
    edge     < becomes <=, and so on: off by one             sign     + becomes -, and - becomes +
    number   a literal is one more

What a macro expands to stays as it is, and so do declarations and what must be constant. Left out are mutants that are equal
by their form: two assignments that name nothing of each other change places, < becomes <= in the lower of two values.
"""

import hashlib
import re
from dataclasses import dataclass, field

from clang.cindex import Cursor, CursorKind, Index, TokenKind, TranslationUnit, TypeKind

CLASSES = ("call", "assign", "jump", "flip", "edge", "number", "logic", "value", "last", "order", "sign")
EDGES = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
ASSIGNMENTS = (CursorKind.COMPOUND_ASSIGNMENT_OPERATOR,)
JUMPS = (CursorKind.BREAK_STMT, CursorKind.CONTINUE_STMT)
SIMPLE = (CursorKind.CALL_EXPR, CursorKind.BINARY_OPERATOR, CursorKind.UNARY_OPERATOR, *ASSIGNMENTS)
POINTERS = (TypeKind.POINTER, TypeKind.CONSTANTARRAY, TypeKind.INCOMPLETEARRAY)


@dataclass
class Mutant:
    file: str
    line: int
    function: str
    kind: str
    before: str
    after: str
    number: int = 0  # of the guard, in this build
    key: str = ""  # the same as long as the function's text is


@dataclass
class Wrap:
    """What is put before and after a piece of the text."""
    start: int
    end: int
    before: str
    after: str
    order: int = field(default=0)  # of those that begin at the same place, the outer first


class File:
    def __init__(self, name, text, arguments, path):
        self.name, self.text, self.mutants, self.wraps = name, text, [], []
        self.bounds = set()  # comparisons whose "or equal" makes no difference
        self.unit = Index.create().parse(str(path), args=["-x", "c", *arguments],
                                         options=TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
        problems = [str(d) for d in self.unit.diagnostics if d.severity >= 3]
        if problems:
            raise SystemExit(f"mutate: {name}: {problems[0]}")
        self.data = text.encode()  # libclang counts bytes
        self.macros, self.guards = [], {}
        for cursor in self.unit.cursor.get_children():
            if cursor.kind == CursorKind.MACRO_INSTANTIATION and self.is_here(cursor):
                self.macros.append((cursor.extent.start.offset, cursor.extent.end.offset, cursor.spelling))
        for cursor in self.unit.cursor.get_children():
            if cursor.kind == CursorKind.FUNCTION_DECL and cursor.is_definition() and self.is_here(cursor):
                self.function = cursor.spelling
                self.returns_truth = cursor.result_type.spelling in ("bool", "_Bool")
                for child in cursor.get_children():
                    if child.kind == CursorKind.COMPOUND_STMT:
                        self.function_end = child.extent.end.offset
                        self.statement(child)
        for start, end, name in self.macros:
            if name in ("true", "false") and self.in_code(start) and self.is_free(start, end, True):
                self.add("value", start, end, "!" if name == "true" else "", "CRD_MUTANT({n})", name,
                         "false" if name == "true" else "true", replaces=True)

    # --- places ---

    def is_here(self, cursor):
        file = cursor.location.file
        return file is not None and file.name == self.unit.spelling

    def span(self, cursor):
        return cursor.extent.start.offset, cursor.extent.end.offset

    def plain(self, start, end):
        """The text of a piece in one line, without comments."""
        text = re.sub(r"/\*.*?\*/", " ", self.data[start:end].decode(), flags=re.DOTALL)
        return re.sub(r"\s+", " ", text).strip()

    def of(self, cursor):
        return self.plain(*self.span(cursor))

    def is_free(self, start, end, whole_macro=False):
        """Whether a piece can be wrapped: it is no part of a macro's use and has no line for the preprocessor."""
        if end <= start or re.search(rb"^\s*#", self.data[start:end], flags=re.MULTILINE):
            return False
        return all(end <= a or b <= start or (start <= a and b <= end and (whole_macro or (a, b) != (start, end)))
                   for a, b, _ in self.macros)

    def in_code(self, offset):
        return any(start <= offset < end for start, end in self.guards.get("code", ()))

    # --- adding ---

    def add(self, kind, start, end, before, after, was, becomes, order=0, replaces=False):
        mutant = Mutant(self.name, self.data[:start].count(b"\n") + 1, self.function_at(start), kind, was, becomes)
        self.mutants.append(mutant)
        self.wraps.append((mutant, Wrap(start, end, before, after, order), replaces))
        return mutant

    def function_at(self, offset):
        return next((name for start, end, name in self.guards.get("functions", ()) if start <= offset < end), self.function)

    def wrap(self, kind, cursor, template, becomes, order=0, whole_macro=False):
        """template: {n} the guard's number, {inner} the text with what is guarded in it."""
        start, end = self.span(cursor)
        if self.is_free(start, end, whole_macro):
            before, after = template.split("{inner}")
            self.add(kind, start, end, before, after, self.plain(start, end), becomes, order)

    # --- statements ---

    def statement(self, cursor):
        kind, start = cursor.kind, cursor.extent.start.offset
        children = list(cursor.get_children())
        if any(a == start and cursor.extent.end.offset <= b for a, b, _ in self.macros):
            return  # ASSERT and its kind
        if kind == CursorKind.COMPOUND_STMT:
            self.guards.setdefault("code", []).append(self.span(cursor))
            self.guards.setdefault("functions", []).append((*self.span(cursor), self.function))
            self.sequence(children)
        elif kind in (CursorKind.IF_STMT, CursorKind.WHILE_STMT, CursorKind.DO_STMT):
            at = 1 if kind == CursorKind.DO_STMT else 0
            if kind == CursorKind.IF_STMT and self.operator(children[1])[0] == "=":
                self.note_bound(children[0], *self.operator(children[1])[1:])
            self.condition(children[at])
            if kind != CursorKind.IF_STMT:
                self.last(children[at], None)
            for child in children[:at] + children[at + 1:]:
                self.body(child)
        elif kind == CursorKind.FOR_STMT:
            self.loop(cursor, children)
        elif kind == CursorKind.SWITCH_STMT:
            self.expression(children[0])
            self.statement(children[-1])
        elif kind in (CursorKind.CASE_STMT, CursorKind.DEFAULT_STMT, CursorKind.LABEL_STMT):
            self.body(children[-1])
        elif kind == CursorKind.RETURN_STMT:
            if children and self.returns_truth and not self.is_literal(children[0]):
                self.wrap("flip", children[0], "(CRD_MUTANT({n}) ^ !!({inner}))", f"!({self.of(children[0])})", -1, True)
            for child in children:
                self.expression(child)
        elif kind == CursorKind.DECL_STMT:
            for variable in children:
                if variable.kind == CursorKind.VAR_DECL and variable.storage_class.name != "STATIC" and \
                        variable.type.kind != TypeKind.CONSTANTARRAY:
                    for child in variable.get_children():
                        self.expression(child)
        else:
            self.expression(cursor)

    def body(self, cursor):
        self.statement(cursor) if cursor.kind == CursorKind.COMPOUND_STMT else self.sequence([cursor])

    def sequence(self, statements):
        """Statements one after the other: each that is simple may be dropped, and change places with the next."""
        ends = [self.statement_end(cursor) for cursor in statements]
        for i, cursor in enumerate(statements):
            self.statement(cursor)
            start, end = cursor.extent.start.offset, ends[i]
            if end is None or not self.is_free(start, end):
                        continue
            if cursor.kind in (*JUMPS, CursorKind.RETURN_STMT):
                if cursor.kind != CursorKind.RETURN_STMT or not list(cursor.get_children()):
                    self.drop("jump", start, end)
                continue
            self.drop("call" if cursor.kind == CursorKind.CALL_EXPR else "assign", start, end)
            following = i + 1 < len(statements) and ends[i + 1] is not None and statements[i + 1].kind in SIMPLE
            if following and self.is_free(statements[i + 1].extent.start.offset, ends[i + 1]) and cursor.kind in SIMPLE and \
                    not self.are_apart(cursor, statements[i + 1]):
                self.swap(start, end, statements[i + 1].extent.start.offset, ends[i + 1])

    def are_apart(self, first, second):
        """Whether both only assign, without a call, and neither names what the other assigns to: then their order is the same."""
        def parts(cursor):
            calls = any(part.kind == CursorKind.CALL_EXPR for part in cursor.walk_preorder())
            stepped = re.sub(r"\+\+|--", "", self.of(cursor))
            target = self.of(next(iter(cursor.get_children())))
            return None if calls or target.startswith("*") else (target, stepped)
        a, b = parts(first), parts(second)
        return a is not None and b is not None and a[0] not in b[1] and b[0] not in a[1]

    def statement_end(self, cursor):
        """Behind the semicolon of a statement that can be guarded, or None."""
        if cursor.kind not in (*SIMPLE, *JUMPS, CursorKind.RETURN_STMT):
            return None
        if cursor.kind == CursorKind.UNARY_OPERATOR and not re.match(r"(\+\+|--)|.*(\+\+|--)$", self.of(cursor)):
            return None
        match = re.compile(rb"\s*;").match(self.data, cursor.extent.end.offset)
        return match.end() if match else None

    def drop(self, kind, start, end):
        self.add(kind, start, end, "{{ if (!CRD_MUTANT({n})) ", " }}", self.plain(start, end), ";", -2)

    def swap(self, start, end, next_start, next_end):
        first, second = self.plain(start, end), self.plain(next_start, next_end)
        mutant = self.add("order", start, end, "{{ if (!CRD_MUTANT({n})) ", " }}", f"{first} {second}", f"{second} {first}", -3)
        self.wraps.append((mutant, Wrap(next_start, next_end, "{{ ", " if (CRD_MUTANT({n})) {{ " + self.braced(first) + " }} }}", -4), False))

    @staticmethod
    def braced(text):
        return text.replace("{", "{{").replace("}", "}}")

    def loop(self, cursor, children):
        """The parts of a for statement: libclang leaves out those that are missing, the semicolons say which."""
        start, end = self.span(cursor)
        *header, body = children
        opened = self.data.index(b"(", start)
        semicolons = [token.extent.start.offset for token in cursor.get_tokens()
                      if token.kind == TokenKind.PUNCTUATION and token.spelling == ";" and token.extent.start.offset < body.extent.start.offset]
        condition = step = None
        for part in header:
            at = part.extent.start.offset
            if len(semicolons) >= 2 and at > semicolons[1]:
                step = part
            elif semicolons and at > semicolons[0]:
                condition = part
            elif part.kind == CursorKind.DECL_STMT:
                self.statement(part)
            elif opened < at:
                self.expression(part)
        if condition is not None:
            self.condition(condition)
            self.last(condition, step)
        if step is not None:
            self.expression(step)
        self.body(body)

    # --- conditions ---

    def condition(self, cursor):
        if not self.is_literal(cursor):
            self.wrap("flip", cursor, "(CRD_MUTANT({n}) ^ !!({inner}))", f"!({self.of(cursor)})", -1, True)
        self.expression(cursor)

    def last(self, cursor, step):
        """A loop's condition that ends it one element earlier."""
        operator, left, right = self.operator(cursor)
        if operator is None:
            return
        a, b = self.of(left), self.of(right)
        follows = None
        if step is not None and step.kind == CursorKind.BINARY_OPERATOR and self.operator(step)[0] == "=":
            _, target, value = self.operator(step)
            follows = self.of(value) if self.of(target) == a else None
        pointer = left.type.get_canonical().kind in POINTERS
        if operator == "!=" and b == "NULL" and follows is not None:
            becomes = f"{a} != NULL && ({follows}) != NULL"
        elif operator == "!=" and b != "NULL" or operator == "<":
            becomes = f"({a}) + 1 {operator} ({b})"
        elif operator == ">" and not pointer:
            becomes = f"({a}) > ({b}) + 1"
        else:
            return
        self.wrap("last", cursor, f"(CRD_MUTANT({{n}}) ? ({self.braced(becomes)}) : ({{inner}}))", becomes, -1)

    def note_bound(self, comparison, chosen, other):
        """The lower or higher of two values, such as `a < b ? a : b` and `if (a > b) a = b;`, is the same whether the values
        that are equal count as lower or as higher."""
        operator, left, right = self.operator(comparison)
        if operator in EDGES:
            without_casts = [re.sub(r"^(\((u?int\w*|size_t|unsigned|double)\))+", "", self.of(part)) for part in (left, right, chosen, other)]
            if set(without_casts[:2]) == set(without_casts[2:]):
                self.bounds.add(self.span(comparison))

    # --- expressions ---

    def operator(self, cursor):
        """The operator of an expression of two operands and these, or three times None."""
        if cursor.kind not in (CursorKind.BINARY_OPERATOR, *ASSIGNMENTS):
            return None, None, None
        children = list(cursor.get_children())
        if len(children) != 2:
            return None, None, None
        between = self.plain(children[0].extent.end.offset, children[1].extent.start.offset)
        return (between.strip("() "), *children)

    @staticmethod
    def is_literal(cursor):
        while cursor.kind in (CursorKind.UNEXPOSED_EXPR, CursorKind.PAREN_EXPR):
            cursor = next(iter(cursor.get_children()), Cursor())
            if cursor is None or cursor.kind is None:
                return False
        return cursor.kind == CursorKind.INTEGER_LITERAL

    def expression(self, cursor):
        start, end = self.span(cursor)
        if cursor.kind == CursorKind.CXX_UNARY_EXPR:  # sizeof, _Alignof
            return
        if any(a == start and b == end for a, b, _ in self.macros) or not self.is_free(start, end):
            return
        operator, left, right = self.operator(cursor)
        if operator in EDGES and (start, end) in self.bounds:
            pass
        elif operator in EDGES:
            self.replace("edge", cursor, left, EDGES[operator], right)
        elif operator in ("&&", "||"):
            self.replace("logic", cursor, left, "||" if operator == "&&" else "&&", right)
        elif operator in ("+", "-") and right.type.get_canonical().kind not in POINTERS:
            self.replace("sign", cursor, left, "-" if operator == "+" else "+", right)
        elif cursor.kind == CursorKind.INTEGER_LITERAL:
            self.wrap("number", cursor, "({inner} + CRD_MUTANT({n}))", f"({self.of(cursor)} + 1)")
        for i, child in enumerate(cursor.get_children()):
            if i == 0 and cursor.kind == CursorKind.CONDITIONAL_OPERATOR:
                self.note_bound(child, *list(cursor.get_children())[1:])
                self.condition(child)
            else:
                self.expression(child)

    def replace(self, kind, cursor, left, operator, right):
        becomes = f"({self.of(left)}) {operator} ({self.of(right)})"
        self.wrap(kind, cursor, f"(CRD_MUTANT({{n}}) ? ({self.braced(becomes)}) : ({{inner}}))", becomes)

    # --- the text with guards ---

    def number(self, first):
        """Numbers the mutants from first on, and gives each the key that it keeps."""
        seen = {}
        for number, mutant in enumerate(self.mutants, first):
            mutant.number = number
            what = f"{mutant.file}\0{mutant.function}\0{mutant.kind}\0{mutant.before}\0{mutant.after}"
            seen[what] = seen.get(what, 0) + 1
            mutant.key = hashlib.sha256(f"{what}\0{seen[what]}".encode()).hexdigest()[:16]
        return first + len(self.mutants)

    def guarded(self, without):
        """The text with a guard for each mutant whose line is not in without. Lines keep their numbers."""
        opening, closing = {}, {}
        kept = [(mutant, wrap, replaces) for mutant, wrap, replaces in self.wraps if mutant.line not in without]
        # The outer piece is opened first and closed last; of equal pieces the one with the lower order is the outer.
        kept.sort(key=lambda item: (item[1].start, -item[1].end, item[1].order))
        gone = set()
        for mutant, wrap, replaces in kept:
            before, after = wrap.before, wrap.after
            if replaces:
                gone.update(range(wrap.start, wrap.end))
                before, after = f"({before}", f"{after.format(n=mutant.number)})"
            else:
                before, after = before.format(n=mutant.number), after.format(n=mutant.number)
            opening.setdefault(wrap.start, []).append(before)
            closing.setdefault(wrap.end, []).insert(0, after)
        result = []
        for at in range(len(self.data) + 1):
            result.append("".join(closing.get(at, ())).encode())
            result.append("".join(opening.get(at, ())).encode())
            if at < len(self.data) and at not in gone:
                result.append(self.data[at:at + 1])
        return b"".join(result).decode()
