"""Writes a log as a Chrome trace, which Perfetto (ui.perfetto.dev) and chrome://tracing open.

The form is the array form of the Trace Event Format. A process of the trace is a program, and a thread is a heap.
"""

import json

# The fields that are drawn as curves: those that a section has when it begins, and when it ends.
AT_BEGIN = {"gc-minor": {"used_bytes": "used bytes"}}
AT_END = {
    "gc-set-nursery-size": {"nursery_bytes": "nursery bytes"},
    "gc-minor": {"used_after_bytes": "used bytes"},
    "gc-collect-done": {"used_after_bytes": "used bytes", "threshold_bytes": "threshold bytes"},
    "gc-arena": {"committed": "arenas committed", "in_use": "arenas in use"},
}
# Sections that are told at the end of what took so long. They have tracks of their own, because others may overlap them.
SLICES = {"gc-pause": ("pause", "", "time_ns"), "gc-beside": ("second core", "/second core", "run_ns")}


def number_of(text):
    return int(text) if text.isdecimal() else 0


class Events:
    """The events of one heap, which the caller sorts by time."""

    def __init__(self, heap):
        process, _, number = heap.partition(".")
        self.heap = heap
        self.pid, self.tid = number_of(process), number_of(number)
        self.all = []

    def add(self, phase, name, time, **more):
        self.all.append({"name": name, "ph": phase, "ts": time / 1000, "pid": self.pid, "tid": self.tid, **more})

    def curves(self, of, section, time):
        for field, name in of.get(section.name, {}).items():
            if field in section.fields:
                self.add("C", name, time, id=self.heap, args={"value": section.fields[field]})

    def slice_end(self, phase, name, ending, time):
        self.add(phase, name, time, cat="gc", id=self.heap + ending)

    def section(self, section):
        args = {"heap": self.heap, **section.fields}
        if section.begin == section.end:
            self.add("i", section.name, section.end, s="t", args=args)
        else:
            self.add("X", section.name, section.begin, dur=(section.end - section.begin) / 1000, args=args)
        self.curves(AT_BEGIN, section, section.begin)
        self.curves(AT_END, section, section.end)
        if section.name in SLICES:
            name, ending, length = SLICES[section.name]
            self.slice_end("b", name, ending, max(0, section.end - section.fields.get(length, 0)))
            self.slice_end("e", name, ending, section.end)
        if section.name == "gc-pause" and section.fields.get("last") is not None:
            begin, ending = section.end - section.fields.get("time_ns", 0), "/" + section.fields["last"]
            self.slice_end("b", "time to stop", ending, begin - section.fields.get("stop_ns", 0))
            self.slice_end("e", "time to stop", ending, begin)
        helpers = section.fields.get("helpers", 0) if section.name == "gc-minor" else 0
        if helpers:  # each worked for so long, on average
            self.slice_end("b", "helpers", "/helpers", section.begin)
            self.slice_end("e", "helpers", "/helpers", section.begin + section.fields.get("helped_ns", 0) // helpers)
        if section.name in ("gc-collect", "gc-collect-done"):
            self.slice_end("b" if section.name == "gc-collect" else "e", "major collection", "", section.end)


def trace_of(log):
    """The events of the trace, in their order."""
    heaps = {}
    for section in log.sections:
        heaps.setdefault(section.heap, Events(section.heap)).section(section)
    head = []
    for heap in heaps.values():
        where = {"ph": "M", "ts": 0, "pid": heap.pid, "tid": heap.tid}
        head.append({"name": "process_name", **where, "args": {"name": f"process {heap.pid}"}})
        head.append({"name": "thread_name", **where, "args": {"name": f"heap {heap.tid}"}})
    return head + sorted((event for heap in heaps.values() for event in heap.all), key=lambda event: event["ts"])


def trace_text(log):
    return "[" + ",\n".join(json.dumps(event, ensure_ascii=False) for event in trace_of(log)) + "]\n"
