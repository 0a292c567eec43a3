/* Tests the watermark of the shadow stack: minor collections skip the words below it, and everything that may write a
 * word there lowers the watermark first [mutator.6]. Each way to break this rule has a test: popping, peeking,
 * unwinding, coroutines that switch stacks, pins, large objects, compaction, the beginning of marking and its end. Also
 * tests scoped roots, which have a separate stack [mutator.7]; this file is compiled with CRADLE_CHECKED, which records
 * their names. */
#define CRADLE_CHECKED 1
#include "tests/support/heap_fixture.h"

#include <signal.h>

#include "tests/inside.h"

#define DEPTH 2000
/* More words than a pop looks ahead. */
#define FEW 64

static fixture f;
static uint64_t root_words; /* words that the last minor collection scanned */

static void on_event(void *data, const cradle_event *event) {
  (void)data;
  root_words = event->u.roots.words;
}

CRADLE_UNCHECKED_COLLECTION static int open_with(size_t quarantine) {
  cradle_options options;
  fixture_options(&f, &options);
  options.listener = (cradle_listener){fixture_listen, &f};
  options.quarantine = quarantine;
  fixture_open_with(&f, &options);
  f.listener = on_event;
  f.listens_to = EVENT_BIT(CRADLE_EVENT_ROOTS_END);
  return 0;
}
static int open_plain(void **state) {
  (void)state;
  return open_with(0);
}
static int open_quarantined(void **state) {
  (void)state;
  return open_with(2);
}
static int close_heap(void **state) {
  (void)state;
  cradle_checkpoint_restore(f.m, &f.checkpoint);
  fixture_close(&f);
  return 0;
}

/* An object that holds a number. */
CRADLE_MAY_COLLECT static void *new_number(uint64_t number) {
  string *made = cradle_new_array(f.m, T_STRING, sizeof number);
  memcpy(made->byte, &number, sizeof number);
  return made;
}
static uint64_t number_in(const void *object) {
  uint64_t number;
  assert_int_equal(cradle_type_of(object), T_STRING);
  memcpy(&number, ((const string *)object)->byte, sizeof number);
  return number;
}
/* Overwrites dead objects, so that a test that follows a stale reference fails. */
CRADLE_MAY_COLLECT static void overwrite_nursery(void) {
  for (int i = 0; i < 3000; i++) (void)new_number(UINT64_C(0xdead));
}

CRADLE_MAY_COLLECT static void push_numbers(uint64_t from, uint64_t to) {
  for (uint64_t i = from; i < to; i++) cradle_push(f.m, new_number(i));
}
/* Checks that each word i of the first count words of the stack holds the number i + more. */
static void assert_numbers(uint64_t count, uint64_t more) {
  for (uint64_t i = 0; i < count; i++)
    assert_int_equal(number_in((const void *)(uintptr_t)f.m->shadow_base[i]), i + more);
}

/* --- skipped words --- */

CRADLE_MAY_COLLECT static void unchanged_words_are_left_out(void **state) {
  (void)state;
  push_numbers(0, DEPTH);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_int_equal(root_words, 0);
  assert_ptr_equal(f.m->shadow_watermark, f.m->shadow_top);
  (void)cradle_pop(f.m);
  push_numbers(DEPTH - 1, DEPTH + 9);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_true((f.stressed || root_words >= 10) && root_words < FEW);
  (void)cradle_peek(f.m, 1000); /* the caller may write through the pointer */
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_int_equal(root_words, 1001);
  assert_numbers(DEPTH + 9, 0);
}

CRADLE_MAY_COLLECT static void marking_and_compaction_see_every_word(void **state) {
  (void)state;
  for (uint64_t i = 0; i < DEPTH; i++) {
    push_numbers(i, i + 1);
    (void)cradle_new_array(f.m, T_STRING, i % 512); /* leaves gaps for compaction */
  }
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  for (int i = 0; i < 3; i++) {
    cradle_word before = f.m->shadow_base[1];
    cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
    if (i == 0 && f.stressed) assert_int_not_equal(f.m->shadow_base[1], before);
    overwrite_nursery();
    assert_numbers(DEPTH, 0);
  }
}

/* Half of the promoted objects die, so arenas are sparse and the remaining objects move. */
CRADLE_MAY_COLLECT static void compaction_moves_what_deep_words_refer_to(void **state) {
  (void)state;
  enum { LARGE_BYTES = 2000, KEPT_EVERY = 64, OBJECTS = 10 * KEPT_EVERY * 32 };
  vector *all = cradle_new_array(f.m, T_VECTOR, OBJECTS);
  CRADLE_ROOT(f.m, all);
  for (uint64_t i = 0; i < OBJECTS; i++) {
    string *made = cradle_new_array(f.m, T_STRING, LARGE_BYTES);
    memcpy(made->byte, &i, sizeof i);
    cradle_store(f.m, all, &all->item[i], made);
  }
  for (uint64_t i = 0; i < OBJECTS / KEPT_EVERY; i++) cradle_push(f.m, all->item[i * KEPT_EVERY]);
  all = NULL;
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_ptr_equal(f.m->shadow_watermark, f.m->shadow_top);
  uint64_t moved = fixture_stats(&f).moved_old_objects;
  cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
  assert_true(fixture_stats(&f).moved_old_objects > moved);
  for (uint64_t i = 0; i < OBJECTS / KEPT_EVERY; i++)
    assert_int_equal(number_in((const void *)(uintptr_t)f.m->shadow_base[i]), i * KEPT_EVERY);
}

/* --- what writes words --- */

CRADLE_MAY_COLLECT static void popped_words_are_looked_at_anew(void **state) {
  (void)state;
  push_numbers(0, DEPTH);
  for (uint64_t depth = DEPTH; depth > 0; depth -= 125) {
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    if (depth % 250 == 0)
      cradle_pop_many(f.m, 125);
    else
      for (int i = 0; i < 125; i++) (void)cradle_pop(f.m);
    push_numbers(depth - 125 + 1000000, depth + 1000000);
    overwrite_nursery();
    cradle_pop_many(f.m, 125);
    assert_numbers(depth - 125, 0);
  }
}

CRADLE_MAY_COLLECT static void words_written_through_peek_are_looked_at(void **state) {
  (void)state;
  push_numbers(0, DEPTH);
  for (uint64_t i = 0; i < DEPTH; i += 97) {
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    void *made = new_number(i + 7);
    *cradle_peek(f.m, DEPTH - 1 - i) = (cradle_word)(uintptr_t)made;
    overwrite_nursery();
    assert_int_equal(number_in((const void *)(uintptr_t)f.m->shadow_base[i]), i + 7);
  }
}

CRADLE_MAY_COLLECT static void unwinding_lowers_it(void **state) {
  (void)state;
  push_numbers(0, DEPTH / 2);
  cradle_checkpoint checkpoint = cradle_checkpoint_save(f.m);
  for (int round = 0; round < 4; round++) {
    push_numbers(DEPTH / 2, DEPTH);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    cradle_checkpoint_restore(f.m, &checkpoint); /* as after a longjmp */
    assert_ptr_equal(f.m->shadow_watermark, f.m->shadow_top);
    push_numbers(DEPTH / 2, DEPTH);
    overwrite_nursery();
    assert_numbers(DEPTH, 0);
    cradle_checkpoint_restore(f.m, &checkpoint);
  }
}

/* Coroutines of one mutator share the lower part of the shadow stack. On a switch, the part above is saved and replaced
 * by that of the other coroutine. */
typedef struct coroutine {
  cradle_word words[DEPTH];
  void *base, *top;
  cradle_root_range range;
} coroutine;

static void suspend(coroutine *c, size_t count) {
  for (size_t i = count; i-- > 0;) c->words[i] = (cradle_word)(uintptr_t)cradle_pop(f.m);
  c->base = c->words;
  c->top = c->words + count;
}
static void resume(coroutine *c) {
  for (const cradle_word *word = c->base; word < (const cradle_word *)c->top; word++) cradle_push_word(f.m, *word);
  c->top = c->base;
}

CRADLE_MAY_COLLECT static void coroutines_switch_stacks(void **state) {
  (void)state;
  enum { SHARED = 100, OWN = 300 };
  static coroutine coroutines[2];
  push_numbers(0, SHARED);
  for (int i = 0; i < 2; i++) {
    coroutine *c = &coroutines[i];
    c->range = CRADLE_ROOT_RANGE(c->base, c->top, CRADLE_KIND_REFERENCE, "coroutine");
    push_numbers(SHARED, SHARED + OWN);
    suspend(c, OWN);
    cradle_root_range_add(f.m, &c->range);
  }
  for (uint64_t round = 0; round < 6; round++) {
    coroutine *c = &coroutines[round % 2];
    resume(c);
    assert_numbers(SHARED + OWN, 0);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    cradle_pop_many(f.m, OWN); /* the coroutine runs and pushes other objects at the same depth */
    push_numbers(SHARED, SHARED + OWN);
    suspend(c, OWN);
    overwrite_nursery();
  }
  for (int i = 0; i < 2; i++) cradle_root_range_remove(f.m, &coroutines[i].range);
}

/* Pinning promotes the object at once, so every word that refers to it must see an old object. */
CRADLE_MAY_COLLECT static void pinned_objects_stay_where_words_say(void **state) {
  (void)state;
  push_numbers(0, DEPTH);
  void *pinned[DEPTH / 100];
  for (size_t i = 0; i < DEPTH / 100; i++) {
    pinned[i] = cradle_pin(f.m, (void *)(uintptr_t)f.m->shadow_base[i * 100]);
    assert_non_null(pinned[i]);
    push_numbers(DEPTH + i, DEPTH + i + 1);
  }
  cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
  overwrite_nursery();
  for (size_t i = 0; i < DEPTH / 100; i++) {
    assert_ptr_equal((void *)(uintptr_t)f.m->shadow_base[i * 100], pinned[i]);
    cradle_unpin(f.m, pinned[i]);
  }
  cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
  overwrite_nursery();
  assert_numbers(DEPTH + DEPTH / 100, 0);
}

/* A large object is young without being in the nursery, until a collection has found a reference to it. */
CRADLE_MAY_COLLECT static void large_young_objects_are_seen(void **state) {
  (void)state;
  enum { LARGE = 100000 };
  push_numbers(0, DEPTH);
  for (uint64_t i = 0; i < 20; i++) {
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    string *large = cradle_new_array(f.m, T_STRING, LARGE);
    memcpy(large->byte, &i, sizeof i);
    *cradle_peek(f.m, DEPTH - 1 - i) = (cradle_word)(uintptr_t)large;
    overwrite_nursery();
  }
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  assert_numbers(20, 0);
}

/* --- marking --- */

/* A vector held the object when marking began. Then the only reference moves to a deep word. */
CRADLE_MAY_COLLECT static void marking_sees_a_word_written_meanwhile(bool by_peek) {
  enum { HELD = 20000 }; /* more than an increment marks */
  push_numbers(0, DEPTH);
  vector *holder = cradle_new_array(f.m, T_VECTOR, HELD);
  CRADLE_ROOT(f.m, holder);
  for (uint64_t i = 0; i < HELD; i++) {
    void *made = new_number(i + 5);
    cradle_store(f.m, holder, &holder->item[i], made);
  }
  cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
  (void)cradle_collect_step(f.m, 0);
  uint64_t majors = fixture_stats(&f).major_collections;
  for (uint64_t i = 0; i < 10; i++) {
    uint64_t from = HELD - 1 - i;
    cradle_word held = (cradle_word)(uintptr_t)holder->item[from];
    if (by_peek)
      *cradle_peek(f.m, DEPTH - 1 - i) = held;
    else
      f.m->shadow_base[i] = held;
    assert_true(by_peek || !old_is_marked(inside_old(f.heap), (uintptr_t)held));
    cradle_store(f.m, holder, &holder->item[from], NULL);
  }
  while (!cradle_collect_step(f.m, 0)) continue;
  assert_true(fixture_stats(&f).major_collections > majors);
  assert_heap_sound(f.heap); /* a swept object may still look valid */
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  overwrite_nursery();
  for (uint64_t i = 0; i < 10; i++)
    assert_int_equal(number_in((const void *)(uintptr_t)f.m->shadow_base[i]), HELD - 1 - i + 5);
}
CRADLE_MAY_COLLECT static void marking_sees_what_peek_wrote(void **state) {
  (void)state;
  marking_sees_a_word_written_meanwhile(true);
}
CRADLE_UNCHECKED_COLLECTION static int open_unverified(void **state) {
  (void)state;
  cradle_options options;
  fixture_options(&f, &options);
  options.verify = false; /* the verifier would report the unannounced write */
  options.gc_threads = 0; /* a thread would have marked the objects before the words are written */
  fixture_unstress(&options);
  fixture_open_with(&f, &options);
  return 0;
}
/* The end of marking scans all words once more. */
CRADLE_MAY_COLLECT static void the_end_of_marking_sees_every_word(void **state) {
  (void)state;
  marking_sees_a_word_written_meanwhile(false);
}

/* --- what the verifier finds --- */

CRADLE_MAY_COLLECT static void a_write_that_nobody_was_told_of_is_found(void **state) {
  (void)state;
  push_numbers(0, DEPTH);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  cradle_word was = f.m->shadow_base[7];
  void *made = new_number(1);
  f.m->shadow_base[7] = (cradle_word)(uintptr_t)made;
  cradle_error error;
  assert_false(cradle_heap_verify(f.heap, &error));
  assert_non_null(strstr(error.message, "counts as unchanged refers to a young object"));
  assert_non_null(strstr(error.message, "in shadow stack, word 7 at"));
  f.m->shadow_base[7] = was;
}

CRADLE_MAY_COLLECT static void a_top_below_it_is_refused(void **state) {
  (void)state;
  push_numbers(0, DEPTH);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  cradle_word *top = f.m->shadow_top;
  f.m->shadow_top -= 10; /* as generated code that pops without a call */
  if (FIXTURE_LANDS(&f)) {
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    fail_msg("not refused");
  }
  assert_non_null(strstr(f.message, "the shadow stack's top is below its watermark"));
  f.m->shadow_top = top;
}

/* --- scoped roots --- */

CRADLE_MAY_COLLECT static void two_roots_on_a_line(void **state) {
  (void)state;
  /* clang-format off */
  void *a = new_number(1), *b = NULL; CRADLE_ROOT(f.m, a); CRADLE_ROOT(f.m, b);
  /* clang-format on */
  b = new_number(2);
  overwrite_nursery();
  assert_int_equal(number_in(a), 1);
  assert_int_equal(number_in(b), 2);
}

static bool find_name(void *data, const cradle_referrer *referrer) {
  if (referrer->holder == CRADLE_HOLDER_SCOPED_ROOT) snprintf(data, 100, "%s", referrer->name);
  return true;
}

CRADLE_MAY_COLLECT static void scoped_roots_know_their_names(void **state) {
  (void)state;
  char name[100] = "", expected[100];
  void *kept = new_number(1);
  CRADLE_ROOT(f.m, kept); /* its name includes this line's number */
  snprintf(expected, sizeof expected, "kept (%s:%d)", __FILE__, __LINE__ - 1);
  (void)cradle_referrers(f.heap, kept, find_name, name);
  assert_string_equal(name, expected);
  void *other = NULL;
  cradle_scope outer = cradle_scope_open(f.m, &other, CRADLE_KIND_REFERENCE, "other (here)");
  uint64_t word = 0;
  cradle_scope inner = cradle_scope_open(f.m, &word, CRADLE_KIND_REFERENCE, "inner (there)");
  if (FIXTURE_LANDS(&f)) cradle_scope_close(&outer);
  assert_non_null(strstr(f.message, "is not the innermost, which is inner (there); scopes are unbalanced"));
  *(volatile uint64_t *)&word = 9; /* not a reference */
  cradle_error error;
  assert_false(cradle_heap_verify(f.heap, &error));
  assert_non_null(strstr(error.message, "in scoped root inner (there) at"));
  *(volatile uint64_t *)&word = 0;
  cradle_scope_close(&inner);
  cradle_scope_close(&outer);
}

/* Each call opens one more scope. */
CRADLE_MAY_COLLECT static uint64_t descend(uint64_t depth) {
  void *mine = new_number(depth);
  CRADLE_ROOT(f.m, mine);
  uint64_t below = depth == 0 ? 0 : descend(depth - 1);
  assert_int_equal(number_in(mine), depth);
  return below + 1;
}

CRADLE_UNCHECKED_COLLECTION static void the_stack_of_scoped_roots_grows_to_its_limit(void **state) {
  (void)state;
  cradle_options options;
  fixture_options(&f, &options);
  fixture_unstress(&options);
  /* A root with a name takes three words; one word is not used for roots. The C stack has 1 MiB on Windows. */
  options.shadow_stack_bytes = (size_t)64 << 10;
  options.verify = false;
  fixture_open_with(&f, &options);
  assert_int_equal(descend(2720), 2721);
  if (FIXTURE_LANDS(&f)) {
    (void)descend(2740);
    fail_msg("not refused");
  }
  assert_non_null(strstr(f.message, "CRADLE_ROOT: mine ("));
  assert_non_null(strstr(f.message, "the stack of scoped roots is full at 65536 bytes"));
  cradle_checkpoint_restore(f.m, &f.checkpoint);
  assert_int_equal(descend(100), 101);
  fixture_close(&f);
}

/* As in main, the scopes end after the mutator and the heap are freed. */
CRADLE_UNCHECKED_COLLECTION static void scopes_may_end_after_the_mutator(void **state) {
  (void)state;
  fixture_open(&f);
  void *a = new_number(1);
  uint64_t b = 0;
  CRADLE_ROOT(f.m, a);
  CRADLE_ROOT_VALUE(f.m, b);
  {
    void *c = new_number(3);
    CRADLE_ROOT(f.m, c);
    overwrite_nursery();
    assert_int_equal(number_in(a), 1);
    cradle_mutator_free(f.m);
    assert_int_equal(number_in(c), 3); /* old now, and the heap is still there */
  }
  f.m = cradle_mutator_new(f.heap); /* the new mutator has none of these roots */
  assert_non_null(f.m);
  (void)new_number(4);
  fixture_close(&f);
}

CRADLE_UNCHECKED_COLLECTION static void roots_of_a_freed_mutator_are_refused(void **state) {
  (void)state;
  fixture_open(&f);
  int words[2];
  char message[400] = "";
  assert_int_equal(pipe(words), 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    void *a = NULL, *b = NULL;
    signal(SIGABRT, SIG_DFL);
    dup2(words[1], STDERR_FILENO); /* the library does not call the heap's handler, because the heap may be freed */
    CRADLE_ROOT(f.m, a);
    cradle_mutator_free(f.m);
    CRADLE_ROOT(f.m, b);
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  assert_true(read(words[0], message, sizeof message - 1) > 0);
  close(words[0]), close(words[1]);
  assert_non_null(strstr(message, "CRADLE_ROOT: the mutator was freed; root b ("));
  fixture_log_misuse(message);
  fixture_close(&f);
}

#define PLAIN(test) cmocka_unit_test_setup_teardown(test, open_plain, close_heap)
#define QUARANTINED(test) cmocka_unit_test_setup_teardown(test, open_quarantined, close_heap)
#define UNVERIFIED(test) cmocka_unit_test_setup_teardown(test, open_unverified, close_heap)

int main(void) {
  const struct CMUnitTest tests[] = {
      PLAIN(unchanged_words_are_left_out),
      PLAIN(marking_and_compaction_see_every_word),
      PLAIN(compaction_moves_what_deep_words_refer_to),
      PLAIN(popped_words_are_looked_at_anew),
      PLAIN(words_written_through_peek_are_looked_at),
      PLAIN(unwinding_lowers_it),
      PLAIN(coroutines_switch_stacks),
      PLAIN(pinned_objects_stay_where_words_say),
      PLAIN(large_young_objects_are_seen),
      PLAIN(marking_sees_what_peek_wrote),
      PLAIN(a_write_that_nobody_was_told_of_is_found),
      PLAIN(a_top_below_it_is_refused),
      QUARANTINED(popped_words_are_looked_at_anew),
      QUARANTINED(words_written_through_peek_are_looked_at),
      QUARANTINED(unwinding_lowers_it),
      UNVERIFIED(popped_words_are_looked_at_anew),
      UNVERIFIED(words_written_through_peek_are_looked_at),
      UNVERIFIED(unwinding_lowers_it),
      UNVERIFIED(coroutines_switch_stacks),
      UNVERIFIED(the_end_of_marking_sees_every_word),
      PLAIN(two_roots_on_a_line),
      PLAIN(scoped_roots_know_their_names),
      cmocka_unit_test(the_stack_of_scoped_roots_grows_to_its_limit),
      cmocka_unit_test(scopes_may_end_after_the_mutator),
      cmocka_unit_test(roots_of_a_freed_mutator_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
