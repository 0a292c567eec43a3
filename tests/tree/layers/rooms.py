"""The rooms of gc/: which room each file belongs to, and which rooms each room may include.

Each room is a folder, with two exceptions. The spine, whose files lie in gc/ itself, has a ground floor. The
instruments have two floors. An include that the tables below do not allow is an arrow that points up.
"""

from pathlib import PurePath

# Headers of the spine that every room may include: the heap's structure and its parts.
GROUND_FLOOR = {"heap.h", "event.h", "misuse.h", "mutator.h", "state.h", "roots.h", "root_stack.h", "maximum.h",
                "death_calls.h", "statistics.h"}
# Instruments that the collector itself calls while it works. The other instruments inspect a heap from above.
LOWER_INSTRUMENTS = {"stress", "sample", "quarantine", "history", "other_heaps"}

BELOW = ("platform", "base", "object")

# The rooms from the lowest up, each with the rooms that it may include. A room may also include itself and include/.
MAY_INCLUDE = {
    "platform": (),
    "base": ("platform",),
    "object": ("platform", "base"),
    "ground": (*BELOW, "old", "tables", "young", "death", "instruments-lower"),
    "old": (*BELOW, "ground", "tables"),
    "tables": (*BELOW, "ground", "old"),
    "instruments-lower": (*BELOW, "ground", "old", "young"),
    "young": (*BELOW, "ground", "old", "tables", "instruments-lower"),
    "death": (*BELOW, "ground", "old", "tables", "young"),
    "spine": (*BELOW, "ground", "old", "tables", "young", "death", "instruments-lower"),
    "instruments-upper": (*BELOW, "ground", "old", "tables", "young", "death", "instruments-lower", "spine"),
}

# Allowed arrows that point up: from, to, why.
UPWARD_ARROWS = [
    ("gc/collect.c", "gc/instruments/verify.h", "options.verify asks for a verification before and after each collection"),
    ("gc/tables/prebuilt.c", "gc/young/remember.h", "a prebuilt object that refers into the heap is remembered when it is added"),
]


def room_of(path):
    """The room of a file of gc/, given as a path from the root; None: the file is in no room."""
    path = PurePath(path)
    if path.parts[0] != "gc":
        return None
    if len(path.parts) == 2:
        return "ground" if path.name in GROUND_FLOOR else "spine"
    if path.parts[1] == "instruments":
        return "instruments-lower" if path.stem in LOWER_INSTRUMENTS else "instruments-upper"
    return path.parts[1] if path.parts[1] in MAY_INCLUDE else None


def is_allowed(room, below):
    return room == below or below in MAY_INCLUDE[room]


def reason_of(path, target):
    """The reason why a file may include another although the arrow points up; None: the include is not allowed."""
    for source, header, reason in UPWARD_ARROWS:
        if (source, header) == (str(path), str(target)):
            return reason
    return None
