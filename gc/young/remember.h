/* The slow path of the write barrier: the remembered set, the recorded slots of large arrays, and what marking must
 * see.
 *
 * cradle_store knows what is stored. While nothing marks, an old reference in an old object is nothing to remember, and
 * a minor collection need not look at the object, which has left the cache by then. cradle_write_barrier, which is
 * called after a store, remembers.
 *
 * Which slots of a large array are stored into is recorded in the order of the stores, whatever was in them: to look
 * would be a cache miss for each. When half as many are recorded as the array has slots, all of it is remembered, and
 * further stores take the fast path until the next collection. So a store costs a record or a share of a scan of two
 * slots, and the cost has no cliff at any length.
 *
 *   [remember.1] An old or prebuilt object is in the set at most once: being remembered clears its barrier flag, which
 *                leads to the slow path.
 *   [remember.2] Recorded slots are those of old arrays with the slots flag, which lie in arenas.
 *
 * What the set must hold are [heap.1], [heap.3], [heap.5] and [heap.6].
 */
#ifndef CRADLE_GC_YOUNG_REMEMBER_H
#define CRADLE_GC_YOUNG_REMEMBER_H

#include <cradle/base.h>

/* Counters for recorded arrays in spans, by a part of the address. */
#define RECORD_BUDGETS 1024

/* Objects that were stored into and not remembered, each in a place that others share; how often, at most, before the
 * next store is: it stands in the lowest bits of their addresses. */
#define SPARED_OBJECTS 64
#define SPARED_TIMES 7

/* How many slots of an array may still be recorded before the next minor collection. */
typedef struct crd_record_budget {
  uint32_t recorded_at; /* the minor collection after which left was set */
  uint32_t left;
} crd_record_budget;

/* Remembers an old or prebuilt object whose barrier flag is set. */
void crd_remember(cradle_heap *heap, cradle_word *object);

#endif
