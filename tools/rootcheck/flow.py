"""One function: which followed locals are stale where.

The state is a map from paths to what is known; a path that is absent is live. Beside the paths it holds the set of those that are
rooted until the end of the function. At a call that may collect every path that is live and not rooted becomes stale. Using a
stale one is a finding; so is an expression whose operands C evaluates in any order, when one of them may collect and another is a
reference, or uses one that is not rooted.
"""

from dataclasses import dataclass

from clang.cindex import CursorKind

from . import facts as facts_module
from . import syntax
from .references import References, variable_key, variable_of
from .walk import Walk

NULL, UNSET = "null", "unset"
ROOTED_OR_NULL = "rooted or null"  # rooted until the end where it came one way, NULL where it came the other
ROOTED_UNTIL_END = "rooted until the end"  # the state's key of the set
CONSTANTS = {CursorKind.INTEGER_LITERAL, CursorKind.CHARACTER_LITERAL}
OPERATIONS = {CursorKind.BINARY_OPERATOR, CursorKind.UNARY_OPERATOR}


@dataclass(frozen=True, order=True)
class Finding:
    file: str
    line: int
    column: int
    kind: str
    text: str
    function: str


@dataclass(frozen=True)
class Stale:
    """A path was live and not rooted at this call."""

    call: str
    line: int


class Flow(Walk):
    def __init__(self, facts, function):
        super().__init__(facts, function)
        self.references = References(facts, function)
        self.findings = set()
        self.rooted = []  # paths, innermost last
        self.ways = {}  # for each && and ||: the states where it holds and where it does not
        self.paths = {path for node in function.nodes if (path := self.references.path(node)) is not None}
        self.paths.update(*(self.references.members(node) for node in function.nodes))

    def run(self):
        if any(node.kind == CursorKind.CALL_EXPR and self.facts.collects(node) for node in self.function.nodes):
            self.walk_body()
        return self.findings

    # --- the state ---

    def at_entry(self):
        self.rooted = []
        return {ROOTED_UNTIL_END: frozenset()}

    def is_rooted(self, path):
        return path in self.rooted or path in self.state[ROOTED_UNTIL_END]

    def joined(self, a, b):
        result = {ROOTED_UNTIL_END: a[ROOTED_UNTIL_END] & b[ROOTED_UNTIL_END]}
        for path in (a.keys() | b.keys()) - {ROOTED_UNTIL_END}:
            both = (a.get(path), b.get(path))
            stale = next((known for known in both if isinstance(known, Stale)), None)
            if stale is not None:
                result[path] = stale
            elif UNSET in both:
                result[path] = UNSET
            elif both == (NULL, NULL):
                result[path] = NULL
            elif path not in result[ROOTED_UNTIL_END] and is_rooted_or_null(a, path) and is_rooted_or_null(b, path):
                result[path] = ROOTED_OR_NULL
        return result

    def copied(self, state):
        return None if state is None else dict(state)

    # --- findings ---

    def report(self, node, kind, text):
        self.findings.add(Finding(node.file, node.line, node.column, kind, text, self.function.name))

    def use(self, node, path):
        known = self.state.get(path) if self.state is not None else None
        if isinstance(known, Stale):
            what = "an address inside of an object, which cannot be rooted" if path[0] in self.references.interior else (
                "not rooted")
            self.report(node, "stale", f"'{spell(path)}' is used after {known.call}, line {known.line}, which may collect; "
                                       f"it is {what}")
            del self.state[path]

    def collect(self, call):
        name = spell_call(call)
        for path in self.paths:
            if not self.is_rooted(path) and self.state.get(path) is None:
                self.state[path] = Stale(name, call.line)

    def _compound_stmt(self, node):
        depth = len(self.rooted)
        super()._compound_stmt(node)
        del self.rooted[depth:]

    def _var_decl(self, node):
        key = variable_key(node.cursor)
        if node.children:
            self.expression(node.children[0])
        if self.state is None or key is None:
            return
        for path in self.paths:
            if path[0] == key:
                self.assign(path, node.children[0] if node.children else None)

    def assign(self, path, given):
        """given: an expression, or None for no value."""
        self.state.pop(path, None)
        if given is None:
            if path[1:] != ("[]",):
                self.state[path] = UNSET
        elif is_null(given):
            self.state[path] = NULL

    # --- expressions ---

    def expression(self, node):
        if self.state is None:
            return
        kind = node.kind
        if kind == CursorKind.CALL_EXPR:
            self.call(node)
        elif kind == CursorKind.StmtExpr:
            self.statement(node.children[0])
        elif kind == CursorKind.BINARY_OPERATOR and node.operator in (syntax.LOGICAL_AND, syntax.LOGICAL_OR):
            self.logical(node)
        elif kind == CursorKind.BINARY_OPERATOR and node.operator == syntax.COMMA:
            for child in node.children:
                self.expression(child)
        elif kind == CursorKind.BINARY_OPERATOR and node.operator == syntax.ASSIGN:
            self.assignment(node)
        elif kind == CursorKind.BINARY_OPERATOR and null_comparison(node) is not None:
            self.tested(null_comparison(node))
        elif kind == CursorKind.CONDITIONAL_OPERATOR:
            self.conditional(node)
        elif kind == CursorKind.UNARY_OPERATOR and node.operator == syntax.ADDRESS_OF:
            self.address(node.children[0])
        elif (path := self.references.path(node)) is not None:
            if kind == CursorKind.ARRAY_SUBSCRIPT_EXPR:
                self.expression(node.children[1])
            self.use(node, path)
        elif self.references.part(node) is not None:
            for path in sorted(self.references.members(node)):
                self.use(node, path)
        elif kind in syntax.CASTS and syntax.is_void(node.type):
            self.tested(node.children[-1])  # (void)x only says that x is not used
        elif kind == CursorKind.UNARY_OPERATOR and node.operator == syntax.NOT:
            self.tested(node.children[0])
        else:
            self.in_any_order(node, node.children)

    def tested(self, node):
        """A condition, or compared with NULL: of that even a stale reference tells the truth."""
        if self.references.path(node.without_casts()) is None:
            self.expression(node)

    def address(self, node):
        """&node uses what the address is computed from, not what lies there."""
        if self.references.path(node) is None and self.references.part(node) is None:
            self.in_any_order(node, node.children)

    def in_any_order(self, node, operands):
        """Operands that C evaluates in any order: those that collect last, after what that hides is told."""
        collecting = [operand for operand in operands if self.collecting_call(operand) is not None]
        for operand in operands:
            call = next((self.collecting_call(other) for other in collecting if other is not operand), None)
            if call is not None:
                self.check_order(operand, call)
        for operand in operands:
            if operand not in collecting:
                self.expression(operand)
        for operand in collecting:
            self.expression(operand)

    def check_order(self, operand, call):
        """operand is evaluated before or after a call that may collect."""
        name = spell_call(call)
        if self.references.is_reference(operand) and not is_null(operand):
            known = self.state.get(self.references.path(operand.without_casts()))
            if known != NULL:
                self.report(operand, "order", f"a reference is computed before or after {name}, which may collect, in any order: "
                                              "call it first, in a statement of its own")
                return
        for inner in operand.walk():
            path = self.references.path(inner)
            if path is None or self.is_rooted(path) or self.state.get(path) in (NULL, ROOTED_OR_NULL):
                continue
            if not is_call_in(operand, inner, self.facts):
                self.report(inner, "order", f"'{spell(path)}', which is not rooted, is used before or after {name}, which may "
                                            "collect, in any order")

    def collecting_call(self, node):
        return next((inner for inner in node.walk() if inner.kind == CursorKind.CALL_EXPR and self.facts.collects(inner)), None)

    def call(self, node):
        if node.children and syntax.callee(node) is None:
            self.expression(node.children[0])
        arguments = syntax.arguments(node)
        if node.name == facts_module.OPEN_SCOPE and len(arguments) == 4:
            self.root(arguments[1])
            return
        self.in_any_order(node, arguments)
        if self.state is None:
            return
        if node.name in facts_module.GLOBAL_ROOTS and len(arguments) == 3:
            self.root(arguments[1], until_end=True)
            return
        collects = self.facts.collects(node)
        handed = self.handed_out(node, arguments, collects)
        if collects:
            self.collect(node)
        for path in handed:
            self.state.pop(path, None)
        if not self.facts.comes_back(node):
            self.state = None

    def handed_out(self, call, arguments, collects):
        """Paths whose address the call is given and which it sets or keeps: unset or null before it, or rooted by it."""
        paths = set()
        for index, argument in enumerate(arguments):
            inner = argument.without_casts()
            if inner.kind != CursorKind.UNARY_OPERATOR or inner.operator != syntax.ADDRESS_OF:
                continue
            base = inner.children[0]
            exact = self.references.path(base)
            for path in self.paths:
                if path == exact or (exact is None and path[0] == variable_of(base)):
                    if not collects or self.state.get(path) is not None or self.facts.roots_parameter(call, index):
                        paths.add(path)
        return paths

    def root(self, argument, until_end=False):
        address = argument.without_casts()
        if address.kind != CursorKind.UNARY_OPERATOR or address.operator != syntax.ADDRESS_OF:
            return
        path = self.references.path(address.children[0])
        if path is None:
            return
        if self.state.get(path) == UNSET:
            self.report(argument, "unset", f"'{spell(path)}' is rooted before it is given a value: set it to NULL first")
            del self.state[path]
        self.use(argument, path)
        if path[0] in self.references.interior:
            self.report(argument, "interior", f"'{spell(path)}' is rooted, but may hold an address inside of an object")
        if until_end:
            self.state[ROOTED_UNTIL_END] |= {path}
        else:
            self.rooted.append(path)

    def logical(self, node):
        first, second = node.children
        goes_on = node.operator == syntax.LOGICAL_AND
        self.tested(first)
        skipped = self.refined(self.state, first, not goes_on)
        self.state = self.refined(self.state, first, goes_on)
        self.tested(second)
        self.ways[node] = {goes_on: self.refined(self.state, second, goes_on),
                           not goes_on: self.join(skipped, self.refined(self.state, second, not goes_on))}
        after = self.state
        self.state = self.join(skipped, after)
        if after is not None:  # whoever keeps the result looks at it before the locals
            self.state[ROOTED_UNTIL_END] = after[ROOTED_UNTIL_END]

    def conditional(self, node):
        condition, yes, no = node.children
        self.tested(condition)
        before = self.state
        self.state = self.refined(before, condition, True)
        self.expression(yes)
        after = self.state
        self.state = self.refined(before, condition, False)
        self.expression(no)
        self.state = self.join(after, self.state)

    def assignment(self, node):
        target, given = node.children
        path = self.references.path(target)
        if path is None:
            call = self.collecting_call(given)
            if call is not None and target.kind != CursorKind.DECL_REF_EXPR:
                self.check_target(target, call)
            self.address(target)
            self.expression(given)
            for path in self.references.members(target) if self.state is not None else ():
                self.assign(path, given)
            return
        if target.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR:
            self.expression(target.children[1])
            self.expression(given)  # the other items stay as they are
        else:
            self.expression(given)
            if self.state is not None:
                self.assign(path, given)

    def check_target(self, target, call):
        """The address that is stored to may be computed before the call."""
        if self.references.is_inside(target):
            self.report(target, "order", f"the address in the object may be computed before {spell_call(call)}, which may collect: "
                                         "call it first, in a statement of its own")

    # --- what a condition tells ---

    def refined(self, state, condition, holds):
        """The state when a condition holds, or does not: who is NULL then."""
        if state is None:
            return None
        node, is_null_when = condition, False
        while node.kind == CursorKind.UNARY_OPERATOR and node.operator == syntax.NOT:
            node, is_null_when = node.children[0], not is_null_when
        if node in self.ways:
            return self.copied(self.ways[node][holds != is_null_when])
        state = dict(state)
        compared = null_comparison(node)
        if compared is not None:
            if node.operator == syntax.EQUAL:
                is_null_when = not is_null_when
            node = compared
        path = self.references.path(node.without_casts())
        if path is not None and holds == is_null_when:
            state[path] = NULL
        elif path is not None and state.get(path) == NULL:
            del state[path]
        return state


def is_rooted_or_null(state, path):
    known = state.get(path)
    return known in (NULL, ROOTED_OR_NULL) or (known is None and path in state[ROOTED_UNTIL_END])


def spell(path):
    return path[0][0] + "".join(part if part == "[]" else "." + part for part in path[1:])


def spell_call(call):
    return f"'{call.name}'" if call.name else "a call through a pointer"


def is_null(node):
    """NULL, or another constant, which no collection changes."""
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


def is_call_in(operand, inner, facts):
    """Whether inner is an argument of a collecting call in operand, whose own use is looked at when that is walked."""
    return any(
        call.kind == CursorKind.CALL_EXPR and facts.collects(call) and any(node is inner for node in call.walk())
        for call in operand.walk()
    )
