/* Tests the decisions of the adaptive nursery, by feeding it made-up minor collections. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <cradle/cradle.h>

#include "tests/inside.h"

#define MIB ((size_t)1 << 20)
/* The size that the heap starts from, so that the machine's caches do not matter. */
#define BASE (2 * MIB)
#define MOST (4 * BASE)
#define LEAST (BASE / 16)
/* Collections between two decisions, of a trial, in which a smaller size must be enough, that make a slow rate count,
 * and that the first trial that fails makes the next one wait for. */
#define DECISION 4
#define TRIAL 2
#define SMALLER 16
#define SLOW 16
#define FIRST_WAIT 8
/* The bytes of a promoted object, and what a byte of it takes, in ns (gc/young/cost.c). */
#define OBJECT_BYTES 64
#define PRICE (0.3 + 30.0 / OBJECT_BYTES)
/* The assumed time to promote a byte, before any measurement. */
#define NS_PER_BYTE 0.25

static cradle_heap *heap;
/* Why the size changed last. */
static const char *reason;
/* The last note, and how many there were. */
static cradle_event last_note;
static int notes;

static void note_reason(void *data, const cradle_event *event) {
  (void)data;
  if (event->kind == CRADLE_EVENT_NURSERY_SIZED) reason = event->u.nursery.reason;
  if (event->kind != CRADLE_EVENT_NOTE) return;
  last_note = *event;
  notes++;
}

/* In a pause of a heap that has a thread, with the major collection in this phase. */
static void run_beside(crd_major_phase phase) {
  heap->report.state = HEAP_COLLECTING;
  inside_major(heap)->phase = phase;
  inside_marker(heap)->thread = (crd_thread *)heap;
}

static void run_alone(void) {
  heap->report.state = HEAP_MUTATING;
  inside_major(heap)->phase = MAJOR_IDLE;
  inside_marker(heap)->thread = NULL;
}

static int open_heap(void **state) {
  (void)state;
  static const cradle_type type = {.name = "nothing", .size = 16};
  static const cradle_hardware hardware = {.page_bytes = 4096, .l2_bytes = BASE / 4, .l3_bytes = 2 * MOST};
  cradle_options options;
  cradle_error error;
  cradle_options_init(&options);
  options.hardware = &hardware;
  options.types = &type;
  options.type_count = 1;
  options.nursery_bytes = MOST; /* has all of it committed */
  options.pause_ns = 0;
  options.listener.function = note_reason;
  heap = cradle_heap_new(&options, &error);
  if (heap == NULL) fail_msg("%s", error.message);
  assert_true(crd_nursery_resize(&heap->young, BASE, "test"));
  heap->options.nursery_bytes = 0;
  crd_adapt_init(&heap->young);
  return 0;
}

static int close_heap(void **state) {
  (void)state;
  run_alone();
  cradle_heap_free(heap);
  return 0;
}

/* Reports collections: so many, of so many bytes, of which so many in a thousand survive. They take as long as the rule
 * expects. */
static void collect_of(int count, size_t filled, unsigned per_mille) {
  for (int i = 0; i < count; i++) {
    cradle_event minor = {.kind = CRADLE_EVENT_MINOR_END};
    minor.u.minor.nursery_bytes = filled;
    minor.u.minor.promoted_bytes = filled / 1000 * per_mille;
    minor.u.minor.promoted_objects = minor.u.minor.promoted_bytes / OBJECT_BYTES;
    minor.u.minor.duration_ns =
        (uint64_t)((double)minor.u.minor.promoted_bytes * heap->young.adapt.ns_per_promoted_byte);
    crd_adapt_after_minor(&heap->young, &minor);
  }
}

static crd_curve *curve(void) {
  return &heap->marking.curve;
}

/* As if so many in a thousand had survived for long. */
static void settle_at(unsigned per_mille) {
  curve()->promoted = per_mille / 1000.0;
  heap->young.adapt.scale = 1;
}

#define SAMPLES 100
/* Bins of ages: of the second half of the base, the next as wide as the base, and so on. */
enum { BIN_HALF = 7, BIN_BASE, BIN_TWICE };

/* Minor collections have seen that so many percent live at the ages of a bin. */
static void lives(int bin, int percent) {
  uint64_t age = (CURVE_FIRST_BYTES << bin) - 1;
  for (int i = 0; i < SAMPLES; i++) crd_curve_note(curve(), age, i < percent ? 8 : 0);
  crd_curve_settle(curve());
}

/* All that is younger than the second half of the base lives, and so much of that. */
static void half_lives(int percent) {
  for (int bin = 0; bin < BIN_HALF; bin++) lives(bin, 100);
  lives(BIN_HALF, percent);
}

static void marking_says(int bin, double share) {
  curve()->bins[bin] = (crd_curve_bin){.share = share, .source = CURVE_MARKING};
}

static void collect(int count, unsigned per_mille) {
  collect_of(count, inside_nursery(heap)->bytes, per_mille);
}

static void bounds_come_from_the_caches(void **state) {
  (void)state;
  crd_adapt *adapt = &heap->young.adapt;
  assert_int_equal(adapt->base, BASE);
  assert_int_equal(adapt->max, MOST);
  assert_int_equal(adapt->min, 128 << 10);
  assert_false(adapt->fixed);
  heap->hardware.l3_bytes = 0; /* not known */
  crd_adapt_init(&heap->young);
  assert_int_equal(adapt->max, 4 * BASE);
  heap->hardware.l3_bytes = BASE / 2;
  crd_adapt_init(&heap->young);
  assert_int_equal(adapt->max, BASE);
  heap->hardware.l3_bytes = 100 * MIB;
  crd_adapt_init(&heap->young);
  assert_int_equal(adapt->max, 50 * MIB);
  heap->hardware.memory_bytes = 40 * 100 * MIB;
  crd_adapt_init(&heap->young);
  assert_int_equal(adapt->early_max, 50 * MIB);
  assert_int_equal(adapt->max, 100 * MIB); /* a fortieth of the memory */
  heap->hardware.group_high_bytes = 40 * 60 * MIB;
  crd_adapt_init(&heap->young);
  assert_int_equal(adapt->max, 60 * MIB);
  heap->options.pause_ns = 1000000; /* with a target, the memory does not count */
  crd_adapt_init(&heap->young);
  assert_int_equal(adapt->max, 32 * MIB);
  assert_int_equal(adapt->early_max, 32 * MIB);
  heap->options.pause_ns = 0;
  inside_nursery(heap)->bytes = 8 * MIB;
  crd_adapt_init(&heap->young);
  assert_int_equal(adapt->min, MIB / 4); /* a 32nd */
  inside_nursery(heap)->bytes = 100 << 10;
  crd_adapt_init(&heap->young);
  assert_int_equal(adapt->min, 100 << 10);
  inside_nursery(heap)->bytes = BASE;
}

static void it_stays_within_the_maximum_heap(void **state) {
  (void)state;
  heap->options.heap_max_bytes = BASE + 4 * MIB;
  assert_false(crd_nursery_resize(&heap->young, MOST, "test"));
  assert_int_equal(inside_nursery(heap)->bytes, BASE);
  heap->options.heap_max_bytes = 0;
  assert_true(crd_nursery_resize(&heap->young, MOST, "test"));
  assert_false(crd_nursery_resize(&heap->young, inside_nursery(heap)->reserved_bytes + 1, "test"));
  assert_int_equal(inside_nursery(heap)->bytes, MOST);
}

/* They cost each collection the same, so it grows without a trial, and stays while they are there. */
static void many_roots_make_it_larger(void **state) {
  (void)state;
  heap->young.adapt.root_words = 85000;
  collect(5 * DECISION, 0);
  assert_int_equal(inside_nursery(heap)->bytes, BASE);
  heap->young.adapt.root_words = 95000;
  collect(1, 0);
  assert_int_equal(inside_nursery(heap)->bytes, 2 * BASE);
  collect(50 * DECISION, 0); /* hardly anything survives */
  assert_int_equal(inside_nursery(heap)->bytes, 2 * BASE);
  heap->young.adapt.root_words = 1000000;
  collect(1, 0);
  assert_int_equal(inside_nursery(heap)->bytes, MOST);
  heap->young.adapt.root_words = 10;
  collect(100 * DECISION, 0);
  assert_in_range(inside_nursery(heap)->bytes, BASE, 2 * BASE);
}

/* The pool had pages for the first nursery and has none when the nursery grows: the nursery keeps those that it had. */
static void pages_of_the_pool_are_kept(void **state) {
  (void)state;
  const cradle_hardware hardware = {.page_bytes = 4096, .l2_bytes = MIB / 4, .l3_bytes = 64 * MIB};
  cradle_options options;
  cradle_options_init(&options);
  options.hardware = &hardware;
  cradle_heap *pooled = cradle_heap_new(&options, NULL);
  assert_non_null(pooled);
  crd_nursery *nursery = inside_nursery(pooled);
  size_t before = nursery->committed_bytes;
  nursery->pool_bytes = before; /* as if */
  nursery->backing.pool_page_bytes = (size_t)1 << 60;
  assert_true(crd_nursery_resize(&pooled->young, before + MIB, "test"));
  assert_true(nursery->committed_bytes > before);
  assert_int_equal(nursery->pool_bytes, before);
  sanitize_used(nursery->start, nursery->committed_bytes);
  memset(nursery->start, 1, nursery->committed_bytes);
  crd_nursery_discard(&pooled->young, true);
  assert_int_equal(nursery->start[before - 1], 1);
  assert_int_equal(nursery->start[before], 0);
  cradle_memory memory;
  cradle_memory_report(pooled, &memory, sizeof memory);
  assert_int_equal(memory.nursery.pool_bytes, before);
  cradle_error error;
  assert_false(cradle_fork_prepare(pooled, &error));
  assert_non_null(strstr(error.message, "memory of the reserved huge-page pool is in use"));
  cradle_heap_free(pooled);
}

/* Whatever a stale reference leads to in the emptied nursery is seen under stress, to the last word. */
CRADLE_UNCHECKED_COLLECTION static void under_stress_all_that_was_filled_is_poisoned(void **state) {
  (void)state;
  enum { COUNT = 1001 };
  static const cradle_type type = {.name = "nothing", .size = 16};
  cradle_options options;
  cradle_options_init(&options);
  options.types = &type;
  options.type_count = 1;
  options.nursery_bytes = MIB;
  options.stress_period = UINT64_C(1) << 40; /* none comes */
  cradle_heap *stressed = cradle_heap_new(&options, NULL);
  cradle_mutator *m = stressed == NULL ? NULL : cradle_mutator_new(stressed);
  assert_non_null(m);
  cradle_push(m, cradle_new(m, 0, 16));
  for (int i = 1; i < COUNT; i++) (void)cradle_new(m, 0, 16);
  cradle_word *start = words_of(inside_nursery(stressed)->start);
  size_t words = (size_t)(words_of(m->free) - start), poisoned = 0;
  assert_int_equal(words, 2 * COUNT);
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  sanitize_used(start, words * 8);
  while (poisoned < words && start[poisoned] == POISON_NURSERY) poisoned++;
  sanitize_unused(start, words * 8);
  cradle_pop(m);
  cradle_mutator_free(m);
  cradle_heap_free(stressed);
  assert_int_equal(poisoned, words);
}

/* As if the reserved pool had refused three arenas: the next collection says so, once. */
static void a_pool_that_is_empty_is_told_once(void **state) {
  (void)state;
  for (int transparent = 0; transparent < 2; transparent++) {
    inside_old(heap)->arenas.backing.transparent = transparent;
    inside_old(heap)->arenas.pool_refusals = 0;
    inside_nursery(heap)->pool_noted = false;
    notes = 0;
    crd_nursery_hand_out(&heap->young, BASE);
    assert_int_equal(notes, 0);
    inside_old(heap)->arenas.pool_refusals = 3;
    for (int i = 0; i < 3; i++) crd_nursery_hand_out(&heap->young, BASE);
    assert_int_equal(notes, 1);
    assert_string_equal(last_note.u.note.text, transparent
                                                   ? "the huge-page pool refused arenas: transparent huge pages instead"
                                                   : "the huge-page pool refused arenas: base pages instead");
    assert_int_equal(last_note.u.note.wanted, 3);
    assert_int_equal(last_note.u.note.got, 0);
  }
}

/* The memory that a shrinking nursery leaves goes to the arenas. */
static void in_a_maximum_heap_the_rest_goes_back(void **state) {
  (void)state;
  for (int bounded = 0; bounded < 2; bounded++) {
    heap->options.heap_max_bytes = bounded ? 64 * MIB : 0;
    assert_true(crd_nursery_resize(&heap->young, MOST, "test"));
    crd_nursery *nursery = inside_nursery(heap);
    sanitize_used(nursery->start, nursery->committed_bytes);
    memset(nursery->start, 1, MOST);
    assert_true(crd_nursery_resize(&heap->young, BASE, "test"));
    size_t kept = nursery->lead_bytes + BASE; /* whole huge pages, of which the lead is none */
    assert_int_equal(nursery->start[BASE - 1], 1);
    assert_int_equal(nursery->start[kept], !bounded);
    sanitize_unused(nursery->start, nursery->committed_bytes);
  }
}

/* The program sets a maximum after the nursery has already shrunk. */
CRADLE_UNCHECKED_COLLECTION static void a_maximum_that_comes_later_has_the_rest_go_back(void **state) {
  (void)state;
  cradle_error error;
  cradle_mutator *mutator = cradle_mutator_new(heap);
  crd_nursery *nursery = inside_nursery(heap);
  sanitize_used(nursery->start, nursery->committed_bytes);
  nursery->start[MOST - 1] = 1;
  bool set = cradle_heap_set_max(mutator, 64 * MIB, &error);
  char last = nursery->start[MOST - 1];
  sanitize_unused(nursery->start, nursery->committed_bytes);
  cradle_mutator_free(mutator);
  assert_true(set);
  assert_int_equal(last, 0);
}

/* A chosen size leaves room in a maximum heap and in a quarantine, and does not grow beyond it. */
static void a_chosen_size_has_its_share(void **state) {
  (void)state;
  const char *reason;
  cradle_hardware machine = {.page_bytes = 4096, .l2_bytes = MIB};
  cradle_options options;
  cradle_options_init(&options);
  assert_int_equal(crd_nursery_choose(&options, &machine, &reason), 4 * MIB);
  options.heap_max_bytes = 32 * MIB;
  assert_int_equal(crd_nursery_choose(&options, &machine, &reason), 4 * MIB);
  options.heap_max_bytes = 8 * MIB + 1;
  assert_int_equal(crd_nursery_choose(&options, &machine, &reason), MIB);
  assert_non_null(strstr(reason, "its share of the maximum heap"));
  options.heap_max_bytes = 0;
  options.quarantine = CRADLE_QUARANTINE_MAX;
  assert_int_equal(crd_nursery_choose(&options, &machine, &reason), 4 * MIB);
  machine.l2_bytes = SIZE_MAX;
  size_t chosen = crd_nursery_choose(&options, &machine, &reason);
  assert_true(chosen >= 8 * MIB && chosen * (options.quarantine + 2) <= CRADLE_QUARANTINE_MAX_BYTES);
  heap->options.heap_max_bytes = 8 * BASE;
  crd_adapt_init(&heap->young);
  assert_int_equal(heap->young.adapt.max, BASE);
  heap->options.heap_max_bytes = 0;
}

/* The first size, and the reason that the log gives for it. */
static void a_first_size_has_a_reason(void **state) {
  (void)state;
  static const struct {
    size_t asked, l2, max, memory, chosen;
    cradle_gc gc;
    const char *reason;
  } cases[] = {
      {.asked = 100001, .l2 = MIB, .chosen = 100008, .reason = "asked for"},
      {.l2 = MIB, .chosen = 4 * MIB, .reason = "4 x L2"},
      {.l2 = 8 * MIB, .chosen = 32 * MIB, .reason = "4 x L2"},
      {.l2 = 8 * MIB + 1, .chosen = 32 * MIB, .reason = "4 x L2, cut to 32 MiB"},
      {.l2 = 64 << 10, .chosen = 256 << 10, .reason = "4 x L2"},
      {.l2 = (64 << 10) - 1, .chosen = 256 << 10, .reason = "4 x L2, raised to 256 KiB"},
      {.l2 = MIB, .max = 32 * MIB, .chosen = 4 * MIB, .reason = "4 x L2"},
      {.l2 = MIB,
       .max = 16 * MIB,
       .chosen = 2 * MIB,
       .reason = "4 x L2, cut to its share of the maximum heap or of the quarantine"},
      {.gc = CRADLE_GC_OFF, .asked = MIB, .chosen = MIB, .reason = "asked for"},
      {.gc = CRADLE_GC_OFF, .chosen = CRADLE_NURSERY_MAX_BYTES, .reason = "collection is off"},
      {.gc = CRADLE_GC_OFF, .memory = 64 * MIB, .chosen = 48 * MIB, .reason = "collection is off"},
      {.gc = CRADLE_GC_OFF, .memory = 64 * MIB, .max = 32 * MIB, .chosen = 24 * MIB, .reason = "collection is off"},
      {.gc = CRADLE_GC_OFF, .max = 16 * MIB, .chosen = 12 * MIB, .reason = "collection is off"},
      {.gc = CRADLE_GC_OFF, .max = 12 * MIB, .chosen = 8 * MIB, .reason = "collection is off"}, /* leaves two arenas */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cradle_options options;
    cradle_options_init(&options);
    options.nursery_bytes = cases[i].asked;
    options.heap_max_bytes = cases[i].max;
    options.gc = cases[i].gc;
    cradle_hardware machine = {.page_bytes = 4096, .l2_bytes = cases[i].l2, .memory_bytes = cases[i].memory};
    const char *why = "";
    size_t chosen = crd_nursery_choose(&options, &machine, &why);
    if (chosen != cases[i].chosen || strcmp(why, cases[i].reason) != 0)
      fail_msg("case %zu: %zu bytes, \"%s\"", i, chosen, why);
  }
}

static void a_size_that_is_asked_for_stays(void **state) {
  (void)state;
  for (int way = 0; way < 3; way++) {
    heap->options.nursery_bytes = way == 0 ? BASE : 0;
    heap->options.nursery_fixed = way == 1;
    heap->options.quarantine = way == 2 ? 1 : 0;
    crd_adapt_init(&heap->young);
    assert_true(heap->young.adapt.fixed);
    assert_int_equal(heap->young.adapt.max, BASE);
    collect(100, 500);
    assert_int_equal(inside_nursery(heap)->bytes, BASE);
  }
  heap->options.quarantine = 0;
}

/* --- what a size costs --- */

static crd_young *young(void) {
  return &heap->young;
}

static void assert_near(double value, double expected) {
  if (value < expected * 0.999 || value > expected * 1.001) fail_msg("%f, not %f", value, expected);
}

/* A promoted object takes 30 ns, and each byte of it 0.3. */
static void the_price_follows_from_the_objects_size(void **state) {
  (void)state;
  assert_true(crd_cost_price(0, 0) == 0);
  assert_near(crd_cost_price(1, 16), 0.3 + 30.0 / 16);
  assert_near(crd_cost_price(1000, 1000000), 0.33);
  settle_at(500);
  collect(1, 500);
  assert_near(heap->young.adapt.price, PRICE);
}

/* The curve says how the share changes with the size; the last collections, how much that is. */
static void what_is_promoted_follows_what_was(void **state) {
  (void)state;
  half_lives(50);
  settle_at(375);
  assert_near(crd_cost_promoted(young(), BASE, true), 0.75 * BASE);
  for (int i = 0; i < 50; i++) collect(1, 375); /* half as much as the curve says */
  assert_near(heap->young.adapt.scale, 0.5);
  assert_near(crd_cost_promoted(young(), BASE, true), 0.375 * BASE);
  heap->young.adapt.scale = 4;
  assert_near(crd_cost_promoted(young(), BASE, true), BASE); /* not more than all */
}

static void an_overrun_is_the_pause_in_shares_of_what_it_may_take(void **state) {
  (void)state;
  settle_at(100);
  assert_true(crd_cost_overrun(young(), BASE, true) == 0); /* no target */
  heap->options.pause_ns = 1000000;
  double share = NS_PER_BYTE * 0.1 * BASE / 900000;
  assert_near(crd_cost_overrun(young(), BASE, true), share);
  assert_near(crd_cost_overrun(young(), 2 * BASE, true), 2 * share);
  heap->young.adapt.root_words = 400000; /* 800,000 ns: less than nine tenths of the target */
  assert_near(crd_cost_overrun(young(), BASE, true), share);
  heap->young.adapt.root_words = 900000;
  assert_near(crd_cost_overrun(young(), BASE, true), share / 2);
}

/* --- a larger size --- */

static void it_grows_at_once_where_minor_collections_see_more_die(void **state) {
  (void)state;
  half_lives(10);
  settle_at(550);
  collect(1, 550);
  assert_int_equal(inside_nursery(heap)->bytes, MOST);
  assert_string_equal(reason, "a larger nursery promotes less");
  assert_int_equal(heap->young.adapt.growth.before, 0);
  collect(100, 212);
  assert_int_equal(inside_nursery(heap)->bytes, MOST);
}

static void a_little_less_is_no_reason_to_grow(void **state) {
  (void)state;
  half_lives(80); /* 0.85 in twice the size, for 0.9 */
  settle_at(900);
  collect(100, 900);
  assert_int_equal(inside_nursery(heap)->bytes, BASE);
}

/* With a third of the base's first half alive, and none of the second: four times the base would promote a quarter, but
 * what leaves the cache takes three times as long as in twice the base. */
static void leaving_the_cache_has_its_price(void **state) {
  (void)state;
  for (int bin = 0; bin < BIN_HALF; bin++) lives(bin, 35);
  lives(BIN_HALF, 0);
  settle_at(175);
  collect(1, 175);
  assert_int_equal(inside_nursery(heap)->bytes, 2 * BASE);
  collect(20, 87);
  assert_int_equal(inside_nursery(heap)->bytes, 2 * BASE);
}

/* The same curve, but a tenth of that survives: there is little to gain. */
static void where_less_survives_than_the_curve_says_it_stays(void **state) {
  (void)state;
  half_lives(0);
  settle_at(50);
  heap->young.adapt.scale = 0.1;
  collect(20, 50);
  assert_int_equal(inside_nursery(heap)->bytes, BASE);
}

/* The options' pages beyond half the L3 cost their first touch. */
static void beyond_near_as_much_must_have_been_promoted(void **state) {
  (void)state;
  half_lives(10);
  settle_at(550);
  heap->young.adapt.early_max = BASE;
  heap->report.stats.promoted_bytes = 2 * BASE - 1;
  collect(1, 550);
  assert_int_equal(inside_nursery(heap)->bytes, BASE);
  heap->report.stats.promoted_bytes = 2 * BASE;
  collect(1, 550);
  assert_int_equal(inside_nursery(heap)->bytes, 2 * BASE);
  heap->report.stats.promoted_bytes = 0;
}

static void where_all_survives_there_is_no_trial_and_no_larger_size(void **state) {
  (void)state;
  half_lives(100);
  marking_says(BIN_BASE, 1);
  settle_at(1000);
  collect(100, 1000);
  assert_int_equal(inside_nursery(heap)->bytes, BASE);
}

/* Only marking has seen that what is older dies. */
static void open_trial(int bin) {
  half_lives(100);
  if (bin > BIN_BASE) marking_says(BIN_BASE, 1);
  marking_says(bin, 0);
  settle_at(1000);
}

static void what_marking_saw_is_tried(void **state) {
  (void)state;
  open_trial(BIN_BASE);
  collect(1, 1000);
  assert_int_equal(inside_nursery(heap)->bytes, 2 * BASE); /* the first in which it makes a difference */
  assert_string_equal(reason, "trial: marking found that more dies");
  assert_int_equal(heap->young.adapt.growth.before, BASE);
  collect(TRIAL - 1, 700);
  assert_int_equal(heap->young.adapt.growth.before, BASE);
  collect(1, 700); /* less than three quarters: it stays */
  assert_int_equal(inside_nursery(heap)->bytes, 2 * BASE);
  assert_int_equal(heap->young.adapt.growth.before, 0);
  assert_int_equal(heap->young.adapt.growth.wait, 0);
  assert_int_equal(heap->young.adapt.growth.backoff, FIRST_WAIT);
}

static void a_size_that_makes_a_difference_is_tried(void **state) {
  (void)state;
  open_trial(BIN_TWICE);
  collect(1, 1000);
  assert_int_equal(inside_nursery(heap)->bytes, MOST);
  assert_int_equal(heap->young.adapt.growth.before, BASE);
  collect(TRIAL, 950);
  assert_int_equal(inside_nursery(heap)->bytes, BASE);
  assert_in_range(heap->young.adapt.growth.wait, FIRST_WAIT, 2 * FIRST_WAIT);
}

static void a_trial_in_vain_is_undone_and_the_next_waits_twice_as_long(void **state) {
  (void)state;
  open_trial(BIN_BASE);
  for (int before = 1, wait = FIRST_WAIT; wait <= 8 * FIRST_WAIT; before = wait, wait *= 2) {
    collect(before - 1, 1000);
    assert_int_equal(inside_nursery(heap)->bytes, BASE);
    collect(1, 1000);
    assert_int_equal(inside_nursery(heap)->bytes, 2 * BASE);
    collect(TRIAL, 910); /* above three quarters */
    assert_int_equal(inside_nursery(heap)->bytes, BASE);
    assert_string_equal(reason, "back: as much survives in the larger nursery");
    assert_int_equal(heap->young.adapt.growth.wait, wait);
  }
  heap->young.adapt.growth.backoff = 4096;
  heap->young.adapt.growth.wait = 0;
  for (int round = 0; round < 2; round++) { /* that is the longest */
    settle_at(1000);
    collect(1, 1000);
    collect(TRIAL, 950);
    assert_int_equal(heap->young.adapt.growth.wait, 4096);
    heap->young.adapt.growth.wait = 0;
  }
}

static void a_trial_that_finds_no_memory_waits(void **state) {
  (void)state;
  open_trial(BIN_BASE);
  lives(BIN_BASE, 100);
  lives(BIN_TWICE, 100);
  marking_says(BIN_TWICE + 1, 0);
  heap->young.adapt.growth.backoff = 3 * FIRST_WAIT;
  heap->young.adapt.early_max = heap->young.adapt.max = inside_nursery(heap)->reserved_bytes * 4;
  inside_nursery(heap)->bytes = inside_nursery(heap)->reserved_bytes; /* twice as much has no place */
  collect(1, 1000);
  assert_int_equal(inside_nursery(heap)->bytes, inside_nursery(heap)->reserved_bytes);
  assert_int_equal(heap->young.adapt.growth.wait, 3 * FIRST_WAIT);
  assert_int_equal(heap->young.adapt.growth.backoff, 3 * FIRST_WAIT);
  assert_int_equal(heap->young.adapt.growth.before, 0);
  inside_nursery(heap)->bytes = BASE;
}

/* --- a smaller size --- */

static void it_shrinks_in_steps_when_nothing_survives(void **state) {
  (void)state;
  assert_true(crd_nursery_resize(&heap->young, MOST, "test"));
  collect(SMALLER - 1, 0);
  assert_int_equal(inside_nursery(heap)->bytes, MOST);
  collect(1, 0);
  assert_int_equal(inside_nursery(heap)->bytes, 2 * BASE);
  assert_string_equal(reason, "a smaller nursery is enough");
  collect(10 * SMALLER, 0);
  assert_in_range(inside_nursery(heap)->bytes, BASE, 2 * BASE);
}

/* A few collections in which more survives, and the count begins anew. */
static void smaller_must_be_enough_sixteen_times_in_a_row(void **state) {
  (void)state;
  half_lives(0);
  lives(BIN_BASE, 0);
  lives(BIN_TWICE, 0);
  assert_true(crd_nursery_resize(&heap->young, MOST, "test"));
  collect(SMALLER - DECISION, 0);
  settle_at(125);
  collect(DECISION, 125);
  settle_at(0);
  heap->young.adapt.scale = 0;
  collect(SMALLER - 1, 0);
  assert_int_equal(inside_nursery(heap)->bytes, MOST);
  collect(1, 0);
  assert_int_equal(inside_nursery(heap)->bytes, 2 * BASE);
}

/* The program will not soon need the half that it gives up. */
static void shrinking_gives_pages_back(void **state) {
  (void)state;
  crd_nursery *nursery = inside_nursery(heap);
  assert_true(crd_nursery_resize(&heap->young, MOST, "test"));
  sanitize_used(nursery->start, nursery->committed_bytes);
  memset(nursery->start, 1, MOST);
  collect(SMALLER, 0);
  assert_int_equal(nursery->bytes, 2 * BASE);
  assert_int_equal(nursery->start[2 * BASE - 1], 1);
  assert_int_equal(nursery->start[MOST - 1], 0);
  sanitize_unused(nursery->start, nursery->committed_bytes);
}

/* --- with a pause target --- */

/* A target with which a collection of so many promoted bytes takes so many times what it may. */
static void set_overrun(double promoted, double times) {
  heap->options.pause_ns = (uint64_t)(NS_PER_BYTE * promoted / 0.9 / times);
}

static void it_grows_where_collections_stay_well_within_the_target(void **state) {
  (void)state;
  half_lives(10);
  settle_at(550);
  set_overrun(0.2125 * MOST, 0.72); /* seven tenths are for another size */
  collect(1, 550);
  assert_int_equal(inside_nursery(heap)->bytes, 2 * BASE);
  assert_true(crd_nursery_resize(&heap->young, BASE, "test"));
  settle_at(550);
  set_overrun(0.2125 * MOST, 0.69);
  collect(1, 550);
  assert_int_equal(inside_nursery(heap)->bytes, MOST);
}

/* Each size from half the base up promotes the same bytes: the largest costs a third of the base, and the smaller ones
 * more. */
static void much_less_work_is_worth_longer_pauses(void **state) {
  (void)state;
  half_lives(0);
  settle_at(500);
  set_overrun(0.5 * BASE, 3.6);
  collect(1, 500);
  assert_int_equal(inside_nursery(heap)->bytes, BASE);
  set_overrun(0.5 * BASE, 3.4);
  collect(1, 500);
  assert_int_equal(inside_nursery(heap)->bytes, MOST);
  settle_at(125);
  collect(100, 125); /* nor does it shrink for the pauses */
  assert_int_equal(inside_nursery(heap)->bytes, MOST);
}

/* Four times the base costs 0.64 of what the base does. */
static void somewhat_less_work_is_not(void **state) {
  (void)state;
  half_lives(20);
  settle_at(600);
  set_overrun(0.6 * BASE, 0.95);
  collect(20, 600);
  assert_int_equal(inside_nursery(heap)->bytes, BASE);
  heap->options.pause_ns = 0;
  collect(1, 600);
  assert_int_equal(inside_nursery(heap)->bytes, MOST);
}

/* --- how much is handed out --- */

/* Half the base would promote this share of what the base does: 0.77, then 0.71. */
static void less_is_handed_out_only_if_that_promotes_less(void **state) {
  (void)state;
  heap->options.pause_ns = 333333; /* 300,000 ns are for a collection, and half the base takes 262,144 */
  half_lives(30);
  settle_at(650);
  assert_int_equal(crd_adapt_hand_out(&heap->young), BASE);
  half_lives(40);
  settle_at(700);
  assert_int_equal(crd_adapt_hand_out(&heap->young), BASE / 2);
  heap->options.pause_ns = 433333; /* the whole takes 367,000 */
  assert_int_equal(crd_adapt_hand_out(&heap->young), BASE);
  heap->options.pause_ns = 333333;
  half_lives(30);
  settle_at(650);
  inside_major(heap)->phase = MAJOR_MARKING;
  inside_major(heap)->behind = 1; /* what fell behind counts in any case */
  assert_int_equal(crd_adapt_hand_out(&heap->young), BASE / 2);
  inside_major(heap)->phase = MAJOR_IDLE;
  inside_major(heap)->behind = 0;
}

/* Samples are as far apart as was asked for, and as many as the table takes. Each is counted
 * with those of its age, and of those that survive one in eight is kept. */
CRADLE_UNCHECKED_COLLECTION static void each_sample_is_counted(void **state) {
  (void)state;
  heap->young.adapt.fixed = true; /* no decision begins the count anew */
  static const size_t apart[] = {0, 4 << 10, 16 << 10, 64 << 10};
  crd_nursery *nursery = inside_nursery(heap);
  crd_local *local = inside_local(heap);
  cradle_mutator *m = cradle_mutator_new(heap);
  for (size_t way = 0; way < sizeof apart / sizeof *apart; way++) {
    cradle_collect(m, CRADLE_COLLECT_MINOR);
    memset(curve(), 0, sizeof *curve());
    nursery->sample_bytes = apart[way];
    local->first_looks = 100; /* looks at the first objects one by one, as in a new heap */
    local->look = m->free;
    crd_nursery_set_tops(&heap->young);
    for (size_t bytes = 0; bytes < BASE / 2; bytes += 16) (void)cradle_new(m, 0, 16);
    uint32_t count = local->sample_count, most = apart[way] == 0 ? 0 : (uint32_t)(BASE / 2 / apart[way]);
    if (most > NURSERY_SAMPLES)
      assert_int_equal(count, NURSERY_SAMPLES);
    else
      assert_in_range(count, most - most / 8, most);
    size_t pushed = 0, filled = (size_t)(m->free - nursery->start);
    uint32_t seen[CURVE_BINS] = {0}, survive[CURVE_BINS] = {0};
    for (uint32_t i = 0; i < count; i++) {
      uintptr_t from = i == 0 ? (uintptr_t)nursery->start : local->samples[i - 1] + apart[way];
      assert_true(local->samples[i] >= from);
      uint64_t age = filled - (local->samples[i] - (uintptr_t)nursery->start);
      int bin = 0;
      while (age >= CURVE_FIRST_BYTES << bin) bin++;
      seen[bin]++;
      if (i % 3 != 0) continue;
      cradle_push(m, (void *)local->samples[i]);
      pushed++;
      survive[bin]++;
    }
    cradle_collect(m, CRADLE_COLLECT_MINOR);
    cradle_pop_many(m, pushed);
    for (int bin = 0; bin < CURVE_BINS; bin++) {
      assert_int_equal(curve()->bins[bin].seen, seen[bin]);
      assert_int_equal(curve()->bins[bin].kept, survive[bin]);
    }
    for (size_t i = 0; i < pushed / 8; i++)
      assert_true(old_is_allocated(inside_old(heap), curve()->samples[i].address));
  }
  cradle_mutator_free(m);
}

/* Collections that began with a nearly empty nursery say little about its size. */
static void what_was_asked_for_early_does_not_count(void **state) {
  (void)state;
  collect_of(100, LEAST / 4 * 3 - 8, 100); /* nor about what survives */
  assert_true(curve()->promoted == 0);
  collect_of(1, LEAST / 4 * 3, 100);
  assert_true(curve()->promoted > 0.024 && curve()->promoted < 0.026);
  collect_of(100, BASE / 4 * 3 - 8, 100);
  assert_int_equal(inside_nursery(heap)->bytes, BASE);
  assert_true(curve()->promoted > 0.09 && curve()->promoted < 0.11);
}

static void pauses_above_the_target_halve_it(void **state) {
  (void)state;
  double expected = NS_PER_BYTE * 0.1 * BASE; /* for a nursery of the base */
  heap->options.pause_ns = (uint64_t)(expected / 0.8);
  collect(SMALLER, 100);
  assert_int_equal(inside_nursery(heap)->bytes, BASE); /* no more than nine tenths of the target may be */
  heap->options.pause_ns = (uint64_t)(expected);
  collect(SMALLER - 1, 100);
  assert_int_equal(inside_nursery(heap)->bytes, BASE);
  collect(1, 100);
  assert_int_equal(inside_nursery(heap)->bytes, BASE / 2);
  collect(10 * DECISION, 100); /* half of it is below nine tenths, but twice as much would not be below six */
  assert_int_equal(inside_nursery(heap)->bytes, BASE / 2);
  heap->options.pause_ns = 1;
  collect(100, 100);
  assert_int_equal(inside_nursery(heap)->bytes, LEAST);
  heap->options.pause_ns = (uint64_t)(expected * 100);
  uint32_t wait = heap->young.adapt.growth.wait; /* longer with each halving */
  assert_true(wait > 2 * FIRST_WAIT);
  collect((int)wait - 1, 20);
  assert_int_equal(inside_nursery(heap)->bytes, LEAST);
  collect(1, 20); /* the base costs no more, and pauses allow it */
  assert_int_equal(inside_nursery(heap)->bytes, BASE);
  collect(10 * DECISION, 20);
  assert_int_equal(inside_nursery(heap)->bytes, BASE);
}

static void no_halving_goes_below_the_least(void **state) {
  (void)state;
  inside_nursery(heap)->bytes = LEAST / 2 * 3;
  heap->options.pause_ns = 1;
  collect(DECISION, 100);
  assert_int_equal(inside_nursery(heap)->bytes, LEAST / 2 * 3);
  inside_nursery(heap)->bytes = BASE;
}

static void collect_lasting(int count, uint64_t ns) {
  cradle_event minor = {.kind = CRADLE_EVENT_MINOR_END};
  for (int i = 0; i < count; i++) {
    minor.u.minor.nursery_bytes = inside_nursery(heap)->bytes;
    minor.u.minor.promoted_bytes = inside_nursery(heap)->bytes / 10;
    minor.u.minor.duration_ns = ns;
    crd_adapt_after_minor(&heap->young, &minor);
  }
}

/* Collections of so long, until the size is halved. */
static void shrink_of(uint64_t ns) {
  for (int i = 0; i < 100 && inside_nursery(heap)->bytes == BASE; i++) collect_lasting(1, ns);
  assert_int_equal(inside_nursery(heap)->bytes, BASE / 2);
}

/* A smaller nursery would scan them more often. */
static void the_time_of_roots_never_makes_it_smaller(void **state) {
  (void)state;
  heap->options.pause_ns = 1000000;
  heap->young.adapt.root_words = BASE / 256; /* not so many that it grows */
  uint64_t roots_ns = 2 * heap->young.adapt.root_words, promotion_ns = (uint64_t)(NS_PER_BYTE * 0.1 * BASE);
  collect_lasting(20 * DECISION, promotion_ns + roots_ns);
  assert_true(heap->young.adapt.ns_per_promoted_byte < 1.01 * NS_PER_BYTE);
  double rate = heap->young.adapt.ns_per_promoted_byte;
  heap->young.adapt.root_words = 16000000; /* they take ten times the target and more */
  size_t least = inside_nursery(heap)->bytes;
  for (int i = 0; i < 20 * DECISION; i++) {
    collect_lasting(1, 60000000);
    assert_true(inside_nursery(heap)->bytes >= least);
    least = inside_nursery(heap)->bytes;
  }
  assert_int_equal(least, MOST);
  assert_true(heap->young.adapt.ns_per_promoted_byte == rate);
  inside_major(heap)->phase = MAJOR_MARKING;
  inside_major(heap)->behind = 8;
  assert_int_equal(crd_adapt_hand_out(&heap->young), MOST);
  heap->young.adapt.root_words = 0;
  assert_true(crd_adapt_hand_out(&heap->young) < MOST);
  inside_major(heap)->phase = MAJOR_IDLE;
  inside_major(heap)->behind = 0;
}

/* The time goes into remembered objects, for example: a smaller nursery only meets them more often. */
static void halving_that_does_not_shorten_is_undone(void **state) {
  (void)state;
  heap->options.pause_ns = MIB;
  heap->young.adapt.growth.wait = 1000000;
  collect_lasting(1, 2 * MIB);
  for (int wait = FIRST_WAIT; wait <= 4 * FIRST_WAIT; wait *= 2) {
    shrink_of(2 * MIB);
    assert_int_equal(inside_nursery(heap)->bytes, BASE / 2);
    collect_lasting(DECISION - 1, 2 * MIB);
    assert_int_equal(inside_nursery(heap)->bytes, BASE / 2);
    collect_lasting(1, 2 * MIB);
    assert_int_equal(inside_nursery(heap)->bytes, BASE);
    assert_int_equal(heap->young.adapt.shrinking.wait, wait);
    inside_major(heap)->phase = MAJOR_MARKING; /* nor is less handed out */
    assert_int_equal(crd_adapt_hand_out(&heap->young), BASE);
    inside_major(heap)->phase = MAJOR_IDLE;
    collect_lasting(wait - 1, 2 * MIB);
    assert_int_equal(inside_nursery(heap)->bytes, BASE);
  }
}

/* A promoted byte may take a good deal longer in the smaller nursery, because fewer bytes share what each collection
 * costs anyway. */
static void halving_that_shortens_somewhat_stays(void **state) {
  (void)state;
  heap->options.pause_ns = 2 * MIB;
  heap->young.adapt.growth.wait = 1000000;
  heap->young.adapt.shrinking.backoff = 4 * FIRST_WAIT;
  shrink_of(4 * MIB);
  assert_string_equal(reason, "a minor collection takes too much of the pause target");
  heap->options.pause_ns = 1000 * MIB;
  collect_lasting(DECISION, 2 * MIB / 10 * 13); /* 1.3 times as long for a byte */
  assert_int_equal(inside_nursery(heap)->bytes, BASE / 2);
  assert_int_equal(heap->young.adapt.shrinking.wait, 0);
  assert_int_equal(heap->young.adapt.shrinking.backoff, FIRST_WAIT);
}

/* An unusually quick collection is informative; an interrupted one is not. */
static void long_collections_count_little(void **state) {
  (void)state;
  cradle_event minor = {.kind = CRADLE_EVENT_MINOR_END};
  minor.u.minor.nursery_bytes = minor.u.minor.promoted_bytes = MIB;
  minor.u.minor.duration_ns = 1000 * MIB;
  crd_adapt_after_minor(&heap->young, &minor);
  double after = NS_PER_BYTE + NS_PER_BYTE * 0.5 / 32; /* half more counts, for a 32nd */
  assert_true(heap->young.adapt.ns_per_promoted_byte > after * 0.999 &&
              heap->young.adapt.ns_per_promoted_byte < after * 1.001);
  minor.u.minor.duration_ns = 0;
  crd_adapt_after_minor(&heap->young, &minor);
  after *= 0.75;
  assert_true(heap->young.adapt.ns_per_promoted_byte > after * 0.999 &&
              heap->young.adapt.ns_per_promoted_byte < after * 1.001);
  minor.u.minor.promoted_bytes = (8 << 10) - 1; /* too few to tell */
  minor.u.minor.duration_ns = 1000 * MIB;
  crd_adapt_after_minor(&heap->young, &minor);
  assert_true(heap->young.adapt.ns_per_promoted_byte < after * 1.001);
  minor.u.minor.promoted_bytes = 8 << 10;
  crd_adapt_after_minor(&heap->young, &minor);
  assert_true(heap->young.adapt.ns_per_promoted_byte > after * 1.01);
}

/* Several long ones with no quick one between them were not interrupted: the program does something else now. */
static void sixteen_long_collections_count_in_full(void **state) {
  (void)state;
  double slow = 10 * NS_PER_BYTE * BASE / 10; /* ten times what the tenth that survives took before */
  heap->young.adapt.growth.wait = 1000000;
  collect_lasting(SLOW - 1, (uint64_t)slow);
  assert_true(heap->young.adapt.ns_per_promoted_byte < 1.3 * NS_PER_BYTE);
  collect_lasting(1, (uint64_t)slow);
  assert_true(heap->young.adapt.ns_per_promoted_byte > 9.9 * NS_PER_BYTE);
  /* A quick one among them, and the average stays what it was, but for the little that a long one counts. */
  heap->young.adapt.ns_per_promoted_byte = NS_PER_BYTE;
  collect_lasting(SLOW - 1, (uint64_t)slow);
  collect_lasting(1, (uint64_t)(NS_PER_BYTE * BASE / 10));
  collect_lasting(SLOW - 1, (uint64_t)slow);
  assert_true(heap->young.adapt.ns_per_promoted_byte < 1.6 * NS_PER_BYTE);
}

/* The first sixteen make the rate count, the others the size. Until then, less is handed out. */
static void after_sixteen_long_collections_it_shrinks(void **state) {
  (void)state;
  double expected = NS_PER_BYTE * 0.1 * BASE;
  heap->options.pause_ns = (uint64_t)(expected * 2);
  heap->young.adapt.growth.wait = 1000000;
  collect_lasting(10 * DECISION, (uint64_t)expected);
  assert_int_equal(inside_nursery(heap)->bytes, BASE);
  collect_lasting(SLOW - 1, (uint64_t)(4 * expected));
  assert_int_equal(inside_nursery(heap)->bytes, BASE);
  collect_lasting(1, (uint64_t)(4 * expected));
  assert_int_equal(inside_nursery(heap)->bytes, BASE);
  assert_true(crd_adapt_hand_out(&heap->young) < BASE);
  collect_lasting(SMALLER - DECISION, (uint64_t)(4 * expected));
  assert_int_equal(inside_nursery(heap)->bytes, BASE / 2);
}

static void while_marking_a_part_is_handed_out(void **state) {
  (void)state;
  double expected = NS_PER_BYTE * 0.1 * BASE;
  settle_at(100);
  heap->options.pause_ns = (uint64_t)(expected * 3); /* a quarter of it is for the minor collection */
  assert_int_equal(crd_adapt_hand_out(&heap->young), BASE);
  inside_major(heap)->phase = MAJOR_MARKING;
  assert_int_equal(crd_adapt_hand_out(&heap->young), BASE / 2);
  heap->options.pause_ns = (uint64_t)(expected * 5);
  assert_int_equal(crd_adapt_hand_out(&heap->young), BASE);
  inside_major(heap)->behind = 2; /* increments fell behind */
  assert_int_equal(crd_adapt_hand_out(&heap->young), BASE / 4);
  inside_major(heap)->behind = 8;
  assert_int_equal(crd_adapt_hand_out(&heap->young), LEAST);
  heap->options.pause_ns = 0;
  assert_int_equal(crd_adapt_hand_out(&heap->young), BASE);
  heap->options.pause_ns = 1;
  inside_major(heap)->behind = 0;
  assert_int_equal(crd_adapt_hand_out(&heap->young), LEAST);
  heap->young.adapt.fixed = true;
  assert_int_equal(crd_adapt_hand_out(&heap->young), BASE);
  inside_nursery(heap)->bytes = BASE + 8;
  inside_major(heap)->behind = 1;
  assert_int_equal(crd_adapt_hand_out(&heap->young), BASE / 2); /* whole words */
  inside_nursery(heap)->bytes = BASE;
  heap->young.adapt.fixed = false;
  heap->options.pause_ns = (uint64_t)(expected * 5);
  inside_major(heap)->phase = MAJOR_CLEARING;
  inside_major(heap)->behind = 2; /* the heap was above the threshold after two increments of clearing */
  assert_int_equal(crd_adapt_hand_out(&heap->young), BASE / 4);
  heap->options.pause_ns = 0;
  assert_int_equal(crd_adapt_hand_out(&heap->young), BASE);
  inside_major(heap)->phase = MAJOR_IDLE;
}

/* --- beside the second core --- */

/* What a collection of the whole nursery takes that runs as fast as was assumed at first. */
#define USUAL_NS (NS_PER_BYTE * 0.1 * BASE)

/* A third collection that takes longer is no coincidence. Without the thread, nine tenths of the target are for minor
 * collections; but where the oldest die, only the average counts. */
static void three_long_collections_cut_what_is_handed_out(void **state) {
  (void)state;
  settle_at(100);
  heap->options.pause_ns = (uint64_t)(USUAL_NS * 2.3);
  collect_lasting(2, (uint64_t)(4 * USUAL_NS));
  assert_int_equal(crd_adapt_hand_out(&heap->young), BASE);
  collect_lasting(1, (uint64_t)(4 * USUAL_NS));
  assert_int_equal(crd_adapt_hand_out(&heap->young), BASE / 2);
  heap->young.adapt.fixed = true;
  assert_int_equal(crd_adapt_hand_out(&heap->young), BASE);
  heap->young.adapt.fixed = false;
  heap->options.pause_ns = 0;
  assert_int_equal(crd_adapt_hand_out(&heap->young), BASE);
  heap->options.pause_ns = (uint64_t)(USUAL_NS * 2.3);
  collect_lasting(3, (uint64_t)USUAL_NS); /* two quick ones are enough for what is known of the last four */
  assert_int_equal(crd_adapt_hand_out(&heap->young), BASE);
  assert_int_equal(inside_nursery(heap)->bytes, BASE);
}

/* Likewise beside the thread, where five eighths are for the minor collection. */
static void beside_the_thread_three_long_collections_cut_what_is_handed_out(void **state) {
  (void)state;
  const crd_major_phase phases[] = {MAJOR_MARKING, MAJOR_SWEEPING};
  settle_at(100);
  heap->options.pause_ns = (uint64_t)(USUAL_NS * 2);
  for (int i = 0; i < 2; i++) {
    run_beside(phases[i]);
    collect_lasting(2, (uint64_t)(4 * USUAL_NS));
    assert_int_equal(crd_adapt_hand_out(&heap->young), BASE);
    collect_lasting(1, (uint64_t)(4 * USUAL_NS));
    assert_int_equal(crd_adapt_hand_out(&heap->young),
                     BASE / 4); /* five eighths of the target are for the minor collection */
    collect_lasting(1, (uint64_t)(2 * USUAL_NS));
    assert_int_equal(crd_adapt_hand_out(&heap->young), BASE / 4);
    collect_lasting(1, (uint64_t)(2 * USUAL_NS));
    assert_int_equal(crd_adapt_hand_out(&heap->young), BASE / 2);
    collect_lasting(2, (uint64_t)USUAL_NS);
    assert_int_equal(crd_adapt_hand_out(&heap->young), BASE);
    heap->young.adapt.ns_per_promoted_byte = 2 * NS_PER_BYTE; /* but not more than the average allows */
    assert_int_equal(crd_adapt_hand_out(&heap->young), BASE / 2);
    heap->young.adapt.ns_per_promoted_byte = NS_PER_BYTE;
    heap->options.pause_ns = 0;
    assert_int_equal(crd_adapt_hand_out(&heap->young), BASE);
    heap->options.pause_ns = (uint64_t)(USUAL_NS * 2);
  }
  assert_int_equal(inside_nursery(heap)->bytes, BASE);
}

/* Beside the thread, marking and sweeping have rates of their own. All other collections have one. */
static void what_was_slow_in_one_phase_says_nothing_of_another(void **state) {
  (void)state;
  settle_at(100);
  heap->options.pause_ns = (uint64_t)(USUAL_NS * 2);
  run_beside(MAJOR_MARKING);
  collect_lasting(3, (uint64_t)(2 * USUAL_NS));
  assert_int_equal(crd_adapt_hand_out(&heap->young), BASE / 2);
  run_beside(MAJOR_SWEEPING);
  assert_int_equal(crd_adapt_hand_out(&heap->young), BASE);
  collect_lasting(3, (uint64_t)(4 * USUAL_NS));
  run_beside(MAJOR_MARKING);
  assert_int_equal(crd_adapt_hand_out(&heap->young), BASE / 2);
  run_alone();
  assert_int_equal(crd_adapt_hand_out(&heap->young), BASE);
  collect_lasting(3, (uint64_t)(3.9 * USUAL_NS));
  assert_int_equal(crd_adapt_hand_out(&heap->young), BASE / 4); /* nine tenths are for the minor collection */
  inside_major(heap)->phase = MAJOR_SWEEPING;
  assert_int_equal(crd_adapt_hand_out(&heap->young), BASE / 4);
  inside_major(heap)->phase = MAJOR_MARKING;
  assert_int_equal(crd_adapt_hand_out(&heap->young), BASE / 8); /* a quarter */
  run_beside(MAJOR_MARKING);
  assert_int_equal(crd_adapt_hand_out(&heap->young), BASE / 2);
}

/* The increments then have most of the target, and the heap grows no further. */
static void past_the_threshold_sweeping_comes_first(void **state) {
  (void)state;
  settle_at(100);
  heap->options.pause_ns = (uint64_t)(USUAL_NS * 2.1);
  run_beside(MAJOR_SWEEPING);
  inside_pacing(heap)->threshold = 1000;
  heap->marking.external_bytes = 1000 - inside_old(heap)->used_bytes;
  assert_int_equal(crd_adapt_hand_out(&heap->young), BASE);
  heap->marking.external_bytes++;
  assert_int_equal(crd_adapt_hand_out(&heap->young), BASE / 2); /* a quarter is for the minor collection */
  run_beside(MAJOR_MARKING);
  assert_int_equal(crd_adapt_hand_out(&heap->young), BASE);
  heap->marking.external_bytes = 0;
}

/* When a part has been handed out for sixteen collections, the size follows. */
static void the_size_follows_what_is_handed_out(void **state) {
  (void)state;
  run_beside(MAJOR_MARKING);
  settle_at(100);
  heap->young.adapt.growth.wait = 1000000;
  heap->options.pause_ns = (uint64_t)(USUAL_NS * 2);
  collect_lasting(1, (uint64_t)USUAL_NS);
  assert_int_equal(heap->young.adapt.collections, 1);
  uint64_t slow = (uint64_t)(4 * USUAL_NS) / 4; /* for a quarter of the nursery */
  cradle_event part = {.kind = CRADLE_EVENT_MINOR_END};
  part.u.minor.nursery_bytes = BASE / 4;
  part.u.minor.promoted_bytes = BASE / 40;
  part.u.minor.duration_ns = slow;
  for (int i = 0; i < SLOW - 1; i++) crd_adapt_after_minor(&heap->young, &part);
  assert_int_equal(inside_nursery(heap)->bytes, BASE);
  run_alone(); /* a part that was collected on request says nothing */
  crd_adapt_after_minor(&heap->young, &part);
  assert_int_equal(inside_nursery(heap)->bytes, BASE);
  run_beside(MAJOR_MARKING);
  for (int i = 0; i < SMALLER; i++) crd_adapt_after_minor(&heap->young, &part);
  assert_int_equal(inside_nursery(heap)->bytes, BASE / 2);
}

/* What promotes next to nothing takes the time of its roots, so without a thread a smaller nursery has brought
 * nothing. */
static void a_trial_without_a_sample_fails(void **state) {
  (void)state;
  heap->options.pause_ns = MIB;
  heap->young.adapt.growth.wait = 1000000;
  shrink_of(2 * MIB);
  heap->options.pause_ns = 1000 * MIB;
  collect(DECISION, 0);
  assert_int_equal(inside_nursery(heap)->bytes, BASE);
}

/* What the thread does not slow down counts: marking by the mutator, and sweeping. */
static void other_trials_of_a_smaller_size_count(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    run_alone();
    heap->options.pause_ns = MIB;
    heap->young.adapt.growth.wait = 1000000;
    shrink_of(2 * MIB);
    heap->options.pause_ns = 1000 * MIB;
    if (i == 0)
      inside_major(heap)->phase = MAJOR_MARKING;
    else
      run_beside(MAJOR_SWEEPING);
    collect_lasting(DECISION, 2 * MIB); /* as long as the whole nursery */
    assert_int_equal(inside_nursery(heap)->bytes, BASE);
  }
}

/* What runs beside marking is slower, and the size is not the reason. */
static void trials_of_a_smaller_size_leave_out_what_marking_slowed_down(void **state) {
  (void)state;
  heap->options.pause_ns = MIB;
  heap->young.adapt.growth.wait = 1000000;
  shrink_of(2 * MIB);
  heap->options.pause_ns = 1000 * MIB;
  run_beside(MAJOR_MARKING);
  collect_lasting(DECISION, 2 * MIB); /* as long as the whole nursery */
  assert_int_equal(inside_nursery(heap)->bytes, BASE / 2);
  assert_int_equal(heap->young.adapt.shrinking.before, 0);
  assert_int_equal(heap->young.adapt.shrinking.wait, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_heap, close_heap)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(bounds_come_from_the_caches),
      TEST(a_chosen_size_has_its_share),
      TEST(a_first_size_has_a_reason),
      TEST(a_size_that_is_asked_for_stays),
      TEST(it_stays_within_the_maximum_heap),
      TEST(many_roots_make_it_larger),
      TEST(the_time_of_roots_never_makes_it_smaller),
      cmocka_unit_test(pages_of_the_pool_are_kept),
      cmocka_unit_test(under_stress_all_that_was_filled_is_poisoned),
      TEST(a_pool_that_is_empty_is_told_once),
      TEST(in_a_maximum_heap_the_rest_goes_back),
      TEST(a_maximum_that_comes_later_has_the_rest_go_back),
      TEST(the_price_follows_from_the_objects_size),
      TEST(what_is_promoted_follows_what_was),
      TEST(an_overrun_is_the_pause_in_shares_of_what_it_may_take),
      TEST(it_grows_at_once_where_minor_collections_see_more_die),
      TEST(a_little_less_is_no_reason_to_grow),
      TEST(leaving_the_cache_has_its_price),
      TEST(where_less_survives_than_the_curve_says_it_stays),
      TEST(beyond_near_as_much_must_have_been_promoted),
      TEST(where_all_survives_there_is_no_trial_and_no_larger_size),
      TEST(what_marking_saw_is_tried),
      TEST(a_size_that_makes_a_difference_is_tried),
      TEST(a_trial_in_vain_is_undone_and_the_next_waits_twice_as_long),
      TEST(a_trial_that_finds_no_memory_waits),
      TEST(it_shrinks_in_steps_when_nothing_survives),
      TEST(smaller_must_be_enough_sixteen_times_in_a_row),
      TEST(shrinking_gives_pages_back),
      TEST(it_grows_where_collections_stay_well_within_the_target),
      TEST(much_less_work_is_worth_longer_pauses),
      TEST(somewhat_less_work_is_not),
      TEST(less_is_handed_out_only_if_that_promotes_less),
      TEST(each_sample_is_counted),
      TEST(what_was_asked_for_early_does_not_count),
      TEST(pauses_above_the_target_halve_it),
      TEST(no_halving_goes_below_the_least),
      TEST(halving_that_does_not_shorten_is_undone),
      TEST(halving_that_shortens_somewhat_stays),
      TEST(long_collections_count_little),
      TEST(sixteen_long_collections_count_in_full),
      TEST(after_sixteen_long_collections_it_shrinks),
      TEST(while_marking_a_part_is_handed_out),
      TEST(three_long_collections_cut_what_is_handed_out),
      TEST(beside_the_thread_three_long_collections_cut_what_is_handed_out),
      TEST(what_was_slow_in_one_phase_says_nothing_of_another),
      TEST(past_the_threshold_sweeping_comes_first),
      TEST(the_size_follows_what_is_handed_out),
      TEST(a_trial_without_a_sample_fails),
      TEST(other_trials_of_a_smaller_size_count),
      TEST(trials_of_a_smaller_size_leave_out_what_marking_slowed_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
