/* A heap that is freed leaves nothing of the C library's memory behind, whatever was used of it. Builds with sanitizers
 * look for leaks in every test; this one needs none. */
#include <stdio.h>

#include "tests/support/allocated.h"
#include "tests/support/services.h"

static uint64_t take_sample(void *data, cradle_mutator *mutator, const cradle_sample *sample) {
  (void)data, (void)mutator, (void)sample;
  return 0;
}

static void settle(void *data, const cradle_sample *sample, cradle_fate fate) {
  (void)data, (void)sample, (void)fate;
}

static bool take_bytes(void *data, const void *bytes, size_t count) {
  (void)data, (void)bytes, (void)count;
  return true;
}

static void report_nothing(void *data, cradle_visitor *visitor) {
  (void)data, (void)visitor;
}

static void choose_all(cradle_options *options) {
  fixture_unstress(options);
  options->sampler =
      (cradle_sampler){.interval_bytes = CRADLE_SAMPLE_MIN_BYTES, .sampled = take_sample, .settled = settle};
}

static void choose_quarantine(cradle_options *options) {
  choose_all(options);
  options->quarantine = 2;
}

/* malloc keeps some freed pieces of each size for the thread; after so many lives it keeps no more. */
enum { LIVES_FIRST = 20, LIVES = 3, ROUNDS_MOST = 4 };

enum { COUNT = 300 }; /* enough that each table grows */

/* Uses all that has memory of its own. */
CRADLE_UNCHECKED_COLLECTION static void use(fixture *f) {
  static void *globals[COUNT];
  cradle_handle handles[COUNT];
  cradle_weak_set *set = cradle_weak_set_new(f->m, NULL, NULL);
  for (size_t i = 0; i < COUNT; i++) {
    (void)cradle_type_add(f->heap, &(cradle_type){.name = "late", .size = 16 + 8 * i});
    globals[i] = new_pair(f, NULL);
    cradle_global_root_add(f->heap, &globals[i], CRADLE_KIND_REFERENCE);
    handles[i] = cradle_handle_new(f->m, new_pair(f, NULL));
    (void)cradle_id(f->m, globals[i]);
    cradle_weak_set_add(set, i, new_pair(f, NULL));
    cradle_push(f->m, CRADLE_NEW_WITH(f->m, pair, T_PAIR, CRADLE_PINNED));
    (void)new_weak(f, new_pair(f, NULL));
    (void)new_ephemeron(f, new_pair(f, NULL), new_pair(f, NULL));
    (void)new_final(f, i, NULL);
    (void)new_file(f, NULL, i);
    (void)cradle_new_array(f->m, T_STRING, 40000);
  }
  cradle_root_callback_set(f->heap, report_nothing, NULL);
  for (cradle_collection_kind kind = CRADLE_COLLECT_MINOR; kind <= CRADLE_COLLECT_COMPACTING; kind++)
    cradle_collect(f->m, kind);
  assert_true(cradle_heap_dump_to(f->heap, take_bytes, NULL, NULL));
  while (cradle_finalizer_next(f->m, QUEUE) != NULL) {}
  for (size_t i = 0; i < COUNT; i++) {
    cradle_unpin(f->m, (void *)(uintptr_t)*cradle_peek(f->m, i));
    if (i % 2 == 0) cradle_handle_free(f->m, handles[i]); /* the heap ends with the others open */
  }
  cradle_pop_many(f->m, COUNT);
  cradle_weak_set_free(set);
}

/* A scope that ends after its mutator was freed frees what was kept for it. */
CRADLE_UNCHECKED_COLLECTION static void live(void (*choose)(cradle_options *options)) {
  fixture f;
  services_open_with(&f, choose);
  use(&f);
  pair *outer = NULL, *inner = NULL;
  CRADLE_ROOT(f.m, outer);
  CRADLE_ROOT(f.m, inner);
  cradle_mutator_free(f.m);
  cradle_heap_free(f.heap);
}

static void nothing_is_left(void **state) {
  (void)state;
  static void (*const choices[])(cradle_options *options) = {choose_all, choose_quarantine};
  for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
    for (int times = 0; times < LIVES_FIRST; times++) live(choices[i]);
    /* What is left is left each time. malloc's own caches take a few rounds to settle. */
    size_t before = 0, after = allocated_bytes();
    for (int rounds = 0; rounds < ROUNDS_MOST && after != before; rounds++) {
      before = after;
      for (int times = 0; times < LIVES; times++) live(choices[i]);
      after = allocated_bytes();
    }
    assert_int_equal(after, before);
  }
}

/* Options that are refused late: each part that was made before is unmade. */
static void nothing_is_left_of_a_heap_that_failed(void **state) {
  (void)state;
  static const cradle_type types[] = {{.name = "right", .size = 16}};
  cradle_error error;
  for (int times = 0; times < LIVES_FIRST + LIVES; times++) {
    size_t before = allocated_bytes();
    cradle_options options;
    cradle_options_init(&options);
    options.types = types;
    options.type_count = 1;
    options.verify = true;
    options.hugepages_nursery = CRADLE_HUGEPAGES_HUGETLB_STRICT;
    cradle_hardware hardware = {
        .page_bytes = (size_t)sysconf(_SC_PAGESIZE), .l2_bytes = 1 << 20, .memory_bytes = (size_t)1 << 30};
    options.hardware = &hardware;
    assert_null(cradle_heap_new(&options, &error));
    assert_string_equal(error.option, "hugepages_nursery");
    if (times >= LIVES_FIRST) assert_int_equal(allocated_bytes(), before);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_is_left),
      cmocka_unit_test(nothing_is_left_of_a_heap_that_failed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
