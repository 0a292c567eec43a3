/* The random mutator: a graph on the heap and the same graph in plain memory, changed together and compared.
 *
 * The model knows what is reachable from the roots (with ephemerons, to a fixpoint), and what is kept: the reachable
 * objects, and everything to which objects lead whose finalizers are still to come. A weak slot may be cleared when its
 * object is not reachable, a pair when its key is not kept; neither may hold another object; and after a full
 * collection, every object that is not kept is gone. An object whose weak slot was cleared once is dead in all weak
 * slots. Each object comes out of its finalizer queue once, when it is dead, and before the objects that it leads to.
 * Each destructor runs once: when its object is dead, or when the heap is freed.
 *
 * This is the model and the comparison; tests/model/model_operations.h changes both. test_model.c does so with random
 * numbers, fuzz_heap.c with a fuzzer's bytes.
 */
#ifndef TESTS_MODEL_H
#define TESTS_MODEL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cradle/cradle.h>

#include "tests/model/look_regions.h"
#include "tests/model/model_walk.h"

enum { T_NODE, T_BYTES, T_ARRAY, T_TRACED, T_TABLE, T_FINAL, T_FILE, T_WEAKS, T_PAIRS, T_COUNT };
enum { NODE_SLOTS = 3, ROOT_SLOTS = 64, IMMEDIATES = 16, QUEUE = 3 };

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
typedef struct entry { /* two slots and raw data between them */
  void *key;
  uint64_t raw;
  void *value;
} entry;
typedef struct table { /* begins like an array */
  object base;
  uint64_t length;
  entry item[];
} table;
typedef struct traced { /* its slots are reported by a callback */
  object base;
  void *slot[NODE_SLOTS];
} traced;

static void trace_traced(void *user, void *object, cradle_visitor *visitor) {
  (void)user;
  for (size_t i = 0; i < NODE_SLOTS; i++) cradle_visit(visitor, &((traced *)object)->slot[i], CRADLE_KIND_REFERENCE);
}

static void destroy_file(void *user, void *file);
static size_t file_bytes(void *user, const void *file) {
  (void)user;
  return ((const object *)file)->identity % 1000;
}

static const cradle_type types[T_COUNT] = {
    [T_NODE] = {.name = "node",
                .size = sizeof(node),
                .references = CRADLE_SLOT(node, slot[0]) | CRADLE_SLOT(node, slot[1]),
                .values = CRADLE_SLOT(node, slot[2])},
    [T_BYTES] = {.name = "bytes",
                 .size = sizeof(bytes),
                 .items = CRADLE_ITEMS_BYTES,
                 .item_size = 1,
                 .length_offset = offsetof(bytes, length)},
    [T_ARRAY] = {.name = "array",
                 .size = sizeof(array),
                 .items = CRADLE_ITEMS_REFERENCES,
                 .item_size = 8,
                 .length_offset = offsetof(array, length)},
    [T_TRACED] = {.name = "traced", .size = sizeof(traced), .trace = trace_traced},
    [T_TABLE] = {.name = "table",
                 .size = sizeof(table),
                 .items = CRADLE_ITEMS_STRUCTURES,
                 .item_size = sizeof(entry),
                 .length_offset = offsetof(table, length),
                 .item_references = CRADLE_SLOT(entry, key),
                 .item_values = CRADLE_SLOT(entry, value)},
    [T_FINAL] = {.name = "final", .size = sizeof(node), .references = UINT64_C(7) << 2, .finalizer = QUEUE},
    [T_FILE] = {.name = "file",
                .size = sizeof(node),
                .references = UINT64_C(7) << 2,
                .destructor = destroy_file,
                .external_size = file_bytes},
    [T_WEAKS] = {.name = "weaks",
                 .size = sizeof(array),
                 .items = CRADLE_ITEMS_WEAK,
                 .item_size = 8,
                 .length_offset = offsetof(array, length)},
    [T_PAIRS] = {.name = "pairs",
                 .size = sizeof(array),
                 .items = CRADLE_ITEMS_EPHEMERONS,
                 .item_size = 16,
                 .length_offset = offsetof(array, length)},
};

/* --- the model: objects are numbered, 0 is none --- */

typedef struct model_object {
  uint32_t type;
  uint64_t length;
  uint32_t *slot;                /* numbers */
  uint64_t seen;                 /* the comparison that reached it last */
  uint64_t kept;                 /* the comparison that found it kept */
  uint64_t dead;                 /* deliveries + 1 when a weak slot showed that it is dead; 0: none has */
  uint32_t destroyed, delivered; /* times */
  bool is_final;                 /* it has a finalizer, by its type or because it was given one */
  bool in_set;
  bool revived;  /* it died, and a finalizer brought it back: weak slots that are older are cleared, rightly */
  uint32_t hash; /* 0: not asked */
  uint64_t id;   /* likewise */
} model_object;

typedef struct pair {
  object *real;
  uint32_t model;
} pair;
typedef struct pairs {
  pair *at;
  size_t count, capacity;
} pairs;

/* A root stack (tests/model/model_stacks.h). */
enum { STACKS = 6, SCOPES_MAX = 12, STACK_WORDS = 8 };
typedef struct model_stack {
  cradle_root_stack *real; /* NULL: the mutator's own root stack, or a place that is not in use */
  cradle_word *base;       /* of its shadow stack, since it was suspended */
  uint32_t *shadow_model;
  size_t shadow_count, shadow_most;
  void *scoped[SCOPES_MAX], *range[STACK_WORDS], *range_base, *range_top;
  uint32_t scoped_model[SCOPES_MAX], range_model[STACK_WORDS];
  cradle_scope scopes[SCOPES_MAX];
  size_t scoped_count;
  cradle_root_range roots;
  bool has_range;
} model_stack;
typedef struct model_root {
  void **word;
  uint32_t *number;
  bool may_be_written;
} model_root;

typedef struct world {
  uint64_t seed, op, comparisons;
  const unsigned char *choice, *choices_end; /* bytes that decide in place of the seed; NULL: the seed does */
  cradle_heap *heap;
  cradle_mutator *m;
  model_object *objects;
  uint32_t count, capacity;
  /* The roots: a value stack registered as a range, globals, and root stacks, each with its model. */
  void *range[ROOT_SLOTS], *global[ROOT_SLOTS];
  void *range_base, *range_top;
  cradle_root_range roots;
  uint32_t range_model[ROOT_SLOTS], global_model[ROOT_SLOTS];
  model_stack stacks[STACKS], *running;
  uint64_t stacks_made;
  struct {
    cradle_checkpoint saved;
    model_stack *stack; /* NULL: none is saved, or its root stack was freed */
    size_t shadow_count, scoped_count;
  } checkpoint;
  view *view;           /* if not NULL, the comparison adds each object to it */
  look_regions regions; /* where they were when the run began */
  cradle_encoding encoding;
  cradle_word immediate[IMMEDIATES], immediate_model[IMMEDIATES]; /* a range of values, none of them a reference */
  void *immediate_base, *immediate_top;
  cradle_root_range immediates;
  cradle_weak_set *set;
  pairs holders;    /* weak slots and ephemerons that a comparison met */
  uint32_t *finals; /* objects with finalizers */
  size_t final_count;
  uint64_t deliveries;
  cradle_out_of_memory_function out_of_memory; /* NULL, or where an operation jumps whose allocation was refused */
  uint64_t shortages;                          /* calls of it by the library */
  bool was_refused;                /* memory was refused: operations may end early, and finalizers come in any order */
  bool has_finals;                 /* every other seed; without them, pairs are walked over */
  struct identity_world *identity; /* tests/model/model_identity.h */
  void (*before_look)(void);
  bool (*look_is_due)(void); /* NULL, or whether a look verifies and walks the heap, too */
} world;
static world *the_world;

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
  printf("difference: %s; seed %llu, operation %llu\n", what, (unsigned long long)first_seed,
         (unsigned long long)w->op);
  fflush(stdout);
  if (w->choice != NULL) abort(); /* which a fuzzer counts as a finding */
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
  return type == T_ARRAY || type == T_TABLE || type == T_WEAKS || type == T_PAIRS;
}

/* Words that hold references of any strength. */
static uint64_t words_of(const model_object *model) {
  if (model->type == T_BYTES) return 0;
  if (model->type == T_PAIRS || model->type == T_TABLE) return 2 * model->length;
  return is_array(model->type) ? model->length : NODE_SLOTS;
}

static uint64_t strong_of(const model_object *model) {
  return model->type == T_WEAKS || model->type == T_PAIRS ? 0 : words_of(model);
}

static void **slot_at(object *real, uint32_t type, uint64_t i) {
  if (type == T_TABLE) return i % 2 == 0 ? &((table *)real)->item[i / 2].key : &((table *)real)->item[i / 2].value;
  return is_array(type) ? &((array *)real)->item[i] : &((node *)real)->slot[i];
}

/* Whether the word holds a value in the heap's encoding. */
static bool is_value(uint32_t type, uint64_t i) {
  return type == T_TABLE ? i % 2 == 1 : type == T_NODE && i == NODE_SLOTS - 1;
}

/* The object that a word refers to, or NULL. */
static void *object_in(const world *w, uint32_t type, uint64_t i, const void *word) {
  return is_value(type, i) ? cradle_value_object(&w->encoding, (cradle_value)(uintptr_t)word) : (void *)(uintptr_t)word;
}

/* An immediate that looks like an address, drawn without the bytes of a fuzzer. */
static cradle_word draw_immediate(world *w) {
  uintptr_t address = look_address(&w->regions, next_random(w));
  return look_immediate(&w->encoding, address, next_random(w));
}

/* The word for an object. In place of none, a slot of values gets an immediate. */
static void *word_for(world *w, uint32_t type, uint64_t i, const void *real) {
  if (!is_value(type, i)) return (void *)(uintptr_t)real;
  if (real == NULL) return (void *)(uintptr_t)draw_immediate(w);
  unsigned tag = (unsigned)__builtin_ctz(w->encoding.tag_set);
  return (void *)(w->encoding.pairs[0].pattern | tag | (uintptr_t)real);
}

static void destroy_file(void *user, void *file) {
  (void)user;
  the_world->objects[((object *)file)->identity].destroyed++;
}

static unsigned char byte_of(uint32_t number, uint64_t i) {
  return (unsigned char)(number * 31 + i * 7);
}

/* What lies between the slots of a table's entries looks like a reference. */
static uint64_t raw_of(const world *w, uint32_t number, uint64_t i) {
  return look_address(&w->regions, (number * UINT64_C(31) + i * 7) * UINT64_C(0x9e3779b97f4a7c15) >> 8);
}

/* In long byte objects, only every so many-th byte is written and compared. */
static uint64_t stride_of(uint64_t length) {
  return 1 + length / 64;
}

#include "tests/model/model_identity.h"
#include "tests/model/model_stacks.h"
#include "tests/support/waiting.h"

/* --- what the heap should say about itself --- */

static uint64_t bytes_of(const model_object *model) {
  if (model->type == T_TABLE) return sizeof(table) + model->length * sizeof(entry);
  if (is_array(model->type)) return sizeof(array) + words_of(model) * 8;
  if (model->type == T_BYTES) return cradle_object_bytes(sizeof(bytes) + model->length);
  return sizeof(node);
}

static void view_root(const world *w, const void *real, uint32_t number) {
  if (real != NULL) view_add_root(w->view, number);
}

/* A reached object. A pair's value counts as a reference of the holder; a weak slot does not count. */
static void view_reached(const world *w, object *real, uint32_t number) {
  const model_object *model = &w->objects[number];
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
  if (model->type == T_TABLE)
    for (uint64_t i = 0; i < model->length; i += stride_of(model->length))
      if (((const table *)real)->item[i].raw != raw_of(w, number, i)) differ(w, "raw data between slots changed");
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
      compare_push(w, stack, object_in(w, model->type, i, *slot_at(at.real, model->type, i)), model->slot[i]);
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

/* Computes what is kept, from the model alone: everything reached, and everything to which objects lead whose
 * finalizers are still to come. */
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

/* What a weak read reports about an object, wherever the weak reference is stored. */
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
      if (held != NULL && exact && !is_kept(w, number))
        differ(w, "a weak slot holds a dead object after a full collection");
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
  cradle_weak_cursor cursor = {0, 0};
  size_t entries = 0;
  while (cradle_weak_set_next(w->set, &cursor) != NULL) entries++;
  if (exact && in_set != entries) differ(w, "the weak set has another count");
}

static void compare(world *w, bool exact) {
  pairs stack = {NULL, 0, 0};
  w->comparisons++;
  w->holders.count = 0;
  if (memcmp(w->immediate, w->immediate_model, sizeof w->immediate) != 0) differ(w, "an immediate changed");
  for (size_t i = 0; i < ROOT_SLOTS; i++) compare_push(w, &stack, w->range[i], w->range_model[i]);
  for (size_t i = 0; i < ROOT_SLOTS; i++) compare_push(w, &stack, w->global[i], w->global_model[i]);
  model_root on_stack;
  for (size_t i = 0; stacks_root_at(w, i, &on_stack); i++) compare_push(w, &stack, *on_stack.word, *on_stack.number);
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

/* Objects that only finalizers keep alive: the model knows that they live, but not where. */
static bool is_only_kept(const void *data, const void *real) {
  const world *w = data;
  uint64_t number = ((const object *)real)->identity;
  return number < w->count && !is_reached(w, (uint32_t)number) && w->objects[number].kept == w->comparisons;
}

static bool look_is_due(const world *w) {
  return w->look_is_due == NULL || w->look_is_due();
}

/* Compares the graph with the model, and the results of walk, referrers and dump with the graph. */
static void look(world *w, bool exact) {
  if (w->before_look != NULL) w->before_look();
  if (!look_is_due(w)) {
    compare(w, exact);
    return;
  }
  view all = {.is_kept = is_only_kept, .data = w, .encoding = w->encoding};
  all.waiting = finalizers_waiting(w->m, QUEUE);
  w->view = &all;
  compare(w, exact);
  for (uint32_t number = 1; number < w->count; number++)
    all.kept += !is_reached(w, number) && w->objects[number].kept == w->comparisons;
  for (size_t i = 0; i < ROOT_SLOTS; i++) view_root(w, w->range[i], w->range_model[i]);
  for (size_t i = 0; i < ROOT_SLOTS; i++) view_root(w, w->global[i], w->global_model[i]);
  model_root on_stack;
  for (size_t i = 0; stacks_root_at(w, i, &on_stack); i++) view_root(w, *on_stack.word, *on_stack.number);
  identity_root root;
  for (size_t i = 0; identity_root_at(w, i, &root); i++)
    if (!identity_is_second_pin(w, i)) view_root(w, root.real, root.number);
  w->view = NULL;
  const char *fault = view_check(&all, w->heap, exact);
  if (fault != NULL) differ(w, fault);
  view_free(&all);
}

#endif
