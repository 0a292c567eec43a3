"""Globals and fields in plain memory that the program makes roots, and what points into its root ranges.

Of a type that does not tell, such as void *, only this says that what lies there is a reference. A place is the USR of a global
variable, or a structure and the name of its field.
"""

from clang.cindex import CursorKind

from . import syntax
from .conditions import is_null

# Functions whose second argument is the address of a root.
ROOTING = {"cradle_global_root_add", "cradle_visit"}
RANGE = "cradle_root_range"
RANGE_ENDS = {"base", "top"}


class Places:
    def __init__(self):
        self.roots = set()  # places
        self.range_ends = set()  # places of pointers into a root range
        self.range_items = set()  # places of arrays that such a pointer is set to
        self.fixed = set()  # places that are given the address of a variable: what they refer to never moves
        self.numbers = set()  # places that are given a number
        self.copies = {}  # of a global: the other globals that it is given
        self.handed_out = set()  # globals whose address is taken: somebody may give them anything
        self.others = set()  # places that are given something else

    def note(self, nodes):
        """Takes in all nodes of a function, or of a variable's initializer."""
        for node in nodes:
            if node.kind == CursorKind.CALL_EXPR and node.name in ROOTING and len(syntax.arguments(node)) > 1:
                self._add_address(self.roots, syntax.arguments(node)[1])
            elif node.kind == CursorKind.INIT_LIST_EXPR and syntax.unqualified(node.own_type()).endswith(RANGE):
                for inner in node.walk():
                    self._add_address(self.range_ends, inner)
            elif node.kind == CursorKind.VAR_DECL and node.children and lives_longer(node.cursor):
                self._note_given(node.cursor.get_usr(), node.children[0])
            elif node.operator == syntax.ADDRESS_OF and is_global(node.children[0]):
                self.handed_out.add(place_of(node.children[0]))
            elif node.operator == syntax.ASSIGN:
                target, given = node.children
                self._note_given(place_of(target), given)
                if target.kind == CursorKind.MEMBER_REF_EXPR and target.name in RANGE_ENDS and is_range(target):
                    self._add_address(self.range_ends, given)

    def note_arrays(self, nodes):
        """Once all range ends are known: the arrays that they are set to."""
        for node in nodes:
            if node.operator == syntax.ASSIGN and place_of(node.children[0]) in self.range_ends:
                place = place_of(node.children[1].without_casts())
                if place is not None and syntax.is_array(node.children[1].without_casts().own_type()):
                    self.range_items.add(place)

    def _note_given(self, place, given):
        if place is None:
            return
        if is_variable_address(given.without_casts()):
            self.fixed.add(place)
        elif is_number(given):
            self.numbers.add(place)
        elif is_global(given.without_casts()):
            self.copies.setdefault(place, set()).add(place_of(given.without_casts()))
        else:
            self.others.add(place)

    def never_moves(self, place, asked=frozenset()):
        """Whether all that the program gives it never moves. A place that is given nothing is somebody else's."""
        if place in self.others or place in self.roots or place in asked:
            return place in asked
        copies = self.copies.get(place, set())
        if (copies or place in self.numbers) and place in self.handed_out:
            return False
        return bool(copies or place in self.fixed | self.numbers) and all(self.never_moves(copy, asked | {place}) for copy in copies)

    @staticmethod
    def _add_address(places, address):
        address = address.without_casts()
        if address.kind == CursorKind.UNARY_OPERATOR and address.operator == syntax.ADDRESS_OF:
            place = place_of(address.children[0])
            if place is not None:
                places.add(place)


def is_variable_address(node):
    """&nil, or &vm->nil where nil is a structure: an object that the program has in its own memory."""
    if node.kind != CursorKind.UNARY_OPERATOR or node.operator != syntax.ADDRESS_OF:
        return False
    declared = node.children[0].declared()
    return (declared is not None and declared.kind in (CursorKind.VAR_DECL, CursorKind.FIELD_DECL)
            and syntax.structure(node.children[0].own_type()) is not None)


def is_number(node):
    """A constant other than NULL, which stands for nothing so far: what comes later may be given elsewhere."""
    return syntax.is_arithmetic(node.own_type()) and is_null(node) and syntax.constant_truth(node) is True


def is_global(node):
    return node.kind == CursorKind.DECL_REF_EXPR and place_of(node) is not None


def is_range(member):
    declared = member.declared()
    return declared is not None and declared.semantic_parent.spelling == RANGE


def place_of(node):
    """The place of an lvalue that is a global or a field, or None. Of an item it is the array's."""
    while node.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR and syntax.is_array(node.children[0].own_type()):
        node = node.children[0]
    if node.kind == CursorKind.MEMBER_REF_EXPR:
        declared = node.declared()
        return (syntax.structure(declared.semantic_parent.type), node.name) if declared is not None else None
    declared = node.declared() if node.kind == CursorKind.DECL_REF_EXPR else None
    if declared is not None and declared.kind == CursorKind.VAR_DECL and lives_longer(declared):
        return declared.get_usr()
    return None


def lives_longer(variable):
    """Of a VAR_DECL: whether it is a global variable, or a static one."""
    return variable.semantic_parent.kind not in syntax.BODIES or variable.storage_class.name == "STATIC"
