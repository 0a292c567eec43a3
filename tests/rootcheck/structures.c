/* Local structures as a whole, structures within structures, and functions that are called through pointers. */
#include "program.h"

typedef struct two {
  pair *first, *second;
  int64_t number;
} two;

struct nest {
  two inside;
  pair *beside;
};

two make_two(cradle_mutator *m) CRADLE_MAY_COLLECT;
void use_both(two t);
void use_number(int64_t number);

void passed_whole(cradle_mutator *m) {
  two t = make_two(m);
  make(m);
  use_both(t); // expect: stale 't.first' // expect: stale 't.second'
}

two returned_whole(cradle_mutator *m, two t) {
  make(m);
  return t; // expect: stale 't.first' // expect: stale 't.second'
}

void copied_whole(cradle_mutator *m, pair *a) {
  two t = {a, a, 0};
  make(m);
  two u = t; // expect: stale 't.first' // expect: stale 't.second'
  use_number(u.number);
}

void one_member_is_rooted(cradle_mutator *m, two t) {
  CRADLE_ROOT(m, t.first);
  make(m);
  use_both(t); // expect: stale 't.second'
}

void both_members_are_rooted(cradle_mutator *m, two t) {
  CRADLE_ROOT(m, t.first);
  CRADLE_ROOT(m, t.second);
  make(m);
  use_both(t);
}

void empty(cradle_mutator *m) {
  two t = {NULL, NULL, 0};
  make(m);
  use_both(t);
}

void assigned_whole(cradle_mutator *m, two t) {
  make(m);
  t = make_two(m);
  use_both(t);
  use(t.first);
}

void not_the_references(cradle_mutator *m, two t) {
  make(m);
  use_number(t.number);
}

void within_another(cradle_mutator *m, pair *a) {
  struct nest n = {{a, a, 0}, a};
  make(m);
  use(n.inside.first); // expect: stale 'n.inside.first'
  use_both(n.inside);  // expect: stale 'n.inside.second'
  use(n.beside);       // expect: stale 'n.beside'
}

void within_another_rooted(cradle_mutator *m, pair *a) {
  struct nest n = {{NULL, NULL, 0}, NULL};
  CRADLE_ROOT(m, n.inside.first);
  n.inside.first = a;
  make(m);
  use(n.inside.first);
}

void assigned_within_another(cradle_mutator *m, struct nest n) {
  make(m);
  n.inside = make_two(m);
  use_both(n.inside);
}

void not_used(cradle_mutator *m, pair *a) {
  make(m);
  (void)a;
}

void through_a_pointer(cradle_mutator *m, pair *a) {
  pair *(*join_them)(cradle_mutator *, pair *, pair *) = join;
  join_them(m, a, a);
  use(a); // expect: stale 'a' is used after 'join_them'
}
