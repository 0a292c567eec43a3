"""Lanes for mutators and for helpers, as far as the log names them.

A pause names the mutator that collected and the one that came last to the stop. Helpers are the collector's threads and, in a pause, those
of mutators that wait. Of them the log has sums: how many worked at once, and for how long in all. So each gets the mean, and is idle
otherwise.
"""

from collections import defaultdict

from . import words
from .chart import Axis, Chart
from .over_time import lanes

SHADES = {"stands": 3, "collects": 1, "time to stop": 2, "marks": 1, "copies": 5}


def shade_of(kind):
    return next((shade for word, shade in SHADES.items() if kind.startswith(word)), 1)


def item(begin, end, kind):
    return begin, end, kind, 1, end - begin


def program(heap):
    return [item(pause.begin, pause.end, "stands") for pause in heap.pauses]


def mutators(heap):
    """For each mutator that a pause names: when it collected, and its time to stop when it came last."""
    found = defaultdict(list)
    for one in sorted(heap.stops, key=lambda one: one.end):
        begin = one.end - one.fields.get("time_ns", 0)
        if "last" in one.fields:
            found[str(one.fields["last"])].append(item(begin - one.fields.get("stop_ns", 0), begin, "time to stop"))
        if "mutator" in one.fields:
            found[str(one.fields["mutator"])].append(item(begin, one.end, f"collects: {one.fields.get('cause', 'cause not known')}"))
    return found


def helpers(heap):
    """For each helper: marking until the pause that stopped it, and copying from a minor collection's beginning on."""
    found = defaultdict(list)
    last = heap.begin
    for one in sorted(heap.beside, key=lambda one: one.end):
        count = max(one.fields.get("markers", 1), 1)
        length = min(round(one.fields["run_ns"] / count), one.end - last)
        for place in range(1, count + 1):
            found[place].append(item(one.end - length, one.end, f"marks, {words.counted(count, 'thread')}"))
        last = one.end
    for one in heap.minors:
        count = one.fields.get("helpers", 0)
        length = min(round(one.fields.get("helped_ns", 0) / count), one.end - one.begin) if count else 0
        for place in range(1, count + 1):
            found[place].append(item(one.begin, one.begin + length, f"copies, {words.counted(count, 'thread')}"))
    return {place: sorted(items) for place, items in sorted(found.items())}


def chart(clock, runs):
    """None if the log names no mutator, and nobody helped."""
    found, named, helped = [], False, False
    for run in runs:
        of_mutators, of_helpers = sorted(mutators(run.heap).items()), helpers(run.heap)
        if not of_mutators and not of_helpers:
            continue
        named, helped = named or bool(of_mutators), helped or bool(of_helpers)
        found.append((run, "program stands", program(run.heap), shade_of))
        found += [(run, name, items, shade_of) for name, items in of_mutators]
        found += [(run, f"helper {place}", items, shade_of) for place, items in of_helpers.items()]
    if not found:
        return None
    series, names = lanes(clock, found)
    notes = ["While the program stands, no mutator runs."]
    if named:
        notes.append("A mutator has a lane once it has collected or has come last to a stop; its time to stop is before the pause.")
    if helped:
        notes.append("Helpers, which are the collector's threads and in pauses also those of the program, mark and copy. Each is drawn for the "
                     "mean of their times.")
    return Chart("threads", "Mutators and helpers", clock.axis, Axis("class", names=names), series, notes, True)
