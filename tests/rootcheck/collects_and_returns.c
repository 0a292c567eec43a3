/* Functions that collect on some way that comes back, although others end in an error. */
#include "program.h"
#include <setjmp.h>

static jmp_buf landing;

static void raise_error(cradle_mutator *m, const char *message) CRADLE_MAY_COLLECT {
  use_two(make(m), message);
  longjmp(landing, 1);
}

static void check_after_a_poll(cradle_mutator *m, pair *a) CRADLE_MAY_COLLECT {
  if (a == NULL) raise_error(m, "a pair is wanted");
  cradle_safepoint(m);
}
void polls(cradle_mutator *m, pair *a) {
  check_after_a_poll(m, a);
  use(a); // expect: stale 'check_after_a_poll'
}

/* Declarations that begin with a macro of this file, one of them that does not return before one that does. */
#define HOST_API __attribute__((__visibility__("default")))
HOST_API __attribute__((__noreturn__)) void host_fail(const char *message);
HOST_API void host_polls(cradle_mutator *m) CRADLE_MAY_COLLECT;
void calls_its_host(cradle_mutator *m, pair *a) {
  if (a == NULL) host_fail("a pair is wanted");
  host_polls(m);
  use(a); // expect: stale 'host_polls'
}

/* An error that is only told. */
static void warn(cradle_mutator *m, int twice) CRADLE_MAY_COLLECT {
  use(make(m));
  if (twice) raise_error(m, "the second one");
}
static void check(cradle_mutator *m, pair *a) CRADLE_MAY_COLLECT {
  if (a == NULL) warn(m, 0);
}
void goes_on_after_a_warning(cradle_mutator *m, pair *a, pair *b) {
  check(m, b);
  use(a); // expect: stale 'check'
}

/* The collection is at the bottom of a recursion that returns. */
static int64_t walk(cradle_mutator *m, int64_t depth) CRADLE_MAY_COLLECT;
static int64_t walk_below(cradle_mutator *m, int64_t depth) CRADLE_MAY_COLLECT {
  return walk(m, depth - 1);
}
static int64_t walk(cradle_mutator *m, int64_t depth) {
  if (depth < 0) raise_error(m, "too deep");
  return depth == 0 ? count(m) : walk_below(m, depth);
}
void recursion(cradle_mutator *m, pair *a) {
  if (walk(m, 10) > 2) use(a); // expect: stale 'walk'
}

/* What did not come back lands here. */
void lands(cradle_mutator *m, pair *a) {
  if (setjmp(landing) != 0) {
    use(a); // expect: stale 'a'
    return;
  }
  raise_error(m, "always");
}
static int guarded(cradle_mutator *m) CRADLE_MAY_COLLECT {
  if (setjmp(landing) != 0) return 1;
  raise_error(m, "always");
  return 0;
}
void calls_what_lands(cradle_mutator *m, pair *a) {
  if (guarded(m)) use(a); // expect: stale 'guarded'
}

/* A hook of another library's: of what it does only the mark tells. */
typedef struct library {
  void (*hook)(void *data, double unlike_any_other);
} library;
static void run_hook(library *l, void *data) CRADLE_MAY_COLLECT {
  l->hook(data, 0.5);
}
void believes_the_mark(library *l, pair *a) {
  run_hook(l, l);
  use(a); // expect: stale 'run_hook'
}

/* Labels as values: from each instruction to any other. */
void interpreter(cradle_mutator *m, pair *a, const unsigned char *code) {
  static const void *const labels[] = {&&look, &&allocate, &&stop};
  goto *labels[*code++];
look:
  use(a); // expect: stale 'a'
  goto *labels[*code++];
allocate:
  make(m);
  goto *labels[*code++];
stop:
  return;
}
