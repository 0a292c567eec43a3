#!/usr/bin/env python3
"""Tests the flame graphs of cradle-report.

    test_report_flame.py LOG_FORMS SOURCE_ROOT

LOG_FORMS is the built tests/log_forms. The profile is made here, so that each figure is known. Pointing, zooming and searching are
tried in a headless Chromium, through Playwright. If one of these is missing, the test says so.
"""

import base64
import hashlib
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from report_support import PROGRAM, REPORT, InBrowser

from cradle_report import flame  # noqa: E402

KIB = 1024
HEAP = "1.1"
NAME = "<img src=x onerror=alert(2)></script>\x1b[2J\u202e'\"&" + "n" * 5000
MAIN, PARSE, EVAL, ODD = ["main", "vm.c", 1], ["parse", "vm.c", 12], ["eval", "vm.c", 31], [NAME, None, 0]
FOLDER = tempfile.TemporaryDirectory()
PLACE = Path(FOLDER.name)


def line(event, **fields):
    return {"t": 5, "heap": fields.pop("heap", HEAP), "event": event, **fields}


def samples(*told, heap=HEAP, first=1):
    """Lines of a profile: of each (frames, type, bytes, weight, survived), where None stands for a fate that is not known."""
    lines = []
    for number, (frames, kind, size, weight, survived) in enumerate(told, first):
        lines.append(line("sample", heap=heap, number=number, type_name=kind, bytes=size, weight_bytes=weight, same=0, frames=frames))
        if survived is not None:
            lines.append(line("fate", heap=heap, number=number, survived=int(survived)))
    return lines


def head(heap=HEAP):
    return [line("cradle-log", heap=heap, version=1), line("profile", heap=heap, interval_bytes=4096, seed=0)]


def write(name, lines):
    (PLACE / name).write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in lines))


KNOWN = [
    ([MAIN, PARSE], "pair", 24, 600 * KIB, False),
    ([MAIN, PARSE], "text", 64, 100 * KIB, True),
    ([MAIN, EVAL], "pair", 24, 200 * KIB, True),
    ([MAIN], "pair", 24, 100 * KIB, None),
]


def report(*arguments):
    return subprocess.run([sys.executable, REPORT, *map(str, arguments)], capture_output=True, text=True, cwd=PLACE, check=False)


def write_files():
    subprocess.run([PROGRAM, PLACE], check=True)
    write("known", head() + samples(*KNOWN))
    write("empty", head())
    write("hostile", head() + samples(([ODD, MAIN], NAME, 24, 900, True)))
    write("two", head() + samples(*KNOWN) + head("1.2") + samples(([MAIN], "pair", 24, 7 * KIB, True), heap="1.2"))
    many = [([MAIN, [f"f{i}", "vm.c", i]], "pair", 24, 100, True) for i in range(9000)]
    write("many", head() + samples(([MAIN, EVAL], "pair", 24, 100_000, True), *many))


class Flames(unittest.TestCase):
    def page_of(self, profile, *before):
        """The path of the page of a profile, or of the log before it with the profile."""
        page = PLACE / f"{profile}-{len(before)}.html"
        if not page.exists():
            result = report(*before, profile, "--html", page)
            if "needs Jinja2" in result.stderr:
                self.skipTest("the page is not tested: no Python here has Jinja2 (tools/setup)")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
        return page

    def trees(self, page):
        found = re.search(r'<script type="application/json" id="flames">(.*?)</script>', page.read_text(), re.DOTALL)
        return json.loads(found[1])


def below(node, *names):
    for name in names:
        node = next(one for one in node["c"] if one["n"] == name)
    return node


class Text(Flames):
    def test_the_tree_adds_up(self):
        [tree] = self.trees(self.page_of("known"))
        self.assertEqual(tree["v"], [1000 * KIB, 300 * KIB, 600 * KIB])
        parse = below(tree, "main", "parse")
        self.assertEqual((parse["v"], parse["at"], parse["k"]), ([700 * KIB, 100 * KIB, 600 * KIB], "vm.c:12", "function"))
        self.assertEqual(below(parse, "pair", "24 bytes")["v"], [600 * KIB, 0, 600 * KIB])
        self.assertEqual(below(tree, "main", "pair")["k"], "type")
        self.assertEqual(below(tree, "main", "pair", "24 bytes")["k"], "size")

        def check(node):
            if "c" in node:
                self.assertEqual([sum(values) for values in zip(*(one["v"] for one in node["c"]))], node["v"])
                for one in node["c"]:
                    check(one)

        check(tree)

    def test_small_frames_are_drawn_together(self):
        [tree] = self.trees(self.page_of("many"))
        main = below(tree, "main")
        self.assertEqual([one["n"] for one in main["c"]], ["eval", "(9000 smaller frames)"])
        self.assertEqual(main["c"][1]["v"], [900_000, 900_000, 0])
        self.assertGreater(flame.LEAST_SHARE * 1_000_000, 100)

    def test_the_page_says_who_allocates(self):
        text = self.page_of("known").read_text()
        for wanted in ("Allocation profile of heap 1.1", "4 samples, one in 4.00 KiB", "allocated: 1000.00 KiB", "survived: 300.00 KiB",
                       '<th scope="row">pair in parse</th><td>600.00 KiB</td><td>60.00 %</td><td>0.00 %</td>'):
            self.assertTrue(wanted in text, wanted)

    def test_the_page_needs_nothing_else(self):
        for page in (self.page_of("known"), self.page_of("known", "text.log", "--profile")):
            text = page.read_text()
            self.assertEqual(re.findall(r"\s(?:src|href)\s*=|@import|url\(|<link", text), [])
            script = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
            self.assertEqual(len(script), 1)
            self.assertTrue(f"'sha256-{base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()}'" in text)
            for wanted in ("Apache License", "Copyright 2010-2026 Mike Bostock", "d3-flame-graph 4.1.3", "d3-selection 3.0.1"):
                self.assertTrue(wanted in text, wanted)
        self.assertTrue("The MIT License" in text)
        self.assertFalse("flame" in self.page_of("text.log").read_text())

    def test_hostile_names_are_escaped_and_shortened(self):
        text = self.page_of("hostile").read_text()
        self.assertEqual([raw for raw in ("<img", "\x1b", "\u202e", "n" * 1100) if raw in text], [])

    def test_a_profile_without_samples_says_so(self):
        self.assertTrue("No sample is in this profile." in self.page_of("empty").read_text())

    def test_wrong_uses_are_refused(self):
        for arguments, words in ((("known", "--trace", "x"), "belong to a log"), (("known", "--profile", "known"), "belong to a log"),
                                 (("text.log", "--profile", "text.log"), "no profile of Cradle"),
                                 (("--follow", "text.log", "--profile", "known"), "--html only"),
                                 (("-", "--profile", "-"), "standard input has one file")):
            result = report(*arguments)
            self.assertNotEqual(result.returncode, 0, arguments)
            self.assertIn(words, result.stderr)

    def test_the_terminal_has_both(self):
        said = report("text.log", "--profile", "known").stdout
        self.assertIn("What to look at first", said)
        self.assertIn("pair in parse", said)


class Browser(InBrowser, Flames):
    def details(self, tab):
        return tab.locator(".details").first.inner_text()

    def frame(self, tab, name):
        return tab.locator(f'section[data-flame="0"] g[name="{name}"]').first

    def test_all_pages_are_drawn_without_errors(self):
        for profile, before, count in (("known", (), 1), ("hostile", (), 1), ("two", (), 2), ("many", (), 1), ("empty", (), 0),
                                       ("known", ("text.log", "--profile"), 1)):
            for width, scheme in ((1400, "light"), (400, "dark")):
                tab = self.opened(self.page_of(profile, *before), width, scheme)
                self.assertEqual(self.said, [], profile)
                self.assertEqual(tab.locator(".flame svg").count(), count, profile)
                self.assertLessEqual(tab.evaluate("document.documentElement.scrollWidth"), width, profile)
                self.assertEqual(tab.locator("canvas").count() > 0, bool(before))

    def test_a_frame_says_its_bytes(self):
        tab = self.opened(self.page_of("known"))
        self.frame(tab, "parse").hover()
        self.assertEqual(self.details(tab), "parse (vm.c:12): 700.00 KiB, 70.00 % of all; 14.29 % of it survived")
        tab.get_by_role("button", name="survived: 300.00 KiB").click()
        self.frame(tab, "parse").hover()
        self.assertEqual(self.details(tab), "parse (vm.c:12): 100.00 KiB, 33.33 % of all")

    def test_a_click_zooms_and_whole_goes_back(self):
        tab = self.opened(self.page_of("known"))
        width = "name => document.querySelector(`g[name=\"${name}\"] rect`).getBoundingClientRect().width"
        place = tab.locator(".flame svg").evaluate("svg => svg.clientWidth")
        tab.wait_for_function(f"share => ({width})('parse') > share", arg=0.69 * place)
        whole, parse, eval_ = (tab.evaluate(width, name) for name in ("all", "parse", "eval"))
        self.assertAlmostEqual(parse / eval_, 3.5, places=1)
        wide = f"share => ({width})('parse') > share"
        self.frame(tab, "parse").click()
        tab.wait_for_function(wide, arg=0.98 * whole)
        self.assertEqual(tab.locator('g[name="eval"]').count(), 0)
        tab.get_by_role("button", name="whole").click()
        tab.wait_for_function(f"share => ({width})('parse') < share", arg=0.75 * whole)
        self.assertEqual(tab.locator('g[name="eval"]').count(), 1)
        self.assertEqual(self.said, [])

    def test_the_search_adds_up_what_matches(self):
        tab = self.opened(self.page_of("known"))
        tab.get_by_label("search for a name").fill("PAIR")
        tab.mouse.move(1, 1)
        self.assertEqual(self.details(tab), "900.00 KiB in frames that match, 90.00 % of all")
        self.assertEqual(tab.locator('rect[fill="var(--found)"]').count(), 3)
        tab.get_by_label("search for a name").fill("(.*")
        self.assertIn("0 bytes in frames that match", self.details(tab))
        tab.get_by_label("search for a name").fill("")
        self.assertEqual(tab.locator('rect[fill="var(--found)"]').count(), 0)
        self.assertEqual(self.said, [])

    def test_the_graph_is_as_wide_as_its_place(self):
        tab = self.opened(self.page_of("known"))
        widths = "() => [document.querySelector('.flame svg').clientWidth, document.querySelector('.flame').clientWidth]"
        first = tab.evaluate(widths)
        self.assertEqual(first[0], first[1])
        tab.set_viewport_size({"width": 500, "height": 900})
        tab.wait_for_function(f"() => {{ const [svg, place] = ({widths})(); return svg === place && place < 500; }}")


if __name__ == "__main__":
    write_files()
    if getattr(Browser, "__unittest_skip__", False):
        print(Browser.__unittest_skip_why__)
    unittest.main(argv=sys.argv[:1])
