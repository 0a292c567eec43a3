/* The regions of a heap, read from its structures: what look_regions_of reads from the kernel takes longer than a
 * fuzzed run. */
#ifndef TESTS_LOOK_REGIONS_H
#define TESTS_LOOK_REGIONS_H

#include "tests/support/look_alikes.h"

look_regions look_regions_inside(const cradle_heap *heap, const cradle_mutator *m);

#endif
