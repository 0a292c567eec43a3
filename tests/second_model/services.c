#include "second_model.h"

#include <stdlib.h>

/* --- reading what is weak --- */

static bool has_weak(const node *n) {
  const cradle_type *type = &n->shape->type;
  return type->weak != 0 || type->ephemerons != 0 || type->items == CRADLE_ITEMS_WEAK ||
         type->items == CRADLE_ITEMS_EPHEMERONS;
}

void load_weak(world *w) {
  place from;
  if (!place_with_shape(w, &from, has_weak)) return;
  node *n = place_cell(w, from)->node;
  cradle_word *object = place_object(w, from);
  if (n->words <= 2) return;
  size_t word = 2 + below(w, n->words - 2);
  role is = shape_role(n->shape, word);
  if (is != ROLE_WEAK && is != ROLE_KEY) return;
  w->comparison++;
  reckon(w);
  node *target = n->cells[word].node;
  void *found = weak_read(w, n, object, word, false);
  if (found == NULL) return;
  comes_back(w, target, is == ROLE_KEY);
  keep(w, target, found);
}

/* --- finalizers --- */

static void register_in(world *w, node *n, void *object, uint32_t queue) {
  if (!cradle_finalizer_register(w->m, object, queue)) return;
  n->registrations[queue]++;
  n->registered_at[queue] = w->registered++;
}

void finalizer_register(world *w) {
  place at;
  if (!place_with_object(w, &at)) return;
  uint32_t queue = 1 + (uint32_t)below(w, CRADLE_FINALIZER_QUEUES);
  register_in(w, place_cell(w, at)->node, place_object(w, at), queue);
}

/* An object out of a queue must have been dead, whole, and registered there. */
static node *check_returned(world *w, uint32_t queue, void *object) {
  node *n = node_of(w, object);
  reckon(w);
  EXPECT(w, n->registrations[queue] != 0, "%llx comes out of queue %u more often than it was registered",
         (unsigned long long)n->serial, queue);
  EXPECT(w, !is_reached(w, n) || n->may_wait, "%llx comes out of queue %u and lives", (unsigned long long)n->serial,
         queue);
  EXPECT(w, !n->is_destroyed, "%llx comes out of queue %u destroyed", (unsigned long long)n->serial, queue);
  n->registrations[queue]--;
  comes_back(w, n, true);
  return n;
}

static size_t drain(world *w, uint32_t queue, node **found, size_t room, bool keeps) {
  size_t waiting = finalizers_waiting(w->m, queue), count = 0;
  for (void *object; (object = cradle_finalizer_next(w->m, queue)) != NULL; count++) {
    EXPECT(w, count < waiting, "queue %u gives more than wait in it", queue);
    node *n = check_returned(w, queue, object);
    if (count < room) found[count] = n;
    if (keeps && chance(w, 2)) keep(w, n, object);
    if (registrations(n) != 0) n->may_wait = true;
  }
  EXPECT(w, count == waiting, "queue %u gave %zu of %zu objects", queue, count, waiting);
  return count;
}

void finalizer_drain(world *w) {
  for (uint32_t queue = 1; queue <= CRADLE_FINALIZER_QUEUES; queue++)
    if (!chance(w, 3)) (void)drain(w, queue, NULL, 0, true);
}

static void drain_all(world *w) {
  for (uint32_t queue = 1; queue <= CRADLE_FINALIZER_QUEUES; queue++) (void)drain(w, queue, NULL, 0, false);
}

/* What one collection queued. */
enum { BATCH_MAX = 24 };
typedef struct batch {
  node *found[BATCH_MAX];
  uint32_t queue[BATCH_MAX];
  size_t count;
  bool is_plain; /* none leads to another */
} batch;

/* Whether this is the last time that the object is in the batch, which is when its registered_at counts. */
static bool is_last(const batch *of, size_t i) {
  for (size_t j = i + 1; j < of->count; j++)
    if (of->found[j] == of->found[i] && of->queue[j] == of->queue[i]) return false;
  return true;
}

/* In a queue, each object comes before those that it leads to; objects that lead to each other come in the order of
 * registration. An ephemeron of a holder that comes back with the batch leads from its key to its value, too. */
static void check_pair(world *w, batch *of, size_t i, size_t j) {
  node *first = of->found[i], *second = of->found[j];
  bool back = first != second && leads_to(w, second, first), on = leads_to(w, first, second);
  EXPECT(w, of->queue[i] != of->queue[j] || !back || on || leads_to_beside(w, of->found, of->count, first, second),
         "queue %u gives %llx before %llx, which leads to it", of->queue[i], (unsigned long long)first->serial,
         (unsigned long long)second->serial);
  if (back && on && of->queue[i] == of->queue[j] && is_last(of, i))
    EXPECT(w, first->registered_at[of->queue[i]] < second->registered_at[of->queue[i]],
           "queue %u gives %llx before %llx, which it leads to, which leads to it, and which was registered before it",
           of->queue[i], (unsigned long long)first->serial, (unsigned long long)second->serial);
  of->is_plain = of->is_plain && !back && !on;
}

static void check_order(world *w, batch *of) {
  of->is_plain = true;
  for (size_t i = 0; i < of->count; i++)
    for (size_t j = i + 1; j < of->count; j++) check_pair(w, of, i, j);
  for (size_t i = 1; of->is_plain && i < of->count; i++) {
    uint32_t queue = of->queue[i];
    EXPECT(w, of->queue[i - 1] != queue || of->found[i - 1]->registered_at[queue] < of->found[i]->registered_at[queue],
           "queue %u gives %llx before %llx, which was registered before it", queue,
           (unsigned long long)of->found[i - 1]->serial, (unsigned long long)of->found[i]->serial);
  }
}

/* If all objects are old and none waited before, all that were dead are queued. */
static void expect_waiting(world *w, const uint64_t *expected) {
  for (uint32_t queue = 1; queue <= CRADLE_FINALIZER_QUEUES; queue++)
    EXPECT(w, finalizers_waiting(w->m, queue) == expected[queue], "%zu objects wait in queue %u, of %llu",
           finalizers_waiting(w->m, queue), queue, (unsigned long long)expected[queue]);
}

static void count_dead(world *w, uint64_t *dead) {
  reckon(w);
  for (size_t i = 0; i < w->node_count; i++)
    for (uint32_t queue = 1; queue <= CRADLE_FINALIZER_QUEUES; queue++)
      if (!is_reached(w, w->nodes[i])) dead[queue] += w->nodes[i]->registrations[queue];
}

/* Objects to which only others of the group lead, often in circles, which other operations rarely make.
 * Handles that the shadow does not know keep them alive until they are let go. */
enum { GROUP_MAX = 6 };
typedef struct group {
  node *nodes[GROUP_MAX];
  cradle_handle handles[GROUP_MAX];
  size_t count;
} group;

static void link_one(world *w, const group *of, size_t i, size_t word) {
  size_t to = below(w, of->count);
  cradle_word *object = cradle_handle_get(w->m, of->handles[i]);
  void *target = cradle_handle_get(w->m, of->handles[to]);
  cradle_store(w->m, object, &object[word], target);
  of->nodes[i]->cells[word] = (cell){.node = of->nodes[to], .era = of->nodes[to]->era};
}

static group group_make(world *w) {
  group of = {.count = 2 + below(w, GROUP_MAX - 1)};
  bool is_linked = !chance(w, 3);
  for (size_t i = 0; i < of.count; i++) {
    void *object;
    of.nodes[i] = allocate_finalized(w, &object);
    of.handles[i] = cradle_handle_new(w->m, object);
    if (chance(w, 4)) register_in(w, of.nodes[i], object, of.nodes[i]->shape->type.finalizer);
  }
  for (size_t i = 0; i < of.count; i++)
    for (size_t word = 2; word < 4; word++)
      if (is_linked && chance(w, 2)) link_one(w, &of, i, word);
  return of;
}

static void group_let_go(world *w, const group *of) {
  for (size_t i = 0; i < of->count; i++) cradle_handle_free(w->m, of->handles[i]);
}

/* All that is registered is old and nothing waits, so one major collection finds what is dead. */
void finalizer_order(world *w) {
  uint64_t dead[CRADLE_FINALIZER_QUEUES + 1] = {0};
  batch of = {.count = 0};
  if (w->is_limited) return;
  group more = group_make(w);
  for (int rounds = 0; rounds < 2; rounds++) {
    cradle_collect(w->m, CRADLE_COLLECT_MAJOR);
    drain_all(w);
  }
  for (int i = 0; i < 6; i++) root_clear(w);
  group_let_go(w, &more);
  count_dead(w, dead);
  cradle_collect(w->m, CRADLE_COLLECT_MAJOR);
  expect_waiting(w, dead);
  for (uint32_t queue = 1; queue <= CRADLE_FINALIZER_QUEUES; queue++) {
    size_t room = BATCH_MAX - of.count, count = drain(w, queue, of.found + of.count, room, false);
    if (count > room) return;
    for (size_t i = 0; i < count; i++) of.queue[of.count++] = queue;
  }
  check_order(w, &of);
}

/* --- destructors and external sizes --- */

void destroy_object(void *user, void *object) {
  (void)user;
  const cradle_word *words = object;
  world *w = world_of_serial(words[1]);
  node *n = node_of_serial(w, words[1]);
  EXPECT(w, n != NULL, "an object that is none is destroyed");
  EXPECT(w, !n->is_destroyed, "%llx is destroyed again", (unsigned long long)n->serial);
  EXPECT(w, words[2] == n->cells[2].rest, "%llx is destroyed with other contents", (unsigned long long)n->serial);
  n->is_destroyed = true;
  free(n->buffer);
  n->buffer = NULL;
  n->outside_count = 0;
}

size_t external_size(void *user, const void *object) {
  (void)user;
  return (size_t)((const cradle_word *)object)[2];
}

/* --- identity --- */

static void check_unique(const world *w, const node *n) {
  for (size_t i = 0; i < w->node_count; i++) {
    const node *other = w->nodes[i];
    if (other == n) continue;
    EXPECT(w, n->hash == 0 || other->hash != n->hash, "two objects have the hash %x", n->hash);
    EXPECT(w, n->id == 0 || other->id != n->id, "two objects have the id %llu", (unsigned long long)n->id);
  }
}

void identify(world *w) {
  place at;
  if (!place_with_object(w, &at)) return;
  node *n = place_cell(w, at)->node;
  void *object = place_object(w, at);
  if (chance(w, 2)) {
    uint32_t hash = cradle_identity_hash(w->m, object);
    EXPECT(w, hash != 0 && hash <= CRADLE_HASH_MASK && (n->hash == 0 || n->hash == hash), "%llx has the hash %x",
           (unsigned long long)n->serial, hash);
    n->hash = hash;
  } else {
    uint64_t id = cradle_id(w->m, object);
    if (id == 0 && w->is_limited) return;
    EXPECT(w, id != 0 && (n->id == 0 || n->id == id), "%llx has the id %llu", (unsigned long long)n->serial,
           (unsigned long long)id);
    n->id = id;
  }
  check_unique(w, n);
}

void look_up_id(world *w) {
  for (int tries = 0; tries < 20 && w->node_count != 0; tries++) {
    node *n = w->nodes[below(w, w->node_count)];
    if (n->id == 0) continue;
    void *object = cradle_object_of_id(w->m, n->id);
    reckon(w);
    if (object == NULL) {
      EXPECT(w, !is_reached(w, n), "%llx lives and its id does not find it", (unsigned long long)n->serial);
      return;
    }
    EXPECT(w, node_of(w, object) == n, "the id of %llx finds another object", (unsigned long long)n->serial);
    comes_back(w, n, true);
    keep(w, n, object);
    return;
  }
}
