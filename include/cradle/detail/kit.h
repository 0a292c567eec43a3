/* What the inline functions of cradle/kit.h are made of. A program does not call or name these. */
#ifndef CRADLE_DETAIL_KIT_H
#define CRADLE_DETAIL_KIT_H

#include <assert.h>

#include <cradle/barrier.h>
#include <cradle/base.h>

CRADLE_BEGIN_DECLS

/* --- hashes --- */

/* Mixing: the high and the low half of a 128-bit product, as in wyhash and many since. */
#define CRADLE_KIT_HASH_ODD_1 UINT64_C(0x9E3779B97F4A7C15)
#define CRADLE_KIT_HASH_ODD_2 UINT64_C(0xE7037ED1A0B428DB)
__extension__ typedef unsigned __int128 cradle_kit_product;
CRADLE_INLINE uint64_t cradle_kit_hash_fold(uint64_t a, uint64_t b) {
  cradle_kit_product product = (cradle_kit_product)a * b;
  return (uint64_t)(product >> 64) ^ (uint64_t)product;
}

/* --- maps --- */

/* What a slot of a map's index holds if it has no key. */
#define CRADLE_KIT_MAP_FREE 0u
#define CRADLE_KIT_MAP_REMOVED 1u
/* Set in every hash, and above every mask. */
#define CRADLE_KIT_MAP_HASHED UINT32_C(0x80000000)

/* --- the kit, and how it looks at values --- */

typedef struct cradle_kit {
  cradle_mutator *mutator;
  uint32_t first_type; /* id of CRADLE_KIT_STRING */
  void *data;          /* the program's own */
  /* The encoding of the heap's values, and the bits that all its references have in common. */
  cradle_encoding encoding;
  uint64_t reference_mask, reference_pattern;
} cradle_kit;

/* false: the word is an immediate. A quick first test; cradle_value_object decides. */
CRADLE_INLINE bool cradle_kit_may_refer(const cradle_kit *kit, cradle_value value) {
  return (value & kit->reference_mask) == kit->reference_pattern;
}
/* As cradle_store_value, but quicker for immediates in old objects: the collector need not know of them. */
CRADLE_INLINE void cradle_kit_store(const cradle_kit *kit, void *object, cradle_word *slot, cradle_value value) {
  if (CRADLE_CHECKED) cradle_check_slot(kit->mutator, object, slot, value);
  if (CRADLE_UNLIKELY(CRADLE_HAS_BARRIER_(object) && cradle_kit_may_refer(kit, value)))
    cradle_store_slow(kit->mutator, object, slot, value);
  else
    *slot = value;
}

/* Every bit of the result depends on every bit of the word. A constant is mixed in first, because the product of a
 * small word would leave the high half empty. */
CRADLE_INLINE uint64_t cradle_kit_hash_word(uint64_t word) {
  return cradle_kit_hash_fold(word ^ CRADLE_KIT_HASH_ODD_2, CRADLE_KIT_HASH_ODD_1);
}

/* --- checks --- */

/* Reports that the function was called with an index that is not below count. kit: NULL if it is not known; the heap's
 * misuse handler is then not called. */
CRADLE_API CRADLE_COLD __attribute__((__noreturn__)) void
cradle_kit_no_item(const cradle_kit *kit, const char *function, size_t index, size_t count);
#define CRADLE_KIT_CHECK_(kit, function, index, count) \
  do { \
    if (CRADLE_CHECKED && CRADLE_UNLIKELY((index) >= (count))) \
      cradle_kit_no_item((kit), (function), (index), (count)); \
    assert((index) < (count)); \
  } while (0)

/* --- the partners of the inline functions --- */

struct cradle_kit_string;
struct cradle_kit_map;

/* The hash of a string's bytes, never 0; computed once. */
CRADLE_API uint64_t cradle_kit_string_hash(struct cradle_kit_string *string);
/* cradle_kit_map_find of all keys but immediates that are compared by identity. */
CRADLE_API CRADLE_NOINLINE size_t cradle_kit_map_find_slow(const cradle_kit *kit, const struct cradle_kit_map *map,
                                                           cradle_value key);

CRADLE_END_DECLS

#endif
