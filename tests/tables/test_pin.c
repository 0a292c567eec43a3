/* Pins: addresses hold, counts nest, compaction goes around them, and interior pointers are served. */
#include "tests/support/moving.h"
#include "tests/support/one_heap.h"

#include <unistd.h>

static heard_note note = {.about = "pinned"};

static void choose(cradle_options *options) {
  options->listener = (cradle_listener){hear_note, &note};
  note.text[0] = '\0';
}

static void a_pinned_object_lives_where_it_is(void **state) {
  (void)state;
  pair *child = new_pair(&f);
  cradle_push(f.m, child);
  pair *p = new_pair(&f);
  p->first = cradle_pop(f.m);
  assert_false(is_pinned(p));
  p = cradle_pin(f.m, p);
  assert_true(is_pinned(p));
  assert_false(space_is_young(&f.heap->space, (uintptr_t)p));
  assert_int_equal(fixture_stats(&f).pinned_objects, 1);
  for (int round = 0; round < 3; round++) {
    everything_moves(&f);
    assert_true(is_pinned(p));
    assert_int_equal(cradle_type_of(p), T_PAIR);
    /* The pinned object keeps its referents alive, but they may move. */
    assert_int_equal(cradle_type_of(p->first), T_PAIR);
    pair *next = new_pair(&f);
    cradle_store(f.m, p, &p->rest, next);
  }
  cradle_unpin(f.m, p);
  assert_int_equal(fixture_stats(&f).pinned_objects, 0);
  uint64_t before = fixture_stats(&f).old_bytes;
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  assert_true(fixture_stats(&f).old_bytes < before);
}

static void pins_nest(void **state) {
  (void)state;
  pair *p = cradle_pin(f.m, new_pair(&f));
  assert_ptr_equal(cradle_pin(f.m, p), p);
  assert_ptr_equal(cradle_pin(f.m, p), p);
  assert_int_equal(fixture_stats(&f).pinned_objects, 1);
  for (int pins = 3; pins > 0; pins--) {
    everything_moves(&f);
    assert_true(is_pinned(p));
    cradle_unpin(f.m, p);
  }
  assert_false(is_pinned(p));
  ASSERT_MISUSE(&f, "cradle_unpin: type 0 (pair) at 0x", cradle_unpin(f.m, p));
}

/* When pinning collects, the caller's other roots are updated. */
static void pinning_a_young_object_is_one_minor_collection(void **state) {
  (void)state;
  pair *p = new_pair(&f), *other = new_pair(&f);
  p->first = other;
  CRADLE_ROOT(f.m, other);
  uint64_t before = fixture_stats(&f).minor_collections;
  p = cradle_pin(f.m, p);
  assert_ptr_equal(p->first, other);
  uint64_t after = fixture_stats(&f).minor_collections;
  if (!f.stressed) assert_int_equal(after, before + 1);
  other = cradle_pin(f.m, other); /* it is old now */
  assert_int_equal(fixture_stats(&f).minor_collections, after);
  cradle_unpin(f.m, other);
  cradle_unpin(f.m, p);
}

static void a_large_object_is_pinned_where_it_is(void **state) {
  (void)state;
  string *s = cradle_new_array(f.m, T_STRING, 100000);
  string *pinned = cradle_pin(f.m, s);
  assert_ptr_equal(pinned, s);
  memset(pinned->byte, 7, 100000);
  everything_moves(&f);
  assert_int_equal(pinned->byte[99999], 7);
  assert_int_equal(pinned->length, 100000);
  cradle_unpin(f.m, pinned);
}

/* Pins thousands of objects, one in each span; some lie between objects that move away. */
static void many_pins_and_the_rest_moves(void **state) {
  (void)state;
  enum { COUNT = 500 };
  static pair *pinned[COUNT];
  cradle_push(f.m, cradle_new_array(f.m, T_VECTOR, COUNT));
  for (size_t i = 0; i < COUNT; i++) {
    for (int garbage = 0; garbage < 5; garbage++) new_pair(&f);
    pair *p = new_pair(&f);
    vector *v = (vector *)(uintptr_t)*cradle_peek(f.m, 0);
    cradle_store(f.m, v, &v->item[i], p);
  }
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  for (size_t i = 0; i < COUNT; i++) {
    vector *v = (vector *)(uintptr_t)*cradle_peek(f.m, 0);
    pinned[i] = i % 10 == 0 ? cradle_pin(f.m, v->item[i]) : NULL;
  }
  uint64_t moved = fixture_stats(&f).moved_old_objects;
  everything_moves(&f);
  assert_true(fixture_stats(&f).moved_old_objects >= moved + COUNT - COUNT / 10);
  vector *v = (vector *)(uintptr_t)*cradle_peek(f.m, 0);
  for (size_t i = 0; i < COUNT; i++) {
    assert_int_equal(cradle_type_of(v->item[i]), T_PAIR);
    if (pinned[i] != NULL) assert_ptr_equal(v->item[i], pinned[i]);
  }
  assert_int_equal(fixture_stats(&f).pinned_objects, COUNT / 10);
  for (size_t i = 0; i < COUNT; i += 20) cradle_unpin(f.m, pinned[i]);
  everything_moves(&f);
  v = (vector *)(uintptr_t)*cradle_peek(f.m, 0);
  for (size_t i = 0; i < COUNT; i++) {
    assert_int_equal(cradle_type_of(v->item[i]), T_PAIR);
    if (i % 20 == 10) assert_ptr_equal(v->item[i], pinned[i]);
  }
  for (size_t i = 10; i < COUNT; i += 20) cradle_unpin(f.m, pinned[i]);
  cradle_pop(f.m);
}

/* The pin becomes the only root of an object that marking has not reached yet. */
static void a_pin_made_while_marking_holds(void **state) {
  (void)state;
  cradle_push(f.m, NULL);
  for (int i = 0; i < 3000; i++) {
    pair *p = new_pair(&f);
    p->rest = (pair *)(uintptr_t)*cradle_peek(f.m, 0);
    *cradle_peek(f.m, 0) = (uintptr_t)p;
  }
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  (void)cradle_collect_step(f.m, 0);
  pair *before = (pair *)(uintptr_t)*cradle_peek(f.m, 0);
  while (before->rest->rest->rest != NULL) before = before->rest;
  pair *p = cradle_pin(f.m, before->rest);
  assert_ptr_equal(p, before->rest);
  cradle_store(f.m, before, &before->rest, NULL);
  while (!cradle_collect_step(f.m, 0)) continue;
  assert_int_equal(cradle_type_of(p), T_PAIR);
  assert_int_equal(cradle_type_of(p->rest), T_PAIR);
  cradle_unpin(f.m, p);
  cradle_pop(f.m);
}

/* While marking goes through the pins, pins are added and removed before and behind its position. */
static void pins_that_come_and_go_while_marking(void **state) {
  (void)state;
  enum { COUNT = 1500 };
  static pair *pinned[2 * COUNT];
  uint64_t random = 99;
  for (size_t i = 0; i < COUNT; i++)
    pinned[i] = cradle_new_with(f.m, T_PAIR, cradle_array_layout_of(sizeof(pair), 0, 0), 0, CRADLE_PINNED);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  size_t count = COUNT;
  for (int cycle = 0; cycle < 3; cycle++) {
    int steps = 0;
    do {
      for (int i = 0; i < 40; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t at = (random >> 33) % count;
        if (i % 2 == 0) {
          cradle_unpin(f.m, pinned[at]);
          pinned[at] = pinned[--count];
        } else {
          pair *p = cradle_new_with(f.m, T_PAIR, cradle_array_layout_of(sizeof(pair), 0, 0), 0, CRADLE_PINNED),
               *child = new_pair(&f);
          cradle_store(f.m, p, &p->first, child);
          pinned[count++] = p;
        }
      }
      /* Stress runs complete collections in between, so no step ever finishes one. */
      if (f.stressed && steps == 20) break;
      assert_true(steps++ < 1000);
    } while (!cradle_collect_step(f.m, 0));
    for (size_t i = 0; i < count; i++) {
      assert_int_equal(cradle_type_of(pinned[i]), T_PAIR);
      assert_true(is_pinned(pinned[i]));
      if (pinned[i]->first != NULL) assert_int_equal(cradle_type_of(pinned[i]->first), T_PAIR);
    }
  }
  for (size_t i = 0; i < count; i++) cradle_unpin(f.m, pinned[i]);
}

static void a_buffer_for_a_system_call(void **state) {
  (void)state;
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  uint64_t before = fixture_stats(&f).minor_collections;
  string *buffer = cradle_new_with(f.m, T_STRING, cradle_array_layout_of(0, 0, 0), 64, CRADLE_PINNED);
  if (!f.stressed) assert_int_equal(fixture_stats(&f).minor_collections, before);
  for (int i = 0; i < 64; i++) assert_int_equal(buffer->byte[i], 0);
  assert_int_equal(write(ends[1], "over the wall", 13), 13);
  char *into = buffer->byte;
  everything_moves(&f);
  assert_int_equal(read(ends[0], into, 64), 13);
  assert_memory_equal(buffer->byte, "over the wall", 13);
  cradle_unpin(f.m, buffer);
  close(ends[0]);
  close(ends[1]);
}

/* Objects of each size class and above are allocated pinned: born old, zeroed, verified, kept through all collections
 * and freed after the last unpin. */
static void allocated_pinned(void **state) {
  (void)state;
  static string *buffers[60];
  static vector *vectors[60];
  for (size_t i = 0; i < 60; i++) {
    size_t length = i < 40 ? i * 24 : (size_t)1 << (i - 30) % 22;
    buffers[i] = cradle_new_with(f.m, T_STRING, cradle_array_layout_of(0, 0, 0), length, CRADLE_PINNED);
    assert_int_equal(buffers[i]->length, length);
    for (size_t k = 0; k < length; k += 1 + length / 100) assert_int_equal(buffers[i]->byte[k], 0);
    memset(buffers[i]->byte, (int)i, length);
    vectors[i] = cradle_new_with(f.m, T_VECTOR, cradle_array_layout_of(0, 0, 0), i * i * 3, CRADLE_PINNED);
    for (size_t k = 0; k < vectors[i]->length; k += 1 + i) {
      pair *p = new_pair(&f);
      cradle_store(f.m, vectors[i], &vectors[i]->item[k], p);
    }
  }
  everything_moves(&f);
  for (size_t i = 0; i < 60; i++) {
    for (size_t k = 0; k < buffers[i]->length; k += 1 + buffers[i]->length / 100)
      assert_int_equal(buffers[i]->byte[k], i);
    for (size_t k = 0; k < vectors[i]->length; k += 1 + i)
      assert_int_equal(cradle_type_of(vectors[i]->item[k]), T_PAIR);
    cradle_unpin(f.m, buffers[i]);
    cradle_unpin(f.m, vectors[i]);
  }
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  assert_true(fixture_stats(&f).old_bytes < 4096);
}

/* Pinned objects do not fill the nursery, but allocating them still triggers major collections. */
static void pinned_allocation_collects(void **state) {
  (void)state;
  for (int i = 0; i < (f.stressed ? 2000 : 20000); i++)
    cradle_unpin(
        f.m, cradle_new_with(f.m, T_STRING, cradle_array_layout_of(0, 0, 0), i % 2 == 0 ? 6000 : 60, CRADLE_PINNED));
  assert_true(fixture_stats(&f).major_collections > 0);
  assert_true(fixture_stats(&f).old_bytes < (uint64_t)32 << 20);
}

static jmp_buf memory_landing;
static size_t refused_size;
static void out_of_memory(void *data, cradle_mutator *mutator, size_t size, const char *message) {
  (void)data, (void)mutator, (void)message;
  refused_size = size;
  longjmp(memory_landing, 1);
}

static void at_the_maximum_the_handler_is_called(void **state) {
  (void)state;
  fixture small;
  cradle_options options;
  fixture_options(&small, &options);
  options.heap_max_bytes = (size_t)16 << 20;
  options.on_out_of_memory = out_of_memory;
  fixture_open_with(&small, &options);
  volatile int count = 0;
  cradle_checkpoint checkpoint = cradle_checkpoint_save(small.m);
  if (setjmp(memory_landing) == 0) /* a size that overflows when rounded up */
    fail_msg("%p", cradle_new_with(small.m, T_STRING, cradle_array_layout_of(0, 0, 0), SIZE_MAX, CRADLE_PINNED));
  cradle_checkpoint_restore(small.m, &checkpoint);
  assert_int_equal(refused_size, SIZE_MAX);
  if (setjmp(memory_landing) == 0)
    for (;; count++)
      (void)cradle_new_with(small.m, T_STRING, cradle_array_layout_of(0, 0, 0), ((size_t)1 << 20) - sizeof(string),
                            CRADLE_PINNED);
  cradle_checkpoint_restore(small.m, &checkpoint);
  assert_int_equal(refused_size, (size_t)1 << 20);
  assert_in_range(count, 3, 15);
  assert_heap_sound(small.heap);
  assert_int_equal(fixture_stats(&small).pinned_objects, count);
  fixture_close(&small);
}

static void misuse_is_named(void **state) {
  (void)state;
  pair *p = new_pair(&f);
  cradle_push(f.m, p);
  pair outside = {.header = T_PAIR};
  ASSERT_MISUSE(&f, "cradle_pin: NULL: it cannot be pinned", assert_null(cradle_pin(f.m, NULL)));
  ASSERT_MISUSE(&f, ", which is no object of this heap: it cannot be pinned", assert_null(cradle_pin(f.m, &outside)));
  ASSERT_MISUSE(&f, "cradle_unpin: NULL: it is not pinned (any more)", cradle_unpin(f.m, NULL));
  ASSERT_MISUSE(&f, "it is not pinned (any more)", cradle_unpin(f.m, new_pair(&f))); /* young */
  ASSERT_MISUSE(&f, "descriptor says 24",
                (void)cradle_new_with(f.m, T_PAIR, cradle_array_layout_of(16, 0, 0), 0, CRADLE_PINNED));
  ASSERT_MISUSE(&f, "cradle_new_with: the descriptor of type 0 (pair) has no items",
                (void)cradle_new_with(f.m, T_PAIR, cradle_array_layout_of(0, 0, 0), 1, CRADLE_PINNED));
  cradle_no_collect_begin(f.m);
  ASSERT_MISUSE(&f, "cradle_pin: may collect, but a no-collection region is open", assert_null(cradle_pin(f.m, p)));
}

/* Acts as if memory were refused: the table is full and cannot grow. The pin must fail before anything is collected or
 * moved. */
static void without_room_there_is_no_pin(void **state) {
  (void)state;
  pair *p = new_pair(&f);
  crd_pins *pins = &f.heap->tables.pins;
  uint64_t collections = fixture_stats(&f).minor_collections;
  pins->count = pins->capacity = UINT32_MAX;
  void *pinned = cradle_pin(f.m, p);
  pins->count = pins->capacity = 0;
  assert_null(pinned);
  assert_int_equal(fixture_stats(&f).minor_collections, collections);
  assert_true(space_is_young(&f.heap->space, (uintptr_t)p));
}

static void a_pin_at_the_heaps_end_is_told(void **state) {
  (void)state;
  fixture ending;
  cradle_options options;
  fixture_options(&ending, &options);
  options.listener = (cradle_listener){hear_note, &note};
  fixture_open_with(&ending, &options);
  (void)cradle_new_with(ending.m, T_PAIR, cradle_array_layout_of(sizeof(pair), 0, 0), 0, CRADLE_PINNED);
  assert_non_null(cradle_pin(ending.m, cradle_new(ending.m, T_PAIR, sizeof(pair))));
  note.text[0] = '\0';
  fixture_close(&ending);
  assert_string_equal(note.text, "objects are still pinned as their heap is freed");
  assert_int_equal(note.got, 2);
}

static void the_verifier_finds_pins_that_are_wrong(void **state) {
  (void)state;
  cradle_error error;
  pair *p = cradle_new_with(f.m, T_PAIR, cradle_array_layout_of(sizeof(pair), 0, 0), 0, CRADLE_PINNED);
  *(cradle_word *)p &= ~HEADER_PINNED_FLAG;
  assert_false(cradle_heap_verify(f.heap, &error));
  assert_non_null(strstr(error.message, "[pin.1]"));
  *(cradle_word *)p |= HEADER_PINNED_FLAG;
  pair *other = cradle_new_with(f.m, T_PAIR, cradle_array_layout_of(sizeof(pair), 0, 0), 0, CRADLE_PINNED);
  cradle_push(f.m, other);
  cradle_unpin(f.m, other);
  *(cradle_word *)other |= HEADER_PINNED_FLAG;
  assert_false(cradle_heap_verify(f.heap, &error));
  assert_non_null(strstr(error.message, "[pin.1]"));
  *(cradle_word *)other &= ~HEADER_PINNED_FLAG;
  assert_true(cradle_heap_verify(f.heap, &error));
  cradle_pop(f.m);
}

/* --- interior pointers: the two answers of docs/pins.md, with upvalues as in Lua --- */

/* An open upvalue is the stack object and an index; a closed one has the value itself. */
typedef struct upvalue {
  uint64_t header;
  vector *stack; /* NULL: closed */
  uint64_t index;
  void *value;
} upvalue;

static uint32_t add_upvalue_type(void) {
  return cradle_type_add(f.heap,
                         &(cradle_type){.name = "upvalue",
                                        .size = sizeof(upvalue),
                                        .references = CRADLE_SLOT(upvalue, stack) | CRADLE_SLOT(upvalue, value)});
}

static void **upvalue_slot(upvalue *u) {
  return u->stack != NULL ? &u->stack->item[u->index] : &u->value;
}

static void upvalue_set(upvalue *u, void *value) {
  if (u->stack != NULL)
    cradle_store(f.m, u->stack, &u->stack->item[u->index], value);
  else
    cradle_store(f.m, u, &u->value, value);
}

static void upvalue_close(upvalue *u) {
  void *value = *upvalue_slot(u);
  cradle_store(f.m, u, &u->stack, NULL);
  cradle_store(f.m, u, &u->value, value);
}

static void an_open_upvalue_is_a_holder_and_an_index(void **state) {
  (void)state;
  uint32_t type = add_upvalue_type();
  vector *stack = cradle_new_array(f.m, T_VECTOR, 100);
  CRADLE_ROOT(f.m, stack);
  upvalue *u = cradle_new(f.m, type, sizeof(upvalue));
  CRADLE_ROOT(f.m, u);
  cradle_store(f.m, u, &u->stack, stack);
  u->index = 42;
  pair *p = new_pair(&f);
  upvalue_set(u, p);
  everything_moves(&f);
  assert_ptr_equal(*upvalue_slot(u), stack->item[42]); /* the function and the closure see the same value */
  assert_int_equal(cradle_type_of(*upvalue_slot(u)), T_PAIR);
  p = new_pair(&f);
  cradle_store(f.m, stack, &stack->item[42], p);
  everything_moves(&f);
  assert_ptr_equal(*upvalue_slot(u), stack->item[42]);
  upvalue_close(u);
  stack->item[42] = NULL;
  everything_moves(&f);
  assert_int_equal(cradle_type_of(*upvalue_slot(u)), T_PAIR);
}

/* The holder is pinned for as long as raw pointers lead into it. */
static void a_pointer_into_a_pinned_holder(void **state) {
  (void)state;
  vector *stack = cradle_new_with(f.m, T_VECTOR, cradle_array_layout_of(0, 0, 0), 100, CRADLE_PINNED);
  void **raw = &stack->item[42];
  pair *p = new_pair(&f);
  cradle_store(f.m, stack, raw, p);
  everything_moves(&f);
  assert_int_equal(cradle_type_of(*raw), T_PAIR);
  p = new_pair(&f);
  cradle_store(f.m, stack, raw, p);
  everything_moves(&f);
  assert_ptr_equal(*raw, stack->item[42]);
  assert_int_equal(cradle_type_of(*raw), T_PAIR);
  cradle_unpin(f.m, stack);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_FIXTURE(a_pinned_object_lives_where_it_is),
      WITH_FIXTURE(pins_nest),
      WITH_FIXTURE(pinning_a_young_object_is_one_minor_collection),
      WITH_FIXTURE(a_large_object_is_pinned_where_it_is),
      WITH_FIXTURE(many_pins_and_the_rest_moves),
      WITH_FIXTURE(a_pin_made_while_marking_holds),
      WITH_FIXTURE(pins_that_come_and_go_while_marking),
      WITH_FIXTURE(a_buffer_for_a_system_call),
      WITH_FIXTURE(allocated_pinned),
      WITH_FIXTURE(pinned_allocation_collects),
      WITH_FIXTURE(at_the_maximum_the_handler_is_called),
      WITH_FIXTURE(misuse_is_named),
      WITH_FIXTURE(without_room_there_is_no_pin),
      WITH_FIXTURE(a_pin_at_the_heaps_end_is_told),
      WITH_FIXTURE(the_verifier_finds_pins_that_are_wrong),
      WITH_FIXTURE(an_open_upvalue_is_a_holder_and_an_index),
      WITH_FIXTURE(a_pointer_into_a_pinned_holder),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
