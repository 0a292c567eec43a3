/* Random operations on a heap and on its model, and how a run begins and ends. */
#ifndef TESTS_MODEL_OPERATIONS_H
#define TESTS_MODEL_OPERATIONS_H

#include "tests/model/model.h"
#include "tests/support/waiting.h"

/* --- operations --- */

static model_root random_root(world *w) {
  model_root root;
  if (w->stacks_made > 0 && below(w, 4) == 0 && stacks_random_root(w, &root)) return root;
  size_t i = below(w, ROOT_SLOTS);
  uint64_t which = below(w, 3);
  if (which == 2 && w->running->shadow_count > 0) return stack_root(w, w->running, below(w, w->running->shadow_count));
  return which == 0 ? (model_root){&w->range[i], &w->range_model[i], true}
                    : (model_root){&w->global[i], &w->global_model[i], true};
}

/* The object in word i that the program may use; NULL if that object is dead. */
static object *read_word(world *w, object *real, const model_object *model, uint64_t i) {
  void **slot = slot_at(real, model->type, i);
  if (model->type != T_WEAKS && model->type != T_PAIRS) return object_in(w, model->type, i, *slot);
  /* a key may be dead already, and wait in a queue with its value */
  if (model->type == T_PAIRS && w->has_finals) return NULL;
  if (model->type == T_PAIRS && i % 2 == 1) /* a value: its key must be none or alive */
    return model->slot[i - 1] == 0 || cradle_weak_get(w->m, slot - 1) != NULL ? *slot : NULL;
  object *held = cradle_weak_get(w->m, slot);
  if (model->type == T_WEAKS) check_weak(w, held, model->slot[i]);
  return held;
}

/* Walks a few random steps from a random root, over weak slots and pairs, too. */
static object *random_object(world *w, uint32_t *number) {
  model_root root = random_root(w);
  object *real = *root.word;
  *number = *root.number;
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

/* The longest word arrays have several of each piece in which a collection looks at them. With bytes instead of a seed
 * that must do: all collections and comparisons would be about one array otherwise. Bytes themselves cost nothing, and
 * exceed an arena. */
static uint64_t longest(const world *w, uint32_t type) {
  if (w->choice == NULL) return 100000;
  return type == T_BYTES ? (uint64_t)3 << 20 : 10000;
}

static uint64_t random_length(world *w, uint32_t type) {
  switch (below(w, 100)) {
  case 0: return below(w, longest(w, type));
  case 1:
  case 2:
  case 3: return below(w, 6000);
  default: return below(w, 40);
  }
}

static void list_final(world *w, uint32_t number) {
  if ((w->final_count & (w->final_count - 1)) == 0)
    w->finals = realloc(w->finals, (2 * w->final_count + 1) * sizeof *w->finals);
  if (w->finals == NULL) abort();
  w->finals[w->final_count++] = number;
  w->objects[number].is_final = true;
}

/* Fills in the raw data of a table's entries from first to last. */
static void write_raw(const world *w, object *real, uint32_t number, uint64_t first, uint64_t last) {
  uint64_t stride = stride_of(((const table *)real)->length);
  for (uint64_t i = first; i < last; i++)
    if (i % stride == 0) ((table *)real)->item[i].raw = raw_of(w, number, i);
}

/* Ends the operation if a call was refused and the out-of-memory handler returned. */
static void granted(world *w, bool is_granted) {
  if (!is_granted && w->out_of_memory != NULL) w->out_of_memory(w, w->m, 0, "");
  if (!is_granted) differ(w, "memory ran out");
}

static object *allocate(world *w, uint32_t *number) CRADLE_MAY_COLLECT {
  uint32_t type = (uint32_t)below(w, below(w, 2) ? T_FINAL : T_COUNT);
  if (type == T_FINAL && !w->has_finals) type = T_NODE;
  uint64_t length = type == T_BYTES || is_array(type) ? random_length(w, type) : 0;
  object *real;
  if (types[type].finalizer != 0 || types[type].destructor != NULL) {
    real = cradle_new_registered(w->m, type, sizeof(node));
  } else if (type == T_WEAKS || type == T_PAIRS) {
    real = cradle_new_array(w->m, type, length);
  } else if (type == T_BYTES || type == T_ARRAY || type == T_TABLE) {
    real = cradle_new_array(w->m, type, length);
  } else if (below(w, 4) == 0) {
    cradle_reservation room = cradle_reserve(w->m, 2 * sizeof(node));
    granted(w, room.free != NULL);
    real = cradle_new_reserved(&room, type, sizeof(node));
    memset(((node *)real)->slot, 0, sizeof((node *)real)->slot);
  } else {
    real = cradle_new(w->m, type, sizeof(node));
  }
  granted(w, real != NULL);
  model_object shape = {.type = type, .length = length};
  *number = model_new(w, type, words_of(&shape), length);
  real->identity = *number;
  if (type == T_FINAL) list_final(w, *number);
  if (type == T_BYTES)
    for (uint64_t i = 0; i < length; i += stride_of(length)) ((bytes *)real)->item[i] = byte_of(*number, i);
  if (type == T_TABLE) write_raw(w, real, *number, 0, length);
  return real;
}

static void revive(world *w, uint32_t number);

/* Stores into one word. A pair whose key died is emptied first, as cradle/weak.h demands. A key on its way back leaves
 * its value behind. */
static void store_word(world *w, object *holder, uint32_t holder_number, uint64_t i, object *real, uint32_t number) {
  model_object *model = &w->objects[holder_number];
  if (model->type == T_PAIRS && model->slot[i & ~UINT64_C(1)] != 0) {
    uint64_t key = i & ~UINT64_C(1);
    if (cradle_weak_get(w->m, slot_at(holder, T_PAIRS, key)) == NULL) {
      cradle_store(w->m, holder, slot_at(holder, T_PAIRS, key), NULL);
      cradle_store(w->m, holder, slot_at(holder, T_PAIRS, key + 1), NULL);
      model->slot[key] = model->slot[key + 1] = 0;
    }
    bool leaves = i == key && model->slot[key] != 0 && w->objects[model->slot[key]].seen != w->comparisons;
    if (leaves && model->slot[key + 1] != 0) revive(w, model->slot[key + 1]);
  }
  cradle_store(w->m, holder, slot_at(holder, model->type, i), word_for(w, model->type, i, real));
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

/* Immediates: into the range of values, and several into the slot of one object, so that the barrier may spare some. */
static void op_immediate(world *w) {
  uint32_t number;
  object *holder = random_object(w, &number);
  size_t at = below(w, IMMEDIATES);
  w->immediate[at] = w->immediate_model[at] = draw_immediate(w);
  if (holder == NULL) return;
  uint64_t words = words_of(&w->objects[number]), i = words == 0 ? 0 : below(w, words);
  if (words == 0 || !is_value(w->objects[number].type, i)) return;
  for (int count = 0; count < 4; count++) store_word(w, holder, number, i, NULL, 0);
}

/* Several stores into one array or table, some of them with the barrier that does not get the slot's address. */
static void op_store_many(world *w) CRADLE_MAY_COLLECT {
  uint32_t holder_number, number;
  object *holder = random_object(w, &holder_number);
  if (holder == NULL || w->objects[holder_number].length == 0) return;
  uint32_t type = w->objects[holder_number].type;
  if (type != T_ARRAY && type != T_TABLE) return;
  CRADLE_ROOT(w->m, holder);
  for (uint64_t stores = below(w, 60); stores > 0; stores--) {
    uint64_t i = below(w, words_of(&w->objects[holder_number]));
    object *real = below(w, 3) == 0 ? random_object(w, &number) : allocate(w, &number);
    if (real == NULL) number = 0;
    void **slot = slot_at(holder, type, i);
    if (below(w, 8) == 0) {
      *slot = word_for(w, type, i, real);
      cradle_write_barrier(w->m, holder);
    } else {
      cradle_store(w->m, holder, slot, word_for(w, type, i, real));
    }
    w->objects[holder_number].slot[i] = number;
  }
}

/* Stores a pair: mostly key and value at once, and often with a value that leads to the key. */
static void op_store_pair(world *w) {
  uint32_t holder_number, key_number, value_number;
  object *holder = random_object(w, &holder_number), *key = random_object(w, &key_number),
         *value = random_object(w, &value_number);
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
  if (!model->in_set) granted(w, cradle_weak_set_add(w->set, identity, real));
  if (model->in_set && !cradle_weak_set_remove(w->set, identity, real)) differ(w, "an object was not in the weak set");
  model->in_set = !model->in_set;
}

/* Whether one object leads to another by strong slots. The walk gives up after so many objects. */
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

/* Nobody who is still to come may lead to the one that came, unless it leads back. Once something that leads to it has
 * come back, the program may have stored a reference to it anywhere. */
static void check_order(world *w, uint32_t came) {
  if (w->objects[came].revived || w->was_refused) return;
  for (size_t tries = 0; tries < 8; tries++) {
    uint32_t other = w->finals[w->final_count - 1 - below(w, w->final_count < 200 ? w->final_count : 200)];
    if (w->objects[other].delivered == 0 && leads_to(w, other, came) && !leads_to(w, came, other))
      differ(w, "a finalizer came before that of an object that leads to its own");
  }
}

/* The value of a pair that is reached, whose key has come back, and which itself is not known to have; 0: none. */
static uint32_t value_of_revived_key(const world *w) {
  for (size_t h = 0; h < w->holders.count; h++) {
    const model_object *table = &w->objects[w->holders.at[h].model];
    for (uint64_t i = 0; table->type == T_PAIRS && i < words_of(table); i += 2) {
      uint32_t value = table->slot[i + 1];
      bool is_known = value == 0 || w->objects[value].seen == w->comparisons || w->objects[value].revived;
      if (table->slot[i] != 0 && w->objects[table->slot[i]].revived && !is_known) return value;
    }
  }
  return 0;
}

/* A finalizer brought an object back, and with it everything that it leads to and that the roots do not. */
static void revive(world *w, uint32_t number) {
  size_t count = 0, capacity = 64;
  uint32_t *stack = malloc(capacity * sizeof *stack);
  if (stack == NULL) abort();
  stack[count++] = number;
  while (count > 0 || (stack[0] = value_of_revived_key(w)) != 0) {
    if (count == 0) count = 1;
    model_object *model = &w->objects[stack[--count]];
    if (model->seen == w->comparisons || model->revived) continue;
    model->revived = true;
    while (count + words_of(model) > capacity) stack = realloc(stack, (capacity *= 2) * sizeof *stack);
    if (stack == NULL) abort();
    for (uint64_t i = 0; i < words_of(model); i++)
      if (model->slot[i] != 0 && (model->type != T_PAIRS || i % 2 == 1) && model->type != T_WEAKS)
        stack[count++] = model->slot[i];
  }
  free(stack);
}

/* Whether an object leads by strong slots to only a few others, none of which has a service. */
static bool is_plain(const world *w, uint32_t number) {
  enum { MOST = 50 };
  uint32_t met[MOST];
  size_t count = 0;
  met[count++] = number;
  for (size_t next = 0; next < count; next++) {
    const model_object *model = &w->objects[met[next]];
    bool is_known = model->type == T_NODE || model->type == T_BYTES || model->type == T_ARRAY ||
                    model->type == T_TRACED || model->type == T_TABLE;
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
  object *held = object_in(w, model->type, i, *slot);
  if (held->identity != taken) differ(w, "a key leads to another object");
  revive(w, taken);
  size_t at = below(w, ROOT_SLOTS);
  w->range[at] = held;
  w->range_model[at] = taken;
  cradle_store(w->m, key, slot, word_for(w, model->type, i, NULL));
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
  object *real =
      type == T_FINAL ? cradle_new_registered(w->m, type, sizeof(node)) : cradle_new(w->m, type, sizeof(node));
  granted(w, real != NULL);
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
  array *holder = cradle_new_array(w->m, T_PAIRS, 1);
  granted(w, holder != NULL);
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
  if (model->type == T_TABLE) write_raw(w, real, number, 0, model->length);
  if (model->type != T_BYTES) return;
  for (uint64_t i = 0; i < model->length; i += stride_of(model->length)) ((bytes *)real)->item[i] = byte_of(number, i);
}

/* A finalizer for an object whose type has none, young or old. */
static void op_register(world *w) {
  uint32_t number;
  object *real = random_object(w, &number);
  if (!w->has_finals || real == NULL || w->objects[number].type != T_NODE || w->objects[number].is_final) return;
  if (!cradle_finalizer_register(w->m, real, QUEUE)) {
    if (!w->was_refused) differ(w, "a finalizer was refused");
    return;
  }
  list_final(w, number);
}

static void op_finalize(world *w, bool all) {
  if (finalizers_waiting(w->m, QUEUE) == 0) return;
  compare(w, false);
  for (uint64_t count = all ? UINT64_MAX : below(w, 4); count > 0; count--) {
    object *real = cradle_finalizer_next(w->m, QUEUE);
    if (real == NULL) return;
    uint32_t number = (uint32_t)real->identity;
    model_object *model = &w->objects[number];
    if (!model->is_final || cradle_type_of(real) != model->type)
      differ(w, "a finalizer queue gave what has no finalizer");
    if (model->delivered++ != 0) differ(w, "a finalizer queue gave an object twice");
    w->deliveries++;
    check_order(w, number);
    revive(w, number);
    for (uint64_t i = 0; i < NODE_SLOTS; i++)
      if (model->slot[i] != 0 && ((node *)real)->slot[i] != NULL &&
          ((object *)object_in(w, model->type, i, ((node *)real)->slot[i]))->identity != model->slot[i])
        differ(w, "an object that came back leads to another object");
    if (below(w, 2)) continue;
    size_t at = below(w, ROOT_SLOTS);
    w->range[at] = real;
    w->range_model[at] = number;
  }
}

/* Copies whole entries, raw data and all, within a table or from one into another. */
static void copy_entries(world *w, object *from, uint32_t from_number) {
  uint32_t to_number = from_number;
  object *to = below(w, 2) ? from : random_object(w, &to_number);
  if (to == NULL || w->objects[to_number].type != T_TABLE) to = from, to_number = from_number;
  uint64_t length = w->objects[from_number].length, room = w->objects[to_number].length;
  if (length == 0 || room == 0) return;
  uint64_t at = below(w, length), count = 1 + below(w, below(w, 3) == 0 ? length : length < 20 ? length : 20);
  if (count > length - at) count = length - at;
  if (count > room) count = room;
  uint64_t into = below(w, room - count + 1);
  cradle_copy_slots(w->m, to, &((table *)to)->item[into], &((table *)from)->item[at], count * (sizeof(entry) / 8));
  memmove(w->objects[to_number].slot + 2 * into, w->objects[from_number].slot + 2 * at, 2 * count * sizeof(uint32_t));
  write_raw(w, to, to_number, into, into + count);
}

/* Copies slots from an array into an array, often the same one, or into one that was just made. */
static void op_copy(world *w) CRADLE_MAY_COLLECT {
  uint32_t from_number, to_number;
  object *from = random_object(w, &from_number);
  if (from != NULL && w->objects[from_number].type == T_TABLE) copy_entries(w, from, from_number);
  if (from == NULL || w->objects[from_number].type != T_ARRAY || w->objects[from_number].length == 0) return;
  CRADLE_ROOT(w->m, from);
  uint64_t which = below(w, 4), length = w->objects[from_number].length;
  object *to = from;
  if (which == 0) {
    to = cradle_new_array(w->m, T_ARRAY, length + 1);
    granted(w, to != NULL);
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
    memcpy(target, source, count * sizeof *target); /* fresh: no barrier */
  else
    cradle_copy_slots(w->m, to, target, source, count);
  memmove(w->objects[to_number].slot + into, w->objects[from_number].slot + at, count * sizeof(uint32_t));
  if (which == 0) cradle_store(w->m, from, &((array *)from)->item[at], to);
  if (which == 0) w->objects[from_number].slot[at] = to_number;
}

/* No barrier: nothing is referred to. */
static void op_drop(world *w) {
  model_root root = random_root(w);
  if (!root.may_be_written) return;
  *root.word = NULL;
  *root.number = 0;
}

/* Overwrites a word anywhere in the shadow stack with another object, which may be young. */
static void op_poke(world *w) {
  uint32_t number = 0;
  size_t count = w->running->shadow_count;
  if (count == 0) return;
  size_t i = below(w, count);
  object *real = random_object(w, &number);
  *cradle_peek(w->m, count - 1 - i) = (cradle_word)(uintptr_t)real;
  w->running->shadow_model[i] = real == NULL ? 0 : number;
}

static void op_push(world *w) {
  uint32_t number = 0;
  if (w->running->shadow_count == w->running->shadow_most) return;
  object *real = random_object(w, &number);
  stack_push(w, real, number);
}

static void op_pop(world *w) {
  size_t count = below(w, 8);
  if (count > w->running->shadow_count) count = w->running->shadow_count;
  uint64_t way = below(w, 3);
  if (way == 0) { /* as after a longjmp */
    cradle_checkpoint lower = cradle_checkpoint_save(w->m);
    lower.shadow_depth -= count;
    cradle_checkpoint_restore(w->m, &lower);
  } else if (way == 1) {
    for (size_t i = 0; i < count; i++) (void)cradle_pop(w->m);
  } else {
    cradle_pop_many(w->m, count);
  }
  w->running->shadow_count -= count;
}

static void op_collect(world *w) CRADLE_MAY_COLLECT {
  uint64_t which = below(w, 60);
  if (which == 0)
    cradle_collect(w->m, CRADLE_COLLECT_FULL);
  else if (which < 3)
    cradle_collect(w->m, CRADLE_COLLECT_MAJOR);
  else if (which == 3)
    cradle_collect(w->m, CRADLE_COLLECT_COMPACTING);
  else if (which < 40)
    (void)cradle_collect_step(w->m, below(w, 20000));
  else
    cradle_collect(w->m, CRADLE_COLLECT_MINOR);
  cradle_error error;
  if (which % 8 < 2 && look_is_due(w) && !cradle_heap_verify(w->heap, &error)) differ(w, error.message);
  if (which < 4 || which == 40)
    look(w, which < 4); /* a complete major collection leaves what is kept, and nothing else */
  else if (which % 8 < 3)
    compare(w, false);
}

/* Looks at a heap more often between marking and sweeping, which random steps rarely meet. */
static void look_while_clearing(world *w) {
  cradle_statistics stats;
  cradle_heap_statistics(w->heap, &stats, sizeof stats);
  if (stats.phase != CRADLE_PHASE_CLEARING) return;
  look(w, false);
  op_take(w);
  looks_while_clearing++;
}

/* --- a run --- */

/* Plain references, and encodings with immediates. */
static cradle_encoding model_encoding(uint64_t which) {
  cradle_options plain;
  switch (which % 5) {
  case 0: cradle_options_init(&plain); return plain.encoding;
  case 1: return cradle_encoding_of(UINT64_C(0xfffc) << 48, UINT64_C(0xfffc) << 48, 1 << 0);
  case 2: return cradle_encoding_of(0, 0, 0x02); /* an immediate may have just the bits of an address */
  case 3: return cradle_encoding_of(0, 0, 0x01);
  default: return cradle_encoding_of(UINT64_C(0xfffe000000000002), 0, 1 << 0); /* as JavaScriptCore */
  }
}

static void choose_options(cradle_options *options, uint64_t seed, uint64_t encoding, size_t nursery, uint64_t stress,
                           size_t quarantine, bool verify) {
  cradle_options_init(options);
  options->types = types;
  options->type_count = T_COUNT;
  options->encoding = model_encoding(encoding);
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
  *w = (world){.seed = seed * 2654435761u + 88172645463325252u,
               .count = 1,
               .capacity = 64,
               .has_finals = seed % 2,
               .encoding = options->encoding,
               .out_of_memory = options->on_out_of_memory};
  first_seed = seed;
  w->objects = calloc(w->capacity, sizeof *w->objects);
  if (w->objects == NULL) abort();
  stack_begin(w->stacks, NULL, OWN_MOST);
  w->running = w->stacks;
  cradle_error error;
  w->heap = cradle_heap_new(options, &error);
  if (w->heap == NULL) differ(w, error.message);
  the_world = w;
}

static void free_model(world *w) {
  for (uint32_t i = 0; i < w->count; i++) free(w->objects[i].slot);
  free(w->objects);
  free(w->finals);
  free(w->holders.at);
}

/* At the end, no reachable object is in the queue, every other object with a finalizer is delivered, and every
 * destructor has run. */
static void check_last(world *w) CRADLE_MAY_COLLECT {
  cradle_collect(w->m, CRADLE_COLLECT_FULL);
  compare(w, true);
  op_finalize(w, true);
  cradle_collect(w->m, CRADLE_COLLECT_FULL);
  compare(w, true);
  uint64_t waiting = 0;
  for (size_t i = 0; i < w->final_count; i++) {
    bool reached = is_reached(w, w->finals[i]);
    if (w->objects[w->finals[i]].delivered == 0 && !reached) waiting++;
  }
  /* Objects that only the resurrected objects keep die in the second collection. */
  if (waiting != finalizers_waiting(w->m, QUEUE)) differ(w, "a dead object with a finalizer did not come back");
}

static void check_destroyed(const world *w) {
  for (uint32_t number = 1; number < w->count; number++)
    if (w->objects[number].type == T_FILE && w->objects[number].destroyed != 1)
      differ(w, "a destructor did not run once by the end of the heap");
}

static void start_mutator(world *w) CRADLE_GRANTS_COLLECTION {
  w->m = cradle_mutator_new(w->heap);
#ifdef MODEL_PUBLIC
  w->regions = look_regions_of(w->heap, w->m);
#else
  w->regions = look_regions_inside(w->heap, w->m);
#endif
  w->set = cradle_weak_set_new(w->m, NULL, NULL);
  if (w->set == NULL) abort();
  w->range_base = w->range;
  w->range_top = w->range + ROOT_SLOTS;
  w->roots = CRADLE_ROOT_RANGE(w->range_base, w->range_top, CRADLE_KIND_REFERENCE, "model");
  cradle_root_range_add(w->m, &w->roots);
  w->immediate_base = w->immediate;
  w->immediate_top = w->immediate + IMMEDIATES;
  w->immediates = CRADLE_ROOT_RANGE(w->immediate_base, w->immediate_top, CRADLE_KIND_VALUE, "immediates");
  cradle_root_range_add(w->m, &w->immediates);
  for (size_t i = 0; i < ROOT_SLOTS; i++) cradle_global_root_add(w->heap, &w->global[i], CRADLE_KIND_REFERENCE);
  identity_open(w);
}

static void take_world_apart(world *w) CRADLE_REVOKES_COLLECTION {
  stacks_leave(w);
  cradle_root_range_remove(w->m, &w->roots);
  cradle_root_range_remove(w->m, &w->immediates);
  cradle_weak_set_free(w->set);
  cradle_mutator_free(w->m);
  cradle_heap_free(w->heap);
  stacks_close(w);
  check_destroyed(w);
  free_model(w);
}

/* After check_last. */
static void close_world(world *w) CRADLE_REVOKES_COLLECTION {
  identity_close(w);
  take_world_apart(w);
}

#endif
