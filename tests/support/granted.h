/* A program's own growing arrays, whose memory can be refused. */
#ifndef TESTS_GRANTED_H
#define TESTS_GRANTED_H

#include "tests/support/allocated.h"

#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* So many requests more are granted. */
static int granted = INT_MAX;
static size_t asked_bytes; /* by the last one */
static void *may_realloc(void *memory, size_t bytes) {
  asked_bytes = bytes;
  return granted-- > 0 ? realloc(memory, bytes) : NULL;
}
#define realloc may_realloc
#include "gc/base/grow.c"
#undef realloc

/* malloc keeps a few freed blocks of each size, and counts them as used. So the function runs some times before its
 * memory is looked at. */
static void assert_leaves_no_memory(void (*function)(void)) {
  for (int i = 0; i < 10; i++) function();
  size_t before = allocated_bytes();
  for (int i = 0; i < 10; i++) function();
  assert_int_equal(allocated_bytes(), before);
}

#endif
