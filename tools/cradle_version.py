"""The version that the installed tools print."""

import re
from pathlib import Path

HERE = Path(__file__).resolve().parent


def of_program(name):
    """What NAME --version prints. An installed tool has the number in a file beside it, one of the sources in meson.build."""
    installed = HERE / "version"
    text = installed if installed.exists() else HERE.parent / "meson.build"
    return f"{name} {re.search(r'[0-9]+[.][0-9]+[.][0-9]+', text.read_text(encoding='utf-8'))[0]}"
