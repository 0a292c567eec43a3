#include "second_model.h"

#include <stdlib.h>

/* Roots and what they lead to are compared with the shadow, word for word; what is held weakly and still there, too. */

static void visit(world *w, node *n, void *object) {
  EXPECT(w, node_of(w, object) == n, "%p is %llx in place of %llx", object,
         (unsigned long long)node_of(w, object)->serial, (unsigned long long)n->serial);
  EXPECT(w, !n->is_dead, "%llx is back from the dead", (unsigned long long)n->serial);
  EXPECT(w, !n->is_destroyed, "%llx was destroyed and is there", (unsigned long long)n->serial);
  if (n->visited == w->comparison) {
    EXPECT(w, n->at == object, "%llx is at %p and at %p", (unsigned long long)n->serial, n->at, object);
    return;
  }
  n->visited = w->comparison;
  n->at = object;
  if (w->work_count == w->work_room) {
    w->work_room = w->work_room * 2 + 64;
    w->work = realloc(w->work, w->work_room * sizeof *w->work);
    if (w->work == NULL) abort();
  }
  w->work[w->work_count++] = n;
}

static void compare_word(world *w, const cell *cell, cradle_word word, cradle_kind kind, const char *where,
                         uint64_t number) {
  void *object = decode(w, kind, word);
  if (cell->node == NULL) {
    EXPECT(w, word == cell->rest, "%s %llx has %#llx in place of %#llx", where, (unsigned long long)number,
           (unsigned long long)word, (unsigned long long)cell->rest);
    return;
  }
  EXPECT(w, object != NULL, "%s %llx has lost %llx", where, (unsigned long long)number,
         (unsigned long long)cell->node->serial);
  EXPECT(w, (word ^ cell->rest) == (cradle_word)(uintptr_t)object, "%s %llx has other bits beside the address", where,
         (unsigned long long)number);
  visit(w, cell->node, object);
}

static void compare_root(world *w, cell *cell, cradle_word word, cradle_kind kind) {
  compare_word(w, cell, word, kind, "a root of step", w->step);
}

/* --- weak slots --- */

static cradle_kind kind_of(const node *n, size_t word) {
  return shape_is_value(n->shape, word) ? CRADLE_KIND_VALUE : CRADLE_KIND_REFERENCE;
}

/* Only what was not reached may be gone. Weak slots are cleared for good; a pair may have its key again, if a finalizer
 * brings that back. */
static void found_cleared(world *w, node *holder, size_t word) {
  cell *slot = &holder->cells[word];
  node *n = slot->node;
  bool is_key = shape_role(holder->shape, word) == ROLE_KEY;
  EXPECT(w, !is_reached(w, n) || (!is_key && slot->era != n->era), "word %zu of %llx has lost %llx, which lives", word,
         (unsigned long long)holder->serial, (unsigned long long)n->serial);
  if (is_key) return;
  weak_gone(w, n, slot->era);
  *slot = (cell){0};
}

void weak_gone(world *w, node *n, uint32_t era) {
  EXPECT(w, n->present_at != w->comparison || n->present_era != era, "some weak slots to %llx are cleared, others not",
         (unsigned long long)n->serial);
  if (n->gone <= era) n->gone = era + 1;
}

void weak_present(world *w, node *n, uint32_t era) {
  EXPECT(w, era >= n->gone, "a weak slot has %llx, of which others were cleared", (unsigned long long)n->serial);
  n->present_at = w->comparison;
  n->present_era = era;
}

void *weak_read(world *w, node *holder, cradle_word *object, size_t word, bool is_settled) {
  cell *slot = &holder->cells[word];
  cradle_word read = holder->shape->type.weak_values ? cradle_weak_get_value(w->m, &object[word])
                                                     : (cradle_word)(uintptr_t)cradle_weak_get(w->m, &object[word]);
  node *n = slot->node;
  if (n == NULL || read == 0) {
    EXPECT(w, n != NULL || read == slot->rest, "weak word %zu of %llx has %#llx", word,
           (unsigned long long)holder->serial, (unsigned long long)read);
    if (n != NULL) found_cleared(w, holder, word);
    return NULL;
  }
  void *target = decode(w, kind_of(holder, word), read);
  EXPECT(w, target != NULL && (read ^ slot->rest) == (cradle_word)(uintptr_t)target, "weak word %zu of %llx has %#llx",
         word, (unsigned long long)holder->serial, (unsigned long long)read);
  EXPECT(w, node_of(w, target) == n, "weak word %zu of %llx has another object", word,
         (unsigned long long)holder->serial);
  EXPECT(w, !is_settled || is_returnable(w, n), "weak word %zu of %llx has %llx, which a major collection left dead",
         word, (unsigned long long)holder->serial, (unsigned long long)n->serial);
  if (shape_role(holder->shape, word) == ROLE_WEAK) weak_present(w, n, slot->era);
  return target;
}

/* --- objects --- */

/* Compares only the bytes below the length. */
static cradle_word mask_of(const node *n, size_t word) {
  size_t bytes = n->shape->type.size + n->length * n->shape->type.item_size, end = (word + 1) * 8;
  return end <= bytes || n->shape->type.items != CRADLE_ITEMS_BYTES ? ~UINT64_C(0) : ~UINT64_C(0) >> 8 * (end - bytes);
}

static void compare_pair(world *w, node *n, cradle_word *object, size_t word, bool is_settled) {
  node *key = n->cells[word].node;
  void *target = weak_read(w, n, object, word, is_settled);
  if (target != NULL) visit(w, key, target);
  if (target != NULL || key == NULL) {
    compare_word(w, &n->cells[word + 1], object[word + 1], kind_of(n, word + 1), "pair of", n->serial);
  } else if (is_settled && !is_returnable(w, key)) {
    EXPECT(w, object[word] == 0 && object[word + 1] == 0, "a dead pair of %llx is not zero",
           (unsigned long long)n->serial);
    n->cells[word] = n->cells[word + 1] = (cell){0};
  }
}

static void compare_slot(world *w, node *n, cradle_word *object, size_t word, bool is_settled) {
  void *target;
  switch (shape_role(n->shape, word)) {
  case ROLE_OWN:
  case ROLE_RAW:
    EXPECT(w, ((object[word] ^ n->cells[word].rest) & mask_of(n, word)) == 0, "raw word %zu of %llx has changed", word,
           (unsigned long long)n->serial);
    return;
  case ROLE_REFERENCE:
    compare_word(w, &n->cells[word], object[word], CRADLE_KIND_REFERENCE, "object", n->serial);
    return;
  case ROLE_VALUE: compare_word(w, &n->cells[word], object[word], CRADLE_KIND_VALUE, "object", n->serial); return;
  case ROLE_WEAK:
    target = weak_read(w, n, object, word, is_settled);
    if (target != NULL) visit(w, n->cells[word].node, target);
    return;
  case ROLE_KEY: compare_pair(w, n, object, word, is_settled); return;
  default: return;
  }
}

static void compare_object(world *w, node *n, bool is_settled) {
  cradle_word *object = n->at;
  EXPECT(w, n->pins == 0 || n->pinned_at == object, "%llx is pinned and has moved", (unsigned long long)n->serial);
  EXPECT(w, n->hash == 0 || cradle_identity_hash(w->m, object) == n->hash, "%llx has another hash",
         (unsigned long long)n->serial);
  for (size_t word = 1; word < n->words; word++) compare_slot(w, n, object, word, is_settled);
  for (size_t i = 0; i < n->outside_count; i++)
    compare_word(w, &n->outside[i], n->buffer[i], CRADLE_KIND_REFERENCE, "the buffer of", n->serial);
}

static void compare_held(world *w) {
  for (size_t i = 0; i < w->node_count; i++)
    if (w->nodes[i]->pins != 0) visit(w, w->nodes[i], w->nodes[i]->pinned_at);
}

/* --- what must be gone --- */

static void check_gone(world *w, node *n) {
  n->is_dead = true;
  if (n->shape->type.destructor != NULL)
    EXPECT(w, n->is_destroyed, "%llx is dead and was not destroyed", (unsigned long long)n->serial);
  if (n->id != 0)
    EXPECT(w, cradle_object_of_id(w->m, n->id) == NULL, "%llx is dead and has an id", (unsigned long long)n->serial);
}

bool anything_waits(const world *w) {
  for (uint32_t queue = 1; queue <= CRADLE_FINALIZER_QUEUES; queue++)
    if (finalizers_waiting(w->m, queue) != 0) return true;
  return false;
}

/* If the queues are empty, no reached object may wait in one. */
static void forget_waiting(world *w) {
  for (size_t i = 0; i < w->node_count; i++)
    if (is_reached(w, w->nodes[i])) w->nodes[i]->may_wait = false;
}

void compare(world *w, bool is_settled) {
  w->comparison++;
  reckon(w);
  places_each(w, compare_root);
  compare_held(w);
  while (w->work_count != 0) compare_object(w, w->work[--w->work_count], is_settled);
  for (size_t i = 0; i < w->node_count; i++) {
    node *n = w->nodes[i];
    EXPECT(w, !is_reached(w, n) || n->visited == w->comparison, "%llx is reached in the shadow alone",
           (unsigned long long)n->serial);
    if (is_settled && !is_returnable(w, n)) check_gone(w, n);
  }
  if (is_settled) sets_settled(w);
  if (!anything_waits(w)) forget_waiting(w);
}
