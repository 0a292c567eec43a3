/* Walking spans, small and large, in the order of their addresses, and the objects in them.
 *
 * A walk may stop between two spans and go on later: spans that were opened meanwhile are met or not, those that were
 * there are met once. With the allocators retired each allocation bit is an object [span.2]. A visitor that allocates
 * must look at old_is_unfilled: the walk may come to a span that an allocator has got since.
 */
#ifndef CRADLE_GC_OLD_SPAN_WALK_H
#define CRADLE_GC_OLD_SPAN_WALK_H

#include "gc/old/span.h"

/* The first page of the first span at or after page, or PAGE_NONE. */
uint32_t crd_old_next_span(const crd_old *old, uint32_t page);
/* Calls visit for the objects of a span, or of all spans: the live ones as far as is known, or those with a mark bit.
 * The allocators must be retired when the walk begins. */
typedef void (*crd_object_function)(void *context, cradle_word *object);
void crd_old_each_in(const crd_old *old, uint32_t page, bool marked_only, crd_object_function visit, void *context);
void crd_old_each(const crd_old *old, bool marked_only, crd_object_function visit, void *context);

#endif
