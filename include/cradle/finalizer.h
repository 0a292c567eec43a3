/* Finalizers, destructors and external sizes: what happens when objects die, and what they cost outside the heap.
 *
 * Finalizers give dead objects back to the VM. An object with one (cradle_type.finalizer names its queue, or
 * cradle_finalizer_register gives it one) that nothing leads to any more is put into its queue, with all that it leads
 * to, alive, and comes out of cradle_finalizer_next. What the VM does with it then is its own affair: it may allocate,
 * longjmp, or make the object reachable again. Each registration gives the object back once; register it again to see
 * it die again.
 *   Order: the objects that one collection finds dead appear at once, in all queues together, also where the
 *   collection runs in increments. Each is before those that it leads to in the same queue. Those that lead to each
 *   other are in the order of registration, and so are all of them where none leads to another. Several queues are
 *   priorities: drain first what matters. Nothing runs by itself: drain the queues where your VM's state allows it,
 *   such as at safepoints. Cost: nothing while such objects live but 8 bytes and a look in each major collection (and
 *   the first minor one). Objects that come back live until a later collection. When the heap is freed they do not come
 *   back; cradle_finalizer_queue_all before that lets a VM run them all.
 *
 * Destructors (cradle_type.destructor) free what a dead object owns outside the heap: a malloc'ed buffer, a FILE. They
 * run within collections, for young objects at their first minor collection, and for all that are left when the heap is
 * freed. A destructor may read and write the object's own raw words and nothing else of the heap: the objects it refers
 * to may be gone. It must not longjmp, and must not call this library about this heap. What would change the heap is
 * refused with a message, but for what is inline and asks nobody: the barrier's test of a flag (cradle/barrier.h), an
 * initialising store, a push on the shadow stack. cradle_new_fast finds no room and returns NULL. What only reads gives
 * an answer: statistics, memory reports, cradle_describe_address. The object's memory is gone after it.
 *   Order: after all finalizers' objects are queued, in no particular order. An object that a finalizer brought back is
 *   alive. Cost: 8 bytes, and the call.
 *
 * External sizes (cradle_type.external_size) tell the pacing of major collections what live objects own outside the
 * heap: it asks each when it becomes old, and again in each major collection. Young objects are not asked; report what
 * was just allocated for one with cradle_external_pressure, or many large buffers pile up before the nursery is full.
 * Each of the two sums counts as 1 EiB at most, whatever a callback says.
 *
 * No function here collects unless it says so.
 */
#ifndef CRADLE_FINALIZER_H
#define CRADLE_FINALIZER_H

#include <cradle/mutator.h>

CRADLE_BEGIN_DECLS

/* Queues are numbered from 1. */
#define CRADLE_FINALIZER_QUEUES 7

/* Lets any object come back in a queue when it dies; the type's descriptor need not know. The same object may be
 * registered more than once and comes back as often. When memory for the registration runs out the out-of-memory
 * handler is called, or false returned by the try variant. */
CRADLE_API void cradle_finalizer_register(cradle_mutator *mutator, void *object, uint32_t queue);
CRADLE_API CRADLE_RESULT_MATTERS bool cradle_try_finalizer_register(cradle_mutator *mutator, void *object,
                                                                    uint32_t queue);
/* Takes the next object out of a queue, or NULL. */
CRADLE_API void *cradle_finalizer_next(cradle_mutator *mutator, uint32_t queue);
/* How many objects wait in a queue. */
CRADLE_API size_t cradle_finalizer_waiting(cradle_mutator *mutator, uint32_t queue);
/* Does a major collection, which queues what is dead as ever, and then puts all other registered objects into their
 * queues, the last registered first: for the end of a program. The weak slots of those keep them. */
CRADLE_API void cradle_finalizer_queue_all(cradle_mutator *mutator) CRADLE_MAY_COLLECT;

/* Reports bytes that were allocated outside the heap for young objects with an external size: the next minor collection,
 * which forgets them, comes earlier. */
CRADLE_API void cradle_external_pressure(cradle_mutator *mutator, size_t bytes);

CRADLE_END_DECLS

#endif
