"""The compiler's tree, as plain objects: libclang parses, and each function's body is copied once into Nodes.

Implicit conversions and parentheses are kept out of the copy, so that a Node's children are what the source says; the type
that a conversion gave is the outermost one's.
"""

import ctypes
import functools
import shutil
import subprocess

import clang.cindex as cindex
from clang.cindex import CursorKind, TypeKind

TRANSPARENT = {CursorKind.UNEXPOSED_EXPR, CursorKind.PAREN_EXPR}
CASTS = {CursorKind.CSTYLE_CAST_EXPR}
# clang-c/Index.h, CXBinaryOperatorKind and CXUnaryOperatorKind.
ASSIGN, LOGICAL_AND, LOGICAL_OR, COMMA = 22, 20, 21, 33
EQUAL, NOT_EQUAL = 15, 16
ADDRESS_OF, DEREFERENCE, NOT = 5, 6, 10


class Unreadable(Exception):
    """A file that does not compile, or a machine without what parsing needs, in words for the user."""


def prepare():
    """Three functions that libclang has and its Python module does not name."""
    try:
        library = cindex.conf.lib
        for name in ("clang_getCursorBinaryOperatorKind", "clang_getCursorUnaryOperatorKind"):
            function = getattr(library, name)
            function.argtypes, function.restype = [cindex.Cursor], ctypes.c_int
        initializer = library.clang_Cursor_getVarDeclInitializer
        initializer.argtypes, initializer.restype = [cindex.Cursor], cindex.Cursor
    except (cindex.LibclangError, AttributeError) as error:
        raise Unreadable(f"libclang 17 or later is needed: {error}") from error


@functools.cache
def builtin_headers():
    """The options that let libclang find stddef.h and its like: the library itself comes without them."""
    if shutil.which("clang"):
        found = subprocess.run(["clang", "-print-resource-dir"], capture_output=True, text=True, check=True)
        return ("-resource-dir", found.stdout.strip())
    if shutil.which("gcc"):
        found = subprocess.run(["gcc", "-print-file-name=include"], capture_output=True, text=True, check=True)
        return ("-isystem", found.stdout.strip())
    raise Unreadable("neither clang nor gcc is installed: their stddef.h is needed")


def parse(path, options, directory=None):
    """The translation unit of a file. options are the preprocessor's and the language's, of a compiler's command."""
    if directory is not None:
        options = [*options, "-working-directory", str(directory)]
    arguments = [*options, *builtin_headers(), "-DCRADLE_ROOTCHECK=1", "-Wno-everything"]
    try:
        unit = cindex.Index.create().parse(
            str(path), args=arguments, options=cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD
        )
    except cindex.TranslationUnitLoadError as error:
        raise Unreadable(f"{path}: cannot be read") from error
    for diagnostic in unit.diagnostics:
        if diagnostic.severity >= cindex.Diagnostic.Error:
            where = f"{diagnostic.location.file}:{diagnostic.location.line}"
            raise Unreadable(f"{where}: {diagnostic.spelling} (found while reading {path})")
    return unit


class Node:
    """An expression or statement."""

    __slots__ = ("cursor", "kind", "children", "type", "name", "operator")

    def __init__(self, cursor):
        given = cursor.type
        while cursor.kind in TRANSPARENT:
            inner = [child for child in cursor.get_children() if not child.kind.is_reference()]
            if len(inner) != 1:
                break
            cursor = inner[0]
        self.cursor = cursor
        self.kind = cursor.kind
        self.type = given
        self.name = cursor.spelling
        self.operator = None
        if self.kind in (CursorKind.BINARY_OPERATOR, CursorKind.COMPOUND_ASSIGNMENT_OPERATOR):
            self.operator = cindex.conf.lib.clang_getCursorBinaryOperatorKind(cursor)
        elif self.kind == CursorKind.UNARY_OPERATOR:
            self.operator = cindex.conf.lib.clang_getCursorUnaryOperatorKind(cursor)
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
            for child in self.cursor.get_children()
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
        """Before conversions: of a call, what the function returns."""
        return self.cursor.type

    def declared(self):
        """What a reference to a name refers to."""
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

    def for_parts(self):
        """A for statement's four parts, None where there is none: libclang leaves out the absent ones."""
        depth, semicolons = 0, []
        for token in self.cursor.get_tokens():
            if token.spelling == "(":
                depth += 1
            elif token.spelling == ")":
                depth -= 1
                if depth == 0:
                    break
            elif token.spelling == ";" and depth == 1:
                semicolons.append(token.extent.start.offset)
        parts = [None, None, None, self.children[-1]]
        for child in self.children[:-1]:
            place = sum(child.cursor.extent.start.offset > semicolon for semicolon in semicolons)
            parts[place] = child
        return parts


def callee(call):
    """The function that a call names, or None: the call goes through a pointer."""
    declared = call.declared()
    return declared if declared is not None and declared.kind == CursorKind.FUNCTION_DECL else None


def arguments(call):
    return call.children[1:]


def is_pointer(kind):
    return kind.get_canonical().kind == TypeKind.POINTER


def pointee(kind):
    """The type that a pointer points to, without typedefs."""
    return kind.get_canonical().get_pointee().get_canonical()


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
