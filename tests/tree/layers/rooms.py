"""The rooms of gc/: which room each file belongs to, and which rooms each room may include.

Each room is a folder, with two exceptions. The spine, whose files lie in gc/ itself, has a ground floor. The
instruments have two floors. An include that the tables below do not allow is an arrow that points up.
"""

from pathlib import PurePath

# Headers of the spine that every room may include: the parts of a heap that no room below has to itself, and their names.
GROUND_FLOOR = {"parts.h", "space.h", "mutator.h", "roots.h", "root_stack.h", "death_calls.h"}
# Instruments that the collector itself calls while it works: rooms below the spine, and the spine. The other instruments inspect
# a heap from above.
LOWER_INSTRUMENTS = {"stress", "sample", "quarantine"}
SPINE_INSTRUMENTS = {"history", "other_heaps"}

BELOW = ("platform", "base", "report", "object")

# The rooms from the lowest up, each with the rooms that it may include. A room may also include itself and include/. The heap's
# structure, gc/heap.h, is a room of its own: it is for the spine and the instruments. Below, a file takes the parts that it works
# on (docs/design/collector.md).
MAY_INCLUDE = {
    "platform": (),
    "base": ("platform",),
    "report": ("platform", "base"),
    "object": ("platform", "base"),
    "ground": (*BELOW, "old"),
    "old": (*BELOW, "ground", "tables"),
    "tables": (*BELOW, "ground", "old"),
    "instruments-lower": (*BELOW, "ground", "old", "young"),
    "young": (*BELOW, "ground", "old", "tables", "instruments-lower"),
    "death": (*BELOW, "ground", "old", "tables", "young"),
    "heap": (*BELOW, "ground", "old", "tables", "young", "death", "instruments-lower"),
    "spine": (*BELOW, "ground", "old", "tables", "young", "death", "instruments-lower", "heap"),
    "image": (*BELOW, "ground", "old", "tables", "young", "death", "heap", "spine"),
    "instruments-upper": (*BELOW, "ground", "old", "tables", "young", "death", "instruments-lower", "heap", "spine"),
}

# Allowed arrows that point up: from, to, why.
UPWARD_ARROWS = [
    ("gc/heap.c", "gc/image/image.h", "options.image asks for a heap that begins with an image"),
    ("gc/image/enter.c", "gc/instruments/verify.h", "cradle_image.verify asks for a verification of that heap"),
    ("gc/space.h", "gc/young/nursery.h", "the nursery is a part of the space of objects"),
    ("gc/space.h", "gc/young/local.h", "so is what a mutator has of it"),
    ("gc/collect.c", "gc/instruments/verify.h", "options.verify asks for a verification before and after each collection"),
]


def room_of(path):
    """The room of a file of gc/, given as a path from the root; None: the file is in no room."""
    path = PurePath(path)
    if path.parts[0] != "gc":
        return None
    if len(path.parts) == 2:
        return "ground" if path.name in GROUND_FLOOR else "heap" if path.name == "heap.h" else "spine"
    if path.parts[1] == "instruments":
        return ("instruments-lower" if path.stem in LOWER_INSTRUMENTS else
                "spine" if path.stem in SPINE_INSTRUMENTS else "instruments-upper")
    return path.parts[1] if path.parts[1] in MAY_INCLUDE else None


def is_allowed(room, below):
    return room == below or below in MAY_INCLUDE[room]


def reason_of(path, target):
    """The reason why a file may include another although the arrow points up; None: the include is not allowed."""
    for source, header, reason in UPWARD_ARROWS:
        if (source, header) == (str(path), str(target)):
            return reason
    return None
