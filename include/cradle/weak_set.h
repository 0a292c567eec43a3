/* Weak sets: hash sets that do not keep their objects alive, for intern tables.
 *
 * A set lies outside the heap and belongs to the embedder, who gives a hash with each call and an equality with each
 * search; the hash must depend on an object's contents, not on its address. Dead objects disappear from the set when
 * weak slots are cleared, before finalizers; objects that move stay in it. An object found in the set is alive, even
 * while a major collection is under way.
 *
 * Cost. A place takes 16 bytes. In a large set that grows, between 3/8 and 3/4 of the places are taken. A minor
 * collection looks only at the entries that were added since the last one; a major collection looks at all, in
 * increments.
 *
 * No function here collects, and equal must not collect.
 */
#ifndef CRADLE_WEAK_SET_H
#define CRADLE_WEAK_SET_H

#include <cradle/mutator.h>

CRADLE_BEGIN_DECLS

/* A set of objects that it does not keep alive. */
typedef struct cradle_weak_set cradle_weak_set;

/* Whether the object is the one that key describes. */
typedef bool (*cradle_weak_equal_function)(const void *object, const void *key);
/* Reports how many objects died and were removed since the last call; never 0. A callback (cradle/base.h) at the end of
 * the order of death; not called when the set is freed. */
typedef void (*cradle_weak_swept_function)(void *data, size_t removed);

/* Makes an empty set of the heap. swept may be NULL. NULL: memory ran out. */
CRADLE_API cradle_weak_set *cradle_weak_set_new(cradle_mutator *mutator, cradle_weak_swept_function swept, void *data);
/* Frees the set, which must come before cradle_heap_free. NULL is ignored. */
CRADLE_API void cradle_weak_set_free(cradle_weak_set *set);

/* Returns the object with this hash for which equal returns true, or NULL. */
CRADLE_API void *cradle_weak_set_find(cradle_weak_set *set, uint64_t hash, cradle_weak_equal_function equal,
                                      const void *key);
/* Adds an object that is not in the set. false: memory ran out. */
CRADLE_API bool cradle_weak_set_add(cradle_weak_set *set, uint64_t hash, void *object);
/* Returns the object with this hash for which equal returns true; if there is none, adds object, which key describes,
 * and returns it. With several mutators both are one step: no other thread can add an equal object in between. NULL:
 * memory ran out. */
CRADLE_API void *cradle_weak_set_find_or_add(cradle_weak_set *set, uint64_t hash, cradle_weak_equal_function equal,
                                             const void *key, void *object);
/* Removes the object. false: it is not in the set. */
CRADLE_API bool cradle_weak_set_remove(cradle_weak_set *set, uint64_t hash, const void *object);

/* Iteration: begin with a cursor of {0}; NULL ends it. Each object that is alive when the iteration begins is returned
 * once. Collections may happen meanwhile. To go on after the program added or removed an object is misuse. */
typedef struct cradle_weak_cursor {
  size_t place;
  uint64_t changes; /* of the set when it began, plus one */
} cradle_weak_cursor;
CRADLE_API void *cradle_weak_set_next(cradle_weak_set *set, cradle_weak_cursor *cursor);

CRADLE_END_DECLS

#endif
