"""The figures of a log while it grows: of each heap so far, and of its last seconds."""

from collections import Counter, deque
from dataclasses import dataclass

from . import words
from .measures import MAJOR, MINOR, Allocation, quantile

SECOND = 1_000_000_000
RECENT_NS = 10 * SECOND
NOTES_KEPT = 5
# Lengths of pauses are kept with so many significant bits: 1 % exactly.
SIGNIFICANT_BITS = 7


class Lengths:
    """How long pauses were, in a bounded space."""

    def __init__(self):
        self.counts = Counter()  # by the greatest length that is kept as the same
        self.total = self.number = self.longest = 0

    def add(self, length):
        cut = max(length.bit_length() - SIGNIFICANT_BITS, 0)
        self.counts[((length >> cut) + 1 << cut) - 1] += 1
        self.total += length
        self.number += 1
        self.longest = max(self.longest, length)

    def quantile(self, share):
        """The smallest length that this share of the pauses does not exceed, at most 1/64 too long."""
        rank = max(-(-round(share * 10000) * self.number // 10000), 1)
        for length in sorted(self.counts):
            rank -= self.counts[length]
            if rank <= 0:
                return min(length, self.longest)
        return 0


@dataclass(slots=True)
class Step:
    """What a section adds to the figures."""

    time: int
    minors: int = 0
    majors: int = 0
    pause: int | None = None
    allocated: int = 0
    filled: int = 0
    promoted: int = 0


class Sums:
    """The sums over steps."""

    def __init__(self, steps=()):
        self.minors = self.majors = self.allocated = self.filled = self.promoted = 0
        for step in steps:
            self.add(step)

    def add(self, step):
        self.minors += step.minors
        self.majors += step.majors
        self.allocated += step.allocated
        self.filled += step.filled
        self.promoted += step.promoted


@dataclass
class Figures:
    """Of a heap in a span of time, in nanoseconds and bytes. None: not known."""

    wall: int
    sums: Sums
    pauses: int
    paused: int
    p50: int
    p99: int
    longest: int

    @property
    def allocation_rate(self):
        return self.sums.allocated * SECOND / self.wall if self.sums.allocated else None

    @property
    def promoted_share(self):
        return self.sums.promoted / self.sums.filled if self.sums.filled else None


class LiveHeap:
    def __init__(self, section):
        self.label = section.heap
        self.begin, self.end = section.begin, section.end
        self.sums = Sums()
        self.lengths = Lengths()
        self.allocation = Allocation()
        self.recent = deque()
        self.notes = deque(maxlen=NOTES_KEPT)  # (number, nanoseconds after the beginning, text)
        self.noted = 0
        self.nursery = self.live = self.used = None
        self.has_ended = False

    def add(self, section):
        self.begin, self.end = min(self.begin, section.begin), max(self.end, section.end)
        name, fields = section.name, section.fields
        step = None
        if name in MINOR:
            step = self._minor(section)
        elif name in MAJOR or name == "gc-collect-done":
            self.allocation.add(fields, None)
            if name == "gc-collect-done":
                step = Step(section.end, majors=1)
                self.live = fields.get("used_after_bytes", self.live)
        elif name == "gc-pause" and "time_ns" in fields:
            step = Step(section.end, pause=fields["time_ns"])
            self.lengths.add(step.pause)
        elif name == "gc-set-nursery-size":
            self.nursery = fields.get("nursery_bytes", self.nursery)
        elif name == "gc-note" and "text" in fields:
            self.noted += 1
            self.notes.append((self.noted, section.end - self.begin, str(fields["text"])))
        elif name == "gc-heap-end":
            self.has_ended = True
        self.used = fields.get("used_after_bytes", self.used)
        if step is not None:
            self.sums.add(step)
            self.recent.append(step)
        while self.recent and self.recent[0].time <= self.end - RECENT_NS:
            self.recent.popleft()

    def _minor(self, section):
        fields = section.fields
        filled = fields.get("nursery_used_bytes", self.nursery or 0)
        return Step(section.end, minors=1, allocated=self.allocation.add(fields, filled), filled=filled,
                    promoted=fields.get("promoted_bytes", 0))

    @property
    def wall(self):
        return max(self.end - self.begin, 1)

    def so_far(self):
        lengths = self.lengths
        return Figures(self.wall, self.sums, lengths.number, lengths.total, lengths.quantile(0.5), lengths.quantile(0.99),
                       lengths.longest)

    def lately(self):
        """Of the last RECENT_NS before the last section."""
        pauses = sorted(step.pause for step in self.recent if step.pause is not None)
        return Figures(min(self.wall, RECENT_NS), Sums(self.recent), len(pauses), sum(pauses), quantile(pauses, 0.5),
                       quantile(pauses, 0.99), pauses[-1] if pauses else 0)


def known(value, write):
    return words.NOT_KNOWN if value is None else write(value)


def rate(value):
    return f"{words.size(value)}/s"


def columns(figures):
    """A column of figures, for all the time so far or for the last seconds: pairs of a name and a value."""
    sums, paused = figures.sums, figures.pauses > 0
    yield "minor, major collections", f"{sums.minors}, {sums.majors}"
    yield "pauses", str(figures.pauses)
    yield "pause p50", words.time(figures.p50) if paused else words.NOT_KNOWN
    yield "pause p99", words.time(figures.p99) if paused else words.NOT_KNOWN
    yield "longest pause", words.time(figures.longest) if paused else words.NOT_KNOWN
    yield "share of time in pauses", words.percent(figures.paused / figures.wall) if paused else words.NOT_KNOWN
    yield "allocation", known(figures.allocation_rate, rate)
    yield "promoted of the nursery", words.percent(figures.promoted_share)


def memory(heap):
    """The figures that hold at this moment: pairs of a name and a value."""
    yield "live after the last major", words.size(heap.live)
    yield "memory used", words.size(heap.used)
    yield "nursery", words.size(heap.nursery)


def line(heap):
    """A heap in one line."""
    so_far, lately = heap.so_far(), heap.lately()
    told = [words.time(heap.wall), f"{so_far.sums.minors} minor, {so_far.sums.majors} major"]
    if so_far.pauses:
        told.append("pause p50 {}, p99 {}, max {}".format(*map(words.time, (so_far.p50, so_far.p99, so_far.longest))))
        if lately.pauses:
            told.append("last 10 s: {}, {}, {}".format(*map(words.time, (lately.p50, lately.p99, lately.longest))))
    told.append(f"allocation {known(lately.allocation_rate, rate)}")
    told.append(f"promoted {words.percent(lately.promoted_share)}")
    told.append(f"live {words.size(heap.live)}")
    told.append(f"nursery {words.size(heap.nursery)}")
    return (f"{heap.label}  " if heap.label else "") + "; ".join(told)
