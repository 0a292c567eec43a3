#!/usr/bin/env python3
"""Checks tools/cradle-heap: its table, dominators and comparison of dumps whose graph is known, that an image is read like a dump of
the same heap, and that damaged dumps and images are reported.

    test_cradle_heap.py TOOL DUMP_PROGRAM [IMAGE_PROGRAM]

Needs numpy, scipy and igraph in this Python or in /usr/bin/python3; without them the test is skipped.
"""

import importlib.machinery
import importlib.util
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import types
from pathlib import Path

COUNT = 1000
NO_NUMBER, WORDS = 0xFFFFFFFF, (1 << 64) - 1
PAIR, OWN, SHARED, REGISTRY, LONG, LOST = 24, 32, 16 + 65536, 16 + 8 * COUNT, 16 + (1 << 20), 120


def find_modules():
    """Restarts this test with a Python that has the packages of the tool."""
    try:
        import igraph, numpy, scipy  # noqa: F401, E401
    except ImportError as error:
        if sys.executable != "/usr/bin/python3" and Path("/usr/bin/python3").exists():
            os.execv("/usr/bin/python3", ["/usr/bin/python3"] + sys.argv)
        print(f"skipped: {error.name} is not installed for {sys.executable}")
        sys.exit(77)


def run(tool, *arguments):
    return subprocess.run([sys.executable, tool, *map(str, arguments)], capture_output=True, text=True)


def run_json(tool, *arguments):
    result = run(tool, "--json", *arguments)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def load_module(tool):
    loader = importlib.machinery.SourceFileLoader("cradle_heap", str(tool))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("cradle_heap", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


def check_table(tool, first):
    report = run_json(tool, first)
    found = {row["type"]: (row["count"], row["bytes"]) for row in report["types"]}
    assert found == {
        "pair": (2 * COUNT + 1, (2 * COUNT + 1) * PAIR),
        "string": (COUNT + 3, COUNT * OWN + SHARED + LONG + LOST),
        "vector": (1, REGISTRY),
    }, found
    assert abs(sum(row["share"] for row in report["types"]) - 100) < 1e-6
    assert report["bytes"] == sum(size for _, size in found.values())
    assert report["unreachable"] == {"objects": 2, "bytes": PAIR + LOST}, report["unreachable"]
    assert report["references"] == COUNT + 2 * COUNT + (COUNT - 1) + 1 + 1, report["references"]


def check_dominators(tool, first):
    rows = run_json(tool, "--top", 3, first)["dominators"]
    chain, registry, shared = rows
    assert chain["type"] == "pair" and chain["held_by"] == "values [0]", chain
    assert chain["retained_bytes"] == COUNT * PAIR + LONG, chain
    assert registry["type"] == "vector" and registry["held_by"].startswith("global root [0]"), registry
    assert registry["retained_bytes"] == REGISTRY + COUNT * (PAIR + OWN) + SHARED, registry
    assert shared["type"] == "string" and shared["retained_bytes"] == SHARED, shared
    assert shared["held_by"] == f"vector at {registry['address']:#x}", shared
    text = run(tool, first).stdout
    for words in ("2 of them", "keeps alive", "values [0]", "1.1 MiB", "pair"):
        assert words in text, (words, text)


def check_comparison(tool, first, second):
    rows = {row["type"]: row for row in run_json(tool, "--compare", first, second)["types"]}
    assert rows["vector"]["count_change"] == 1 and rows["vector"]["bytes_change"] == REGISTRY
    assert rows["pair"]["count_change"] == COUNT - (COUNT - 1) - 1, rows["pair"]
    assert rows["string"]["bytes_change"] == COUNT * OWN + SHARED - LONG - LOST
    assert rows["type 3"]["count"] == 1, rows
    text = run(tool, "--compare", first, second).stdout
    assert "+1" in text and "type 3" in text and "-928.9 KiB" in text, text
    assert run(tool, "--compare", first).returncode == 2
    assert run(tool, first, second).returncode == 2


def check_types_of_one_name(module):
    import numpy as np
    dump = types.SimpleNamespace(types=["point", "line", "point"], type_ids=np.array([0, 2, 1, 2]), bytes=np.array([16, 24, 32, 24]))
    assert module.by_name(dump) == {"point": (3, 64), "line": (1, 32)}, module.by_name(dump)


def reachable(edges, count, without):
    seen, waiting = {0}, [0]
    while waiting:
        for target in edges[waiting.pop()]:
            if target not in seen and target != without:
                seen.add(target)
                waiting.append(target)
    return seen


def slow_dominators(edges, count):
    """Finds dominators by removing each node and collecting the nodes that become unreachable. A node's nearest
    dominator is the one that all its other dominators dominate."""
    all_reached = reachable(edges, count, None)
    dominates = {node: all_reached - reachable(edges, count, node) - {node} for node in all_reached if node != 0}
    nearest = {}
    for node in all_reached - {0}:
        above = [other for other in dominates if node in dominates[other]]
        nearest[node] = max(above, key=lambda other: sum(other in dominates[one] for one in above), default=0)
    return nearest


def check_random_graphs(tool):
    import numpy as np

    module = load_module(tool)
    random.seed(7)
    for case in range(150):
        count = random.choice([2, 3, 5, 9, 20, 40])
        edges = [[] for _ in range(count)]
        for node in range(1, count):  # a tree of a random shape, with many chains and leaves, and some more edges
            edges[random.choice([node - 1, random.randrange(node)])].append(node)
        for _ in range(random.choice([0, 1, 3, count])):
            edges[random.randrange(count)].append(random.randrange(1, count))
        source = np.array([node for node in range(count) for _ in edges[node]], np.int32)
        target = np.array([target for node in range(count) for target in edges[node]], np.int32)
        found = module.Reduction(count, source, target).run()
        wanted = slow_dominators(edges, count)
        assert {node: int(found[node]) for node in wanted} == wanted, (case, edges, found, wanted)
    parent = np.array([0] + [random.randrange(max(0, node - 50), node) for node in range(1, 5000)])
    values = np.arange(5000)
    sums = values.tolist()
    for node in range(4999, 0, -1):
        sums[parent[node]] += sums[node]
    assert module.subtree_sums(parent, values).tolist() == sums


def chunks_of(data):
    at = 64
    while at < len(data):
        tag, size = struct.unpack_from("<4sI", data, at)
        yield tag, at + 8, size
        at += 8 + size


def widened(data):
    """Rewrites a dump with positions of eight bytes."""
    header = bytearray(data[:64])
    struct.pack_into("<I", header, 12, 8)
    out = [bytes(header)]
    references = struct.unpack_from("<Q", data, len(data) - 24)[0]
    for tag, at, size in chunks_of(data):
        body = data[at : at + size]
        if tag == b"OBJS":
            body = b"".join(struct.pack("<QQQII", position, words, count, kind, 0)
                            for position, kind, words, count in struct.iter_unpack("<IIII", body))
        if tag == b"REFS":
            values = [value for (value,) in struct.iter_unpack("<I", body)][:references]
            references -= len(values)
            body = struct.pack(f"<{len(values)}Q", *values)
        out.append(struct.pack("<4sI", tag, len(body)) + body)
    return b"".join(out)


def check_wide(tool, first, folder):
    wide = folder / "wide.dump"
    wide.write_bytes(widened(first.read_bytes()))
    one, other = run_json(tool, first), run_json(tool, wide)
    del one["dump"], other["dump"]
    assert one == other


def check_mutators(tool, third):
    held = sorted(row["held_by"] for row in run_json(tool, "--top", 3, third)["dominators"])
    assert held == ["global root [0]", "shadow stack [0] of mutator 2", "shadow stack [0] of reader (mutator 1)"], held


def check_damage(tool, first, folder):
    data = first.read_bytes()
    places = {tag: (at, size) for tag, at, size in chunks_of(data)}

    def changed(at, new):
        return data[:at] + new + data[at + len(new) :]

    objects, references, roots, end = (places[tag][0] for tag in (b"OBJS", b"REFS", b"ROOT", b"END "))
    cases = {
        "its first bytes are not those of a heap dump": [b"", b"hello", changed(0, b"x")],
        "version 9": [changed(8, struct.pack("<I", 9))],
        "its positions have 5 bytes": [changed(12, struct.pack("<I", 5))],
        "its header contradicts itself": [changed(40, struct.pack("<Q", 1))],
        "there is no chunk at byte": [changed(64, b"XXXX")],
        "it is cut short": [data[:40], data[:70], data[:-1], data[: end - 8], data[:objects]],
        "something follows its end": [data + b"more"],
        "overlap": [changed(objects, struct.pack("<I", struct.unpack_from("<I", data, objects + 16)[0]))],
        "do not add up": [changed(objects + 8, struct.pack("<I", 99)), changed(objects + 12, struct.pack("<I", 99))],
        "an unknown type": [changed(objects + 4, struct.pack("<I", 77))],
        "an object lies beyond the heap": [changed(objects, struct.pack("<I", 0xFFFFFFFF))],
        "a reference leads out of the heap": [changed(references, struct.pack("<I", 0xFFFFFFFF))],
        "a reference leads to no object": [
            changed(references, struct.pack("<I", struct.unpack_from("<I", data, references)[0] + 1))],
        "a root leads out of the heap": [changed(roots, struct.pack("<Q", 1 << 60))],
        "a root is of an unknown kind": [changed(roots + 16, struct.pack("<I", 50))],
        "objects, but its totals say": [changed(end, struct.pack("<Q", 5))],
        "references, but its totals say": [changed(end + 8, struct.pack("<Q", 5))],
        "roots, but its totals say": [changed(end + 16, struct.pack("<Q", 5))],
    }
    module = load_module(tool)
    broken = folder / "broken.dump"
    for words, variants in cases.items():
        for number, variant in enumerate(variants):
            broken.write_bytes(variant)
            try:
                module.Dump(str(broken))
                raise AssertionError(f"not found: {words}, {number}")
            except module.Damaged as error:
                assert words in str(error), (words, number, error)
    result = run(tool, broken)
    assert result.returncode == 1 and result.stderr.startswith(f"cradle-heap: {broken} is damaged"), result.stderr
    missing = run(tool, folder / "none")
    assert missing.returncode == 1 and "No such file" in missing.stderr
    random.seed(8)
    for _ in range(300):  # whatever is damaged, the dump is read or Damaged is raised
        at = random.choice([random.randrange(64), random.randrange(64, 400), random.randrange(len(data) - 100, len(data)),
                            random.randrange(len(data))])
        broken.write_bytes(changed(at, bytes([random.randrange(256)])))
        try:
            module.Dump(str(broken))
        except (module.Damaged, MemoryError):
            pass


def check_no_end(tool, first, folder):
    """A file that is not a dump is refused at once; an endless dump is refused when it exceeds the memory."""
    endless = folder / "endless"
    endless.write_bytes(b"\0")
    os.truncate(endless, 6 << 30)  # it has no blocks
    result = run(tool, endless)
    assert result.returncode == 1 and "its first bytes are not those of a heap dump" in result.stderr, result.stderr
    module = load_module(tool)
    module.os.sysconf = lambda name: 1000
    try:
        module.Dump(str(first))  # of less than 1,000,000 bytes: it is read
        module.os.sysconf = lambda name: 100
        module.Dump(str(first))
        raise AssertionError("no end was found")
    except module.Damaged as error:
        assert "larger than this machine's memory, 10000 bytes" in str(error), error
    finally:
        module.os.sysconf = os.sysconf


def check_names(tool, first, folder):
    """The names of types come from the program and may hold any character."""
    data, at = first.read_bytes(), 0
    out = data[:64]
    name = b"\x1b[2J\n\xff" + b"n" * 70000
    for tag, at, size in chunks_of(data):
        chunk = data[at : at + size]
        if tag == b"TYPE" and chunk[8:12] == b"pair":
            chunk = chunk[:4] + struct.pack("<I", len(name)) + name + bytes(-len(name) % 8)
        out += tag + struct.pack("<I", len(chunk)) + chunk
    bad = folder / "\x1b[31mbad.dump"
    bad.write_bytes(out)
    for arguments in (bad,), ("--compare", first, bad):
        result = run(tool, *arguments)
        assert result.returncode == 0, result.stderr
        assert "\x1b" not in result.stdout
        assert r"\x1b[2J\n" in result.stdout and r"\x1b[31mbad.dump" in result.stdout, result.stdout[:1000]
        assert len(result.stdout) < 40000, len(result.stdout)


# --- images ---


def check_image(tool, folder):
    """An image and a dump of the same heap say the same, but for what a trace callback visits and the roots' names."""
    image, dump = run_json(tool, folder / "all.image"), run_json(tool, folder / "all.dump")
    more = image.pop("image")
    for field in ("format", "version", "objects", "bytes", "types"):
        assert image[field] == dump[field], (field, image[field], dump[field])
    assert image["references"] == dump["references"] - 1, (image["references"], dump["references"])
    kept = lambda report: [(row["type"], row["address"], row["bytes"], row["retained_bytes"]) for row in report["dominators"]]
    assert len(kept(dump)) > 3 and kept(image) == kept(dump), (image["dominators"], dump["dominators"])
    assert image["dominators"][0]["held_by"] == "root all\x1b[2J" and image["roots"] == 1
    assert image["unreachable"] == {"objects": 0, "bytes": 0}, image["unreachable"]
    assert [(root["name"], root["type"]) for root in more["named_roots"]] == [("all\x1b[2J", "vector"), ("number", None)], more
    assert more["named_roots"][0]["word"] == image["dominators"][0]["address"] and more["named_roots"][1]["word"] == 57
    assert more["weak_sets"] == [{"name": "set", "members": 200}] and more["symbols"] == ["twice", "text"], more
    assert more["base"] % (2 << 20) == 0 and more["base"] <= min(row["address"] for row in more["largest"])
    assert (more["largest"][0]["type"], more["largest"][0]["bytes"]) == ("vector", 16 + 8 * 400000) and len(more["largest"]) == 20
    table = run(tool, folder / "all.image")
    assert table.returncode == 0 and "\x1b" not in table.stdout and not table.stderr, table.stderr
    for words in (r"all\x1b[2J", "vector", "set", "200", "largest", "3.1 MiB", "no object"):
        assert words in table.stdout, (words, table.stdout)
    compared = run_json(tool, "--compare", folder / "all.dump", folder / "all.image")
    assert compared["bytes_change"] == 0 and all(row["count_change"] == 0 for row in compared["types"])


class ImageFile:
    """An image that a test damages: changed() gives a copy with other bytes at a place, whose checksum of tables is right again."""

    def __init__(self, module, path):
        self.module, self.data = module, path.read_bytes()
        self.objects_at, = struct.unpack_from("<Q", self.data, 40)
        header = module.HEADER.unpack_from(self.data)
        self.parts = dict(zip(module.PARTS, zip(header[-30::2], header[-29::2])))

    def changed(self, at, new, summed=True):
        data = bytearray(self.data)
        data[at : at + len(new)] = new
        if summed:
            total = 0
            for (word,) in struct.iter_unpack("<Q", data[self.module.SUMMED_FROM : self.objects_at]):
                total = (total ^ word) * self.module.FACTOR & self.module.WORD
                total ^= total >> 32
            struct.pack_into("<Q", data, 24, total)
        return bytes(data)

    def part(self, name, offset, form, *numbers):
        return self.changed(self.parts[name][0] + offset, struct.pack(form, *numbers))


def check_image_damage(tool, folder):
    image_module = load_module(tool).cradle_image
    file = ImageFile(image_module, folder / "all.image")
    data, word, parts = file.data, file.part, file.parts
    first_type, type_bytes = parts["types"][0], 8 + 17 * 8
    vector = next(i for i in range(parts["types"][1]) if struct.unpack_from("<Q", data, first_type + i * type_bytes + 16)[0] == 2)
    small = next(i for i in range(parts["spans"][1]) if struct.unpack_from("<Q", data, parts["spans"][0] + 16 * i + 8)[0] != NO_NUMBER)
    in_vector = lambda field, number: word("types", vector * type_bytes + 8 + 8 * field, "<Q", number)
    objects = lambda offset, *words: file.changed(file.objects_at + offset, struct.pack(f"<{len(words)}Q", *words))
    cases = {
        "it is cut short at byte 100, in its header": [data[:100]],
        "it has version 9": [file.changed(8, struct.pack("<I", 9))],
        "another order of bytes": [file.changed(16, struct.pack(">Q", image_module.ORDER))],
        "it is cut off": [data[:-8], data[: file.objects_at], data + b"more", data[:2000]],
        "its tables do not have their checksum": [file.changed(first_type, b"\xff", summed=False)],
        "its objects are not where they must be": [file.changed(40, struct.pack("<Q", n)) for n in (0, 8, 1 << 63)],
        "no heap can have had its address": [file.changed(144, struct.pack("<Q", n)) for n in (0, 12345, 1 << 60)],
        "its table of types is not where it must be": [file.changed(168, struct.pack("<QQ", *pair)) for pair in ((8, 1), (408, 1 << 60))],
        "its table of arenas is not where": [file.changed(176, struct.pack("<Q", parts["types"][1] - 1))],
        "a name is not in its table of names": [word("types", 0, "<I", 1 << 30), word("roots", 0, "<I", 1 << 31),
                                                word("sets", 0, "<Q", WORDS)],
        "have the number": [word("types", 4, "<I", 1 << 25),
                            word("types", 4, "<I", struct.unpack_from("<I", data, first_type + type_bytes + 4)[0])],
        "no type is as its type vector": [in_vector(0, 0), in_vector(0, 1 << 40), in_vector(1, 9), in_vector(2, 0), in_vector(2, 1 << 62),
                                          in_vector(3, 4), in_vector(3, 1 << 50), in_vector(4, 1 << 5), in_vector(7, 2), in_vector(0, 17)],
        "its table of arenas is wrong": [word("arenas", 0, "<I", 99), word("arenas", 4, "<I", 0), word("arenas", 4, "<I", 1 << 31)],
        "two spans overlap": [word("spans", 4, "<I", 0), word("spans", 4, "<I", 1 << 31)],
        "allocation bits than spans": [word("spans", 16 * small + 8, "<Q", NO_NUMBER)],
        "lies in no arena": [word("spans", 16 * (parts["spans"][1] - 1), "<I", 1 << 30)],
        "an object has an unknown type": [objects(0, 12345678), objects(0, 0xFFFFFFFF)],
        "a reference leads to no object": [word("roots", 8, "<Q", 8)],
        "a root is of an unknown kind": [word("roots", 4, "<I", 7)],
        "its weak sets have other members": [word("sets", 8, "<Q", 1 << 63)],
    }
    broken = folder / "broken.image"
    for words, variants in cases.items():
        for number, variant in enumerate(variants):
            broken.write_bytes(variant)
            try:
                image_module.Image(str(broken))
                raise AssertionError(f"not found: {words}, {number}")
            except image_module.Damaged as error:
                assert words in str(error), (words, number, error)
    result = run(tool, broken)
    assert result.returncode == 1 and result.stderr.startswith(f"cradle-heap: {broken} is damaged or not a heap image: "), result.stderr
    read = image_module.Image(str(folder / "all.image"))
    arena_end = int(read.arena[-1]) * image_module.ARENA + int(read.arena_bytes[-1])
    assert len(read.words_at(read.places)) == len(read.places) and len(read.words_at(read.places[:0])) == 0
    for place in (arena_end, -8, 4, (int(read.arena[-1]) + 1) * image_module.ARENA, 1 << 62):
        try:
            read.words_at(read.places[:1] * 0 + place)
            raise AssertionError(f"not found: a word at {place:#x}")
        except image_module.Damaged as error:
            assert "lies in no arena" in str(error), error
    random.seed(9)
    places = lambda: random.choice([random.randrange(408), random.randrange(408, parts["bits"][0]), random.randrange(408, file.objects_at),
                                    file.objects_at + random.randrange(64 << 10), random.randrange(len(data))])
    for _ in range(150):  # whatever is damaged, the image is read or Damaged is raised
        at = places()
        broken.write_bytes(file.changed(at, random.choice([bytes([random.randrange(256)]), b"\xff" * 8, bytes(8)])[: len(data) - at]))
        try:
            read = image_module.Image(str(broken))
            read.describe(5)
        except image_module.Damaged:
            pass


def main():
    find_modules()
    tool, program, *image_program = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([program, folder], check=True)
        first, second = folder / "first.dump", folder / "second.dump"
        check_table(tool, first)
        check_dominators(tool, first)
        check_comparison(tool, first, second)
        check_wide(tool, first, folder)
        check_types_of_one_name(load_module(tool))
        check_random_graphs(tool)
        check_mutators(tool, folder / "third.dump")
        check_damage(tool, first, folder)
        check_no_end(tool, first, folder)
        check_names(tool, first, folder)
        if image_program:
            subprocess.run([image_program[0], folder], check=True)
            check_image(tool, folder)
            check_image_damage(tool, folder)
    print("cradle-heap: as it should be")


if __name__ == "__main__":
    main()
