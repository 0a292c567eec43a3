/* The format of a heap dump: all live objects with their types and sizes, who refers to whom, and the roots, in a file
 * that tools read. docs/heap-dump.md describes it for those who write such a tool.
 *
 *     header | TYPE chunks | MUTS chunks, if the heap may have several mutators |
 *     OBJS, REFS and ROOT chunks, as each buffer fills up; NAME chunks | END chunk
 *
 * Objects are told by their position: the number of the word in the old generation at which they begin, or, behind all
 * of these, in the nursery. A position has 4 bytes, so a heap that spans more than 32 GiB is refused. All numbers are
 * little-endian.
 *
 *   [dump.1] A position is below the header's words, which 4 bytes can number. So every count of words and of
 *            references fits, too.
 *   [dump.2] The references of an object follow those of the object before it, in the objects' order.
 */
#ifndef CRADLE_GC_INSTRUMENTS_DUMP_H
#define CRADLE_GC_INSTRUMENTS_DUMP_H

#include <cradle/inspect.h>

#define DUMP_MAGIC "CRADLEHD"
#define DUMP_VERSION 2
#define DUMP_YOUNG (UINT32_C(1) << 24)
#define DUMP_LARGE (UINT32_C(1) << 25)
#define DUMP_MUTATOR 8 /* bits of a root's kind; as many of a mutator's number as fit come above them */

/* Four letters as the four bytes of a number. */
#define DUMP_TAG(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define DUMP_TYPES DUMP_TAG('T', 'Y', 'P', 'E')
#define DUMP_MUTATORS DUMP_TAG('M', 'U', 'T', 'S')
#define DUMP_NAMES DUMP_TAG('N', 'A', 'M', 'E')
#define DUMP_ROOTS DUMP_TAG('R', 'O', 'O', 'T')
#define DUMP_OBJECTS DUMP_TAG('O', 'B', 'J', 'S')
#define DUMP_REFERENCES DUMP_TAG('R', 'E', 'F', 'S')
#define DUMP_END DUMP_TAG('E', 'N', 'D', ' ')

typedef struct dump_header {
  char magic[8];
  uint32_t version;
  uint32_t position_bytes;   /* 4 */
  uint64_t old_base;         /* address of position 0 */
  uint64_t nursery_base;     /* address of position old_words */
  uint64_t old_words, words; /* positions are below words */
  uint64_t minor_collections, major_collections;
} dump_header;

typedef struct dump_chunk {
  uint32_t tag, bytes; /* of what follows, a multiple of 8 */
} dump_chunk;

typedef struct dump_root {
  uint64_t position, index;
  uint32_t holder; /* cradle_holder, and above DUMP_MUTATOR the number of the mutator that has it; 0: none is named */
  uint32_t name;   /* of a root range: its number in the names */
} dump_root;

typedef struct dump_object {
  uint32_t position, type_and_flags, words, references;
} dump_object;

typedef struct dump_totals {
  uint64_t objects, references, roots, bytes;
} dump_totals;

_Static_assert(sizeof(dump_header) == 64, "the file's header");
_Static_assert(sizeof(dump_chunk) == 8 && sizeof(dump_root) == 24 && sizeof(dump_object) == 16 &&
                   sizeof(dump_totals) == 32,
               "the file's records");

#endif
