/* Coroutines that switch C stacks as Boost.Context does: a few registers and the stack pointer, no signal mask. Their C
 * stacks lie below the main program's and beside each other, in memory of all kinds. Built with and without
 * CRADLE_CHECKED, whose checks compare addresses of frames and must not take another C stack for a frame that is gone.
 */
#include "tests/support/heap_fixture.h"

#include <sys/mman.h>

#include "tests/inside.h"

/* What libboost_context exports for C++; jump_fcontext gives what it jumped from, and what the jump back passes. */
typedef struct transfer {
  void *from, *data;
} transfer;
extern void *make_fcontext(void *stack_end, size_t bytes, void (*run)(transfer));
extern transfer jump_fcontext(void *to, void *data);

enum place { MAPPED, ALLOCATED, STATIC, IN_FRAME, LOWER, UPPER, PLACES };
enum { C_STACK_BYTES = 64 << 10, DROPPED = MAPPED };
static const char *const place_names[PLACES] = {"mapped", "allocated", "static", "in frame", "lower", "upper"};
static _Alignas(64) char static_stack[C_STACK_BYTES];

static fixture f;
typedef struct coroutine {
  void *context; /* of the coroutine if it is suspended, else of who resumed it */
  cradle_root_stack *roots;
  char *c_stack;
  int rounds, wrong;
  bool runs, has_ended;
} coroutine;
static coroutine coroutines[PLACES];
static char *mapped, *allocated, *both;

/* --- heaps --- */

CRADLE_UNCHECKED_COLLECTION static int open_with(void (*change)(cradle_options *)) {
  cradle_options options;
  fixture_options(&f, &options);
  if (change != NULL) change(&options);
  fixture_open_with(&f, &options);
  mapped = mmap(NULL, C_STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  allocated = malloc(C_STACK_BYTES);
  both = malloc(2 * C_STACK_BYTES);
  return mapped == MAP_FAILED || allocated == NULL || both == NULL;
}
static int open_plain(void **state) {
  (void)state;
  return open_with(NULL);
}
static void stress(cradle_options *options) {
  options->stress_period = 1;
  options->stress_major = 3;
}
static int open_stressed(void **state) {
  (void)state;
  return open_with(stress);
}
static void quarantine(cradle_options *options) {
  options->stress_period = 5;
  options->stress_major = 2;
  options->quarantine = 4;
}
static int open_quarantined(void **state) {
  (void)state;
  return open_with(quarantine);
}
static void beside(cradle_options *options) {
  options->pause_ns = 1;
  options->nursery_bytes = (size_t)32 << 10;
  options->gc_threads = 1;
}
static int open_beside(void **state) {
  (void)state;
  return open_with(beside);
}
CRADLE_UNCHECKED_COLLECTION static int close_it(void **state) {
  (void)state;
  fixture_close(&f);
  munmap(mapped, C_STACK_BYTES);
  free(allocated);
  free(both);
  return 0;
}

static pair *new_pair(pair *rest) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(f.m, rest);
  pair *made = CRADLE_NEW(f.m, pair, T_PAIR);
  made->rest = rest;
  return made;
}

/* --- coroutines --- */

CRADLE_UNCHECKED_COLLECTION static void resume(coroutine *c) {
  c->runs = true;
  cradle_root_stack *resumer = cradle_root_stack_switch(f.m, c->roots);
  c->context = jump_fcontext(c->context, c).from;
  cradle_root_stack_switch(f.m, resumer);
  c->runs = false;
}

static void yield(coroutine *c) {
  c->context = jump_fcontext(c->context, c).from;
}

/* No function that a context begins with may return. */
#define BEGIN(what) \
  static void begin_##what(transfer t) { \
    coroutine *c = t.data; \
    c->context = t.from; \
    what(c); \
    c->has_ended = true; \
    for (;;) yield(c); \
  }

static void make(coroutine *c, char *c_stack, void (*begin)(transfer)) {
  *c = (coroutine){.roots = cradle_root_stack_new(f.m), .c_stack = c_stack};
  assert_non_null(c->roots);
  c->context = make_fcontext(c_stack + C_STACK_BYTES, C_STACK_BYTES, begin);
}

static void let_go(coroutine *c) {
  cradle_root_stack_free(c->roots);
  sanitize_known(c->c_stack, C_STACK_BYTES); /* its frames never ended */
}

static char *c_stack_in(enum place place, char *in_frame) {
  switch (place) {
  case MAPPED: return mapped;
  case ALLOCATED: return allocated;
  case STATIC: return static_stack;
  case IN_FRAME: return in_frame;
  case LOWER: return both;
  default: return both + C_STACK_BYTES;
  }
}

CRADLE_UNCHECKED_COLLECTION static void go_deeper(coroutine *c, int depth) {
  pair *first = new_pair(NULL);
  CRADLE_ROOT(f.m, first);
  pair *second = new_pair(first);
  CRADLE_ROOT(f.m, second);
  cradle_push(f.m, second);
  yield(c);
  if (depth > 0) go_deeper(c, depth - 1);
  yield(c);
  c->wrong += second->rest != first || cradle_pop(f.m) != second;
}

/* One that is suspended. It runs on the C stack of nobody else, so it may be resumed from any. */
CRADLE_UNCHECKED_COLLECTION static void resume_another(const coroutine *c) {
  coroutine *other = &coroutines[(c - coroutines + 1 + c->rounds) % PLACES];
  if (!other->runs && !other->has_ended && other != &coroutines[DROPPED]) resume(other);
}

/* AddressSanitizer does not know these C stacks, so it keeps what it noted about the frames that a longjmp leaves. */
static __attribute__((noinline)) void landed(coroutine *c) {
  sanitize_known(c->c_stack, (size_t)((char *)__builtin_frame_address(0) - c->c_stack));
}

/* The same on the main program's stack, where misuse in a coroutine lands. */
static __attribute__((noinline)) void landed_in_main(void) {
  char *frame = __builtin_frame_address(0);
  sanitize_known(frame - C_STACK_BYTES, C_STACK_BYTES);
}

static jmp_buf landings[PLACES];
static volatile bool leaves = true;

CRADLE_UNCHECKED_COLLECTION static void throw_deep(coroutine *c, int depth) {
  pair *lost = new_pair(NULL);
  CRADLE_ROOT(f.m, lost);
  cradle_push(f.m, lost);
  yield(c);
  if (depth > 0) throw_deep(c, depth - 1);
  if (leaves) longjmp(landings[c - coroutines], 1);
}

CRADLE_UNCHECKED_COLLECTION static void catch(coroutine *c) {
  pair *volatile kept = new_pair(NULL);
  CRADLE_ROOT(f.m, kept);
  cradle_checkpoint checkpoint = cradle_checkpoint_save(f.m);
  if (setjmp(landings[c - coroutines]) == 0) throw_deep(c, 3);
  landed(c);
  cradle_checkpoint_restore(f.m, &checkpoint);
  kept = new_pair(kept);
  c->wrong += kept->rest->rest != NULL;
}

CRADLE_UNCHECKED_COLLECTION static void body(coroutine *c) {
  for (; c->rounds < 12; c->rounds++) {
    go_deeper(c, c->rounds % 5);
    resume_another(c);
    catch(c);
  }
}
BEGIN(body)

/* The main program has scopes open, too, in deeper and deeper frames. The dropped coroutine never goes on. */
CRADLE_UNCHECKED_COLLECTION static bool resume_all(int depth) {
  pair *mine = new_pair(NULL);
  CRADLE_ROOT(f.m, mine);
  pair *second = new_pair(mine);
  CRADLE_ROOT(f.m, second);
  bool all = true;
  for (int i = 0; i < PLACES; i++) {
    if (i == DROPPED && coroutines[i].rounds >= 5) continue;
    if (!coroutines[i].has_ended) resume(&coroutines[i]);
    all = all && coroutines[i].has_ended;
  }
  if (depth > 0) all = resume_all(depth - 1) || all;
  assert_ptr_equal(second->rest, mine);
  return all;
}

CRADLE_UNCHECKED_COLLECTION static void c_stacks_of_all_kinds(void **state) {
  (void)state;
  _Alignas(64) char in_frame[C_STACK_BYTES];
  for (int i = 0; i < PLACES; i++) make(&coroutines[i], c_stack_in((enum place)i, in_frame), begin_body);
  for (int depth = 0; !resume_all(depth % 4); depth++) {
    cradle_error error = {.message = ""};
    if (!cradle_heap_verify(f.heap, &error)) fail_msg("%s", error.message);
  }
  for (int i = 0; i < PLACES; i++) {
    assert_int_equal(coroutines[i].wrong, 0);
    assert_int_equal(coroutines[i].has_ended, i != DROPPED);
    let_go(&coroutines[i]);
  }
  cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
}

/* --- what is found --- */

CRADLE_UNCHECKED_COLLECTION static __attribute__((noinline)) void throw_from_a_scope(coroutine *c) {
  pair *lost = new_pair(NULL);
  CRADLE_ROOT(f.m, lost);
  yield(c);
  if (leaves) longjmp(landings[0], 1);
}

CRADLE_UNCHECKED_COLLECTION static void forget(coroutine *c) {
  if (setjmp(landings[0]) == 0) throw_from_a_scope(c);
  landed(c);
  (void)CRADLE_NEW(f.m, pair, T_PAIR);
}
BEGIN(forget)

CRADLE_UNCHECKED_COLLECTION static void a_forgotten_restore_is_found(void **state) {
  (void)state;
  _Alignas(64) char in_frame[C_STACK_BYTES];
  for (int i = 0; CRADLE_CHECKED && i < PLACES; i++) {
    make(&coroutines[0], c_stack_in((enum place)i, in_frame), begin_forget);
    resume(&coroutines[0]);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    f.message[0] = 0;
    if (FIXTURE_LANDS(&f)) resume(&coroutines[0]);
    landed_in_main();
    cradle_checkpoint_restore(f.m, &f.checkpoint);
    if (strstr(f.message, "a scoped root of a frame that is gone is still open: lost") == NULL)
      fail_msg("%s: \"%s\"", place_names[i], f.message);
    let_go(&coroutines[0]);
  }
}

CRADLE_UNCHECKED_COLLECTION static void allocate_rooted(coroutine *c) {
  (void)c;
  (void)new_pair(new_pair(NULL));
}
BEGIN(allocate_rooted)

/* Its scope is open while another C stack, which lies above, runs on the same root stack. */
CRADLE_UNCHECKED_COLLECTION static void share_the_root_stack(coroutine *c) {
  pair *mine = new_pair(NULL);
  CRADLE_ROOT(f.m, mine);
  coroutine *above = &coroutines[1];
  above->context = make_fcontext(above->c_stack + C_STACK_BYTES, C_STACK_BYTES, begin_allocate_rooted);
  (void)jump_fcontext(above->context, above);
  c->wrong += mine->rest != NULL;
}
BEGIN(share_the_root_stack)

/* The scopes nest, but the checks cannot know that. The message names a root stack as one of the remedies. */
CRADLE_UNCHECKED_COLLECTION static void a_c_stack_without_a_root_stack(void **state) {
  (void)state;
  if (!CRADLE_CHECKED) return;
  make(&coroutines[0], both, begin_share_the_root_stack);
  coroutines[1] = (coroutine){.c_stack = both + C_STACK_BYTES};
  f.message[0] = 0;
  if (FIXTURE_LANDS(&f)) resume(&coroutines[0]);
  landed_in_main();
  cradle_checkpoint_restore(f.m, &f.checkpoint);
  if (strstr(f.message, "a scoped root of a frame that is gone is still open: mine") == NULL)
    fail_msg("\"%s\"", f.message);
  let_go(&coroutines[0]);
  sanitize_known(both, 2 * C_STACK_BYTES);
}

/* Code without checks runs on a C stack below. It was resumed while an argument of a checked call was computed: that
 * call's frame says nothing about this C stack. */
CRADLE_UNCHECKED_COLLECTION static void collect_unchecked(coroutine *c) {
  pair *mine = new_pair(NULL);
  CRADLE_ROOT(f.m, mine);
  yield(c);
  (cradle_collect)(f.m, CRADLE_COLLECT_MINOR);
  c->wrong += mine->rest != NULL;
}
BEGIN(collect_unchecked)

CRADLE_UNCHECKED_COLLECTION static uint64_t no_time_after(coroutine *c) {
  resume(c);
  return 0;
}

CRADLE_UNCHECKED_COLLECTION static void resume_below(coroutine *c) {
  resume(c + 1);
  (void)cradle_collect_step(f.m, no_time_after(c + 1));
}
BEGIN(resume_below)

CRADLE_UNCHECKED_COLLECTION static void checked_calls_resume(void **state) {
  (void)state;
  make(&coroutines[0], both + C_STACK_BYTES, begin_resume_below);
  make(&coroutines[1], both, begin_collect_unchecked);
  resume(&coroutines[0]);
  for (int i = 0; i < 2; i++) {
    assert_true(coroutines[i].has_ended && coroutines[i].wrong == 0);
    let_go(&coroutines[i]);
  }
}

CRADLE_UNCHECKED_COLLECTION static void a_switch_ends_a_reservation(void **state) {
  (void)state;
  if (!CRADLE_CHECKED) return;
  cradle_root_stack *stack = cradle_root_stack_new(f.m);
  cradle_reservation room = cradle_reserve(f.m, 2 * sizeof(pair));
  (void)cradle_root_stack_switch(f.m, stack);
  (void)cradle_root_stack_switch(f.m, NULL);
  ASSERT_MISUSE(&f, "the reservation is over", (void)cradle_new_reserved(&room, T_PAIR, sizeof(pair)));
  cradle_root_stack_free(stack);
}

#define PLAIN(test) cmocka_unit_test_setup_teardown(test, open_plain, close_it)

int main(void) {
  const struct CMUnitTest tests[] = {
      PLAIN(c_stacks_of_all_kinds),
      cmocka_unit_test_setup_teardown(c_stacks_of_all_kinds, open_stressed, close_it),
      cmocka_unit_test_setup_teardown(c_stacks_of_all_kinds, open_quarantined, close_it),
      cmocka_unit_test_setup_teardown(c_stacks_of_all_kinds, open_beside, close_it),
      PLAIN(a_forgotten_restore_is_found),
      PLAIN(a_c_stack_without_a_root_stack),
      PLAIN(checked_calls_resume),
      PLAIN(a_switch_ends_a_reservation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
