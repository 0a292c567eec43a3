#!/usr/bin/env python3
"""Tests cradle-report, and that a log says the same in all its forms.

    test_report.py LOG_FORMS SOURCE_ROOT

LOG_FORMS is the built tests/log_forms. tests/tools/test_report_page.py tests the page and comparisons.
"""

import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

PROGRAM, ROOT = (Path(argument).resolve() for argument in sys.argv[1:3])
REPORT = ROOT / "tools" / "cradle-report"
sys.path.insert(0, str(ROOT / "tools"))
sys.dont_write_bytecode = True

from cradle_report import measures, readers  # noqa: E402

FORMS = ("text", "json")
SECOND = 1_000_000_000

# PyPy's form: ticks of 2.5 GHz, free text, and other sections among those of the collector.
PYPY = """\
[1000] {gc-set-nursery-size
nursery size: 4194304
[1100] gc-set-nursery-size}
[2000] {jit-backend-counts
entry 0:12
[2010] jit-backend-counts}
[10000] {gc-minor
[10100] {gc-minor-walkroots
[10200] gc-minor-walkroots}
minor collect, total memory used: 9000000
number of pinned objects: 0
total size of surviving objects: 419430
time taken: 0.000100
[4d090] gc-minor}
[4d0a0] {gc-collect-step
starting gc state:  SCANNING
stopping, now in gc state:  MARKING
time taken: 0.000200
[c71c0] gc-collect-step}
[c7200] {gc-collect-done
arenas:               1 => 2
bytes raw-malloced:    10 => 20
next major collection threshold: 20000000
[c7300] gc-collect-done}
"""


def run_report(*arguments):
    return subprocess.run([sys.executable, REPORT, *map(str, arguments)], capture_output=True, text=True)


def facts(section):
    return (section.name, section.inside, section.begin, section.end)


class SameRun(unittest.TestCase):
    """One run of a heap, logged twice."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        subprocess.run([PROGRAM, cls.folder.name], check=True)
        cls.path = {form: Path(cls.folder.name) / f"{form}.log" for form in FORMS}
        cls.log = {form: readers.read(cls.path[form]) for form in FORMS}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_text_says_the_same(self):
        mine, other = self.log["json"].sections, self.log["text"].sections
        self.assertGreater(len(mine), 200)
        for one, two in zip(mine, other, strict=True):
            self.assertEqual(facts(one), facts(two))
            # The text form omits values that the line at the section's end already gives in other words.
            left_out = {"used_bytes"} if one.name == "gc-minor" else set()
            self.assertEqual({key: value for key, value in one.fields.items() if key not in left_out}, two.fields)

    def test_the_librarys_totals_are_the_reports(self):
        heap = measures.heaps_of(self.log["json"])[0]
        mine, told = measures.summary_of(heap), heap.ending
        self.assertEqual(mine.minors, told["minor_collections"])
        self.assertEqual(mine.majors, told["major_collections"])
        self.assertGreaterEqual(mine.majors, 4)
        self.assertEqual(mine.promoted, told["promoted_bytes"])
        # In the sections, large objects count with their rounding to pages.
        self.assertTrue(told["allocated_bytes"] <= mine.allocated <= told["allocated_bytes"] + 10 * 4096)
        self.assertEqual(mine.used_peak, told["used_peak_bytes"])
        self.assertEqual(mine.pauses, told["pauses"])
        self.assertEqual(mine.pause_total, told["pause_ns"])
        self.assertEqual(mine.longest, told["pause_max_ns"])
        for key, value in (("pause_p50_ns", mine.p50), ("pause_p90_ns", mine.p90), ("pause_p99_ns", mine.p99)):
            self.assertTrue(value <= told[key] <= value * 33 / 32 + 1, (key, value, told[key]))

    def test_the_size_classes_are_told(self):
        heap = measures.heaps_of(self.log["text"])[0]
        self.assertGreater(len(heap.spans), 0)
        for one in (section.fields for section in heap.spans):
            self.assertEqual(one["memory_bytes"], one["spans"] * one["span_bytes"])
            waste = one["memory_bytes"] - one["used_bytes"]
            self.assertAlmostEqual(one["waste_percent"], 100 * waste / one["memory_bytes"], delta=0.51)
            self.assertLessEqual(one["used_bytes"], one["spans"] * one["span_objects"] * one["object_bytes"])
        self.assertIn("in 1 size class, ", run_report(self.path["text"]).stdout)

    def trace(self):
        path = Path(self.folder.name) / "trace.json"
        self.assertEqual(run_report(self.path["json"], "--trace", path).returncode, 0)
        return json.loads(path.read_text())

    def test_each_section_is_in_the_trace(self):
        events = self.trace()
        for event in events:
            self.assertLessEqual({"name", "ph", "ts", "pid", "tid"}, set(event))
        told = sorted((one.name, round(one.begin / 1000, 2)) for one in self.log["json"].sections)
        self.assertEqual(sorted((one["name"], round(one["ts"], 2)) for one in events if one["ph"] in "iX"), told)
        self.assertEqual(sorted(one["ts"] for one in events), [one["ts"] for one in events])
        names = {one["name"] for one in events if one["ph"] == "C"}
        self.assertEqual(names, {"used bytes", "threshold bytes", "nursery bytes", "arenas committed", "arenas in use"})
        minors = [one.fields["used_after_bytes"] for one in self.log["json"].sections if one.name == "gc-minor"]
        self.assertLessEqual(set(minors), {one["args"]["value"] for one in events if one["name"] == "used bytes"})

    def test_pauses_and_major_collections_are_slices_of_the_trace(self):
        heap = measures.heaps_of(self.log["json"])[0]
        told = {"pause": [(round(pause.begin, -2), round(pause.end, -2)) for pause in heap.pauses],
                "major collection": [(round(begin.end, -2), round(end.end, -2)) for begin, end in zip(
                    (one for one in heap.majors if one.name == "gc-collect"), heap.done, strict=True)]}
        slices, began = {name: [] for name in told}, {}
        for event in self.trace():
            if event["ph"] == "b":
                self.assertNotIn(event["name"], began)  # they do not overlap each other
                began[event["name"]] = event
            elif event["ph"] == "e":
                begin = began.pop(event["name"])
                self.assertEqual({event["id"], begin["id"]}, {heap.label})
                self.assertEqual({event["cat"], begin["cat"]}, {"gc"})
                slices[event["name"]].append((round(begin["ts"] * 1000, -2), round(event["ts"] * 1000, -2)))
        self.assertEqual(began, {})
        self.assertEqual(slices, told)
        self.assertGreater(len(told["pause"]), 20)
        self.assertGreaterEqual(len(told["major collection"]), 4)

    def test_the_head_relates_ticks_to_time(self):
        head = json.loads(self.path["json"].read_text().splitlines()[0])
        self.assertEqual((head["clock"], head["tick_ns"]), ("CLOCK_MONOTONIC", 1))
        self.assertGreater(head["unix_ns"], 1_600_000_000 * SECOND)
        self.assertIn("\nseconds since 1970: ", self.path["text"].read_text())

    def test_the_summary_is_printed(self):
        for form in FORMS:
            result = run_report(self.path[form])
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertIn("What to look at first", result.stdout)
            self.assertIn("of the nursery survives; try a nursery of 128.00 KiB", " ".join(result.stdout.split()))

    def test_standard_input_is_read(self):
        for form in FORMS:
            from_file = run_report(self.path[form]).stdout
            result = subprocess.run([sys.executable, REPORT, "-"], input=self.path[form].read_bytes(), capture_output=True)
            self.assertEqual((result.returncode, result.stderr), (0, b""))
            self.assertEqual(result.stdout.decode(), from_file.replace(str(self.path[form]), "standard input"))
        result = subprocess.run([sys.executable, REPORT, "-", "--compare", self.path["json"]],
                                input=self.path["text"].read_bytes(), capture_output=True)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        result = run_report("-", "--compare", "-")
        self.assertEqual(result.returncode, 2)
        self.assertIn("only one of LOG, OTHER and PROFILE can be -", result.stderr)
        result = subprocess.run([sys.executable, REPORT, "-"], input=b"", capture_output=True)
        self.assertEqual((result.returncode, result.stderr), (1, b"cradle-report: standard input: the file is empty\n"))

    def test_every_truncation_is_survived(self):
        """A log cut at any place is read up to the cut or refused with the line number, never with a traceback."""
        cut = Path(self.folder.name) / "cut.log"
        chance = random.Random(7)
        for form in FORMS:
            whole = self.path[form].read_bytes()
            for _ in range(25):
                cut.write_bytes(whole[: chance.randrange(len(whole))])
                try:
                    log = readers.read(cut)
                    for heap in measures.heaps_of(log):
                        measures.summary_of(heap)
                except readers.LogError as error:
                    self.assertRegex(str(error), r"cut\.log(:\d+)?: ")

    def test_damage_is_survived(self):
        """A log with any bytes changed is read or refused with the line number, never with a traceback."""
        damaged = Path(self.folder.name) / "damaged.log"
        chance = random.Random(11)
        for form in FORMS:
            whole = self.path[form].read_bytes()[:60000]
            for _ in range(100):
                text = bytearray(whole)
                at = chance.randrange(len(text))
                text[at : at + chance.randrange(1, 4)] = bytes(chance.choice(b'0x"{}[],:-. \nz') for _ in range(2))
                damaged.write_bytes(text)
                try:
                    for heap in measures.heaps_of(readers.read(damaged)):
                        measures.summary_of(heap)
                except readers.LogError as error:
                    self.assertRegex(str(error), r"damaged\.log:\d+: ")

    def test_a_truncated_log_says_where(self):
        cut = Path(self.folder.name) / "cut.log"
        whole = self.path["text"].read_text()
        at = whole.index("memory before:", len(whole) // 2)
        cut.write_text(whole[:at])
        result = run_report(cut)
        self.assertEqual(result.returncode, 0, result.stderr)
        number = whole[:at].count("\n")
        self.assertIn(f"cut.log:{number}: the log ends inside gc-minor; read up to there", result.stdout)


class Threads(unittest.TestCase):
    """A run of a heap with a thread, which may help, or not: that depends on the machine."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        subprocess.run([PROGRAM, folder.name, "threads"], check=True)
        self.path = {form: Path(folder.name) / f"{form}.log" for form in FORMS}

    def test_text_says_the_same(self):
        mine, other = (readers.read(self.path[form]).sections for form in ("json", "text"))
        for one, two in zip(mine, other, strict=True):
            left_out = {"used_bytes"} if one.name == "gc-minor" else set()
            self.assertEqual({key: value for key, value in one.fields.items() if key not in left_out}, two.fields)

    def test_helpers_or_the_reason_are_told(self):
        heap = measures.heaps_of(readers.read(self.path["json"]))[0]
        told = [one.fields for one in heap.minors if "helpers" in one.fields or "alone" in one.fields]
        self.assertGreater(len(told), 10)
        self.assertTrue(all(("helpers" in one) != ("alone" in one) for one in told))
        self.assertEqual(told, [one.fields for one in heap.minors][-len(told):])  # from the thread's beginning on
        summary = measures.summary_of(heap)
        self.assertEqual(summary.helped, heap.ending["helped_collections"])
        self.assertEqual(summary.helped + sum(summary.alone.values()), len(told))
        self.assertEqual(summary.helped_bytes, heap.ending.get("helped_bytes", 0))
        self.assertEqual(summary.helped_ns, heap.ending.get("helped_ns", 0))


class Abort(unittest.TestCase):
    def test_what_was_written_can_be_read(self):
        with tempfile.TemporaryDirectory() as folder:
            result = subprocess.run([PROGRAM, folder, "abort"], capture_output=True)
            self.assertNotEqual(result.returncode, 0)
            for form in FORMS:
                path = Path(folder) / f"{form}.log"
                heap = measures.heaps_of(readers.read(path))[0]
                self.assertGreater(len(heap.minors), 100)


class Samples(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, text):
        path = Path(self.folder.name) / "some.log"
        path.write_text(text)
        return path

    def refused(self, text, words):
        path = self.file(text)
        result = run_report(path)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr, f"cradle-report: {path}:{words}\n")

    def test_pypys_log_is_read(self):
        log = readers.read(self.file(PYPY))
        heap = measures.heaps_of(log)[0]
        summary = measures.summary_of(heap)
        self.assertEqual((summary.minors, summary.majors, summary.pauses), (1, 1, 1))
        self.assertEqual(summary.nursery, 4194304)
        self.assertAlmostEqual(summary.survival, 0.1, places=5)
        self.assertAlmostEqual(heap.majors[0].end - heap.majors[0].begin, 200_000, delta=1000)
        self.assertIn("2.500 ticks a nanosecond", log.remarks[0])
        result = run_report(log.path)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("PyPy's log", result.stdout)

    def test_colours_are_passed_over(self):
        coloured = "".join(f"\x1b[1m\x1b[31m{line}\x1b[0m\n" for line in PYPY.splitlines())
        self.assertEqual(len(readers.read(self.file(coloured)).sections), 5)

    def test_what_a_log_lacks_is_not_known(self):
        minor = "[10] {gc-minor\n[20] gc-minor}\n[30] {gc-collect-done\n[40] gc-collect-done}\n"
        told = " ".join(run_report(self.file(minor)).stdout.split())
        for words in ("minor collections 1: causes not known", "major collections 1: causes not known", "allocated not known",
                      "promoted not known; the survival is not known", "memory used not known; live after the last major "
                      "collection: not known", "nursery not known"):
            self.assertIn(words, told)
        self.assertNotRegex(told, r"\b0 bytes")
        told = " ".join(run_report(self.file("[10] {gc-arena\narenas taken: 3\n[20] gc-arena}\n")).stdout.split())
        for words in ("pauses none in this log", "minor collections none in this log", "major collections none in this log"):
            self.assertIn(words, told)
        self.assertNotRegex(told, r"in pauses|utilisation|arenas 0|\b0 bytes at most")

    def test_a_profile_claims_nothing(self):
        profile = self.path_of_profile()
        result = run_report(profile)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        told = " ".join(result.stdout.split())
        self.assertIn("times only: the lines with values are missing", told)
        self.assertIn("allocated not known promoted not known; the survival is not known memory used not known", told)
        self.assertNotRegex(told, r"\b0 bytes|noted")

    def path_of_profile(self):
        """The text log of a run, without what its sections say."""
        marker = re.compile(r"\[[0-9a-f]+\] ")
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([PROGRAM, folder], check=True)
            lines = (Path(folder) / "text.log").read_text().splitlines(keepends=True)
        return self.file("Cradle log, format 1\n" + "".join(line for line in lines if marker.match(line)))

    def test_what_only_the_end_says_is_taken_from_there(self):
        end = ("Cradle log, format 1\n[10] {gc-heap-end\nminor collections: 9\nallocated bytes: 4096\npromoted bytes: 2048\n"
               "promoted objects: 7\n[20] gc-heap-end}\n")
        told = " ".join(run_report(self.file(end)).stdout.split())
        self.assertIn("allocated 4.00 KiB", told)
        self.assertIn("promoted 2.00 KiB in 7 objects", told)

    def test_major_collections_alone_tell_no_allocation(self):
        done = "[10] {gc-collect-done\nused: 9500 => 6400\n[20] gc-collect-done}\n"
        told = " ".join(run_report(self.file(done)).stdout.split())
        self.assertIn("allocated not known promoted not known", told)
        self.assertIn("memory used 9.28 KiB at most", told)

    def test_a_line_log_is_refused_in_a_sentence(self):
        head = "        0.000000  4711.1  cradle-log: format 1, process 4711\n"
        words = ("a line log (CRADLE_LOG=line:FILE), whose rounded figures are for people; cradle-report reads what "
                 "CRADLE_LOG=json:FILE or text:FILE writes")
        self.refused(head, f"1: {words}")
        self.refused("the program's\n" + head, f"2: {words}")

    def test_foreign_files_are_refused(self):
        self.refused("", " the file is empty")
        self.refused("one\ntwo\n", "2: no log of Cradle or PyPy: no section in it")
        self.refused("line\n" * 50, "21: no log of Cradle or PyPy: 'line'")
        self.refused('{"a": 1}\n', "1: no log of Cradle: '{\"a\": 1}'")
        self.refused("[10] {jit-log\n[20] jit-log}\n", "1: no section of the collector is in this log")

    def test_corrupt_lines_are_named(self):
        self.refused("[10] {gc-minor\n[20] gc-collect}\n", "2: gc-collect ends inside gc-minor")
        self.refused("[10] {gc-minor\n[20] gc-minor}\n[30] gc-minor}\n", "3: gc-minor ends outside of all sections")
        head = '{"t":1,"heap":"1.1","event":"cradle-log","version":1}\n'
        self.refused(head + "x\n" + head, "2: no JSON: Expecting value in 'x'")
        joined = "2: another log begins inside of this one: each is to be a file of its own"
        self.refused(head + "Cradle log, format 1\n" + head, joined)
        self.refused(head + head[:20] + head + head, joined)
        self.refused(head + '{"t":1}\n', "2: no 'event' in '{\"t\":1}'")
        self.refused(head + '{"t":2,"heap":"1.1","event":"gc-minor","time_ns":"x"}\n', "2: time_ns is no number: 'x'")
        self.refused("[10] {gc-minor\ntime taken: soon\n[20] gc-minor}\n", "2: time_ns is no number: 'soon'")
        self.refused(head + "[]\n" + head, "2: an object is expected, not '[]'")
        event = '{"heap":"1.1","event":"gc-minor",'
        self.refused(f'{head}{event}"t":-1}}\n', "2: a time out of range: -1")
        self.refused(f'{head}{event}"t":{10**400}}}\n', f"2: a time out of range: {str(10**400)[:40]}")
        self.refused(f'{head}{event}"t":2,"number":{10**400}}}\n', f"2: number is out of range: {str(10**400)[:40]}")
        self.refused(f'{head}{event}"t":2,"used_bytes":-1}}\n', "2: used_bytes is out of range: -1")
        self.refused(f'{head}{event}"t":2,"used_bytes":NaN}}\n', "2: used_bytes is out of range: nan")
        line = f'{event}"t":{"9" * 5000}}}'
        self.refused(f"{head}{line}\n{head}", f"2: no JSON: a number is too long in {line[:60]!r}")
        backwards = f'{event}"t":9,"phase":"begin"}}\n{event}"t":8,"phase":"end"}}\n'
        self.refused(head + backwards, "3: gc-minor of heap 1.1 ends before it begins")
        self.refused("[20] {gc-minor\n[10] gc-minor}\n", "2: gc-minor ends before it begins")
        minor = "[10] {gc-minor\nnumber: %s\n[20] gc-minor}\n"
        self.refused(minor % 10**30, f"2: number is out of range: {float(10**30)}")
        self.refused(minor % "-1", "2: number is out of range: -1.0")

    def test_a_measure_without_its_fields_is_passed_over(self):
        log = '[10] {gc-arena\nresident bytes: 4096\n[20] gc-arena}\n[30] {gc-minor\n[40] gc-minor}\n'
        result = run_report(self.file(log))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertNotIn("huge pages", result.stdout)

    def test_what_is_nested_deep_is_refused(self):
        head = '{"t":1,"heap":"1.1","event":"cradle-log","version":1}\n'
        for depth in (900, 990, 100000):
            nested = '{"t":2,"heap":"1.1","event":"x","y_bytes":' + "[" * depth + "]" * depth + "}\n"
            result = run_report(self.file(head + nested + head))
            self.assertEqual(result.returncode, 1)
            self.assertNotIn("Traceback", result.stderr)
            self.assertRegex(result.stderr, "nested too deep|is no number")

    def test_a_device_without_end_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "zero"
            path.write_bytes(b"\0")
            os.truncate(path, 6 << 30)  # it has no blocks
            result = run_report(path)
        self.assertEqual(result.returncode, 1)
        self.assertIn("a zero byte is in it", result.stderr)

    def test_a_log_that_grows_is_read_as_it_was(self):
        class Growing:
            """A file that is longer each time its size is read."""

            def __init__(self, file):
                self.file = file

            def __getattr__(self, name):
                return getattr(self.file, name)

            def __enter__(self):
                return self

            def __exit__(self, *_):
                self.file.close()

            def read(self, count=-1):
                with open(self.file.name, "ab") as more:
                    more.write(b"x" * 10000)
                return self.file.read(count)

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "log"
            path.write_text(PYPY)
            with unittest.mock.patch("builtins.open", lambda name, mode="r", **more: (
                    Growing(io.open(name, mode, **more)) if mode == "rb" else io.open(name, mode, **more))):
                self.assertEqual(readers.text_of(path), PYPY)

    def test_what_a_program_named_is_shown(self):
        name = "\x1b[2J\x1b]0;title\x07" + "n" * 70000
        head = {"t": 1, "heap": name, "event": "cradle-log", "version": 1}
        begin = {"t": 2, "heap": name, "event": "gc-minor", "phase": "begin", "cause": name}
        end = {"t": 3, "heap": name, "event": "gc-minor", "phase": "end", "promoted_bytes": 1}
        note = {"t": 4, "heap": name, "event": "gc-note", "text": name}
        lines = [json.dumps(one, separators=(",", ":")) for one in (head, begin, end, note, {**end, "t": 5, "event": name})]
        seen = ""
        for text in ("\n".join(lines[:4]), "\n".join(lines[:2] + lines[:1]), "\n".join(lines)):
            result = run_report(self.file(text + "\n"))
            self.assertNotIn("Traceback", result.stderr)
            told = result.stdout + result.stderr
            self.assertLess(len(told), 20000)
            self.assertNotIn("\x1b", told)
            self.assertNotIn("\x07", told)
            seen += told
        self.assertGreaterEqual(seen.count(r"\x1b[2J"), 3)

    def test_other_versions_are_refused(self):
        self.refused("[1] {cradle-log\nCradle log, format 9\n", "2: format 9; this cradle-report reads format 1")

    def test_a_missing_file_is_named(self):
        result = run_report(Path(self.folder.name) / "none.log")
        self.assertEqual(result.returncode, 1)
        self.assertIn("none.log: No such file or directory", result.stderr)

    def test_the_longest_pause_is_told(self):
        text = PYPY.replace("time taken: 0.000200", "time taken: 0.020000").replace("[c71c0]", "[30fa0a0]")
        text = text.replace("[c7200]", "[30fa100]").replace("[c7300]", "[30fa200]")
        self.assertIn("is a major collection", run_report(self.file(text)).stdout)

    def paused(self, *pauses):
        """The report on a log with these pauses: (nanoseconds, other members) of each, 0.1 s apart."""
        lines = ['{"t":0,"heap":"1.1","event":"cradle-log","format":"cradle-json","version":1}']
        for number, (length, members) in enumerate(pauses, 1):
            end = number * SECOND // 10
            lines.append(json.dumps({"t": end - length, "heap": "1.1", "event": "gc-minor", "phase": "begin", "cause": "nursery full"}))
            lines.append(json.dumps({"t": end, "heap": "1.1", "event": "gc-minor", "phase": "end", "nursery_used_bytes": 1000,
                                     "promoted_bytes": 300, "time_ns": length}))
            lines.append(json.dumps({"t": end, "heap": "1.1", "event": "gc-pause", "time_ns": length, **members}))
        return run_report(self.file("\n".join(lines) + "\n")).stdout

    def helped(self):
        """A log of three minor collections, each 10 us long: two helpers in the first, one in the second, none in the third."""
        said = ({"helpers": 2, "helped_objects": 8, "helped_bytes": 400, "helped_ns": 12000},
                {"helpers": 1, "helped_objects": 2, "helped_bytes": 100, "helped_ns": 5000}, {"alone": "little is promoted"})
        lines = ['{"t":0,"heap":"1.1","event":"cradle-log","format":"cradle-json","version":1}']
        for begin, fields in zip((10_000, 30_000, 50_000), said):
            lines.append(json.dumps({"t": begin, "heap": "1.1", "event": "gc-minor", "phase": "begin"}))
            lines.append(json.dumps({"t": begin + 10_000, "heap": "1.1", "event": "gc-minor", "phase": "end", "promoted_bytes": 1000, **fields}))
        return self.file("\n".join(lines) + "\n")

    def test_helpers_are_told(self):
        told = " ".join(run_report(self.helped()).stdout.split())
        self.assertIn("helpers in 2 collections, 16.67 % of the promoted bytes, 17.0 us of work; alone: 1 little is promoted", told)
        self.assertNotIn("helpers", run_report(ROOT / "tests" / "tools" / "busy_machine.jsonl").stdout)

    def test_times_to_stop_are_slices_of_the_trace(self):
        lines = ['{"t":0,"heap":"1.1","event":"cradle-log","format":"cradle-json","version":1}']
        for at, last in ((50_000, {"last": "reader"}), (90_000, {}), (150_000, {"last": "mutator 3"})):
            lines.append(json.dumps({"t": at, "heap": "1.1", "event": "gc-pause", "time_ns": 20_000, "stop_ns": 5000, **last}))
        trace = Path(self.folder.name) / "trace.json"
        self.assertEqual(run_report(self.file("\n".join(lines) + "\n"), "--trace", trace).returncode, 0)
        found = [(one["ph"], one["ts"], one["id"]) for one in json.loads(trace.read_text()) if one["name"] == "time to stop"]
        self.assertEqual(found, [("b", 25, "1.1/reader"), ("e", 30, "1.1/reader"), ("b", 125, "1.1/mutator 3"),
                                 ("e", 130, "1.1/mutator 3")])

    def test_helpers_are_slices_of_the_trace(self):
        trace = Path(self.folder.name) / "trace.json"
        self.assertEqual(run_report(self.helped(), "--trace", trace).returncode, 0)
        found = [(one["ph"], one["ts"], one["id"]) for one in json.loads(trace.read_text()) if one["name"] == "helpers"]
        self.assertEqual(found, [(phase, time, "1.1/helpers") for phase, time in (("b", 10), ("e", 16), ("b", 30), ("e", 35))])

    def test_a_pause_in_which_other_work_ran_is_called_that(self):
        told = " ".join(self.paused((1000, {"processor_ns": 900}), (40_000_000, {"processor_ns": 2_000_000, "preemptions": 3})).split())
        self.assertIn("The collector worked for 2.00 ms of it; for the rest, the system ran something else (it took the processor away 3 times)", told)
        self.assertIn("p99 2.00 ms, max 2.00 ms; in 1 pause the system ran something else", told)
        self.assertNotIn("smaller nursery", told)

    def test_a_log_of_a_busy_machine_gives_one_recommendation(self):
        """workloads tree-map, beside three endless loops on two processors: the pause of 39 ms is no fault of any setting."""
        told = run_report(ROOT / "tests" / "tools" / "busy_machine.jsonl").stdout
        words = " ".join(told.split())
        self.assertIn("2 pauses above it (2 interrupted by other work)", words)
        self.assertIn("p99 2.79 ms, max 2.79 ms; in 2 pauses the system ran something else", words)
        advice = words.split("What to look at first")[1]
        self.assertEqual(advice.count("- "), 1)
        self.assertIn("The longest pause, 39.41 ms, is a minor collection", advice)
        self.assertIn("(it took the processor away 1 time). A quiet machine shortens it, no setting.", advice)

    def test_what_other_work_took_is_not_blamed_on_the_collector(self):
        told = " ".join(self.paused((90_000_000, {"processor_ns": 2_000_000, "preemptions": 3})).split())
        self.assertIn("utilisation at worst 0.00 % in 1 ms, 0.00 % in 10 ms, 10.00 % in 100 ms", told)
        self.assertNotIn("worst tenth", told)
        self.assertIn("worst tenth", self.paused((90_000_000, {"processor_ns": 90_000_001, "preemptions": 0})))

    def test_no_pause_runs_for_longer_than_it_takes(self):
        told = " ".join(self.paused((2_000_000, {"processor_ns": 2_900_000})).split())
        self.assertIn("processor time of pauses p99 2.00 ms, max 2.00 ms", told)

    def test_a_pause_that_waited_is_not_called_interrupted(self):
        told = " ".join(self.paused((40_000_000, {"processor_ns": 2_000_000, "preemptions": 0})).split())
        self.assertIn("ran for only 2.00 ms of it and waited for the rest", told)
        self.assertNotIn("something else", told)

    def test_a_log_without_processor_time_says_so(self):
        told = " ".join(self.paused((3_000_000, {})).split())
        self.assertIn("processor time of pauses not known", told)
        self.assertIn("a smaller nursery (CRADLE_GC_NURSERY) shortens it, at the price of more collections, or the machine was busy "
                      "(the log has no processor time)", told)

    def test_a_nursery_that_grew_is_not_told_to_change(self):
        def size(t, now):
            return json.dumps({"t": t, "heap": "1.1", "event": "gc-set-nursery-size", "nursery_bytes": now})

        for sizes, wanted in (((4 << 20,), "try a nursery of 8.00 MiB"), ((4 << 20, 8 << 20), "the collector has already made it larger, 8.00 MiB in the end")):
            lines = ['{"t":0,"heap":"1.1","event":"cradle-log","format":"cradle-json","version":1}']
            lines += [size(number, now) for number, now in enumerate(sizes, 1)]
            for end in range(10_000_000, 100_000_000, 10_000_000):
                lines.append(json.dumps({"t": end - 5_000_000, "heap": "1.1", "event": "gc-minor", "phase": "begin"}))
                lines.append(json.dumps({"t": end, "heap": "1.1", "event": "gc-minor", "phase": "end", "nursery_used_bytes": 1000, "promoted_bytes": 300}))
                lines.append(json.dumps({"t": end, "heap": "1.1", "event": "gc-pause", "time_ns": 5_000_000, "processor_ns": 4_900_000}))
            told = " ".join(run_report(self.file("\n".join(lines) + "\n")).stdout.split())
            self.assertIn(wanted, told)
            self.assertNotIn("smaller nursery", told)

    def test_utilisation_against_every_window(self):
        chance = random.Random(3)
        pauses, time = [], 0
        for _ in range(60):
            time += chance.randrange(1, 400)
            pauses.append(measures.Pause(time, time + chance.randrange(1, 200), ["gc-minor"]))
            time = pauses[-1].end
        busy = [any(pause.begin <= at < pause.end for pause in pauses) for at in range(time)]
        for window in (50, 300, 1000):
            sums = sum(busy[:window])
            worst = sums
            for at in range(window, time):
                sums += busy[at] - busy[at - window]
                worst = max(worst, sums)
            self.assertAlmostEqual(measures.Utilisation(pauses).at(window), 1 - worst / window)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
