/* What rounds of the second core mark, count, put aside and leave for later (gc/old/mark_beside.c), and how they meet
 * new objects. The rounds run on the test's own thread. */

#include "tests/old/mark_beside_calls.h"

#include "tests/inside.h"

#include "tests/old/mark_fixture.h"

/* --- rounds --- */

static void a_round_marks_all_that_lives_and_counts_it(void **state) {
  (void)state;
  make_objects(T_LEAF);
  const array *were = begin_marking();
  uint64_t before = crd_platform_now_ns();
  crd_marker_work work = run_round(ROUND_TAKEN);
  assert_in_range(work.run_ns, 1, crd_platform_now_ns() - before);
  assert_marked(were);
  assert_true(word_stack_is_empty(inside_mark_stack(heap)));
  assert_false(inside_marker(heap)->first.overflowed);
  assert_int_equal(work.objects, live);
  assert_int_equal(work.bytes, live_bytes);
  assert_int_equal(work.put_aside, 0);
  assert_int_equal(work.stop_ns, 0);
  end_collection(DECOYS + 1);
}

/* Somebody waits for its end from the beginning. */
static void a_round_that_is_to_end_marks_nothing(void **state) {
  (void)state;
  make_objects(T_LEAF);
  (void)begin_marking();
  size_t grey = word_stack_count(inside_mark_stack(heap));
  crd_marker_work work = run_round(ROUND_ASKED);
  assert_int_equal(work.objects, 0);
  assert_int_equal(work.bytes, 0);
  assert_int_equal(word_stack_count(inside_mark_stack(heap)), grey);
}

/* Under stress rounds end at any object. What they leave is traced by the next ones, and nothing twice. */
static void what_rounds_leave_is_traced_by_others(void **state) {
  (void)state;
  uint64_t objects = 0, bytes = 0, rounds = 0, empty_rounds = 0;
  make_objects(T_LEAF);
  const array *were = begin_marking();
  heap->options.stress_period = 1000000;
  for (; !word_stack_is_empty(inside_mark_stack(heap)); rounds++) {
    crd_marker_work work = run_round(ROUND_TAKEN);
    objects += work.objects;
    bytes += work.bytes;
    empty_rounds += work.objects == 0;
    assert_true(rounds < live);
  }
  heap->options.stress_period = 0;
  assert_true(rounds > live / 500);
  assert_true(empty_rounds > 0 && empty_rounds < rounds / 2);
  assert_marked(were);
  assert_int_equal(objects, live);
  assert_int_equal(bytes, live_bytes);
  end_collection(DECOYS + 1);
}

/* Whether they are traced by a call, have no slots or are traced in runs. A round takes 132 of them on average. */
static void objects_of_any_kind_bring_the_next_look_nearer(void **state) {
  (void)state;
  enum { MANY = 3000 };
  const uint32_t kinds[] = {T_PLAIN, T_LEAF, T_TWO};
  for (size_t kind = 0; kind < 3; kind++) {
    uint64_t rounds = 0;
    root = new_array(T_ARRAY, MANY);
    for (int i = 0; i < MANY; i++)
      root->item[i] = kinds[kind] == T_PLAIN ? address_of(new_array(T_PLAIN, 8)) : address_of(new_object(kinds[kind]));
    grow_old();
    (void)begin_marking();
    heap->options.stress_period = 1000000;
    for (; !word_stack_is_empty(inside_mark_stack(heap)); rounds++) (void)run_round(ROUND_TAKEN);
    heap->options.stress_period = 0;
    assert_in_range(rounds, MANY / 500, MANY);
    assert_true(crd_mark_some(&heap->marking, everything));
    end_collection(DECOYS + 1);
  }
}

/* If no stack has room for an object, the mutator finds it by a look at all marked objects. */
static void what_rounds_have_no_room_for_is_found(void **state) {
  (void)state;
  for (int stress = 0; stress < 2; stress++) {
    make_objects(T_LEAF);
    if (stress == 0) shorten_stack();
    const array *were = begin_marking();
    heap->options.stress_period = stress * 1000000u;
    do {
      (void)run_round(ROUND_TAKEN);
      assert_true(word_stack_is_sound(inside_mark_stack(heap)));
    } while (!word_stack_is_empty(inside_mark_stack(heap)));
    heap->options.stress_period = 0;
    assert_true(inside_major(heap)->overflowed);
    assert_true(crd_mark_some(&heap->marking, everything));
    assert_marked(were);
    end_collection(DECOYS + 1);
  }
}

/* An array whose rest finds room for one of its two words only. What is in the rest is not lost. */
static void half_an_entry_is_none(void **state) {
  (void)state;
  enum { LONG = 700, FILL = 504, FEW = 9 };
  root = new_array(T_ARRAY, 3);
  root->item[0] = address_of(new_array(T_ARRAY, FEW));
  root->item[1] = address_of(new_array(T_ARRAY, LONG));
  root->item[2] = address_of(new_array(T_ARRAY, FILL + 6));
  for (int i = 0; i < FEW; i++) ((array *)at(root->item[0]))->item[i] = new_leaf();
  ((array *)at(root->item[1]))->item[LONG - 1] = new_leaf();
  for (int i = 0; i < FILL + 6; i++) ((array *)at(root->item[2]))->item[i] = new_leaf();
  grow_old();
  shorten_stack();
  (void)begin_marking();
  /* By hand: leaves, then the long array, then the one with few items, which are traced first. */
  const array *leaves = at(root->item[2]);
  crd_word_stack *stack = inside_mark_stack(heap);
  stack->top = stack->base;
  for (int i = 2; i >= 0; i--) old_mark(inside_old(heap), root->item[i]);
  for (int i = 0; i < FILL + 6; i++) {
    old_mark(inside_old(heap), leaves->item[i]);
    assert_true(word_stack_push(stack, leaves->item[i]));
  }
  assert_true(word_stack_push(stack, root->item[1]));
  assert_true(word_stack_push(stack, root->item[0]));
  assert_false(word_stack_push(stack, 0));
  crd_marker_work work = run_round(ROUND_TAKEN);
  assert_true(word_stack_is_empty(inside_mark_stack(heap)));
  assert_true(inside_marker(heap)->first.overflowed);
  assert_int_equal(work.objects, FILL + 6 + 2 + FEW);
  assert_false(old_is_marked(inside_old(heap), ((array *)at(root->item[1]))->item[LONG - 1]));
  assert_true(crd_mark_some(&heap->marking, everything));
  assert_true(old_is_marked(inside_old(heap), ((array *)at(root->item[1]))->item[LONG - 1]));
  end_collection(DECOYS + 1);
}

/* When a round ends, what waits in the queue goes back on the stack: seven objects. If an array has just filled the
 * stack, there is no room for them, but for what was taken from it since. */
static void what_cannot_go_back_is_found(void **state) {
  (void)state;
  enum { LEAVES = 511 };
  int with_room = 0, without = 0;
  root = new_array(T_ARRAY, 2);
  root->item[0] = address_of(new_array(T_ARRAY, 8));
  root->item[1] = address_of(new_array(T_ARRAY, LEAVES));
  for (int i = 0; i < 8; i++) ((array *)at(root->item[0]))->item[i] = new_leaf();
  for (int i = 0; i < LEAVES; i++) ((array *)at(root->item[1]))->item[i] = new_leaf();
  cradle_collect(m, CRADLE_COLLECT_FULL);
  shorten_stack();
  inside_marker(heap)->first.random = 1;
  for (int tries = 0; tries < 1000; tries++) {
    (void)begin_marking();
    crd_word_stack *stack = inside_mark_stack(heap);
    stack->top = stack->base;
    const array *leaves = at(root->item[1]);
    for (int i = 0; i < 2; i++) old_mark(inside_old(heap), root->item[i]);
    for (int i = 0; i < LEAVES; i++) {
      old_mark(inside_old(heap), leaves->item[i]);
      assert_true(word_stack_push(stack, leaves->item[i]));
    }
    assert_true(word_stack_push(stack, root->item[0]));
    heap->options.stress_period = 1000000;
    crd_marker_work work = run_round(ROUND_TAKEN);
    heap->options.stress_period = 0;
    bool has_room = work.objects == 0 || work.objects > 7;
    assert_int_equal(inside_marker(heap)->first.overflowed, !has_room);
    with_room += has_room;
    without += work.objects == 1;
    assert_true(crd_mark_some(&heap->marking, everything));
    end_collection(0);
  }
  assert_true(with_room > 0 && without > 0);
}

static void rounds_look_often_whether_they_are_to_end(void **state) {
  (void)state;
  for (int sort = 0; sort < LONG_SORTS; sort++) {
    uint64_t rounds = 0, objects = 0, bytes = 0;
    live = live_bytes = 0;
    make_long(sort);
    (void)begin_marking();
    inside_marker(heap)->first.random = 0;
    heap->options.stress_period = 1000000;
    for (; !word_stack_is_empty(inside_mark_stack(heap)); rounds++) {
      crd_marker_work work = run_round(ROUND_TAKEN);
      objects += work.objects;
      bytes += work.bytes;
    }
    heap->options.stress_period = 0;
    assert_in_range(rounds, 10, 1000); /* a look at every 16th object, on average, and every eighth look ends one */
    assert_int_equal(objects, live);
    assert_int_equal(bytes, live_bytes);
    end_collection(0);
  }
}

static void the_stack_of_a_round_grows_with_the_depth(void **state) {
  (void)state;
  for (int begins_inline = 0; begins_inline < 2; begins_inline++) {
    make_deep(begins_inline);
    (void)begin_marking();
    crd_marker_work work = run_round(ROUND_TAKEN);
    assert_true(word_stack_is_empty(inside_mark_stack(heap)));
    assert_true(word_stack_committed(inside_mark_stack(heap)) > 32768 * 8);
    assert_false(inside_marker(heap)->first.overflowed);
    assert_int_equal(work.objects, live);
    assert_int_equal(work.bytes, live_bytes);
    end_collection(0);
  }
}

static void what_lies_around_an_array_is_none_of_a_rounds(void **state) {
  (void)state;
  for (uint32_t type = T_ARRAY; type <= T_BOXES; type++)
    for (int length = 0; length < 2; length++) {
      live = live_bytes = 0;
      make_neighbours(type, neighbour_lengths[type][length]);
      const array *were = begin_marking();
      crd_marker_work work = run_round(ROUND_TAKEN);
      assert_marked(were);
      assert_int_equal(work.bytes, live_bytes);
      cradle_collect(m, CRADLE_COLLECT_FULL);
    }
}

/* Words that for a moment are no references mark nothing [marker.4]. */
static void words_that_are_no_references_mark_nothing(void **state) {
  (void)state;
  enum { WORDS = 900 };
  make_objects(T_LEAF);
  spare = new_array(T_ARRAY, WORDS);
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  array *odd = spare;
  const array *were = begin_marking();
  uintptr_t base = inside_old(heap)->arenas.base, end = base + inside_old(heap)->arenas.committed_end * ARENA_BYTES;
  for (uint64_t i = 0; i < WORDS; i++)
    odd->item[i] = i % 3 == 0   ? root->item[i % root->length] + 8 * (1 + i % 4)
                   : i % 3 == 1 ? were->item[i % DECOYS] + 1 + i % 39
                                : (i % 2 ? end + i / 2 * 4096 : base - 8 * i);
  crd_marker_work work = run_round(ROUND_TAKEN);
  memset(odd->item, 0, WORDS * 8);
  assert_int_equal(work.objects, live);
  assert_int_equal(work.bytes, live_bytes);
  assert_marked(were);
  end_collection(DECOYS + 1);
}

/* Nor do words behind an array whose length is for a moment too large: they are another's. */
static void lengths_that_are_too_large_lead_out_of_no_place(void **state) {
  (void)state;
  enum { SMALL = 14, LARGE = 5000 };
  root = new_array(T_ARRAY, 2);
  root->item[0] = address_of(new_array(T_ARRAY, SMALL)); /* 128 bytes */
  spare = cradle_new_array(m, T_ARRAY, SMALL);
  root->item[1] = address_of(new_array(T_ARRAY, LARGE));
  grow_old();
  const array *were = dead;
  array *small = at(root->item[0]), *large = at(root->item[1]);
  for (int i = 0; i < SMALL; i++) spare->item[i] = were->item[i];
  assert_ptr_equal(&small->item[SMALL], spare);
  spare = NULL;
  (void)begin_marking();
  const crd_page *span = old_span_of(inside_old(heap), address_of(large));
  uint64_t fit = (((uint64_t)span->pages << PAGE_SHIFT) - sizeof(array)) / 8;
  assert_true(fit > LARGE && fit < LARGE + 1024);
  for (uint64_t i = LARGE; i < fit; i++) large->item[i] = were->item[DECOYS - 1 - (fit - 1 - i)];
  small->length = UINT64_MAX / 16;
  large->length = UINT64_MAX / 16;
  crd_marker_work work = run_round(ROUND_TAKEN);
  small->length = SMALL;
  large->length = LARGE;
  uint64_t leaves = fit - LARGE;
  assert_int_equal(work.objects, live + leaves);
  assert_int_equal(work.bytes, live_bytes + leaves * (8 + sizeof(object)));
  for (int i = 0; i < SMALL; i++) assert_false(old_is_marked(inside_old(heap), were->item[i]));
  end_collection(DECOYS + 2 - leaves);
}

/* A round marks only in arenas that were committed when it was offered. */
static void a_round_keeps_to_the_arenas_that_were_there(void **state) {
  (void)state;
  root = new_array(T_ARRAY, 2);
  for (int i = 0; i < 2; i++) root->item[i] = new_leaf();
  grow_old();
  uintptr_t low = root->item[0], high = root->item[1];
  assert_true(low < high);
  (void)begin_marking();
  crd_marker *marker = inside_marker(heap);
  marker->first.stack = *inside_mark_stack(heap);
  marker->arenas_bytes = high - inside_old(heap)->arenas.base;
  marker->word = ROUND_TAKEN;
  crd_mark_beside(&heap->marking, &inside_marker(heap)->first);
  marker->word = ROUND_IDLE;
  *inside_mark_stack(heap) = marker->first.stack;
  assert_true(old_is_marked(inside_old(heap), low));
  assert_false(old_is_marked(inside_old(heap), high));
  old_mark(inside_old(heap), high);
  end_collection(DECOYS + 1);
}

/* --- what rounds put aside --- */

/* Objects that need the program or the order of death. The last one alone refers to another that no one else does. */
enum { ASIDE = 600 };
static uintptr_t make_aside_objects(void) {
  root = new_array(T_ARRAY, ASIDE);
  for (int i = 0; i < ASIDE; i++) root->item[i] = address_of(new_object(i % 2 ? T_WEAK : T_TRACED));
  uintptr_t last = root->item[0];
  object_at(last)[1] = new_leaf();
  grow_old();
  return object_at(root->item[0])[1];
}

static void what_needs_the_program_is_put_aside(void **state) {
  (void)state;
  uintptr_t only = make_aside_objects();
  make_aside();
  (void)begin_marking();
  crd_marker_work work = run_round(ROUND_TAKEN);
  assert_int_equal(work.put_aside, ASIDE);
  assert_int_equal(work.objects, 1);
  assert_int_equal(work.bytes, sizeof(array) + ASIDE * 8);
  assert_int_equal(word_stack_count(&inside_marker(heap)->first.aside), ASIDE);
  assert_false(inside_marker(heap)->first.overflowed);
  assert_true(word_stack_is_empty(inside_mark_stack(heap)));
  for (int i = 0; i < ASIDE; i++) assert_true(old_is_marked(inside_old(heap), root->item[i]));
  assert_false(old_is_marked(inside_old(heap), only));
  /* An increment of its own for what was put aside. It leaves the stack alone. */
  assert_true(word_stack_push(inside_mark_stack(heap), root->item[0]));
  assert_false(crd_mark_some(&heap->marking, (crd_budget){UINT64_MAX, UINT64_MAX, true}));
  assert_true(word_stack_is_empty(&inside_marker(heap)->first.aside));
  assert_int_equal(inside_major(heap)->objects, ASIDE);
  assert_int_equal(word_stack_count(inside_mark_stack(heap)), 2);
  assert_true(old_is_marked(inside_old(heap), only));
  assert_true(crd_mark_some(&heap->marking, everything));
  end_collection(DECOYS + 1);
}

/* Marking is not over as long as something is there. */
static void what_was_put_aside_is_traced_to_the_last(void **state) {
  (void)state;
  uintptr_t only = make_aside_objects();
  make_aside();
  (void)begin_marking();
  (void)run_round(ROUND_TAKEN);
  assert_true(crd_mark_some(&heap->marking, everything));
  assert_true(word_stack_is_empty(&inside_marker(heap)->first.aside));
  assert_int_equal(inside_major(heap)->objects, ASIDE + 1);
  assert_true(old_is_marked(inside_old(heap), only));
  end_collection(DECOYS + 1);
}

static void what_finds_no_room_aside_is_found(void **state) {
  (void)state;
  uintptr_t only = make_aside_objects();
  (void)begin_marking();
  crd_marker_work work = run_round(ROUND_TAKEN); /* there is no stack at all */
  assert_int_equal(work.put_aside, ASIDE);
  assert_true(inside_marker(heap)->first.overflowed);
  assert_true(crd_mark_some(&heap->marking, everything));
  assert_true(old_is_marked(inside_old(heap), only));
  end_collection(DECOYS + 1);
}

/* A watched object, whatever its type, is shown to the order of death. */
static void watched_objects_are_put_aside(void **state) {
  (void)state;
  make_objects(T_LEAF);
  make_aside();
  const array *were = begin_marking();
  uint64_t watched = 0;
  for (uint64_t i = 0; i < root->length; i += 3, watched++)
    object_set_flags(object_at(root->item[i]), HEADER_WATCHED_FLAG);
  crd_marker_work work = run_round(ROUND_TAKEN);
  assert_int_equal(work.put_aside, watched);
  assert_int_equal(word_stack_count(&inside_marker(heap)->first.aside), watched);
  for (uint64_t i = 0; i < root->length; i += 3) object_clear_flags(object_at(root->item[i]), HEADER_WATCHED_FLAG);
  assert_true(crd_mark_some(&heap->marking, everything));
  assert_int_equal(work.objects + inside_major(heap)->objects, live);
  assert_marked(were);
  end_collection(DECOYS + 1);
}

/* --- new objects, one access after the other --- */

/* Between any two accesses of the mutator to the bits of new objects the second core looks at them, and the other way
 * round. It must find none of them unmarked [marker.3]. That stores and loads also keep this order on a processor with
 * weakly ordered memory is shown by tests/spin/second_core.pml, not here. */

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
static void begin_publishing(void) {
  root = new_array(T_ARRAY, 1);
  grow_old();
  crd_old_retire(inside_old(heap));
  (void)begin_marking();
  inside_old(heap)->marked_beside = true;
  assert_true(crd_word_stack_init(&found, 65536, 4096, "test"));
  accesses = act_at = 0;
}
static void end_publishing(void) {
  act = NULL;
  inside_old(heap)->marked_beside = false;
  crd_word_stack_fini(&found);
  cradle_collect(m, CRADLE_COLLECT_MAJOR);
}

static void the_second_core_looks_while_a_large_object_is_published(void **state) {
  (void)state;
  begin_publishing();
  act = look_at_all_of;
  void *object = take_large();
  assert_true(accesses >= 2);
  assert_true(old_is_marked(inside_old(heap), address_of(object)));
  assert_true(word_stack_is_empty(&found));
  act = NULL;
  old_unmark(inside_old(heap), address_of(object));
  free_large(object);
  end_publishing();
}

static void the_second_core_looks_while_a_span_is_published(void **state) {
  (void)state;
  begin_publishing();
  uint32_t size_class = old_class_of(inside_old(heap), 512);
  assert_int_equal(inside_old(heap)->spans[size_class].open, PAGE_NONE);
  act = look_at_all_of;
  assert_true(crd_old_refill(inside_old(heap), &inside_old(heap)->leader, size_class, 0));
  assert_true(accesses >= 2);
  assert_true(old_is_marked(inside_old(heap), address_of(inside_old(heap)->leader.allocators[size_class].free)));
  assert_true(word_stack_is_empty(&found));
  end_publishing();
}

static void *expected, *published;
static void publish(const void *word) {
  (void)word;
  published = take_large();
  assert_ptr_equal(published, expected);
}

static void a_large_object_is_published_while_the_second_core_looks(void **state) {
  (void)state;
  begin_publishing();
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
  end_publishing();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_round_marks_all_that_lives_and_counts_it),
      TEST(a_round_that_is_to_end_marks_nothing),
      TEST(what_rounds_leave_is_traced_by_others),
      TEST(objects_of_any_kind_bring_the_next_look_nearer),
      TEST(what_rounds_have_no_room_for_is_found),
      TEST(half_an_entry_is_none),
      TEST(what_cannot_go_back_is_found),
      TEST(rounds_look_often_whether_they_are_to_end),
      TEST(the_stack_of_a_round_grows_with_the_depth),
      TEST(what_lies_around_an_array_is_none_of_a_rounds),
      TEST(words_that_are_no_references_mark_nothing),
      TEST(lengths_that_are_too_large_lead_out_of_no_place),
      TEST(a_round_keeps_to_the_arenas_that_were_there),
      TEST(what_needs_the_program_is_put_aside),
      TEST(what_was_put_aside_is_traced_to_the_last),
      TEST(what_finds_no_room_aside_is_found),
      TEST(watched_objects_are_put_aside),
      TEST(the_second_core_looks_while_a_large_object_is_published),
      TEST(the_second_core_looks_while_a_span_is_published),
      TEST(a_large_object_is_published_while_the_second_core_looks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
