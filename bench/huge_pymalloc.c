/* The object mixes with which CPython measured huge pages behind its small-object allocator (its issue 144319), on a
 * Cradle heap: the same numbers of objects, sizes and lifetimes. An integer is an object of two words, a bytearray one
 * object with its bytes in it, and what CPython frees at once waits for a collection.
 */
#include "bench/huge_pages.h"

#include "bench/huge_list.h"

enum { RUN, FREE };
enum { INTEGER, TUPLE, BYTES, POINT, LIST };

typedef struct integer {
  uint64_t header;
  uint64_t value;
} integer;

typedef struct tuple {
  uint64_t header, length;
  integer *items[3];
} tuple;

typedef struct byte_array {
  uint64_t header, length;
  unsigned char bytes[];
} byte_array;

typedef struct point {
  uint64_t header;
  integer *x, *y;
} point;

static const cradle_type types[] = {
    [INTEGER] = {.name = "integer", .size = sizeof(integer)},
    [TUPLE] = {.name = "tuple", .size = sizeof(tuple), .references = UINT64_C(7) << (offsetof(tuple, items) / 8)},
    [BYTES] = {.name = "bytes",
               .size = sizeof(byte_array),
               .items = CRADLE_ITEMS_BYTES,
               .item_size = 1,
               .length_offset = offsetof(byte_array, length)},
    [POINT] = {.name = "point", .size = sizeof(point), .references = CRADLE_SLOT(point, x) | CRADLE_SLOT(point, y)},
    [LIST] = HUGE_LIST_TYPE,
};

static integer *new_integer(cradle_mutator *m, uint64_t value) CRADLE_MAY_COLLECT {
  integer *fresh = CRADLE_NEW_UNINITIALIZED(m, integer, INTEGER);
  fresh->value = value;
  return fresh;
}

/* items[from], items[from + step] .. become byte arrays. */
static void fill_with_bytes(cradle_mutator *m, huge_list *list, uint64_t from, uint64_t end, uint64_t step,
                            uint64_t bytes) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(m, list);
  for (uint64_t i = from; i < end; i += step) {
    byte_array *fresh = CRADLE_NEW_ARRAY(m, byte_array, BYTES, bytes, length, bytes);
    huge_list_set(m, list, i, fresh);
  }
}

static uint64_t list_of_tuples(const huge_run *run, cradle_mutator *m) CRADLE_MAY_COLLECT {
  uint64_t count = huge_work(run, 1000000), sum = 0;
  huge_list *list = huge_list_new(m, LIST, count);
  CRADLE_ROOT(m, list);
  for (uint64_t i = 0; i < count; i++) {
    for (uint64_t j = 0; j < 3; j++) cradle_push(m, new_integer(m, i + j));
    tuple *fresh = CRADLE_NEW_UNINITIALIZED(m, tuple, TUPLE);
    fresh->length = 3;
    for (int j = 3; j-- > 0;) fresh->items[j] = cradle_pop(m);
    huge_list_set(m, list, i, fresh);
  }
  for (uint64_t i = 0; i < count; i++) sum += ((tuple *)huge_list_get(list, i))->items[2]->value;
  return sum;
}

static uint64_t fragmentation(const huge_run *run, cradle_mutator *m) CRADLE_MAY_COLLECT {
  uint64_t count = huge_work(run, 500000);
  huge_list *list = huge_list_new(m, LIST, count);
  CRADLE_ROOT(m, list);
  fill_with_bytes(m, list, 0, count, 1, 128);
  for (uint64_t i = 0; i < count; i += 2) huge_list_set(m, list, i, NULL);
  fill_with_bytes(m, list, 0, count, 2, 128);
  return count;
}

static uint64_t mixed_sizes(const huge_run *run, cradle_mutator *m) CRADLE_MAY_COLLECT {
  static const uint64_t sizes[] = {8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512};
  uint64_t count = huge_work(run, 500000);
  huge_list *list = huge_list_new(m, LIST, count);
  CRADLE_ROOT(m, list);
  for (uint64_t i = 0; i < count; i++) {
    byte_array *fresh =
        CRADLE_NEW_ARRAY(m, byte_array, BYTES, bytes, length, sizes[i % (sizeof sizes / sizeof sizes[0])]);
    huge_list_set(m, list, i, fresh);
  }
  return count;
}

static uint64_t bulk_small_alloc(const huge_run *run, cradle_mutator *m) CRADLE_MAY_COLLECT {
  uint64_t count = huge_work(run, 1000000);
  huge_list *list = huge_list_new(m, LIST, count);
  CRADLE_ROOT(m, list);
  fill_with_bytes(m, list, 0, count, 1, 48);
  for (uint64_t i = 0; i < count; i++) ((byte_array *)huge_list_get(list, i))->bytes[0] = 1;
  return count;
}

static uint64_t class_instances(const huge_run *run, cradle_mutator *m) CRADLE_MAY_COLLECT {
  uint64_t count = huge_work(run, 500000), sum = 0;
  huge_list *list = huge_list_new(m, LIST, count);
  CRADLE_ROOT(m, list);
  for (uint64_t i = 0; i < count; i++) {
    cradle_push(m, new_integer(m, i));
    cradle_push(m, new_integer(m, i + 1));
    point *fresh = CRADLE_NEW_UNINITIALIZED(m, point, POINT);
    fresh->y = cradle_pop(m);
    fresh->x = cradle_pop(m);
    huge_list_set(m, list, i, fresh);
  }
  for (uint64_t i = 0; i < count; i++) sum += ((point *)huge_list_get(list, i))->y->value;
  return sum;
}

/* Ten layers; every second layer is dropped and made again. */
static uint64_t arena_pressure(const huge_run *run, cradle_mutator *m) CRADLE_MAY_COLLECT {
  enum { LAYERS = 10 };
  uint64_t layer = huge_work(run, 200000), count = layer * LAYERS;
  huge_list *list = huge_list_new(m, LIST, count);
  CRADLE_ROOT(m, list);
  fill_with_bytes(m, list, 0, count, 1, 256);
  for (uint64_t i = 0; i < LAYERS; i += 2) {
    for (uint64_t j = i * layer; j < (i + 1) * layer; j++) huge_list_set(m, list, j, NULL);
    fill_with_bytes(m, list, i * layer, (i + 1) * layer, 1, 256);
  }
  return count;
}

static uint64_t random_walk(const huge_run *run, cradle_mutator *m) CRADLE_MAY_COLLECT {
  uint64_t count = huge_work(run, 1000000), steps = huge_work(run, 5000000), state = 1, sum = 0;
  huge_list *list = huge_list_new(m, LIST, count);
  CRADLE_ROOT(m, list);
  fill_with_bytes(m, list, 0, count, 1, 64);
  for (uint64_t i = 0; i < steps; i++)
    sum += ((byte_array *)huge_list_get(list, huge_random(&state) % count))->bytes[0]++;
  return sum;
}

/* A queue of 200,000 objects, through which another 200,000 pass. */
static uint64_t small_object_churn(const huge_run *run, cradle_mutator *m) CRADLE_MAY_COLLECT {
  uint64_t count = huge_work(run, 200000);
  huge_list *list = huge_list_new(m, LIST, count);
  CRADLE_ROOT(m, list);
  fill_with_bytes(m, list, 0, count, 1, 64);
  fill_with_bytes(m, list, 0, count, 1, 64);
  return count;
}

/* Dictionaries that die at once: a head, and a table of eight keys and eight values of which four are used. */
static uint64_t dict_churn(const huge_run *run, cradle_mutator *m) CRADLE_MAY_COLLECT {
  enum { USED = 4, TABLE = 16 };
  uint64_t count = huge_work(run, 500000), sum = 0;
  huge_list *keys = CRADLE_NEW_ARRAY(m, huge_list, LIST, items, length, USED);
  CRADLE_ROOT(m, keys);
  for (uint64_t i = 0; i < USED; i++) {
    integer *key = new_integer(m, i);
    cradle_store(m, keys, &keys->items[i], key);
  }
  for (uint64_t i = 0; i < count; i++) {
    huge_list *table = CRADLE_NEW_ARRAY(m, huge_list, LIST, items, length, TABLE);
    for (uint64_t j = 0; j < USED; j++) table->items[2 * j] = table->items[2 * j + 1] = keys->items[j];
    cradle_push(m, table);
    tuple *dictionary = CRADLE_NEW(m, tuple, TUPLE);
    dictionary->length = 1;
    dictionary->items[0] = cradle_pop(m);
    sum += dictionary->length;
  }
  return sum;
}

static uint64_t (*const mixes[])(const huge_run *run, cradle_mutator *m) = {
    list_of_tuples, fragmentation, mixed_sizes,        bulk_small_alloc, class_instances,
    arena_pressure, random_walk,   small_object_churn, dict_churn,
};

#define MIX(text, number, mib) {.name = text, .bytes = UINT64_C(mib) << 20, .heap = true, .variant = number}
static const huge_case cases[] = {
    MIX("list_of_tuples", 0, 256),   MIX("fragmentation", 1, 256),      MIX("mixed_sizes", 2, 256),
    MIX("bulk_small_alloc", 3, 256), MIX("class_instances", 4, 128),    MIX("arena_pressure", 5, 1280),
    MIX("random_walk", 6, 256),      MIX("small_object_churn", 7, 128), MIX("dict_churn", 8, 64),
};

/* Making the heap is timed, because a starting process pays for it. */
static uint64_t run_pymalloc(huge_run *run) {
  cradle_options options;
  huge_heap_options(run, &options);
  options.types = types;
  options.type_count = sizeof types / sizeof types[0];
  huge_phase_begin(run);
  cradle_heap *heap = huge_heap_start(&options);
  cradle_mutator *m = cradle_mutator_new(heap);
  uint64_t sum = mixes[run->which->variant](run, m);
  huge_phase_end(run, RUN, 1);
  huge_look(run);
  huge_phase_begin(run);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  huge_phase_end(run, FREE, 1);
  return sum;
}

const huge_bench huge_pymalloc = {
    .name = "pymalloc",
    .help = "the object mixes with which CPython measured huge pages, on a Cradle heap",
    .phases = {"run", "free"},
    .operation = "run",
    HUGE_CASES(cases),
    .run = run_pymalloc,
};
