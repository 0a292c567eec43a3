/* Functions that collect only where they do not come back leave their callers' locals alone: nothing may be found. */
#include "program.h"
#include <setjmp.h>
#include <stdnoreturn.h>

static jmp_buf landing;

/* Not marked _Noreturn: that it never returns is seen in its body. */
static void raise_error(cradle_mutator *m, const char *message) CRADLE_MAY_COLLECT {
  pair *error = make(m);
  use_two(error, message);
  longjmp(landing, 1);
}

/* Defined elsewhere. */
_Noreturn void fail(cradle_mutator *m, const char *message) CRADLE_MAY_COLLECT;
extern noreturn void fail_too(cradle_mutator *m, const char *message) CRADLE_MAY_COLLECT;
void fail_as_well(cradle_mutator *m, const char *message) CRADLE_MAY_COLLECT __attribute__((noreturn));
void calls_that_fail(cradle_mutator *m, pair *a) {
  if (a == NULL) fail(m, "a pair is wanted");
  if (a->first == NULL) fail_too(m, "a pair with a first is wanted");
  if (a->rest == NULL) fail_as_well(m, "a pair with a rest is wanted");
  use(a);
}

static void check(cradle_mutator *m, pair *a) CRADLE_MAY_COLLECT {
  if (a == NULL) raise_error(m, "a pair is wanted");
}

static pair *checked(cradle_mutator *m, pair *a) CRADLE_MAY_COLLECT {
  return a != NULL ? a : (raise_error(m, "a pair is wanted"), a);
}

void checks_may_collect_and_leave(cradle_mutator *m, pair *a, pair *b) {
  check(m, b);
  pair *c = checked(m, b);
  use_two(a, c);
}

void operands_that_leave(cradle_mutator *m, pair *a, pair *b) {
  use_two(checked(m, a), checked(m, b));
  a->first = checked(m, b);
}

/* Two functions that call each other, and collect only on the way out. */
static int64_t depth_of(cradle_mutator *m, pair *a, int64_t most) CRADLE_MAY_COLLECT;
static int64_t depth_below(cradle_mutator *m, pair *a, int64_t most) CRADLE_MAY_COLLECT {
  int64_t first = depth_of(m, a->first, most - 1), rest = depth_of(m, a->rest, most - 1);
  return 1 + (first > rest ? first : rest);
}
static int64_t depth_of(cradle_mutator *m, pair *a, int64_t most) {
  if (most == 0) raise_error(m, "too deep");
  return a == NULL ? 0 : depth_below(m, a, most);
}
void recursion(cradle_mutator *m, pair *a) {
  if (depth_of(m, a, 100) > 2) use(a);
}

/* A collection in a loop that is only left by an error, and one after which the program ends. */
static void forever(cradle_mutator *m, int64_t wanted) CRADLE_MAY_COLLECT {
  if (wanted == 0) return;
  for (;;)
    if (count(m) == wanted) raise_error(m, "found");
}
static void end(cradle_mutator *m, int status) CRADLE_MAY_COLLECT {
  if (status == 0) return;
  cradle_collect(m, CRADLE_COLLECT_FULL);
  exit(status);
}
void loops_and_ends(cradle_mutator *m, pair *a) {
  forever(m, 7);
  end(m, 1);
  use(a);
}

static void check_value(cradle_mutator *m, value v) CRADLE_MAY_COLLECT {
  switch (v & 7) {
  case 0: break;
  case 1: raise_error(m, "a number is not wanted"); break;
  default: raise_error(m, "a pair is wanted");
  }
}
void in_a_switch(cradle_mutator *m, value v, pair *a) {
  value kept = v;
  CRADLE_ROOT_VALUE(m, kept);
  check_value(m, kept);
  use(a);
}

/* The locals are rooted before the place where errors land. */
void lands(cradle_mutator *m, pair *a) {
  CRADLE_ROOT(m, a);
  if (setjmp(landing) == 0) check(m, a);
  use(a);
}
