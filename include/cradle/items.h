/* Inline allocation of objects with items whose layout is known at compile time: the functions behind CRADLE_NEW_ARRAY
 * and its kin (cradle/typed.h), for compilers that emit calls of them and for languages without those macros.
 *
 * A layout of constants compiles to: compare the count with the largest that fits, multiply, add, compare with top,
 * zero, store the header, store the length, store free. docs/design/fast-path.md shows the machine code and its cost; a
 * test counts its instructions. Objects of up to 128 bytes are zeroed inline, larger ones by memset.
 *
 * The layout must be the descriptor's. The slow path compares the two; CRADLE_CHECKED=1 does at every allocation.
 */
#ifndef CRADLE_ITEMS_H
#define CRADLE_ITEMS_H

#include <cradle/detail/items.h>
#include <cradle/new.h>

CRADLE_BEGIN_DECLS

/* The layout of objects with items; the fields mean what they mean in the type's descriptor. */
typedef struct cradle_array_layout {
  uint32_t size;      /* bytes before the items */
  uint32_t item_size; /* bytes, not 0 */
  uint32_t length_offset;
} cradle_array_layout;

/* Makes a layout of three constants. Does not collect. */
CRADLE_INLINE cradle_array_layout cradle_array_layout_of(size_t size, size_t item_size, size_t length_offset) {
  cradle_array_layout layout = {(uint32_t)size, (uint32_t)item_size, (uint32_t)length_offset};
  return layout;
}

/* Allocates an object with count items, zeroed after header and length. A count whose size overflows counts as out of
 * memory. */
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

/* The fast path alone: returns NULL if the nursery has no room without a call. Only header and length are written; the
 * caller writes every slot before its next call that may collect. Does not collect. */
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

/* As cradle_new_items_fast, but if there is no room the slow path allocates, and its objects are zeroed. */
CRADLE_INLINE void *cradle_new_items_uninitialized(cradle_mutator *mutator, uint32_t type, cradle_array_layout layout,
                                                   size_t count) CRADLE_MAY_COLLECT {
  void *object = cradle_new_items_fast(mutator, type, layout, count);
  if (CRADLE_UNLIKELY(object == NULL)) return cradle_new_items_slow(mutator, type, layout, count);
  return object;
}

/* A flag of cradle_new_with: the object is old and pinned from the start (cradle/pin.h). */
#define CRADLE_PINNED UINT32_C(1)

/* Allocates what the inline functions do not: an object of any type, with or without items, young or old from the
 * start. flags: 0 or CRADLE_PINNED. If the type has services (weak slots, ephemerons, a finalizer, a destructor, an
 * external size), the object is registered, so that the collector knows when it dies. CRADLE_PINNED for such a type is
 * misuse. The object comes zeroed, with its length stored.
 *
 * layout: the structure's, in bytes. It is compared with the type's descriptor in every build. For a type without
 * items, item_size, length_offset and count are 0. A layout of zeros stands for the descriptor's own.
 *
 * When memory runs out, or the size overflows, the out-of-memory handler is called, and NULL is returned if that
 * returns. May collect. CRADLE_NEW_WITH and CRADLE_NEW_ARRAY_WITH (cradle/typed.h) return a pointer to the
 * structure. */
CRADLE_API void *cradle_new_with(cradle_mutator *mutator, uint32_t type, cradle_array_layout layout, size_t count,
                                 uint32_t flags) CRADLE_MAY_COLLECT;

/* Carves an object out of a reservation, without a check. Only header and length are written. The object must fit into
 * the rest of the reservation, which CRADLE_CHECKED=1 checks. Does not collect. */
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

#endif
