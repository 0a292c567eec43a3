/* What the four everyday programs share: a cache of strings, a persistent map, JSON documents and a symbol table. The
 * same arithmetic is in bench/peers/, whose programs must find the same checksums. It stays within 62 bits, which is
 * what OCaml's integers and Java's signed ones have in common.
 *
 *   [everyday.1] A program's work depends on these numbers alone, never on an address, a library's hash or a clock.
 *   [everyday.2] Objects made by hand keep the header word: the word costs both sides the same memory.
 */
#ifndef BENCH_EVERYDAY_H
#define BENCH_EVERYDAY_H

#include <string.h>

#include "bench/workloads.h"

/* --- numbers --- */

#define EVERYDAY_LOW_32 UINT64_C(0xffffffff)
#define EVERYDAY_SEED UINT64_C(1)

/* A linear congruential generator of 31 bits; the bound is below 2^30. */
static inline uint64_t everyday_below(uint64_t *state, uint64_t bound) {
  *state = (*state * 1103515245 + 12345) & 0x7fffffff;
  return *state * bound >> 31;
}
/* A random number below the bound; low numbers come more often. */
static inline uint64_t everyday_skewed(uint64_t *state, uint64_t bound) {
  uint64_t a = everyday_below(state, bound), b = everyday_below(state, bound);
  return a < b ? a : b;
}
/* Hashes a number to 32 bits, each of which depends on all its bits. */
static inline uint64_t everyday_mix(uint64_t number) {
  uint64_t x = number * UINT64_C(2654435761) & EVERYDAY_LOW_32;
  x = (x ^ x >> 16) * UINT64_C(2246822519) & EVERYDAY_LOW_32;
  return x ^ x >> 13;
}
/* Adds to a checksum of 32 bits. */
static inline uint64_t everyday_fold(uint64_t sum, uint64_t number) {
  return (sum * 31 + number) & EVERYDAY_LOW_32;
}

/* --- texts --- */

#define EVERYDAY_TEXT_MOST 100

/* Writes the text of a number below 2^30: between least and most characters, of which least is 6 or more. Different
 * numbers have different texts. Returns the length. */
static inline uint64_t everyday_text(unsigned char text[EVERYDAY_TEXT_MOST], uint64_t number, uint64_t least,
                                     uint64_t most) {
  uint64_t length = least + everyday_mix(number) % (most - least + 1);
  for (int i = 0; i < 6; i++) text[i] = (unsigned char)('A' + (number >> 5 * i & 31));
  memset(text + 6, (int)('a' + number % 26), length - 6);
  return length;
}
/* FNV-1a, 32 bits, of the length and the first sixteen characters: hashing is not what these programs measure. */
static inline uint64_t everyday_hash(const unsigned char *text, uint64_t length) {
  uint64_t hash = UINT64_C(2166136261) ^ length, end = length < 16 ? length : 16;
  for (uint64_t i = 0; i < end; i++) hash = (hash ^ text[i]) * 16777619 & EVERYDAY_LOW_32;
  return hash;
}

/* --- objects --- */

#define EVERYDAY_INLINE static inline __attribute__((always_inline))

/* A store into an object of either owner. Its callers are inlined, and know at compile time whether m is NULL, so that
 * code for objects by hand has neither barrier nor test. */
EVERYDAY_INLINE void everyday_store(cradle_mutator *m, void *object, void *slot, const void *reference) {
  if (m != NULL)
    cradle_store(m, object, slot, reference);
  else
    memcpy(slot, &reference, sizeof reference);
}

static inline bytes *everyday_string(cradle_mutator *m, const unsigned char *text, uint64_t length) CRADLE_MAY_COLLECT {
  bytes *string = CRADLE_NEW_ARRAY_UNINITIALIZED(m, bytes, TYPE_BYTES, data, length, length);
  memcpy(string->data, text, length);
  return string;
}
static inline bytes *everyday_string_by_hand(manual *memory, const unsigned char *text, uint64_t length) {
  bytes *string = manual_take(memory, (sizeof(bytes) + length + 7) & ~UINT64_C(7));
  string->header = TYPE_BYTES;
  string->length = length;
  memcpy(string->data, text, length);
  return string;
}

/* --- the types of these programs and of table-walk; their rows are in workload_heap.c --- */

typedef struct cached {
  uint64_t header;
  struct cached *chain, *newer, *older; /* the hash chain; the order of use */
  bytes *key, *value;
  uint64_t hash;
} cached;

typedef struct map_node {
  uint64_t header; /* by hand: how many nodes and versions refer to it */
  struct map_node *left, *right;
  uint64_t key, priority, value;
} map_node;

typedef struct json_number {
  uint64_t header;
  double number;
} json_number;
typedef struct json_array {
  uint64_t header, length;
  cradle_value items[];
} json_array;
typedef struct json_member {
  bytes *key;
  cradle_value value;
} json_member;
typedef struct json_object {
  uint64_t header, length;
  json_member members[];
} json_object;

typedef struct symbol {
  uint64_t header, length;
  struct symbol *chain;
  struct declared *declared; /* its current declaration */
  uint64_t hash;
  unsigned char name[];
} symbol;
typedef struct declared {
  uint64_t header;
  symbol *symbol;
  struct declared *hidden, *next; /* the outer declaration of the name; the scope's next declaration */
  uint64_t number;
} declared;
typedef struct scope {
  uint64_t header;
  struct scope *outer;
  declared *first;
} scope;

typedef struct field {
  cell *name; /* whose number is its hash */
  cradle_value value;
} field;
typedef struct fields {
  uint64_t header, length;
  field entries[]; /* a hash table */
} fields;
typedef struct instance {
  uint64_t header;
  cell *class;
  fields *fields;
} instance;

#endif
