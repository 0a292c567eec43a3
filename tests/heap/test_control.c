/* Control of a running heap: major collections held off, the maximum changed, and callbacks that misbehave. */
#include "tests/support/one_heap.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

static void choose(cradle_options *options) {
  options->verify = false;
  options->major_min_bytes = f.stressed ? MIB / 4 : MIB;
  options->listener = (cradle_listener){fixture_listen, &f};
}

/* Keeps bytes of pairs alive for two minor collections, and drops them. Under stress, where each allocation costs a
 * thousand times as much, an eighth of the bytes. */
static void churn(size_t bytes) {
  if (f.stressed) bytes /= 8;
  pair *list = NULL;
  CRADLE_ROOT(f.m, list);
  for (size_t i = 0; i < bytes / sizeof(pair); i++) {
    pair *fresh = cradle_new(f.m, T_PAIR, sizeof(pair));
    fresh->rest = i % 10000 == 0 ? NULL : list;
    list = fresh;
  }
}

/* --- major collections held off --- */

static void no_major_begins_while_disabled(void **state) {
  (void)state;
  cradle_major_hold(f.m, true);
  cradle_major_hold(f.m, true);
  cradle_major_hold(f.m, false);
  churn(8 * MIB);
  for (int i = 0; i < 100; i++) (void)cradle_new_array(f.m, T_STRING, 100 * KIB);
  cradle_statistics stats = fixture_stats(&f);
  assert_int_equal(stats.major_collections, 0);
  assert_int_equal(stats.major_steps, 0);
  assert_true(stats.minor_collections > 10);
  assert_true(stats.old_bytes > (f.stressed ? MIB / 2 : 4 * MIB));
  cradle_major_hold(f.m, false);
  churn(8 * MIB);
  assert_true(fixture_stats(&f).major_collections > 0);
}

/* Major collections stay off even if stress asks for a collection at every allocation. */
static void no_stress_major_while_disabled(void **state) {
  (void)state;
  fixture stressed;
  cradle_options options;
  fixture_options(&stressed, &options);
  options.stress_period = options.stress_major = 1;
  options.stress_seed = 0;
  fixture_open_with(&stressed, &options);
  cradle_major_hold(stressed.m, true);
  for (int i = 0; i < 100; i++) cradle_push(stressed.m, cradle_new(stressed.m, T_PAIR, sizeof(pair)));
  cradle_statistics stats = fixture_stats(&stressed);
  assert_int_equal(stats.minor_collections, 100);
  assert_int_equal(stats.major_collections, 0);
  assert_int_equal(stats.major_steps, 0);
  cradle_major_hold(stressed.m, false);
  (void)cradle_new(stressed.m, T_PAIR, sizeof(pair));
  assert_true(fixture_stats(&stressed).major_collections > 0);
  cradle_pop_many(stressed.m, 100);
  fixture_close(&stressed);
}

/* Large objects above the threshold do not each cause a minor collection. */
static void large_objects_while_disabled(void **state) {
  (void)state;
  if (f.stressed) {
    print_message("not under stress: it collects at every third allocation\n");
    skip();
  }
  cradle_major_hold(f.m, true);
  churn(8 * MIB);
  uint64_t before = fixture_stats(&f).minor_collections;
  for (int i = 0; i < 64; i++) (void)cradle_new_array(f.m, T_STRING, 33 * KIB);
  uint64_t collections = fixture_stats(&f).minor_collections - before;
  assert_in_range(collections, 16, 40);
  cradle_major_hold(f.m, false);
}

static void a_running_one_waits(void **state) {
  (void)state;
  pair *list = NULL;
  CRADLE_ROOT(f.m, list);
  for (size_t i = 0; i < 3000; i++) {
    pair *fresh = cradle_new(f.m, T_PAIR, sizeof(pair));
    fresh->rest = list;
    list = fresh;
  }
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  while (fixture_stats(&f).phase != CRADLE_PHASE_MARKING) (void)cradle_collect_step(f.m, 0);
  uint64_t steps = fixture_stats(&f).major_steps;
  cradle_major_hold(f.m, true);
  churn(MIB / 4);
  assert_int_equal(fixture_stats(&f).phase, CRADLE_PHASE_MARKING);
  assert_int_equal(fixture_stats(&f).major_steps, steps);
  assert_heap_sound(f.heap);
  cradle_major_hold(f.m, false);
  churn(8 * MIB);
  assert_true(fixture_stats(&f).major_steps > steps);
}

static void requests_are_served_while_disabled(void **state) {
  (void)state;
  cradle_major_hold(f.m, true);
  churn(4 * MIB);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  assert_int_equal(fixture_stats(&f).major_collections, 1);
  assert_true(fixture_stats(&f).old_bytes < 64 * KIB);
  while (!cradle_collect_step(f.m, 1000000)) {}
  assert_int_equal(fixture_stats(&f).major_collections, 2);
  cradle_major_hold(f.m, false);
}

static void the_maximum_collects_although_disabled(void **state) {
  (void)state;
  assert_true(cradle_heap_set_max(f.m, 12 * MIB, NULL));
  cradle_major_hold(f.m, true);
  churn(100 * MIB);
  for (int i = 0; i < 100; i++) assert_non_null(cradle_new_array(f.m, T_STRING, 2 * MIB));
  assert_true(fixture_stats(&f).major_collections > 0);
  cradle_major_hold(f.m, false);
}

static void enable_without_disable(void **state) {
  (void)state;
  ASSERT_MISUSE(&f, "cradle_major_hold: major collections are not held off", cradle_major_hold(f.m, false));
}

/* --- the maximum heap --- */

static void below_what_lives_is_refused(void **state) {
  (void)state;
  cradle_error error;
  string *text = cradle_new_array(f.m, T_STRING, 20 * MIB);
  CRADLE_ROOT(f.m, text);
  assert_false(cradle_heap_set_max(f.m, 16 * MIB, &error));
  size_t least = error.accepted;
  char named[64];
  snprintf(named, sizeof named, "; at least %zu", least);
  if (strstr(error.message, "cradle_heap_set_max: too small for the live objects") == NULL ||
      strstr(error.message, named) == NULL)
    fail_msg("the message is \"%s\"", error.message);
  assert_string_equal(error.option, "heap_max_bytes");
  string *more = cradle_new_array(f.m, T_STRING, 40 * MIB); /* as before: there is no maximum */
  assert_non_null(more);
  assert_in_range(least, 20 * MIB, 30 * MIB);
  assert_true(cradle_heap_set_max(f.m, least, &error));
  assert_string_equal(error.message, "");
  assert_false(cradle_heap_set_max(f.m, least - 2 * MIB, NULL));
  assert_null(cradle_new_array(f.m, T_STRING, 5 * MIB));
  assert_int_equal(text->length, 20 * MIB);
}

static void what_is_dead_goes_first(void **state) {
  (void)state;
  string *text = cradle_new_array(f.m, T_STRING, 60 * MIB);
  text->byte[0] = 1;
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  text = NULL;
  pair *scattered[64] = {NULL};
  for (size_t i = 0; i < 64; i++) {
    churn(300 * KIB);
    scattered[i] = cradle_new(f.m, T_PAIR, sizeof(pair));
    cradle_push(f.m, scattered[i]);
  }
  assert_true(cradle_heap_set_max(f.m, 10 * MIB, NULL));
  cradle_statistics stats = fixture_stats(&f);
  assert_true(stats.arenas_committed * stats.arena_bytes <= 10 * MIB);
  assert_null(cradle_new_array(f.m, T_STRING, 10 * MIB));
  churn(20 * MIB);
  stats = fixture_stats(&f);
  assert_true(stats.arenas_committed * stats.arena_bytes <= 10 * MIB);
  cradle_pop_many(f.m, 64);
}

/* So an out-of-memory handler may raise it. */
static void raising_it_by_two_arenas_collects_nothing(void **state) {
  (void)state;
  assert_true(cradle_heap_set_max(f.m, 12 * MIB, NULL));
  size_t count = 0;
  for (string *text; (text = cradle_new_array(f.m, T_STRING, 100 * KIB)) != NULL; count++) cradle_push(f.m, text);
  cradle_statistics before = fixture_stats(&f);
  assert_true(cradle_heap_set_max(f.m, before.heap_max_bytes + 4 * MIB, NULL));
  assert_int_equal(fixture_stats(&f).minor_collections, before.minor_collections);
  assert_int_equal(fixture_stats(&f).major_collections, before.major_collections);
  for (int i = 0; i < 16; i++, count++) {
    string *text = cradle_new_array(f.m, T_STRING, 100 * KIB);
    assert_non_null(text);
    cradle_push(f.m, text);
  }
  cradle_pop_many(f.m, count);
}

static void it_bounds_the_threshold_and_what_is_kept(void **state) {
  (void)state;
  string *text = cradle_new_array(f.m, T_STRING, 20 * MIB);
  CRADLE_ROOT(f.m, text);
  for (int i = 0; i < 20; i++) cradle_collect(f.m, CRADLE_COLLECT_FULL); /* it grows by a share each time */
  cradle_statistics before = fixture_stats(&f);
  assert_true(before.threshold_bytes > 28 * MIB);
  assert_true(cradle_heap_set_max(f.m, 0, NULL));
  assert_true(cradle_heap_set_max(f.m, 100 * MIB, NULL));
  assert_int_equal(fixture_stats(&f).threshold_bytes, before.threshold_bytes);
  assert_true(cradle_heap_set_max(f.m, 28 * MIB, NULL));
  assert_int_equal(fixture_stats(&f).threshold_bytes, 28 * MIB);
  assert_true(cradle_heap_set_max(f.m, 0, NULL));
  text = NULL;
  cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
  cradle_statistics after = fixture_stats(&f);
  if (getenv("CRADLE_QUARANTINE") == NULL)                              /* with one, what is empty goes at once */
    assert_true(after.arenas_committed * after.arena_bytes > 10 * MIB); /* empty, and kept for what comes */
  assert_true(cradle_heap_set_max(f.m, 10 * MIB, NULL));
  assert_true(fixture_stats(&f).arenas_committed * after.arena_bytes <= 10 * MIB);
  assert_int_equal(fixture_stats(&f).major_collections, after.major_collections); /* they go without one */
}

static void it_can_be_raised_and_lifted(void **state) {
  (void)state;
  assert_true(cradle_heap_set_max(f.m, 12 * MIB, NULL));
  assert_null(cradle_new_array(f.m, T_STRING, 16 * MIB));
  assert_true(cradle_heap_set_max(f.m, 40 * MIB, NULL));
  assert_int_equal(fixture_stats(&f).heap_max_bytes, 40 * MIB);
  assert_non_null(cradle_new_array(f.m, T_STRING, 16 * MIB));
  assert_null(cradle_new_array(f.m, T_STRING, 60 * MIB));
  assert_true(cradle_heap_set_max(f.m, 0, NULL));
  assert_int_equal(fixture_stats(&f).heap_max_bytes, 0);
  assert_non_null(cradle_new_array(f.m, T_STRING, 60 * MIB));
  assert_false(cradle_heap_set_max(f.m, 1, NULL));
  ASSERT_MISUSE(&f, "cradle_heap_set_max: may collect, but a no-collection region is open",
                cradle_no_collect_begin(f.m);
                (void)!cradle_heap_set_max(f.m, 0, NULL));
}

/* With a quarantine, pages of dead large objects count as used until they are opened. A maximum that fits once they are
 * opened needs no major collection. */
static void closed_pages_are_opened_before_more_is_collected(void **state) {
  (void)state;
  fixture closed;
  cradle_options options;
  cradle_error error;
  fixture_options(&closed, &options);
  fixture_unstress(&options);
  options.quarantine = 2;
  options.nursery_bytes = (size_t)64 << 10;
  options.major_min_bytes = 64 * MIB;
  fixture_open_with(&closed, &options);
  for (int i = 0; i < 8; i++) (void)cradle_new_array(closed.m, T_STRING, MIB);
  assert_int_equal(fixture_stats(&closed).arenas_in_use, 8);
  assert_true(cradle_heap_set_max(closed.m, 12 * MIB, &error));
  assert_int_equal(fixture_stats(&closed).arenas_in_use, 0);
  assert_int_equal(fixture_stats(&closed).major_collections, 0);
  fixture_close(&closed);
}

/* A reservation that is full of what lives: no maximum that does not bind asks for room. */
static void it_can_be_lifted_where_all_addresses_are_used(void **state) {
  (void)state;
  fixture full;
  cradle_options options;
  cradle_error error;
  fixture_options(&full, &options);
  fixture_unstress(&options);
  options.nursery_bytes = (size_t)64 << 10;
  options.reserve_bytes = (size_t)16 << 20;
  fixture_open_with(&full, &options);
  size_t count = 0;
  for (void *large; (large = cradle_new_array(full.m, T_STRING, (size_t)1 << 20)) != NULL; count++)
    cradle_push(full.m, large);
  for (void *small; (small = cradle_new_array(full.m, T_STRING, 8000)) != NULL; count++) cradle_push(full.m, small);
  uint64_t before = fixture_stats(&full).major_collections;
  assert_true(cradle_heap_set_max(full.m, (size_t)1 << 40, &error));
  assert_true(cradle_heap_set_max(full.m, 0, &error));
  assert_int_equal(fixture_stats(&full).major_collections, before);
  assert_false(cradle_heap_set_max(full.m, (size_t)8 << 20, &error));
  cradle_pop_many(full.m, count);
  full.stressed = false;
  fixture_close(&full);
}

/* Memory outside of the heap counts for pacing but not for the maximum: more of it than the maximum does not make the
 * heap collect all the time. */
static void external_memory_above_the_maximum(void **state) {
  (void)state;
  fixture small;
  cradle_options options;
  cradle_error error;
  fixture_options(&small, &options);
  fixture_unstress(&options);
  options.verify = false;
  options.nursery_bytes = (size_t)256 << 10;
  options.heap_max_bytes = 32 * MIB;
  for (int later = 0; later < 2; later++) {
    if (later) options.heap_max_bytes = 0;
    fixture_open_with(&small, &options);
    cradle_external_memory(small.m, 100 * MIB);
    if (later) assert_true(cradle_heap_set_max(small.m, 32 * MIB, &error));
    for (int i = 0; i < 20; i++)
      cradle_collect(small.m, CRADLE_COLLECT_MAJOR); /* the threshold grows by a factor each time */
    cradle_statistics before = fixture_stats(&small);
    for (int i = 0; i < 300000; i++) (void)cradle_new(small.m, T_PAIR, sizeof(pair));
    cradle_statistics after = fixture_stats(&small);
    assert_true(after.minor_collections - before.minor_collections > 20);
    assert_true(after.major_collections - before.major_collections < 3);
    cradle_external_memory(small.m, -100 * (int64_t)MIB);
    fixture_close(&small);
  }
}

static void ask_for_a_safepoint(void *data, const cradle_event *event) {
  (void)event;
  if (*(int *)data > 0) cradle_safepoint_request(f.m);
  *(int *)data -= 1;
}

static void a_listener_may_ask_for_a_safepoint(void **state) {
  (void)state;
  int times = 1;
  f.listener = ask_for_a_safepoint, f.listener_data = &times;
  f.listens_to = EVENT_BIT(CRADLE_EVENT_MINOR_END);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  uint64_t before = fixture_stats(&f).minor_collections;
  cradle_safepoint(f.m);
  assert_int_equal(fixture_stats(&f).minor_collections, before + 1);
  f.listens_to = 0;
}

/* --- more than the address space holds --- */

typedef struct heard_notes {
  char text[1000];
} heard_notes;

static void hear_notes(void *data, const cradle_event *event) {
  heard_notes *notes = data;
  if (event->kind == CRADLE_EVENT_NOTE)
    strncat(notes->text, event->u.note.text, sizeof notes->text - strlen(notes->text) - 1);
}

/* A size that the heap cannot get is reported, and the statistics show what the heap has. */
CRADLE_UNCHECKED_COLLECTION static void sizes_beyond_the_address_space(void **state) {
  (void)state;
  fixture small;
  heard_notes notes = {""};
  cradle_options options;
  fixture_options(&small, &options);
  fixture_unstress(&options);
  options.nursery_bytes = 256 * MIB;
  options.reserve_bytes = 16 * MIB;
  options.heap_max_bytes = 1024 * MIB;
  options.listener = (cradle_listener){hear_notes, &notes};
  fixture_open_with(&small, &options);
  assert_non_null(
      strstr(notes.text, "the maximum heap cannot be reached: the address space for the old generation is smaller"));
  assert_non_null(strstr(notes.text, "the nursery's end is lowered"));
  uint64_t nursery = fixture_stats(&small).nursery_bytes, filled = 0;
  assert_in_range(nursery, MIB, 16 * MIB);
  for (; fixture_stats(&small).minor_collections == 0; filled += sizeof(pair))
    (void)cradle_new(small.m, T_PAIR, sizeof(pair));
  assert_in_range(filled, nursery / 2, nursery + 2 * sizeof(pair)); /* less of it is handed out for the pauses */
  fixture_close(&small);
}

/* --- callbacks that use the heap: no handler can go on from the middle of a collection, so a child process tries each
 * --- */

CRADLE_UNCHECKED_COLLECTION static void allocating_listener(void *data, const cradle_event *event) {
  (void)data, (void)event;
  (void)cradle_new(f.m, T_PAIR, sizeof(pair));
}

CRADLE_UNCHECKED_COLLECTION static void collecting_listener(void *data, const cradle_event *event) {
  (void)data, (void)event;
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
}

static void typing_listener(void *data, const cradle_event *event) {
  (void)data, (void)event;
  uint32_t late = cradle_type_add(f.heap, &(cradle_type){.name = "late", .size = 16});
  fail_msg("type %u was added", late);
}

static bool armed; /* the trace callback allocates from now on */

CRADLE_UNCHECKED_COLLECTION static void allocating_trace(void *user, void *object, cradle_visitor *visitor) {
  (void)user;
  cradle_visit(visitor, (void **)object + 1, CRADLE_KIND_REFERENCE);
  if (armed) (void)cradle_new(f.m, T_PAIR, sizeof(pair));
}

static void arm(void *data, const cradle_event *event) {
  (void)data, (void)event;
  armed = true;
}

/* Destructors run while a listener is told of the collection around them: each is refused with its own words. */
static bool destructors_allocate; /* in child processes only */
CRADLE_UNCHECKED_COLLECTION static void destroy_doomed(void *user, void *object) {
  (void)user;
  (void)object;
  if (destructors_allocate) (void)cradle_new(f.m, T_PAIR, sizeof(pair));
}

static void listeners_and_destructors(void **state) {
  (void)state;
  uint32_t doomed = cradle_type_add(f.heap, &(cradle_type){.name = "doomed", .size = 16, .destructor = destroy_doomed});
  f.listener = allocating_listener;
  for (int old = 0; old < 2; old++) {
    void *object = cradle_new_registered(f.m, doomed, 16);
    CRADLE_ROOT(f.m, object);
    if (old) cradle_collect(f.m, CRADLE_COLLECT_FULL);
    object = NULL;
    destructors_allocate = true;
    assert_refused_in_child(&f, collect_compacting, "cradle_new: called from a destructor");
    f.listens_to = EVENT_BIT(old ? CRADLE_EVENT_MAJOR_BEGIN : CRADLE_EVENT_MINOR_BEGIN);
    assert_refused_in_child(&f, collect_compacting, "cradle_new: called from a listener");
    f.listens_to = 0;
    destructors_allocate = false;
  }
}

static bool walk_again(void *data, const cradle_object_info *info) {
  (void)info;
  return cradle_heap_walk(data, walk_again, data) == CRADLE_WALK_COMPLETE;
}

static void walk_in_a_walk(cradle_mutator *m) {
  cradle_mutator_free(m);
  (void)cradle_heap_walk(f.heap, walk_again, f.heap);
}

static void walks_do_not_nest(void **state) {
  (void)state;
  static void *kept;
  kept = cradle_new(f.m, T_PAIR, sizeof(pair));
  cradle_global_root_add(f.heap, &kept, CRADLE_KIND_REFERENCE);
  assert_refused_in_child(&f, walk_in_a_walk, "cradle_heap_walk: called from a callback of a heap walk");
  cradle_global_root_remove(f.heap, &kept);
}

CRADLE_UNCHECKED_COLLECTION static void free_heap(cradle_mutator *m) {
  cradle_push(m, cradle_new(m, T_PAIR, sizeof(pair))); /* a stressed run that moves nothing is refused */
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  (void)cradle_pop(m);
  cradle_mutator_free(m);
  cradle_heap_free(f.heap);
}

static void listeners_that_use_the_heap(void **state) {
  (void)state;
  for (int kind = CRADLE_EVENT_MINOR_BEGIN; kind <= CRADLE_EVENT_PAUSE; kind++) {
    f.listens_to = EVENT_BIT(kind);
    f.listener = allocating_listener;
    assert_refused_in_child(&f, collect_compacting, "cradle_new: called from a listener");
    f.listener = collecting_listener;
    assert_refused_in_child(&f, collect_compacting, "cradle_collect: called from a listener");
    f.listener = typing_listener;
    assert_refused_in_child(&f, collect_compacting, "cradle_type_add: called from a listener");
  }
  f.listens_to = EVENT_BIT(CRADLE_EVENT_HEAP_DESTROYED); /* when there is no mutator any more, too */
  assert_refused_in_child(&f, free_heap, "cradle_type_add: called from a listener");
  f.listens_to = 0;
}

static int roots_visited, room_found;
static void fast_root(void *data, cradle_visitor *visitor) {
  (void)data, (void)visitor;
  roots_visited++;
  room_found += cradle_new_fast(f.m, T_PAIR, sizeof(pair)) != NULL;
}

/* Nor is there room where a major collection that is due begins, between the minor one and its first increment. */
static void no_room_for_a_root_callback(void **state) {
  (void)state;
  roots_visited = room_found = 0;
  cradle_root_callback_set(f.heap, fast_root, NULL);
  uint64_t before = fixture_stats(&f).major_collections;
  churn(16 * MIB);
  cradle_root_callback_set(f.heap, NULL, NULL);
  assert_true(f.stressed || fixture_stats(&f).major_collections > before);
  assert_true(roots_visited > 0);
  assert_int_equal(room_found, 0);
}

/* In the marking of a major collection, which comes after the minor one has made the nursery usable again, too. */
static void trace_callbacks_that_allocate(void **state) {
  (void)state;
  static const cradle_event_kind kinds[] = {CRADLE_EVENT_MINOR_BEGIN, CRADLE_EVENT_MAJOR_BEGIN,
                                            CRADLE_EVENT_COMPACT_BEGIN};
  uint32_t type = cradle_type_add(f.heap, &(cradle_type){.name = "traced", .size = 16, .trace = allocating_trace});
  void *traced = cradle_new(f.m, type, 16);
  CRADLE_ROOT(f.m, traced);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    f.listener = arm;
    f.listens_to = EVENT_BIT(kinds[i]);
    assert_refused_in_child(&f, collect_compacting, "called from a callback while a collection runs");
    f.listens_to = 0;
    if (i == 0) cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_FIXTURE(no_major_begins_while_disabled),
      WITH_FIXTURE(no_stress_major_while_disabled),
      WITH_FIXTURE(large_objects_while_disabled),
      WITH_FIXTURE(a_running_one_waits),
      WITH_FIXTURE(requests_are_served_while_disabled),
      WITH_FIXTURE(the_maximum_collects_although_disabled),
      WITH_FIXTURE(enable_without_disable),
      WITH_FIXTURE(below_what_lives_is_refused),
      WITH_FIXTURE(what_is_dead_goes_first),
      WITH_FIXTURE(raising_it_by_two_arenas_collects_nothing),
      WITH_FIXTURE(it_bounds_the_threshold_and_what_is_kept),
      WITH_FIXTURE(it_can_be_raised_and_lifted),
      WITH_FIXTURE(closed_pages_are_opened_before_more_is_collected),
      WITH_FIXTURE(external_memory_above_the_maximum),
      WITH_FIXTURE(it_can_be_lifted_where_all_addresses_are_used),
      WITH_FIXTURE(a_listener_may_ask_for_a_safepoint),
      WITH_FIXTURE(listeners_that_use_the_heap),
      WITH_FIXTURE(no_room_for_a_root_callback),
      WITH_FIXTURE(listeners_and_destructors),
      cmocka_unit_test(sizes_beyond_the_address_space),
      WITH_FIXTURE(walks_do_not_nest),
      WITH_FIXTURE(trace_callbacks_that_allocate),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
