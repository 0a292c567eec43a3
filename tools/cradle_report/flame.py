"""The tree of an allocation profile, from which page_parts/flame.js draws flame graphs."""

from dataclasses import dataclass, field

from cradle_show import shown

from . import words
from .profile import rows_of

ROWS_SHOWN = 12
# What has less than this share of the bytes in each graph is drawn together with its neighbours.
LEAST_SHARE = 1 / 4000


@dataclass
class Frame:
    frame: tuple  # name, file, line
    kind: str  # "function", "type" or "size"
    values: list  # bytes, for each of the profile's graphs
    below: dict = field(default_factory=dict)


def tree(profile):
    """All stacks, grown together from the outermost frame."""
    graphs = list(profile.weights)
    root = Frame(("all", None, 0), "function", [0] * len(graphs))
    for place, name in enumerate(graphs):
        for stack, weight in profile.weights[name].items():
            at = root
            at.values[place] += weight
            for depth, frame in enumerate(stack):
                kind = ("size", "type", "function")[min(len(stack) - 1 - depth, 2)]
                at = at.below.setdefault((kind, frame), Frame(frame, kind, [0] * len(graphs)))
                at.values[place] += weight
    return root


def is_seen(frame, root):
    return any(value > LEAST_SHARE * whole for value, whole in zip(frame.values, root.values))


def packed(frame, root):
    """The tree as flame.js reads it: n: name, at: file and line, k: kind, v: bytes in each graph, c: the frames below."""
    name, file, line = frame.frame
    below = list(frame.below.values())
    large = [one for one in below if is_seen(one, root)]
    told = [packed(one, root) for one in large]
    if len(large) < len(below):
        rest = [sum(values) for values in zip(*(one.values for one in below if not is_seen(one, root)))]
        told.append({"n": f"({words.counted(len(below) - len(large), 'smaller frame')})", "k": "size", "v": rest})
    at = f"{shown(file)}:{line}" if file is not None and line else shown(file) if file is not None else ""
    return {"n": shown(name), "k": frame.kind, "v": frame.values, **({"at": at} if at else {}), **({"c": told} if told else {})}


def flame_of(profile, path):
    """A profile of a heap as the page's template and flame.js read it."""
    allocated = profile.weights["allocated"].total()
    root = tree(profile)
    rows = rows_of(profile)
    return {
        "title": f"Allocation profile of heap {shown(profile.heap)}",
        "path": shown(path),
        "samples": words.counted(profile.facts["samples"], "sample"),
        "interval": words.size(profile.facts["interval_bytes"]),
        "rows": [(shown(who), words.size(weight), words.percent(weight / allocated), words.percent(kept / weight))
                 for who, weight, kept in rows[:ROWS_SHOWN]],
        "left_out": max(len(rows) - ROWS_SHOWN, 0),
        "graphs": [(name, words.size(whole)) for name, whole in zip(profile.weights, root.values)],
        "tree": packed(root, root) if allocated else None,
    }
