"""What is known about the whole program: which functions may collect, and which types are references.

    may collect   a function marked CRADLE_MAY_COLLECT, one that calls such a function, and a call through a pointer of a
                  type that some such function, whose address is taken, has
    collects      of those, what may have collected when it comes back (summary.py)
    objects       structures that CRADLE_SLOT names, that an allocation is converted to, whose first member is a header word
                  named "header" or another object; and what CRADLE_ROOT roots pointers to
    values        typedefs of the variables that CRADLE_ROOT_VALUE roots, and those that the user names
"""

from clang.cindex import CursorKind, TypeKind

from . import syntax
from .summary import summarize

MARK = "cradle_may_collect"
OPEN_SCOPE = "cradle_scope_open"
GLOBAL_ROOTS = {"cradle_global_root_add", "cradle_try_global_root_add"}
POPS = {"cradle_pop", "cradle_pop_word"}
VALUE_KIND = "CRADLE_KIND_VALUE"
PLAIN_WORDS = {"uint64_t", "cradle_word", "uintptr_t"}
NO_RETURN = {"exit", "_Exit", "abort", "longjmp", "siglongjmp", "__builtin_unreachable", "__assert_fail"}
RETURNS_TWICE = {"setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp"}


class Function:
    """A function with a body."""

    def __init__(self, cursor):
        self.cursor = cursor
        self.name = cursor.spelling
        body = next(child for child in cursor.get_children() if child.kind == CursorKind.COMPOUND_STMT)
        self.body = syntax.Node(body)
        self.nodes = list(self.body.walk())
        self.parameters = list(cursor.get_arguments())


class Facts:
    def __init__(self, value_types=()):
        self.functions = {}  # by USR
        self.marked = set()  # USRs
        self.objects = set()  # structures, as syntax.structure tells them apart
        self.slots = set()  # (structure, field) that CRADLE_SLOT names
        self.values = set(value_types)
        self.named_objects = set()  # typedefs of what the pointers that CRADLE_ROOT roots point to
        self.calls = {}  # USR: USRs and types of pointers that are called
        self.taken = {}  # canonical function type: USRs of the functions whose address is taken
        self.may_collect = set()  # USRs and types
        self.returning = set()  # USRs, of those that may collect and have a body
        self.collecting = set()  # USRs and types of what may collect and come back
        self.records = {}  # structure: its definition
        self.variables = []  # those of the files, with their initializers

    # --- gathering ---

    def add(self, unit, inside):
        """Takes in a translation unit; bodies only of files that inside(path) accepts."""
        named, slots = {}, []
        for cursor in unit.cursor.get_children():
            where = cursor.location.file
            if where is None:
                continue
            if cursor.kind == CursorKind.FUNCTION_DECL:
                self._add_function(cursor, inside(where.name))
            elif cursor.kind in (CursorKind.STRUCT_DECL, CursorKind.UNION_DECL, CursorKind.TYPEDEF_DECL):
                structure = syntax.structure(cursor.type)
                if structure is not None:
                    named[cursor.spelling] = structure
                    self.records[structure] = cursor.type.get_canonical().get_declaration().get_definition()
            elif cursor.kind == CursorKind.VAR_DECL and inside(where.name):
                self.variables.append(syntax.Node(cursor))
                self._note_taken(list(self.variables[-1].walk()))
            elif cursor.kind == CursorKind.MACRO_INSTANTIATION and cursor.spelling == "CRADLE_SLOT":
                words = [token.spelling for token in cursor.get_tokens()]
                if "," in words:
                    slots.append((words[words.index(",") - 1], words[-2]))
        self.slots |= {(named[name], field) for name, field in slots if name in named}

    def _add_function(self, cursor, has_body_read):
        name = cursor.get_usr()
        if any(child.kind == CursorKind.ANNOTATE_ATTR and child.spelling == MARK for child in cursor.get_children()):
            self.marked.add(name)
        if not (has_body_read and cursor.is_definition()) or name in self.functions:
            return
        function = self.functions[name] = Function(cursor)
        called = self.calls.setdefault(name, set())
        for node in function.nodes:
            if node.kind == CursorKind.CALL_EXPR:
                target = syntax.callee(node)
                if target is not None:
                    called.add(target.get_usr())
                elif node.children:
                    called.add(function_type(node.children[0]))
                self._note_call(node, target)
        self._note_taken(function.nodes)

    def _note_call(self, call, target):
        arguments = syntax.arguments(call)
        if target is None or target.spelling != OPEN_SCOPE or len(arguments) != 4:
            return
        address = arguments[1].without_casts()
        if address.operator != syntax.ADDRESS_OF:
            return
        kind, names = address.children[0].own_type(), self.values
        if arguments[2].without_casts().name != VALUE_KIND:
            kind, names = kind.get_pointee(), self.named_objects
        is_named = kind.kind in (TypeKind.TYPEDEF, TypeKind.ELABORATED) and syntax.structure(kind) is None
        if is_named and unqualified(kind) not in PLAIN_WORDS:
            names.add(unqualified(kind))

    def _note_taken(self, nodes):
        """Functions that are named other than to be called."""
        called = {id(node.children[0]) for node in nodes if node.kind == CursorKind.CALL_EXPR and node.children}
        for node in nodes:
            if node.kind == CursorKind.DECL_REF_EXPR and id(node) not in called:
                declared = node.declared()
                if declared is not None and declared.kind == CursorKind.FUNCTION_DECL:
                    kind = declared.type.get_canonical().spelling
                    self.taken.setdefault(kind, set()).add(declared.get_usr())

    # --- conclusions ---

    def conclude(self):
        self._close_calls()
        summarize(self)
        slotted = {structure for structure, _ in self.slots}
        for structure, cursor in self.records.items():
            if structure in slotted or self._has_header(cursor, set()):
                self.objects.add(structure)
        for function in self.functions.values():
            for node in function.nodes:
                self._note_allocation(node)

    def _close_calls(self):
        self.may_collect = set(self.marked)
        callers = self.callers()
        waiting = list(self.may_collect)
        while waiting:
            for caller in callers.get(waiting.pop(), ()):
                if caller not in self.may_collect:
                    self.may_collect.add(caller)
                    waiting.append(caller)
        # Where there is nothing to see of what a mark says, the mark is believed.
        self.collecting = {name for name in self.marked if not self.calls.get(name, set()) & self.may_collect}
        self.collecting |= {kind for kind, functions in self.taken.items() if functions & self.collecting}

    def callers(self):
        """Of each function, and of each type of pointers to functions, who calls it."""
        callers = {}
        for caller, called in self.calls.items():
            for target in called:
                callers.setdefault(target, set()).add(caller)
        for kind, functions in self.taken.items():
            for function in functions:
                callers.setdefault(function, set()).update(callers.get(kind, ()), {kind})
        return callers

    def note_summary(self, name, at_return):
        """Whether something is new; at_return is None for a function that does not come back."""
        before = len(self.returning) + len(self.collecting)
        if at_return is not None:
            self.returning.add(name)
        if at_return:
            self.collecting.add(name)
            self.collecting |= {kind for kind, functions in self.taken.items() if name in functions}
        return len(self.returning) + len(self.collecting) > before

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
        if self.may_collect_in(call) and call.own_type().spelling == "void *" and syntax.is_pointer(kind):
            structure = syntax.structure(syntax.pointee(kind))
            if structure is not None:
                self.objects.add(structure)

    # --- questions ---

    def may_collect_in(self, call):
        return self.called_by(call) in self.may_collect

    def collects(self, call):
        """Whether a collection may lie between what is before the call and what is after it."""
        return self.called_by(call) in self.collecting or call.name in RETURNS_TWICE

    def comes_back(self, call):
        target = syntax.callee(call)
        if target is None:
            return True
        if call.name in NO_RETURN or "noreturn" in target.type.get_canonical().spelling:
            return False
        name = target.get_usr()
        if name in self.returning or name not in self.may_collect:
            return True
        return name not in self.functions and not syntax.is_noreturn(target)

    def called_by(self, call):
        """The USR of the function, or the type of the pointer."""
        target = syntax.callee(call)
        if target is not None:
            return target.get_usr()
        return function_type(call.children[0]) if call.children else None

    def is_object_pointer(self, kind):
        if not syntax.is_pointer(kind):
            return False
        return syntax.structure(syntax.pointee(kind)) in self.objects or unqualified(kind.get_pointee()) in self.named_objects

    def is_value(self, kind):
        return unqualified(kind) in self.values

    def is_reference_field(self, structure, field):
        """Of a field with a type that does not tell, such as void *."""
        return (structure, field) in self.slots

    def roots_parameter(self, call, index):
        """Whether the function called roots what its parameter points to."""
        target = syntax.callee(call)
        function = self.functions.get(target.get_usr()) if target is not None else None
        if function is None or index >= len(function.parameters):
            return target is None or target.get_usr() not in self.functions
        parameter = function.parameters[index]
        for node in function.nodes:
            if node.kind == CursorKind.CALL_EXPR and node.name == OPEN_SCOPE:
                if any(inner.declared() == parameter for inner in syntax.arguments(node)[1].walk()
                       if inner.kind == CursorKind.DECL_REF_EXPR):
                    return True
        return False


def unqualified(kind):
    return kind.spelling.replace("const ", "").replace("volatile ", "")


def function_type(called):
    """The canonical type of the function that an expression, a pointer or a name, stands for."""
    kind = called.own_type().get_canonical()
    while kind.kind == TypeKind.POINTER:
        kind = kind.get_pointee().get_canonical()
    return kind.spelling
