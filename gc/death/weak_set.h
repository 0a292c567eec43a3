/* Weak sets: hash sets with open addressing and linear probing, in malloc'ed memory; capacities are powers of two.
 *
 * A set lists the places that were filled with young objects since the last minor collection, which looks at no others.
 * The sets that have such places are in a ring of their own: a program may have very many sets, and a minor collection
 * looks at none that did not change. A major collection clears one set after the other, place after place. A set that
 * is rebuilt meanwhile leaves dead objects out, so it does not matter to which places the others go.
 *
 *   [weak_set.1] A place is free (0), was freed (1) or holds an object. `count` is the number of places that hold an
 *                object, `used` the number of places that are not free. used is at most 3/4 of the capacity.
 *   [weak_set.2] `young` lists every place that holds a young object. It may list other places, and one twice.
 *   [weak_set.3] A set that lists such places, or that lost objects of which its swept function was not told, is in
 *                the ring `changed`.
 */
#ifndef CRADLE_GC_DEATH_WEAK_SET_H
#define CRADLE_GC_DEATH_WEAK_SET_H

#include <cradle/weak_set.h>

#include "gc/base/ring.h"
#include "gc/death/registry.h"

typedef struct crd_weak_sets {
  crd_ring all, changed;
  crd_ring *clearing; /* the set that a major collection clears next; `all` itself: none is left */
  size_t cleared;     /* so many of its places were looked at */
  size_t bytes;       /* of memory, in all sets */
} crd_weak_sets;

struct cradle_weak_set {
  crd_ring ring;    /* first */
  crd_ring changed; /* in the ring of changed sets, or alone */
  crd_services *services;
  cradle_weak_swept_function swept;
  void *data;
  struct crd_weak_place *places;
  uint32_t *young; /* behind the places, with room for all of them */
  size_t capacity, count, used, young_count;
  size_t removed;   /* by collections; the swept function was not told yet */
  uint64_t changes; /* additions and removals by the program */
};

void crd_weak_sets_init(crd_weak_sets *sets);
/* Takes dead objects out of the sets: in a minor collection, and in increments of a major one. */
void crd_weak_sets_clear(crd_death *death);
void crd_weak_sets_begin(crd_weak_sets *sets);
bool crd_weak_sets_pass(crd_death *death, crd_pace *pace);
/* Calls the swept functions of the sets that lost objects. */
void crd_weak_sets_tell(crd_services *services);

/* Whether the heap has any. */
bool crd_weak_sets_exist(const crd_services *services);
/* Calls visit with the word of every object in a set. */
void crd_weak_sets_each(crd_services *services, crd_slot_function visit, void *context);

#endif
