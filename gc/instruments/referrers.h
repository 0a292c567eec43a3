/* The names of roots, for the slots that a walk tells: "shadow stack, word 3", "global root 0". */
#ifndef CRADLE_GC_INSTRUMENTS_REFERRERS_H
#define CRADLE_GC_INSTRUMENTS_REFERRERS_H

#include "gc/instruments/walk.h"

/* Tells which root a slot is, for slots in the order of a walk: visit_roots comes to the shadow stack, the scoped roots
 * from the innermost, the root ranges, the global roots, and then to the root callback's. So each is looked for behind
 * the last. Of the others the walker says which they are. */
typedef struct crd_root_names {
  const cradle_heap *heap;
  const crd_walker *walker;
  const cradle_word *scope; /* the scoped roots that are still expected end here; NULL: there is no mutator */
  uint64_t scopes, global, others;
} crd_root_names;
crd_root_names crd_root_names_begin(const cradle_heap *heap, const crd_walker *walker);
/* Fills holder, name, index and perhaps object of the referrer whose slot is a root. range: the number of its root
 * range, else 0. */
void crd_root_name(crd_root_names *names, cradle_referrer *referrer, uint32_t *range);

#endif
