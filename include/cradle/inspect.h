/* Looking into the heap: every live object, who refers to one, what lies at an address, and a dump for
 * tools/cradle-heap.
 *
 * Nothing here collects or moves an object, so the pointers that a debugger or a VM's own memory tool holds stay valid.
 * Before a walk, the same must hold as before a collection: roots are rooted, and every slot of an object is written. A
 * walk reports live objects:
 *
 *   live    the young objects that a minor collection would keep now, and the old ones that are not known to be dead
 *   dead    old objects that the running major collection did not reach, from the end of its marking on
 *
 * Weak slots are not reported as references. The value of an ephemeron is reported as a reference of its holder,
 * whatever its key. An object that a finalizer brings back is dead until everything that it leads to is back; then its
 * queue is a root. Prebuilt objects are roots, not objects of the heap, and references to them are not reported.
 *
 * Old objects that died since the last marking count as live until the next marking. After a collection of the kind
 * CRADLE_COLLECT_FULL there are no such objects. Young objects are found by following references. (The nursery has
 * holes where reservations were not filled, which hold the headers of earlier objects.) So objects that only a C
 * variable, or only a finalizer, would keep are not found.
 *
 * The callbacks must not use the heap: allocation, stores and calls about this heap are refused or undefined, except
 * cradle_describe_address and cradle_type_of.
 */
#ifndef CRADLE_INSPECT_H
#define CRADLE_INSPECT_H

#include <cradle/heap.h>

CRADLE_BEGIN_DECLS

typedef struct cradle_object_info {
  void *object;
  const char *type_name; /* NULL: the type has none */
  uint64_t bytes;        /* as its type and length say */
  uint64_t place_bytes;  /* what it takes: the size class or the pages; of young objects, bytes */
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

/* Calls function once for every live object: the old ones in the order of their addresses, then the young ones. Costs a
 * look at each old object's header, and while the nursery is not empty at all slots; needs a bit for each word of the
 * nursery, and a word for each young object that waits. Does not collect. */
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
  CRADLE_HOLDER_PREBUILT,        /* a slot of a prebuilt object */
  CRADLE_HOLDER_FINALIZER_QUEUE, /* the object waits in it */
} cradle_holder;
/* The slot lies outside of its object: a trace callback reported it. */
#define CRADLE_INDEX_OUTSIDE UINT64_MAX

typedef struct cradle_referrer {
  cradle_holder holder;
  cradle_kind kind;          /* what the slot holds; CRADLE_KIND_REFERENCE for values of the plain encoding, too */
  cradle_object_info object; /* the holder, if it is an object or a prebuilt one */
  /* a root range's name; a scoped root's, "list (reader.c:12)", where the program was compiled with CRADLE_CHECKED;
   * else the kind of holder in words */
  const char *name;
  /* of an object and a prebuilt one, the word of the slot (1: the first after the header) or CRADLE_INDEX_OUTSIDE; of
   * the shadow stack and a range, the word from its base; of the scoped roots, 0 for the innermost; of the global
   * roots, their order; of handles, the low half of the handle; of pins, their order; of finalizer queues, the queue;
   * of others, the order in which they were reported */
  uint64_t index;
  const void *slot; /* its address */
} cradle_referrer;

/* false ends the walk. */
typedef bool (*cradle_referrer_function)(void *data, const cradle_referrer *referrer);

/* Calls function for every slot of a root or of a live object that refers to object, roots first. An object that holds
 * it twice is reported twice. Costs a look at every root and every slot of the heap. Does not collect. */
CRADLE_API cradle_walk_result cradle_referrers(cradle_heap *heap, const void *object, cradle_referrer_function function,
                                               void *data);

/* --- what lies at an address --- */

typedef enum cradle_address_kind {
  CRADLE_ADDRESS_OUTSIDE = 0, /* not in this heap */
  CRADLE_ADDRESS_OBJECT,      /* where an old object starts */
  CRADLE_ADDRESS_INTERIOR,    /* inside one */
  CRADLE_ADDRESS_DEAD,        /* in an old object that is known to be dead and not swept yet */
  CRADLE_ADDRESS_FREE,        /* in the old generation, where no object is */
  /* in its filled part: an object, alive or dead, or a hole; cradle_heap_walk tells which live */
  CRADLE_ADDRESS_NURSERY,
  CRADLE_ADDRESS_NURSERY_FREE, /* in the part that is not filled */
} cradle_address_kind;
typedef struct cradle_address_info {
  cradle_address_kind kind;
  cradle_object_info object; /* of the kinds OBJECT, INTERIOR and DEAD */
  uint64_t offset;           /* of the address in it, bytes */
} cradle_address_info;

/* Fills *info, of which size is the sizeof: what lies at an address, in constant time, but for a look at an entry for
 * each page of a large object before the address. It changes nothing and may be called at any moment, in callbacks and
 * from a signal handler of the heap's thread too (in the middle of a collection the answer may be the one before or
 * after). Does not collect. */
CRADLE_API void cradle_describe_address(const cradle_heap *heap, const void *address, cradle_address_info *info,
                                        size_t size);

/* --- names in messages --- */

/* Copies length bytes of text to out in a form that may go to a terminal or into a line of a log: '?' stands for each
 * byte of a control character and for each byte that begins no UTF-8 character. A text that does not fit ends with
 * "...". room: the bytes at out, at least 5, with the terminating zero. out may be text itself. Returns the length of
 * what is in out. Neither allocates nor locks. */
CRADLE_API size_t cradle_show_text(char *out, size_t room, const char *text, size_t length);

/* --- dump --- */

/* Writes bytes to where the dump goes; false: it cannot, and the dump ends. */
typedef bool (*cradle_write_function)(void *data, const void *bytes, size_t count);

/* Writes every live object with its type and size, every reference from one to another and from the roots, but no other
 * contents. The form is in docs/heap-dump.md; about 16 bytes an object and 4 a reference. tools/cradle-heap reads it.
 * Costs a look at all slots and 1 MiB of memory. false: writing failed or memory was refused; error says which. Does
 * not collect. */
CRADLE_API bool cradle_heap_dump_to(cradle_heap *heap, cradle_write_function write, void *data, cradle_error *error);
/* The same to a file, which is written as PATH.partial.PROCESS.NUMBER. When it is complete, it gets its name and the
 * permissions of the file that it replaces; of several at once, the last to be complete stays. Symbolic links are
 * followed, and what is there and no regular file (a pipe, a device) is written in place. A process that is killed
 * meanwhile leaves the partial file behind. error names path. */
CRADLE_API bool cradle_heap_dump(cradle_heap *heap, const char *path, cradle_error *error);

CRADLE_END_DECLS

#endif
