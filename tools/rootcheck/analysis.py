"""The whole program's findings. Each function is walked once, before any caller that needs its result."""

from . import syntax, traced
from .facts import POPS
from .flow import Flow
from .globals import unregistered
from .origins import Origins
from .references import References, variable_key
from .stores import ALLOCATED, PLAIN, is_allocation, is_old, joined, past_the_barrier


class Analysis:
    def __init__(self, facts):
        self.facts = facts
        self.origins = Origins(facts)
        facts.traced = traced.visited(facts)
        self.flows = {}  # by USR; None while the function is being walked
        self.kept = {}  # (USR, index): whether the function uses this argument after it may have collected

    def findings(self):
        found = set()
        for name in self.facts.functions:
            found |= self.flow(name).findings
        taken = set().union(*self.facts.taken.values())
        of_tables, uncalled = traced.past_the_barrier(self.flows, taken)
        for name, finding, freshness in of_tables:
            self.flows[name].stores.add((finding, freshness))
        return found | uncalled | past_the_barrier(self.flows, taken) | unregistered(self.facts, self.origins)

    def flow(self, name):
        """The walked function, or None while its walk is still running (recursion)."""
        if name not in self.flows:
            self.flows[name] = None
            self.flows[name] = Flow(self, self.facts.functions[name], self.origins.of[name]).run()
        return self.flows[name]

    # --- questions about called functions ---

    def freshness_of_result(self, call):
        """The freshness (stores.py) of the call's result, with the arguments of the call as Parameters."""
        if is_allocation(call.name):
            return None if is_old(call) else ALLOCATED
        may_collect = self.facts.may_collect_in(call)
        target = self.facts.targets.get(call)
        is_object = self.facts.allocates(call) or self.origins.results.get(target) or call.name in POPS
        if syntax.is_untyped(call.own_type()) and not is_object:
            return PLAIN  # malloc or the like
        if target in self.facts.functions:
            flow = self.flow(target)
            known = ALLOCATED
            for returned in flow.returned if flow is not None else ():
                known = joined(known, returned)
            return known
        # Without a body: a function that may collect and returns an object has most likely allocated it.
        return ALLOCATED if may_collect and syntax.callee(call) is not None else None

    def uses_after_collecting(self, call, index):
        """Whether the function called may look at an argument after a collection."""
        function = self.facts.function_called(call)
        if function is None:
            return call.name not in NEVER_LOOKED_AT
        if index >= len(function.parameters):
            return True
        if (function.usr, index) not in self.kept:
            self.kept[function.usr, index] = False  # while it calls itself
            self.kept[function.usr, index] = self._uses_after_collecting(function, index)
        return self.kept[function.usr, index]

    def _uses_after_collecting(self, function, index):
        """Walks the function as if the parameter were known to be an address inside of an object."""
        known = self.origins.of[function.usr]
        key = variable_key(function.parameters[index])
        probe = References(self.facts, function, self.origins.results, known.by_origin, known.interior | {key}).finish()
        followed = probe.interior - known.interior
        found = Flow(self, function, probe).run().findings
        return any(finding.path is not None and finding.path[0] in followed for finding in found)


# These use their argument only as a number, or it is not the address of a reference.
NEVER_LOOKED_AT = {"setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp"}
