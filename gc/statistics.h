/* What the statistics count as it happens, besides the counters in heap->stats. */
#ifndef CRADLE_GC_STATISTICS_H
#define CRADLE_GC_STATISTICS_H

#include <cradle/base.h>

/* Called when much may be in use: notes a new peak. */
void crd_statistics_used(cradle_heap *heap);
/* When a major collection is over. */
void crd_statistics_major(cradle_heap *heap);

/* One row of a heap's table of size classes: a class of small objects. */
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
