/* Mixing for the kit's hashes: the high and the low half of a 128-bit product, as in wyhash and many since. */
#ifndef CRADLE_RUNTIME_KIT_HASH_H
#define CRADLE_RUNTIME_KIT_HASH_H

#include <stdint.h>

#define HASH_ODD_1 UINT64_C(0x9E3779B97F4A7C15)
#define HASH_ODD_2 UINT64_C(0xE7037ED1A0B428DB)

__extension__ typedef unsigned __int128 hash_product;

static inline uint64_t hash_fold(uint64_t a, uint64_t b) {
  hash_product product = (hash_product)a * b;
  return (uint64_t)(product >> 64) ^ (uint64_t)product;
}
/* Every bit of the result depends on every bit of the word; a small word is not multiplied by zero. */
static inline uint64_t hash_word(uint64_t word) {
  return hash_fold(word ^ HASH_ODD_2, HASH_ODD_1);
}

#endif
