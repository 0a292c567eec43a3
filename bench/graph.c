#include "bench/graph.h"

#include <string.h>

enum { PASSING_CELLS = 4 };

static void check_element(const element *e, uint64_t place) {
  const bytes *payload = e->payload;
  if (e->number != place) workload_wrong("an element's number");
  if (payload->length > GRAPH_PAYLOAD_MOST) workload_wrong("a payload's length");
  for (uint64_t i = 0; i < payload->length; i++)
    if (payload->data[i] != (place & 0xff)) workload_wrong("a payload's contents");
}

static element *element_new(cradle_mutator *m, uint64_t place, uint64_t length) CRADLE_MAY_COLLECT {
  bytes *payload = CRADLE_NEW_ARRAY(m, bytes, TYPE_BYTES, data, length, length);
  memset(payload->data, (int)(place & 0xff), length);
  cradle_push(m, payload);
  element *e = CRADLE_NEW(m, element, TYPE_ELEMENT);
  e->payload = cradle_pop(m);
  e->number = place;
  return e;
}

static uint64_t random_place(const array *all, randomizer *r) {
  return random_below(r, all->length);
}

void graph_fill(cradle_mutator *m, array **all, randomizer *r) {
  for (uint64_t i = 0; i < (*all)->length; i++) {
    element *e = element_new(m, i, random_below(r, GRAPH_PAYLOAD_MOST + 1));
    if (i > 0) e->left = (*all)->slots[random_below(r, i)];
    cradle_store(m, *all, &(*all)->slots[i], e);
  }
}

/* A replaced element clears its references: others may still refer to it, and it must not keep a chain of earlier
 * elements alive. */
static void replace(cradle_mutator *m, array **all, randomizer *r) CRADLE_MAY_COLLECT {
  uint64_t place = random_place(*all, r);
  element *e = element_new(m, place, random_below(r, GRAPH_PAYLOAD_MOST + 1));
  element *old = (*all)->slots[place];
  check_element(old, place);
  e->left = (*all)->slots[random_place(*all, r)];
  cradle_store(m, old, &old->left, NULL);
  cradle_store(m, old, &old->right, NULL);
  cradle_store(m, old, &old->payload, NULL);
  cradle_store(m, *all, &(*all)->slots[place], e);
}

void graph_mutate(cradle_mutator *m, array **all, randomizer *r) {
  replace(m, all, r);
  element *from = (*all)->slots[random_place(*all, r)];
  cradle_store(m, from, &from->right, (*all)->slots[random_place(*all, r)]);
  for (int i = 0; i < PASSING_CELLS; i++) {
    cell *passing = CRADLE_NEW(m, cell, TYPE_CELL);
    __asm__ volatile("" : : "r"(passing) : "memory"); /* the compiler must assume that it is used */
  }
}

uint64_t graph_check(const array *all) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < all->length; i++) {
    const element *e = all->slots[i];
    check_element(e, i);
    if (e->left != NULL && e->left->payload != NULL) check_element(e->left, e->left->number);
    if (e->right != NULL && e->right->payload != NULL) check_element(e->right, e->right->number);
    sum = sum * 31 + e->payload->length;
    if (e->left != NULL) sum += e->left->number;
    if (e->right != NULL) sum += e->right->number;
  }
  return sum;
}
