/* The order of collections, and their pauses. Collections work while the program pauses; only the second core also
 * marks between pauses, and beside minor collections (gc/old/marker.h). crd_collect makes one pause:
 *
 *   begin             verified if that was asked for; the state is HEAP_COLLECTING from here on
 *   minor collection  the nursery is empty afterwards, and so are the remembered set and the recorded slots
 *   nursery's size    gc/young/adapt.c decides
 *   increment         of the major collection, if one runs or is due
 *                     (if a large object brings on the pause, also of the next phases, while there is time)
 *   end               the nursery is handed out, once, and the state is HEAP_MUTATING again; verified again if that was
 *                     asked for
 *   giving back       a few of the arenas that nobody wanted of late go back to the system
 *
 * Every pause begins with a minor collection. So an increment never meets a young object, and whatever the program
 * stored since the last increment is marked by then [heap.6]. After the pause, arenas that the next one is likely to
 * fill are made ready.
 */
#ifndef CRADLE_GC_COLLECT_H
#define CRADLE_GC_COLLECT_H

#include <cradle/heap.h>

#include "gc/old/major.h"

/* A pause that is only a minor collection. */
void crd_collect_minor(cradle_heap *heap, cradle_cause cause) CRADLE_MAY_COLLECT;
/* The used bytes, external memory included, at which a major collection is to begin. */
uint64_t crd_collect_due_at(cradle_heap *heap);
/* One pause: a minor collection, then an increment of the major collection if one runs or is due. */
void crd_collect(cradle_heap *heap, cradle_cause cause) CRADLE_MAY_COLLECT;
/* A complete major collection: any kind but CRADLE_COLLECT_MINOR. */
void crd_collect_major(cradle_heap *heap, cradle_cause cause, cradle_collection_kind kind) CRADLE_MAY_COLLECT;
/* What an increment may do in a pause that began at begin, when so many bytes were promoted since the last one. */
crd_budget crd_collect_budget(cradle_heap *heap, uint64_t begin, uint64_t promoted);
/* When the second core has nothing left to trace, an increment marks at least so many bytes. Otherwise handles
 * and other tables, which only increments look at, would be marked late. */
#define BESIDE_MIN_BYTES ((uint64_t)256 << 10)
/* The deadline of an increment limited only by bytes. (With UINT64_MAX, a pause goes on until the collection is
 * over.) */
#define NO_TARGET_DEADLINE (UINT64_MAX - 1)

#endif
