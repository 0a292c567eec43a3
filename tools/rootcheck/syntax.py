"""The compiler's tree, as plain objects: libclang parses, and each function's body is copied once into Nodes.

Implicit conversions and parentheses are kept out of the copy, so that a Node's children are what the source says; the type
that a conversion gave is the outermost one's.
"""

import ctypes
import functools
import re
import shutil
import subprocess

import clang.cindex as cindex
from clang.cindex import CursorKind, TokenKind, TypeKind

TRANSPARENT = {CursorKind.UNEXPOSED_EXPR, CursorKind.PAREN_EXPR}
CASTS = {CursorKind.CSTYLE_CAST_EXPR, CursorKind.CXX_STATIC_CAST_EXPR, CursorKind.CXX_REINTERPRET_CAST_EXPR,
         CursorKind.CXX_FUNCTIONAL_CAST_EXPR}
BINARY = {CursorKind.BINARY_OPERATOR, CursorKind.COMPOUND_ASSIGNMENT_OPERATOR}
FUNCTIONS = {CursorKind.FUNCTION_DECL, CursorKind.CXX_METHOD, CursorKind.CONVERSION_FUNCTION, CursorKind.CONSTRUCTOR,
             CursorKind.DESTRUCTOR}
BODIES = FUNCTIONS | {CursorKind.FUNCTION_TEMPLATE}
# C++'s scopes, in which functions are declared, too.
SCOPES = {CursorKind.LINKAGE_SPEC, CursorKind.NAMESPACE, CursorKind.UNEXPOSED_DECL, CursorKind.CLASS_DECL, CursorKind.CLASS_TEMPLATE,
          CursorKind.STRUCT_DECL}
VARIABLES = {CursorKind.VAR_DECL, CursorKind.PARM_DECL}
COMPUTED = {CursorKind.BINARY_OPERATOR, CursorKind.UNARY_OPERATOR}
# What Node.operator is; unary * and & are not to be confused with the binary ones.
ASSIGN, LOGICAL_AND, LOGICAL_OR, COMMA = "=", "&&", "||", ","
EQUAL, NOT_EQUAL, SHIFT_RIGHT = "==", "!=", ">>"
HIDDEN = "hidden"  # one that cannot be told from another
ADDRESS_OF, DEREFERENCE, NOT = "unary &", "unary *", "unary !"
# The same in clang-c/Index.h, CXBinaryOperatorKind and CXUnaryOperatorKind. Only libclang 17 and later tell.
BINARY_KINDS = {9: SHIFT_RIGHT, 15: EQUAL, 16: NOT_EQUAL, 20: LOGICAL_AND, 21: LOGICAL_OR, 22: ASSIGN, 33: COMMA}
UNARY_KINDS = {5: ADDRESS_OF, 6: DEREFERENCE, 10: NOT}
# CXEval_Int, likewise.
EVALUATED_INTEGER = 1
# CXChildVisit_Continue.
VISIT_CONTINUE = 1
ARITHMETIC = {
    TypeKind.BOOL, TypeKind.CHAR_U, TypeKind.UCHAR, TypeKind.USHORT, TypeKind.UINT, TypeKind.ULONG, TypeKind.ULONGLONG,
    TypeKind.CHAR_S, TypeKind.SCHAR, TypeKind.SHORT, TypeKind.INT, TypeKind.LONG, TypeKind.LONGLONG, TypeKind.FLOAT,
    TypeKind.DOUBLE, TypeKind.LONGDOUBLE, TypeKind.ENUM,
}
# White space may also stand between two operands.
BETWEEN = re.compile(rb"(?:\s|\\\n|//[^\n]*|/\*.*?\*/)+", re.DOTALL)


# Texts to read in place of the files on disk, by name: what --fix has changed.
UNSAVED = {}


class Unreadable(Exception):
    """A file does not compile, or the machine lacks what parsing needs; the message is for the user."""


def prepare():
    """Declares functions of libclang that its Python module does not declare."""
    try:
        library = cindex.conf.lib
        initializer = library.clang_Cursor_getVarDeclInitializer
        initializer.argtypes, initializer.restype = [cindex.Cursor], cindex.Cursor
        evaluate = library.clang_Cursor_Evaluate
        evaluate.argtypes, evaluate.restype = [cindex.Cursor], ctypes.c_void_p
        for function in (library.clang_EvalResult_getKind, library.clang_EvalResult_getAsLongLong, library.clang_EvalResult_dispose):
            function.argtypes = [ctypes.c_void_p]
        library.clang_EvalResult_getAsLongLong.restype = ctypes.c_longlong
    except (cindex.LibclangError, AttributeError) as error:
        raise Unreadable(f"libclang 12 or later is needed: {error}") from error
    for name in ("clang_getCursorBinaryOperatorKind", "clang_getCursorUnaryOperatorKind"):
        if hasattr(library, name):
            function = getattr(library, name)
            function.argtypes, function.restype = [cindex.Cursor], ctypes.c_int


@functools.cache
def builtin_headers():
    """The options with which libclang finds stddef.h and similar headers, which the library does not bring along."""
    if shutil.which("clang"):
        found = subprocess.run(["clang", "-print-resource-dir"], capture_output=True, text=True, check=True)
        return ("-resource-dir", found.stdout.strip())
    if shutil.which("gcc"):
        found = subprocess.run(["gcc", "-print-file-name=include"], capture_output=True, text=True, check=True)
        return ("-isystem", found.stdout.strip())
    raise Unreadable("neither clang nor gcc is installed: their stddef.h is needed")


def parse(path, options):
    """The translation unit of a file. options: the preprocessor and language options of a compiler command."""
    arguments = [*options, *builtin_headers(), "-DCRADLE_ROOTCHECK=1", "-Wno-everything"]
    try:
        unit = cindex.Index.create().parse(
            str(path), args=arguments, unsaved_files=[(name, text.decode("utf-8", "surrogateescape")) for name, text in UNSAVED.items()],
            options=cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD
        )
    except cindex.TranslationUnitLoadError as error:
        raise Unreadable(f"{path}: cannot be read") from error
    for diagnostic in unit.diagnostics:
        if diagnostic.severity >= cindex.Diagnostic.Error:
            where = f"{diagnostic.location.file}:{diagnostic.location.line}"
            raise Unreadable(f"{where}: {diagnostic.spelling} (found while reading {path})")
    return unit


def children_of(cursor):
    """As Cursor.get_children, which makes a callback for each call and asks of each child whether it is one."""
    found = []
    cindex.conf.lib.clang_visitChildren(cursor, visit_child(), (cursor._tu, found))
    return found


@functools.cache
def visit_child():
    def visit(child, _, found):
        child._tu = found[0]  # keeps the unit alive, as the module's own functions do
        found[1].append(child)
        return VISIT_CONTINUE

    return cindex.conf.lib.clang_visitChildren.argtypes[1](visit)


@functools.cache
def visit_declaration():
    """As visit_child, without the macros' definitions, which are most of what stands at the top of a unit."""
    left_out = CursorKind.MACRO_DEFINITION.value

    def visit(child, _, found):
        if child._kind_id != left_out:
            child._tu = found[0]
            found[1].append(child)
        return VISIT_CONTINUE

    return cindex.conf.lib.clang_visitChildren.argtypes[1](visit)


def declarations_of(cursor):
    """What is declared at the top, and of C++ in the scopes there; no macros' definitions."""
    found = []
    cindex.conf.lib.clang_visitChildren(cursor, visit_declaration(), (cursor._tu, found))
    if cursor.spelling.endswith(".c"):
        return found
    return [one for child in found for one in (child, *(declarations_of(child) if child.kind in SCOPES else ()))]


def place_of(cursor):
    """The file's name, or None, and the offset at which a cursor stands: as Cursor.location, with one call for both, and each
    file's name asked for once a unit."""
    names = cursor._tu.__dict__.setdefault("rootcheck_names", {None: None})
    file, offset = cindex.c_object_p(), ctypes.c_uint()
    cindex.conf.lib.clang_getInstantiationLocation(cursor.location, ctypes.byref(file), None, None, ctypes.byref(offset))
    key = ctypes.cast(file, ctypes.c_void_p).value
    if key not in names:
        names[key] = cursor.location.file.name
    return names[key], offset.value


class Node:
    """An expression or statement."""

    __slots__ = ("cursor", "kind", "children", "type", "name", "operator", "variable")

    def __init__(self, cursor):
        given = cursor.type
        while cursor.kind in TRANSPARENT:
            inner = [child for child in children_of(cursor) if not child.kind.is_reference()]
            if len(inner) != 1:
                break
            cursor = inner[0]
        self.cursor = cursor
        self.kind = cursor.kind
        self.type = given
        self.name = cursor.spelling
        self.operator = operator_of(cursor)
        self.variable = None  # cached by references.variable_of
        self.children = [Node(child) for child in self._inner()]

    def _inner(self):
        if self.kind == CursorKind.CXX_UNARY_EXPR:  # sizeof: not evaluated
            return []
        if self.kind == CursorKind.VAR_DECL:
            initializer = cindex.conf.lib.clang_Cursor_getVarDeclInitializer(self.cursor)
            initializer._tu = self.cursor._tu  # keeps the unit alive, as the module's own functions do
            return [] if initializer.kind.is_invalid() else [initializer]
        return [
            child
            for child in children_of(self.cursor)
            if child.kind.is_expression() or child.kind.is_statement() or child.kind == CursorKind.VAR_DECL
        ]

    @property
    def line(self):
        return self.cursor.location.line

    @property
    def column(self):
        return self.cursor.location.column

    @property
    def file(self):
        return self.cursor.location.file.name

    def own_type(self):
        """The type before conversions; for a call, the function's result type."""
        return self.cursor.type

    def declared(self):
        """The declaration that a name refers to."""
        return self.cursor.referenced

    def walk(self):
        yield self
        for child in self.children:
            yield from child.walk()

    def without_casts(self):
        node = self
        while node.kind in CASTS and node.children:
            node = node.children[-1]
        return node

    def types_of_casts(self):
        """The types that an expression has on the way out of without_casts: the conversions' and the casts'."""
        node, types = self, [self.type]
        while node.kind in CASTS and node.children:
            types.append(node.own_type())
            node = node.children[-1]
        return types

    def for_parts(self):
        """A for statement's four parts, None where there is none: libclang leaves out the absent ones. Where a macro hides which
        they are, what may be the condition is taken for it, so that the loop may end."""
        *head, body = self.children
        written = self._for_header()
        if len(written) != 3 or sum(written) != len(head):
            starts = len(head) == 3 or (len(head) > 0 and (head[0].kind == CursorKind.DECL_STMT or head[0].operator == ASSIGN))
            written = [starts, len(head) > starts, len(head) > starts + 1]
        rest = iter(head)
        return [*(next(rest) if there else None for there in written), body]

    def _for_header(self):
        """Which parts between a for statement's semicolons are present, as far as the tokens show."""
        depth, parts = 0, [False]
        for token in self.cursor.get_tokens():
            if token.kind == TokenKind.COMMENT:
                continue
            depth -= token.spelling == ")"
            if depth == 1 and token.spelling == ";":
                parts.append(False)
            elif depth > 0:
                parts[-1] = True
            elif token.spelling == ")":
                break
            depth += token.spelling == "("
        return parts


def is_noreturn(declaration):
    """Whether a function that has no body here is marked: libclang shows the word only. The tokens of a declaration that begins
    with a macro begin where the macro is defined, so that they hold other declarations."""
    marked = False
    for token in declaration.get_tokens():
        if token.spelling in (";", "}") and token.location.offset < declaration.location.offset:
            marked = False
        elif token.spelling in ("_Noreturn", "noreturn", "__noreturn__"):
            marked = True
    return marked


# --- operators ---


def operator_of(cursor):
    """One of the operators above, or None for any other operator."""
    if cursor.kind in BINARY:
        if hasattr(cindex.conf.lib, "clang_getCursorBinaryOperatorKind"):
            return BINARY_KINDS.get(cindex.conf.lib.clang_getCursorBinaryOperatorKind(cursor))
        return written_binary(cursor)
    if cursor.kind == CursorKind.UNARY_OPERATOR:
        if hasattr(cindex.conf.lib, "clang_getCursorUnaryOperatorKind"):
            return UNARY_KINDS.get(cindex.conf.lib.clang_getCursorUnaryOperatorKind(cursor))
        return written_unary(cursor)
    return None


def written_binary(cursor):
    """The text between the operands. Inside a macro's body older versions do not show it: there the left operand of an assignment
    is the only one whose value is not read, and what gives its right operand's pointer is a comma. Any other operator is HIDDEN."""
    left, right = (child for child in cursor.get_children() if child.kind.is_expression())
    word = text_between(left.extent.end, right.extent.start)
    if word is not None:
        return word if word in BINARY_KINDS.values() else None
    if is_written_to(left):
        return ASSIGN if cursor.kind == CursorKind.BINARY_OPERATOR else None
    return HIDDEN if is_arithmetic(cursor.type) or not is_pointer(right.type) else COMMA


def is_written_to(operand):
    """Whether an operand stands for a place, not for the value there: C reads every other one in an implicit conversion."""
    while operand.kind == CursorKind.PAREN_EXPR:
        operand = next(iter(operand.get_children()))
    if operand.kind == CursorKind.DECL_REF_EXPR:
        return operand.referenced is not None and operand.referenced.kind in VARIABLES
    is_place = operand.kind in (CursorKind.MEMBER_REF_EXPR, CursorKind.ARRAY_SUBSCRIPT_EXPR)
    return is_place or operand.kind == CursorKind.UNARY_OPERATOR and operator_of(operand) == DEREFERENCE


def written_unary(cursor):
    """A unary operator. The types identify & and *; any other with an int result is ! if that is written in front."""
    (operand,) = (child for child in cursor.get_children() if child.kind.is_expression())
    if is_pointer(cursor.type) and pointee(cursor.type) == operand.type.get_canonical():
        return ADDRESS_OF
    if is_pointer(operand.type) and pointee(operand.type) == cursor.type.get_canonical():
        return DEREFERENCE
    is_not = is_pointer(operand.type) or text_between(cursor.extent.start, operand.extent.start) == "!"
    return NOT if is_not and cursor.type.get_canonical().kind == TypeKind.INT else None


def text_between(start, end):
    """The text between two places, without white space and comments; None unless both are in one file, in order."""
    (file, first), (other, last) = written_at(start), written_at(end)
    if file is None or file != other or first > last:
        return None
    return BETWEEN.sub(b"", contents(file)[first:last]).decode("utf-8", "replace")


def written_at(location):
    """File and offset of a place. A macro's argument counts where it is written; a macro's body, where the macro is expanded."""
    file, offset = ctypes.c_void_p(), ctypes.c_uint()
    cindex.conf.lib.clang_getSpellingLocation(location, ctypes.byref(file), None, None, ctypes.byref(offset))
    return (location.file.name if location.file else None), offset.value


def file_place(location):
    """File and offset of a place, in a file in any case: in a macro's argument where that is written, else where the macro is used."""
    file, offset = ctypes.c_void_p(), ctypes.c_uint()
    cindex.conf.lib.clang_getFileLocation(location, ctypes.byref(file), None, None, ctypes.byref(offset))
    return (location.file.name if location.file else None), offset.value


def contents(name):
    return UNSAVED[name] if name in UNSAVED else saved_contents(name)


@functools.cache
def saved_contents(name):
    with open(name, "rb") as file:
        return file.read()


# --- constants ---


def constant_truth(node):
    """Whether a condition that is an integer constant holds; None of any other."""
    library = cindex.conf.lib
    result = library.clang_Cursor_Evaluate(node.cursor)
    if not result:
        return None
    is_integer = library.clang_EvalResult_getKind(result) == EVALUATED_INTEGER
    truth = library.clang_EvalResult_getAsLongLong(result) != 0 if is_integer else None
    library.clang_EvalResult_dispose(result)
    return truth


# --- calls and types ---


def callee(call):
    """The function that a call names, or None: the call goes through a pointer."""
    declared = call.declared()
    return declared if declared is not None and declared.kind in FUNCTIONS else None


def arguments(call):
    """C++'s constructors have no operand that names them."""
    declared = call.declared()
    return call.children if declared is not None and declared.kind == CursorKind.CONSTRUCTOR else call.children[1:]


def usr_of(function):
    """The USR of a function's declaration; of an instance of a template, the template's. A template in an instance of a
    class template has a template of its own."""
    while (template := cindex.conf.lib.clang_getSpecializedCursorTemplate(function)) is not None:
        function = template
    return function.get_usr()


def by_type(question):
    """Caches the answer for each type. A type's two data words identify it as long as its translation unit exists."""
    answers = {}

    @functools.wraps(question)
    def answer(kind):
        key = (kind.data[0], kind.data[1])
        if key not in answers:
            answers[key] = (question(kind), kind)  # keeping the type keeps its unit alive, so its words stay unique
        return answers[key][0]

    return answer


@by_type
def is_pointer(kind):
    return kind.get_canonical().kind == TypeKind.POINTER


@by_type
def is_void(kind):
    return kind.get_canonical().kind == TypeKind.VOID


@by_type
def is_array(kind):
    return kind.get_canonical().kind in (TypeKind.CONSTANTARRAY, TypeKind.INCOMPLETEARRAY)


@by_type
def is_untyped(kind):
    return is_pointer(kind) and pointee(kind).kind == TypeKind.VOID


@by_type
def is_function_pointer(kind):
    return is_pointer(kind) and pointee(kind).kind in (TypeKind.FUNCTIONPROTO, TypeKind.FUNCTIONNOPROTO)


@by_type
def pointee(kind):
    """The type that a pointer points to, without typedefs."""
    return kind.get_canonical().get_pointee().get_canonical()


@by_type
def is_arithmetic(kind):
    return kind.get_canonical().kind in ARITHMETIC


@by_type
def structure(kind):
    """What tells a structure apart in the whole program, or None for another type: the place of its definition, or the name
    of one that is only declared."""
    declared = kind.get_canonical().get_declaration()
    if declared.kind not in (CursorKind.STRUCT_DECL, CursorKind.UNION_DECL):
        return None
    defined = declared.get_definition()
    if defined is None:
        return declared.spelling
    return f"{defined.location.file}:{defined.location.offset}"


@by_type
def destroys_itself(kind):
    """Whether a C++ class has a destructor: a handle, which roots its members itself."""
    declared = kind.get_canonical().get_declaration()
    return any(child.kind == CursorKind.DESTRUCTOR for child in declared.get_children())


@by_type
def fields(kind):
    """Names and types of a structure's own fields; empty for a union, of which only one field is valid."""
    if kind.get_canonical().get_declaration().kind != CursorKind.STRUCT_DECL or destroys_itself(kind):
        return []
    return [(field.spelling, field.type) for field in kind.get_canonical().get_fields() if field.spelling]


@by_type
def unqualified(kind):
    return kind.spelling.replace("const ", "").replace("volatile ", "")
