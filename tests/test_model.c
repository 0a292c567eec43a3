/* The seeded random mutator: a graph on the heap and the same graph in plain memory, changed together and compared.
 *
 * The model knows what is reachable from the roots, ephemerons to a fixpoint, and what is kept: that, and what objects whose
 * finalizers are still to come lead to. A weak slot may be cleared when its object is not reachable, a pair when its key is
 * not kept; neither may hold another object; and after a full collection nothing is left of what is not kept. An object that
 * died in one weak slot is dead in all. Finalizers give each object once, dead, and before those that it leads to. Destructors run
 * once, on the dead, and on all when the heap is freed.
 *
 * Arguments: --seed N --ops N --nursery BYTES --stress N --verify 1. Without arguments several seeds and nursery sizes are run. The first
 * difference ends the program with the seed and the number of the operation, which replay it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cradle/cradle.h>

#include "tests/model_walk.h"

enum { T_NODE, T_BYTES, T_ARRAY, T_TRACED, T_FINAL, T_FILE, T_WEAKS, T_PAIRS, T_COUNT };
enum { NODE_SLOTS = 3, ROOT_SLOTS = 64, QUEUE = 3 };

typedef struct object {
  uint64_t header;
  uint64_t identity; /* index of the model's object */
} object;
typedef struct node {
  object base;
  void *slot[NODE_SLOTS];
} node;
typedef struct bytes {
  object base;
  uint64_t length;
  unsigned char item[];
} bytes;
typedef struct array {
  object base;
  uint64_t length;
  void *item[];
} array;
typedef struct traced { /* its slots are reported by a callback */
  object base;
  void *slot[NODE_SLOTS];
} traced;

static void trace_traced(void *object, cradle_visitor *visitor) {
  cradle_visit_references(visitor, ((traced *)object)->slot, NODE_SLOTS);
}

static void destroy_file(void *file);
static size_t file_bytes(const void *file) {
  return ((const object *)file)->identity % 1000;
}

static const cradle_type types[T_COUNT] = {
    [T_NODE] = {.name = "node", .size = sizeof(node), .references = UINT64_C(7) << 2},
    [T_BYTES] = {.name = "bytes", .size = sizeof(bytes), .items = CRADLE_ITEMS_BYTES, .item_size = 1,
                 .length_offset = offsetof(bytes, length)},
    [T_ARRAY] = {.name = "array", .size = sizeof(array), .items = CRADLE_ITEMS_REFERENCES, .item_size = 8,
                 .length_offset = offsetof(array, length)},
    [T_TRACED] = {.name = "traced", .size = sizeof(traced), .trace = trace_traced},
    [T_FINAL] = {.name = "final", .size = sizeof(node), .references = UINT64_C(7) << 2, .finalizer = QUEUE},
    [T_FILE] = {.name = "file", .size = sizeof(node), .references = UINT64_C(7) << 2, .destructor = destroy_file,
                .external_size = file_bytes},
    [T_WEAKS] = {.name = "weaks", .size = sizeof(array), .items = CRADLE_ITEMS_WEAK, .item_size = 8,
                 .length_offset = offsetof(array, length)},
    [T_PAIRS] = {.name = "pairs", .size = sizeof(array), .items = CRADLE_ITEMS_EPHEMERONS, .item_size = 16,
                 .length_offset = offsetof(array, length)},
};

/* --- the model: objects are numbered, 0 is none --- */

typedef struct model_object {
  uint32_t type;
  uint64_t length;
  uint32_t *slot; /* numbers */
  uint64_t seen;  /* the comparison that reached it last */
  uint64_t kept;  /* the comparison that found it kept */
  uint64_t dead;  /* deliveries + 1 when a weak slot said so; 0: none did */
  uint32_t destroyed, delivered; /* times */
  bool is_final; /* it has a finalizer, by its type or because it was given one */
  bool in_set;
  bool revived; /* it died, and a finalizer brought it back: weak slots that are older are cleared, rightly */
  uint32_t hash;  /* 0: not asked */
  uint64_t id;    /* likewise */
} model_object;

typedef struct pair {
  object *real;
  uint32_t model;
} pair;
typedef struct pairs {
  pair *at;
  size_t count, capacity;
} pairs;

typedef struct world {
  uint64_t seed, op, comparisons;
  const unsigned char *choice, *choices_end; /* bytes that decide in place of the seed; NULL: the seed does */
  cradle_heap *heap;
  cradle_mutator *m;
  model_object *objects;
  uint32_t count, capacity;
  /* The roots: a value stack registered as a range, globals, and shadow stack words, each with its model. */
  void *range[ROOT_SLOTS], *global[ROOT_SLOTS];
  void *range_base, *range_top;
  cradle_root_range roots;
  uint32_t range_model[ROOT_SLOTS], global_model[ROOT_SLOTS];
  uint32_t *shadow_model;
  view *view; /* NULL, or what the comparison adds each object to */
  size_t shadow_count;
  cradle_weak_set *set;
  pairs holders;       /* of weak slots and ephemerons, that a comparison met */
  uint32_t *finals;    /* objects with finalizers */
  size_t final_count;
  uint64_t deliveries;
  cradle_out_of_memory_function out_of_memory; /* NULL, or what ends an operation whose allocation was refused */
  bool was_refused;    /* memory: operations may end early, and finalizers come in any order */
  bool has_finals;     /* every other seed; without them, pairs are walked over */
  struct identity_world *identity; /* tests/model_identity.h */
} world;
static world *the_world;

#define SHADOW_MAX 4096

static uint64_t next_random(world *w) {
  w->seed ^= w->seed << 13;
  w->seed ^= w->seed >> 7;
  return w->seed ^= w->seed << 17;
}

/* A choice below end. */
static uint64_t below(world *w, uint64_t end) {
  if (w->choice == NULL) return next_random(w) % end;
  uint64_t chosen = 0;
  for (uint64_t range = 1; range < end && w->choice < w->choices_end; range <<= 8) chosen = chosen << 8 | *w->choice++;
  return chosen % end;
}

static uint64_t first_seed, looks_while_clearing;

static void differ(const world *w, const char *what) {
  printf("difference: %s; seed %llu, operation %llu\n", what, (unsigned long long)first_seed, (unsigned long long)w->op);
  fflush(stdout);
  if (w->choice != NULL) abort(); /* a fuzzer takes that for a finding */
  exit(1);
}

static uint32_t model_new(world *w, uint32_t type, uint64_t slots, uint64_t length) {
  if (w->count == w->capacity) {
    w->capacity *= 2;
    w->objects = realloc(w->objects, w->capacity * sizeof *w->objects);
    if (w->objects == NULL) abort();
  }
  uint32_t *slot = slots == 0 ? NULL : calloc(slots, sizeof *slot);
  w->objects[w->count] = (model_object){.type = type, .length = length, .slot = slot};
  return w->count++;
}

static bool is_array(uint32_t type) {
  return type == T_ARRAY || type == T_WEAKS || type == T_PAIRS;
}

/* Words that hold references of any strength. */
static uint64_t words_of(const model_object *model) {
  if (model->type == T_BYTES) return 0;
  if (model->type == T_PAIRS) return 2 * model->length;
  return is_array(model->type) ? model->length : NODE_SLOTS;
}

static uint64_t strong_of(const model_object *model) {
  return model->type == T_WEAKS || model->type == T_PAIRS ? 0 : words_of(model);
}

static void **slot_at(object *real, uint32_t type, uint64_t i) {
  return is_array(type) ? &((array *)real)->item[i] : &((node *)real)->slot[i];
}

static void destroy_file(void *file) {
  the_world->objects[((object *)file)->identity].destroyed++;
}

static unsigned char byte_of(uint32_t number, uint64_t i) {
  return (unsigned char)(number * 31 + i * 7);
}

/* Of long byte objects every so many-th is written, and compared. */
static uint64_t stride_of(uint64_t length) {
  return 1 + length / 64;
}

#include "tests/model_identity.h"

/* --- what the heap should say about itself --- */

static uint64_t bytes_of(const model_object *model) {
  if (is_array(model->type)) return sizeof(array) + words_of(model) * 8;
  if (model->type == T_BYTES) return cradle_object_bytes(sizeof(bytes) + model->length);
  return sizeof(node);
}

/* A root slot, or one of a prebuilt object, which is the same; references to prebuilt objects are not told. */
static void view_root(const world *w, const void *real, uint32_t number) {
  if (real != NULL && !identity_is_prebuilt(w, real)) view_add_root(w->view, number);
}

/* A reached object: of a pair the value counts as a reference of the holder, a weak slot does not count. */
static void view_reached(const world *w, object *real, uint32_t number) {
  const model_object *model = &w->objects[number];
  if (identity_is_prebuilt(w, real)) {
    for (uint64_t i = 0; i < words_of(model); i++) view_root(w, *slot_at(real, model->type, i), model->slot[i]);
    return;
  }
  bool is_pairs = model->type == T_PAIRS;
  view_add(w->view, (view_object){.object = real,
                                  .number = number,
                                  .type = model->type,
                                  .bytes = bytes_of(model),
                                  .slots = is_pairs && model->length != 0 ? model->slot + 1 : model->slot,
                                  .slot_count = is_pairs ? model->length : strong_of(model),
                                  .slot_step = is_pairs ? 2 : 1});
}

/* --- comparison of the whole reachable graph --- */

static void compare_one(world *w, const object *real, uint32_t number) {
  const model_object *model = &w->objects[number];
  if (real->identity != number) differ(w, "an object is another one");
  if (cradle_type_of(real) != model->type) differ(w, "an object has another type");
  identity_compare_one(w, real, model);
  if (model->destroyed != 0) differ(w, "the destructor of a live object ran");
  if (is_array(model->type) && ((const array *)real)->length != model->length) differ(w, "an array has another length");
  if (model->type != T_BYTES) return;
  const bytes *text = (const bytes *)real;
  if (text->length != model->length) differ(w, "bytes have another length");
  for (uint64_t i = 0; i < text->length; i += stride_of(text->length))
    if (text->item[i] != byte_of(number, i)) differ(w, "a byte changed");
}

static void push_pair(pairs *all, object *real, uint32_t number) {
  if (all->count == all->capacity) {
    all->capacity = all->capacity == 0 ? 1024 : all->capacity * 2;
    all->at = realloc(all->at, all->capacity * sizeof *all->at);
    if (all->at == NULL) abort();
  }
  all->at[all->count++] = (pair){real, number};
}

static void compare_push(world *w, pairs *stack, void *real, uint32_t number) {
  if ((real == NULL) != (number == 0)) differ(w, "a reference appeared or vanished");
  if (real == NULL) return;
  if (((object *)real)->identity != number) differ(w, "a reference leads to another object");
  if (w->objects[number].seen == w->comparisons) return;
  w->objects[number].seen = w->comparisons;
  push_pair(stack, real, number);
}

static bool is_reached(const world *w, uint32_t number) {
  return w->objects[number].seen == w->comparisons;
}

static void compare_reached(world *w, pairs *stack) {
  while (stack->count > 0) {
    pair at = stack->at[--stack->count];
    compare_one(w, at.real, at.model);
    const model_object *model = &w->objects[at.model];
    if (w->view != NULL) view_reached(w, at.real, at.model);
    if (model->type == T_WEAKS || model->type == T_PAIRS) push_pair(&w->holders, at.real, at.model);
    for (uint64_t i = 0; i < strong_of(model); i++)
      compare_push(w, stack, *slot_at(at.real, model->type, i), model->slot[i]);
  }
}

/* The values of reached keys, to a fixpoint. */
static void compare_ephemerons(world *w, pairs *stack) {
  for (bool again = true; again;) {
    again = false;
    for (size_t h = 0; h < w->holders.count; h++) {
      const model_object *model = &w->objects[w->holders.at[h].model];
      const array *real = (const array *)w->holders.at[h].real;
      if (model->type != T_PAIRS) continue;
      for (uint64_t i = 0; i < words_of(model); i += 2) {
        uint32_t key = model->slot[i], value = model->slot[i + 1];
        if ((key != 0 && !is_reached(w, key)) || (value != 0 && is_reached(w, value))) continue;
        if (key != 0 && cradle_weak_get(w->m, &real->item[i]) == NULL) differ(w, "a live key vanished");
        compare_push(w, stack, real->item[i + 1], value);
        again = again || value != 0;
      }
    }
    compare_reached(w, stack);
  }
}

/* What is kept, in the model alone: everything reached, and what objects lead to whose finalizers are still to come. */
static void keep(world *w) {
  size_t count = 0, capacity = 1024;
  uint32_t *stack = malloc(capacity * sizeof *stack);
  for (size_t i = 0; i < w->final_count; i++)
    if (w->objects[w->finals[i]].delivered == 0 && !is_reached(w, w->finals[i])) {
      if (count == capacity) stack = realloc(stack, (capacity *= 2) * sizeof *stack);
      if (stack == NULL) abort();
      stack[count++] = w->finals[i];
    }
  pairs tables = {NULL, 0, 0};
  for (size_t h = 0; h < w->holders.count; h++) push_pair(&tables, NULL, w->holders.at[h].model);
  for (bool again = true; again;) {
    again = false;
    while (count > 0) {
      uint32_t number = stack[--count];
      model_object *model = &w->objects[number];
      if (is_reached(w, number) || model->kept == w->comparisons) continue;
      model->kept = w->comparisons;
      if (model->type == T_PAIRS) push_pair(&tables, NULL, number);
      while (count + words_of(model) > capacity) stack = realloc(stack, (capacity *= 2) * sizeof *stack);
      if (stack == NULL) abort();
      for (uint64_t i = 0; i < strong_of(model); i++)
        if (model->slot[i] != 0) stack[count++] = model->slot[i];
    }
    for (size_t t = 0; t < tables.count; t++) {
      const model_object *model = &w->objects[tables.at[t].model];
      if (model->type != T_PAIRS) continue;
      for (uint64_t i = 0; i < words_of(model); i += 2) {
        uint32_t key = model->slot[i], value = model->slot[i + 1];
        bool key_kept = key == 0 || is_reached(w, key) || w->objects[key].kept == w->comparisons;
        if (!key_kept || value == 0 || is_reached(w, value) || w->objects[value].kept == w->comparisons) continue;
        if (count == capacity) stack = realloc(stack, (capacity *= 2) * sizeof *stack);
        if (stack == NULL) abort();
        stack[count++] = value;
        again = true;
      }
    }
  }
  free(stack);
  free(tables.at);
}

static bool is_kept(const world *w, uint32_t number) {
  return is_reached(w, number) || w->objects[number].kept == w->comparisons;
}

/* What a weak read says about an object, whatever it was read from. */
static void check_weak(world *w, const object *real, uint32_t number) {
  model_object *model = &w->objects[number];
  if (real == NULL) {
    if (!model->revived) model->dead = w->deliveries + 1;
    return;
  }
  if (real->identity != number || cradle_type_of(real) != model->type) differ(w, "a weak slot leads to another object");
  if (model->dead == w->deliveries + 1) differ(w, "an object that died in one weak slot lives in another");
}

static void compare_holders(world *w, bool exact) {
  for (size_t h = 0; h < w->holders.count; h++) {
    model_object *model = &w->objects[w->holders.at[h].model];
    const array *real = (const array *)w->holders.at[h].real;
    uint64_t step = model->type == T_PAIRS ? 2 : 1;
    for (uint64_t i = 0; i < words_of(model); i += step) {
      uint32_t number = model->slot[i];
      const object *held = cradle_weak_get(w->m, &real->item[i]);
      if (number == 0 && real->item[i] != NULL) differ(w, "a weak reference appeared");
      if (number == 0) continue;
      bool may_be_cleared = !is_reached(w, number) || (step == 1 && w->objects[number].revived);
      if (held == NULL && !may_be_cleared) differ(w, "a weak slot was cleared, and its object is reachable");
      if (held != NULL && exact && !is_kept(w, number)) differ(w, "a weak slot holds a dead object after a full collection");
      if (step == 1) check_weak(w, held, number);
      if (real->item[i] != NULL) continue;
      if (step == 2 && is_kept(w, number)) differ(w, "a pair was cleared, and its key is kept");
      if (step == 2 && real->item[i + 1] != NULL) differ(w, "a pair was cleared in part");
      model->slot[i] = model->slot[i + step - 1] = 0;
    }
  }
}

static bool has_identity(const void *real, const void *number) {
  return ((const object *)real)->identity == *(const uint64_t *)number;
}

/* Objects one by one: whether the dead were destroyed and left the set. */
static void compare_dead(world *w, bool exact) {
  size_t in_set = 0;
  for (uint32_t number = 1; number < w->count; number++) {
    model_object *model = &w->objects[number];
    if (model->destroyed > 1 || model->delivered > 1) differ(w, "a destructor or a finalizer ran twice");
    if (exact && model->type == T_FILE && (model->destroyed == 0) != is_kept(w, number))
      differ(w, model->destroyed == 0 ? "the destructor of a dead object did not run" : "a kept object was destroyed");
    if (is_reached(w, number)) model->dead = 0;
    if (!model->in_set) continue;
    uint64_t identity = number;
    const object *found = cradle_weak_set_find(w->set, identity, has_identity, &identity);
    if (found == NULL && is_reached(w, number) && !model->revived) differ(w, "a live object left the weak set");
    if (found != NULL && exact && !is_kept(w, number)) differ(w, "a dead object is in the weak set");
    check_weak(w, found, number);
    if (found == NULL) model->in_set = false;
    in_set += model->in_set;
  }
  if (exact && in_set != cradle_weak_set_count(w->set)) differ(w, "the weak set has another count");
}

static void compare(world *w, bool exact) {
  pairs stack = {NULL, 0, 0};
  w->comparisons++;
  w->holders.count = 0;
  for (size_t i = 0; i < ROOT_SLOTS; i++) compare_push(w, &stack, w->range[i], w->range_model[i]);
  for (size_t i = 0; i < ROOT_SLOTS; i++) compare_push(w, &stack, w->global[i], w->global_model[i]);
  for (size_t i = 0; i < w->shadow_count; i++)
    compare_push(w, &stack, (void *)(uintptr_t)w->m->shadow_base[i], w->shadow_model[i]);
  identity_root root;
  for (size_t i = 0; identity_root_at(w, i, &root); i++) compare_push(w, &stack, root.real, root.number);
  compare_reached(w, &stack);
  compare_ephemerons(w, &stack);
  keep(w);
  compare_holders(w, exact);
  compare_dead(w, exact);
  free(stack.at);
}

/* --- what the heap says about itself --- */

/* What only finalizers keep: the model knows that it lives, but not where. */
static bool is_only_kept(const void *data, const void *real) {
  const world *w = data;
  uint64_t number = ((const object *)real)->identity;
  return number < w->count && !is_reached(w, (uint32_t)number) && w->objects[number].kept == w->comparisons;
}

/* Compares the graph, and walk, referrers and dump with it. */
static void look(world *w, bool exact) {
#ifdef MODEL_OF_BYTES
  system_heal(); /* it needs memory itself */
#endif
  view all = {.is_kept = is_only_kept, .data = w, .waiting = cradle_finalizer_waiting(w->m, QUEUE)};
  w->view = &all;
  compare(w, exact);
  for (uint32_t number = 1; number < w->count; number++)
    all.kept += !is_reached(w, number) && w->objects[number].kept == w->comparisons;
  for (size_t i = 0; i < ROOT_SLOTS; i++) view_root(w, w->range[i], w->range_model[i]);
  for (size_t i = 0; i < ROOT_SLOTS; i++) view_root(w, w->global[i], w->global_model[i]);
  for (size_t i = 0; i < w->shadow_count; i++) view_root(w, (void *)(uintptr_t)w->m->shadow_base[i], w->shadow_model[i]);
  identity_root root;
  for (size_t i = 0; identity_root_at(w, i, &root); i++)
    if (!identity_is_second_pin(w, i)) view_root(w, root.real, root.number);
  w->view = NULL;
  const char *fault = view_check(&all, w->heap, exact);
  if (fault != NULL) differ(w, fault);
  view_free(&all);
}

/* --- operations --- */

/* A random root that holds something, or NULL. */
static void **random_root(world *w, uint32_t *number) {
  size_t i = below(w, ROOT_SLOTS);
  uint64_t which = below(w, 3);
  if (which == 2 && w->shadow_count > 0) {
    i = below(w, w->shadow_count);
    *number = w->shadow_model[i];
    return (void **)&w->m->shadow_base[i];
  }
  *number = which == 0 ? w->range_model[i] : w->global_model[i];
  return which == 0 ? &w->range[i] : &w->global[i];
}

/* What word i of an object holds that may be used: NULL for the dead. */
static object *read_word(world *w, object *real, const model_object *model, uint64_t i) {
  void **slot = slot_at(real, model->type, i);
  if (model->type != T_WEAKS && model->type != T_PAIRS) return *slot;
  if (model->type == T_PAIRS && w->has_finals) return NULL; /* a key may be dead already, and wait in a queue with its value */
  if (model->type == T_PAIRS && i % 2 == 1) /* a value: its key must be none or alive */
    return model->slot[i - 1] == 0 || cradle_weak_get(w->m, slot - 1) != NULL ? *slot : NULL;
  object *held = cradle_weak_get(w->m, slot);
  if (model->type == T_WEAKS) check_weak(w, held, model->slot[i]);
  return held;
}

/* Walks a few random steps from a random root, over weak slots and pairs, too. */
static object *random_object(world *w, uint32_t *number) {
  object *real = *random_root(w, number);
  for (uint64_t steps = below(w, 6); real != NULL && steps > 0; steps--) {
    const model_object *model = &w->objects[*number];
    uint64_t words = words_of(model);
    if (words == 0) break;
    uint64_t i = below(w, words);
    object *next = model->slot[i] == 0 ? NULL : read_word(w, real, model, i);
    if (next == NULL) break;
    real = next;
    *number = model->slot[i];
  }
  return real;
}

/* The longest word arrays have several of each piece in which a collection looks at them. With bytes instead of a seed that must
 * do: all collections and comparisons would be about one array otherwise. Bytes themselves cost nothing, and exceed an arena. */
static uint64_t longest(const world *w, uint32_t type) {
  if (w->choice == NULL) return 100000;
  return type == T_BYTES ? (uint64_t)3 << 20 : 10000;
}

static uint64_t random_length(world *w, uint32_t type) {
  switch (below(w, 100)) {
    case 0: return below(w, longest(w, type));
    case 1: case 2: case 3: return below(w, 6000);
    default: return below(w, 40);
  }
}

static void list_final(world *w, uint32_t number) {
  if ((w->final_count & (w->final_count - 1)) == 0) w->finals = realloc(w->finals, (2 * w->final_count + 1) * sizeof *w->finals);
  if (w->finals == NULL) abort();
  w->finals[w->final_count++] = number;
  w->objects[number].is_final = true;
}

static object *allocate(world *w, uint32_t *number) CRADLE_MAY_COLLECT {
  uint32_t type = (uint32_t)below(w, below(w, 2) ? T_FINAL : T_COUNT);
  if (type == T_FINAL && !w->has_finals) type = T_NODE;
  uint64_t length = type == T_BYTES || is_array(type) ? random_length(w, type) : 0;
  object *real;
  if (types[type].finalizer != 0 || types[type].destructor != NULL) {
    real = below(w, 2) ? cradle_new_registered(w->m, type, sizeof(node)) : cradle_try_new_registered(w->m, type, sizeof(node));
  } else if (type == T_WEAKS || type == T_PAIRS) {
    real = cradle_new_registered_array(w->m, type, length);
  } else if (type == T_BYTES || type == T_ARRAY) {
    real = below(w, 2) ? cradle_new_array(w->m, type, length) : cradle_try_new_array(w->m, type, length);
  } else if (below(w, 4) == 0) {
    cradle_reservation room = cradle_reserve(w->m, 2 * sizeof(node));
    real = cradle_new_reserved(&room, type, sizeof(node));
    memset(((node *)real)->slot, 0, sizeof((node *)real)->slot);
  } else {
    real = cradle_new(w->m, type, sizeof(node));
  }
  if (real == NULL && w->out_of_memory != NULL) w->out_of_memory(w, w->m, 0);
  if (real == NULL) differ(w, "memory ran out");
  model_object shape = {.type = type, .length = length};
  *number = model_new(w, type, words_of(&shape), length);
  real->identity = *number;
  if (type == T_FINAL) list_final(w, *number);
  if (type == T_BYTES)
    for (uint64_t i = 0; i < length; i += stride_of(length)) ((bytes *)real)->item[i] = byte_of(*number, i);
  return real;
}

/* Stores into one word. A pair whose key died is emptied first, as cradle/weak.h demands. */
static void store_word(world *w, object *holder, uint32_t holder_number, uint64_t i, object *real, uint32_t number) {
  model_object *model = &w->objects[holder_number];
  if (model->type == T_PAIRS && model->slot[i & ~UINT64_C(1)] != 0) {
    uint64_t key = i & ~UINT64_C(1);
    if (cradle_weak_get(w->m, slot_at(holder, T_PAIRS, key)) == NULL) {
      cradle_store(w->m, holder, slot_at(holder, T_PAIRS, key), NULL);
      cradle_store(w->m, holder, slot_at(holder, T_PAIRS, key + 1), NULL);
      model->slot[key] = model->slot[key + 1] = 0;
    }
  }
  cradle_store(w->m, holder, slot_at(holder, model->type, i), real);
  model->slot[i] = number;
}

static void op_allocate_into_root(world *w) CRADLE_MAY_COLLECT {
  uint32_t number;
  object *real = allocate(w, &number);
  size_t i = below(w, ROOT_SLOTS);
  bool in_range = below(w, 2);
  (in_range ? w->range : w->global)[i] = real;
  (in_range ? w->range_model : w->global_model)[i] = number;
}

static void op_allocate_into_object(world *w) CRADLE_MAY_COLLECT {
  uint32_t holder_number, number;
  object *holder = random_object(w, &holder_number);
  CRADLE_ROOT(w->m, holder);
  object *real = allocate(w, &number);
  if (holder == NULL || words_of(&w->objects[holder_number]) == 0) return;
  uint64_t i = below(w, words_of(&w->objects[holder_number]));
  store_word(w, holder, holder_number, i, real, number);
}

static void op_store(world *w) {
  uint32_t holder_number, number;
  object *holder = random_object(w, &holder_number), *real = random_object(w, &number);
  if (holder == NULL || words_of(&w->objects[holder_number]) == 0) return;
  if (real == NULL || below(w, 8) == 0) real = NULL, number = 0;
  uint64_t i = below(w, words_of(&w->objects[holder_number]));
  store_word(w, holder, holder_number, i, real, number);
}

/* Stores into one array, some of them with the barrier that is not told the slot. */
static void op_store_many(world *w) CRADLE_MAY_COLLECT {
  uint32_t holder_number, number;
  object *holder = random_object(w, &holder_number);
  if (holder == NULL || w->objects[holder_number].type != T_ARRAY || w->objects[holder_number].length == 0) return;
  CRADLE_ROOT(w->m, holder);
  for (uint64_t stores = below(w, 60); stores > 0; stores--) {
    uint64_t i = below(w, w->objects[holder_number].length);
    object *real = below(w, 3) == 0 ? random_object(w, &number) : allocate(w, &number);
    if (real == NULL) number = 0;
    if (below(w, 8) == 0) {
      ((array *)holder)->item[i] = real;
      cradle_write_barrier(w->m, holder);
    } else {
      cradle_store(w->m, holder, &((array *)holder)->item[i], real);
    }
    w->objects[holder_number].slot[i] = number;
  }
}

/* Pairs are more often stored whole, and often with a value that leads to the key. */
static void op_store_pair(world *w) {
  uint32_t holder_number, key_number, value_number;
  object *holder = random_object(w, &holder_number), *key = random_object(w, &key_number), *value = random_object(w, &value_number);
  if (holder == NULL || key == NULL || value == NULL) return;
  model_object *model = &w->objects[holder_number];
  if (model->type != T_PAIRS || model->length == 0) return;
  uint64_t i = 2 * below(w, model->length);
  cradle_store(w->m, holder, &((array *)holder)->item[i], key);
  cradle_store(w->m, holder, &((array *)holder)->item[i + 1], value);
  model->slot[i] = key_number;
  model->slot[i + 1] = value_number;
}

static void op_weak_set(world *w) {
  uint32_t number;
  object *real = random_object(w, &number);
  if (real == NULL) return;
  uint64_t identity = number;
  model_object *model = &w->objects[number];
  const object *found = cradle_weak_set_find(w->set, identity, has_identity, &identity);
  if (model->in_set && found == NULL && model->revived) model->in_set = false;
  if (model->in_set && found != real) differ(w, "an object that is used is not in the weak set");
  if (!model->in_set && !cradle_weak_set_add(w->set, identity, real)) abort();
  if (model->in_set && !cradle_weak_set_remove(w->set, identity, real)) differ(w, "an object was not in the weak set");
  model->in_set = !model->in_set;
}

/* Whether one object leads to another by strong slots, as far as a walk over so many objects tells. */
static bool leads_to(const world *w, uint32_t from, uint32_t to) {
  enum { MOST = 200 };
  uint32_t met[MOST];
  size_t count = 0, next = 0;
  met[count++] = from;
  while (next < count) {
    const model_object *model = &w->objects[met[next++]];
    for (uint64_t i = 0; i < strong_of(model) && i < 50; i++) {
      uint32_t number = model->slot[i];
      if (number == to) return true;
      bool known = number == 0;
      for (size_t k = 0; k < count && !known; k++) known = met[k] == number;
      if (!known && count < MOST) met[count++] = number;
    }
  }
  return false;
}

/* Nobody who is still to come may lead to the one that came, unless it leads back. Once something that leads to it has come
 * back, the program may have stored a reference to it anywhere. */
static void check_order(world *w, uint32_t came) {
  if (w->objects[came].revived || w->was_refused) return;
  for (size_t tries = 0; tries < 8; tries++) {
    uint32_t other = w->finals[w->final_count - 1 - below(w, w->final_count < 200 ? w->final_count : 200)];
    if (w->objects[other].delivered == 0 && leads_to(w, other, came) && !leads_to(w, came, other))
      differ(w, "a finalizer came before that of an object that leads to its own");
  }
}

/* An object came back, with all that it leads to and the roots do not. */
static void revive(world *w, uint32_t number) {
  size_t count = 0, capacity = 64;
  uint32_t *stack = malloc(capacity * sizeof *stack);
  if (stack == NULL) abort();
  stack[count++] = number;
  while (count > 0) {
    model_object *model = &w->objects[stack[--count]];
    if (model->seen == w->comparisons || model->revived) continue;
    model->revived = true;
    while (count + words_of(model) > capacity) stack = realloc(stack, (capacity *= 2) * sizeof *stack);
    if (stack == NULL) abort();
    for (uint64_t i = 0; i < words_of(model); i++)
      if (model->slot[i] != 0 && (model->type != T_PAIRS || i % 2 == 1) && model->type != T_WEAKS) stack[count++] = model->slot[i];
  }
  free(stack);
}

/* Whether an object leads by strong slots to a few others only, and no service knows one of them. */
static bool is_plain(const world *w, uint32_t number) {
  enum { MOST = 50 };
  uint32_t met[MOST];
  size_t count = 0;
  met[count++] = number;
  for (size_t next = 0; next < count; next++) {
    const model_object *model = &w->objects[met[next]];
    bool is_known = model->type == T_NODE || model->type == T_BYTES || model->type == T_ARRAY || model->type == T_TRACED;
    if (!is_known || model->is_final || model->in_set || strong_of(model) > MOST) return false;
    for (uint64_t i = 0; i < strong_of(model); i++) {
      bool met_before = model->slot[i] == 0;
      for (size_t k = 0; k < count && !met_before; k++) met_before = met[k] == model->slot[i];
      if (met_before) continue;
      if (count == MOST) return false;
      met[count++] = model->slot[i];
    }
  }
  return true;
}

/* Takes what the key of a pair refers to out of it, if it is plain. */
static bool take(world *w, pair holder) {
  const model_object *table = &w->objects[holder.model];
  if (table->type != T_PAIRS || table->length == 0) return false;
  uint64_t i = 2 * below(w, table->length);
  uint32_t number = table->slot[i];
  object *key = number == 0 ? NULL : cradle_weak_get(w->m, slot_at(holder.real, T_PAIRS, i));
  if (key == NULL || strong_of(&w->objects[number]) == 0) return false;
  model_object *model = &w->objects[number];
  if (key->identity != number) differ(w, "the key of a pair is another object");
  i = below(w, strong_of(model));
  void **slot = slot_at(key, model->type, i);
  uint32_t taken = model->slot[i];
  if (taken == 0 || !is_plain(w, taken)) return false;
  if (((object *)*slot)->identity != taken) differ(w, "a key leads to another object");
  revive(w, taken);
  size_t at = below(w, ROOT_SLOTS);
  w->range[at] = *slot;
  w->range_model[at] = taken;
  cradle_store(w->m, key, slot, NULL);
  model->slot[i] = 0;
  return true;
}

/* Of some pair. Its key may be dead and on its way back, and known to the pair alone. */
static void op_take(world *w) {
  compare(w, false);
  for (int tries = 0; tries < 20 && w->holders.count != 0; tries++)
    if (take(w, w->holders.at[below(w, w->holders.count)])) return;
}

static object *new_node(world *w, uint32_t type, uint32_t *number) CRADLE_MAY_COLLECT {
  object *real = type == T_FINAL ? cradle_new_registered(w->m, type, sizeof(node)) : cradle_new(w->m, type, sizeof(node));
  *number = model_new(w, type, NODE_SLOTS, 0);
  real->identity = *number;
  if (type == T_FINAL) list_final(w, *number);
  return real;
}

/* A pair that lives and a key that nobody else knows, with a finalizer and a few objects that it leads to. */
static void op_secret(world *w) CRADLE_MAY_COLLECT {
  if (!w->has_finals) return;
  size_t at = below(w, ROOT_SLOTS), holder_at = below(w, ROOT_SLOTS);
  if (at == holder_at) return;
  uint32_t number;
  w->range[at] = NULL, w->range_model[at] = 0;
  for (uint64_t count = 1 + below(w, 30); count > 0; count--) {
    object *real = new_node(w, count == 1 ? T_FINAL : T_NODE, &number);
    for (uint64_t i = 0; i < 2; i++) {
      cradle_store(w->m, real, slot_at(real, T_NODE, i), w->range[at]);
      w->objects[number].slot[i] = w->range_model[at];
    }
    w->range[at] = real, w->range_model[at] = number;
  }
  array *holder = cradle_new_registered_array(w->m, T_PAIRS, 1);
  number = model_new(w, T_PAIRS, 2, 1);
  holder->base.identity = number;
  store_word(w, &holder->base, number, 0, w->range[at], w->range_model[at]);
  w->range[holder_at] = holder, w->range_model[holder_at] = number;
  w->range[at] = NULL, w->range_model[at] = 0;
}

/* An array becomes shorter, wherever a collection is in it. */
static void op_shorten(world *w) {
  uint32_t number;
  object *real = random_object(w, &number);
  if (real == NULL || (!is_array(w->objects[number].type) && w->objects[number].type != T_BYTES)) return;
  model_object *model = &w->objects[number];
  if (model->length == 0) return;
  model->length = ((array *)real)->length = below(w, model->length);
  if (model->type != T_BYTES) return;
  for (uint64_t i = 0; i < model->length; i += stride_of(model->length)) ((bytes *)real)->item[i] = byte_of(number, i);
}

/* A finalizer for an object whose type has none, young or old. */
static void op_register(world *w) {
  uint32_t number;
  object *real = random_object(w, &number);
  if (!w->has_finals || real == NULL || w->objects[number].type != T_NODE || w->objects[number].is_final) return;
  if (identity_is_prebuilt(w, real)) return;
  if (!cradle_finalizer_register(w->m, real, QUEUE)) {
    if (!w->was_refused) differ(w, "a finalizer was refused");
    return;
  }
  list_final(w, number);
}

static void op_finalize(world *w, bool all) {
  if (cradle_finalizer_waiting(w->m, QUEUE) == 0) return;
  compare(w, false);
  for (uint64_t count = all ? UINT64_MAX : below(w, 4); count > 0; count--) {
    object *real = cradle_finalizer_next(w->m, QUEUE);
    if (real == NULL) return;
    uint32_t number = (uint32_t)real->identity;
    model_object *model = &w->objects[number];
    if (!model->is_final || cradle_type_of(real) != model->type) differ(w, "a finalizer queue gave what has no finalizer");
    if (model->delivered++ != 0) differ(w, "a finalizer queue gave an object twice");
    w->deliveries++;
    check_order(w, number);
    revive(w, number);
    for (uint64_t i = 0; i < NODE_SLOTS; i++)
      if (model->slot[i] != 0 && ((node *)real)->slot[i] != NULL &&
          ((object *)((node *)real)->slot[i])->identity != model->slot[i])
        differ(w, "an object that came back leads to another object");
    if (below(w, 2)) continue;
    size_t at = below(w, ROOT_SLOTS);
    w->range[at] = real;
    w->range_model[at] = number;
  }
}

/* Copies slots from an array into an array, often the same one, or into one that was just made. */
static void op_copy(world *w) CRADLE_MAY_COLLECT {
  uint32_t from_number, to_number;
  object *from = random_object(w, &from_number);
  if (from == NULL || w->objects[from_number].type != T_ARRAY || w->objects[from_number].length == 0) return;
  CRADLE_ROOT(w->m, from);
  uint64_t which = below(w, 4), length = w->objects[from_number].length;
  object *to = from;
  if (which == 0) {
    to = cradle_new_array(w->m, T_ARRAY, length + 1);
    to_number = model_new(w, T_ARRAY, length + 1, length + 1);
    to->identity = to_number;
  } else if (which == 1) {
    to = random_object(w, &to_number);
    if (to == NULL || (w->objects[to_number].type != T_ARRAY && w->objects[to_number].type != T_WEAKS)) return;
    if (w->objects[to_number].length == 0) return;
  } else {
    to_number = from_number;
  }
  uint64_t count = 1 + below(w, below(w, 3) == 0 ? length : length < 20 ? length : 20), at = below(w, length);
  if (count > length - at) count = length - at;
  if (count > w->objects[to_number].length) count = w->objects[to_number].length;
  uint64_t into = below(w, w->objects[to_number].length - count + 1);
  void **target = &((array *)to)->item[into], **source = &((array *)from)->item[at];
  if (which == 0)
    cradle_init_slots(w->m, to, target, source, count);
  else
    cradle_copy_slots(w->m, to, target, source, count);
  memmove(w->objects[to_number].slot + into, w->objects[from_number].slot + at, count * sizeof(uint32_t));
  if (which == 0) cradle_store(w->m, from, &((array *)from)->item[at], to);
  if (which == 0) w->objects[from_number].slot[at] = to_number;
}

static void op_drop(world *w) {
  uint32_t number;
  void **root = random_root(w, &number);
  *root = NULL;
  for (size_t i = 0; i < ROOT_SLOTS; i++) {
    if (root == &w->range[i]) w->range_model[i] = 0;
    if (root == &w->global[i]) w->global_model[i] = 0;
  }
  for (size_t i = 0; i < w->shadow_count; i++)
    if (root == (void **)&w->m->shadow_base[i]) w->shadow_model[i] = 0;
}

static void op_push(world *w) {
  uint32_t number = 0;
  if (w->shadow_count == SHADOW_MAX) return;
  object *real = random_object(w, &number);
  cradle_push(w->m, real);
  w->shadow_model[w->shadow_count++] = real == NULL ? 0 : number;
}

static void op_pop(world *w) {
  size_t count = below(w, 8);
  if (count > w->shadow_count) count = w->shadow_count;
  cradle_pop_many(w->m, count);
  w->shadow_count -= count;
}

static void op_collect(world *w) CRADLE_MAY_COLLECT {
  uint64_t which = below(w, 60);
  if (which == 0)
    cradle_collect_full(w->m);
  else if (which < 3)
    cradle_collect_major(w->m);
  else if (which == 3)
    cradle_collect_compacting(w->m);
  else if (which < 40)
    (void)cradle_collect_step(w->m, below(w, 20000));
  else
    cradle_collect_minor(w->m);
  cradle_error error;
  if (which % 8 < 2 && !cradle_heap_verify(w->heap, &error)) differ(w, error.message);
  if (which < 4 || which == 40)
    look(w, which < 4); /* a complete major collection leaves what is kept, and nothing else */
  else if (which % 8 < 3)
    compare(w, false);
}

/* Between marking and sweeping heaps are rarely met: then a look is due more often. */
static void look_while_clearing(world *w) {
  cradle_stats stats;
  cradle_heap_stats(w->heap, &stats, sizeof stats, false);
  if (stats.phase != CRADLE_PHASE_CLEARING) return;
  look(w, false);
  op_take(w);
  looks_while_clearing++;
}

/* --- a run --- */

static void choose_options(cradle_options *options, uint64_t seed, size_t nursery, uint64_t stress, size_t quarantine, bool verify) {
  cradle_options_init(options);
  options->types = types;
  options->type_count = T_COUNT;
  options->nursery_bytes = nursery;
  options->major_min_bytes = (size_t)2 << 20; /* many major collections */
  options->reserve_bytes = (size_t)8 << 30;   /* qemu keeps a table of all address space that a program ever had */
  options->stress_period = stress;
  options->stress_major = stress != 0 ? 50 : 0;
  options->quarantine = quarantine;
  if (seed % 3 == 0) options->pause_ns = 1; /* the smallest increments, */
  if (seed % 3 == 1) options->pause_ns = 0; /* or none */
  options->verify = verify;
}

static void open_world(world *w, uint64_t seed, const cradle_options *options) {
  *w = (world){.seed = seed * 2654435761u + 88172645463325252u, .count = 1, .capacity = 64, .has_finals = seed % 2,
               .out_of_memory = options->on_out_of_memory};
  first_seed = seed;
  w->objects = calloc(w->capacity, sizeof *w->objects);
  w->shadow_model = calloc(SHADOW_MAX, sizeof *w->shadow_model);
  if (w->objects == NULL || w->shadow_model == NULL) abort();
  cradle_error error;
  w->heap = cradle_heap_new(options, &error);
  if (w->heap == NULL) differ(w, error.message);
  the_world = w;
}

static void free_model(world *w) {
  for (uint32_t i = 0; i < w->count; i++) free(w->objects[i].slot);
  free(w->objects);
  free(w->shadow_model);
  free(w->finals);
  free(w->holders.at);
}

/* At the end: nothing is in the queue that is reachable, everything else with a finalizer comes, and every destructor ran. */
static void check_last(world *w) CRADLE_MAY_COLLECT {
  cradle_collect_full(w->m);
  compare(w, true);
  op_finalize(w, true);
  cradle_collect_full(w->m);
  compare(w, true);
  uint64_t waiting = 0;
  for (size_t i = 0; i < w->final_count; i++) {
    bool reached = is_reached(w, w->finals[i]);
    if (w->objects[w->finals[i]].delivered == 0 && !reached) waiting++;
  }
  /* What the objects that came back led to, and were not kept by the roots, dies in the second collection only. */
  if (waiting != cradle_finalizer_waiting(w->m, QUEUE)) differ(w, "a dead object with a finalizer did not come back");
}

static void check_destroyed(const world *w) {
  for (uint32_t number = 1; number < w->count; number++)
    if (w->objects[number].type == T_FILE && w->objects[number].destroyed != 1)
      differ(w, "a destructor did not run once by the end of the heap");
}

static void start_mutator(world *w) CRADLE_GRANTS_COLLECTION {
  w->m = cradle_mutator_new(w->heap);
  w->set = cradle_weak_set_new(w->m, NULL, NULL);
  if (w->set == NULL) abort();
  w->range_base = w->range;
  w->range_top = w->range + ROOT_SLOTS;
  w->roots = (cradle_root_range){.base = &w->range_base, .top = &w->range_top, .name = "model"};
  cradle_root_range_add(w->m, &w->roots);
  for (size_t i = 0; i < ROOT_SLOTS; i++)
    if (!cradle_global_root_add(w->heap, &w->global[i], CRADLE_KIND_REFERENCE)) abort();
  identity_open(w);
}

/* After check_last. */
static void close_world(world *w) CRADLE_REVOKES_COLLECTION {
  identity_close(w);
  cradle_pop_many(w->m, w->shadow_count);
  cradle_root_range_remove(w->m, &w->roots);
  cradle_weak_set_free(w->set);
  cradle_mutator_free(w->m);
  cradle_heap_free(w->heap);
  check_destroyed(w);
  free_model(w);
}

#ifndef MODEL_OF_BYTES /* tests/fuzz_heap.c takes what is above */
static void step(world *w) CRADLE_MAY_COLLECT {
  if (w->op % 64 == 0) look_while_clearing(w);
  if (below(w, 10) == 0) {
    identity_step(w);
    return;
  }
  uint64_t which = below(w, 1000);
  if (which < 300) op_allocate_into_root(w);
  else if (which < 600) op_allocate_into_object(w);
  else if (which < 800) op_store(w);
  else if (which < 810) op_store_many(w);
  else if (which < 822) op_store_pair(w);
  else if (which < 832) op_weak_set(w);
  else if (which < 836) op_finalize(w, false);
  else if (which < 838) op_register(w);
  else if (which < 842) op_secret(w);
  else if (which < 844) op_shorten(w);
  else if (which < 856) op_copy(w);
  else if (which < 880) op_drop(w);
  else if (which < 940) op_push(w);
  else if (which < 995) op_pop(w);
  else if (w->op % 64 == 0) look(w, false);
  else op_collect(w);
}

static uint64_t moved_old, recorded; /* in all runs */

static uint64_t run(uint64_t seed, uint64_t ops, size_t nursery, uint64_t stress, size_t quarantine, bool verify) {
  world w;
  cradle_options options;
  choose_options(&options, seed, nursery, stress, quarantine, verify);
  open_world(&w, seed, &options);
  start_mutator(&w);
  for (w.op = 0; w.op < ops; w.op++) step(&w);
  check_last(&w);
  cradle_stats stats;
  cradle_heap_stats(w.heap, &stats, sizeof stats, false);
  if (stats.moved_objects == 0 || stats.major_collections == 0) differ(&w, "the run moved nothing or marked nothing");
  moved_old += stats.moved_old_objects;
  recorded += stats.recorded_slots;
  close_world(&w);
  return stats.moved_objects;
}

static uint64_t argument(int argc, char **argv, const char *name, uint64_t otherwise) {
  for (int i = 1; i + 1 < argc; i += 2)
    if (strcmp(argv[i], name) == 0) return strtoull(argv[i + 1], NULL, 0);
  return otherwise;
}

int main(int argc, char **argv) {
  uint64_t ops = argument(argc, argv, "--ops", 60000), moved = 0;
  if (argc > 1 && argument(argc, argv, "--seed", 0) != 0) {
    moved = run(argument(argc, argv, "--seed", 1), ops, argument(argc, argv, "--nursery", 65536),
                argument(argc, argv, "--stress", 0), argument(argc, argv, "--quarantine", 0), argument(argc, argv, "--verify", 0) != 0);
  } else {
    static const size_t nurseries[] = {4096, 5000, 16384, 65536, 262144, 1 << 20, 4 << 20};
    for (size_t i = 0; i < sizeof nurseries / sizeof *nurseries; i++)
      for (uint64_t seed = 1; seed <= 2; seed++) moved += run(seed + i * 100, ops, nurseries[i], 0, 0, false);
    moved += run(77, ops / 15, 4096, 1, 0, false);
    moved += run(78, ops / 5, 65536, 7, 0, false);
    moved += run(79, ops / 15, 16384, 3, 2, false);
    for (uint64_t seed = 90; seed < 93; seed++) moved += run(seed, ops / 3, 16384, 0, seed == 92 ? 4 : 0, true);
    if (moved_old < 1000 || recorded < 100 || looks_while_clearing < 10) {
      printf("the runs moved hardly an old object, recorded hardly a slot or never looked while the dead were found\n");
      return 1;
    }
  }
  printf("no difference; %llu objects moved, %llu looks between marking and sweeping\n", (unsigned long long)moved,
         (unsigned long long)looks_while_clearing);
  return 0;
}
#endif
