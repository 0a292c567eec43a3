/* A recount of the old generation's spans, bits and lists, for the verifier and for tests. It checks [span.2] to
 * [span.6], [large.1], [large.2], and also the arenas and the closed runs. */
#ifndef CRADLE_GC_OLD_SPAN_CHECK_H
#define CRADLE_GC_OLD_SPAN_CHECK_H

#include "gc/old/span.h"

/* NULL, or what is wrong. */
const char *crd_old_check(const crd_old *old);

#endif
