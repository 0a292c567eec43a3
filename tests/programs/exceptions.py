#!/usr/bin/env python3
"""C++ exceptions that pass C functions with scoped roots.

    exceptions.py INCLUDE_DIRECTORY LIBRARY CC CXX

Builds a program of a C and a C++ file in four ways. Compiled with -fexceptions, the C file's scopes end, and the program
works. Without, they stay open, and CRADLE_CHECKED code reports the innermost by name and line.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

C = """#include <cradle/cradle.h>
typedef struct pair { uint64_t header; void *first; } pair;
void thrower(cradle_mutator *m, int depth) CRADLE_MAY_COLLECT;
void through_c(cradle_mutator *m, int depth) CRADLE_MAY_COLLECT;
void through_c(cradle_mutator *m, int depth) {
  pair *outer = CRADLE_NEW(m, pair, 0);
  CRADLE_ROOT(m, outer);
  pair *innermost = CRADLE_NEW(m, pair, 0);
  CRADLE_ROOT(m, innermost);
  thrower(m, depth);
  cradle_store(m, outer, &outer->first, innermost);
}
"""
CXX = """#include <cstdio>
#include <cradle/cradle.h>
extern "C" {
void thrower(cradle_mutator *m, int depth) CRADLE_MAY_COLLECT;
void through_c(cradle_mutator *m, int depth) CRADLE_MAY_COLLECT;
}
struct pair { uint64_t header; void *first; };
void thrower(cradle_mutator *m, int depth) {
  if (depth == 0) throw 42;
  through_c(m, depth - 1);
}
/* Its frame lies over those that the exception left. */
static long __attribute__((noinline)) work(cradle_mutator *m) {
  volatile uintptr_t inner[512];
  pair *p = CRADLE_NEW(m, pair, 0);
  for (int i = 0; i < 512; i++) inner[i] = reinterpret_cast<uintptr_t>(&p->first);
  uintptr_t before = inner[7];
  for (int i = 0; i < 300000; i++) (void)CRADLE_NEW(m, pair, 0);
  long changed = 0;
  for (int i = 0; i < 512; i++) changed += inner[i] != before;
  return changed;
}
int main() {
  cradle_type types[1] = {};
  types[0].name = "pair";
  types[0].size = sizeof(pair);
  types[0].references = CRADLE_SLOT(pair, first);
  cradle_options options;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = 1;
  options.nursery_bytes = 64 << 10;
  cradle_heap *heap = cradle_heap_new(&options, nullptr);
  cradle_mutator *m = cradle_mutator_new(heap);
  try {
    through_c(m, 5);
  } catch (int) {
  }
  std::printf("changed: %ld\\n", work(m));
  cradle_mutator_free(m);
  cradle_heap_free(heap);
}
"""
REPORT = ("cradle_new: a scoped root of a frame that is gone is still open: innermost (part.c:9): missing is "
          "cradle_checkpoint_restore after a longjmp, -fexceptions for C code that a C++ exception passed, or a root stack for "
          "another C stack; in the call at main.cc:15")


def outcome(folder, include, library, cc, cxx, unwinds, checked):
    common = ["-O2", f"-DCRADLE_CHECKED={checked}", f"-I{include}", "-c"]
    subprocess.run([cc, "-std=c11", "-fexceptions" if unwinds else "-fno-exceptions", *common, "part.c"], check=True, cwd=folder)
    subprocess.run([cxx, *common, "main.cc"], check=True, cwd=folder)
    subprocess.run([cxx, "-o", "program", "main.o", "part.o", library, "-lpthread"], check=True, cwd=folder)
    run = subprocess.run(["./program"], capture_output=True, text=True, cwd=folder, check=False)
    return run.stdout + run.stderr


def main():
    include, library, cc, cxx = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), sys.argv[3], sys.argv[4]
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "part.c").write_text(C, encoding="utf-8")
        Path(folder, "main.cc").write_text(CXX, encoding="utf-8")
        for unwinds, checked, wanted in ((True, 0, "changed: 0"), (True, 1, "changed: 0"), (False, 1, REPORT)):
            told = outcome(folder, include, library, cc, cxx, unwinds, checked)
            if wanted not in told:
                faults.append(f"-fexceptions {unwinds}, CRADLE_CHECKED {checked}: {told!r} in place of {wanted!r}")
    print("\n".join(faults) or "exceptions that pass C functions are harmless, or reported")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
