"""What a call of each function may do: whether it returns, and whether it may have collected by then.

A function that collects only on the way to an error, from which it does not return, leaves its caller's locals as they are: nobody
looks at them any more. What lands at a setjmp does: a call of setjmp is taken for one that collects.

The answer is the least fixpoint over all bodies: a function counts as not returning until a way through its body is found.
"""

from clang.cindex import CursorKind

from . import syntax
from .conditions import tested_for_zero
from .walk import Walk


class Summary(Walk):
    """The state is whether there may have been a collection since the function was entered."""

    def __init__(self, facts, function):
        super().__init__(facts, function)
        self.before_landing = {}  # for each call of setjmp: the state before it, which also holds at its first return (with 0)

    def at_entry(self):
        return False

    def refined(self, state, condition, holds):
        node, is_zero = tested_for_zero(condition) if condition is not None else (None, False)
        return self.before_landing[node] if state is not None and node in self.before_landing and holds == is_zero else state

    def joined(self, a, b):
        return a or b

    def expression(self, node):
        if self.state is None:
            return
        if node.kind == CursorKind.StmtExpr:
            self.statement(node.children[0])
        elif node.kind == CursorKind.BINARY_OPERATOR and node.operator in (syntax.LOGICAL_AND, syntax.LOGICAL_OR):
            self.expression(node.children[0])
            skipped = self.state
            self.expression(node.children[1])
            self.state = self.join(skipped, self.state)
        elif node.kind == CursorKind.CONDITIONAL_OPERATOR:
            condition, yes, no = node.children
            self.expression(condition)
            before = self.state
            self.expression(yes)
            after, self.state = self.state, before
            self.expression(no)
            self.state = self.join(after, self.state)
        else:
            for child in node.children:
                self.expression(child)
            if node.kind == CursorKind.CALL_EXPR and self.state is not None:
                self.call(node)

    def call(self, node):
        if not self.facts.comes_back(node):
            self.state = None
        elif self.facts.collects(node):
            if self.facts.lands(node):
                self.before_landing[node] = self.state
            self.state = True


def summarize(facts):
    """Fills in facts.returning and facts.collecting, from the bodies of the functions that may collect."""
    callers = facts.callers()
    waiting = [name for name in facts.functions if name in facts.may_collect]
    queued = set(waiting)
    while waiting:
        name = waiting.pop()
        queued.discard(name)
        walk = Summary(facts, facts.functions[name])
        walk.walk_body()
        if facts.note_summary(name, walk.at_return):
            for caller in sorted(callers.get(name, ())):
                if caller in facts.functions and caller not in queued:
                    waiting.append(caller)
                    queued.add(caller)
