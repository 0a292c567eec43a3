/* The file of a heap image: tables that say where objects are and what they need, and the contents of the arenas.
 *
 *     header | parts, each a table, 8-byte aligned | zeros | arenas, as far as they have pages | checksum of the arenas
 *     0                                                    objects_at: a multiple of IMAGE_ALIGNMENT
 *
 * The base is the address of the first arena in the heap that was saved. A place is a number of bytes from the base.
 * Words of objects are as they were in that heap. So nothing is changed at all if an image is mapped where it was
 * saved, by a program whose types have the same numbers and whose symbols lie where they did.
 *
 *   [image.1] A place, a count, a number or a name of the file is checked before it is used.
 *   [image.2] The parts follow each other without a gap, in the order of image_part; the file ends with its checksum.
 *   [image.3] Spans, arenas, and the objects of each list are in the order of their addresses. Where an object has
 *             several fixes, mend comes first.
 *   [image.4] Free places, free pages and the ends of large objects are zero in the file: it has no data of dead
 *             objects.
 */
#ifndef CRADLE_GC_IMAGE_FORMAT_H
#define CRADLE_GC_IMAGE_FORMAT_H

#include <cradle/image.h>

#include "gc/heap.h"

#define IMAGE_MAGIC "CRADLEIM"
#define IMAGE_VERSION 1
#define IMAGE_ORDER UINT64_C(0x0102030405060708)
/* No system has larger base pages, so that every system can map the arenas. */
#define IMAGE_ALIGNMENT ((size_t)64 << 10)
#define IMAGE_STEP_PAGES ((uint32_t)(IMAGE_ALIGNMENT >> PAGE_SHIFT))
#define IMAGE_NOWHERE UINT64_MAX
#define IMAGE_NUMBER_NONE UINT32_MAX

typedef enum image_part {
  IMAGE_TYPES,
  IMAGE_ARENAS,
  IMAGE_SPANS,
  IMAGE_BITS,    /* the allocation bits of the small spans that are not full */
  IMAGE_SYMBOLS, /* names */
  IMAGE_FIXES,
  IMAGE_LISTS, /* one for each kind of registered objects: their places */
  IMAGE_IDS = IMAGE_LISTS + REGISTERED_KINDS,
  IMAGE_SETS,
  IMAGE_MEMBERS, /* of the sets */
  IMAGE_ROOTS,
  IMAGE_NAMES, /* strings; another table gives a name as the index of its first byte */
  IMAGE_PARTS
} image_part;

enum { IMAGE_FIELDS = 17, IMAGE_ENCODING_WORDS = 2 * CRADLE_ENCODING_PAIRS_MAX + 3 };

typedef struct image_type {
  uint32_t name, id;
  uint64_t fields[IMAGE_FIELDS];
} image_type;
typedef struct image_arena {
  uint32_t index, pages; /* pages: from the first on, that are in the file */
} image_arena;
typedef struct image_span {
  uint32_t page, pages;
  uint32_t size_class; /* IMAGE_NUMBER_NONE: a large object */
  uint32_t full_words; /* of each object in a full span, of which no bits are saved; otherwise 0 */
} image_span;
typedef struct image_fix {
  uint64_t place;  /* of a word that is the address of a symbol, or of an object that is to be mended */
  uint64_t symbol; /* IMAGE_NUMBER_NONE: the object */
} image_fix;
typedef struct image_id {
  uint64_t place, generation;
} image_id;
typedef struct image_set {
  uint64_t name, count; /* of members */
} image_set;
typedef struct image_member {
  uint64_t hash, place;
} image_member;
typedef struct image_root {
  uint32_t name, kind;
  uint64_t word;
} image_root;

typedef struct image_header {
  char magic[8];
  uint32_t version, bytes; /* bytes: of the header */
  uint64_t order;          /* of the bytes in a word */
  uint64_t checksum;       /* of all that follows, up to objects_at */
  uint64_t file_bytes, objects_at;
  uint64_t layout; /* image_layout */
  uint64_t encoding[IMAGE_ENCODING_WORDS];
  uint64_t base, arenas; /* arenas: their number, with those that are not in the file */
  uint64_t hashes;       /* identity hashes given out */
  struct {
    uint64_t at, count;
  } parts[IMAGE_PARTS];
} image_header;

static const uint8_t image_part_bytes[IMAGE_PARTS] = {[IMAGE_TYPES] = sizeof(image_type),
                                                      [IMAGE_ARENAS] = sizeof(image_arena),
                                                      [IMAGE_SPANS] = sizeof(image_span),
                                                      [IMAGE_BITS] = 8,
                                                      [IMAGE_SYMBOLS] = 8,
                                                      [IMAGE_FIXES] = sizeof(image_fix),
                                                      [IMAGE_LISTS] = 8,
                                                      [IMAGE_LISTS + 1] = 8,
                                                      [IMAGE_LISTS + 2] = 8,
                                                      [IMAGE_LISTS + 3] = 8,
                                                      [IMAGE_IDS] = sizeof(image_id),
                                                      [IMAGE_SETS] = sizeof(image_set),
                                                      [IMAGE_MEMBERS] = sizeof(image_member),
                                                      [IMAGE_ROOTS] = sizeof(image_root),
                                                      [IMAGE_NAMES] = 1};

_Static_assert(REGISTERED_KINDS == 4, "each list of registered objects is a part");

/* A change of any one word changes the sum. count: a multiple of 8. */
static inline uint64_t image_sum(uint64_t sum, const void *bytes, size_t count) {
  const cradle_word *words = bytes;
  for (size_t i = 0; i < count / 8; i++) {
    sum = (sum ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
    sum ^= sum >> 32;
  }
  return sum;
}
static inline uintptr_t image_symbol_address(const cradle_image_symbol *symbol) {
  return symbol->address != NULL ? address_of(symbol->address) : address_of_function(symbol->function);
}

/* How this build of the library lays out objects: sizes of pages, arenas and size classes, and from which size on
 * headers have the flags of large arrays. */
static inline uint64_t image_layout(const crd_old *old) {
  uint64_t sum = image_sum(0, (uint64_t[]){PAGE_BYTES, ARENA_BYTES, SLOTS_MIN_BYTES, old->classes.count}, 32);
  for (uint32_t i = 0; i < old->classes.count; i++)
    sum = image_sum(sum, (uint64_t[]){old->classes.of[i].bytes, old->classes.of[i].pages}, 16);
  return sum;
}

static inline void image_encoding(uint64_t *words, const cradle_encoding *encoding) {
  memset(words, 0, IMAGE_ENCODING_WORDS * sizeof *words);
  for (uint32_t i = 0; i < encoding->pair_count; i++) {
    words[2 * i] = encoding->pairs[i].mask;
    words[2 * i + 1] = encoding->pairs[i].pattern;
  }
  words[IMAGE_ENCODING_WORDS - 3] = encoding->pair_count;
  words[IMAGE_ENCODING_WORDS - 2] = encoding->tag_set;
  words[IMAGE_ENCODING_WORDS - 1] = encoding->payload_mask;
}

/* What must be the same in a type, and what each is called in a cradle_type. */
#define IMAGE_FIELD_NAMES \
  "size", "items", "item_size", "length_offset", "references", "values", "weak", "ephemerons", "item_references", \
      "item_values", "weak_values", "finalizer", "trace", "destructor", "external_size", "symbols", "mend"
static inline void image_fields(uint64_t *fields, const crd_type *type, const crd_mended *mended) {
  uint64_t all[IMAGE_FIELDS] = {type->size,
                                type->weak_items != 0 ? type->weak_items : type->items,
                                type->item_size,
                                type->length_offset,
                                type->references,
                                type->values,
                                type->weak,
                                type->ephemerons,
                                type->item_references,
                                type->item_values,
                                type->weak_values,
                                type->queue,
                                type->trace != NULL,
                                type->destructor != NULL,
                                type->external_size != NULL,
                                mended == NULL ? 0 : mended->symbols,
                                mended != NULL && mended->mend != NULL};
  memcpy(fields, all, sizeof all);
}

/* What is said of every file that contradicts itself, and wherever malloc refuses. */
#define DAMAGED "the file is damaged: "
#define NO_MEMORY "there is no memory for its tables"
#define IMAGE_REFUSE(error, ...) crd_fail((error), "image: " __VA_ARGS__)

#endif
