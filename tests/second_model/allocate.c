#include "second_model.h"

#include <stdlib.h>

/* --- one object, in each of the ways --- */

static cradle_array_layout layout_of(const shape *of) {
  return cradle_array_layout_of(of->type.size, of->type.item_size, of->type.length_offset);
}

static uint32_t id_of(const shape *of) {
  return (uint32_t)(of - shapes);
}

/* Fills in what the caller of an allocation without zeroes must fill in. */
static void *clear(void *object, const shape *of, size_t length) {
  size_t words = shape_words(of, length);
  bool has_items = of->type.items != CRADLE_ITEMS_NONE;
  if (object == NULL) return NULL;
  for (size_t word = 1; word < words; word++)
    if (!has_items || word != of->type.length_offset / 8) ((cradle_word *)object)[word] = 0;
  return object;
}

static void *new_registered(world *w, const shape *of, size_t length) {
  uint32_t id = id_of(of);
  if (of->type.items == CRADLE_ITEMS_NONE) return cradle_new_registered(w->m, id, of->type.size);
  if (chance(w, 2)) return cradle_new_array(w->m, id, length);
  return cradle_new_with(w->m, id, layout_of(of), length, 0);
}

static void *new_fixed(world *w, const shape *of) {
  uint32_t id = id_of(of);
  size_t size = of->type.size;
  switch (below(w, 5)) {
  case 0: return clear(cradle_new_uninitialized(w->m, id, size), of, 0);
  case 1: return clear(cradle_new_fast(w->m, id, size), of, 0);
  default: return cradle_new(w->m, id, size);
  }
}

static void *new_array(world *w, const shape *of, size_t length) {
  uint32_t id = id_of(of);
  switch (below(w, 6)) {
  case 0:
  case 1: return cradle_new_array(w->m, id, length);
  case 2:
  case 3: return cradle_new_items(w->m, id, layout_of(of), length);
  case 4: return clear(cradle_new_items_fast(w->m, id, layout_of(of), length), of, length);
  default: return clear(cradle_new_items_uninitialized(w->m, id, layout_of(of), length), of, length);
  }
}

static void *new_pinned(world *w, const shape *of, size_t length) {
  uint32_t id = id_of(of);
  if (of->type.items == CRADLE_ITEMS_NONE)
    return cradle_new_with(w->m, id, cradle_array_layout_of(of->type.size, 0, 0), 0, CRADLE_PINNED);
  if (chance(w, 2)) return cradle_new_with(w->m, id, cradle_array_layout_of(0, 0, 0), length, CRADLE_PINNED);
  return cradle_new_with(w->m, id, layout_of(of), length, CRADLE_PINNED);
}

/* --- its contents --- */

/* The first stores, which need no barrier; into a pinned object they do. */
static void fill(world *w, node *n, void *object, bool is_new) {
  if (n->shape == &shapes[OWNER]) {
    n->cells[2].rest = below(w, 4000);
    ((cradle_word *)object)[2] = n->cells[2].rest;
  }
  size_t first = 2, room = n->words - first;
  for (uint64_t count = room == 0 ? 0 : below(w, 2 * (room < 12 ? room : 12)); count > 0; count--)
    slot_write(w, n, object, first + below(w, room), is_new);
}

static node *begin(world *w, const shape *of, uint64_t length, void *object) {
  node *n = node_new(w, of, length);
  cradle_word *words = object;
  if (of->type.items != CRADLE_ITEMS_NONE) {
    size_t word = of->type.length_offset / 8;
    EXPECT(w, words[word] == length, "a new %s has the length %llu", of->type.name, (unsigned long long)words[word]);
    n->cells[word].rest = length;
  }
  for (size_t word = 1; word < n->words; word++)
    EXPECT(w, words[word] == n->cells[word].rest, "a new %s is not zero at word %zu", of->type.name, word);
  n->cells[of->serial_word].rest = words[of->serial_word] = n->serial;
  for (uint32_t queue = 1; queue <= CRADLE_FINALIZER_QUEUES; queue++)
    n->registrations[queue] = of->type.finalizer == queue;
  n->registered_at[of->type.finalizer] = w->registered++;
  return n;
}

static size_t draw_length(world *w, const shape *of) {
  if (of->type.items == CRADLE_ITEMS_NONE) return 0;
  uint64_t kind = below(w, 40);
  if (kind == 0 && w->large_count < 12) {
    w->large_count++;
    return (33000 + below(w, 60000)) / of->type.item_size;
  }
  return kind < 4 ? 100 + below(w, 200) : below(w, 16);
}

/* Draws arrays more often, because their barrier has the most cases. */
static const shape *draw_shape(world *w) {
  size_t drawn = below(w, w->has_late ? BALLAST + 1 : BALLAST);
  return chance(w, 5) ? &shapes[REFERENCES] : &shapes[drawn == BALLAST ? LATE : drawn];
}

void allocate_object(world *w) {
  const shape *of = draw_shape(w);
  size_t length = draw_length(w, of);
  if (of == &shapes[WIDE_RECORDS]) length %= 80;
  bool is_pinned = !shape_is_registered(of) && chance(w, 12);
  void *object = shape_is_registered(of)               ? new_registered(w, of, length)
                 : is_pinned                           ? new_pinned(w, of, length)
                 : of->type.items == CRADLE_ITEMS_NONE ? new_fixed(w, of)
                                                       : new_array(w, of, length);
  if (object == NULL) return;
  EXPECT(w, (uintptr_t)object % 8 == 0, "a new object at %p", object);
  node *n = begin(w, of, length, object);
  if (is_pinned) n->pins = 1, n->pinned_at = object;
  fill(w, n, object, !is_pinned);
  keep(w, n, object);
}

/* Its object has no place in the shadow, so the caller must keep it alive. */
node *allocate_finalized(world *w, void **object) {
  const shape *of = &shapes[FINALIZED];
  *object = new_registered(w, of, 0);
  return begin(w, of, 0, *object);
}

/* --- reservations --- */

static void carve(world *w, cradle_reservation *room) {
  const shape *of = &shapes[below(w, TRACED)];
  size_t length = of->type.items == CRADLE_ITEMS_NONE ? 0 : below(w, 5);
  if (shape_words(of, length) * 8 > (size_t)(room->end - room->free)) return;
  void *object = of->type.items == CRADLE_ITEMS_NONE
                     ? cradle_new_reserved(room, id_of(of), of->type.size)
                     : cradle_new_reserved_items(room, id_of(of), layout_of(of), length);
  node *n = begin(w, of, length, clear(object, of, length));
  fill(w, n, object, true);
  keep(w, n, object);
}

/* A reservation may be left partly unused. */
void allocate_reserved(world *w) {
  size_t size = below(w, chance(w, 10) ? CRADLE_NURSERY_OBJECT_MAX_BYTES + 1 : 1000);
  cradle_reservation room = cradle_reserve(w->m, size);
  if (room.free == NULL) return;
  EXPECT(w, (size_t)(room.end - room.free) >= size, "a reservation of %zu bytes has %zu", size,
         (size_t)(room.end - room.free));
  for (uint64_t count = below(w, 12); count > 0; count--) carve(w, &room);
}

/* --- types --- */

void add_type(world *w) {
  if (w->has_late) return;
  uint32_t id = cradle_type_add(w->heap, &shapes[LATE].type);
  if (id == CRADLE_TYPE_ID_END) return;
  EXPECT(w, id == LATE, "the type that was added has the id %u", id);
  w->has_late = true;
}
