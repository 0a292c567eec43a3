/* Objects: the header word, type descriptors, and the encoding of values.
 *
 * An object is a run of 8-byte words. Its first word is the header. The low 32 bits of the header are the type id: an
 * index into the heap's type table, usually a constant of an enum of the embedder's. The high 32 bits are flags of the
 * collector.
 *   [object.1] Sizes are multiples of 8, at least CRADLE_OBJECT_MIN_BYTES; allocation rounds up.
 *   [object.2] A new object's flags are zero, so that allocation stores one constant; only CRADLE_PINNED sets some.
 *              While the object is young, only its identity hash and the flag for an id can be added
 *              (cradle/identity.h). So a test for a type must compare the low half of the header, not the whole header.
 *   [object.3] The barrier flag is set exactly on old objects that are not remembered.
 *   [object.4] The all-zero word is never a reference.
 */
#ifndef CRADLE_OBJECT_H
#define CRADLE_OBJECT_H

#include <cradle/base.h>

/* Addresses and sizes of objects are multiples of the alignment. Sizes are at least the minimum. */
#define CRADLE_OBJECT_ALIGNMENT 8
#define CRADLE_OBJECT_MIN_BYTES 16
/* The largest object that is allocated in the nursery, and the largest reservation, whatever the nursery's size. The
 * slow path allocates larger objects in the old generation. */
#define CRADLE_NURSERY_OBJECT_MAX_BYTES ((size_t)32 << 10)
/* Type ids are below this bound. */
#define CRADLE_TYPE_ID_END (1u << 20)

/* For generated code: the byte of an object that holds the barrier flag, and the flag's mask in that byte. After a
 * store into an object with (byte & mask) != 0, call cradle_write_barrier_slow. */
#define CRADLE_BARRIER_OFFSET 4
#define CRADLE_BARRIER_MASK 0x01

CRADLE_BEGIN_DECLS

/* The header's type id. object must be a live object. */
CRADLE_INLINE uint32_t cradle_type_of(const void *object) {
  return CRADLE_HEADER_(cradle_half_word, object);
}

/* What the items of a variable-size object are. */
typedef enum cradle_items {
  CRADLE_ITEMS_NONE = 0,   /* a fixed-size object */
  CRADLE_ITEMS_BYTES,      /* raw data that the collector does not look into */
  CRADLE_ITEMS_REFERENCES, /* 8-byte plain references */
  CRADLE_ITEMS_VALUES,     /* 8-byte values in the heap's encoding */
  CRADLE_ITEMS_STRUCTURES, /* structures whose slots item_references and item_values name */
  CRADLE_ITEMS_WEAK,       /* 8-byte weak slots */
  CRADLE_ITEMS_EPHEMERONS, /* 16-byte pairs of a key and a value */
} cradle_items;

/* Reports the slots of an object that no declaration covers, such as those in a malloc'ed buffer that the object owns,
 * with cradle_visit, and the same slots each time for unchanged contents. This and the next two are callbacks
 * (cradle/base.h); user is options.user. */
typedef void (*cradle_trace_function)(void *user, void *object, cradle_visitor *visitor);

/* Frees what a dead object owns outside the heap; see cradle/finalizer.h. */
typedef void (*cradle_destructor_function)(void *user, void *object);
/* Bytes that a live object owns outside the heap; see cradle/finalizer.h. */
typedef size_t (*cradle_external_size_function)(void *user, const void *object);

/* Puts in order an object that was loaded from an image (cradle/image.h): sets the words that are no slots and no
 * symbols, such as the address of a buffer. A callback; it may read what the object's slots refer to, which may not be
 * mended yet. */
typedef void (*cradle_mend_function)(void *user, void *object);

/* A type descriptor. In each field zero means "none of it". A row of options.types that is all zero is an unused id;
 * allocating it is misuse. The collector copies the descriptor; the name must stay valid as long as the heap. */
typedef struct cradle_type {
  const char *name;    /* for logs and messages; NULL prints as "type N" */
  size_t size;         /* bytes of a fixed-size object, or of the part before the items; header included */
  uint64_t references; /* bit i: word i of the object is a slot with a plain reference; bit 0 is the header */
  uint64_t values;     /* bit i: word i is a slot with a value in the heap's encoding */
  cradle_items items;  /* what follows the fixed part */
  /* bytes of an item; 8 for references, values and weak slots, 16 for ephemerons, a multiple of 8 for structures */
  uint32_t item_size;
  /* the byte offset, in the fixed part, of the number of items, a uint64_t; the program may make that number smaller,
   * never larger */
  uint32_t length_offset;
  /* For items that are structures. Words of an item in neither bitmap are raw data; only the first 64 words of an item
   * can be slots. CRADLE_SLOT gives the bits: items have no header, so bit 0 is a field like any other. */
  uint64_t item_references;    /* bit i: word i of each item is a slot with a plain reference */
  uint64_t item_values;        /* bit i: word i of each item is a slot with a value */
  cradle_trace_function trace; /* for slots that the fields above cannot describe, visited in addition to them */

  /* Objects of a type with any of these, or with weak or ephemeron items, come from CRADLE_NEW_WITH and its kin. */
  uint64_t weak;       /* bit i: word i is a weak slot; see cradle/weak.h */
  uint64_t ephemerons; /* bit i: words i and i + 1 are an ephemeron's key and value */
  bool weak_values;    /* weak slots, keys and ephemeron values are in the heap's encoding; else plain references */
  /* 1 to CRADLE_FINALIZER_QUEUES: dead objects come back in this queue; see cradle/finalizer.h */
  uint32_t finalizer;
  cradle_destructor_function destructor;
  cradle_external_size_function external_size;

  /* For images. Bit i: word i is no slot, and 0 or the address of a symbol (cradle_image_symbol). Only the words before
   * the items can be symbols. */
  uint64_t symbols;
  cradle_mend_function mend;
} cradle_type;

/* The bit of a field in the bitmaps of a cradle_type. structure: the object's, or an item's for the bitmaps of
 * items. */
#define CRADLE_SLOT(structure, field) (UINT64_C(1) << (offsetof(structure, field) / 8))

/* A word in the heap's encoding: a reference or an immediate. A VM with its own 8-byte type for values converts it to
 * this type where it calls the library; slots may have either type. */
typedef uint64_t cradle_value;

/* An encoding: how a word holds either a reference or an immediate. A value v holds a reference if
 *     (v & pairs[i].mask) == pairs[i].pattern  for some i < pair_count, and
 *     bit (v & 7) of tag_set is set, and (v & payload_mask) != 0;
 * The object is at v & payload_mask; when the object moves, the other bits stay. payload_mask has bits 3 to 46 set. It
 * has no bit in common with any mask, and none of the three low bits unless tag_set is 0x01. With the default encoding,
 * plain references, the payload is the whole word, and there are no immediates: a slot holds a reference or 0. */
#define CRADLE_ENCODING_PAIRS_MAX 4
typedef struct cradle_encoding {
  struct {
    uint64_t mask, pattern;
  } pairs[CRADLE_ENCODING_PAIRS_MAX];
  uint32_t pair_count;
  uint8_t tag_set;
  uint64_t payload_mask;
} cradle_encoding;

/* An encoding with one pair: references are the words with (v & mask) == pattern whose low three bits are a tag of
 * tag_set (bit t of tag_set: tag t); the address is in the other bits. Low-bit tags: mask and pattern are 0.
 * NaN-boxing: tag_set is 1 << 0. */
CRADLE_API cradle_encoding cradle_encoding_of(uint64_t mask, uint64_t pattern, uint8_t tag_set);

/* What a root or slot holds. */
typedef enum cradle_kind {
  CRADLE_KIND_REFERENCE = 0, /* plain references or NULL */
  CRADLE_KIND_VALUE,         /* values in the heap's encoding */
} cradle_kind;

/* Visiting: a trace callback or root callback reports its slots with this. slot may be anywhere, aligned to 8 bytes;
 * the collector may rewrite it even after the callback has returned. The slot must stay in place until the collection
 * ends; never report a local variable. A slot that is NULL or not aligned is misuse, which the default handler reports.
 * Does not collect. */
CRADLE_API void cradle_visit(cradle_visitor *visitor, void *slot, cradle_kind kind);

CRADLE_END_DECLS

#endif
