"""Results, and tables of them."""

from collections import Counter, defaultdict
from dataclasses import dataclass

SURVIVED, NOT_REACHED = "survived", "not reached"
UNNOTICED = (SURVIVED, NOT_REACHED)
FIELDS = ("key", "outcome", "file", "line", "function", "kind", "before", "after")


@dataclass
class Result:
    key: str
    outcome: str  # one of UNNOTICED, or the test that failed
    file: str
    line: str
    function: str
    kind: str
    before: str
    after: str


def read(path):
    """Results by key; if a mutant was tried again, the last one."""
    if not path.exists():
        return {}
    rows = (line.rstrip("\n").split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return {row[0]: Result(*row) for row in rows if len(row) == len(FIELDS)}


def add(file, mutant, outcome):
    texts = (mutant.key, outcome, mutant.file, str(mutant.line), mutant.function, mutant.kind, mutant.before, mutant.after)
    file.write("\t".join(text.replace("\t", " ") for text in texts) + "\n")
    file.flush()


def table(results, group, title):
    """Rows of a Markdown table: one for each group, and the sum."""
    counts = defaultdict(Counter)
    for result in results.values():
        column = result.outcome if result.outcome in UNNOTICED else "noticed"
        for row in group(result), "together":
            counts[row][column] += 1
    yield f"| {title} | mutants | noticed | survived | not reached | share noticed |"
    yield "|---|---|---|---|---|---|"
    for row in sorted(counts, key=lambda row: (row == "together", row)):
        count = counts[row]
        total = sum(count.values())
        cells = (total, count["noticed"], count[SURVIVED], count[NOT_REACHED])
        yield f"| {row} | " + " | ".join(f"{cell:,}" for cell in cells) + f" | {100 * count['noticed'] / total:.1f} % |"


def show(results, markdown):
    left = [result for result in results.values() if result.outcome in UNNOTICED]
    print("\n".join(table(results, lambda result: result.kind, "Class")), end="\n\n")
    print("\n".join(table(results, lambda result: result.file, "File")))
    if markdown:
        return
    for result in sorted(left, key=lambda result: (result.file, int(result.line))):
        print(f"\n{result.file}:{result.line}: {result.function}: {result.kind}: {result.outcome} ({result.key})\n"
              f"  - {result.before}\n  + {result.after}")
