/* Writes dumps of a heap whose graph tests/tools/test_cradle_heap.py knows: dump_program FOLDER
 *
 *   registry (vector, global root) -> COUNT pairs -> each a string of its own, and all one shared string of 64 KiB
 *   list (pair, in a root range) -> a chain of COUNT pairs, the last of which leads to a string of 1 MiB
 *   lost (pair) -> a string: old, and nobody refers to it any more
 *
 * first.dump has this; second.dump has the list cut after its first pair, and a second registry. third.dump is of
 * a heap with several mutators.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cradle/cradle.h>

enum { COUNT = 1000 };
enum { PAIR, STRING, VECTOR, NAMELESS, TYPES };

typedef struct pair {
  uint64_t header;
  void *first, *rest;
} pair;
typedef struct string {
  uint64_t header, length;
  char byte[];
} string;
typedef struct vector {
  uint64_t header, length;
  void *item[];
} vector;

static const cradle_type types[TYPES] = {
    [PAIR] = {.name = "pair", .size = sizeof(pair), .references = CRADLE_SLOT(pair, first) | CRADLE_SLOT(pair, rest)},
    [STRING] = {.name = "string",
                .size = sizeof(string),
                .items = CRADLE_ITEMS_BYTES,
                .item_size = 1,
                .length_offset = offsetof(string, length)},
    [VECTOR] = {.name = "vector",
                .size = sizeof(vector),
                .items = CRADLE_ITEMS_REFERENCES,
                .item_size = 8,
                .length_offset = offsetof(vector, length)},
    [NAMELESS] = {.size = 16},
};

static cradle_heap *heap;
static cradle_mutator *m;
static vector *registry, *second;
static void *stack[1];

static void fill(vector **place) CRADLE_MAY_COLLECT {
  *place = cradle_new_array(m, VECTOR, COUNT);
  string *shared = cradle_new_array(m, STRING, 65536);
  CRADLE_ROOT(m, shared);
  for (int i = 0; i < COUNT; i++) {
    pair *one = CRADLE_NEW(m, pair, PAIR);
    cradle_store(m, *place, &(*place)->item[i], one);
    cradle_store(m, one, &one->rest, shared);
    string *own = cradle_new_array(m, STRING, 16);
    one = (*place)->item[i];
    cradle_store(m, one, &one->first, own);
  }
}

static void make_list(void) CRADLE_MAY_COLLECT {
  string *text = cradle_new_array(m, STRING, (size_t)1 << 20);
  pair *list = NULL;
  CRADLE_ROOT(m, list);
  CRADLE_ROOT(m, text);
  for (int i = 0; i < COUNT; i++) {
    pair *one = CRADLE_NEW(m, pair, PAIR);
    one->rest = list;
    if (i == 0) one->first = text;
    list = one;
  }
  stack[0] = list;
}

static void lose(void) CRADLE_MAY_COLLECT {
  pair *lost = CRADLE_NEW(m, pair, PAIR);
  CRADLE_ROOT(m, lost);
  string *text = cradle_new_array(m, STRING, 100);
  cradle_store(m, lost, &lost->first, text);
  cradle_collect(m, CRADLE_COLLECT_FULL);
}

static int dump(const char *folder, const char *name) {
  char path[4096];
  cradle_error error;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  if (cradle_heap_dump(heap, path, &error)) return 0;
  fprintf(stderr, "%s\n", error.message);
  return 1;
}

/* third.dump: of a heap with two mutators, each with a pair of its own, and one of the heap's. */
static int dump_shared(cradle_options *options, const char *folder) {
  options->mutators = 2;
  heap = cradle_heap_new(options, NULL);
  if (heap == NULL) return 1;
  second = NULL;
  registry = NULL;
  m = cradle_mutator_new(heap);
  registry = cradle_new_array(m, VECTOR, 1);
  cradle_global_root_add(heap, &registry, CRADLE_KIND_REFERENCE);
  cradle_mutator_name(m, "reader");
  cradle_push(m, cradle_new_array(m, STRING, 500));
  cradle_mutator_park(m);
  cradle_mutator *other = cradle_mutator_new(heap);
  cradle_push(other, cradle_new_array(other, STRING, 400));
  int failed = dump(folder, "third.dump");
  cradle_pop_many(other, 1);
  cradle_mutator_free(other);
  cradle_mutator_unpark(m);
  cradle_pop_many(m, 1);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  return failed;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  cradle_options options;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = TYPES;
  options.nursery_bytes = (size_t)4 << 20; /* some objects are young in the dumps */
  cradle_error error;
  heap = cradle_heap_new(&options, &error);
  if (heap == NULL) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  m = cradle_mutator_new(heap);
  void *base = stack, *top = stack + 1;
  cradle_root_range range = CRADLE_ROOT_RANGE(base, top, CRADLE_KIND_REFERENCE, "values");
  cradle_root_range_add(m, &range);
  cradle_global_root_add(heap, &registry, CRADLE_KIND_REFERENCE);
  cradle_global_root_add(heap, &second, CRADLE_KIND_REFERENCE);
  lose();
  make_list();
  fill(&registry);
  int failed = dump(argv[1], "first.dump");
  pair *list = stack[0];
  list->rest = NULL;
  fill(&second);
  cradle_collect(m, CRADLE_COLLECT_FULL);
  cradle_push(m, cradle_new(m, NAMELESS, 16));
  failed |= dump(argv[1], "second.dump");
  cradle_pop_many(m, 1);
  cradle_root_range_remove(m, &range);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  return failed | dump_shared(&options, argv[1]);
}
