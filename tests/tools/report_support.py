"""What the tests of cradle-report share: their two arguments, the Python of .venv, the tool's own modules and a browser."""

import importlib.util
import os
import shutil
import sys
from pathlib import Path

PROGRAM, ROOT = (Path(argument).resolve() for argument in sys.argv[1:3])
REPORT = ROOT / "tools" / "cradle-report"
PYTHON = ROOT / ".venv" / "bin" / "python"  # where tools/setup puts Jinja2 and Playwright
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

if importlib.util.find_spec("playwright") is None and PYTHON.exists() and Path(sys.executable) != PYTHON:
    os.execv(PYTHON, [str(PYTHON), *sys.argv])
sys.path.insert(0, str(ROOT / "tools"))
sys.dont_write_bytecode = True
