/* Root stacks: coroutines of which each has its own roots, what collections skip, and what they find. The coroutines
 * here are of ucontext; tests of the parts that need no C stack of their own switch root stacks on one C stack. */
#include "tests/support/heap_fixture.h"

#include <pthread.h>
#include <ucontext.h>

static fixture f;
static uint64_t root_words; /* that the last minor collection looked at */

static void note_words(void *data, const cradle_event *event) {
  (void)data;
  root_words = event->u.roots.words;
}

CRADLE_UNCHECKED_COLLECTION static void open_with(void (*change)(cradle_options *)) {
  cradle_options options;
  fixture_options(&f, &options);
  options.listener = (cradle_listener){fixture_listen, &f};
  f.listener = note_words;
  f.listens_to = EVENT_BIT(CRADLE_EVENT_ROOTS_END);
  if (change != NULL) change(&options);
  f.stressed = options.stress_period != 0;
  fixture_open_with(&f, &options);
}
static int open_plain(void **state) {
  (void)state;
  open_with(NULL);
  return 0;
}
static void stress(cradle_options *options) {
  options->stress_period = 1;
  options->stress_major = 3;
}
static int open_stressed(void **state) {
  (void)state;
  open_with(stress);
  return 0;
}
static void with_target(cradle_options *options) {
  fixture_unstress(options);
  options->pause_ns = 1;
  options->nursery_bytes = (size_t)32 << 10;
}
static int open_in_increments(void **state) {
  (void)state;
  open_with(with_target);
  return 0;
}
CRADLE_UNCHECKED_COLLECTION static int close_it(void **state) {
  (void)state;
  fixture_close(&f);
  return 0;
}

static void assert_right(void) {
  cradle_error error = {.message = ""};
  if (!cradle_heap_verify(f.heap, &error)) fail_msg("%s", error.message);
}

static pair *new_pair(pair *rest) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(f.m, rest);
  pair *made = CRADLE_NEW(f.m, pair, T_PAIR);
  made->rest = rest;
  return made;
}

/* --- coroutines --- */

enum { COROUTINES = 5, C_STACK_BYTES = 128 << 10, ROUNDS = 40 };
static struct coroutine {
  ucontext_t context;
  cradle_root_stack *roots;
  char *c_stack;
  int wrong, rounds;
} coroutines[COROUTINES];
static ucontext_t main_context;

/* Goes from one coroutine to the next; each has scopes open. */
static void yield_from(int id) {
  struct coroutine *next = &coroutines[(id + 1) % COROUTINES];
  cradle_root_stack_switch(f.m, next->roots);
  swapcontext(&coroutines[id].context, &next->context);
}

CRADLE_UNCHECKED_COLLECTION static void go_deeper(int id, int depth) {
  pair *first = new_pair(NULL);
  CRADLE_ROOT(f.m, first);
  pair *second = new_pair(first);
  CRADLE_ROOT(f.m, second);
  cradle_push(f.m, second);
  yield_from(id);
  if (depth > 0) go_deeper(id, depth - 1);
  yield_from(id);
  coroutines[id].wrong += second->rest != first || cradle_pop(f.m) != second;
}

CRADLE_UNCHECKED_COLLECTION static void body(int id) {
  for (int i = 0; i < ROUNDS; i++) go_deeper(id, (id * 7 + i) % 5), coroutines[id].rounds++;
  for (;;) { /* the first one ends the run when it comes here; until then others go on */
    bool all = true;
    for (int i = 0; i < COROUTINES; i++) all = all && coroutines[i].rounds == ROUNDS;
    if (!all) {
      yield_from(id);
      continue;
    }
    cradle_root_stack_switch(f.m, NULL);
    swapcontext(&coroutines[id].context, &main_context);
  }
}

CRADLE_UNCHECKED_COLLECTION static void scopes_of_coroutines_interleave(void **state) {
  (void)state;
  pair *mine = new_pair(NULL);
  CRADLE_ROOT(f.m, mine);
  for (int i = 0; i < COROUTINES; i++) {
    struct coroutine *c = &coroutines[i];
    *c = (struct coroutine){.roots = cradle_root_stack_new(f.m), .c_stack = malloc(C_STACK_BYTES)};
    getcontext(&c->context);
    c->context.uc_stack.ss_sp = c->c_stack;
    c->context.uc_stack.ss_size = C_STACK_BYTES;
    c->context.uc_link = NULL;
    makecontext(&c->context, (void (*)(void))body, 1, i);
  }
  assert_null(cradle_root_stack_switch(f.m, coroutines[0].roots));
  swapcontext(&main_context, &coroutines[0].context);
  assert_int_equal(cradle_type_of(mine), T_PAIR);
  for (int i = 0; i < COROUTINES; i++) {
    assert_int_equal(coroutines[i].wrong, 0);
    assert_int_equal(coroutines[i].rounds, ROUNDS);
    cradle_root_stack_free(coroutines[i].roots);
    free(coroutines[i].c_stack);
  }
  assert_right();
}

/* --- what is looked at --- */

enum { SUSPENDED = 1000 };
static cradle_root_stack *stacks[SUSPENDED];
static pair *held[SUSPENDED];
static pair *in_range[SUSPENDED][2];
static pair **base[SUSPENDED], **top[SUSPENDED];
static cradle_root_range ranges[SUSPENDED];

/* Each root stack has a scoped root, a pushed word and a range of two words. */
CRADLE_UNCHECKED_COLLECTION static void make_stack(int i) {
  stacks[i] = cradle_root_stack_new(f.m);
  assert_non_null(stacks[i]);
  cradle_root_stack *before = cradle_root_stack_switch(f.m, stacks[i]);
  held[i] = NULL;
  (void)cradle_scope_open(f.m, &held[i], CRADLE_KIND_REFERENCE, "held");
  in_range[i][0] = in_range[i][1] = NULL;
  base[i] = in_range[i], top[i] = in_range[i] + 2;
  ranges[i] = CRADLE_ROOT_RANGE(base[i], top[i], CRADLE_KIND_REFERENCE, "generator");
  ranges[i].stack = stacks[i];
  cradle_root_range_add(f.m, &ranges[i]);
  held[i] = new_pair(NULL);
  pair *made = new_pair(held[i]);
  cradle_push(f.m, made);
  in_range[i][1] = new_pair(made);
  assert_ptr_equal(cradle_root_stack_switch(f.m, before), stacks[i]);
}
static bool is_right(int i) {
  cradle_root_stack *before = cradle_root_stack_switch(f.m, stacks[i]);
  pair *pushed = (pair *)(uintptr_t)*cradle_peek(f.m, 0);
  bool right = cradle_type_of(held[i]) == T_PAIR && pushed->rest == held[i] && in_range[i][1]->rest == pushed &&
               in_range[i][0] == NULL;
  cradle_root_stack_switch(f.m, before);
  return right;
}
static void free_stacks(void) {
  for (int i = 0; i < SUSPENDED; i++) {
    cradle_root_stack_free(stacks[(i * 7) % SUSPENDED]);
    assert_null(ranges[(i * 7) % SUSPENDED].mutator);
  }
}

CRADLE_UNCHECKED_COLLECTION static void what_did_not_run_is_skipped(void **state) {
  (void)state;
  for (int i = 0; i < SUSPENDED; i++) make_stack(i);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_int_equal(root_words, 0);
  cradle_root_stack_switch(f.m, stacks[3]);
  cradle_root_stack_switch(f.m, stacks[4]);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_in_range(root_words, 2 * 3, 2 * 4); /* the pushed words are unchanged */
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_int_equal(root_words, 3); /* the one that runs */
  cradle_root_stack_switch(f.m, NULL);
  cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
  for (int i = 0; i < SUSPENDED; i++) assert_true(is_right(i));
  assert_right();
  free_stacks();
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  assert_int_equal(root_words, 0);
  cradle_statistics stats;
  cradle_heap_statistics(f.heap, &stats, sizeof stats);
  assert_int_equal(stats.old_bytes, 0);
}

/* What two root stacks hold changes places: what only an unmarked one held is then held by a marked one alone. */
static void swap(int i, int k) {
  cradle_root_stack *before = cradle_root_stack_switch(f.m, stacks[i]);
  pair *of_i[] = {held[i], (pair *)(uintptr_t)*cradle_peek(f.m, 0), in_range[i][1]};
  cradle_root_stack_switch(f.m, stacks[k]);
  pair *of_k[] = {held[k], (pair *)(uintptr_t)*cradle_peek(f.m, 0), in_range[k][1]};
  held[k] = of_i[0], *cradle_peek(f.m, 0) = (cradle_word)(uintptr_t)of_i[1], in_range[k][1] = of_i[2];
  cradle_root_stack_switch(f.m, stacks[i]);
  held[i] = of_k[0], *cradle_peek(f.m, 0) = (cradle_word)(uintptr_t)of_k[1], in_range[i][1] = of_k[2];
  cradle_root_stack_switch(f.m, before);
}

CRADLE_UNCHECKED_COLLECTION static void renew(int i) {
  cradle_root_stack *before = cradle_root_stack_switch(f.m, stacks[i]);
  held[i] = new_pair(NULL);
  *cradle_peek(f.m, 0) = 0;
  pair *made = new_pair(held[i]);
  *cradle_peek(f.m, 0) = (cradle_word)(uintptr_t)made;
  in_range[i][1] = new_pair(made);
  cradle_root_stack_switch(f.m, before);
}

/* Between the increments of marking, root stacks run, are made, and are freed. */
CRADLE_UNCHECKED_COLLECTION static void marking_goes_in_increments(void **state) {
  (void)state;
  uint64_t steps = 0, seed = 1;
  for (int i = 0; i < SUSPENDED; i++) make_stack(i);
  for (int round = 0; round < 6; round++) {
    for (bool over = false; !over; steps++) {
      int one[5];
      for (int k = 0; k < 5; k++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        one[k] = (int)((seed >> 33) % SUSPENDED);
      }
      renew(one[0]);
      if (one[1] != one[2]) swap(one[1], one[2]);
      assert_true(is_right(one[3]));
      cradle_root_stack_switch(f.m, stacks[one[4]]); /* what it holds counts as unchanged, and may be unmarked */
      cradle_root_stack_switch(f.m, NULL);
      if (steps % 3 == 0) {
        cradle_root_stack_free(stacks[one[3]]);
        make_stack(one[3]);
      }
      over = cradle_collect_step(f.m, 0);
      assert_right();
    }
    for (int i = 0; i < SUSPENDED; i += 13) assert_true(is_right(i));
  }
  cradle_statistics stats;
  cradle_heap_statistics(f.heap, &stats, sizeof stats);
  /* 1,000 root stacks are some 27 pieces, if no second core helps. */
  if (stats.beside_ns == 0) assert_true(steps > 6 * 25);
  free_stacks();
}

/* A deep one is marked in pieces, too. */
CRADLE_UNCHECKED_COLLECTION static void a_deep_one_is_marked_in_pieces(void **state) {
  (void)state;
  enum { WORDS = 5000 };
  cradle_root_stack *deep = cradle_root_stack_new(f.m);
  cradle_root_stack_switch(f.m, deep);
  for (int i = 0; i < WORDS; i++) {
    pair *made = new_pair(NULL);
    made->first = made; /* tells it by itself when it moved */
    cradle_push(f.m, made);
  }
  cradle_root_stack_switch(f.m, NULL);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  for (int cycle = 0; cycle < 3; cycle++) {
    int steps = 1;
    for (; !cradle_collect_step(f.m, 0); steps++) {
      assert_right();
      if (cycle != 1 || steps != 5) continue; /* half marked, it runs */
      cradle_root_stack_switch(f.m, deep);
      cradle_root_stack_switch(f.m, NULL);
    }
    assert_true(cycle == 1 || steps > WORDS / 256);
  }
  cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
  cradle_root_stack_switch(f.m, deep);
  for (int i = WORDS; i-- > 0;) {
    pair *popped = cradle_pop(f.m);
    assert_ptr_equal(popped->first, popped);
  }
  ASSERT_MISUSE(&f, "cradle_pop: the pop goes below", (void)cradle_pop(f.m));
  cradle_root_stack_switch(f.m, NULL);
  cradle_root_stack_free(deep);
}

/* --- unwinding, regions, life --- */

static volatile bool leaves = true;

CRADLE_UNCHECKED_COLLECTION static void throw_from(cradle_root_stack *stack, jmp_buf landing) {
  cradle_root_stack_switch(f.m, stack);
  pair *lost = new_pair(NULL);
  CRADLE_ROOT(f.m, lost);
  cradle_push(f.m, lost);
  cradle_no_collect_begin(f.m);
  if (leaves) longjmp(landing, 1);
}

CRADLE_UNCHECKED_COLLECTION static void a_checkpoint_leads_back(void **state) {
  (void)state;
  pair *volatile kept = new_pair(NULL);
  CRADLE_ROOT(f.m, kept);
  for (int i = 0; i < 5; i++) {
    cradle_root_stack *volatile stack = cradle_root_stack_new(f.m);
    cradle_checkpoint checkpoint = cradle_checkpoint_save(f.m);
    jmp_buf landing;
    if (setjmp(landing) == 0) throw_from(stack, landing);
    cradle_checkpoint_restore(f.m, &checkpoint);
    assert_int_equal(f.m->no_collect_depth, 0);
    assert_null(cradle_root_stack_switch(f.m, NULL)); /* it runs already */
    cradle_root_stack_free(stack);                    /* its scopes lay on this C stack, in a frame that is gone */
    kept = new_pair(kept);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  }
  int length = 0;
  for (const pair *p = kept; p != NULL; p = p->rest) length++;
  assert_int_equal(length, 6);
}

CRADLE_UNCHECKED_COLLECTION static void a_region_belongs_to_its_root_stack(void **state) {
  (void)state;
  cradle_root_stack *stack = cradle_root_stack_new(f.m);
  cradle_root_stack_switch(f.m, stack);
  cradle_no_collect_begin(f.m);
  cradle_root_stack_switch(f.m, NULL);
  (void)new_pair(NULL);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  fixture_pass_first_looks(&f);
  cradle_root_stack_switch(f.m, stack);
  assert_null(cradle_new_fast(f.m, T_PAIR, sizeof(pair)));
  ASSERT_MISUSE(&f, "a no-collection region is open", cradle_collect(f.m, CRADLE_COLLECT_MINOR));
  cradle_root_stack_free(stack);
}

/* An object owns the root stack of its coroutine. */
typedef struct owner {
  uint64_t header;
  cradle_root_stack *stack;
} owner;
static unsigned freed;
static void free_owned(void *user, void *object) {
  (void)user;
  cradle_root_stack_free(((owner *)object)->stack);
  freed++;
}

CRADLE_UNCHECKED_COLLECTION static void objects_own_root_stacks(void **state) {
  (void)state;
  static const cradle_type type = {.name = "coroutine", .size = sizeof(owner), .destructor = free_owned};
  uint32_t number = cradle_type_add(f.heap, &type);
  freed = 0;
  for (int i = 0; i < 300; i++) {
    owner *made = cradle_new_registered(f.m, number, sizeof(owner));
    made->stack = cradle_root_stack_new(f.m);
    CRADLE_ROOT(f.m, made);
    cradle_root_stack_switch(f.m, made->stack);
    cradle_push(f.m, new_pair(NULL));
    cradle_root_stack_switch(f.m, NULL);
    if (i % 100 == 0) cradle_global_root_add(f.heap, &stacks[i], CRADLE_KIND_REFERENCE), stacks[i] = (void *)made;
  }
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  assert_int_equal(freed, 297);
  assert_right();
  for (int i = 0; i < 300; i += 100) cradle_global_root_remove(f.heap, &stacks[i]);
  /* The last three are freed with the heap, after the mutator. */
}
static int close_and_count(void **state) {
  (void)close_it(state);
  return freed == 300 ? 0 : 1;
}

/* --- what is found --- */

#define ASSERT_FOUND(words) \
  do { \
    cradle_error error = {.message = ""}; \
    assert_false(cradle_heap_verify(f.heap, &error)); \
    if (strstr(error.message, words) == NULL) fail_msg("\"%s\"", error.message); \
  } while (0)

CRADLE_UNCHECKED_COLLECTION static void a_write_to_a_suspended_one_is_found(void **state) {
  (void)state;
  make_stack(0);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  cradle_no_collect_begin(f.m);
  pair *before = held[0], *young = cradle_new_fast(f.m, T_PAIR, sizeof(pair));
  cradle_no_collect_end(f.m);
  if (young == NULL) young = new_pair(NULL);
  held[0] = young;
  ASSERT_FOUND("was written while the root stack was suspended [root_stack.2]");
  ASSERT_FOUND("in scoped root without a name of the root stack at ");
  held[0] = before;
  in_range[0][0] = young;
  ASSERT_FOUND("in root range generator, index 0 of the root stack at ");
  in_range[0][0] = NULL;
  assert_right();
  /* The mutator's own is always looked at. */
  pair *result = NULL;
  CRADLE_ROOT(f.m, result);
  cradle_root_stack_switch(f.m, stacks[0]);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  result = new_pair(NULL);
  result->first = result;
  assert_right();
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_ptr_equal(result->first, result);
  cradle_root_stack_switch(f.m, NULL);
  cradle_root_stack_free(stacks[0]);
}

/* The range is added while its root stack rests, with a young object or one that marking has not seen. */
CRADLE_UNCHECKED_COLLECTION static void a_range_is_added_at_rest(void **state) {
  (void)state;
  pair *frame[] = {NULL, NULL}, **first = frame, **end = frame + 2;
  cradle_root_range range = CRADLE_ROOT_RANGE(first, end, CRADLE_KIND_REFERENCE, "late");
  make_stack(0);
  pair *old = new_pair(NULL);
  cradle_push(f.m, old);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  (void)cradle_collect_step(f.m, 0);
  frame[0] = (pair *)(uintptr_t)*cradle_peek(f.m, 0);
  frame[1] = new_pair(NULL);
  frame[1]->first = frame[0];
  range.stack = stacks[0];
  cradle_root_range_add(f.m, &range);
  (void)cradle_pop(f.m);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_right();
  while (!cradle_collect_step(f.m, 0)) assert_right();
  assert_ptr_equal(frame[1]->first, frame[0]);
  cradle_root_range_remove(f.m, &range);
  cradle_root_stack_free(stacks[0]);
}

/* Each holds an object three times. How often a referrer of the kind was reported as it should be. */
typedef struct named {
  uint64_t words, scopes, ranges, others;
} named;

static bool count_named(void *data, const cradle_referrer *referrer) {
  named *n = data;
  bool of_range = referrer->holder == CRADLE_HOLDER_ROOT_RANGE && strcmp(referrer->name, "generator") == 0;
  if (referrer->holder == CRADLE_HOLDER_SHADOW_STACK && referrer->index == 0)
    n->words++;
  else if (referrer->holder == CRADLE_HOLDER_SCOPED_ROOT && referrer->index == 0)
    n->scopes++;
  else if (of_range && referrer->index == 1)
    n->ranges++;
  else
    n->others++;
  return true;
}

CRADLE_UNCHECKED_COLLECTION static void the_roots_of_each_are_named(void **state) {
  (void)state;
  enum { STACKS = 3 };
  for (int i = 0; i < STACKS; i++) make_stack(i);
  pair *object = new_pair(NULL);
  for (int i = 0; i < STACKS; i++) {
    (void)cradle_root_stack_switch(f.m, stacks[i]);
    held[i] = in_range[i][1] = object;
    *cradle_peek(f.m, 0) = (cradle_word)(uintptr_t)object;
  }
  cradle_collect(f.m, CRADLE_COLLECT_MINOR); /* all but the last rest */
  for (int step = 0; step < 2; step++) {
    named n = {0};
    assert_int_equal(cradle_referrers(f.heap, held[0], count_named, &n), CRADLE_WALK_COMPLETE);
    assert_true(n.words == STACKS && n.scopes == STACKS && n.ranges == STACKS && n.others == 0);
    (void)cradle_collect_step(f.m, 0); /* they wait to be marked, or have been */
  }
  (void)cradle_root_stack_switch(f.m, NULL);
  for (int i = 0; i < STACKS; i++) cradle_root_stack_free(stacks[i]);
}

CRADLE_UNCHECKED_COLLECTION static void what_is_refused(void **state) {
  (void)state;
  make_stack(0);
  cradle_root_stack *stack = stacks[0];
  ASSERT_MISUSE(&f, "cradle_root_range_add: the range is registered already", cradle_root_range_add(f.m, &ranges[0]));
  cradle_root_stack_switch(f.m, stack);
  ASSERT_MISUSE(&f, "cradle_root_stack_free: the root stack runs", cradle_root_stack_free(stack));
  cradle_root_stack_switch(f.m, stack); /* the misuse landed on the mutator's own */
  ASSERT_MISUSE(&f, "cradle_mutator_free: a coroutine's root stack runs", cradle_mutator_free(f.m));
  cradle_mutator_free(f.m);
  assert_null(ranges[0].mutator);
  f.m = cradle_mutator_new(f.heap);
  ASSERT_MISUSE(&f, "cradle_root_stack_switch: the root stack belongs to another mutator, or to one that was freed",
                (void)cradle_root_stack_switch(f.m, stack));
  ASSERT_MISUSE(&f, "cradle_root_range_add: the range names a root stack of another mutator",
                cradle_root_range_add(f.m, &ranges[0]));
  cradle_root_stack_free(stack);
  cradle_root_stack_free(NULL);
  ranges[0].stack = NULL;
  cradle_root_range_add(f.m, &ranges[0]);
  cradle_root_range saved = ranges[0];
  ranges[0] = CRADLE_ROOT_RANGE(base[0], top[0], CRADLE_KIND_REFERENCE, "again");
  if (FIXTURE_LANDS(&f)) cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_non_null(strstr(f.message, "was overwritten while it was registered"));
  ranges[0] = saved;
  cradle_root_range_remove(f.m, &ranges[0]);
  ASSERT_MISUSE(&f, "cradle_root_range_remove: the range is not registered", cradle_root_range_remove(f.m, &ranges[0]));
}

/* Coroutines that share the mutator's own root stack: the message says what they need. */
static void scopes_without_root_stacks(void **state) {
  (void)state;
  pair *one = NULL, *two = NULL;
  cradle_scope first = cradle_scope_open(f.m, &one, CRADLE_KIND_REFERENCE, "one");
  (void)cradle_scope_open(f.m, &two, CRADLE_KIND_REFERENCE, "two");
  ASSERT_MISUSE(&f,
                "scopes are unbalanced; coroutines need a root stack each (docs/coroutines.md), a longjmp needs "
                "cradle_checkpoint_restore",
                cradle_scope_close(&first));
}

/* --- a thread that ends --- */

static void *leave_a_heap(void *data) {
  (void)data;
  open_with(NULL);
  pair *on_stack = new_pair(NULL);
  (void)cradle_scope_open(f.m, &on_stack, CRADLE_KIND_REFERENCE, "on_stack");
  cradle_push(f.m, on_stack);
  cradle_no_collect_begin(f.m);
  return NULL;
}

CRADLE_UNCHECKED_COLLECTION static void a_thread_leaves_a_heap(void **state) {
  (void)state;
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, leave_a_heap, NULL), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  if (FIXTURE_LANDS(&f)) cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_non_null(strstr(f.message, "the thread of the mutator has ended: call cradle_mutator_attach first"));
  if (FIXTURE_LANDS(&f)) cradle_heap_free(f.heap);
  assert_non_null(strstr(f.message, "the thread of the mutator has ended: call cradle_mutator_attach first"));
  cradle_mutator_attach(f.m);
  cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
  assert_int_equal(cradle_type_of(cradle_pop(f.m)), T_PAIR);
  assert_right();
  (void)close_it(NULL);
}

/* --- very many --- */

enum { VERY_MANY = 200000 };

/* The first half of the global roots has been removed. */
CRADLE_UNCHECKED_COLLECTION static void assert_others_are_roots(void **words) {
  static void *young[VERY_MANY];
  for (size_t i = VERY_MANY / 2; i < VERY_MANY; i += 101) {
    pair *made = CRADLE_NEW(f.m, pair, T_PAIR);
    words[i * 7919 % VERY_MANY] = young[i] = made;
  }
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  for (size_t i = VERY_MANY / 2; i < VERY_MANY; i += 101) {
    assert_ptr_not_equal(words[i * 7919 % VERY_MANY], young[i]);
  }
}

/* In the square this would take a minute. */
static void very_many_roots_come_and_go(void **state) {
  (void)state;
  cradle_root_range *many = calloc(VERY_MANY, sizeof *many);
  void **words = calloc(VERY_MANY, sizeof *words);
  assert_true(many != NULL && words != NULL);
  void *from = NULL, *to = NULL;
  for (size_t i = 0; i < VERY_MANY; i++) {
    many[i] = CRADLE_ROOT_RANGE(from, to, CRADLE_KIND_REFERENCE, "many");
    cradle_root_range_add(f.m, &many[i]);
    cradle_global_root_add(f.heap, &words[i], CRADLE_KIND_REFERENCE);
  }
  words[7] = new_pair(NULL);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_int_equal(cradle_type_of(words[7]), T_PAIR);
  ASSERT_MISUSE(&f, "registered already", cradle_global_root_add(f.heap, &words[VERY_MANY / 2], CRADLE_KIND_VALUE));
  for (size_t i = 0; i < VERY_MANY; i++) {
    if (i == VERY_MANY / 2) assert_others_are_roots(words);
    cradle_root_range_remove(f.m, &many[i * 7919 % VERY_MANY]);
    cradle_global_root_remove(f.heap, &words[i * 7919 % VERY_MANY]);
  }
  ASSERT_MISUSE(&f, "is not registered", cradle_global_root_remove(f.heap, &words[0]));
  free(many);
  free(words);
}

#define PLAIN(test) cmocka_unit_test_setup_teardown(test, open_plain, close_it)
#define STRESSED(test) cmocka_unit_test_setup_teardown(test, open_stressed, close_it)
#define IN_INCREMENTS(test) cmocka_unit_test_setup_teardown(test, open_in_increments, close_it)

int main(void) {
  const struct CMUnitTest tests[] = {
      PLAIN(scopes_of_coroutines_interleave),
      STRESSED(scopes_of_coroutines_interleave),
      IN_INCREMENTS(what_did_not_run_is_skipped),
      IN_INCREMENTS(marking_goes_in_increments),
      IN_INCREMENTS(a_deep_one_is_marked_in_pieces),
      PLAIN(a_checkpoint_leads_back),
      STRESSED(a_checkpoint_leads_back),
      PLAIN(a_region_belongs_to_its_root_stack),
      cmocka_unit_test_setup_teardown(objects_own_root_stacks, open_plain, close_and_count),
      cmocka_unit_test_setup_teardown(objects_own_root_stacks, open_stressed, close_and_count),
      IN_INCREMENTS(a_write_to_a_suspended_one_is_found),
      IN_INCREMENTS(a_range_is_added_at_rest),
      IN_INCREMENTS(the_roots_of_each_are_named),
      PLAIN(what_is_refused),
      PLAIN(scopes_without_root_stacks),
      cmocka_unit_test(a_thread_leaves_a_heap),
      IN_INCREMENTS(very_many_roots_come_and_go),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
