"""One line on standard error that says how far a long run is, where that is a terminal; nothing elsewhere."""

import sys


def is_shown():
    return sys.stderr.isatty()


def show(text=""):
    """Replaces the line before. Without a text the line is removed: do so before anything else is printed."""
    if is_shown():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
