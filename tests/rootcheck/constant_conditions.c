/* Loops whose condition is a constant: do ... while (0), which macros are made of, comes round once, and while (1) ends
 * by a break only. */
#include "program.h"

#define CHECK(condition) \
  do { \
    if (!(condition)) abort(); \
  } while (0)

void in_a_macro(cradle_mutator *m, pair *a) {
  CHECK(a->number == 1 && count(m) == 2);
}

void once(cradle_mutator *m, pair *a) {
  do {
    use(a);
    if (count(m) > 0) continue;
    make(m);
  } while (false);
}

void once_by_an_operator(cradle_mutator *m, pair *a) {
  do {
    use(a);
    make(m);
  } while (!1);
}

void ends_by_a_break(cradle_mutator *m, pair *a) {
  while (1) {
    if (sum(a) > 0) break;
    make(m);
    a = make(m);
  }
  use(a);
}

void after_once(cradle_mutator *m, pair *a) {
  do {
    use(a);
    make(m);
  } while (0);
  use(a); // expect: stale 'a' is used after 'make'
}

void again_and_again(cradle_mutator *m, pair *a) {
  do {
    use(a); // expect: stale 'a' is used after 'make'
    make(m);
  } while (1);
}

void who_knows(cradle_mutator *m, pair *a, int times) {
  do {
    use(a); // expect: stale 'a' is used after 'make'
    make(m);
  } while (times-- > 0);
}

void stale_at_a_break(cradle_mutator *m, pair *a) {
  while (true) {
    make(m);
    if (count(m) > 0) break;
  }
  use(a); // expect: stale 'a' is used after 'make'
}

static pair *never_without_a_return(cradle_mutator *m) {
  while (1) {
    pair *made = make(m);
    if (made->number > 0) return made;
  }
}

void comes_back(cradle_mutator *m, pair *a) {
  use(never_without_a_return(m));
  use(a); // expect: stale 'a' is used after 'never_without_a_return'
}

static void never_comes_back(cradle_mutator *m) {
  while (1) make(m);
}

void does_not_come_back(cradle_mutator *m, pair *a) {
  if (sum(a) == 0) never_comes_back(m);
  use(a);
}
