/* Prebuilt objects: which memory of the program's are objects.
 *
 *   [prebuilt.1] A prebuilt object that was ever stored into since its registration, or referred into the heap then, is
 *                among the written; the others refer to no object of the heap.
 *   [prebuilt.2] Its barrier flag is set exactly when it is not remembered, as an old object's is.
 *   [prebuilt.3] While marking, what the written ones below marked_at refer to is marked, or they were remembered
 *                since.
 */
#ifndef CRADLE_GC_TABLES_PREBUILT_H
#define CRADLE_GC_TABLES_PREBUILT_H

#include <cradle/prebuilt.h>

#include "gc/base/address.h"
#include "gc/base/address_map.h"

typedef struct crd_prebuilt {
  cradle_word *object;
  size_t bytes; /* when it was registered; its memory may end there */
} crd_prebuilt;

typedef struct crd_prebuilts {
  crd_address_map by_address; /* index in of */
  crd_prebuilt *of;           /* the written ones first */
  uint32_t count, written, capacity;
  uint32_t marked_at; /* of the written: where marking goes on */
} crd_prebuilts;

/* A prebuilt object is remembered: from now on it is among the written. */
void crd_prebuilt_written(cradle_heap *heap, cradle_word *object);
static inline bool prebuilt_is(const crd_prebuilts *prebuilts, const void *object) {
  return crd_address_map_get(&prebuilts->by_address, address_of(object)) != ADDRESS_MAP_NONE;
}
/* Removes all: the heap goes. */
void crd_prebuilts_fini(cradle_heap *heap);
/* What is wrong, for the verifier, or NULL. *at: with what address, 0 if with none. */
const char *crd_prebuilts_check(const cradle_heap *heap, uintptr_t *at);

#endif
