"""What a chart is made of. page_parts/charts.js draws it."""

from dataclasses import dataclass, field

SECOND = 1_000_000_000


@dataclass
class Axis:
    # "number" with a unit, "time" in microseconds, "percentile" as 1 / (1 - share), or "class", an index into names
    quantity: str
    unit: str = ""
    scale: str = "linear"  # or "log"
    names: list = field(default_factory=list)  # of classes or lanes


@dataclass
class Series:
    label: str
    colour: str  # a name in page_parts/report.css, without --
    # "points", "big points", "line", "step" (a value holds until the next), "interval" (a value holds since the one
    # before), "area" (a line with what is below it filled), "level" (one value throughout), "bars", "bars left", "bars right" or "lane" (each item lasts from x to ends)
    style: str
    x: list
    y: list
    dashed: bool = False
    words: list | None = None  # said under the pointer in place of the value
    ends: list | None = None
    colours: list | None = None  # of the items of a lane


@dataclass
class Chart:
    name: str
    title: str
    x: Axis
    y: Axis
    series: list
    notes: list  # sentences below the title
    over_time: bool = False


@dataclass
class Run:
    """A heap of a log. In a comparison there are two, called first and second."""

    heap: object
    summary: object
    name: str  # "" where there is one only
    tone: str  # "a" or "b", the family of its colours

    def label(self, text):
        return f"{self.name}: {text}" if self.name else text

    def sentence(self, text):
        return self.label(text) if self.name else text[0].upper() + text[1:]

    def colour(self, shade):
        return f"{self.tone}{shade}"


class Clock:
    """The axis of time of all charts of a heap, from the heap's beginning on."""

    def __init__(self, runs):
        self.wall = max(run.heap.wall for run in runs)
        self.unit, self.ns = (
            ("s", SECOND) if self.wall >= SECOND else ("ms", 1_000_000) if self.wall >= 1_000_000 else ("us", 1000)
        )
        self.axis = Axis("number", self.unit)

    def at(self, run, time):
        return round((time - run.heap.begin) / self.ns, 6)

    def level(self, run, label, colour, value, dashed=True):
        return Series(run.label(label), colour, "level", [0, round(self.wall / self.ns, 6)], [value, value], dashed)


def bytes_unit(values):
    """The unit in which the greatest of the values is read well: (its name, its bytes)."""
    most = max(values, default=0)
    for power, name in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if most >= 1 << power:
            return name, 1 << power
    return "bytes", 1


def rounded(value):
    return float(f"{value:.5g}")
