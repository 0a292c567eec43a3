"""What the tests of cradle-report share: their two arguments, the Python of .venv, the tool's own modules and a browser."""

import importlib.util
import os
import shutil
import sys
import unittest
from pathlib import Path

PROGRAM, ROOT = (Path(argument).resolve() for argument in sys.argv[1:3])
REPORT = ROOT / "tools" / "cradle-report"
PYTHON = ROOT / ".venv" / "bin" / "python"  # where tools/setup puts Jinja2 and Playwright
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

if importlib.util.find_spec("playwright") is None and PYTHON.exists() and Path(sys.executable) != PYTHON:
    os.execv(PYTHON, [str(PYTHON), *sys.argv])
sys.path.insert(0, str(ROOT / "tools"))
sys.dont_write_bytecode = True


@unittest.skipIf(
    CHROMIUM is None or importlib.util.find_spec("playwright") is None,
    "the page is not tried in a browser: Chromium or Playwright is missing (tools/setup)",
)
class InBrowser(unittest.TestCase):
    """Opens pages in a headless Chromium and keeps what they say on the console or ask of the network."""

    @classmethod
    def setUpClass(cls):
        from playwright.sync_api import sync_playwright

        running = sync_playwright().start()
        cls.addClassCleanup(running.stop)
        # Chromium cannot use its sandbox when root runs it.
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        options = [
            *sandbox,
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ]
        cls.browser = running.chromium.launch(executable_path=CHROMIUM, args=options)
        cls.addClassCleanup(cls.browser.close)

    def opened(self, page, width=1400, scheme="light"):
        context = self.browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.addCleanup(context.close)
        tab = context.new_page()
        self.said = []
        tab.on("console", lambda message: self.said.append(message.text))
        tab.on("pageerror", lambda error: self.said.append(str(error)))
        tab.on(
            "request", lambda request: self.said.append(request.url) if not request.url.startswith("file:") else None
        )
        tab.goto(page.as_uri())
        return tab
