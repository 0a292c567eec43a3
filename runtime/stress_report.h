/* What the user of stress, quarantine and the verifier sees on standard error: how many collections took place if they
 * were not all, that a run proved nothing, and that pages could not be protected or the heap not be verified whole. */
#ifndef CRADLE_RUNTIME_STRESS_REPORT_H
#define CRADLE_RUNTIME_STRESS_REPORT_H

#include "runtime/chain.h"

/* Adds a report to the listeners of the options. is_wanted: a run whose collections all took place says so, too. NULL:
 * memory ran out, which was reported. */
crd_link *crd_stress_report_open(cradle_options *options, bool is_wanted);

#endif
