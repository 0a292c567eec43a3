/* fast-path-loop N [KIND]: allocates N objects in a nursery that holds them all when N is at most 600,000 (of the kind
 * node 4 million), and drops them. tests/programs/test_fast_path.py counts the instructions of the loop. The kinds are
 *   node        16 bytes, of which the header alone is written (the default)
 *   typed       the same by CRADLE_NEW_UNINITIALIZED
 *   string      of 16 bytes, zeroed
 *   references  an array of 10 references, zeroed
 *   registered  24 bytes with a finalizer, zeroed
 * and string-by-call and references-by-call, the same by the functions that look the layout up in the descriptor. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cradle/heap.h>
#include <cradle/runtime.h>
#include <cradle/typed.h>

#define LOOP_NURSERY_BYTES ((size_t)64 << 20)

typedef struct node {
  uint64_t header, value;
} node;
typedef struct string {
  uint64_t header, length;
  char bytes[];
} string;
typedef struct references {
  uint64_t header, length;
  void *items[];
} references;
typedef struct file {
  uint64_t header, number, position;
} file;

enum { TYPE_UNUSED, TYPE_NODE, TYPE_STRING, TYPE_REFERENCES, TYPE_FILE, TYPES, STRING_BYTES = 16, REFERENCES = 10 };
static const cradle_type types[TYPES] = {[TYPE_UNUSED] = {.name = "unused", .size = 16},
                                         [TYPE_NODE] = {.name = "node", .size = sizeof(node)},
                                         [TYPE_STRING] = {.name = "string",
                                                          .size = sizeof(string),
                                                          .items = CRADLE_ITEMS_BYTES,
                                                          .item_size = 1,
                                                          .length_offset = offsetof(string, length)},
                                         [TYPE_REFERENCES] = {.name = "references",
                                                              .size = sizeof(references),
                                                              .items = CRADLE_ITEMS_REFERENCES,
                                                              .item_size = 8,
                                                              .length_offset = offsetof(references, length)},
                                         [TYPE_FILE] = {.name = "file", .size = sizeof(file), .finalizer = 1}};

/* Makes the compiler keep the stores into the object. */
#define USE(object) __asm__ volatile("" : : "r"(object) : "memory")
/* The compiler must assume a new length in each round. */
#define FORGET(length) __asm__ volatile("" : "+r"(length))

/* noinline, so that callgrind and a disassembly show the loop by name. */
#define LOOP __attribute__((noinline)) static void

LOOP loop_node(cradle_mutator *mutator, uint64_t count, size_t length) CRADLE_MAY_COLLECT {
  (void)length;
  for (uint64_t i = 0; i < count; i++) (void)cradle_new_uninitialized(mutator, TYPE_NODE, 16);
}
LOOP loop_typed(cradle_mutator *mutator, uint64_t count, size_t length) CRADLE_MAY_COLLECT {
  (void)length;
  for (uint64_t i = 0; i < count; i++) (void)CRADLE_NEW_UNINITIALIZED(mutator, node, TYPE_NODE);
}
LOOP loop_string(cradle_mutator *mutator, uint64_t count, size_t length) CRADLE_MAY_COLLECT {
  for (uint64_t i = 0; i < count; i++) {
    FORGET(length);
    USE(CRADLE_NEW_ARRAY(mutator, string, TYPE_STRING, bytes, length, length));
  }
}
LOOP loop_string_by_call(cradle_mutator *mutator, uint64_t count, size_t length) CRADLE_MAY_COLLECT {
  for (uint64_t i = 0; i < count; i++) {
    FORGET(length);
    USE(cradle_new_with(mutator, TYPE_STRING, (cradle_array_layout){0}, length, 0));
  }
}
LOOP loop_references(cradle_mutator *mutator, uint64_t count, size_t length) CRADLE_MAY_COLLECT {
  for (uint64_t i = 0; i < count; i++) {
    FORGET(length);
    USE(CRADLE_NEW_ARRAY(mutator, references, TYPE_REFERENCES, items, length, length));
  }
}
LOOP loop_references_by_call(cradle_mutator *mutator, uint64_t count, size_t length) CRADLE_MAY_COLLECT {
  for (uint64_t i = 0; i < count; i++) {
    FORGET(length);
    USE(cradle_new_with(mutator, TYPE_REFERENCES, (cradle_array_layout){0}, length, 0));
  }
}
LOOP loop_registered(cradle_mutator *mutator, uint64_t count, size_t length) CRADLE_MAY_COLLECT {
  (void)length;
  for (uint64_t i = 0; i < count; i++) USE(CRADLE_NEW_WITH(mutator, file, TYPE_FILE, 0));
}

static const struct kind {
  const char *name;
  void (*allocate)(cradle_mutator *mutator, uint64_t count, size_t length);
  size_t length;
} kinds[] = {
    {"node", loop_node, 0},
    {"typed", loop_typed, 0},
    {"string", loop_string, STRING_BYTES},
    {"string-by-call", loop_string_by_call, STRING_BYTES},
    {"references", loop_references, REFERENCES},
    {"references-by-call", loop_references_by_call, REFERENCES},
    {"registered", loop_registered, 0},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static bool run(const struct kind *kind, uint64_t count) {
  cradle_options options;
  cradle_error error;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = TYPES;
  options.nursery_bytes = LOOP_NURSERY_BYTES;
  options.pause_ns =
      0; /* with a target, many objects with finalizers ask for a minor collection before the nursery is full */
  cradle_heap *heap = cradle_heap_new(&options, &error);
  if (heap == NULL) {
    fprintf(stderr, "fast-path-loop: %s\n", error.message);
    return false;
  }
  cradle_mutator *mutator = cradle_mutator_new(heap);
  if (mutator != NULL) kind->allocate(mutator, count, kind->length);
  cradle_mutator_free(mutator);
  cradle_heap_free(heap);
  return mutator != NULL;
}

int main(int argc, char **argv) {
  char *end = NULL;
  errno = 0;
  uint64_t count = argc == 2 || argc == 3 ? strtoull(argv[1], &end, 10) : 0;
  const struct kind *kind = argc == 2 ? kinds : NULL;
  for (size_t i = 0; i < KINDS && argc == 3; i++)
    if (strcmp(argv[2], kinds[i].name) == 0) kind = &kinds[i];
  if (end == NULL || *end != '\0' || end == argv[1] || errno != 0 || kind == NULL) {
    fprintf(stderr, "fast-path-loop: give the number of objects (a decimal number), and perhaps a kind: node, typed, "
                    "string, references, registered, string-by-call or references-by-call\n");
    return 2;
  }
  return run(kind, count) ? 0 : 1;
}
