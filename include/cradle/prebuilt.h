/* Prebuilt objects: static data of the program that have a header and are used as objects. They may refer into the
 * heap.
 *
 *   static pair empty_list = {.header = T_PAIR};
 *   cradle_prebuilt_add(heap, &empty_list);
 *
 * Use a prebuilt object like any other: store into it with the barrier, refer to it from anywhere, ask for its hash. It
 * neither moves nor dies. Its header must be the type id, and its memory must be writable and aligned to 8 bytes. It
 * costs collections nothing until the program stores into it. From then on it is a root of major collections, and each
 * minor collection after a store looks at it.
 *
 * An object is registered with one heap at a time. Freeing the heap removes all its prebuilt objects. Nothing here
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
