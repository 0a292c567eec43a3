#!/usr/bin/env python3
"""Makes the mutants of a small program as tools/mutate does, and runs one of each class: each mutant must behave as its
class says.

    mutation.py TOOLS [COMPILER...]     TOOLS: the folder tools/

Exits with 77, which is skipped, without libclang's Python module.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TOOLS = Path(sys.argv[1]).resolve()
PYTHON = TOOLS.parent / ".venv/bin/python"
if importlib.util.find_spec("clang") is None:
    if not PYTHON.exists() or "MUTATION_WITH" in os.environ:
        print("libclang's Python module is missing: nothing is tested")
        sys.exit(77)
    os.execve(PYTHON, [str(PYTHON), *sys.argv], {**os.environ, "MUTATION_WITH": "clang"})
sys.path.insert(0, str(TOOLS))
from mutation import report  # noqa: E402
from mutation.build import compiler_folders  # noqa: E402
from mutation.mutants import CLASSES, File  # noqa: E402

PROGRAM = r"""
#include <stdbool.h>
#include <stdio.h>
#define ASSERT(c) do { if (!(c)) puts("assertion"); } while (0)
#define LEFT (1 + 1)
typedef struct list { const struct list *next; int item; } list;
static int calls;
static void note(int n) { calls = calls * 10 + n; }
static bool is_small(int n) { return n < 3; }
static int sum(const int *items, int count) {
  int total = 0;
  ASSERT(count > 0);
  for (int i = 0; i < count; i++) {
    if (items[i] == 7) continue; /* a comment, and a { */
    total += items[i];
  }
  return total;
}
static int sum_list(const list *l) {
  int total = 0;
  for (; l != NULL; l = l->next) total += l->item;
  return total;
}
int main(void) {
  static const int items[] = {3, 1, 7, 4};
  const list second = {NULL, 20}, first = {&second, 10};
  bool on = true;
  note(1);
  note(2);
  if (on && is_small(LEFT + 2)) note(3);
  switch (calls) {
  case 4: note(4); break;
  default: break;
  }
  printf("%d %d %d %d %d\n", calls, sum(items, 4), sum_list(&first), is_small(3) ? 5 : 40 - 4, on);
}
"""
ORIGINAL = "12 8 30 36 1"
# Class, original text, and the output of the mutant.
EXPECTED = [
    ("call", "note(1);", "2 8 30 36 1"),
    ("assign", "total += items[i];", "12 0 30 36 1"),
    ("jump", "continue;", "12 15 30 36 1"),
    ("flip", "items[i] == 7", "12 7 30 36 1"),
    ("flip", "n < 3", "123 8 30 5 1"),
    ("edge", "n < 3", "12 8 30 5 1"),
    ("number", "4", "12 8 30 35 1"),
    ("logic", "on && is_small(LEFT + 2)", "123 8 30 36 1"),
    ("value", "true", "12 8 30 36 0"),
    ("last", "i < count", "12 4 30 36 1"),
    ("last", "l != NULL", "12 8 10 36 1"),
    ("order", "note(1); note(2);", "21 8 30 36 1"),
    ("sign", "40 - 4", "12 8 30 44 1"),
]


def output_of(program, environment=None):
    return subprocess.run([program], capture_output=True, text=True, timeout=60, env={**os.environ, **(environment or {})}).stdout.strip()


def main():
    faults = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, program, count = folder / "plain.c", folder / "guarded", 512
        source.write_text(PROGRAM, encoding="utf-8")
        file = File("plain.c", PROGRAM, ["-std=c11", *compiler_folders()], source)
        file.number(1)
        guarded = folder / "guarded.c"
        guarded.write_text(file.guarded(set()), encoding="utf-8")
        header, chooser = TOOLS / "mutation/schemata.h", TOOLS / "mutation/schemata.c"
        subprocess.run([*(sys.argv[2:] or ["cc"]), "-std=c11", "-D_GNU_SOURCE", "-w", f"-DCRD_MUTANTS={count}", "-include", header, guarded,
                        chooser, "-o", program], check=True)
        reached = folder / "reached"
        if output_of(program, {"MUTANTS_REACHED": str(reached)}) != ORIGINAL:
            faults.append(f"without a mutant it prints {output_of(program)}")
        marks = reached.read_bytes()
        for kind, before, expected in EXPECTED:
            found = [mutant for mutant in file.mutants if (mutant.kind, mutant.before) == (kind, before)]
            if not found:
                faults.append(f"{kind}: no mutant of {before}")
            elif (got := output_of(program, {"MUTANT": str(found[-1].number)})) != expected:
                faults.append(f"{kind}: {before} becomes {found[-1].after}: printed is {got}, expected {expected}")
            elif not marks[found[-1].number]:
                faults.append(f"{kind}: {before}: not noted as reached")
        unreached = [mutant for mutant in file.mutants if mutant.before == "note(4);"]
        if not unreached or marks[unreached[0].number]:
            faults.append("a call that is never made is noted as reached, or has no mutant")
        missing = set(CLASSES) - {kind for kind, _, _ in EXPECTED}
        faults += [f"no mutant is expected of the class {kind}" for kind in sorted(missing)]
        faults += [f"a macro's text is changed: {mutant.before}" for mutant in file.mutants if "count > 0" in mutant.before or mutant.before == "LEFT"]
        # Adding a function in front changes neither the keys nor the results that are kept.
        other = File("plain.c", PROGRAM.replace("static int sum(", "static int none(void) { return 5; }\nstatic int sum("),
                     ["-std=c11", *compiler_folders()], write(folder / "other.c", PROGRAM.replace(
                         "static int sum(", "static int none(void) { return 5; }\nstatic int sum(")))
        other.number(100)
        lost = {mutant.key for mutant in file.mutants} - {mutant.key for mutant in other.mutants}
        if lost:
            faults.append(f"{len(lost)} keys change with another function")
        with open(folder / "results.tsv", "a", encoding="utf-8") as results:
            for mutant in file.mutants:
                report.add(results, mutant, report.SURVIVED)
        if set(report.read(folder / "results.tsv")) != {mutant.key for mutant in file.mutants}:
            faults.append("results are not read as they were written")
    print("\n".join(faults))
    print(f"{len(file.mutants)} mutants, {len(EXPECTED)} run, {len(faults)} faults")
    return 1 if faults else 0


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


if __name__ == "__main__":
    sys.exit(main())
