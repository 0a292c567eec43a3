/* What the statistics count as it happens, besides the counters in heap->stats. */
#ifndef CRADLE_GC_STATISTICS_H
#define CRADLE_GC_STATISTICS_H

#include <cradle/base.h>

/* Called when much may be in use: notes a new peak. */
void crd_statistics_used(cradle_heap *heap);
/* When a major collection is over. */
void crd_statistics_major(cradle_heap *heap);

#endif
