/* Prebuilt objects: static data of the program that are objects, with a header, and may refer into the heap.
 *
 *   static pair empty_list = {.header = T_PAIR};
 *   cradle_prebuilt_add(heap, &empty_list);
 *
 * A prebuilt object is used like any other: stored into with the barrier, referred to from anywhere, asked for its
 * hash. It neither moves nor dies. The header is the type id, the memory is writable and aligned to 8 bytes. After its
 * registration it costs collections nothing until the program stores into it; from then on each minor collection after
 * a store looks at it, and it is a root of major collections.
 *
 * An object is registered with one heap at a time; when the heap is freed, all are removed. Nothing here collects.
 */
#ifndef CRADLE_PREBUILT_H
#define CRADLE_PREBUILT_H

#include <cradle/mutator.h>

CRADLE_BEGIN_DECLS

/* Registers the object. Its slots may refer into the heap already, by plain stores: with CRADLE_CHECKED, cradle_store
 * of such a reference is refused before. Registered twice, memory of the heap itself, a
 * header that is more than a type id of the heap, and a type with weak slots, ephemerons, a finalizer, a destructor or
 * an external size are misuse. When memory runs out the out-of-memory handler is called, or false returned by the try
 * variant. */
CRADLE_API void cradle_prebuilt_add(cradle_heap *heap, void *object);
CRADLE_API CRADLE_RESULT_MATTERS bool cradle_try_prebuilt_add(cradle_heap *heap, void *object);
/* Ends the registration: the object is plain memory again, its header is the type id, and slots that led into the heap
 * are zero. Neither the heap's objects nor roots may refer to it any more as to an object. What is not registered, or
 * still pinned, is misuse. */
CRADLE_API void cradle_prebuilt_remove(cradle_heap *heap, void *object);

CRADLE_END_DECLS

#endif
