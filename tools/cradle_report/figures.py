"""The figures of a heap one by one, and how they changed from one log to another."""

from . import words
from .measures import ARENA_BYTES


def count(value):
    return str(value)


def share_of(parts):
    """(part, whole) pairs: the share of all parts; None where there is no whole."""
    whole = sum(whole for _, whole in parts)
    return sum(part for part, _ in parts) / whole if whole else None


def per_second(value, summary):
    return None if value is None else value * 1e9 / summary.wall


def figures(heap, summary):
    """(name, value or None, how it is written) of a heap."""
    paused = bool(heap.pauses)
    target = heap.pause_target_ns
    arenas = None if summary.arenas is None else summary.arenas * ARENA_BYTES
    measured = [one.fields for one in heap.arenas if one.fields.get("resident_bytes") and "huge_bytes" in one.fields]
    huge = share_of([(one["huge_bytes"], one["resident_bytes"]) for one in measured[-1:]])
    waste = share_of(
        [(one.fields["memory_bytes"] - one.fields["used_bytes"], one.fields["memory_bytes"]) for one in heap.spans]
    )
    yield "time", summary.wall, words.time
    yield "share in pauses", summary.gc_share if paused else None, words.percent
    yield "pauses", summary.pauses, count
    for name, value in (
        ("pause p50", summary.p50),
        ("pause p90", summary.p90),
        ("pause p99", summary.p99),
        ("pause p99.9", summary.p999),
        ("pause p99.99", summary.p9999),
        ("longest pause", summary.longest),
        ("mean pause", summary.pause_mean),
    ):
        yield name, value if paused else None, words.time
    yield "longest, processor time", summary.processor_longest, words.time
    yield "pause target", target, words.time
    yield "pauses above the target", sum(one.length > target for one in heap.pauses) if target else None, count
    for ms, value in summary.mmu.items():
        yield f"utilisation in {ms} ms", value if paused else None, words.percent
    yield "minor collections", summary.minors, count
    yield "major collections", summary.majors, count
    for name, key in (("second core", "beside_ns"), ("waits for it, p99.9", "beside_stop_p999_ns")):
        yield name, heap.ending.get(key, 0) if heap.ending else None, words.time
    yield "allocated", summary.allocated, words.size
    yield "allocated a second", per_second(summary.allocated, summary), words.size
    yield "promoted", summary.promoted, words.size
    yield "promoted a second", per_second(summary.promoted, summary), words.size
    yield "nursery that survived", summary.survival, words.percent
    yield "collections with helpers", summary.helped, count
    yield "promoted by helpers", summary.helped_share, words.percent
    for name, key in (("1,000 objects alone", "thousand_alone_ns"), ("1,000 objects with helpers", "thousand_helped_ns")):
        yield name, heap.ending.get(key), words.time
    yield "most memory used", summary.used_peak, words.size
    yield "live after the last major", summary.live, words.size
    yield "nursery", summary.nursery, words.size
    yield "arenas at most", arenas, words.size
    yield "arenas on huge pages", huge, words.percent
    yield "waste in size classes", waste, words.percent


def written(value, write):
    return words.NOT_KNOWN if value is None else write(value)


def change(first, second, write):
    """Text for how a figure changed: shares in points, everything else in percent of the first."""
    if first is None or second is None:
        return words.NOT_KNOWN
    if first == second:
        return "none"
    if write is words.percent:
        return f"{100 * (second - first):+.2f} points"
    if first == 0:
        return f"from {write(0)}"
    ratio = second / first
    return f"{ratio:.1f} times" if ratio >= 10 else f"{100 * (ratio - 1):+.1f} %"


def compared(first, second):
    """(name, in the first, in the second, the change) of two (heap, summary) pairs."""
    for (name, one, write), (_, two, _) in zip(figures(*first), figures(*second)):
        yield name, written(one, write), written(two, write), change(one, two, write)
