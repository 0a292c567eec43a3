"""The charts over time: pauses, memory, rates, nursery, huge pages, major collections."""

from collections import Counter

from cradle_show import shown

from . import words
from .chart import SECOND, Axis, Chart, Series, bytes_unit, rounded
from .measures import MAJOR, allocated_at, nursery_at
from .thinning import PARTS, joined_items, sums_between, thinned

# Rates are sums over at least such a part of the time.
RATE_PARTS = 400


class Thinner:
    """Thins the points of a chart and adds a note about it."""

    def __init__(self, what):
        self.what = what
        self.notes = []

    def points(self, run, points, what=None):
        kept = thinned(points, run.heap.begin, run.heap.wall)
        if len(kept) < len(points):
            self.notes.append(
                run.sentence(
                    f"of {len(points)} {what or self.what}, the lowest and the highest of each of {PARTS} parts of the "
                    "time are drawn."
                )
            )
        return kept


def target_levels(clock, runs):
    """The lines of the pause targets, or a sentence if the log names none."""
    series, notes = [], []
    for run in runs:
        target = run.heap.pause_target_ns
        if target:
            series.append(clock.level(run, "target", "target" if run.tone == "a" else "target2", target / 1e3))
        else:
            notes.append(
                run.sentence("the pause target is not known." if target is None else "there is no pause target.")
            )
    return series, notes


def pauses(clock, runs):
    thinner, series = Thinner("pauses"), []
    for run in runs:
        for label, style, shade, wanted in (
            ("minor", "points", 2, False),
            ("with a major collection's part", "big points", 1, True),
        ):
            chosen = [
                (one.begin, one.length)
                for one in run.heap.pauses
                if one.length > 0 and any(kind in MAJOR for kind in one.kinds) == wanted
            ]
            kept = thinner.points(
                run, chosen, f"pauses {'with a major collection' if wanted else 'of minor collections'}"
            )
            if kept:
                series.append(
                    Series(
                        run.label(label),
                        run.colour(shade),
                        style,
                        [clock.at(run, time) for time, _ in kept],
                        [rounded(length / 1e3) for _, length in kept],
                    )
                )
    if not series:
        return Chart(
            "pauses", "Pauses", clock.axis, Axis("time", scale="log"), [], ["Not known: no pause is in this log."], True
        )
    targets, notes = target_levels(clock, runs)
    for run in runs:
        if run.heap.pauses:
            for name, value in (("p50", run.summary.p50), ("p99", run.summary.p99)):
                if value:
                    series.append(clock.level(run, name, run.colour(5), value / 1e3))
    return Chart(
        "pauses", "Pauses", clock.axis, Axis("time", scale="log"), series + targets, notes + thinner.notes, True
    )


def steps_with(heap, key):
    return [
        (one.end, one.fields[key])
        for one in sorted(heap.minors + heap.done, key=lambda one: one.end)
        if key in one.fields
    ]


def memory(clock, runs):
    curves = [("before", "line", 2, "used_before_bytes"), ("after", "line", 1, "used_after_bytes")]
    found = [(run, *curve, steps_with(run.heap, curve[-1])) for run in runs for curve in curves]
    found += [(run, "threshold", "step", 3, None, thresholds(run.heap)) for run in runs]
    unit, bytes_each = bytes_unit([value for *_, points in found for _, value in points])
    thinner, series = Thinner("collections"), []
    for run, label, style, shade, _, points in found:
        kept = thinner.points(run, points)
        if kept:
            series.append(
                Series(
                    run.label(label),
                    run.colour(shade),
                    style,
                    [clock.at(run, time) for time, _ in kept],
                    [rounded(value / bytes_each) for _, value in kept],
                    dashed=style == "step",
                )
            )
    notes = (
        list(dict.fromkeys(thinner.notes))
        if series
        else ["Not known: no collection in this log says what memory was used."]
    )
    return Chart("memory", "Memory before and after collections", clock.axis, Axis("number", unit), series, notes, True)


def thresholds(heap):
    """When major collections became due."""
    told = [one for one in heap.majors + heap.done if "threshold_bytes" in one.fields]
    return sorted((one.end, one.fields["threshold_bytes"]) for one in told)


def rate_chart(clock, name, title, found):
    """found: (run, label, shade, events); an event is (time, bytes since the one before)."""
    sums = [
        (
            run,
            label,
            shade,
            sums_between([(time, (value,)) for time, value in events], run.heap.begin, run.heap.wall, RATE_PARTS),
        )
        for run, label, shade, events in found
    ]
    rates = [
        (run, label, shade, [(begin, end, part[0] * SECOND / (end - begin)) for begin, end, part in intervals])
        for run, label, shade, intervals in sums
    ]
    unit, bytes_each = bytes_unit([rate for *_, intervals in rates for *_, rate in intervals])
    series = [
        Series(run.label(label), run.colour(shade), "interval", *interval_points(clock, run, intervals, bytes_each))
        for run, label, shade, intervals in rates
        if intervals
    ]
    notes = (
        ["Each value is the mean since the previous collection."] if series else ["Not known: this log does not say it."]
    )
    return Chart(name, title, clock.axis, Axis("number", f"{unit}/s"), series, notes, True)


def interval_points(clock, run, intervals, scale):
    x, y = [clock.at(run, intervals[0][0])], [rounded(intervals[0][2] / scale)]
    for _, end, value in intervals:
        x.append(clock.at(run, end))
        y.append(rounded(value / scale))
    return x, y


def allocation(clock, runs):
    found = []
    for run in runs:
        amounts = zip(run.heap.minors, nursery_at(run.heap), allocated_at(run.heap))
        found.append(
            (
                run,
                "allocated",
                1,
                [(minor.end, amount) for minor, size, amount in amounts if size or "used_before_bytes" in minor.fields],
            )
        )
    return rate_chart(clock, "allocation", "Allocation rate", found)


def promotion(clock, runs):
    found = [
        (
            run,
            "promoted",
            1,
            [
                (minor.end, minor.fields["promoted_bytes"])
                for minor in run.heap.minors
                if "promoted_bytes" in minor.fields
            ],
        )
        for run in runs
    ]
    return rate_chart(clock, "promotion", "Promotion rate", found)


def survival(clock, runs):
    series = []
    for run in runs:
        heap = run.heap
        events = [
            (minor.end, (minor.fields["promoted_bytes"], size))
            for minor, size in zip(heap.minors, nursery_at(heap))
            if size and "promoted_bytes" in minor.fields
        ]
        intervals = [
            (begin, end, 100 * part / whole)
            for begin, end, (part, whole) in sums_between(events, heap.begin, heap.wall, RATE_PARTS)
        ]
        if intervals:
            series.append(
                Series(run.label("survived"), run.colour(1), "interval", *interval_points(clock, run, intervals, 1))
            )
    notes = [] if series else ["Not known: this log does not say how much of the nursery survived."]
    return Chart("survival", "Share of the nursery that survived", clock.axis, Axis("number", "%"), series, notes, True)


def nursery(clock, runs):
    series, notes = [], []
    unit, bytes_each = bytes_unit([one.fields.get("nursery_bytes", 0) for run in runs for one in run.heap.nurseries])
    for run in runs:
        changes = [one for one in run.heap.nurseries if "nursery_bytes" in one.fields]
        kept = changes[:: -(-len(changes) // (2 * PARTS))] if changes else []
        if not kept:
            continue
        sizes = [rounded(one.fields["nursery_bytes"] / bytes_each) for one in kept]
        reasons = [shown(one.fields.get("reason", "reason not known")) for one in kept]
        x = [clock.at(run, one.end) for one in kept] + [clock.at(run, run.heap.end)]
        said = [f"{words.size(one.fields['nursery_bytes'])}, {reason}" for one, reason in zip(kept, reasons)]
        series.append(
            Series(run.label("nursery"), run.colour(1), "step", x, [*sizes, sizes[-1]], words=[*said, said[-1]])
        )
        counts = Counter(shown(one.fields.get("reason", "reason not known")) for one in changes)
        told = [f"{count} × {reason}" for reason, count in counts.most_common(8)]
        notes.append(run.sentence(f"reasons: {', '.join(told)}{', and others' if len(counts) > 8 else ''}."))
        if len(kept) < len(changes):
            notes.append(run.sentence(f"of {len(changes)} changes, each {-(-len(changes) // (2 * PARTS))}th is drawn."))
    return Chart(
        "nursery",
        "Nursery size and why it changed",
        clock.axis,
        Axis("number", unit),
        series,
        notes or ["Not known: this log has no size of the nursery."],
        True,
    )


def huge_pages(clock, runs):
    curves = (("resident", 2, "resident_bytes"), ("on huge pages", 1, "huge_bytes"))
    found = [
        (
            run,
            label,
            shade,
            [(one.end, one.fields[key]) for one in run.heap.arenas if "huge_bytes" in one.fields and key in one.fields],
        )
        for run in runs
        for label, shade, key in curves
    ]
    unit, bytes_each = bytes_unit([value for *_, points in found for _, value in points])
    thinner, series = Thinner("measurements"), []
    for run, label, shade, points in found:
        kept = thinner.points(run, points)
        if kept:
            series.append(
                Series(
                    run.label(label),
                    run.colour(shade),
                    "line",
                    [clock.at(run, time) for time, _ in kept],
                    [rounded(value / bytes_each) for _, value in kept],
                )
            )
    notes = (
        list(dict.fromkeys(thinner.notes)) if series else ["Not known: this log does not say what is on huge pages."]
    )
    return Chart(
        "huge-pages", "Arenas: resident, and on huge pages", clock.axis, Axis("number", unit), series, notes, True
    )


STEP_KINDS = {"gc-collect-compact": "compacting"}
STEP_COLOURS = {"marking": 1, "sweeping": 2, "compacting": 3}


def cycles(heap):
    """(begin, end, cause, ...) of each major collection, from its beginning to its completion."""
    items, begun = [], None
    for one in sorted([one for one in heap.majors if one.name == "gc-collect"] + heap.done, key=lambda one: one.end):
        if one.name == "gc-collect":
            begun = one
        elif begun is not None:
            items.append(
                (begun.begin, one.end, str(begun.fields.get("cause", "cause not known")), 1, one.end - begun.begin)
            )
            begun = None
    if begun is not None:  # the log ended first
        items.append((begun.begin, heap.end, "not complete in this log", 1, heap.end - begun.begin))
    return items


def increments(heap):
    parts = sorted((one for one in heap.majors if one.end > one.begin), key=lambda one: one.begin)
    return [
        (
            one.begin,
            one.end,
            STEP_KINDS.get(one.name) or str(one.fields.get("from", "increment")).lower(),
            1,
            one.end - one.begin,
        )
        for one in parts
    ]


def lane(clock, run, label, place, items, shade_of):
    items = joined_items(items, run.heap.wall)
    said = [
        (
            f"{shown(kind)}, {words.time(longest)}"
            if count == 1
            else f"{count} in {words.time(end - begin)}, the longest {shown(kind)}, {words.time(longest)}"
        )
        for begin, end, kind, count, longest in items
    ]
    return Series(
        run.label(label),
        run.colour(shade_of(items[0][2])),
        "lane",
        [clock.at(run, one[0]) for one in items],
        [place] * len(items),
        words=said,
        ends=[clock.at(run, one[1]) for one in items],
        colours=[run.colour(shade_of(one[2])) for one in items],
    )


def lanes(clock, found):
    """The series of (run, label, items, shade of a kind), the first on top, and the names of their places."""
    found = [one for one in found if one[2]][::-1]
    series = [
        lane(clock, run, label, place, items, shade_of) for place, (run, label, items, shade_of) in enumerate(found)
    ][::-1]
    return series, [run.label(label) for run, label, *_ in found]


def major_collections(clock, runs):
    """A lane for each activity that may overlap with the others. Another lane is another row here."""
    found = []
    for run in runs:
        found.append((run, "collection", cycles(run.heap), lambda kind: 4))
        found.append((run, "increments", increments(run.heap), lambda kind: STEP_COLOURS.get(kind, 1)))
    series, names = lanes(clock, found)
    notes = (
        ["In an increment the program stands still. Dark is marking, light is sweeping, pale is compacting."]
        if series
        else ["No major collection is in this log."]
    )
    return Chart("majors", "Major collections", clock.axis, Axis("class", names=names), series, notes, True)


def charts_over_time(clock, runs):
    return [
        draw(clock, runs)
        for draw in (pauses, memory, allocation, promotion, survival, nursery, major_collections, huge_pages)
    ]
