/* The seeded random mutator: a graph on the heap and the same graph in plain memory, changed together and compared.
 *
 * Arguments: --seed N --ops N --nursery BYTES --stress N --verify 1. Without arguments several seeds and nursery sizes are run. The first
 * difference ends the program with the seed and the number of the operation, which replay it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cradle/cradle.h>

enum { T_NODE, T_BYTES, T_ARRAY, T_TRACED, T_COUNT };
enum { NODE_SLOTS = 3, ROOT_SLOTS = 64, LOCAL_SLOTS = 4 };

typedef struct object {
  uint64_t header;
  uint64_t identity; /* index of the model's object */
} object;
typedef struct node {
  object base;
  void *slot[NODE_SLOTS];
} node;
typedef struct bytes {
  object base;
  uint64_t length;
  unsigned char item[];
} bytes;
typedef struct array {
  object base;
  uint64_t length;
  void *item[];
} array;
typedef struct traced { /* its slots are reported by a callback */
  object base;
  void *slot[NODE_SLOTS];
} traced;

static void trace_traced(void *object, cradle_visitor *visitor) {
  cradle_visit_references(visitor, ((traced *)object)->slot, NODE_SLOTS);
}

static const cradle_type types[T_COUNT] = {
    [T_NODE] = {.name = "node", .size = sizeof(node), .references = UINT64_C(7) << 2},
    [T_BYTES] = {.name = "bytes", .size = sizeof(bytes), .items = CRADLE_ITEMS_BYTES, .item_size = 1,
                 .length_offset = offsetof(bytes, length)},
    [T_ARRAY] = {.name = "array", .size = sizeof(array), .items = CRADLE_ITEMS_REFERENCES, .item_size = 8,
                 .length_offset = offsetof(array, length)},
    [T_TRACED] = {.name = "traced", .size = sizeof(traced), .trace = trace_traced},
};

/* --- the model: objects are numbered, 0 is none --- */

typedef struct model_object {
  uint32_t type;
  uint64_t length;
  uint32_t *slot; /* numbers */
  uint64_t seen;  /* the comparison that met it last */
} model_object;

typedef struct world {
  uint64_t seed, op, comparisons;
  const unsigned char *choice, *choices_end; /* bytes that decide in place of the seed; NULL: the seed does */
  cradle_heap *heap;
  cradle_mutator *m;
  model_object *objects;
  uint32_t count, capacity;
  /* The roots: a value stack registered as a range, globals, and shadow stack words, each with its model. */
  void *range[ROOT_SLOTS], *global[ROOT_SLOTS];
  void *range_base, *range_top;
  cradle_root_range roots;
  uint32_t range_model[ROOT_SLOTS], global_model[ROOT_SLOTS];
  uint32_t *shadow_model;
  size_t shadow_count;
} world;

#define SHADOW_MAX 4096

static uint64_t next_random(world *w) {
  w->seed ^= w->seed << 13;
  w->seed ^= w->seed >> 7;
  return w->seed ^= w->seed << 17;
}

/* A choice below end. */
static uint64_t below(world *w, uint64_t end) {
  if (w->choice == NULL) return next_random(w) % end;
  uint64_t chosen = 0;
  for (uint64_t range = 1; range < end && w->choice < w->choices_end; range <<= 8) chosen = chosen << 8 | *w->choice++;
  return chosen % end;
}

static uint64_t first_seed;

static void differ(const world *w, const char *what) {
  printf("difference: %s; seed %llu, operation %llu\n", what, (unsigned long long)first_seed, (unsigned long long)w->op);
  fflush(stdout);
  if (w->choice != NULL) abort(); /* a fuzzer takes that for a finding */
  exit(1);
}

static uint32_t model_new(world *w, uint32_t type, uint64_t slots, uint64_t length) {
  if (w->count == w->capacity) {
    w->capacity *= 2;
    w->objects = realloc(w->objects, w->capacity * sizeof *w->objects);
    if (w->objects == NULL) abort();
  }
  uint32_t *slot = slots == 0 ? NULL : calloc(slots, sizeof *slot);
  w->objects[w->count] = (model_object){type, length, slot, 0};
  return w->count++;
}

static uint64_t slots_of(const model_object *model) {
  return model->type == T_BYTES ? 0 : model->type == T_ARRAY ? model->length : NODE_SLOTS;
}

static void **slot_at(object *real, uint32_t type, uint64_t i) {
  return type == T_ARRAY ? &((array *)real)->item[i] : &((node *)real)->slot[i];
}

static unsigned char byte_of(uint32_t number, uint64_t i) {
  return (unsigned char)(number * 31 + i * 7);
}

/* --- comparison of the whole reachable graph --- */

typedef struct pair {
  object *real;
  uint32_t model;
} pair;

static void compare_one(world *w, const object *real, uint32_t number) {
  const model_object *model = &w->objects[number];
  if (real->identity != number) differ(w, "an object is another one");
  if (cradle_type_of(real) != model->type) differ(w, "an object has another type");
  if (model->type == T_ARRAY && ((const array *)real)->length != model->length) differ(w, "an array has another length");
  if (model->type != T_BYTES) return;
  const bytes *text = (const bytes *)real;
  if (text->length != model->length) differ(w, "bytes have another length");
  for (uint64_t i = 0; i < text->length; i += 1 + text->length / 64)
    if (text->item[i] != byte_of(number, i)) differ(w, "a byte changed");
}

static void compare_push(world *w, pair **stack, size_t *count, size_t *capacity, void *real, uint32_t number) {
  if ((real == NULL) != (number == 0)) differ(w, "a reference appeared or vanished");
  if (real == NULL) return;
  if (w->objects[number].seen == w->comparisons) {
    if (((object *)real)->identity != number) differ(w, "a reference leads to another object");
    return;
  }
  w->objects[number].seen = w->comparisons;
  if (*count == *capacity) {
    *capacity = *capacity == 0 ? 1024 : *capacity * 2;
    *stack = realloc(*stack, *capacity * sizeof **stack);
    if (*stack == NULL) abort();
  }
  (*stack)[(*count)++] = (pair){real, number};
}

static void compare(world *w) {
  pair *stack = NULL;
  size_t count = 0, capacity = 0;
  w->comparisons++;
  for (size_t i = 0; i < ROOT_SLOTS; i++) compare_push(w, &stack, &count, &capacity, w->range[i], w->range_model[i]);
  for (size_t i = 0; i < ROOT_SLOTS; i++) compare_push(w, &stack, &count, &capacity, w->global[i], w->global_model[i]);
  for (size_t i = 0; i < w->shadow_count; i++)
    compare_push(w, &stack, &count, &capacity, (void *)(uintptr_t)w->m->shadow_base[i], w->shadow_model[i]);
  while (count > 0) {
    pair at = stack[--count];
    compare_one(w, at.real, at.model);
    uint32_t type = w->objects[at.model].type;
    for (uint64_t i = 0; i < slots_of(&w->objects[at.model]); i++)
      compare_push(w, &stack, &count, &capacity, *slot_at(at.real, type, i), w->objects[at.model].slot[i]);
  }
  free(stack);
}

/* --- operations --- */

/* A random root that holds something, or NULL. */
static void **random_root(world *w, uint32_t *number) {
  size_t i = below(w, ROOT_SLOTS);
  uint64_t which = below(w, 3);
  if (which == 2 && w->shadow_count > 0) {
    i = below(w, w->shadow_count);
    *number = w->shadow_model[i];
    return (void **)&w->m->shadow_base[i];
  }
  *number = which == 0 ? w->range_model[i] : w->global_model[i];
  return which == 0 ? &w->range[i] : &w->global[i];
}

/* Walks a few random steps from a random root. */
static object *random_object(world *w, uint32_t *number) {
  object *real = *random_root(w, number);
  for (uint64_t steps = below(w, 6); real != NULL && steps > 0; steps--) {
    const model_object *model = &w->objects[*number];
    uint64_t slots = slots_of(model);
    if (slots == 0) break;
    uint64_t i = below(w, slots);
    if (model->slot[i] == 0) break;
    real = *slot_at(real, model->type, i);
    *number = model->slot[i];
  }
  return real;
}

static uint64_t random_length(world *w) {
  switch (below(w, 100)) {
    case 0: return below(w, 100000);
    case 1: case 2: case 3: return below(w, 6000);
    default: return below(w, 40);
  }
}

static object *allocate(world *w, uint32_t *number) CRADLE_MAY_COLLECT {
  uint32_t type = (uint32_t)below(w, T_COUNT);
  uint64_t length = type == T_BYTES || type == T_ARRAY ? random_length(w) : 0;
  object *real;
  if (type == T_BYTES || type == T_ARRAY) {
    real = below(w, 2) ? cradle_new_array(w->m, type, length) : cradle_try_new_array(w->m, type, length);
  } else if (below(w, 4) == 0) {
    cradle_reservation room = cradle_reserve(w->m, 2 * sizeof(node));
    real = cradle_new_reserved(&room, type, sizeof(node));
    memset(((node *)real)->slot, 0, sizeof((node *)real)->slot);
  } else {
    real = cradle_new(w->m, type, sizeof(node));
  }
  *number = model_new(w, type, type == T_BYTES ? 0 : type == T_ARRAY ? length : NODE_SLOTS, length);
  real->identity = *number;
  if (type == T_BYTES)
    for (uint64_t i = 0; i < length; i++) ((bytes *)real)->item[i] = byte_of(*number, i);
  return real;
}

static void op_allocate_into_root(world *w) CRADLE_MAY_COLLECT {
  uint32_t number;
  object *real = allocate(w, &number);
  size_t i = below(w, ROOT_SLOTS);
  bool in_range = below(w, 2);
  (in_range ? w->range : w->global)[i] = real;
  (in_range ? w->range_model : w->global_model)[i] = number;
}

static void op_allocate_into_object(world *w) CRADLE_MAY_COLLECT {
  uint32_t holder_number, number;
  object *holder = random_object(w, &holder_number);
  CRADLE_ROOT(w->m, holder);
  object *real = allocate(w, &number);
  if (holder == NULL || slots_of(&w->objects[holder_number]) == 0) return;
  uint64_t i = below(w, slots_of(&w->objects[holder_number]));
  cradle_store(w->m, holder, slot_at(holder, w->objects[holder_number].type, i), real);
  w->objects[holder_number].slot[i] = number;
}

static void op_store(world *w) {
  uint32_t holder_number, number;
  object *holder = random_object(w, &holder_number), *real = random_object(w, &number);
  if (holder == NULL || slots_of(&w->objects[holder_number]) == 0) return;
  if (real == NULL || below(w, 8) == 0) real = NULL, number = 0;
  uint64_t i = below(w, slots_of(&w->objects[holder_number]));
  cradle_store(w->m, holder, slot_at(holder, w->objects[holder_number].type, i), real);
  w->objects[holder_number].slot[i] = number;
}

/* Stores into one array, some of them with the barrier that is not told the slot. */
static void op_store_many(world *w) CRADLE_MAY_COLLECT {
  uint32_t holder_number, number;
  object *holder = random_object(w, &holder_number);
  if (holder == NULL || w->objects[holder_number].type != T_ARRAY || w->objects[holder_number].length == 0) return;
  CRADLE_ROOT(w->m, holder);
  for (uint64_t stores = below(w, 60); stores > 0; stores--) {
    uint64_t i = below(w, w->objects[holder_number].length);
    object *real = below(w, 3) == 0 ? random_object(w, &number) : allocate(w, &number);
    if (real == NULL) number = 0;
    if (below(w, 8) == 0) {
      ((array *)holder)->item[i] = real;
      cradle_write_barrier(w->m, holder);
    } else {
      cradle_store(w->m, holder, &((array *)holder)->item[i], real);
    }
    w->objects[holder_number].slot[i] = number;
  }
}

static void op_drop(world *w) {
  uint32_t number;
  void **root = random_root(w, &number);
  *root = NULL;
  for (size_t i = 0; i < ROOT_SLOTS; i++) {
    if (root == &w->range[i]) w->range_model[i] = 0;
    if (root == &w->global[i]) w->global_model[i] = 0;
  }
  for (size_t i = 0; i < w->shadow_count; i++)
    if (root == (void **)&w->m->shadow_base[i]) w->shadow_model[i] = 0;
}

static void op_push(world *w) {
  uint32_t number = 0;
  if (w->shadow_count == SHADOW_MAX) return;
  object *real = random_object(w, &number);
  cradle_push(w->m, real);
  w->shadow_model[w->shadow_count++] = real == NULL ? 0 : number;
}

static void op_pop(world *w) {
  size_t count = below(w, 8);
  if (count > w->shadow_count) count = w->shadow_count;
  cradle_pop_many(w->m, count);
  w->shadow_count -= count;
}

static void op_collect(world *w) CRADLE_MAY_COLLECT {
  uint64_t which = below(w, 60);
  if (which == 0)
    cradle_collect_full(w->m);
  else if (which < 3)
    cradle_collect_major(w->m);
  else if (which == 3)
    cradle_collect_compacting(w->m);
  else if (which < 40)
    (void)cradle_collect_step(w->m, below(w, 20000));
  else
    cradle_collect_minor(w->m);
  cradle_error error;
  if (which % 8 < 2 && !cradle_heap_verify(w->heap, &error)) differ(w, error.message);
  if (which % 8 < 3) compare(w);
}

/* --- a run --- */

static void open_world(world *w, uint64_t seed, size_t nursery, uint64_t stress, bool verify) {
  *w = (world){.seed = seed * 2654435761u + 88172645463325252u, .count = 1, .capacity = 1024};
  first_seed = seed;
  w->objects = calloc(w->capacity, sizeof *w->objects);
  w->shadow_model = calloc(SHADOW_MAX, sizeof *w->shadow_model);
  cradle_options options;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = T_COUNT;
  options.nursery_bytes = nursery;
  options.major_min_bytes = (size_t)2 << 20; /* many major collections */
  options.stress_period = stress;
  options.stress_major = stress != 0 ? 50 : 0;
  if (seed % 3 == 0) options.pause_ns = 1; /* the smallest increments, */
  if (seed % 3 == 1) options.pause_ns = 0; /* or none */
  options.verify = verify;
  cradle_error error;
  w->heap = cradle_heap_new(&options, &error);
  if (w->heap == NULL) differ(w, error.message);
}

static void free_model(world *w) {
  for (uint32_t i = 0; i < w->count; i++) free(w->objects[i].slot);
  free(w->objects);
  free(w->shadow_model);
}

static void start_mutator(world *w) CRADLE_GRANTS_COLLECTION {
  w->m = cradle_mutator_new(w->heap);
  w->range_base = w->range;
  w->range_top = w->range + ROOT_SLOTS;
  w->roots = (cradle_root_range){.base = &w->range_base, .top = &w->range_top, .name = "model"};
  cradle_root_range_add(w->m, &w->roots);
  for (size_t i = 0; i < ROOT_SLOTS; i++)
    if (!cradle_global_root_add(w->heap, &w->global[i], CRADLE_KIND_REFERENCE)) abort();
}

static void close_world(world *w) CRADLE_REVOKES_COLLECTION {
  cradle_pop_many(w->m, w->shadow_count);
  cradle_root_range_remove(w->m, &w->roots);
  cradle_mutator_free(w->m);
  cradle_heap_free(w->heap);
  free_model(w);
}

#ifndef MODEL_OF_BYTES /* tests/fuzz_heap.c takes what is above */
static void step(world *w) CRADLE_MAY_COLLECT {
  uint64_t which = below(w, 1000);
  if (which < 300) op_allocate_into_root(w);
  else if (which < 600) op_allocate_into_object(w);
  else if (which < 800) op_store(w);
  else if (which < 810) op_store_many(w);
  else if (which < 880) op_drop(w);
  else if (which < 940) op_push(w);
  else if (which < 995) op_pop(w);
  else op_collect(w);
}

static uint64_t run(uint64_t seed, uint64_t ops, size_t nursery, uint64_t stress, bool verify) {
  world w;
  open_world(&w, seed, nursery, stress, verify);
  start_mutator(&w);
  for (w.op = 0; w.op < ops; w.op++) step(&w);
  cradle_collect_full(w.m);
  compare(&w);
  cradle_stats stats;
  cradle_heap_stats(w.heap, &stats, sizeof stats, false);
  if (stats.moved_objects == 0 || stats.major_collections == 0) differ(&w, "the run moved nothing or marked nothing");
  if (ops >= 60000 && (stats.moved_old_objects == 0 || stats.recorded_slots == 0))
    differ(&w, "the run moved no old object or recorded no slot");
  close_world(&w);
  return stats.moved_objects;
}

static uint64_t argument(int argc, char **argv, const char *name, uint64_t otherwise) {
  for (int i = 1; i + 1 < argc; i += 2)
    if (strcmp(argv[i], name) == 0) return strtoull(argv[i + 1], NULL, 0);
  return otherwise;
}

int main(int argc, char **argv) {
  uint64_t ops = argument(argc, argv, "--ops", 60000), moved = 0;
  if (argc > 1 && argument(argc, argv, "--seed", 0) != 0) {
    moved = run(argument(argc, argv, "--seed", 1), ops, argument(argc, argv, "--nursery", 65536),
                argument(argc, argv, "--stress", 0), argument(argc, argv, "--verify", 0) != 0);
  } else {
    static const size_t nurseries[] = {4096, 5000, 16384, 65536, 262144, 1 << 20, 4 << 20};
    for (size_t i = 0; i < sizeof nurseries / sizeof *nurseries; i++)
      for (uint64_t seed = 1; seed <= 2; seed++) moved += run(seed + i * 100, ops, nurseries[i], 0, false);
    moved += run(77, ops / 15, 4096, 1, false);
    moved += run(78, ops / 5, 65536, 7, false);
    for (uint64_t seed = 90; seed < 93; seed++) moved += run(seed, ops / 3, 16384, 0, true);
  }
  printf("no difference; %llu objects moved\n", (unsigned long long)moved);
  return 0;
}
#endif
