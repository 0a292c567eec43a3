/* The memory of the services' stacks: room that is had before a collection needs it, and what is given back.
 *
 * Each stack has address space of its own, as much for each (list_bytes), and grows in place.
 */
#ifndef CRADLE_GC_DEATH_SERVICE_MEMORY_H
#define CRADLE_GC_DEATH_SERVICE_MEMORY_H

#include "gc/death/list.h"

struct crd_services;

/* How far the giving back of stacks is at the end of a major collection. */
typedef struct crd_trim {
  size_t stacks; /* so many are done */
  size_t bytes;  /* of the next one */
} crd_trim;

/* Room above the top for so many words. false: memory was refused. */
bool crd_services_room(const cradle_heap *heap, crd_word_stack *stack, size_t words);
/* Room to list so many objects more; of finalizers, wherever they may go from there [services.3]. */
bool crd_services_list_room(cradle_heap *heap, int kind, size_t needed);
/* First memory for the stacks of reach and the watch table. They may stay without: order is lost then, nothing else.
 * What was refused is asked for again. */
void crd_services_reach_room(cradle_heap *heap, crd_death *death);

/* Forgets what the major collection knew, whose stacks are empty, and gives their memory back to the system, and that
 * of minor collections' stacks. true: all of it. */
bool crd_services_trim(crd_death *death, crd_pace *pace);
/* Drops the pages of stacks that hold nothing now, while no collection is under way. */
void crd_services_discard(cradle_heap *heap);
/* What services take: stacks and weak sets. */
size_t crd_services_committed(const cradle_heap *heap);
void crd_services_free_stacks(struct crd_services *services);

#endif
