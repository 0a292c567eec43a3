/* What the inline functions of cradle/barrier.h call. A program does not call these; generated code calls the partners
 * that docs/jit.md names. */
#ifndef CRADLE_DETAIL_BARRIER_H
#define CRADLE_DETAIL_BARRIER_H

#include <cradle/object.h>

CRADLE_BEGIN_DECLS

/* Remembers object for the next collection. Called by the inline part only when the flag is set. */
CRADLE_API CRADLE_COLD void cradle_write_barrier_slow(cradle_mutator *mutator, void *object);
/* Stores word into the slot and tells the collector; of a large array, only the slot is recorded, not the whole object.
 * Called by the inline part only when the flag is set. */
CRADLE_API void cradle_store_slow(cradle_mutator *mutator, void *object, void *slot, cradle_word word);

/* With CRADLE_CHECKED: misuse in a callback, and on a thread that the mutator is not attached to. */
CRADLE_API void cradle_check_store(cradle_mutator *mutator, const void *object);
/* With CRADLE_CHECKED: the same, and misuse unless the slot is a word of object, whose type has no trace callback, and
 * the value can be a reference where the slot is one for references. */
CRADLE_API void cradle_check_slot(cradle_mutator *mutator, const void *object, const void *slot, cradle_value value);

/* Called by the inline part only when the flag is set: count slots of object from slots on were written. */
CRADLE_API void cradle_copy_slots_slow(cradle_mutator *mutator, void *object, const void *slots, size_t count);
/* With CRADLE_CHECKED: the same for count slots. */
CRADLE_API void cradle_check_slots(cradle_mutator *mutator, const void *object, const void *to, const void *from,
                                   size_t count);

CRADLE_END_DECLS

#endif
