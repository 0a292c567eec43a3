/* The private graph of a worker, and its shadow (threads_model.h). */
#include "tests/model/threads_model.h"

#include <stdlib.h>
#include <string.h>

/* --- shadows --- */

static shadow *new_shadow(worker *w, uint32_t type, uint64_t length, object *real) {
  uint64_t slots = type == T_BYTES ? 0 : length;
  shadow *s = calloc(1, sizeof *s + slots * sizeof *s->slot);
  require(w, s != NULL, "no memory for a shadow");
  s->next = w->all;
  w->all = s;
  s->type = type;
  s->length = length;
  s->number = real->number = ++w->next_number * w->s->threads + w->number;
  return s;
}

static void **slots_of(const shadow *s, void *real) {
  switch (s->type) {
  case T_NODE: return &((node *)real)->left;
  case T_ARRAY:
  case T_WEAKS: return ((array *)real)->item;
  case T_WEAK:
  case T_FINAL: return &((link *)real)->to;
  default: return NULL;
  }
}
static uint64_t slot_count(const shadow *s) {
  return s->type == T_BYTES || s->type == T_KEY ? 0 : s->length;
}

static bool is_weak(const shadow *s) {
  return s->type == T_WEAK || s->type == T_WEAKS;
}

/* --- the walk --- */

/* A shadow is reached, at a place that refers to real. */
static void reach(worker *w, shadow *s, void *real) {
  if (s == NULL) {
    require(w, real == NULL, "a slot that must be empty is not");
    return;
  }
  require(w, real != NULL, "a slot that must not be empty is");
  if (s->epoch == w->epoch) {
    require(w, s->real == real, "an object has two addresses");
    return;
  }
  require(w, cradle_type_of(real) == s->type, "an object has another type");
  require(w, ((object *)real)->number == s->number, "an object has another number");
  s->epoch = w->epoch;
  s->real = real;
  s->to_walk = w->walk;
  w->walk = s;
}

static void look_into(worker *w, shadow *s) {
  if (s->type == T_ARRAY || s->type == T_WEAKS)
    require(w, ((array *)s->real)->length == s->length, "an array has another length");
  if (s->type == T_FINAL)
    require(w, atomic_load(&w->s->due[s->number]) == s->due, "a reachable object came back as dead");
  if (s->type == T_BYTES) {
    const bytes *b = s->real;
    require(w, b->length == s->length, "bytes have another length");
    require(w, s->length == 0 || (b->byte[0] == s->number % 251 && b->byte[s->length - 1] == s->number % 251),
            "bytes have changed");
  }
  if (s->hash != 0) require(w, cradle_identity_hash(w->m, s->real) == s->hash, "an identity hash has changed");
  if (s->id != 0) require(w, cradle_id(w->m, s->real) == s->id, "an id has changed");
  if (s->id != 0) require(w, cradle_object_of_id(w->m, s->id) == s->real, "an id has another object");
  if (is_weak(s)) return;
  void **slot = slots_of(s, s->real);
  for (uint64_t i = 0; i < slot_count(s); i++) reach(w, s->slot[i], slot[i]);
}

static void walk(worker *w) {
  while (w->walk != NULL) {
    shadow *s = w->walk;
    w->walk = s->to_walk;
    look_into(w, s);
  }
}

/* Whether a weak slot led to something new. */
static bool walk_weak(worker *w) {
  bool more = false;
  for (shadow *s = w->all; s != NULL; s = s->next) {
    if (s->epoch != w->epoch || !is_weak(s)) continue;
    for (uint64_t i = 0; i < s->length; i++) {
      void *to = cradle_weak_get(w->m, &slots_of(s, s->real)[i]);
      if (to == NULL) continue;
      require(w, s->slot[i] != NULL, "a weak slot that was cleared is not empty");
      more |= s->slot[i]->epoch != w->epoch;
      reach(w, s->slot[i], to);
    }
  }
  walk(w);
  return more;
}

/* All weak slots to a dead object are empty, and none to a live one. */
static void settle_weak(worker *w) {
  for (shadow *s = w->all; s != NULL; s = s->next) {
    if (s->epoch != w->epoch || !is_weak(s)) continue;
    for (uint64_t i = 0; i < s->length; i++) {
      if (s->slot[i] == NULL) continue;
      bool empty = cradle_weak_get(w->m, &slots_of(s, s->real)[i]) == NULL;
      require(w, empty == (s->slot[i]->epoch != w->epoch), "a weak slot to a live object was cleared");
      if (empty) s->slot[i] = NULL;
    }
  }
}

static uint64_t free_unreached(worker *w) {
  uint64_t left = 0;
  for (shadow **at = &w->all, *s; (s = *at) != NULL;) {
    if (s->epoch == w->epoch) {
      at = &s->next;
      left++;
    } else {
      *at = s->next;
      free(s);
    }
  }
  return left;
}

void private_forget(worker *w) {
  for (int i = 0; i < VARIABLES; i++) w->variable[i] = NULL;
}

void private_compare(worker *w) {
  w->epoch++;
  w->walks++;
  w->walk = NULL;
  for (int i = 0; i < VARIABLES; i++) reach(w, w->variable[i], w->roots[i]);
  require(w, (uint64_t)(w->m->shadow_top - w->m->shadow_base) == w->depth, "the shadow stack has another depth");
  for (uint64_t i = 0; i < w->depth; i++) reach(w, w->stack[i], (void *)(uintptr_t)w->m->shadow_base[i]);
  for (int i = 0; i < PINS; i++) reach(w, w->pins[i].of, w->pins[i].address);
  for (int i = 0; i < HANDLES; i++)
    if (w->handles[i].handle.number != 0) reach(w, w->handles[i].of, cradle_handle_get(w->m, w->handles[i].handle));
  walk(w);
  while (walk_weak(w)) continue;
  settle_weak(w);
  if (free_unreached(w) < 4000) return;
  for (int i = 0; i < VARIABLES; i++)
    if (i % 4 != 0) w->roots[i] = NULL, w->variable[i] = NULL;
}

/* --- operations --- */

static void set(worker *w, uint64_t at, void *real, shadow *s) {
  w->roots[at] = real;
  w->variable[at] = s;
}
/* A variable whose object has slots, or VARIABLES: the one looked at has none. */
static uint64_t with_slots(worker *w) {
  uint64_t i = below(w, VARIABLES);
  const shadow *s = w->variable[i];
  return s != NULL && slot_count(s) != 0 ? i : VARIABLES;
}

static void make_node(worker *w) {
  uint64_t at = below(w, VARIABLES), a = below(w, VARIABLES), b = below(w, VARIABLES);
  node *fresh = cradle_new(w->m, T_NODE, sizeof(node));
  shadow *s = new_shadow(w, T_NODE, 2, &fresh->head);
  fresh->left = w->roots[a], s->slot[0] = w->variable[a];
  fresh->right = w->roots[b], s->slot[1] = w->variable[b];
  set(w, at, fresh, s);
}

static void make_reserved(worker *w) {
  cradle_reservation room = cradle_reserve(w->m, 3 * sizeof(node));
  uint64_t at = below(w, VARIABLES);
  for (int i = 0; i < 3; i++) {
    node *fresh = CRADLE_NEW_RESERVED(&room, node, T_NODE);
    shadow *s = new_shadow(w, T_NODE, 2, &fresh->head);
    fresh->left = w->roots[at], s->slot[0] = w->variable[at];
    fresh->right = NULL;
    set(w, at, fresh, s);
  }
}

/* Mostly small; often above 1 KiB, where slots are recorded one by one; sometimes with pages of its own. */
static uint64_t array_length(worker *w) {
  uint64_t which = below(w, 100);
  return which < 75 ? below(w, 12) : which < 97 ? 130 + below(w, 600) : LARGE_ITEMS;
}

static void fill_array(worker *w, array *fresh, shadow *s, bool barrier) {
  for (uint64_t i = 0; i < 4 && s->length != 0; i++) {
    uint64_t slot = below(w, s->length), from = below(w, VARIABLES);
    if (barrier)
      cradle_store(w->m, fresh, &fresh->item[slot], w->roots[from]);
    else
      fresh->item[slot] = w->roots[from];
    s->slot[slot] = w->variable[from];
  }
}

static void make_array(worker *w) {
  uint64_t length = array_length(w);
  array *fresh = cradle_new_array(w->m, T_ARRAY, length);
  shadow *s = new_shadow(w, T_ARRAY, length, &fresh->head);
  fill_array(w, fresh, s, false);
  set(w, below(w, VARIABLES), fresh, s);
}

static void fill_bytes(bytes *fresh, const shadow *s) {
  if (s->length != 0) fresh->byte[0] = fresh->byte[s->length - 1] = (unsigned char)(s->number % 251);
}

static void make_weaks(worker *w) {
  uint64_t length = array_length(w);
  array *fresh = cradle_new_array(w->m, T_WEAKS, length);
  shadow *s = new_shadow(w, T_WEAKS, length, &fresh->head);
  fill_array(w, fresh, s, true);
  set(w, below(w, VARIABLES), fresh, s);
}

static void make_bytes(worker *w) {
  uint64_t length = below(w, 30) == 0 ? LARGE_BYTES : below(w, 200);
  bytes *fresh = cradle_new_array(w->m, T_BYTES, length);
  shadow *s = new_shadow(w, T_BYTES, length, &fresh->head);
  fill_bytes(fresh, s);
  set(w, below(w, VARIABLES), fresh, s);
}

static void make_weak(worker *w) {
  link *fresh = cradle_new_with(w->m, T_WEAK, (cradle_array_layout){0}, 0, 0);
  shadow *s = new_shadow(w, T_WEAK, 1, &fresh->head);
  uint64_t to = below(w, VARIABLES);
  fresh->to = w->roots[to], s->slot[0] = w->variable[to];
  set(w, below(w, VARIABLES), fresh, s);
}

/* It comes back once for its type, and once for each time that it is registered. */
static void make_final(worker *w) {
  uint64_t number = atomic_fetch_add(&w->s->finals, 1);
  if (number >= w->s->due_limit) return;
  link *fresh = cradle_new_with(w->m, T_FINAL, (cradle_array_layout){0}, 0, 0);
  shadow *s = new_shadow(w, T_FINAL, 1, &fresh->head);
  s->number = fresh->head.number = number;
  uint64_t to = below(w, VARIABLES), more = below(w, 3);
  fresh->to = w->roots[to], s->slot[0] = w->variable[to];
  s->due = (unsigned)(1 + more);
  atomic_store(&w->s->due[number], (unsigned char)s->due);
  for (uint64_t i = 0; i < more; i++)
    require(w, cradle_finalizer_register(w->m, fresh, (uint32_t)(2 + below(w, QUEUES - 1))), "no memory to register");
  set(w, below(w, VARIABLES), fresh, s);
}

static void store(worker *w) {
  uint64_t into = with_slots(w), from = below(w, VARIABLES);
  if (into == VARIABLES) return;
  shadow *s = w->variable[into];
  uint64_t at = below(w, slot_count(s));
  void **slot = &slots_of(s, w->roots[into])[at];
  if (below(w, 2) == 0) {
    cradle_store(w->m, w->roots[into], slot, w->roots[from]);
  } else {
    *slot = w->roots[from];
    cradle_write_barrier(w->m, w->roots[into]);
  }
  s->slot[at] = w->variable[from];
}

static void copy(worker *w) {
  uint64_t into = with_slots(w), from = with_slots(w);
  if (into == VARIABLES || from == VARIABLES) return;
  shadow *to_shadow = w->variable[into], *from_shadow = w->variable[from];
  if (to_shadow->type != T_ARRAY || from_shadow->type != T_ARRAY) return;
  uint64_t most = to_shadow->length < from_shadow->length ? to_shadow->length : from_shadow->length;
  uint64_t count = below(w, most + 1);
  uint64_t at = below(w, to_shadow->length - count + 1), first = below(w, from_shadow->length - count + 1);
  array *to = w->roots[into], *source = w->roots[from];
  cradle_copy_slots(w->m, to, &to->item[at], &source->item[first], count);
  memmove(&to_shadow->slot[at], &from_shadow->slot[first], count * sizeof *to_shadow->slot);
}

static void load(worker *w) {
  uint64_t from = with_slots(w), to = below(w, VARIABLES);
  if (from == VARIABLES) return;
  shadow *s = w->variable[from];
  uint64_t at = below(w, slot_count(s));
  void **slot = &slots_of(s, w->roots[from])[at];
  void *real = is_weak(s) ? cradle_weak_get(w->m, slot) : *slot;
  set(w, to, real, real == NULL && is_weak(s) ? NULL : s->slot[at]);
}

static void drop(worker *w) {
  set(w, below(w, VARIABLES), NULL, NULL);
}

static void push(worker *w) {
  if (w->depth == STACK_WORDS) return;
  uint64_t from = below(w, VARIABLES);
  cradle_push(w->m, w->roots[from]);
  w->stack[w->depth++] = w->variable[from];
}

static void pop(worker *w) {
  if (w->depth == 0) return;
  void *real = cradle_pop(w->m);
  set(w, below(w, VARIABLES), real, w->stack[--w->depth]);
}

static void poke(worker *w) {
  if (w->depth == 0) return;
  uint64_t index = below(w, w->depth), from = below(w, VARIABLES);
  *cradle_peek(w->m, index) = (cradle_word)(uintptr_t)w->roots[from];
  w->stack[w->depth - 1 - index] = w->variable[from];
}

static void unpin(worker *w, pin *p) {
  require(w, ((object *)p->address)->number == p->of->number, "a pinned object has moved");
  cradle_unpin(w->m, p->address);
  *p = (pin){NULL, NULL};
}

static void make_pinned(worker *w, pin *p) {
  if (below(w, 2) == 0) {
    bytes *fresh = cradle_new_with(w->m, T_BYTES, (cradle_array_layout){0}, below(w, 3000), CRADLE_PINNED);
    *p = (pin){new_shadow(w, T_BYTES, fresh->length, &fresh->head), fresh};
    fill_bytes(fresh, p->of);
    return;
  }
  array *fresh = cradle_new_with(w->m, T_ARRAY, (cradle_array_layout){0}, array_length(w), CRADLE_PINNED);
  *p = (pin){new_shadow(w, T_ARRAY, fresh->length, &fresh->head), fresh};
  fill_array(w, fresh, p->of, true);
}

static void use_pins(worker *w) {
  pin *p = &w->pins[below(w, PINS)];
  uint64_t of = below(w, VARIABLES);
  if (p->of != NULL)
    unpin(w, p);
  else if (below(w, 2) == 0)
    make_pinned(w, p);
  else if (w->variable[of] != NULL) {
    *p = (pin){w->variable[of], cradle_pin(w->m, w->roots[of])};
    require(w, p->address == w->roots[of], "a pin returned another address");
    return;
  }
  if (p->of != NULL) set(w, of, p->address, p->of);
}

static void use_handles(worker *w) {
  named *n = &w->handles[below(w, HANDLES)];
  uint64_t of = below(w, VARIABLES), what = below(w, 4);
  if (n->handle.number == 0)
    *n = (named){w->variable[of], cradle_handle_new(w->m, w->roots[of])};
  else if (what == 0)
    cradle_handle_set(w->m, n->handle, w->roots[of]), n->of = w->variable[of];
  else if (what == 1)
    set(w, of, cradle_handle_get(w->m, n->handle), n->of);
  else if (what == 2) {
    cradle_handle_free(w->m, n->handle);
    *n = (named){NULL, {0}};
  }
}

static void identify(worker *w) {
  uint64_t of = below(w, VARIABLES);
  shadow *s = w->variable[of];
  if (s == NULL) return;
  uint32_t hash = cradle_identity_hash(w->m, w->roots[of]);
  require(w, hash != 0 && (s->hash == 0 || s->hash == hash), "an identity hash has changed");
  s->hash = hash;
  if (below(w, 3) != 0) return;
  uint64_t id = cradle_id(w->m, w->roots[of]);
  require(w, id != 0 && (s->id == 0 || s->id == id), "an id has changed");
  s->id = id;
}

static void in_a_region(worker *w) {
  cradle_no_collect_begin(w->m);
  for (int i = 0; i < 5; i++) load(w), store(w);
  cradle_no_collect_end(w->m);
}

/* An object that no register of its own thread keeps in place: it moves while its owner is parked. */
static void survive(worker *w) {
  void *mine = cradle_new(w->m, T_KEY, sizeof(object));
  ((object *)mine)->number = 77;
  CRADLE_ROOT(w->m, mine);
  CRADLE_PARKED(w->m) {}
  require(w, ((object *)mine)->number == 77, "a scoped root was lost while its thread was parked");
}

void private_step(worker *w) {
  static const struct {
    void (*run)(worker *w);
    const char *name;
    uint32_t weight;
  } operations[] = {
      {make_node, "make_node", 240},
      {make_reserved, "make_reserved", 30},
      {make_array, "make_array", 60},
      {make_bytes, "make_bytes", 60},
      {make_weak, "make_weak", 25},
      {make_weaks, "make_weaks", 15},
      {make_final, "make_final", 10},
      {store, "store", 240},
      {copy, "copy", 20},
      {load, "load", 80},
      {drop, "drop", 50},
      {push, "push", 40},
      {pop, "pop", 36},
      {poke, "poke", 20},
      {use_pins, "use_pins", 16},
      {use_handles, "use_handles", 30},
      {identify, "identify", 15},
      {in_a_region, "in_a_region", 6},
      {survive, "survive", 8},
  };
  uint64_t all = 0, at = 0;
  for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) all += operations[i].weight;
  uint64_t drawn = below(w, all);
  while (drawn >= operations[at].weight) drawn -= operations[at++].weight;
  w->operation = operations[at].name;
  operations[at].run(w);
}

/* Before the worker ends. */
void private_empty(worker *w) {
  for (int i = 0; i < VARIABLES; i++) w->roots[i] = NULL;
  private_forget(w);
  cradle_pop_many(w->m, w->depth);
  w->depth = 0;
  for (int i = 0; i < PINS; i++)
    if (w->pins[i].of != NULL) unpin(w, &w->pins[i]);
  for (int i = 0; i < HANDLES; i++)
    if (w->handles[i].handle.number != 0) cradle_handle_free(w->m, w->handles[i].handle);
  w->epoch++;
  (void)free_unreached(w);
}
