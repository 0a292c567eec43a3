/* The order of collections, and their pauses. A pause of crd_collect, from above to below:
 *
 *   begin             begin_collecting: verified if that was asked for; the state is HEAP_COLLECTING from here on
 *   minor collection  the nursery is empty afterwards, and so are the remembered set and the recorded slots
 *   nursery's size    gc/young/adapt.c decides
 *   increment         of the major collection, if one runs or is due
 *   end               the nursery is handed out, once; the mutator's turn; verified again if that was asked for
 *   giving back       a few of the arenas that nobody wanted of late go back to the system
 *
 * After the pause, arenas that the next one is likely to fill are made ready.
 */
#ifndef CRADLE_GC_COLLECT_H
#define CRADLE_GC_COLLECT_H

#include <cradle/heap.h>

/* A minor collection that is no pause of its own: the caller goes on to something that ends what the mutator does. */
void crd_collect_minor(cradle_heap *heap, cradle_cause cause) CRADLE_MAY_COLLECT;
/* Used bytes, external ones too, at which a major collection is to begin. */
uint64_t crd_collect_due_at(cradle_heap *heap);
/* A minor collection, and after it an increment of the major one when that is due or runs: one pause. */
void crd_collect(cradle_heap *heap, cradle_cause cause) CRADLE_MAY_COLLECT;
/* A complete major collection: any kind but CRADLE_COLLECT_MINOR. */
void crd_collect_major(cradle_heap *heap, cradle_cause cause, cradle_collection_kind kind) CRADLE_MAY_COLLECT;

#endif
