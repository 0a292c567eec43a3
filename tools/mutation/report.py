"""Results, what is known to be equal, and tables of both."""

import json
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

    def explains(self):
        return self.file, self.function, self.kind, self.before, self.after


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


def explanations(path):
    """(file, function, class, before, after) to the reason."""
    if not path.exists():
        return {}
    return {(file, function, kind, before, after): entry["why"] for entry in json.loads(path.read_text(encoding="utf-8"))
            for file, function, kind, before, after in entry["mutants"]}


def table(results, known, group, title):
    """Rows of a Markdown table: one for each group, and the sum."""
    counts = defaultdict(Counter)
    for result in results.values():
        column = result.outcome if result.outcome in UNNOTICED else "noticed"
        if column != "noticed" and result.explains() in known:
            column = "explained"
        for row in group(result), "together":
            counts[row][column] += 1
    yield f"| {title} | mutants | noticed | explained | survived | not reached | noticed or explained |"
    yield "|---|---|---|---|---|---|---|"
    for row in sorted(counts, key=lambda row: (row == "together", row)):
        count = counts[row]
        total, good = sum(count.values()), count["noticed"] + count["explained"]
        cells = (total, count["noticed"], count["explained"], count[SURVIVED], count[NOT_REACHED])
        yield f"| {row} | " + " | ".join(f"{cell:,}" for cell in cells) + f" | {100 * good / total:.1f} % |"


def show(results, equal, markdown):
    known = explanations(equal)
    left = [result for result in results.values() if result.outcome in UNNOTICED and result.explains() not in known]
    print("\n".join(table(results, known, lambda result: result.kind, "Class")), end="\n\n")
    print("\n".join(table(results, known, lambda result: result.file, "File")))
    if markdown:
        return 0
    for result in sorted(left, key=lambda result: (result.file, int(result.line))):
        print(f"\n{result.file}:{result.line}: {result.function}: {result.kind}: {result.outcome} ({result.key})\n"
              f"  - {result.before}\n  + {result.after}")
    return 1 if left else 0
