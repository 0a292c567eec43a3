#!/usr/bin/env python3
"""Checks tools/cradle-heap: its table, dominators and comparison of dumps whose graph is known, and that damaged dumps
are reported.

    test_cradle_heap.py TOOL DUMP_PROGRAM

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


def main():
    find_modules()
    tool, program = sys.argv[1:3]
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
        check_damage(tool, first, folder)
        check_no_end(tool, first, folder)
        check_names(tool, first, folder)
    print("cradle-heap: as it should be")


if __name__ == "__main__":
    main()
