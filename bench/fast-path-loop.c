/* fast-path-loop N: allocates N objects of 16 bytes, header only, in a nursery that holds them all
 * when N is at most 4 million, and drops them. tests/test_fast_path.py counts its instructions for
 * N and 2 N: the difference is the loop. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cradle/heap.h>
#include <cradle/new.h>
#include <cradle/runtime.h>

#define LOOP_NURSERY_BYTES ((size_t)64 << 20)

enum { TYPE_UNUSED, TYPE_NODE };
static const cradle_type types[] = {
    [TYPE_UNUSED] = {.name = "unused", .size = 16}, [TYPE_NODE] = {.name = "node", .size = 16}};

/* noinline: the loop is found by its name in a disassembly. */
__attribute__((noinline)) static void allocate(cradle_mutator *mutator, uint64_t count) CRADLE_MAY_COLLECT {
  for (uint64_t i = 0; i < count; i++) (void)cradle_new_uninitialized(mutator, TYPE_NODE, 16);
}

static bool run(uint64_t count) {
  cradle_options options;
  cradle_error error;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = sizeof(types) / sizeof(types[0]);
  options.nursery_bytes = LOOP_NURSERY_BYTES;
  cradle_heap *heap = cradle_heap_new(&options, &error);
  if (heap == NULL) {
    fprintf(stderr, "fast-path-loop: %s\n", error.message);
    return false;
  }
  cradle_mutator *mutator = cradle_mutator_new(heap);
  if (mutator != NULL) allocate(mutator, count);
  cradle_mutator_free(mutator);
  cradle_heap_free(heap);
  return mutator != NULL;
}

int main(int argc, char **argv) {
  char *end = NULL;
  errno = 0;
  uint64_t count = argc == 2 ? strtoull(argv[1], &end, 10) : 0;
  if (end == NULL || *end != '\0' || end == argv[1] || errno != 0) {
    fprintf(stderr, "fast-path-loop: give one argument, the number of objects (a decimal number)\n");
    return 2;
  }
  return run(count) ? 0 : 1;
}
