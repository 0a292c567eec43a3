#include "second_model.h"

#include <stdlib.h>
#include <string.h>

/* --- the shadow stack --- */

void root_push(world *w) {
  place from;
  if (w->on->count == STACK_MAX) return;
  bool has_object = place_with_object(w, &from);
  node *n = has_object ? place_cell(w, from)->node : NULL;
  void *object = has_object ? place_object(w, from) : NULL;
  cradle_word word = encode(w, w->stack_kind, n, object, &w->on->cells[w->on->count]);
  if (w->stack_kind == CRADLE_KIND_REFERENCE && chance(w, 2))
    cradle_push(w->m, object);
  else
    cradle_push_word(w->m, word);
  w->on->count++;
}

void root_pop(world *w) {
  size_t room = w->on->count - w->floor;
  if (room == 0) return;
  if (chance(w, 4)) {
    size_t count = below(w, room + 1);
    cradle_pop_many(w->m, count);
    w->on->count -= count;
    return;
  }
  place top = {ON_STACK, w->on->count - 1};
  cradle_word word = place_word(w, top), popped;
  (void)place_object(w, top);
  popped = (cradle_word)(uintptr_t)cradle_pop(w->m);
  EXPECT(w, popped == word, "the shadow stack gave another word than its last");
  w->on->count--;
}

void root_peek(world *w) {
  place from;
  if (w->on->count == 0 || !place_with_object(w, &from)) return;
  size_t index = below(w, w->on->count);
  place to = {ON_STACK, w->on->count - 1 - index};
  EXPECT(w, *cradle_peek(w->m, index) == place_word(w, to), "cradle_peek has another word");
  place_write(w, to, place_cell(w, from)->node, place_object(w, from));
}

/* --- from one root to another --- */

void root_move(world *w) {
  place from, to;
  if (place_with_object(w, &from) && place_any(w, &to))
    place_write(w, to, place_cell(w, from)->node, place_object(w, from));
}

void root_clear(world *w) {
  place at;
  for (uint64_t count = chance(w, 20) ? 40 : 1 + below(w, 4); count > 0; count--)
    if (place_any(w, &at)) place_write(w, at, NULL, NULL);
}

/* --- scopes --- */

static void scope_enter(world *w, void *variable, cradle_kind kind) {
  w->scoped[w->scoped_count].on = w->on;
  w->scoped[w->scoped_count].variable = variable;
  w->scoped[w->scoped_count].kind = kind;
  w->scoped[w->scoped_count++].cell = (cell){0};
}

static void scope_steps(world *w) {
  size_t floor = w->floor;
  w->floor = w->on->count;
  for (uint64_t count = 1 + below(w, 12); count > 0; count--) step(w);
  w->floor = floor;
}

/* Steps with two more scoped roots; an unwind may leave them. */
void root_scope(world *w) {
  if (w->scoped_count + 3 > SCOPED_MAX) return;
  void *reference = NULL, *volatile_reference = NULL;
  cradle_value value = 0;
  CRADLE_ROOT(w->m, reference);
  CRADLE_ROOT_VALUE(w->m, value);
  CRADLE_ROOT(w->m, volatile_reference);
  scope_enter(w, &reference, CRADLE_KIND_REFERENCE);
  scope_enter(w, &value, CRADLE_KIND_VALUE);
  scope_enter(w, &volatile_reference, CRADLE_KIND_REFERENCE);
  scope_steps(w);
  w->scoped_count -= 3;
}

/* A longjmp to a step further out, which restores its checkpoint. */
void root_unwind(world *w) {
  frame *to = w->frame;
  for (uint64_t count = below(w, 4); count > 0 && to->outer != NULL; count--) to = to->outer;
  if (to == w->frame || to->stack_count > to->on->count) return;
  w->frame = to;
  longjmp(to->buffer, 1);
}

/* --- root stacks --- */

static void root_stack_new(world *w, root_stack *made) {
  cradle_root_stack *real = cradle_root_stack_new(w->m);
  EXPECT(w, real != NULL, "no root stack");
  *made = (root_stack){.real = real};
  made->frames_base = made->frames;
  made->frames_top = made->frames + FRAME_WORDS - 1; /* the last word is a scoped root */
  cradle_kind kind = (made - w->root_stacks) % 2 == 0 ? CRADLE_KIND_VALUE : CRADLE_KIND_REFERENCE;
  made->range = CRADLE_ROOT_RANGE(made->frames_base, made->frames_top, kind, "frames");
  made->range.stack = real;
  cradle_root_range_add(w->m, &made->range);
}

static void root_stack_free(root_stack *gone) {
  cradle_root_stack_free(gone->real);
  *gone = (root_stack){.real = NULL};
}

void root_stacks_free(world *w) {
  for (size_t i = 1; i < ROOT_STACKS; i++) root_stack_free(&w->root_stacks[i]);
}

static void root_stack_switch(world *w, root_stack *to) {
  const cradle_root_stack *from = w->on->real;
  w->on->base = w->m->shadow_base;
  EXPECT(w, cradle_root_stack_switch(w->m, to->real) == from, "another root stack ran");
  w->on = to;
}

/* Steps on a root stack, which keeps its words for the next time. */
void root_coroutine(world *w) {
  root_stack *to = &w->root_stacks[1 + below(w, ROOT_STACKS - 1)], *from = w->on;
  if (to->was_entered) return;
  bool is_new = to->real == NULL;
  if (is_new) root_stack_new(w, to);
  root_stack_switch(w, to);
  if (is_new) (void)cradle_scope_open(w->m, &to->frames[FRAME_WORDS - 1], to->range.kind, "frames");
  size_t floor = w->floor;
  to->was_entered = true;
  w->floor = 0;
  for (uint64_t count = 1 + below(w, 12); count > 0; count--) step(w);
  to->was_entered = false;
  w->floor = floor;
  root_stack_switch(w, from);
  if (chance(w, 8)) root_stack_free(to);
}

/* A coroutine that was left in the middle must not go on. */
void root_stacks_left(world *w, const frame *frame) {
  bool is_outer[ROOT_STACKS] = {false};
  for (; frame != NULL; frame = frame->outer) is_outer[frame->on - w->root_stacks] = true;
  w->on = w->frame->on;
  for (size_t i = 1; i < ROOT_STACKS; i++)
    if (w->root_stacks[i].was_entered && !is_outer[i]) root_stack_free(&w->root_stacks[i]);
}

/* --- ranges, globals, handles --- */

/* The range's memory moves; it grows by a word or loses some. */
void root_range(world *w) {
  size_t i = below(w, RANGES), count = (size_t)(w->ranges[i].top - w->ranges[i].base);
  size_t wanted = chance(w, 3) ? below(w, RANGE_MAX + 1) : count + (count < RANGE_MAX);
  cradle_word *words = calloc(wanted + 1, sizeof *words);
  if (words == NULL) abort();
  size_t kept = wanted < count ? wanted : count;
  memcpy(words, w->ranges[i].base, kept * sizeof *words);
  free(w->ranges[i].base);
  w->ranges[i].base = words;
  w->ranges[i].top = words + wanted;
  for (size_t word = kept; word < wanted; word++) w->ranges[i].cells[word] = (cell){0};
  if (!chance(w, 4)) return;
  cradle_root_range_remove(w->m, &w->ranges[i].range);
  cradle_root_range_add(w->m, &w->ranges[i].range);
}

void root_global(world *w) {
  size_t i = below(w, GLOBALS);
  if (w->globals[i].is_registered) {
    cradle_global_root_remove(w->heap, &w->globals[i].word);
    w->globals[i].is_registered = false;
    return;
  }
  w->globals[i].word = 0;
  w->globals[i].cell = (cell){0};
  w->globals[i].kind = chance(w, 2) ? CRADLE_KIND_VALUE : CRADLE_KIND_REFERENCE;
  w->globals[i].is_registered = cradle_global_root_add(w->heap, &w->globals[i].word, w->globals[i].kind);
}

void root_handle(world *w) {
  size_t i = below(w, HANDLES);
  place from;
  if (w->handles[i].handle.number != 0) {
    cradle_handle_free(w->m, w->handles[i].handle);
    w->handles[i].handle.number = 0;
    return;
  }
  bool has_object = place_with_object(w, &from);
  w->handles[i].cell = (cell){.node = has_object ? place_cell(w, from)->node : NULL};
  void *object = has_object ? place_object(w, from) : NULL;
  w->handles[i].handle = cradle_handle_new(w->m, object);
}

/* --- pins --- */

static bool may_be_pinned(const node *n) {
  return n->pins < 3;
}

static void pin_one(world *w) {
  place at;
  if (!place_with_shape(w, &at, may_be_pinned)) return;
  node *n = place_cell(w, at)->node;
  void *object = place_object(w, at);
  void *pinned = cradle_pin(w->m, object);
  if (pinned == NULL) return;
  EXPECT(w, node_of(w, pinned) == n, "a pin gave another object");
  EXPECT(w, n->pins == 0 || n->pinned_at == pinned, "a pinned object has moved");
  EXPECT(w, place_object(w, at) == pinned, "the root of a pinned object is not up to date");
  n->pinned_at = pinned;
  n->pins++;
}

/* Several, so that marking has more than one piece of them to look at. */
void pin(world *w) {
  for (uint64_t count = 1 + below(w, 4); count > 0; count--) pin_one(w);
}

/* Also of objects that nothing else holds. */
void unpin(world *w) {
  for (int tries = 0; tries < 20; tries++) {
    if (w->node_count == 0) return;
    node *n = w->nodes[below(w, w->node_count)];
    if (n->pins == 0) continue;
    EXPECT(w, node_of(w, n->pinned_at) == n, "a pinned object is not where it was");
    cradle_unpin(w->m, n->pinned_at);
    n->pins--;
    return;
  }
}
