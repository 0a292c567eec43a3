/* The census: how many live objects there are of each type, and what they take of the old generation. It is taken only
 * if the program asks for it (cradle_options.report_types), by the sweep of a major collection: that visits each span
 * once, knows which objects marking has reached, and keeps to the deadline of its increment. Without a census an object
 * that lives is not touched by the sweep.
 *
 *   [census.1] A sweep counts each object that marking has reached, once, under the type in its header. Objects of
 *              sealed spans are not counted, because they are not swept (gc/old/sealed.h).
 *   [census.2] Types that are registered later have no entry: their objects are born when marking is over, and no span
 *              that waits to be swept has any.
 */
#ifndef CRADLE_GC_OLD_CENSUS_H
#define CRADLE_GC_OLD_CENSUS_H

#include "gc/base/check.h"

#include <stdlib.h>

typedef struct crd_type_count {
  uint64_t objects, bytes; /* atomic: several threads may sweep */
} crd_type_count;

typedef struct crd_census {
  crd_type_count *of; /* by type; NULL: nothing is counted */
  uint32_t types;
} crd_census;

static inline bool census_is_taken(const crd_census *census) {
  return CRADLE_UNLIKELY(census->of != NULL);
}
/* Ends what an earlier sweep has counted. */
static inline void census_end(crd_census *census) {
  free(census->of);
  census->of = NULL;
}
/* false: memory was refused, and nothing will be counted. */
static inline bool census_begin(crd_census *census, uint32_t types) {
  census_end(census);
  census->types = types;
  census->of = calloc(types + 1, sizeof *census->of);
  return census->of != NULL;
}
static inline void census_add(const crd_census *census, uint32_t type, uint64_t objects, uint64_t bytes) {
  ASSERT(type < census->types, "[census.2] an object that is swept has a type that was registered later");
  __atomic_fetch_add(&census->of[type].objects, objects, __ATOMIC_RELAXED);
  __atomic_fetch_add(&census->of[type].bytes, bytes, __ATOMIC_RELAXED);
}

#endif
