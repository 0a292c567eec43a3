/* The nursery's size under small programs. There is no pause target and no second core, so that counts alone decide and
 * each run takes the same decisions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <cradle/cradle.h>

#include "tests/inside.h"

#define MIB ((size_t)1 << 20)
/* What the machine of these tests makes of its caches. */
#define BASE MIB
#define MOST (16 * MIB)
#define SIZES_MOST 1000

enum { LINK, RING };
typedef struct link {
  uint64_t header;
  struct link *next, *other;
  uint64_t fill[5];
} link;
typedef struct ring {
  uint64_t header, length;
  link *items[];
} ring;

static const cradle_type types[] = {
    [LINK] = {.name = "link", .size = sizeof(link), .references = CRADLE_SLOT(link, next) | CRADLE_SLOT(link, other)},
    [RING] = {.name = "ring",
              .size = sizeof(ring),
              .items = CRADLE_ITEMS_REFERENCES,
              .item_size = 8,
              .length_offset = offsetof(ring, length)}};

static cradle_heap *heap;
static cradle_mutator *m;
/* The roots. */
static struct {
  ring *kept;
  link *first, *last;
} roots;
static void *roots_begin = &roots, *roots_end = &roots + 1;
static cradle_root_range range = {
    .base = &roots_begin, .top = &roots_end, .kind = CRADLE_KIND_REFERENCE, .name = "roots"};

/* Each size of the nursery since the first: its reason, and the collections before it. */
static struct {
  size_t bytes;
  const char *reason;
  char lives[256];
  uint64_t minors, majors;
} sizes[SIZES_MOST];
static int size_count;
static uint64_t minors, majors;

static void listen(void *data, const cradle_event *event) {
  (void)data;
  minors += event->kind == CRADLE_EVENT_MINOR_END;
  majors += event->kind == CRADLE_EVENT_MAJOR_END;
  if (event->kind != CRADLE_EVENT_NURSERY_SIZED || event->u.nursery.previous == 0) return;
  assert_true(size_count < SIZES_MOST);
  sizes[size_count].bytes = (size_t)event->u.nursery.bytes;
  sizes[size_count].reason = event->u.nursery.reason;
  sizes[size_count].lives[0] = '\0';
  if (event->u.nursery.lives != NULL)
    strncpy(sizes[size_count].lives, event->u.nursery.lives, sizeof sizes[0].lives - 1);
  sizes[size_count].minors = minors;
  sizes[size_count++].majors = majors;
}

static bool was_trial(int i) {
  return strncmp(sizes[i].reason, "trial: ", 7) == 0;
}

static int trials(void) {
  int count = 0;
  for (int i = 0; i < size_count; i++) count += was_trial(i);
  return count;
}

static int first_of(size_t bytes) {
  for (int i = 0; i < size_count; i++)
    if (sizes[i].bytes == bytes) return i;
  fail_msg("no nursery of %zu bytes among %d", bytes, size_count);
  return 0;
}

CRADLE_UNCHECKED_COLLECTION static void open_with(size_t fixed) {
  static const cradle_hardware hardware = {.page_bytes = 4096, .l2_bytes = MIB / 4, .l3_bytes = 2 * MOST};
  cradle_options options;
  cradle_options_init(&options);
  options.hardware = &hardware;
  options.types = types;
  options.type_count = sizeof types / sizeof *types;
  options.pause_ns = 0;
  options.gc_threads = 0;
  options.nursery_bytes = fixed;
  options.stress_period = 0;
  options.listener.function = listen;
  size_count = 0;
  minors = majors = 0;
  heap = cradle_heap_new(&options, NULL);
  m = heap == NULL ? NULL : cradle_mutator_new(heap);
  assert_non_null(m);
  memset(&roots, 0, sizeof roots);
  cradle_root_range_add(m, &range);
}

static int open_heap(void **state) {
  (void)state;
  open_with(0);
  return 0;
}

static int close_heap(void **state) {
  (void)state;
  cradle_root_range_remove(m, &range);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  return 0;
}

static size_t size_now(void) {
  return inside_nursery(heap)->bytes;
}

static uint64_t promoted_bytes(void) {
  cradle_statistics stats;
  cradle_heap_statistics(heap, &stats, sizeof stats);
  return stats.promoted_bytes;
}

/* Documents of a hundred links. Each lives until so many bytes were allocated after it. */
CRADLE_UNCHECKED_COLLECTION static void documents(size_t bytes, size_t live_for) {
  const size_t document = 100 * sizeof(link);
  size_t window = live_for / document;
  if (roots.kept == NULL || roots.kept->length != window) roots.kept = cradle_new_array(m, RING, window);
  for (size_t i = 0; i < bytes / document; i++) {
    roots.first = NULL;
    for (int k = 0; k < 100; k++) {
      link *made = CRADLE_NEW(m, link, LINK);
      made->next = roots.first;
      roots.first = made;
    }
    cradle_store(m, roots.kept, &roots.kept->items[i % window], roots.first);
    roots.first = NULL;
  }
}

/* Each node lives through a hundred others. Its dead neighbours in the old generation keep it alive for longer. */
CRADLE_UNCHECKED_COLLECTION static void queue(size_t bytes) {
  if (roots.last == NULL) roots.first = roots.last = CRADLE_NEW(m, link, LINK);
  for (size_t i = 0; i < bytes / sizeof(link); i++) {
    link *made = CRADLE_NEW(m, link, LINK);
    cradle_store(m, roots.last, &roots.last->next, made);
    roots.last = made;
    if (i >= 100) roots.first = roots.first->next;
  }
}

CRADLE_UNCHECKED_COLLECTION static void lists_that_stay(size_t bytes) {
  for (size_t i = 0; i < bytes / sizeof(link); i++) {
    link *made = CRADLE_NEW(m, link, LINK);
    made->next = roots.first;
    roots.first = made;
  }
}

CRADLE_UNCHECKED_COLLECTION static void garbage(size_t bytes) {
  for (size_t i = 0; i < bytes / sizeof(link); i++) (void)CRADLE_NEW(m, link, LINK);
}

/* The JSON kind: all of the base lives, and more than half dies in the largest. */
static void what_lives_a_little_longer_than_the_base_calls_for_a_larger_one(void **state) {
  (void)state;
  documents(100 * MIB, 44 * MIB / 10);
  assert_int_equal(size_now(), MOST);
  int i = first_of(MOST);
  assert_true(was_trial(i)); /* minor collections of the base see nothing die */
  assert_in_range(sizes[i].majors, 1, 2);
  assert_true(sizes[i].minors <= 20);
  uint64_t promoted = promoted_bytes();
  close_heap(NULL);
  open_with(BASE);
  documents(100 * MIB, 44 * MIB / 10);
  assert_int_equal(size_count, 0);
  assert_true(promoted < promoted_bytes() / 2);
}

/* Marking finds it dead, but minor collections do not: only a trial tells. */
static void a_queue_makes_each_trial_go_back(void **state) {
  (void)state;
  queue(400 * MIB);
  assert_int_equal(size_now(), BASE);
  assert_int_equal(size_count % 2, 0);
  assert_in_range(trials(), 4, 8);
  uint64_t waited = 0, first_wait = 0;
  for (int i = 0; i < size_count; i += 2) {
    assert_true(was_trial(i));
    assert_int_equal(sizes[i + 1].bytes, BASE);
    assert_string_equal(sizes[i + 1].reason, "back: as much survives in the larger nursery");
    assert_int_equal(sizes[i + 1].minors, sizes[i].minors + 2);
    if (i == 0) continue;
    uint64_t wait = sizes[i].minors - sizes[i - 1].minors;
    assert_true(wait >= (i < 6 ? waited : waited / 4 * 7)); /* doubles, but for the first, which marking makes longer */
    if (i == 2) first_wait = wait;
    waited = wait;
  }
  assert_true(waited >= 4 * first_wait);
}

static void what_lives_for_ever_calls_for_no_trial(void **state) {
  (void)state;
  lists_that_stay(100 * MIB);
  assert_true(majors > 1);
  assert_int_equal(size_count, 0);
}

/* Six tenths of the base live on: minor collections see fewer live at greater ages. */
static void a_curve_that_falls_within_the_base_needs_no_marking(void **state) {
  (void)state;
  documents(20 * MIB, 6 * MIB / 10);
  assert_int_equal(majors, 0);
  assert_true(size_now() >= 2 * BASE);
  assert_int_equal(trials(), 0);
  assert_string_equal(sizes[0].reason, "a larger nursery promotes less");
  assert_true(sizes[0].minors <= 8);
}

/* The last doubling above base has cost so little that it stays. */
static void when_nothing_survives_the_size_goes_back_in_steps(void **state) {
  (void)state;
  documents(60 * MIB, 44 * MIB / 10);
  assert_int_equal(size_now(), MOST);
  int grown = size_count;
  garbage(1000 * MIB);
  size_t bytes = MOST;
  for (int i = grown; i < size_count; i++) {
    assert_int_equal(sizes[i].bytes, bytes /= 2);
    assert_string_equal(sizes[i].reason, "a smaller nursery is enough");
    assert_true(i == grown ? sizes[i].minors >= sizes[i - 1].minors + 16 : sizes[i].minors == sizes[i - 1].minors + 16);
  }
  assert_in_range(size_now(), BASE, 2 * BASE);
}

static void the_size_follows_a_program_that_changes(void **state) {
  (void)state;
  queue(60 * MIB);
  assert_true(trials() >= 2);
  assert_int_equal(size_now(), BASE);
  roots.first = roots.last = NULL;
  documents(200 * MIB, 44 * MIB / 10);
  assert_int_equal(size_now(), MOST);
  roots.kept = NULL;
  garbage(1000 * MIB);
  assert_in_range(size_now(), BASE, 2 * BASE);
}

/* Counts decide, not the clock. */
static void each_run_takes_the_same_decisions(void **state) {
  (void)state;
  queue(30 * MIB);
  documents(60 * MIB, 44 * MIB / 10);
  int count = size_count;
  uint64_t promoted = promoted_bytes(), when = sizes[count - 1].minors;
  assert_true(count > 2);
  close_heap(NULL);
  open_with(0);
  queue(30 * MIB);
  documents(60 * MIB, 44 * MIB / 10);
  assert_int_equal(size_count, count);
  assert_int_equal(sizes[count - 1].minors, when);
  assert_int_equal(promoted_bytes(), promoted);
}

/* The event of a size has the curve as the heap knew it then. */
static void the_event_tells_what_lives(void **state) {
  (void)state;
  documents(60 * MIB, 44 * MIB / 10);
  const char *lives = sizes[first_of(MOST)].lives;
  assert_non_null(strstr(lives, "512 KiB 100, 1 MiB 100"));
  assert_non_null(strstr(lives, ", 8 MiB "));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_heap, close_heap)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(what_lives_a_little_longer_than_the_base_calls_for_a_larger_one),
      TEST(a_queue_makes_each_trial_go_back),
      TEST(what_lives_for_ever_calls_for_no_trial),
      TEST(a_curve_that_falls_within_the_base_needs_no_marking),
      TEST(when_nothing_survives_the_size_goes_back_in_steps),
      TEST(the_size_follows_a_program_that_changes),
      TEST(each_run_takes_the_same_decisions),
      TEST(the_event_tells_what_lives),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
