/* The program that tests/tools/test_gdb.py debugs: a heap with objects of each kind, and a place to stop. */
#include <stdlib.h>

#include <cradle/cradle.h>

enum { PAIR, VECTOR, VALUES, BYTES, WEAK, ENTRIES, TYPES };
typedef struct pair {
  uint64_t header;
  struct pair *first, *rest;
} pair;
typedef struct vector {
  uint64_t header, length;
  uint64_t item[];
} vector;

static const cradle_type types[TYPES] = {
    [PAIR] = {.name = "pair", .size = sizeof(pair), .references = CRADLE_SLOT(pair, first) | CRADLE_SLOT(pair, rest)},
    [VECTOR] = {.name = "vector", .size = 16, .items = CRADLE_ITEMS_REFERENCES, .item_size = 8, .length_offset = 8},
    [VALUES] = {.name = "values", .size = 16, .items = CRADLE_ITEMS_VALUES, .item_size = 8, .length_offset = 8},
    [BYTES] = {.name = "bytes", .size = 16, .items = CRADLE_ITEMS_BYTES, .item_size = 1, .length_offset = 8},
    [WEAK] = {.name = "weak", .size = 16, .weak = 1 << 1},
    [ENTRIES] = {.name = "entries\033[2J",
                 .size = 16,
                 .items = CRADLE_ITEMS_STRUCTURES,
                 .item_size = 16,
                 .length_offset = 8,
                 .item_values = 1 << 1},
};

void stop_here(cradle_heap *heap, pair *old, pair *young, vector *large, vector *values);
__attribute__((noinline)) void stop_here(cradle_heap *heap, pair *old, pair *young, vector *large, vector *values) {
  __asm__ volatile("" ::"r"(heap), "r"(old), "r"(young), "r"(large), "r"(values) : "memory");
}

bool stop_in_walk(void *data, const cradle_object_info *object);
__attribute__((noinline)) bool stop_in_walk(void *data, const cradle_object_info *object) {
  __asm__ volatile("" ::"r"(data), "r"(object) : "memory");
  return false;
}

static cradle_heap *global_heap; /* no frame has a variable for it when the program ends */

void stop_at_exit(void);
__attribute__((noinline)) void stop_at_exit(void) {
  __asm__ volatile("" ::"r"(global_heap) : "memory");
}

static pair *global;

/* A suspended coroutine holds the object three times. */
static void suspend_with(cradle_mutator *m, pair *object) {
  static pair *scoped, *frame, **base = &frame, **top = &frame + 1;
  static cradle_root_range range;
  cradle_root_stack *coroutine = cradle_root_stack_new(m);
  range = CRADLE_ROOT_RANGE(base, top, CRADLE_KIND_REFERENCE, "frames");
  range.stack = coroutine;
  cradle_root_range_add(m, &range);
  (void)cradle_root_stack_switch(m, coroutine);
  (void)cradle_scope_open(m, &scoped, CRADLE_KIND_REFERENCE, NULL);
  cradle_push(m, object);
  scoped = frame = object;
  (void)cradle_root_stack_switch(m, NULL);
}

int main(void) CRADLE_UNCHECKED_COLLECTION {
  cradle_options options;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = TYPES;
  options.encoding = cradle_encoding_of(0, 0, 1 << 1);
  cradle_heap *heap = cradle_heap_new(&options, NULL);
  cradle_mutator *m = heap == NULL ? NULL : cradle_mutator_new(heap);
  if (m == NULL) return 1;
  options.encoding = cradle_encoding_of(0, 0, 1);
  options.mutators = 2;
  global_heap = cradle_heap_new(&options, NULL);
  cradle_mutator *parked = global_heap == NULL ? NULL : cradle_mutator_new(global_heap);
  if (parked == NULL) return 1;
  cradle_mutator_name(parked, "reader");
  cradle_mutator_detach(parked);
  cradle_mutator *running = cradle_mutator_new(global_heap);
  if (running == NULL || atexit(stop_at_exit) != 0) return 1;
  cradle_global_root_add(heap, &global, CRADLE_KIND_REFERENCE);
  pair *old = cradle_new(m, PAIR, sizeof(pair));
  CRADLE_ROOT(m, old);
  vector *large = cradle_new_array(m, VECTOR, 10000);
  CRADLE_ROOT(m, large);
  suspend_with(m, old);
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  vector *values = cradle_new_array(m, VALUES, 3);
  CRADLE_ROOT(m, values);
  pair *young = cradle_new(m, PAIR, sizeof(pair));
  young->first = old;
  cradle_store(m, large, &large->item[9999], old);
  values->item[0] = (uint64_t)(uintptr_t)young | 1;
  values->item[1] = 42 << 3;
  vector *entries = cradle_new_array(m, ENTRIES, 3); /* of a raw word and a value */
  entries->item[4] = entries->item[5] = values->item[0];
  global = old;
  cradle_push(m, young);
  (void)!cradle_handle_new(m, young).number;
  large = cradle_pin(m, large);
  (void)cradle_identity_hash(m, young);
  stop_here(heap, old, young, large, values);
  (void)cradle_new_registered(m, WEAK, 16);
  stop_here(heap, old, young, large, values);
  (void)cradle_heap_walk(heap, stop_in_walk, NULL);
  return 0;
}
