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

/* The multiple of a power of two at a number or next to it. The sum of both fits a size_t. */
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

#endif
