/* Who refers to an object, and what the roots among them are called: "shadow stack, word 3", "global root 0". */
#ifndef CRADLE_GC_INSTRUMENTS_REFERRERS_H
#define CRADLE_GC_INSTRUMENTS_REFERRERS_H

#include "gc/instruments/walk.h"
#include "gc/root_stack.h"

/* The name of roots that have no name of their own. */
const char *crd_holder_name(cradle_holder holder);

/* Finds out which root a slot is. A walk reports only the slot's address. But it reports the roots in the order of
 * visit_roots: of each root stack the shadow stack, the scoped roots from the innermost, and its ranges; then the other
 * root ranges, the global roots, and those of the root callback. So each is looked for behind the last one, and not
 * from the beginning. Handles, pins, prebuilt objects and finalizer queues are not among these; for them the walker
 * itself says which root it reports. */
typedef struct crd_root_names {
  const cradle_heap *heap;
  const crd_walker *walker;
  int ring;
  const cradle_root_stack *stack;  /* in that ring, the one that is being reported; NULL: none any more */
  const cradle_word *scope;        /* its scoped roots below this have not been reported yet */
  uint32_t ranges;                 /* how many ranges of root stacks were passed so far */
  uint64_t scopes, global, others; /* how many scoped roots of it, global and other roots were passed so far */
} crd_root_names;
crd_root_names crd_root_names_begin(const cradle_heap *heap, const crd_walker *walker);
/* Names the root that the referrer's slot is: fills in holder, name, index and, for a prebuilt object, object. *range:
 * the number of its root range; 0 for other roots. */
void crd_root_name(crd_root_names *names, cradle_referrer *referrer, uint32_t *range);

#endif
