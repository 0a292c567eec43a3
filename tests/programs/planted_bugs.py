#!/usr/bin/env python3
"""Runs every mistake of planted_bugs.c under every instrument. At least one instrument must catch each mistake, at a
marked line.

    planted_bugs.py PROGRAM SOURCE [--asan PROGRAM] [--valgrind PROGRAM] [--rootcheck TOOL BUILD]
                    [--docs TABLE PAGE [--exact | --write]]

PROGRAM is planted_bugs and SOURCE its source. --asan gives the program built with AddressSanitizer, and --valgrind the
one that reports its nursery to valgrind. --rootcheck gives tools/cradle-rootcheck, which must find every missing root,
and a build folder. Prints a table: each cell says what stopped the program, at which line of the source, and after how
many allocations. A mistake counts as caught when the library, a sanitizer or valgrind reported it, not when the program
merely crashed or computed a wrong result.

--docs checks that TABLE, tests/programs/planted_bugs.md, has a row for each mistake. With --exact it also checks that TABLE says
for each instrument what stopped the program and where, and that PAGE, docs/trust.md, has the counts. This needs the
compiler that TABLE names. --write replaces the table and the counts. addr2line finds the lines. Without addr2line or
the C library's backtrace the lines are not checked, and the output says so.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

INSTRUMENTS = {
    "no instrument": {},
    "verifier": {"CRADLE_VERIFY": "1"},
    "stress": {"CRADLE_STRESS": "1"},
    "quarantine, verifier": {"CRADLE_QUARANTINE": "4", "CRADLE_VERIFY": "1"},
    "stress, quarantine, verifier": {"CRADLE_STRESS": "1", "CRADLE_QUARANTINE": "4", "CRADLE_VERIFY": "1"},
    "CRADLE_STRESS=auto": {"CRADLE_STRESS": "auto"},
    "full stress, quarantine, verifier": {"CRADLE_STRESS": "1,major=1", "CRADLE_QUARANTINE": "4",
                                          "CRADLE_VERIFY": "1"},
}
# What this instrument finds after its first half second depends on the machine's speed. For all mistakes but
# one, the result must not depend on it.
TIMED = "CRADLE_STRESS=auto"
TIMED_MAY_MISS = {"slot_not_written"}
ASAN = "AddressSanitizer, stress, quarantine"
VALGRIND = "valgrind, stress, quarantine"
# For a stale reference valgrind must also report the collection that moved the object, and the allocation.
STALE_STACKS = re.compile(r"inside a block of size 32 free'd\n.*?collect_minor.*?Block was alloc'd at\n.*?planted_bugs\.c:", re.DOTALL)
UNDER_VALGRIND = ["valgrind", "-q", "--num-callers=50", "--exit-on-first-error=yes", "--error-exitcode=9"]
TOLD = re.compile(r"^planted: (.*?) after (\d+) allocations:", re.MULTILINE)
FRAME = re.compile(r"^(\S+)\(\+0x([0-9a-f]+)\)")
COMMAND = re.compile(r"^addr2line -f -p -i -e (\S+)((?: 0x[0-9a-f]+)+)$")
ASAN_FRAME = re.compile(r"^\s*#\d+ .*?planted_bugs\.c:(\d+)", re.MULTILINE)
VALGRIND_FRAME = re.compile(r"^==\d+==    (?:at|by) 0x.*\(planted_bugs\.c:(\d+)\)", re.MULTILINE)
UBSAN_LINE = re.compile(r"planted_bugs\.c:(\d+):\d+: runtime error")
ROOTCHECK = "cradle-rootcheck"
STATIC = re.compile(r"planted_bugs\.c:(\d+):\d+: (\w+): ")
STATICALLY_TOO = ("missing_root_", "finalized_object_not_rooted")
BEGIN, END = "<!-- planted bugs: begin -->", "<!-- planted bugs: end -->"
TELLERS = {"tell", "on_fault", "on_abort", "on_misuse", "__asan_on_error"}


def regions(source, names):
    """For each mistake: the lines of its function and of the helpers before it, and the marked lines among these."""
    lines = source.read_text(encoding="utf-8").splitlines()
    result, first = {}, None
    for name in names:
        start = next(i for i, line in enumerate(lines, 1) if re.match(rf"static NOINLINE void {name}\(void\)", line))
        end = next(i for i, line in enumerate(lines, 1) if i >= start and line.startswith("}"))
        span = range(first or start, end + 1)
        result[name] = span, {i for i in span if "stops" in lines[i - 1]}
        first = end + 1
    return result


def frames_of(output, program):
    """Addresses in the program, in the order of the stack. The return address of a caller is moved back into its
    call."""
    addresses, exact = [], False
    for line in output.splitlines():
        if line.startswith("planted: ") or line.startswith("cradle: "):
            if addresses:
                break
            exact = line.startswith("planted: fault") or line.endswith("used by:")
        match = FRAME.match(line)
        if match and Path(match[1]).name == Path(program).name:
            addresses.append(int(match[2], 16) - (0 if exact else 1))
            exact = False
        match = COMMAND.match(line)
        if match and Path(match[1]).name == Path(program).name:
            addresses += [int(address, 16) for address in match[2].split()]
    return addresses


def lines_of(addresses, program):
    """Functions and lines of planted_bugs.c at the addresses, innermost first."""
    if not addresses or shutil.which("addr2line") is None:
        return []
    told = subprocess.run(["addr2line", "-f", "-i", "-e", program, *map(hex, addresses)], capture_output=True, text=True,
                          check=True).stdout.splitlines()
    found = []
    for function, place in zip(told[::2], told[1::2]):
        match = re.search(r"planted_bugs\.c:(\d+)", place)
        if match and function not in TELLERS:
            found.append(int(match[1]))
    return found


class Outcome:
    def __init__(self, command, name, settings, span):
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("CRADLE_", "MALLOC_"))}
        environment["ASAN_OPTIONS"] = "detect_leaks=0"
        program = command[-1]
        ran = subprocess.run([*command, name], env={**environment, **settings}, capture_output=True, text=True, timeout=120,
                             errors="replace")
        self.output = ran.stderr
        told = TOLD.search(self.output)
        self.kind = told[1] if told else f"exit status {ran.returncode}"
        self.allocations = int(told[2]) if told else None
        if UBSAN_LINE.search(self.output):
            self.kind = "sanitizer"
        if told is None and VALGRIND_FRAME.search(self.output):
            self.kind = "valgrind"
        self.reported = self.kind in ("misuse", "sanitizer", "valgrind") or (self.kind == "fault" and "cradle: " in self.output) or (
            self.kind == "abort" and "cradle: assertion failed" in self.output)
        lines = ([int(line) for line in UBSAN_LINE.findall(self.output)] or
                 [int(line) for line in ASAN_FRAME.findall(self.output)] or
                 [int(line) for line in VALGRIND_FRAME.findall(self.output)] or lines_of(frames_of(self.output, program), program))
        self.line = next((line for line in lines if line in span), None)

    def cell(self):
        if self.kind == "nothing noticed":
            return "-"
        kind = "fault, explained" if self.kind == "fault" and self.reported else self.kind
        where = f" at {self.line}" if self.line and self.kind != "wrong results" else ""
        return kind + where + (f", {self.allocations}" if self.allocations is not None else "")


def static_findings(tool, build, source):
    """Pairs of line and kind, or None without libclang."""
    ran = subprocess.run([sys.executable, tool, "-p", build, str(source)], capture_output=True, text=True)
    if "libclang's Python module is missing" in ran.stderr:
        return None
    if ran.returncode not in (0, 1):
        sys.exit(f"{tool}: exit status {ran.returncode}: {ran.stderr}")
    return [(int(line), kind) for line, kind in STATIC.findall(ran.stdout)]


def static_cell(findings, span):
    found = [(line, kind) for line, kind in findings if line in span]
    return f"{found[0][1]} at {found[0][0]}" if found else "-"


def table(rows, columns):
    head = "| Mistake | " + " | ".join(columns) + " |\n|---|" + "---|" * len(columns) + "\n"
    return head + "".join(f"| {name}: {mistake} | " + " | ".join(cells) + " |\n" for name, mistake, cells in rows)


def counts_table(rows, columns):
    """For each instrument the number of mistakes it reported, of mere crashes or wrong results, and of unnoticed
    mistakes."""
    text = "| Instrument | reported | crash without a report, or wrong results | not noticed |\n|---|---|---|---|\n"
    for index, column in enumerate(columns):
        cells = [cells[index] for _, _, cells in rows]
        missed, unexplained = cells.count("-"), sum(cell.startswith(("fault", "wrong")) for cell in cells)
        text += f"| {column} | {len(cells) - missed - unexplained} | {unexplained} | {missed} |\n"
    return text


def between_marks(page):
    return page.split(BEGIN)[1].split(END)[0].strip()


def replace_between_marks(path, text):
    page = path.read_text(encoding="utf-8")
    path.write_text(f"{page.split(BEGIN)[0]}{BEGIN}\n{text}{END}{page.split(END)[1]}", encoding="utf-8")


def documented(page):
    """The cells of the page's table, by mistake and column."""
    lines = between_marks(page).splitlines()
    head, *rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines if not line.startswith("|---")]
    return {(row[0].split(":")[0], column): cell for row in rows for column, cell in zip(head, row)}


def for_the_page(cell):
    """A shorter cell without the number of allocations, because that changes with the collector."""
    cell = re.sub(r", \d+$", "", cell).replace(" at ", " ")
    return cell.replace("fault, explained", "explained").replace("wrong results", "wrong")


def compare(page, rows, columns):
    """The cells in which the page's table differs."""
    told = documented(page)
    for name, _, cells in rows:
        for column, cell in zip(columns, cells):
            if column == TIMED:
                continue
            if told.get((name, column)) != for_the_page(cell):
                yield f"{name}, {column}: {for_the_page(cell)}, but documented is {told.get((name, column))}; --write corrects it"


def compare_counts(page, counts):
    """The rows of the counts in which the page differs."""
    documented_rows = between_marks(page).splitlines()
    for row in counts.splitlines():
        if row not in documented_rows and not row.startswith(f"| {TIMED} |"):
            yield f"counted is {row}, which the page does not have; --write corrects it"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("source", type=Path)
    parser.add_argument("--asan")
    parser.add_argument("--valgrind")
    parser.add_argument("--rootcheck", nargs=2, metavar=("TOOL", "BUILD"))
    parser.add_argument("--docs", nargs=2, type=Path, metavar=("TABLE", "PAGE"))
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()

    listed = subprocess.run([args.program], capture_output=True, text=True, check=True).stdout.splitlines()
    mistakes = dict(line.split("\t") for line in listed)
    spans = regions(args.source, mistakes)
    runs = {instrument: ([args.program], settings) for instrument, settings in INSTRUMENTS.items()}
    for column, program, under in (ASAN, args.asan, []), (VALGRIND, args.valgrind, UNDER_VALGRIND):
        if program:
            runs[column] = [*under, program], {"CRADLE_STRESS": "1", "CRADLE_QUARANTINE": "4"}
        else:
            print(f"{column}: no program was given; the column is left out")

    static = static_findings(*args.rootcheck, args.source) if args.rootcheck else None
    if static is None:
        print(f"{ROOTCHECK} is not asked: {'libclang is missing (tools/setup)' if args.rootcheck else 'it was not named'}")

    rows, failures, lines_known = [], [], False
    for name, mistake in mistakes.items():
        span, stops = spans[name]
        outcomes = {instrument: Outcome(command, name, settings, span) for instrument, (command, settings) in runs.items()}
        rows.append((name, mistake, [outcome.cell() for outcome in outcomes.values()]))
        if static is not None:
            rows[-1][2].append(static_cell(static, span))
            if name.startswith(STATICALLY_TOO) and rows[-1][2][-1] == "-":
                failures.append(f"{name}: {ROOTCHECK} did not find it")
        lines_known |= any(outcome.line for outcome in outcomes.values())
        caught = [o for instrument, o in outcomes.items() if o.reported and instrument != "no instrument"]
        if not outcomes[TIMED].reported and name not in TIMED_MAY_MISS:
            failures.append(f"{name}: {TIMED} did not find it")
        if not caught:
            failures.append(f"{name}: no instrument caught it")
        elif lines_known and not any(o.line in stops for o in caught):
            failures.append(f"{name}: caught at {sorted({o.line for o in caught}, key=str)}, but marked are {sorted(stops)}")
        if name == "missing_root_local" and VALGRIND in outcomes and not STALE_STACKS.search(outcomes[VALGRIND].output):
            failures.append(f"{name}: valgrind does not tell collection and allocation: {outcomes[VALGRIND].output}")
        for outcome in outcomes.values():
            if outcome.kind.startswith("exit status"):
                failures.append(f"{name}: {outcome.kind}, without a word: {outcome.output[-300:]}")
    if not lines_known:
        print("lines are not checked: no addr2line, or no backtrace in the C library")
    columns = list(runs) + [ROOTCHECK] * (static is not None)
    text = table(rows, columns)
    print(text)

    if args.docs:
        full, page = args.docs
        short = [(name, mistake, [for_the_page(cell) for cell in cells]) for name, mistake, cells in rows]
        if args.write:
            replace_between_marks(full, table(short, columns))
            replace_between_marks(page, counts_table(short, columns))
        text = full.read_text(encoding="utf-8")
        failures += [f"{full.name} has no row for {name}; --write adds it" for name in mistakes
                     if f"| {name}: {mistakes[name]} |" not in text]
        if args.exact:
            failures += compare(text, rows, columns)
            failures += compare_counts(page.read_text(encoding="utf-8"), counts_table(short, columns))
    for failure in failures:
        print(failure)
    print(f"{len(mistakes)} mistakes, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
