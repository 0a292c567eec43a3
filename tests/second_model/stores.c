#include "second_model.h"

#include <stdlib.h>
#include <string.h>

/* --- one slot --- */

static void put(world *w, node *holder, cradle_word *object, size_t word, cradle_word to, bool is_new) {
  void *reference = (void *)(uintptr_t)to;
  bool is_value = shape_is_value(holder->shape, word);
  if (is_new) {
    object[word] = to;
    return;
  }
  switch (below(w, 3)) {
  case 0:
    object[word] = to;
    cradle_write_barrier(w->m, object);
    return;
  case 1:
    if (!is_value) {
      cradle_store(w->m, object, &object[word], reference);
      return;
    }
    __attribute__((fallthrough));
  default: cradle_store_value(w->m, object, &object[word], to);
  }
}

/* From a root that is drawn: its object, or nothing, or for a value an immediate. */
static void put_any(world *w, node *holder, cradle_word *object, size_t word, bool is_new) {
  bool is_value = shape_is_value(holder->shape, word);
  cell *cell = &holder->cells[word];
  place from;
  if (is_value && chance(w, 4)) {
    put(w, holder, object, word, encode_immediate(w, cell), is_new);
    return;
  }
  bool has_object = !chance(w, 6) && place_with_object(w, &from);
  node *n = has_object ? place_cell(w, from)->node : NULL;
  void *to = has_object ? place_object(w, from) : NULL;
  put(w, holder, object, word, encode(w, is_value ? CRADLE_KIND_VALUE : CRADLE_KIND_REFERENCE, n, to, cell), is_new);
}

/* A pair whose key reads as zero is written whole, as the header asks. Another key may make a value reached that only
 * a dead key led to, which waits in a queue. */
static void put_pair(world *w, node *holder, cradle_word *object, size_t key, size_t word, bool is_new) {
  bool is_empty = holder->shape->type.weak_values ? cradle_weak_get_value(w->m, &object[key]) == 0
                                                  : cradle_weak_get(w->m, &object[key]) == NULL;
  node *held = holder->cells[key + 1].node;
  if (!is_empty && word == key && held != NULL) comes_back(w, held, true);
  if (is_empty || word == key) put_any(w, holder, object, key, is_new);
  if (is_empty || word != key) put_any(w, holder, object, key + 1, is_new);
}

/* Writes the word, unless it is one that programs do not write; raw words of bytes are written elsewhere. */
void slot_write(world *w, node *holder, cradle_word *object, size_t word, bool is_new) {
  switch (shape_role(holder->shape, word)) {
  case ROLE_OWN: return;
  case ROLE_RAW:
    if (holder->shape == &shapes[OWNER]) return;
    object[word] = holder->cells[word].rest = draw(w);
    return;
  case ROLE_KEY: put_pair(w, holder, object, word, word, is_new); return;
  case ROLE_HELD: put_pair(w, holder, object, word - 1, word, is_new); return;
  default: put_any(w, holder, object, word, is_new);
  }
}

void store(world *w) {
  place at;
  if (!place_with_object(w, &at)) return;
  node *holder = place_cell(w, at)->node;
  if (holder->words <= 2) return;
  for (uint64_t count = 1 + below(w, 8); count > 0; count--)
    slot_write(w, holder, place_object(w, at), 2 + below(w, holder->words - 2), false);
}

/* An owner's bytes outside change. */
static bool is_owner(const node *n) {
  return n->shape == &shapes[OWNER];
}
void store_raw(world *w) {
  place at;
  if (!place_with_shape(w, &at, is_owner)) return;
  node *n = place_cell(w, at)->node;
  ((cradle_word *)place_object(w, at))[2] = n->cells[2].rest = below(w, 4000);
  if (chance(w, 4)) cradle_external_pressure(w->m, below(w, 100000));
}

/* --- slots outside of their object --- */

static bool is_traced(const node *n) {
  return n->shape == &shapes[TRACED];
}

static void grow_buffer(world *w, node *n, cradle_word *object) {
  size_t count = 1 + below(w, 20);
  n->buffer = calloc(count, sizeof *n->buffer);
  n->outside = calloc(count, sizeof *n->outside);
  if (n->buffer == NULL || n->outside == NULL) abort();
  n->outside_count = count;
  object[2] = n->cells[2].rest = (uint64_t)(uintptr_t)n->buffer;
  object[3] = n->cells[3].rest = count;
}

void store_outside(world *w) {
  place at, from;
  if (!place_with_shape(w, &at, is_traced) || !place_with_object(w, &from)) return;
  node *n = place_cell(w, at)->node;
  cradle_word *object = place_object(w, at);
  if (n->buffer == NULL) grow_buffer(w, n, object);
  size_t slot = below(w, n->outside_count);
  n->buffer[slot] =
      encode(w, CRADLE_KIND_REFERENCE, place_cell(w, from)->node, place_object(w, from), &n->outside[slot]);
  cradle_write_barrier(w->m, object);
}

void trace_buffer(void *user, void *object, cradle_visitor *visitor) {
  (void)user;
  cradle_word *words = object;
  uint64_t *buffer = (uint64_t *)(uintptr_t)words[2];
  for (uint64_t i = 0; buffer != NULL && i < words[3]; i++) cradle_visit(visitor, &buffer[i], CRADLE_KIND_REFERENCE);
}

/* --- many slots --- */

static bool is_copied_from(const node *n) {
  cradle_items items = n->shape->type.items;
  return n->length != 0 &&
         (items == CRADLE_ITEMS_REFERENCES || items == CRADLE_ITEMS_VALUES || items == CRADLE_ITEMS_STRUCTURES);
}

static bool fits(const node *from, const node *to) {
  return to->length != 0 &&
         (from->shape == to->shape || (from->shape == &shapes[REFERENCES] && to->shape == &shapes[WEAK_ARRAY]));
}

/* Whole items, so that structures stay structures. */
void copy_slots(world *w) {
  place a, b;
  if (!place_with_shape(w, &a, is_copied_from) || !place_with_object(w, &b)) return;
  node *from = place_cell(w, a)->node, *to = place_cell(w, b)->node;
  if (!fits(from, to)) to = from, b = a;
  size_t item = from->shape->type.item_size / 8, fixed = from->shape->type.size / 8;
  size_t least = from->length < to->length ? from->length : to->length, count = below(w, least + 1);
  size_t first = fixed + below(w, from->length - count + 1) * item;
  size_t at = to->shape->type.size / 8 + below(w, to->length - count + 1) * item;
  cradle_word *source = place_object(w, a), *object = place_object(w, b);
  cradle_copy_slots(w->m, object, &object[at], &source[first], count * item);
  memmove(&to->cells[at], &from->cells[first], count * item * sizeof(cell));
  for (size_t i = at; i < at + count * item; i++)
    if (to->cells[i].node != NULL) to->cells[i].era = to->cells[i].node->era;
}

static bool is_array(const node *n) {
  return n->length != 0 &&
         (n->shape->type.items == CRADLE_ITEMS_REFERENCES || n->shape->type.items == CRADLE_ITEMS_VALUES);
}

/* From words that the program holds. */
void copy_words(world *w) {
  place at, from;
  cradle_word words[32] = {0};
  cell cells[32] = {{0}};
  if (!place_with_shape(w, &at, is_array)) return;
  node *to = place_cell(w, at)->node;
  size_t count = 1 + below(w, to->length < 32 ? to->length : 32);
  if (count > to->length) count = to->length;
  cradle_kind kind = to->shape->type.items == CRADLE_ITEMS_VALUES ? CRADLE_KIND_VALUE : CRADLE_KIND_REFERENCE;
  for (size_t i = 0; i < count; i++)
    if (place_with_object(w, &from))
      words[i] = encode(w, kind, place_cell(w, from)->node, place_object(w, from), &cells[i]);
  cradle_word *object = place_object(w, at);
  size_t first = to->shape->type.size / 8 + below(w, to->length - count + 1);
  cradle_copy_slots(w->m, object, &object[first], words, count);
  memcpy(&to->cells[first], cells, count * sizeof(cell));
}

/* --- shorter arrays --- */

static bool has_items(const node *n) {
  return n->length != 0;
}

void shorten(world *w) {
  place at;
  if (!chance(w, 4) || !place_with_shape(w, &at, has_items)) return;
  node *n = place_cell(w, at)->node;
  size_t word = n->shape->type.length_offset / 8;
  n->length = below(w, n->length + 1);
  ((cradle_word *)place_object(w, at))[word] = n->cells[word].rest = n->length;
  n->words = shape_words(n->shape, n->length);
}

/* --- from an object to a root --- */

/* A strong slot, or a pair's value behind a key that lives. */
static bool may_load(world *w, const node *n, cradle_word *object, size_t word) {
  role is = shape_role(n->shape, word);
  if (is == ROLE_REFERENCE || is == ROLE_VALUE) return true;
  if (is != ROLE_HELD || n->cells[word - 1].node == NULL) return false;
  return n->shape->type.weak_values ? cradle_weak_get_value(w->m, &object[word - 1]) != 0
                                    : cradle_weak_get(w->m, &object[word - 1]) != NULL;
}

void load(world *w) {
  place from, to;
  if (!place_with_object(w, &from) || !place_any(w, &to)) return;
  node *n = place_cell(w, from)->node;
  cradle_word *object = place_object(w, from);
  if (n->words <= 2) return;
  size_t word = 2 + below(w, n->words - 2);
  if (!may_load(w, n, object, word)) return;
  cradle_kind kind = shape_is_value(n->shape, word) ? CRADLE_KIND_VALUE : CRADLE_KIND_REFERENCE;
  node *found = n->cells[word].node;
  void *target = decode(w, kind, object[word]);
  EXPECT(w, (target == NULL) == (found == NULL), "word %zu of %llx has %p", word, (unsigned long long)n->serial,
         target);
  if (found == NULL) return;
  EXPECT(w, node_of(w, target) == found, "word %zu of %llx leads to another object", word,
         (unsigned long long)n->serial);
  comes_back(w, found, true);
  place_write(w, to, found, target);
}

static bool is_strong(role is) {
  return is == ROLE_REFERENCE || is == ROLE_VALUE;
}

static cradle_kind kind_at(const node *n, size_t word) {
  return shape_is_value(n->shape, word) ? CRADLE_KIND_VALUE : CRADLE_KIND_REFERENCE;
}

static bool has_strong_items(const node *n) {
  return is_array(n) || n->shape == &shapes[RECORDS] || n->shape == &shapes[PAIR] || n->shape == &shapes[CLOSURE];
}

/* Takes what a slot has to a slot of another object and clears the first. Where marking has passed the new place and
 * has not come to the old one yet, only the barrier keeps the object. */
void transfer(world *w) {
  place a, b;
  bool (*accepts)(const node *n) = chance(w, 2) ? is_array : has_strong_items;
  if (!place_with_shape(w, &a, has_strong_items) || !place_with_shape(w, &b, accepts)) return;
  node *from = place_cell(w, a)->node, *to = place_cell(w, b)->node;
  cradle_word *source = place_object(w, a), *object = place_object(w, b);
  size_t at = 2 + below(w, from->words - 2), into = 2 + below(w, to->words - 2);
  if (!is_strong(shape_role(from->shape, at)) || !is_strong(shape_role(to->shape, into))) return;
  node *moved = from->cells[at].node;
  if (moved == NULL) return;
  void *target = decode(w, kind_at(from, at), source[at]);
  EXPECT(w, target != NULL && node_of(w, target) == moved, "word %zu of %llx leads to another object", at,
         (unsigned long long)from->serial);
  put(w, to, object, into, encode(w, kind_at(to, into), moved, target, &to->cells[into]), false);
  if (source != object || at != into)
    put(w, from, source, at, encode(w, kind_at(from, at), NULL, NULL, &from->cells[at]), false);
}
