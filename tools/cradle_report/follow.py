"""Shows a log while the program writes it: on the terminal's screen, or else as a line each second; and as a page."""

import os
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

from cradle_show import shown

from . import live, words
from .readers import COLOUR, STANDARD_INPUT, TEXT_FORM, Log, LogError, TextReader, reader_of
from .tail import FileTail, Lines, PipeTail

POLL_SECONDS = 0.2
REFRESH_SECONDS = 1
# A page is made again after so long, and after so many times what the last one took, so that making it leaves time for the rest.
PAGE_SECONDS = 3
PAGE_REST = 4
HEAPS_SHOWN = 4
ENTER_SCREEN, LEAVE_SCREEN = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
HOME, ERASE_LINE, ERASE_REST = "\x1b[H", "\x1b[K", "\x1b[J"


class Followed:
    """A log so far. keep: its sections are kept, for the page."""

    def __init__(self, path, keep):
        self.path = STANDARD_INPUT if path == "-" else path
        self.keep = keep
        self.tail = PipeTail() if path == "-" else FileTail(path)
        self.logs = 0  # which the file has held
        self._begin()

    def _begin(self):
        self.lines, self.reader, self.heaps, self.sections = Lines(), None, {}, []
        self.logs += 1

    def read(self):
        """Takes what was written since. Whether there was something."""
        is_new, data = self.tail.read()
        if is_new:
            self._begin()
        lines = self.lines.add(data)
        if lines:
            self._take([COLOUR.sub("", line) for line in lines])
        return is_new or bool(data)

    def _take(self, lines):
        if self.reader is None:
            self.reader = reader_of(self.path, lines)
        self.reader.feed(lines)
        fresh, log = self.reader.log.sections, self.reader.log
        if fresh and isinstance(self.reader, TextReader) and log.form != TEXT_FORM:
            raise LogError(f"{self.path}:1: a log of PyPy, which --follow cannot read")
        for section in fresh:
            if section.name == "profile":
                raise LogError(f"{self.path}: a profile, which --follow cannot read")
            heap = self.heaps.get(section.heap)
            if heap is None:
                heap = self.heaps[section.heap] = live.LiveHeap(section)
            heap.add(section)
        if self.keep:
            self.sections += fresh
        fresh.clear()

    def has_ended(self):
        """Whether the program has freed all heaps, or nothing can come any more."""
        return self.tail.has_ended or bool(self.heaps) and all(heap.has_ended for heap in self.heaps.values())

    def ordered(self):
        """The heaps, those that live and those with most pauses first."""
        return sorted(self.heaps.values(), key=lambda heap: (heap.has_ended, -heap.lengths.total))


def body(followed):
    """Lines about all heaps: the first in full."""
    heaps = followed.ordered()
    for heap in heaps[:1]:
        yield f"heap {shown(heap.label)}, {words.time(heap.wall)}{', freed' if heap.has_ended else ''}"
        yield f"  {'':28} {'so far':>16} {'last 10 s':>16}"
        for (name, whole), (_, part) in zip(live.columns(heap.so_far()), live.columns(heap.lately())):
            yield f"  {name:28} {whole:>16} {part:>16}"
        for name, value in live.memory(heap):
            yield f"  {name:28} {value:>16}"
        if heap.noted > len(heap.notes):
            yield f"  notes, the last of {heap.noted}:"
        for _, at, text in heap.notes:
            yield f"  note after {words.time(at)}: {shown(text, 1000)}"
    for heap in heaps[1:HEAPS_SHOWN]:
        yield shown(live.line(heap), 1000)
    if len(heaps) > HEAPS_SHOWN:
        yield f"{len(heaps) - HEAPS_SHOWN} more heaps are left out"


class Screen:
    """One screen of the terminal, written again and again."""

    def __init__(self):
        sys.stdout.write(ENTER_SCREEN)
        self.read_at = time.monotonic()

    def show(self, followed, news):
        now = time.monotonic()
        if news:
            self.read_at = now
        width, height = shutil.get_terminal_size()
        lines = [f"{shown(followed.path)}: {self._state(followed, now)}; Ctrl-C ends", "", *body(followed)]
        text = "".join(f"{line[:width - 1]}{ERASE_LINE}\n" for line in lines[:height - 1])
        sys.stdout.write(HOME + text + ERASE_REST)
        sys.stdout.flush()

    def _state(self, followed, now):
        if not followed.heaps:
            return "waiting for a log"
        quiet = int(now - self.read_at)
        return f"nothing new for {quiet} s" if quiet >= 2 else "follows"

    def close(self):
        sys.stdout.write(LEAVE_SCREEN)
        sys.stdout.flush()


class Scroll:
    """Lines, for an output that is no terminal."""

    def __init__(self):
        self.said = set()  # which is said once
        self.notes = {}  # how many of a heap were shown
        self.logs = 1

    def once(self, text):
        if text not in self.said:
            self.said.add(text)
            print(text, flush=True)

    def show(self, followed, news):
        if followed.logs != self.logs:
            self.logs = followed.logs
            self.notes.clear()
            print(f"{shown(followed.path)}: another log begins", flush=True)
        if not followed.heaps:
            self.once(f"{shown(followed.path)}: waiting for a log")
        for heap in followed.ordered()[:HEAPS_SHOWN]:
            for number, at, text in heap.notes:
                if number > self.notes.get(heap.label, 0):
                    print(f"{shown(heap.label)}  note after {words.time(at)}: {shown(text, 1000)}")
            self.notes[heap.label] = heap.noted
            if not heap.has_ended:
                print(shown(live.line(heap), 1000), flush=True)

    def close(self):
        pass


class LivePage:
    """The page, made again and again beside the rest. A browser that shows it loads it again."""

    def __init__(self, path, make):
        self.path = Path(os.path.realpath(path))
        self.make = make  # (log, whether it still grows) into the page's text
        self.thread = None
        self.taken = 0.0
        self.made_at = 0.0
        self.error = None

    def write(self, log, grows):
        """In place of the old one at once, so that no browser sees a part of it."""
        fresh = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            fresh.write_text(self.make(log, grows), encoding="utf-8")
            os.replace(fresh, self.path)
            self.error = None
        except OSError as error:
            fresh.unlink(missing_ok=True)
            self.error = f"{shown(self.path)}: {error.strerror}"

    def _write_and_time(self, log):
        began = time.monotonic()
        self.write(log, grows=True)
        self.made_at = time.monotonic()
        self.taken = self.made_at - began

    def update(self, followed):
        is_busy = self.thread is not None and self.thread.is_alive()
        if is_busy or time.monotonic() - self.made_at < max(PAGE_SECONDS, PAGE_REST * self.taken):
            return
        self.thread = threading.Thread(target=self._write_and_time, args=[log_of(followed)], daemon=True)
        self.thread.start()

    def finish(self, followed):
        if self.thread is not None:
            self.thread.join()
        self.write(log_of(followed), grows=False)


def log_of(followed):
    """The log so far, for the page: of its own, because the reader goes on."""
    if followed.reader is None:
        return Log(followed.path, "")
    log = followed.reader.log
    return Log(log.path, log.form, list(followed.sections), list(log.remarks), list(log.heads))


def watch(followed, view, page):
    """Until the log ends."""
    shown_at, news, quiet = 0.0, False, 0
    while True:
        fresh = followed.read()
        news |= fresh
        now = time.monotonic()
        if now - shown_at >= REFRESH_SECONDS:
            view.show(followed, news)
            # A heap may come after the end of all others, so a refresh without news must come first.
            quiet = 0 if news else quiet + 1
            shown_at, news = now, False
            if page is not None:
                page.update(followed)
            if followed.has_ended() and (quiet or followed.tail.has_ended):
                return
        if not fresh:
            time.sleep(POLL_SECONDS)


def print_totals(followed):
    print(f"{shown(followed.path)}: {followed.reader.log.form}")
    for text in body(followed):
        print(text)


def follow(path, page=None):
    """Follows until the end or Ctrl-C. What went wrong, in words, or None."""
    followed = Followed(path, keep=page is not None)
    fault = None
    if page is not None:
        page.write(log_of(followed), grows=True)
        if page.error:
            return page.error
    view = Screen() if sys.stdout.isatty() else Scroll()
    try:
        watch(followed, view, page)
    except KeyboardInterrupt:
        pass
    except LogError as error:
        fault = str(error)
    except OSError as error:
        fault = f"{followed.path}: {error.strerror}"
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # the next Ctrl-C does not wait for the page
        view.close()
        followed.tail.close()
    if page is not None:
        page.finish(followed)
        fault = fault or page.error
    if followed.heaps:
        print_totals(followed)
    return fault or (None if followed.heaps else f"{followed.path}: no section of the collector was in it")
