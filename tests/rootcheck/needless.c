/* Roots that protect nothing, which --needless finds. */
#include "program.h"

void used_before_only(cradle_mutator *m, pair *a) {
  CRADLE_ROOT(m, a); // expect: needless 'a'
  use(a);
  make(m);
}

pair *given_anew(cradle_mutator *m) {
  pair *result = NULL;
  CRADLE_ROOT(m, result); // expect: needless 'result'
  for (int i = 0; i < 3; i++) result = join(m, result, NULL);
  return result;
}

void null_over_the_call(cradle_mutator *m) {
  pair *a = NULL, *b = make(m);
  CRADLE_ROOT(m, a); // expect: needless 'a'
  CRADLE_ROOT(m, b); // expect: needless 'b'
  use(b);
  make(m);
  a = make(m);
  use(a);
}

void of_two_one(cradle_mutator *m, pair *a, pair *b) {
  CRADLE_ROOT(m, a); // expect: needless 'a'
  CRADLE_ROOT(m, b);
  b = join(m, a, b);
  make(m);
  use(b);
}

/* --- needed --- */

void in_a_loop(cradle_mutator *m, pair *a) {
  CRADLE_ROOT(m, a);
  for (int i = 0; i < 3; i++) {
    use(a);
    make(m);
  }
}
int64_t in_any_order(cradle_mutator *m, pair *a) {
  CRADLE_ROOT(m, a);
  return count(m) + sum(a);
}
static void append(cradle_mutator *m, pair **list) {
  CRADLE_ROOT(m, *list);
  *list = join(m, NULL, *list);
}
void handed_by_address(cradle_mutator *m, pair *a) {
  CRADLE_ROOT(m, a);
  append(m, &a);
}
