/* Tests a heap that never collects, for programs that do not report their roots yet. */
#include "tests/support/services.h"

#include "tests/inside.h"

static fixture f;

static void turn_off(cradle_options *options) {
  fixture_unstress(options);
  options->gc = CRADLE_GC_OFF;
  if (options->nursery_bytes == (size_t)64 << 10) options->nursery_bytes = (size_t)4 << 20;
}

CRADLE_UNCHECKED_COLLECTION static int open_off(void **state) {
  (void)state;
  services_open_with(&f, turn_off);
  return 0;
}

CRADLE_UNCHECKED_COLLECTION static int close_off(void **state) {
  (void)state;
  cradle_mutator_free(f.m);
  cradle_heap_free(f.heap);
  return 0;
}

/* More than a nursery of the usual size, held by nothing but C variables. */
static void nothing_moves_and_nothing_dies(void **state) {
  (void)state;
  enum { COUNT = 10000 };
  pair *list = NULL;
  for (uint64_t i = 0; i < COUNT; i++) {
    pair *made = cradle_new(f.m, T_PAIR, sizeof(pair));
    made->rest = list;
    list = made;
  }
  vector *large = cradle_new_array(f.m, T_VECTOR, 100000);
  cradle_store(f.m, large, &large->item[99999], list);
  uint64_t count = 0;
  for (pair *each = list; each != NULL; each = each->rest) count++;
  assert_int_equal(count, COUNT);
  assert_heap_sound(f.heap);
  cradle_statistics stats = fixture_stats(&f);
  assert_int_equal(stats.minor_collections, 0);
  assert_true(stats.used_bytes >= COUNT * sizeof(pair) + 800000);
}

static void a_collection_stops_the_program(void **state) {
  (void)state;
  static const char words[] =
      "a collection was asked for, but collection is off (CRADLE_GC=off, options.gc): the program must not "
      "ask until it reports its roots";
  ASSERT_MISUSE(&f, words, cradle_collect(f.m, CRADLE_COLLECT_MINOR));
  ASSERT_MISUSE(&f, words, cradle_collect(f.m, CRADLE_COLLECT_FULL));
  ASSERT_MISUSE(&f, words, (void)cradle_collect_step(f.m, 1000));
  cradle_safepoint_request(f.m);
  ASSERT_MISUSE(&f, words, cradle_safepoint(f.m));
}

static void a_full_nursery_stops_the_program(void **state) {
  (void)state;
  size_t bytes = inside_nursery(f.heap)->bytes;
  ASSERT_MISUSE(&f, "there is no room, but collection is off",
                for (size_t i = 0; i <= bytes / 1024; i++) cradle_new_array(f.m, T_STRING, 1008));
  assert_true(nursery_filled(&f.heap->space) > bytes - 2048);
}

/* Replaces the test's heap by one for which no nursery size is given. */
CRADLE_UNCHECKED_COLLECTION static void open_with_maximum(size_t max, const cradle_hardware *hardware) {
  cradle_mutator_free(f.m);
  cradle_heap_free(f.heap);
  cradle_options options;
  fixture_options(&f, &options);
  turn_off(&options);
  options.nursery_bytes = 0;
  options.heap_max_bytes = max;
  options.hardware = hardware;
  fixture_open_with(&f, &options);
}

static void memory_for_large_objects_ends(void **state) {
  (void)state;
  open_with_maximum((size_t)16 << 20, NULL);
  ASSERT_MISUSE(&f, "collection is off", for (int i = 0; i < 100; i++) cradle_new_array(f.m, T_STRING, 1 << 20));
}

/* The nursery takes most of the maximum heap, and leaves two arenas. */
static void the_nursery_has_what_there_is(void **state) {
  (void)state;
  open_with_maximum((size_t)64 << 20, NULL);
  assert_int_equal(inside_nursery(f.heap)->bytes, (size_t)48 << 20);
  for (int i = 0; i < 1000000; i++) cradle_new(f.m, T_PAIR, sizeof(pair));
  assert_int_equal(fixture_stats(&f).minor_collections, 0);
  open_with_maximum((size_t)5 << 20, NULL);
  assert_int_equal(inside_nursery(f.heap)->bytes, (size_t)1 << 20);
}

/* A cgroup that is full kills: the heap keeps below it, large objects included. */
static void a_cgroup_is_respected(void **state) {
  (void)state;
  cradle_hardware hardware = f.heap->hardware;
  hardware.group_bytes = hardware.memory_bytes = (size_t)256 << 20;
  open_with_maximum(0, &hardware);
  assert_int_equal(f.heap->options.heap_max_bytes, (size_t)192 << 20);
  assert_int_equal(inside_nursery(f.heap)->bytes, (size_t)144 << 20);
}

static void a_pin_is_the_address(void **state) {
  (void)state;
  pair *object = cradle_new(f.m, T_PAIR, sizeof(pair));
  assert_ptr_equal(cradle_pin(f.m, object), object);
  assert_ptr_equal(cradle_pin(f.m, object), object);
  assert_heap_sound(f.heap);
  cradle_unpin(f.m, object);
  pair *old = cradle_new_with(f.m, T_PAIR, cradle_array_layout_of(sizeof(pair), 0, 0), 0, CRADLE_PINNED);
  cradle_unpin(f.m, old);
  assert_heap_sound(f.heap);
}

static void tables_go_on(void **state) {
  (void)state;
  pair *object = cradle_new(f.m, T_PAIR, sizeof(pair));
  cradle_handle handle = cradle_handle_new(f.m, object);
  uint64_t hash = cradle_identity_hash(f.m, object);
  assert_ptr_equal(cradle_handle_get(f.m, handle), object);
  assert_int_equal(cradle_identity_hash(f.m, object), hash);
  cradle_handle_free(f.m, handle);
  weak *reference = new_weak(&f, object);
  assert_ptr_equal(cradle_weak_get(f.m, &reference->to), object);
  assert_heap_sound(f.heap);
}

/* The objects outlive the mutator, and each is destroyed once, with the heap. */
static void another_mutator_goes_on(void **state) {
  (void)state;
  static int closed;
  closed = 0;
  pair *first = cradle_new(f.m, T_PAIR, sizeof(pair));
  cradle_handle handle = cradle_handle_new(f.m, first);
  for (int i = 0; i < 100; i++) new_file(&f, &closed, 10);
  cradle_mutator_free(f.m);
  assert_true(space_used_bytes(&f.heap->space) >= sizeof(pair) + 100 * sizeof(file));
  f.m = cradle_mutator_new(f.heap);
  f.checkpoint = cradle_checkpoint_save(f.m);
  pair *second = cradle_new(f.m, T_PAIR, sizeof(pair));
  assert_ptr_equal(cradle_handle_get(f.m, handle), first);
  assert_ptr_not_equal(second, first);
  new_file(&f, &closed, 10);
  assert_heap_sound(f.heap);
  cradle_handle_free(f.m, handle);
  cradle_mutator_free(f.m);
  assert_int_equal(closed, 0);
  cradle_heap_free(f.heap);
  assert_int_equal(closed, 101);
  services_open_with(&f, turn_off);
}

static void a_fork_leaves_all_where_it_is(void **state) {
  skip_without_fork();
  (void)state;
  pair *object = cradle_new(f.m, T_PAIR, sizeof(pair));
  object->rest = object;
  static int closed;
  closed = 0;
  new_file(&f, &closed, 10);
  cradle_error error;
  if (!cradle_fork_prepare(f.heap, &error)) fail_msg("%s", error.message);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    cradle_fork_done(f.heap);
    bool right = object->rest == object && cradle_new(f.m, T_PAIR, sizeof(pair)) != (void *)object && closed == 0;
    new_file(&f, &closed, 10);
    cradle_mutator_free(f.m);
    cradle_heap_free(f.heap);
    _exit(right && closed == 2 ? 0 : 1);
  }
  cradle_fork_done(f.heap);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_int_equal(closed, 0);
  assert_ptr_equal(object->rest, object);
}

static void pressure_asks_for_nothing(void **state) {
  (void)state;
  cradle_external_pressure(f.m, (size_t)1 << 30);
  cradle_safepoint(f.m);
  assert_int_equal(fixture_stats(&f).minor_collections, 0);
}

static void what_collects_does_not_go_with_it(void **state) {
  (void)state;
  cradle_options options;
  cradle_error error;
  cradle_options_init(&options);
  options.gc = CRADLE_GC_OFF;
  options.stress_period = 1;
  assert_false(cradle_options_check(&options, &error));
  assert_string_equal(error.option, "stress_period");
  options.stress_period = 0;
  options.quarantine = 4;
  assert_false(cradle_options_check(&options, &error));
  assert_string_equal(error.option, "quarantine");
  options.quarantine = 0;
  assert_true(cradle_options_check(&options, &error));
  options.gc = (cradle_gc)2;
  assert_false(cradle_options_check(&options, &error));
  assert_string_equal(error.option, "gc");
}

#define OFF(test) cmocka_unit_test_setup_teardown(test, open_off, close_off)

int main(void) {
  const struct CMUnitTest tests[] = {
      OFF(nothing_moves_and_nothing_dies),
      OFF(a_collection_stops_the_program),
      OFF(a_full_nursery_stops_the_program),
      OFF(memory_for_large_objects_ends),
      OFF(the_nursery_has_what_there_is),
      OFF(a_cgroup_is_respected),
      OFF(a_pin_is_the_address),
      OFF(tables_go_on),
      OFF(another_mutator_goes_on),
      OFF(a_fork_leaves_all_where_it_is),
      OFF(pressure_asks_for_nothing),
      cmocka_unit_test(what_collects_does_not_go_with_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
