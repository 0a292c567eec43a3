/* Tests the typed allocation macros of cradle/typed.h: the objects that they make, and their messages when the
 * structure does not match the type. Built twice, the second time with CRADLE_CHECKED. */
#include "tests/support/heap_fixture.h"
#include "tests/support/waiting.h"

#include <cradle/typed.h>

#include "tests/inside.h"

enum { KIB = 1024, LENGTH_MOST = 300, T_NAMED = T_COUNT, T_WEAK_VECTOR, T_FILE, T_OWNER };

/* A fixed part of 24 bytes before items of four, and its length last. */
typedef struct named {
  uint64_t header;
  void *name;
  uint64_t count;
  uint32_t codes[];
} named;
typedef struct weak_vector {
  uint64_t header, length;
  void *item[];
} weak_vector;
typedef struct file {
  uint64_t header, number;
} file;

static const cradle_type more_types[] = {
    {.name = "named",
     .size = sizeof(named),
     .references = CRADLE_SLOT(named, name),
     .items = CRADLE_ITEMS_BYTES,
     .item_size = 4,
     .length_offset = offsetof(named, count)},
    {.name = "weak vector",
     .size = sizeof(weak_vector),
     .items = CRADLE_ITEMS_WEAK,
     .item_size = 8,
     .length_offset = offsetof(weak_vector, length)},
    {.name = "file", .size = sizeof(file), .finalizer = 1},
};

static fixture f;

/* Gets past the first allocations, which take the slow path, so that the tests meet the fast path. */
static int open_heap(void **state) {
  (void)state;
  fixture_open(&f);
  for (size_t i = 0; i < sizeof more_types / sizeof *more_types; i++)
    assert_int_equal(cradle_type_add(f.heap, &more_types[i]), T_COUNT + i);
  return 0;
}
static int open_heap_and_pass_looks(void **state) {
  open_heap(state);
  fixture_pass_first_looks(&f);
  return 0;
}
static int close_heap(void **state) {
  (void)state;
  fixture_close(&f);
  return 0;
}

/* Fills the nursery with bits that no new object has, then empties it. */
static void soil_nursery(void) {
  for (int i = 0; i < 130; i++) {
    string *dirt = CRADLE_NEW_ARRAY(f.m, string, T_STRING, byte, length, KIB);
    memset(dirt->byte, 0xa5, KIB);
  }
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
}

static void assert_zero(const void *from, const void *to) {
  for (const char *at = from; at < (const char *)to; at++) assert_int_equal(*at, 0);
}

static size_t rounded(size_t bytes) {
  return (bytes + 7) & ~(size_t)7;
}

/* --- what is made --- */

static void objects_of_a_fixed_size(void **state) {
  (void)state;
  soil_nursery();
  pair *p = CRADLE_NEW(f.m, pair, T_PAIR), *tried = CRADLE_NEW(f.m, pair, T_PAIR);
  assert_int_equal(p->header, T_PAIR);
  assert_int_equal(tried->header, T_PAIR);
  assert_null(p->first);
  assert_null(p->rest);
  assert_null(tried->rest);
  pair *raw = CRADLE_NEW_UNINITIALIZED(f.m, pair, T_PAIR);
  assert_int_equal(raw->header, T_PAIR);
  raw->first = raw->rest = NULL;
  pair *fast = CRADLE_NEW_FAST(f.m, pair, T_PAIR);
  if (!f.stressed && inside_local(f.heap)->first_looks == 0) {
    assert_ptr_equal(tried, p + 1);
    assert_ptr_equal(fast, raw + 1);
    assert_int_equal(fast->header, T_PAIR);
    fast->first = fast->rest = NULL;
  } else {
    assert_null(fast);
  }
  assert_int_equal(CRADLE_NEW_WITH(f.m, file, T_FILE, 0)->number, 0);
  assert_int_equal(CRADLE_NEW_WITH(f.m, file, T_FILE, 0)->number, 0);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_int_equal(finalizers_waiting(f.m, 1), 2);
  while (cradle_finalizer_next(f.m, 1) != NULL) continue;
}

static void pinned_objects(void **state) {
  (void)state;
  pair *p = CRADLE_NEW_WITH(f.m, pair, T_PAIR, CRADLE_PINNED),
       *tried = CRADLE_NEW_WITH(f.m, pair, T_PAIR, CRADLE_PINNED);
  assert_null(p->first);
  assert_null(tried->rest);
  vector *v = CRADLE_NEW_ARRAY_WITH(f.m, vector, T_VECTOR, item, length, 5, CRADLE_PINNED);
  vector *tried_array = CRADLE_NEW_ARRAY_WITH(f.m, vector, T_VECTOR, item, length, 7, CRADLE_PINNED);
  assert_int_equal(v->length, 5);
  assert_int_equal(tried_array->length, 7);
  assert_zero(v->item, v->item + 5);
  cradle_store(f.m, v, &v->item[0], CRADLE_NEW(f.m, pair, T_PAIR));
  cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
  assert_int_equal(cradle_type_of(v), T_VECTOR); /* where it was */
  assert_int_equal(cradle_type_of(v->item[0]), T_PAIR);
  void *const pinned[] = {p, tried, v, tried_array};
  for (int i = 0; i < 4; i++) cradle_unpin(f.m, pinned[i]);
}

/* For every length that is zeroed inline, and longer ones: header, length and zeros are right, and the neighbour is
 * unchanged. */
static void arrays_of_every_length(void **state) {
  (void)state;
  soil_nursery();
  string *before = NULL;
  CRADLE_ROOT(f.m, before);
  for (size_t length = 0; length < LENGTH_MOST; length++) {
    string *text = CRADLE_NEW_ARRAY(f.m, string, T_STRING, byte, length, length);
    assert_int_equal(text->header, T_STRING);
    assert_int_equal(text->length, length);
    assert_zero(text->byte, (char *)text + rounded(sizeof(string) + length));
    if (before != NULL) {
      assert_int_equal(before->length, length - 1);
      for (size_t i = 0; i < length - 1; i++) assert_int_equal(before->byte[i], 'x');
    }
    memset(text->byte, 'x', length);
    if (!f.stressed && before != NULL && (char *)text > (char *)before &&
        space_is_young(&f.heap->space, (uintptr_t)before))
      assert_ptr_equal(text, (char *)before + rounded(sizeof(string) + length - 1));
    before = text;
  }
}

static void arrays_of_other_layouts(void **state) {
  (void)state;
  soil_nursery();
  for (size_t count = 0; count < LENGTH_MOST; count++) {
    named *n = CRADLE_NEW_ARRAY(f.m, named, T_NAMED, codes, count, count);
    assert_int_equal(n->header, T_NAMED);
    assert_int_equal(n->count, count);
    assert_null(n->name);
    assert_zero(n->codes, (char *)n + rounded(sizeof(named) + 4 * count));
    named *raw = CRADLE_NEW_ARRAY_UNINITIALIZED(f.m, named, T_NAMED, codes, count, count);
    assert_int_equal(raw->header, T_NAMED);
    assert_int_equal(raw->count, count);
    raw->name = NULL;
    vector *v = CRADLE_NEW_ARRAY(f.m, vector, T_VECTOR, item, length, count);
    assert_int_equal(v->length, count);
    assert_zero(v->item, v->item + count);
  }
  vector *fixed = CRADLE_NEW_ARRAY(f.m, vector, T_VECTOR, item, length, 10);
  assert_int_equal(fixed->header, T_VECTOR);
  assert_int_equal(fixed->length, 10);
  assert_zero(fixed->item, fixed->item + 10);
}

/* Lengths at the nursery's limit, and lengths where the bytes of the items, or their sum with the fixed part,
 * overflow. */
static void counts_at_the_limits(void **state) {
  (void)state;
  size_t most = (CRADLE_NURSERY_OBJECT_MAX_BYTES - sizeof(vector)) / 8;
  for (size_t count = most - 1; count <= most + 1; count++) {
    vector *v = CRADLE_NEW_ARRAY(f.m, vector, T_VECTOR, item, length, count);
    assert_int_equal(v->length, count);
    assert_zero(v->item, v->item + count);
    /* Otherwise it is a large object. */
    if (!f.stressed) assert_int_equal(space_is_young(&f.heap->space, (uintptr_t)v), count <= most);
    v->item[count - 1] = v;
    CRADLE_ROOT(f.m, v);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    assert_ptr_equal(v->item[count - 1], v);
  }
  const size_t wrong[] = {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 8, SIZE_MAX / 8 - 1, SIZE_MAX / 4, (size_t)1 << 61};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_null(CRADLE_NEW_ARRAY(f.m, vector, T_VECTOR, item, length, wrong[i]));
    assert_null(CRADLE_NEW_ARRAY_FAST(f.m, vector, T_VECTOR, item, length, wrong[i]));
    assert_null(CRADLE_NEW_ARRAY_WITH(f.m, weak_vector, T_WEAK_VECTOR, item, length, wrong[i], 0));
    assert_true(CRADLE_ARRAY_BYTES(vector, item, wrong[i]) > CRADLE_NURSERY_OBJECT_MAX_BYTES);
  }
  assert_int_equal(CRADLE_ARRAY_BYTES(string, byte, 1), 24);
  assert_int_equal(CRADLE_ARRAY_BYTES(vector, item, most), CRADLE_NURSERY_OBJECT_MAX_BYTES);
}

static void registered_arrays(void **state) {
  (void)state;
  soil_nursery();
  for (size_t length = 0; length < 40; length++) {
    weak_vector *w = CRADLE_NEW_ARRAY_WITH(f.m, weak_vector, T_WEAK_VECTOR, item, length, length, 0);
    assert_int_equal(w->header, T_WEAK_VECTOR);
    assert_int_equal(w->length, length);
    assert_zero(w->item, w->item + length);
    CRADLE_ROOT(f.m, w);
    weak_vector *tried = CRADLE_NEW_ARRAY_WITH(f.m, weak_vector, T_WEAK_VECTOR, item, length, length, 0);
    assert_int_equal(tried->length, length);
    if (length == 0) continue;
    pair *dead = CRADLE_NEW(f.m, pair, T_PAIR);
    cradle_store(f.m, w, &w->item[length - 1], dead);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    assert_null(cradle_weak_get(f.m, &w->item[length - 1]));
  }
}

static void carved_arrays(void **state) {
  (void)state;
  soil_nursery();
  for (size_t count = 0; count < 40; count++) {
    cradle_reservation room = cradle_reserve(f.m, sizeof(pair) + CRADLE_ARRAY_BYTES(vector, item, count) +
                                                      CRADLE_ARRAY_BYTES(string, byte, 3));
    pair *p = CRADLE_NEW_RESERVED(&room, pair, T_PAIR);
    vector *v = CRADLE_NEW_RESERVED_ARRAY(&room, vector, T_VECTOR, item, length, count);
    string *text = CRADLE_NEW_RESERVED_ARRAY(&room, string, T_STRING, byte, length, 3);
    assert_ptr_equal(room.free, room.end);
    p->first = p->rest = p;
    for (size_t i = 0; i < count; i++) v->item[i] = p;
    assert_int_equal(text->length, 3);
    CRADLE_ROOT(f.m, v);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    assert_int_equal(v->length, count);
    for (size_t i = 0; i < count; i++) assert_ptr_equal(((pair *)v->item[i])->rest, v->item[0]);
  }
}

/* The fast form never collects, and makes the same objects as long as the nursery has room. */
static void fast_arrays(void **state) {
  (void)state;
  if (f.stressed) skip();
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  uint64_t collections = fixture_stats(&f).minor_collections;
  size_t count = 0;
  for (string *text; (text = CRADLE_NEW_ARRAY_FAST(f.m, string, T_STRING, byte, length, 20)) != NULL; count++)
    assert_int_equal(text->length, 20);
  assert_in_range(count * 40, 60 * KIB, 64 * KIB);
  assert_int_equal(fixture_stats(&f).minor_collections, collections);
}

/* --- structures that do not match their type --- */

/* While the first allocations take the slow path, every mismatch is found. */
static void the_first_look_finds_a_wrong_structure(void **state) {
  (void)state;
  if (f.stressed) skip();
  (void)CRADLE_NEW(f.m, pair, T_PAIR);
  ASSERT_MISUSE(&f, "allocation of 16 bytes for type 0 (pair), whose descriptor says 24",
                (void)CRADLE_NEW(f.m, file, T_PAIR));
  ASSERT_MISUSE(&f, "whose descriptor says 24", (void)CRADLE_NEW_UNINITIALIZED(f.m, file, T_PAIR));
  ASSERT_MISUSE(&f, "whose descriptor says 16", (void)CRADLE_NEW_WITH(f.m, pair, T_FILE, 0));
  ASSERT_MISUSE(&f, "only CRADLE_NEW_WITH, CRADLE_NEW_ARRAY_WITH and", (void)CRADLE_NEW(f.m, file, T_FILE));
  ASSERT_MISUSE(&f, "whose descriptor says 24", (void)CRADLE_NEW_WITH(f.m, file, T_PAIR, CRADLE_PINNED));
  ASSERT_MISUSE(&f, "cradle_new_with: a structure of 16 bytes with items of 8",
                (void)CRADLE_NEW_ARRAY_WITH(f.m, vector, T_STRING, item, length, 4, CRADLE_PINNED));
  ASSERT_MISUSE(&f,
                "CRADLE_NEW_ARRAY: a structure of 16 bytes with items of 8 and its length at 8, for type 1 (string), "
                "whose descriptor says size 16, item_size 1, length_offset 8",
                (void)CRADLE_NEW_ARRAY(f.m, vector, T_STRING, item, length, 4));
  ASSERT_MISUSE(&f, "with items of 1", (void)CRADLE_NEW_ARRAY_UNINITIALIZED(f.m, string, T_VECTOR, byte, length, 4));
  ASSERT_MISUSE(&f, "a structure of 24 bytes", (void)CRADLE_NEW_ARRAY(f.m, named, T_STRING, codes, count, 4));
  ASSERT_MISUSE(&f, "for type 0 (pair)", (void)CRADLE_NEW_ARRAY(f.m, string, T_PAIR, byte, length, 8));
  ASSERT_MISUSE(&f, "cradle_new_with: a structure",
                (void)CRADLE_NEW_ARRAY_WITH(f.m, string, T_WEAK_VECTOR, byte, length, 8, 0));
  ASSERT_MISUSE(&f, "only CRADLE_NEW_WITH, CRADLE_NEW_ARRAY_WITH and",
                (void)CRADLE_NEW_ARRAY(f.m, weak_vector, T_WEAK_VECTOR, item, length, 8));
  ASSERT_MISUSE(&f, "cradle_new: allocation of 24 bytes for type 1 (string), which has items: CRADLE_NEW_ARRAY",
                (void)CRADLE_NEW(f.m, pair, T_STRING));
  ASSERT_MISUSE(&f, "which has items: ", (void)CRADLE_NEW_WITH(f.m, pair, T_WEAK_VECTOR, 0));
  ASSERT_MISUSE(&f, "which has items: ", (void)CRADLE_NEW_WITH(f.m, pair, T_STRING, CRADLE_PINNED));
  ASSERT_MISUSE(&f, "cradle_new_with, without flags, allocate",
                (void)CRADLE_NEW_WITH(f.m, file, T_FILE, CRADLE_PINNED));
  ASSERT_MISUSE(&f, "flags are 0 or CRADLE_PINNED, not 2", (void)CRADLE_NEW_WITH(f.m, pair, T_PAIR, 2));
  ASSERT_MISUSE(&f, "the heap's types are 0 to", (void)CRADLE_NEW_ARRAY(f.m, string, 77, byte, length, 8));
  /* Each part of the layout is compared separately. */
  ASSERT_MISUSE(&f, "its length at 16", (void)cradle_new_items(f.m, T_STRING, cradle_array_layout_of(16, 1, 16), 4));
  ASSERT_MISUSE(&f, "of 24 bytes", (void)cradle_new_items(f.m, T_STRING, cradle_array_layout_of(24, 1, 8), 4));
  ASSERT_MISUSE(&f, "items of 2", (void)cradle_new_items(f.m, T_STRING, cradle_array_layout_of(16, 2, 8), 4));
}

/* [nursery.4] The first thousand allocations take the slow path, and later one in each MiB does. */
static void looks_come_in_time(void **state) {
  (void)state;
  if (f.stressed) skip();
  const crd_local *local = inside_local(f.heap);
  for (uint32_t left = local->first_looks; left > 0; left--) {
    assert_int_equal(local->first_looks, left);
    assert_null(CRADLE_NEW_FAST(f.m, pair, T_PAIR));
    (void)CRADLE_NEW(f.m, pair, T_PAIR);
  }
  assert_non_null(CRADLE_NEW_FAST(f.m, pair, T_PAIR));
  assert_true(local->look - f.m->free <= KIB * KIB);
  f.message[0] = '\0';
  if (FIXTURE_LANDS(&f))
    for (;;) (void)CRADLE_NEW(f.m, file, T_PAIR);
  assert_non_null(strstr(f.message, "whose descriptor says 24"));
  cradle_checkpoint_restore(f.m, &f.checkpoint);
}

/* This also holds in a nursery that is large enough for everything. */
static void a_large_nursery_is_looked_at_before_its_end(void **state) {
  (void)state;
  cradle_options options;
  fixture_options(&f, &options);
  options.nursery_bytes = 16 * KIB * KIB;
  fixture_unstress(&options);
  fixture_open_with(&f, &options);
  fixture_pass_first_looks(&f);
  size_t passed = 0;
  for (int look = 0; look < 8; look++) {
    string *text;
    while ((text = CRADLE_NEW_ARRAY_FAST(f.m, string, T_STRING, byte, length, KIB)) != NULL)
      passed += sizeof *text + KIB;
    (void)CRADLE_NEW_ARRAY(f.m, string, T_STRING, byte, length, KIB);
    assert_in_range(passed, (size_t)(look + 1) * KIB * (KIB - 2), (size_t)(look + 1) * KIB * KIB);
  }
  assert_int_equal(fixture_stats(&f).minor_collections, 0);
  fixture_close(&f);
}

#if CRADLE_CHECKED
/* Mismatches are found long after the first allocations, and also in forms without a slow path. */
static void every_allocation_is_compared(void **state) {
  (void)state;
  if (f.stressed) skip();
  ASSERT_MISUSE(&f, "whose descriptor says 24", (void)CRADLE_NEW(f.m, file, T_PAIR));
  ASSERT_MISUSE(&f, "whose descriptor says 24", (void)CRADLE_NEW_FAST(f.m, file, T_PAIR));
  ASSERT_MISUSE(&f, "with items of 8", (void)CRADLE_NEW_ARRAY(f.m, vector, T_STRING, item, length, 4));
  ASSERT_MISUSE(&f, "with items of 8", (void)CRADLE_NEW_ARRAY_UNINITIALIZED(f.m, vector, T_STRING, item, length, 4));
  ASSERT_MISUSE(&f, "with items of 8", (void)CRADLE_NEW_ARRAY_FAST(f.m, vector, T_STRING, item, length, 4));
  ASSERT_MISUSE(&f, "with items of 8", (void)CRADLE_NEW_ARRAY_WITH(f.m, vector, T_STRING, item, length, 4, 0));
  ASSERT_MISUSE(&f, "only CRADLE_NEW_WITH, CRADLE_NEW_ARRAY_WITH and",
                (void)CRADLE_NEW_ARRAY(f.m, weak_vector, T_WEAK_VECTOR, item, length, 8));
  cradle_reservation room = cradle_reserve(f.m, 64);
  ASSERT_MISUSE(&f, "whose descriptor says 24", (void)CRADLE_NEW_RESERVED(&room, file, T_PAIR));
  ASSERT_MISUSE(&f, "with items of 8", (void)CRADLE_NEW_RESERVED_ARRAY(&room, vector, T_STRING, item, length, 1));
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  room = cradle_reserve(f.m, 64);
  ASSERT_MISUSE(&f, "goes beyond the reservation",
                (void)CRADLE_NEW_RESERVED_ARRAY(&room, string, T_STRING, byte, length, SIZE_MAX));
}
#endif

#define LOOKED(test) cmocka_unit_test_setup_teardown(test, open_heap, close_heap)
#define PASSED(test) cmocka_unit_test_setup_teardown(test, open_heap_and_pass_looks, close_heap)

int main(void) {
  const struct CMUnitTest tests[] = {
      LOOKED(objects_of_a_fixed_size),
      PASSED(objects_of_a_fixed_size),
      PASSED(pinned_objects),
      LOOKED(arrays_of_every_length),
      PASSED(arrays_of_every_length),
      PASSED(arrays_of_other_layouts),
      PASSED(counts_at_the_limits),
      PASSED(registered_arrays),
      PASSED(carved_arrays),
      PASSED(fast_arrays),
      LOOKED(the_first_look_finds_a_wrong_structure),
      LOOKED(looks_come_in_time),
      cmocka_unit_test(a_large_nursery_is_looked_at_before_its_end),
#if CRADLE_CHECKED
      PASSED(every_allocation_is_compared),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
