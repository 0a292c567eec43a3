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
from .hoist import Hoisting
from .program import Program
from .rooting import Rooting

ROUNDS_MOST = 10


def run(files, value_types, in_place):
    """The exit status: 1 if findings are left."""
    units = {}
    roots = moved = 0
    tried = set()  # what was done and did not help is not done again
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
    tell(program, roots, moved)
    return 1 if program.open else 0


def reread(units, files, changed):
    """Drops the units that a change reaches."""
    sources = {str(file) for file, _ in files}
    if changed <= sources:
        for name in changed:
            units.pop(name, None)
    else:
        units.clear()  # a header


def print_diff():
    for name, text in sorted(syntax.UNSAVED.items()):
        old, new = (one.decode("utf-8", "surrogateescape").splitlines(keepends=True) for one in (syntax.saved_contents(name), text))
        path = os.path.relpath(name)
        sys.stdout.writelines(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
                              for line in difflib.unified_diff(old, new, f"a/{path}", f"b/{path}"))


def tell(program, roots, moved):
    print(f"cradle-rootcheck: {roots} roots added, {moved} calls moved to statements of their own, "
          f"{len(program.open)} findings left", file=sys.stderr)
    for f in program.open:
        print(f"{os.path.relpath(f.file)}:{f.line}:{f.column}: {f.kind}: {f.text} [{f.function}]", file=sys.stderr)
