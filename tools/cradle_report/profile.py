"""Reads what CRADLE_PROFILE wrote, and adds its samples up: as a table, or in speedscope's file format.

A sample is a line of JSON with the stack, the type and the size of the object, and the allocated bytes that it stands for; another
line says later whether the object survived its first minor collection (docs/profiler.md).
"""

import codecs
import json
import os
import sys
from collections import Counter

from cradle_report.readers import LogError, check_version

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
# So many bytes of a line are enough to see what it is.
READ_LINE = 1000
# Sizes above this share a frame with all sizes up to the next power of two.
EXACT_MOST = 256

# A byte that is not part of a character of UTF-8 becomes the character with its number.
codecs.register_error("as-number", lambda error: ("".join(map(chr, error.object[error.start:error.end])), error.end))


def type_frame(sample):
    return (sample["type_name"] if "type_name" in sample else f"type {sample['type']}", None, 0)


def size_frame(size):
    if size <= EXACT_MOST:
        return (f"{size} bytes", None, 0)
    most = 1 << (size - 1).bit_length()
    return (f"{most // 2 + 1} to {most} bytes", None, 0)


def program_frame(frame):
    name, file, line = frame
    if name is None:
        name = "function without a name"
    elif isinstance(name, int):
        name = f"function {name}"
    return (name, file, line)


class Profile:
    """The samples of one heap, by stack: the mutator if the heap may have several, the program's frames, the outermost first, then the
    type and the size."""

    def __init__(self, heap):
        self.heap = heap
        self.facts = {"interval_bytes": 0, "seed": 0, "samples": 0}
        self.weights = {"allocated": Counter(), "survived": Counter(), "died young": Counter()}
        self.by_mutator = Counter()  # allocated bytes
        self.stack = []
        self.waiting = {}  # by number

    def add_sample(self, event):
        self.stack[event["same"]:] = map(program_frame, event["frames"])
        cut = [("(outer frames left out)", None, 0)] if event.get("cut") else []
        mutator = [(f"({event['mutator']})", None, 0)] if "mutator" in event else []
        stack = (*mutator, *cut, *self.stack, type_frame(event), size_frame(event["bytes"]))
        self.by_mutator[event.get("mutator")] += event["weight_bytes"]
        self.weights["allocated"][stack] += event["weight_bytes"]
        self.waiting[event["number"]] = (stack, event["weight_bytes"])
        self.facts["samples"] += 1

    def add_fate(self, event):
        stack, weight = self.waiting.pop(event["number"], (None, 0))  # a child of fork may settle its parent's samples
        if stack is not None:
            self.weights["survived" if event["survived"] else "died young"][stack] += weight

    def unknown(self):
        """The bytes of reservations, and of objects that no collection has met."""
        allocated, *known = (weights.total() for weights in self.weights.values())
        return allocated - sum(known)


def is_profile(path):
    """Whether the second line says so; a pipe cannot be asked."""
    if path == "-" or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return b'"event":"cradle-log"' in file.readline(READ_LINE) and b'"event":"profile"' in file.readline(READ_LINE)


def add_line(profiles, event):
    profile = profiles.setdefault(event["heap"], Profile(event["heap"]))
    if event["event"] == "profile":
        profile.facts.update(interval_bytes=event["interval_bytes"], seed=event["seed"])
    elif event["event"] == "sample":
        profile.add_sample(event)
    elif event["event"] == "fate":
        profile.add_fate(event)
    elif event["event"] != "cradle-log":
        raise ValueError


def read_profiles(path):
    """The profiles in the file, in the order in which their heaps began; a last line that is cut off is left out."""
    profiles = {}
    try:
        with sys.stdin.buffer if path == "-" else open(path, "rb") as file:
            lines = file.read().decode("utf-8", "as-number").split("\n")
    except OSError as error:
        raise LogError(f"{path}: {error.strerror}") from None
    for number, line in enumerate(lines[:-1], 1):  # after the last line's end there is nothing
        try:
            event = json.loads(line)
            if event["event"] == "cradle-log":
                check_version(path, number, event.get("version"))
            add_line(profiles, event)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError):
            raise LogError(f"{path}:{number}: no profile of Cradle: {line[:60]!r}") from None
    if not profiles:
        raise LogError(f"{path}:1: no profile of Cradle is in it")
    return list(profiles.values())


def speedscope(profiles):
    """The file for speedscope (https://github.com/jlfwong/speedscope): three profiles a heap, over the same frames."""
    frames, shown = {}, []
    for profile in profiles:
        prefix = f"heap {profile.heap}: " if len(profiles) > 1 else ""
        for name, weights in profile.weights.items():
            samples = [[frames.setdefault(frame, len(frames)) for frame in stack] for stack in weights]
            shown.append({"type": "sampled", "name": prefix + name, "unit": "bytes", "startValue": 0, "endValue": weights.total(),
                          "samples": samples, "weights": list(weights.values())})
    table = [{"name": name, **({"file": file} if file is not None else {}), **({"line": line} if line else {})}
             for name, file, line in frames]
    facts = [{"heap": profile.heap, **profile.facts, "unknown_fate_bytes": profile.unknown()} for profile in profiles]
    return json.dumps({"$schema": SCHEMA, "exporter": "cradle-report", "name": f"allocation, heap {profiles[0].heap}",
                       "activeProfileIndex": 0, "cradle": facts, "shared": {"frames": table}, "profiles": shown}) + "\n"


def rows_of(profile):
    """(who, bytes, of them survived) for each function and type, the largest first."""
    sums, kept = Counter(), Counter()
    for name, into in (("allocated", sums), ("survived", kept)):
        for stack, weight in profile.weights[name].items():
            function = stack[-3][0] if len(stack) > 2 else ""
            into[stack[-2][0] + (" in " + function if function else "")] += weight
    return [(who, weight, kept[who]) for who, weight in sums.most_common()]


def table_of(profile, most=12):
    """Lines: who allocates, the largest first, and how much of it survived."""
    allocated, survived = profile.weights["allocated"], profile.weights["survived"]
    sums = rows_of(profile)
    yield (f"heap {profile.heap}: {profile.facts['samples']} samples, one in {profile.facts['interval_bytes']} bytes; "
           f"{allocated.total()} bytes allocated, {survived.total()} of them survived")
    for who, weight, kept in sums[:most]:
        yield f"{weight:16} bytes {100 * weight / allocated.total():5.1f} %  {100 * kept / weight:5.1f} % survived  {who}"
    for name, weight in profile.by_mutator.most_common(most) if len(profile.by_mutator) > 1 else ():
        yield f"{weight:16} bytes {100 * weight / allocated.total():5.1f} %  by {name}"
    if len(sums) > most:
        yield f"    and {len(sums) - most} more"
