/* What the macros of cradle/typed.h for objects with items are made of. A program does not call these.
 *
 * A layout of constants compiles to: compare the count with the largest that fits, multiply, add, compare with top,
 * zero, store the header, store the length, store free. Objects of up to 128 bytes are zeroed inline, larger ones by
 * memset. The layout must be the descriptor's: the slow path compares the two; CRADLE_CHECKED=1 does at every
 * allocation. */
#ifndef CRADLE_DETAIL_ITEMS_H
#define CRADLE_DETAIL_ITEMS_H

#include <cradle/new.h>

CRADLE_BEGIN_DECLS

/* The partner: returns zeroed memory with header and length. NULL: memory ran out. */
CRADLE_API CRADLE_COLD void *cradle_new_items_slow(cradle_mutator *mutator, uint32_t type, cradle_array_layout layout,
                                                   size_t count) CRADLE_MAY_COLLECT;
/* With CRADLE_CHECKED: reports misuse unless the layout is the descriptor's and allocation is allowed here. */
CRADLE_API void cradle_check_items(cradle_mutator *mutator, uint32_t type, cradle_array_layout layout,
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

/* Makes a layout of three constants. */
CRADLE_INLINE cradle_array_layout cradle_array_layout_of(size_t size, size_t item_size, size_t length_offset) {
  cradle_array_layout layout = {(uint32_t)size, (uint32_t)item_size, (uint32_t)length_offset};
  return layout;
}

/* An object of any type whose layout the descriptor says. */
CRADLE_INLINE void *cradle_new_array(cradle_mutator *mutator, uint32_t type, size_t length) CRADLE_MAY_COLLECT {
  return cradle_new_with(mutator, type, cradle_array_layout_of(0, 0, 0), length, 0);
}
/* Allocates an object of a type with services and adds it to those that the next minor collection looks at. NULL: the
 * slow path must do it. */
CRADLE_INLINE char *cradle_registered_place(cradle_mutator *mutator, uint32_t type, size_t size) {
  cradle_word *entry = mutator->registered;
  if (CRADLE_CHECKED || CRADLE_UNLIKELY(entry == mutator->registered_end)) return NULL;
  char *object = cradle_new_place(mutator, type, size);
  if (CRADLE_UNLIKELY(object == NULL)) return NULL;
  *entry = (uintptr_t)object;
  mutator->registered = entry + 1;
  return object;
}

/* CRADLE_NEW_WITH. */
CRADLE_INLINE void *cradle_new_flagged(cradle_mutator *mutator, uint32_t type, size_t size, uint32_t flags)
    CRADLE_MAY_COLLECT {
  char *object = flags == 0 ? cradle_registered_place(mutator, type, size) : NULL;
  if (CRADLE_UNLIKELY(object == NULL))
    return cradle_new_with(mutator, type, cradle_array_layout_of(size, 0, 0), 0, flags);
  memset(object + 8, 0, cradle_object_bytes(size) - 8);
  return object;
}
CRADLE_INLINE void *cradle_new_registered(cradle_mutator *mutator, uint32_t type, size_t size) CRADLE_MAY_COLLECT {
  return cradle_new_flagged(mutator, type, size, 0);
}

/* CRADLE_NEW_ARRAY. */
CRADLE_INLINE void *cradle_new_items(cradle_mutator *mutator, uint32_t type, cradle_array_layout layout, size_t count)
    CRADLE_MAY_COLLECT {
  if (CRADLE_UNLIKELY(cradle_items_exceed(layout.size, layout.item_size, count)))
    return cradle_new_items_slow(mutator, type, layout, count);
  size_t size = layout.size + count * layout.item_size, bytes = cradle_object_bytes(size);
  if (CRADLE_CHECKED) cradle_check_items(mutator, type, layout, true);
  char *object = mutator->free, *next = object + bytes;
  if (CRADLE_UNLIKELY(next > cradle_top(mutator))) return cradle_new_items_slow(mutator, type, layout, count);
  CRADLE_UNPOISON(mutator, object, bytes);
  cradle_zero_object(object, bytes);
  cradle_label_items(object, type, layout.length_offset, count);
  mutator->free = next; /* last: docs/design/fast-path.md */
  return object;
}

/* CRADLE_NEW_ARRAY_FAST. */
CRADLE_INLINE void *cradle_new_items_fast(cradle_mutator *mutator, uint32_t type, cradle_array_layout layout,
                                          size_t count) {
  if (CRADLE_UNLIKELY(cradle_items_exceed(layout.size, layout.item_size, count))) return NULL;
  size_t size = layout.size + count * layout.item_size, bytes = cradle_object_bytes(size);
  if (CRADLE_CHECKED && cradle_top(mutator) != NULL) cradle_check_items(mutator, type, layout, false);
  char *object = mutator->free, *next = object + bytes;
  if (CRADLE_UNLIKELY(next > cradle_top(mutator))) return NULL;
  CRADLE_UNPOISON(mutator, object, bytes);
  cradle_label_items(object, type, layout.length_offset, count);
  mutator->free = next; /* last: docs/design/fast-path.md */
  return object;
}

/* CRADLE_NEW_ARRAY_UNINITIALIZED. */
CRADLE_INLINE void *cradle_new_items_uninitialized(cradle_mutator *mutator, uint32_t type, cradle_array_layout layout,
                                                   size_t count) CRADLE_MAY_COLLECT {
  void *object = cradle_new_items_fast(mutator, type, layout, count);
  if (CRADLE_UNLIKELY(object == NULL)) return cradle_new_items_slow(mutator, type, layout, count);
  return object;
}

/* CRADLE_NEW_RESERVED_ARRAY. */
CRADLE_INLINE void *cradle_new_reserved_items(cradle_reservation *reservation, uint32_t type,
                                              cradle_array_layout layout, size_t count) {
  if (CRADLE_CHECKED) {
    cradle_check_items(reservation->mutator, type, layout, false);
    cradle_check_room(reservation, cradle_items_bytes(layout.size, layout.item_size, count));
  }
  char *object = reservation->free;
  reservation->free = object + cradle_object_bytes(layout.size + count * layout.item_size);
  cradle_label_items(object, type, layout.length_offset, count);
  return object;
}

CRADLE_END_DECLS

/* --- the layout of a structure, checked while the program is compiled --- */

#define CRADLE_SIZE_(structure) \
  (sizeof(structure) + CRADLE_REQUIRE_(__alignof__(structure) <= CRADLE_OBJECT_ALIGNMENT, "objects are aligned to 8"))
#define CRADLE_ITEM_SIZE_(structure, items) (sizeof(((structure *)0)->items[0]))
#define CRADLE_LENGTH_OFFSET_(structure, length) \
  (offsetof(structure, length) + \
   CRADLE_REQUIRE_(sizeof(((structure *)0)->length) == 8 && offsetof(structure, length) % 8 == 0, \
                   "the length is a uint64_t"))
#define CRADLE_LAYOUT_(structure, items, length) \
  cradle_array_layout_of(CRADLE_SIZE_(structure) + \
                             CRADLE_REQUIRE_(sizeof(structure) - offsetof(structure, items) < 8, \
                                             "the items are the last member, an array whose length is left open"), \
                         CRADLE_ITEM_SIZE_(structure, items), CRADLE_LENGTH_OFFSET_(structure, length))

#endif
