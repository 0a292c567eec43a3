"""What is read of a value but the reference: its tag, or a number in it. Of these a stale value tells the truth, too.

A collection changes the address in a value and nothing else, so its tag stays, and a value with a number stays as it is.
"""

from . import syntax
from .conditions import is_null

REFERENCE_BYTES = 8
NOT_COMPUTED = {syntax.ASSIGN, syntax.COMMA, syntax.ADDRESS_OF, syntax.DEREFERENCE, syntax.LOGICAL_AND, syntax.LOGICAL_OR}


class Numbers:
    """Of one function."""

    def __init__(self, references, function):
        self.references = references
        self.addresses = {id(inner) for node in function.nodes if node.kind in syntax.CASTS and syntax.is_pointer(node.type)
                          for inner in node.walk()}

    def reads(self, node):
        """Whether an expression gives so few bits of a value that no reference is among them: (int)v, or v >> 1 where no pointer
        is made of it."""
        if not syntax.is_arithmetic(node.type) or id(node) in self.addresses:
            return False
        is_narrow = min(node.type.get_size(), node.own_type().get_size()) < REFERENCE_BYTES
        return (is_narrow or node.without_casts().operator == syntax.SHIFT_RIGHT) and self.is_of_one(node)

    def is_of_one(self, node):
        """Whether an expression is computed from one local at most, and from constants. Of two it may be a comparison."""
        paths = self._paths(node)
        return paths is not None and len(paths) <= 1

    def _paths(self, node):
        """A list, or None: something else is read, too."""
        node = node.without_casts()
        if is_null(node):
            return []
        path = self.references.path(node)
        if path is not None:
            return [path] if "[]" not in path else None
        if not node.kind.is_expression() or not syntax.is_arithmetic(node.own_type()) or node.operator in NOT_COMPUTED:
            return None
        if node.kind not in syntax.COMPUTED:
            return None
        inner = [self._paths(child) for child in node.children]
        return None if any(paths is None for paths in inner) else sum(inner, [])
