#!/usr/bin/env python3
"""Checks which arguments the compiler accepts for CRADLE_ROOT, CRADLE_ROOT_VALUE and the functions of handles, which it
refuses, and with which message.

    refused_arguments.py INCLUDE_DIRECTORY COMPILER...

Each COMPILER is tried; one that ends in ++ compiles C++.
"""

import os
import subprocess
import sys

NO_POINTER, NO_WORD = "CRADLE_ROOT: v is not a pointer variable", "CRADLE_ROOT_VALUE: v is not an 8-byte variable at a multiple of 8"
# The messages of each compiler name the parameter's type.
NO_HANDLE = "cradle_handle'"
REFUSED = [
    ("int v = 0;", "CRADLE_ROOT(m, v)", NO_POINTER),
    ("long v = 0;", "CRADLE_ROOT(m, v)", NO_POINTER),
    ("double v = 0;", "CRADLE_ROOT(m, v)", NO_POINTER),
    ("char v[8] = \"\";", "CRADLE_ROOT(m, v)", NO_POINTER),
    ("void *v[1];", "CRADLE_ROOT(m, v)", NO_POINTER),
    ("struct { void *p; } v;", "CRADLE_ROOT(m, v)", NO_POINTER),
    ("int v = 0;", "CRADLE_ROOT_VALUE(m, v)", NO_WORD),
    ("char v[8] = \"\";", "CRADLE_ROOT_VALUE(m, v)", NO_WORD),
    ("struct { void *p, *q; } v;", "CRADLE_ROOT_VALUE(m, v)", NO_WORD),
    ("void *v = 0;", "cradle_handle_free(m, v)", NO_HANDLE),
    ("uint64_t v = 0;", "(void)cradle_handle_get(m, v)", NO_HANDLE),
    ("struct { uint64_t number; } v = {0};", "cradle_handle_set(m, v, 0)", NO_HANDLE),
]
TAKEN = [
    ("void *v = 0, *w = 0;", "CRADLE_ROOT(m, v); CRADLE_ROOT(m, w)"),
    ("struct unknown *v = 0, *volatile w = 0;", "CRADLE_ROOT(m, v); CRADLE_ROOT(m, w)"),
    ("const char *v = 0;", "CRADLE_ROOT(m, v)"),
    ("struct { void *p; } v = {0};", "CRADLE_ROOT(m, v.p); CRADLE_ROOT_VALUE(m, v)"),
    ("uint64_t v = 0; double w = 0;", "CRADLE_ROOT_VALUE(m, v); CRADLE_ROOT_VALUE(m, w)"),
    ("cradle_handle v = {0};", "cradle_handle_set(m, v, cradle_handle_get(m, v)); cradle_handle_free(m, v)"),
    ("union { uint64_t bits; double number; } v = {0};", "CRADLE_ROOT_VALUE(m, v)"),
]


def compile_text(compiler, include, declaration, statement, checked):
    language = ["-std=c++11", "-x", "c++"] if compiler.endswith("++") else ["-std=c11", "-x", "c"]
    command = [compiler, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", f"-DCRADLE_CHECKED={checked}", "-I", include,
               *language, "-"]
    text = f"#include <cradle/cradle.h>\nvoid f(cradle_mutator *m);\nvoid f(cradle_mutator *m) {{ {declaration} {statement}; }}\n"
    return subprocess.run(command, input=text, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})


def main():
    include, *compilers = sys.argv[1:]
    faults = 0
    for compiler in compilers:
        for declaration, statement, words in REFUSED:
            result = compile_text(compiler, include, declaration, statement, 0)
            if result.returncode == 0 or words not in result.stderr:
                print(f"{compiler}: {declaration} {statement}: not refused with \"{words}\": {result.stderr}")
                faults += 1
        for declaration, statement in TAKEN:
            for checked in 0, 1:
                result = compile_text(compiler, include, declaration, statement, checked)
                if result.returncode != 0:
                    print(f"{compiler}, CRADLE_CHECKED={checked}: {declaration} {statement}: {result.stderr}")
                    faults += 1
    print(f"{len(compilers)} compilers, {len(REFUSED)} refused, {len(TAKEN)} taken, {faults} faults")
    return 1 if faults or not compilers else 0


if __name__ == "__main__":
    sys.exit(main())
