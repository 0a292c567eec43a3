/* Weak sets: hash sets with open addressing and linear probing, in malloc'ed memory; capacities are powers of two.
 *
 * A set lists the places that were filled with young objects since the last minor collection, which looks at no others.
 * A major collection clears a set place after place. A set that is rebuilt meanwhile leaves dead objects out, and need
 * not be cleared further.
 *
 *   [weak_set.1] A place is free (0), was freed (1) or holds an object. `count` is the number of places that hold an
 *                object, `used` the number of places that are not free. used is at most 3/4 of the capacity.
 *   [weak_set.2] `young` lists every place that holds a young object. It may list other places, too.
 */
#ifndef CRADLE_GC_DEATH_WEAK_SET_H
#define CRADLE_GC_DEATH_WEAK_SET_H

#include "gc/death/list.h"

typedef struct crd_weak_sets {
  struct cradle_weak_set *first;    /* the list of all weak sets of the heap */
  struct cradle_weak_set *clearing; /* the set that a major collection clears next; NULL: none is left */
} crd_weak_sets;

/* Takes dead objects out of the sets: in a minor collection, and in increments of a major one. */
void crd_weak_sets_clear(crd_death *death);
void crd_weak_sets_begin(cradle_heap *heap);
bool crd_weak_sets_pass(crd_death *death, crd_pace *pace);
/* Calls the swept functions of the sets that lost objects. */
void crd_weak_sets_tell(cradle_heap *heap);

/* Whether the heap has any. */
bool crd_weak_sets_exist(const cradle_heap *heap);
size_t crd_weak_sets_bytes(const crd_weak_sets *sets);
/* Calls visit with the word of every object in a set. */
void crd_weak_sets_each(cradle_heap *heap, crd_slot_function visit, void *context);

#endif
