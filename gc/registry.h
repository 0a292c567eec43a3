/* The registry: the lists of objects with services, as the rest of the collector sees them; gc/services.h is for the modules
 * that implement the services.
 */
#ifndef CRADLE_GC_REGISTRY_H
#define CRADLE_GC_REGISTRY_H

#include "gc/check.h"
#include "gc/word_stack.h"

/* The lists. A type's registers field has bit k set when its objects are in list k. */
enum { REGISTERED_WEAK, REGISTERED_EPHEMERON, REGISTERED_FINALIZER, REGISTERED_DESTRUCTOR, REGISTERED_KINDS };

/* The lists whose objects have the weak flag. */
#define REGISTERED_WEAKLY (1u << REGISTERED_WEAK | 1u << REGISTERED_EPHEMERON)

/* The lists whose objects, dead themselves, may bring others back. */
#define REGISTERED_REVIVING (1u << REGISTERED_EPHEMERON | 1u << REGISTERED_FINALIZER)

struct crd_services;
struct crd_budget;

/* Makes what the services share, if there is none yet. false: memory was refused. */
bool crd_registry_open(cradle_heap *heap);
/* Makes room to register one more object, also after a collection. kinds: lists that are needed beside those of the heap's
 * types. false: memory was refused. */
bool crd_registry_make_room(cradle_heap *heap, unsigned kinds);
/* The next registration asks for room: there will be a type whose lists are not there. */
void crd_registry_close(cradle_heap *heap);
/* The objects registered since the last minor collection; empty: none. */
crd_word_stack crd_registry_fresh(const cradle_heap *heap);
bool crd_registry_has_sets(const cradle_heap *heap);
/* Drops the pages of services' stacks that hold nothing now, while no collection is under way. */
void crd_registry_discard(cradle_heap *heap);
/* What services take: stacks and weak sets. */
size_t crd_registry_committed(const cradle_heap *heap);
/* Runs the destructors that are left, and frees everything. */
void crd_registry_fini(cradle_heap *heap);

/* --- the order of death (gc/death.c); none of it is called for heaps without services --- */

/* In a minor collection, when all that roots lead to is promoted. The objects that were remembered: [stored, end), or all old
 * ones. */
void crd_death_minor(cradle_heap *heap, void *context, const cradle_word *stored, const cradle_word *end, bool all_old);
/* When it is over. */
void crd_death_minor_ended(cradle_heap *heap);
/* A major collection starts to mark: marks the objects that wait in queues. */
void crd_death_mark_queues(cradle_heap *heap);
/* Its mark stack is empty: looks for ephemerons whose values must be marked. false: there are none left, marking is over. */
bool crd_death_mark_more(cradle_heap *heap, uint64_t *bytes);
/* While watching: an object with the weak or the watched flag is traced. */
void crd_death_traced(cradle_heap *heap, cradle_word *object);
/* Marking is over. clear: goes on with clearing; true when it is done. */
void crd_death_begin(cradle_heap *heap);
/* Whether readers of weak slots must ask for the mark. */
bool crd_death_guards(const cradle_heap *heap);
bool crd_death_clear(cradle_heap *heap, const struct crd_budget *budget);

/* --- for compaction, the verifier and walks: every word that leads to an object without keeping it alive as slots do --- */

/* Every entry of lists and queues, while no major collection runs: calls visit with a word that is exactly the address, and
 * takes it back. */
void crd_registry_each(cradle_heap *heap, void (*visit)(void *context, cradle_word *word), void *context);
/* Every weak slot, key and ephemeron value of an object that has the weak flag. */
void crd_registry_each_slot(cradle_heap *heap, cradle_word *object, void (*visit)(void *context, bool value, cradle_word *slot),
                            void *context);
/* The value of every pair of an object, whether its header has its flags or not. */
void crd_registry_each_value(cradle_heap *heap, cradle_word *object, void (*visit)(void *context, bool value, cradle_word *slot),
                             void *context);
/* Every object that waits in a queue, by its word there. queue: its number, from 1. */
void crd_registry_each_waiting(cradle_heap *heap, void (*visit)(void *context, uint32_t queue, cradle_word *word),
                               void *context);
/* Every word of weak sets. */
void crd_registry_each_set(cradle_heap *heap, void (*visit)(void *context, bool value, cradle_word *slot), void *context);
/* Whether the header of an old object says now where gc/reach.c has it, and not its flags. */
bool crd_registry_is_open(const cradle_heap *heap, const cradle_word *object);
/* NULL, or what is wrong with the lists, and at what address. */
const char *crd_registry_check(const cradle_heap *heap, uintptr_t *at);

#endif
