"""Walks one function in its order of execution and carries a state along.

Branches are walked apart and their states joined, loops and gotos until nothing changes. A subclass says what a state is, how two
are joined, and what an expression does to it. None is the state where execution never comes.
"""

from clang.cindex import CursorKind

from . import syntax

# A bound that is never reached in practice: a joined state only grows, and few rounds add anything.
ROUNDS_MOST = 8


class Walk:
    def __init__(self, facts, function):
        self.facts = facts
        self.function = function
        self.state = None
        self.breaks, self.continues = [], []
        self.labels = {}
        self.addressed = {label_of(node) for node in function.nodes if node.kind == CursorKind.ADDR_LABEL_EXPR}
        self.switches = []  # for each: the state before its cases, and whether it has a default
        self.at_return = None  # the states of all returns, joined

    def walk_body(self):
        for _ in range(ROUNDS_MOST):
            before = {name: self.copied(state) for name, state in self.labels.items()}
            self.state = self.at_entry()
            self.at_return = None
            self.statement(self.function.body)
            self.at_return = self.join(self.at_return, self.state)
            if before == self.labels:
                break

    # --- what a state is ---

    def at_entry(self):
        raise NotImplementedError

    def joined(self, a, b):
        """Joins two states, neither of them None."""
        raise NotImplementedError

    def copied(self, state):
        return state

    def refined(self, state, condition, holds):
        """The state where a condition is true, or false."""
        return state

    def expression(self, node):
        raise NotImplementedError

    def tested(self, condition):
        self.expression(condition)

    def join(self, a, b):
        if a is None or b is None:
            return b if a is None else a
        return self.joined(a, b)

    # --- statements ---

    def statement(self, node):
        if node is None or (self.state is None and node.kind not in CONTAINERS):
            return
        visit = getattr(self, "_" + node.kind.name.lower(), None)
        if visit is not None:
            visit(node)
        elif node.kind.is_expression():
            self.expression(node)
        else:
            for child in node.children:
                self.statement(child)

    def _compound_stmt(self, node):
        for child in node.children:
            self.statement(child)

    def _decl_stmt(self, node):
        for child in node.children:
            self.statement(child)

    def _var_decl(self, node):
        for child in node.children:
            self.expression(child)

    def _if_stmt(self, node):
        condition, *ways = node.children
        self.tested(condition)
        before = self.state
        after = None
        for holds, way in ((True, ways[0]), (False, ways[1] if len(ways) > 1 else None)):
            self.state = self.refined(before, condition, holds)
            self.statement(way)
            after = self.join(after, self.state)
        self.state = after

    def _while_stmt(self, node):
        self.loop(None, node.children[0], None, node.children[1])

    def _for_stmt(self, node):
        first, condition, step, body = node.for_parts()
        self.statement(first)
        self.loop(None, condition, step, body)

    def _do_stmt(self, node):
        self.loop(node.children[0], node.children[1], None, None)

    def loop(self, body_first, condition, step, body):
        """do body_first; while (condition), or for (; condition; step) body. A condition that is a constant goes one way: that of
        do ... while (0) never to a second round, that of while (1) never out. (Of an if, both ways are read: the constant is often
        a setting.)"""
        entry = self.state
        constant = True if condition is None else syntax.constant_truth(condition)
        for _ in range(ROUNDS_MOST):
            self.state = self.copied(entry)
            self.breaks.append(None)
            self.continues.append(None)
            self.statement(body_first)
            if body_first is not None:
                self.state = self.join(self.state, self.continues.pop())
                self.continues.append(None)
            if condition is not None and self.state is not None:
                self.tested(condition)
            leaving = None if constant is True else self.refined(self.state, condition, False)
            if condition is not None:
                self.state = None if constant is False else self.refined(self.state, condition, True)
            self.statement(body)
            self.state = self.join(self.state, self.continues.pop())
            if self.state is not None:
                self.statement(step)
            again = self.join(entry, self.state)
            leaving = self.join(leaving, self.breaks.pop())
            if again == entry:
                break
            entry = again
        self.state = leaving

    def _switch_stmt(self, node):
        condition, body = node.children[0], node.children[-1]
        self.expression(condition)
        self.switches.append([self.copied(self.state), False])
        self.breaks.append(None)
        self.state = None
        self.statement(body)
        before, has_default = self.switches.pop()
        self.state = self.join(self.state, self.breaks.pop())
        if not has_default:
            self.state = self.join(self.state, before)

    def _case_stmt(self, node):
        self.state = self.join(self.state, self.copied(self.switches[-1][0]))
        self.statement(node.children[-1])

    def _default_stmt(self, node):
        self.switches[-1][1] = True
        self._case_stmt(node)

    def _break_stmt(self, _):
        self.breaks[-1] = self.join(self.breaks[-1], self.state)
        self.state = None

    def _continue_stmt(self, _):
        self.continues[-1] = self.join(self.continues[-1], self.state)
        self.state = None

    def _return_stmt(self, node):
        for child in node.children if node is not None else ():
            self.expression(child)
        self.at_return = self.join(self.at_return, self.state)
        self.state = None

    def _goto_stmt(self, node):
        name = label_of(node)
        self.labels[name] = self.join(self.labels.get(name), self.state)
        self.state = None

    def _indirect_goto_stmt(self, node):
        """A computed goto: may jump to any label whose address is taken."""
        for child in node.children:
            self.expression(child)
        for name in self.addressed:
            self.labels[name] = self.join(self.labels.get(name), self.state)
        self.state = None

    def _label_stmt(self, node):
        self.state = self.join(self.state, self.copied(self.labels.get(node.cursor.spelling)))
        for child in node.children:
            self.statement(child)


CONTAINERS = {
    CursorKind.COMPOUND_STMT, CursorKind.CASE_STMT, CursorKind.DEFAULT_STMT, CursorKind.LABEL_STMT, CursorKind.IF_STMT,
    CursorKind.WHILE_STMT, CursorKind.FOR_STMT, CursorKind.DO_STMT, CursorKind.SWITCH_STMT,
}


def label_of(node):
    """The label that a goto or an && operator names."""
    return next((child.spelling for child in node.cursor.get_children()), "")
