/* The library under a fuzzed heap as tests/meson.build compiles it: fuzz_sample.c says how often heaps are verified,
 * and on Linux fuzz_system.c has the clock and the memory. */
#ifndef TESTS_FUZZ_CALLS_H
#define TESTS_FUZZ_CALLS_H

#include <stdbool.h>

#include "gc/base/text.h"

bool verify_whole(cradle_heap *heap, crd_text *text);
void note_right(cradle_heap *heap, bool before);

#ifdef __linux__
#include <sys/mman.h>
#include <time.h>

int ticking_gettime(clockid_t clock, struct timespec *now);
void *locked_mmap(void *address, size_t size, int protection, int flags, int file, off_t offset);
int locked_munmap(void *address, size_t size);
void *locked_mremap(void *from, size_t size, size_t new_size, int flags, void *to);
int locked_mprotect(void *address, size_t size, int protection);
int locked_madvise(void *address, size_t size, int advice);
bool crd_fault_should_fail(const char *call, int *error);
#endif

#ifdef REPLACED_CALLS
#define crd_verify verify_whole
#define crd_history_right note_right
#define CRADLE_FAULT_INJECTION 1
#define clock_gettime ticking_gettime
#define mmap locked_mmap
#define munmap locked_munmap
#define mremap locked_mremap
#define mprotect locked_mprotect
#define madvise locked_madvise
#endif

#endif
