/* What the major collection works on, and how far it has come. */
#ifndef CRADLE_GC_OLD_MARKING_H
#define CRADLE_GC_OLD_MARKING_H

#include "gc/old/compact.h"
#include "gc/old/curve.h"
#include "gc/old/major.h"
#include "gc/old/marker.h"
#include "gc/old/pacing.h"
#include "gc/old/rest.h"
#include "gc/space.h"

struct crd_marking {
  crd_space *space;
  crd_old *old; /* of the space */
  crd_roots *roots;
  crd_tables *tables;
  crd_word_stack mark_stack;
  crd_major major;
  crd_marker marker;
  crd_pacing pacing;
  crd_compaction_wait compaction;
  crd_rest rest;
  crd_curve curve;
  uint64_t external_bytes; /* cradle_external_memory + external sizes + pressure; each <= COUNTED_MAX_BYTES */
};

static inline bool marking_goes_on(const crd_marking *marking) {
  return marking->major.phase == MAJOR_MARKING;
}
/* Has the object at an address marked: marking may not look again where the reference to it is. */
static inline void marking_shade(crd_marking *marking, uintptr_t address) {
  if (CRADLE_UNLIKELY(marking_goes_on(marking))) crd_marker_shade(marking, address);
}
/* Whether marking goes on, and the object at an address, which may lie anywhere, is not marked. */
static inline bool marking_lacks(const crd_marking *marking, uintptr_t address) {
  return marking_goes_on(marking) && arenas_know(&marking->old->arenas, address) &&
         !old_is_marked(marking->old, address);
}
/* Whether the object at an address of the old generation is known to be dead: marking is over and did not reach it. */
static inline bool marking_knows_dead(const crd_marking *marking, uintptr_t address) {
  const crd_old *old = marking->old;
  const crd_page *page = old_span_of(old, address);
  if (page->state == PAGE_LARGE_YOUNG || page->state == PAGE_LARGE_REACHED) return false;
  return (marking->major.phase == MAJOR_CLEARING || old_is_unswept(old, page)) && !old_is_marked(old, address);
}

/* Whether others than the mutator may mark and sweep in a pause. */
static inline bool marking_may_lead(const crd_marking *marking) {
  return CRADLE_UNLIKELY(marking->marker.thread != NULL || marking->space->standing != 0);
}

#endif
