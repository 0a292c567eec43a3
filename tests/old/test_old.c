/* The old generation through the public interface: increments, recorded slots, large objects, compaction, pacing. */
#include "tests/inside.h"
#include "tests/support/heap_fixture.h"

#define MIB ((size_t)1 << 20)

/* What the listener counts. */
typedef struct seen {
  uint64_t steps, majors, minors, compactions, pauses, nursery_sizes;
  uint64_t longest_step_ns;
  int inside; /* number of open sections */
  bool crossed;
} seen;

static void count_event(void *data, const cradle_event *event) {
  seen *s = data;
  switch (event->kind) {
  case CRADLE_EVENT_STEP_BEGIN: s->inside++; break;
  case CRADLE_EVENT_STEP_END:
    s->inside--;
    s->steps++;
    if (event->u.step.duration_ns > s->longest_step_ns) s->longest_step_ns = event->u.step.duration_ns;
    break;
  case CRADLE_EVENT_MINOR_BEGIN: s->inside++; break;
  case CRADLE_EVENT_MINOR_END: s->inside--, s->minors++; break;
  case CRADLE_EVENT_COMPACT_BEGIN: s->inside++; break;
  case CRADLE_EVENT_COMPACT_END: s->inside--, s->compactions++; break;
  case CRADLE_EVENT_MAJOR_END: s->majors++; break;
  case CRADLE_EVENT_NURSERY_SIZED: s->nursery_sizes++; break;
  case CRADLE_EVENT_PAUSE:
    s->pauses++;
    if (s->inside != 0) s->crossed = true;
    break;
  default: break;
  }
}

static void open_old(fixture *f, seen *s, void (*change)(cradle_options *)) {
  cradle_options options;
  fixture_options(f, &options);
  options.verify = false; /* the heaps are large, so tests verify explicitly */
  options.gc_threads = 0; /* increments are counted, whatever the environment says */
  options.major_min_bytes = 4 * MIB;
  options.listener = (cradle_listener){count_event, s};
  if (change != NULL) change(&options);
  fixture_open_with(f, &options);
}

static void verify(fixture *f) {
  assert_heap_sound(f->heap);
}

static pair *push_pair(fixture *f, pair *rest, pair *first) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(f->m, rest);
  CRADLE_ROOT(f->m, first);
  pair *p = cradle_new(f->m, T_PAIR, sizeof *p);
  p->first = first;
  p->rest = rest;
  return p;
}

static pair *make_list(fixture *f, size_t length) CRADLE_MAY_COLLECT {
  pair *list = NULL;
  for (size_t i = 0; i < length; i++) list = push_pair(f, list, NULL);
  return list;
}

static size_t list_length(const pair *list) {
  size_t length = 0;
  for (; list != NULL; list = list->rest) length++;
  return length;
}

/* Under stress every few objects cause a collection, so make fewer objects. */
static size_t many(const fixture *f, size_t count) {
  return f->stressed ? count / 100 : count;
}

/* --- increments --- */

static void step_until_done(fixture *f, uint64_t most_ns) CRADLE_MAY_COLLECT {
  while (!cradle_collect_step(f->m, most_ns)) {}
}

static void a_collection_in_steps_frees_what_one_in_one_go_does(void **state) {
  (void)state;
  fixture f;
  seen s = {0};
  open_old(&f, &s, NULL);
  {
    pair *list = make_list(&f, many(&f, 100000));
    CRADLE_ROOT(f.m, list);
    pair *dead = make_list(&f, many(&f, 100000));
    CRADLE_ROOT(f.m, dead);
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    assert_int_equal(fixture_stats(&f).old_bytes, many(&f, 200000) * sizeof(pair));
    dead = NULL;
    uint64_t before = s.steps;
    step_until_done(&f, 1);
    assert_true(s.steps > before + (f.stressed ? 2 : 100)); /* marking took many increments */
    assert_int_equal(fixture_stats(&f).old_bytes, many(&f, 100000) * sizeof(pair));
    assert_int_equal(list_length(list), many(&f, 100000));
    assert_false(s.crossed);
    assert_int_equal(s.inside, 0);
  }
  fixture_close(&f);
}

/* Between increments the list is taken apart and rebuilt elsewhere. If the barrier missed a store, marking would find
 * the list in neither place. */
static void what_moves_about_while_marking_is_not_lost(void **state) {
  (void)state;
  fixture f;
  seen s = {0};
  open_old(&f, &s, NULL);
  size_t length = f.stressed ? 100 : 3000;
  {
    pair *from = make_list(&f, length), *to = NULL;
    CRADLE_ROOT(f.m, from);
    CRADLE_ROOT(f.m, to);
    vector *shelf = cradle_new_array(f.m, T_VECTOR, 20000); /* large: its slots are recorded */
    CRADLE_ROOT(f.m, shelf);
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    for (int round = 0; round < 6; round++) {
      uint64_t at = 0;
      do {
        for (int i = 0; i < 40 && from != NULL; i++) {
          pair *next = from->rest;
          cradle_store(f.m, shelf, &shelf->item[at++ % 20000], from); /* for a while the only reference */
          from = next;
        }
        if (at > 2000 || from == NULL)
          for (uint64_t i = 0; i < 20000; i++) {
            pair *p = shelf->item[i];
            if (p == NULL) continue;
            cradle_store(f.m, p, &p->rest, to);
            to = p;
            cradle_store(f.m, shelf, &shelf->item[i], NULL);
          }
        verify(&f);
      } while (!cradle_collect_step(f.m, 1) || from != NULL);
      assert_int_equal(list_length(to), length);
      from = to;
      to = NULL;
    }
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    verify(&f);
    assert_int_equal(list_length(from), length);
  }
  fixture_close(&f);
}

static void a_missing_barrier_while_marking_is_found(void **state) {
  (void)state;
  fixture f;
  seen s = {0};
  open_old(&f, &s, NULL);
  {
    pair *holder = make_list(&f, 1);
    CRADLE_ROOT(f.m, holder);
    pair *list = make_list(&f, 5000);
    CRADLE_ROOT(f.m, list);
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    assert_false(cradle_collect_step(f.m, 1)); /* marks the roots and a few pairs of the list, and traces the holder */
    pair *middle = list;
    for (int i = 0; i < 3000; i++) middle = middle->rest;
    holder->first = middle; /* no barrier */
    cradle_error error;
    assert_false(cradle_heap_verify(f.heap, &error));
    assert_non_null(strstr(error.message, "missing write barrier while marking"));
    cradle_store(f.m, holder, &holder->first, middle);
    verify(&f);
  }
  fixture_close(&f);
}

static void no_target(cradle_options *options) {
  options->pause_ns = 0;
}

static void a_program_that_only_allocates_runs_them(void **state) {
  (void)state;
  for (int with_target = 0; with_target < 2; with_target++) {
    fixture f;
    seen s = {0};
    open_old(&f, &s, with_target ? NULL : no_target);
    {
      pair *list = make_list(&f, many(&f, 200000));
      CRADLE_ROOT(f.m, list);
      for (int i = 0; i < 20; i++) {
        list = NULL;
        list = make_list(&f, many(&f, 200000));
      }
      assert_true(s.majors >= 2);
      cradle_statistics stats = fixture_stats(&f);
      assert_true(stats.old_bytes < 60 * MIB);
      assert_int_equal(list_length(list), many(&f, 200000));
      /* One step marks everything, one sweeps everything. */
      if (!with_target && !f.stressed) assert_int_equal(s.steps, 2 * s.majors);
    }
    fixture_close(&f);
  }
}

static void a_list_of_ten_million_is_marked_in_bounded_memory(void **state) {
  (void)state;
  fixture f;
  seen s = {0};
  open_old(&f, &s, NULL);
  if (f.stressed) {
    fixture_close(&f);
    print_message("skipped under stress: ten million collections\n");
    skip();
  }
  {
    pair *list = make_list(&f, 10000000);
    CRADLE_ROOT(f.m, list);
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    cradle_statistics stats = fixture_stats(&f);
    uint64_t others = stats.committed_bytes - stats.arenas_committed * stats.arena_bytes - stats.metadata_bytes;
    assert_true(others < 40 * MIB); /* the nursery, the shadow stack, the mark stack and the rest */
    assert_int_equal(list_length(list), 10000000);
  }
  fixture_close(&f);
}

/* A hundred million with the argument --large. */
static size_t long_length = 1000000;

static void a_long_array_is_marked_in_pieces(void **state) {
  (void)state;
  fixture f;
  seen s = {0};
  open_old(&f, &s, NULL);
  size_t length = many(&f, long_length);
  {
    vector *array = cradle_new_array(f.m, T_VECTOR, length);
    CRADLE_ROOT(f.m, array);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    for (size_t i = 0; i < length; i += 100) {
      pair *fresh = push_pair(&f, NULL, NULL);
      cradle_store(f.m, array, &array->item[i], fresh);
    }
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    uint64_t before = fixture_stats(&f).major_steps;
    step_until_done(&f, 0);
    assert_true(fixture_stats(&f).major_steps - before >= length / 4096);
    assert_int_equal(fixture_stats(&f).phase, CRADLE_PHASE_IDLE);
    /* When an array is shortened between two increments, its remaining items are still marked. */
    while (fixture_stats(&f).phase != CRADLE_PHASE_MARKING) (void)cradle_collect_step(f.m, 0);
    array->length = 150;
    step_until_done(&f, 0);
    verify(&f);
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    assert_true(cradle_type_of(array->item[100]) == T_PAIR);
    if (!f.stressed) assert_true(fixture_stats(&f).old_bytes < length * 8 + MIB);
  }
  fixture_close(&f);
}

static void smallest_minimum(cradle_options *options) {
  options->major_min_bytes = MIB;
  options->pause_ns = 1;
}

/* Marking that has only begun has not fallen behind, so even a huge array is marked in increments. */
static void an_array_far_above_the_threshold_is_marked_in_increments(void **state) {
  (void)state;
  fixture f;
  seen s = {0};
  open_old(&f, &s, smallest_minimum);
  if (f.stressed) {
    fixture_close(&f);
    print_message("skipped under stress: its collections mark the array\n");
    skip();
  }
  {
    vector *array = cradle_new_array(f.m, T_VECTOR, 4 * MIB);
    CRADLE_ROOT(f.m, array);
    crd_collect(f.heap, CRADLE_CAUSE_NURSERY_FULL);
    assert_int_equal(fixture_stats(&f).phase, CRADLE_PHASE_MARKING);
    cradle_external_memory(f.m, (int64_t)1024 * (int64_t)MIB); /* now marking has fallen behind */
    crd_collect(f.heap, CRADLE_CAUSE_NURSERY_FULL);
    assert_int_equal(fixture_stats(&f).phase, CRADLE_PHASE_SWEEPING); /* marked at once; the sweep takes increments */
    cradle_external_memory(f.m, -(int64_t)1024 * (int64_t)MIB);
  }
  fixture_close(&f);
}

/* --- large objects --- */

/* With a quarantine pages are kept longer: tests/old/test_closed.c tests that. */
static void without_quarantine(cradle_options *options) {
  options->quarantine = 0;
}

/* The memory is given back at once, too: of a young array in a minor collection, of an old one in a major collection.
 * Arrays under 32 MiB keep their memory for reuse for a while. */
static void an_array_of_a_gibibyte_goes_at_once(void **state) {
  (void)state;
  fixture f;
  seen s = {0};
  open_old(&f, &s, without_quarantine);
  {
    string *big = NULL;
    CRADLE_ROOT(f.m, big);
    for (int old = 0; old < 2; old++) {
      big = cradle_new_array(f.m, T_STRING, (size_t)1 << 30);
      big->byte[0] = big->byte[((size_t)1 << 30) - 1] = 'x';
      if (old != 0) cradle_collect(f.m, CRADLE_COLLECT_MINOR);
      assert_int_equal(big->byte[((size_t)1 << 30) - 1], 'x');
      assert_true(fixture_stats(&f).large_bytes > (size_t)1 << 30);
      big = NULL;
      if (old != 0)
        cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
      else
        cradle_collect(f.m, CRADLE_COLLECT_MINOR);
      cradle_statistics stats = fixture_stats(&f);
      assert_int_equal(stats.large_bytes, 0);
      assert_true(stats.committed_bytes < 64 * MIB);
    }
    (void)cradle_new_array(f.m, T_STRING, 30 * MIB);
    uint64_t committed = fixture_stats(&f).committed_bytes;
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    assert_int_equal(fixture_stats(&f).committed_bytes, committed);
    big = cradle_new_array(f.m, T_STRING, 33 * MIB);
    cradle_collect(f.m, CRADLE_COLLECT_FULL); /* gives back the memory kept for reuse */
    committed = fixture_stats(&f).committed_bytes;
    big = NULL;
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    assert_int_equal(committed - fixture_stats(&f).committed_bytes, 34 * MIB); /* 33 and the header: 17 arenas */
  }
  fixture_close(&f);
}

static void small_maximum(cradle_options *options) {
  options->heap_max_bytes = 24 * MIB;
  options->major_min_bytes = 0;
}

static void at_the_maximum_one_allocation_fails_and_the_heap_stays_usable(void **state) {
  (void)state;
  fixture f;
  seen s = {0};
  open_old(&f, &s, small_maximum);
  {
    vector *keep = cradle_new_array(f.m, T_VECTOR, 64);
    CRADLE_ROOT(f.m, keep);
    uint64_t held = 0;
    for (string *next; held < 64; held++) {
      next = cradle_new_array(f.m, T_STRING, MIB);
      if (next == NULL) break;
      cradle_store(f.m, keep, &keep->item[held], next);
    }
    assert_in_range(held, 8, 24);
    assert_null(cradle_new_array(f.m, T_STRING, MIB));
    assert_true(s.compactions > 0); /* the collector compacted before giving up */
    verify(&f);
    cradle_store(f.m, keep, &keep->item[0], NULL);
    assert_non_null(cradle_new_array(f.m, T_STRING, MIB));
    assert_int_equal(list_length(make_list(&f, 1000)), 1000);
    verify(&f);
  }
  fixture_close(&f);
}

static void memory_outside_counts(void **state) {
  (void)state;
  fixture f;
  seen s = {0};
  open_old(&f, &s, NULL);
  {
    pair *list = make_list(&f, 1000);
    CRADLE_ROOT(f.m, list);
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    uint64_t before = s.majors;
    if (!f.stressed) {
      for (int i = 0; i < 3; i++) cradle_collect(f.m, CRADLE_COLLECT_MINOR);
      (void)make_list(&f, 10000);
      assert_int_equal(s.majors, before); /* the heap is far below its minimum */
    }
    cradle_external_memory(f.m, (int64_t)100 * (int64_t)MIB);
    (void)make_list(&f, 20000);
    assert_true(s.majors > before);
    assert_int_equal(fixture_stats(&f).external_bytes, 100 * MIB);
    cradle_external_memory(f.m, -(int64_t)(60 * MIB));
    assert_int_equal(fixture_stats(&f).external_bytes, 40 * MIB);
  }
  ASSERT_MISUSE(&f, "cradle_external_memory", cradle_external_memory(f.m, -(int64_t)(41 * MIB)));
  fixture_close(&f);
}

static void maximum_and_adaptive(cradle_options *options) {
  static const cradle_hardware hardware = {.page_bytes = 4096, .l2_bytes = 1 << 20, .l3_bytes = 32 << 20};
  options->nursery_bytes = 0;
  options->hardware = &hardware;
  options->heap_max_bytes = 48 * MIB;
  options->major_min_bytes = 0;
  options->pause_ns = 0; /* nothing limits the nursery's growth */
}

static void the_nursery_grows_and_shrinks_below_the_maximum(void **state) {
  (void)state;
  fixture f;
  seen s = {0};
  open_old(&f, &s, maximum_and_adaptive);
  uint64_t largest = 0;
  fixture_skip_stressed(&f, "twenty million collections");
  {
    for (int round = 0; round < 400; round++) {
      /* at a collection only a part of the last list survives; the larger the nursery, the smaller the part */
      (void)make_list(&f, 60000);
      cradle_statistics stats = fixture_stats(&f);
      if (stats.nursery_bytes > largest) largest = stats.nursery_bytes;
      assert_true(stats.nursery_bytes + stats.arenas_committed * stats.arena_bytes <= 48 * MIB);
    }
    assert_true(largest > 4 * MIB && largest < 32 * MIB);
    uint64_t changes = s.nursery_sizes;
    for (int i = 0; i < 20000000; i++) (void)cradle_new(f.m, T_PAIR, sizeof(pair));
    assert_int_equal(fixture_stats(&f).nursery_bytes, 4 * MIB); /* nothing survives, so the base size is enough */
    assert_true(s.nursery_sizes > changes);
  }
  fixture_close(&f);
}

/* --- recorded slots --- */

static void only_the_slots_of_a_large_array_are_looked_at(void **state) {
  (void)state;
  fixture f;
  seen s = {0};
  open_old(&f, &s, NULL);
  {
    vector *array = cradle_new_array(f.m, T_VECTOR, 100000);
    CRADLE_ROOT(f.m, array);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    cradle_statistics before = fixture_stats(&f);
    for (uint64_t i = 0; i < 500; i++) {
      pair *p = cradle_new(f.m, T_PAIR, sizeof *p);
      cradle_store(f.m, array, &array->item[i % 50 * 1000], p); /* stores into each slot ten times */
    }
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    cradle_statistics after = fixture_stats(&f);
    assert_int_equal(after.remembered_objects, before.remembered_objects);
    if (!f.stressed) assert_int_equal(after.recorded_slots - before.recorded_slots, 500);
    for (uint64_t i = 0; i < 50; i++) assert_int_equal(cradle_type_of(array->item[i * 1000]), T_PAIR);
    verify(&f);
    /* a plain store, then the barrier that does not get the slot */
    array->item[7] = cradle_new(f.m, T_PAIR, sizeof(pair));
    cradle_write_barrier(f.m, array);
    verify(&f);
    cradle_store(f.m, array, &array->item[8], array->item[7]);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    assert_ptr_equal(array->item[7], array->item[8]);
    assert_true(fixture_stats(&f).remembered_objects > after.remembered_objects);
    verify(&f);
    array->item[9] = cradle_new(f.m, T_PAIR, sizeof(pair)); /* a store without a barrier */
    cradle_error error;
    if (!f.stressed) assert_false(cradle_heap_verify(f.heap, &error));
    array->item[9] = NULL;
  }
  fixture_close(&f);
}

/* Arrays in spans have their counters in a table. Arrays up to 1 KiB are scanned whole. */
static void so_it_is_with_arrays_in_spans(void **state) {
  (void)state;
  enum { ARRAYS = 50, ITEMS = 500, SHORT_ITEMS = 100, STORES = 20 };
  fixture f;
  seen s = {0};
  open_old(&f, &s, NULL);
  {
    vector *arrays = cradle_new_array(f.m, T_VECTOR, ARRAYS);
    CRADLE_ROOT(f.m, arrays);
    for (uint64_t i = 0; i < ARRAYS; i++) {
      vector *array = cradle_new_array(f.m, T_VECTOR, i == 0 ? SHORT_ITEMS : ITEMS);
      cradle_store(f.m, arrays, &arrays->item[i], array);
    }
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    cradle_statistics before = fixture_stats(&f);
    for (uint64_t i = 0; i < ARRAYS * STORES; i++) {
      pair *p = cradle_new(f.m, T_PAIR, sizeof *p);
      vector *array = arrays->item[i % ARRAYS];
      cradle_store(f.m, array, &array->item[i % SHORT_ITEMS], p);
    }
    verify(&f);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    cradle_statistics after = fixture_stats(&f);
    if (!f.stressed) {
      assert_int_equal(after.remembered_objects - before.remembered_objects, 1);
      assert_int_equal(after.recorded_slots - before.recorded_slots, (ARRAYS - 1) * STORES);
    }
    for (uint64_t i = 0; i < ARRAYS * STORES; i++)
      assert_int_equal(cradle_type_of(((vector *)arrays->item[i % ARRAYS])->item[i % SHORT_ITEMS]), T_PAIR);
    pair *p = cradle_new(f.m, T_PAIR, sizeof *p);
    vector *array = arrays->item[7];
    for (uint64_t i = 0; i < 2 * ITEMS; i++) cradle_store(f.m, array, &array->item[i % ITEMS], p);
    before = fixture_stats(&f);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    after = fixture_stats(&f);
    assert_int_equal(after.remembered_objects - before.remembered_objects, 1);
    assert_in_range(after.recorded_slots - before.recorded_slots, ITEMS / 2, ITEMS / 2 + 1);
    for (uint64_t i = 1; i < ITEMS; i++)
      assert_ptr_equal(((vector *)arrays->item[7])->item[i], ((vector *)arrays->item[7])->item[0]);
    verify(&f);
  }
  fixture_close(&f);
}

static void an_array_that_is_stored_into_all_over_is_remembered(void **state) {
  (void)state;
  fixture f;
  seen s = {0};
  open_old(&f, &s, NULL);
  {
    vector *array = cradle_new_array(f.m, T_VECTOR, 10000);
    CRADLE_ROOT(f.m, array);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    for (int round = 0; round < 3; round++) { /* counting restarts after each collection */
      cradle_statistics before = fixture_stats(&f);
      pair *p = cradle_new(f.m, T_PAIR, sizeof *p);
      for (uint64_t i = 0; i < 100000; i++) cradle_store(f.m, array, &array->item[i % 10000], p);
      cradle_collect(f.m, CRADLE_COLLECT_MINOR);
      cradle_statistics after = fixture_stats(&f);
      assert_in_range(after.recorded_slots - before.recorded_slots, 4500, 5500);
      assert_int_equal(after.remembered_objects - before.remembered_objects, 1);
      for (uint64_t i = 1; i < 10000; i++) assert_ptr_equal(array->item[i], array->item[0]);
      verify(&f);
    }
  }
  fixture_close(&f);
}

static void low_tags(cradle_options *options) {
  options->encoding = cradle_encoding_of(0, 0, 0x02);
}

static void values_are_recorded_too(void **state) {
  (void)state;
  fixture f;
  seen s = {0};
  open_old(&f, &s, low_tags);
  {
    values *array = cradle_new_array(f.m, T_VALUES, 50000);
    CRADLE_ROOT(f.m, array);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    for (uint64_t i = 0; i < 50000; i += 7) {
      string *p = cradle_new_array(f.m, T_STRING, 8);
      p->byte[0] = (char)(i % 100);
      cradle_store_value(f.m, array, &array->item[i], (uint64_t)(uintptr_t)p | 1);
      cradle_store_value(f.m, array, &array->item[i + 1], i << 3 | 2); /* an immediate */
    }
    verify(&f);
    step_until_done(&f, 1);
    cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
    verify(&f);
    for (uint64_t i = 0; i < 50000; i += 7) {
      assert_int_equal(((string *)(uintptr_t)(array->item[i] - 1))->byte[0], (char)(i % 100));
      assert_int_equal(array->item[i + 1], i << 3 | 2);
    }
  }
  fixture_close(&f);
}

/* --- compaction --- */

/* Makes objects of many sizes and keeps one in ten. */
static void fragment(fixture *f, vector **keep, uint64_t count) CRADLE_MAY_COLLECT {
  vector *all = cradle_new_array(f->m, T_VECTOR, count);
  CRADLE_ROOT(f->m, all);
  uint64_t seed = 12345;
  for (uint64_t i = 0; i < count; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    uint64_t length = seed >> 60 == 0 ? (seed >> 33) % 20000 : (seed >> 33) % 600;
    string *s = cradle_new_array(f->m, T_STRING, length);
    if (length > 0) s->byte[0] = s->byte[length - 1] = (char)(i % 101);
    cradle_store(f->m, all, &all->item[i], s);
  }
  cradle_collect(f->m, CRADLE_COLLECT_FULL);
  for (uint64_t i = 0; i < count; i += 10) cradle_store(f->m, *keep, &(*keep)->item[i / 10], all->item[i]);
}

static void check_kept(const vector *keep, uint64_t count) {
  for (uint64_t i = 0; i < count; i += 10) {
    const string *s = keep->item[i / 10];
    if (s->length > 0) assert_int_equal(s->byte[s->length - 1], (char)(i % 101));
    if (s->length > 0) assert_int_equal(s->byte[0], (char)(i % 101));
  }
}

static void compaction_gives_back_what_scattered_survivors_hold(void **state) {
  (void)state;
  fixture f;
  seen s = {0};
  open_old(&f, &s, NULL);
  uint64_t count = f.stressed ? 3000 : 100000;
  {
    vector *keep = cradle_new_array(f.m, T_VECTOR, count / 10);
    CRADLE_ROOT(f.m, keep);
    string *long_one = cradle_new_array(f.m, T_STRING, 5 * MIB); /* over three arenas, the last shared */
    CRADLE_ROOT(f.m, long_one);
    long_one->byte[5 * MIB - 1] = 'y';
    fragment(&f, &keep, count);
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR); /* a full collection would compact a heap as sparse as this */
    cradle_statistics before = fixture_stats(&f);
    cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
    cradle_statistics after = fixture_stats(&f);
    assert_true(after.moved_old_objects > before.moved_old_objects);
    assert_int_equal(after.old_bytes, before.old_bytes);
    if (!f.stressed) {
      assert_true(before.arenas_in_use * before.arena_bytes > 3 * before.old_bytes); /* the heap really is fragmented */
      assert_true(after.arenas_in_use * after.arena_bytes < after.old_bytes * 12 / 10 + 2 * after.arena_bytes);
    }
    check_kept(keep, count);
    assert_int_equal(long_one->byte[5 * MIB - 1], 'y');
    verify(&f);
    fragment(&f, &keep, count); /* the heap still works */
    cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
    check_kept(keep, count);
    verify(&f);
  }
  fixture_close(&f);
}

static void no_target_and_little_room(cradle_options *options) {
  no_target(options);
  options->major_factor = 1.2; /* a collection starts while few objects live, so compaction can empty arenas */
}

static void without_a_target_it_happens_by_itself(void **state) {
  (void)state;
  fixture f;
  seen s = {0};
  open_old(&f, &s, no_target_and_little_room);
  uint64_t count = f.stressed ? 3000 : 200000;
  {
    vector *keep = cradle_new_array(f.m, T_VECTOR, count / 10);
    CRADLE_ROOT(f.m, keep);
    for (int i = 0; i < 6; i++) fragment(&f, &keep, count);
    if (!f.stressed) assert_true(s.compactions > 0);
    check_kept(keep, count);
    verify(&f);
  }
  fixture_close(&f);
}

/* --- the table of size classes --- */

static void the_span_table_adds_up(void **state) {
  (void)state;
  fixture f;
  seen s = {0};
  open_old(&f, &s, NULL);
  {
    pair *list = make_list(&f, 5000);
    CRADLE_ROOT(f.m, list);
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    crd_span_info rows[128];
    size_t count = crd_heap_spans(f.heap, rows, 128);
    assert_in_range(count, 50, 128);
    uint64_t used = 0;
    for (size_t i = 0; i < count; i++) {
      used += rows[i].used_bytes;
      assert_true(rows[i].used_bytes <= rows[i].memory_bytes);
      assert_int_equal(rows[i].memory_bytes, rows[i].spans * rows[i].span_bytes);
      if (rows[i].object_bytes == sizeof(pair)) assert_int_equal(rows[i].used_bytes, 5000 * sizeof(pair));
    }
    assert_int_equal(used, fixture_stats(&f).old_bytes);
    assert_int_equal(crd_heap_spans(f.heap, rows, 0), count);
  }
  fixture_close(&f);
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "--large") == 0) long_length = 100000000;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_collection_in_steps_frees_what_one_in_one_go_does),
      cmocka_unit_test(what_moves_about_while_marking_is_not_lost),
      cmocka_unit_test(a_missing_barrier_while_marking_is_found),
      cmocka_unit_test(a_program_that_only_allocates_runs_them),
      cmocka_unit_test(a_list_of_ten_million_is_marked_in_bounded_memory),
      cmocka_unit_test(a_long_array_is_marked_in_pieces),
      cmocka_unit_test(an_array_far_above_the_threshold_is_marked_in_increments),
      cmocka_unit_test(an_array_of_a_gibibyte_goes_at_once),
      cmocka_unit_test(at_the_maximum_one_allocation_fails_and_the_heap_stays_usable),
      cmocka_unit_test(memory_outside_counts),
      cmocka_unit_test(the_nursery_grows_and_shrinks_below_the_maximum),
      cmocka_unit_test(only_the_slots_of_a_large_array_are_looked_at),
      cmocka_unit_test(an_array_that_is_stored_into_all_over_is_remembered),
      cmocka_unit_test(so_it_is_with_arrays_in_spans),
      cmocka_unit_test(values_are_recorded_too),
      cmocka_unit_test(compaction_gives_back_what_scattered_survivors_hold),
      cmocka_unit_test(without_a_target_it_happens_by_itself),
      cmocka_unit_test(the_span_table_adds_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
