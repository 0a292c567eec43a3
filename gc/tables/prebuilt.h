/* Prebuilt objects: objects that the program made in its own memory (static tables, a loaded image) and registered.
 * They never move and never die, and are roots if they refer into the heap. A store sets off the write barrier, as one
 * into an old object, and its slow path moves the object among the "written" ones, for good. Collections look at these
 * only:
 *
 *     of:  | written                    | others: refer to no object of the heap |
 *          0          marked_at     written                                    count
 *
 *   [prebuilt.1] A prebuilt object that was ever stored into since its registration, or referred into the heap then, is
 *                among the written; the others refer to no object of the heap.
 *   [prebuilt.2] Its barrier flag is set exactly when it is not remembered, as an old object's is.
 *   [prebuilt.3] While marking, what the written ones below marked_at refer to is marked, or they are remembered.
 *   [prebuilt.4] The entry of a prebuilt object in the remembered set is at the place that the object was given last.
 */
#ifndef CRADLE_GC_TABLES_PREBUILT_H
#define CRADLE_GC_TABLES_PREBUILT_H

#include <cradle/prebuilt.h>

#include "gc/base/address.h"
#include "gc/base/address_map.h"
#include "gc/parts.h"

typedef struct crd_prebuilt {
  cradle_word *object;
  size_t bytes;      /* its size when it was registered: behind that, the memory may be something else's */
  size_t remembered; /* its place in the remembered set, if it is there [prebuilt.4] */
} crd_prebuilt;

typedef struct crd_prebuilts {
  crd_address_map by_address; /* the index in `of` */
  crd_prebuilt *of;           /* the written ones first */
  uint32_t count, written, capacity;
  uint32_t marked_at; /* marking has looked at the written ones below [prebuilt.3] */
} crd_prebuilts;

/* What keeps the object from being registered, or NULL. */
const char *crd_prebuilt_fault(const crd_tables *tables, const cradle_word *object);
/* Makes room for one more. false: memory was refused. */
bool crd_prebuilts_reserve(crd_prebuilts *prebuilts);
/* Enters an object; there must be room. true: it refers into the heap already, and is to be remembered. */
bool crd_prebuilt_enter(crd_tables *tables, cradle_word *object);
/* Makes plain memory of the object with that index, which is not remembered. Returns another one that is to be
 * remembered; NULL: none. */
cradle_word *crd_prebuilt_leave(crd_tables *tables, uint32_t index);
/* An object has just been remembered, at that place of the set: moves it among the written ones, if it is not there. */
void crd_prebuilt_written(crd_tables *tables, const cradle_word *object, size_t place);
static inline bool prebuilt_is(const crd_prebuilts *prebuilts, const void *object) {
  return crd_address_map_get(&prebuilts->by_address, address_of(object)) != ADDRESS_MAP_NONE;
}
/* Removes all, before the heap is freed. */
void crd_prebuilts_fini(crd_tables *tables);
/* For the verifier: NULL, or what is wrong. *at: at which address; 0: at none. */
const char *crd_prebuilts_check(const crd_tables *tables, uintptr_t *at);

#endif
