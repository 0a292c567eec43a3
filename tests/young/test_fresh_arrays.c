/* Large arrays that were just allocated: what a minor collection scans of them is limited, and beyond the limit their
 * stores are recorded from birth [large.3]. */
#include "tests/support/nodes.h"

#include <string.h>
#include <sys/mman.h>

#include "tests/inside.h"

#define KIB ((size_t)1 << 10)
#define TAG 3
/* An array of so many words is recorded from birth; one of half as many is not. */
#define MANY (2 * SCANNED_MAX_BYTES / 8)
#define HALF (SCANNED_MAX_BYTES / 2 / 8)

typedef struct array {
  uint64_t header, length;
  uint64_t items[];
} array;
typedef struct entry {
  uint64_t hash;
  node *key;
  uint64_t value;
} entry;
typedef struct table {
  uint64_t header, length;
  entry items[];
} table;
typedef struct instances {
  uint64_t header, length;
  node *class;
  node *items[];
} instances;
enum { REFERENCES = NODE + 1, VALUES, TABLE, INSTANCES, BYTES, TYPES };
#define ARRAY_TYPE(kind) \
  {.name = #kind, .size = sizeof(array), .items = (kind), .item_size = 8, .length_offset = offsetof(array, length)}
static const cradle_type types[TYPES] = {
    [NODE] = NODE_TYPE,
    [REFERENCES] = ARRAY_TYPE(CRADLE_ITEMS_REFERENCES),
    [VALUES] = ARRAY_TYPE(CRADLE_ITEMS_VALUES),
    [TABLE] = {.name = "table",
               .size = sizeof(table),
               .items = CRADLE_ITEMS_STRUCTURES,
               .item_size = sizeof(entry),
               .item_references = 1u << 1,
               .item_values = 1u << 2,
               .length_offset = offsetof(table, length)},
    [INSTANCES] = {.name = "instances",
                   .size = sizeof(instances),
                   .references = CRADLE_SLOT(instances, class),
                   .items = CRADLE_ITEMS_REFERENCES,
                   .item_size = 8,
                   .length_offset = offsetof(instances, length)},
    [BYTES] = ARRAY_TYPE(CRADLE_ITEMS_BYTES),
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

static uint64_t tagged(const void *object) {
  return (uint64_t)(uintptr_t)object + TAG;
}
static bool is_recorded(const void *object) {
  return header_records_slots(*(const uint64_t *)object);
}
static bool is_young(const void *object) {
  return space_holds_young(&heap->space, (uintptr_t)object);
}

/* The whole pages of an array that hold nothing but items. */
static void protect_items(array *large, int protection) {
  uintptr_t page = heap->hardware.page_bytes, start = (uintptr_t)large->items, end = start + large->length * 8;
  start = (start + page - 1) / page * page;
  assert_int_equal(mprotect((void *)start, end / page * page - start, protection), 0);
}

/* A minor collection that ends the program if it reads the items of the array. */
CRADLE_MAY_COLLECT static void collect_without_reading(array *large) {
  protect_items(large, PROT_NONE);
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  protect_items(large, PROT_READ | PROT_WRITE);
}

/* --- recorded from birth --- */

CRADLE_MAY_COLLECT static void an_array_above_the_limit_is_not_scanned(void **state) {
  (void)state;
  array *large = cradle_new_array(mutator, REFERENCES, MANY);
  CRADLE_ROOT(mutator, large);
  assert_true(is_young(large) && is_recorded(large));
  collect_without_reading(large);
  assert_false(is_young(large));
  assert_true(is_recorded(large));
  assert_sound();
}

/* Whatever the program holds when the array is born is old, so plain stores of it need no record. */
CRADLE_MAY_COLLECT static void plain_stores_into_a_fresh_array_count(void **state) {
  (void)state;
  node *held = new_node(7);
  CRADLE_ROOT(mutator, held);
  assert_true(is_young(held));
  array *large = cradle_new_array(mutator, REFERENCES, MANY);
  CRADLE_ROOT(mutator, large);
  assert_false(is_young(held));
  for (size_t i = 0; i < MANY; i++) large->items[i] = (uint64_t)(uintptr_t)held;
  large->items[5] = (uint64_t)(uintptr_t)large;
  assert_sound();
  collect_without_reading(large);
  held = NULL;
  cradle_collect(mutator, CRADLE_COLLECT_FULL);
  assert_sound();
  assert_int_equal(node_at(large->items[MANY - 1])->number, 7);
  assert_ptr_equal(node_at(large->items[5]), large);
}

CRADLE_MAY_COLLECT static void later_stores_are_recorded_one_by_one(void **state) {
  (void)state;
  array *large = cradle_new_array(mutator, VALUES, MANY);
  CRADLE_ROOT(mutator, large);
  for (uint64_t i = 0; i < 50; i++) {
    node *made = new_node(i);
    cradle_store_value(mutator, large, &large->items[i * HALF / 50], tagged(made));
  }
  assert_sound();
  uint64_t before = read_stats().recorded_slots;
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  assert_int_equal(read_stats().recorded_slots - before, 50);
  assert_sound();
  for (uint64_t i = 0; i < 50; i++) assert_int_equal(node_at(large->items[i * HALF / 50] - TAG)->number, i);
}

CRADLE_MAY_COLLECT static void structures_are_recorded_from_birth(void **state) {
  (void)state;
  table *large = cradle_new_array(mutator, TABLE, MANY / 3 + 1);
  CRADLE_ROOT(mutator, large);
  assert_int_equal(header_array_flags(large->header), HEADER_VALUES_FLAG);
  node *made = new_node(1);
  large->items[1].hash = tagged(made); /* no slot */
  cradle_store(mutator, large, &large->items[1].key, made);
  cradle_store_value(mutator, large, &large->items[2].value, tagged(made));
  assert_sound();
  collect_without_reading((array *)large);
  large->items[1].hash = 0;
  assert_sound();
  assert_int_equal(large->items[1].key->number, 1);
  assert_ptr_equal(node_at(large->items[2].value - TAG), large->items[1].key);
}

/* A vector that doubles: of the copied slots those with young references are recorded, and the rest is never read. */
CRADLE_MAY_COLLECT static void a_vector_that_grows_is_not_scanned(void **state) {
  (void)state;
  array *small = cradle_new_array(mutator, REFERENCES, MANY);
  CRADLE_ROOT(mutator, small);
  node *first = new_node(1);
  for (size_t i = 0; i < MANY; i++) cradle_store(mutator, small, &small->items[i], first);
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  for (size_t times = 2; times <= 3; times++) { /* growing by half copies more slots than half of the new array has */
    array *grown = cradle_new_array(mutator, REFERENCES, MANY * times / 2 + MANY);
    CRADLE_ROOT(mutator, grown);
    node *young = new_node(2);
    cradle_store(mutator, small, &small->items[3], young);
    cradle_copy_slots(mutator, grown, grown->items, small->items, MANY);
    uint64_t before = read_stats().recorded_slots;
    assert_sound();
    cradle_collect(mutator, CRADLE_COLLECT_MINOR);
    assert_int_equal(read_stats().recorded_slots - before, 2);
    assert_sound();
    assert_int_equal(node_at(grown->items[3])->number, 2);
    assert_int_equal(node_at(grown->items[MANY - 1])->number, 1);
  }
}

CRADLE_MAY_COLLECT static void it_dies_young_like_others(void **state) {
  (void)state;
  for (int i = 0; i < 10; i++) {
    array *large = cradle_new_array(mutator, REFERENCES, MANY);
    CRADLE_ROOT(mutator, large);
    node *made = new_node(1);
    cradle_store(mutator, large, &large->items[i], made);
    assert_sound();
  }
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  assert_int_equal(read_stats().large_bytes, 0);
  assert_int_equal(read_stats().major_collections, 0);
}

/* Young large objects that only the array refers to, by a store that came later. */
CRADLE_MAY_COLLECT static void it_holds_other_large_objects(void **state) {
  (void)state;
  array *large = cradle_new_array(mutator, REFERENCES, MANY);
  CRADLE_ROOT(mutator, large);
  array *other = cradle_new_array(mutator, REFERENCES, HALF);
  cradle_store(mutator, large, &large->items[9], other);
  node *made = new_node(3);
  other = (array *)(uintptr_t)large->items[9];
  other->items[1] = (uint64_t)(uintptr_t)made; /* as a young object, it takes plain stores if nothing was collected */
  if (!is_young(other)) cradle_write_barrier(mutator, other);
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  assert_sound();
  assert_int_equal(node_at(((array *)(uintptr_t)large->items[9])->items[1])->number, 3);
}

/* More stores than half of the slots: the array is remembered as a whole, and scanned. */
CRADLE_MAY_COLLECT static void many_stores_remember_the_whole(void **state) {
  (void)state;
  array *large = cradle_new_array(mutator, REFERENCES, MANY);
  CRADLE_ROOT(mutator, large);
  node *made = new_node(4);
  for (size_t i = 0; i < MANY; i++) cradle_store(mutator, large, &large->items[i], made);
  assert_false(header_has_barrier(large->header));
  assert_sound();
  uint64_t before = read_stats().recorded_slots;
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  assert_in_range(read_stats().recorded_slots - before, MANY / 2, MANY / 2 + 1);
  assert_true(header_has_barrier(large->header));
  assert_sound();
  for (size_t i = 0; i < MANY; i++) assert_int_equal(node_at(large->items[i])->number, 4);
}

/* So does one copy of more references to young objects. */
CRADLE_MAY_COLLECT static void a_copy_of_many_remembers_the_whole(void **state) {
  (void)state;
  static uint64_t words[MANY];
  array *large = cradle_new_array(mutator, REFERENCES, MANY);
  CRADLE_ROOT(mutator, large);
  const node *made = new_node(4);
  for (size_t i = 0; i < MANY; i++) words[i] = (uint64_t)(uintptr_t)made;
  cradle_copy_slots(mutator, large, large->items, words, MANY);
  assert_false(header_has_barrier(large->header));
  assert_sound();
  uint64_t before = read_stats().recorded_slots;
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  assert_in_range(read_stats().recorded_slots - before, MANY / 2, MANY / 2 + 1);
  for (size_t i = 0; i < MANY; i++) assert_int_equal(node_at(large->items[i])->number, 4);
}

CRADLE_MAY_COLLECT static void cradle_write_barrier_remembers_the_whole(void **state) {
  (void)state;
  array *large = cradle_new_array(mutator, REFERENCES, MANY);
  CRADLE_ROOT(mutator, large);
  node *made = new_node(5);
  large->items[17] = (uint64_t)(uintptr_t)made;
  cradle_write_barrier(mutator, large);
  assert_sound();
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  assert_sound();
  assert_int_equal(node_at(large->items[17])->number, 5);
}

/* A slot with a young reference that nobody recorded: the verifier knows the rule. */
CRADLE_MAY_COLLECT static void the_verifier_finds_a_missing_record(void **state) {
  (void)state;
  array *large = cradle_new_array(mutator, REFERENCES, MANY);
  CRADLE_ROOT(mutator, large);
  node *made = new_node(6);
  cradle_error error;
  large->items[17] = (uint64_t)(uintptr_t)made;
  assert_false(cradle_heap_verify(heap, &error));
  assert_non_null(strstr(error.message, "missing write barrier"));
  large->items[17] = 0;
  large->header &= ~HEADER_BARRIER_FLAG;
  assert_false(cradle_heap_verify(heap, &error));
  assert_non_null(strstr(error.message, "not remembered"));
  large->header |= HEADER_BARRIER_FLAG;
  assert_sound();
}

/* --- what is scanned --- */

/* However many arrays below the limit are allocated, no minor collection scans more than the limit allows. */
CRADLE_MAY_COLLECT static void smaller_arrays_are_scanned_up_to_the_limit(void **state) {
  (void)state;
  array *list = NULL;
  CRADLE_ROOT(mutator, list);
  uint64_t before = read_stats().minor_collections;
  for (int i = 0; i < 16; i++) {
    array *made = cradle_new_array(mutator, REFERENCES, HALF - 4);
    assert_false(is_recorded(made));
    assert_in_range(inside_old(heap)->young_scanned_bytes, 1, SCANNED_MAX_BYTES);
    made->items[HALF - 5] = (uint64_t)(uintptr_t)list; /* plain: it is fresh */
    list = made;
  }
  assert_true(read_stats().minor_collections - before >= 7);
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  assert_int_equal(inside_old(heap)->young_scanned_bytes, 0);
  assert_sound();
  int count = 0;
  for (array *at = list; at != NULL; at = (array *)(uintptr_t)at->items[HALF - 5]) count++;
  assert_int_equal(count, 16);
}

CRADLE_MAY_COLLECT static void objects_without_slots_are_not_counted(void **state) {
  (void)state;
  array *bytes = cradle_new_array(mutator, BYTES, MANY);
  assert_false(is_recorded(bytes));
  assert_int_equal(inside_old(heap)->young_scanned_bytes, 0);
}

/* An array whose type has a fixed reference, too: its slots are all of one kind. */
CRADLE_MAY_COLLECT static void a_fixed_slot_of_the_same_kind_is_recorded(void **state) {
  (void)state;
  instances *large = cradle_new_array(mutator, INSTANCES, MANY);
  CRADLE_ROOT(mutator, large);
  assert_true(is_recorded(large));
  node *made = new_node(8);
  cradle_store(mutator, large, &large->class, made);
  cradle_store(mutator, large, &large->items[MANY - 1], made);
  assert_sound();
  uint64_t before = read_stats().recorded_slots;
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  assert_int_equal(read_stats().recorded_slots - before, 2);
  assert_sound();
  assert_int_equal(large->class->number, 8);
  assert_ptr_equal(large->items[MANY - 1], large->class);
}

/* --- while a major collection marks --- */

/* Begins to mark, so that what hangs on the tail of a long list is not marked yet. */
CRADLE_MAY_COLLECT static node *begin_marking(node **head) {
  for (uint64_t i = 0; i < 20000; i++) {
    node *made = new_node(i);
    made->next = *head;
    *head = made;
  }
  cradle_collect(mutator, CRADLE_COLLECT_FULL);
  cradle_collect_step(mutator, 0);
  assert_int_equal(inside_major(heap)->phase, MAJOR_MARKING);
  node *tail = *head;
  while (tail->next->next != NULL) tail = tail->next;
  (void)crd_marker_stop(&heap->marking);
  return tail;
}

/* The only reference to an object that is not marked yet moves into the fresh array, by a plain store. */
CRADLE_MAY_COLLECT static void marking_traces_it_later(void **state) {
  (void)state;
  node *head = NULL;
  CRADLE_ROOT(mutator, head);
  node *tail = begin_marking(&head);
  cradle_major_hold(mutator, true); /* no increment before the array is allocated */
  array *large = cradle_new_array(mutator, REFERENCES, MANY);
  CRADLE_ROOT(mutator, large);
  cradle_major_hold(mutator, false);
  (void)crd_marker_stop(&heap->marking);
  assert_true(is_recorded(large));
  assert_int_equal(inside_major(heap)->phase, MAJOR_MARKING);
  if (inside_marker(heap)->thread == NULL) assert_false(old_is_marked(inside_old(heap), (uintptr_t)tail->next));
  large->items[MANY / 2] = (uint64_t)(uintptr_t)tail->next;
  cradle_store(mutator, tail, &tail->next, NULL);
  uint64_t before = read_stats().recorded_slots;
  collect_without_reading(large);
  assert_int_equal(read_stats().recorded_slots - before, 0);
  assert_sound();
  while (!cradle_collect_step(mutator, 1000000)) assert_sound();
  assert_sound();
  assert_int_equal(node_at(large->items[MANY / 2])->number, 0);
}

/* A minor collection scans a smaller array for what is young, and marks nothing for it but what promoted objects refer
 * to [mark.6]. */
CRADLE_MAY_COLLECT static void marking_traces_what_a_scanned_array_leaves(void **state) {
  (void)state;
  node *head = NULL;
  CRADLE_ROOT(mutator, head);
  node *tail = begin_marking(&head), *before_tail = head;
  while (before_tail->next != tail) before_tail = before_tail->next;
  cradle_major_hold(mutator, true); /* no increment before the array is allocated */
  array *large = cradle_new_array(mutator, REFERENCES, HALF);
  CRADLE_ROOT(mutator, large);
  size_t nursery_bytes = inside_nursery(heap)->bytes;
  inside_nursery(heap)->bytes = 4 * SCANNED_MAX_BYTES; /* what is compared with large allocations: no pause now */
  array *other = cradle_new_array(mutator, REFERENCES, HALF / 4);
  inside_nursery(heap)->bytes = nursery_bytes;
  large->items[1] = (uint64_t)(uintptr_t)other; /* only so is it reached */
  cradle_major_hold(mutator, false);
  (void)crd_marker_stop(&heap->marking);
  assert_int_equal(inside_major(heap)->phase, MAJOR_MARKING);
  bool alone = inside_marker(heap)->thread == NULL;
  node *last = tail->next, *made = new_node(77);
  assert_false(is_recorded(large));
  made->next = tail;
  large->items[HALF / 2] = (uint64_t)(uintptr_t)last;
  large->items[HALF - 1] = (uint64_t)(uintptr_t)made;
  cradle_store(mutator, tail, &tail->next, NULL);
  cradle_store(mutator, before_tail, &before_tail->next, NULL);
  uint64_t again = inside_major(heap)->again_bytes;
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  (void)crd_marker_stop(&heap->marking);
  assert_int_equal(inside_major(heap)->again_bytes - again,
                   (HALF * 8 + sizeof(array) + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES +
                       (HALF * 2 + sizeof(array) + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES);
  assert_true(old_is_marked(inside_old(heap), (uintptr_t)tail)); /* a promoted object is not traced again */
  if (alone) assert_false(old_is_marked(inside_old(heap), (uintptr_t)last));
  assert_sound();
  while (!cradle_collect_step(mutator, 1000000)) assert_sound();
  assert_sound();
  assert_int_equal(node_at(large->items[HALF / 2])->number, 0);
  assert_int_equal(node_at(large->items[HALF - 1])->number, 77);
  assert_int_equal(node_at(large->items[HALF - 1])->next->number, 1);
  assert_int_equal(((array *)(uintptr_t)large->items[1])->length, HALF / 4);
}

/* Copied slots are not recorded one by one while the heap marks, because marking traces the array anyway. */
CRADLE_MAY_COLLECT static void copies_while_marking_record_young_ones_only(void **state) {
  (void)state;
  node *head = NULL;
  CRADLE_ROOT(mutator, head);
  array *small = cradle_new_array(mutator, REFERENCES, MANY);
  CRADLE_ROOT(mutator, small);
  (void)begin_marking(&head);
  node *each = head;
  for (size_t i = 0; i < MANY; i++, each = each->next != NULL ? each->next : head)
    cradle_store(mutator, small, &small->items[i], each);
  array *grown = cradle_new_array(mutator, REFERENCES, 2 * MANY);
  CRADLE_ROOT(mutator, grown);
  uint64_t before = read_stats().recorded_slots;
  cradle_copy_slots(mutator, grown, grown->items, small->items, MANY);
  small = NULL;
  head = NULL;
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  assert_int_equal(read_stats().recorded_slots - before, 0);
  assert_sound();
  while (!cradle_collect_step(mutator, 1000000)) assert_sound();
  assert_sound();
  assert_int_equal(node_at(grown->items[0])->number, 19999);
  assert_int_equal(node_at(grown->items[1])->number, 19998);
}

CRADLE_MAY_COLLECT static void it_dies_young_while_marking(void **state) {
  (void)state;
  node *head = NULL;
  CRADLE_ROOT(mutator, head);
  (void)begin_marking(&head);
  uint64_t before = read_stats().large_bytes;
  (void)cradle_new_array(mutator, REFERENCES, MANY);
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  assert_sound();
  assert_int_equal(read_stats().large_bytes, before);
}

/* When the heap clears, all that the program can reach is marked, so nothing traces the array any more. On the mark
 * stack it would outlive marking [major.3]. */
CRADLE_MAY_COLLECT static void clearing_has_nothing_to_trace(void **state) {
  (void)state;
  node *head = NULL;
  CRADLE_ROOT(mutator, head);
  (void)begin_marking(&head);
  cradle_weak_set *set = cradle_weak_set_new(mutator, NULL, NULL); /* so there is something to clear */
  while (inside_major(heap)->phase == MAJOR_MARKING) cradle_collect_step(mutator, 0);
  assert_int_equal(inside_major(heap)->phase, MAJOR_CLEARING);
  cradle_major_hold(mutator, true); /* no increment before the array is allocated */
  array *large = cradle_new_array(mutator, REFERENCES, MANY);
  CRADLE_ROOT(mutator, large);
  cradle_major_hold(mutator, false);
  assert_true(is_recorded(large));
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  assert_int_equal(inside_major(heap)->phase, MAJOR_CLEARING);
  cradle_weak_set_free(set);
  assert_true(word_stack_is_empty(inside_mark_stack(heap)));
  assert_sound();
}

#define IN_HEAP(test) cmocka_unit_test_setup_teardown(test, open_heap, close_heap)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_HEAP(an_array_above_the_limit_is_not_scanned),
      IN_HEAP(plain_stores_into_a_fresh_array_count),
      IN_HEAP(later_stores_are_recorded_one_by_one),
      IN_HEAP(structures_are_recorded_from_birth),
      IN_HEAP(a_vector_that_grows_is_not_scanned),
      IN_HEAP(it_dies_young_like_others),
      IN_HEAP(it_holds_other_large_objects),
      IN_HEAP(many_stores_remember_the_whole),
      IN_HEAP(a_copy_of_many_remembers_the_whole),
      IN_HEAP(cradle_write_barrier_remembers_the_whole),
      IN_HEAP(the_verifier_finds_a_missing_record),
      IN_HEAP(smaller_arrays_are_scanned_up_to_the_limit),
      IN_HEAP(objects_without_slots_are_not_counted),
      IN_HEAP(a_fixed_slot_of_the_same_kind_is_recorded),
      IN_HEAP(marking_traces_it_later),
      IN_HEAP(marking_traces_what_a_scanned_array_leaves),
      IN_HEAP(copies_while_marking_record_young_ones_only),
      IN_HEAP(it_dies_young_while_marking),
      IN_HEAP(clearing_has_nothing_to_trace),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
