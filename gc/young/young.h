/* What minor collections work on: the parts of the heap that they need, and what the barrier recorded for them. */
#ifndef CRADLE_GC_YOUNG_YOUNG_H
#define CRADLE_GC_YOUNG_YOUNG_H

#include "gc/instruments/quarantine.h"
#include "gc/instruments/sample.h"
#include "gc/instruments/stress.h"
#include "gc/old/marking.h"
#include "gc/young/remember.h"

struct crd_young {
  crd_space *space;
  crd_roots *roots;
  crd_tables *tables;
  crd_marking *marking;
  crd_stress *stress;
  crd_sampling *sampling;
  crd_quarantine *quarantine;
  crd_word_stack remembered;
  crd_word_stack recorded; /* slots of large arrays that were stored into, as slot entries (gc/object/value.h) */
  bool remember_all;       /* the set could not grow: the next minor collection looks at every old object */
  int pending_request;     /* a safepoint request of another thread, atomic */
  crd_adapt adapt;
  uintptr_t spared[SPARED_OBJECTS];          /* see SPARED_TIMES */
  crd_record_budget budgets[RECORD_BUDGETS]; /* slots that arrays without their own page may record; some share one */
};

#endif
