"""Which expressions of one function hold a reference, and which of its locals are followed.

A path names what is followed: ("x",) a local variable, ("t", "field") a member of a local structure, ("t", "inside", "field")
one of a structure in it, ("a", "[]") the items of a local array. Variables are told apart by the place of their declaration.
"""

from clang.cindex import CursorKind, TypeKind

from . import facts as facts_module
from . import syntax

NULL_WORDS = {CursorKind.INTEGER_LITERAL, CursorKind.CXX_NULL_PTR_LITERAL_EXPR, CursorKind.CHARACTER_LITERAL}


class References:
    def __init__(self, facts, function):
        self.facts = facts
        self.function = function
        self.by_origin = set()  # locals whose type does not tell, that are given references somewhere
        self.interior = set()  # locals that are given addresses inside of objects
        self.let_go = self._arrays_let_go()
        self._follow_origins()

    def _arrays_let_go(self):
        """Local arrays that are used other than by their items: somebody else may root them."""
        indexed = set()
        found = set()
        for node in self.function.nodes:
            if node.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR:
                indexed.add(id(node.children[0]))
        for node in self.function.nodes:
            if node.kind == CursorKind.DECL_REF_EXPR and id(node) not in indexed and is_array(node.own_type()):
                found.add(variable_of(node))
        return found

    def _follow_origins(self):
        """Until nothing new is found: a local given a reference may be given to another one."""
        while True:
            before = len(self.by_origin) + len(self.interior)
            for node in self.function.nodes:
                if node.kind == CursorKind.VAR_DECL and node.children:
                    self._note_origin(variable_key(node.cursor), node.cursor.type, node.children[0])
                elif node.kind == CursorKind.BINARY_OPERATOR and node.operator == syntax.ASSIGN:
                    target, given = node.children
                    if target.kind == CursorKind.DECL_REF_EXPR:
                        self._note_origin(variable_of(target), target.own_type(), given)
            if len(self.by_origin) + len(self.interior) == before:
                return

    def _note_origin(self, key, kind, given):
        if key is None or not syntax.is_pointer(kind):
            return
        if self.is_interior(given):
            self.interior.add(key)
        elif not self.type_tells(kind) and self.is_reference(given):
            self.by_origin.add(key)

    def type_tells(self, kind):
        return self.facts.is_object_pointer(kind) or self.facts.is_value(kind)

    # --- questions ---

    def path(self, node):
        """The path of an expression that is a followed local or a part of one, or None."""
        if node.kind == CursorKind.DECL_REF_EXPR:
            key = variable_of(node)
            if key is None:
                return None
            if key in self.by_origin or key in self.interior or self.type_tells(node.own_type()):
                return (key,)
            return None
        if node.kind == CursorKind.MEMBER_REF_EXPR:
            return self.part(node) if self.type_tells(node.own_type()) else None
        if node.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR:
            base = node.children[0]
            if base.kind == CursorKind.DECL_REF_EXPR and is_array(base.own_type()) and self.type_tells(node.own_type()):
                key = variable_of(base)
                return (key, "[]") if key is not None and key not in self.let_go else None
        return None

    def part(self, node):
        """The path of a local structure, or of what lies in one, whether it is a reference or not; None for anything else."""
        if node.kind == CursorKind.DECL_REF_EXPR:
            key = variable_of(node)
            return (key,) if key is not None and syntax.structure(node.own_type()) is not None else None
        if node.kind != CursorKind.MEMBER_REF_EXPR or not node.children or syntax.is_pointer(node.children[0].own_type()):
            return None
        whole = self.part(node.children[0])
        if whole is None or not node.name:  # a union without a name is passed over
            return whole
        return (*whole, node.name)

    def members(self, node):
        """The paths of all references in a local structure, or in a structure in it."""
        part = self.part(node)
        return set() if part is None else set(self._references_in(part, node.own_type()))

    def _references_in(self, part, kind):
        for name, field in syntax.fields(kind):
            if self.type_tells(field):
                yield (*part, name)
            else:
                yield from self._references_in((*part, name), field)

    def is_interior(self, node):
        """An address inside of an object."""
        node = node.without_casts()
        if node.kind == CursorKind.DECL_REF_EXPR:
            return variable_of(node) in self.interior
        if node.operator == syntax.ADDRESS_OF and node.kind == CursorKind.UNARY_OPERATOR:
            return self.is_inside(node.children[0])
        if node.kind == CursorKind.MEMBER_REF_EXPR and is_array(node.own_type()):
            return self.is_inside(node)
        if node.kind == CursorKind.BINARY_OPERATOR and syntax.is_pointer(node.own_type()):
            return any(syntax.is_pointer(child.type) and self.is_interior(child) for child in node.children)
        if node.kind == CursorKind.CONDITIONAL_OPERATOR:
            return any(self.is_interior(child) for child in node.children[1:])
        return False

    def is_inside(self, node):
        """Whether an lvalue lies in an object."""
        if node.kind == CursorKind.MEMBER_REF_EXPR and node.children:
            base = node.children[0]
            if syntax.is_pointer(base.type):
                return self.is_reference(base)
            return self.is_inside(base)
        if node.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR or node.operator == syntax.DEREFERENCE:
            base = node.children[0]
            return self.is_interior(base) or (syntax.is_pointer(base.type) and self.is_reference(base))
        return False

    def is_reference(self, node):
        """Whether the value of an expression is a reference or an address inside of an object."""
        node_type, node = node.type, node.without_casts()
        if node.kind in NULL_WORDS:
            return False
        if self.path(node) is not None or self.is_interior(node):
            return True
        if node.kind == CursorKind.UNARY_OPERATOR and node.operator == syntax.ADDRESS_OF:
            return False
        if node.kind == CursorKind.CONDITIONAL_OPERATOR:
            return any(self.is_reference(child) for child in node.children[1:])
        if node.kind == CursorKind.BINARY_OPERATOR and node.operator in (syntax.COMMA, syntax.ASSIGN):
            return self.is_reference(node.children[1])
        if self.type_tells(node.own_type()) or self.type_tells(node_type):
            return node.kind != CursorKind.DECL_REF_EXPR or variable_of(node) is not None
        if node.kind == CursorKind.CALL_EXPR and syntax.is_pointer(node.own_type()):
            return node.name in facts_module.POPS or is_untyped(node.own_type()) and self.facts.may_collect_in(node)
        return self._is_slot(node)

    def _is_slot(self, node):
        """A field or item of an object whose type does not tell but whose declaration does."""
        if not syntax.is_pointer(node.own_type()):
            return False
        if node.kind == CursorKind.MEMBER_REF_EXPR and node.children and self.is_inside(node):
            base = node.children[0].own_type()
            structure = syntax.structure(syntax.pointee(base) if syntax.is_pointer(base) else base)
            return self.facts.is_reference_field(structure, node.name)
        return node.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR and self.is_inside(node)


def is_array(kind):
    return kind.get_canonical().kind in (TypeKind.CONSTANTARRAY, TypeKind.INCOMPLETEARRAY)


def is_untyped(kind):
    return syntax.is_pointer(kind) and syntax.pointee(kind).kind == TypeKind.VOID


def variable_key(cursor):
    """A local variable or parameter, or None for what lives longer."""
    if cursor is None or cursor.kind not in (CursorKind.VAR_DECL, CursorKind.PARM_DECL):
        return None
    if cursor.kind == CursorKind.VAR_DECL and (
        cursor.semantic_parent.kind != CursorKind.FUNCTION_DECL or cursor.storage_class.name == "STATIC"
    ):
        return None
    return (cursor.spelling, cursor.location.offset)


def variable_of(node):
    return variable_key(node.declared()) if node.kind == CursorKind.DECL_REF_EXPR else None
