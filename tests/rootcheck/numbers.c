/* What is read of a stale value but the reference: its tag, and a number in it. Values are a pointer, or a number and a
 * tag. */
#include "program.h"

enum { TAG_MASK = 7, NUMBER = 1 };

int a_tag(cradle_mutator *m, value v) {
  make(m);
  if ((v & TAG_MASK) == NUMBER) return 1;
  if (v & 4) return 2;
  return (int)(v & TAG_MASK);
}
int64_t a_number(cradle_mutator *m, value v) {
  make(m);
  int64_t number = (int64_t)v >> 3;
  return number + (int)v;
}
int in_an_operand(cradle_mutator *m, value v) {
  return (int)v + (int)count(m);
}
pair *an_address(cradle_mutator *m, value v) {
  make(m);
  return (pair *)(v >> 3); // expect: stale 'v'
}
pair *another_address(cradle_mutator *m, value v) {
  make(m);
  return (pair *)(v & ~(value)TAG_MASK); // expect: stale 'v'
}
bool the_same(cradle_mutator *m, value a, value b) {
  make(m);
  return a == b; // expect: stale 'a' // expect: stale 'b'
}
value whole(cradle_mutator *m, value v) {
  make(m);
  return v + 1; // expect: stale 'v'
}

/* A local with a number. */
static value of_number(int64_t number) {
  return (value)number << 3 | NUMBER;
}
void a_number_held(cradle_mutator *m, value v) {
  value number = of_number(3);
  make(m);
  use_value(number);
  number = v; // expect: stale 'v'
  make(m);
  use_value(number); // expect: stale 'number'
}

/* Globals that only ever hold numbers, or what others of them hold. */
static value nothing, truth, either, mixed, unknown;
void start(cradle_mutator *m) {
  nothing = (value)2 << 3 | NUMBER;
  truth = (value)3 << 3 | NUMBER;
  unknown = 0;
  mixed = truth;
  mixed = make_value(m); // expect: global 'mixed'
}
void choose(int which) {
  either = which ? nothing : truth;
  either = truth;
}
void constants(cradle_mutator *m, pair *a) {
  CRADLE_ROOT(m, a);
  value v = truth;
  use_two(make(m), (void *)truth);
  use_value(v);
  v = unknown;
  make(m);
  use_value(v); // expect: stale 'v'
  value w = mixed;
  make(m);
  use_value(w); // expect: stale 'w'
}

/* Somebody else may give it anything. */
static value filled_elsewhere;
void fill(value *place);
void handed_out(cradle_mutator *m) {
  filled_elsewhere = (value)2 << 3 | NUMBER;
  fill(&filled_elsewhere);
  value v = filled_elsewhere;
  make(m);
  use_value(v); // expect: stale 'v'
}

/* A fresh object by its value. */
static value boxed_value(cradle_mutator *m) CRADLE_MAY_COLLECT {
  boxed *made = CRADLE_NEW(m, boxed, T_BOXED);
  return (value)(uintptr_t)made | 2;
}
void filled(cradle_mutator *m, value v) {
  CRADLE_ROOT_VALUE(m, v);
  value made = boxed_value(m);
  CRADLE_ROOT_VALUE(m, made);
  ((boxed *)(made & ~(value)TAG_MASK))->inside = v;
  make(m);
  ((boxed *)(made & ~(value)TAG_MASK))->inside = v; // expect: barrier 'inside'
}

/* One local, stale in several places: told once. */
void several(cradle_mutator *m, pair *a, int which) {
  make(m);
  if (which == 1) use(a); // expect: stale also in lines 106, 107
  if (which == 2) use(a);
  if (which == 3) use(a);
}
