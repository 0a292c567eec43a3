/* Tests allocation: the contents and sizes of new objects, and that they live while they are referenced and die
 * afterwards. */
#include "tests/support/nodes.h"

#include <stdlib.h>
#include <string.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define NURSERY_BYTES (64 * KIB)

enum { BYTES = NODE + 1, REFERENCES, VALUES, SHORTS, TRIPLES, ODD, LARGE, WIDE, BUFFER, MIXED, TYPES };

typedef struct array {
  uint64_t header, length;
  uint64_t items[];
} array;
typedef struct bytes {
  uint64_t header, length;
  unsigned char items[];
} bytes;
/* A part with slots before the items, and the length not first. */
typedef struct mixed {
  uint64_t header;
  node *owner;
  uint64_t length;
  node *other;
  node *items[];
} mixed;
/* Owns a malloc'ed buffer of references, as a growable list of a VM does. */
typedef struct buffer {
  uint64_t header, count;
  node **items;
} buffer;
#define WIDE_BYTES 512
#define LARGE_BYTES (CRADLE_NURSERY_OBJECT_MAX_BYTES + 8)
#define ODD_BYTES 21

static void trace_buffer(void *user, void *object, cradle_visitor *visitor) {
  (void)user;
  buffer *list = object;
  for (size_t i = 0; i < list->count; i++) cradle_visit(visitor, &list->items[i], CRADLE_KIND_REFERENCE);
}

static const cradle_type types[TYPES] = {
    [NODE] = NODE_TYPE,
    [BYTES] = {.name = "bytes", .size = 16, .items = CRADLE_ITEMS_BYTES, .item_size = 1, .length_offset = 8},
    [REFERENCES] =
        {.name = "references", .size = 16, .items = CRADLE_ITEMS_REFERENCES, .item_size = 8, .length_offset = 8},
    [VALUES] = {.name = "values", .size = 16, .items = CRADLE_ITEMS_VALUES, .item_size = 8, .length_offset = 8},
    [SHORTS] = {.size = 16, .items = CRADLE_ITEMS_BYTES, .item_size = 2, .length_offset = 8},
    [TRIPLES] = {.size = 16, .items = CRADLE_ITEMS_BYTES, .item_size = 24, .length_offset = 8},
    [ODD] = {.name = "odd", .size = ODD_BYTES},
    [LARGE] = {.name = "large", .size = LARGE_BYTES, .references = 1 << 1},
    [WIDE] = {.name = "wide", .size = WIDE_BYTES, .references = 1 << 1 | UINT64_C(1) << 63},
    [BUFFER] = {.name = "buffer", .size = sizeof(buffer), .trace = trace_buffer},
    [MIXED] = {.name = "mixed",
               .size = sizeof(mixed),
               .references = CRADLE_SLOT(mixed, owner) | CRADLE_SLOT(mixed, other),
               .items = CRADLE_ITEMS_REFERENCES,
               .item_size = 8,
               .length_offset = offsetof(mixed, length)},
};

static jmp_buf out_of_memory;
static bool lands; /* the handler does; otherwise it returns */
static size_t refused_bytes;

static void on_out_of_memory(void *data, cradle_mutator *asking, size_t size, const char *message) {
  (void)data, (void)asking, (void)message;
  refused_bytes = size;
  if (lands) longjmp(out_of_memory, 1);
}

CRADLE_UNCHECKED_COLLECTION static int open_sized(size_t nursery_bytes) {
  cradle_options options;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = TYPES;
  options.encoding = cradle_encoding_of(0, 0, 1 << 2);
  options.nursery_bytes = nursery_bytes;
  options.major_min_bytes = 16 * MIB;
  options.on_misuse = fail_of_misuse;
  options.on_out_of_memory = on_out_of_memory;
  return start_heap(&options);
}
static int open_heap(void **state) {
  (void)state;
  return open_sized(NURSERY_BYTES);
}
static int open_tiny(void **state) {
  (void)state;
  return open_sized(CRADLE_NURSERY_MIN_BYTES);
}

static void assert_zero(const void *from, size_t size) {
  const unsigned char *byte = from;
  for (size_t i = 0; i < size; i++)
    if (byte[i] != 0) fail_msg("byte %zu of %zu is %#x, not 0", i, size, byte[i]);
}
/* In cradle_store(mutator, list, &list->items[i], new_node(i)) the compiler may read list before the allocation moves
 * it. */
CRADLE_MAY_COLLECT static void store_new_node(void *rooted_object, size_t word, uint64_t number) {
  node *made = new_node(number);
  cradle_word *object = *(cradle_word **)rooted_object;
  cradle_store(mutator, object, object + word, made);
}
static unsigned char pattern(size_t i, size_t seed) {
  return (unsigned char)((i * 131) ^ (i >> 8) ^ seed);
}

/* Fills the nursery with bytes that are not zero and lets them die. */
CRADLE_MAY_COLLECT static void soil_nursery(void) {
  for (size_t left = 2 * NURSERY_BYTES; left > KIB; left -= KIB) {
    bytes *dirt = cradle_new_array(mutator, BYTES, KIB - sizeof(bytes));
    memset(dirt->items, 0xa5, KIB - sizeof(bytes));
  }
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
}

CRADLE_MAY_COLLECT static void objects_come_zeroed(void **state) {
  (void)state;
  for (int round = 0; round < 3; round++) {
    soil_nursery();
    for (size_t i = 0; i < 700; i++) {
      assert_zero((char *)cradle_new(mutator, NODE, sizeof(node)) + 8, sizeof(node) - 8);
      assert_zero((char *)cradle_new(mutator, WIDE, WIDE_BYTES) + 8, WIDE_BYTES - 8);
      const bytes *text = cradle_new_array(mutator, BYTES, i);
      assert_zero(text->items, (i + 7) & ~(size_t)7);
    }
  }
  assert_true(read_stats().minor_collections > 3);
}

CRADLE_MAY_COLLECT static void large_objects_come_zeroed(void **state) {
  (void)state;
  static const size_t sizes[] = {40 * KIB, 200 * KIB, 3 * MIB};
  for (int round = 0; round < 4; round++) {
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
      bytes *text = cradle_new_array(mutator, BYTES, sizes[i]);
      assert_int_equal(text->length, sizes[i]);
      assert_zero(text->items, sizes[i]);
      memset(text->items, 0xa5, sizes[i]);
    }
    round % 2 ? cradle_collect(mutator, CRADLE_COLLECT_MINOR) : cradle_collect(mutator, CRADLE_COLLECT_FULL);
  }
}

/* The fast form returns the same objects as cradle_new until the nursery is full, then NULL, and never collects. For
 * objects that cradle_new places outside the nursery it always returns NULL. */
CRADLE_MAY_COLLECT static void the_fast_path_alone_never_collects(void **state) {
  (void)state;
  /* The first allocations take the slow path. */
  for (int i = 0; i < 1000; i++) (void)cradle_new(mutator, NODE, sizeof(node));
  soil_nursery();
  uint64_t collections = read_stats().minor_collections;
  size_t count = 0;
  node *last = NULL;
  for (node *made; (made = cradle_new_fast(mutator, NODE, sizeof(node))) != NULL; last = made, count++) {
    assert_int_equal(made->header, NODE);
    made->number = count;
    made->next = last;
  }
  assert_in_range(count * sizeof(node), NURSERY_BYTES / 4 * 3, NURSERY_BYTES);
  assert_null(cradle_new_fast(mutator, NODE, sizeof(node)));
  assert_null(cradle_new_fast(mutator, LARGE, LARGE_BYTES));
  assert_int_equal(read_stats().minor_collections, collections);
  CRADLE_ROOT(mutator, last);
  node *more = cradle_new(mutator, NODE, sizeof(node));
  more->next = last;
  assert_int_equal(read_stats().minor_collections, collections + 1);
  for (const node *at = last; at != NULL; at = at->next) assert_int_equal(at->number, --count);
  assert_int_equal(count, 0);
  assert_non_null(cradle_new_fast(mutator, NODE, sizeof(node)));
}

/* Promoted objects are placed in reused old memory; nothing of its previous contents may remain in them, not even in
 * padding. */
CRADLE_MAY_COLLECT static void promoted_objects_keep_their_contents(void **state) {
  (void)state;
  for (size_t round = 0; round < 3; round++) {
    array *all = cradle_new_array(mutator, REFERENCES, 600);
    CRADLE_ROOT(mutator, all);
    for (size_t i = 0; i < all->length; i++) {
      bytes *text = cradle_new_array(mutator, BYTES, i);
      for (size_t j = 0; j < i; j++) text->items[j] = pattern(j, i + round);
      cradle_store(mutator, all, &all->items[i], text);
    }
    cradle_collect(mutator, CRADLE_COLLECT_FULL);
    assert_sound();
    for (size_t i = 0; i < all->length; i++) {
      const bytes *text = (const bytes *)(uintptr_t)all->items[i];
      assert_int_equal(cradle_type_of(text), BYTES);
      assert_int_equal(text->length, i);
      for (size_t j = 0; j < i; j++)
        if (text->items[j] != pattern(j, i + round)) fail_msg("byte %zu of string %zu changed", j, i);
    }
  }
}

CRADLE_MAY_COLLECT static void sizes_round_up(void **state) {
  (void)state;
  assert_int_equal(cradle_object_bytes(0), 16);
  assert_int_equal(cradle_object_bytes(1), 16);
  assert_int_equal(cradle_object_bytes(16), 16);
  assert_int_equal(cradle_object_bytes(17), 24);
  const char *first = cradle_new(mutator, ODD, ODD_BYTES), *second = cradle_new(mutator, ODD, ODD_BYTES);
  assert_int_equal(second - first, 24);
  for (size_t length = 0; length < 100; length++) {
    cradle_collect(mutator, CRADLE_COLLECT_MINOR);
    first = cradle_new_array(mutator, BYTES, length);
    second = cradle_new_array(mutator, SHORTS, length);
    const char *third = cradle_new_array(mutator, TRIPLES, length), *end = cradle_new(mutator, NODE, sizeof(node));
    assert_int_equal(second - first, 16 + ((length + 7) & ~(size_t)7));
    assert_int_equal(third - second, 16 + ((2 * length + 7) & ~(size_t)7));
    assert_int_equal(end - third, 16 + 24 * length);
  }
}

CRADLE_MAY_COLLECT static void the_header_is_the_type(void **state) {
  (void)state;
  void *all[] = {cradle_new(mutator, NODE, sizeof(node)), cradle_new_array(mutator, BYTES, 5),
                 cradle_new_array(mutator, VALUES, 5), cradle_new(mutator, WIDE, WIDE_BYTES)};
  static const uint32_t expected[] = {NODE, BYTES, VALUES, WIDE};
  for (size_t i = 0; i < 4; i++) {
    assert_int_equal(*(cradle_word *)all[i], expected[i]);
    cradle_push(mutator, all[i]);
  }
  cradle_push(mutator, cradle_new(mutator, LARGE, LARGE_BYTES));
  assert_int_equal(cradle_type_of((void *)(uintptr_t)*cradle_peek(mutator, 0)), LARGE);
  cradle_collect(mutator, CRADLE_COLLECT_FULL);
  assert_int_equal(cradle_type_of(cradle_pop(mutator)), LARGE);
  for (size_t i = 4; i-- > 0;) assert_int_equal(cradle_type_of(cradle_pop(mutator)), expected[i]);
}

CRADLE_MAY_COLLECT static void addresses_are_aligned(void **state) {
  (void)state;
  for (size_t size = 0; size < 200 * KIB; size += size / 4 + 1) {
    cradle_push(mutator, cradle_new_array(mutator, BYTES, size));
    assert_int_equal(*cradle_peek(mutator, 0) % CRADLE_OBJECT_ALIGNMENT, 0);
  }
  cradle_collect(mutator, CRADLE_COLLECT_FULL);
  while (mutator->shadow_top != mutator->shadow_base)
    assert_int_equal((cradle_word)(uintptr_t)cradle_pop(mutator) % CRADLE_OBJECT_ALIGNMENT, 0);
}

/* Reference arrays full of young nodes, from small ones to some larger than an arena, are checked after each kind of
 * collection. */
CRADLE_MAY_COLLECT static void reference_arrays_hold(void **state) {
  (void)state;
  static const size_t lengths[] = {0, 1, 3, 100, 1020, 4000, 5000, 100000, 400000};
  for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
    array *list = cradle_new_array(mutator, REFERENCES, lengths[k]);
    CRADLE_ROOT(mutator, list);
    assert_int_equal(list->length, lengths[k]);
    for (size_t i = 0; i < lengths[k]; i++) store_new_node(&list, 2 + i, i);
    cradle_collect(mutator, CRADLE_COLLECT_MINOR);
    assert_sound();
    cradle_collect(mutator, CRADLE_COLLECT_FULL);
    for (size_t i = 0; i < lengths[k]; i++) assert_int_equal(((node *)(uintptr_t)list->items[i])->number, i);
  }
}

CRADLE_MAY_COLLECT static void value_arrays_hold(void **state) {
  (void)state;
  array *list = cradle_new_array(mutator, VALUES, 1000);
  CRADLE_ROOT(mutator, list);
  for (size_t i = 0; i < 1000; i++) { /* tag 2: a reference; the other tags: immediates that look like addresses */
    uint64_t made = (uint64_t)(uintptr_t)new_node(i), tag = i % 3 == 0 ? 2 : i % 8 == 2 ? 1 : i % 8;
    cradle_store_value(mutator, list, &list->items[i], made + tag);
  }
  cradle_collect(mutator, CRADLE_COLLECT_FULL);
  for (size_t i = 0; i < 1000; i += 3) {
    assert_int_equal(list->items[i] & 7, 2);
    assert_int_equal(((node *)(uintptr_t)(list->items[i] - 2))->number, i);
  }
  assert_true(read_stats().moved_objects >= 334);
}

CRADLE_MAY_COLLECT static void mixed_objects_hold(void **state) {
  (void)state;
  mixed *object = cradle_new_array(mutator, MIXED, 3);
  CRADLE_ROOT(mutator, object);
  store_new_node(&object, 1, 1);
  store_new_node(&object, 3, 2);
  for (size_t i = 0; i < 3; i++) store_new_node(&object, 4 + i, 10 + i);
  const mixed *before = object;
  cradle_collect(mutator, CRADLE_COLLECT_FULL);
  assert_ptr_not_equal(before, object);
  assert_int_equal(object->owner->number, 1);
  assert_int_equal(object->other->number, 2);
  assert_int_equal(object->length, 3);
  for (size_t i = 0; i < 3; i++) assert_int_equal(object->items[i]->number, 10 + i);
}

CRADLE_MAY_COLLECT static void wide_objects_hold(void **state) {
  (void)state;
  node **object = cradle_new(mutator, WIDE, WIDE_BYTES);
  CRADLE_ROOT(mutator, object);
  store_new_node(&object, 1, 1);
  store_new_node(&object, 63, 63);
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  assert_int_equal(object[1]->number, 1);
  assert_int_equal(object[63]->number, 63);
}

CRADLE_MAY_COLLECT static void fixed_size_large_objects_hold(void **state) {
  (void)state;
  node **object = cradle_new(mutator, LARGE, LARGE_BYTES);
  CRADLE_ROOT(mutator, object);
  assert_zero(object + 1, LARGE_BYTES - 8);
  store_new_node(&object, 1, 7);
  node **address = object;
  cradle_collect(mutator, CRADLE_COLLECT_FULL);
  assert_ptr_equal(address, object); /* old objects do not move */
  assert_int_equal(object[1]->number, 7);
  assert_non_null(cradle_new(mutator, LARGE, LARGE_BYTES));
  assert_non_null(cradle_new_uninitialized(mutator, LARGE, LARGE_BYTES));
}

static void assert_pattern(const bytes *text, size_t length, size_t step) {
  assert_int_equal(text->length, length);
  for (size_t i = 0; i < length; i += step)
    if (text->items[i] != pattern(i, length)) fail_msg("byte %zu of %zu changed", i, length);
}

CRADLE_MAY_COLLECT static void large_arrays_live_and_die(void **state) {
  (void)state;
  static const size_t sizes[] = {100 * KIB, 3 * MIB, 100 * MIB};
  for (size_t k = 0; k < 3; k++) {
    size_t step = 1 + sizes[k] / 100000;
    cradle_collect(mutator, CRADLE_COLLECT_FULL);
    uint64_t before = read_stats().old_bytes;
    bytes *text = cradle_new_array(mutator, BYTES, sizes[k]);
    CRADLE_ROOT(mutator, text);
    for (size_t i = 0; i < sizes[k]; i += step) text->items[i] = pattern(i, sizes[k]);
    cradle_collect(mutator, CRADLE_COLLECT_MINOR);
    assert_pattern(text, sizes[k], step);
    cradle_collect(mutator, CRADLE_COLLECT_MAJOR);
    cradle_collect(mutator, CRADLE_COLLECT_FULL);
    assert_sound();
    assert_pattern(text, sizes[k], step);
    assert_true(read_stats().old_bytes >= before + sizes[k]);
    assert_true(read_stats().large_bytes >= sizes[k]);
    text = NULL;
    cradle_collect(mutator, CRADLE_COLLECT_FULL);
    assert_int_equal(read_stats().old_bytes, before);
  }
}

CRADLE_MAY_COLLECT static void large_arrays_die_young(void **state) {
  (void)state;
  uint64_t before = read_stats().large_bytes, majors = read_stats().major_collections;
  for (int i = 0; i < 50; i++) {
    (void)cradle_new_array(mutator, BYTES, 100 * KIB);
    (void)cradle_new_array(mutator, REFERENCES, 3 * MIB / 8);
    cradle_collect(mutator, CRADLE_COLLECT_MINOR);
    assert_int_equal(read_stats().large_bytes, before);
  }
  assert_int_equal(read_stats().major_collections, majors);
}

/* 6 GB of short-lived large arrays must not pile up, although the program requests no collection. */
CRADLE_MAY_COLLECT static void large_arrays_do_not_pile_up(void **state) {
  (void)state;
  for (int i = 0; i < 300; i++) {
    bytes *text = cradle_new_array(mutator, BYTES, 20 * MIB);
    text->items[0] = text->items[20 * MIB - 1] = 1;
  }
  assert_true(read_stats().committed_bytes < 500 * MIB);
}

static const size_t overflowing[] = {SIZE_MAX,         SIZE_MAX - 15,    SIZE_MAX / 2,          SIZE_MAX / 8,
                                     SIZE_MAX / 8 - 1, SIZE_MAX / 8 + 1, SIZE_MAX / 16,         (size_t)1 << 62,
                                     (size_t)1 << 61,  (size_t)1 << 60,  ((size_t)1 << 61) - 2, (size_t)1 << 47,
                                     (size_t)1 << 44};

CRADLE_MAY_COLLECT static void impossible_lengths_give_null(void **state) {
  (void)state;
  static const uint32_t kinds[] = {BYTES, REFERENCES, VALUES, SHORTS, TRIPLES, MIXED};
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
    for (size_t i = 0; i < sizeof overflowing / sizeof overflowing[0]; i++)
      assert_null(cradle_new_array(mutator, kinds[k], overflowing[i]));
  assert_sound();
  assert_non_null(cradle_new_array(mutator, REFERENCES, 10));
}

/* A function of its own, so that no local variable lives across setjmp. */
CRADLE_MAY_COLLECT static bool is_refused(uint32_t type, size_t length) {
  lands = true;
  bool refused = setjmp(out_of_memory) != 0;
  if (!refused) (void)cradle_new_array(mutator, type, length);
  lands = false;
  return refused;
}
CRADLE_MAY_COLLECT static void impossible_lengths_reach_the_handler(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof overflowing / sizeof overflowing[0]; i++) {
    refused_bytes = 0;
    assert_true(is_refused(i % 2 ? BYTES : REFERENCES, overflowing[i]));
    assert_true(refused_bytes >= overflowing[i]); /* an item has at least one byte */
  }
  assert_sound();
  assert_non_null(cradle_new_array(mutator, REFERENCES, 10));
}

CRADLE_MAY_COLLECT static void a_reservation_holds_several_objects(void **state) {
  (void)state;
  node *list = NULL;
  CRADLE_ROOT(mutator, list);
  for (uint64_t group = 0; group < 2000; group++) {
    cradle_reservation room = cradle_reserve(mutator, 10 * sizeof(node));
    assert_non_null(room.free);
    for (uint64_t i = 0; i < (group % 3 == 0 ? 10 : 7); i++) { /* some groups leave a part unused */
      node *made = cradle_new_reserved(&room, NODE, sizeof(node));
      made->number = group;
      made->next = list;
      list = made;
    }
  }
  cradle_collect(mutator, CRADLE_COLLECT_FULL);
  assert_sound();
  const node *next = list;
  for (uint64_t group = 2000; group-- > 0;)
    for (uint64_t i = 0; i < (group % 3 == 0 ? 10 : 7); i++, next = next->next) assert_int_equal(next->number, group);
  assert_null(next);
}

/* Under AddressSanitizer or valgrind the collector reads reserved objects in whole words, so all of their last word
 * must be readable. */
CRADLE_MAY_COLLECT static void a_reservation_has_whole_words(void **state) {
  (void)state;
  cradle_reservation room = cradle_reserve(mutator, 17);
  array *bytes = cradle_new_reserved(&room, BYTES, 17);
  assert_ptr_equal(room.free, room.end);
  bytes->length = 1;
  *(char *)bytes->items = 'a';
  CRADLE_ROOT(mutator, bytes);
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  assert_int_equal(*(char *)bytes->items, 'a');
}

CRADLE_MAY_COLLECT static void the_largest_reservation_and_object_fit(void **state) {
  (void)state;
  const size_t count = CRADLE_NURSERY_OBJECT_MAX_BYTES / 16;
  array *last = NULL;
  CRADLE_ROOT(mutator, last);
  for (int round = 0; round < 5; round++) {
    cradle_reservation room = cradle_reserve(mutator, CRADLE_NURSERY_OBJECT_MAX_BYTES);
    for (size_t i = 0; i < count; i++) {
      last = cradle_new_reserved(&room, REFERENCES, 16);
      last->length = 0;
    }
    last = cradle_new_array(mutator, REFERENCES, (CRADLE_NURSERY_OBJECT_MAX_BYTES - 16) / 8);
    last->items[4000] = (uint64_t)(uintptr_t)last;
    cradle_collect(mutator, CRADLE_COLLECT_MINOR);
    assert_int_equal(last->items[4000], (uint64_t)(uintptr_t)last);
  }
  assert_sound();
}

/* One object may reach past the nursery's end; the next object must not start behind it. */
CRADLE_MAY_COLLECT static void the_slack_is_for_one_object(void **state) {
  (void)state;
  enum { COUNT = 200, ITEMS = 2500 };
  cradle_statistics before = read_stats();
  for (int i = 0; i < COUNT; i++) (void)cradle_new_array(mutator, REFERENCES, ITEMS);
  cradle_statistics after = read_stats();
  uint64_t collections = after.minor_collections - before.minor_collections;
  assert_true(collections >= COUNT * (uint64_t)ITEMS * 8 / (after.nursery_bytes + CRADLE_NURSERY_OBJECT_MAX_BYTES));
}

CRADLE_MAY_COLLECT static void types_are_added_at_run_time(void **state) {
  (void)state;
  enum { ADDED = 1000 };
  array *all = cradle_new_array(mutator, REFERENCES, ADDED);
  CRADLE_ROOT(mutator, all);
  for (uint32_t i = 0; i < ADDED; i++) {
    cradle_type type = {.name = "added", .size = 16 + 8 * (i % 40), .references = i % 40 ? 1 << 2 : 0};
    assert_int_equal(cradle_type_add(heap, &type), TYPES + i);
    type = (cradle_type){.size = 1}; /* the library has copied it */
    node **made = cradle_new(mutator, TYPES + i, 16 + 8 * (i % 40));
    cradle_store(mutator, all, &all->items[i], made);
    CRADLE_ROOT(mutator, made);
    if (i % 40) store_new_node(&made, 2, i);
  }
  cradle_collect(mutator, CRADLE_COLLECT_FULL);
  assert_sound();
  for (uint32_t i = 0; i < ADDED; i++) {
    node **object = (node **)(uintptr_t)all->items[i];
    assert_int_equal(cradle_type_of(object), TYPES + i);
    if (i % 40) assert_int_equal(object[2]->number, i);
  }
}

CRADLE_MAY_COLLECT static void a_trace_callback_reports_a_buffer(void **state) {
  (void)state;
  enum { COUNT = 500 };
  node *items[COUNT] = {NULL}; /* stands for malloc'ed memory */
  buffer *list = cradle_new(mutator, BUFFER, sizeof(buffer));
  CRADLE_ROOT(mutator, list);
  list->items = items;
  list->count = COUNT;
  for (uint64_t round = 0; round < 3; round++) { /* in later rounds the object is old, and the barrier remembers it */
    for (uint64_t i = round; i < COUNT; i += 2) {
      items[i] = new_node(1000 * round + i);
      cradle_write_barrier(mutator, list);
      if (i % 50 == 0) cradle_collect(mutator, CRADLE_COLLECT_MINOR);
    }
    cradle_collect(mutator, CRADLE_COLLECT_MINOR);
    assert_sound();
    for (uint64_t i = round; i < COUNT; i += 2) assert_int_equal(items[i]->number, 1000 * round + i);
    cradle_collect(mutator, CRADLE_COLLECT_FULL);
  }
  for (uint64_t i = 2; i < COUNT; i += 2) assert_int_equal(items[i]->number, 2000 + i);
  for (uint64_t i = 1; i < COUNT; i += 2) assert_int_equal(items[i]->number, 1000 + i);
}

CRADLE_MAY_COLLECT static void statistics_count(void **state) {
  (void)state;
  cradle_statistics before = read_stats(), after;
  for (int i = 0; i < 100; i++) cradle_push(mutator, new_node(1));
  (void)cradle_new_array(mutator, BYTES, 100 * KIB);
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  after = read_stats();
  assert_int_equal(after.minor_collections, before.minor_collections + 1);
  assert_int_equal(after.promoted_objects, before.promoted_objects + 100);
  assert_int_equal(after.promoted_bytes, before.promoted_bytes + 100 * sizeof(node));
  assert_int_equal(after.moved_objects, before.moved_objects + 100);
  assert_true(after.allocated_bytes >= before.allocated_bytes + 100 * sizeof(node) + 100 * KIB);
  assert_true(after.allocated_bytes <= before.allocated_bytes + 100 * sizeof(node) + 101 * KIB);
  assert_int_equal(after.nursery_bytes, NURSERY_BYTES);
  assert_true(after.old_bytes >= 100 * sizeof(node) && after.old_bytes < 16 * KIB);
  assert_true(after.arenas_in_use >= 1 && after.arenas_committed >= after.arenas_in_use);
  assert_true(after.committed_bytes >= after.arenas_committed * after.arena_bytes + after.nursery_bytes);
  cradle_pop_many(mutator, 100);
  before = after;
  cradle_collect(mutator, CRADLE_COLLECT_FULL);
  after = read_stats();
  assert_int_equal(after.major_collections, before.major_collections + 1);
  assert_int_equal(after.old_bytes, 0);
  assert_true(after.minor_max_ns <= after.minor_ns && after.major_max_ns <= after.major_ns);
  assert_true(after.minor_max_ns * after.minor_collections >= after.minor_ns);
}

#define IN_HEAP(test) cmocka_unit_test_setup_teardown(test, open_heap, close_heap)
#define IN_TINY_HEAP(test) cmocka_unit_test_setup_teardown(test, open_tiny, close_heap)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_HEAP(objects_come_zeroed),
      IN_HEAP(large_objects_come_zeroed),
      IN_HEAP(the_fast_path_alone_never_collects),
      IN_HEAP(promoted_objects_keep_their_contents),
      IN_HEAP(sizes_round_up),
      IN_HEAP(the_header_is_the_type),
      IN_HEAP(addresses_are_aligned),
      IN_HEAP(reference_arrays_hold),
      IN_HEAP(value_arrays_hold),
      IN_HEAP(mixed_objects_hold),
      IN_HEAP(wide_objects_hold),
      IN_HEAP(fixed_size_large_objects_hold),
      IN_HEAP(large_arrays_live_and_die),
      IN_HEAP(large_arrays_die_young),
      IN_HEAP(large_arrays_do_not_pile_up),
      IN_HEAP(impossible_lengths_give_null),
      IN_HEAP(impossible_lengths_reach_the_handler),
      IN_HEAP(a_reservation_holds_several_objects),
      IN_HEAP(a_reservation_has_whole_words),
      IN_HEAP(the_largest_reservation_and_object_fit),
      IN_HEAP(the_slack_is_for_one_object),
      IN_HEAP(types_are_added_at_run_time),
      IN_HEAP(a_trace_callback_reports_a_buffer),
      IN_HEAP(statistics_count),
      IN_TINY_HEAP(promoted_objects_keep_their_contents),
      IN_TINY_HEAP(addresses_are_aligned),
      IN_TINY_HEAP(reference_arrays_hold),
      IN_TINY_HEAP(a_reservation_holds_several_objects),
      IN_TINY_HEAP(the_largest_reservation_and_object_fit),
      IN_TINY_HEAP(the_slack_is_for_one_object),
      IN_TINY_HEAP(types_are_added_at_run_time),
      IN_TINY_HEAP(a_trace_callback_reports_a_buffer),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
