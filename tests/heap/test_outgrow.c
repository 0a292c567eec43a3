/* Tests small heaps and when they stop being small: which pages they use, and when the machine's properties are read.
 * */
#include "tests/support/heap_fixture.h"

#include "tests/inside.h"

#include <sys/prctl.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define HUGE_BYTES (2 * MIB)
#define LEAD_BYTES (256 * KIB)
#define STRING_BYTES 1024

#define SKIP(why) \
  do { \
    print_message("skipped: " why "\n"); \
    skip(); \
  } while (0)

/* Ignores the environment, because a log would make the library read the machine's properties. The nursery gets its
 * default size. */
static void plain_options(cradle_options *options) {
  cradle_options_init(options);
  options->types = fixture_types;
  options->type_count = T_COUNT;
  options->reserve_bytes = (size_t)1 << 30;
}

static void open_heap(fixture *f, cradle_options *options) {
  options->on_misuse = fixture_misuse;
  options->user = f;
  fixture_open_with(f, options);
  cradle_push(f->m, NULL);
}

static void open_plain(fixture *f) {
  cradle_options options;
  plain_options(&options);
  open_heap(f, &options);
}

static void close_heap(fixture *f) {
  cradle_error error;
  assert_true(cradle_heap_verify(f->heap, &error));
  cradle_pop_many(f->m, 1);
  fixture_close(f);
}

/* Makes strings of 1 KiB and keeps the last. */
CRADLE_UNCHECKED_COLLECTION static void allocate(fixture *f, size_t bytes) {
  for (size_t made = 0; made < bytes; made += STRING_BYTES) {
    string *text = cradle_new_array(f->m, T_STRING, STRING_BYTES - sizeof(string));
    memset(text->byte, 1, text->length);
    *cradle_peek(f->m, 0) = (cradle_word)(uintptr_t)text;
  }
}

CRADLE_UNCHECKED_COLLECTION static void collect(fixture *f, cradle_collection_kind kind) {
  cradle_collect(f->m, kind);
}

/* Adds strings to a list at the shadow stack's top, so that they live. */
CRADLE_UNCHECKED_COLLECTION static void keep(fixture *f, size_t bytes) {
  *cradle_peek(f->m, 0) = 0;
  for (size_t made = 0; made < bytes; made += STRING_BYTES) {
    cradle_push(f->m, cradle_new_array(f->m, T_STRING, STRING_BYTES - sizeof(string) - sizeof(pair)));
    pair *fresh = cradle_new(f->m, T_PAIR, sizeof(pair));
    fresh->first = cradle_pop(f->m);
    fresh->rest = (pair *)(uintptr_t)*cradle_peek(f->m, 0);
    *cradle_peek(f->m, 0) = (cradle_word)(uintptr_t)fresh;
  }
}

static cradle_memory report_of(const fixture *f) {
  cradle_memory memory;
  cradle_memory_report(f->heap, &memory, sizeof memory);
  return memory;
}

/* Whether the system gives huge pages to a heap that asks for them, and reports them. */
static bool has_huge_pages(void) {
  fixture f;
  cradle_options options;
  plain_options(&options);
  options.nursery_bytes = 4 * MIB;
  open_heap(&f, &options);
  allocate(&f, MIB);
  bool has = report_of(&f).nursery.huge_bytes != 0;
  close_heap(&f);
  return has;
}

/* --- pages --- */

/* [nursery.5] */
static void the_nursery_begins_on_base_pages_and_goes_on_on_huge_ones(void **state) {
  (void)state;
  if (!has_huge_pages()) SKIP("the system gives no huge pages, or does not tell");
  fixture f;
  cradle_options options;
  plain_options(&options);
  options.nursery_bytes = 4 * MIB;
  open_heap(&f, &options);
  cradle_memory memory = report_of(&f);
  assert_int_equal((memory.nursery.start + LEAD_BYTES) % HUGE_BYTES, 0);
  assert_int_equal(memory.nursery.committed_bytes, LEAD_BYTES + 4 * MIB);
  allocate(&f, LEAD_BYTES - 64 * KIB);
  memory = report_of(&f);
  assert_int_equal(memory.nursery.huge_bytes, 0);
  assert_in_range(memory.nursery.resident_bytes, LEAD_BYTES - 64 * KIB, LEAD_BYTES);
  allocate(&f, 128 * KIB);
  assert_int_equal(report_of(&f).nursery.huge_bytes, HUGE_BYTES);
  collect(&f, CRADLE_COLLECT_MINOR);
  allocate(&f, 3 * MIB);
  assert_int_equal(report_of(&f).nursery.huge_bytes, 2 * HUGE_BYTES);
  close_heap(&f);
}

static void a_small_nursery_has_no_huge_page(void **state) {
  (void)state;
  fixture f;
  cradle_options options;
  plain_options(&options);
  options.nursery_bytes = 128 * KIB;
  options.hugepages_arenas = CRADLE_HUGEPAGES_OFF;
  open_heap(&f, &options);
  allocate(&f, 4 * MIB);
  assert_int_equal(report_of(&f).nursery.huge_bytes, 0);
  assert_true(report_of(&f).nursery.committed_bytes <= HUGE_BYTES);
  close_heap(&f);
}

/* [outgrow.1] and [outgrow.2], by the kernel's figures. */
static void arenas_get_huge_pages_when_the_heap_outgrows(void **state) {
  (void)state;
  if (!has_huge_pages()) SKIP("the system gives no huge pages, or does not tell");
  fixture f;
  open_plain(&f);
  keep(&f, 200 * KIB);
  for (int i = 0; i < 3; i++) collect(&f, CRADLE_COLLECT_FULL);
  cradle_memory memory = report_of(&f);
  assert_true(f.heap->small);
  assert_int_equal(memory.arenas.asked, CRADLE_HUGEPAGES_AUTO);
  assert_int_equal(memory.arenas.obtained, CRADLE_BACKING_BASE);
  assert_int_equal(memory.metadata.obtained, CRADLE_BACKING_BASE);
  assert_in_range(memory.arenas.resident_bytes, 200 * KIB, 400 * KIB);
  keep(&f, 12 * MIB);
  memory = report_of(&f);
  assert_false(f.heap->small);
  assert_true(memory.arenas.huge_bytes >= 6 * MIB);
  assert_in_range(memory.arenas.resident_bytes - memory.arenas.huge_bytes, 400 * KIB, ARENA_BYTES);
  close_heap(&f);
}

/* A larger heap would populate an arena ahead, because so much survives. */
static void no_arena_is_populated_while_the_heap_is_small(void **state) {
  (void)state;
  fixture f;
  cradle_options options;
  plain_options(&options);
  options.nursery_bytes = 128 * KIB;
  open_heap(&f, &options);
  keep(&f, 1000 * KIB);
  assert_true(f.heap->small);
  assert_true(inside_pacing(f.heap)->promoted_average > 64 * KIB);
  cradle_memory memory = report_of(&f);
  if (memory.arenas.obtained != CRADLE_BACKING_UNKNOWN) assert_true(memory.arenas.resident_bytes < 3 * MIB / 2);
  close_heap(&f);
}

/* The rest of the last arena of a large object, for the sake of minor collections; not the arenas that the object
 * fills, and not if it only takes a part of an arena in use. */
CRADLE_UNCHECKED_COLLECTION static void what_a_large_object_leaves_of_its_arena_is_populated(void **state) {
  (void)state;
  fixture f;
  cradle_options options;
  plain_options(&options);
  options.hugepages_arenas = CRADLE_HUGEPAGES_OFF;
  options.major_min_bytes = 512 * MIB; /* after a collection other arenas would be populated */
  open_heap(&f, &options);
  keep(&f, 12 * MIB);
  assert_false(f.heap->small);
  collect(&f, CRADLE_COLLECT_FULL);
  const size_t sizes[] = {20 * MIB + 64 * KIB, 20 * MIB - sizeof(string), 64 * KIB};
  for (int i = 0; i < 3; i++) {
    cradle_memory before = report_of(&f);
    uint64_t prepare_ns = fixture_stats(&f).prepare_ns;
    cradle_push(f.m, cradle_new_array(f.m, T_STRING, sizes[i]));
    cradle_memory after = report_of(&f);
    assert_int_equal(fixture_stats(&f).prepare_ns != prepare_ns, i == 0);
    if (before.arenas.obtained != CRADLE_BACKING_UNKNOWN)
      assert_in_range(after.arenas.resident_bytes - before.arenas.resident_bytes, i == 0 ? 2 * MIB : 0,
                      i == 0 ? 5 * MIB / 2 : MIB);
  }
  cradle_pop_many(f.m, 3);
  close_heap(&f);
}

/* Most programs do this: they have allocated more than the bound when the first collection comes. */
static void a_full_nursery_finds_huge_pages_at_once(void **state) {
  (void)state;
  if (!has_huge_pages()) SKIP("the system gives no huge pages, or does not tell");
  fixture f;
  cradle_options options;
  plain_options(&options);
  options.nursery_bytes = 4 * MIB;
  open_heap(&f, &options);
  keep(&f, 8 * MIB);
  cradle_memory memory = report_of(&f);
  assert_int_equal(memory.arenas.obtained, CRADLE_BACKING_PARTLY_HUGE); /* but for the first arena */
  assert_true(memory.arenas.huge_bytes >= 6 * MIB);
  close_heap(&f);
}

/* [arena_memory.4]: what a program with few live objects has resident, however much it allocates. */
static void what_lives_on_is_little_and_so_are_its_pages(void **state) {
  (void)state;
  fixture f;
  open_plain(&f);
  keep(&f, 300 * KIB);
  cradle_push(f.m, NULL);
  allocate(&f, 32 * MIB);
  cradle_pop_many(f.m, 1);
  assert_false(f.heap->small);
  cradle_memory memory = report_of(&f);
  if (memory.arenas.obtained == CRADLE_BACKING_UNKNOWN) SKIP("the system does not tell");
  assert_int_equal(memory.arenas.huge_bytes, 0);
  assert_in_range(memory.arenas.resident_bytes, 300 * KIB, 900 * KIB);
  assert_int_equal(memory.metadata.huge_bytes, 0);
  assert_in_range(memory.metadata.resident_bytes, 4 * KIB, 80 * KIB);
  close_heap(&f);
}

static void large_objects_outgrow_it_too(void **state) {
  (void)state;
  fixture f;
  open_plain(&f);
  for (int i = 0; i < 9; i++) (void)cradle_new_array(f.m, T_STRING, 100 * KIB);
  assert_true(f.heap->small);
  (void)cradle_new_array(f.m, T_STRING, 200 * KIB);
  assert_false(f.heap->small);
  close_heap(&f);
  open_plain(&f);
  string *text = cradle_new_array(f.m, T_STRING, 4 * MIB); /* a small heap would have placed it on base pages */
  memset(text->byte, 1, text->length);
  cradle_memory memory = report_of(&f);
  if (has_huge_pages()) assert_true(memory.arenas.huge_bytes >= 4 * MIB);
  close_heap(&f);
}

/* The bound applies to the bytes allocated so far, not to the live ones. */
static void many_small_collections_outgrow_it(void **state) {
  (void)state;
  fixture f;
  open_plain(&f);
  for (size_t made = 0; made + 64 * KIB < SMALL_BYTES; made += 64 * KIB) {
    assert_true(f.heap->small);
    allocate(&f, 64 * KIB);
    collect(&f, CRADLE_COLLECT_MINOR);
  }
  assert_true(f.heap->small);
  allocate(&f, 64 * KIB);
  collect(&f, CRADLE_COLLECT_MINOR);
  assert_false(f.heap->small);
  close_heap(&f);
}

static void other_policies_hold_from_the_start(void **state) {
  (void)state;
  static const cradle_hugepages policies[] = {CRADLE_HUGEPAGES_HUGETLB, CRADLE_HUGEPAGES_OFF};
  bool huge = has_huge_pages();
  for (size_t i = 0; i < 2; i++) {
    fixture f;
    cradle_options options;
    plain_options(&options);
    options.nursery_bytes = 4 * MIB;
    options.hugepages_nursery = options.hugepages_arenas = policies[i];
    open_heap(&f, &options);
    keep(&f, 64 * KIB);
    collect(&f, CRADLE_COLLECT_MINOR);
    allocate(&f, 64 * KIB);
    cradle_memory memory = report_of(&f);
    assert_true(f.heap->small);
    assert_int_equal(memory.nursery.start % HUGE_BYTES, 0);
    if (huge) { /* where the pool has none, transparent ones serve */
      assert_int_equal(memory.nursery.huge_bytes != 0, i == 0);
      assert_int_equal(memory.arenas.huge_bytes != 0, i == 0);
    }
    close_heap(&f);
  }
}

/* A process that disabled huge pages for itself: the kernel ignores the advice, and nothing else changes. */
static int heap_without_huge_pages(void) {
  if (prctl(PR_SET_THP_DISABLE, 1ul, 0ul, 0ul, 0ul) != 0) return 2;
  fixture f;
  open_plain(&f);
  keep(&f, 12 * MIB);
  cradle_memory memory = report_of(&f);
  bool is_base = memory.arenas.huge_bytes == 0 && memory.nursery.huge_bytes == 0;
  bool outgrown = !f.heap->small;
  close_heap(&f);
  return is_base && outgrown ? 0 : 1;
}

static int status_of_child(int (*run)(void)) {
  int status;
  pid_t child = fork();
  if (child == 0) _exit(run());
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void a_system_that_refuses_leaves_base_pages(void **state) {
  (void)state;
  int status = status_of_child(heap_without_huge_pages);
  if (status == 2) SKIP("the system cannot disable huge pages for a process");
  assert_int_equal(status, 0);
}

/* Memory that was given back and is taken again, while the heap is small and afterwards, has the same kind of pages as
 * its neighbours. */
static void what_is_given_back_comes_again_as_its_neighbours(void **state) {
  (void)state;
  bool huge = has_huge_pages();
  fixture f;
  open_plain(&f);
  crd_arenas *arenas = &inside_old(f.heap)->arenas;
  for (int outgrown = 0; outgrown < 2; outgrown++) {
    uint32_t before = arenas->committed_count;
    assert_int_equal(f.heap->small, !outgrown);
    assert_true(crd_arenas_ensure_free(arenas, arenas->free_count + 2));
    assert_int_equal(crd_arenas_release(arenas, arenas->free_count - 2, UINT32_MAX), 2);
    assert_int_equal(arenas->committed_count, before);
    assert_true(crd_arenas_ensure_free(arenas, arenas->free_count + 2));
    char *last = (char *)memory_at(arenas->base + (arenas->committed_end - 1) * ARENA_BYTES);
    *last = 1;
    crd_pages_backing backing;
    if (crd_pages_backing_of(last, ARENA_BYTES, &backing) && huge)
      assert_int_equal(backing.huge_bytes, outgrown ? ARENA_BYTES : 0);
    *last = 0;
    if (!outgrown) crd_outgrow(f.heap);
  }
  close_heap(&f);
}

static void a_small_nursery_is_given_back_and_fills_again(void **state) {
  (void)state;
  fixture f;
  open_plain(&f);
  allocate(&f, 128 * KIB);
  collect(&f, CRADLE_COLLECT_COMPACTING);
  cradle_memory memory = report_of(&f);
  if (memory.nursery.obtained != CRADLE_BACKING_UNKNOWN) assert_int_equal(memory.nursery.resident_bytes, 0);
  allocate(&f, 128 * KIB);
  assert_int_equal(report_of(&f).nursery.huge_bytes, 0);
  close_heap(&f);
}

/* --- forks, many heaps, stress --- */

/* Parent and child go on with small heaps, and each outgrows on its own. */
static void a_fork_in_between_leaves_both_to_outgrow(void **state) {
  (void)state;
  bool huge = has_huge_pages();
  fixture f;
  cradle_error error;
  open_plain(&f);
  keep(&f, 100 * KIB);
  assert_true(cradle_fork_prepare(f.heap, &error));
  pid_t child = fork();
  if (child == 0)
    cradle_fork_done(f.heap);
  else
    cradle_fork_done(f.heap);
  bool is_right = f.heap->small;
  keep(&f, 12 * MIB);
  is_right = is_right && !f.heap->small && (!huge || report_of(&f).arenas.huge_bytes >= 6 * MIB);
  is_right = is_right && cradle_heap_verify(f.heap, &error);
  if (child == 0) _exit(is_right ? 0 : 1);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_true(is_right);
  close_heap(&f);
}

static void each_heap_outgrows_for_itself(void **state) {
  (void)state;
  fixture heaps[3];
  for (int i = 0; i < 3; i++) open_plain(&heaps[i]);
  for (int round = 0; round < 20; round++)
    for (int i = 0; i < 3; i++) {
      allocate(&heaps[i], (size_t)i * 40 * KIB);
      collect(&heaps[i], CRADLE_COLLECT_MINOR);
    }
  assert_true(heaps[0].heap->small); /* nothing */
  assert_true(heaps[1].heap->small); /* 800 KiB */
  assert_false(heaps[2].heap->small);
  for (int i = 0; i < 3; i++) close_heap(&heaps[i]);
}

static void a_stressed_heap_outgrows(void **state) {
  (void)state;
  fixture f;
  cradle_options options;
  plain_options(&options);
  options.nursery_bytes = 8 * KIB;
  options.stress_period = 7;
  options.stress_major = 5;
  options.verify = true;
  open_heap(&f, &options);
  keep(&f, 512 * KIB);
  assert_true(f.heap->small);
  keep(&f, MIB);
  assert_false(f.heap->small);
  close_heap(&f);
}

/* --- the machine --- */

static bool has_larger_pages(const fixture *f) {
  return f->heap->hardware.page_bytes > 4096;
}

static void the_machine_is_read_when_it_is_needed(void **state) {
  (void)state;
  fixture f;
  open_plain(&f);
  if (has_larger_pages(&f)) {
    close_heap(&f);
    SKIP("base pages above 4 KiB: all of the machine is read as the heap is made");
  }
  assert_int_equal(f.heap->known_hardware, HARDWARE_L2);
  allocate(&f, 2 * MIB);
  collect(&f, CRADLE_COLLECT_MINOR);
  assert_int_equal(f.heap->known_hardware, HARDWARE_L2 | HARDWARE_MEMORY);
  assert_true(f.heap->hardware.memory_bytes != 0);
  assert_int_equal(inside_pacing(f.heap)->max_delta, f.heap->hardware.memory_bytes / 8);
  close_heap(&f);
}

/* So much survives that the nursery should grow. How far depends on the L3 cache, whose size is read then. */
static void the_l3_is_read_when_the_nursery_would_grow(void **state) {
  (void)state;
  fixture f;
  cradle_options options;
  plain_options(&options);
  options.pause_ns = 0;
  open_heap(&f, &options);
  for (int i = 0; i < 8 && !f.heap->young.adapt.knows_bounds; i++) keep(&f, 4 * inside_nursery(f.heap)->bytes);
  assert_true(f.heap->young.adapt.knows_bounds);
  assert_true(f.heap->known_hardware & HARDWARE_CACHES);
  size_t l3 = f.heap->hardware.l3_bytes;
  if (l3 / 2 >= f.heap->young.adapt.base) assert_true(f.heap->young.adapt.early_max <= l3 / 2);
  assert_true(inside_nursery(f.heap)->bytes <= f.heap->young.adapt.max);
  close_heap(&f);
}

static void listen(void *data, const cradle_event *event) {
  if (event->kind == CRADLE_EVENT_HEAP_CREATED) *(cradle_hardware *)data = *event->u.heap.hardware;
}

static void a_listener_is_told_all_of_it(void **state) {
  (void)state;
  fixture f;
  cradle_options options;
  cradle_hardware told = {0}, all;
  plain_options(&options);
  options.listener = (cradle_listener){listen, &told};
  open_heap(&f, &options);
  inside_hardware(&all);
  all.pool_pages_free = told.pool_pages_free; /* which may change */
  assert_memory_equal(&told, &all, sizeof all);
  assert_true(f.heap->small); /* its pages are those of any small heap */
  close_heap(&f);
}

/* Acts as if the limit of a cgroup had been found only now. */
static void a_group_found_late_bounds_the_heap(void **state) {
  (void)state;
  fixture f;
  open_plain(&f);
  size_t base = inside_nursery(f.heap)->bytes, group = 4 * base + 24 * MIB, max = group / 4 * 3;
  allocate(&f, 64 * KIB);
  f.heap->hardware.group_bytes = f.heap->hardware.memory_bytes = group;
  f.heap->known_hardware |= HARDWARE_MEMORY;
  crd_outgrow_bound(f.heap);
  cradle_statistics stats = fixture_stats(&f);
  assert_int_equal(stats.heap_max_bytes, max);
  assert_int_equal(inside_nursery(f.heap)->bytes, base); /* it is not empty [nursery.3] */
  collect(&f, CRADLE_COLLECT_MINOR);
  size_t share = max / 8 < base ? max / 8 / (4 * KIB) * (4 * KIB) : base;
  assert_int_equal(inside_nursery(f.heap)->bytes, share);
  assert_int_equal(f.heap->young.adapt.base, share);
  assert_true(inside_old(f.heap)->arenas.limit <= (max - share) / ARENA_BYTES);
  allocate(&f, 4 * base);
  assert_int_equal(inside_nursery(f.heap)->bytes, share);
  close_heap(&f);
}

static void a_nursery_that_was_asked_for_is_not_cut(void **state) {
  (void)state;
  fixture f;
  cradle_options options;
  plain_options(&options);
  options.nursery_bytes = 6 * MIB;
  options.major_min_bytes = 50 * MIB; /* chosen without knowing of the maximum */
  open_heap(&f, &options);
  f.heap->hardware.group_bytes = f.heap->hardware.memory_bytes = 40 * MIB;
  f.heap->known_hardware |= HARDWARE_MEMORY;
  crd_outgrow_bound(f.heap);
  assert_int_equal(fixture_stats(&f).heap_max_bytes, 30 * MIB);
  assert_int_equal(inside_old(f.heap)->arenas.limit, 24 * MIB / ARENA_BYTES);
  assert_int_equal(fixture_stats(&f).threshold_bytes, 30 * MIB);
  assert_int_equal(inside_pacing(f.heap)->min, 30 * MIB);
  allocate(&f, 20 * MIB);
  assert_int_equal(inside_nursery(f.heap)->bytes, 6 * MIB);
  close_heap(&f);
}

/* If the program has set "no maximum", that stays. */
CRADLE_UNCHECKED_COLLECTION static void a_maximum_that_is_set_first_stays(void **state) {
  (void)state;
  fixture f;
  open_plain(&f);
  assert_true(cradle_heap_set_max(f.m, 0, NULL));
  assert_int_equal(f.heap->known_hardware, has_larger_pages(&f) ? HARDWARE_ALL : HARDWARE_L2 | HARDWARE_MEMORY);
  f.heap->hardware.group_bytes = f.heap->hardware.memory_bytes = 64 * MIB;
  allocate(&f, 20 * MIB);
  assert_false(f.heap->small);
  assert_int_equal(fixture_stats(&f).heap_max_bytes, 0);
  close_heap(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_nursery_begins_on_base_pages_and_goes_on_on_huge_ones),
      cmocka_unit_test(a_small_nursery_has_no_huge_page),
      cmocka_unit_test(arenas_get_huge_pages_when_the_heap_outgrows),
      cmocka_unit_test(no_arena_is_populated_while_the_heap_is_small),
      cmocka_unit_test(what_a_large_object_leaves_of_its_arena_is_populated),
      cmocka_unit_test(a_full_nursery_finds_huge_pages_at_once),
      cmocka_unit_test(what_lives_on_is_little_and_so_are_its_pages),
      cmocka_unit_test(large_objects_outgrow_it_too),
      cmocka_unit_test(many_small_collections_outgrow_it),
      cmocka_unit_test(other_policies_hold_from_the_start),
      cmocka_unit_test(a_system_that_refuses_leaves_base_pages),
      cmocka_unit_test(what_is_given_back_comes_again_as_its_neighbours),
      cmocka_unit_test(a_small_nursery_is_given_back_and_fills_again),
      cmocka_unit_test(a_fork_in_between_leaves_both_to_outgrow),
      cmocka_unit_test(each_heap_outgrows_for_itself),
      cmocka_unit_test(a_stressed_heap_outgrows),
      cmocka_unit_test(the_machine_is_read_when_it_is_needed),
      cmocka_unit_test(the_l3_is_read_when_the_nursery_would_grow),
      cmocka_unit_test(a_listener_is_told_all_of_it),
      cmocka_unit_test(a_group_found_late_bounds_the_heap),
      cmocka_unit_test(a_nursery_that_was_asked_for_is_not_cut),
      cmocka_unit_test(a_maximum_that_is_set_first_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
