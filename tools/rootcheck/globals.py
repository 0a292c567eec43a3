"""Global variables, static ones in functions included, that are given references and cannot be roots.

Whoever registers a variable, or reports it from a root callback, takes its address. A variable whose address nobody takes is no root,
and what it refers to is lost at the next collection. An array's address is taken where it is used other than by its items.
"""

from clang.cindex import CursorKind

from . import syntax
from .conditions import is_null
from .findings import Finding
from .places import lives_longer


def unregistered(facts, origins):
    """A finding for each, where it is given a reference first."""
    taken = set()
    for variable in facts.variables:
        taken.update(addresses_taken(list(variable.walk())))
    for function in facts.functions.values():
        taken.update(addresses_taken(function.nodes))
    found = {}
    for function in facts.functions.values():
        assignments = [node for node in function.nodes if is_assignment_to_global(node)]
        references = origins.of[function.usr]
        for node in assignments:
            target, given = node.children
            variable = base_of(target).declared()
            is_reference = references.is_reference(given)
            if is_reference and not is_null(given) and variable.get_usr() not in taken:
                found.setdefault(variable.get_usr(), Finding(
                    target.file, target.line, target.column, "global",
                    f"'{variable.spelling}' is assigned a reference but is not a root: its address is never taken to register it",
                    function.name))
    return set(found.values())


def addresses_taken(nodes):
    by_items = {id(node.children[0]) for node in nodes if node.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR}
    for node in nodes:
        if node.kind == CursorKind.UNARY_OPERATOR and node.operator == syntax.ADDRESS_OF and node.children:
            named = base_of(node.children[0])
        elif node.kind == CursorKind.DECL_REF_EXPR and syntax.is_array(node.own_type()) and id(node) not in by_items:
            named = node
        else:
            continue
        if is_global(named):
            yield named.declared().get_usr()


def is_assignment_to_global(node):
    return node.kind == CursorKind.BINARY_OPERATOR and node.operator == syntax.ASSIGN and is_global(base_of(node.children[0]))


def base_of(place):
    """The variable that an lvalue is, or is a part of."""
    while place.children and (
        place.kind == CursorKind.MEMBER_REF_EXPR and not syntax.is_pointer(place.children[0].type)
        or place.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR and syntax.is_array(place.children[0].own_type())
    ):
        place = place.children[0]
    return place


def is_global(node):
    if node.kind != CursorKind.DECL_REF_EXPR:
        return False
    declared = node.declared()
    return declared is not None and declared.kind == CursorKind.VAR_DECL and lives_longer(declared)
