/* The write barrier: an old object keeps what is stored into it alive, and a store without the barrier is found. */
#include "tests/support/nodes.h"

#include "tests/inside.h"

#include <string.h>

#define KIB ((size_t)1 << 10)
#define TAG 3

typedef struct array {
  uint64_t header, length;
  uint64_t items[];
} array;
typedef struct cell {
  uint64_t header, value;
} cell;
enum { REFERENCES = NODE + 1, VALUES, CELL, TYPES };
static const cradle_type types[TYPES] = {
    [NODE] = NODE_TYPE,
    [REFERENCES] = {.name = "references",
                    .size = sizeof(array),
                    .items = CRADLE_ITEMS_REFERENCES,
                    .item_size = 8,
                    .length_offset = offsetof(array, length)},
    [VALUES] = {.name = "values",
                .size = sizeof(array),
                .items = CRADLE_ITEMS_VALUES,
                .item_size = 8,
                .length_offset = offsetof(array, length)},
    [CELL] = {.name = "cell", .size = sizeof(cell), .values = CRADLE_SLOT(cell, value)},
};

CRADLE_UNCHECKED_COLLECTION static int open_heap(void **state) {
  (void)state;
  cradle_options options;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = TYPES;
  options.encoding = cradle_encoding_of(0, 0, 1 << TAG);
  options.nursery_bytes = 32 * KIB;
  options.on_misuse = fail_of_misuse;
  return start_heap(&options);
}

static bool is_flagged(const void *object) {
  return ((const unsigned char *)object)[CRADLE_BARRIER_OFFSET] & CRADLE_BARRIER_MASK;
}

/* [heap.3] through an object's life. */
CRADLE_MAY_COLLECT static void the_flag_is_on_old_objects_not_remembered(void **state) {
  (void)state;
  node *holder = new_node(1);
  CRADLE_ROOT(mutator, holder);
  assert_false(is_flagged(holder));
  cradle_store(mutator, holder, &holder->next, holder);
  assert_false(is_flagged(holder));
  for (uint64_t round = 0; round < 3; round++) {
    cradle_collect(mutator, CRADLE_COLLECT_MINOR);
    assert_true(is_flagged(holder));
    node *made = new_node(2 + round);
    cradle_store(mutator, holder, &holder->next, made);
    assert_false(is_flagged(holder));
    assert_sound();
  }
  cradle_collect(mutator, CRADLE_COLLECT_FULL);
  assert_true(is_flagged(holder));
  assert_int_equal(holder->next->number, 4);
}

CRADLE_MAY_COLLECT static void old_objects_are_remembered_once(void **state) {
  (void)state;
  node *holder = new_node(1);
  CRADLE_ROOT(mutator, holder);
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  uint64_t before = read_stats().remembered_objects;
  for (uint64_t i = 0; i < 1000; i++) {
    node *made = new_node(i);
    cradle_store(mutator, holder, &holder->next, made);
  }
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  assert_int_equal(read_stats().remembered_objects, before + 1);
  assert_int_equal(read_stats().promoted_objects, 2); /* the holder, and what was stored last */
  assert_int_equal(holder->next->number, 999);
}

/* Runs a minor collection; returns how many objects it visited because something was stored into them. */
CRADLE_MAY_COLLECT static uint64_t count_remembered(void) {
  uint64_t before = read_stats().remembered_objects;
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  assert_sound();
  return read_stats().remembered_objects - before;
}

/* While nothing marks, and unless the same object is stored into again and again. */
CRADLE_MAY_COLLECT static void an_old_reference_in_an_old_object_is_not_remembered(void **state) {
  (void)state;
  node *holder = new_node(1), *held = new_node(2);
  CRADLE_ROOT(mutator, holder);
  CRADLE_ROOT(mutator, held);
  cell *value = cradle_new(mutator, CELL, sizeof *value);
  CRADLE_ROOT(mutator, value);
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  cradle_store(mutator, holder, &holder->next, held);
  cradle_store(mutator, holder, &holder->next, NULL);
  cradle_store_value(mutator, value, &value->value, (uintptr_t)held + TAG);
  assert_true(is_flagged(holder) && is_flagged(value));
  assert_int_equal(count_remembered(), 0);
  assert_ptr_equal((void *)(value->value - TAG), held);
  node *made = new_node(3);
  cradle_store_value(mutator, value, &value->value, (uintptr_t)made + TAG);
  assert_false(is_flagged(value));
  assert_int_equal(count_remembered(), 1);
  assert_int_equal(node_at(value->value - TAG)->number, 3);
  for (int i = 0; i < 100; i++) cradle_store(mutator, holder, &holder->next, held);
  assert_false(is_flagged(holder));
  cradle_store(mutator, held, &held->next, holder);
  assert_true(is_flagged(held));
  assert_int_equal(count_remembered(), 1);
}

/* Marking may already have visited the object. */
CRADLE_MAY_COLLECT static void while_marking_each_is_remembered(void **state) {
  (void)state;
  node *list = NULL;
  CRADLE_ROOT(mutator, list);
  for (uint64_t i = 0; i < 1000; i++) {
    node *made = new_node(i);
    made->next = list;
    list = made;
  }
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  assert_false(cradle_collect_step(mutator, 1));
  node *last = list;
  while (last->next->next != NULL) last = last->next;
  cradle_store(mutator, list, &list->next, last->next);
  assert_false(is_flagged(list));
  cradle_store(mutator, last, &last->next, NULL);
  while (!cradle_collect_step(mutator, 1)) assert_sound();
  assert_int_equal(list->number, 999);
  assert_int_equal(list->next->number, 0);
  assert_null(list->next->next);
}

CRADLE_MAY_COLLECT static void many_old_objects_hold_young_ones(void **state) {
  (void)state;
  enum { HOLDERS = 100000 };
  array *all = cradle_new_array(mutator, REFERENCES, HOLDERS);
  CRADLE_ROOT(mutator, all);
  for (size_t i = 0; i < HOLDERS; i++) {
    node *made = new_node(i);
    cradle_store(mutator, all, &all->items[i], made);
  }
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  for (uint64_t round = 1; round < 4; round++) {
    for (size_t i = 0; i < HOLDERS; i++) {
      node *made = new_node(round * HOLDERS + i);
      cradle_store(mutator, node_at(all->items[i]), &node_at(all->items[i])->next, made);
    }
    if (round == 2) cradle_collect(mutator, CRADLE_COLLECT_FULL);
  }
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  assert_sound();
  for (size_t i = 0; i < HOLDERS; i++) {
    assert_int_equal(node_at(all->items[i])->number, i);
    assert_int_equal(node_at(all->items[i])->next->number, 3 * HOLDERS + i);
  }
}

/* All old objects are looked at in its place. */
CRADLE_MAY_COLLECT static void a_remembered_set_that_cannot_grow_loses_nothing(void **state) {
  enum { HOLDERS = 600 };
  (void)state;
  crd_word_stack *remembered = &inside_local(heap)->remembered;
  remembered->end = remembered->base + 512;
  array *all = cradle_new_array(mutator, REFERENCES, HOLDERS);
  CRADLE_ROOT(mutator, all);
  for (uint64_t i = 0; i < HOLDERS; i++) {
    node *holder = new_node(i);
    cradle_store(mutator, all, &all->items[i], holder);
  }
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  for (uint64_t i = 0; i < HOLDERS; i++) {
    node *holder = node_at(all->items[i]), *made = new_node(HOLDERS + i);
    cradle_store(mutator, holder, &holder->next, made);
    if (i != 0) continue;
    assert_false(heap->young.remember_all); /* one entry does not make the collector look at everything */
    assert_int_equal(word_stack_count(remembered), 1);
  }
  assert_true(heap->young.remember_all);
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  assert_false(heap->young.remember_all);
  assert_sound();
  for (uint64_t i = 0; i < HOLDERS; i++) assert_int_equal(node_at(all->items[i])->next->number, HOLDERS + i);
}

/* Random stores into arrays, from small to several pages long, against a copy of the numbers. */
CRADLE_MAY_COLLECT static void arrays_hold_what_is_stored(void **state) {
  (void)state;
  static uint64_t expected[20000];
  static const size_t lengths[] = {1, 10, 1000, 5000, 20000};
  uint64_t seed = 7;
  for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
    array *list = cradle_new_array(mutator, REFERENCES, lengths[k]);
    CRADLE_ROOT(mutator, list);
    memset(expected, 0, sizeof expected);
    for (uint64_t step = 1; step < 30000; step++) {
      seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
      size_t i = (size_t)(seed >> 33) % lengths[k];
      node *made = step % 5 ? new_node(step) : NULL;
      cradle_store(mutator, list, &list->items[i], made);
      expected[i] = step % 5 ? step : 0;
      if (step % 10007 == 0) cradle_collect(mutator, CRADLE_COLLECT_FULL);
    }
    cradle_collect(mutator, CRADLE_COLLECT_MINOR);
    assert_sound();
    for (size_t i = 0; i < lengths[k]; i++)
      assert_int_equal(list->items[i] ? node_at(list->items[i])->number : 0, expected[i]);
  }
}

CRADLE_MAY_COLLECT static void values_are_stored_with_their_tag(void **state) {
  (void)state;
  array *list = cradle_new_array(mutator, VALUES, 500);
  CRADLE_ROOT(mutator, list);
  cell *holder = cradle_new(mutator, CELL, sizeof(cell));
  CRADLE_ROOT(mutator, holder);
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  for (uint64_t i = 0; i < 500; i++) {
    uint64_t value = (uint64_t)(uintptr_t)new_node(i) + TAG;
    cradle_store_value(mutator, list, &list->items[i], i % 4 ? value : value - TAG); /* untagged: an immediate */
    if (i % 4) cradle_store_value(mutator, holder, &holder->value, value);
    cradle_collect(mutator, CRADLE_COLLECT_MINOR);
    assert_sound();
  }
  for (uint64_t i = 0; i < 500; i++) {
    assert_int_equal(list->items[i] & 7, i % 4 ? TAG : 0);
    if (i % 4) assert_int_equal(node_at(list->items[i] - TAG)->number, i);
  }
  assert_int_equal(holder->value, list->items[499]);
}

/* While marking, an old reference in an array is recorded for marking; NULL and immediates refer to nothing. */
CRADLE_MAY_COLLECT static void while_marking_words_that_refer_to_nothing_are_not_recorded(void **state) {
  (void)state;
  enum { LENGTH = 8000, STORES = 100 };
  array *references = cradle_new_array(mutator, REFERENCES, LENGTH), *values = NULL;
  node *old = NULL;
  CRADLE_ROOT(mutator, references);
  CRADLE_ROOT(mutator, values);
  CRADLE_ROOT(mutator, old);
  values = cradle_new_array(mutator, VALUES, LENGTH);
  old = new_node(1);
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  assert_false(cradle_collect_step(mutator, 1));
  uint64_t before = read_stats().recorded_slots;
  for (uint64_t i = 0; i < STORES; i++) {
    cradle_store(mutator, references, &references->items[i], NULL);
    cradle_store_value(mutator, values, &values->items[i], i << 3);
  }
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  assert_int_equal(inside_major(heap)->phase, MAJOR_MARKING);
  assert_int_equal(read_stats().recorded_slots, before);
  for (uint64_t i = 0; i < STORES; i++) {
    cradle_store(mutator, references, &references->items[i], old);
    cradle_store_value(mutator, values, &values->items[i], (uint64_t)(uintptr_t)old + TAG);
  }
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  assert_int_equal(read_stats().recorded_slots, before + 2 * STORES);
  while (!cradle_collect_step(mutator, 1)) assert_sound();
  assert_ptr_equal(node_at(values->items[STORES - 1] - TAG), old);
}

CRADLE_MAY_COLLECT static void what_is_overwritten_dies(void **state) {
  (void)state;
  node *holder = new_node(1);
  CRADLE_ROOT(mutator, holder);
  cradle_collect(mutator, CRADLE_COLLECT_FULL);
  uint64_t before = read_stats().old_bytes;
  node *made = new_node(2);
  cradle_store(mutator, holder, &holder->next, made);
  cradle_store(mutator, holder, &holder->next, NULL);
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  assert_int_equal(read_stats().old_bytes, before);
  made = new_node(3);
  cradle_store(mutator, holder, &holder->next, made);
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  assert_true(read_stats().old_bytes > before);
  cradle_store(mutator, holder, &holder->next, NULL);
  cradle_collect(mutator, CRADLE_COLLECT_FULL);
  assert_int_equal(read_stats().old_bytes, before);
}

CRADLE_MAY_COLLECT static void two_old_objects_share_a_young_one(void **state) {
  (void)state;
  node *a = new_node(1);
  CRADLE_ROOT(mutator, a);
  node *b = new_node(2);
  CRADLE_ROOT(mutator, b);
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  node *made = new_node(3);
  made->next = made;
  cradle_store(mutator, a, &a->next, made);
  cradle_store(mutator, b, &b->next, made);
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  assert_ptr_not_equal(a->next, made);
  assert_ptr_equal(a->next, b->next);
  assert_ptr_equal(a->next->next, a->next);
}

/* Young large objects are reached through old objects as well. */
CRADLE_MAY_COLLECT static void an_old_object_holds_a_young_large_one(void **state) {
  (void)state;
  node *holder = new_node(1);
  CRADLE_ROOT(mutator, holder);
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  for (uint64_t round = 0; round < 5; round++) {
    array *large = cradle_new_array(mutator, REFERENCES, 20000);
    cradle_store(mutator, holder, &holder->next, large);
    node *made = new_node(round);
    large = (array *)holder->next; /* the allocation may have collected, but large objects stay in place */
    cradle_store(mutator, large, &large->items[19999], made);
    cradle_collect(mutator, CRADLE_COLLECT_MINOR);
    assert_sound();
    assert_int_equal(node_at(((array *)holder->next)->items[19999])->number, round);
  }
  cradle_store(mutator, holder, &holder->next, NULL);
  cradle_collect(mutator, CRADLE_COLLECT_FULL);
  assert_int_equal(read_stats().large_bytes, 0);
}

static void assert_found(const char *holder) {
  cradle_error error;
  assert_false(cradle_heap_verify(heap, &error));
  if (strstr(error.message, "missing write barrier") == NULL || strstr(error.message, holder) == NULL)
    fail_msg("the message does not name the barrier and \"%s\": %s", holder, error.message);
}

CRADLE_MAY_COLLECT static void a_store_without_the_barrier_is_found(void **state) {
  (void)state;
  node *old = new_node(1);
  CRADLE_ROOT(mutator, old);
  array *list = cradle_new_array(mutator, REFERENCES, 5);
  CRADLE_ROOT(mutator, list);
  array *large = cradle_new_array(mutator, REFERENCES, 20000);
  CRADLE_ROOT(mutator, large);
  cell *value = cradle_new(mutator, CELL, sizeof(cell));
  CRADLE_ROOT(mutator, value);
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  node *made = new_node(2);
  old->next = made;
  assert_found("(node)");
  cradle_write_barrier(mutator, old);
  assert_sound();
  list->items[2] = (uint64_t)(uintptr_t)made;
  assert_found("word 4 (item 2) of type 1 (references)");
  cradle_write_barrier(mutator, list);
  assert_sound();
  large->items[15000] = (uint64_t)(uintptr_t)made;
  assert_found("(references)");
  cradle_write_barrier(mutator, large);
  assert_sound();
  value->value = (uint64_t)(uintptr_t)made + TAG;
  assert_found("(cell)");
  cradle_write_barrier(mutator, value);
  assert_sound();
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  assert_int_equal(old->next->number, 2);
  assert_ptr_equal(node_at(list->items[2]), old->next);
  assert_ptr_equal(node_at(large->items[15000]), old->next);
  assert_ptr_equal(node_at(value->value - TAG), old->next);
}

#define IN_HEAP(test) cmocka_unit_test_setup_teardown(test, open_heap, close_heap)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_HEAP(the_flag_is_on_old_objects_not_remembered),
      IN_HEAP(old_objects_are_remembered_once),
      IN_HEAP(an_old_reference_in_an_old_object_is_not_remembered),
      IN_HEAP(while_marking_each_is_remembered),
      IN_HEAP(many_old_objects_hold_young_ones),
      IN_HEAP(a_remembered_set_that_cannot_grow_loses_nothing),
      IN_HEAP(arrays_hold_what_is_stored),
      IN_HEAP(values_are_stored_with_their_tag),
      IN_HEAP(while_marking_words_that_refer_to_nothing_are_not_recorded),
      IN_HEAP(what_is_overwritten_dies),
      IN_HEAP(two_old_objects_share_a_young_one),
      IN_HEAP(an_old_object_holds_a_young_large_one),
      IN_HEAP(a_store_without_the_barrier_is_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
