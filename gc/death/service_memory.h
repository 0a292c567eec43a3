/* The memory of the services' stacks: room is made before a collection needs it, and given back when it was much.
 *
 * Each stack has its own address space, all of them the same (list_bytes), and grows in place.
 */
#ifndef CRADLE_GC_DEATH_SERVICE_MEMORY_H
#define CRADLE_GC_DEATH_SERVICE_MEMORY_H

#include "gc/death/registry.h"

/* How far the end of a major collection has come with giving back stacks. */
typedef struct crd_trim {
  size_t stacks; /* so many stacks are done */
  size_t bytes;  /* of the next one */
} crd_trim;

/* Makes room for so many words above the top. false: memory was refused. */
bool crd_services_room(crd_services *services, crd_word_stack *stack, size_t words);
/* Makes room to list so many objects more; for finalizers, also in every queue and list to which they may go
 * [services.3]. */
bool crd_services_list_room(crd_services *services, int kind, size_t needed);
/* First memory for the stacks of reach and the watch table. If it is refused, only the order of finalizers is lost,
 * and the next call asks again. */
void crd_services_reach_room(crd_services *services);

/* The major collection is over and its stacks are empty. Gives their memory, and that of the minor collections'
 * stacks, back to the system. true: all of it. */
bool crd_services_trim(crd_death *death, crd_pace *pace);
/* Drops the pages of stacks that hold nothing now, while no collection is under way. */
void crd_services_discard(crd_services *services);
/* Bytes committed for services: stacks and weak sets. */
size_t crd_services_committed(crd_services *services);
void crd_services_free_stacks(crd_services *services);

#endif
