/* Destructors and external sizes: objects that own something outside the heap.
 *
 * Objects of both kinds are in one list. It is looked at last in the order of death, when it is certain what is dead.
 */
#ifndef CRADLE_GC_DEATH_DESTRUCTOR_H
#define CRADLE_GC_DEATH_DESTRUCTOR_H

#include "gc/death/registry.h"

/* What objects own outside the heap, as external-size callbacks and cradle_external_pressure say. bytes and
 * pressure_bytes are counted in marking->external_bytes. */
typedef struct crd_owned {
  uint64_t bytes;           /* of old objects */
  uint64_t recounted_bytes; /* of those that the pass under way has looked at; becomes bytes when it ends */
  uint64_t pressure_bytes;  /* reported since the last minor collection */
} crd_owned;

/* Calls the destructors of the dead, and adds the sizes of the others: in a minor collection, and for an entry in a
 * pass of a major one, whose sum counts when the pass has ended. */
void crd_destructors_minor(crd_death *death);
crd_verdict crd_destructors_entry(crd_death *death, cradle_word *entry);
void crd_destructors_end(crd_services *services);
/* When the heap is freed: runs the destructors of all objects that are left. */
void crd_destructors_fini(crd_services *services);

/* How much of marking->external_bytes the services count. */
uint64_t crd_destructors_owned_bytes(const crd_services *services);

#endif
