/* Prebuilt objects: static data of the program that have a header and are used as objects (docs/prebuilt.md).
 *
 *   static pair empty_list = {.header = T_PAIR};
 *   cradle_prebuilt_add(heap, &empty_list);
 *
 * A prebuilt object neither moves nor dies; in all else it is used like any other. Its header must be the type id, its
 * memory writable and aligned to 8 bytes. It is registered with one heap at a time, whose end removes it. Nothing here
 * collects.
 */
#ifndef CRADLE_PREBUILT_H
#define CRADLE_PREBUILT_H

#include <cradle/mutator.h>

CRADLE_BEGIN_DECLS

/* Registers the object. Its slots may refer into the heap already; fill them with plain stores, because before the
 * registration CRADLE_CHECKED refuses cradle_store. It is misuse if the object is registered already or lies in the
 * heap's own memory, if its header is not exactly a type id of the heap, or if its type has weak slots, ephemerons, a
 * finalizer, a destructor or an external size. false: memory ran out. */
CRADLE_API bool cradle_prebuilt_add(cradle_heap *heap, void *object);
/* Ends the registration: the object is plain memory again, its header is the type id, and slots that led into the heap
 * are zero. Objects of the heap and roots must no longer refer to it. It is misuse if the object is not registered or
 * still pinned. */
CRADLE_API void cradle_prebuilt_remove(cradle_heap *heap, void *object);

CRADLE_END_DECLS

#endif
