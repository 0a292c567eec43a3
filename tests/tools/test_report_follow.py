#!/usr/bin/env python3
"""Tests cradle-report --follow: logs that grow, in pieces that end anywhere, and that are emptied, replaced or never end.

    test_report_follow.py LOG_FORMS SOURCE_ROOT

LOG_FORMS is the built tests/log_forms. The page is tried in a headless Chromium, through Playwright; if one of these is missing, the
test says so.
"""

import importlib.util
import os
import pty
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from report_support import CHROMIUM, PROGRAM, REPORT

from cradle_report import live, measures, readers, tail, words  # noqa: E402

FORMS = ("text", "json")
PATIENCE = 60
FOLDER = tempfile.TemporaryDirectory()
PLACE = Path(FOLDER.name)


def run_of(name):
    """The folder of a run's logs."""
    folder = PLACE / name
    if not folder.exists():
        folder.mkdir()
        subprocess.run([PROGRAM, folder], check=True)
    return folder


def log_bytes(form, name="one"):
    return (run_of(name) / f"{form}.log").read_bytes()


def half_of(form):
    """As much of a log as a program has written in the middle of its run, and of a line."""
    whole = log_bytes(form)
    return whole[: len(whole) // 2]


def wait_until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {PATIENCE} s: {what}")
        time.sleep(0.02)


class Following:
    """A cradle-report that follows."""

    def __init__(self, *arguments, **more):
        self.process = subprocess.Popen([sys.executable, REPORT, "--follow", *map(str, arguments)], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, cwd=PLACE, **more)
        self.out = b""
        self.reader = threading.Thread(target=self._collect)
        self.reader.start()

    def _collect(self):
        while part := os.read(self.process.stdout.fileno(), 65536):
            self.out += part

    @property
    def text(self):
        return self.out.decode()

    def wait_for(self, pattern):
        wait_until(lambda: re.search(pattern, self.text) or self.process.poll() is not None, pattern)
        if not re.search(pattern, self.text):
            raise AssertionError(f"{pattern!r} is not in {self.text}\n{self.process.stderr.read().decode()}")

    def end(self):
        """(exit status, what it wrote, what it wrote on standard error)"""
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.reader.join()
        error = self.process.stderr.read().decode()
        self.process.stdout.close()
        self.process.stderr.close()
        return status, self.text, error

    def interrupt(self, number=signal.SIGINT):
        self.process.send_signal(number)
        return self.end()


class Follows(unittest.TestCase):
    def path(self, name):
        path = PLACE / f"{self.id().rsplit('.', 1)[1]}-{name}"
        self.assertFalse(path.exists())
        return path

    def has_totals_of(self, text, path):
        """The last lines of text are the totals, as the report has them."""
        heap = measures.heaps_of(readers.read(path))[0]
        summary = measures.summary_of(heap)
        told = {}
        for line in text[text.rindex(f"\nheap {heap.label}, "):].splitlines():
            if found := re.match(r"  (\S.*?) {2,}(\S.*?)(?: {2,}.*)?$", line):
                told[found[1]] = found[2]
        self.assertEqual(told["minor, major collections"], f"{summary.minors}, {summary.majors}")
        self.assertEqual(told["pauses"], str(summary.pauses))
        self.assertEqual(told["longest pause"], words.time(summary.longest))
        self.assertEqual(told["share of time in pauses"], words.percent(summary.gc_share))
        self.assertEqual(told["allocation"], f"{words.size(summary.allocated * 1e9 / summary.wall)}/s")
        self.assertEqual(told["promoted of the nursery"], words.percent(summary.survival))
        self.assertEqual(told["live after the last major"], words.size(summary.live))
        self.assertEqual(told["nursery"], words.size(summary.nursery))


class Files(Follows):
    def test_a_log_that_grows_in_pieces_is_followed(self):
        for form in FORMS:
            path, chance = self.path(form), random.Random(5)
            following = Following(path)
            following.wait_for("waiting for a log")
            whole, at = log_bytes(form), 0
            with open(path, "wb", buffering=0) as file:
                while at < len(whole):
                    size = chance.randrange(1, len(whole) // 20)
                    file.write(whole[at : at + size])
                    at += size
                    time.sleep(0.1)
                    if at > len(whole) // 2 > at - size:
                        following.wait_for(r"\d minor, \d+ major; pause p50 ")
            status, text, error = following.end()
            self.assertEqual((status, error), (0, ""))
            self.assertIn("freed\n", text)
            self.has_totals_of(text, run_of("one") / f"{form}.log")
            self.assertEqual(text.count("waiting for a log"), 1)

    def test_a_log_that_is_replaced_or_emptied_begins_anew(self):
        def replace(path, data):
            path.with_suffix(".new").write_bytes(data)
            os.replace(path.with_suffix(".new"), path)

        def write_again(path, data):
            path.write_bytes(data)  # the same file

        for form, anew in (("text", replace), ("json", write_again), ("json", replace)):
            path = self.path(f"{form}-{anew.__name__}")
            path.write_bytes(half_of(form))
            following = Following(path)
            following.wait_for(r"\d minor, ")
            anew(path, log_bytes(form, "two"))  # it is longer than what was read
            status, text, error = following.end()
            self.assertEqual((status, error), (0, ""))
            self.assertIn("another log begins\n", text)
            self.has_totals_of(text, run_of("two") / f"{form}.log")

    def test_a_log_that_is_emptied_and_shorter_begins_anew(self):
        path = self.path("log")
        path.write_bytes(log_bytes("json").rsplit(b"\n", 2)[0] + b"\n")  # all but the heap's end
        following = Following(path)
        following.wait_for(r"\d minor, ")
        path.write_bytes(b"")
        following.wait_for("another log begins")
        path.write_bytes(half_of("text"))
        following.wait_for(r"(?s)another log begins.*\d minor, ")
        status, text, error = following.interrupt()
        self.assertEqual((status, error), (0, ""))
        self.has_totals_of(text, self.file_of(half_of("text")))

    def file_of(self, data):
        path = self.path("expected")
        path.write_bytes(data[: data.rindex(b"\n") + 1])
        return path

    def test_an_interrupt_ends_with_the_totals(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            path = self.path(f"{number}")
            path.write_bytes(half_of("text"))
            following = Following(path)
            following.wait_for(r"\d minor, ")
            status, text, error = following.interrupt(number)
            self.assertEqual((status, error), (0, ""))
            self.assertNotIn("freed", text)
        self.has_totals_of(text, self.file_of(half_of("text")))
        following = Following(self.path("nothing"))
        following.wait_for("waiting for a log")
        status, text, error = following.interrupt()
        self.assertEqual((status, error.count("\n")), (1, 1))
        self.assertRegex(error, "no section of the collector was in it")

    def test_there_is_a_line_each_second(self):
        path = self.path("log")
        path.write_bytes(half_of("json"))
        following = Following(path)
        wait_until(lambda: following.text.count(" minor, ") >= 3, "three lines")
        self.assertNotIn("\x1b", following.interrupt()[1])

    def test_notes_are_shown_once_and_as_they_come(self):
        def note(text):
            return f'{{"t":{10**18},"heap":"1.1","event":"gc-note","text":"{text}"}}\n'

        path = self.path("log")
        head = '{"t":1,"heap":"1.1","event":"cradle-log","version":1}\n'
        path.write_text(head + note("one \\u001b[2J"))
        following = Following(path)
        following.wait_for(r"note after .*: one \\x1b\[2J\n")
        with open(path, "a", encoding="utf-8") as file:
            file.write(note("two"))
        following.wait_for("note after .*: two\n")
        before = following.text
        status, text, _ = following.interrupt()
        self.assertEqual((status, before.count(": one"), before.count(": two")), (0, 1, 1))
        self.assertEqual((text.count(": one"), text.count(": two")), (2, 2))  # in the totals, too

    def test_standard_input_is_followed(self):
        following = Following("-", stdin=subprocess.PIPE)
        half = half_of("json")
        following.process.stdin.write(half)
        following.process.stdin.flush()
        following.wait_for(r"\d minor, ")
        following.process.stdin.write(log_bytes("json")[len(half):])
        following.process.stdin.close()
        status, text, error = following.end()
        self.assertEqual((status, error), (0, ""))
        self.has_totals_of(text, run_of("one") / "json.log")

    def test_several_heaps_end_when_the_last_ends(self):
        path = self.path("log")
        path.write_bytes(log_bytes("json"))
        with open(path, "ab") as file:
            file.write(log_bytes("json", "two").rsplit(b"\n", 2)[0] + b"\n")
        following = Following(path)
        wait_until(lambda: following.text.count(" minor, ") >= 3, "three lines")
        with open(path, "ab") as file:
            file.write(log_bytes("json", "two").rsplit(b"\n", 2)[1] + b"\n")
        status, text, error = following.end()
        self.assertEqual((status, error), (0, ""))
        self.assertEqual(len(re.findall(r"^heap ", text, re.MULTILINE)), 1)

    def test_damage_is_reported_with_its_line(self):
        head = '{"t":1,"heap":"1.1","event":"cradle-log","version":1}\n'
        profile = '{"t":2,"heap":"1.1","event":"profile","interval_bytes":4,"seed":0}\n'
        for name, text, said in (
            ("damaged", head + "x\n", r":2: no JSON: Expecting value in 'x'\n"),
            ("ends", "[10] {gc-minor\n[20] gc-collect}\n", ":2: gc-collect ends inside gc-minor\n"),
            ("foreign", "line\n" * 30, ":21: no log of Cradle or PyPy: 'line'\n"),
            ("pypy", "[10] {gc-minor\n[20] gc-minor}\n", "a log of PyPy, which --follow cannot read\n"),
            ("profile", head + profile, "a profile, which --follow cannot read\n"),
        ):
            path = self.path(name)
            path.write_text(text)
            status, _, error = Following(path).end()
            self.assertEqual((status, error.count("\n")), (1, 1), error)
            self.assertRegex(error, said)

    def test_wrong_options_are_refused(self):
        for arguments, said in (
            (("log", "--trace", "x"), "--follow goes together with --html only"),
            (("log", "--compare", "x"), "--follow goes together with --html only"),
            (("log", "--speedscope", "x"), "--follow goes together with --html only"),
            (("log", "--html", "/dev/null"), "/dev/null is no file"),
        ):
            status, _, error = Following(*arguments).end()
            self.assertEqual(status, 2)
            self.assertIn(said, error)


class Terminal(Follows):
    def test_one_screen_is_refreshed(self):
        path = self.path("log")
        path.write_bytes(half_of("text"))
        main, other = pty.openpty()
        environment = {**os.environ, "COLUMNS": "70", "LINES": "12"}
        process = subprocess.Popen([sys.executable, REPORT, "--follow", path], stdout=other, stderr=subprocess.PIPE, env=environment)
        os.close(other)
        self.written = b""

        def collect():
            try:
                while part := os.read(main, 65536):
                    self.written += part
            except OSError:  # the other side is closed
                pass

        reader = threading.Thread(target=collect)
        reader.start()
        wait_until(lambda: self.written.count(b"\x1b[H") >= 2, "two screens")
        with open(path, "ab") as file:
            file.write(log_bytes("text")[len(half_of("text")):])
        self.assertEqual(process.wait(PATIENCE), 0)
        reader.join()
        os.close(main)
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()
        text = self.written.decode().replace("\r\n", "\n")
        begin, screens, totals = re.match(r"(?s)(.*?\x1b\[\?25l)(.*)\x1b\[\?25h\x1b\[\?1049l(.*)", text).groups()
        self.assertEqual(begin, "\x1b[?1049h\x1b[?25l")
        self.assertNotIn("\x1b", totals)
        self.has_totals_of(totals, run_of("one") / "text.log")
        for screen in screens.split("\x1b[H")[1:]:
            lines = screen.replace("\x1b[K", "").replace("\x1b[J", "").splitlines()
            self.assertLessEqual(len(lines), 11)
            self.assertLess(max(map(len, lines)), 70)
            self.assertIn("minor, major collections", screen)


class Page(Follows):
    def setUp(self):
        self.log, self.page = self.path("log"), self.path("page.html")
        self.log.write_bytes(half_of("json"))
        self.following = Following(self.log, "--html", self.page)
        wait_until(lambda: self.page.exists() or self.following.process.poll() is not None, "a page")
        if not self.page.exists():
            error = self.following.end()[2]
            if "needs Jinja2" in error:
                self.skipTest("the page is not tested: no Python here has Jinja2 (tools/setup)")
            self.fail(error)

    def minors(self, text):
        found = re.search(r'<th scope="row">minor collections</th><td>(\d+)', text)
        return found and int(found[1])

    def finish(self):
        with open(self.log, "ab") as file:
            file.write(log_bytes("json")[len(half_of("json")):])

    def test_the_page_grows_and_is_always_whole(self):
        seen = set()

        def look():
            text = self.page.read_text()
            self.assertTrue(text.endswith("</html>\n"), "a page is not whole")
            seen.add((self.minors(text), 'id="live"' in text))
            return text

        wait_until(lambda: look() and any(count for count, _ in seen), "a page with collections")
        self.finish()
        wait_until(lambda: look() and self.following.process.poll() is not None, "the end")
        text = look()
        self.assertEqual(self.following.end()[0], 0)
        counts = [count for count, grows in seen if grows]
        self.assertGreaterEqual(len(counts), 2, seen)
        summary = measures.summary_of(measures.heaps_of(readers.read(self.log))[0])
        self.assertEqual((self.minors(text), 'id="live"' in text), (summary.minors, False))
        self.assertNotIn("location.reload", text)
        self.assertEqual([one.name for one in PLACE.iterdir() if self.page.name in one.name], [self.page.name])
        # The last page is the one that the report makes.
        subprocess.run([sys.executable, REPORT, self.log, "--html", "plain.html"], check=True, cwd=PLACE, stdout=subprocess.DEVNULL)
        self.assertTrue((PLACE / "plain.html").read_text() == text)
        self.assertEqual(self.page.stat().st_mode, (PLACE / "plain.html").stat().st_mode)

    @unittest.skipIf(
        CHROMIUM is None or importlib.util.find_spec("playwright") is None,
        "the page is not tried in a browser: Chromium or Playwright is missing (tools/setup)",
    )
    def test_a_browser_shows_the_page_live(self):
        from playwright.sync_api import sync_playwright

        rows = """() => [...document.querySelectorAll("tr")].filter((row) => row.textContent.includes("minor collections")).
          map((row) => row.textContent)[0]"""
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            try:
                shown = browser.new_page()
                shown.goto(self.page.as_uri())
                shown.wait_for_function(f"() => (({rows})() || '').includes('nursery full')", timeout=PATIENCE * 1000)
                before = shown.evaluate(rows)
                shown.evaluate("cradleReport.charts[0].plot.setScale('x', {min: 1, max: 5})")
                shown.evaluate("window.isTheSame = true")
                self.finish()
                self.assertEqual(self.following.end()[0], 0)
                shown.wait_for_timeout(4000)
                self.assertTrue(shown.evaluate("window.isTheSame"))  # who looks closely is not disturbed
                self.assertEqual(shown.evaluate(rows), before)
                shown.evaluate("(({plot, whole}) => plot.setScale('x', {min: whole[0], max: whole[1]}))(cradleReport.charts[0])")
                shown.wait_for_function(f"() => ({rows})() !== {before!r}", timeout=PATIENCE * 1000)
                self.assertIsNone(shown.query_selector("#live"))
            finally:
                browser.close()

    def tearDown(self):
        if self.following.process.poll() is None:
            self.following.process.kill()
        self.following.process.wait()
        self.following.reader.join()
        for stream in (self.following.process.stdout, self.following.process.stderr):
            stream.close()


class Parts(unittest.TestCase):
    def test_percentiles_are_nearly_the_reports(self):
        chance = random.Random(3)
        lengths = live.Lengths()
        values = [round(chance.lognormvariate(11, 3)) for _ in range(5000)] + [0, 1, 2**40]
        for value in values:
            lengths.add(value)
        for share in (0.5, 0.9, 0.99, 0.999, 1):
            exact = measures.quantile(sorted(values), share)
            self.assertTrue(exact <= lengths.quantile(share) <= exact * 65 / 64, share)
        self.assertEqual(live.Lengths().quantile(0.5), 0)
        self.assertLess(len(lengths.counts), 64 * 64)

    def test_only_the_last_seconds_are_kept(self):
        heap = live.LiveHeap(readers.Section("gc-minor", "1.1", 0, 0, {}, None))
        for second in range(100):
            end = second * live.SECOND
            heap.add(readers.Section("gc-pause", "1.1", end, end, {"time_ns": second}, None))
        self.assertEqual([step.pause for step in heap.recent], list(range(90, 100)))
        self.assertEqual((heap.lately().pauses, heap.lately().p50, heap.lately().wall), (10, 94, 10 * live.SECOND))
        self.assertEqual((heap.so_far().pauses, heap.so_far().longest), (100, 99))

    def test_characters_and_lines_may_be_cut_anywhere(self):
        whole = "eins\r\nzwei \u00e4\u20ac\U0001f600\n\nrest".encode()
        for size in (1, 2, 3, 5, 100):
            lines = tail.Lines()
            told = [line for at in range(0, len(whole), size) for line in lines.add(whole[at : at + size])]
            self.assertEqual((told, lines.rest), (["eins", "zwei \u00e4\u20ac\U0001f600", ""], "rest"))

    def test_a_log_without_pauses_tells_none(self):
        heap = live.LiveHeap(readers.Section("gc-minor", "1.1", 0, 0, {}, None))
        heap.add(readers.Section("gc-minor", "1.1", 5, 9, {"promoted_bytes": 3}, None))
        told = dict(live.columns(heap.so_far()))
        self.assertEqual({told[name] for name in ("pause p50", "pause p99", "longest pause", "allocation")}, {words.NOT_KNOWN})
        self.assertNotIn("pause", live.line(heap))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
