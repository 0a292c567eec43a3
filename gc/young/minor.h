/* The minor collection: what is reachable in the nursery is promoted, everything else in it is gone.
 *
 * Roots and the remembered set are scanned; each young object that they reach is copied into a span of the old
 * generation, and the copies are traced until none is left. Large objects allocated since the last collection do not
 * move: those that are reached become old where they are, the others are freed at the end.
 *
 * While a major collection marks, the old objects that roots, remembered objects, recorded slots and survivors refer to
 * are marked on the way. That is all that marking needs to know of what the mutator did [heap.6].
 *
 * Nothing here can fail: [heap.2] holds the memory ready. The cost is survivors + remembered objects + roots.
 *
 *   [minor.1] Large young objects that were reached and are still to be traced are linked through their pages, whose
 *             state is PAGE_LARGE_REACHED.
 *   [minor.2] At the end this list and that of the copies to be traced (gc/young/promote.h), the remembered set and the
 *             recorded slots are empty.
 */
#ifndef CRADLE_GC_YOUNG_MINOR_H
#define CRADLE_GC_YOUNG_MINOR_H

#include <cradle/event.h>

#include "gc/death_calls.h"

/* Its own work; fills event->u.minor but for times. */
void crd_minor_run(cradle_heap *heap, cradle_event *event);
/* For the order of death within it. */
/* Promotes an object that has not been; its slots are the caller's to look at. */
cradle_word *crd_minor_reach(crd_minor *minor, uintptr_t address);
/* Looks at a slot as tracing does. */
void crd_minor_visit(crd_minor *minor, bool value, cradle_word *slot);
/* Traces what that left. */
void crd_minor_trace(crd_minor *minor);

#endif
