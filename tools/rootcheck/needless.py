"""Roots that protect nothing: without them, nothing would be found.

Each function is walked as if it rooted nothing. What would be stale then needs its root. A root whose variable is used in ways that
are not followed is left alone, and so is one of a variable that is rooted twice.
"""

from clang.cindex import CursorKind

from . import facts as facts_module
from . import syntax
from .flow import Flow, spell
from .references import variable_of


def roots(analysis):
    """A finding for each root."""
    found = set()
    for name, function in analysis.facts.functions.items():
        openings = [call for call in function.calls if call.name == facts_module.OPEN_SCOPE]
        if openings:
            references = analysis.origins.of[name]
            flow = Flow(analysis, function, references, without_roots=True).run()
            needed = {finding.path for finding in flow.findings if finding.kind in ("stale", "order")}
            addressed = addresses_taken(function, openings)
            for call in openings:
                path = rooted_path(references, call)
                if path is not None and path not in needed and path[0] not in addressed:
                    found.add(flow.finding(call, "needless", f"the root of '{spell(path)}' protects nothing: no call that may collect "
                                                             "lies between an assignment to it and a use of it"))
    return found


def rooted_path(references, call):
    arguments = syntax.arguments(call)
    address = arguments[1].without_casts() if len(arguments) == 4 else call
    return references.path(address.children[0]) if address.operator == syntax.ADDRESS_OF else None


def addresses_taken(function, openings):
    """Variables whose address is taken other than to root them once."""
    roots = {id(inner) for call in openings for inner in call.walk()}
    counted = [variable_of(inner) for call in openings for inner in call.walk() if variable_of(inner) is not None]
    found = {variable for variable in counted if counted.count(variable) > 1}
    for node in function.nodes:
        if node.kind == CursorKind.UNARY_OPERATOR and node.operator == syntax.ADDRESS_OF and id(node) not in roots:
            found.update(variable_of(inner) for inner in node.walk() if variable_of(inner) is not None)
    return found
