"""Reads a program and collects its findings."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import syntax
from .analysis import Analysis
from .comments import OK, Comments
from .facts import DEFAULT_VALUES, Facts
from .findings import Finding, one_each


class Program:
    def __init__(self, files, value_types, parsed=None):
        """files: (file, options) pairs; parsed: translation units by name, used as a cache and extended."""
        parsed = {} if parsed is None else parsed
        missing = [file for file in files if str(file[0]) not in parsed]
        with ThreadPoolExecutor() as pool:  # libclang lets other threads run
            parsed.update(zip((str(file) for file, _ in missing), pool.map(lambda file: syntax.parse(*file), missing)))
        units = [parsed[str(file)] for file, _ in files]
        self.read = {str(file) for file, _ in files} | {name for unit in units for name in own_headers(unit)}
        self.comments = Comments()
        self.facts = Facts(self.comments, value_types)
        for unit in units:
            self.facts.add(unit, self.read.__contains__)
        self.facts.conclude()
        self.analysis = Analysis(self.facts)
        self.open, self.accepted = [], []

    def check(self, more=()):
        """more: findings to add to the usual ones, such as needless roots."""
        for finding in sorted(self.analysis.findings() | set(more)):
            accepted = self.comments.says(OK, finding.file, finding.line)
            (self.accepted if accepted else self.open).append(finding)
        self.open = one_each(self.open)
        names = sorted(name for name in self.read if Path(name).exists())
        self.open += [Finding(name, line, 1, "comment", text, "") for name, line, text in self.comments.mistakes(names)]

    def hints(self):
        """What is not followed, in words, and how that can be mended."""
        places = [f"'{place}'" + (f" ({kind})" if kind else "") for place, kind in sorted(self.facts.unnamed_values.items())]
        if self.facts.values > DEFAULT_VALUES or not places:
            return []
        return [f"{', '.join(places)} may hold values, but their type may hold anything: locals with values are not followed; give "
                "values a typedef, and name it with --value-type NAME"]

    def summary(self, files):
        may_collect = sum(name in self.facts.may_collect for name in self.facts.functions)
        kinds = {}
        for finding in self.open:
            kinds[finding.kind] = kinds.get(finding.kind, 0) + 1
        each = "".join(f", {count} {kind}" for kind, count in sorted(kinds.items()))
        return (f"{files} files, {len(self.facts.functions)} functions, {may_collect} may collect: {len(self.open)} findings{each}; "
                f"{len(self.accepted)} accepted")


def own_headers(unit):
    """Accepts headers in or below the file's folder: their inline functions belong to the program, not to a library."""
    folder = str(Path(unit.spelling).resolve().parent) + "/"
    for include in unit.get_includes():
        name = include.include.name
        if not name.startswith("/usr/") and str(Path(name).resolve()).startswith(folder):
            yield name
