#!/usr/bin/env python3
"""Tests tools/cradle-pages against a program that stands in for one with a Cradle heap.

    cradle_pages.py CRADLE_PAGES PUBLISHER PROGRAM

PUBLISHER (tests/pages_publisher.c) reserves 32 MiB, commits 16 and touches 8. PROGRAM has a heap of
Cradle's, started from the environment, which makes it slower by the stress mode. A case that cannot run here says why.
"""

import contextlib
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

MIB = 1 << 20
RESERVED, COMMITTED, TOUCHED = 32 * MIB, 16 * MIB, 8 * MIB
NOBODY = 65534
THP = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")

tool, publisher, program = (str(pathlib.Path(word).resolve()) for word in sys.argv[1:4])
failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)
        print(f"WRONG: {what}")


def pages(*arguments, **more):
    """Runs the tool without the CRADLE_PAGES_FILE of this process."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CRADLE_")}
    return subprocess.run(
        [sys.executable, tool, *arguments], env=environment, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, **more
    )


@contextlib.contextmanager
def running(mode, **variables):
    """Runs a publisher until the block ends, and waits until it is ready."""
    with subprocess.Popen(
        [publisher, mode], env=dict(os.environ, **variables), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout.readline() == "ready\n", "the publisher did not start"
        yield child
        child.stdin.close()


def expect_rows(process, moment, mode):
    rows = [row for row in process[moment]["ranges"] if row["name"] == "arenas"]
    expect(len(rows) == 1, f"{mode}: one range named arenas, got {process[moment]['ranges']}")
    if not rows:
        return
    row = rows[0]
    expect(row["reserved"] == RESERVED, f"{mode}: {RESERVED} bytes reserved, got {row}")
    expect(row["committed"] == COMMITTED, f"{mode}: {COMMITTED} bytes committed, got {row}")
    expect(row["resident"] == TOUCHED, f"{mode}: {TOUCHED} bytes resident, got {row}")
    expect(row["exact"], f"{mode}: the figures are exact")
    expect(row["thp"] in ((0,) if mode == "small" else (0, TOUCHED)), f"{mode}: huge pages for all or none, got {row}")
    if mode == "huge" and row["thp"] == 0:
        print(f"the system gave no huge page ({THP.read_text().strip() if THP.exists() else 'it has none'}): not checked that they are seen")


def refuses(what, words, result):
    expect(result.returncode != 0, f"{what}: fails")
    expect(words in result.stderr, f"{what}: says '{words}', got {result.stderr!r}")
    expect("Traceback" not in result.stderr, f"{what}: no traceback")


SMAPS = """\
10000000-10400000 rw-p 00000000 00:00 0                          [anon:cradle arenas]
Rss:                2048 kB
AnonHugePages:      2048 kB
Private_Hugetlb:       0 kB
10400000-10800000 rw-p 00000000 00:0f 77                         /anon_hugepage (deleted)
Rss:                   0 kB
AnonHugePages:         0 kB
Private_Hugetlb:    4096 kB
10800000-12000000 ---p 00000000 00:00 0                          [anon:cradle arenas]
Rss:                   0 kB
20000000-20200000 rw-p 00000000 00:00 0                          [anon:cradle nursery]
Rss:                1024 kB
AnonHugePages:         0 kB
20200000-20400000 rw-p 00000000 00:00 0 
Rss:                2048 kB
AnonHugePages:      2048 kB
"""


def test_text():
    """Sample output of a kernel with names and a pool, because not every test machine has one."""
    loader = importlib.machinery.SourceFileLoader("cradle_pages_tool", tool)
    sys.dont_write_bytecode = True
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.modules[loader.name] = module
    loader.exec_module(module)
    mappings = module.parse_smaps(SMAPS)
    starts = [mapping.start for mapping in mappings]
    named = module.named_ranges(mappings)
    names = ["cradle arenas", "cradle arenas", "cradle nursery"]
    expect([name for _, _, name in named] == names, f"named mappings are found, got {named}")
    merged = module.merge([(0x10000000, 0x12000000, "arenas")], named)
    expect([name for _, _, name in merged] == ["arenas", "cradle nursery"], f"a published range takes its place, got {merged}")
    arenas, nursery = (module.measure(one, mappings, starts) for one in merged)
    got = tuple(arenas[key] // MIB for key in ("reserved", "committed", "resident", "thp", "pool"))
    expect(got == (32, 8, 6, 2, 4) and arenas["exact"], f"the pool's pages count as resident, got {arenas}")
    expect(nursery["resident"] == MIB and nursery["thp"] == 0, f"a nursery on small pages, got {nursery}")
    shared = module.measure((0x20200000, 0x20300000, "half"), mappings, starts)
    expect(shared["resident"] == MIB and not shared["exact"], f"half of a mapping is an upper bound, got {shared}")


def test_process(folder):
    for mode in ("huge", "small"):
        with running(mode, CRADLE_PAGES_FILE=f"{folder}/ranges.%d") as child:
            shown = json.loads(pages("--json", str(child.pid)).stdout)
            process = shown["processes"][0]
            expect(process["pid"] == child.pid and publisher in process["command"], f"{mode}: names the process, got {process}")
            expect_rows(process, "peak", mode)
            expect("enabled" in shown["system"]["now"]["thp"], f"{mode}: the system's side is there")
            table = pages(str(child.pid))
            expect(table.returncode == 0 and "arenas" in table.stdout and "total" in table.stdout, f"{mode}: a table, got {table}")
            expect("32.0 MiB" in table.stdout and "8.0 MiB" in table.stdout, f"{mode}: sizes in the table, got {table.stdout}")


def test_given_ranges(folder):
    """A process that publishes nothing, and a file beside it."""
    with running("silent") as child:
        path = pathlib.Path(folder) / "given"
        path.write_text("cradle-ranges 1\n1000-2000 nowhere\n")
        rows = json.loads(pages("--json", "--ranges", str(path), str(child.pid)).stdout)["processes"][0]["peak"]["ranges"]
        expect([row["resident"] for row in rows] == [0], f"a range without memory has none resident, got {rows}")
        for text, words in (("", "begins with ''"), ("cradle-ranges 2\n", "accepted is 'cradle-ranges 1'"), ("cradle-ranges 1\nhello\n", "line 2")):
            path.write_text(text)
            refuses(f"the ranges file {text!r}", words, pages("--ranges", str(path), str(child.pid)))
        path.write_bytes(b"cradle-ranges 1\n1000-2000 \xff\x1b[2J" + b"n" * 70000 + b"\n")
        table = pages("--ranges", str(path), str(child.pid))
        expect(table.returncode == 0 and r"\x1b[2Jnnn" in table.stdout, f"a name in no encoding, got {table}")
        expect("\x1b" not in table.stdout and len(table.stdout) < 5000, f"a name's control characters, got {table.stdout[:500]!r}")
        path.write_bytes(b"\xff\x1b\n")
        refuses("a ranges file of other bytes", "begins with", pages("--ranges", str(path), str(child.pid)))
        os.truncate(path, 6 << 30)
        refuses("a ranges file without end", "longer than 1048576 bytes", pages("--ranges", str(path), str(child.pid)))
        path.unlink()
        os.mkfifo(path)
        refuses("a pipe that nobody writes", "begins with ''", pages("--ranges", str(path), str(child.pid)))
        path.unlink()
        refuses("a ranges file that is not there", "No such file", pages("--ranges", f"{folder}/none", str(child.pid)))
        refuses("--ranges with a command", "not with a command", pages("--ranges", str(path), publisher, "silent"))


def test_command():
    waits = ["sh", "-c", f"sleep 0.5 | {publisher} huge"]
    result = pages("--json", "--interval", "0.05", *waits)
    shown = json.loads(result.stdout)
    expect(result.returncode == 0, f"a command: exit status 0, got {result}")
    expect("ready" in result.stderr, "a command: its output went to standard error")
    expect(len(shown["processes"]) == 1, f"a command: one process with a heap, got {shown['processes']}")
    for process in shown["processes"]:
        expect_rows(process, "peak", "huge")
        expect(process["looks"] >= 3, f"a command: looked at several times, got {process['looks']}")
    counters = [shown["system"][when]["counters"]["thp_fault_alloc"] for when in ("before", "after")]
    expect(None in counters or counters[1] >= counters[0], f"a command: counters before and after, got {counters}")
    table = pages(*waits)
    expect("before" in table.stdout and "with the most resident memory" in table.stdout, f"a command: a table, got {table.stdout}")
    failing = pages("sh", "-c", f"sleep 0.3 | {publisher} small; exit 7")
    expect(failing.returncode == 7, f"a command: its exit status, got {failing.returncode}")


def test_real_heap():
    result = pages("--json", "--interval", "0.02", "env", "CRADLE_STRESS=1", program)
    shown = json.loads(result.stdout)
    expect(result.returncode == 0, f"a program with a heap: exit status 0, got {result}")
    expect(len(shown["processes"]) == 1, f"a program with a heap: it was seen, got {shown['processes']}")
    for process in shown["processes"]:
        rows = {row["name"].removeprefix("cradle "): row for row in process["peak"]["ranges"]}
        expect({"nursery", "arenas", "metadata"} <= rows.keys(), f"a program with a heap: its three regions, got {rows.keys()}")
        for name, row in rows.items():
            expect(row["reserved"] >= row["committed"] >= row["resident"] >= 0, f"a program with a heap, {name}: reserved >= committed >= resident, got {row}")
        expect(any(row["resident"] > 0 for row in rows.values()), f"a program with a heap: something resident, got {rows}")


def test_refusals():
    refuses("no arguments", "wants the number of a process", pages())
    refuses("a PID that is not there", "there is no such process", pages("4194304"))
    refuses("a command that is not there", "No such file", pages("/no/such/program"))
    refuses("a command with a name of digits that are no number", "No such file", pages("\u00b2"))
    refuses("a number that is too long", "No such file", pages("1" * 90))
    refuses("a command's name with control characters", r"\x1b[2J", pages("/no/such/\x1b[2J"))
    refuses("an interval of 0", "accepted is a number of seconds", pages("--interval", "0", "true"))
    refuses("a command without a heap", "no Cradle heap was seen", pages("true"))
    with running("silent") as child:
        refuses("a process without a heap", "no Cradle heap", pages(str(child.pid)))
    with running("silent", CRADLE_PAGES_FILE="/no/such/folder/%d") as child:
        refuses("a process whose file is not there", "cannot be read", pages(str(child.pid)))


def test_not_ours():
    if os.geteuid() != 0:
        refuses("a process of root", "it belongs to", pages("1"))
        return
    # The tool is copied to a folder that every user may read.
    with tempfile.TemporaryDirectory() as folder, running("silent") as child:
        os.chmod(folder, 0o755)
        copy = pathlib.Path(folder) / "cradle-pages"
        copy.write_text(pathlib.Path(tool).read_text())
        shown = "cradle_show.py"
        (copy.parent / shown).write_text((pathlib.Path(tool).parent / shown).read_text())
        python = "/usr/bin/python3"
        if not pathlib.Path(python).exists():
            print(f"not checked that another user's process is refused: no {python} to run as another user")
            return
        result = subprocess.run([python, str(copy), str(child.pid)], user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, text=True)
        refuses("a process of another user", "it belongs to", result)


test_text()
with tempfile.TemporaryDirectory() as folder:
    test_process(folder)
    test_given_ranges(folder)
test_command()
test_real_heap()
test_refusals()
test_not_ours()
print(f"{len(failures)} wrong")
sys.exit(1 if failures else 0)
