/* What a macro's body does: an assignment has one order, whichever version of libclang reads it, and so have && and a
 * comma. */
#include "program.h"
#include <stdbool.h>

static int made;

#define RETURN_VALUE(x) \
  do { \
    value v_ = (x); \
    *result = v_; \
    return true; \
  } while (0)
#define RETURN_AT_ONCE(x) \
  do { \
    *result = (x); \
    return true; \
  } while (0)
#define SET_ITEM(i, x) (result[i] = (x))
#define COUNTED(call) (made++, call)
#define BOTH(a, b) ((a) != NULL && (b) != NULL)
#define SUM_AND(a, call) (sum(a) > 0 && (call) != NULL)
#define SET(name, x) (name = (x))
#define PAIR_OF(a, b) join(m, a, b)

bool returns(cradle_mutator *m, value *result) {
  RETURN_VALUE(make_value(m));
}
bool returns_at_once(cradle_mutator *m, value *result) {
  RETURN_AT_ONCE(make_value(m));
}
void sets(cradle_mutator *m, value *result, int i) {
  SET_ITEM(i, make_value(m));
}
void counts(cradle_mutator *m) {
  pair *a = COUNTED(make(m));
  CRADLE_ROOT(m, a);
  pair *b = COUNTED(make(m));
  use_two(a, b);
}
void tests_both(cradle_mutator *m, pair *a) {
  if (BOTH(a, make(m))) use(NULL);
}

void sums(cradle_mutator *m, pair *a) {
  if (SUM_AND(a, make(m))) use(NULL);
}
void sets_again(cradle_mutator *m) {
  pair *a = make(m);
  make(m);
  SET(a, make(m));
  use(a);
}

/* --- wrong --- */

void any_order(cradle_mutator *m, pair *a) {
  CRADLE_ROOT(m, a);
  use(PAIR_OF(a, make(m))); // expect: order 'make'
}
void counted(cradle_mutator *m) {
  pair *a = COUNTED(make(m));
  make(m);
  use(a); // expect: stale 'a'
}
