"""Computes figures from sections: pauses, utilisation, memory, rates."""

import statistics
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from itertools import accumulate

MINOR = ("gc-minor",)
MAJOR = ("gc-collect", "gc-collect-step", "gc-collect-compact")
PAUSING = MINOR + MAJOR
# In a log without pauses, sections that follow each other this closely count as one pause.
JOIN_NS = 50_000
ARENA_BYTES = 2 << 20


@dataclass(slots=True)
class Pause:
    begin: int
    end: int
    kinds: list
    processor: int | None = None  # nanoseconds that the thread ran; None: not known
    preemptions: int | None = None  # how often the system ran something else; None: not asked or not known

    @property
    def length(self):
        return self.end - self.begin

    @property
    def missing(self):
        """Nanoseconds in which the thread did not run; 0 if that is not known."""
        return 0 if self.processor is None else max(self.length - self.processor, 0)

    @property
    def is_interrupted(self):
        """Whether the system ran something else for a good part of the pause."""
        return bool(self.preemptions) and 4 * self.missing >= self.length


@dataclass
class Heap:
    label: str
    begin: int
    end: int
    minors: list = field(default_factory=list)
    majors: list = field(default_factory=list)
    done: list = field(default_factory=list)
    stops: list = field(default_factory=list)  # pauses that name a mutator: who collected, or who was waited for last
    beside: list = field(default_factory=list)  # what the second core did from one pause to the next
    nurseries: list = field(default_factory=list)
    arenas: list = field(default_factory=list)
    spans: list = field(default_factory=list)  # the size classes after the last major collection
    types: list = field(default_factory=list)  # live objects by type: rows of all major collections
    notes: Counter = field(default_factory=Counter)
    ending: dict = field(default_factory=dict)
    pause_target_ns: int | None = None  # 0: there is none
    hardware: dict = field(default_factory=dict)
    pauses: list = field(default_factory=list)

    @property
    def wall(self):
        return max(self.end - self.begin, 1)


def joins(section, last):
    if section.name in MAJOR:
        return section.begin - last.end <= JOIN_NS
    before_major = section.fields.get("cause") == "before a major collection"
    return before_major and section.begin - last.end <= JOIN_NS


def told_pauses(told, sections):
    """The pauses that the log reports, with the sections inside each."""
    pauses = []
    for one in told:
        begin = max(one.end - one.fields["time_ns"], pauses[-1].end if pauses else 0)
        ran = one.fields.get("processor_ns")
        # The clock is read between the readings of the processor time, so a pause may seem to have run for longer than it took.
        pauses.append(Pause(begin, one.end, [], None if ran is None else min(ran, one.end - begin), one.fields.get("preemptions")))
    position = 0
    for section in sorted(sections, key=lambda one: one.end):
        while position < len(pauses) and pauses[position].end < section.end:
            position += 1
        if position < len(pauses):
            pauses[position].kinds.append(section.name)
    return pauses


def joined_pauses(sections):
    """The pauses of a log that does not report pauses, such as PyPy's."""
    pauses = []
    for section in sorted(sections, key=lambda one: one.begin):
        if pauses and joins(section, pauses[-1]):
            pauses[-1].end = max(pauses[-1].end, section.end)
            pauses[-1].kinds.append(section.name)
        else:
            pauses.append(Pause(section.begin, section.end, [section.name]))
    return pauses


def add_class(heap, section):
    """Classes are logged smallest first, so a smaller class starts the next collection's list."""
    size = section.fields.get("object_bytes", 0)
    if heap.spans and size <= heap.spans[-1].fields["object_bytes"]:
        heap.spans.clear()
    if size and section.fields.get("memory_bytes") and "used_bytes" in section.fields:
        heap.spans.append(section)


def heaps_of(log):
    """The heaps in a log, the one with most time in collections first."""
    heaps = {}
    pausing, told = {}, {}
    for section in log.sections:
        heap = heaps.get(section.heap)
        if heap is None:
            heap = heaps[section.heap] = Heap(section.heap, section.begin, section.end)
            pausing[section.heap], told[section.heap] = [], []
        heap.begin = min(heap.begin, section.begin)
        heap.end = max(heap.end, section.end)
        name = section.name
        if name in MINOR:
            heap.minors.append(section)
        elif name in MAJOR:
            heap.majors.append(section)
        elif name == "gc-collect-done":
            heap.done.append(section)
        elif name == "gc-beside":
            if "run_ns" in section.fields:
                heap.beside.append(section)
        elif name == "gc-pause":
            if "time_ns" in section.fields:
                told[section.heap].append(section)
            if "last" in section.fields or "mutator" in section.fields:
                heap.stops.append(section)
        elif name == "gc-set-nursery-size":
            heap.nurseries.append(section)
        elif name == "gc-arena":
            heap.arenas.append(section)
        elif name == "gc-spans":
            add_class(heap, section)
        elif name == "gc-types":
            if "live_bytes" in section.fields:
                heap.types.append(section)
        elif name == "gc-note":
            heap.notes.update(str(text) for text in [section.fields.get("text")] if text is not None)
        elif name == "gc-hardware":
            heap.pause_target_ns = section.fields.get("pause_target_ns")
            heap.hardware = section.fields
        elif name == "gc-heap-end":
            heap.ending = section.fields
        if name in PAUSING and section.inside is None:
            pausing[section.heap].append(section)
    for label, heap in heaps.items():
        heap.pauses = told_pauses(told[label], pausing[label]) if told[label] else joined_pauses(pausing[label])
    return sorted(heaps.values(), key=lambda heap: -sum(pause.length for pause in heap.pauses))


def quantile(ordered, share):
    """The smallest value that this share of the sorted values does not exceed."""
    if not ordered:
        return 0
    rank = -(-round(share * 10000) * len(ordered) // 10000)
    return ordered[max(rank, 1) - 1]


class Utilisation:
    """Minimum mutator utilisation of pauses in the order of time."""

    def __init__(self, pauses):
        self.begins = [pause.begin for pause in pauses]
        self.ends = [pause.end for pause in pauses]
        self.busy = [0, *accumulate(pause.length for pause in pauses)]  # before each pause, and after all
        self.longest = max((pause.length for pause in pauses), default=0)

    def at(self, window):
        """The least share of any window of this length in which the program ran. The worst window ends with a pause."""
        if self.longest >= window:
            return 0.0
        worst = 0
        # The block in which a window could hold most comes first, so that most blocks are never looked at.
        for most, first, low, high in sorted(self.blocks(window), reverse=True):
            if most <= worst:
                break
            for last in range(low, high):
                start = self.ends[last] - window
                while self.ends[first] <= start:
                    first += 1
                cut = max(0, start - self.begins[first])
                worst = max(worst, self.busy[last + 1] - self.busy[first] - cut)
        return 1 - min(worst, window) / window

    def blocks(self, window):
        """(bound on what is busy, first pause in reach, first pause, pause behind) of each block."""
        count = len(self.ends)
        apart = (self.ends[-1] - self.begins[0]) / count if count else 1
        size = min(max(int(window / max(apart, 1) / 2), 4), 256)
        for low in range(0, count, size):
            high = min(low + size, count)
            first = bisect_right(self.ends, self.ends[low] - window)
            yield self.busy[high] - self.busy[first], first, low, high


def nursery_at(heap):
    """For each minor collection the bytes that it found in the nursery, if the log has them."""
    sizes = sorted((one.end, one.fields.get("nursery_bytes", 0)) for one in heap.nurseries)
    size, next_size, filled = 0, 0, []
    for minor in heap.minors:
        while next_size < len(sizes) and sizes[next_size][0] <= minor.begin:
            size = sizes[next_size][1]
            next_size += 1
        filled.append(minor.fields.get("nursery_used_bytes", size))
    return filled


class Allocation:
    """Allocated bytes from the memory used before and after collections, which are added in the order of time."""

    def __init__(self):
        self.after = 0  # used after the last one

    def add(self, fields, filled):
        """The bytes allocated since the collection before, large objects included. filled: what a minor collection found in the
        nursery; None for parts of a major collection, of which the result is None, too."""
        self.after = max(0, self.after - fields.get("freed_bytes", 0))
        allocated = None
        if filled is not None:
            grown = fields["used_before_bytes"] - self.after if "used_before_bytes" in fields else 0
            allocated = max(filled, grown)
        self.after = fields.get("used_after_bytes", self.after)
        return allocated


def allocated_at(heap):
    """For each minor collection the bytes allocated since the collection before, large objects included."""
    steps = sorted([(minor.end, minor.fields, size) for minor, size in zip(heap.minors, nursery_at(heap))] +
                   [(other.end, other.fields, None) for other in heap.majors + heap.done], key=lambda step: step[0])
    allocation = Allocation()
    added = [allocation.add(fields, size) for _, fields, size in steps]
    return [one for one in added if one is not None]


@dataclass
class Summary:
    """The figures of a heap, in nanoseconds and bytes."""

    wall: int
    pauses: int
    pause_total: int
    p50: int
    p90: int
    p99: int
    p999: int
    p9999: int
    longest: int
    processor_p99: int | None  # of the pauses, in processor time; None: not known
    processor_longest: int | None
    processor_total: int | None  # None: not known of each pause
    interrupted: int
    pause_mean: float
    mmu: dict
    minors: int
    majors: int
    causes: Counter
    major_causes: Counter
    helped: int | None  # minor collections with helpers; None: not in the log, or there were no threads for it
    helped_bytes: int  # that helpers promoted
    helped_ns: int  # for which they worked
    alone: Counter  # why the others had none
    allocated: int | None  # None: not in the log
    filled: int | None
    promoted: int | None
    promoted_objects: int | None
    used_peak: int | None
    live: int | None
    nursery: int | None
    arenas: int | None

    @property
    def gc_share(self):
        return self.pause_total / self.wall

    @property
    def survival(self):
        return self.promoted / self.filled if self.filled and self.promoted is not None else None

    @property
    def helped_share(self):
        return None if self.helped is None or not self.promoted else self.helped_bytes / self.promoted


def told_sum(sections, key, ending):
    """The sum over the sections, or else what the heap's end says; None if the log says neither."""
    values = [section.fields[key] for section in sections if key in section.fields]
    return sum(values) if values else ending.get(key)


def collections_with_helpers(heap):
    """None if there were no threads that could help, or the log does not say."""
    told = [minor.fields.get("helpers", 0) for minor in heap.minors if "helpers" in minor.fields or "alone" in minor.fields]
    return sum(one > 0 for one in told) if told else heap.ending.get("helped_collections")


def summary_of(heap):
    lengths = sorted(pause.length for pause in heap.pauses)
    used = [one.fields[key] for one in heap.minors + heap.done for key in ("used_before_bytes", "used_after_bytes")
            if key in one.fields]
    nursery_known = bool(heap.minors) and (any("nursery_bytes" in one.fields for one in heap.nurseries)
                                           or any("nursery_used_bytes" in one.fields for one in heap.minors))
    grows = any("used_before_bytes" in one.fields for one in heap.minors)
    majors = heap.done if heap.done else heap.majors
    utilised = Utilisation(heap.pauses)
    ran = sorted(pause.processor for pause in heap.pauses if pause.processor is not None)
    return Summary(
        wall=heap.wall,
        pauses=len(lengths),
        pause_total=sum(lengths),
        p50=quantile(lengths, 0.5),
        p90=quantile(lengths, 0.9),
        p99=quantile(lengths, 0.99),
        p999=quantile(lengths, 0.999),
        p9999=quantile(lengths, 0.9999),
        longest=lengths[-1] if lengths else 0,
        processor_p99=quantile(ran, 0.99) if ran else None,
        processor_longest=ran[-1] if ran else None,
        processor_total=sum(ran) if ran and len(ran) == len(lengths) else None,
        interrupted=sum(pause.is_interrupted for pause in heap.pauses),
        pause_mean=statistics.fmean(lengths) if lengths else 0,
        mmu={ms: utilised.at(ms * 1_000_000) for ms in (1, 10, 100)},
        minors=len(heap.minors),
        majors=len(majors),
        causes=Counter(str(one.fields["cause"]) for one in heap.minors if "cause" in one.fields),
        major_causes=Counter(str(one.fields["cause"]) for one in majors if "cause" in one.fields),
        helped=collections_with_helpers(heap),
        helped_bytes=told_sum(heap.minors, "helped_bytes", heap.ending) or 0,
        helped_ns=told_sum(heap.minors, "helped_ns", heap.ending) or 0,
        alone=Counter(str(one.fields["alone"]) for one in heap.minors if "alone" in one.fields),
        allocated=sum(allocated_at(heap)) if nursery_known or grows else heap.ending.get("allocated_bytes"),
        filled=sum(nursery_at(heap)) if nursery_known else None,
        promoted=told_sum(heap.minors, "promoted_bytes", heap.ending),
        promoted_objects=told_sum(heap.minors, "promoted_objects", heap.ending),
        used_peak=max(used, default=None),
        live=heap.done[-1].fields.get("used_after_bytes") if heap.done else None,
        nursery=heap.nurseries[-1].fields.get("nursery_bytes") if heap.nurseries else None,
        arenas=max((one.fields["committed"] for one in heap.arenas if "committed" in one.fields), default=None),
    )
