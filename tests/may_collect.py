#!/usr/bin/env python3
"""Checks that clang's -Wthread-safety finds what the may-collect annotations are for.

    may_collect.py CLANG INCLUDE_DIRECTORY

Each snippet below is compiled alone; the good ones must pass and the bad ones must be refused for the stated reason.
"""

import subprocess
import sys

HEAD = "#include <cradle/cradle.h>\n"

SNIPPETS = [
    ("a function that says it may collect", None,
     "void *f(cradle_mutator *m) CRADLE_MAY_COLLECT { return cradle_new(m, 0, 16); }"),
    ("a program from heap to end", None,
     "void f(cradle_heap *h) { cradle_mutator *m = cradle_mutator_new(h); cradle_new(m, 0, 16); cradle_mutator_free(m); }"),
    ("a closed no-collection region", None,
     "void f(cradle_mutator *m) CRADLE_MAY_COLLECT { cradle_no_collect_begin(m); cradle_no_collect_end(m); "
     "cradle_collect_minor(m); }"),
    ("carving does not collect", None,
     "void *f(cradle_reservation *r) { return cradle_new_reserved(r, 0, 16); }"),
    ("an allocation that is not declared", "requires holding",
     "void *f(cradle_mutator *m) { return cradle_new(m, 0, 16); }"),
    ("a call of a function that may collect, not declared", "requires holding",
     "void g(cradle_mutator *m) CRADLE_MAY_COLLECT; void f(cradle_mutator *m) { g(m); }"),
    ("a safepoint poll that is not declared", "requires holding",
     "void f(cradle_mutator *m) { cradle_safepoint(m); }"),
    ("an allocation in a no-collection region", "requires holding",
     "void f(cradle_mutator *m) CRADLE_MAY_COLLECT { cradle_no_collect_begin(m); cradle_new(m, 0, 16); "
     "cradle_no_collect_end(m); }"),
    ("an early return that leaves the region open", "not held on every path",
     "void f(cradle_mutator *m, int early) CRADLE_MAY_COLLECT { cradle_no_collect_begin(m); if (early) return; "
     "cradle_no_collect_end(m); }"),
    ("a hook", None,
     "void f(void *data, const cradle_event *e) { ++*(int *)data; (void)e; }"),
    ("an allocation in a hook", "requires holding",
     "void f(void *data, const cradle_event *e) { cradle_new((cradle_mutator *)data, 0, 16); (void)e; }"),
    ("a hook of a function that is declared to collect, called by one that is not", "requires holding",
     "void f(void *data, const cradle_event *e) CRADLE_MAY_COLLECT; void g(const cradle_event *e) { f(0, e); }"),
    ("a new maximum that is not declared", "requires holding",
     "bool f(cradle_mutator *m) { return cradle_heap_set_max(m, 0, 0); }"),
    ("an allocation in a trace callback", "requires holding",
     "cradle_mutator *m; void trace(void *object, cradle_visitor *v) { (void)object; (void)v; cradle_new(m, 0, 16); }"),
]


def compile_snippet(clang, include, text):
    command = [clang, "-std=c11", "-fsyntax-only", "-Wthread-safety", "-Werror", "-I", include, "-x", "c", "-"]
    return subprocess.run(command, input=HEAD + text + "\n", capture_output=True, text=True)


def main():
    clang, include = sys.argv[1:3]
    faults = 0
    for name, reason, text in SNIPPETS:
        result = compile_snippet(clang, include, text)
        if reason is None and result.returncode != 0:
            print(f"refused, but right: {name}\n{result.stderr}")
            faults += 1
        elif reason is not None and (result.returncode == 0 or reason not in result.stderr):
            print(f"not found: {name} (wants \"{reason}\")\n{result.stderr}")
            faults += 1
    print(f"{len(SNIPPETS) - faults} of {len(SNIPPETS)} snippets as they should be")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
