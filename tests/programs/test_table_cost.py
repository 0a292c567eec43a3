#!/usr/bin/env python3
"""Counts with valgrind's callgrind what the entries of tables cost when there are many.

    test_table_cost.py TABLE-LOOP [--entries=N] [KIND...]

bench/table-loop makes N and 4 N entries of each kind, makes minor collections while nothing of the table changes, and
frees the entries. The test prints the instructions for each entry, and fails in two cases:

  - 4 N entries are made or freed in more than MOST_TIMES the instructions of N entries. Time in the square gives 16.
  - A minor collection takes more instructions for each entry than MINOR allows.

Exits with 77, which meson reads as skipped, where valgrind is not installed.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# So many that there is a minor collection among N finalizers, too, as there is among 4 N.
ENTRIES = 3_000
# Above 4, because tables double as they grow and memory is asked for in large pieces.
MOST_TIMES = 7
# Phases below so many instructions are not compared.
LEAST = 20_000
# Words that a program may write to without the collector's knowledge are looked at by each minor collection.
MINOR = {"globals": 25, "ranges": 25}
MINOR_OTHERS = 0.05
# bench/table-loop: its collections in a phase, its calls of phase_is_over for each heap, and which of the dumps between
# them have the three phases. The first dump has what comes before the first call.
MINORS = 10
CALLS = 8
DUMPS = (1, 4, 6)


def totals(folder):
    dumps = sorted(folder.glob("out.*"), key=lambda path: int(path.suffix[1:]))
    return [int(re.search(r"^totals: (\d+)", path.read_text(), re.M).group(1)) for path in dumps]


def run(program, kinds, entries):
    """{(kind, count): [instructions of make, minor and free]}, in the order of the program's output."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", "--dump-before=phase_is_over",
                   f"--callgrind-out-file={folder}/out", program, *kinds, str(entries)]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"callgrind did not run {' '.join(command[4:])}:\n{result.stderr[-2000:]}")
        counted = totals(Path(folder))
    heaps = [tuple(line.split()[:2]) for line in result.stdout.splitlines()[::3]]
    return {(kind, int(count)): [counted[CALLS * heap + dump] for dump in DUMPS]
            for heap, (kind, count) in enumerate(heaps)}


def judge(kind, fewer, more, costs):
    """Prints the row of a kind, and returns what is wrong with it."""
    faults, row = [], f"{kind:18} {fewer:7}"
    for phase, name in ((0, "make"), (2, "free")):
        once, times = costs[fewer][phase], costs[more][phase] / max(costs[fewer][phase], 1)
        row += f" {once / fewer:9.0f} {costs[more][phase] / more:9.0f} {times:6.1f}"
        if costs[more][phase] > LEAST and times > MOST_TIMES:
            faults.append(f"{name} takes {times:.1f} times as long for {more / fewer:.0f} times as many")
    each = (costs[more][1] - costs[fewer][1]) / MINORS / (more - fewer)
    row += f" {each:12.2f}"
    if each > MINOR.get(kind, MINOR_OTHERS):
        faults.append(f"a minor collection takes {each:.2f} instructions for each")
    print(row)
    return faults


def main():
    if shutil.which("valgrind") is None:
        print("skipped: valgrind is not installed")
        return 77
    program, *rest = sys.argv[1:]
    entries = next((int(word.split("=")[1]) for word in rest if word.startswith("--entries=")), ENTRIES)
    kinds = [word for word in rest if not word.startswith("--")]
    counted = run(program, kinds, entries)
    print("                   entries   making one: N, 4 N, ratio   freeing one: N, 4 N, ratio   minor, each")
    failed = False
    for kind in dict.fromkeys(kind for kind, _ in counted):
        costs = {count: phases for (name, count), phases in counted.items() if name == kind}
        for fault in judge(kind, min(costs), max(costs), costs):
            failed = True
            print(f"    {kind}: {fault}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
