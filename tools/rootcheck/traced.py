"""Stores into memory that a trace callback reports: tables that an object owns outside the heap.

After such a store the owner needs cradle_write_barrier. The owner is found from the store's address, through locals and calls: it is
an object of the function, or what a parameter points to belongs to it, and then the callers are asked. Memory that only root
callbacks report needs no barrier, so what begins at a global has no owner.
"""

from clang.cindex import CursorKind

from . import syntax, values
from .conditions import is_null
from .facts import function_named
from .places import place_of
from .references import owner, variable_key, variable_of
from .stores import BARRIERS

VISITS = {"cradle_visit"}
VISITOR = "cradle_visitor"
ITEMS = "[]"


def visited(facts):
    """What trace callbacks report: (structure, field), and (structure, field, ITEMS) for the items that a field points to."""
    waiting = list(trace_callbacks(facts))
    seen, found = set(), set()
    while waiting:
        name = waiting.pop()
        if name in seen or name not in facts.functions:
            continue
        seen.add(name)
        function = facts.functions[name]
        for call in function.calls:
            if call.name in VISITS and len(syntax.arguments(call)) > 1:
                found |= memory_of(function, address_taken(syntax.arguments(call)[1]))
            elif any(is_visitor(argument.own_type()) for argument in syntax.arguments(call)):
                waiting.append(facts.targets.get(call))
    return {place for place in found if place[0] not in facts.objects or ITEMS in place}


def trace_callbacks(facts):
    for variable in facts.variables:
        if values.is_descriptor(variable.cursor.type):
            for node in variable.walk():
                declared = function_named(node)
                if declared is not None and any(is_visitor(one.type) for one in declared.get_arguments()):
                    yield declared.get_usr()


def is_visitor(kind):
    return syntax.is_pointer(kind) and syntax.pointee(kind).get_declaration().spelling == VISITOR


def address_taken(node):
    """x of &x, or the pointer itself."""
    node = node.without_casts()
    return node.children[0] if node.operator == syntax.ADDRESS_OF else node


def memory_of(function, target):
    """The keys of what an lvalue is, or of what a pointer points to."""
    if target.kind == CursorKind.MEMBER_REF_EXPR:
        return {place_of(target)} if not syntax.is_pointer(target.own_type()) or owner(target) is not None else set()
    base = owner(target)
    return {(*place, ITEMS) for place in fields_of(function, base, set())} if base is not None else set()


def fields_of(function, pointer, seen):
    """The fields that a pointer's value may come from."""
    pointer = pointer.without_casts()
    if pointer.kind == CursorKind.MEMBER_REF_EXPR:
        return {place_of(pointer)}
    if pointer.kind == CursorKind.DECL_REF_EXPR:
        return set().union(*(fields_of(function, given, seen) for given in given_to(function, pointer, seen)))
    if pointer.operator == syntax.ADDRESS_OF and owner(pointer.children[0]) is not None:
        return fields_of(function, owner(pointer.children[0]), seen)
    pointers = (child for child in pointer.children if syntax.is_pointer(child.type))
    computed = pointer.kind in syntax.COMPUTED
    return set().union(*(fields_of(function, child, seen) for child in pointers)) if computed else set()


def given_to(function, name, seen):
    """What a local is given anywhere in the function; nothing the second time."""
    key = variable_of(name)
    if key is None or key in seen:
        return
    seen.add(key)
    for node in function.nodes:
        if node.kind == CursorKind.VAR_DECL and node.children and variable_key(node.cursor) == key:
            yield node.children[0]
        elif node.operator == syntax.ASSIGN and variable_of(node.children[0]) == key:
            yield node.children[1]


class Tables:
    """Of one function: whose memory its stores and calls change."""

    def __init__(self, references, function):
        self.references = references
        self.function = function
        self.indices = {id(node): index for index, node in enumerate(function.nodes)}
        self.parameters = {variable_key(one): index for index, one in enumerate(function.parameters)}
        self.barriers = [call for call in function.calls if call.name in BARRIERS and len(syntax.arguments(call)) > 1]

    def changes(self, target, given):
        """Whether an assignment stores a reference into memory that trace callbacks report."""
        known = self.references.facts.traced
        if not known or owner(target) is None or is_null(given):
            return False
        kind = target.own_type()
        if syntax.structure(kind) is not None:
            return not syntax.is_pointer(kind) and any((syntax.structure(kind), name) in known for name, _ in syntax.fields(kind))
        return self.references.is_reference(given) and bool(memory_of(self.function, target) & known)

    def owners(self, pointer, seen=None):
        """The objects (nodes) and parameters (numbers) to which the memory belongs that a pointer points to."""
        seen = set() if seen is None else seen
        is_object, pointer = self.is_object(pointer), pointer.without_casts()
        key = variable_of(pointer)
        if key in self.parameters:
            return [self.parameters[key]]
        if is_object:
            return [pointer]
        if key is not None:
            return [one for given in given_to(self.function, pointer, seen) for one in self.owners(given, seen)]
        if pointer.kind == CursorKind.CALL_EXPR:
            inner = [one for one in syntax.arguments(pointer) if syntax.is_pointer(one.own_type())]
            inner = [one for one in inner if not self.is_object(one)] or inner
        elif pointer.operator == syntax.ADDRESS_OF or pointer.kind == CursorKind.MEMBER_REF_EXPR:
            base = owner(pointer.children[0] if pointer.operator == syntax.ADDRESS_OF else pointer)
            inner = [base] if base is not None else []
        elif pointer.kind in syntax.COMPUTED or pointer.kind == CursorKind.CONDITIONAL_OPERATOR:
            inner = [one for one in pointer.children if syntax.is_pointer(one.type)]
        else:
            inner = []
        return [one for node in inner for one in self.owners(node, seen)]

    def is_object(self, node):
        return self.references.is_reference(node) and not self.references.is_interior(node)

    def is_reported(self, node, whose):
        """Whether a barrier for the owner follows the node. Where the owner's name is not known, any one does."""
        mine = self.parameter_key(whose) if isinstance(whose, int) else variable_of(whose)
        return any(self.indices[id(call)] > self.indices[id(node)] and self.may_be(syntax.arguments(call)[1].without_casts(), mine)
                   for call in self.barriers)

    def parameter_key(self, index):
        """A parameter that is an object is the owner; another one is a part of an owner without a name here."""
        parameter = self.function.parameters[index]
        key = variable_key(parameter)
        return key if self.references.type_tells(parameter.type) or key in self.references.by_origin else None

    def may_be(self, node, mine):
        key = variable_of(node)
        if mine is None or key is None or key == mine:
            return True
        return any(mine in map(variable_of, given.walk()) for given in given_to(self.function, node, set()))


def past_the_barrier(flows, taken):
    """The findings (with the freshness of the object) of stores whose owner gets no barrier. flows: by USR; taken: USRs of
    functions called through pointers."""
    owed = {}  # (USR, parameter): the finding of the store, for functions that nobody calls
    for name, flow in flows.items():
        for whose, finding, _ in flow.table_stores:
            if isinstance(whose, int):
                owed[name, whose] = finding
    called = set().union(*(flow.tables_called for flow in flows.values()))
    found = set()
    while True:
        before = len(owed)
        for name, flow in flows.items():
            for target, index, whose, finding, freshness in flow.tables_given:
                if (target, index) in owed:
                    if isinstance(whose, int):
                        owed.setdefault((name, whose), finding)
                    else:
                        found.add((name, finding, freshness))
        if len(owed) == before:
            break
    for name, flow in flows.items():
        found |= {(name, finding, freshness) for whose, finding, freshness in flow.table_stores if not isinstance(whose, int)}
    return found, {finding for key, finding in owed.items() if key not in called and key[0] not in taken}

