"""Which expressions of one function hold a reference, and which of its locals are followed.

A path names what is followed: ("x",) a local variable, ("t", "field") a member of a local structure, ("t", "inside", "field")
one of a structure in it, ("a", "[]") the items of a local array. Variables are told apart by the place of their declaration.
"""

from clang.cindex import CursorKind

from . import facts as facts_module
from . import syntax
from .places import lives_longer, place_of

NULL_WORDS = {CursorKind.INTEGER_LITERAL, CursorKind.CXX_NULL_PTR_LITERAL_EXPR, CursorKind.CHARACTER_LITERAL}
COMPARING = {syntax.EQUAL, syntax.NOT_EQUAL, syntax.LOGICAL_AND, syntax.LOGICAL_OR, syntax.COMMA, syntax.ASSIGN}
# The possible kinds of a function's result.
REFERENCE, INTERIOR, STACK = "reference", "interior", "stack"


class References:
    def __init__(self, facts, function, results=None, given=(), interior=()):
        """results: what each function returns, by USR; given: the parameters that are known to be references."""
        self.facts = facts
        self.function = function
        self.results = {} if results is None else results
        self.by_origin = set(given)  # locals of unclear type (void *) that are assigned references somewhere
        self.interior = set(interior)  # locals that are assigned addresses inside of objects
        self.stack = set()  # locals that point into a root range
        self.rooted_parts = set()  # paths of members that are rooted
        self.known_paths, self.known_references = {}, {}
        self.untold = set()  # members of by_origin and interior that may also hold something else
        self.always = set(given) | self.interior
        self.let_go = self._arrays_let_go()
        for call in function.calls:
            self._note_rooted(call)
        self.follow_origins()

    def _arrays_let_go(self):
        """Local arrays that are used as a whole: other code may root them."""
        indexed = {id(node.children[0]) for node in self.function.nodes if node.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR}
        return {variable_of(node) for node in self.function.nodes
                if node.kind == CursorKind.DECL_REF_EXPR and id(node) not in indexed and syntax.is_array(node.own_type())}

    def _note_rooted(self, call):
        """A rooted variable holds a reference, whatever its type."""
        arguments = syntax.arguments(call)
        position = 4 if call.name == facts_module.OPEN_SCOPE else 3 if call.name in facts_module.GLOBAL_ROOTS else None
        if len(arguments) != position:
            return
        address = arguments[1].without_casts()
        if address.operator == syntax.ADDRESS_OF and address.kind == CursorKind.UNARY_OPERATOR:
            place = address.children[0]
            if place.kind == CursorKind.DECL_REF_EXPR and variable_of(place) is not None:
                self.by_origin.add(variable_of(place))
                self.always.add(variable_of(place))
            elif self.part(place) is not None:
                self.rooted_parts.add(self.part(place))

    def follow_origins(self):
        """Repeats until nothing changes, because a local that is assigned a reference may be assigned to another local."""
        while True:
            before = self._size()
            self.known_paths.clear()
            self.known_references.clear()
            for node in self.function.nodes:
                if node.kind == CursorKind.VAR_DECL and node.children:
                    self._note_origin(variable_key(node.cursor), node.cursor.type, node.children[0])
                elif node.operator == syntax.ASSIGN:
                    target, given = node.children
                    if target.kind == CursorKind.DECL_REF_EXPR:
                        self._note_origin(variable_of(target), target.own_type(), given)
            if self._size() == before:
                return

    def finish(self):
        """After the last round: a rooted variable stays a reference, and callers decide what a parameter is."""
        self.untold = (self.by_origin | self.interior) - self.always
        return self

    def _size(self):
        return len(self.by_origin) + len(self.interior) + len(self.stack)

    def _note_origin(self, key, kind, given):
        if key is None or not syntax.is_pointer(kind):
            return
        if self.is_interior(given):
            self.interior.add(key)
        elif self.is_stack_pointer(given):
            self.stack.add(key)
        elif not self.type_tells(kind) and self.is_reference(given):
            self.by_origin.add(key)

    def type_tells(self, kind):
        return self.facts.type_tells(kind)

    # --- locals ---

    def path(self, node):
        """The path of an expression that is a followed local or part of a followed local; else None."""
        if node not in self.known_paths:
            self.known_paths[node] = self._path(node)
        return self.known_paths[node]

    def _path(self, node):
        if node.kind == CursorKind.DECL_REF_EXPR:
            key = variable_of(node)
            if key is None:
                return None
            if key in self.by_origin or key in self.interior or self.type_tells(node.own_type()):
                return (key,)
            return None
        if node.kind == CursorKind.MEMBER_REF_EXPR:
            part = self.part(node)
            return part if part in self.rooted_parts or self.type_tells(node.own_type()) else None
        if node.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR:
            base = node.children[0]
            if base.kind == CursorKind.DECL_REF_EXPR and syntax.is_array(base.own_type()) and self.type_tells(node.own_type()):
                key = variable_of(base)
                return (key, "[]") if key is not None and key not in self.let_go else None
        return None

    def part(self, node):
        """The path of a local structure, or of what lies in one, whether it is a reference or not; None for anything else, and for
        what knows itself what is rooted: the whole machine, and handles of C++."""
        if node.kind == CursorKind.DECL_REF_EXPR:
            key = variable_of(node)
            kind = node.own_type()
            is_followed = syntax.structure(kind) is not None and not is_machine(kind) and not syntax.destroys_itself(kind)
            return (key,) if key is not None and is_followed else None
        if node.kind != CursorKind.MEMBER_REF_EXPR or not node.children or syntax.is_pointer(node.children[0].own_type()):
            return None
        whole = self.part(node.children[0])
        if whole is None or not node.name:  # the member of an unnamed union: the path skips the union
            return whole
        return (*whole, node.name)

    def members(self, node):
        """The paths of all references in a local structure and in structures nested in it."""
        part = self.part(node)
        return set() if part is None else set(self.references_in(part, node.own_type()))

    def references_in(self, part, kind):
        for name, field in syntax.fields(kind):
            if self.type_tells(field) or (*part, name) in self.rooted_parts:
                yield (*part, name)
            else:
                yield from self.references_in((*part, name), field)

    # --- addresses ---

    def is_interior(self, node):
        """An address inside of an object."""
        node = node.without_casts()
        if node.kind == CursorKind.DECL_REF_EXPR:
            return variable_of(node) in self.interior
        if node.operator == syntax.ADDRESS_OF and node.kind == CursorKind.UNARY_OPERATOR:
            return self.is_inside(node.children[0]) and not is_beginning(node.children[0])
        if node.kind == CursorKind.MEMBER_REF_EXPR and syntax.is_array(node.own_type()):
            return self.is_inside(node)
        if node.kind == CursorKind.BINARY_OPERATOR and syntax.is_pointer(node.own_type()):
            if node.operator in (syntax.COMMA, syntax.ASSIGN):
                return self.is_interior(node.children[1])
            return any(syntax.is_pointer(child.type) and (self.is_interior(child) or self.is_reference(child))
                       for child in node.children)
        if node.kind == CursorKind.CONDITIONAL_OPERATOR:
            return any(self.is_interior(child) for child in node.children[1:])
        return node.kind == CursorKind.CALL_EXPR and INTERIOR in self._result(node)

    def is_inside(self, node):
        """Whether an lvalue lies in an object."""
        base = owner(node)
        return base is not None and syntax.is_pointer(base.type) and self.is_reference(base)

    def is_stack_pointer(self, node):
        """Whether an expression points into a root range, so that what it points to is a reference."""
        node = node.without_casts()
        if node.kind == CursorKind.DECL_REF_EXPR and variable_of(node) in self.stack:
            return True
        if node.kind in (CursorKind.DECL_REF_EXPR, CursorKind.MEMBER_REF_EXPR):
            place = place_of(node)
            return place is not None and (place in self.facts.places.range_ends or place in self.facts.places.range_items)
        if node.kind == CursorKind.UNARY_OPERATOR:
            if node.operator == syntax.ADDRESS_OF:
                place = node.children[0]
                return place.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR and self.is_stack_pointer(place.children[0])
            return node.operator != syntax.DEREFERENCE and self.is_stack_pointer(node.children[0])
        if node.kind == CursorKind.BINARY_OPERATOR and syntax.is_pointer(node.own_type()):
            return any(syntax.is_pointer(child.type) and self.is_stack_pointer(child) for child in node.children)
        return node.kind == CursorKind.CALL_EXPR and STACK in self._result(node)

    def is_fixed(self, node):
        """Whether a global, or a field in plain memory, refers only to memory that the collector never moves."""
        return self.facts.places.never_moves(place_of(node)) and (node.kind == CursorKind.DECL_REF_EXPR or not self.is_inside(node))

    def _result(self, call):
        return self.results.get(self.facts.targets.get(call), ())

    # --- references ---

    def is_reference(self, node):
        """Whether the value of an expression is a reference or an address inside of an object."""
        if node not in self.known_references:
            self.known_references[node] = False  # ends the recursion if the expression refers to itself
            self.known_references[node] = self._is_reference(node)
        return self.known_references[node]

    def _is_reference(self, node):
        types, node = node.types_of_casts(), node.without_casts()
        if node.kind in NULL_WORDS:
            return False
        if self.path(node) is not None or self.is_interior(node):
            return True
        if node.kind == CursorKind.UNARY_OPERATOR and node.operator == syntax.ADDRESS_OF:
            return self.is_inside(node.children[0])  # the address of the first member is the object's own address
        if node.kind == CursorKind.CONDITIONAL_OPERATOR:
            return any(self.is_reference(child) for child in node.children[1:])
        if node.kind == CursorKind.BINARY_OPERATOR and node.operator in (syntax.COMMA, syntax.ASSIGN):
            return self.is_reference(node.children[1])
        if self.type_tells(node.own_type()) or any(map(self.type_tells, types)):
            if node.kind in (CursorKind.DECL_REF_EXPR, CursorKind.MEMBER_REF_EXPR) and self.is_fixed(node):
                return False
            if node.kind == CursorKind.DECL_REF_EXPR:
                return changes(node)
            return not self.is_immediate(node)
        if node.kind in (CursorKind.DECL_REF_EXPR, CursorKind.MEMBER_REF_EXPR) and place_of(node) in self.facts.places.roots:
            return True
        if node.kind == CursorKind.CALL_EXPR and syntax.is_pointer(node.own_type()):
            return (node.name in facts_module.POPS or REFERENCE in self._result(node)
                    or self.facts.allocates(node))
        return any(map(syntax.is_pointer, types)) and self._decodes(node) or self._is_slot(node)

    def _decodes(self, node):
        """Whether an address is computed from a value, as in (void *)(peek(0) & mask)."""
        node = node.without_casts()
        if node.kind != CursorKind.BINARY_OPERATOR or not syntax.is_arithmetic(node.own_type()) or node.operator in COMPARING:
            return False
        return any(self.is_reference(child) or self._decodes(child) for child in node.children)

    def _is_slot(self, node):
        """A word of an object or root range whose type says nothing (void *), but whose declaration marks it as a reference."""
        if node.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR or node.operator == syntax.DEREFERENCE:
            if syntax.structure(node.own_type()) is None and self.is_stack_pointer(node.children[0]):
                return True
        if not syntax.is_pointer(node.own_type()):
            return False
        if node.kind == CursorKind.MEMBER_REF_EXPR and node.children and self.is_inside(node):
            return self.facts.is_reference_field(*place_of(node))
        return node.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR and self.is_inside(node)

    def stores_reference(self, target, given):
        """Whether an assignment into an object stores a reference, or a structure with references, into a slot."""
        kind = target.own_type()
        if syntax.structure(kind) is not None and not syntax.is_pointer(kind):
            return any(True for _ in self.references_in((), kind))
        if not self.is_reference(given) or self.is_interior(given):
            return False
        is_word = target.kind != CursorKind.MEMBER_REF_EXPR and syntax.is_untyped(kind)
        return self.type_tells(kind) or is_word or self._is_slot(target)

    def is_immediate(self, node):
        """Whether a value is computed from numbers alone, such as a tagged integer, and so is no reference."""
        if syntax.is_pointer(node.own_type()):
            return False
        if node.kind == CursorKind.DECL_REF_EXPR and syntax.unqualified(node.own_type()) in facts_module.PLAIN_WORDS:
            return False  # a word that may hold anything
        for inner in node.walk():
            kind = inner.kind
            if kind in (CursorKind.MEMBER_REF_EXPR, CursorKind.ARRAY_SUBSCRIPT_EXPR, CursorKind.StmtExpr):
                return False
            if kind == CursorKind.CALL_EXPR:
                if not self._makes_immediate(inner):
                    return False
            elif inner.operator == syntax.DEREFERENCE or syntax.is_pointer(inner.own_type()) and not is_function(inner):
                return False
            elif kind == CursorKind.DECL_REF_EXPR and not is_function(inner) and (
                    self.type_tells(inner.own_type()) or variable_of(inner) in self.by_origin):
                return False
        return True

    def _makes_immediate(self, call):
        """Whether a function computes with numbers only: it takes no pointers and reads nothing else, unlike peek(1)."""
        target = syntax.callee(call)
        if target is None or not list(target.get_arguments()) or self.facts.may_collect_in(call):
            return False
        return all(syntax.is_arithmetic(parameter.type) and not self.type_tells(parameter.type)
                   for parameter in target.get_arguments()) and not self.facts.reads_globals(target.get_usr())


@syntax.by_type
def is_machine(kind):
    """A structure with the heap or the mutator in it."""
    pointers = (field for _, field in syntax.fields(kind) if syntax.is_pointer(field))
    return any(syntax.pointee(field).get_declaration().spelling in ("cradle_mutator", "cradle_heap") for field in pointers)


def is_function(node):
    return facts_module.function_named(node) is not None


def changes(node):
    """Whether a collection may change what a name with a reference type holds. A constant stays."""
    declared = node.declared()
    if declared is None or declared.kind not in (CursorKind.VAR_DECL, CursorKind.PARM_DECL):
        return False
    return variable_of(node) is not None or not node.own_type().get_canonical().is_const_qualified()


def is_beginning(node):
    """Whether an lvalue lies where the object begins that a pointer of the program points to, as a common header does."""
    while node.kind == CursorKind.MEMBER_REF_EXPR and node.children:
        declared = node.declared()
        if declared is None or declared.get_field_offsetof() != 0:
            return False
        node = node.children[0]
        if syntax.is_pointer(node.type):
            return True
    return False


def owner(node):
    """The pointer from which an lvalue's address is computed, or None."""
    while True:
        if node.kind == CursorKind.MEMBER_REF_EXPR and node.children:
            base = node.children[0]
            if syntax.is_pointer(base.type):
                return base
            node = base
        elif node.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR:
            base = node.children[0]
            if not syntax.is_array(base.own_type()):
                return base
            node = base
        elif node.operator == syntax.DEREFERENCE:
            return node.children[0]
        else:
            return None


def variable_key(cursor):
    """The local variable or parameter, or None for a global or static variable."""
    if cursor is None or cursor.kind not in (CursorKind.VAR_DECL, CursorKind.PARM_DECL):
        return None
    if cursor.kind == CursorKind.VAR_DECL and lives_longer(cursor):
        return None
    return (cursor.spelling, cursor.location.offset)


def variable_of(node):
    if node.kind != CursorKind.DECL_REF_EXPR:
        return None
    if node.variable is None:
        node.variable = (variable_key(node.declared()),)
    return node.variable[0]
