"""The mutator that a root is added with: an expression for it at some place of a function."""

from clang.cindex import CursorKind

from . import syntax
from .edits import text_of
from .places import lives_longer

MUTATOR = "cradle_mutator"
CHAIN = {CursorKind.DECL_REF_EXPR, CursorKind.MEMBER_REF_EXPR}


def mutator_at(facts, function, offset):
    """The text, or None."""
    for parameter in function.parameters:
        if is_mutator(parameter.type):
            return parameter.spelling
    known = {parameter.location.offset for parameter in function.parameters}
    for node in function.nodes:
        # What the function calls it, from its parameters and globals, or from a local that was declared before.
        if node.kind in CHAIN and is_mutator(node.own_type()):
            declared = base_of(node)
            if declared is not None and (lives_longer_or_before(declared, offset) or declared.location.offset in known):
                text = text_of(node)
                if text is not None:
                    return text
    for parameter in function.parameters:
        if syntax.is_pointer(parameter.type):
            member = member_of(facts, syntax.pointee(parameter.type))
            if member is not None:
                return f"{parameter.spelling}->{member}"
    for node in function.nodes:
        if node.kind == CursorKind.VAR_DECL and node.cursor.location.offset < offset and not syntax.is_pointer(node.cursor.type):
            member = member_of(facts, node.cursor.type)
            if member is not None:
                return f"{node.name}.{member}"
    return global_mutator(facts)


def global_mutator(facts):
    for variable in facts.variables:
        kind = variable.cursor.type
        if is_mutator(kind):
            return variable.name
        through = "->" if syntax.is_pointer(kind) else "."
        member = member_of(facts, syntax.pointee(kind) if syntax.is_pointer(kind) else kind)
        if member is not None and syntax.structure(kind if through == "." else syntax.pointee(kind)) is not None:
            return variable.name + through + member
    return None


def is_mutator(kind):
    return syntax.is_pointer(kind) and syntax.pointee(kind).get_declaration().spelling == MUTATOR


def member_of(facts, kind):
    if syntax.structure(kind) in facts.objects:
        return None
    return next((name for name, field in syntax.fields(kind) if is_mutator(field)), None)


def base_of(node):
    """The variable that a chain of fields begins with."""
    while node.kind == CursorKind.MEMBER_REF_EXPR and node.children:
        node = node.children[0]
    return node.declared() if node.kind == CursorKind.DECL_REF_EXPR else None


def lives_longer_or_before(declared, offset):
    if declared.kind != CursorKind.VAR_DECL:
        return False
    return lives_longer(declared) or declared.location.offset < offset
