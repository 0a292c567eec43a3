/* Looking into the heap: every live object, who refers to an object, what lies at an address, and a dump for
 * tools/cradle-heap (docs/inspecting.md).
 *
 * Nothing here collects or moves an object, so the pointers that a debugger or a VM's own memory tool holds stay valid.
 * Prepare for a walk as for a collection: root your references, and write every slot of each object. The functions that
 * a walk calls are callbacks (cradle/base.h). A walk reports live objects: young ones that a minor collection would
 * keep now, and old ones that are not known to be dead.
 *
 * - Old objects that died since the last marking count as live; after CRADLE_COLLECT_FULL there are none.
 * - Young objects are found by following references. One to which only a C variable or a finalizer leads is not found.
 * - Weak slots are no references. The value of an ephemeron is a reference of its holder, whatever its key.
 * - An object that a finalizer brings back is dead until everything that it leads to is brought back, too. From then on
 *   its queue keeps it, as a root.
 */
#ifndef CRADLE_INSPECT_H
#define CRADLE_INSPECT_H

#include <cradle/heap.h>

CRADLE_BEGIN_DECLS

typedef struct cradle_object_info {
  void *object;
  const char *type_name; /* NULL: the type has none */
  uint64_t bytes;        /* as its type and length say */
  uint64_t place_bytes;  /* the memory it takes: its size class or its pages; of a young object, the same as bytes */
  uint32_t type;
  bool is_young;
  bool is_large; /* has pages of its own */
} cradle_object_info;

typedef enum cradle_walk_result {
  CRADLE_WALK_COMPLETE = 0,
  CRADLE_WALK_STOPPED,   /* the callback said so */
  CRADLE_WALK_NO_MEMORY, /* memory for the walk was refused; not all was visited */
} cradle_walk_result;

/* --- every object --- */

/* false ends the walk. */
typedef bool (*cradle_walk_function)(void *data, const cradle_object_info *object);

/* Calls function once for every live object: the old objects in the order of their addresses, then the young objects.
 * Costs a look at each old object's header and, unless the nursery is empty, at all slots. Needs memory: a bit for each
 * word of the nursery, and a word for each young object that waits to be visited. Does not collect. */
CRADLE_API cradle_walk_result cradle_heap_walk(cradle_heap *heap, cradle_walk_function function, void *data);

/* --- who refers to an object --- */

typedef enum cradle_holder {
  CRADLE_HOLDER_OBJECT = 0,
  CRADLE_HOLDER_SHADOW_STACK,
  CRADLE_HOLDER_SCOPED_ROOT,
  CRADLE_HOLDER_ROOT_RANGE,
  CRADLE_HOLDER_GLOBAL_ROOT,
  CRADLE_HOLDER_OTHER_ROOT, /* reported by the root callback */
  CRADLE_HOLDER_HANDLE,
  CRADLE_HOLDER_PIN,
  CRADLE_HOLDER_FINALIZER_QUEUE, /* the object waits in it */
} cradle_holder;
/* The slot lies outside of its object: a trace callback reported it. */
#define CRADLE_INDEX_OUTSIDE UINT64_MAX

typedef struct cradle_referrer {
  cradle_holder holder;
  cradle_kind kind;          /* what the slot holds; with the plain encoding, CRADLE_KIND_REFERENCE for values too */
  cradle_object_info object; /* the holder, if it is an object */
  /* the name of a root range; the name of a scoped root, such as "list (reader.c:12)", if the program was compiled with
   * CRADLE_CHECKED; else the kind of holder in words */
  const char *name;
  /* where the slot is in its holder. Object: the word of the slot (1: the first after the header) or
   * CRADLE_INDEX_OUTSIDE; shadow stack and root range: the word, counted from the base; scoped root: 0 for the
   * innermost; global root and pin: its position in the heap's table of them; handle: the low half of its number;
   * finalizer queue: the queue's number; other roots: the order in which they were reported */
  uint64_t index;
  const void *slot; /* its address */
} cradle_referrer;

/* false ends the walk. */
typedef bool (*cradle_referrer_function)(void *data, const cradle_referrer *referrer);

/* Calls function for every slot that refers to object, in roots first, then in live objects. A holder with two such
 * slots is reported twice. Costs a look at every root and every slot of the heap. Does not collect. */
CRADLE_API cradle_walk_result cradle_referrers(cradle_heap *heap, const void *object, cradle_referrer_function function,
                                               void *data);

/* --- what lies at an address --- */

typedef enum cradle_address_kind {
  CRADLE_ADDRESS_OUTSIDE = 0, /* not in this heap */
  CRADLE_ADDRESS_OBJECT,      /* where an old object starts */
  CRADLE_ADDRESS_INTERIOR,    /* inside one */
  CRADLE_ADDRESS_DEAD,        /* in an old object that is known to be dead and not swept yet */
  CRADLE_ADDRESS_FREE,        /* in the old generation, where no object is */
  /* in its filled part: an object, alive or dead, or a hole; cradle_heap_walk says which are alive */
  CRADLE_ADDRESS_NURSERY,
  CRADLE_ADDRESS_NURSERY_FREE, /* in the part that is not filled */
} cradle_address_kind;
typedef struct cradle_address_info {
  cradle_address_kind kind;
  cradle_object_info object; /* of the kinds OBJECT, INTERIOR and DEAD */
  uint64_t offset;           /* of the address in it, bytes */
  /* what is wrong with an address that a program used by mistake; empty: nothing is known. The heap knows the address
   * of an object that a minor collection moved or that died in it, as long as its page is in quarantine
   * (options.quarantine); an address of the old generation where there is no memory, usually because it was given back;
   * and poison that was read and taken for a reference */
  char text[256];
  uint64_t collection; /* the minor collection that the text is about; 0: none */
} cradle_address_info;

/* Says in *info what lies at an address. size: sizeof *info. Takes constant time, except inside a large object, where
 * it looks at an entry for each page before the address. It changes nothing and may be called at any moment, also in
 * callbacks and from a signal handler of the heap's thread. In the middle of a collection the answer may describe the
 * time before or after it. Does not collect. */
CRADLE_API void cradle_describe_address(const cradle_heap *heap, const void *address, cradle_address_info *info,
                                        size_t size);

/* --- dump --- */

/* Writes to a file every live object with its type and size, and every reference to an object from another or from a
 * root. Other contents are not written. The form is in docs/heap-dump.md; about 16 bytes an object and 4 a reference.
 * tools/cradle-heap reads it. Costs a look at all slots and 1 MiB of memory. false: writing failed, memory was refused,
 * or the heap spans more than 32 GiB; error says which, and names path. Does not collect.
 *
 * The dump is written in place of what the file held; a pipe or a device is written as it is. If the call fails, what
 * it has written stays, without an end, which readers report. */
CRADLE_API bool cradle_heap_dump(cradle_heap *heap, const char *path, cradle_error *error);

CRADLE_END_DECLS

#endif
