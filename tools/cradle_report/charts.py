"""All charts of a heap, or of two to be compared; here those that are not over time."""

import re
from math import ceil

from . import lanes, live_types, words
from .chart import Axis, Chart, Clock, Series, bytes_unit, rounded
from .measures import Utilisation
from .over_time import charts_over_time, target_levels

# Steps of the curve of percentiles in which the share of longer pauses falls to a tenth.
STEPS_A_TENTH = 40
WINDOWS_A_TENTH = 8
SHORTEST_WINDOW = 100_000
LONGEST_WINDOW = 10_000_000_000


def percentiles(clock, runs):
    series, furthest = [], 1
    for run in runs:
        lengths = sorted(pause.length for pause in run.heap.pauses if pause.length > 0)
        if not lengths:
            continue
        x = []
        while not x or x[-1] < len(lengths):
            x.append(min(10 ** (len(x) / STEPS_A_TENTH), len(lengths)))
        furthest = max(furthest, x[-1])
        # Of one pause in x, the others are no longer.
        y = [rounded(lengths[max(ceil(len(lengths) - len(lengths) / one), 1) - 1] / 1e3) for one in x[:-1]] + [
            rounded(lengths[-1] / 1e3)
        ]
        series.append(Series(run.label("pause"), run.colour(1), "line", [rounded(one) for one in x], y))
    notes = ["At 99 %, one pause of a hundred is longer."] if series else ["Not known: no pause is in this log."]
    if series:
        targets, _ = target_levels(clock, runs)
        for target in targets:
            target.x = [1, furthest]
        series += targets
    return Chart(
        "percentiles", "Pauses by percentile", Axis("percentile", scale="log"), Axis("time", scale="log"), series, notes
    )


def windows(wall):
    step = 0
    while (window := round(SHORTEST_WINDOW * 10 ** (step / WINDOWS_A_TENTH))) <= min(wall, LONGEST_WINDOW):
        yield window
        step += 1


def mmu(runs):
    series = []
    for run in runs:
        if run.heap.pauses:
            utilised = Utilisation(run.heap.pauses)
            points = [(window, utilised.at(window)) for window in windows(run.heap.wall)]
            if points:
                series.append(
                    Series(
                        run.label("utilisation"),
                        run.colour(1),
                        "line",
                        [rounded(window / 1e3) for window, _ in points],
                        [rounded(100 * share) for _, share in points],
                    )
                )
    notes = (
        ["In each window of this length, the program ran for at least this share of the time."]
        if series
        else ["Not known: no pause is in this log, or it is shorter than any window."]
    )
    return Chart("mmu", "Minimum mutator utilisation", Axis("time", scale="log"), Axis("number", "%"), series, notes)


def size_classes(runs):
    sizes = sorted({one.fields["object_bytes"] for run in runs for one in run.heap.spans})
    place = {size: index for index, size in enumerate(sizes)}
    unit, bytes_each = bytes_unit([one.fields["memory_bytes"] for run in runs for one in run.heap.spans])
    series = []
    for run in runs:
        spans = run.heap.spans
        if not spans:
            continue
        style = "bars" if len(runs) == 1 else "bars left" if run.tone == "a" else "bars right"
        x = [place[one.fields["object_bytes"]] for one in spans]
        memory, used = ([one.fields[key] for one in spans] for key in ("memory_bytes", "used_bytes"))
        waste = [
            f"{words.size(whole)}, {words.percent(max(whole - part, 0) / whole)} of it waste"
            for whole, part in zip(memory, used)
        ]
        series.append(
            Series(
                run.label("memory"), run.colour(3), style, x, [rounded(one / bytes_each) for one in memory], words=waste
            )
        )
        series.append(
            Series(
                run.label("in objects"),
                run.colour(1),
                style,
                x,
                [rounded(one / bytes_each) for one in used],
                words=[words.size(one) for one in used],
            )
        )
    notes = (
        ["After the last major collection, by the size of an object in bytes."]
        if series
        else ["Not known: this log has no size classes."]
    )
    return Chart(
        "classes",
        "Size classes",
        Axis("class", names=[str(size) for size in sizes]),
        Axis("number", unit),
        series,
        notes,
    )


def lives_of(heap):
    """The last survival curve of the log: from an age such as "2 MiB" to a percentage."""
    known = [str(one.fields["lives"]) for one in heap.nurseries if one.fields.get("lives")]
    pairs = re.findall(r"(\d{1,9} [KM]iB) (\d{1,3})\b", known[-1]) if known else []
    return {age: int(percentage) for age, percentage in pairs}


def age_bytes(age):
    number, unit = age.split()
    return int(number) << {"KiB": 10, "MiB": 20}[unit]


def lives(runs):
    curves = [(run, curve) for run in runs if (curve := lives_of(run.heap))]
    ages = sorted({age for _, curve in curves for age in curve}, key=age_bytes)
    series = []
    for run, curve in curves:
        style = "bars" if len(runs) == 1 else "bars left" if run.tone == "a" else "bars right"
        x = [place for place, age in enumerate(ages) if age in curve]
        series.append(Series(run.label("live"), run.colour(1), style, x, [curve[ages[place]] for place in x]))
    notes = (
        [
            "Of the objects that are at most this old and older than the bar before. An object's age is what the program "
            "has allocated since. The nursery's size follows from it; this is what was known when the size last changed."
        ]
        if series
        else ["Not known: the nursery's size did not change, or samples were too few."]
    )
    return Chart("lives", "Survival curve", Axis("class", "up to age", names=ages), Axis("number", "%"), series, notes)


def charts_of(runs):
    clock = Clock(runs)
    over_time = charts_over_time(clock, runs)
    threads = [chart] if (chart := lanes.chart(clock, runs)) is not None else []
    types = [chart for run in runs if (chart := live_types.chart(clock, run)) is not None]
    return [over_time[0], percentiles(clock, runs), *over_time[1:], *threads, *types, mmu(runs), lives(runs), size_classes(runs)]
