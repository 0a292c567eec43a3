"""--fix: writes the roots that are missing, and moves calls that may collect into statements of their own.

Each round adds what the findings ask for to texts in memory and reads those again, until nothing more can be done: a root that is
added, and a call that is moved, may show the next one.
"""

import difflib
import os
import sys
from pathlib import Path

from . import syntax
from .edits import Edits
from .hoist import Hoisting, key_of
from .program import Program
from .rooting import Rooting

ROUNDS_MOST = 10


def run(files, value_types, in_place):
    """The exit status: 1 if findings are left."""
    units = {}
    roots = moved = 0
    tried = {}  # changes that did not help are not repeated; why each finding is left
    for _ in range(ROUNDS_MOST):
        program = Program(files, value_types, units)
        program.check()
        edits = Edits()
        roots_here = Rooting(program.analysis, edits, tried).add(program.open)
        moved_here = Hoisting(program.analysis, edits, tried).add(program.open) if roots_here == 0 else 0
        if roots_here + moved_here == 0:
            break
        roots += roots_here
        moved += moved_here
        changed = edits.apply()
        syntax.UNSAVED.update(changed)
        reread(units, files, set(changed))
    if in_place:
        for name, text in syntax.UNSAVED.items():
            Path(name).write_bytes(text)
    else:
        print_diff()
    tell(program, roots, moved, in_place, tried)
    return 1 if program.open else 0


def reread(units, files, changed):
    """Drops the translation units that a change affects."""
    sources = {str(file) for file, _ in files}
    if changed <= sources:
        for name in changed:
            units.pop(name, None)
    else:
        units.clear()  # a header may be included anywhere


def print_diff():
    for name, text in sorted(syntax.UNSAVED.items()):
        old, new = (one.decode("utf-8", "surrogateescape").splitlines(keepends=True) for one in (syntax.saved_contents(name), text))
        path = os.path.relpath(name)
        sys.stdout.writelines(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
                              for line in difflib.unified_diff(old, new, f"a/{path}", f"b/{path}"))


# Findings that --fix never mends.
NOT_MENDED = {
    "global": "a global needs cradle_global_root_add, where the program begins",
    "barrier": "--fix does not know which object the slot belongs to: store with cradle_store, or call cradle_write_barrier",
    "header": "only the program knows which fields are to change",
    "interior": "an address inside an object cannot be rooted: give the object, or a copy",
    "comment": "the comment is the program's",
}


def why_left(finding, tried):
    """Why --fix leaves a finding."""
    if finding.kind in NOT_MENDED:
        return NOT_MENDED[finding.kind]
    keys = [(finding.place, finding.path)] + ([key_of(finding.call)] if finding.call is not None else [])
    return next((tried[key] for key in keys if key in tried), "nothing that --fix tried helped")


def tell(program, roots, moved, in_place, tried):
    print(f"cradle-rootcheck: {roots} roots added, {moved} calls moved to statements of their own, "
          f"{len(program.open)} findings left", file=sys.stderr)
    origins = {}
    for finding in program.open:
        name = finding.file
        if name not in origins:
            changed = name in syntax.UNSAVED and not in_place
            origins[name] = line_origins(syntax.saved_contents(name), syntax.contents(name)) if changed else None
        print(f"{told_of(finding, origins[name])}\n  left: {why_left(finding, tried)}", file=sys.stderr)


def line_origins(old, new):
    """For each line of the new text: the old line that it comes from, and whether it is unchanged."""
    old, new = old.splitlines(), new.splitlines()
    origins = []
    for change, start, end, new_start, new_end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for number in range(new_start, new_end):
            line = start if change == "insert" else min(start + number - new_start, end - 1) + 1
            origins.append((max(line, 1), change == "equal"))
    return origins


def told_of(finding, origins):
    """A finding in words, with the lines of the text that the user has."""
    line, is_same, said = finding.line, True, finding.said()
    if origins is not None:
        line, is_same = origins[finding.line - 1]
        said = finding.said(lambda number: origins[number - 1][0])
    return f"{os.path.relpath(finding.file)}:{line}:{finding.column if is_same else 1}: {finding.kind}: {said} [{finding.function}]"
