/* The random mutator's part for identity, pins and handles; included by tests/model/model.h after its world.
 *
 * Pins and handles are further roots of the model. A pin also has the address that must hold; objects that were asked
 * have a hash and an id to keep; and when an object is gone, so is its id.
 */
enum { PINS_MAX = 200, HANDLES_MAX = 300, IDS_MAX = 500 };

typedef struct identity_pin {
  object *real;
  uint32_t number;
} identity_pin;

typedef struct identity_world {
  identity_pin pins[PINS_MAX]; /* an object pinned twice is here twice */
  size_t pin_count;
  cradle_handle handles[HANDLES_MAX];
  uint32_t handle_numbers[HANDLES_MAX];
  size_t handle_count;
  cradle_handle revived;
  uint32_t revived_number;
  uint32_t ids[IDS_MAX]; /* the numbers of the objects that most recently got an id */
  size_t id_count;
} identity_world;

typedef struct identity_root {
  object *real;
  uint32_t number;
} identity_root;

static object *random_object(world *w, uint32_t *number);
static void granted(world *w, bool is_granted);
static bool is_kept(const world *w, uint32_t number);

static void identity_open(world *w) {
  identity_world *own = w->identity = calloc(1, sizeof *own);
  if (own == NULL) abort();
  own->revived = cradle_handle_new(w->m, NULL);
}

/* After a full collection and a comparison, every object that nothing keeps is dead. */
static void identity_close(world *w) CRADLE_MAY_COLLECT {
  identity_world *own = w->identity;
  size_t met = 0, ids = own->id_count < IDS_MAX ? own->id_count : IDS_MAX;
  for (size_t i = 0; i < ids; i++) {
    const model_object *model = &w->objects[own->ids[i]];
    met += model->seen == w->comparisons;
    if (!is_kept(w, own->ids[i]) && cradle_object_of_id(w->m, model->id) != NULL) differ(w, "a dead object has its id");
  }
  cradle_statistics stats;
  cradle_heap_statistics(w->heap, &stats, sizeof stats);
  if (stats.handles != own->handle_count + 1 || stats.pinned_objects > own->pin_count || stats.ids < met)
    differ(w, "the statistics do not count the handles, pins or ids");
  while (own->pin_count > 0) cradle_unpin(w->m, own->pins[--own->pin_count].real);
  cradle_handle_free(w->m, own->revived);
  while (own->handle_count > 0) cradle_handle_free(w->m, own->handles[--own->handle_count]);
  free(own);
}

/* --- comparison --- */

/* Whether an earlier root pins the same object. */
static bool identity_is_second_pin(const world *w, size_t i) {
  const identity_world *own = w->identity;
  for (size_t before = 0; before < i && i < own->pin_count; before++)
    if (own->pins[before].real == own->pins[i].real) return true;
  return false;
}

/* The root at an index; false if the index is past the last root. */
static bool identity_root_at(world *w, size_t i, identity_root *root) {
  identity_world *own = w->identity;
  if (i < own->pin_count) {
    *root = (identity_root){own->pins[i].real, own->pins[i].number};
    if (!(*(const cradle_word *)root->real >> CRADLE_PINNED_BIT & 1)) differ(w, "a pinned object is not");
    return true;
  }
  i -= own->pin_count;
  if (i < own->handle_count) {
    *root = (identity_root){cradle_handle_get(w->m, own->handles[i]), own->handle_numbers[i]};
    return true;
  }
  if (i > own->handle_count) return false;
  *root = (identity_root){cradle_handle_get(w->m, own->revived), own->revived_number};
  return true;
}

static void identity_compare_one(world *w, const object *real, const model_object *model) {
  object *asked = (object *)(uintptr_t)real;
  if (model->hash != 0 && cradle_identity_hash(w->m, asked) != model->hash) differ(w, "a hash changed");
  if (model->id == 0) return;
  if (cradle_id(w->m, asked) != model->id) differ(w, "an id changed");
  if (cradle_object_of_id(w->m, model->id) != real) differ(w, "an id leads to another object");
}

/* --- operations --- */

static void op_ask(world *w) {
  uint32_t number;
  object *real = random_object(w, &number);
  if (real == NULL) return;
  model_object *model = &w->objects[number];
  if (below(w, 2) == 0) {
    uint32_t hash = cradle_identity_hash(w->m, real);
    if (hash == 0 || (model->hash != 0 && model->hash != hash)) differ(w, "a hash changed");
    model->hash = hash;
    return;
  }
  uint64_t id = cradle_id(w->m, real);
  granted(w, id != 0);
  if (id == 0 || (model->id != 0 && model->id != id)) differ(w, "an id changed");
  if (model->id == 0) w->identity->ids[w->identity->id_count++ % IDS_MAX] = number;
  model->id = id;
}

/* What an id leads to, if it still leads anywhere, may be what no other root reaches. It gets a root of its own, where
 * no other operation finds it: whether it still lived is a matter of time, and the operations of a seed must be the
 * same each time. Where there are finalizers, it may wait in a queue, with its weak slots cleared. */
static void op_revive(world *w) {
  identity_world *own = w->identity;
  if (own->id_count == 0 || w->has_finals) return;
  uint32_t number = own->ids[below(w, own->id_count < IDS_MAX ? own->id_count : IDS_MAX)];
  object *real = cradle_object_of_id(w->m, w->objects[number].id);
  if (real == NULL) return;
  if (real->identity != number) differ(w, "an id leads to another object");
  cradle_handle_set(w->m, own->revived, real);
  own->revived_number = number;
}

static void add_pin(world *w, object *real, uint32_t number) {
  identity_world *own = w->identity;
  for (size_t i = 0; i < own->pin_count; i++)
    if ((own->pins[i].number == number) != (own->pins[i].real == real)) differ(w, "a pinned object has moved");
  own->pins[own->pin_count++] = (identity_pin){real, number};
}

static void op_pin(world *w) CRADLE_MAY_COLLECT {
  uint32_t number;
  object *real = random_object(w, &number);
  if (real == NULL || w->identity->pin_count == PINS_MAX) return;
  real = cradle_pin(w->m, real);
  granted(w, real != NULL);
  add_pin(w, real, number);
}

static void op_new_pinned(world *w) CRADLE_MAY_COLLECT {
  if (w->identity->pin_count == PINS_MAX) return;
  uint64_t length = below(w, 4) == 0 ? below(w, 9000) : below(w, 40);
  bool is_array = below(w, 2);
  object *real = is_array ? cradle_new_with(w->m, T_ARRAY, cradle_array_layout_of(0, 0, 0), length, CRADLE_PINNED)
                          : cradle_new_with(w->m, T_NODE, cradle_array_layout_of(sizeof(node), 0, 0), 0, CRADLE_PINNED);
  granted(w, real != NULL);
  uint32_t number = model_new(w, is_array ? T_ARRAY : T_NODE, is_array ? length : NODE_SLOTS, is_array ? length : 0);
  real->identity = number;
  add_pin(w, real, number);
  size_t i = below(w, ROOT_SLOTS);
  w->global[i] = real;
  w->global_model[i] = number;
}

/* Unpins one object, or all: compaction empties no arena that has a pinned object, and there are few arenas. */
static void op_unpin(world *w) {
  identity_world *own = w->identity;
  for (uint64_t left = below(w, 4) == 0 ? PINS_MAX : 1; left > 0 && own->pin_count > 0; left--) {
    size_t i = below(w, own->pin_count);
    cradle_unpin(w->m, own->pins[i].real);
    own->pins[i] = own->pins[--own->pin_count];
  }
}

static void op_handle(world *w) {
  identity_world *own = w->identity;
  uint32_t number = 0;
  object *real = below(w, 10) == 0 ? NULL : random_object(w, &number);
  if (real == NULL) number = 0;
  size_t i = below(w, HANDLES_MAX);
  if (i >= own->handle_count) {
    cradle_handle handle = cradle_handle_new(w->m, real);
    granted(w, handle.number != 0);
    i = own->handle_count++;
    own->handles[i] = handle;
    own->handle_numbers[i] = number;
  } else if (below(w, 3) != 0) {
    cradle_handle_set(w->m, own->handles[i], real);
    own->handle_numbers[i] = number;
  } else {
    cradle_handle_free(w->m, own->handles[i]);
    own->handles[i] = own->handles[--own->handle_count];
    own->handle_numbers[i] = own->handle_numbers[own->handle_count];
  }
}

/* Stores a handle's object into a root, where the other operations find it. */
static void op_use(world *w) {
  identity_world *own = w->identity;
  if (own->handle_count == 0) return;
  size_t i = below(w, ROOT_SLOTS), from = below(w, own->handle_count);
  w->range[i] = cradle_handle_get(w->m, own->handles[from]);
  w->range_model[i] = own->handle_numbers[from];
}

static void identity_step(world *w) CRADLE_MAY_COLLECT {
  uint64_t which = below(w, 100);
  if (which < 40)
    op_ask(w);
  else if (which < 45)
    op_revive(w);
  else if (which < 50)
    op_pin(w);
  else if (which < 54)
    op_new_pinned(w);
  else if (which < 65)
    op_unpin(w);
  else if (which < 90)
    op_handle(w);
  else
    op_use(w);
}
