"""The summary in the terminal."""

import textwrap

from cradle_show import shown

from . import live_types, words
from .figures import compared

HEAPS_SHOWN = 4


def print_heaps(log, reports):
    print(f"{shown(log.path)}: {log.form}")
    for remark in log.remarks:
        print(f"  note: {shown(remark, 1000)}")
    for heap, summary in reports[:HEAPS_SHOWN]:
        print(f"\nheap {shown(heap.label)}" if heap.label else "")
        for name, value in words.rows(heap, summary):
            print(f"  {name:25} {shown(value, 1000)}")
        print_types(heap)
        print("\n  What to look at first")
        for sentence in words.advice(heap, summary):
            print(textwrap.fill(shown(sentence, 1000), 96, initial_indent="  - ", subsequent_indent="    "))
    if len(reports) > HEAPS_SHOWN:
        print(f"\n  {len(reports) - HEAPS_SHOWN} more heaps, with less time in collections, are left out")


def print_types(heap):
    rows = list(live_types.table(heap)) if heap.types else []
    if not rows:
        return
    print(f"\n  {'live memory by type':32} {'first':>12} {'last':>12} {'peak':>12} {'objects':>12}")
    for name, *values in rows:
        print(f"  {name:32} " + " ".join(f"{value:>12}" for value in values))


def print_comparison(logs, reports):
    print(f"\nfirst: {shown(logs[0].path)}\nsecond: {shown(logs[1].path)}\n")
    print(f"  {'':28} {'first':>14} {'second':>14}  change")
    for name, first, second, change in compared(*reports):
        print(f"  {name:28} {first:>14} {second:>14}  {change}")
