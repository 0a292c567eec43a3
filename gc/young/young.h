/* What minor collections work on: the parts of the heap that they need. What the barrier recorded for them is its
 * mutator's (gc/young/local.h). */
#ifndef CRADLE_GC_YOUNG_YOUNG_H
#define CRADLE_GC_YOUNG_YOUNG_H

#include "gc/instruments/quarantine.h"
#include "gc/instruments/sample.h"
#include "gc/instruments/stress.h"
#include "gc/young/adapt.h"
#include "gc/young/team.h"

struct crd_young {
  crd_space *space;
  crd_roots *roots;
  crd_tables *tables;
  crd_marking *marking;
  crd_stress *stress;
  crd_sampling *sampling;
  crd_quarantine *quarantine;
  bool remember_all; /* a set could not grow: the next minor collection looks at every old object */
  crd_team team;
  crd_adapt adapt;
};

#endif
