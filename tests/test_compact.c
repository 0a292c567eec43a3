/* Compaction by itself: which arenas it empties, in which order, and what it leaves alone. The heap is a row of arenas full of
 * objects of one size, of which each keeps as many as the test says. */
#include "tests/heap_fixture.h"

#include "gc/heap.h"

#define KIB 1024
/* With these contents a string has exactly the size of its class. */
#define CONTENTS_BYTES 248
#define OBJECT_BYTES (CONTENTS_BYTES + sizeof(string))
#define MOST_ARENAS 16

static fixture f;
static void *objects[MOST_ARENAS * ARENA_BYTES / OBJECT_BYTES], *addresses[MOST_ARENAS * ARENA_BYTES / OBJECT_BYTES];
static void *first, *end; /* of the root range */
static cradle_root_range range = {.base = &first, .top = &end, .kind = CRADLE_KIND_REFERENCE, .name = "objects"};
static cradle_event compaction; /* the last one's end */

static void listen(void *data, const cradle_event *event) {
  (void)data;
  if (event->kind == CRADLE_EVENT_COMPACT_END) compaction = *event;
}

static int open_heap(void **state) {
  (void)state;
  cradle_options options;
  fixture_options(&f, &options);
  fixture_unstress(&options);
  options.verify = false;
  options.major_min_bytes = (size_t)1 << 30; /* none but those asked for */
  options.listener = (cradle_listener){listen, NULL};
  fixture_open_with(&f, &options);
  first = end = objects;
  cradle_root_range_add(f.m, &range);
  return 0;
}

static int close_heap(void **state) {
  (void)state;
  cradle_root_range_remove(f.m, &range);
  fixture_close(&f);
  return 0;
}

static size_t count(void) {
  return (size_t)((void **)end - objects);
}

static uint32_t arena_of(const void *object) {
  return (uint32_t)(((uintptr_t)object - f.heap->old.arenas.base) >> ARENA_SHIFT);
}

/* As many arenas as there are numbers, the first at the lowest address, each with so many KiB of objects. None is free. */
static void shape(const uint32_t *live_kib, uint32_t arenas) CRADLE_MAY_COLLECT {
  const crd_old *old = &f.heap->old;
  const crd_size_class *class = &old->classes.of[old_class_of(old, OBJECT_BYTES)];
  uint64_t live[MOST_ARENAS] = {0};
  assert_int_equal(class->bytes, OBJECT_BYTES);
  assert_true(arenas <= MOST_ARENAS);
  for (uint32_t left = arenas * (ARENA_PAGES / class->pages) * class->objects; left > 0; left--) {
    string *fresh = cradle_new_array(f.m, T_STRING, CONTENTS_BYTES);
    memset(fresh->byte, (int)(count() % 251), CONTENTS_BYTES);
    *(void **)end = fresh;
    end = (void **)end + 1;
  }
  cradle_collect_minor(f.m);
  assert_int_equal(old->arenas.used_end, arenas);
  for (size_t i = 0; i < count(); i++) {
    uint64_t *bytes = &live[arena_of(objects[i])];
    if (*bytes / KIB >= live_kib[arena_of(objects[i])])
      objects[i] = NULL;
    else
      *bytes += OBJECT_BYTES;
  }
  cradle_collect_full(f.m);
  (void)crd_arenas_release(&f.heap->old.arenas, 0, UINT32_MAX);
  assert_int_equal(arenas_in_use(&old->arenas), arenas);
  memcpy(addresses, objects, sizeof objects);
}

/* As a full collection does it, with no object but those of the old generation. */
static void compact(void) {
  cradle_error error;
  crd_heap_enter(f.heap, HEAP_COLLECTING);
  crd_compact(f.heap, false);
  f.heap->state = HEAP_MUTATING;
  crd_nursery_reset(f.heap);
  if (!cradle_heap_verify(f.heap, &error)) fail_msg("%s", error.message);
}

/* What is in use is exactly the arenas from `from` up to `to`, none of whose own objects moved, and nothing is lost. */
static void assert_left(uint32_t from, uint32_t to) {
  const crd_arenas *arenas = &f.heap->old.arenas;
  uint64_t moved = 0;
  for (uint32_t i = 0; i < arenas->capacity; i++)
    if ((arenas->states[i] == ARENA_USED) != (i >= from && i < to)) fail_msg("arena %u is %sin use", i, i >= from && i < to ? "not " : "");
  for (size_t i = 0; i < count(); i++) {
    const string *object = objects[i];
    if (object == NULL) continue;
    assert_int_equal(object->length, CONTENTS_BYTES);
    assert_int_equal((unsigned char)object->byte[CONTENTS_BYTES - 1], i % 251);
    bool stays = arena_of(addresses[i]) >= from && arena_of(addresses[i]) < to;
    assert_true((object == addresses[i]) == stays);
    moved += !stays;
  }
  assert_int_equal(compaction.u.compact.objects, moved);
  assert_int_equal(compaction.u.compact.bytes, moved * OBJECT_BYTES);
}

/* --- the order --- */

/* All of them in one step of 512 KiB, though the low ones hold less. */
static void what_lives_at_low_addresses_stays(void **state) {
  (void)state;
  static const uint32_t live_kib[] = {520, 560, 600, 640, 680, 720, 760, 800, 840, 880, 920, 960};
  shape(live_kib, 12);
  compact();
  assert_left(0, 5); /* 8,880 KiB have room in them */
  assert_int_equal(compaction.u.compact.arenas_emptied, 7);
  assert_int_equal(compaction.u.compact.arenas_in_use, 12);
}

/* A step below, the low ones are emptied first, though they are not much sparser; then the highest of the others. */
static void the_sparse_are_emptied_before_the_high(void **state) {
  (void)state;
  static const uint32_t live_kib[] = {480, 480, 480, 480, 560, 560, 560, 560};
  shape(live_kib, 8);
  compact();
  assert_left(4, 7);
}

/* --- what is not worth it --- */

static void dense_arenas_stay(void **state) {
  (void)state;
  static const uint32_t live_kib[] = {1660, 1660, 1660, 1600}; /* 81 %, 78 % */
  shape(live_kib, 4);
  assert_true(crd_arenas_ensure_free(&f.heap->old.arenas, 3)); /* holes enough for all of them */
  compact();
  assert_int_equal(compaction.u.compact.objects, 1600 * KIB / OBJECT_BYTES + 1);
  assert_int_equal(f.heap->old.arenas.states[3], ARENA_FREE);
}

/* Not every object finds a hole of its size: they are counted for 95 % of what they are. */
static void what_fits_the_holes_moves(void **state) {
  (void)state;
  static const uint32_t live_kib[] = {1150, 840};
  shape(live_kib, 2); /* 840 of 898 KiB */
  compact();
  assert_left(0, 1);
}

static void what_may_not_fit_them_stays(void **state) {
  (void)state;
  static const uint32_t live_kib[] = {1150, 870};
  shape(live_kib, 2); /* 870 of 898 KiB */
  compact();
  assert_left(0, 2);
}

/* --- when --- */

static bool is_due(uint32_t used, uint32_t held) {
  static cradle_heap heap; /* of which only the sizes are looked at */
  heap.old.used_bytes = used * ARENA_BYTES;
  heap.old.arenas.committed_count = held + 3;
  heap.old.arenas.free_count = 3;
  return crd_compact_is_due(&heap);
}

static void it_is_due_when_half_as_much_again_is_held(void **state) {
  (void)state;
  assert_false(is_due(1000, 1500));
  assert_true(is_due(1000, 1501));
  assert_false(is_due(10, 26)); /* less than 17 arenas could go */
  assert_true(is_due(10, 27));
  assert_false(is_due(0, 0));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_heap, close_heap)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(what_lives_at_low_addresses_stays),
      TEST(the_sparse_are_emptied_before_the_high),
      TEST(dense_arenas_stay),
      TEST(what_fits_the_holes_moves),
      TEST(what_may_not_fit_them_stays),
      cmocka_unit_test(it_is_due_when_half_as_much_again_is_held),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
