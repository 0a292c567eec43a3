/* What the inline functions of cradle/items.h are made of. Nothing here collects but the partners. A program does not
 * call these. */
#ifndef CRADLE_DETAIL_ITEMS_H
#define CRADLE_DETAIL_ITEMS_H

#include <string.h>

#include <cradle/mutator.h>

CRADLE_BEGIN_DECLS

struct cradle_array_layout;

/* The partners of the inline functions: they return zeroed memory with header and length. NULL: memory ran out, and the
 * handler returned. */
CRADLE_API CRADLE_COLD void *cradle_new_items_slow(cradle_mutator *mutator, uint32_t type,
                                                   struct cradle_array_layout layout, size_t count) CRADLE_MAY_COLLECT;
/* With CRADLE_CHECKED: reports misuse unless the layout is the descriptor's and allocation is allowed here. */
CRADLE_API void cradle_check_items(cradle_mutator *mutator, uint32_t type, struct cradle_array_layout layout,
                                   bool may_collect);

/* Whether an object with count items may be too large for the nursery. */
CRADLE_INLINE bool cradle_items_exceed(size_t size, size_t item_size, size_t count) {
  return size > CRADLE_NURSERY_OBJECT_MAX_BYTES || count > (CRADLE_NURSERY_OBJECT_MAX_BYTES - size) / item_size;
}

/* The bytes that an object with count items takes; for an object that is too large for the nursery, a number above
 * CRADLE_NURSERY_OBJECT_MAX_BYTES. */
CRADLE_INLINE size_t cradle_items_bytes(size_t size, size_t item_size, size_t count) {
  if (cradle_items_exceed(size, item_size, count)) return 2 * CRADLE_NURSERY_OBJECT_MAX_BYTES;
  return cradle_object_bytes(size + count * item_size);
}

/* Zeroes an object's memory; bytes is a multiple of 8, at least 16. Small objects are zeroed from both ends, in two
 * parts that may overlap, which needs no loop and no call. */
CRADLE_INLINE void cradle_zero_object(char *object, size_t bytes) {
  if (__builtin_constant_p(bytes) || bytes > 128) {
    memset(object, 0, bytes);
  } else if (bytes <= 32) {
    memset(object, 0, 16);
    memset(object + bytes - 16, 0, 16);
  } else if (bytes <= 64) {
    memset(object, 0, 32);
    memset(object + bytes - 32, 0, 32);
  } else {
    memset(object, 0, 64);
    memset(object + bytes - 64, 0, 64);
  }
}

/* Stores a new object's header and length. */
CRADLE_INLINE void cradle_label_items(char *object, uint32_t type, uint32_t length_offset, size_t count) {
  *(cradle_word *)(void *)object = type;
  *(cradle_word *)(void *)(object + length_offset) = count;
}

CRADLE_END_DECLS

#endif
