#include "second_model.h"

#include <stdlib.h>
#include <string.h>

static void *zeroed(size_t count, size_t size) {
  void *memory = calloc(count == 0 ? 1 : count, size);
  if (memory == NULL) abort();
  return memory;
}

/* --- nodes --- */

node *node_new(world *w, const shape *of, uint64_t length) {
  node *n = zeroed(1, sizeof *n);
  if (w->node_count == w->node_room) {
    w->node_room = w->node_room * 2 + 64;
    w->nodes = realloc(w->nodes, w->node_room * sizeof *w->nodes);
    if (w->nodes == NULL) abort();
  }
  *n = (node){.shape = of, .length = length, .words = shape_words(of, length)};
  n->serial = (uint64_t)(w->number + 1) << 32 | w->node_count;
  n->cells = zeroed(n->words, sizeof *n->cells);
  return w->nodes[w->node_count++] = n;
}

void node_free(node *n) {
  free(n->cells);
  free(n->outside);
  free(n->buffer);
  free(n);
}

node *node_of_serial(const world *w, uint64_t serial) {
  if (serial >> 32 != w->number + 1 || (uint32_t)serial >= w->node_count) return NULL;
  return w->nodes[(uint32_t)serial];
}

node *node_of(const world *w, const void *object) {
  uint32_t type = cradle_type_of(object);
  EXPECT(w, type < SHAPES, "the object at %p has the type %u, which is none", object, type);
  uint64_t serial = ((const cradle_word *)object)[shapes[type].serial_word];
  node *n = node_of_serial(w, serial);
  EXPECT(w, n != NULL, "the object at %p has the serial number %llx, which is none", object,
         (unsigned long long)serial);
  EXPECT(w, n->shape == &shapes[type], "object %llx is a %s and was a %s", (unsigned long long)serial,
         shapes[type].type.name, n->shape->type.name);
  return n;
}

uint32_t registrations(const node *n) {
  uint32_t sum = 0;
  for (uint32_t queue = 1; queue <= CRADLE_FINALIZER_QUEUES; queue++) sum += n->registrations[queue];
  return sum;
}

/* --- what leads where --- */

/* A walk over the nodes: which stamp of a node it sets. */
typedef struct walk {
  world *world;
  bool is_wide; /* sets returnable, else reached */
  bool grew;
} walk;

static uint64_t *stamp_of(const walk *on, node *n) {
  return on->is_wide ? &n->returnable : &n->reached;
}

static bool is_stamped(const walk *on, node *n) {
  return *stamp_of(on, n) == on->world->reckoning;
}

static void reach(walk *on, node *n) {
  world *w = on->world;
  if (n == NULL || is_stamped(on, n)) return;
  *stamp_of(on, n) = w->reckoning;
  on->grew = true;
  if (w->work_count == w->work_room) {
    w->work_room = w->work_room * 2 + 64;
    w->work = realloc(w->work, w->work_room * sizeof *w->work);
    if (w->work == NULL) abort();
  }
  w->work[w->work_count++] = n;
}

static void reach_cells(walk *on, const node *n) {
  for (size_t word = 1; word < n->words; word++) {
    role is = shape_role(n->shape, word);
    if (is == ROLE_REFERENCE || is == ROLE_VALUE) reach(on, n->cells[word].node);
    if (is != ROLE_KEY) continue;
    node *key = n->cells[word].node;
    if (key == NULL || is_stamped(on, key)) reach(on, n->cells[word + 1].node);
  }
  for (size_t i = 0; i < n->outside_count; i++) reach(on, n->outside[i].node);
}

static void drain(walk *on) {
  world *w = on->world;
  while (w->work_count != 0) reach_cells(on, w->work[--w->work_count]);
}

static bool has_pairs(const node *n) {
  return n->shape->type.ephemerons != 0 || n->shape->type.items == CRADLE_ITEMS_EPHEMERONS;
}

/* The values of pairs whose keys were reached after the pairs, until nothing is new. */
static void reach_pairs(walk *on) {
  world *w = on->world;
  do {
    on->grew = false;
    for (size_t i = 0; i < w->node_count; i++)
      if (has_pairs(w->nodes[i]) && is_stamped(on, w->nodes[i])) reach_cells(on, w->nodes[i]);
    drain(on);
  } while (on->grew);
}

static void reach_root(world *w, cell *root, cradle_word word, cradle_kind kind) {
  walk narrow = {w, false, false}, wide = {w, true, false};
  (void)word, (void)kind;
  reach(&narrow, root->node);
  drain(&narrow);
  reach(&wide, root->node);
  drain(&wide);
}

/* Pinned objects are roots, too. */
static void reach_held(walk *on) {
  for (size_t i = 0; i < on->world->node_count; i++) {
    node *n = on->world->nodes[i];
    if (n->pins != 0) reach(on, n);
  }
  drain(on);
}

void reckon(world *w) {
  walk narrow = {w, false, false}, wide = {w, true, false};
  w->reckoning++;
  places_each(w, reach_root);
  reach_held(&narrow);
  reach_pairs(&narrow);
  for (size_t i = 0; i < w->node_count; i++)
    if (is_reached(w, w->nodes[i]) || (registrations(w->nodes[i]) != 0 && !w->nodes[i]->is_dead))
      reach(&wide, w->nodes[i]);
  drain(&wide);
  reach_pairs(&wide);
}

bool is_reached(const world *w, const node *n) {
  return n->reached == w->reckoning;
}

bool is_returnable(const world *w, const node *n) {
  return n->returnable == w->reckoning;
}

/* --- coming back --- */

/* n comes back in another way than from a root: objects that only n leads to may have been found dead meanwhile, and
 * come back with it. */
static void came_back(world *w, const node *n, node *back, bool is_new_era) {
  EXPECT(w, !back->is_dead, "%llx leads to %llx, which was dead", (unsigned long long)n->serial,
         (unsigned long long)back->serial);
  if (is_new_era) back->era++;
  if (registrations(back) != 0) back->may_wait = true;
}

void comes_back(world *w, node *n, bool is_new_era) {
  walk on = {w, false, false};
  reckon(w);
  for (size_t i = 0; i < w->node_count; i++) w->nodes[i]->was_reached = is_reached(w, w->nodes[i]);
  reach(&on, n);
  drain(&on);
  reach_pairs(&on);
  for (size_t i = 0; i < w->node_count; i++)
    if (is_stamped(&on, w->nodes[i]) && !w->nodes[i]->was_reached) came_back(w, n, w->nodes[i], is_new_era);
}

/* With what is reached: pairs of live holders whose keys from leads to, lead to their values. */
bool leads_to(world *w, node *from, const node *to) {
  return leads_to_beside(w, NULL, 0, from, to);
}

static void reach_values(walk *on, const node *n) {
  for (size_t word = 1; word < n->words; word++)
    if (shape_role(n->shape, word) == ROLE_KEY && n->cells[word].node != NULL && is_stamped(on, n->cells[word].node))
      reach(on, n->cells[word + 1].node);
  drain(on);
}

/* The same where holders live again that the nodes of back lead to. */
bool leads_to_beside(world *w, node *const *back, size_t count, node *from, const node *to) {
  walk on = {w, false, false};
  reckon(w);
  for (size_t i = 0; i < count; i++) reach(&on, back[i]);
  drain(&on);
  reach_pairs(&on);
  for (size_t i = 0; i < w->node_count; i++) w->nodes[i]->was_reached = is_reached(w, w->nodes[i]);
  reckon(w);
  reach(&on, from);
  drain(&on);
  do {
    reach_pairs(&on);
    for (size_t i = 0; i < w->node_count; i++)
      if (has_pairs(w->nodes[i]) && w->nodes[i]->was_reached) reach_values(&on, w->nodes[i]);
  } while (on.grew);
  return is_reached(w, to);
}
