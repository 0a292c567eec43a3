#!/usr/bin/env python3
"""Compiles snippets that the macros of cradle/typed.h and CRADLE_ROOT_RANGE must accept without a warning, and others
that they must refuse.

    typed_forms.py INCLUDE_DIRECTORY COMPILER...

A COMPILER whose name ends with ++ gets C++11, any other C11. Each snippet is compiled alone, with all warnings as
errors.
"""

import subprocess
import sys

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wno-unused-parameter", "-Werror"]

# In C++, arrays of open length are an extension; cradle/kit.h has the same pragma.
HEAD = """#include <cradle/cradle.h>
#ifdef __cplusplus
#pragma GCC diagnostic ignored "-Wpedantic"
#endif
typedef struct { uint64_t header; double x, y; } point;
typedef struct { uint64_t header, length; char bytes[]; } string;
typedef struct { uint64_t header; void *name; uint64_t count; void *items[]; } row;
typedef struct { uint64_t header, odd; char wide[16] __attribute__((aligned(16))); } wide;
typedef struct { uint64_t header; uint32_t length, rest; char bytes[]; } narrow;
typedef struct { uint64_t header, length; void *items[4]; } four;
#ifdef __cplusplus
#pragma GCC diagnostic error "-Wpedantic"
#endif
enum { POINT, STRING, ROW };
"""
FUNCTION = """void f(cradle_mutator *m, cradle_reservation *r, size_t n) CRADLE_MAY_COLLECT;
void f(cradle_mutator *m, cradle_reservation *r, size_t n) { %s }
"""

ACCEPTED = [
    "point *p = CRADLE_NEW(m, point, POINT); p->x = 1;",
    "CRADLE_NEW_UNINITIALIZED(m, point, POINT)->x = 1;",
    "point *p = CRADLE_NEW_FAST(m, point, (uint32_t)n + POINT); if (p != NULL) p->x = 1;",
    "CRADLE_NEW_WITH(m, point, POINT, 0)->x = 1;",
    "CRADLE_NEW_RESERVED(r, point, POINT)->x = 1;",
    "CRADLE_NEW_WITH(m, point, POINT, CRADLE_PINNED)->x = 1;",
    "CRADLE_NEW_ARRAY_WITH(m, row, ROW, items, count, n, CRADLE_PINNED)->name = NULL;",
    "string *s = CRADLE_NEW_ARRAY(m, string, STRING, bytes, length, n); s->bytes[0] = 'x';",
    "CRADLE_NEW_ARRAY_UNINITIALIZED(m, row, ROW, items, count, 3)->name = NULL;",
    "row *s = CRADLE_NEW_ARRAY_FAST(m, row, ROW, items, count, n); if (s != NULL) s->name = NULL;",
    "CRADLE_NEW_ARRAY_WITH(m, row, ROW, items, count, n, 0)->name = NULL;",
    "cradle_reservation a = cradle_reserve(m, sizeof(point) + CRADLE_ARRAY_BYTES(string, bytes, n)); "
    "CRADLE_NEW_RESERVED_ARRAY(&a, string, STRING, bytes, length, n)->bytes[0] = 'x';",
    "static void *words[9], *base; static unsigned long *top; static cradle_root_range range; base = words; "
    "range = CRADLE_ROOT_RANGE(base, top, CRADLE_KIND_VALUE, NULL); cradle_root_range_add(m, &range);",
]

# A snippet, and words that the message of a C compiler must have.
REFUSED = [
    ("string *s = CRADLE_NEW(m, point, POINT); (void)s;", "incompatible"),
    ("row *s = CRADLE_NEW_ARRAY(m, string, STRING, bytes, length, n); (void)s;", "incompatible"),
    ("(void)CRADLE_NEW(m, wide, POINT);", "objects are aligned to 8"),
    ("(void)CRADLE_NEW_ARRAY(m, narrow, STRING, bytes, length, n);", "the length is a uint64_t"),
    ("(void)CRADLE_NEW_ARRAY(m, four, ROW, items, length, n);", "whose length is left open"),
    ("(void)CRADLE_NEW_ARRAY(m, row, ROW, count, name, n);", None),
    ("(void)CRADLE_NEW_ARRAY(m, string, STRING, items, length, n);", None),
    ("static void *words[9], **top; (void)CRADLE_ROOT_RANGE(words, top, CRADLE_KIND_VALUE, NULL);", "base: a pointer variable"),
    ("static void **base; static size_t top; (void)CRADLE_ROOT_RANGE(base, top, CRADLE_KIND_VALUE, NULL);", "top: a pointer variable"),
]


def compiled(compiler, include, text):
    language = ["-x", "c++", "-std=c++11"] if compiler.endswith("++") else ["-x", "c", "-std=c11"]
    command = [compiler, *language, *WARNINGS, "-O2", "-S", "-o", "-", "-I", include, "-"]
    return subprocess.run(command, input=HEAD + FUNCTION % text, capture_output=True, text=True)


def main():
    include, *compilers = sys.argv[1:]
    faults = 0
    for compiler in compilers:
        for text in ACCEPTED:
            result = compiled(compiler, include, text)
            if result.returncode != 0:
                faults += 1
                print(f"{compiler} refuses {text}\n{result.stderr}")
        for text, reason in REFUSED:
            result = compiled(compiler, include, text)
            told = reason is None or compiler.endswith("++") or reason in result.stderr
            if result.returncode == 0 or not told:
                faults += 1
                print(f"{compiler} accepts, or refuses for another reason than {reason!r}: {text}\n{result.stderr}")
    print(f"{len(compilers)} compilers, {len(ACCEPTED)} forms each accepted, {len(REFUSED)} refused, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
