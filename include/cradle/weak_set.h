/* Weak sets: hash sets of objects that hold them weakly, for intern tables.
 *
 * A set lies outside the heap and belongs to the embedder. It is keyed by a hash and an equality of the embedder's; the
 * hash must depend on contents, not on the address. Dead objects vanish from it by themselves, those that move stay in
 * it. An object found in it is alive, whatever an incremental collection knows.
 *
 * Cost. 16 bytes a place; once it is large, between 3/8 and 3/4 of the places are taken while it grows. Where fewer
 * than a sixteenth are taken, the next addition makes it smaller. A minor collection looks at the entries added since
 * the last one, not at the set; a major collection looks at all of it, in increments.
 *
 * Order. Objects vanish when weak slots are cleared, before finalizers. The function swept is called at the end of the
 * order of death, within the collection: it must not use the library, and must not longjmp. It is not called when the
 * set is freed.
 *
 * No function here collects, unless equal does; equal must not.
 */
#ifndef CRADLE_WEAK_SET_H
#define CRADLE_WEAK_SET_H

#include <cradle/mutator.h>

CRADLE_BEGIN_DECLS

/* A set of objects that it does not keep alive. */
typedef struct cradle_weak_set cradle_weak_set;

/* Whether the object is the one that key describes. */
typedef bool (*cradle_weak_equal_function)(const void *object, const void *key);
/* So many objects died and were removed since the last call; there are some. */
typedef void (*cradle_weak_swept_function)(void *data, size_t removed);

/* Makes an empty set of the heap. swept may be NULL. When memory runs out the out-of-memory handler is called, or NULL
 * returned by the try variant. */
CRADLE_API cradle_weak_set *cradle_weak_set_new(cradle_mutator *mutator, cradle_weak_swept_function swept, void *data);
CRADLE_API cradle_weak_set *cradle_try_weak_set_new(cradle_mutator *mutator, cradle_weak_swept_function swept,
                                                    void *data);
/* Frees it; must come before cradle_heap_free. NULL is ignored. */
CRADLE_API void cradle_weak_set_free(cradle_weak_set *set);

/* The object with this hash for which equal says yes, or NULL. */
CRADLE_API void *cradle_weak_set_find(cradle_weak_set *set, uint64_t hash, cradle_weak_equal_function equal,
                                      const void *key);
/* Adds an object that is not in it. When memory runs out nothing is changed, and the out-of-memory handler is called,
 * or false returned by the try variant. */
CRADLE_API void cradle_weak_set_add(cradle_weak_set *set, uint64_t hash, void *object);
CRADLE_API CRADLE_RESULT_MATTERS bool cradle_try_weak_set_add(cradle_weak_set *set, uint64_t hash, void *object);
/* Takes the object out. false: it is not in it. */
CRADLE_API bool cradle_weak_set_remove(cradle_weak_set *set, uint64_t hash, const void *object);

/* Iteration: begin with {0}; NULL ends it. What lives when it begins is given once each. Collections may happen
 * meanwhile; after an addition or a removal by the program, going on is misuse. */
typedef struct cradle_weak_cursor {
  size_t place;
  uint64_t changes; /* of the set when it began, plus one */
} cradle_weak_cursor;
CRADLE_API void *cradle_weak_set_next(cradle_weak_set *set, cradle_weak_cursor *cursor);

CRADLE_END_DECLS

#endif
