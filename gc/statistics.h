/* Events that take their figures from the statistics. */
#ifndef CRADLE_GC_STATISTICS_H
#define CRADLE_GC_STATISTICS_H

#include <cradle/base.h>

/* Reports how many arenas were taken and given back since the last such event, if any were. measured: reports even
 * if none were, and also what the kernel gave, which takes about 0.1 ms a GiB to ask. */
void crd_statistics_arenas(cradle_heap *heap, bool measured);
void crd_statistics_spans(cradle_heap *heap);
/* If live objects were counted by type, sends the counts, after a major collection. */
void crd_statistics_types(cradle_heap *heap);

/* A class of small objects. */
typedef struct crd_span_info {
  uint32_t object_bytes; /* largest object of the class */
  uint32_t span_bytes, span_objects;
  uint64_t spans;
  uint64_t used_bytes;   /* in objects; dead ones count until they are swept */
  uint64_t memory_bytes; /* of the spans */
} crd_span_info;
/* Fills up to count rows, the smallest class first, and returns how many classes there are. */
size_t crd_heap_spans(const cradle_heap *heap, crd_span_info *rows, size_t count);

#endif
