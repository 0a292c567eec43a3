/* Plain stores of references into objects that need not be fresh. */
#include "program.h"

void a_parameter(pair *a, pair *b) {
  a->first = b; // expect: barrier 'first'
}
void an_item(array *a, pair *b, int i) {
  a->items[i] = b; // expect: barrier an object
}
void a_named_slot(boxed *b, pair *a) {
  b->any = a;               // expect: barrier 'any'
  b->unknown = malloc(100); /* no slot */
}
void a_value(cradle_mutator *m, boxed *b, value v) {
  CRADLE_ROOT_VALUE(m, v);
  b->inside = v;  // expect: barrier 'inside'
  b->inside = 12; /* no reference */
  b->inside = (value)sizeof(pair) << 3;
}
void by_its_address(array *a, pair *b) {
  void **slot = &a->items[2];
  *slot = b; // expect: barrier an object
}
void no_longer_fresh(cradle_mutator *m) {
  pair *a = make(m);
  CRADLE_ROOT(m, a);
  pair *b = make(m);
  a->first = b; // expect: barrier 'first'
}
void fresh_one_way_only(pair *old, cradle_mutator *m, int which) {
  pair *b = make(m);
  CRADLE_ROOT(m, b);
  pair *a = which ? old : make(m); // expect: stale 'old'
  a->first = b;                    // expect: barrier 'first'
}
void in_a_loop(cradle_mutator *m, int n) {
  pair *last = make(m), *list = last;
  CRADLE_ROOT(m, last);
  CRADLE_ROOT(m, list);
  while (n-- > 0) {
    pair *next = make(m);
    last->rest = next; // expect: barrier 'rest'
    last = next;
  }
  use(list);
}
void pinned_from_the_start(cradle_mutator *m, pair *b) {
  CRADLE_ROOT(m, b);
  pair *a = cradle_new_with(m, T_PAIR, cradle_array_layout_of(sizeof(pair), 0, 0), 0, CRADLE_PINNED);
  a->first = b; // expect: barrier 'first'
}
void a_whole_structure(pair *a, const pair *b) {
  *a = *b; // expect: header as a whole
}

/* --- right --- */

void through_the_barrier(cradle_mutator *m, pair *a, pair *b) {
  cradle_store(m, a, &a->first, b);
  a->rest = b;
  cradle_write_barrier(m, a);
  a->first = NULL;
  a->number = 7;
}
pair *fresh(cradle_mutator *m, pair *list) {
  CRADLE_ROOT(m, list);
  pair *a = NULL;
  for (int i = 0; i < 3; i++) {
    a = make(m);
    a->rest = list;
    list = a;
  }
  pair *b = a; /* still fresh: nothing was allocated since */
  b->first = list;
  return b;
}

/* A function that fills in what it is given is right when all callers give fresh objects. */
static pair *filled(pair *a, pair *first) {
  a->first = first;
  return a;
}
void all_fresh(cradle_mutator *m, pair *first) {
  CRADLE_ROOT(m, first);
  pair *a = filled(make(m), NULL);
  a = filled(a, first);
  filled(a, a)->rest = first;
}
static void refilled(pair *a, pair *first) {
  a->first = first; // expect: barrier 'first'
}
void not_all_fresh(cradle_mutator *m, pair *old, pair *first) {
  CRADLE_ROOT(m, first);
  CRADLE_ROOT(m, old);
  pair *a = make(m);
  refilled(a, first);
  refilled(old, first);
}
static pair *or_an_old_one(cradle_mutator *m, pair *old, int which) {
  if (which) return old;
  return make(m);
}
void returned_fresh_or_not(cradle_mutator *m, pair *old, pair *first, int which) {
  CRADLE_ROOT(m, first);
  or_an_old_one(m, old, which)->rest = first; // expect: barrier 'rest'
}

/* The same structures in memory from malloc, where nothing is collected. */
void plain(pair *first) {
  pair *a = malloc(sizeof(pair));
  a->first = first;
  a->first->rest = a;
}
pair *at_the_end(int n) {
  pair *first = NULL, **end = &first;
  while (n-- > 0) {
    pair *next = malloc(sizeof(pair));
    *end = next;
    end = &next->rest;
  }
  return first;
}
