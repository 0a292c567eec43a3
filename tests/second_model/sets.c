#include "second_model.h"

#include <stdlib.h>

/* --- weak sets --- */

static bool has_serial(const void *object, const void *key) {
  const cradle_word *words = object;
  return words[shapes[cradle_type_of(object)].serial_word] == *(const uint64_t *)key;
}

/* Few hashes, so that places collide. */
static uint64_t hash_of(const node *n) {
  return (n->serial % 13) * UINT64_C(0x10000001);
}

void set_swept(void *data, size_t removed) {
  model_set *set = data;
  set->swept += removed;
}

static void entry_forget(model_set *set, size_t i) {
  set->entries[i] = set->entries[--set->count];
}

/* What the set finds. If the object is dead, it may find nothing; then the entry is forgotten. */
static void *entry_find(world *w, model_set *set, size_t i, bool is_settled) {
  set_entry *entry = &set->entries[i];
  node *n = entry->node;
  void *object = cradle_weak_set_find(set->set, entry->hash, has_serial, &n->serial);
  if (object == NULL) {
    EXPECT(w, !is_reached(w, n) || entry->era != n->era, "a weak set has lost %llx, which lives",
           (unsigned long long)n->serial);
    weak_gone(w, n, entry->era);
    set->vanished++;
    entry_forget(set, i);
    return NULL;
  }
  EXPECT(w, node_of(w, object) == n, "a weak set found another object");
  EXPECT(w, !is_settled || is_returnable(w, n), "a weak set has %llx, which a major collection left dead",
         (unsigned long long)n->serial);
  weak_present(w, n, entry->era);
  return object;
}

static size_t entry_of(const model_set *set, const node *n) {
  size_t i = 0;
  while (i < set->count && set->entries[i].node != n) i++;
  return i;
}

static model_set *draw_set(world *w) {
  w->comparison++;
  reckon(w);
  return &w->sets[below(w, SETS)];
}

/* Whether the node is in the set, as the set says. */
static bool is_in_set(world *w, model_set *set, const node *n) {
  size_t i = entry_of(set, n);
  return i < set->count && entry_find(w, set, i, false) != NULL;
}

static void add_one(world *w, model_set *set) {
  place at;
  if (set->count == SET_MAX || !place_with_object(w, &at)) return;
  node *n = place_cell(w, at)->node;
  if (is_in_set(w, set, n)) return;
  void *object = place_object(w, at);
  if (!cradle_weak_set_add(set->set, hash_of(n), object)) return;
  set->entries[set->count++] = (set_entry){.node = n, .hash = hash_of(n), .era = n->era};
}

void set_add(world *w) {
  model_set *set = draw_set(w);
  for (uint64_t count = 1 + below(w, 6); count > 0; count--) add_one(w, set);
}

void set_find(world *w) {
  model_set *set = draw_set(w);
  if (set->count == 0) return;
  size_t i = below(w, set->count);
  node *n = set->entries[i].node;
  void *object = entry_find(w, set, i, false);
  if (object == NULL) return;
  comes_back(w, n, false);
  keep(w, n, object);
}

void set_remove(world *w) {
  place at;
  model_set *set = draw_set(w);
  if (!place_with_object(w, &at)) return;
  node *n = place_cell(w, at)->node;
  bool is_in = is_in_set(w, set, n);
  bool was_in = cradle_weak_set_remove(set->set, hash_of(n), place_object(w, at));
  EXPECT(w, is_in == was_in, "%llx was%s in a weak set", (unsigned long long)n->serial, was_in ? "" : " not");
  if (is_in) entry_forget(set, entry_of(set, n));
}

/* Each entry that is there once. */
static void check_iteration(world *w, model_set *set) {
  cradle_weak_cursor cursor = {0};
  size_t count = 0;
  for (void *object; (object = cradle_weak_set_next(set->set, &cursor)) != NULL; count++) {
    node *n = node_of(w, object);
    size_t i = entry_of(set, n);
    EXPECT(w, i < set->count, "a weak set gives %llx, which is not in it", (unsigned long long)n->serial);
    EXPECT(w, !n->was_reached, "a weak set gives %llx twice", (unsigned long long)n->serial);
    n->was_reached = true;
  }
  EXPECT(w, count == set->count, "a weak set gives %zu of %zu objects", count, set->count);
}

static void check_set(world *w, model_set *set, bool is_settled) {
  for (size_t i = set->count; i > 0; i--) (void)entry_find(w, set, i - 1, is_settled);
  for (size_t i = 0; i < w->node_count; i++) w->nodes[i]->was_reached = false;
  check_iteration(w, set);
}

void set_iterate(world *w) {
  check_set(w, draw_set(w), false);
}

void sets_settled(world *w) {
  for (size_t i = 0; i < SETS; i++) {
    model_set *set = &w->sets[i];
    check_set(w, set, true);
    EXPECT(w, set->swept == set->vanished, "a weak set told of %zu dead objects, of %zu", set->swept, set->vanished);
  }
}
