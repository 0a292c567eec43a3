/* The typed forms of allocation: a reference is what they give, and each that may collect is a call that does. */
#include "program.h"

/* Not named "header", and no slot: that it is an object, only the allocation tells. */
typedef struct plain {
  uint64_t word, number;
} plain;

void fixed(cradle_mutator *m, pair *a) {
  use(CRADLE_NEW(m, pair, T_PAIR));
  use(a); // expect: stale 'a' is used after 'CRADLE_NEW'
}

#define USE_NEW(m) use(CRADLE_NEW(m, pair, T_PAIR))
void in_a_macro(cradle_mutator *m, pair *a) {
  USE_NEW(m);
  use(a); // expect: stale 'a' is used after 'cradle_new'
}
void uninitialized(cradle_mutator *m, pair *a) {
  use(CRADLE_NEW_UNINITIALIZED(m, pair, T_PAIR));
  use(a); // expect: stale 'CRADLE_NEW_UNINITIALIZED'
}
void registered(cradle_mutator *m, pair *a) {
  use(CRADLE_NEW_WITH(m, pair, T_PAIR, 0));
  use(a); // expect: stale 'CRADLE_NEW_WITH'
}
void with_items(cradle_mutator *m, pair *a, size_t n) {
  use(CRADLE_NEW_ARRAY(m, array, T_ARRAY, items, length, n));
  use(a); // expect: stale 'CRADLE_NEW_ARRAY'
}
void with_items_uninitialized(cradle_mutator *m, pair *a, size_t n) {
  use(CRADLE_NEW_ARRAY_UNINITIALIZED(m, array, T_ARRAY, items, length, n));
  use(a); // expect: stale 'CRADLE_NEW_ARRAY_UNINITIALIZED'
}
void with_items_registered(cradle_mutator *m, pair *a, size_t n) {
  use(CRADLE_NEW_ARRAY_WITH(m, array, T_ARRAY, items, length, n, 0));
  use(a); // expect: stale 'CRADLE_NEW_ARRAY_WITH'
}

void the_new_one_too(cradle_mutator *m) {
  plain *p = CRADLE_NEW(m, plain, T_BOXED);
  count(m);
  use(p); // expect: stale 'p' is used after 'count'
  array *v = CRADLE_NEW_ARRAY(m, array, T_ARRAY, items, length, 3);
  count(m);
  use(v); // expect: stale 'v' is used after 'count'
}

pair *in_an_argument(cradle_mutator *m, pair *a) {
  CRADLE_ROOT(m, a);
  return join(m, a, CRADLE_NEW(m, pair, T_PAIR)); // expect: order 'CRADLE_NEW'
}

/* These make no call. */
void never_collect(cradle_mutator *m, cradle_reservation *r, pair *a) {
  use(CRADLE_NEW_FAST(m, pair, T_PAIR));
  use(CRADLE_NEW_ARRAY_FAST(m, array, T_ARRAY, items, length, 3));
  use(CRADLE_NEW_RESERVED(r, pair, T_PAIR));
  use(CRADLE_NEW_RESERVED_ARRAY(r, array, T_ARRAY, items, length, 3));
  use(a);
}
