/* Tests page supply (gc/old/supply.h): what the mutator asks the thread to populate. One thread plays both sides in
 * turn. Also tests a heap that grows with a second core. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <cradle/new.h>
#include <cradle/roots.h>
#include <cradle/statistics.h>

#include "tests/inside.h"

#define SECOND UINT64_C(1000000000)

static void open_arenas_with(crd_arenas *arenas, cradle_hugepages policy) {
  cradle_options options;
  cradle_hardware hardware;
  cradle_options_init(&options);
  options.reserve_bytes = 64 * ARENA_BYTES;
  options.hugepages_arenas = policy;
  inside_hardware(&hardware);
  hardware.pool_page_bytes = 0;
  assert_true(crd_arenas_init(arenas, &options, &hardware));
}

static void open_arenas(crd_arenas *arenas) {
  open_arenas_with(arenas, CRADLE_HUGEPAGES_AUTO);
}

static bool is_ready(const crd_arenas *arenas, uint32_t index) {
  return (arenas->origins[index] & ARENA_TOUCHED) != 0;
}

/* As the system sees it: not what the collector notes. */
static bool is_resident(const crd_arenas *arenas, uint32_t index) {
  crd_pages_backing backing;
  const void *start = object_at(arenas->base + index * ARENA_BYTES);
  return !crd_pages_backing_of(start, ARENA_BYTES, &backing) || backing.resident_bytes == ARENA_BYTES;
}

static bool can_populate(void) {
  crd_arenas arenas;
  open_arenas(&arenas);
  bool can = crd_arenas_prepare(&arenas, 1) == 1;
  crd_arenas_fini(&arenas);
  return can;
}

static void what_is_asked_for_is_ready_when_it_is_done(void **state) {
  (void)state;
  static crd_arenas arenas;
  open_arenas(&arenas);
  assert_false(crd_supply_next(&arenas));
  assert_true(crd_supply_ask(&arenas, 3, 0));
  assert_int_equal(arenas.free_count, 3);
  assert_true(crd_supply_next(&arenas));
  assert_false(crd_supply_ask(&arenas, 5, 0)); /* the thread is still working on the last request */
  assert_false(is_ready(&arenas, 0));
  assert_true(crd_supply_next(&arenas));
  assert_true(crd_supply_next(&arenas));
  assert_false(crd_supply_next(&arenas));     /* [supply.2] */
  assert_true(crd_supply_ask(&arenas, 5, 0)); /* asks for two more */
  for (uint32_t i = 0; i < 5; i++) assert_int_equal(is_ready(&arenas, i), i < 3);
  assert_int_equal(arenas.supplied_total, 3);
  while (crd_supply_next(&arenas)) continue;
  for (uint32_t i = 0; i < 5; i++) assert_true(is_resident(&arenas, i));
  assert_false(crd_supply_ask(&arenas, 5, 0)); /* enough is populated */
  assert_int_equal(arenas.supplied_total, 5);
  crd_arenas_fini(&arenas);
}

static void a_heap_that_grows_gets_more(void **state) {
  (void)state;
  static crd_arenas arenas;
  bool clean;
  open_arenas(&arenas);
  uint32_t page = crd_arenas_take(&arenas, ARENA_PAGES, 0, &clean);
  assert_true(crd_supply_ask(&arenas, 2, 3)); /* the most so far is in use */
  assert_int_equal(arenas.free_count, 5);
  while (crd_supply_next(&arenas)) continue;
  crd_arenas_give_back(&arenas, page, ARENA_PAGES);
  assert_false(crd_supply_ask(&arenas, 6, 3)); /* less is in use now, and the memory used before is still populated */
  assert_int_equal(arenas.supplied_total, 5);
  assert_int_equal(arenas.free_count, 6);
  assert_int_equal(arenas.supply.ahead, 0);
  crd_arenas_fini(&arenas);
}

/* In place of the thread: populating takes a while. */
static void say_that_all_is_done(crd_arenas *arenas) {
  __atomic_store_n(&arenas->supply.done, arenas->supply.asked, __ATOMIC_RELEASE);
}

static uint32_t take_arena(crd_arenas *arenas) {
  bool clean;
  uint32_t page = crd_arenas_take(arenas, ARENA_PAGES, 0, &clean);
  assert_int_not_equal(page, PAGE_NONE);
  return page / ARENA_PAGES;
}

/* Asks for the first run of FREE arenas that are not ready, among the lowest `keep` FREE ones. */
static void the_lowest_arenas_are_asked_for(void **state) {
  (void)state;
  static crd_arenas arenas;
  open_arenas(&arenas);
  const crd_supply *supply = &arenas.supply;
  assert_true(crd_arenas_ensure_free(&arenas, 60));
  assert_true(crd_supply_ask(&arenas, 3, 0));
  assert_int_equal(supply->first, 0);
  assert_int_equal(supply->count, 3);
  say_that_all_is_done(&arenas);
  assert_true(crd_supply_ask(&arenas, 4, 0));
  assert_int_equal(supply->first, 3);
  assert_int_equal(supply->count, 1);
  say_that_all_is_done(&arenas);
  assert_true(crd_supply_ask(&arenas, 60, 0)); /* a few at a time */
  assert_int_equal(supply->first, 4);
  assert_int_equal(supply->count, 16);
  say_that_all_is_done(&arenas);
  for (uint32_t i = 0; i < 22; i++) assert_int_equal(take_arena(&arenas), i);
  crd_arenas_give_back(&arenas, 10 * ARENA_PAGES, ARENA_PAGES);
  assert_true(crd_supply_ask(&arenas, 3, 0)); /* arena 10, which is ready, 22 and 23 */
  assert_int_equal(supply->first, 22);
  assert_int_equal(supply->count, 2);
  say_that_all_is_done(&arenas);
  assert_true(crd_supply_settle(&arenas));
  for (uint32_t i = 0; i < 4; i++) assert_int_equal(take_arena(&arenas), i == 0 ? 10 : 21 + i);
  crd_arenas_give_back(&arenas, 23 * ARENA_PAGES, ARENA_PAGES);
  arenas.origins[23] = 0;
  assert_true(crd_supply_ask(&arenas, 3, 0)); /* arena 23 alone: 24 is in use, so that the run ends */
  assert_int_equal(supply->first, 23);
  assert_int_equal(supply->count, 1);
  assert_int_equal(arenas.supplied_total, 22);
  crd_supply_forget(&arenas);
  assert_int_equal(supply->asked, 0);
  assert_true(crd_supply_ask(&arenas, 3, 0)); /* once more: the thread was lost */
  assert_int_equal(supply->first, 23);
  say_that_all_is_done(&arenas);
  assert_true(crd_supply_settle(&arenas));
  assert_true(is_ready(&arenas, 23));
  assert_int_equal(arenas.supplied_total, 23);
  assert_true(crd_supply_settle(&arenas)); /* nothing twice */
  assert_int_equal(arenas.supplied_total, 23);
  crd_arenas_fini(&arenas);
}

/* An arena that the thread was to populate may have gone only if the thread is done, and is not ready when it comes
 * again. */
static void what_has_gone_is_not_ready(void **state) {
  (void)state;
  static crd_arenas arenas;
  open_arenas(&arenas);
  assert_true(crd_supply_ask(&arenas, 2, 0));
  say_that_all_is_done(&arenas);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 0); /* nobody has seen that the thread is done */
  assert_false(crd_supply_ask(&arenas, 2, 0));
  assert_int_equal(crd_arenas_release(&arenas, 1, UINT32_MAX), 1);
  assert_true(crd_supply_ask(&arenas, 2, 0));
  assert_int_equal(arenas.supply.first, 1);
  crd_arenas_fini(&arenas);
}

/* Pages of a pool have their memory from the beginning, and with a quarantine arenas come in turn. */
static void some_heaps_ask_for_nothing(void **state) {
  (void)state;
  static crd_arenas arenas;
  open_arenas_with(&arenas, CRADLE_HUGEPAGES_HUGETLB);
  assert_false(crd_supply_ask(&arenas, 2, 1));
  assert_int_equal(arenas.committed_count, 0);
  crd_arenas_fini(&arenas);
  open_arenas_with(&arenas, CRADLE_HUGEPAGES_OFF);
  assert_true(crd_closed_init(&arenas, 4096));
  assert_false(crd_supply_ask(&arenas, 2, 1));
  assert_int_equal(arenas.committed_count, 0);
  crd_closed_fini(&arenas);
  crd_arenas_fini(&arenas);
}

/* [supply.1] */
static void what_the_thread_is_at_stays(void **state) {
  (void)state;
  static crd_arenas arenas;
  open_arenas(&arenas);
  assert_true(crd_supply_ask(&arenas, 4, 0));
  assert_true(crd_supply_next(&arenas));
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 0);
  for (uint32_t i = 0; i < 4; i++) arenas.origins[i] |= ARENA_TOUCHED;
  crd_arenas_discard_free(&arenas);
  for (uint32_t i = 0; i < 4; i++) assert_true(is_ready(&arenas, i));
  while (crd_supply_next(&arenas)) continue;
  assert_false(crd_supply_ask(&arenas, 4, 0));
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 4);
  crd_arenas_fini(&arenas);
}

/* The mutator takes, fills and frees an arena while the thread populates it. */
static void populating_changes_nothing(void **state) {
  (void)state;
  static crd_arenas arenas;
  bool clean;
  open_arenas(&arenas);
  assert_true(crd_supply_ask(&arenas, 2, 0));
  uint32_t page = crd_arenas_take(&arenas, ARENA_PAGES, 0, &clean);
  char *memory = memory_at(arenas_page_address(&arenas, page));
  memset(memory, 0x5a, ARENA_BYTES);
  while (crd_supply_next(&arenas)) continue;
  for (size_t i = 0; i < ARENA_BYTES; i += 512) assert_int_equal(memory[i], 0x5a);
  assert_false(crd_supply_ask(&arenas, 1, 0));
  crd_arenas_give_back(&arenas, page, ARENA_PAGES);
  crd_arenas_fini(&arenas);
}

/* --- a heap --- */

typedef struct cell {
  uint64_t header;
  struct cell *next;
  uint64_t number;
} cell;
static const cradle_type types[] = {{.name = "cell", .size = sizeof(cell), .references = CRADLE_SLOT(cell, next)}};

/* Allocates enough for a few major collections. */
#define CELLS 1500000

CRADLE_UNCHECKED_COLLECTION static void a_heap_that_grows_is_supplied(void **state) {
  (void)state;
  cradle_options options;
  cradle_error error;
  cradle_statistics stats;
  cell *list = NULL;
  if (!can_populate()) {
    puts("skipped: this system populates no pages ahead");
    skip();
  }
  cradle_options_init(&options);
  options.types = types;
  options.type_count = 1;
  options.nursery_bytes = (size_t)1 << 20;
  options.gc_threads = 1;
  cradle_heap *heap = cradle_heap_new(&options, &error);
  assert_non_null(heap);
  cradle_mutator *m = cradle_mutator_new(heap);
  cradle_global_root_add(heap, &list, CRADLE_KIND_REFERENCE);
  for (uint64_t i = 0; i < CELLS; i++) {
    cell *next = cradle_new(m, 0, sizeof(cell));
    next->next = list;
    next->number = i;
    list = next;
  }
  cradle_collect(m, CRADLE_COLLECT_FULL);
  if (!cradle_heap_verify(heap, &error)) fail_msg("%s", error.message);
  cradle_heap_statistics(heap, &stats, sizeof stats);
  assert_true(stats.beside_arenas > 0);
  uint64_t number = CELLS;
  for (const cell *at = list; at != NULL; at = at->next) assert_int_equal(at->number, --number);
  assert_int_equal(number, 0);
  cradle_global_root_remove(heap, &list);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
}

/* Of a large nursery of which little survives, most of the promotion reserve is never touched. */
CRADLE_UNCHECKED_COLLECTION static void the_reserve_is_populated_as_far_as_it_will_be_used(void **state) {
  (void)state;
  cradle_options options;
  cradle_error error;
  if (!can_populate()) {
    puts("skipped: this system populates no pages ahead");
    skip();
  }
  cradle_options_init(&options);
  options.types = types;
  options.type_count = 1;
  options.nursery_bytes = (size_t)16 << 20;
  options.gc_threads = 1;
  cradle_heap *heap = cradle_heap_new(&options, &error);
  assert_non_null(heap);
  cradle_mutator *m = cradle_mutator_new(heap);
  cell *list = NULL;
  cradle_global_root_add(heap, &list, CRADLE_KIND_REFERENCE);
  (void)cradle_collect_step(m, 1); /* the thread is made */
  for (uint64_t i = 0; i < 40 * (options.nursery_bytes / sizeof(cell)); i++) {
    cell *next = cradle_new(m, 0, sizeof(cell));
    if (i % 16 == 0) next->next = list, list = next; /* a MiB of each nursery is kept */
    if (i % 4000000 == 0) list = NULL;
  }
  const crd_old *old = inside_old(heap);
  uint32_t touched = 0;
  for (uint32_t i = 0; i < old->arenas.committed_end; i++)
    touched += old->arenas.states[i] == ARENA_FREE && is_ready(&old->arenas, i);
  /* Two, and what a late major collection emptied: eight more were seen on a busy machine. */
  assert_true(old->reserve >= 12);
  assert_in_range(touched, 1, old->reserve - 1);
  cradle_global_root_remove(heap, &list);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_asked_for_is_ready_when_it_is_done),
      cmocka_unit_test(a_heap_that_grows_gets_more),
      cmocka_unit_test(the_lowest_arenas_are_asked_for),
      cmocka_unit_test(what_has_gone_is_not_ready),
      cmocka_unit_test(some_heaps_ask_for_nothing),
      cmocka_unit_test(what_the_thread_is_at_stays),
      cmocka_unit_test(populating_changes_nothing),
      cmocka_unit_test(a_heap_that_grows_is_supplied),
      cmocka_unit_test(the_reserve_is_populated_as_far_as_it_will_be_used),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
