"""Reads the file of a heap image (gc/image/format.h), as far as that can be done without the program: objects, their sizes and
references, and what the image names. Nothing of the file is used before it is checked."""

import os
import struct

from cradle_show import shown

try:
    import numpy as np
except ImportError:
    np = None  # cradle-heap reports this

MAGIC = b"CRADLEIM"
VERSION = 1
HEADER = struct.Struct("<8sIIQQQQQ 11Q QQQ 30Q")
ORDER = 0x0102030405060708
SUMMED_FROM = 32  # where in the header the checksum begins to count
FACTOR, WORD = 0x9E3779B97F4A7C15, (1 << 64) - 1
PAGE, ARENA, ALIGNMENT = 4096, 2 << 20, 64 << 10
NO_NUMBER = 0xFFFFFFFF
TYPE_IDS = 1 << 20
PARTS = ["types", "arenas", "spans", "bits", "symbols", "fixes", "weak", "ephemerons", "finalizers", "destructors", "ids", "sets",
         "members", "roots", "names"]
NUMBER = "<u8"
RECORDS = {
    "types": [("name", "<u4"), ("id", "<u4")] + [(field, NUMBER) for field in (
        "size", "items", "item_size", "length_offset", "references", "values", "weak", "ephemerons", "item_references", "item_values",
        "weak_values", "finalizer", "trace", "destructor", "external_size", "symbols", "mend")],
    "arenas": [("index", "<u4"), ("pages", "<u4")],
    "spans": [("page", "<u4"), ("pages", "<u4"), ("size_class", "<u4"), ("full_words", "<u4")],
    "fixes": [("place", NUMBER), ("symbol", NUMBER)],
    "ids": [("place", NUMBER), ("generation", NUMBER)],
    "sets": [("name", NUMBER), ("count", NUMBER)],
    "members": [("hash", NUMBER), ("place", NUMBER)],
    "roots": [("name", "<u4"), ("kind", "<u4"), ("word", NUMBER)],
    "names": "u1",
}
ITEMS_NONE, ITEMS_BYTES, ITEMS_REFERENCES, ITEMS_VALUES, ITEMS_STRUCTURES, ITEMS_WEAK, ITEMS_EPHEMERONS = range(7)


class Damaged(Exception):
    pass


def check(condition, what):
    if not condition:
        raise Damaged(what)


def aligned(number, to):
    return (number + to - 1) // to * to


def bits_of(bitmap):
    return [bit for bit in range(64) if int(bitmap) >> bit & 1]


class Image:
    """objects: one for each place in self.places, in the order of their addresses; source and target: the references, as indices
    of objects; roots: the named ones that refer to an object, and root_target: these objects. The references of ephemerons' values
    count; weak ones do not, nor does what a trace callback visits."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            self.read_header(file.read(HEADER.size), os.fstat(file.fileno()).st_size)
        self.file = np.memmap(path, NUMBER, "r")
        self.check_sum()
        self.read_parts()
        self.read_types()
        self.read_arenas()
        self.read_objects()
        self.read_references()
        self.read_names()

    # --- tables ---

    def read_header(self, data, file_bytes):
        check(len(data) == HEADER.size, f"it is cut short at byte {len(data)}, in its header")
        (_, version, header_bytes, order, self.sum, said_bytes, self.objects_at, _, *rest) = HEADER.unpack(data)
        self.encoding, (self.base, _, _), self.parts = rest[:11], rest[11:14], rest[14:]
        check(order == ORDER, "it was made by a machine with another order of bytes")
        check(version == VERSION and header_bytes == HEADER.size, f"it has version {version}; this tool reads version {VERSION}")
        check(said_bytes == file_bytes and file_bytes % 8 == 0, f"it has {file_bytes} bytes and must have {said_bytes}: it is cut off")
        check(self.objects_at % ALIGNMENT == 0 and 0 < self.objects_at <= file_bytes - 8, "its objects are not where they must be")
        check(0 < self.base < 1 << 47 and self.base % ARENA == 0, "no heap can have had its address")
        self.heap_bytes = file_bytes - 8 - self.objects_at

    def check_sum(self):
        total = 0
        for word in self.file[SUMMED_FROM // 8 : self.objects_at // 8].tolist():
            total = (total ^ word) * FACTOR & WORD
            total ^= total >> 32
        check(total == self.sum, "its tables do not have their checksum")

    def read_parts(self):
        """The tables follow each other without a gap."""
        at = HEADER.size
        for name, said, count in zip(PARTS, self.parts[::2], self.parts[1::2]):
            dtype = np.dtype(RECORDS.get(name, NUMBER))
            check(said == at and count <= (self.objects_at - at) // dtype.itemsize, f"its table of {name} is not where it must be")
            end = aligned(at + count * dtype.itemsize, 8)
            setattr(self, name + "_part", self.file[at // 8 : end // 8].view("u1")[: count * dtype.itemsize].view(dtype))
            at = end
        check(aligned(at, ALIGNMENT) == self.objects_at, "its objects are not where they must be")
        self.names = self.names_part.tobytes()

    def name(self, at):
        end = self.names.find(b"\0", at)
        check(at < len(self.names) and end >= 0, "a name is not in its table of names")
        return self.names[at:end].decode("utf-8", "replace")

    def read_types(self):
        """The descriptors of types must be possible ones, or their slots would lie anywhere."""
        self.types, self.rows = {}, np.full(TYPE_IDS, -1, np.int32)
        for row, of in enumerate(self.types_part):
            number, size, items, item_size = (int(of[field]) for field in ("id", "size", "items", "item_size"))
            name = self.name(int(of["name"]))
            check(number < TYPE_IDS and self.rows[number] < 0, f"two types have the number {number}, or it is too large")
            words, item_words = size // 8, item_size // 8
            fixed = int(of["references"] | of["values"] | of["weak"] | of["ephemerons"] | (of["ephemerons"] << np.uint64(1)))
            possible = 8 <= size < 1 << 32 and items <= ITEMS_EPHEMERONS and item_size < 1 << 32 and fixed >> min(words, 64) == 0
            if items != ITEMS_NONE:
                possible &= item_size > 0 and of["length_offset"] % 8 == 0 and 8 <= int(of["length_offset"]) <= size - 8
            if items > ITEMS_BYTES:
                possible &= size % 8 == 0 and item_size == {ITEMS_STRUCTURES: item_words * 8, ITEMS_EPHEMERONS: 16}.get(items, 8)
            if items == ITEMS_STRUCTURES:
                possible &= int(of["item_references"] | of["item_values"]) >> min(item_words, 64) == 0
            check(possible, f"no type is as its type {shown(name)}")
            self.types[number], self.rows[number] = name, row

    def read_arenas(self):
        self.arena = self.arenas_part["index"].astype(np.int64)
        self.arena_bytes = self.arenas_part["pages"].astype(np.int64) * PAGE
        check(np.all(np.diff(self.arena) > 0) and np.all(self.arena_bytes <= ARENA) and int(self.arena_bytes.sum()) == self.heap_bytes,
              "its table of arenas is wrong")
        self.arena_start = self.objects_at + np.cumsum(self.arena_bytes) - self.arena_bytes

    # --- objects ---

    def words_at(self, places):
        """The words at places, which are numbers of bytes from the base."""
        check(len(self.arena) > 0 or len(places) == 0, "an object lies in no arena")
        if len(places) == 0:
            return np.empty(0, np.uint64)
        i = np.minimum(np.searchsorted(self.arena, places // ARENA), len(self.arena) - 1)
        inside = places % ARENA
        check(np.all((self.arena[i] == places // ARENA) & (inside < self.arena_bytes[i]) & (places % 8 == 0)),
              "an object, or a part of one, lies in no arena")
        return self.file[(self.arena_start[i] + inside) // 8]

    def read_objects(self):
        page, pages = (self.spans_part[field].astype(np.int64) for field in ("page", "pages"))
        check(np.all(pages > 0) and np.all(page[1:] >= page[:-1] + pages[:-1]), "two spans overlap")
        is_small = self.spans_part["size_class"] != NO_NUMBER
        words = self.spans_part["full_words"].astype(np.int64)
        is_full = words > 0
        check(np.all(is_small | ~is_full) and np.all(words <= pages * (PAGE // 8)), "a span is wrong")
        # Of a full span no bits are there: an object begins after each so many words.
        in_full = (pages * (PAGE // 8))[is_full] // words[is_full]
        check(int((in_full * words[is_full]).sum()) * 8 <= self.heap_bytes, "its spans are larger than the file")
        starts = np.repeat(page[is_full] * PAGE, in_full)
        order = np.arange(int(in_full.sum())) - np.repeat(np.cumsum(in_full) - in_full, in_full)
        full_places = starts + order * np.repeat(words[is_full] * 8, in_full)
        has_bits = is_small & ~is_full
        small, counts = page[has_bits], pages[has_bits]
        check(int(counts.sum()) * 8 == len(self.bits_part), "it has more or fewer allocation bits than spans")
        numbers = np.repeat(small - np.cumsum(counts) + counts, counts) + np.arange(int(counts.sum()))
        set_bits = np.flatnonzero(np.unpackbits(self.bits_part.view("u1"), bitorder="little"))
        self.places = np.sort(np.concatenate([full_places, numbers[set_bits // 512] * PAGE + set_bits % 512 * 8, page[~is_small] * PAGE]))
        self.read_sizes()

    def read_sizes(self):
        self.type_ids = (self.words_at(self.places) & np.uint64(0xFFFFFFFF)).astype(np.int64)
        check(np.all(self.type_ids < TYPE_IDS), "an object has an unknown type")
        self.row_of = self.rows[self.type_ids]
        check(np.all(self.row_of >= 0), "an object has an unknown type")
        column = lambda field: self.types_part[field].astype(np.int64)[self.row_of]
        has_items = column("items") != ITEMS_NONE
        self.lengths = np.zeros(len(self.places), np.int64)
        lengths = self.words_at((self.places + column("length_offset"))[has_items])
        check(np.all(lengths <= self.heap_bytes // np.maximum(column("item_size")[has_items], 1)), "an object is larger than the heap")
        self.lengths[has_items] = lengths.astype(np.int64)
        self.bytes = np.maximum((column("size") + self.lengths * column("item_size") + 7) // 8 * 8, 16)
        check(np.all(self.places[1:] - self.places[:-1] >= self.bytes[:-1]), "two objects overlap")
        check(int(self.bytes.sum()) <= self.heap_bytes, "its objects are larger than the heap")
        self.words_at(self.places + self.bytes - 8)
        self.objects = self.places

    def find(self, words, is_value):
        """The objects that words refer to; -1: none."""
        pairs, (pair_count, tag_set, payload_mask) = self.encoding[:8], self.encoding[8:]
        addresses, is_reference = words, words != 0
        if is_value:
            addresses = words & np.uint64(payload_mask)
            matches = np.zeros(len(words), bool)
            for mask, pattern in list(zip(pairs[::2], pairs[1::2]))[:pair_count]:
                matches |= words & np.uint64(mask) == np.uint64(pattern)
            is_reference = matches & (addresses != 0) & (np.uint64(tag_set) >> (words & np.uint64(7)) & np.uint64(1) != 0)
        places = (addresses - np.uint64(self.base)).view(np.int64)  # what lies below the base becomes negative or large
        index = np.minimum(np.searchsorted(self.places, places), max(len(self.places) - 1, 0))
        found = self.places[index] == places if len(self.places) else np.zeros(len(words), bool)
        # With plain references a word with a tag is no reference, where the type says that it is a value.
        check(np.all(found | ~is_reference | ((addresses & np.uint64(7) != 0) & (not is_value))), "a reference leads to no object")
        return np.where(is_reference & found, index, -1)

    def read_references(self):
        self.source, self.target = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
        for row, of in enumerate(self.types_part):
            objects = np.flatnonzero(self.row_of == row)
            values_are = bool(of["weak_values"])
            for is_value, bitmap in (False, of["references"]), (True, of["values"]), (values_are, of["ephemerons"] << np.uint64(1)):
                for bit in bits_of(bitmap):
                    self.add(objects, self.places[objects] + 8 * bit, is_value)
            self.add_items(of, objects, values_are)
        self.source, self.target = np.concatenate(self.source), np.concatenate(self.target)

    def add_items(self, of, objects, values_are):
        slots = {ITEMS_REFERENCES: [(0, False)], ITEMS_VALUES: [(0, True)], ITEMS_EPHEMERONS: [(1, values_are)],
                 ITEMS_STRUCTURES: [(bit, False) for bit in bits_of(of["item_references"])] +
                 [(bit, True) for bit in bits_of(of["item_values"])]}.get(int(of["items"]), [])
        if not slots:
            return
        counts = self.lengths[objects]
        holders = np.repeat(objects, counts)
        numbers = np.arange(len(holders)) - np.repeat(np.cumsum(counts) - counts, counts)
        items = self.places[holders] + int(of["size"]) + numbers * int(of["item_size"])
        for word, is_value in slots:
            self.add(holders, items + 8 * word, is_value)

    def add(self, holders, places, is_value):
        target = self.find(self.words_at(places), is_value)
        self.source.append(holders[target >= 0].astype(np.int32))
        self.target.append(target[target >= 0].astype(np.int32))

    # --- what it names ---

    def read_names(self):
        check(np.all(self.roots_part["kind"] <= 1), "a root is of an unknown kind")
        check(int(self.sets_part["count"].astype(object).sum()) == len(self.members_part), "its weak sets have other members than it has")
        self.named_roots = []
        for root in self.roots_part:
            target = int(self.find(root["word"].reshape(1), bool(root["kind"]))[0])
            self.named_roots.append((self.name(int(root["name"])), int(root["word"]), target))
        self.roots = [name for name, _, target in self.named_roots if target >= 0]
        self.root_target = np.array([target for _, _, target in self.named_roots if target >= 0], np.int32)
        self.sets = [(self.name(int(each["name"])), int(each["count"])) for each in self.sets_part]
        self.symbols = [self.name(int(at)) for at in self.symbols_part]

    def address(self, index):
        return self.base + int(self.places[index])

    def type_name(self, index):
        return self.types[int(self.type_ids[index])]

    @staticmethod
    def root_name(root):
        return f"root {root}"

    def describe(self, top):
        """What an image has that a dump has not."""
        largest = np.argsort(-self.bytes, kind="stable")[:top]
        return {
            "base": self.base,
            "named_roots": [{"name": name, "word": word, "type": self.type_name(target) if target >= 0 else None}
                            for name, word, target in self.named_roots],
            "weak_sets": [{"name": name, "members": count} for name, count in self.sets],
            "symbols": self.symbols,
            "largest": [{"type": self.type_name(i), "address": self.address(i), "bytes": int(self.bytes[i])} for i in largest],
        }
