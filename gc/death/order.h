/* The order of death, in both collections; docs/order-of-death.md says what it means for programs. None of it is called
 * for heaps without services.
 *
 *   [order.1] Between collections a stage is under way only while heap->major.phase is MAJOR_CLEARING.
 *   [order.2] The guard of weak slots is up from the end of marking until the last dead key is cleared.
 */
#ifndef CRADLE_GC_DEATH_ORDER_H
#define CRADLE_GC_DEATH_ORDER_H

#include "gc/death_calls.h"

/* What the clearing of a major collection does, one stage after the other. The numbers are the steps of
 * docs/order-of-death.md; marking has done steps 1 and 2. */
typedef enum crd_stage {
  STAGE_WEAK,        /* 3: weak slots */
  STAGE_SETS,        /* 3: weak sets */
  STAGE_FIND,        /* 4: dead objects with finalizers are found */
  STAGE_REACH,       /* 4: they are reached, with all that they lead to */
  STAGE_QUEUE,       /* 5 as it begins: what ephemerons keep then is reached; 4: they are queued */
  STAGE_EPHEMERONS,  /* 6: dead keys */
  STAGE_HOLDERS,     /* the dead leave the list of weak slots */
  STAGE_DESTRUCTORS, /* 7 */
  STAGE_TRIM,        /* stacks are given back */
  STAGE_NONE
} crd_stage;

/* What the collections call, for heap->death. */
const crd_death_calls *crd_order_calls(void);
/* Whether readers of weak slots must ask for the mark [order.2]. */
bool crd_death_guards(const cradle_heap *heap);

#endif
