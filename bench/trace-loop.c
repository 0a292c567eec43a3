/* trace-loop KIND N: what it costs to allocate N objects of a kind and promote them, and where the kind begins with
 * "mark", to mark and sweep them MARKINGS times besides. All live. A cell has 24 bytes and leads to the cell before it;
 * so has a tree's node, which leads to two; an array has WORDS words of items, the first of which leads to the array
 * before it, and the others to one old cell. Of entries, structures of two values, every word is a slot; of the mixed
 * structures, of a reference, raw data and two values, three in four. A record has four slots and leads to the record
 * before it, to a string, to a number and to the old cell: three objects of three types.
 * tests/programs/test_service_cost.py counts its instructions for N and 2 N: the difference is what one object costs.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cradle/cradle.h>

#define LOOP_NURSERY_BYTES ((size_t)64 << 20)
enum { WORDS = 8, MARKINGS = 4 };

typedef struct cell {
  uint64_t header;
  void *before;
  uint64_t number;
} cell;
typedef struct tree {
  uint64_t header;
  void *left, *right;
} tree;
typedef struct array {
  uint64_t header, length;
  void *items[];
} array;

typedef struct string {
  uint64_t header, length;
  char bytes[];
} string;
typedef struct number {
  uint64_t header;
  double value;
} number;
typedef struct record {
  uint64_t header;
  void *before;
  string *name;
  number *amount;
  void *old;
} record;

typedef struct entry {
  uint64_t key, value;
} entry;
typedef struct mixed {
  void *reference;
  uint64_t raw, first, second;
} mixed;

enum { T_CELL, T_TREE, T_REFERENCES, T_VALUES, T_ENTRIES, T_MIXED, T_STRING, T_NUMBER, T_RECORD, T_COUNT };
static const cradle_type types[T_COUNT] = {
    [T_CELL] = {.name = "cell", .size = sizeof(cell), .references = CRADLE_SLOT(cell, before)},
    [T_TREE] = {.name = "tree", .size = sizeof(tree), .references = CRADLE_SLOT(tree, left) | CRADLE_SLOT(tree, right)},
    [T_REFERENCES] = {.name = "references",
                      .size = sizeof(array),
                      .items = CRADLE_ITEMS_REFERENCES,
                      .item_size = 8,
                      .length_offset = offsetof(array, length)},
    [T_VALUES] = {.name = "values",
                  .size = sizeof(array),
                  .items = CRADLE_ITEMS_VALUES,
                  .item_size = 8,
                  .length_offset = offsetof(array, length)},
    [T_ENTRIES] = {.name = "entries",
                   .size = sizeof(array),
                   .items = CRADLE_ITEMS_STRUCTURES,
                   .item_size = sizeof(entry),
                   .length_offset = offsetof(array, length),
                   .item_values = CRADLE_SLOT(entry, key) | CRADLE_SLOT(entry, value)},
    [T_MIXED] = {.name = "mixed",
                 .size = sizeof(array),
                 .items = CRADLE_ITEMS_STRUCTURES,
                 .item_size = sizeof(mixed),
                 .length_offset = offsetof(array, length),
                 .item_references = CRADLE_SLOT(mixed, reference),
                 .item_values = CRADLE_SLOT(mixed, first) | CRADLE_SLOT(mixed, second)},
    [T_STRING] = {.name = "string",
                  .size = sizeof(string),
                  .items = CRADLE_ITEMS_BYTES,
                  .item_size = 1,
                  .length_offset = offsetof(string, length)},
    [T_NUMBER] = {.name = "number", .size = sizeof(number)},
    [T_RECORD] = {.name = "record",
                  .size = sizeof(record),
                  .references = CRADLE_SLOT(record, before) | CRADLE_SLOT(record, name) | CRADLE_SLOT(record, amount) |
                                CRADLE_SLOT(record, old)},
};

static void *new_cell(cradle_mutator *m, uint32_t type, size_t length, void *before, void *old) CRADLE_MAY_COLLECT {
  (void)length, (void)old;
  CRADLE_ROOT(m, before);
  cell *made = cradle_new(m, type, sizeof *made);
  made->before = before;
  return made;
}

/* Each sort of array gets the same words: a value that is a reference looks like one. */
static void *new_array(cradle_mutator *m, uint32_t type, size_t length, void *before, void *old) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(m, before);
  CRADLE_ROOT(m, old);
  array *made = cradle_new_with(m, type, (cradle_array_layout){0}, length, 0);
  made->items[0] = before;
  for (size_t i = 1; i < WORDS; i++) made->items[i] = old;
  return made;
}

static void *new_record(cradle_mutator *m, uint32_t type, size_t length, void *before, void *old) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(m, before);
  CRADLE_ROOT(m, old);
  record *made = cradle_new(m, type, sizeof *made);
  made->before = before;
  made->old = old;
  CRADLE_ROOT(m, made);
  string *name = cradle_new_with(m, T_STRING, (cradle_array_layout){0}, length, 0);
  cradle_store(m, made, &made->name, name);
  number *amount = CRADLE_NEW(m, number, T_NUMBER);
  amount->value = 1;
  cradle_store(m, made, &made->amount, amount);
  return made;
}

/* A balanced tree of the given number of nodes, built from the leaves. */
static tree *new_tree(cradle_mutator *m, uint64_t count) CRADLE_MAY_COLLECT {
  if (count == 0) return NULL;
  cradle_push(m, new_tree(m, (count - 1) / 2));
  cradle_push(m, new_tree(m, count - 1 - (count - 1) / 2));
  tree *made = cradle_new(m, T_TREE, sizeof *made);
  made->right = cradle_pop(m);
  made->left = cradle_pop(m);
  return made;
}

/* make is NULL for trees. */
static const struct kind {
  const char *name;
  uint32_t type;
  size_t length;
  void *(*make)(cradle_mutator *m, uint32_t type, size_t length, void *before, void *old);
  int markings;
} kinds[] = {
    {"promote-cell", T_CELL, 0, new_cell, 0},
    {"promote-tree", T_TREE, 0, NULL, 0},
    {"promote-references", T_REFERENCES, WORDS, new_array, 0},
    {"promote-values", T_VALUES, WORDS, new_array, 0},
    {"promote-entries", T_ENTRIES, WORDS / 2, new_array, 0},
    {"promote-mixed", T_MIXED, WORDS / 4, new_array, 0},
    {"promote-record", T_RECORD, 2 * WORDS, new_record, 0},
    {"mark-cell", T_CELL, 0, new_cell, MARKINGS},
    {"mark-tree", T_TREE, 0, NULL, MARKINGS},
    {"mark-references", T_REFERENCES, WORDS, new_array, MARKINGS},
    {"mark-values", T_VALUES, WORDS, new_array, MARKINGS},
    {"mark-entries", T_ENTRIES, WORDS / 2, new_array, MARKINGS},
    {"mark-mixed", T_MIXED, WORDS / 4, new_array, MARKINGS},
    {"mark-record", T_RECORD, 2 * WORDS, new_record, MARKINGS},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void run_kind(cradle_mutator *m, const struct kind *kind, uint64_t count) CRADLE_MAY_COLLECT {
  void *old = new_cell(m, T_CELL, 0, NULL, NULL), *all = NULL;
  CRADLE_ROOT(m, old);
  CRADLE_ROOT(m, all);
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  if (kind->make == NULL) all = new_tree(m, count);
  for (uint64_t i = 0; i < count && kind->make != NULL; i++) all = kind->make(m, kind->type, kind->length, all, old);
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  for (int i = 0; i < kind->markings; i++) cradle_collect(m, CRADLE_COLLECT_MAJOR);
}

static bool run(const struct kind *kind, uint64_t count) CRADLE_UNCHECKED_COLLECTION {
  cradle_options options;
  cradle_error error;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = T_COUNT;
  options.encoding =
      cradle_encoding_of(0, 0, 1 << 0 | 1 << 5); /* a second tag, because values without one would be references */
  options.nursery_bytes = LOOP_NURSERY_BYTES;
  cradle_heap *heap = cradle_heap_new(&options, &error);
  if (heap == NULL) {
    fprintf(stderr, "trace-loop: %s\n", error.message);
    return false;
  }
  cradle_mutator *mutator = cradle_mutator_new(heap);
  if (mutator != NULL) run_kind(mutator, kind, count);
  cradle_mutator_free(mutator);
  cradle_heap_free(heap);
  return mutator != NULL;
}

int main(int argc, char **argv) {
  char *end = NULL;
  errno = 0;
  uint64_t count = argc == 3 ? strtoull(argv[2], &end, 10) : 0;
  const struct kind *kind = NULL;
  for (size_t i = 0; i < KINDS && argc == 3; i++)
    if (strcmp(argv[1], kinds[i].name) == 0) kind = &kinds[i];
  if (end == NULL || *end != '\0' || end == argv[2] || errno != 0 || kind == NULL) {
    fprintf(stderr, "trace-loop: give a kind and a number; the kinds are");
    for (size_t i = 0; i < KINDS; i++) fprintf(stderr, " %s", kinds[i].name);
    fprintf(stderr, "\n");
    return 2;
  }
  return run(kind, count) ? 0 : 1;
}
