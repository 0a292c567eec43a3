/* Operands that C evaluates in any order, of which one may collect. */
#include "program.h"

pair *two_results(cradle_mutator *m) {
  return join(m, make(m), make(m)); // expect: order 'make' // expect: order 'make'
}

pair *rooted_does_not_help(cradle_mutator *m, pair *a) {
  CRADLE_ROOT(m, a);
  return join(m, a, make(m)); // expect: order 'make'
}

void store_into_a_field(cradle_mutator *m, pair *a) {
  CRADLE_ROOT(m, a);
  a->first = make(m); // expect: order address
}

void store_into_an_item(cradle_mutator *m, array *a, int i) {
  CRADLE_ROOT(m, a);
  a->items[i] = make(m); // expect: order address
}

void barriered_store(cradle_mutator *m, pair *a) {
  CRADLE_ROOT(m, a);
  cradle_store(m, a, &a->first, make(m)); // expect: order 'make' // expect: order 'make'
}

int64_t not_rooted(cradle_mutator *m, pair *a) {
  return sum(a) + count(m); // expect: order 'a'
}

void compared(cradle_mutator *m, pair *a) {
  CRADLE_ROOT(m, a);
  if (a == make(m)) use(NULL); // expect: order 'make'
}

void initialised(cradle_mutator *m) {
  pair both[] = {{.first = make(m), .rest = make(m)}}; // expect: order 'make' // expect: order 'make'
  use(both);
}

void through_a_slot(cradle_mutator *m, array *a) {
  void **slot = &a->items[0];
  *slot = make(m); // expect: order address
}

void nested(cradle_mutator *m, pair *a) {
  CRADLE_ROOT(m, a);
  use(join(m, a->first, join(m, NULL, NULL))); // expect: order 'join'
}

void two_values(cradle_mutator *m, value v) {
  CRADLE_ROOT_VALUE(m, v);
  use_two((void *)(uintptr_t)v, make(m)); // expect: order 'make'
}
