"""Which types hold values, read from where the program tells the collector of its values: type descriptors, root ranges and calls of
functions that take the address of a value. In a program whose locals are not rooted yet, nothing else shows them.

A type must be a typedef, because a plain uint64_t may hold anything. Slots of other types are in Facts.unnamed_values, for a hint.
"""

from clang.cindex import CursorKind, TypeKind

from . import syntax

UNTOLD = {"uint64_t", "cradle_word", "uintptr_t", "cradle_value"}
# Functions that take the address of a slot or root with a value, by the position of that argument.
ADDRESS_AT = {"cradle_visit": 1, "cradle_store_value": 2}
VALUE_BYTES = 8
TYPE, ITEMS = "cradle_type", "CRADLE_ITEMS_VALUES"
RANGE, KIND = "cradle_root_range", "CRADLE_KIND_VALUE"


def name_of(kind):
    """The typedef's name, or None for a type that may hold anything."""
    is_typedef = kind.kind in (TypeKind.TYPEDEF, TypeKind.ELABORATED) and syntax.is_arithmetic(kind)
    name = syntax.unqualified(kind)
    return name if is_typedef and kind.get_size() == VALUE_BYTES and name not in UNTOLD else None


def named_by(call):
    """The type of the value whose address a call gets, or None."""
    position, arguments = ADDRESS_AT.get(call.name), syntax.arguments(call)
    if position is None or position >= len(arguments):
        return None
    if call.name == "cradle_visit" and arguments[-1].without_casts().name != KIND:
        return None
    address = arguments[position].without_casts()
    is_address = address.kind == CursorKind.UNARY_OPERATOR and address.operator == syntax.ADDRESS_OF
    return name_of(address.children[0].own_type()) if is_address else None


def named_by_range(node):
    """The types of the values in a root range that an expression describes, as CRADLE_ROOT_RANGE does."""
    if node.kind != CursorKind.INIT_LIST_EXPR or not syntax.unqualified(node.own_type()).endswith(RANGE):
        return set()
    inner = list(node.walk())
    if not any(one.name == KIND for one in inner):
        return set()
    ends = (one.children[0].own_type() for one in inner
            if one.kind == CursorKind.UNARY_OPERATOR and one.operator == syntax.ADDRESS_OF)
    return {name for name in (name_of(end.get_pointee()) for end in ends if syntax.is_pointer(end)) if name is not None}


def slot_type(record, field):
    """The type of a structure's field, or None. record: the structure's definition."""
    return dict(syntax.fields(record.type)).get(field) if record is not None else None


def is_descriptor(kind):
    kind = kind.get_canonical()
    while syntax.is_array(kind):
        kind = kind.element_type.get_canonical()
    return kind.get_declaration().spelling == TYPE


def structures_of_values(variable):
    """For each row of a table of types whose items are values: the name of its structure, or None where the row does not show it."""
    rows, group = [], []
    for token in variable.get_tokens():
        if token.spelling in ("{", "}"):
            rows.append(group)
            group = []
        else:
            group.append(token.spelling)
    return [structure_named(row) for row in rows if ITEMS in row]


def structure_named(row):
    for word in ("offsetof", "sizeof"):
        if word in row:
            name = row[row.index(word) + 1 :][1:3]
            return next((part for part in name if part.isidentifier() and part != "struct"), None)
    return None


def item_type(record):
    """The type of the items in a structure's last field, or None."""
    last = syntax.fields(record.type)[-1:] if record is not None else []
    return last[0][1].element_type if last and syntax.is_array(last[0][1]) else None
