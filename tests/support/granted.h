/* Memory that a test grants the collector's own tables, or refuses: growing arrays, maps of addresses, handles, weak
 * sets and the registry of services; and the addresses and memory of word stacks. tests/meson.build compiles these once
 * more with this header in front. Include it in one source of a program that is linked with them. */
#ifndef TESTS_GRANTED_H
#define TESTS_GRANTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

void *may_realloc(void *memory, size_t bytes);
void *may_calloc(size_t count, size_t bytes);
void *may_reserve(size_t size, size_t alignment, void *hint);
bool may_commit(void *address, size_t size);

#ifdef REPLACED_CALLS
#define realloc(memory, bytes) may_realloc(memory, bytes)
#define calloc(count, bytes) may_calloc(count, bytes)
#define crd_pages_reserve may_reserve
#define crd_pages_commit may_commit
#else
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/allocated.h"

#include "tests/inside.h"

/* So many requests more are granted. */
static int granted_reallocs = INT_MAX, granted_callocs = INT_MAX;
static size_t asked_bytes; /* of the last realloc */
void *may_realloc(void *memory, size_t bytes) {
  asked_bytes = bytes;
  return granted_reallocs-- > 0 ? realloc(memory, bytes) : NULL;
}
void *may_calloc(size_t count, size_t bytes) {
  return granted_callocs-- > 0 ? calloc(count, bytes) : NULL;
}

static size_t reservable = SIZE_MAX; /* the most bytes that the address space has */
void *may_reserve(size_t size, size_t alignment, void *hint) {
  return size <= reservable ? crd_pages_reserve(size, alignment, hint) : NULL;
}

static int granted_commits = INT_MAX;
bool may_commit(void *address, size_t size) {
  return granted_commits-- > 0 && crd_pages_commit(address, size);
}

/* malloc keeps a few freed blocks of each size, and counts them as used. So the function runs some times before its
 * memory is looked at. */
static inline void assert_leaves_no_memory(void (*function)(void)) {
  for (int i = 0; i < 10; i++) function();
  size_t before = allocated_bytes();
  for (int i = 0; i < 10; i++) function();
  assert_int_equal(allocated_bytes(), before);
}
#endif

#endif
