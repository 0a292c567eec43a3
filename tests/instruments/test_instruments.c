/* Stress modes, the quarantine, what a heap says about an address, and the verifier's words for a heap that was broken
 * on purpose. */
#include "tests/support/heap_fixture.h"

#include "tests/inside.h"

#include <stdio.h>
#include <time.h>

static fixture f;

/* Each test sets what it wants itself; the environment would only disturb it. */
static void plain_options(cradle_options *options) {
  fixture_options(&f, options);
  fixture_unstress(options);
  options->nursery_bytes = (size_t)64 << 10;
  f.stressed = false;
}

static pair *new_pair(void) {
  return cradle_new(f.m, T_PAIR, sizeof(pair));
}

/* --- stress --- */

#define POINTS 1000
/* Records at which of this many allocations a collection took place. */
CRADLE_UNCHECKED_COLLECTION static size_t collected_at(uint64_t period, uint64_t seed, uint64_t first, uint64_t last,
                                                       bool at[POINTS]) {
  cradle_options options;
  plain_options(&options);
  options.stress_period = period;
  options.stress_seed = seed;
  options.stress_first = first;
  options.stress_last = last;
  options.verify = false;
  fixture_open_with(&f, &options);
  size_t count = 0;
  cradle_push(f.m, NULL);
  for (size_t i = 0; i < POINTS; i++) {
    uint64_t before = fixture_stats(&f).minor_collections;
    *cradle_peek(f.m, 0) = (uintptr_t)new_pair();
    at[i] = fixture_stats(&f).minor_collections != before;
    count += at[i];
  }
  cradle_pop(f.m);
  fixture_close(&f);
  return count;
}

static void every_nth_allocation(void **state) {
  (void)state;
  bool at[POINTS];
  assert_int_equal(collected_at(7, 0, 0, 0, at), POINTS / 7);
  for (size_t i = 0; i < POINTS; i++) assert_int_equal(at[i], (i + 1) % 7 == 0);
}

/* Code that takes the fast path alone must meet the collections as well: it is refused, and comes to cradle_new. */
CRADLE_UNCHECKED_COLLECTION static void the_fast_path_alone_is_refused(void **state) {
  (void)state;
  cradle_options options;
  plain_options(&options);
  options.stress_period = 5;
  fixture_open_with(&f, &options);
  for (size_t i = 0; i < 20; i++) {
    assert_null(cradle_new_fast(f.m, T_PAIR, sizeof(pair)));
    new_pair();
  }
  fixture_close(&f);
}

/* If a stress collection is left out, a collection that the program requested still takes place. */
static void requests_are_served_where_no_collection_is_chosen(void **state) {
  (void)state;
  for (int polls = 0; polls < 2; polls++) {
    cradle_options options;
    plain_options(&options);
    options.stress_period = 1;
    options.stress_first = 1000000;
    fixture_open_with(&f, &options);
    cradle_safepoint_request(f.m);
    for (int i = 0; i < 2; i++) {
      if (polls)
        cradle_safepoint(f.m);
      else
        (void)new_pair();
    }
    assert_int_equal(fixture_stats(&f).minor_collections, 1);
    fixture_close(&f);
  }
}

static void a_seed_repeats_and_another_differs(void **state) {
  (void)state;
  bool one[POINTS], again[POINTS], other[POINTS];
  size_t count = collected_at(10, 42, 0, 0, one), distances[20] = {0};
  assert_in_range(count, 70, 140);
  collected_at(10, 42, 0, 0, again);
  collected_at(10, 43, 0, 0, other);
  assert_memory_equal(one, again, sizeof one);
  assert_memory_not_equal(one, other, sizeof one);
  for (size_t i = 0, last = (size_t)-1; i < POINTS; i++)
    if (one[i]) assert_in_range(i - last, 1, 19), distances[i - last]++, last = i;
  size_t different = 0;
  for (size_t i = 1; i < 20; i++) different += distances[i] != 0;
  assert_in_range(different, 10, 19);
}

/* Twice such a period has no room in a word. */
static void a_random_distance_may_be_of_any_mean(void **state) {
  (void)state;
  static const uint64_t periods[] = {1, UINT64_MAX / 2, UINT64_MAX / 2 + 1, UINT64_MAX / 2 + 2, UINT64_MAX};
  for (size_t i = 0; i < sizeof periods / sizeof *periods; i++) {
    bool at[POINTS];
    assert_int_equal(collected_at(periods[i], 42, 0, 0, at), periods[i] == 1 ? POINTS : 0);
  }
}

static void bounds_leave_the_one_collection(void **state) {
  (void)state;
  bool all[POINTS], one[POINTS];
  collected_at(10, 42, 0, 0, all);
  for (uint64_t number = 1; number <= 50; number += 7) {
    assert_int_equal(collected_at(10, 42, number, number, one), 1);
    uint64_t seen = 0;
    for (size_t i = 0; i < POINTS; i++) {
      seen += all[i];
      assert_int_equal(one[i], all[i] && seen == number);
    }
  }
}

CRADLE_UNCHECKED_COLLECTION static void only_at_safepoints(void **state) {
  (void)state;
  cradle_options options;
  plain_options(&options);
  options.stress_period = 2;
  options.stress_at = CRADLE_STRESS_SAFEPOINTS;
  fixture_open_with(&f, &options);
  cradle_push(f.m, NULL);
  for (size_t i = 0; i < 100; i++) *cradle_peek(f.m, 0) = (uintptr_t)new_pair();
  assert_int_equal(fixture_stats(&f).minor_collections, 0);
  for (size_t i = 0; i < 10; i++) cradle_safepoint(f.m);
  assert_int_equal(fixture_stats(&f).minor_collections, 5);
  cradle_pop(f.m);
  fixture_close(&f);
}

/* Each collection does an increment of a major one, and one in k moves the old objects, and leaves poison behind. */
CRADLE_UNCHECKED_COLLECTION static void every_increment_and_every_old_object(void **state) {
  (void)state;
  cradle_options options;
  plain_options(&options);
  options.stress_period = 1;
  options.stress_major = 10;
  fixture_open_with(&f, &options);
  cradle_push(f.m, NULL);
  *cradle_peek(f.m, 0) = (uintptr_t)new_pair();
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  for (size_t i = 1; i < 10; i++) (void)new_pair(); /* the first ten */
  uint64_t moved = fixture_stats(&f).moved_old_objects;
  for (size_t round = 0; round < 5; round++) {
    uint64_t before = fixture_stats(&f).major_steps, was = *cradle_peek(f.m, 0);
    for (size_t i = 0; i < 10; i++) (void)new_pair();
    assert_true(fixture_stats(&f).major_steps >= before + 10);
    assert_true(*cradle_peek(f.m, 0) != was);
    for (size_t word = 0; word < sizeof(pair) / 8; word++)
      assert_true(((cradle_word *)(uintptr_t)was)[word] == POISON_COMPACTED);
  }
  cradle_statistics stats = fixture_stats(&f);
  assert_int_equal(stats.moved_objects, 1);
  assert_int_equal(stats.moved_old_objects, moved + 5);
  cradle_pop(f.m);
  fixture_close(&f);
}

/* A loop with as many allocations as are between two full collections: with equal distances they would all come at the
 * same one. */
CRADLE_UNCHECKED_COLLECTION static void full_collections_do_not_keep_step_with_a_loop(void **state) {
  (void)state;
  for (size_t each = 2; each <= 10; each++) {
    uint64_t full[10] = {0}, before, all = 0;
    cradle_options options;
    plain_options(&options);
    options.stress_period = 1;
    options.stress_major = each;
    fixture_open_with(&f, &options);
    cradle_push(f.m, NULL);
    *cradle_peek(f.m, 0) = (uintptr_t)new_pair();
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    for (size_t i = 1; i < each; i++) (void)new_pair(); /* the first group */
    for (size_t round = 0; round < 200; round++)
      for (size_t i = 0; i < each; i++) {
        before = fixture_stats(&f).moved_old_objects;
        (void)new_pair();
        full[i] += fixture_stats(&f).moved_old_objects - before;
      }
    for (size_t i = 0; i < each; i++) {
      assert_in_range(full[i], 200 / each / 4, 200 / each * 2); /* about the same chance each */
      all += full[i];
    }
    assert_int_equal(all, 200);
    cradle_pop(f.m);
    fixture_close(&f);
  }
}

/* Not for the fixture: its misuse handler must land while the heap goes on to exist. */
CRADLE_UNCHECKED_COLLECTION static void a_run_that_moves_nothing_fails(void **state) {
  (void)state;
  cradle_options options;
  plain_options(&options);
  options.stress_period = 1;
  options.stress_major = 3;
  options.stress_strict = true;
  fixture_open_with(&f, &options);
  for (size_t i = 0; i < 9; i++) (void)new_pair();
  cradle_mutator_free(f.m);
  if (FIXTURE_LANDS(&f)) {
    cradle_heap_free(f.heap);
    fail_msg("not refused");
  }
  assert_string_equal(
      f.message, "stress: the run proves nothing, its 9 collections, 3 of them full, moved 0 young and 0 old objects");
  f.m = cradle_mutator_new(f.heap);
  f.stressed = true; /* which makes the fixture move an object */
  fixture_close(&f);
}

/* A distance that no allocation reached, or points that the program has none of; with a bound it may be meant. */
CRADLE_UNCHECKED_COLLECTION static void a_run_without_a_stress_collection_fails(void **state) {
  (void)state;
  cradle_options options;
  plain_options(&options);
  options.stress_period = 1000;
  options.stress_strict = true;
  fixture_open_with(&f, &options);
  for (size_t i = 0; i < 9; i++) (void)new_pair();
  cradle_mutator_free(f.m);
  if (FIXTURE_LANDS(&f)) {
    cradle_heap_free(f.heap);
    fail_msg("not refused");
  }
  assert_string_equal(
      f.message, "stress: the run proves nothing, its 0 collections, 0 of them full, moved 0 young and 0 old objects");
  f.m = cradle_mutator_new(f.heap);
  fixture_close(&f);
  options.stress_first = 5;
  fixture_open_with(&f, &options);
  (void)new_pair();
  f.stressed = false;
  fixture_close(&f);
  options.stress_first = 0;
  fixture_open_with(&f, &options); /* nothing is allocated */
  f.stressed = false;
  fixture_close(&f);
}

static int proves_nothing;

static void hear_note(void *data, const cradle_event *event) {
  (void)data;
  if (event->kind != CRADLE_EVENT_NOTE || strncmp(event->u.note.text, "stress:", 7) != 0) return;
  if (strcmp(event->u.note.text, "stress: collections") == 0) {
    assert_true(event->u.note.wanted == 1 && event->u.note.got == 1);
    return;
  }
  assert_string_equal(event->u.note.text, "stress: nothing moved, so that the run proves nothing");
  proves_nothing++;
}

/* Unless strictness is asked for. */
CRADLE_UNCHECKED_COLLECTION static void a_run_that_moves_nothing_is_noted(void **state) {
  (void)state;
  cradle_options options;
  plain_options(&options);
  options.stress_period = 1;
  options.listener = (cradle_listener){hear_note, NULL};
  proves_nothing = 0;
  fixture_open_with(&f, &options);
  (void)new_pair();
  f.stressed = false;
  fixture_close(&f);
  assert_int_equal(proves_nothing, 1);
}

/* Within a bound on the time, later collections lie far apart, and the program allocates on the fast path between them.
 * What they find is the same: each full one moves every old object. There are so many that a collection takes the
 * time of many allocations. On an emulated processor, the time to make the heap must be made up for first. */
CRADLE_UNCHECKED_COLLECTION static void collections_within_a_bound(void **state) {
  enum { OLD = 100 };
  (void)state;
  cradle_options options;
  plain_options(&options);
  options.stress_period = 1;
  options.stress_major = 1;
  options.stress_times = 2;
  fixture_open_with(&f, &options);
  cradle_push(f.m, NULL);
  for (int i = 0; i < OLD; i++) {
    pair *next = new_pair();
    next->rest = (pair *)*cradle_peek(f.m, 0);
    *cradle_peek(f.m, 0) = (uintptr_t)next;
  }
  for (int i = 0; f.heap->stress.looks == 0 && i < 1000000; i++) (void)new_pair();
  assert_true(f.heap->stress.looks != 0);
  assert_true(f.heap->stress.spent_ns > 0);
  uint64_t collections = f.heap->stress.collections, moved = fixture_stats(&f).moved_old_objects, unseen = 0;
  for (int i = 0; i < 1000000 && (f.heap->stress.collections < collections + 20 || unseen <= 20); i++) {
    uint64_t before = f.heap->stress.number;
    (void)new_pair();
    unseen += f.heap->stress.number == before;
    assert_true(f.m->top == NULL || (uintptr_t)f.m->top <= f.heap->space.locals.stress.point);
  }
  assert_true(unseen > 20);
  assert_int_equal(fixture_stats(&f).moved_old_objects, moved + (f.heap->stress.collections - collections) * OLD);
  assert_heap_sound(f.heap);
  cradle_pop(f.m);
  fixture_close(&f);
}

/* The program must run for as long as collections took more than their share, at the pace that it has. The times are
 * made up: the collections took 1000 s, of which the last took a tenth of a second. */
CRADLE_UNCHECKED_COLLECTION static void what_collections_took_too_much_is_waited_for(void **state) {
  (void)state;
  static const struct {
    uint64_t own_s, most, least; /* bytes, for a program that allocates a GiB in own_s */
  } cases[] = {{100, UINT64_C(20) << 30, UINT64_C(4) << 30}, {999, 3 << 20, 1 << 16}};
  cradle_options options;
  plain_options(&options);
  options.stress_period = 1;
  options.stress_times = 2;
  fixture_open_with(&f, &options);
  cradle_heap *heap = f.heap;
  uint64_t allocated_bytes = heap->report.stats.allocated_bytes;
  crd_stress before = heap->stress;
  for (size_t i = 0; i < 2; i++) {
    uint64_t farthest = 0;
    heap->stress.own_ns = cases[i].own_s * 1000000000;
    heap->report.stats.allocated_bytes = UINT64_C(1) << 30;
    heap->stress.spent_ns = UINT64_C(1000000000000);
    for (int draw = 0; draw < 20; draw++) {
      crd_stress_served(&heap->stress, heap->stress.spent_ns - 100000000);
      uint64_t distance = heap->space.locals.stress.point - (uintptr_t)f.m->free;
      assert_true(distance <= cases[i].most);
      if (distance > farthest) farthest = distance;
    }
    assert_true(farthest >= cases[i].least);
  }
  heap->stress = before;
  heap->report.stats.allocated_bytes = allocated_bytes;
  f.stressed = false;
  fixture_close(&f);
}

static uint64_t told_wanted, told_got;

static void hear_told(void *data, const cradle_event *event) {
  (void)data;
  if (event->kind != CRADLE_EVENT_NOTE || strcmp(event->u.note.text, "stress: collections") != 0) return;
  told_wanted = event->u.note.wanted;
  told_got = event->u.note.got;
}

/* A run says how many of its collections took place. Those in gaps are estimated, here from objects of one size. */
CRADLE_UNCHECKED_COLLECTION static void a_run_says_what_took_place(void **state) {
  (void)state;
  enum { ALLOCATIONS = 300000 };
  for (uint64_t times = 0; times <= 2; times += 2) {
    cradle_options options;
    plain_options(&options);
    options.stress_period = times == 0 ? 100 : 1;
    options.stress_times = times;
    options.listener = (cradle_listener){hear_told, NULL};
    told_wanted = told_got = 0;
    fixture_open_with(&f, &options);
    for (int i = 0; i < ALLOCATIONS; i++) (void)new_pair();
    uint64_t collections = f.heap->stress.collections;
    f.stressed = false;
    fixture_close(&f);
    assert_int_equal(told_got, collections);
    if (times == 0) {
      assert_int_equal(told_wanted, ALLOCATIONS / 100);
      assert_int_equal(told_got, told_wanted);
    } else {
      assert_true(told_got < told_wanted);
      assert_in_range(told_wanted, ALLOCATIONS - ALLOCATIONS / 50, ALLOCATIONS + ALLOCATIONS / 50);
    }
  }
}

/* What is allowed is the processor time of the program, however long the clock went on. */
CRADLE_UNCHECKED_COLLECTION static void the_clock_alone_ends_nothing(void **state) {
  (void)state;
  cradle_options options;
  plain_options(&options);
  options.stress_period = 1;
  options.stress_times = 2;
  fixture_open_with(&f, &options);
  f.heap->report.created_ns -= UINT64_C(3600000000000);
  (void)new_pair();
  uint64_t own_ns = f.heap->stress.own_ns;
  struct timespec rest = {0, 300000000};
  (void)nanosleep(&rest, NULL);
  (void)new_pair();
  assert_true(f.heap->stress.own_ns - own_ns < 200000000);
  f.stressed = false;
  fixture_close(&f);
}

/* A place that was not met before collects although the budget is half spent; one that was met often does not. */
CRADLE_UNCHECKED_COLLECTION static void rare_places_come_first(void **state) {
  (void)state;
  cradle_options options;
  plain_options(&options);
  options.stress_period = 1;
  options.stress_times = 2;
  fixture_open_with(&f, &options);
  crd_stress *stress = &f.heap->stress;
  (void)new_pair();
  stress->own_ns = UINT64_C(1000000000000);
  stress->spent_ns = UINT64_C(600000000000);
  uint64_t before = 0;
  for (int i = 0; i < 600; i++) {
    stress->looks = 1000;
    before = stress->collections;
    (void)new_pair();
  }
  assert_int_equal(stress->looks, 999);
  assert_int_equal(stress->collections, before); /* the loop's place was met often */
  cradle_push(f.m, NULL);
  (void)new_pair();
  assert_int_equal(stress->collections, before + 1);
  cradle_pop(f.m);
  f.stressed = false;
  fixture_close(&f);
}

/* Within a bound on the time, only the stress mode's own collections are verified: a store that missed the barrier is
 * reported by the next of these, not by one that the program asks for. */
CRADLE_UNCHECKED_COLLECTION static void the_programs_collections_are_not_verified_within_a_bound(void **state) {
  (void)state;
  cradle_options options;
  plain_options(&options);
  options.stress_period = 1;
  options.stress_times = 1000; /* so that slow collections are not left out */
  fixture_open_with(&f, &options);
  cradle_push(f.m, new_pair());
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  pair *young = new_pair(), *old = (pair *)*cradle_peek(f.m, 0);
  assert_int_equal(f.heap->stress.collections, 2);
  old->first = young;
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_ptr_equal(old->first, young); /* dead by now */
  old->first = NULL;
  young = new_pair();
  old->first = young;
  if (FIXTURE_LANDS(&f)) {
    (void)new_pair();
    fail_msg("a stress collection was not verified");
  }
  assert_non_null(strstr(f.message, "barrier"));
  old->first = NULL;
  cradle_pop(f.m);
  fixture_close(&f);
}

/* Under stress, marking proceeds in the smallest increments. If stress collections are rare, the program's own
 * collections must finish it, also where a second core marks in rounds that end at random objects. */
CRADLE_UNCHECKED_COLLECTION static void rare_collections_do_not_let_the_heap_grow(void **state) {
  (void)state;
  enum { LIVE = 2000, MIBS = 24 };
  for (int threads = 0; threads <= 1; threads++) {
    cradle_options options;
    plain_options(&options);
    options.gc_threads = threads;
    options.stress_period = UINT64_C(1) << 40;
    options.major_min_bytes = (size_t)1 << 20;
    options.verify = false;
    fixture_open_with(&f, &options);
    cradle_push(f.m, cradle_new_array(f.m, T_VECTOR, LIVE));
    for (size_t i = 0; i < ((size_t)MIBS << 20) / sizeof(pair); i++) {
      pair *made = new_pair();
      vector *all = (vector *)*cradle_peek(f.m, 0);
      cradle_store(f.m, all, &all->item[i % LIVE], made);
      if (i % LIVE == 0) assert_true(fixture_stats(&f).old_bytes < (uint64_t)4 << 20);
    }
    assert_true(fixture_stats(&f).major_collections > 2);
    assert_heap_sound(f.heap);
    cradle_pop(f.m);
    fixture_close(&f);
  }
}

/* --- quarantine --- */

static void open_quarantine(size_t nurseries, size_t nursery_bytes, uint64_t stress_period) {
  cradle_options options;
  plain_options(&options);
  options.quarantine = nurseries;
  options.nursery_bytes = nursery_bytes;
  options.stress_period = stress_period;
  fixture_open_with(&f, &options);
}

static const char *explained(const void *address) {
  static cradle_explanation explanation;
  cradle_address_info info;
  cradle_describe_address(f.heap, address, &info, sizeof info);
  bool known = cradle_explain_address(f.heap, address, &explanation, sizeof explanation);
  assert_string_equal(info.text, known ? explanation.text : "");
  assert_int_equal(info.collection, explanation.collection);
  return known ? explanation.text : "";
}

static void assert_explained(const void *address, const char *wanted) {
  if (strcmp(explained(address), wanted) != 0) fail_msg("explained as \"%s\", not \"%s\"", explained(address), wanted);
}

#define TEXT(name, ...) \
  char name[256]; \
  snprintf(name, sizeof name, __VA_ARGS__)

CRADLE_UNCHECKED_COLLECTION static void what_moved_and_what_died_is_known(void **state) {
  (void)state;
  open_quarantine(2, (size_t)64 << 10, 0);
  pair *dies = new_pair();
  pair *moves = new_pair();
  string *array = cradle_new_array(f.m, T_STRING, 40);
  pair *last = new_pair();
  cradle_push(f.m, moves);
  cradle_push(f.m, array);
  assert_string_equal(explained(moves), "");
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  string *array_now = cradle_pop(f.m);
  pair *now = cradle_pop(f.m);
  assert_ptr_not_equal(now, moves);
  TEXT(died, "stale reference to a pair (object at %#jx, 24 bytes, died in minor collection 1), at its word 2",
       (uintmax_t)(uintptr_t)dies);
  assert_explained(&dies->rest, died);
  TEXT(moved,
       "stale reference to a pair (object at %#jx, 24 bytes, moved by minor collection 1 to %#jx), at its word 0",
       (uintmax_t)(uintptr_t)moves, (uintmax_t)(uintptr_t)now);
  assert_explained(moves, moved);
  TEXT(inside,
       "stale reference to a string (object at %#jx, %zu bytes, moved by minor collection 1 to %#jx), at its word 6",
       (uintmax_t)(uintptr_t)array, sizeof(string) + 40, (uintmax_t)(uintptr_t)array_now);
  assert_explained(&array->byte[39], inside);
  TEXT(end, "stale reference to a pair (object at %#jx, 24 bytes, died in minor collection 1), at its word 1",
       (uintmax_t)(uintptr_t)last);
  assert_explained(&last->first, end);
  assert_string_equal(explained(now), "");
  assert_string_equal(explained(&f), "");
  /* The copy dies; the object that was in the nursery is still known. */
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  assert_explained(moves, moved);
  fixture_close(&f);
}

/* Each word of a long object leads to its start, and an object is known whose first word is a page's last. */
CRADLE_UNCHECKED_COLLECTION static void long_objects_are_known_everywhere(void **state) {
  (void)state;
  open_quarantine(2, (size_t)64 << 10, 0);
  size_t page = f.heap->quarantine.page_bytes, words = page / 8 - 1;
  if (page > 16384) { /* a string of a page has no place in the nursery */
    fixture_close(&f);
    skip();
  }
  string *fills = cradle_new_array(f.m, T_STRING, page - 8 - sizeof(string));
  assert_ptr_equal(fills, f.heap->quarantine.base);
  cradle_push(f.m, new_pair());
  pair *last = (pair *)*cradle_peek(f.m, 0);
  assert_int_equal((uintptr_t)last % page, page - 8);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  pair *now = cradle_pop(f.m);
  for (size_t word = 0; word < words; word++) {
    TEXT(died, "stale reference to a string (object at %#jx, %zu bytes, died in minor collection 1), at its word %zu",
         (uintmax_t)(uintptr_t)fills, page - 8, word);
    assert_explained((cradle_word *)fills + word, died);
  }
  for (size_t word = 0; word < 3; word++) {
    TEXT(moved,
         "stale reference to a pair (object at %#jx, 24 bytes, moved by minor collection 1 to %#jx), at its word %zu",
         (uintmax_t)(uintptr_t)last, (uintmax_t)(uintptr_t)now, word);
    assert_explained((cradle_word *)last + word, moved);
  }
  fixture_close(&f);
}

CRADLE_UNCHECKED_COLLECTION static void a_type_without_a_name_has_its_number(void **state) {
  (void)state;
  open_quarantine(2, (size_t)64 << 10, 0);
  cradle_type nameless = fixture_types[T_PAIR];
  nameless.name = NULL;
  assert_int_equal(cradle_type_add(f.heap, &nameless), T_COUNT);
  pair *dies = cradle_new(f.m, T_COUNT, sizeof(pair));
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  TEXT(died, "stale reference to a type %d (object at %#jx, 24 bytes, died in minor collection 1), at its word 0",
       T_COUNT, (uintmax_t)(uintptr_t)dies);
  assert_explained(dies, died);
  fixture_close(&f);
}

/* What is carved out of a reservation is known; what is not, is not taken for objects. */
CRADLE_UNCHECKED_COLLECTION static void reservations_are_walked(void **state) {
  (void)state;
  open_quarantine(2, (size_t)64 << 10, 0);
  cradle_reservation room = cradle_reserve(f.m, 1000);
  pair *carved = cradle_new_reserved(&room, T_PAIR, sizeof(pair));
  carved->first = carved->rest = NULL;
  char *rest = room.free;
  *(cradle_word *)(void *)rest = T_COUNT; /* no header, as there is no such type */
  pair *behind = new_pair();
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_non_null(strstr(explained(carved), "a pair (object at"));
  TEXT(end, "stale reference to a pair (object at %#jx, 24 bytes, died in minor collection 1), at its word 0",
       (uintmax_t)(uintptr_t)behind);
  assert_explained(behind, end);
  assert_non_null(strstr(explained(rest + 500), "minor collection 1"));
  fixture_close(&f);
}

/* What a full stress collection moved or freed is inaccessible from then on, for many of them, with little memory. */
CRADLE_UNCHECKED_COLLECTION static void what_was_old_is_inaccessible(void **state) {
  (void)state;
  enum { COLLECTIONS = 100 };
  cradle_options options;
  plain_options(&options);
  options.quarantine = 2;
  options.stress_period = options.stress_major = 1;
  fixture_open_with(&f, &options);
  cradle_push(f.m, new_pair());
  cradle_push(f.m, cradle_new_array(f.m, T_STRING, 1 << 20));
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  const void *was[COLLECTIONS][2];
  for (size_t i = 0; i < COLLECTIONS; i++) {
    for (size_t j = 0; j < 2; j++) was[i][j] = (const void *)*cradle_peek(f.m, j);
    for (size_t j = 0; j < 2; j++) assert_string_equal(explained(was[i][j]), "");
    uint64_t moved = fixture_stats(&f).moved_old_objects;
    (void)new_pair();
    assert_int_equal(fixture_stats(&f).moved_old_objects, moved + 2);
    for (size_t before = 0; before <= i; before++)
      for (size_t j = 0; j < 2; j++)
        assert_explained(was[before][j], "stale reference into the old generation, where no memory is: all that was "
                                         "there, if anything was, has moved or died");
  }
  assert_true(fixture_stats(&f).arenas_committed <= 8);
  cradle_pop_many(f.m, 2);
  fixture_close(&f);
}

/* A page stays closed until as much as was asked for has been allocated since, and opens when its turn comes. */
CRADLE_UNCHECKED_COLLECTION static void pages_come_back_in_turn(void **state) {
  (void)state;
  for (size_t nurseries = 1; nurseries <= 5; nurseries += 2)
    for (uint64_t stress = 0; stress <= 1; stress++) {
      open_quarantine(nurseries, (size_t)64 << 10, stress);
      pair *first = new_pair();
      cradle_collect(f.m, CRADLE_COLLECT_MINOR);
      uint64_t at_least = nurseries * inside_nursery(f.heap)->reserved_bytes / 4096, collections = 1;
      size_t step = stress != 0 ? 1 : 1000; /* a page a collection under stress, a nursery without */
      cradle_push(f.m, NULL);
      uint64_t pages = 0;
      while (*explained(first) != '\0' && collections < 100000) {
        uint64_t before = fixture_stats(&f).minor_collections;
        char *start = inside_nursery(f.heap)->start;
        for (size_t i = 0; i < step; i++) *cradle_peek(f.m, 0) = (uintptr_t)new_pair();
        collections += fixture_stats(&f).minor_collections - before;
        if (inside_nursery(f.heap)->start > start) pages += (uint64_t)(inside_nursery(f.heap)->start - start) / 4096;
      }
      assert_true(collections < 100000);
      assert_true(pages + (stress != 0 ? 0 : 16) >= at_least); /* [quarantine.1] */
      assert_true((char *)first >= inside_nursery(f.heap)->start ||
                  (char *)first < f.heap->quarantine.base + inside_nursery(f.heap)->reserved_bytes);
      cradle_pop(f.m);
      fixture_close(&f);
    }
}

/* [quarantine.1] [quarantine.2] The window can be used whole, wherever it is, and holds poison until it is. */
CRADLE_UNCHECKED_COLLECTION static void the_window_is_open(void **state) {
  (void)state;
  open_quarantine(3, (size_t)16 << 10, 0);
  cradle_push(f.m, NULL);
  for (size_t round = 0; round < 300; round++) {
    size_t count = 1 + round * 37 % 600;
    for (size_t i = 0; i < count; i++) {
      if (f.m->free + sizeof(pair) <= f.m->top) {
        pair *raw = cradle_new_uninitialized(f.m, T_PAIR, sizeof(pair));
        assert_true((uintptr_t)raw->first == POISON_UNUSED && (uintptr_t)raw->rest == POISON_UNUSED);
        raw->first = raw->rest = NULL;
      }
      *cradle_peek(f.m, 0) = (uintptr_t)new_pair();
    }
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    for (size_t page = 0; page < inside_nursery(f.heap)->reserved_bytes / f.heap->quarantine.page_bytes; page++)
      assert_int_equal(f.heap->quarantine.closed_by[(size_t)(inside_nursery(f.heap)->start - f.heap->quarantine.base) /
                                                        f.heap->quarantine.page_bytes +
                                                    page],
                       0);
  }
  cradle_memory memory;
  cradle_memory_report(f.heap, &memory, sizeof memory);
  assert_int_equal(memory.nursery.committed_bytes, f.heap->quarantine.bytes);
  assert_ptr_equal((void *)memory.nursery.start, f.heap->quarantine.base);
  cradle_pop(f.m);
  fixture_close(&f);
}

/* The verifier looks at the ring, too. */
CRADLE_UNCHECKED_COLLECTION static void the_ring_is_verified(void **state) {
  (void)state;
  open_quarantine(2, (size_t)16 << 10, 0);
  (void)new_pair();
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  (void)new_pair();
  crd_quarantine *quarantine = &f.heap->quarantine;
  size_t page = (size_t)(inside_nursery(f.heap)->start - quarantine->base) / quarantine->page_bytes;
  cradle_error error;
  size_t pages = inside_nursery(f.heap)->reserved_bytes / quarantine->page_bytes,
         words = pages * quarantine->page_bytes / 512;
  const size_t page_of[] = {page, page + pages - 1};
  for (size_t i = 0; i < 2; i++) { /* the window's first and last */
    uint64_t *closed_by = &quarantine->closed_by[page_of[i]];
    *closed_by = 1;
    assert_false(cradle_heap_verify(f.heap, &error));
    assert_non_null(
        strstr(error.message, "a page of the nursery is closed [quarantine.1]; last collection: 1 (request)"));
    *closed_by = 0;
    uint64_t *starts = &quarantine->starts[page * quarantine->page_bytes / 512] + (i == 0 ? 0 : words - 1);
    *starts = 1;
    assert_false(cradle_heap_verify(f.heap, &error));
    assert_non_null(strstr(error.message, "an object is noted on a page that is not closed [quarantine.3]"));
    *starts = 0;
  }
  quarantine->base += 8;
  assert_false(cradle_heap_verify(f.heap, &error));
  assert_non_null(strstr(error.message, "the nursery is not a window of the quarantine's pages [quarantine.1]"));
  quarantine->base -= 8;
  assert_true(cradle_heap_verify(f.heap, &error));
  fixture_close(&f);
}

/* In reserved memory that no object uses yet, only the collection is known. */
CRADLE_UNCHECKED_COLLECTION static void where_no_object_was(void **state) {
  (void)state;
  open_quarantine(2, (size_t)64 << 10, 0);
  cradle_reservation room = cradle_reserve(f.m, 64);
  char *place = room.free;
  (void)new_pair();
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_explained(place + 16, "stale reference into the nursery that minor collection 1 emptied, where no object was");
  fixture_close(&f);
}

/* Words of the nursery that look like a header, but are none: nothing is read behind the window, where the next page is
 * closed. */
CRADLE_UNCHECKED_COLLECTION static void nothing_is_read_behind_the_window(void **state) {
  (void)state;
  open_quarantine(2, (size_t)64 << 10, 0);
  cradle_push(f.m, new_pair());
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  const crd_arenas *arenas = &inside_old(f.heap)->arenas;
  uintptr_t arenas_end = arenas->base + arenas->bytes, memory_end = arenas->base + arenas->committed_end * ARENA_BYTES;
  *(cradle_word *)(memory_end - 8) = T_STRING; /* in a free page */
  const struct {
    cradle_word word;
    size_t words; /* before the end */
    const char *said;
  } cases[] = {{T_STRING, 1, "wrong length or size of type"},
               {HEADER_FORWARDED | (arenas_end - 8), 1, "broken header"},
               {HEADER_FORWARDED | (memory_end - 8), 2, "broken header"}, /* its length lies where no memory is */
               {HEADER_FORWARDED | (memory_end - 12), 1, "broken header"}};
  for (size_t round = 0; round < 24; round++) {
    const crd_nursery *nursery = inside_nursery(f.heap);
    while ((size_t)(nursery->end - f.m->free) > 64) (void)new_pair();
    string *last = cradle_new_array(f.m, T_STRING, (size_t)(nursery->end - f.m->free) - sizeof(string));
    assert_ptr_equal(f.m->free, inside_nursery(f.heap)->start + inside_nursery(f.heap)->reserved_bytes);
    assert_int_equal(memory_end, arenas->base + arenas->committed_end * ARENA_BYTES);
    cradle_word *word = (cradle_word *)(void *)f.m->free - cases[round % 4].words;
    *word = cases[round % 4].word; /* in the bytes of the array, which becomes shorter by them */
    last->length -= 8 * cases[round % 4].words;
    cradle_push(f.m, word);
    cradle_error error;
    assert_false(cradle_heap_verify(f.heap, &error));
    assert_non_null(strstr(error.message, cases[round % 4].said));
    (void)cradle_pop(f.m);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  }
  *(cradle_word *)(memory_end - 8) = 0;
  cradle_pop(f.m);
  fixture_close(&f);
}

/* Allocates up to the window's end. */
CRADLE_UNCHECKED_COLLECTION static void fill_window(void) {
  const crd_nursery *nursery = inside_nursery(f.heap);
  while ((size_t)(nursery->end - f.m->free) > 64) (void)new_pair();
  (void)cradle_new_array(f.m, T_STRING, (size_t)(nursery->end - f.m->free) - sizeof(string));
  assert_ptr_equal(f.m->free, nursery->end);
}

/* A window ends near the ring's end, before pages that were closed when windows lay elsewhere. */
CRADLE_UNCHECKED_COLLECTION static void a_window_may_end_before_closed_pages(void **state) {
  (void)state;
  open_quarantine(2, (size_t)64 << 10, 0);
  const crd_quarantine *quarantine = &f.heap->quarantine;
  if (inside_nursery(f.heap)->reserved_bytes == quarantine->page_bytes) { /* windows cannot lie across two of before */
    fixture_close(&f);
    skip();
  }
  do {
    fill_window();
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  } while (inside_nursery(f.heap)->start != quarantine->base);
  (void)new_pair(); /* so that the windows lie a page further on */
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_ptr_equal(inside_nursery(f.heap)->start, quarantine->base + quarantine->page_bytes);
  do {
    fill_window();
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  } while (inside_nursery(f.heap)->start != quarantine->base);
  assert_int_equal(quarantine->closed_by[quarantine->bytes / quarantine->page_bytes - 1], 4);
  fixture_close(&f);
}

static void poison_says_why(void **state) {
  (void)state;
  cradle_options options;
  plain_options(&options);
  fixture_open_with(&f, &options);
  assert_non_null(strstr(explained((void *)(uintptr_t)POISON_SWEPT), "an old object that died and was swept"));
  assert_non_null(strstr(explained((void *)(uintptr_t)(POISON_NURSERY + 16)), "a nursery object that moved or died"));
  assert_non_null(strstr(explained((void *)(uintptr_t)POISON_UNUSED), "never written"));
  assert_non_null(strstr(explained((void *)(uintptr_t)POISON_COMPACTED), "a compacting collection moved"));
  assert_string_equal(explained((void *)(uintptr_t)(POISON_SWEPT - 8)), "");
  fixture_close(&f);
}

/* --- a heap broken on purpose --- */

static void assert_unsound(const char *words, const char *where) {
  cradle_error error;
  if (cradle_heap_verify(f.heap, &error)) fail_msg("the verifier found nothing, where \"%s\" was planted", words);
  if (strstr(error.message, words) == NULL || strstr(error.message, where) == NULL)
    fail_msg("the message is \"%s\", without \"%s\" and \"%s\"", error.message, words, where);
  if (strstr(error.message, "; last collection: 1 (") == NULL)
    fail_msg("\"%s\" does not name the collection", error.message);
}

/* What an earlier call left in the error goes. */
static void a_verdict_replaces_an_earlier_error(void **state) {
  (void)state;
  const cradle_error old = {.message = "old", .option = "old", .accepted = 1};
  cradle_error error = old;
  assert_true(cradle_heap_verify(f.heap, &error));
  assert_string_equal(error.message, "");
  assert_null(error.option);
  assert_int_equal(error.accepted, 0);
  char *top = f.m->top;
  f.m->top = inside_nursery(f.heap)->end + 8;
  error = old;
  assert_false(cradle_heap_verify(f.heap, &error));
  f.m->top = top;
  assert_null(error.option);
  assert_int_equal(error.accepted, 0);
}

static int open_verified(void **state) {
  cradle_options options;
  (void)state;
  plain_options(&options);
  fixture_open_with(&f, &options);
  return 0;
}
static int close_verified(void **state) {
  (void)state;
  assert_heap_sound(f.heap);
  fixture_close(&f);
  return 0;
}

/* An old vector, and a young pair in its item 2. */
static vector *vector_with_pair(void) {
  cradle_push(f.m, cradle_new_array(f.m, T_VECTOR, 5));
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  pair *item = new_pair();
  vector *holder = (vector *)(uintptr_t)*cradle_peek(f.m, 0);
  cradle_store(f.m, holder, &holder->item[2], item);
  return holder;
}

static void broken_objects_are_named_with_their_holder(void **state) {
  (void)state;
  vector *holder = vector_with_pair();
  pair *item = holder->item[2];
  TEXT(where, "in word 4 (item 2) of type 2 (vector) at %#jx", (uintmax_t)(uintptr_t)holder);
  item->header = 77;
  assert_unsound("broken header 0x4d: 0x", where);
  item->header = T_PAIR | UINT64_C(1) << 32;
  assert_unsound("broken header 0x100000000, as an old object has (copied with one?): 0x", where);
  item->header = T_VECTOR;
  item->first = (pair *)1000000;
  assert_unsound("wrong length or size of type 2 (vector): 0x", where);
  item->header = T_PAIR;
  item->first = NULL;
  holder->item[2] = (pair *)((char *)item + 8);
  item->first = (pair *)1000;
  assert_unsound("broken header 0x3e8: 0x", where);
  holder->item[2] = (pair *)f.m->free;
  assert_unsound("stale reference into the nursery, where no object is: 0x", where);
  holder->item[2] = (pair *)((char *)holder + 16);
  assert_unsound("stale reference into the old generation, where no object is: 0x", where);
  holder->item[2] = (pair *)13;
  assert_unsound("no reference: 0xd in", where);
  holder->item[2] = (pair *)16;
  assert_unsound("no reference: 0x10 in", where);
  holder->item[2] = (pair *)(uintptr_t)POISON_SWEPT;
  assert_unsound("poison, of an old object that died and was swept: 0xdead0001dead0001 in", where);
  holder->item[2] = NULL;
  uint64_t header = holder->header;
  holder->header = 55;
  TEXT(root, "in shadow stack, word 0 at %#jx", (uintmax_t)(uintptr_t)f.m->shadow_base);
  assert_unsound("broken header 0x37: 0x", root);
  holder->header = header;
  cradle_pop(f.m);
}

static void *beside; /* an object's own, outside of it */
static void trace_beside(void *user, void *object, cradle_visitor *visitor) {
  (void)user;
  (void)object;
  cradle_visit(visitor, &beside, CRADLE_KIND_REFERENCE);
}

/* A slot before the items is none of them, and one outside the object has no word of it. */
static void slots_that_are_no_items_are_named(void **state) {
  (void)state;
  uint32_t types[] = {
      cradle_type_add(f.heap, &(cradle_type){.name = "mixed",
                                             .size = 24,
                                             .references = UINT64_C(1) << 2,
                                             .item_size = 8,
                                             .items = CRADLE_ITEMS_REFERENCES,
                                             .length_offset = 8}),
      cradle_type_add(f.heap, &(cradle_type){.name = "traced", .size = 16, .trace = trace_beside}),
  };
  cradle_push(f.m, cradle_new_array(f.m, types[0], 5));
  cradle_push(f.m, cradle_new(f.m, types[1], 16));
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  void *traced = (void *)(uintptr_t)*cradle_peek(f.m, 0), **mixed = (void **)(uintptr_t)*cradle_peek(f.m, 1);
  mixed[2] = (void *)21;
  TEXT(before, "no reference: 0x15 in word 2 of type %u (mixed) at %#jx; last", types[0], (uintmax_t)(uintptr_t)mixed);
  assert_unsound("no reference: 0x15 in", before);
  mixed[2] = NULL;
  mixed[3] = (void *)21;
  TEXT(item, "no reference: 0x15 in word 3 (item 0) of type %u (mixed) at %#jx; last", types[0],
       (uintmax_t)(uintptr_t)mixed);
  assert_unsound("no reference: 0x15 in", item);
  mixed[3] = NULL;
  beside = (void *)21;
  TEXT(outside, "in a slot that the trace callback visits at %#jx of type %u (traced) at %#jx; last",
       (uintmax_t)(uintptr_t)&beside, types[1], (uintmax_t)(uintptr_t)traced);
  assert_unsound("no reference: 0x15 in", outside);
  beside = NULL;
  cradle_pop_many(f.m, 2);
}

static void a_missing_barrier_is_named(void **state) {
  (void)state;
  vector *holder = vector_with_pair();
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  f.heap->report.stats.minor_collections = 1; /* so that the message is the same one */
  holder->item[4] = new_pair();
  TEXT(where, "in word 6 (item 4) of type 2 (vector) at %#jx", (uintmax_t)(uintptr_t)holder);
  assert_unsound("missing write barrier: an old object that is not remembered refers to a young one [heap.1]: 0x",
                 where);
  holder->item[4] = NULL;
  cradle_pop(f.m);
}

static void *foreign[3]; /* the callback visits the slot in the middle */
static void visit_foreign(void *data, cradle_visitor *visitor) {
  (void)data;
  cradle_visit(visitor, &foreign[1], CRADLE_KIND_REFERENCE);
}

CRADLE_UNCHECKED_COLLECTION static void roots_are_named(void **state) {
  (void)state;
  void *bad = (void *)21, *local = NULL, *global = NULL, *words[4] = {NULL}, **base = words, **top = words + 4;
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  {
    CRADLE_ROOT(f.m, local);
    local = bad;
    assert_unsound("no reference: 0x15", "in scoped root without a name at");
    local = NULL;
  }
  cradle_root_range range = CRADLE_ROOT_RANGE(base, top, CRADLE_KIND_REFERENCE, "value stack");
  cradle_root_range_add(f.m, &range);
  words[3] = bad;
  assert_unsound("no reference: 0x15", "in root range value stack, index 3 at");
  words[3] = NULL;
  top = words, base = words + 1;
  assert_unsound("root range value stack: its base variable holds",
                 ": the base is above the top; CRADLE_ROOT_RANGE takes");
  top = base;
  cradle_root_range_remove(f.m, &range);
  cradle_global_root_add(f.heap, &global, CRADLE_KIND_REFERENCE);
  global = bad;
  assert_unsound("no reference: 0x15", "in the global root at");
  global = NULL;
  cradle_global_root_remove(f.heap, &global);
  cradle_global_root_add(f.heap, &foreign[0], CRADLE_KIND_REFERENCE);
  cradle_global_root_add(f.heap, &foreign[2], CRADLE_KIND_REFERENCE);
  foreign[1] = bad;
  cradle_root_callback_set(f.heap, visit_foreign, NULL);
  assert_unsound("no reference: 0x15", "in a root of the root callback at");
  foreign[1] = NULL;
  cradle_global_root_remove(f.heap, &foreign[0]);
  cradle_global_root_remove(f.heap, &foreign[2]);
  cradle_root_callback_set(f.heap, NULL, NULL);
}

/* While it moves, the quarantine knows more than that nothing is there. */
CRADLE_UNCHECKED_COLLECTION static void a_stale_slot_is_found(void **state) {
  (void)state;
  open_quarantine(2, (size_t)64 << 10, 0);
  pair *stale = new_pair();
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  cradle_push(f.m, stale);
  assert_unsound("stale reference to what an earlier collection moved or freed: 0x", "in shadow stack, word 0 at");
  *cradle_peek(f.m, 0) = (uintptr_t)inside_nursery(f.heap)->start + inside_nursery(f.heap)->reserved_bytes;
  assert_unsound("stale reference into the nursery, where no object is: 0x", "in shadow stack, word 0 at");
  cradle_pop(f.m);
  fixture_close(&f);
}

#define WITH_HEAP(test) cmocka_unit_test_setup_teardown(test, open_verified, close_verified)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_nth_allocation),
      cmocka_unit_test(the_fast_path_alone_is_refused),
      cmocka_unit_test(requests_are_served_where_no_collection_is_chosen),
      cmocka_unit_test(a_seed_repeats_and_another_differs),
      cmocka_unit_test(a_random_distance_may_be_of_any_mean),
      cmocka_unit_test(bounds_leave_the_one_collection),
      cmocka_unit_test(only_at_safepoints),
      cmocka_unit_test(every_increment_and_every_old_object),
      cmocka_unit_test(full_collections_do_not_keep_step_with_a_loop),
      cmocka_unit_test(a_run_that_moves_nothing_fails),
      cmocka_unit_test(a_run_without_a_stress_collection_fails),
      cmocka_unit_test(a_run_says_what_took_place),
      cmocka_unit_test(the_clock_alone_ends_nothing),
      cmocka_unit_test(rare_places_come_first),
      cmocka_unit_test(a_run_that_moves_nothing_is_noted),
      cmocka_unit_test(collections_within_a_bound),
      cmocka_unit_test(what_collections_took_too_much_is_waited_for),
      cmocka_unit_test(the_programs_collections_are_not_verified_within_a_bound),
      cmocka_unit_test(rare_collections_do_not_let_the_heap_grow),
      cmocka_unit_test(what_moved_and_what_died_is_known),
      cmocka_unit_test(long_objects_are_known_everywhere),
      cmocka_unit_test(reservations_are_walked),
      cmocka_unit_test(a_type_without_a_name_has_its_number),
      cmocka_unit_test(what_was_old_is_inaccessible),
      cmocka_unit_test(pages_come_back_in_turn),
      cmocka_unit_test(the_window_is_open),
      cmocka_unit_test(the_ring_is_verified),
      cmocka_unit_test(nothing_is_read_behind_the_window),
      cmocka_unit_test(a_window_may_end_before_closed_pages),
      cmocka_unit_test(where_no_object_was),
      cmocka_unit_test(poison_says_why),
      WITH_HEAP(broken_objects_are_named_with_their_holder),
      WITH_HEAP(slots_that_are_no_items_are_named),
      WITH_HEAP(a_verdict_replaces_an_earlier_error),
      WITH_HEAP(a_missing_barrier_is_named),
      WITH_HEAP(roots_are_named),
      cmocka_unit_test(a_stale_slot_is_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
