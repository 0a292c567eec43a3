/* Tests the spans of the old generation without a heap: size classes, runs of free places, sweeping, bits, large
 * objects, how objects are recognised, that the check names each broken rule, and the promotion reserve. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/inside.h"

static crd_old *old;

static int open_with(size_t reserve) {
  cradle_options options;
  cradle_hardware hardware;
  cradle_options_init(&options);
  options.reserve_bytes = reserve;
  inside_hardware(&hardware);
  old = calloc(1, sizeof *old);
  return old != NULL && crd_old_init(old, &options, &hardware) ? 0 : 1;
}

static int open_old(void **state) {
  (void)state;
  return open_with((size_t)64 << 20);
}

static int close_old(void **state) {
  (void)state;
  crd_old_fini(old);
  bool gone = old->arenas.base == 0;
  free(old);
  return gone ? 0 : 1;
}

static uint32_t page_of(const void *address) {
  return arenas_page_number(&old->arenas, (uintptr_t)address);
}

static crd_page *page_entry_of(const void *address) {
  return arenas_page(&old->arenas, page_of(address));
}

static bool is_marked(const void *object) {
  return old_is_marked(old, (uintptr_t)object);
}

/* Takes the first places of a span of the size class. */
static char *take_some(size_t bytes, uint32_t count) {
  char *first = old_take_small(old, &old->leader, old_class_of(old, bytes), 0);
  assert_non_null(first);
  for (uint32_t i = 1; i < count; i++)
    assert_ptr_equal(old_take_small(old, &old->leader, old_class_of(old, bytes), 0), first + i * bytes);
  return first;
}

/* --- size classes --- */

/* [size_class.1] With the smallest objects of its class, a span of so many pages has four places and little waste. */
static bool suits(uint32_t pages, uint32_t smallest, uint32_t bytes) {
  uint32_t objects = pages * PAGE_BYTES / bytes;
  return objects >= 4 && (pages * PAGE_BYTES - objects * smallest) * 8 <= pages * PAGE_BYTES;
}

/* Whatever was there before. */
static void the_table_is_made_anew(void **state) {
  (void)state;
  static crd_size_classes classes;
  memset(&classes, 0xa5, sizeof classes);
  crd_size_classes_init(&classes);
  assert_int_equal(classes.count, old->classes.count);
  uint32_t below = CRADLE_OBJECT_MIN_BYTES - 8, total = 0;
  for (uint32_t c = 0; c < classes.count; c++) {
    const crd_size_class *class = &classes.of[c];
    assert_in_range(class->pages, SPAN_MIN_PAGES, SPAN_MAX_PAGES);
    for (uint32_t pages = SPAN_MIN_PAGES; pages <= class->pages; pages++)
      assert_int_equal(suits(pages, below + 8, class->bytes), pages == class->pages); /* the shortest that suits */
    for (uint32_t words = below / 8 + 1; words <= class->words; words++) assert_int_equal(classes.by_words[words], c);
    for (uint32_t bit = 0; bit < 64; bit++) assert_int_equal(class->pattern >> bit & 1, bit % class->words == 0);
    assert_int_equal(class->words, class->bytes / 8);
    if (class->bytes <= 256) assert_int_equal(class->bytes, below + 8); /* each such size has a class of its own */
    assert_int_equal(class->objects, class->pages * PAGE_BYTES / class->bytes);
    below = class->bytes;
    total += class->pages * PAGE_BYTES;
  }
  assert_int_equal(below, SMALL_MAX_BYTES);
  assert_int_equal(classes.by_words[0] + classes.by_words[1], 0); /* sizes below the smallest object */
  assert_int_equal(classes.span_bytes_total, total);
  assert_true(total < ARENA_BYTES);                     /* [size_class.2] */
  for (uint32_t power = 256; power <= 8192; power *= 2) /* a power of two with a header wastes nothing */
    assert_int_equal(classes.of[classes.by_words[(power + 8) / 8]].bytes, power + 8);
}

/* --- runs of free places --- */

/* Takes all places of a span, keeps those whose number modulo `of` is less than `kept`, frees the others and takes them
 * again. Each free place must come exactly once, in the order of addresses, and no other place. */
static void take_again(size_t bytes, uint32_t of, uint32_t kept) {
  uint32_t size_class = old_class_of(old, bytes);
  const crd_size_class *class = &old->classes.of[size_class];
  crd_swept swept = {0, 0, 0};
  char *first = take_some(class->bytes, class->objects);
  uint32_t page = page_of(first), at = 0, live = 0;
  for (uint32_t i = 0; i < class->objects; i++)
    if (i % of < kept) old_mark(old, (uintptr_t)first + i * class->bytes), live++;
  crd_sweep_begin(old);
  assert_true(crd_sweep_some(old, &at, (crd_remains){0}, UINT64_MAX, &swept));
  assert_int_equal(swept.freed_objects, class->objects - live);
  for (uint32_t i = 0; i < class->objects; i++) {
    if (i % of < kept) continue;
    assert_ptr_equal(old_take_small(old, &old->leader, size_class, 0), first + i * class->bytes);
    /* whole runs are counted */
    assert_in_range(old->used_bytes, (live + 1) * class->bytes, class->objects * class->bytes);
    live++;
  }
  crd_old_retire(old);
  assert_int_equal(old->used_bytes, class->objects * class->bytes);
  assert_null(crd_old_check(old));
  char *next = old_take_small(old, &old->leader, size_class, 0);
  assert_true(page_of(next) != page); /* the next span */
  crd_sweep_begin(old);
  assert_true(crd_sweep_some(old, (at = 0, &at), (crd_remains){0}, UINT64_MAX, &swept));
  assert_int_equal(old->used_bytes, 0);
}

static void every_free_place_is_found_in_order(void **state) {
  (void)state;
  for (uint32_t c = 0; c < old->classes.count; c++)
    for (uint32_t of = 2; of <= 8; of += 3) {
      take_again(old->classes.of[c].bytes, of, 1);
      take_again(old->classes.of[c].bytes, of, of - 1);
    }
}

static uint32_t next_random(uint64_t *seed) {
  *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
  return (uint32_t)(*seed >> 33);
}

/* One span at a time, as under stress. */
static void sweep_by_spans(crd_swept *swept) {
  uint32_t page = 0;
  *swept = (crd_swept){0, 0, 0};
  crd_sweep_begin(old);
  while (!crd_sweep_some(old, &page, (crd_remains){0}, 0, swept)) assert_null(crd_old_check(old));
}

/* Of each class, several spans with places at random. */
static void swept_places_are_used_again_and_no_other(void **state) {
  (void)state;
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
    sweep_by_spans(&swept);
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
    sweep_by_spans(&swept); /* nothing is marked, so everything is freed */
    assert_int_equal(swept.freed_objects, total);
    assert_int_equal(old->used_bytes, 0);
    assert_null(crd_old_check(old));
    free(objects);
  }
}

/* Between two sweep increments, a span of another class may be opened that reaches over the sweep's position. */
static void a_sweep_goes_on_behind_a_span_opened_across_it(void **state) {
  (void)state;
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
  sweep_by_spans(&swept); /* frees the second span */
  crd_sweep_begin(old);   /* now all are dead */
  assert_false(crd_sweep_some(old, &page, (crd_remains){0}, 0, &swept));
  assert_int_equal(page, pages); /* the first span is freed, too; the sweep stopped behind it */
  assert_true(crd_old_refill(old, &old->leader, long_class, 0));
  assert_int_equal(arenas_page_number(&old->arenas, (uintptr_t)old->leader.allocators[long_class].free), 0);
  for (int steps = 0; !crd_sweep_some(old, &page, (crd_remains){0}, 0, &swept); steps++) assert_true(steps < 10);
  assert_null(crd_old_check(old));
  assert_int_equal(old->spans[small].count, 0);
  assert_int_equal(old->spans[long_class].count, 1);
}

static void what_is_retired_has_only_the_bits_of_its_objects(void **state) {
  (void)state;
  enum { BYTES = 40, COUNT = 7 };
  for (int born_marked = 0; born_marked < 2; born_marked++) {
    old->born_marked = born_marked;
    char *first = take_some(BYTES, COUNT);
    uint32_t page = page_of(first);
    const crd_size_class *class = &old->classes.of[old_class_of(old, BYTES)];
    assert_int_equal(old->used_bytes, class->objects * BYTES); /* the free run is the whole span */
    assert_int_equal(is_marked(first + COUNT * BYTES), born_marked);
    crd_old_retire(old);
    assert_int_equal(old->used_bytes, COUNT * BYTES);
    assert_int_equal(old->spans[old_class_of(old, BYTES)].used_bytes, COUNT * BYTES);
    span_bits bits = old_bits_of(old, page, class->pages);
    for (uint32_t word = 0; word < bits.words * 64; word++) {
      bool object = word % (BYTES / 8) == 0 && word / (BYTES / 8) < COUNT;
      assert_int_equal(bits.allocated[word / 64] >> (word % 64) & 1, object);
      assert_int_equal(bits.marks[word / 64] >> (word % 64) & 1, object && born_marked);
    }
    assert_ptr_equal(take_some(BYTES, 1), first + COUNT * BYTES); /* allocation continues behind the last place */
    crd_old_retire(old);
    uint32_t at = 0;
    crd_swept swept = {0, 0, 0};
    crd_sweep_begin(old);
    assert_true(crd_sweep_some(old, &at, (crd_remains){0}, UINT64_MAX, &swept));
    if (born_marked) { /* the objects were marked, so a second sweep frees them */
      crd_sweep_begin(old);
      assert_true(crd_sweep_some(old, (at = 0, &at), (crd_remains){0}, UINT64_MAX, &swept));
    }
    assert_int_equal(old->used_bytes, 0);
  }
}

/* The rest of each allocator's run: its allocation bits are set, and no object is there. */
static void an_unfilled_rest_is_known(void **state) {
  (void)state;
  enum { BYTES = 48 };
  const crd_size_class *class = &old->classes.of[old_class_of(old, BYTES)],
                       *last = &old->classes.of[old->classes.count - 1];
  assert_int_equal(crd_old_unfilled_bytes(old), 0);
  char *first = take_some(BYTES, 3), *least = take_some(16, 1), *most = take_some(last->bytes, 1);
  assert_int_equal(crd_old_unfilled_bytes(old), (class->objects - 3) * BYTES + (old->classes.of[0].objects - 1) * 16 +
                                                    (last->objects - 1) * last->bytes);
  const crd_page *span = page_entry_of(first);
  for (uint32_t i = 0; i < class->objects; i++)
    assert_int_equal(old_is_unfilled(old, span, (uintptr_t)first + i * BYTES), i >= 3);
  assert_false(old_is_unfilled(old, span, (uintptr_t)first + class->objects * BYTES));
  assert_false(old_is_unfilled(old, page_entry_of(least), (uintptr_t)least));
  assert_false(old_is_unfilled(old, page_entry_of(most), (uintptr_t)most));
  uintptr_t large = (uintptr_t)crd_old_take_large(old, 3 * PAGE_BYTES, false, false, 0);
  assert_false(old_is_unfilled(old, page_entry_of((void *)large), large));
  old_mark(old, large);
  assert_true(old_is_marked(old, large));
  old_unmark(old, large);
  assert_false(old_is_marked(old, large));
  crd_old_retire(old);
  assert_int_equal(crd_old_unfilled_bytes(old), 0);
}

/* Each refusal is told, and afterwards the allocator works. */
static void without_memory_there_is_no_place(void **state) {
  (void)state;
  enum { BYTES = 48 };
  uint32_t c = old_class_of(old, BYTES);
  old->arenas.limit = 0;
  for (int i = 0; i < 3; i++) assert_null(old_take_small(old, &old->leader, c, 0));
  assert_null(crd_old_take_large(old, 3 * PAGE_BYTES, true, false, 0));
  assert_int_equal(old->used_bytes, 0);
  assert_null(crd_old_check(old));
  old->arenas.limit = 1;
  assert_non_null(old_take_small(old, &old->leader, c, 0));
  assert_null(crd_old_take_large(old, ARENA_BYTES, true, false, 0));
  crd_old_retire(old);
  assert_null(crd_old_check(old));
}

/* Retiring lists a span without looking whether it has room: a full one is passed over, each time. */
static void a_full_span_has_no_place_either(void **state) {
  (void)state;
  enum { BYTES = 48 };
  uint32_t c = old_class_of(old, BYTES);
  old->arenas.limit = 1;
  char *first = take_some(BYTES, old->classes.of[c].objects);
  crd_old_retire(old);
  uint32_t rest = ARENA_PAGES - old->classes.of[c].pages;
  assert_non_null(crd_old_take_large(old, rest * PAGE_BYTES, false, false, 0));
  for (int i = 0; i < 3; i++) assert_null(old_take_small(old, &old->leader, c, 0));
  assert_null(crd_old_check(old));
  old->arenas.limit = 2;
  assert_int_equal(page_of(old_take_small(old, &old->leader, c, 0)), page_of(first) + ARENA_PAGES);
  crd_old_retire(old);
  assert_null(crd_old_check(old));
}

/* --- rounds of the second core [span.8] --- */

static void begin_round(void) {
  if (old->late_runs.base == NULL)
    assert_true(crd_word_stack_init(&old->late_runs, (size_t)1 << 20, (size_t)64 << 10, "late runs"));
  old->born_marked = old->marked_beside = true;
}

static void end_round(void) {
  old->marked_beside = false;
  crd_old_write_late_runs(old);
  assert_true(word_stack_is_empty(&old->late_runs));
}

/* Frees everything: what is marked outlives one sweep. */
static void free_all(void) {
  crd_swept swept = {0, 0, 0};
  crd_old_retire(old);
  assert_null(crd_old_check(old));
  old->born_marked = false;
  for (uint32_t i = 0, at = 0; i < 2; i++, at = 0) {
    crd_sweep_begin(old);
    assert_true(crd_sweep_some(old, &at, (crd_remains){0}, UINT64_MAX, &swept));
  }
  assert_int_equal(old->used_bytes, 0);
  crd_word_stack_fini(&old->late_runs);
}

/* Every of-th place of the span has its allocation bit (of 0: none). With `taken` all the others have both bits. */
static void assert_bits(uint32_t page, const crd_size_class *class, uint32_t of, bool taken) {
  span_bits bits = old_bits_of(old, page, class->pages);
  for (uint32_t word = 0; word < bits.words * 64; word++) {
    uint32_t place = word / class->words;
    bool starts = word % class->words == 0 && place < class->objects, kept = starts && of != 0 && place % of == 0;
    assert_int_equal(bits.allocated[word / 64] >> (word % 64) & 1, kept || (starts && taken));
    assert_int_equal(bits.marks[word / 64] >> (word % 64) & 1, starts && taken && !kept);
  }
}

static void a_span_opened_in_a_round_has_all_its_bits(void **state) {
  (void)state;
  for (uint32_t c = 0; c < old->classes.count; c++) {
    const crd_size_class *class = &old->classes.of[c];
    begin_round();
    char *first = old_take_small(old, &old->leader, c, 0);
    assert_bits(page_of(first), class, 0, true);
    assert_true(word_stack_is_empty(&old->late_runs));
    assert_ptr_equal(old_take_small(old, &old->leader, c, 0), first + class->bytes);
    end_round();
    assert_bits(page_of(first), class, 0, true);
    crd_old_retire(old);
    assert_int_equal(old->spans[c].used_bytes, 2 * class->bytes);
    free_all();
  }
}

/* The places of 16 bytes fill their span, and its last bitmap word is followed by the first of the next span. */
static void a_span_opened_in_a_round_leaves_its_neighbour_alone(void **state) {
  (void)state;
  crd_swept swept = {0, 0, 0};
  uint32_t at = 0;
  char *first = take_some(16, old->classes.of[0].objects);
  uintptr_t large = (uintptr_t)crd_old_take_large(old, 3 * PAGE_BYTES, false, false, 0);
  assert_int_equal(page_of((void *)large), page_of(first) + old->classes.of[0].pages);
  crd_old_retire(old);
  old_mark(old, large);
  crd_sweep_begin(old);
  assert_true(crd_sweep_some(old, &at, (crd_remains){0}, UINT64_MAX, &swept));
  begin_round();
  assert_ptr_equal(old_take_small(old, &old->leader, 0, 0), first);
  assert_true(crd_old_is_object(old, large));
  end_round();
  assert_true(crd_old_is_object(old, large));
  free_all();
}

/* Keeps every fourth object of a span and sweeps the others. */
static char *span_with_gaps(uint32_t size_class) {
  enum { OF = 4 };
  const crd_size_class *class = &old->classes.of[size_class];
  crd_swept swept = {0, 0, 0};
  uint32_t at = 0;
  char *first = take_some(class->bytes, class->objects);
  for (uint32_t i = 0; i < class->objects; i += OF) old_mark(old, (uintptr_t)first + i * class->bytes);
  crd_sweep_begin(old);
  assert_true(crd_sweep_some(old, &at, (crd_remains){0}, UINT64_MAX, &swept));
  assert_bits(page_of(first), class, OF, false);
  return first;
}

static void what_is_taken_in_a_round_gets_its_bits_after_it(void **state) {
  (void)state;
  enum { OF = 4 };
  for (uint32_t c = 0; c < old->classes.count; c++) {
    const crd_size_class *class = &old->classes.of[c];
    char *first = span_with_gaps(c);
    begin_round();
    for (uint32_t i = 0; i < class->objects; i++)
      if (i % OF != 0) assert_ptr_equal(old_take_small(old, &old->leader, c, 0), first + i * class->bytes);
    assert_int_equal(word_stack_count(&old->late_runs), (class->objects + OF - 2) / OF);
    assert_bits(page_of(first), class, OF, false);
    end_round();
    assert_bits(page_of(first), class, OF, true);
    assert_int_equal(old->spans[c].used_bytes, class->objects * class->bytes);
    free_all();
  }
}

/* More than 128 Ki runs are not noted. */
static void the_notes_of_a_round_have_a_bound(void **state) {
  (void)state;
  enum { BYTES = 48, MOST = 1 << 17 };
  char *first = span_with_gaps(old_class_of(old, BYTES));
  begin_round();
  for (uint32_t i = 0; i < MOST; i++) assert_true(word_stack_push(&old->late_runs, 0));
  char *place = old_take_small(old, &old->leader, old_class_of(old, BYTES), 0);
  assert_true(page_of(place) != page_of(first));
  assert_int_equal(word_stack_count(&old->late_runs), MOST);
  old->late_runs.top = old->late_runs.base;
  end_round();
  free_all();
}

/* Once no run can be noted, spans with gaps wait in their list. */
static void a_round_that_can_note_nothing_takes_new_spans(void **state) {
  (void)state;
  enum { BYTES = 48, OF = 4 };
  uint32_t c = old_class_of(old, BYTES);
  const crd_size_class *class = &old->classes.of[c];
  char *first = span_with_gaps(c);
  begin_round();
  assert_ptr_equal(old_take_small(old, &old->leader, c, 0), first + BYTES);
  crd_word_stack full = old->late_runs;
  old->late_runs = (crd_word_stack){NULL, NULL, NULL, NULL};
  for (uint32_t i = 2; i < OF; i++) assert_ptr_equal(old_take_small(old, &old->leader, c, 0), first + i * BYTES);
  char *next = old_take_small(old, &old->leader, c, 0);
  assert_true(page_of(next) != page_of(first));
  assert_bits(page_of(next), class, 0, true);
  assert_int_equal(old->spans[c].partial, page_of(first));
  for (uint32_t i = 1; i < class->objects; i++)
    assert_ptr_equal(old_take_small(old, &old->leader, c, 0), next + i * BYTES);
  char *third = old_take_small(old, &old->leader, c, 0);
  assert_true(page_of(third) != page_of(first) && page_of(third) != page_of(next));
  old->late_runs = full;
  end_round();
  crd_old_retire(old);
  assert_int_equal(old_take_small(old, &old->leader, c, 0) - third, BYTES);
  free_all();
}

/* --- large objects --- */

static void a_large_object_is_as_it_was_asked_for(void **state) {
  (void)state;
  enum { BYTES = 5 * PAGE_BYTES + 1 };
  assert_null(crd_old_take_large(old, old->arenas.bytes + 1, false, false, 0));
  assert_null(crd_old_take_large(old, (size_t)1 << 60, false, false, 0));
  assert_null(crd_old_take_large(old, BYTES, false, false, old->arenas.capacity)); /* this many arenas must stay free */
  assert_int_equal(old->used_bytes, 0);
  void *most = crd_old_take_large(old, old->arenas.bytes, false, false, 0);
  assert_int_equal(page_of(most), 0);
  crd_old_free_large(old, 0);
  char *object = crd_old_take_large(old, BYTES, false, false, 0);
  assert_int_equal(old->used_bytes, 6 * PAGE_BYTES);
  assert_int_equal(old->large_bytes, 6 * PAGE_BYTES);
  assert_int_equal(page_entry_of(object)->state, PAGE_LARGE);
  assert_int_equal(page_entry_of(object)->pages, 6);
  assert_int_equal(old->young_large, PAGE_NONE);
  assert_false(is_marked(object));
  memset(object, 1, BYTES);
  crd_old_free_large(old, page_of(object));
  assert_int_equal(old->used_bytes + old->large_bytes, 0);
  assert_ptr_equal(crd_old_take_large(old, BYTES, false, false, 0), object);
  assert_int_equal(object[BYTES - 1], 1); /* zeros were not requested */
  crd_old_free_large(old, page_of(object));
  assert_ptr_equal(crd_old_take_large(old, BYTES, false, true, 0), object);
  for (size_t i = 0; i < BYTES; i++) assert_int_equal(object[i], 0);
  assert_null(crd_old_check(old));
}

static void young_large_objects_are_listed(void **state) {
  (void)state;
  old->born_marked = true;
  char *first = crd_old_take_large(old, 3 * PAGE_BYTES, true, false, 0);
  char *second = crd_old_take_large(old, 3 * PAGE_BYTES, true, false, 0);
  char *grown = crd_old_take_large(old, 3 * PAGE_BYTES, false, false, 0);
  assert_int_equal(old->large_bytes, 9 * PAGE_BYTES);
  assert_int_equal(page_entry_of(first)->state, PAGE_LARGE_YOUNG);
  assert_int_equal(old->young_large, page_of(second));
  assert_int_equal(page_entry_of(second)->next, page_of(first));
  assert_int_equal(page_entry_of(first)->next, PAGE_NONE);
  assert_true(old_is_young_large(old, (uintptr_t)first) && old_is_young_large(old, (uintptr_t)second));
  assert_false(old_is_young_large(old, (uintptr_t)grown));
  assert_false(old_is_young_large(old, (uintptr_t)first + PAGE_BYTES));
  assert_false(old_is_young_large(old, old->arenas.base - 8));
  assert_false(old_is_young_large(old, old->arenas.base + old->arenas.bytes));
  assert_true(is_marked(grown));
  assert_true(is_marked(first)); /* so that the thread that marks skips it [marker.5] */
  assert_null(crd_old_check(old));
}

static size_t count_words(const cradle_word *words, size_t bytes, cradle_word wanted) {
  size_t count = 0;
  for (size_t i = 0; i < bytes / 8; i++) count += words[i] == wanted;
  return count;
}

/* All of its pages, those in whole arenas and the rest. */
static void a_buried_object_is_poison(void **state) {
  (void)state;
  const size_t sizes[] = {3 * PAGE_BYTES, ARENA_BYTES, ARENA_BYTES + PAGE_BYTES, 2 * ARENA_BYTES + 3 * PAGE_BYTES};
  const crd_remains remains = {.poison = UINT64_C(0xdead0001dead0001)};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    cradle_word *object = crd_old_take_large(old, sizes[i], false, false, 0);
    assert_non_null(object);
    crd_old_bury_large(old, page_of(object), remains);
    assert_int_equal(count_words(object, sizes[i], remains.poison), sizes[i] / 8);
    assert_int_equal(old->used_bytes + old->large_bytes, 0);
    assert_null(crd_old_check(old));
    object = crd_old_take_large(old, sizes[i], false, true, 0);
    crd_old_bury_large(old, page_of(object), (crd_remains){.poison = 0});
    assert_int_equal(count_words(object, sizes[i], 0), sizes[i] / 8);
  }
}

static void neighbours_of_a_buried_object_stay(void **state) {
  (void)state;
  enum { BYTES = 3 * PAGE_BYTES };
  cradle_word *objects[4];
  for (int i = 0; i < 4; i++) objects[i] = crd_old_take_large(old, BYTES, false, true, 0);
  for (int i = 1; i < 4; i++) assert_int_equal(page_of(objects[i]), 3 * i);
  crd_old_bury_large(old, page_of(objects[1]), (crd_remains){.poison = UINT64_C(0xdead0001dead0001)});
  for (int i = 0; i < 4; i++) assert_int_equal(count_words(objects[i], BYTES, 0), i == 1 ? 0 : BYTES / 8);
}

/* The arenas of one above 32 MiB go back to the system, but for the reserve. */
static void a_very_large_object_gives_its_arenas_back(void **state) {
  (void)state;
  const size_t most = (size_t)32 << 20;
  for (uint32_t reserve = 0; reserve < 3; reserve += 2)
    for (int poisoned = 0; poisoned < 2; poisoned++) {
      const crd_remains remains = {.poison = poisoned ? UINT64_C(0xdead0001dead0001) : 0};
      old->reserve = reserve;
      void *object = crd_old_take_large(old, most, false, false, 0);
      uint32_t committed = old->arenas.committed_count;
      crd_old_bury_large(old, page_of(object), remains);
      assert_int_equal(old->arenas.committed_count, committed);
      object = crd_old_take_large(old, most + 1, false, false, 0);
      committed = old->arenas.committed_count;
      assert_true(committed >= 17);
      crd_old_bury_large(old, page_of(object), remains);
      assert_int_equal(old->arenas.committed_count, committed - 17 + reserve);
      assert_null(crd_old_check(old));
    }
}

static void only_its_own_arenas_go_back(void **state) {
  (void)state;
  assert_true(crd_arenas_ensure_free(&old->arenas, 20));
  for (uint32_t less = 0; less < 2; less++) {
    void *object = crd_old_take_large(old, 17 * ARENA_BYTES - less * PAGE_BYTES, false, false, 0);
    assert_int_equal(page_of(object), 0);
    crd_old_bury_large(old, 0, (crd_remains){.poison = 0});
    assert_int_equal(old->arenas.committed_count, 3);
    assert_true(crd_arenas_ensure_free(&old->arenas, 20));
  }
}

/* --- what is an object --- */

static void an_object_begins_where_its_bit_is(void **state) {
  (void)state;
  enum { BYTES = 48, COUNT = 3 };
  uintptr_t large = (uintptr_t)crd_old_take_large(old, 3 * PAGE_BYTES, false, false, 0);
  uintptr_t small = (uintptr_t)take_some(BYTES, COUNT), end = old->arenas.base + old->arenas.bytes;
  crd_old_retire(old);
  for (uintptr_t at = small; at < small + (COUNT + 1) * BYTES; at++)
    assert_int_equal(crd_old_is_object(old, at), (at - small) % BYTES == 0 && at < small + COUNT * BYTES);
  assert_true(crd_old_is_object(old, large));
  assert_false(crd_old_is_object(old, large + PAGE_BYTES));
  assert_false(crd_old_is_object(old, large + 500 * PAGE_BYTES)); /* a free page */
  assert_false(crd_old_is_object(old, large + ARENA_BYTES));      /* a free arena */
  assert_false(crd_old_is_object(old, old->arenas.base - 8));
  assert_false(crd_old_is_object(old, end));
  old_mark(old, small + BYTES);
  crd_sweep_begin(old); /* from here on only marked objects count as live */
  assert_false(crd_old_is_object(old, small));
  assert_true(crd_old_is_object(old, small + BYTES));
  assert_false(crd_old_is_object(old, large));
}

static void see(void *context, cradle_word *object) {
  cradle_word **next = context;
  *(*next)++ = (cradle_word)(uintptr_t)object;
}

static void a_walk_visits_every_object(void **state) {
  (void)state;
  enum { BYTES = 512 + 8, COUNT = 20 }; /* over several pages */
  cradle_word seen[COUNT + 2], *next = seen;
  char *small = take_some(BYTES, COUNT), *large = crd_old_take_large(old, 2 * ARENA_BYTES + 1, false, false, 0);
  crd_old_retire(old);
  crd_old_each(old, see, &next);
  assert_int_equal(next - seen, COUNT + 1);
  for (size_t i = 0; i < COUNT; i++) assert_int_equal(seen[i], (uintptr_t)small + i * BYTES);
  assert_int_equal(seen[COUNT], (uintptr_t)large);
  old_mark(old, (uintptr_t)small + BYTES);
  next = seen;
  crd_old_each_in(old, page_of(small), true, see, &next);
  assert_int_equal(next - seen, 1);
  assert_int_equal(seen[0], (uintptr_t)small + BYTES);
  crd_sweep_begin(old); /* in a span that is not swept yet, marked objects live */
  next = seen;
  crd_old_each(old, see, &next);
  assert_int_equal(next - seen, 1);
  assert_int_equal(crd_old_next_span(old, page_of(small) + 1), page_of(large));
  assert_int_equal(crd_old_next_span(old, page_of(large) + 1), PAGE_NONE);
}

static void count_object(void *context, cradle_word *object) {
  (void)object;
  ++*(uint32_t *)context;
}

/* A span that its objects fill to the last word, and the next one. */
static void each_span_is_walked_by_itself(void **state) {
  (void)state;
  uint32_t counted = 0, objects = old->classes.of[0].objects;
  char *first = take_some(16, objects), *next = take_some(24, 5);
  assert_int_equal(page_of(next), page_of(first) + old->classes.of[0].pages);
  crd_old_retire(old);
  crd_old_each_in(old, page_of(first), false, count_object, &counted);
  assert_int_equal(counted, objects);
  assert_int_equal(crd_old_count_taken(old, page_of(first)), objects);
  assert_int_equal(crd_old_count_taken(old, page_of(next)), 5);
  crd_old_each(old, count_object, &counted);
  assert_int_equal(counted, 2 * objects + 5);
}

static void a_walk_passes_over_arenas_without_objects(void **state) {
  (void)state;
  enum { BYTES = 8200 };
  void *first = crd_old_take_large(old, ARENA_BYTES, false, false, 0),
       *gap = crd_old_take_large(old, 3 * ARENA_BYTES, false, false, 0),
       *last = crd_old_take_large(old, ARENA_BYTES - PAGE_BYTES, false, false, 0);
  void *end = crd_old_take_large(old, PAGE_BYTES, false, false, 0); /* the last page of all */
  assert_int_equal(page_of(end), 5 * ARENA_PAGES - 1);
  crd_old_free_large(old, page_of(gap));
  assert_int_equal(crd_old_next_span(old, 0), page_of(first));
  assert_int_equal(crd_old_next_span(old, 1), page_of(last));
  assert_int_equal(crd_old_next_span(old, 2 * ARENA_PAGES + 5), page_of(last));
  assert_int_equal(crd_old_next_span(old, page_of(last) + 1), page_of(end));
  assert_int_equal(crd_old_next_span(old, page_of(end)), page_of(end));
  assert_int_equal(crd_old_next_span(old, page_of(end) + 1), PAGE_NONE);
  crd_old_free_large(old, page_of(first));
  assert_int_equal(crd_old_next_span(old, 0), page_of(last));
  char *small = take_some(BYTES, 4); /* over all pages of its span */
  crd_old_retire(old);
  for (uint32_t i = 0; i < 4; i++) assert_true(crd_old_is_object(old, (uintptr_t)small + i * BYTES));
  assert_false(crd_old_is_object(old, (uintptr_t)small + 4));
  assert_int_equal(crd_old_count_taken(old, page_of(small)), 4);
}

/* --- the check --- */

static void assert_fault(const char *words) {
  const char *fault = crd_old_check(old);
  if (fault == NULL || strstr(fault, words) == NULL)
    fail_msg("\"%s\", without \"%s\"", fault == NULL ? "no fault" : fault, words);
}

#define ASSERT_BROKEN_BY(change, undo, words) \
  do { \
    change; \
    assert_fault(words); \
    undo; \
    assert_null(crd_old_check(old)); \
  } while (0)

static void the_check_names_what_is_broken(void **state) {
  (void)state;
  enum { BYTES = 24, LEAST_BYTES = 16 };
  char *object = take_some(BYTES, 5), *other = take_some(LEAST_BYTES, 5);
  void *large = crd_old_take_large(old, 3 * PAGE_BYTES, false, false, 0);
  crd_old_retire(old);
  crd_page *entry = page_entry_of(object);
  uint32_t size_class = old_class_of(old, BYTES), last = old->classes.count - 1;
  span_bits bits = old_bits_of(old, page_of(object), entry->pages);
  uint32_t *list = &old->spans[size_class].partial, *least_list = &old->spans[0].partial;
  assert_null(crd_old_check(old));
  ASSERT_BROKEN_BY(entry->pages++, entry->pages--, "does not match its class");
  ASSERT_BROKEN_BY(entry->head++, entry->head--, "does not match its class");
  ASSERT_BROKEN_BY(page_entry_of(other)->head--, page_entry_of(other)->head++, "does not match its class");
  ASSERT_BROKEN_BY(bits.allocated[0] ^= 2, bits.allocated[0] ^= 2, "[span.2]");
  /* No object of three words starts at word 64. */
  ASSERT_BROKEN_BY(bits.allocated[1] ^= 1, bits.allocated[1] ^= 1, "[span.2]");
  ASSERT_BROKEN_BY(bits.allocated[1] ^= 4, bits.allocated[1] ^= 4, "[span.5]"); /* one could start at word 66 */
  ASSERT_BROKEN_BY(bits.marks[0] ^= 1, bits.marks[0] ^= 1, "[span.4]");
  ASSERT_BROKEN_BY(*list = page_of(other), *list = page_of(object), "another class [span.3]");
  ASSERT_BROKEN_BY(*least_list = page_of(object), *least_list = page_of(other), "another class [span.3]");
  ASSERT_BROKEN_BY(*least_list = page_of(large), *least_list = page_of(other), "another class [span.3]");
  ASSERT_BROKEN_BY(*list = PAGE_NONE, *list = page_of(object), "not in its partial list [span.3]");
  ASSERT_BROKEN_BY(entry->next = page_of(object), entry->next = PAGE_NONE, "twice [span.3]");
  ASSERT_BROKEN_BY(old->spans[size_class].open = page_of(object), old->spans[size_class].open = PAGE_NONE,
                   "the open span of its class [span.3]");
  ASSERT_BROKEN_BY(old->young_large = page_of(large), old->young_large = PAGE_NONE, "has another one");
  ASSERT_BROKEN_BY(page_entry_of(large)->state = PAGE_LARGE_YOUNG, page_entry_of(large)->state = PAGE_LARGE,
                   "not in its list [large.1]");
  ASSERT_BROKEN_BY(old->large_bytes -= PAGE_BYTES, old->large_bytes += PAGE_BYTES, "[large.2]");
  ASSERT_BROKEN_BY(entry->epoch--, entry->epoch++, "[span.6]");
  ASSERT_BROKEN_BY(old->spans[size_class].used_bytes += 8, old->spans[size_class].used_bytes -= 8,
                   "a size class's counts");
  ASSERT_BROKEN_BY(old->spans[0].used_bytes += 8, old->spans[0].used_bytes -= 8, "a size class's counts");
  ASSERT_BROKEN_BY(old->spans[last].used_bytes += 8, old->spans[last].used_bytes -= 8, "a size class's counts");
  ASSERT_BROKEN_BY(old->spans[size_class].count--, old->spans[size_class].count++, "a size class's counts");
  ASSERT_BROKEN_BY(old->spans[size_class].count++, old->spans[size_class].count--, "a size class's counts");
  ASSERT_BROKEN_BY(old->used_bytes += 8, old->used_bytes -= 8, "used bytes");
  ASSERT_BROKEN_BY(old->arenas.free_count++, old->arenas.free_count--, "[arena.2]");
  old->born_marked = true; /* while marking, new objects are marked, and only objects are */
  ASSERT_BROKEN_BY(bits.marks[1] ^= 4, bits.marks[1] ^= 4, "[span.4]");
  bits.marks[0] ^= 1;
  assert_null(crd_old_check(old));
  old->born_marked = false;
  crd_sweep_begin(old); /* objects keep their marks until they are swept */
  assert_null(crd_old_check(old));
}

/* --- the promotion reserve --- */

/* The reserve is 1.5 nurseries and a span of every class. Only the tail of an arena cannot be used. */
static void the_reserve_is_what_promotion_can_need(void **state) {
  (void)state;
  const size_t usable = ARENA_BYTES - SPAN_MAX_PAGES * PAGE_BYTES, spans = old->classes.span_bytes_total;
  for (size_t arenas = 2; arenas <= crd_old_arenas_for(old, CRADLE_NURSERY_MAX_BYTES); arenas++) {
    size_t most = (arenas * usable - spans) / 3 * 2 & ~(size_t)7;
    assert_int_equal(crd_old_nursery_for(old, (uint32_t)arenas), most);
    assert_int_equal(crd_old_arenas_for(old, most), arenas);
    assert_int_equal(crd_old_arenas_for(old, most + 16), arenas + 1);
  }
  assert_int_equal(crd_old_nursery_for(old, 0), 0);
  assert_true(crd_old_nursery_for(old, crd_old_arenas_for(old, 4096)) >= 4096);
}

/* Promotes the worst contents that a nursery can hold into exactly the number of arenas that the rule gives. */
static void worst_promotion(size_t nursery, size_t object_bytes) {
  assert_int_equal(open_with(2 * nursery + 16 * ARENA_BYTES), 0); /* more than the rule gives */
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
  assert_int_equal(close_old(NULL), 0);
}

static void the_reserve_holds_the_worst_promotion(void **state) {
  (void)state;
  static const size_t sizes[] = {16, 24, 272, 528, 1040, 4112, 7176, 8200, 8208, 12296, 20488, 32768};
  for (size_t nursery = (size_t)64 << 10; nursery <= ((size_t)64 << 20); nursery *= 2)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) worst_promotion(nursery, sizes[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_old, close_old)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(the_table_is_made_anew),
      TEST(every_free_place_is_found_in_order),
      TEST(swept_places_are_used_again_and_no_other),
      TEST(a_sweep_goes_on_behind_a_span_opened_across_it),
      TEST(what_is_retired_has_only_the_bits_of_its_objects),
      TEST(an_unfilled_rest_is_known),
      TEST(without_memory_there_is_no_place),
      TEST(a_full_span_has_no_place_either),
      TEST(each_span_is_walked_by_itself),
      TEST(a_walk_passes_over_arenas_without_objects),
      TEST(a_span_opened_in_a_round_has_all_its_bits),
      TEST(a_span_opened_in_a_round_leaves_its_neighbour_alone),
      TEST(what_is_taken_in_a_round_gets_its_bits_after_it),
      TEST(the_notes_of_a_round_have_a_bound),
      TEST(a_round_that_can_note_nothing_takes_new_spans),
      TEST(a_large_object_is_as_it_was_asked_for),
      TEST(young_large_objects_are_listed),
      TEST(a_buried_object_is_poison),
      TEST(neighbours_of_a_buried_object_stay),
      TEST(a_very_large_object_gives_its_arenas_back),
      TEST(only_its_own_arenas_go_back),
      TEST(an_object_begins_where_its_bit_is),
      TEST(a_walk_visits_every_object),
      TEST(the_check_names_what_is_broken),
      TEST(the_reserve_is_what_promotion_can_need),
      cmocka_unit_test(the_reserve_holds_the_worst_promotion),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
