/* Marking whose stack is full, at each length that the stack may have then: what is lost is looked for, again when the
 * search loses something itself, and the rest of an array is either put on the stack whole or not at all. The stack is
 * taken from the collector through its inside. */
#include "tests/support/heap_fixture.h"

#include "tests/inside.h"

enum { ENTRIES = 512 };

typedef struct marking {
  fixture f;
  crd_word_stack usual, small;
} marking;

static void open_marking(marking *m) {
  cradle_options options;
  m->f = (fixture){.heap = NULL};
  fixture_options(&m->f, &options);
  fixture_unstress(&options);
  options.verify = false; /* it shares the stack */
  fixture_open_with(&m->f, &options);
  m->usual = *inside_mark_stack(m->f.heap);
  assert_true(crd_word_stack_init(&m->small, ENTRIES * 8, ENTRIES * 8, "test"));
}

/* Overwrites anything that was freed by mistake. */
CRADLE_UNCHECKED_COLLECTION static void mark_with_a_small_stack(marking *m) {
  cradle_error error;
  *inside_mark_stack(m->f.heap) = m->small;
  cradle_collect(m->f.m, CRADLE_COLLECT_FULL);
  *inside_mark_stack(m->f.heap) = m->usual;
  for (int i = 0; i < 20000; i++) (void)cradle_new_array(m->f.m, T_VECTOR, 1);
  cradle_collect(m->f.m, CRADLE_COLLECT_MINOR);
  if (!cradle_heap_verify(m->f.heap, &error)) fail_msg("%s", error.message);
}

static void close_marking(marking *m) {
  crd_word_stack_fini(&m->small);
  fixture_close(&m->f);
}

/* Makes an array of this many pairs, each with a pair of its own. */
CRADLE_UNCHECKED_COLLECTION static vector *new_leaves(fixture *f, uint64_t count) {
  vector *leaves = cradle_new_array(f->m, T_VECTOR, count);
  CRADLE_ROOT(f->m, leaves);
  for (uint64_t i = 0; i < count; i++) {
    pair *inner = cradle_new(f->m, T_PAIR, sizeof(pair));
    CRADLE_ROOT(f->m, inner);
    pair *outer = cradle_new(f->m, T_PAIR, sizeof(pair));
    outer->rest = inner;
    cradle_store(f->m, leaves, &leaves->item[i], outer);
  }
  return leaves;
}

static uint64_t count_leaves(const vector *leaves) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < leaves->length; i++) {
    const pair *outer = leaves->item[i];
    if (outer == NULL || cradle_type_of(outer) != T_PAIR) return count;
    count += outer->rest != NULL && cradle_type_of(outer->rest) == T_PAIR && outer->rest->rest == NULL;
  }
  return count;
}

/* Each array holds more than the stack, and lies behind what it holds: the search for what the first marking lost
 * traces it, loses some of the arrays before it, and is past them. So each level takes a search of its own. */
CRADLE_UNCHECKED_COLLECTION static void a_search_that_loses_more_is_followed_by_another(void **state) {
  enum { WIDTH = 700, LOST_FROM = 690, LEVELS = 4 };
  (void)state;
  for (int levels = 1; levels <= LEVELS; levels++) {
    marking m;
    open_marking(&m);
    {
      vector *top = new_leaves(&m.f, WIDTH);
      CRADLE_ROOT(m.f.m, top);
      cradle_collect(m.f.m, CRADLE_COLLECT_MINOR);
      for (int level = 0; level < levels; level++) {
        vector *above = cradle_new_array(m.f.m, T_VECTOR, WIDTH);
        CRADLE_ROOT(m.f.m, above);
        for (uint64_t i = 0; i < WIDTH; i++) {
          void *item = i < LOST_FROM ? cradle_new_array(m.f.m, T_VECTOR, 0) : (void *)top;
          cradle_store(m.f.m, above, &above->item[i], item);
        }
        top = above;
        cradle_collect(m.f.m, CRADLE_COLLECT_MINOR);
      }
      mark_with_a_small_stack(&m);
      const vector *leaves = top;
      for (int level = 0; level < levels; level++) leaves = leaves->item[LOST_FROM];
      assert_int_equal(count_leaves(leaves), WIDTH);
    }
    close_marking(&m);
  }
}

/* The root's last items that the stack takes are marked first, eight at a time: an array of as many pairs as tried,
 * then the large array. So that one begins with each number of free entries; its rest takes two. */
CRADLE_UNCHECKED_COLLECTION static void the_rest_of_an_array_is_put_on_the_stack_whole(void **state) {
  enum { LARGE = 5000, BEFORE_MOST = 16 };
  (void)state;
  for (uint64_t before = 0; before <= BEFORE_MOST; before++) {
    marking m;
    open_marking(&m);
    {
      vector *root = cradle_new_array(m.f.m, T_VECTOR, ENTRIES);
      CRADLE_ROOT(m.f.m, root);
      for (uint64_t i = 0; i < ENTRIES; i++) {
        uint64_t length = i == ENTRIES - 1 ? before : i == ENTRIES - 2 ? LARGE : 0;
        vector *leaves = new_leaves(&m.f, length);
        cradle_store(m.f.m, root, &root->item[i], leaves);
      }
      mark_with_a_small_stack(&m);
      assert_int_equal(count_leaves(root->item[ENTRIES - 1]), before);
      assert_int_equal(count_leaves(root->item[ENTRIES - 2]), LARGE);
    }
    close_marking(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_search_that_loses_more_is_followed_by_another),
      cmocka_unit_test(the_rest_of_an_array_is_put_on_the_stack_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
