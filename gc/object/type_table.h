/* The type table: the embedder's descriptors. Each is checked once, when it is added, and what the collector asks often
 * is computed then: an allocation or a collection only indexes the table.
 *
 *   [type.1] Every entry was checked when it was added: slots lie inside the size, the items' layout is possible.
 *   [type.2] With the plain encoding, value slots are folded into reference slots, so that the collector has one kind.
 *            The same in items that are structures.
 *   [type.3] Entries never change, go or move: the table grows in place, and other threads may read it meanwhile. An
 *            entry is complete before the count says that it is there.
 *   [type.4] The size class of a small fixed-size type holds its objects.
 *   [type.5] An item that is a structure has a slot, is whole words long, and its slots lie inside it.
 */
#ifndef CRADLE_GC_OBJECT_TYPE_TABLE_H
#define CRADLE_GC_OBJECT_TYPE_TABLE_H

#include "gc/base/bits.h"
#include "gc/base/word_stack.h"
#include "gc/object/header.h"

/* The lists of objects with services (gc/death/registry.h). */
enum { REGISTERED_WEAK, REGISTERED_EPHEMERON, REGISTERED_FINALIZER, REGISTERED_DESTRUCTOR, REGISTERED_KINDS };
/* The lists whose old objects have the weak flag. */
#define REGISTERED_WEAKLY (1u << REGISTERED_WEAK | 1u << REGISTERED_EPHEMERON)
/* The lists whose objects may bring others back although they are dead themselves. */
#define REGISTERED_REVIVING (1u << REGISTERED_EPHEMERON | 1u << REGISTERED_FINALIZER)

/* Above this size, stores into arrays with no slots but their items are recorded slot by slot. */
#define SLOTS_MIN_BYTES ((size_t)LIMIT(1024, 64))

/* The first half is what allocation and tracing need of every object, in one line of the cache. */
typedef struct crd_type {
  uint64_t references, values; /* bitmaps of words */
  uint64_t sole;               /* the slots, if all of them are fixed ones and of one sort; else 0 */
  uint32_t size;               /* bytes of the fixed part, a multiple of 8 for fixed-size types */
  uint32_t item_size;
  uint32_t length_offset;
  uint32_t class_bytes; /* bytes of the size class of a small fixed-size type; 0 for other types */
  uint8_t size_class;   /* that size class */
  uint8_t items;        /* cradle_items */
  uint8_t has_slots;    /* anything to trace */
  uint8_t registers;    /* bit k: objects are registered in list k */
  uint8_t queue;        /* the queue of its finalizer; 0: it has none */
  uint8_t sole_values;  /* the sort of the slots in sole is values */
  uint8_t folded;       /* [type.2]: some reference slots were declared as values, so they may hold tagged words */
  uint8_t recording;    /* RECORDING_...: how stores into its large old arrays are remembered */
  cradle_trace_function trace;
  void *user; /* options.user, for trace */
  /* The slots of an item, if items are slots or structures [type.5]. */
  uint64_t item_references, item_values; /* bitmaps of its words */
  uint32_t item_words;                   /* its length */
  uint8_t item_alike;                    /* what every word is, CRADLE_ITEMS_REFERENCES or _VALUES; or another number */
  /* What only the services and messages need. Tracing takes weak items for bytes. */
  uint8_t weak_items;        /* CRADLE_ITEMS_WEAK, CRADLE_ITEMS_EPHEMERONS, or NONE */
  bool weak_values;          /* weak slots and pairs hold values in the encoding */
  uint64_t weak, ephemerons; /* bitmaps of words */
  cradle_destructor_function destructor;
  cradle_external_size_function external_size;
  const char *name;
} crd_type;

_Static_assert(offsetof(crd_type, item_references) == 64 && sizeof(crd_type) == 128,
               "two lines, so that an index is a shift");

/* For the addresses of the most types that there can be. */
#define TYPES_MAX_BYTES (CRADLE_TYPE_ID_END * sizeof(crd_type))

/* What an image must put in order in the objects of a type (cradle_type.symbols, cradle_type.mend). */
typedef struct crd_mended {
  uint32_t type;
  uint64_t symbols; /* a bitmap of words */
  cradle_mend_function mend;
} crd_mended;

typedef struct crd_type_table {
  crd_type *types;    /* the memory of room */
  uint32_t count;     /* atomic [type.3] */
  unsigned registers; /* the registers fields of all types together */
  crd_mended *mended; /* the few types that have something for images, by rising numbers */
  uint32_t mended_count, mended_capacity;
  crd_word_stack room; /* the owner's, who makes and ends it; its top is not used */
} crd_type_table;

/* Whether a row of a table of types is empty, all zero except for padding: its number is not used. */
bool crd_type_is_unused(const cradle_type *type);
/* NULL if the descriptor is sound; otherwise what is wrong with it, beginning with the field. */
const char *crd_type_fault(const cradle_type *type);
/* Begins the next entry, of a sound descriptor, or of an unused row, whose size stays 0. The caller completes it with
 * user and size class, and publishes it. NULL: memory or ids ran out. */
crd_type *crd_type_table_add(crd_type_table *table, const cradle_type *type, bool plain_encoding);
/* Publishes the entry that was begun. */
static inline void type_table_publish(crd_type_table *table) {
  __atomic_store_n(&table->count, table->count + 1, __ATOMIC_RELEASE);
}
/* Whether a number is that of a type, which may be an unused one. The number may be any. */
static inline bool type_table_has(const crd_type_table *table, uint64_t type) {
  return type < __atomic_load_n(&table->count, __ATOMIC_ACQUIRE);
}
/* NULL: the type has nothing for images. */
const crd_mended *crd_type_mended(const crd_type_table *table, uint32_t type);
/* NULL: the type has no name, or there is no such type. */
static inline const char *type_table_name(const crd_type_table *table, uint32_t type) {
  return type_table_has(table, type) ? table->types[type].name : NULL;
}

/* Bytes of a variable-size object with length items, rounded to 8; 0 if they overflow. */
static inline size_t type_array_bytes(const crd_type *type, uint64_t length) {
  size_t items, bytes;
  if (__builtin_mul_overflow(length, type->item_size, &items) ||
      __builtin_add_overflow(items, type->size + 7u, &bytes) || bytes > (SIZE_MAX >> 1))
    return 0;
  bytes = align_down(bytes, 8);
  return bytes < CRADLE_OBJECT_MIN_BYTES ? CRADLE_OBJECT_MIN_BYTES : bytes;
}

static inline uint64_t type_length(const crd_type *type, const cradle_word *object) {
  ASSERT(type->items != CRADLE_ITEMS_NONE, "the length of what has no items");
  return *object_at(address_of(object) + type->length_offset);
}

/* The first item of an object whose items are slots or structures. The part before them is whole words long. */
static inline cradle_word *type_items(const crd_type *type, const cradle_word *object) {
  ASSERT(type->items >= CRADLE_ITEMS_REFERENCES, "the items of what has no slots as items");
  return object_at(address_of(object) + type->size);
}

static inline size_t type_object_bytes(const crd_type *type, const cradle_word *object) {
  return type->items == CRADLE_ITEMS_NONE ? type->size : type_array_bytes(type, type_length(type, object));
}

/* What a word among the items of an object is: CRADLE_ITEMS_REFERENCES, CRADLE_ITEMS_VALUES, or CRADLE_ITEMS_BYTES. */
cradle_items crd_type_item_word(const crd_type *type, const cradle_word *object, const cradle_word *word);
/* How many slots the items of an object have together. */
uint64_t crd_type_item_slot_count(const crd_type *type, const cradle_word *object);

/* The flags that an object of so many bytes gets when it becomes old. */
static inline uint64_t type_old_flags(const crd_type *type, size_t bytes) {
  return HEADER_BARRIER_FLAG | (bytes <= SLOTS_MIN_BYTES ? 0 : header_recording(type->recording));
}

#endif
