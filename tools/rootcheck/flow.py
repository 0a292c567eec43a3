"""One function: which followed locals are stale where.

The state is a map from paths to what is known; a path that is absent is live. Beside the paths it holds the set of those that are
rooted until the end of the function. At a call that may collect every path that is live and not rooted becomes stale. Using a
stale one is a finding; so is an expression whose operands C evaluates in any order, when one of them may collect and another is a
reference, or uses one that is not rooted; and so is an address inside of an object that is given to what may collect and uses it
afterwards. Which objects are fresh is carried along for the stores (stores.py).
"""

import functools
import re
from dataclasses import dataclass

from clang.cindex import CursorKind

from . import facts as facts_module
from . import syntax
from .conditions import is_null, null_comparison, tested_for_zero
from .findings import Finding
from .numbers import Numbers
from .references import owner, variable_key, variable_of
from .stores import (
    ALLOCATED, BARRIERS, FRESH, PLAIN, Parameter, after_collecting, freshness_in, joined, joined_freshness, loaded_from
)
from .traced import Tables
from .walk import Walk

NULL, UNSET = "null", "unset"
OTHER = "other"  # a local of unclear type (void *) was assigned something that is not a reference
ROOTED_OR_NULL = "rooted or null"  # rooted until the end on one path, NULL on the other
ROOTED_UNTIL_END = "rooted until the end"  # the state's key for the set of such locals
PARKED = "parked"  # the state's key for the line where the thread has parked, or None
PINNED = "pinned"  # the state's key for the set of locals that hold what the function has pinned
OF_STATE = {ROOTED_UNTIL_END, FRESH, PARKED, PINNED}
MAY_WHILE_PARKED = {*facts_module.UNPARKS, "cradle_safepoint_request", "cradle_mutator_name", "cradle_parked_goes_on"}


@dataclass(frozen=True)
class Stale:
    """A followed local was live and not rooted at this call."""

    call: str
    line: int


class Flow(Walk):
    """analysis: facts about the other functions; references: about this function; without_roots: ignore this function's roots."""

    def __init__(self, analysis, function, references, without_roots=False):
        super().__init__(analysis.facts, function)
        self.analysis = analysis
        self.references = references
        self.without_roots = without_roots
        self.findings = set()
        self.stores = set()  # findings of stores into objects, with the parameter that must be fresh, or None
        self.returned = set()  # the freshness of each returned value
        self.tables = Tables(references, function)
        self.table_stores = set()  # (owner, finding, freshness) of stores into memory that trace callbacks report
        self.tables_called = set()  # (USR, index) of arguments of calls
        self.tables_given = set()  # (USR, index, owner, finding, freshness) of calls that are given such memory
        self.arguments = set()  # (USR, index, freshness) of references passed to functions with a body
        self.rooted = []  # paths, innermost last
        self.ways = {}  # for each && and ||: the states where it is true and where it is false
        self.stale = set()  # nodes that were found stale
        self.collecting = {}  # what collecting_call has found
        self.paths = {path for node in function.nodes if (path := self.references.path(node)) is not None}
        self.paths.update(*(self.references.members(node) for node in function.nodes))
        self.numbers = Numbers(self.references, function)
        self.barriered = {spell_expression(syntax.arguments(call)[1]) for call in function.calls
                          if call.name in BARRIERS and len(syntax.arguments(call)) > 1}

    def run(self):
        self.walk_body()
        return self

    # --- the state ---

    def at_entry(self):
        self.rooted = []
        self.returned = set()
        keys = [(variable_key(parameter),) for parameter in self.function.parameters]
        return {ROOTED_UNTIL_END: frozenset(), PARKED: None, PINNED: frozenset(), FRESH: {key: Parameter(index) for index, key in enumerate(keys) if key in self.paths}}

    def is_rooted(self, path):
        return path in self.rooted or path in self.state[ROOTED_UNTIL_END]

    def joined(self, a, b):
        result = {ROOTED_UNTIL_END: a[ROOTED_UNTIL_END] & b[ROOTED_UNTIL_END], FRESH: joined_freshness(a, b),
                  PARKED: a[PARKED] and b[PARKED], PINNED: a[PINNED] & b[PINNED]}
        for path in (a.keys() | b.keys()) - OF_STATE:
            both = (a.get(path), b.get(path))
            stale = next((known for known in both if isinstance(known, Stale)), None)
            if stale is not None:
                result[path] = stale
            elif UNSET in both:
                result[path] = UNSET
            elif both[0] in (NULL, OTHER) and both[1] in (NULL, OTHER):
                result[path] = NULL if both == (NULL, NULL) else OTHER
            elif path not in result[ROOTED_UNTIL_END] and is_rooted_or_null(a, path) and is_rooted_or_null(b, path):
                result[path] = ROOTED_OR_NULL
        return result

    def copied(self, state):
        return None if state is None else dict(state)

    # --- findings ---

    def report(self, node, kind, text, path=None, call=None, after=0):
        self.findings.add(self.finding(node, kind, text, path, call, after))

    def finding(self, node, kind, text, path=None, call=None, after=0):
        return Finding(node.file, node.line, node.column, kind, text, self.function.name, after, path, self.function.usr, call)

    def use(self, node, path):
        known = self.state.get(path) if self.state is not None else None
        if isinstance(known, Stale):
            self.stale.add(node)
            is_interior = path[0] in self.references.interior
            what = "an address inside of an object, which cannot be rooted" if is_interior else "not rooted"
            self.report(node, "stale", f"'{spell(path)}' is used after {known.call}, line {{after}}, which may collect, but it is {what}",
                        path, after=known.line)
            del self.state[path]
        elif known not in (NULL, UNSET, OTHER):
            self.use_parked(node, path, f"'{spell(path)}' is used")

    def use_parked(self, node, path, what):
        """A reference, or a local that is a root, while other threads may collect."""
        if self.state is not None and self.state[PARKED] and path not in self.state[PINNED]:
            self.report(node, "parked", f"{what} while the thread is parked, line {{after}}: another thread may collect, and move it",
                        path, after=self.state[PARKED])

    def collect(self, call):
        name = spell_call(call)
        self.state[FRESH] = after_collecting(self.state[FRESH])
        for path in self.paths - self.state[PINNED]:
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
        """given: the assigned expression, or None without an initializer."""
        if self.is_rooted(path) and given is not None:
            self.use_parked(given, path, f"'{spell(path)}', which is a root, is assigned to")
        self.state.pop(path, None)
        self.note_pinned(path, given)
        freshness = self.freshness(given) if given is not None and path[1:] != ("[]",) else None
        if freshness is not None or path in self.state[FRESH]:
            self.state[FRESH] = {**self.state[FRESH], path: freshness}
        if given is None:
            if path[1:] != ("[]",):
                self.state[path] = UNSET
        elif is_null(given):
            self.state[path] = NULL
        elif len(path) == 1 and not self.references.is_reference(given):
            self.state[path] = OTHER

    def note_pinned(self, path, given):
        """A pinned object stays where it is, and is alive, until the function unpins something."""
        call = given.without_casts() if given is not None else None
        if call is not None and call.kind == CursorKind.CALL_EXPR and call.name == "cradle_pin":
            self.state[PINNED] |= {path}
        else:
            self.state[PINNED] -= {path}

    # --- expressions ---

    def expression(self, node):
        if self.state is None:
            return
        kind = node.kind
        if self.numbers.reads(node):
            return
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
            self.tested(node.children[-1])  # (void)x does not use x
        elif kind == CursorKind.UNARY_OPERATOR and node.operator == syntax.NOT:
            self.tested(node.children[0])
        else:
            if self.state[PARKED] and kind in (CursorKind.DECL_REF_EXPR, CursorKind.MEMBER_REF_EXPR) and self.references.is_reference(node):
                self.use_parked(node, None, f"'{node.name}' is used")
            self.in_any_order(node, node.children)

    def tested(self, node):
        """A condition or a comparison with NULL: even a stale reference gives the right answer."""
        if self.references.path(node.without_casts()) is None and not self.numbers.is_of_one(node):
            self.expression(node)

    def address(self, node):
        """&node uses what the address is computed from, not what lies there."""
        if self.references.path(node) is None and self.references.part(node) is None:
            self.in_any_order(node, node.children)

    def in_any_order(self, node, operands):
        """Operands that C evaluates in any order: reports the conflicts, then walks the operands that may collect last."""
        collecting = [operand for operand in operands if self.collecting_call(operand) is not None]
        for operand in operands if node.operator != syntax.HIDDEN else ():  # && has an order
            call = next((self.collecting_call(other) for other in collecting if other is not operand), None)
            if call is not None:
                self.check_order(operand, call)
        for operand in operands:
            if operand not in collecting:
                self.expression(operand)
        for operand in collecting:
            self.expression(operand)

    def check_order(self, operand, call):
        """Checks an operand that C may evaluate before or after a call that may collect."""
        name = spell_call(call)
        if self.numbers.reads(operand):
            return
        if self.references.is_reference(operand) and not is_null(operand):
            known = self.state.get(self.references.path(operand.without_casts()))
            if known not in (NULL, OTHER):
                self.report(operand, "order", f"C leaves open whether this reference or {name}, which may collect, comes first: "
                                              "make the call first, in a statement of its own", call=call)
                return
        for inner in operand.walk():
            path = self.references.path(inner)
            if path is None or self.is_rooted(path) or self.state.get(path) in (NULL, OTHER, ROOTED_OR_NULL):
                continue
            if not is_call_in(operand, inner, self.facts):
                self.report(inner, "order", f"'{spell(path)}' is not rooted, and C leaves open whether it is used before "
                                            f"{name}, which may collect", path)

    def collecting_call(self, node):
        if node not in self.collecting:
            collects = node.kind == CursorKind.CALL_EXPR and self.facts.collects(node)
            inner = (self.collecting_call(child) for child in node.children)
            self.collecting[node] = node if collects else next((call for call in inner if call is not None), None)
        return self.collecting[node]

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
        self.check_parked_call(node, arguments, collects)
        self.hand_over(node, arguments, collects)
        handed = self.handed_out(node, arguments, collects)
        before = dict(self.state)
        if collects:
            self.collect(node)
        if node.name in facts_module.PARKS:
            self.state[PARKED] = node.line
        elif node.name in facts_module.UNPARKS:
            self.state[PARKED] = None
        elif node.name == "cradle_unpin":
            self.state[PINNED] = frozenset()
        if self.facts.lands(node):
            self.ways[node] = {False: before, True: dict(self.state)}  # result 0: setjmp's first return
        for path in handed:
            self.state.pop(path, None)
            if not collects and path[0] in self.references.untold:
                self.state[path] = OTHER  # memcpy or the like
        if not self.facts.comes_back(node):
            self.state = None

    def check_parked_call(self, call, arguments, collects):
        """A parked thread calls nothing that may collect, and nothing with its mutator."""
        if self.state[PARKED] is None or syntax.callee(call) is None or call.name in MAY_WHILE_PARKED:
            return
        takes_mutator = call.name.startswith("cradle_") and arguments and is_mutator(arguments[0].type)
        if collects or takes_mutator:
            self.report(call, "parked", f"{spell_call(call)} {'may collect' if collects else 'uses the mutator'}, but the thread is "
                                        "parked, line {after}", after=self.state[PARKED])

    def _for_stmt(self, node):
        """CRADLE_PARKED is a for statement; the block unparks however it is left."""
        first = node.for_parts()[0]
        parks = first is not None and any(inner.name == "cradle_parked_begin" for inner in first.walk())
        super()._for_stmt(node)
        if parks and self.state is not None:
            self.state[PARKED] = None

    def hand_over(self, call, arguments, collects):
        """Checks the call's arguments: addresses inside of objects, and objects that the function stores into."""
        called = self.facts.function_called(call)
        if called is not None and self.facts.traced:
            self.note_table_given(call, called)
        for index, argument in enumerate(arguments):
            if not syntax.is_pointer(argument.type) or is_null(argument):
                continue
            if self.state.get(self.references.path(argument.without_casts())) == OTHER:
                continue
            if self.references.is_interior(argument):
                if collects and self.analysis.uses_after_collecting(call, index):
                    path = self.references.path(argument.without_casts())
                    self.report(argument, "interior", f"an address inside of an object is given to {spell_call(call)}, which may "
                                                      "collect before it uses it: give it the object, or a copy", path)
            elif called is not None and index < len(called.parameters) and self.references.is_reference(argument):
                self.arguments.add((called.usr, index, self.freshness(argument)))

    def handed_out(self, call, arguments, collects):
        """Locals whose address is passed to the call, which sets or roots them."""
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
            self.report(argument, "unset", f"'{spell(path)}' is rooted before it is given a value: set it to NULL first",
                        path)
            del self.state[path]
        self.use(argument, path)
        if path[0] in self.references.interior:
            self.report(argument, "interior", f"'{spell(path)}' is rooted, but may hold an address inside of an object")
        if self.without_roots:
            return
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
        if after is not None:  # assumes that the result is tested before the locals are used
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
            if self.state is not None:
                for path in self.references.members(target):
                    self.assign(path, given)
                if call is None:
                    self.check_store(target, given)
                if self.tables.changes(target, given):
                    self.note_table_store(target)
            return
        if target.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR:
            self.expression(target.children[1])
            self.expression(given)  # the other items keep their values
        else:
            self.expression(given)
            if self.state is not None:
                self.assign(path, given)

    def check_target(self, target, call):
        """C may compute the target address of an assignment before the call on its right side."""
        if self.references.is_inside(target):
            self.report(target, "order", f"the address in the object may be computed before {spell_call(call)}, which may collect: "
                                         "make the call first, in a statement of its own", call=call)

    # --- stores into objects ---

    def check_store(self, target, given):
        """A store past the write barrier, unless the object is fresh; or, for a parameter, unless all callers give fresh ones."""
        base = owner(target)
        if base is None or not syntax.is_pointer(base.type) or not self.references.is_reference(base) or is_null(given):
            return
        if base.without_casts() in self.stale:
            return  # the stale object itself is reported first
        if self.facts.begins_with_header(target.own_type()) and not names_header(given):
            self.stores.add((self.finding(
                target, "header", "the object is assigned as a whole, which overwrites its header: assign its fields, or copy its "
                                  "header into the new value first"), loaded_from(self.freshness(base))))
            return
        if base.kind in (CursorKind.DECL_REF_EXPR, CursorKind.MEMBER_REF_EXPR) and self.references.is_fixed(base):
            return
        if not self.references.stores_reference(target, given) or spell_expression(base) in self.barriered:
            return
        freshness = self.freshness(base)
        if freshness not in (ALLOCATED, PLAIN):
            self.stores.add((self.finding(
                target, "barrier", f"a reference is stored into {spell_target(target)} without the write barrier, but the object "
                                   "may be old: use cradle_store"), freshness))

    def note_table_store(self, target):
        """A store into memory that an object owns: the object needs the barrier."""
        text = (f"a reference is stored into {spell_target(target)}, which a trace callback reports, and no cradle_write_barrier of "
                "its object follows")
        for whose in self.tables.owners(owner(target)):
            if not self.tables.is_reported(target, whose):
                self.table_stores.add((whose, self.finding(target, "barrier", text), self.freshness_of_owner(whose)))

    def note_table_given(self, call, called):
        """The function called may store into memory that belongs to an object here."""
        text = (f"{spell_call(call)} stores references into memory that a trace callback reports, and no cradle_write_barrier of its "
                "object follows")
        for index, argument in enumerate(syntax.arguments(call)[: len(called.parameters)]):
            if syntax.is_pointer(argument.own_type()) and not is_null(argument):
                self.tables_called.add((called.usr, index))
                for whose in self.tables.owners(argument):
                    if not self.tables.is_reported(call, whose):
                        self.tables_given.add((called.usr, index, whose, self.finding(call, "barrier", text),
                                               self.freshness_of_owner(whose)))

    def freshness_of_owner(self, whose):
        return None if isinstance(whose, int) else self.freshness(whose)

    def freshness(self, node):
        """The freshness (stores.py) of the object that an expression refers to."""
        node = node.without_casts()
        if is_null(node):
            return ALLOCATED
        path = self.references.path(node)
        if path is not None:
            return freshness_in(self.state, path)
        if node.kind == CursorKind.CALL_EXPR:
            known = self.analysis.freshness_of_result(node)
            arguments = syntax.arguments(node)
            if known in (None, ALLOCATED, PLAIN) or known.index >= len(arguments):
                return known if known in (ALLOCATED, PLAIN) else None
            given = self.freshness(arguments[known.index])
            return given if isinstance(known, Parameter) else loaded_from(given)
        if node.kind == CursorKind.CONDITIONAL_OPERATOR:
            return joined(*(self.freshness(child) for child in node.children[1:]))
        if node.operator in (syntax.COMMA, syntax.ASSIGN):
            return self.freshness(node.children[1])
        if node.kind == CursorKind.BINARY_OPERATOR and syntax.is_arithmetic(node.own_type()):
            return self.freshness_of_word(node)
        if self.references.is_interior(node):
            if node.kind == CursorKind.BINARY_OPERATOR:
                return next(self.freshness(child) for child in node.children
                            if syntax.is_pointer(child.type) and self.references.is_reference(child))
            base = owner(node.children[0] if node.operator == syntax.ADDRESS_OF else node)
            return self.freshness(base) if base is not None else None
        if node.operator == syntax.ADDRESS_OF and owner(node.children[0]) is not None:
            return self.freshness(owner(node.children[0]))  # of the first member
        base = owner(node)
        return loaded_from(self.freshness(base)) if base is not None else None

    def freshness_of_word(self, node):
        """Of a value that is computed from a reference and a tag, or of an address that is computed from a value."""
        parts = [child for child in node.children if not self.references.is_immediate(child)]
        return functools.reduce(joined, map(self.freshness, parts)) if parts else None

    def _return_stmt(self, node):
        for child in node.children:
            self.expression(child)
        if self.state is not None and node.children:
            self.returned.add(self.freshness(node.children[0]))
        super()._return_stmt(None)

    # --- what follows from a condition ---

    def refined(self, state, condition, holds):
        """The state where a condition is true, or false: which locals are NULL there."""
        if state is None:
            return None
        node, is_null_when = tested_for_zero(condition)
        if node in self.ways:
            return self.copied(self.ways[node][holds != is_null_when])
        state = dict(state)
        path = self.references.path(node.without_casts())
        if path is not None and holds == is_null_when:
            state[path] = NULL
        elif path is not None and state.get(path) == NULL:
            del state[path]
        return state


def is_mutator(kind):
    return syntax.is_pointer(kind) and "cradle_mutator" in syntax.pointee(kind).spelling


def is_rooted_or_null(state, path):
    known = state.get(path)
    return known in (NULL, OTHER, ROOTED_OR_NULL) or (known is None and path in state[ROOTED_UNTIL_END])


def spell(path):
    return path[0][0] + "".join(part if part == "[]" else "." + part for part in path[1:])


def spell_expression(node):
    """A key for comparing two expressions of one function: names and fields in the order of the tree."""
    return " ".join(inner.name for inner in node.walk())


def spell_target(target):
    return f"'{target.name}'" if target.kind == CursorKind.MEMBER_REF_EXPR else "an object"


def names_header(given):
    """Whether what is assigned begins with the header that the object has: (pair){p->header, ...}."""
    return any(node.name == "header" for node in given.walk())


def spell_call(call):
    """As it is written, where a macro of Cradle's makes it."""
    file, offset = syntax.file_place(call.cursor.location)
    macro = re.match(rb"CRADLE_\w+", syntax.contents(file)[offset : offset + 64]) if file is not None else None
    name = macro[0].decode() if macro else call.name
    return f"'{name}'" if name else "a call through a pointer"


def is_call_in(operand, inner, facts):
    """Whether inner is an argument of a collecting call in operand, whose own use is looked at when that is walked."""
    return any(
        call.kind == CursorKind.CALL_EXPR and facts.collects(call) and any(node is inner for node in call.walk())
        for call in operand.walk()
    )
