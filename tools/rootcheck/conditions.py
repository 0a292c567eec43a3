"""What conditions compare: with NULL, with 0, and which expressions are constants."""

from clang.cindex import CursorKind

from . import syntax

CONSTANTS = {CursorKind.INTEGER_LITERAL, CursorKind.CHARACTER_LITERAL}
OPERATIONS = {CursorKind.BINARY_OPERATOR, CursorKind.UNARY_OPERATOR}


def is_null(node):
    """NULL or another constant; no collection changes it."""
    node = node.without_casts()
    if node.kind == CursorKind.DECL_REF_EXPR:
        return node.declared() is not None and node.declared().kind == CursorKind.ENUM_CONSTANT_DECL
    if node.kind in CONSTANTS:
        return True
    if node.kind == CursorKind.INIT_LIST_EXPR:
        return all(is_null(child) for child in node.children)
    return node.kind in OPERATIONS and bool(node.children) and all(is_null(child) for child in node.children)


def null_comparison(node):
    """What is compared with NULL by == or !=, or None."""
    if node.kind != CursorKind.BINARY_OPERATOR or node.operator not in (syntax.EQUAL, syntax.NOT_EQUAL):
        return None
    first, second = node.children
    if is_null(second):
        return first
    return second if is_null(first) else None


def tested_for_zero(condition):
    """What a condition tests, and whether it is 0 or NULL when the condition holds."""
    node, is_zero = condition, False
    while node.kind == CursorKind.UNARY_OPERATOR and node.operator == syntax.NOT:
        node, is_zero = node.children[0], not is_zero
    compared = null_comparison(node)
    if compared is None:
        return node, is_zero
    return compared, is_zero != (node.operator == syntax.EQUAL)
