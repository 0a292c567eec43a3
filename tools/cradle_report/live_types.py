"""Live objects by type over time, as the sections gc-types have them: a table, and a stacked chart."""

from collections import Counter

from cradle_show import shown

from . import words
from .chart import Axis, Chart, Series, bytes_unit, rounded

ROWS_SHOWN = 20
AREAS = 9  # types in the chart, besides the rest
COLLECTIONS_DRAWN = 1000
# A type that never has this share of the live bytes is not named.
LEAST_SHARE = 1 / 1000
REST = "(rest)"  # what the log calls the sum of the types that have no row
OTHERS = "other types"


def name_of(fields):
    if "type_name" in fields:
        return shown(fields["type_name"])
    return f"type {fields.get('type', '?')}"


class LiveTypes:
    """Of a heap. Counts: a list, for each major collection one Counter from a type's name to a pair of figures."""

    def __init__(self, heap):
        self.times, self.bytes, self.objects = [], [], []
        last = None
        for section in heap.types:
            if not self.times or section.fields.get("collection") != last:
                last = section.fields.get("collection")
                self.times.append(section.end)
                self.bytes.append(Counter())
                self.objects.append(Counter())
            name = name_of(section.fields)
            self.bytes[-1][name] += section.fields["live_bytes"]
            self.objects[-1][name] += section.fields.get("live_objects", 0)
        self.peaks = Counter()
        for counts in self.bytes:
            for name, value in counts.items():
                self.peaks[name] = max(self.peaks[name], value)

    def names(self):
        """Of the types that had a row of their own and were not tiny, the one that was largest first."""
        least = LEAST_SHARE * max((counts.total() for counts in self.bytes), default=0)
        return [name for name, peak in self.peaks.most_common() if name != REST and peak >= least]

    def rest(self, names):
        """The bytes of all other types, after each major collection."""
        return [counts.total() - sum(counts[name] for name in names) for counts in self.bytes]


def table(heap):
    """(name, bytes after the first major collection, after the last, at most, objects after the last) of each type, in words."""
    types = LiveTypes(heap)
    names = types.names()[:ROWS_SHOWN]
    for name in names:
        # A type that has no row is among the others.
        told = [words.size(counts[name]) if name in counts else "-" for counts in (types.bytes[0], types.bytes[-1])]
        yield name, *told, words.size(types.peaks[name]), str(types.objects[-1].get(name, "-"))
    rest = types.rest(names)
    if any(rest):
        yield OTHERS, words.size(rest[0]), words.size(rest[-1]), words.size(max(rest)), "-"


def chart(clock, run):
    """Areas on top of each other, the largest type at the bottom; None if the log has no such section."""
    types = LiveTypes(run.heap)
    if not types.times:
        return None
    step = -(-len(types.times) // COLLECTIONS_DRAWN)
    kept = sorted({*range(0, len(types.times), step), len(types.times) - 1})
    names = types.names()[:AREAS]
    unit, bytes_each = bytes_unit([types.bytes[i].total() for i in kept])
    x = [clock.at(run, types.times[i]) for i in kept]
    if len(kept) == 1:  # drawn to the log's end, for a point has no area
        kept, x = kept * 2, [*x, clock.at(run, run.heap.end)]
    curves = [(name, f"s{place}", [counts[name] for counts in types.bytes]) for place, name in enumerate(names, 1)]
    curves.append((OTHERS, f"s{AREAS + 1}", types.rest(names)))
    below, series = [0] * len(kept), []
    for name, colour, curve in curves:
        values = [curve[i] for i in kept]
        if not any(values):
            continue
        below = [low + value for low, value in zip(below, values)]
        objects = [f", {words.counted(types.objects[i][name], 'object')}" if types.objects[i][name] else "" for i in kept]
        series.append(Series(name, colour, "area", x, [rounded(value / bytes_each) for value in below],
                             words=[words.size(value) + told for value, told in zip(values, objects)]))
    notes = ["What major collections found alive, without the nursery."]
    if step > 1:
        notes.append(f"Of {len(types.times)} major collections, each {step}th is drawn.")
    title = "Live memory by type" + (f": {run.name}" if run.name else "")
    # The highest is drawn first, so that those below it cover the rest of it.
    return Chart("types" if run.tone == "a" else "types-second", title, clock.axis, Axis("number", unit), series[::-1], notes, True)
