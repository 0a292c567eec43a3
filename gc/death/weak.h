/* Weak slots and weak sets: what does not keep its object alive, and is cleared when the object is not reached.
 *
 * A minor collection looks at the registered young holders of weak slots and at the old ones that were stored into. A
 * major collection looks at all holders, in increments. Meanwhile the guard is up, and the reader of a slot asks for
 * the mark of its object. No object is marked between the end of marking and the clearing of the last weak slot, so the
 * answer for an object does not change.
 *
 *   [weak.1] After the clearing of weak slots, no weak slot of a reached holder leads to an object that the collection
 *            found dead.
 *
 * Weak sets are hash sets with open addressing and linear probing, in malloc'ed memory; capacities are powers of two. A
 * set lists the places that were filled with young objects since the last minor collection, which looks at no others.
 * The sets that have such places are in a ring of their own, as a program may have very many sets. A major collection
 * clears one set after the other, place after place. A set that is rebuilt meanwhile leaves dead objects out, so it
 * does not matter to which places the others go.
 *
 *   [weak_set.1] A place is free (0), was freed (1) or holds an object. `count` is the number of places that hold an
 *                object, `used` the number of places that are not free. used is at most 3/4 of the capacity.
 *   [weak_set.2] `young` lists every place that holds a young object. It may list other places, and one twice.
 *   [weak_set.3] A set that lists such places, or that lost objects of which its swept function was not told, is in
 *                the ring `changed`.
 */
#ifndef CRADLE_GC_DEATH_WEAK_H
#define CRADLE_GC_DEATH_WEAK_H

#include <cradle/weak_set.h>

#include "gc/base/ring.h"
#include "gc/death/registry.h"

typedef struct crd_weak_sets {
  crd_ring all, changed;
  crd_ring *clearing; /* the set that a major collection clears next; `all` itself: none is left */
  size_t cleared;     /* so many of its places were looked at */
  size_t bytes;       /* of memory, in all sets */
} crd_weak_sets;

#define PLACE_FREED 1
typedef struct crd_weak_place {
  uint64_t hash;
  cradle_word object; /* or [weak_set.1] */
} crd_weak_place;
static inline bool weak_place_is_taken(const crd_weak_place *place) {
  return place->object > PLACE_FREED;
}

struct cradle_weak_set {
  crd_ring ring;    /* first */
  crd_ring changed; /* in the ring of changed sets, or alone */
  crd_services *services;
  cradle_weak_swept_function swept;
  void *data;
  crd_weak_place *places;
  uint32_t *young; /* behind the places, with room for all of them */
  size_t capacity, count, used, young_count;
  size_t removed;    /* by collections; the swept function was not told yet */
  uint64_t changes;  /* additions and removals by the program */
  crd_spinlock lock; /* of a shared heap: each use takes it, and calls the program's function under it */
};

/* Clears the slots of a holder that lead to the dead. A dead holder stays listed if a finalizer may bring it back. */
crd_verdict crd_weak_clear_entry(crd_death *death, cradle_word *entry);
/* Whether the holder stays listed, when it is certain which holders live. */
crd_verdict crd_weak_settle_entry(crd_death *death, cradle_word *entry);
/* In a minor collection: clears the slots of young holders and of the old ones that were stored into. */
void crd_weak_clear(crd_death *death);

/* An empty set. NULL: memory was refused. */
cradle_weak_set *crd_weak_set_make(crd_services *services, cradle_weak_swept_function swept, void *data);
/* Adds an object. false: memory was refused. */
bool crd_weak_set_put(cradle_weak_set *set, uint64_t hash, void *object);

void crd_weak_sets_init(crd_weak_sets *sets);
/* Takes dead objects out of the sets: in a minor collection, and in increments of a major one. */
void crd_weak_sets_clear(crd_death *death);
bool crd_weak_sets_pass(crd_death *death, crd_pace *pace);
/* Calls the swept functions of the sets that lost objects. */
void crd_weak_sets_tell(crd_services *services);

/* Whether the heap has any. */
bool crd_weak_sets_exist(const crd_services *services);
/* Calls visit with the word of every object in a set. */
void crd_weak_sets_each(crd_services *services, crd_slot_function visit, void *context);

#endif
