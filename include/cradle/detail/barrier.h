/* What the inline functions of cradle/barrier.h call. A program does not call these; generated code calls the partners
 * that docs/jit.md names. */
#ifndef CRADLE_DETAIL_BARRIER_H
#define CRADLE_DETAIL_BARRIER_H

#include <cradle/object.h>

CRADLE_BEGIN_DECLS

/* Remembers object for the next collection. Called by the inline part only when the flag is set. */
CRADLE_API CRADLE_COLD void cradle_write_barrier_slow(cradle_mutator *mutator, void *object);
/* Stores word into the slot and remembers the object for the next collection; of a large array, it records only the
 * slot. Called by the inline part only when the flag is set. */
CRADLE_API void cradle_store_slow(cradle_mutator *mutator, void *object, void *slot, cradle_word word);

/* With CRADLE_CHECKED: reports misuse in a callback, and on a thread to which the mutator is not attached. */
CRADLE_API void cradle_check_store(cradle_mutator *mutator, const void *object);
/* With CRADLE_CHECKED: as cradle_check_store. Also reports misuse if the slot is no word of object (unless its type has
 * a trace callback), or if the slot is for references and the value cannot be one. */
CRADLE_API void cradle_check_slot(cradle_mutator *mutator, const void *object, const void *slot, cradle_value value);

/* Called by the inline part only when the flag is set: count slots of object from slots on were written. */
CRADLE_API void cradle_copy_slots_slow(cradle_mutator *mutator, void *object, const void *slots, size_t count);
/* With CRADLE_CHECKED: as cradle_check_slot, for count slots. */
CRADLE_API void cradle_check_slots(cradle_mutator *mutator, const void *object, const void *to, const void *from,
                                   size_t count);

CRADLE_END_DECLS

#endif
