"""Logs into sections: Cradle's text and JSON lines, and PyPy's PYPYLOG.

Whatever the form, a log becomes a list of sections with the names and units of the JSON form, in
the order in which they ended.
"""

import json
import os
import re
import stat
from dataclasses import dataclass, field

VERSION = 1
# A log shows in its first lines what it is.
HEAD_LINES = 20
# Fields whose names end so are numbers.
NUMBERS = ("_bytes", "_ns", "_objects", "committed", "in_use")
# Reading takes about ten times the log's size in memory.
READ_MOST = 2 << 30
# A file that is not a log, such as a device, is recognised this early.
READ_FIRST = 4096
# Above all times and numbers of a log.
LIMIT = 2**64
TEXT_FORM = "Cradle's log as text"


class LogError(Exception):
    """A log that cannot be read: the message names the file and the line."""


class EmptyLog(LogError):
    """A valid log that holds no sections."""


@dataclass(slots=True)
class Section:
    name: str
    heap: str
    begin: int  # nanoseconds
    end: int
    fields: dict
    inside: str | None  # the section around it


@dataclass
class Log:
    path: str
    form: str  # in words
    sections: list = field(default_factory=list)
    remarks: list = field(default_factory=list)
    heads: list = field(default_factory=list)  # what each heap's log says first: process and unix_ns


# What stands before a value in the text, and what the JSON form calls it. A label that is missing
# here keeps its own words, with underscores.
KEYS = {
    "L2cache": "l2_bytes",
    "L2cache from": "l2_source",
    "L3cache": "l3_bytes",
    "L3cache from": "l3_source",
    "memory": "memory_bytes",
    "page size": "page_bytes",
    "transparent huge page size": "thp_page_bytes",
    "transparent huge pages": "thp_mode",
    "pool page size": "pool_page_bytes",
    "free pages": "pool_pages_free",
    "address space": "address_space_bytes",
    "pause target": "pause_target_ns",
    "nursery size": "nursery_bytes",
    "previous nursery size": "previous_nursery_bytes",
    "percentages that live, up to an age": "lives",
    "nursery used": "nursery_used_bytes",
    "total memory used": "used_bytes",
    "minor collect, total memory used": "used_after_bytes",
    "number of pinned objects": "pinned_objects",
    "total size of surviving objects": "promoted_bytes",
    "large objects freed, bytes": "large_freed_bytes",
    "major collection threshold": "threshold_bytes",
    "next major collection threshold": "threshold_bytes",
    "time taken": "time_ns",
    "processor time": "processor_ns",
    "other work ran, times": "preemptions",
    "all stood after": "stop_ns",
    "collected by": "mutator",
    "came last": "last",
    "stops of all mutators": "stops",
    "time until they stood": "stop_ns",
    "longest until they stood": "stop_max_ns",
    "starting gc state": "from",
    "stopping, now in gc state": "to",
    "of the huge-page pool, bytes": "pool_bytes",
    "resident bytes": "resident_bytes",
    "arenas taken": "taken",
    "arenas given back": "given_back",
    "arenas committed": "committed",
    "in use": "in_use",
    "wall time": "wall_ns",
    "time in minor collections": "minor_ns",
    "longest minor collection": "minor_max_ns",
    "time in major collections": "major_ns",
    "increments of major collections": "major_steps",
    "longest increment": "major_max_ns",
    "time in compactions": "compact_ns",
    "time in pauses": "pause_ns",
    "pause p50": "pause_p50_ns",
    "pause p90": "pause_p90_ns",
    "pause p99": "pause_p99_ns",
    "pause p99.9": "pause_p999_ns",
    "pause p99.99": "pause_p9999_ns",
    "longest pause": "pause_max_ns",
    "share of time in pauses": "gc_share",
    "share of the nursery that survived": "survival",
    "most memory used": "used_peak_bytes",
    "memory used in the end": "used_bytes",
    "live after the last major collection": "live_bytes",
    "most memory live": "live_peak_bytes",
    "in old objects": "old_bytes",
    "free between old objects": "free_bytes",
    "in empty arenas": "empty_bytes",
    "of metadata": "metadata_bytes",
    "of nursery, stacks and tables": "other_bytes",
    "most arenas": "arenas_peak",
    "resident in arenas": "resident_bytes",
    "of that on huge pages": "huge_bytes",
    "major collection": "collection",
    "name of the type": "type_name",
    "number of the type": "type",
    "live objects": "live_objects",
    "live bytes": "live_bytes",
    "put aside": "put_aside",
    "marked at once": "markers",
    "the second core ran": "run_ns",
    "waited for it to stop": "stop_ns",
    "time of the second core": "beside_ns",
    "bytes that it marked": "beside_bytes",
    "pauses that waited for it": "beside_stops",
    "time of these waits": "beside_stop_ns",
    "wait p50": "beside_stop_p50_ns",
    "wait p99": "beside_stop_p99_ns",
    "wait p99.9": "beside_stop_p999_ns",
    "longest wait": "beside_stop_max_ns",
    "arenas that it populated": "beside_arenas",
    "promoted by helpers, bytes": "helped_bytes",
    "the helpers worked": "helped_ns",
    "collections with helpers": "helped_collections",
    "objects promoted by helpers": "helped_objects",
    "bytes promoted by helpers": "helped_bytes",
    "time of helpers": "helped_ns",
    "1,000 objects promoted alone": "thousand_alone_ns",
    "1,000 objects promoted with helpers": "thousand_helped_ns",
}
# Of a size class, in one line.
SPANS = {
    "object size": "object_bytes",
    "span size": "span_bytes",
    "objects in a span": "span_objects",
    "spans": "spans",
    "used": "used_bytes",
    "memory": "memory_bytes",
    "waste in percent": "waste_percent",
}
# Two values in a line.
PAIRS = {
    "memory before": ("used_before_bytes", "used_after_bytes"),
    "used": ("used_before_bytes", "used_after_bytes"),
    "pool page size": ("pool_page_bytes", "pool_pages_free"),
    "arenas committed": ("committed", "in_use"),
    "arenas emptied": ("arenas_emptied", "arenas_before"),
    "resident bytes": ("resident_bytes", "huge_bytes"),
    "marked beside the program, objects": ("marked_objects", "marked_bytes"),
    "helpers": ("helpers", "helped_objects"),
    "wanted": ("wanted", "got"),
}

MARKER = re.compile(r"^\[([0-9a-f]{1,16})\] (?:\{([^{}\s]+)|([^{}\s]+)\})$")
LINE = re.compile(r"^(.+?)(?:: | = )(.*)$")
PAIR = re.compile(r"^(\d+)(?:, [a-z ]+: | => | of )(\d+)$")
HEAD_TEXT = re.compile(r"^(?:(process) (\d{1,19})|seconds since 1970: (\d{1,12})\.(\d{9}))$")
HEAD_WORDS = re.compile(r"^(program|Cradle) (.+)$")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def must_be_numbers(fields):
    for key, value in fields.items():
        if isinstance(value, (int, float)):
            if not 0 <= value < LIMIT:
                raise ValueError(f"{key} is out of range: {str(value)[:40]}")
        elif key.endswith(NUMBERS):
            raise ValueError(f"{key} is no number: {str(value)[:40]!r}")


def key_of(label):
    return KEYS.get(label) or KEYS.setdefault(label, label.replace(" ", "_"))


def value_of(key, text):
    """Times in nanoseconds, other numbers as they are, words as text."""
    try:
        number = float(text)
        return round(number * 1e9) if key.endswith("_ns") else number
    except (ValueError, OverflowError):
        return text


def parse_line(name, line, fields):
    """Parses a line that is more than a label and a whole number."""
    if name == "gc-spans":
        for part in line.split(", "):
            label, _, value = part.partition(": ")
            if label in SPANS:
                fields[SPANS[label]] = int(value)
        return
    found = LINE.match(line)
    if found is None:
        if name == "gc-note":
            fields.setdefault("text", line)
        return
    label, rest = found.groups()
    if name == "gc-note" and label != "wanted":
        fields.setdefault("text", line)
        return
    pair = PAIR.match(rest) if label in PAIRS else None
    if pair is not None:
        first, second = PAIRS[label]
        fields[first], fields[second] = int(pair[1]), int(pair[2])
        return
    key = key_of(label)
    fields[key] = value_of(key, rest)


class TextReader:
    """Cradle's text and PyPy's: brackets with names, and lines between them."""

    def __init__(self, path):
        self.log = Log(path, "PyPy's log")
        self.count = 0  # lines so far
        self.stack = []
        self.marked = False
        self.heap = ""

    def feed(self, lines, may_be_cut=False):
        """Takes the next lines. may_be_cut: the last of them is the last of the file, and may be cut off."""
        path, log, stack, heap, before = self.log.path, self.log, self.stack, self.heap, self.count
        name, fields = (stack[-1].name, stack[-1].fields) if stack else ("", {})
        last = before + len(lines) if may_be_cut else -1
        for number, line in enumerate(lines, before + 1):
            found = MARKER.match(line) if line[:1] == "[" else None
            if found is None:
                if number <= HEAD_LINES and line.startswith("Cradle log, format "):
                    check_version(path, number, line.rsplit(" ", 1)[1])
                    log.form = TEXT_FORM
                if not stack:
                    if not self.marked and number > HEAD_LINES:
                        raise LogError(f"{path}:{number}: no log of Cradle or PyPy: {line[:60]!r}")
                    continue
                label, _, rest = line.partition(": ")
                if rest.isdecimal() and len(rest) < 20 and name != "gc-note":  # most lines
                    fields[KEYS.get(label) or key_of(label)] = int(rest)
                elif label == "heap":
                    stack[-1].heap = heap = rest
                elif name.startswith("gc-"):
                    try:
                        parse_line(name, line, fields)
                        must_be_numbers(fields)
                    except ValueError as error:
                        if number == last:  # cut off
                            continue
                        raise LogError(f"{path}:{number}: {error}") from None
                elif name == "cradle-log" and (told := HEAD_TEXT.match(line)):
                    fields.update({"process": int(told[2])} if told[1] else {"unix_ns": int(told[3] + told[4])})
                elif name == "cradle-log" and (told := HEAD_WORDS.match(line)):
                    fields[told[1].lower()] = told[2]
                continue
            self.marked = True
            time, opens, closes = found.groups()
            time = int(time, 16)
            if opens:
                name, fields = opens, {}
                inside = stack[-1].name if stack else None
                stack.append(Section(name, heap if stack else "", time, time, fields, inside))
                continue
            if not stack or name != closes:
                where = f"inside {name}" if stack else "outside of all sections"
                raise LogError(f"{path}:{number}: {closes} ends {where}")
            section = stack.pop()
            if time < section.begin:
                raise LogError(f"{path}:{number}: {name} ends before it begins")
            section.end = time
            if stack:
                name, fields = stack[-1].name, stack[-1].fields
            if section.name.startswith("gc-"):
                log.sections.append(section)
            elif section.name == "cradle-log":
                log.heads.append(section.fields)
        self.heap = heap
        self.count += len(lines)

    def finish(self):
        """The log, of which there is no more."""
        log, path = self.log, self.log.path
        if not self.marked:
            raise LogError(f"{path}:{self.count or 1}: no log of Cradle or PyPy: no section in it")
        if self.stack:
            log.remarks.append(f"{path}:{self.count}: the log ends inside {self.stack[-1].name}; read up to there")
        if log.form != TEXT_FORM:
            to_nanoseconds(log)
        elif not any(section.fields for section in log.sections):
            log.remarks.append(f"{path}: times only: the lines with values are missing")
        return log


def to_nanoseconds(log):
    """PyPy's timestamps are processor ticks; its sections' own times tell how long one is."""
    ticks = taken = 0
    for section in log.sections:
        if "time_ns" in section.fields and section.fields["time_ns"] > 0:
            ticks += section.end - section.begin
            taken += section.fields["time_ns"]
    if not ticks or not taken:
        log.remarks.append(f"{log.path}: no times in it; 1 tick is taken for 1 ns")
        return
    log.remarks.append(f"{log.path}: {ticks / taken:.3f} ticks a nanosecond, from its own times")
    first = min(section.begin for section in log.sections)
    for section in log.sections:
        section.begin = round((section.begin - first) * taken / ticks)
        section.end = round((section.end - first) * taken / ticks)


def check_version(path, number, version):
    if str(version) != str(VERSION):
        raise LogError(f"{path}:{number}: format {version}; this cradle-report reads format {VERSION}")


def decoded(path, number, text, last, remarks):
    """The object of a line; None for a last line that is cut off."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise LogError(f"{path}:{number}: no log: it is nested too deep in {text[:60]!r}") from None
    except ValueError as error:  # a JSONDecodeError, or a number with too many digits for Python
        if last:
            remarks.append(f"{path}:{number}: the line is cut off; read up to there")
            return None
        if any(words in text for words in ("Cradle log, format ", '"cradle-log"')):
            raise LogError(f"{path}:{number}: another log begins inside of this one: each is to be a file of its own") from None
        words = getattr(error, "msg", "a number is too long")
        raise LogError(f"{path}:{number}: no JSON: {words} in {text[:60]!r}") from None
    if not isinstance(value, dict):
        raise LogError(f"{path}:{number}: an object is expected, not {text[:60]!r}")
    return value


class Assembler:
    """Beginnings and ends into sections."""

    def __init__(self, log):
        self.log = log
        self.open = {}

    def add(self, number, name, heap, time, phase, fields):
        if not 0 <= time < LIMIT:
            raise LogError(f"{self.log.path}:{number}: a time out of range: {str(time)[:40]}")
        try:
            must_be_numbers(fields)
        except ValueError as error:
            raise LogError(f"{self.log.path}:{number}: {error}") from None
        stack = self.open.setdefault(heap, [])
        if phase == "begin":
            stack.append(Section(name, heap, time, time, fields, stack[-1].name if stack else None))
            return
        if phase != "end":
            inside = stack[-1].name if stack else None
            self.log.sections.append(Section(name, heap, time, time, fields, inside))
            return
        if not stack or stack[-1].name != name:
            raise LogError(f"{self.log.path}:{number}: {name} of heap {heap} ends, but it is not open")
        section = stack.pop()
        if time < section.begin:
            raise LogError(f"{self.log.path}:{number}: {name} of heap {heap} ends before it begins")
        section.end = time
        section.fields.update(fields)
        self.log.sections.append(section)

    def finish(self, number):
        for heap, stack in self.open.items():
            if stack:
                text = f"the log ends inside {stack[-1].name} of heap {heap}; read up to there"
                self.log.remarks.append(f"{self.log.path}:{number}: {text}")


class JsonReader:
    """Cradle's JSON lines."""

    def __init__(self, path):
        self.log = Log(path, "Cradle's log as JSON lines")
        self.count = 0  # lines so far
        self.assembler = Assembler(self.log)

    def feed(self, lines, may_be_cut=False):
        """Takes the next lines. may_be_cut: the last of them is the last of the file, and may be cut off."""
        path, before = self.log.path, self.count
        last = before + len(lines) if may_be_cut else -1
        for number, line in enumerate(lines, before + 1):
            event = decoded(path, number, line, number == last, self.log.remarks)
            if event is None:
                break
            try:
                name, heap, time = event.pop("event"), event.pop("heap"), event.pop("t")
            except KeyError as error:
                raise LogError(f"{path}:{number}: no {error} in {line[:60]!r}") from None
            if not isinstance(name, str) or not isinstance(heap, str) or not isinstance(time, int):
                raise LogError(f"{path}:{number}: an event, heap or time of another kind in {line[:60]!r}")
            if name == "cradle-log":
                check_version(path, number, event.get("version"))
                kinds = {"process": int, "unix_ns": int, "program": str, "cradle": str}
                self.log.heads.append({key: event[key] for key, kind in kinds.items() if isinstance(event.get(key), kind)})
                continue
            self.assembler.add(number, name, heap, time, event.pop("phase", None), event)
        self.count += len(lines)

    def finish(self):
        """The log, of which there is no more."""
        self.assembler.finish(self.count)
        return self.log


STANDARD_INPUT = "standard input"


def opened(path):
    return open(0, "rb", closefd=False) if path == STANDARD_INPUT else open(path, "rb")


def text_of(path):
    """What is in the file now: the program may still be writing to it. A pipe or a device may have no end."""
    with opened(path) as file:
        status = os.fstat(file.fileno())
        is_file = stat.S_ISREG(status.st_mode) and status.st_size > 0  # those of /proc have no size
        most = min(status.st_size, READ_MOST) if is_file else READ_MOST
        data = file.read(min(most, READ_FIRST))
        if b"\0" in data:
            raise LogError(f"{path}:1: no log of Cradle or PyPy: a zero byte is in it")
        data += file.read(most - len(data))
        if len(data) == READ_MOST:
            raise LogError(f"{path}: it has {READ_MOST} bytes or more, or no end; give a part of it")
    return data.decode("utf-8", "replace").replace("\r\n", "\n")


def read(path):
    """The log in the file, or in standard input for "-"; LogError when there is none."""
    path = STANDARD_INPUT if path == "-" else path
    try:
        text = text_of(path)
    except OSError as error:
        raise LogError(f"{path}: {error.strerror}") from None
    except MemoryError:
        raise LogError(f"{path}: it needs more memory than there is") from None
    if not text:
        raise EmptyLog(f"{path}: the file is empty")
    if "\x1b" in text:
        text = COLOUR.sub("", text)
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    reader = reader_of(path, lines)
    reader.feed(lines, may_be_cut=True)
    return reader.finish()


def reader_of(path, lines):
    """A reader for the log that begins with these lines."""
    first = lines[0]
    for number, line in enumerate(lines[:HEAD_LINES], 1):
        if "  cradle-log: format " in line:
            raise LogError(f"{path}:{number}: a line log (CRADLE_LOG=line:FILE), whose rounded figures are for people; "
                           "cradle-report reads what CRADLE_LOG=json:FILE or text:FILE writes")
    if first.startswith("{"):
        if '"event":"cradle-log"' not in first:
            raise LogError(f"{path}:1: no log of Cradle: {first[:60]!r}")
        return JsonReader(path)
    return TextReader(path)
