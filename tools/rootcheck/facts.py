"""What is known about the whole program: which functions may collect, and which types are references.

    may collect   a function marked CRADLE_MAY_COLLECT, one that calls such a function, and a call through a pointer: of a type
                  that some such function, whose address is taken, has, or of one that no function in the files has
    collects      of those, what may have collected when it comes back (summary.py)
    objects       structures that CRADLE_SLOT names, that an allocation is converted to, whose first member is a header word
                  named "header" or another object; and what CRADLE_ROOT roots pointers to
    values        cradle_value, typedefs of the variables that CRADLE_ROOT_VALUE roots, those of slots, items and root ranges of
                  values (values.py), and those that the user names
    places        globals and fields in plain memory that are roots, or point into a root range
"""

from clang.cindex import CursorKind, TypeKind

from . import syntax, values
from .comments import NEVER_COLLECTS
from .places import Places, lives_longer
from .summary import summarize

MARK = "cradle_may_collect"
OPEN_SCOPE = "cradle_scope_open"
# From these on other threads may collect; they end what the second ones begin again.
PARKS = {"cradle_mutator_park", "cradle_mutator_detach", "cradle_parked_begin"}
UNPARKS = {"cradle_mutator_unpark", "cradle_mutator_attach"}
GLOBAL_ROOTS = {"cradle_global_root_add"}
POPS = {"cradle_pop"}
DEFAULT_VALUES = {"cradle_value"}
VALUE_KIND = "CRADLE_KIND_VALUE"
PLAIN_WORDS = {"uint64_t", "cradle_word", "uintptr_t"}
NO_RETURN = {"exit", "_Exit", "abort", "longjmp", "siglongjmp", "__builtin_unreachable", "__assert_fail"}
RETURNS_TWICE = {"setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp"}
RECORDS = {CursorKind.STRUCT_DECL, CursorKind.UNION_DECL, CursorKind.TYPEDEF_DECL}


class Function:
    """A function with a body."""

    def __init__(self, cursor, usr):
        self.cursor = cursor
        self.usr = usr
        self.name = cursor.spelling
        body = next(child for child in cursor.get_children() if child.kind == CursorKind.COMPOUND_STMT)
        self.body = syntax.Node(body)
        self.nodes = list(self.body.walk())
        self.calls = [node for node in self.nodes if node.kind == CursorKind.CALL_EXPR]
        self.parameters = [child for child in cursor.get_children() if child.kind == CursorKind.PARM_DECL]  # a template has no others

    def returned_calls(self):
        """Calls whose result the function returns, directly or through a variable."""
        returned = [node.children[0].without_casts() for node in self.nodes if node.kind == CursorKind.RETURN_STMT and node.children]
        names = {node.name for node in returned if node.kind == CursorKind.DECL_REF_EXPR}
        for node in self.nodes:
            if node.kind == CursorKind.VAR_DECL and node.children and node.name in names:
                returned.append(node.children[0].without_casts())
            elif node.operator == syntax.ASSIGN and node.children[0].name in names:
                returned.append(node.children[1].without_casts())
        return [node for node in returned if node.kind == CursorKind.CALL_EXPR]


class Facts:
    def __init__(self, comments, value_types=()):
        self.comments = comments
        self.functions = {}  # by USR
        self.declared = set()  # places of declarations already read
        self.marked = set()  # USRs
        self.objects = set()  # structures, by syntax.structure's key
        self.slots = set()  # (structure, field) that CRADLE_SLOT names
        self.values = {*DEFAULT_VALUES, *value_types}
        self.unnamed_values = {}  # slots and items, in words, that may hold values: the type that does not tell, or None
        self.named_objects = set()  # typedefs of the structures whose pointers CRADLE_ROOT roots
        self.targets = {}  # call: the USR of the function, or the type of the pointer
        self.calls = {}  # USR: the targets of its calls
        self.handed = []  # (USR of the caller, call, USRs of functions among the arguments)
        self.taken = {}  # canonical function type: USRs of the functions whose address is taken
        self.may_collect = set()  # USRs and types
        self.returning = set()  # USRs of functions that may collect, have a body, and can return
        self.collecting = set()  # USRs and types of functions that may collect and then return
        self.records = {}  # structure: its definition
        self.variables = []  # global variables of the files, with their initializers
        self.places = Places()
        self.allocators = set()  # USRs of functions with a body that return an object as a void *
        self.traced = set()  # memory outside the heap that trace callbacks report (traced.py)
        self.reading = {}  # USR: whether the function reads globals
        self.telling = {}  # for each type: whether it marks a reference or a value

    # --- gathering ---

    def add(self, unit, inside):
        """Reads a translation unit. Function bodies are read only from files that inside(path) accepts."""
        named, slots, known = {}, [], len(self.variables)
        for cursor in syntax.declarations_of(unit.cursor):
            kind = cursor.kind
            if kind == CursorKind.MACRO_INSTANTIATION:
                if cursor.spelling == "CRADLE_SLOT":
                    words = [token.spelling for token in cursor.get_tokens()]
                    if "," in words:
                        slots.append((words[words.index(",") - 1], words[-2]))
                continue
            name, offset = syntax.place_of(cursor)
            if name is None:
                continue
            if kind in syntax.BODIES:
                self._add_function(cursor, name, offset, inside(name))
            elif kind in RECORDS:
                structure = syntax.structure(cursor.type)
                if structure is not None:
                    named[cursor.spelling] = structure
                    if structure not in self.records:
                        self.records[structure] = cursor.type.get_canonical().get_declaration().get_definition()
            elif kind == CursorKind.VAR_DECL and inside(name):
                variable = syntax.Node(cursor)
                self.variables.append(variable)
                self._note_nodes(list(variable.walk()))
        new = {(named[name], field) for name, field in slots if name in named} - self.slots
        self.slots |= new
        for structure, field in sorted(new):
            self._note_value(f"{self.records[structure].spelling}.{field}", values.slot_type(self.records[structure], field))
        for variable in self.variables[known:]:
            if values.is_descriptor(variable.cursor.type):
                for name in values.structures_of_values(variable.cursor):
                    self._note_value(f"items of {name or 'a type'}", values.item_type(self.records.get(named.get(name))))

    def _add_function(self, cursor, file, offset, has_body_read):
        """Reads each declaration once, though many units include its header. A macro may make several at one place."""
        place = (file, offset, cursor.spelling)
        if place in self.declared:
            return
        self.declared.add(place)
        name = cursor.get_usr()
        is_marked = any(child.kind == CursorKind.ANNOTATE_ATTR and child.spelling == MARK for child in syntax.children_of(cursor))
        if is_marked or cursor.spelling in PARKS:
            self.marked.add(name)
        if not (has_body_read and cursor.is_definition()):
            return
        if name in self.functions:  # of another program, as main is; a call means the first
            name = f"{name} in {file}"
        function = self.functions[name] = Function(cursor, name)
        called = self.calls.setdefault(name, set())
        for call in function.calls:
            target = syntax.callee(call)
            if target is not None:
                self.targets[call] = syntax.usr_of(target)
                functions = {used.get_usr() for used in map(function_named, syntax.arguments(call)) if used is not None}
                if functions:
                    self.handed.append((name, call, functions))
            elif call.children and not self._never_collects(call.children[0]):
                self.targets[call] = function_type(call.children[0].own_type())
            called.add(self.targets.get(call))
            self._note_root(call, target)
        self._note_nodes(function.nodes)

    def _note_nodes(self, nodes):
        """Takes in the nodes of a function, or of a variable's initializer."""
        self._note_taken(nodes)
        self.places.note(nodes)
        for node in nodes:
            self.values |= values.named_by_range(node)

    def _never_collects(self, pointer):
        """Whether a never-collects comment stands at the declaration of the pointer or of its typedef."""
        while pointer.kind in (CursorKind.ARRAY_SUBSCRIPT_EXPR, CursorKind.UNARY_OPERATOR) and pointer.children:
            pointer = pointer.children[0]
        kind = pointer.own_type()
        declarations = [pointer.declared(), kind.get_declaration(), kind.get_pointee().get_declaration()]
        return any(
            declared is not None and declared.location.file is not None
            and self.comments.says(NEVER_COLLECTS, declared.location.file.name, declared.location.line)
            for declared in declarations
        )

    def _note_root(self, call, target):
        """Learns from a rooted variable's type which other variables hold references."""
        arguments = syntax.arguments(call)
        value = values.named_by(call)
        if value is not None:
            self.values.add(value)
        if target is None or target.spelling != OPEN_SCOPE or len(arguments) != 4:
            return
        address = arguments[1].without_casts()
        if address.operator != syntax.ADDRESS_OF:
            return
        kind, names = address.children[0].own_type(), self.values
        if arguments[2].without_casts().name != VALUE_KIND:
            kind, names = kind.get_pointee(), self.named_objects
        is_named = kind.kind in (TypeKind.TYPEDEF, TypeKind.ELABORATED) and syntax.structure(kind) is None
        if is_named and syntax.unqualified(kind) not in PLAIN_WORDS and not syntax.is_void(kind):
            names.add(syntax.unqualified(kind))

    def _note_value(self, place, kind):
        """place: a slot or items, in words; kind: their type, or None where it is unknown."""
        if kind is not None and syntax.is_pointer(kind):
            return
        name = values.name_of(kind) if kind is not None else None
        if name is not None:
            self.values.add(name)
        elif kind is None or syntax.unqualified(kind) not in DEFAULT_VALUES:
            self.unnamed_values.setdefault(place, syntax.unqualified(kind) if kind is not None else None)

    def _note_taken(self, nodes):
        """Functions whose address is taken, and the pointer types to which they are converted."""
        called = {id(node.children[0]) for node in nodes if node.kind == CursorKind.CALL_EXPR and node.children}
        for node in nodes:
            inner = node.without_casts()
            declared = function_named(inner) if id(inner) not in called else None
            if declared is not None:
                for kind in (declared.type, node.own_type()):
                    self.taken.setdefault(function_type(kind), set()).add(declared.get_usr())

    # --- conclusions ---

    def conclude(self):
        self._resolve_handed()
        self._close_calls()
        summarize(self)
        slotted = {structure for structure, _ in self.slots}
        for structure, cursor in self.records.items():
            if structure in slotted or self._has_header(cursor, set()):
                self.objects.add(structure)
        self._close_allocators()
        for function in self.functions.values():
            for node in function.nodes:
                self._note_allocation(node)
        self.telling.clear()

    def _close_allocators(self):
        """Functions that return what a function that collects, and has no type for it, returns: cradle_new and what is made of it.
        Others that may collect on their way to an error are malloc or the like."""
        while True:
            found = {
                name for name, function in self.functions.items()
                if name not in self.allocators and syntax.is_untyped(function.cursor.result_type)
                and any(self.allocates(call) for call in function.returned_calls())
            }
            if not found:
                return
            self.allocators |= found

    def allocates(self, call):
        """Whether a call returns a reference as a void *."""
        if syntax.callee(call) is None or not syntax.is_untyped(call.own_type()):
            return False
        target = self.targets[call]
        return target in self.allocators if target in self.functions else target in self.collecting

    def _resolve_handed(self):
        """A library function that receives functions, such as qsort, calls them. Cradle's only store them."""
        for caller, call, functions in self.handed:
            target = self.targets[call]
            if target not in self.functions and target not in self.marked and not call.name.startswith("cradle_"):
                through = self.targets[call] = f"{target} with {' '.join(sorted(functions))}"
                self.taken[through] = functions
                self.calls[caller].add(through)

    def _close_calls(self):
        unknown = {target for call, target in self.targets.items() if syntax.callee(call) is None and target not in self.taken}
        self.may_collect = self.marked | unknown
        callers = self.callers()
        waiting = list(self.may_collect)
        while waiting:
            for caller in callers.get(waiting.pop(), ()):
                if caller not in self.may_collect:
                    self.may_collect.add(caller)
                    waiting.append(caller)
        # A marked function that calls nothing that may collect is believed: it collects.
        self.collecting = {name for name in self.marked if not self.calls.get(name, set()) & self.may_collect} | unknown
        self.collecting |= {kind for kind, functions in self.taken.items() if functions & self.collecting}

    def callers(self):
        """The callers of each function and of each function-pointer type."""
        callers = {}
        for caller, called in self.calls.items():
            for target in called:
                callers.setdefault(target, set()).add(caller)
        for kind, functions in self.taken.items():
            for function in functions:
                callers.setdefault(function, set()).update(callers.get(kind, ()), {kind})
        return callers

    def note_summary(self, name, at_return):
        """Returns whether anything changed; at_return is None for a function that never returns."""
        before = len(self.returning) + len(self.collecting)
        if at_return is not None:
            self.returning.add(name)
        if at_return:
            self.collecting.add(name)
            self.collecting |= {kind for kind, functions in self.taken.items() if name in functions}
        return len(self.returning) + len(self.collecting) > before

    def begins_with_header(self, kind):
        return self._has_header(self.records.get(syntax.structure(kind)), set())

    def _has_header(self, cursor, seen):
        if cursor is None:
            return False
        field = next((child for child in cursor.get_children() if child.kind == CursorKind.FIELD_DECL), None)
        if field is None:
            return False
        inner = syntax.structure(field.type)
        if field.spelling == "header" and field.type.get_canonical().kind in (TypeKind.ULONG, TypeKind.ULONGLONG):
            return True
        if inner in self.records and inner not in seen:
            return self._has_header(self.records[inner], seen | {inner})
        return False

    def _note_allocation(self, node):
        if node.kind == CursorKind.CALL_EXPR:
            call, kind = node, node.type
        elif node.kind in syntax.CASTS and node.children and node.children[-1].kind == CursorKind.CALL_EXPR:
            call, kind = node.children[-1], node.type
        else:
            return
        if self.allocates(call) and syntax.is_pointer(kind):
            structure = syntax.structure(syntax.pointee(kind))
            if structure is not None:
                self.objects.add(structure)

    # --- questions ---

    def may_collect_in(self, call):
        return self.targets.get(call) in self.may_collect

    def collects(self, call):
        """Whether a collection may run during the call and the call then return."""
        return self.targets.get(call) in self.collecting or self.lands(call)

    def lands(self, call):
        """Whether the call is a setjmp: it returns a second time after a longjmp, with a result other than 0."""
        return call.name in RETURNS_TWICE

    def comes_back(self, call):
        target = syntax.callee(call)
        if target is None:
            return True
        if call.name in NO_RETURN or "noreturn" in target.type.get_canonical().spelling:
            return False
        name = syntax.usr_of(target)
        if name in self.returning or name not in self.may_collect:
            return True
        return name not in self.functions and not syntax.is_noreturn(target)

    def function_called(self, call):
        """The function with its body, or None."""
        return self.functions.get(self.targets.get(call))

    def type_tells(self, kind):
        """Whether a variable of this type holds a reference to an object, or a value."""
        key = (kind.data[0], kind.data[1])
        if key not in self.telling:
            self.telling[key] = self._is_object_pointer(kind) or syntax.unqualified(kind) in self.values
        return self.telling[key]

    def _is_object_pointer(self, kind):
        if not syntax.is_pointer(kind):
            return False
        return (syntax.structure(syntax.pointee(kind)) in self.objects
                or syntax.unqualified(kind.get_pointee()) in self.named_objects)

    def is_reference_field(self, structure, field):
        """Whether a field whose type says nothing, such as void *, holds references."""
        return (structure, field) in self.slots or (structure, field) in self.places.roots

    def reads_globals(self, name):
        """Whether a function with a body, or one that it calls, names a variable that outlives it."""
        if name not in self.reading:
            self.reading[name] = False  # while it calls itself
            function = self.functions.get(name)
            self.reading[name] = function is not None and (
                any(is_lasting(node.declared()) for node in function.nodes if node.kind == CursorKind.DECL_REF_EXPR)
                or any(self.reads_globals(target) for target in self.calls[name] if target is not None))
        return self.reading[name]

    def roots_parameter(self, call, index):
        """Whether the function called roots what its parameter points to."""
        function = self.function_called(call)
        if function is None or index >= len(function.parameters):
            return function is None
        parameter = function.parameters[index]
        for node in function.calls:
            if node.name == OPEN_SCOPE:
                if any(inner.declared() == parameter for inner in syntax.arguments(node)[1].walk()
                       if inner.kind == CursorKind.DECL_REF_EXPR):
                    return True
        return False


def is_lasting(declared):
    """Whether a name is that of a global or static variable whose value may change."""
    return (declared is not None and declared.kind == CursorKind.VAR_DECL and lives_longer(declared)
            and not declared.type.get_canonical().is_const_qualified())


def function_named(node):
    """The function that an expression names, also by its address; or None."""
    node = node.without_casts()
    if node.kind == CursorKind.UNARY_OPERATOR and node.operator == syntax.ADDRESS_OF:
        node = node.children[0]
    declared = node.declared() if node.kind == CursorKind.DECL_REF_EXPR else None
    return declared if declared is not None and declared.kind == CursorKind.FUNCTION_DECL else None


def function_type(kind):
    """The canonical type of the function that an expression of this type, a pointer or a name, stands for."""
    kind = kind.get_canonical()
    while kind.kind == TypeKind.POINTER:
        kind = kind.get_pointee().get_canonical()
    return kind.spelling.replace(" __attribute__((noreturn))", "")
