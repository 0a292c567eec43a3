/* What the user of stress, quarantine and the verifier sees on standard error: how many collections took place if they
 * were not all, that a run proved nothing, that pages could not be protected or the heap not be verified whole and, on
 * a terminal, that a long run goes on. */
#ifndef CRADLE_RUNTIME_STRESS_REPORT_H
#define CRADLE_RUNTIME_STRESS_REPORT_H

#include <cradle/event.h>

typedef struct crd_stress_report crd_stress_report;

/* Makes a report. Every event is passed on to next. is_wanted: a run whose collections all took place says so, too.
 * NULL: memory ran out, which was reported. */
crd_stress_report *crd_stress_report_new(cradle_listener next, bool is_wanted);
/* The listener to set in the heap's options. After crd_stress_report_hand_over it frees the report with
 * CRADLE_EVENT_HEAP_DESTROYED; before, its maker must free it. */
cradle_listener crd_stress_report_listener(crd_stress_report *report);
void crd_stress_report_hand_over(crd_stress_report *report);
void crd_stress_report_free(crd_stress_report *report);

#endif
