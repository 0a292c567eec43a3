/* The five ways to root a reference: each keeps its object alive, is updated when the object moves, and lets go. */
#include "tests/support/nodes.h"

#include <stdlib.h>
#include <string.h>

#define KIB ((size_t)1 << 10)
#define SHADOW_STACK_BYTES (256 * KIB)
#define SHADOW_STACK_WORDS (SHADOW_STACK_BYTES / 8)
#define TAG 5

enum { TYPES = NODE + 1 };
static const cradle_type types[TYPES] = {
    [NODE] = NODE_TYPE,
};

static jmp_buf misuse_landing;
static bool misuse_expected;

static void on_misuse(void *data, const char *message) {
  (void)data;
  if (misuse_expected) longjmp(misuse_landing, 1);
  fail_msg("misuse: %s", message);
}

CRADLE_UNCHECKED_COLLECTION static int open_with(cradle_kind shadow_stack, uint64_t stress_period) {
  cradle_options options;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = TYPES;
  options.encoding = cradle_encoding_of(0, 0, 1 << TAG);
  options.nursery_bytes = 32 * KIB;
  options.shadow_stack = shadow_stack;
  options.shadow_stack_bytes = SHADOW_STACK_BYTES;
  options.stress_period = stress_period;
  options.on_misuse = on_misuse;
  misuse_expected = false;
  return start_heap(&options);
}
static int open_heap(void **state) {
  (void)state;
  return open_with(CRADLE_KIND_REFERENCE, 0);
}
static int open_stressed(void **state) {
  (void)state;
  return open_with(CRADLE_KIND_REFERENCE, 1);
}
static int open_value_heap(void **state) {
  (void)state;
  return open_with(CRADLE_KIND_VALUE, 0);
}

CRADLE_MAY_COLLECT static uint64_t new_value(uint64_t number) {
  return (uint64_t)(uintptr_t)new_node(number) + TAG;
}
static void assert_value(uint64_t value, uint64_t number) {
  assert_int_equal(value & 7, TAG);
  assert_int_equal(cradle_type_of(node_at(value - TAG)), NODE);
  assert_int_equal(node_at(value - TAG)->number, number);
}
static uint64_t moved_objects(void) {
  return read_stats().moved_objects;
}
/* The live bytes in the old generation after a full collection. */
CRADLE_MAY_COLLECT static uint64_t live_bytes(void) {
  cradle_collect(mutator, CRADLE_COLLECT_FULL);
  assert_sound();
  return read_stats().old_bytes;
}
/* Overwrites dead objects, so that a test that follows a stale reference fails. */
CRADLE_MAY_COLLECT static void overwrite_nursery(void) {
  for (int i = 0; i < 1400; i++) (void)new_node(UINT64_C(0xdead));
}

/* --- shadow stack --- */

CRADLE_MAY_COLLECT static void pushed_references_are_updated(void **state) {
  (void)state;
  for (uint64_t i = 0; i < 300; i++) {
    if (i % 3 == 0) cradle_push(mutator, NULL);
    node *made = new_node(i);
    cradle_push(mutator, made);
    overwrite_nursery();
    assert_int_equal(node_at(*cradle_peek(mutator, 0))->number, i);
    if (i > 0) assert_int_equal(node_at(*cradle_peek(mutator, i % 3 == 0 ? 2 : 1))->number, i - 1);
  }
  assert_true(moved_objects() >= 300);
  cradle_collect(mutator, CRADLE_COLLECT_FULL);
  assert_sound();
  for (uint64_t i = 300; i-- > 0;) {
    assert_int_equal(((node *)cradle_pop(mutator))->number, i);
    if (i % 3 == 0) assert_null(cradle_pop(mutator));
  }
  assert_int_equal(live_bytes(), 0);
}

CRADLE_MAY_COLLECT static void many_are_popped_at_once(void **state) {
  (void)state;
  for (uint64_t i = 0; i < 100; i++) cradle_push(mutator, new_node(i));
  cradle_pop_many(mutator, 60);
  cradle_pop_many(mutator, 0);
  assert_int_equal(live_bytes(), 40 * sizeof(node));
  assert_int_equal(node_at(*cradle_peek(mutator, 0))->number, 39);
  cradle_pop_many(mutator, 40);
  assert_int_equal(live_bytes(), 0);
}

/* A word deep in the stack may be written after several collections found it unchanged. */
CRADLE_MAY_COLLECT static void deep_words_may_be_written(void **state) {
  (void)state;
  for (uint64_t i = 0; i < 1000; i++) cradle_push(mutator, new_node(i));
  for (uint64_t i = 0; i < 1000; i += 7) {
    cradle_collect(mutator, CRADLE_COLLECT_MINOR);
    node *made = new_node(10000 + i);
    *cradle_peek(mutator, 999 - i) = (cradle_word)(uintptr_t)made;
  }
  overwrite_nursery();
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  for (uint64_t i = 1000; i-- > 0;) assert_int_equal(((node *)cradle_pop(mutator))->number, i % 7 ? i : 10000 + i);
}

/* The depth rises and falls between collections; words that were popped and pushed again must be scanned again. */
CRADLE_MAY_COLLECT static void depth_swings(void **state) {
  (void)state;
  uint64_t depth = 0, seed = 1;
  for (uint64_t step = 0; step < 3000; step++) {
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    uint64_t wanted = (seed >> 33) % 200;
    for (; depth > wanted; depth--) assert_int_equal(((node *)cradle_pop(mutator))->number, depth - 1);
    for (; depth < wanted; depth++) cradle_push(mutator, new_node(depth));
    if (step % 5 == 0) cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  }
  cradle_pop_many(mutator, depth);
}

static void push_one_more(void) {
  cradle_push(mutator, NULL);
}
static bool is_misuse(void (*action)(void)) {
  misuse_expected = true;
  bool refused = setjmp(misuse_landing) != 0;
  if (!refused) action();
  misuse_expected = false;
  return refused;
}

CRADLE_MAY_COLLECT static void the_shadow_stack_grows_to_its_limit(void **state) {
  (void)state;
  for (uint64_t i = 0; i < SHADOW_STACK_WORDS; i++) cradle_push(mutator, new_node(i));
  assert_true(is_misuse(push_one_more));
  assert_true(is_misuse(push_one_more));
  cradle_collect(mutator, CRADLE_COLLECT_FULL);
  assert_sound();
  for (uint64_t i = 0; i < SHADOW_STACK_WORDS; i++)
    assert_int_equal(node_at(*cradle_peek(mutator, i))->number, SHADOW_STACK_WORDS - 1 - i);
  (void)cradle_pop(mutator);
  assert_false(is_misuse(push_one_more));
  cradle_pop_many(mutator, SHADOW_STACK_WORDS);
  assert_int_equal(live_bytes(), 0);
}

CRADLE_MAY_COLLECT static void the_shadow_stack_may_hold_values(void **state) {
  (void)state;
  for (uint64_t i = 0; i < 200; i++) {
    cradle_push_word(mutator, new_value(i));
    cradle_push_word(mutator, i % 2 ? 8 * i + 1 : 0);              /* immediates */
    cradle_push_word(mutator, *cradle_peek(mutator, 1) - TAG + 3); /* an immediate that looks like an address */
  }
  cradle_word look_alike = *cradle_peek(mutator, 0);
  cradle_collect(mutator, CRADLE_COLLECT_FULL);
  assert_int_equal(*cradle_peek(mutator, 0), look_alike);
  for (uint64_t i = 200; i-- > 0;) {
    (void)cradle_pop(mutator);
    assert_int_equal((cradle_word)(uintptr_t)cradle_pop(mutator), i % 2 ? 8 * i + 1 : 0);
    assert_value((cradle_word)(uintptr_t)cradle_pop(mutator), i);
  }
  assert_true(moved_objects() >= 200);
}

/* --- unwinding --- */

/* Always true, but the compiler cannot know it. */
static volatile bool leaves = true;

CRADLE_UNCHECKED_COLLECTION static void descend(jmp_buf landing, int depth) {
  node *mine = new_node((uint64_t)depth);
  CRADLE_ROOT(mutator, mine);
  cradle_push(mutator, mine);
  if (depth == 0) {
    cradle_no_collect_begin(mutator);
    if (leaves) longjmp(landing, 1);
    return;
  }
  descend(landing, depth - 1);
}

CRADLE_UNCHECKED_COLLECTION static void leave_by_longjmp(int depth) {
  jmp_buf landing;
  cradle_checkpoint checkpoint = cradle_checkpoint_save(mutator);
  if (setjmp(landing) == 0)
    descend(landing, depth);
  else
    cradle_checkpoint_restore(mutator, &checkpoint);
}

CRADLE_MAY_COLLECT static void unwinding_restores_all(void **state) {
  (void)state;
  node *outer = new_node(42);
  CRADLE_ROOT(mutator, outer);
  cradle_push(mutator, outer);
  for (int depth = 0; depth < 200; depth += 9) {
    const cradle_word *scoped_top = mutator->scoped_top;
    leave_by_longjmp(depth);
    assert_ptr_equal(mutator->scoped_top, scoped_top);
    assert_int_equal(mutator->no_collect_depth, 0);
    assert_int_equal(mutator->shadow_top - mutator->shadow_base, 1);
    overwrite_nursery();
    assert_int_equal(outer->number, 42);
    assert_ptr_equal((node *)(uintptr_t)*cradle_peek(mutator, 0), outer);
    assert_int_equal(live_bytes(), sizeof(node));
  }
  cradle_pop_many(mutator, 1);
}

/* A local of the frame that calls setjmp must be volatile if it changes afterwards; it can still be a root. */
CRADLE_UNCHECKED_COLLECTION static void volatile_locals_are_roots(void **state) {
  (void)state;
  jmp_buf landing;
  node *volatile kept = new_node(1);
  CRADLE_ROOT(mutator, kept);
  cradle_checkpoint checkpoint = cradle_checkpoint_save(mutator);
  if (setjmp(landing) == 0) {
    kept = new_node(2);
    descend(landing, 20);
  }
  cradle_checkpoint_restore(mutator, &checkpoint);
  overwrite_nursery();
  assert_int_equal(kept->number, 2);
}

/* --- scoped roots --- */

CRADLE_MAY_COLLECT static node *list_of(uint64_t length) {
  node *first = NULL;
  CRADLE_ROOT(mutator, first);
  for (uint64_t i = 0; i < length; i++) {
    node *made = new_node(i);
    made->next = first;
    first = made;
  }
  return first;
}

CRADLE_MAY_COLLECT static node *early_return(uint64_t way) {
  node *a = list_of(3);
  CRADLE_ROOT(mutator, a);
  if (way == 0) return a;
  node *b = list_of(5);
  CRADLE_ROOT(mutator, b);
  for (uint64_t i = 1; i < 4; i++) {
    node *c = list_of(i);
    CRADLE_ROOT(mutator, c);
    if (way == i) return c;
    if (i == 2) continue;
    overwrite_nursery();
    assert_int_equal(c->number, i - 1);
  }
  assert_int_equal(a->number, 2);
  return b;
}

CRADLE_MAY_COLLECT static void scopes_nest_and_return_early(void **state) {
  (void)state;
  static const uint64_t expected[] = {2, 0, 1, 2, 4};
  for (uint64_t round = 0; round < 20; round++) {
    for (uint64_t way = 0; way < 5; way++) {
      const node *result = early_return(way);
      assert_int_equal(result->number, expected[way]);
      assert_ptr_equal(mutator->scoped_top, mutator->scoped_base);
    }
  }
  assert_true(moved_objects() > 100);
}

CRADLE_MAY_COLLECT static uint64_t depth_first(uint64_t depth) {
  if (depth == 0) return 0;
  node *mine = new_node(depth);
  CRADLE_ROOT(mutator, mine);
  uint64_t below = depth_first(depth - 1);
  assert_int_equal(mine->number, depth);
  return below + mine->number;
}
CRADLE_MAY_COLLECT static void scopes_recurse(void **state) {
  (void)state;
  assert_int_equal(depth_first(3000), 3000 * 3001 / 2);
  assert_ptr_equal(mutator->scoped_top, mutator->scoped_base);
  assert_int_equal(live_bytes(), 0);
}

CRADLE_MAY_COLLECT static void scoped_variables_may_be_values(void **state) {
  (void)state;
  uint64_t value = new_value(9), immediate = 0, look_alike = value - TAG;
  CRADLE_ROOT_VALUE(mutator, value);
  CRADLE_ROOT_VALUE(mutator, immediate);
  CRADLE_ROOT_VALUE(mutator, look_alike);
  uint64_t before = value;
  overwrite_nursery();
  assert_int_not_equal(value, before);
  assert_value(value, 9);
  assert_int_equal(immediate, 0);
  assert_int_equal(look_alike, before - TAG);
}

/* --- root ranges --- */

typedef struct stack {
  void *base, *top;
  cradle_root_range range;
} stack;

static void stack_open(stack *stack, cradle_kind kind) {
  stack->base = stack->top = malloc(8);
  stack->range = CRADLE_ROOT_RANGE(stack->base, stack->top, kind, "test stack");
  cradle_root_range_add(mutator, &stack->range);
}
static void stack_close(stack *stack) {
  cradle_root_range_remove(mutator, &stack->range);
  free(stack->base);
}
static size_t stack_depth(const stack *stack) {
  return (size_t)((uint64_t *)stack->top - (uint64_t *)stack->base);
}
static uint64_t *stack_at(const stack *stack, size_t index) {
  return (uint64_t *)stack->base + index;
}
/* Reallocates at every push, so that base and top change between collections. */
static void stack_push(stack *stack, uint64_t word) {
  size_t depth = stack_depth(stack);
  uint64_t *moved = malloc((depth + 1) * 8);
  memcpy(moved, stack->base, depth * 8);
  memset(stack->base, 0x5a, depth * 8);
  free(stack->base);
  moved[depth] = word;
  stack->base = moved;
  stack->top = moved + depth + 1;
}

CRADLE_MAY_COLLECT static void ranges_follow_their_stack(void **state) {
  (void)state;
  stack references, values;
  stack_open(&references, CRADLE_KIND_REFERENCE);
  stack_open(&values, CRADLE_KIND_VALUE);
  for (uint64_t i = 0; i < 100; i++) {
    node *made = i % 5 ? new_node(i) : NULL;
    stack_push(&references, (uint64_t)(uintptr_t)made);
    stack_push(&values, i % 5 ? new_value(i) : 8 * i);
    overwrite_nursery();
  }
  cradle_collect(mutator, CRADLE_COLLECT_FULL);
  assert_sound();
  for (uint64_t i = 0; i < 100; i++) {
    if (i % 5 == 0) {
      assert_int_equal(*stack_at(&references, i), 0);
      assert_int_equal(*stack_at(&values, i), 8 * i);
    } else {
      assert_int_equal(node_at(*stack_at(&references, i))->number, i);
      assert_value(*stack_at(&values, i), i);
    }
  }
  assert_true(moved_objects() >= 160);
  references.top = stack_at(&references, 10); /* words above the top are no longer roots */
  values.top = values.base;
  assert_int_equal(live_bytes(), 8 * sizeof(node));
  stack_close(&values);
  stack_close(&references);
  assert_int_equal(live_bytes(), 0);
}

CRADLE_MAY_COLLECT static void ranges_come_and_go(void **state) {
  (void)state;
  enum { STACKS = 12 };
  stack stacks[STACKS];
  for (uint64_t i = 0; i < STACKS; i++) {
    stack_open(&stacks[i], CRADLE_KIND_REFERENCE);
    node *made = new_node(i);
    stack_push(&stacks[i], (uint64_t)(uintptr_t)made);
  }
  assert_int_equal(live_bytes(), STACKS * sizeof(node));
  for (uint64_t i = 0; i < STACKS; i += 3) stack_close(&stacks[i]);
  assert_int_equal(live_bytes(), STACKS * 2 / 3 * sizeof(node));
  for (uint64_t i = STACKS; i-- > 0;) {
    if (i % 3 == 0) continue;
    assert_int_equal(node_at(*stack_at(&stacks[i], 0))->number, i);
    stack_close(&stacks[i]);
  }
  assert_int_equal(live_bytes(), 0);
}

CRADLE_MAY_COLLECT static void cleared_frames_hold_no_roots(void **state) {
  (void)state;
  stack frames;
  stack_open(&frames, CRADLE_KIND_REFERENCE);
  for (uint64_t i = 0; i < 50; i++) {
    node *made = new_node(i);
    stack_push(&frames, (uint64_t)(uintptr_t)made);
  }
  void *limit = frames.top;
  frames.top = stack_at(&frames, 20);
  overwrite_nursery(); /* leaves stale words above the top */
  memset(frames.top, 0, (size_t)((char *)limit - (char *)frames.top));
  frames.top = limit;
  assert_int_equal(live_bytes(), 20 * sizeof(node));
  for (uint64_t i = 0; i < 50; i++) assert_int_equal(*stack_at(&frames, i) != 0, i < 20);
  stack_close(&frames);
}

/* --- global roots --- */

CRADLE_MAY_COLLECT static void globals_are_updated(void **state) {
  (void)state;
  enum { GLOBALS = 2000 };
  static void *references[GLOBALS];
  static uint64_t values[GLOBALS];
  for (uint64_t i = 0; i < GLOBALS; i++) {
    references[i] = NULL;
    values[i] = 0;
    cradle_global_root_add(heap, &references[i], CRADLE_KIND_REFERENCE);
    cradle_global_root_add(heap, &values[i], CRADLE_KIND_VALUE);
    references[i] = new_node(i);
    values[i] = i % 2 ? new_value(i) : 8 * i;
  }
  cradle_collect(mutator, CRADLE_COLLECT_FULL);
  assert_sound();
  assert_true(moved_objects() >= GLOBALS * 3 / 2);
  for (uint64_t i = 0; i < GLOBALS; i += 2) cradle_global_root_remove(heap, &references[i]);
  for (uint64_t i = 0; i < GLOBALS; i++) {
    if (i % 2) assert_int_equal(((node *)references[i])->number, i);
    if (i % 2)
      assert_value(values[i], i);
    else
      assert_int_equal(values[i], 8 * i);
  }
  assert_int_equal(live_bytes(), GLOBALS * sizeof(node));
  for (uint64_t i = 0; i < GLOBALS; i++) cradle_global_root_remove(heap, &values[i]);
  for (uint64_t i = 1; i < GLOBALS; i += 2) cradle_global_root_remove(heap, &references[i]);
  assert_int_equal(live_bytes(), 0);
}

CRADLE_MAY_COLLECT static void globals_may_change_without_a_barrier(void **state) {
  (void)state;
  static void *global;
  global = NULL; /* this runs again in another heap */
  cradle_global_root_add(heap, &global, CRADLE_KIND_REFERENCE);
  for (uint64_t i = 0; i < 20; i++) {
    global = new_node(i);
    overwrite_nursery();
    assert_int_equal(((node *)global)->number, i);
    cradle_collect(mutator, CRADLE_COLLECT_MAJOR);
    assert_int_equal(((node *)global)->number, i);
  }
  cradle_global_root_remove(heap, &global);
}

/* --- root callback --- */

typedef struct module {
  node *one;
  node *many[10];
  uint64_t value, values[4];
  unsigned calls;
} module;
static void visit_module(void *data, cradle_visitor *visitor) {
  module *roots = data;
  roots->calls++;
  cradle_visit(visitor, &roots->one, CRADLE_KIND_REFERENCE);
  for (size_t i = 0; i < 10; i++) cradle_visit(visitor, &roots->many[i], CRADLE_KIND_REFERENCE);
  cradle_visit(visitor, &roots->value, CRADLE_KIND_VALUE);
  for (size_t i = 0; i < 4; i++) cradle_visit(visitor, &roots->values[i], CRADLE_KIND_VALUE);
}

CRADLE_MAY_COLLECT static void callback_roots_are_updated(void **state) {
  (void)state;
  module roots = {.calls = 0};
  cradle_root_callback_set(heap, visit_module, &roots);
  roots.one = new_node(1);
  for (uint64_t i = 0; i < 10; i += 2) roots.many[i] = new_node(100 + i);
  roots.value = new_value(2);
  for (uint64_t i = 0; i < 4; i++) roots.values[i] = i % 2 ? new_value(200 + i) : i;
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  overwrite_nursery();
  assert_true(moved_objects() >= 9);
  assert_int_equal(live_bytes(), 9 * sizeof(node));
  assert_true(roots.calls >= 3);
  assert_int_equal(roots.one->number, 1);
  for (uint64_t i = 0; i < 10; i++)
    if (i % 2)
      assert_null(roots.many[i]);
    else
      assert_int_equal(roots.many[i]->number, 100 + i);
  assert_value(roots.value, 2);
  for (uint64_t i = 0; i < 4; i++)
    if (i % 2)
      assert_value(roots.values[i], 200 + i);
    else
      assert_int_equal(roots.values[i], i);
  cradle_root_callback_set(heap, NULL, NULL);
  assert_int_equal(live_bytes(), 0);
}

/* --- all of them hold the same object --- */

CRADLE_MAY_COLLECT static void all_roots_agree_on_a_moved_object(void **state) {
  (void)state;
  static void *global;
  global = NULL; /* this runs again in another heap */
  module roots = {.calls = 0};
  stack values;
  stack_open(&values, CRADLE_KIND_VALUE);
  cradle_root_callback_set(heap, visit_module, &roots);
  cradle_global_root_add(heap, &global, CRADLE_KIND_REFERENCE);
  node *scoped = new_node(77);
  CRADLE_ROOT(mutator, scoped);
  scoped->next = scoped;
  global = roots.one = roots.many[3] = scoped;
  stack_push(&values, (uint64_t)(uintptr_t)scoped + TAG);
  cradle_push(mutator, scoped);
  const node *before = scoped;
  overwrite_nursery();
  assert_ptr_not_equal(scoped, before);
  assert_ptr_equal(global, scoped);
  assert_ptr_equal(roots.one, scoped);
  assert_ptr_equal(roots.many[3], scoped);
  assert_ptr_equal(scoped->next, scoped);
  assert_int_equal(*stack_at(&values, 0), (uint64_t)(uintptr_t)scoped + TAG);
  assert_ptr_equal(cradle_pop(mutator), scoped);
  assert_int_equal(live_bytes(), sizeof(node));
  cradle_root_callback_set(heap, NULL, NULL);
  cradle_global_root_remove(heap, &global);
  stack_close(&values);
}

/* --- safepoints --- */

CRADLE_MAY_COLLECT static void a_request_is_served_at_the_next_poll(void **state) {
  (void)state;
  node *scoped = new_node(5);
  CRADLE_ROOT(mutator, scoped);
  const node *before = scoped;
  cradle_safepoint(mutator);
  assert_ptr_equal(scoped, before);
  cradle_safepoint_request(mutator);
  cradle_safepoint_request(mutator); /* the second request is merged with the first */
  cradle_safepoint(mutator);
  assert_ptr_not_equal(scoped, before);
  assert_int_equal(moved_objects(), 1);
  before = scoped = new_node(6);
  cradle_safepoint_request(mutator);
  (void)new_node(7); /* an allocation serves it too */
  assert_ptr_not_equal(scoped, before);
  assert_int_equal(scoped->number, 6);
}

/* Leaving a no-collection region raises top again. This must not lose a safepoint that another thread requested
 * meanwhile. */
CRADLE_MAY_COLLECT static void a_request_outlives_what_raises_top(void **state) {
  (void)state;
  uint64_t before = read_stats().minor_collections;
  cradle_no_collect_begin(mutator);
  cradle_safepoint_request(mutator);
  cradle_no_collect_end(mutator);
  for (int i = 0; i < 2; i++) {
    cradle_safepoint(mutator);
    assert_int_equal(read_stats().minor_collections, before + 1);
  }
}

#define IN_HEAP(test) cmocka_unit_test_setup_teardown(test, open_heap, close_heap)
#define STRESSED(test) cmocka_unit_test_setup_teardown(test, open_stressed, close_heap)
#define IN_VALUE_HEAP(test) cmocka_unit_test_setup_teardown(test, open_value_heap, close_heap)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_HEAP(pushed_references_are_updated),
      IN_HEAP(many_are_popped_at_once),
      IN_HEAP(deep_words_may_be_written),
      IN_HEAP(depth_swings),
      IN_HEAP(the_shadow_stack_grows_to_its_limit),
      IN_VALUE_HEAP(the_shadow_stack_may_hold_values),
      IN_HEAP(unwinding_restores_all),
      IN_HEAP(volatile_locals_are_roots),
      IN_HEAP(scopes_nest_and_return_early),
      IN_HEAP(scopes_recurse),
      IN_HEAP(scoped_variables_may_be_values),
      IN_HEAP(ranges_follow_their_stack),
      IN_HEAP(ranges_come_and_go),
      IN_HEAP(cleared_frames_hold_no_roots),
      IN_HEAP(globals_are_updated),
      IN_HEAP(globals_may_change_without_a_barrier),
      IN_HEAP(callback_roots_are_updated),
      IN_HEAP(all_roots_agree_on_a_moved_object),
      IN_HEAP(a_request_is_served_at_the_next_poll),
      IN_HEAP(a_request_outlives_what_raises_top),
      STRESSED(pushed_references_are_updated),
      STRESSED(deep_words_may_be_written),
      STRESSED(unwinding_restores_all),
      STRESSED(volatile_locals_are_roots),
      STRESSED(scopes_nest_and_return_early),
      STRESSED(scopes_recurse),
      STRESSED(ranges_follow_their_stack),
      STRESSED(globals_may_change_without_a_barrier),
      STRESSED(callback_roots_are_updated),
      STRESSED(all_roots_agree_on_a_moved_object),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
