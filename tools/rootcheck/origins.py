"""Where references come from and go to between functions: by what they return, and by parameters whose type does not tell.

A function that returns a reference, an address inside of an object, or one in a root range, makes its calls such expressions. A
parameter that its function roots is a reference, and so is the local that a caller gives for it; a void * parameter that some
caller gives a reference is one, too.
"""

from clang.cindex import CursorKind

from . import syntax
from .references import INTERIOR, REFERENCE, STACK, References, variable_key, variable_of


class Origins:
    def __init__(self, facts):
        self.facts = facts
        self.results = {}  # USR: set of REFERENCE, INTERIOR, STACK
        self.of = {}  # USR: References
        self.given = set()  # (USR, parameter): only some callers are known to give it a reference
        self.callers = {}  # USR: USRs of the functions that call it
        for name, function in facts.functions.items():
            facts.places.note_arrays(function.nodes)
            for call in function.calls:
                self.callers.setdefault(facts.targets.get(call), set()).add(name)
        self.waiting = []
        for name, function in facts.functions.items():
            self.of[name] = References(facts, function, self.results)
            self._queue({name})
        while self.waiting:
            self._look_at(self.waiting.pop())
        for references in self.of.values():
            references.finish()

    def _queue(self, names):
        self.waiting += sorted(name for name in names if name in self.of and name not in self.waiting)

    def _look_at(self, name):
        references = self.of[name]
        references.follow_origins()
        self._note_results(name, references)
        for call in references.function.calls:
            function = self.facts.function_called(call)
            if function is not None:
                for parameter, argument in zip(function.parameters, syntax.arguments(call)):
                    self._note_argument(name, references, function.usr, parameter, argument)

    def _note_results(self, name, references):
        """A function whose result's type tells needs no look; of an address inside of an object no type tells."""
        function = references.function
        if not syntax.is_pointer(function.cursor.result_type):
            return
        found = set()
        for node in function.nodes:
            if node.kind == CursorKind.RETURN_STMT and node.children:
                given = node.children[0]
                if references.is_interior(given):
                    found.add(INTERIOR)
                elif references.is_stack_pointer(given):
                    found.add(STACK)
                elif references.is_reference(given):
                    found.add(REFERENCE)
        if found - self.results.get(name, set()):
            self.results.setdefault(name, set()).update(found)
            self._queue(self.callers.get(name, ()))

    def _note_argument(self, caller, references, callee, parameter, argument):
        inside = self.of[callee]
        key = variable_key(parameter)
        given = variable_of(argument.without_casts())
        is_rooted = key in inside.by_origin and (callee, key) not in self.given
        if is_rooted and given is not None and given not in references.by_origin | references.interior:
            if syntax.is_pointer(argument.without_casts().own_type()) and not references.type_tells(argument.own_type()):
                references.by_origin.add(given)
                references.always.add(given)
                self._queue({caller, *self.callers.get(caller, ())})
        if key not in inside.by_origin and syntax.is_untyped(parameter.type):
            if references.is_reference(argument) and not references.is_interior(argument):
                inside.by_origin.add(key)
                self.given.add((callee, key))
                inside.always.add(key)
                self._queue({callee, *self.callers.get(callee, ())})
