/* The registry: the lists of objects with services. Objects are registered when they are allocated; the next minor
 * collection distributes those that survive, and those that may bring others back, to the list of each kind of
 * service that their type has. gc/death/services.h says what is true of them.
 */
#ifndef CRADLE_GC_DEATH_REGISTRY_H
#define CRADLE_GC_DEATH_REGISTRY_H

#include "gc/base/word_stack.h"
#include "gc/death_calls.h"

struct crd_death;

/* Makes what the services share, if there is none yet. false: memory was refused. */
bool crd_registry_open(cradle_heap *heap);
/* Makes room to register one more object, also after a collection. kinds: lists that are needed beside those of the
 * heap's types. false: memory was refused. */
bool crd_registry_make_room(cradle_heap *heap, unsigned kinds);
/* The next registration asks for room: there will be a type whose lists are not there. */
void crd_registry_close(cradle_heap *heap);
/* The objects registered since the last minor collection; empty: none. */
crd_word_stack crd_registry_fresh(const cradle_heap *heap);
/* Of a heap that collects nothing, before its mutator goes: moves all that was registered to its lists. */
void crd_registry_list_fresh(cradle_heap *heap);
/* Runs the destructors that are left, and frees everything. */
void crd_registry_fini(cradle_heap *heap);

/* --- in a minor collection --- */

/* What is not in the lists, since it dies unless something comes back. */
typedef struct crd_unlisted {
  const cradle_word *from, *end; /* of fresh */
  unsigned kinds;                /* the lists that they would be in */
} crd_unlisted;

/* Moves newly registered objects to their lists. Unreached ones that cannot resurrect anything stay behind;
 * crd_registry_distribute_rest moves them if something was resurrected. */
void crd_registry_distribute(struct crd_death *death);
void crd_registry_distribute_rest(struct crd_death *death);
/* The lists are what they will be: how much may be registered until the next minor collection. */
void crd_registry_allow(cradle_heap *heap);

/* --- for compaction, the verifier and walks: every word that leads to an object without keeping it alive as slots do
 * --- */

/* Every entry of lists and queues and every word of weak sets, while no major collection runs: calls visit with a word
 * that is exactly the address, and takes it back. */
void crd_registry_each_word(cradle_heap *heap, crd_slot_function visit, void *context);
/* Every weak slot, key and ephemeron value of an object that has the weak flag. */
void crd_registry_each_slot(cradle_heap *heap, cradle_word *object, crd_slot_function visit, void *context);
/* The value of every pair of an object, whether its header has its flags or not. */
void crd_registry_each_value(cradle_heap *heap, cradle_word *object, crd_slot_function visit, void *context);
/* Every object that the VM may take out of a queue, by its word there. queue: its number, from 1. */
void crd_registry_each_waiting(cradle_heap *heap, void (*visit)(void *context, uint32_t queue, cradle_word *word),
                               void *context);
/* NULL, or what is wrong with the lists, and at what address. */
const char *crd_registry_check(const cradle_heap *heap, uintptr_t *at);

#endif
