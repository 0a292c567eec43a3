/* Arithmetic of powers of two, and bitmaps: arrays of 64-bit words, bit i of the map in word i / 64. */
#ifndef CRADLE_GC_BASE_BITS_H
#define CRADLE_GC_BASE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gc/base/check.h"

static inline bool is_power_of_two(size_t number) {
  return number != 0 && (number & (number - 1)) == 0;
}

/* The nearest multiple of a power of two, at or below a number, and at or above it. The sum of both arguments fits a
 * size_t. */
static inline size_t align_down(size_t bytes, size_t alignment) {
  ASSERT(is_power_of_two(alignment), "an alignment is no power of two");
  return bytes & ~(alignment - 1);
}
static inline size_t align_up(size_t bytes, size_t alignment) {
  ASSERT(bytes + alignment > bytes, "what is rounded up wraps");
  return align_down(bytes + alignment - 1, alignment);
}

static inline bool bitmap_has(const uint64_t *map, size_t bit) {
  return map[bit / 64] >> (bit % 64) & 1;
}
static inline void bitmap_set(uint64_t *map, size_t bit) {
  map[bit / 64] |= UINT64_C(1) << (bit % 64);
}
static inline void bitmap_clear(uint64_t *map, size_t bit) {
  map[bit / 64] &= ~(UINT64_C(1) << (bit % 64));
}

/* How many bits are set. A build for every x86-64 cannot use the processor's own instruction, and the compiler's
 * builtin is then a call that reads a table. This is shorter: it adds neighbouring bits, then pairs, fours and bytes
 * (Hacker's Delight, 5-1). */
static inline unsigned count_bits(uint64_t word) {
  word -= word >> 1 & UINT64_C(0x5555555555555555);
  word = (word & UINT64_C(0x3333333333333333)) + (word >> 2 & UINT64_C(0x3333333333333333));
  word = (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
  return (unsigned)(word * UINT64_C(0x0101010101010101) >> 56);
}

#endif
