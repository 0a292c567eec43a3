/* Finalizers, destructors and external sizes: what happens when objects die, and what they cost outside the heap.
 * docs/order-of-death.md has the order of all of it.
 *
 * Finalizers give dead objects back to the VM. cradle_type.finalizer gives the objects of a type a finalizer, and
 * cradle_finalizer_register gives one to a single object. Both name a queue. When nothing leads to such an object any
 * more, the collector puts it into its queue, alive, with everything that it leads to. The VM takes it out with
 * cradle_finalizer_next and does what it likes: allocate, longjmp, make the object reachable again. Each registration
 * gives the object back once; register it again to see it die again.
 *   Order: all objects that one collection finds dead appear in their queues at once. In a queue, an object comes
 *   before those that it leads to, else in the order of registration. The key of an ephemeron leads to its value if the
 *   object that holds the pair is alive or comes back, too. Use several queues for priorities. Nothing runs by itself:
 *   drain the queues where your VM's state allows it, such as at safepoints.
 *   Cost: 8 bytes for each object, and a look at it in each major collection and in its first minor collection.
 *   When the heap is freed, these objects do not come back; call cradle_finalizer_queue_all before that.
 *
 * Destructors (cradle_type.destructor) free what a dead object owns outside the heap: a malloc'ed buffer, a FILE. They
 * run within collections, after all finalizers' objects are queued, in no particular order, and for all objects that
 * are left when the heap is freed. A destructor is a callback (cradle/base.h). It may read and write its object's own
 * raw words and nothing else of the heap, because the objects that it refers to may be gone.
 *   Cost: 8 bytes for each object, and the call.
 *
 * External sizes (cradle_type.external_size) say what live objects own outside the heap, so that major collections come
 * soon enough. The collector asks for the size of each object when it becomes old, and again in each major collection.
 * Report a buffer of a young object with cradle_external_pressure; otherwise many large buffers pile up before the
 * nursery is full. The sum of these sizes, and the sum of the reports, each count as 1 EiB at most.
 *
 * No function here collects unless it says so.
 */
#ifndef CRADLE_FINALIZER_H
#define CRADLE_FINALIZER_H

#include <cradle/mutator.h>

CRADLE_BEGIN_DECLS

/* Queues are numbered from 1. */
#define CRADLE_FINALIZER_QUEUES 7

/* Lets any object come back in a queue when it dies, whatever its type's descriptor says. An object that is registered
 * several times comes back as many times. false: memory ran out. */
CRADLE_API bool cradle_finalizer_register(cradle_mutator *mutator, void *object, uint32_t queue);
/* Takes the next object out of a queue and returns it; NULL: the queue is empty. */
CRADLE_API void *cradle_finalizer_next(cradle_mutator *mutator, uint32_t queue);
/* For the end of a program: does a major collection, which queues the dead objects as always, and then puts all other
 * registered objects into their queues, the last registered first. Weak slots keep referring to those others. */
CRADLE_API void cradle_finalizer_queue_all(cradle_mutator *mutator) CRADLE_MAY_COLLECT;

/* Reports bytes that were allocated outside the heap for young objects with an external size. They make the next minor
 * collection come earlier; it sets the count back to zero. */
CRADLE_API void cradle_external_pressure(cradle_mutator *mutator, size_t bytes);

CRADLE_END_DECLS

#endif
