"""Findings: their text, with the line numbers of the user's files. Each local is reported once."""

import dataclasses
from dataclasses import dataclass, field

LINES_NAMED = 3


@dataclass(frozen=True, order=True)
class Finding:
    file: str
    line: int
    column: int
    kind: str
    text: str
    function: str
    after: int = 0  # the line of the call, which the text refers to as {after}
    path: tuple = field(default=None, compare=False)  # of the local that needs a root
    place: str = field(default=None, compare=False)  # the USR of the function
    call: object = field(default=None, compare=False)  # the call to move into a statement of its own
    also: tuple = ()  # other lines on which this local is stale

    def said(self, line_of=lambda line: line):
        """The text, with the lines that line_of gives for those of the file that was read."""
        text = self.text.format(after=line_of(self.after)) if self.after else self.text
        lines = sorted({line_of(line) for line in self.also} - {line_of(self.line)})
        named = ", ".join(str(line) for line in lines[:LINES_NAMED]) + (", ..." if len(lines) > LINES_NAMED else "")
        return f"{text}; also in line{'s' * (len(lines) > 1)} {named}" if lines else text


def one_each(findings):
    """Keeps the first finding for each stale local: one root mends them all, and a comment on the first reveals the next."""
    places, kept = {}, []
    for finding in findings:
        key = (finding.place, finding.path) if finding.kind == "stale" else id(finding)
        if key not in places:
            kept.append(key)
        places.setdefault(key, []).append(finding)
    return [told_once(places[key]) for key in kept]


def told_once(findings):
    first, *others = findings
    return dataclasses.replace(first, also=tuple(finding.line for finding in others))
