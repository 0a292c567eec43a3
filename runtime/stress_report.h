/* What the user of a stress mode sees on standard error: that a run proved nothing and, on a terminal, that a long run
 * goes on. */
#ifndef CRADLE_RUNTIME_STRESS_REPORT_H
#define CRADLE_RUNTIME_STRESS_REPORT_H

#include <cradle/event.h>

typedef struct crd_stress_report crd_stress_report;

/* NULL, reported, when memory runs out. Every event is passed on to next. */
crd_stress_report *crd_stress_report_new(cradle_listener next);
/* Frees the report with CRADLE_EVENT_HEAP_DESTROYED; before, it is its maker's to free. */
cradle_listener crd_stress_report_listener(crd_stress_report *report);
void crd_stress_report_hand_over(crd_stress_report *report);
void crd_stress_report_free(crd_stress_report *report);

#endif
