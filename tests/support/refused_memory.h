/* Puts functions between the library and malloc, which count blocks and refuse one. For the tests that
 * tests/meson.build names as those that replace memory, so that the linker uses the functions here. What was allocated
 * is filled, so that nobody takes it for zero. What was freed is filled, so that nobody uses it. */
#ifndef TESTS_REFUSED_MEMORY_H
#define TESTS_REFUSED_MEMORY_H

#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
char *__wrap_strdup(const char *text);
void __wrap_free(void *block);

static long live_blocks;
static int refused_in; /* 1: the next allocation is refused; 0: none */

static bool is_refused(void) {
  if (refused_in == 0 || --refused_in > 0) return false;
  errno = ENOMEM;
  return true;
}

void *__wrap_malloc(size_t size) {
  void *block = is_refused() ? NULL : __real_malloc(size);
  if (block != NULL) memset(block, 0xa5, size);
  live_blocks += block != NULL;
  return block;
}

void *__wrap_calloc(size_t count, size_t size) {
  void *block = is_refused() ? NULL : __real_calloc(count, size);
  live_blocks += block != NULL;
  return block;
}

void *__wrap_realloc(void *block, size_t size) {
  void *moved = is_refused() ? NULL : __real_realloc(block, size);
  live_blocks += moved != NULL && block == NULL;
  return moved;
}

char *__wrap_strdup(const char *text) {
  char *copy = __wrap_malloc(strlen(text) + 1);
  return copy == NULL ? NULL : strcpy(copy, text);
}

void __wrap_free(void *block) {
  if (block == NULL) return;
  memset(block, 0xa5, malloc_usable_size(block));
  live_blocks--;
  __real_free(block);
}

#endif
