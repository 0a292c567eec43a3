/* The minor collection: what is reachable in the nursery is promoted, and everything else in it is gone.
 *
 * Each young object that roots, recorded slots and remembered objects (gc/young/remember.h) refer to is copied into a
 * span of the old generation, and so is everything that it leads to (gc/young/promote.h). Large young objects, outside
 * the nursery, become old where they are if they are reached; the others are freed at the end. While a major collection
 * marks, each old object that is met is marked on the way; beside a round of the second core, when the round is over.
 * Marking needs to know nothing else of what the mutator did [heap.6].
 *
 * Nothing here can fail, because [heap.2] holds memory ready. What died costs nothing.
 *
 *   [minor.1] Large young objects that were reached and are still to be traced are linked through their pages, whose
 *             state is PAGE_LARGE_REACHED.
 *   [minor.2] At the end this list and that of the copies to be traced (gc/young/promote.h), the remembered set and the
 *             recorded slots are empty.
 */
#ifndef CRADLE_GC_YOUNG_MINOR_H
#define CRADLE_GC_YOUNG_MINOR_H

#include "gc/death_calls.h"

/* A worker of one, with nothing to do yet. */
void crd_minor_begin(crd_minor *minor, crd_young *young);
/* Runs one; the state is HEAP_COLLECTING. Fills event->u.minor, except for its times. */
void crd_minor_run(crd_young *young, cradle_event *event);
/* For the order of death, which runs within one: promotes an object that was not promoted yet. The caller looks at its
 * slots. */
cradle_word *crd_minor_reach(crd_minor *minor, uintptr_t address);
/* Looks at a slot as tracing does. */
void crd_minor_visit(crd_minor *minor, bool value, cradle_word *slot);
/* Traces what the two functions above left on the lists. */
void crd_minor_trace(crd_minor *minor);
/* Promotes what the recorded slots and the remembered objects refer to, in pieces that nobody else has claimed. */
void crd_minor_pieces(crd_minor *minor);
/* Handles a reference that leads beyond the nursery: its object may be a young large one, or is to be marked if its
 * holder is live. */
CRADLE_COLD void crd_minor_beyond(crd_minor *minor, uintptr_t address, bool live);

#endif
