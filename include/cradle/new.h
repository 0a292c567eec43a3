/* Allocation by type and size: cradle_new inline, cradle_new_with for all else, and reservations. Programs written by
 * hand use the macros of cradle/typed.h; programs whose types are made at run time have no C structures and call these
 * functions. docs/jit.md shows what generated code does, docs/design/fast-path.md the machine code and its cost. Every
 * function here may collect.
 *
 * Sizes are bytes, rounded up to a multiple of 8 and to at least CRADLE_OBJECT_MIN_BYTES. The slow path compares type
 * and size with the type's descriptor: the first 1,000 allocations of a heap take it, and one in each MiB after them.
 * With CRADLE_CHECKED=1 every allocation is compared.
 */
#ifndef CRADLE_NEW_H
#define CRADLE_NEW_H

#include <cradle/detail/new.h>

CRADLE_BEGIN_DECLS

/* Allocates an object of a type without items and without services, with every word after the header zero. With a
 * constant size the zeroing is inline, and the compiler drops the stores that the caller overwrites. */
CRADLE_INLINE void *cradle_new(cradle_mutator *mutator, uint32_t type, size_t size) CRADLE_MAY_COLLECT {
  if (CRADLE_CHECKED) cradle_check_new(mutator, type, size);
  char *object = cradle_new_place(mutator, type, size);
  if (CRADLE_UNLIKELY(object == NULL)) return cradle_new_slow(mutator, type, size);
  memset(object + 8, 0, cradle_object_bytes(size) - 8);
  return object;
}

/* The layout of objects with items; the fields mean what they mean in the type's descriptor. */
typedef struct cradle_array_layout {
  uint32_t size;      /* bytes before the items */
  uint32_t item_size; /* bytes, not 0 */
  uint32_t length_offset;
} cradle_array_layout;

/* A flag of cradle_new_with: the object is old and pinned from the start (cradle/pin.h). */
#define CRADLE_PINNED UINT32_C(1)

/* Allocates an object of any type, with or without items, young or old from the start; out of line. flags: 0 or
 * CRADLE_PINNED, which is misuse for a type with services (weak slots, ephemerons, a finalizer, a destructor, an
 * external size). The object comes zeroed, with its length stored. A count whose size overflows counts as out of
 * memory. layout: compared with the type's descriptor in every build; zeros stand for the descriptor's own. For a type
 * without items, item_size, length_offset and count are 0. */
CRADLE_API void *cradle_new_with(cradle_mutator *mutator, uint32_t type, cradle_array_layout layout, size_t count,
                                 uint32_t flags) CRADLE_MAY_COLLECT;

/* Reserves room for objects of size bytes in all, with one check; more than CRADLE_NURSERY_OBJECT_MAX_BYTES is misuse.
 * Carve the objects with CRADLE_NEW_RESERVED and CRADLE_NEW_RESERVED_ARRAY (cradle/typed.h). The next call that may
 * collect ends the reservation; what is left of it is lost until the nursery is emptied. In a local variable it lies in
 * registers. If memory ran out, its free is NULL. */
CRADLE_INLINE cradle_reservation cradle_reserve(cradle_mutator *mutator, size_t size) CRADLE_MAY_COLLECT {
  if (CRADLE_UNLIKELY(size > CRADLE_NURSERY_OBJECT_MAX_BYTES)) return cradle_reserve_slow(mutator, size);
  cradle_reservation reservation = {mutator->free, mutator->free + ((size + 7) & ~(size_t)7), mutator};
  if (CRADLE_UNLIKELY(reservation.end > cradle_top(mutator))) return cradle_reserve_slow(mutator, size);
  mutator->free = reservation.end;
  if (CRADLE_CHECKED) mutator->reserved_end = reservation.end;
  CRADLE_UNPOISON(mutator, reservation.free, (size_t)(reservation.end - reservation.free));
  return reservation;
}

CRADLE_END_DECLS

#endif
