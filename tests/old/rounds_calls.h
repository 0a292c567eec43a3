/* Threads as test_rounds.c has them compiled: the test refuses some, and sees what becomes of their structures. */
#ifndef TESTS_ROUNDS_CALLS_H
#define TESTS_ROUNDS_CALLS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef _WIN32
extern bool refuse_threads;
#ifdef REPLACED_CALLS
#include "gc/platform/windows.h"
#define CreateThread(...) (refuse_threads ? NULL : CreateThread(__VA_ARGS__))
#endif
#else
#include <sched.h> /* it declares free on musl, so it must come before the macro */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void *noted_malloc(size_t bytes);
void overwriting_free(void *memory);
void *noted_mmap(void *address, size_t size, int access, int flags, int file, off_t offset);
pid_t answer_getpid(void);

#ifdef REPLACED_CALLS
#define CRADLE_FAULT_INJECTION 1
#define malloc(bytes) noted_malloc(bytes)
#define free(memory) overwriting_free(memory)
#define mmap(address, size, access, flags, file, offset) noted_mmap(address, size, access, flags, file, offset)
#define getpid() answer_getpid()
#endif
#endif

#endif
