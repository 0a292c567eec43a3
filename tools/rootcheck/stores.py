"""Stores into objects that skip the write barrier.

An object that was allocated since the last call that may collect is fresh, and takes plain stores. One that a function gets as a
parameter is as fresh as what its callers give: a function that fills in what it is given is right if all of them give fresh ones.
"""

from dataclasses import dataclass

from . import syntax

# The state's key for the freshness of each object:
#   ALLOCATED        since the last call that may collect
#   PLAIN            not in the heap: memory from malloc or the like, whose objects refer only to other such objects
#   Parameter(i)     the object that the caller passes as argument i
#   Loaded(i)        read from that object, which is right if it is PLAIN
#   absent or None   none of these
FRESH = "fresh"
ALLOCATED, PLAIN = "allocated", "plain"
ALLOCATIONS = ("cradle_new", "cradle_kit_string_new")
WITH_FLAGS = ("cradle_new_with", "cradle_new_flagged")  # its last argument: 0, or flags for an object that is old from the start
# These report earlier stores to the collector.
BARRIERS = {"cradle_write_barrier", "cradle_write_barrier_slow"}


@dataclass(frozen=True)
class Parameter:
    index: int


@dataclass(frozen=True)
class Loaded:
    index: int


def is_allocation(name):
    return name.startswith(ALLOCATIONS)


def is_old(call):
    """Whether the call allocates an object that may be old from the start."""
    return call.name in WITH_FLAGS and syntax.constant_truth(syntax.arguments(call)[-1]) is not False


def joined(first, second):
    """The freshness of an expression that is either of two."""
    if first == second or second == ALLOCATED:
        return first
    if first == ALLOCATED:
        return second
    both = (first, second)  # of one parameter: it, or what it refers to
    same = all(isinstance(one, (Parameter, Loaded)) for one in both) and first.index == second.index
    return Loaded(first.index) if same else None


def loaded_from(freshness):
    """The freshness of a reference that is read from an object."""
    if freshness == PLAIN:
        return PLAIN
    return Loaded(freshness.index) if isinstance(freshness, (Parameter, Loaded)) else None


def after_collecting(fresh):
    """The part of the state's map that is still true after a collection."""
    return {path: Loaded(known.index) if isinstance(known, Parameter) else known
            for path, known in fresh.items() if known != ALLOCATED}


def joined_freshness(a, b):
    """Joins two states. NULL and non-references count as perfectly fresh."""
    paths = a[FRESH].keys() | b[FRESH].keys()
    result = {path: joined(freshness_in(a, path), freshness_in(b, path)) for path in paths}
    return {path: freshness for path, freshness in result.items() if freshness is not None}


def freshness_in(state, path):
    return ALLOCATED if state.get(path) in ("null", "unset", "other") else state[FRESH].get(path)


def past_the_barrier(flows, taken):
    """The findings of all functions. flows: by USR; taken: USRs of functions called through pointers."""
    given = {}  # (USR, index): the freshness of the objects that callers pass, each with its caller
    for caller, flow in flows.items():
        for name, index, freshness in flow.arguments:
            given.setdefault((name, index), set()).add((caller, freshness))
    # Parameters that are fresh, and those that are PLAIN: the greatest sets that agree with all calls.
    fresh = {parameter for parameter in given if parameter[0] not in taken}
    plain = set(fresh)

    def is_right(caller, freshness, allocated_too):
        if isinstance(freshness, Parameter):
            return (caller, freshness.index) in (fresh if allocated_too else plain)
        if isinstance(freshness, Loaded):
            return (caller, freshness.index) in plain
        return freshness == PLAIN or allocated_too and freshness == ALLOCATED

    while True:
        before = len(fresh) + len(plain)
        fresh = {parameter for parameter in fresh if all(is_right(*how, True) for how in given[parameter])}
        plain = {parameter for parameter in plain if all(is_right(*how, False) for how in given[parameter])}
        if len(fresh) + len(plain) == before:
            break
    return {finding for name, flow in flows.items() for finding, how in flow.stores if not is_right(name, how, True)}
