#!/usr/bin/env python3
"""Builds the manual and checks the pages that a reader sees.

    manual.py FOLDER ROOT
    manual.py --comments ROOT    only that every public name has a comment

Sphinx's warnings are errors. The contents of the pages are checked in the HTML written to FOLDER. A headless Chromium
opens the files to try the search and wide and narrow screens. Exits with 77 where the packages of
tools/python-tools.txt are missing.
"""

import html.parser
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import unittest
import urllib.parse
from pathlib import Path

SKIPPED = 77
FOLDER, ROOT = sys.argv[1], Path(sys.argv[2]).resolve()
BUILD = ROOT / "tools" / "cradle_manual" / "build.py"
PYTHON = ROOT / ".venv" / "bin" / "python"
NEEDED = ("sphinx", "myst_parser", "furo", "hawkmoth", "clang")
PUBLIC = re.compile(r"^(?:CRADLE_API|CRADLE_INLINE) [^;{(=]*?\b(cradle_\w+)\(", re.MULTILINE)
VARIABLE = re.compile(r"^\| `(CRADLE_\w+)` \|", re.MULTILINE)
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# How far a page, or its separately scrolling text, reaches beyond the visible area.
BEYOND = "Math.max(...[...document.querySelectorAll('html, .main, .content')].map(one => one.scrollWidth - one.clientWidth))"
# Blocks of code that scroll sideways, or would if the page did not break their lines. It may break those above 120 columns.
CUT_CODE = """[...document.querySelectorAll('article pre')].filter(block => {
  const cut = block.scrollWidth > block.clientWidth;
  block.style.whiteSpace = 'pre';
  const long = block.scrollWidth > block.clientWidth && Math.max(...block.innerText.split('\\n').map(line => line.length)) <= 120;
  block.style.whiteSpace = '';
  return cut || long;
}).map(block => block.innerText.slice(0, 40))"""
WIDE, NARROW = {"width": 1400, "height": 900}, {"width": 400, "height": 800}

if not all(importlib.util.find_spec(name) for name in NEEDED):
    if PYTHON.exists() and Path(sys.executable) != PYTHON:
        os.execv(PYTHON, [str(PYTHON), *sys.argv])
    print("Sphinx, MyST, Furo, Hawkmoth or libclang is missing: tools/setup manual installs them")
    sys.exit(SKIPPED)


class Page(html.parser.HTMLParser):
    """The anchors of a page, and the targets of its links and pictures."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.navigation = set(), [], []
        self.text = path.read_text(encoding="utf-8")
        self.feed(self.text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.ids.add(values.get("id"))
        link = values.get("href") if tag in ("a", "link") else values.get("src") if tag == "img" else None
        if link:
            self.links.append(link)
        if tag == "a" and "internal" in values.get("class", ""):
            self.navigation.append(link)

    def said_of(self, name):
        """The text of a name in the reference; names in one group share it."""
        entry = re.search(rf'id="c\.{name}".*?</dt>\s*(?:<dt.*?</dt>\s*)*<dd>(.*?)</dd>', self.text, re.DOTALL)
        return re.sub(r"<[^>]*>", "", entry[1]) if entry else ""


def setUpModule():
    made = subprocess.run([sys.executable, BUILD, FOLDER], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise AssertionError(f"the manual cannot be made:\n{made.stdout}{made.stderr}")


class Manual(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.html = Path(FOLDER).resolve() / "html"
        cls.pages = {str(path.relative_to(cls.html)): Page(path) for path in cls.html.rglob("*.html")}

    def test_every_page_and_header_is_in_the_navigation(self):
        wanted = {f"{path.relative_to(ROOT).with_suffix('.html')}" for path in (ROOT / "docs").rglob("*.md")}
        wanted.remove("docs/README.html")  # the front page
        wanted |= {f"reference/{path.stem}.html" for path in (ROOT / "include" / "cradle").glob("*.h")}
        led_to = {link.partition("#")[0] for link in self.pages["index.html"].navigation}
        self.assertGreater(len(wanted), 60)
        self.assertEqual(wanted - led_to, set())

    def test_every_public_function_has_its_place_and_its_words(self):
        count = 0
        for header in sorted((ROOT / "include" / "cradle").glob("*.h")):
            page = self.pages[f"reference/{header.stem}.html"]
            for name in PUBLIC.findall(header.read_text(encoding="utf-8")):
                self.assertIn(f"c.{name}", page.ids)
                self.assertRegex(page.said_of(name), r"\w+ \w+", name)
                count += 1
        self.assertGreater(count, 90)

    def test_the_classes_of_the_cpp_header_have_their_page(self):
        text = re.sub(r"<[^>]*>", "", self.pages["reference/cplusplus.html"].text)
        for name in ("failure", "slot", "value_slot", "weak_slot", "outside", "types", "heap", "mutator", "parked", "root", "items", "handle"):
            self.assertIn(f"cradle::{name}\n", text.replace("\u00b6", "\n").replace("#", "\n"), name)
        self.assertIn("static T *make(cradle_mutator *m, size_t count) CRADLE_MAY_COLLECT;", text)
        self.assertNotIn("CRADLE_FIELDS_", text)
        self.assertIn("../reference/cplusplus.html", self.pages["docs/cpp.html"].links)

    def test_functions_that_may_collect_say_so(self):
        for name, page, collects in (("cradle_new_with", "new", True), ("cradle_collect", "heap", True), ("cradle_store", "barrier", False)):
            self.assertEqual("May collect" in self.pages[f"reference/{page}.html"].said_of(name), collects, name)

    def test_fields_and_variables_have_places(self):
        self.assertIn("c.cradle_options.pause_ns", self.pages["reference/options.html"].ids)
        self.assertIn("c.cradle_event.u.minor.promoted_bytes", self.pages["reference/event.html"].ids)
        environment = (ROOT / "docs" / "environment.md").read_text(encoding="utf-8")
        self.assertEqual(set(VARIABLE.findall(environment)) - self.pages["docs/environment.html"].ids, set())

    def test_names_in_the_text_are_links(self):
        self.assertIn("../reference/barrier.html#c.cradle_store", self.pages["docs/embed.html"].links)
        self.assertIn("environment.html#CRADLE_GC_PAUSE", self.pages["docs/tuning.html"].links)

    def test_every_link_leads_somewhere(self):
        broken = []
        for name, page in self.pages.items():
            for link in page.links:
                address = urllib.parse.urlsplit(link)
                if address.scheme or name == "search.html":
                    continue
                target = os.path.normpath(os.path.join(os.path.dirname(name), address.path)) if address.path else name
                target = urllib.parse.unquote(target)
                anchor = urllib.parse.unquote(address.fragment)
                if not (self.html / target).exists():
                    broken.append(f"{name}: {link}")
                elif anchor and target in self.pages and anchor not in self.pages[target].ids:
                    broken.append(f"{name}: {link}: no such place")
        self.assertEqual(broken, [])

    def test_every_installed_tool_tells_its_use(self):
        build = (ROOT / "tools" / "meson.build").read_text(encoding="utf-8")
        tools = re.findall(r"'([\w-]+)'", re.search(r"foreach name : \[(.*?)\]", build)[1])
        self.assertIn("cradle-report", tools)
        for tool in tools:
            self.assertTrue(f"usage: {tool} [-" in self.pages["docs/tools.html"].text, tool)

    def test_nothing_comes_from_a_network(self):
        for name, page in self.pages.items():
            self.assertNotRegex(page.text, r"<(?:script|img|link rel=.stylesheet.)[^>]*(?:src|href)=.https?:", name)


@unittest.skipUnless(CHROMIUM and importlib.util.find_spec("playwright"), "Chromium or Playwright is missing")
class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        from playwright.sync_api import sync_playwright

        cls.html = Path(FOLDER).resolve() / "html"
        cls.playwright = sync_playwright().start()
        cls.browser = cls.playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.playwright.stop()

    def page(self, name, size, scheme="light"):
        page = self.browser.new_context(viewport=size, color_scheme=scheme).new_page()
        self.said = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        name, _, query = name.partition("?")
        page.goto(f"{(self.html / name).as_uri()}?{query}")
        return page

    def search(self, words):
        """The first address that a search on the front page finds."""
        page = self.page("index.html", WIDE)
        page.fill("input[name=q]", words)
        page.press("input[name=q]", "Enter")
        page.wait_for_selector("ul.search li a")
        page.wait_for_function("document.querySelector('#search-results h2, #search-results p') !== null")
        found = page.get_attribute("ul.search li a", "href")
        self.assertEqual(self.said, [])
        page.context.close()
        return found

    def test_search_finds_names_and_words(self):
        self.assertIn("reference/roots.html#c.cradle_root_range_add", self.search("cradle_root_range_add"))
        self.assertIn("reference/options.html#c.cradle_options.pause_ns", self.search("pause_ns"))
        self.assertIn("docs/environment.html#CRADLE_GC_PAUSE", self.search("CRADLE_GC_PAUSE"))
        self.assertIn("docs/jit.html", self.search("compiler emits generated"))
        self.assertIn("docs/concepts.html", self.search("root variable loop"))
        self.assertIn("docs/debugging-a-missing-root.html", self.search("stale pointer faults"))
        self.assertIn("docs/debugging-a-missing-root.html", self.search("segfault"))
        # Guides come before fields of that name, and before the reference.
        self.assertNotIn("#c.", self.search("pause"))
        self.assertIn("docs/pins.html", self.search("pin"))

    def test_hits_have_excerpts_and_guides_come_first(self):
        page = self.page("search.html?q=write+barrier", WIDE)
        page.wait_for_selector("ul.search li p.context mark")
        page.wait_for_function("!document.querySelector('#search-results h2').textContent.startsWith('Searching')")
        hits = page.evaluate("[...document.querySelectorAll('ul.search li')].map(one => [one.querySelector('a').getAttribute('href'),"
                             " one.querySelector('p.context')?.textContent ?? ''])")
        self.assertEqual(self.said, [])
        page.context.close()
        self.assertGreater(len(hits), 10)
        self.assertTrue(all(target.startswith("docs/") and re.search("write|barrier", text) for target, text in hits[:4]), hits[:4])
        self.assertIn("a reference into an object must be reported", hits[0][1])
        members = [text for target, text in hits if target.startswith("reference/") and "#c.cradle_write_barrier" in target]
        self.assertTrue(members and members[0].startswith("Tells the collector"), members)
        bare = [target for target, text in hits if not text]
        self.assertLess(len(bare), len(hits) / 4, bare)

    def test_no_page_scrolls_sideways(self):
        page = self.page("index.html", WIDE)
        faults = []
        for path in sorted([self.html / "index.html", *self.html.glob("docs/**/*.html"), *self.html.glob("reference/*.html")]):
            page.goto(path.as_uri(), wait_until="load")
            page.set_viewport_size(WIDE)
            faults += [f"{path.relative_to(self.html)}: code is wider than its place: {code}" for code in page.evaluate(CUT_CODE)]
            for size in (WIDE, NARROW):
                page.set_viewport_size(size)
                beyond = page.evaluate(BEYOND)
                if beyond > 0:
                    faults.append(f"{path.relative_to(self.html)} at {size['width']}: {beyond} pixels")
            lost = page.evaluate("[...document.images].filter(i => !(i.complete && i.naturalWidth)).map(i => i.src)")
            faults += [f"{path.relative_to(self.html)}: {source} is not shown" for source in lost]
        self.assertEqual(faults + self.said, [])
        page.context.close()

    def test_dark_and_light_follow_the_system(self):
        def brightness(name, scheme):
            page = self.page(name, NARROW, scheme)
            colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
            page.context.close()
            return sum(map(int, re.findall(r"\d+", colour)[:3]))

        for name in ("index.html", "reference/roots.html"):
            self.assertGreater(brightness(name, "light"), 700)
            self.assertLess(brightness(name, "dark"), 150)


if __name__ == "__main__":
    if FOLDER == "--comments":
        sys.exit(subprocess.run([sys.executable, BUILD], check=False).returncode)
    unittest.main(argv=sys.argv[:1], verbosity=1)
