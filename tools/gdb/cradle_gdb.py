"""Cradle in gdb.

    (gdb) source tools/gdb/cradle_gdb.py
    (gdb) cradle heap [EXPRESSION]      summary: nursery, old generation, types; EXPRESSION is a cradle_heap * to look at
    (gdb) cradle what ADDRESS           what lies there: which object, its type, its slots
    (gdb) cradle who-refers ADDRESS     which objects and roots refer to the object there
    (gdb) print $cradle_value(WORD)     a word as the heap's encoding reads it

A structure whose first field is a word called "header" is printed with what its header says. The commands only read memory and
call no function, so they work in core dumps too. Without EXPRESSION, they take the heap from a variable in a frame of the stack,
else from a global variable of those frames' sources, else the heap named last. The library needs its debug information.
docs/gdb.md has an example.
"""

import collections
import struct
import sys
from pathlib import Path

import gdb

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from cradle_show import shown  # noqa: E402

NAME_MOST = 200

# An entry of the page table. head is the number of the span's first page, whose entry describes the span.
Page = collections.namedtuple("Page", "state head pages size_class epoch")


class Internals:
    """All that this file knows of the collector's internals: a copy of gc/heap.h and its parts, gc/old/arena.h and gc/object/type_table.h."""

    PAGE_BYTES = 4096
    ARENA_BYTES = 2 << 20
    ARENA_USED = 2
    ARENA_SEALED = 16
    FREE, SMALL, INSIDE, LARGE, LARGE_YOUNG, LARGE_REACHED = range(6)
    BARRIER_FLAG = 1 << 32
    ARRAY_FLAGS = 3 << 33
    PINNED_FLAG = 1 << 37
    ID_FLAG = 1 << 38
    HASH_SHIFT, HASH_MASK = 39, 0xffffff
    FORWARDED = 1 << 63
    HEAP_STATES = ["the program runs", "a collection runs", "the verifier runs", "a fork is under way",
                   "a sampler runs", "a destructor runs", "a listener runs", "the program walks it"]
    MUTATOR_STATES = ["parked, or without a thread", "runs", "stopped"]
    MAJOR_PHASES = ["none runs", "marking", "sweeping", "clearing"]
    ITEMS_REFERENCES, ITEMS_VALUES, ITEMS_STRUCTURES = 2, 3, 4
    KIND_VALUE = 1
    SCOPED_VALUE, SCOPED_NAMED = 1, 2

    def __init__(self, heap):
        self.heap = heap
        self.space = heap["space"]
        self.nursery = self.space["nursery"]
        self.old = self.space["old"]
        self.arenas = self.old["arenas"]
        self.arenas_base = int(self.arenas["base"])
        self.arenas_bytes = int(self.arenas["bytes"])
        self.arena_count = int(self.arenas["used_end"])
        self.nursery_start = int(self.nursery["start"])
        self.nursery_end = int(self.nursery["end"])
        self.nursery_reserved = int(self.nursery["reserved_bytes"])
        self.mutators = list(self.linked(self.space["mutators"]))
        self.locals = list(self.linked(self.space["locals"].address))
        # What is filled of each chunk of the nursery: [start, end).
        self.filled = [(int(local["start"]), int(local["free"].dereference())) for local in self.locals]

    @staticmethod
    def linked(first):
        while int(first) != 0:
            yield first
            first = first["next"]

    def used_arenas(self):
        states = read(int(self.arenas["states"]), self.arena_count)
        return [i for i in range(self.arena_count) if states[i] == self.ARENA_USED]

    def is_sealed(self, address):
        return 0 <= address - self.arenas_base < int(self.old["sealed_bytes"]) and bool(
            int(self.arenas["origins"][(address - self.arenas_base) // self.ARENA_BYTES]) & self.ARENA_SEALED)

    def pages(self, arena):
        """The entries of an arena's page table."""
        meta = self.arenas["meta"][arena]["pages"]
        kind = meta.type.target()
        raw = read(int(meta.address), meta.type.sizeof)
        fields = {field.name: (field.bitpos // 8, field.type.sizeof) for field in kind.fields()}

        def get(page, name):
            offset, size = fields[name]
            return int.from_bytes(raw[page * kind.sizeof + offset:][:size], "little")

        count = meta.type.sizeof // kind.sizeof
        return [Page(*(get(i, name) for name in Page._fields)) for i in range(count)]

    def head_of(self, number):
        """The entry of the first page of a page's span, or None. Of a large object, only the first page has an entry."""
        arena, i = divmod(number, self.ARENA_BYTES // self.PAGE_BYTES)
        used = set(self.used_arenas())
        while arena in used:
            pages = self.pages(arena)
            before = next((page for page in reversed(pages[:i + 1]) if page.state != self.FREE), None)
            if before is not None:
                head = pages[before.head % len(pages)]
                return head if number < head.head + head.pages else None
            arena, i = arena - 1, len(pages) - 1
        return None

    def bitmap_of(self, head):
        """The bits that show a span's live objects: the mark bits while it waits to be swept, else the allocation bits."""
        return "allocated" if head.epoch == int(self.old["epoch"]) else "marks"

    def bits(self, arena, name):
        bits = self.arenas["meta"][arena][name]
        return [word for word, in struct.iter_unpack("<Q", read(int(bits.address), bits.type.sizeof))]

    def object_words(self, arena):
        """Indices of the words of an arena at which its bits say that an object starts."""
        pages, bits = self.pages(arena), {name: self.bits(arena, name) for name in ("allocated", "marks")}
        for i in range(len(bits["allocated"])):
            page = pages[64 * 8 * i // self.PAGE_BYTES]
            if page.state == self.FREE:
                continue
            word = bits[self.bitmap_of(pages[page.head % len(pages)])][i]
            while word:
                yield 64 * i + (word & -word).bit_length() - 1
                word &= word - 1

    def unfilled(self):
        """The runs that an allocator has taken: their bits are set, but they are not filled with objects yet."""
        runs = [(int(worker["allocators"][i]["free"]), int(worker["allocators"][i]["end"]))
                for worker in self.linked(self.old["leader"].address) for i in range(int(self.old["classes"]["count"]))]
        return [(free, end) for free, end in runs if free != end]

    def stack_length(self, name):
        return sum(int(local[name]["top"]) - int(local[name]["base"]) for local in self.locals) // 8

    def class_bytes(self, size_class):
        return int(self.old["classes"]["of"][size_class]["bytes"])

    def encoding(self):
        encoding = self.space["encoding"]
        pairs = [(int(encoding["pairs"][i]["mask"]), int(encoding["pairs"][i]["pattern"]))
                 for i in range(int(encoding["pair_count"]))]
        return pairs, int(encoding["tag_set"]), int(encoding["payload_mask"])


def read(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size)) if size else b""


def name_at(address):
    """The text at an address, made printable. A name may hold any bytes, and its memory may be damaged."""
    name = b""
    try:
        while b"\0" not in name and len(name) <= 4 * NAME_MOST:
            name += read(address + len(name), 64 - (address + len(name)) % 64)  # reads no page beyond the name's end
    except gdb.MemoryError:
        if not name:
            return f"(a name at {address:#x}, which cannot be read)"
    return shown(name.split(b"\0")[0].decode("utf-8", "replace"), NAME_MOST)


class Words:
    """Words of the program's memory, cached by page, so that a command reads each page once."""

    def __init__(self):
        self.pages = {}

    def at(self, address):
        number, offset = divmod(address, Internals.PAGE_BYTES)
        page = self.pages.get(number)
        if page is None:
            page = self.pages[number] = read(number * Internals.PAGE_BYTES, Internals.PAGE_BYTES)
        return struct.unpack_from("<Q", page, offset)[0]


# --- the heap ---

# fixed: (word, whether it holds a value) for each slot before the items; in_item: the same for each slot of an item that is a
# structure.
Type = collections.namedtuple("Type", "number name fixed in_item size items item_size length_offset has_trace")


def slots_of(entry, part=""):
    """(word, whether it holds a value) for each slot in two bitmaps."""
    maps = ((int(entry[part + "references"]), False), (int(entry[part + "values"]), True))
    return [(bit, is_value) for bit in range(64) for bitmap, is_value in maps if bitmap >> bit & 1]


class Heap:
    def __init__(self, value):
        self.value = value
        self.inside = Internals(value)
        self.word_at = Words().at
        table = value["space"]["types"]
        self.types = [self.read_type(i, table["types"][i]) for i in range(int(table["count"]))]
        self.pairs, self.tag_set, self.payload_mask = self.inside.encoding()

    @staticmethod
    def read_type(number, entry):
        name = name_at(int(entry["name"])) if int(entry["name"]) else f"type {number}"
        numbers = (int(entry[field]) for field in ("size", "items", "item_size", "length_offset"))
        return Type(number, name, slots_of(entry), slots_of(entry, "item_"), *numbers, int(entry["trace"]) != 0)

    def referent(self, value):
        """The address that a value holds, or None."""
        if value & self.payload_mask == 0 or not self.tag_set >> (value & 7) & 1:
            return None
        return value & self.payload_mask if any(value & mask == pattern for mask, pattern in self.pairs) else None

    def is_young(self, address):
        return 0 <= address - self.inside.nursery_start < self.inside.nursery_reserved

    def is_old(self, address):
        return 0 <= address - self.inside.arenas_base < self.inside.arenas_bytes

    def type_of(self, header):
        number = header & 0xFFFFFFFF
        if number >= len(self.types):
            return None
        return self.types[number]

    def size_of(self, address, kind):
        if kind.items == 0:
            return max(kind.size, 16)
        length = self.word_at(address + kind.length_offset)
        return max((kind.size + length * kind.item_size + 7) & ~7, 16)

    def young_objects(self):
        """(address, type, size) of each object. Where the nursery cannot be read further, it prints a message and stops."""
        for start, end in self.inside.filled:
            yield from self.objects_in(start, end)

    def objects_in(self, address, end):
        while address < end:
            header = self.word_at(address)
            kind = self.type_of(header)
            if kind is None or header >> 32 << 32 & ~(Internals.ID_FLAG | Internals.HASH_MASK << Internals.HASH_SHIFT):
                print(f"The nursery cannot be read from {address:#x} on: a reservation is not filled yet, or a header is broken.")
                return
            size = self.size_of(address, kind)
            yield address, kind, size
            address += size

    def old_objects(self):
        inside = self.inside
        unfilled = inside.unfilled()
        for arena in inside.used_arenas():
            base = inside.arenas_base + arena * inside.ARENA_BYTES
            for word in inside.object_words(arena):
                address = base + 8 * word
                if any(free <= address < end for free, end in unfilled):
                    continue
                kind = self.type_of(self.word_at(address))
                if kind is None:
                    print(f"The header at {address:#x} is broken.")
                    continue
                yield address, kind, self.size_of(address, kind)

    def objects(self):
        yield from self.old_objects()
        yield from self.young_objects()

    def find(self, address):
        """The object that contains the address, as (start, type, size), or None."""
        if self.is_young(address):
            found = (entry for entry in self.young_objects() if entry[0] <= address < entry[0] + entry[2])
            return next(found, None)
        return self.find_old(address) if self.is_old(address) else None

    def find_old(self, address):
        inside = self.inside
        head = inside.head_of((address - inside.arenas_base) // inside.PAGE_BYTES)
        if head is None:
            return None
        start = inside.arenas_base + head.head * inside.PAGE_BYTES
        if head.state == inside.SMALL:
            size = inside.class_bytes(head.size_class)
            start += (address - start) // size * size
        arena = (start - inside.arenas_base) // inside.ARENA_BYTES
        word = (start - inside.arenas_base) % inside.ARENA_BYTES // 8
        bits = inside.arenas["meta"][arena][inside.bitmap_of(head)]
        if any(free <= start < end for free, end in inside.unfilled()) or not int(bits[word // 64]) >> word % 64 & 1:
            return None
        kind = self.type_of(self.word_at(start))
        return None if kind is None else (start, kind, self.size_of(start, kind))

    def slots(self, address, kind):
        """(words, address of the slot, what it holds, the object it refers to or None) of an object."""
        for word, is_value in kind.fixed:
            yield (f"word {word}",) + self.slot(address + 8 * word, is_value)
        if kind.items in (Internals.ITEMS_REFERENCES, Internals.ITEMS_VALUES):
            for i in range(self.word_at(address + kind.length_offset)):
                yield (f"item {i}",) + self.slot(address + kind.size + 8 * i, kind.items == Internals.ITEMS_VALUES)
        if kind.items == Internals.ITEMS_STRUCTURES:
            for i in range(self.word_at(address + kind.length_offset)):
                for word, is_value in kind.in_item:
                    yield (f"item {i}, word {word}",) + self.slot(address + kind.size + kind.item_size * i + 8 * word, is_value)

    def slot(self, address, is_value):
        word = self.word_at(address)
        return address, word, self.referent(word) if is_value else word or None

    def roots(self):
        """(where, word, the object it refers to or None)."""
        named = self.image_roots()
        for i in range(int(self.value["roots"]["global_count"])):
            root = self.value["roots"]["globals"][i]
            name = named.get(int(root["address"]))
            where = f"global root {int(root['address']):#x}" + (f", {name} of the image" if name else "")
            yield (where,) + self.slot(int(root["address"]), int(root["kind"]) == 1)[1:]
        handles = self.value["tables"]["handles"]
        first = 64  # HANDLE_BLOCK_FIRST: block k has first << k entries
        for i in range(int(handles["used"])):
            block = (i + first).bit_length() - first.bit_length()
            entry = handles["blocks"][block][i + first - (first << block)]
            generation = int(entry["generation"])
            if generation & 1:
                word = int(entry["word"])
                yield f"handle {generation << 32 | i:#x}", word, word or None
        for mutator in self.inside.mutators:
            yield from self.mutator_roots(mutator)

    def image_roots(self):
        """The names of the image's roots, by the addresses of their variables."""
        image = self.value["image"]
        roots = [image["roots"][i] for i in range(int(image["root_count"]))] if int(image) else []
        return {int(root["word"].address): name_at(int(image["tables"]) + int(root["name"])) for root in roots}

    def mutator_roots(self, mutator):
        options, public, running = self.value["options"], mutator["public"], int(mutator["running"])
        for stack in self.root_stacks(mutator):
            own, runs = int(stack.address) == int(mutator["own"].address), int(stack.address) == running
            of = "" if own else f" of the root stack at {int(stack.address):#x}"
            tops = (public["shadow_top"], public["scoped_top"]) if runs else (stack["shadow"]["top"], stack["scoped"]["top"])
            base, top = int(stack["shadow"]["base"]), int(tops[0])
            for address in range(base, top, 8):
                is_value = int(options["shadow_stack"]) == Internals.KIND_VALUE
                yield (f"shadow stack, word {(address - base) // 8} from the bottom{of}",) + self.slot(address, is_value)[1:]
            at, base = int(tops[1]), int(stack["scoped"]["base"]) + 8
            while at > base:
                at -= 8
                word, name = self.word_at(at), None
                if word & Internals.SCOPED_NAMED:
                    name = name_at(self.word_at(at - 8))
                    at -= 16
                variable = word & ~(Internals.SCOPED_VALUE | Internals.SCOPED_NAMED)
                yield (f"scoped root {name or 'without a name'}, variable at {variable:#x}{of}",) + \
                    self.slot(variable, bool(word & Internals.SCOPED_VALUE))[1:]
            yield from self.range_roots(stack["ranges"], of)
        yield from self.range_roots(mutator["ranges"], "")

    @staticmethod
    def root_stacks(mutator):
        stack_type = gdb.lookup_type("cradle_root_stack").pointer()
        for i in range(3):
            ring, link = int(mutator["rings"][i].address), mutator["rings"][i]["next"]
            while int(link) != ring:
                yield link.cast(stack_type).dereference()
                link = link["next"]

    def range_roots(self, root_range, of):
        while int(root_range):
            name = name_at(int(root_range["name"])) if int(root_range["name"]) else "root range"
            base, top = (self.word_at(int(root_range[end])) for end in ("base", "top"))
            for address in range(base, top, 8):
                yield (f"{name}, word {(address - base) // 8}{of}",) + self.slot(address, int(root_range["kind"]) == 1)[1:]
            root_range = root_range["next"]

    def describe(self, address, kind, size):
        header = self.word_at(address)
        if self.is_young(address):
            age = "young"
        elif header & Internals.BARRIER_FLAG:
            age = "old"
        elif header & Internals.ARRAY_FLAGS:
            age = "old and remembered"
        else:
            age = "old and remembered, or large and young"  # the header is the same
        if self.inside.is_sealed(address):
            age += ", in a sealed image"
        if header & Internals.PINNED_FLAG:
            age += ", pinned"
        identity = header >> Internals.HASH_SHIFT & Internals.HASH_MASK
        return f"{address:#x}: {kind.name}, {size} bytes, {age}" + (f", hash {identity:#x}" if identity else "")


# --- which heap ---

class Chosen:
    heap = None  # the address of the last heap that was named or found


def pointer_to(name, address):
    return gdb.Value(address).cast(gdb.lookup_type(name).pointer())


def heap_of_variable(value):
    kind = value.type.strip_typedefs()
    if kind.code != gdb.TYPE_CODE_PTR or value.is_optimized_out or int(value) == 0:
        return None
    name = str(kind.target().unqualified().strip_typedefs())
    if name == "struct cradle_heap":
        return int(value)
    return int(value.dereference()["heap"]) if name == "struct cradle_mutator" else None


def is_heap(address):
    """Whether there is a heap at the address. In optimised code, a dead variable's register may hold something else."""
    options = pointer_to("struct cradle_heap", address).dereference()["options"]
    return int(options["size"]) == options.type.strip_typedefs().sizeof


def heap_of_symbol(symbol, frame):
    if not symbol.is_variable and not symbol.is_argument:
        return None
    try:
        heap = heap_of_variable(symbol.value(frame))
        return heap if heap is not None and is_heap(heap) else None
    except (gdb.error, gdb.MemoryError):  # not initialised yet, or optimised out
        return None


def newest_frame():
    try:
        return gdb.selected_frame()
    except gdb.error:  # nothing runs
        return None


def heap_in_stack():
    """The heap of the innermost variable that refers to a heap."""
    frame = newest_frame()
    while frame is not None:
        try:
            block = frame.block()
        except RuntimeError:
            block = None
        while block is not None:
            for symbol in block:
                found = heap_of_symbol(symbol, frame)
                if found:
                    return found
            block = block.superblock if block.function is None else None
        frame = frame.older()
    return None


def heap_in_globals():
    """The heap of a global or static variable in a source file that has a frame on the stack."""
    frame = newest_frame()
    while frame is not None:
        source = frame.find_sal().symtab
        for block in (source.static_block(), source.global_block()) if source is not None else ():
            for symbol in block:
                found = heap_of_symbol(symbol, frame)
                if found:
                    return found
        frame = frame.older()
    return None


def current_heap(expression=""):
    if expression:
        Chosen.heap = heap_of_variable(gdb.parse_and_eval(expression))
        if Chosen.heap is None:
            raise gdb.GdbError(f"{expression} is NULL, or neither a cradle_heap * nor a cradle_mutator *")
    else:
        Chosen.heap = heap_in_stack() or heap_in_globals() or Chosen.heap
    if Chosen.heap is None:
        raise gdb.GdbError("No variable here refers to a heap: name the heap with \"cradle heap EXPRESSION\"")
    try:
        return Heap(pointer_to("struct cradle_heap", Chosen.heap).dereference())
    except gdb.error as error:
        raise gdb.GdbError(f"The heap at {Chosen.heap:#x} cannot be read (does the library have debug information?): {error}")


def address_of(expression, usage):
    if not expression:
        raise gdb.GdbError(f"Usage: {usage}")
    return int(gdb.parse_and_eval(expression).cast(gdb.lookup_type("unsigned long")))


# --- commands ---

class CradleCommand(gdb.Command):
    """Looks into a heap of the Cradle collector: cradle heap, cradle what, cradle who-refers."""

    def __init__(self):
        super().__init__("cradle", gdb.COMMAND_DATA, prefix=True)


class HeapCommand(gdb.Command):
    """cradle heap [EXPRESSION]: a summary of the heap, with its objects by type."""

    def __init__(self):
        super().__init__("cradle heap", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        heap = current_heap(argument)
        inside, stats = heap.inside, heap.value["report"]["stats"]
        state = int(heap.value["report"]["state"])
        print(f"heap {Chosen.heap:#x}: {Internals.HEAP_STATES[state]}")
        print(f"collections: {int(stats['minor_collections'])} minor, {int(stats['major_collections'])} major")
        print(f"nursery: {inside.nursery_start:#x} to {inside.nursery_end:#x}, "
              f"{sum(end - start for start, end in inside.filled)} of {inside.nursery_end - inside.nursery_start} bytes filled")
        print(f"old generation: {int(inside.old['used_bytes'])} bytes, {int(inside.old['large_bytes'])} of them large; "
              f"{len(inside.used_arenas())} arenas of {int(inside.arenas['committed_count'])} committed")
        image = heap.value["image"]
        if int(image):
            print(f"image: {'sealed' if int(inside.old['sealed_bytes']) else 'not sealed'}, "
                  f"{'elsewhere than it was saved' if int(image['moved']) else 'where it was saved'}")
        print(f"major collection: {Internals.MAJOR_PHASES[int(heap.value['marking']['major']['phase'])]}; "
              f"threshold: {int(heap.value['marking']['pacing']['threshold'])} bytes")
        if int(heap.value["marking"]["marker"]["thread"]) != 0:
            why = heap.value["young"]["team"]["alone"]
            print(f"minor collections with helpers: {int(stats['helped_collections'])}"
                  + (f"; the last was alone: {why.string()}" if int(why) != 0 else ""))
        for mutator in reversed(inside.mutators) if int(inside.space["world"]) != 0 else ():
            print(f"{mutator['name'].string()}: {Internals.MUTATOR_STATES[int(mutator['state'])]}, "
                  f"thread {int(mutator['thread_id'])}")
        print(f"remembered objects: {inside.stack_length('remembered')}, "
              f"recorded slots of large arrays: {inside.stack_length('recorded')}")
        if state != 0:
            print(f"No list of objects, because {Internals.HEAP_STATES[state]}.")
            return
        counts, sizes = collections.Counter(), collections.Counter()
        for _, kind, size in heap.objects():
            counts[kind.name] += 1
            sizes[kind.name] += size
        print(f"{'objects':>12} {'bytes':>14}  type   (dead objects included until they are collected)")
        for name, size in sizes.most_common():
            print(f"{counts[name]:12} {size:14}  {name}")


class WhatCommand(gdb.Command):
    """cradle what ADDRESS: what lies at an address of the heap."""

    def __init__(self):
        super().__init__("cradle what", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        address = address_of(argument, "cradle what ADDRESS")
        heap = current_heap()
        if not heap.is_young(address) and not heap.is_old(address):
            print(f"{address:#x} is not in the heap.")
            return
        found = heap.find(address)
        if found is None:
            where = "the nursery" if heap.is_young(address) else "the old generation"
            print(f"{address:#x} is in {where}, but not inside an object.")
            return
        start, kind, size = found
        print(heap.describe(start, kind, size))
        if address != start:
            print(f"  {address:#x} is byte {address - start} of it")
        if kind.has_trace:
            print("  its trace function reports further slots, which are not listed")
        for words, _, word, referent in heap.slots(start, kind):
            if word == 0 and words.startswith("item"):
                continue  # most items of a large array are 0
            target = heap.find(referent) if referent else None
            shown = f"{target[1].name} at {referent:#x}" if target and target[0] == referent else f"{word:#x}"
            print(f"  {words}: {shown}")


class WhoRefersCommand(gdb.Command):
    """cradle who-refers ADDRESS: the objects and roots that refer to the object at the address."""

    def __init__(self):
        super().__init__("cradle who-refers", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        address = address_of(argument, "cradle who-refers ADDRESS")
        heap = current_heap()
        found = heap.find(address)
        if found is None:
            print(f"{address:#x} is not inside an object of the heap.")
            return
        target, count, untold = found[0], 0, set()
        for where, _, referent in heap.roots():
            if referent == target:
                print(where)
                count += 1
        for holder, kind, size in heap.objects():
            if kind.has_trace:
                untold.add(kind.name)
            for words, _, _, referent in heap.slots(holder, kind):
                if referent == target:
                    print(f"{heap.describe(holder, kind, size)}: {words}")
                    count += 1
        print(f"{count} references to {heap.describe(*found)}")
        if untold:
            print(f"Not searched: the slots that trace functions report, in objects of type {', '.join(sorted(untold))}.")
        if int(heap.value["roots"]["root_callback"]):
            print("Not searched: what the root callback reports.")
        if int(heap.value["space"]["services"]):
            print("Not searched: finalizer queues, weak slots, ephemerons and weak sets.")


class ValueFunction(gdb.Function):
    """$cradle_value(WORD): a word as the heap's encoding reads it."""

    def __init__(self):
        super().__init__("cradle_value")

    def invoke(self, word):
        heap, word = current_heap(), int(word.cast(gdb.lookup_type("unsigned long")))
        referent = heap.referent(word)
        if referent is None:
            return f"immediate {word:#x}"
        found = heap.find(referent)
        return f"reference to {heap.describe(*found)}" if found else f"reference to {referent:#x}, where no object is"


# --- pretty-printers ---

class ObjectPrinter:
    """Prints a structure that starts with the header word: a description of the header, then the fields."""

    def __init__(self, value, heap):
        self.value, self.heap = value, heap

    def to_string(self):
        header = int(self.value["header"])
        if header & Internals.FORWARDED:
            return f"moved to {header & ~Internals.FORWARDED:#x}"
        kind = self.heap.type_of(header)
        return self.heap.describe(int(self.value.address), kind, self.heap.size_of(int(self.value.address), kind))

    def children(self):
        for field in self.value.type.strip_typedefs().fields():
            if field.name != "header":
                yield field.name or "<anonymous>", self.value[field]


def find_printer(value):
    kind = value.type.strip_typedefs()
    if kind.code != gdb.TYPE_CODE_STRUCT or value.address is None or not kind.fields():
        return None
    first = kind.fields()[0]
    if first.name != "header" or first.type.sizeof != 8:
        return None
    try:
        heap, address = current_heap(), int(value.address)
        header = int(value["header"])
    except (gdb.GdbError, gdb.error):
        return None
    if not heap.is_young(address) and not heap.is_old(address):
        return None
    if not header & Internals.FORWARDED and heap.type_of(header) is None:
        return None
    return ObjectPrinter(value, heap)


for command in (CradleCommand, HeapCommand, WhatCommand, WhoRefersCommand, ValueFunction):
    command()
gdb.pretty_printers.append(find_printer)
