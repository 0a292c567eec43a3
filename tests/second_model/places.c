#include "second_model.h"

/* --- words and what they mean --- */

/* The word for an object, or zero for none; the cell remembers what it looks like. */
cradle_word encode(world *w, cradle_kind kind, node *n, void *object, cell *cell) {
  *cell = (struct cell){.node = n, .era = n == NULL ? 0 : n->era};
  cradle_word address = (cradle_word)(uintptr_t)object;
  if (n == NULL || kind == CRADLE_KIND_REFERENCE) return address;
  uint32_t tag;
  do tag = (uint32_t)below(w, 8);
  while (!(w->encoding.tag_set >> tag & 1));
  uint32_t pair = (uint32_t)below(w, w->encoding.pair_count);
  cell->rest = w->encoding.pairs[pair].pattern | tag;
  return address | cell->rest;
}

/* A value that is no object: mostly one whose bits look like an address of the heap. */
cradle_word encode_immediate(world *w, cell *cell) {
  uint64_t word = draw(w);
  if (!chance(w, 4)) word = look_immediate(&w->encoding, look_address(&w->regions, word), draw(w));
  *cell = (struct cell){0};
  if (cradle_value_object(&w->encoding, word) != NULL) word = 0;
  return cell->rest = word;
}

void *decode(const world *w, cradle_kind kind, cradle_word word) {
  if (kind == CRADLE_KIND_REFERENCE) return (void *)(uintptr_t)word;
  return cradle_value_object(&w->encoding, word);
}

/* --- places --- */

static size_t suspended_count(const world *w) {
  size_t count = 0;
  for (size_t i = 0; i < ROOT_STACKS; i++)
    if (&w->root_stacks[i] != w->on) count += w->root_stacks[i].count;
  return count;
}

/* The suspended root stack to which the word belongs; makes the index one of its own. */
static root_stack *suspended_at(world *w, size_t *index) {
  root_stack *at = w->root_stacks;
  for (;; at++) {
    if (at == w->on) continue;
    if (*index < at->count) return at;
    *index -= at->count;
  }
}

static root_stack *frames_at(world *w, place at) {
  return &w->root_stacks[1 + at.index / FRAME_WORDS];
}

static size_t origin_count(const world *w, origin from) {
  switch (from) {
  case ON_STACK: return w->on->count;
  case SUSPENDED: return suspended_count(w);
  case IN_FRAMES: return (ROOT_STACKS - 1) * FRAME_WORDS;
  case IN_SCOPE: return w->scoped_count;
  case IN_RANGE: return (size_t)(w->ranges[0].top - w->ranges[0].base + w->ranges[1].top - w->ranges[1].base);
  case IN_GLOBAL: return GLOBALS;
  case IN_CALLBACK: return CALLBACK_WORDS;
  case IN_HANDLE: return HANDLES;
  default: return 0;
  }
}

/* Words of the first range come before those of the second. */
static size_t range_split(const world *w, place at, size_t *index) {
  size_t first = (size_t)(w->ranges[0].top - w->ranges[0].base);
  *index = at.index < first ? at.index : at.index - first;
  return at.index < first ? 0 : 1;
}

static bool is_open(const world *w, place at) {
  if (at.origin == IN_FRAMES) return w->root_stacks[1 + at.index / FRAME_WORDS].real != NULL;
  if (at.origin == IN_GLOBAL) return w->globals[at.index].is_registered;
  return at.origin != IN_HANDLE || w->handles[at.index].handle.number != 0;
}

bool place_any(world *w, place *found) {
  for (int tries = 0; tries < 8; tries++) {
    found->origin = (origin)below(w, ORIGINS);
    size_t count = origin_count(w, found->origin);
    if (count == 0) continue;
    found->index = below(w, count);
    if (is_open(w, *found)) return true;
  }
  return false;
}

bool place_with_shape(world *w, place *found, bool (*accepts)(const node *n)) {
  for (int tries = 0; tries < 40; tries++) {
    if (!place_any(w, found)) continue;
    const node *n = place_cell(w, *found)->node;
    if (n != NULL && (accepts == NULL || accepts(n))) return true;
  }
  return false;
}

bool place_with_object(world *w, place *found) {
  return place_with_shape(w, found, NULL);
}

cell *place_cell(world *w, place at) {
  size_t index = at.index;
  switch (at.origin) {
  case ON_STACK: return &w->on->cells[at.index];
  case SUSPENDED: {
    root_stack *of = suspended_at(w, &index);
    return &of->cells[index];
  }
  case IN_FRAMES: return &frames_at(w, at)->frame_cells[at.index % FRAME_WORDS];
  case IN_SCOPE: return &w->scoped[at.index].cell;
  case IN_RANGE: {
    size_t range = range_split(w, at, &index);
    return &w->ranges[range].cells[index];
  }
  case IN_GLOBAL: return &w->globals[at.index].cell;
  case IN_CALLBACK: return &w->callback_cells[at.index];
  default: return &w->handles[at.index].cell;
  }
}

cradle_kind place_kind(const world *w, place at) {
  size_t index;
  switch (at.origin) {
  case ON_STACK:
  case SUSPENDED: return w->stack_kind;
  case IN_FRAMES: return w->root_stacks[1 + at.index / FRAME_WORDS].range.kind;
  case IN_SCOPE: return w->scoped[at.index].kind;
  case IN_RANGE: return w->ranges[range_split(w, at, &index)].range.kind;
  case IN_GLOBAL: return w->globals[at.index].kind;
  case IN_CALLBACK: return CRADLE_KIND_VALUE;
  default: return CRADLE_KIND_REFERENCE;
  }
}

/* The address of the word; the shadow stack is read past cradle_peek, which would move the watermark. */
static cradle_word *word_at(world *w, place at) {
  size_t index = at.index;
  switch (at.origin) {
  case ON_STACK: return w->m->shadow_base + at.index;
  case SUSPENDED: {
    const root_stack *of = suspended_at(w, &index);
    return of->base + index;
  }
  case IN_FRAMES: return &frames_at(w, at)->frames[at.index % FRAME_WORDS];
  case IN_SCOPE: return w->scoped[at.index].variable;
  case IN_RANGE: {
    size_t range = range_split(w, at, &index);
    return w->ranges[range].base + index;
  }
  case IN_GLOBAL: return &w->globals[at.index].word;
  case IN_CALLBACK: return &w->callback[at.index];
  default: return NULL;
  }
}

cradle_word place_word(world *w, place at) {
  if (at.origin != IN_HANDLE) return *word_at(w, at);
  return (cradle_word)(uintptr_t)cradle_handle_get(w->m, w->handles[at.index].handle);
}

/* What a suspended root stack holds must rest, but for the scoped roots of the mutator's own. */
static bool must_rest(world *w, place at) {
  const root_stack *on = w->on;
  if (at.origin == SUSPENDED) return true;
  if (at.origin == IN_FRAMES) return frames_at(w, at) != on;
  return at.origin == IN_SCOPE && w->scoped[at.index].on != on && w->scoped[at.index].on != w->root_stacks;
}

/* n NULL: the place gets no object; a slot of values may get an immediate. */
void place_write(world *w, place at, node *n, void *object) {
  if (must_rest(w, at)) return;
  cell *cell = place_cell(w, at);
  cradle_kind kind = place_kind(w, at);
  cradle_word word = n == NULL && kind == CRADLE_KIND_VALUE && chance(w, 2) ? encode_immediate(w, cell)
                                                                            : encode(w, kind, n, object, cell);
  if (at.origin == IN_HANDLE)
    cradle_handle_set(w->m, w->handles[at.index].handle, object);
  else if (at.origin == ON_STACK)
    *cradle_peek(w->m, w->on->count - 1 - at.index) = word;
  else
    *word_at(w, at) = word;
}

void *place_object(world *w, place at) {
  const node *n = place_cell(w, at)->node;
  void *object = decode(w, place_kind(w, at), place_word(w, at));
  if (n == NULL) {
    EXPECT(w, object == NULL, "a root of origin %d has %p in place of nothing", at.origin, object);
    return NULL;
  }
  EXPECT(w, object != NULL, "a root of origin %d has lost %llx", at.origin, (unsigned long long)n->serial);
  EXPECT(w, node_of(w, object) == n, "a root of origin %d has %llx in place of %llx", at.origin,
         (unsigned long long)node_of(w, object)->serial, (unsigned long long)n->serial);
  return object;
}

/* Puts a new object into a root. */
void keep(world *w, node *n, void *object) {
  place at;
  if (place_any(w, &at)) place_write(w, at, n, object);
}

size_t places_each(world *w, void (*function)(world *w, cell *cell, cradle_word word, cradle_kind kind)) {
  size_t count = 0;
  for (int from = 0; from < ORIGINS; from++) {
    size_t end = origin_count(w, (origin)from);
    for (size_t index = 0; index < end; index++) {
      place at = {(origin)from, index};
      if (!is_open(w, at)) continue;
      function(w, place_cell(w, at), place_word(w, at), place_kind(w, at));
      count++;
    }
  }
  return count;
}
