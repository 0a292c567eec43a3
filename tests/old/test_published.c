/* New objects and the second core (gc/old/marker.h), one access after the other: between any two accesses of the
 * mutator to the bits of new objects the second core looks at them, and the other way round. It must find none of them
 * unmarked [marker.3]. Both sides run on the test's own thread. That stores and loads also keep this order on a
 * processor with weakly ordered memory is shown by tests/spin/second_core.pml, not here. */

#include "tests/old/published_calls.h"

#include "tests/inside.h"

#include "tests/old/mark_fixture.h"

#define LARGE_BYTES ((size_t)200 << 10)

static void (*act)(const void *word); /* after a store, before a load; NULL: nothing */
static int accesses, act_at;          /* act_at: act only at this access; 0: at each */

void accessed(const void *word) {
  void (*acts)(const void *) = act;
  if (acts == NULL || (++accesses != act_at && act_at != 0)) return;
  act = NULL; /* it has accesses of its own */
  acts(word);
  act = acts;
}

/* The second core comes to a word that holds the address, perhaps by chance. What it marks goes to `found`. */
static crd_word_stack found;
static void look_at(uintptr_t address) {
  bool overflowed = false;
  mark_context round =
      mark_context_of(&heap->marking, &found, &overflowed, inside_old(heap)->arenas.committed_end * ARENA_BYTES);
  mark_address_in(&round, address, MARK_BESIDE);
  found.top = round.top;
}

/* It comes to each object that the bitmap word may tell of. */
static void look_at_all_of(const void *word) {
  for (uint32_t i = 0; i < inside_old(heap)->arenas.committed_end; i++) {
    const crd_arena *arena = &inside_old(heap)->arenas.meta[i];
    const uint64_t *bitmaps[] = {arena->marks, arena->allocated};
    for (int k = 0; k < 2; k++) {
      uintptr_t index = ((uintptr_t)word - (uintptr_t)bitmaps[k]) / 8;
      if (index >= ARENA_BITMAP_WORDS) continue;
      for (uintptr_t bit = 0; bit < 64; bit++)
        look_at(inside_old(heap)->arenas.base + i * ARENA_BYTES + (index * 64 + bit) * 8);
    }
  }
}

static void *take_large(void) {
  return crd_old_take_large(inside_old(heap), LARGE_BYTES, false, false, 0);
}
static void free_large(void *object) {
  crd_old_free_large(inside_old(heap), arenas_page_number(&inside_old(heap)->arenas, address_of(object)));
}

/* A round goes on. */
static void begin(void) {
  root = new_array(T_ARRAY, 1);
  grow_old();
  crd_old_retire(inside_old(heap));
  (void)begin_marking();
  inside_old(heap)->marked_beside = true;
  assert_true(crd_word_stack_init(&found, 65536, 4096, "test"));
  accesses = act_at = 0;
}
static void end(void) {
  act = NULL;
  inside_old(heap)->marked_beside = false;
  crd_word_stack_fini(&found);
  cradle_collect(m, CRADLE_COLLECT_MAJOR);
}

static void the_second_core_looks_while_a_large_object_is_published(void **state) {
  (void)state;
  begin();
  act = look_at_all_of;
  void *object = take_large();
  assert_true(accesses >= 2);
  assert_true(old_is_marked(inside_old(heap), address_of(object)));
  assert_true(word_stack_is_empty(&found));
  act = NULL;
  old_unmark(inside_old(heap), address_of(object));
  free_large(object);
  end();
}

static void the_second_core_looks_while_a_span_is_published(void **state) {
  (void)state;
  begin();
  uint32_t size_class = old_class_of(inside_old(heap), 512);
  assert_int_equal(inside_old(heap)->spans[size_class].open, PAGE_NONE);
  act = look_at_all_of;
  assert_true(crd_old_refill(inside_old(heap), &inside_old(heap)->leader, size_class, 0));
  assert_true(accesses >= 2);
  assert_true(old_is_marked(inside_old(heap), address_of(inside_old(heap)->leader.allocators[size_class].free)));
  assert_true(word_stack_is_empty(&found));
  end();
}

static void *expected, *published;
static void publish(const void *word) {
  (void)word;
  published = take_large();
  assert_ptr_equal(published, expected);
}

static void a_large_object_is_published_while_the_second_core_looks(void **state) {
  (void)state;
  begin();
  expected = take_large(); /* and once more each time */
  for (act_at = 1;; act_at++) {
    old_unmark(inside_old(heap), address_of(expected));
    free_large(expected);
    published = NULL;
    accesses = 0;
    act = publish;
    look_at(address_of(expected));
    act = NULL;
    if (published == NULL) break;
    assert_true(word_stack_is_empty(&found));
  }
  assert_int_equal(act_at, 3); /* who sees no allocation bit looks no further */
  end();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(the_second_core_looks_while_a_large_object_is_published),
      TEST(the_second_core_looks_while_a_span_is_published),
      TEST(a_large_object_is_published_while_the_second_core_looks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
