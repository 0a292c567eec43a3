/* Tests parts of the collector one by one: size classes, spans, arenas and marking. tests/base/test_base.c tests
 * what they are built on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <cradle/cradle.h>

#include "tests/inside.h"

/* --- size classes --- */

static void every_size_has_a_class_that_wastes_at_most_an_eighth(void **state) {
  (void)state;
  static crd_size_classes classes;
  crd_size_classes_init(&classes);
  for (uint32_t bytes = CRADLE_OBJECT_MIN_BYTES; bytes <= SMALL_MAX_BYTES; bytes += 8) {
    const crd_size_class *class = &classes.of[classes.by_words[bytes / 8]];
    assert_true(class->bytes >= bytes);
    uint32_t span = class->pages * PAGE_BYTES;
    assert_true(class->objects * class->bytes <= span);
    assert_true(class->objects >= 4);
    assert_true((uint64_t)(span - class->objects * bytes) * 8 <= span); /* [size_class.1] */
    if (bytes <= 256) assert_int_equal(class->bytes, bytes);
  }
}

static void powers_of_two_with_a_header_are_bounds(void **state) {
  (void)state;
  static crd_size_classes classes;
  crd_size_classes_init(&classes);
  for (uint32_t power = 256; power <= 8192; power *= 2)
    assert_int_equal(classes.of[classes.by_words[(power + 8) / 8]].bytes, power + 8);
  assert_true(classes.span_bytes_total < ((uint32_t)2 << 20)); /* [size_class.2] */
  assert_int_equal(classes.by_words[0], 0);                    /* sizes below the smallest object */
  assert_int_equal(classes.by_words[1], 0);
  for (uint32_t c = 0; c < classes.count; c++) assert_in_range(classes.of[c].pages, SPAN_MIN_PAGES, SPAN_MAX_PAGES);
}

/* --- the promotion reserve --- */

static crd_old *new_old(size_t reserve) {
  cradle_options options;
  cradle_hardware hardware;
  cradle_options_init(&options);
  options.reserve_bytes = reserve;
  inside_hardware(&hardware);
  crd_old *old = calloc(1, sizeof *old);
  assert_non_null(old);
  assert_true(crd_old_init(old, &options, &hardware));
  return old;
}

static void free_old(crd_old *old) {
  crd_old_fini(old);
  free(old);
}

static void reserve_and_nursery_size_agree(void **state) {
  (void)state;
  crd_old *old = new_old((size_t)1 << 30);
  for (size_t bytes = 4096; bytes <= CRADLE_NURSERY_MAX_BYTES; bytes = bytes * 3 / 2 & ~(size_t)7) {
    uint32_t arenas = crd_old_arenas_for(old, bytes);
    assert_true(crd_old_nursery_for(old, arenas) >= bytes);
    assert_true(arenas == 1 || crd_old_nursery_for(old, arenas - 1) < bytes);
  }
  assert_int_equal(crd_old_nursery_for(old, 0), 0);
  free_old(old);
}

/* Promotes the worst contents that a nursery can hold into exactly the number of arenas that the rule gives. */
static void worst_promotion(size_t nursery, size_t object_bytes) {
  crd_old *old = new_old((size_t)1 << 30);
  old->arenas.limit = crd_old_arenas_for(old, nursery);
  size_t filled = 0;
  for (uint32_t i = 0; i < old->classes.count && filled + old->classes.of[i].bytes <= nursery; i++) {
    /* one span of every class, while the nursery has room for another object */
    assert_true(crd_old_refill(old, &old->leader, i, 0));
    filled += old->classes.of[i].bytes;
  }
  for (; filled + object_bytes <= nursery; filled += object_bytes) {
    if (object_bytes > SMALL_MAX_BYTES) {
      assert_non_null(crd_old_take_large(old, object_bytes, false, false, 0));
      continue;
    }
    crd_allocator *allocator = &old->leader.allocators[old_class_of(old, object_bytes)];
    if (allocator->free == allocator->end)
      assert_true(crd_old_refill(old, &old->leader, old_class_of(old, object_bytes), 0));
    allocator->free += old->classes.of[old_class_of(old, object_bytes)].bytes;
  }
  free_old(old);
}

static void the_reserve_holds_the_worst_promotion(void **state) {
  (void)state;
  static const size_t sizes[] = {16, 24, 272, 528, 1040, 4112, 7176, 8200, 8208, 12296, 20488, 32768};
  for (size_t nursery = (size_t)64 << 10; nursery <= ((size_t)64 << 20); nursery *= 2)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) worst_promotion(nursery, sizes[i]);
}

/* --- page runs --- */

#define RUNS 400

static uint32_t next_random(uint64_t *seed) {
  *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
  return (uint32_t)(*seed >> 33);
}

static void runs_never_overlap_and_the_counts_hold(void **state) {
  (void)state;
  crd_old *old = new_old((size_t)256 << 20);
  crd_arenas *arenas = &old->arenas;
  static struct {
    uint32_t page, count;
  } runs[RUNS];
  uint64_t seed = 42;
  memset(runs, 0, sizeof runs);
  for (int step = 0; step < 20000; step++) {
    uint32_t i = next_random(&seed) % RUNS;
    bool clean;
    if (runs[i].count != 0) {
      for (uint32_t page = 0; page < runs[i].count; page++)
        assert_int_equal(*(uint32_t *)arenas_page_address(arenas, runs[i].page + page), i);
      crd_arenas_give_back(arenas, runs[i].page, runs[i].count);
      runs[i].count = 0;
      if (step % 64 == 0) crd_arenas_release(arenas, 2, 5);
    } else {
      uint32_t count = next_random(&seed) % 40 == 0 ? 1 + next_random(&seed) % 1500 : 1 + next_random(&seed) % 20;
      uint32_t page = crd_arenas_take(arenas, count, 1, &clean);
      if (page == PAGE_NONE) continue;
      runs[i].page = page;
      runs[i].count = count;
      assert_true(arenas->free_count >= 1);
      for (uint32_t at = 0; at < count; at++) {
        uint32_t *word = (uint32_t *)arenas_page_address(arenas, page + at);
        if (clean) assert_int_equal(*word, 0);
        *word = i;
      }
    }
    if (step % 100 == 0) assert_null(crd_arenas_check(arenas));
  }
  for (uint32_t i = 0; i < RUNS; i++)
    if (runs[i].count != 0) crd_arenas_give_back(arenas, runs[i].page, runs[i].count);
  assert_null(crd_arenas_check(arenas));
  assert_int_equal(arenas->free_count, arenas->committed_count);
  crd_arenas_release(arenas, 0, UINT32_MAX);
  assert_int_equal(arenas->committed_count, 0);
  free_old(old);
}

static void a_refused_run_changes_nothing(void **state) {
  (void)state;
  crd_old *old = new_old((size_t)32 << 20);
  bool clean;
  assert_true(crd_arenas_take(&old->arenas, 100000, 0, &clean) == PAGE_NONE);
  assert_true(crd_arenas_take(&old->arenas, 1, old->arenas.capacity, &clean) == PAGE_NONE);
  assert_null(crd_arenas_check(&old->arenas));
  assert_true(crd_arenas_take(&old->arenas, 1, 0, &clean) != PAGE_NONE);
  free_old(old);
}

/* --- spans: allocation, sweep and reuse of every class, compared with a plain count --- */

/* Sweeps one span at a time, as under stress. */
static void sweep(crd_old *old, crd_swept *swept) {
  uint32_t page = 0;
  *swept = (crd_swept){0, 0, 0};
  crd_sweep_begin(old);
  while (!crd_sweep_some(old, &page, (crd_remains){0}, 0, swept)) assert_null(crd_old_check(old));
}

static void swept_places_are_used_again_and_no_other(void **state) {
  (void)state;
  crd_old *old = new_old((size_t)256 << 20);
  uint64_t seed = 7;
  for (uint32_t c = 0; c < old->classes.count; c++) {
    const crd_size_class *class = &old->classes.of[c];
    crd_allocator *allocator = &old->leader.allocators[c];
    uint32_t total = class->objects * 5, kept = 0, reused = 0;
    cradle_word **objects = malloc(total * sizeof *objects);
    for (uint32_t i = 0; i < total; i++) {
      if (allocator->free == allocator->end) assert_true(crd_old_refill(old, &old->leader, c, 0));
      objects[i] = (cradle_word *)allocator->free;
      objects[i][0] = 1;
      allocator->free += class->bytes;
      if (next_random(&seed) % 3 == 0) old_mark(old, (uintptr_t)objects[i]), kept++, objects[i][0] = 2;
    }
    crd_swept swept;
    sweep(old, &swept);
    assert_int_equal(swept.freed_objects, total - kept);
    assert_int_equal(old->used_bytes, (uint64_t)kept * class->bytes);
    assert_null(crd_old_check(old));
    uint32_t in_use = old->arenas.committed_count - old->arenas.free_count;
    while (reused < total - kept) {
      if (allocator->free == allocator->end) assert_true(crd_old_refill(old, &old->leader, c, 0));
      assert_int_not_equal(*(cradle_word *)allocator->free, 2); /* no live object is allocated again */
      allocator->free += class->bytes;
      reused++;
    }
    assert_int_equal(old->arenas.committed_count - old->arenas.free_count, in_use);
    sweep(old, &swept); /* nothing is marked, so everything is freed */
    assert_int_equal(swept.freed_objects, total);
    assert_int_equal(old->used_bytes, 0);
    assert_null(crd_old_check(old));
    free(objects);
  }
  free_old(old);
}

/* Between two sweep increments, a span of another class may be opened that reaches over the sweep's position. */
static void a_sweep_goes_on_behind_a_span_opened_across_it(void **state) {
  (void)state;
  crd_old *old = new_old((size_t)256 << 20);
  uint32_t small = old->classes.by_words[2], long_class = 0, page = 0;
  uint32_t pages = old->classes.of[small].pages;
  for (uint32_t c = 0; c < old->classes.count && long_class == 0; c++)
    if (old->classes.of[c].pages > pages && old->classes.of[c].pages < 2 * pages) long_class = c;
  assert_true(long_class != 0);
  crd_allocator *allocator = &old->leader.allocators[small];
  cradle_word *first[4];
  for (int span = 0; span < 4; span++) { /* four consecutive spans */
    assert_true(crd_old_refill(old, &old->leader, small, 0));
    first[span] = (cradle_word *)allocator->free;
    allocator->free = allocator->end;
  }
  crd_swept swept = {0, 0, 0};
  for (int span = 0; span < 4; span++)
    if (span != 1) old_mark(old, (uintptr_t)first[span]);
  sweep(old, &swept);   /* frees the second span */
  crd_sweep_begin(old); /* now all are dead */
  assert_false(crd_sweep_some(old, &page, (crd_remains){0}, 0, &swept));
  assert_int_equal(page, pages); /* the first span is freed, too; the sweep stopped behind it */
  assert_true(crd_old_refill(old, &old->leader, long_class, 0));
  assert_int_equal(arenas_page_number(&old->arenas, (uintptr_t)old->leader.allocators[long_class].free), 0);
  for (int steps = 0; !crd_sweep_some(old, &page, (crd_remains){0}, 0, &swept); steps++) assert_true(steps < 10);
  assert_null(crd_old_check(old));
  assert_int_equal(old->spans[small].count, 0);
  assert_int_equal(old->spans[long_class].count, 1);
  free_old(old);
}

/* --- mark stack overflow --- */

typedef struct fan {
  uint64_t header, length;
  struct fan *item[];
} fan;

static cradle_heap *fan_heap(cradle_mutator **m) {
  static const cradle_type type = {.name = "fan",
                                   .size = sizeof(fan),
                                   .items = CRADLE_ITEMS_REFERENCES,
                                   .item_size = 8,
                                   .length_offset = offsetof(fan, length)};
  cradle_options options;
  cradle_options_init(&options);
  options.types = &type;
  options.type_count = 1;
  options.verify = true;
  cradle_error error;
  cradle_heap *heap = cradle_heap_new(&options, &error);
  assert_non_null(heap);
  *m = cradle_mutator_new(heap);
  return heap;
}

static fan *make_fan(cradle_mutator *m, uint64_t width, unsigned depth) {
  fan *node = cradle_new_array(m, 0, depth == 0 ? 0 : width);
  CRADLE_ROOT(m, node);
  for (uint64_t i = 0; i < node->length; i++) {
    fan *child = make_fan(m, width, depth - 1);
    cradle_store(m, node, &node->item[i], child);
  }
  return node;
}

static uint64_t count_fan(const fan *node) {
  uint64_t count = 1;
  for (uint64_t i = 0; i < node->length; i++) count += count_fan(node->item[i]);
  return count;
}

static void marking_with_a_full_stack_finds_everything(void **state) {
  (void)state;
  cradle_mutator *m;
  cradle_heap *heap = fan_heap(&m);
  /* before any room is needed: this much is always there */
  assert_true(word_stack_committed(inside_mark_stack(heap)) >= 8192 * 8);
  crd_word_stack_fini(inside_mark_stack(heap));
  assert_true(crd_word_stack_init(inside_mark_stack(heap), 4096, 4096, "test")); /* 512 entries */
  {
    fan *root = make_fan(m, 700, 2); /* each of the 701 inner nodes has more children than the mark stack has entries */
    CRADLE_ROOT(m, root);
    /* The verifier is off: it shares the mark stack, and would skip the objects that do not fit. */
    heap->options.verify = false;
    cradle_collect(m, CRADLE_COLLECT_FULL);
    assert_int_equal(count_fan(root), 1 + 700 + 490000);
    cradle_error error;
    if (!cradle_heap_verify(heap, &error))
      fail_msg("%s", error.message); /* an object that marking missed would be freed while something refers to it */
  }
  cradle_collect(m, CRADLE_COLLECT_FULL);
  cradle_statistics stats;
  cradle_heap_statistics(heap, &stats, sizeof stats);
  assert_int_equal(stats.old_bytes, 0);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
}

/* After an overflow, increments search for the objects that were lost. Between them, the verifier must not report a
 * missing write barrier. */
static void a_search_under_way_is_no_mistake(void **state) {
  (void)state;
  enum {
    LISTS = 700,
    LONG_ONES = 7
  }; /* the items of a long one beside those of the root are more than the stack has entries */
  cradle_mutator *m;
  cradle_heap *heap = fan_heap(&m);
  heap->options.verify = false;
  crd_word_stack *stack = inside_mark_stack(heap), usual = *stack, small;
  assert_true(crd_word_stack_init(&small, 4096, 4096, "test"));
  {
    fan *root = cradle_new_array(m, 0, LISTS);
    CRADLE_ROOT(m, root);
    for (size_t i = 0; i < LISTS; i++) {
      fan *list = make_fan(m, i % (LISTS / LONG_ONES) == 0 ? LISTS : 2, 1);
      cradle_store(m, root, &root->item[i], list);
    }
    cradle_collect(m, CRADLE_COLLECT_FULL);
    size_t looks = 0;
    do {
      *stack = small;
      (void)cradle_collect_step(m, 0);
      small = *stack;
      if (inside_major(heap)->rescan_page == PAGE_NONE || small.top > small.base) continue;
      looks++;
      *stack = usual; /* the verifier shares this stack */
      cradle_error error;
      if (!cradle_heap_verify(heap, &error)) fail_msg("%s", error.message);
    } while (inside_major(heap)->phase != MAJOR_IDLE);
    assert_true(looks > 0);
    *stack = usual;
    assert_int_equal(count_fan(root), 1 + LISTS * 3 + LONG_ONES * (LISTS - 2));
  }
  crd_word_stack_fini(&small);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
}

/* Pacing uses the bytes that marking has counted. */
static void marking_counts_each_byte_once(void **state) {
  (void)state;
  enum { LENGTH = 100000 };
  cradle_mutator *m;
  cradle_heap *heap = fan_heap(&m);
  {
    fan *long_one = cradle_new_array(m, 0, LENGTH);
    CRADLE_ROOT(m, long_one);
    cradle_collect(m, CRADLE_COLLECT_FULL);
    assert_int_equal(inside_major(heap)->bytes, sizeof(fan) + LENGTH * sizeof(fan *));
    assert_int_equal(inside_major(heap)->objects, 1);
    fan *child = make_fan(m, 3, 1);
    cradle_store(m, long_one, &long_one->item[LENGTH - 1], child);
    cradle_collect(m, CRADLE_COLLECT_FULL);
    assert_int_equal(inside_major(heap)->bytes, 5 * sizeof(fan) + (LENGTH + 3) * sizeof(fan *));
    assert_int_equal(inside_major(heap)->objects, 5);
    /* Without a budget an increment is the smallest: four objects, and those that wait in the prefetch queue. */
    child = make_fan(m, 500, 1);
    cradle_store(m, long_one, &long_one->item[0], child);
    cradle_collect(m, CRADLE_COLLECT_FULL);
    cradle_collect(m, CRADLE_COLLECT_MINOR);
    crd_major_start(&heap->marking, CRADLE_CAUSE_STRESS);
    bool complete;
    do {
      uint64_t objects = inside_major(heap)->objects;
      complete = crd_mark_some(&heap->marking, (crd_budget){0, 0, false});
      assert_true(inside_major(heap)->objects - objects <= 12);
    } while (!complete);
    assert_true(inside_major(heap)->objects > 500);
    cradle_store(m, long_one, &long_one->item[0], NULL);
    cradle_collect(m, CRADLE_COLLECT_FULL);
    /* The array is shortened while its rest waits to be marked. */
    (void)cradle_collect_step(m, 0);
    assert_int_equal(inside_major(heap)->phase, MAJOR_MARKING);
    uint64_t bytes = inside_major(heap)->bytes;
    long_one->length = 10;
    while (!cradle_collect_step(m, 0)) continue;
    assert_int_equal(inside_major(heap)->bytes, bytes);
  }
  cradle_mutator_free(m);
  cradle_heap_free(heap);
}

/* The average decides how early the next major collection begins. A requested full collection marks everything at once,
 * which does not show how much the increments of the next collection will mark. */
static void only_increments_with_a_deadline_count_in_the_average(void **state) {
  (void)state;
  enum { LENGTH = 4 << 20 }; /* 32 MiB: far from the initial average of a heap */
  cradle_mutator *m;
  cradle_heap *heap = fan_heap(&m);
  {
    fan *long_one = cradle_new_array(m, 0, LENGTH);
    CRADLE_ROOT(m, long_one);
    uint64_t average = inside_pacing(heap)->marked_average;
    cradle_collect(m, CRADLE_COLLECT_FULL);
    assert_true(inside_major(heap)->bytes > 4 * average);
    assert_int_equal(inside_pacing(heap)->marked_average, average);
    while (!cradle_collect_step(m, UINT64_MAX)) continue;
    assert_int_equal(inside_pacing(heap)->marked_average, average);
    assert_false(cradle_collect_step(m, 0)); /* its deadline has passed */
    assert_in_range(inside_pacing(heap)->marked_average, average * 7 / 8, average - 1);
    assert_int_equal(inside_major(heap)->behind, 0); /* the increment did as much as its time allowed */
    average = inside_pacing(heap)->marked_average;
    cradle_collect(m, CRADLE_COLLECT_FULL); /* the rest of the running collection, then a complete one */
    assert_int_equal(inside_pacing(heap)->marked_average, average);
  }
  cradle_mutator_free(m);
  cradle_heap_free(heap);
}

/* With a pause target it begins earlier, by the bytes that will be promoted until it ends. */
static void without_a_target_a_major_collection_begins_at_the_threshold(void **state) {
  (void)state;
  enum { MIB = 1 << 20 };
  cradle_mutator *m;
  cradle_heap *heap = fan_heap(&m);
  cradle_external_memory(m, 100 * MIB);
  for (int target = 0; target < 2; target++) {
    inside_pacing(heap)->threshold = 150 * MIB;
    inside_pacing(heap)->survived = 0;
    inside_pacing(heap)->grown_average = 64 * MIB;
    heap->options.pause_ns = target == 0 ? 0 : 1000000;
    crd_collect(heap, CRADLE_CAUSE_NURSERY_FULL);
    assert_int_equal(heap->report.stats.major_steps != 0, target);
  }
  cradle_mutator_free(m);
  cradle_heap_free(heap);
}

static void a_remembered_set_that_cannot_grow_loses_nothing(void **state) {
  (void)state;
  cradle_mutator *m;
  cradle_heap *heap = fan_heap(&m);
  crd_word_stack_fini(&heap->young.remembered);
  assert_true(crd_word_stack_init(&heap->young.remembered, 4096, 4096, "test")); /* 512 entries */
  {
    fan *root = make_fan(m, 2000, 1);
    CRADLE_ROOT(m, root);
    for (uint64_t i = 0; i < 2000; i++) {
      fan *holder = cradle_new_array(m, 0, 1);
      cradle_store(m, root, &root->item[i], holder);
    }
    cradle_collect(m, CRADLE_COLLECT_MINOR);
    fan *first = cradle_new_array(m, 0, 0);
    cradle_store(m, root->item[0], &root->item[0]->item[0], first);
    assert_false(heap->young.remember_all); /* one entry does not make the collector scan everything */
    assert_int_equal(heap->young.remembered.top - heap->young.remembered.base, 1);
    for (uint64_t i = 0; i < 2000; i++) {
      fan *leaf = cradle_new_array(m, 0, 0);
      cradle_store(m, root->item[i], &root->item[i]->item[0], leaf);
    }
    assert_true(heap->young.remember_all);
    cradle_collect(m, CRADLE_COLLECT_MINOR);
    assert_false(heap->young.remember_all);
    assert_int_equal(count_fan(root), 4001);
  }
  cradle_mutator_free(m);
  cradle_heap_free(heap);
}

static void large_objects_that_die_young_call_for_no_major_collection(void **state) {
  (void)state;
  cradle_mutator *m;
  cradle_heap *heap = fan_heap(&m);
  inside_pacing(heap)->threshold = inside_pacing(heap)->min = 1 << 20;
  for (int i = 0; i < 50; i++) (void)cradle_new_array(m, 0, (3 << 20) / 8);
  cradle_statistics stats;
  cradle_heap_statistics(heap, &stats, sizeof stats);
  assert_true(stats.major_collections <= 2);
  assert_true(stats.old_bytes <= (size_t)8 << 20);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
}

/* Large objects count in the forecast of the bytes allocated until a major collection ends, and trigger it when it is
 * due. */
static void large_objects_that_live_count_as_growth(void **state) {
  (void)state;
  enum { MIB = 1 << 20 };
  cradle_mutator *m;
  cradle_heap *heap = fan_heap(&m);
  inside_pacing(heap)->threshold = inside_pacing(heap)->min = 100 * MIB;
  {
    fan *large = cradle_new_array(m, 0, MIB / 8);
    CRADLE_ROOT(m, large);
    crd_collect(heap, CRADLE_CAUSE_NURSERY_FULL);
    uint64_t average = inside_pacing(heap)->grown_average;
    assert_in_range(average, MIB / 8, MIB / 8 + 1024);
    (void)cradle_new_array(m, 0, MIB / 8);
    crd_collect(heap, CRADLE_CAUSE_NURSERY_FULL);
    assert_in_range(inside_pacing(heap)->grown_average, average / 8 * 7, average - average / 8);
    inside_pacing(heap)->grown_average = 64 * MIB; /* so the collection must begin at half the way */
    cradle_external_memory(m, 60 * MIB);
    assert_int_equal(inside_major(heap)->phase, MAJOR_IDLE);
    large = cradle_new_array(m, 0, MIB / 8);
    assert_int_equal(heap->report.stats.major_steps, 1);
    cradle_external_memory(m, -60 * MIB);
  }
  cradle_mutator_free(m);
  cradle_heap_free(heap);
}

/* Marking that has only begun has not fallen behind, so even a huge array is marked in increments. */
static void an_array_far_above_the_threshold_is_marked_in_increments(void **state) {
  (void)state;
  cradle_mutator *m;
  cradle_heap *heap = fan_heap(&m);
  inside_pacing(heap)->threshold = inside_pacing(heap)->min = 1 << 20;
  heap->options.pause_ns = 1;
  {
    fan *large = cradle_new_array(m, 0, 4 << 20);
    CRADLE_ROOT(m, large);
    crd_collect(heap, CRADLE_CAUSE_NURSERY_FULL);
    assert_int_equal(inside_major(heap)->phase, MAJOR_MARKING);
    cradle_external_memory(m, 1 << 30); /* now marking has fallen behind */
    crd_collect(heap, CRADLE_CAUSE_NURSERY_FULL);
    assert_int_equal(inside_major(heap)->phase, MAJOR_SWEEPING); /* marked at once; the sweep takes increments */
    cradle_external_memory(m, -(1 << 30));
  }
  cradle_mutator_free(m);
  cradle_heap_free(heap);
}

/* Leaving a no-collection region raises top again. This must not lose a safepoint that another thread requested
 * meanwhile. */
static void a_safepoint_request_outlives_what_raises_top(void **state) {
  (void)state;
  cradle_mutator *m;
  cradle_heap *heap = fan_heap(&m);
  cradle_no_collect_begin(m);
  cradle_safepoint_request(m);
  cradle_no_collect_end(m);
  cradle_safepoint(m);
  assert_int_equal(heap->report.stats.minor_collections, 1);
  cradle_safepoint(m);
  assert_int_equal(heap->report.stats.minor_collections, 1);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_size_has_a_class_that_wastes_at_most_an_eighth),
      cmocka_unit_test(powers_of_two_with_a_header_are_bounds),
      cmocka_unit_test(reserve_and_nursery_size_agree),
      cmocka_unit_test(the_reserve_holds_the_worst_promotion),
      cmocka_unit_test(runs_never_overlap_and_the_counts_hold),
      cmocka_unit_test(a_refused_run_changes_nothing),
      cmocka_unit_test(swept_places_are_used_again_and_no_other),
      cmocka_unit_test(a_sweep_goes_on_behind_a_span_opened_across_it),
      cmocka_unit_test(marking_with_a_full_stack_finds_everything),
      cmocka_unit_test(a_search_under_way_is_no_mistake),
      cmocka_unit_test(marking_counts_each_byte_once),
      cmocka_unit_test(only_increments_with_a_deadline_count_in_the_average),
      cmocka_unit_test(without_a_target_a_major_collection_begins_at_the_threshold),
      cmocka_unit_test(a_remembered_set_that_cannot_grow_loses_nothing),
      cmocka_unit_test(large_objects_that_die_young_call_for_no_major_collection),
      cmocka_unit_test(large_objects_that_live_count_as_growth),
      cmocka_unit_test(an_array_far_above_the_threshold_is_marked_in_increments),
      cmocka_unit_test(a_safepoint_request_outlives_what_raises_top),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
