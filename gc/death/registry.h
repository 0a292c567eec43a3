/* The registry: the lists of objects with services (gc/death/services.h).
 *
 * An object is registered when it is allocated: its address goes to the end of one list for all kinds, fresh, which
 * takes one store. The next minor collection moves those that survive, and those that may bring others back, to the
 * list of each kind of service that their type has. An object with only weak slots or a destructor that dies young is
 * never moved.
 */
#ifndef CRADLE_GC_DEATH_REGISTRY_H
#define CRADLE_GC_DEATH_REGISTRY_H

#include "gc/base/word_stack.h"
#include "gc/death_calls.h"

struct crd_death;

/* Makes the structure that the services share, if the heap has none yet. NULL: memory was refused. */
crd_services *crd_registry_open(const crd_mutator *mutator);
/* Makes room to register one more object, even if a collection comes first. kinds: lists that are needed besides
 * those of the heap's types. false: memory was refused. */
bool crd_registry_make_room(crd_mutator *mutator, unsigned kinds);
/* Makes the next registration ask for room, because a new type may need lists that do not exist yet. */
void crd_registry_close(const crd_space *space);
/* The objects registered since the last minor collection, as a stack, which is empty if there are none. */
crd_word_stack crd_registry_fresh(const crd_services *services);
/* For a heap that collects nothing, before its mutator goes: moves everything that was registered to its lists. */
void crd_registry_list_fresh(crd_services *services);
/* Runs the destructors of all objects that are left, and frees everything. */
void crd_registry_fini(crd_space *space);

/* --- in a minor collection --- */

/* Registered objects that are not in the lists, because they die unless something brings them back. */
typedef struct crd_unlisted {
  const cradle_word *from, *end; /* a part of fresh */
  unsigned kinds;                /* the lists in which they would be */
} crd_unlisted;

/* Moves newly registered objects to their lists. Unreached ones that cannot resurrect anything stay behind;
 * crd_registry_distribute_rest moves them if something was resurrected. */
void crd_registry_distribute(struct crd_death *death);
void crd_registry_distribute_rest(struct crd_death *death);
/* Sets how much may be registered until the next minor collection; the lists are complete. */
void crd_registry_allow(crd_services *services);

/* --- for compaction, the verifier and walks: every word that leads to an object without keeping it alive as slots do
 * --- */

/* Every entry of lists and queues and every word of weak sets, while no major collection runs. visit gets each as a
 * word that is exactly the address, and may change it. */
void crd_registry_each_word(crd_services *services, crd_slot_function visit, void *context);
/* Every weak slot, key and ephemeron value of an object that has the weak flag. */
void crd_registry_each_slot(const crd_space *space, cradle_word *object, crd_slot_function visit, void *context);
/* Every object that waits in a queue and that the VM may take out. visit gets its word in the queue. queue: its
 * number, from 1. */
void crd_registry_each_waiting(crd_services *services, void (*visit)(void *context, uint32_t queue, cradle_word *word),
                               void *context);
/* NULL, or what is wrong with the lists, and at what address. */
const char *crd_registry_check(const crd_services *services, uintptr_t *at);

#endif
