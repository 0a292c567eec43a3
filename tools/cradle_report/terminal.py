"""The summary in the terminal."""

import textwrap

from cradle_show import shown

from . import words

HEAPS_SHOWN = 4


def columns(reports):
    """Rows of the logs side by side, the names in the first column."""
    tables = [dict(words.rows(heap, summary)) for heap, summary in reports]
    names = list(dict.fromkeys(name for table in tables for name in table))
    return names, tables


def print_heaps(log, reports):
    print(f"{shown(log.path)}: {log.form}")
    for remark in log.remarks:
        print(f"  note: {shown(remark, 1000)}")
    for heap, summary in reports[:HEAPS_SHOWN]:
        print(f"\nheap {shown(heap.label)}" if heap.label else "")
        for name, value in words.rows(heap, summary):
            print(f"  {name:25} {shown(value, 1000)}")
        print("\n  What to look at first")
        for sentence in words.advice(heap, summary):
            print(textwrap.fill(shown(sentence, 1000), 96, initial_indent="  - ", subsequent_indent="    "))
    if len(reports) > HEAPS_SHOWN:
        print(f"\n  {len(reports) - HEAPS_SHOWN} more heaps, with less time in collections, are left out")


def print_comparison(logs, reports):
    names, tables = columns(reports)
    print("\n  " + " " * 26 + f"{shown(logs[0].path)}  |  {shown(logs[1].path)}")
    for name in names:
        print(f"  {name:25} {shown(tables[0].get(name, '-'), 1000)}")
        print(f"  {'':25} {shown(tables[1].get(name, '-'), 1000)}")
