"""Where --fix adds roots: behind the declaration of a variable; for a parameter, at the start of the function."""

from clang.cindex import CursorKind, TypeKind

from . import facts as facts_module
from . import syntax
from .edits import in_braces, is_written_at, statement_after, statement_at_start
from .flow import spell
from .mutators import mutator_at
from .references import variable_key

FIXED = {"stale", "order", "unset"}


class Left(Exception):
    """--fix leaves a finding; the message says why."""


class Rooting:
    """tried: why each finding is left that was looked at, by the function and path, in this round or an earlier one."""

    def __init__(self, analysis, edits, tried):
        self.facts, self.origins = analysis.facts, analysis.origins
        self.edits = edits
        self.tried = tried

    def add(self, findings):
        """Adds roots for the findings and returns how many."""
        added = 0
        for finding in findings:
            if finding.kind not in FIXED or finding.path is None or (finding.place, finding.path) in self.tried:
                continue
            function = self.facts.functions[finding.place]
            references = self.origins.of[finding.place]
            path = finding.path
            try:
                place = Place(self.facts, function, path, self.edits)
                if finding.kind == "unset":
                    place.set_to_nothing()
                else:
                    check_path(references, path)
                    place.root(references)
                added += 1
                self.tried[finding.place, path] = "the root that was added does not cover this use"
            except Left as why:
                self.tried[finding.place, path] = str(why)
        return added


def check_path(references, path):
    if path[0] in references.interior:
        raise Left("an address inside an object cannot be rooted: root the object, and compute the address again after the call")
    if "[]" in path:
        raise Left("the items of a local array cannot be rooted one by one: make them locals, or a root range")


class Place:
    """Of one root. Its methods raise Left where they cannot add what is needed."""

    def __init__(self, facts, function, path, edits):
        self.facts, self.function, self.path, self.edits = facts, function, path, edits
        self.name = function.cursor.location.file.name
        self.parents = {id(child): node for node in function.nodes for child in node.children}

    def root(self, references):
        parameter = next((one for one in self.function.parameters if variable_key(one) == self.path[0]), None)
        if parameter is None:
            self._of_local(self._declaration(), references)
        elif is_named(self.name, parameter):
            self._of_parameter(parameter, references)
        else:
            raise Left("the parameter is declared in a macro's body")

    def set_to_nothing(self):
        """Mends a variable that is rooted before it has a value."""
        self._initialize(self._declaration())

    def _declaration(self):
        declaration = next((node for node in self.function.nodes if node.kind == CursorKind.VAR_DECL
                            and variable_key(node.cursor) == self.path[0]), None)
        if declaration is None or not is_named(self.name, declaration.cursor):
            raise Left("the variable is declared in a macro's body")
        return declaration

    def _text(self, kind, offset):
        """The text of the root."""
        for part in self.path[1:]:
            kind = dict(syntax.fields(kind)).get(part)
            if kind is None:
                raise Left(f"'{spell(self.path)}' cannot be named")
        mutator = mutator_at(self.facts, self.function, offset)
        if mutator is None:
            raise Left("no mutator is in scope here: give the function one")
        if syntax.is_pointer(kind) and syntax.unqualified(kind) not in self.facts.values:
            return f"CRADLE_ROOT({mutator}, {spell(self.path)});"
        if kind.get_size() != 8 or kind.get_canonical().kind == TypeKind.RECORD:
            raise Left(f"CRADLE_ROOT_VALUE takes words, not a variable of type {kind.spelling}")
        return f"CRADLE_ROOT_VALUE({mutator}, {spell(self.path)});"

    def _of_parameter(self, parameter, references):
        body = self.function.body
        try:
            text = self._text(parameter.type, body.cursor.extent.start.offset)
        except Left:
            self._behind_the_mutator(parameter, references)
            return
        self._drop_others(references)
        statement_at_start(self.edits, self.name, body, text)

    def _behind_the_mutator(self, parameter, references):
        """The mutator may be a local variable, declared before anything can collect."""
        why = Left("no mutator is in scope before something may collect: give the function one")
        for statement in self.function.body.children:
            if statement.kind != CursorKind.DECL_STMT or any(self.facts.collects(node) for node in statement.walk()
                                                             if node.kind == CursorKind.CALL_EXPR):
                break
            try:
                text = self._text(parameter.type, statement.cursor.extent.end.offset)
            except Left as left:
                why = left
                continue
            self._drop_others(references)
            statement_after(self.edits, self.name, statement.cursor.extent.end.offset, text)
            return
        raise why

    def _of_local(self, declaration, references):
        statement = self.parents.get(id(declaration))
        block = self.parents.get(id(statement))
        if statement is None or block is None:
            raise Left("the variable is declared where no statement can follow")
        text = self._text(declaration.cursor.type, declaration.cursor.extent.start.offset)
        if block.kind == CursorKind.FOR_STMT:
            self._in_loop(block, text)
            return
        after_case = self.parents.get(id(block))
        if block.kind != CursorKind.COMPOUND_STMT or after_case is not None and after_case.kind == CursorKind.SWITCH_STMT:
            raise Left("the variable is declared in a switch: a case may jump over its root; put the case in braces")
        if any(node.kind == CursorKind.LABEL_STMT for node in self.function.nodes):
            raise Left("the function has labels: a goto may jump over the root into its scope, or back before it")
        end = statement.cursor.extent.end.offset
        if not is_written_at(self.name, end - 1, ";"):
            raise Left("the declaration ends in a macro's body")
        self._drop_others(references)
        self._initialize(declaration)
        if not self._split(statement, declaration, text):
            statement_after(self.edits, self.name, end, text)

    def _initialize(self, declaration):
        """A root must hold NULL or a reference from its start."""
        if declaration.children:
            return
        kind = declaration.cursor.type
        nothing = "{0}" if syntax.structure(kind) is not None else "NULL" if syntax.is_pointer(kind) else "0"
        self.edits.insert(self.name, declaration.cursor.extent.end.offset, f" = {nothing}")

    def _split(self, statement, declaration, text):
        """pair *a = make(m), *b = make(m): the root of a is needed before b is made."""
        later = statement.children[statement.children.index(declaration) + 1 :]
        if not any(self.facts.collects(node) for one in later for node in one.walk() if node.kind == CursorKind.CALL_EXPR):
            return False
        source = syntax.contents(self.name)
        start = statement.cursor.extent.start.offset
        kind = source[start : statement.children[0].cursor.location.offset].rstrip(b"* \n").decode()
        end = declaration.cursor.extent.end.offset
        comma = source.find(b",", end)
        if comma < 0 or source[end:comma].strip():
            return False
        while source[comma + 1 : comma + 2] in (b" ", b"\n"):
            comma += 1
        indent = " " * (start - source.rfind(b"\n", 0, start) - 1)
        self.edits.replace(self.name, end, comma + 1, f";\n{indent}{text}\n{indent}{kind} ")
        return True

    def _in_loop(self, loop, text):
        """A variable of a for statement: rooted in the body, which holds if nothing else of the loop may collect."""
        *head, body = loop.for_parts()
        if any(self.facts.collects(node) for part in head[1:] if part is not None for node in part.walk()
               if node.kind == CursorKind.CALL_EXPR):
            raise Left("the loop's head may collect: declare the variable before the loop")
        if body.kind == CursorKind.COMPOUND_STMT:
            statement_at_start(self.edits, self.name, body, text)
        elif not in_braces(self.edits, self.name, body, text):
            raise Left("the loop's body is in a macro")

    def _drop_others(self, references):
        """Removes a root of the variable in an inner block: the new root replaces it."""
        for call in self.function.calls:
            arguments = syntax.arguments(call)
            if call.name != facts_module.OPEN_SCOPE or len(arguments) != 4:
                continue
            address = arguments[1].without_casts()
            if address.operator != syntax.ADDRESS_OF or references.path(address.children[0]) != self.path:
                continue
            start = call.cursor.location.offset
            source = syntax.contents(self.name)
            end = source.find(b";", start) + 1
            before = source.rfind(b"\n", 0, start)
            if is_written_at(self.name, start, "CRADLE_ROOT") and end > 0:
                alone = not source[before + 1 : start].strip() and source[end : end + 1] == b"\n"
                self.edits.replace(self.name, before if alone and before >= 0 else start, end, "")


def is_named(name, cursor):
    """Whether the declaration stands in the file itself, not in a macro's body."""
    return cursor.location.file.name == name and is_written_at(name, cursor.location.offset, cursor.spelling)
