#!/usr/bin/env python3
"""Checks that clang's -Wthread-safety finds the mistakes for which the may-collect annotations exist.

    may_collect.py CLANG INCLUDE_DIRECTORY

Each snippet below is compiled alone; the good ones must pass and the bad ones must be refused for the stated reason.
Then a call of each public function marked CRADLE_MAY_COLLECT must be refused where the caller has no such mark. The
last group holds mistakes that the analysis cannot see. They compile without a warning; if a newer clang finds them,
this test says so.
"""

import re
import subprocess
import sys
from pathlib import Path

HEAD = "#include <cradle/cradle.h>\n#include <cradle/kit.h>\n"

STRING = "typedef struct { uint64_t header, length; char bytes[]; } string; "
FIXED_FORMS = ["CRADLE_NEW", "CRADLE_NEW_UNINITIALIZED"]
ARRAY_FORMS = ["CRADLE_NEW_ARRAY", "CRADLE_NEW_ARRAY_UNINITIALIZED"]
SNIPPETS = [
    ("a function that says it may collect", None,
     "void *f(cradle_mutator *m) CRADLE_MAY_COLLECT { return cradle_new(m, 0, 16); }"),
    ("a program from heap to end", None,
     "void f(cradle_heap *h) { cradle_mutator *m = cradle_mutator_new(h); cradle_new(m, 0, 16); cradle_mutator_free(m); }"),
    ("a closed no-collection region", None,
     "void f(cradle_mutator *m) CRADLE_MAY_COLLECT { cradle_no_collect_begin(m); cradle_no_collect_end(m); "
     "cradle_collect(m, CRADLE_COLLECT_MINOR); }"),
    ("carving does not collect", None,
     "void *f(cradle_reservation *r) { return cradle_new_reserved(r, 0, 16); }"),
    ("an allocation that is not declared", "requires holding",
     "void *f(cradle_mutator *m) { return cradle_new(m, 0, 16); }"),
    ("the typed forms", None,
     STRING + "void *f(cradle_mutator *m, size_t n) CRADLE_MAY_COLLECT { (void)CRADLE_NEW_FAST(m, string, 0); "
     "(void)CRADLE_NEW(m, string, 0); return CRADLE_NEW_ARRAY(m, string, 0, bytes, length, n); }"),
    ("the typed forms that do not collect", None,
     STRING + "void f(cradle_mutator *m, cradle_reservation *r, size_t n) { (void)CRADLE_NEW_FAST(m, string, 0); "
     "(void)CRADLE_NEW_ARRAY_FAST(m, string, 0, bytes, length, n); (void)CRADLE_NEW_RESERVED(r, string, 0); "
     "(void)CRADLE_NEW_RESERVED_ARRAY(r, string, 0, bytes, length, n); }"),
    *((f"{form} that is not declared", "requires holding", STRING + f"void f(cradle_mutator *m) {{ (void){form}(m, string, 0); }}")
      for form in FIXED_FORMS),
    *((f"{form} that is not declared", "requires holding",
       STRING + f"void f(cradle_mutator *m, size_t n) {{ (void){form}(m, string, 0, bytes, length, n); }}")
      for form in ARRAY_FORMS),
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
    ("a listener", None,
     "void f(void *data, const cradle_event *e) { ++*(int *)data; (void)e; }"),
    ("a listener of a function that is declared to collect, called by one that is not", "requires holding",
     "void f(void *data, const cradle_event *e) CRADLE_MAY_COLLECT; void g(const cradle_event *e) { f(0, e); }"),
    ("a new maximum that is not declared", "requires holding",
     "bool f(cradle_mutator *m) { return cradle_heap_set_max(m, 0, 0); }"),
    ("an allocation in a trace callback", "requires holding",
     "cradle_mutator *m; void trace(void *user, void *object, cradle_visitor *v) { (void)user; (void)object; (void)v; cradle_new(m, 0, 16); }"),
    ("an allocation in a root callback", "requires holding",
     "void roots(void *data, cradle_visitor *v) { (void)v; cradle_new((cradle_mutator *)data, 0, 16); }"),
    ("an allocation in a listener", "requires holding",
     "void listen(void *data, const cradle_event *e) { (void)e; cradle_new((cradle_mutator *)data, 0, 16); }"),
    ("an allocation in a destructor", "requires holding",
     "cradle_mutator *m; void destroy(void *user, void *object) { (void)user; (void)object; cradle_new(m, 0, 16); }"),
    ("a collection in a no-collection region", "requires holding",
     "void f(cradle_mutator *m) CRADLE_MAY_COLLECT { cradle_no_collect_begin(m); cradle_collect(m, CRADLE_COLLECT_FULL); "
     "cradle_no_collect_end(m); }"),
    ("a poll in a no-collection region", "requires holding",
     "void f(cradle_mutator *m) CRADLE_MAY_COLLECT { cradle_no_collect_begin(m); cradle_safepoint(m); "
     "cradle_no_collect_end(m); }"),
    ("a function that may collect, called in a no-collection region", "requires holding",
     "void g(cradle_mutator *m) CRADLE_MAY_COLLECT; void f(cradle_mutator *m) CRADLE_MAY_COLLECT { "
     "cradle_no_collect_begin(m); g(m); cradle_no_collect_end(m); }"),
    ("an allocation in one branch of a region", "requires holding",
     "void f(cradle_mutator *m, int rarely) CRADLE_MAY_COLLECT { cradle_no_collect_begin(m); "
     "if (rarely) cradle_new(m, 0, 16); cradle_no_collect_end(m); }"),
    ("a region that is never closed", "end of function",
     "void f(cradle_mutator *m) CRADLE_MAY_COLLECT { cradle_no_collect_begin(m); }"),
    ("a region that one branch opens", "not held on every path",
     "void f(cradle_mutator *m, int some) CRADLE_MAY_COLLECT { if (some) cradle_no_collect_begin(m); "
     "cradle_collect(m, CRADLE_COLLECT_MINOR); }"),
    ("a region that a goto leaves open", "not held on every path",
     "void f(cradle_mutator *m, int n) CRADLE_MAY_COLLECT { cradle_no_collect_begin(m); if (n > 1) goto out; "
     "cradle_no_collect_end(m); out: return; }"),
    ("a region that a break leaves open", "end of function",
     "void f(cradle_mutator *m, int n) CRADLE_MAY_COLLECT { for (;;) { cradle_no_collect_begin(m); if (n > 1) break; "
     "cradle_no_collect_end(m); } }"),
    ("a region opened in every round of a loop", "start of each loop",
     "void f(cradle_mutator *m, int n) CRADLE_MAY_COLLECT { while (n-- > 0) cradle_no_collect_begin(m); }"),
    ("the end of a region that was not begun", "acquiring",
     "void f(cradle_mutator *m) CRADLE_MAY_COLLECT { cradle_no_collect_end(m); }"),
    ("an allocation after the mutator was freed", "requires holding",
     "void f(cradle_heap *h) { cradle_mutator *m = cradle_mutator_new(h); cradle_mutator_free(m); cradle_new(m, 0, 16); }"),
    ("an allocation after the mutator was detached", "requires holding",
     "void f(cradle_mutator *m) CRADLE_MAY_COLLECT { cradle_mutator_detach(m); cradle_new(m, 0, 16); "
     "cradle_mutator_attach(m); }"),
    ("a parked block, and an allocation after it", None,
     "void g(void); void f(cradle_mutator *m) CRADLE_MAY_COLLECT { CRADLE_PARKED(m) { g(); } cradle_new(m, 0, 16); }"),
    ("a parked block in a loop", None,
     "void g(void); void f(cradle_mutator *m, int n) CRADLE_MAY_COLLECT { while (n-- > 0) CRADLE_PARKED(m) g(); }"),
    ("an allocation in a parked block", "requires holding",
     "void f(cradle_mutator *m) CRADLE_MAY_COLLECT { CRADLE_PARKED(m) { cradle_new(m, 0, 16); } }"),
    ("a poll while parked", "requires holding",
     "void f(cradle_mutator *m) CRADLE_MAY_COLLECT { cradle_mutator_park(m); cradle_safepoint(m); cradle_mutator_unpark(m); }"),
    ("a parked block in a function that is not declared", "releasing",
     "void g(void); void f(cradle_mutator *m) { CRADLE_PARKED(m) g(); }"),
    ("a mutator that stays parked", "end of function",
     "void f(cradle_mutator *m) CRADLE_MAY_COLLECT { cradle_mutator_park(m); }"),
    ("a mutator that is parked twice", "releasing",
     "void g(void); void f(cradle_mutator *m) CRADLE_MAY_COLLECT { CRADLE_PARKED(m) CRADLE_PARKED(m) g(); }"),
    ("a mutator that is never freed", "still held",
     "void f(cradle_heap *h) { cradle_mutator *m = cradle_mutator_new(h); cradle_new(m, 0, 16); }"),
    ("a second mutator", "acquiring",
     "void f(cradle_heap *h) { cradle_mutator *m = cradle_mutator_new(h); m = cradle_mutator_new(h); cradle_mutator_free(m); }"),
    ("an inline helper that is not declared", "requires holding",
     "static inline void *g(cradle_mutator *m) { return cradle_new_uninitialized(m, 0, 16); } "
     "void *f(cradle_mutator *m) CRADLE_MAY_COLLECT { return g(m); }"),
    ("an allocation in an argument", "requires holding",
     "void f(cradle_mutator *m, void **a) { cradle_store(m, a, a + 1, cradle_new(m, 0, 16)); }"),
]

# Mistakes that clang does not find, because it has no annotation for them. tools/cradle-rootcheck or checks at run time
# find them.
UNSEEN = [
    ("a call through a pointer",
     "typedef void *(*maker)(cradle_mutator *m); void f(cradle_mutator *m, maker g) { g(m); }"),
    ("an allocation in a callback that is declared to collect, where it is given to the heap",
     "cradle_mutator *m; void destroy(void *user, void *object) CRADLE_MAY_COLLECT { (void)user; (void)object; cradle_new(m, 0, 16); } "
     "cradle_type type = {.size = 16, .destructor = destroy};"),
    ("a store in a parked block",
     "void f(cradle_mutator *m, void **a) CRADLE_MAY_COLLECT { CRADLE_PARKED(m) { cradle_store(m, a, a + 1, a); } }"),
    ("a reference that is not rooted",
     "void f(cradle_mutator *m, void **a) CRADLE_MAY_COLLECT { cradle_collect(m, CRADLE_COLLECT_MINOR); a[1] = NULL; }"),
]

MARKED = re.compile(r"(cradle_\w+)\(([^;{()]*)\)\s*CRADLE_MAY_COLLECT")


def marked_functions(include):
    """For each marked function, a caller that does not declare that it may collect."""
    for header in sorted(Path(include).rglob("*.h")):
        for name, parameters in MARKED.findall(header.read_text(encoding="utf-8")):
            names = ", ".join(parameter.split()[-1].lstrip("*") for parameter in parameters.split(","))
            yield name, "requires holding", f"void f({parameters}) {{ (void){name}({names}); }}"


def compile_snippet(clang, include, text):
    command = [clang, "-std=c11", "-fsyntax-only", "-Wthread-safety", "-Werror", "-I", include, "-x", "c", "-"]
    return subprocess.run(command, input=HEAD + text + "\n", capture_output=True, text=True)


def main():
    clang, include = sys.argv[1:3]
    faults = 0
    marked = list(marked_functions(include))
    for name, reason, text in SNIPPETS + marked:
        result = compile_snippet(clang, include, text)
        if reason is None and result.returncode != 0:
            print(f"refused, but right: {name}\n{result.stderr}")
            faults += 1
        elif reason is not None and (result.returncode == 0 or reason not in result.stderr):
            print(f"not found: {name} (wants \"{reason}\")\n{result.stderr}")
            faults += 1
    for name, text in UNSEEN:
        result = compile_snippet(clang, include, text)
        if result.returncode != 0:
            print(f"found, which is news: {name}\n{result.stderr}")
            faults += 1
    if len(marked) < 10:
        print(f"only {len(marked)} functions of the headers were found to be marked")
        faults += 1
    snippets = len(SNIPPETS) + len(marked) + len(UNSEEN)
    print(f"{snippets - faults} of {snippets} snippets as they should be, {len(marked)} of them one a function of the headers")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
