/* Allocation by type and size: the fast path. Programs written by hand use the macros of cradle/typed.h, which call
 * these functions. Compilers and other generators of code have no C structures and call the functions themselves. Every
 * function here may collect unless it says otherwise.
 *
 * When memory runs out, each calls the out-of-memory handler (cradle/options.h). If that returns, the function returns
 * NULL and has done nothing; without a handler the program ends.
 *
 * In a loop, cradle_new_uninitialized of a constant size compiles to: load free, add, compare with top, branch, store
 * the header, store free. docs/design/fast-path.md shows the machine code and its cost; a test counts its instructions.
 *
 * Sizes are bytes, rounded up to a multiple of 8 and to at least CRADLE_OBJECT_MIN_BYTES. The type's descriptor must
 * give the same size. The slow path compares type and size with the descriptor: the first 1,000 allocations of a heap
 * take it, and one in each MiB after them. Compile with CRADLE_CHECKED=1 to check every allocation.
 *
 * The functions that take a size are for types without items, and refuse other types. For types with items there are
 * cradle_new_array and, inline, cradle_new_items (cradle/items.h).
 */
#ifndef CRADLE_NEW_H
#define CRADLE_NEW_H

#include <string.h>

#include <cradle/detail/new.h>
#include <cradle/mutator.h>

CRADLE_BEGIN_DECLS

/* Allocates an object whose words after the header are undefined: the caller writes every slot before its next call
 * that may collect. Objects above CRADLE_NURSERY_OBJECT_MAX_BYTES do not take the fast path, and are zeroed. */
CRADLE_INLINE void *cradle_new_uninitialized(cradle_mutator *mutator, uint32_t type, size_t size) CRADLE_MAY_COLLECT {
  size_t bytes = cradle_object_bytes(size);
  if (CRADLE_CHECKED) cradle_check_new(mutator, type, size);
  char *object = mutator->free;
  if (CRADLE_UNLIKELY(size > CRADLE_NURSERY_OBJECT_MAX_BYTES)) return cradle_new_slow(mutator, type, size);
  char *next = object + bytes;
  if (CRADLE_UNLIKELY(next > cradle_top(mutator))) return cradle_new_slow(mutator, type, size);
  CRADLE_UNPOISON(mutator, object, bytes);
  *(cradle_word *)(void *)object = type;
  mutator->free = next; /* last: docs/design/fast-path.md */
  return object;
}

/* The fast path alone: returns NULL where cradle_new_uninitialized would call the slow path. It is for code that roots
 * its references only if a collection may come: on NULL the caller roots what it needs and calls cradle_new. Size and
 * contents are as for cradle_new_uninitialized. In a callback of the collector and in a no-collection region the result
 * is always NULL. Does not collect. */
CRADLE_INLINE void *cradle_new_fast(cradle_mutator *mutator, uint32_t type, size_t size) {
  size_t bytes = cradle_object_bytes(size);
  if (CRADLE_CHECKED) cradle_check_new_fast(mutator, type, size);
  char *object = mutator->free;
  if (CRADLE_UNLIKELY(size > CRADLE_NURSERY_OBJECT_MAX_BYTES)) return NULL;
  char *next = object + bytes;
  if (CRADLE_UNLIKELY(next > cradle_top(mutator))) return NULL;
  CRADLE_UNPOISON(mutator, object, bytes);
  *(cradle_word *)(void *)object = type;
  mutator->free = next; /* last: docs/design/fast-path.md */
  return object;
}

/* Allocates an object with every word after the header zero. With a constant size the zeroing is inline, and the
 * compiler drops the stores that the caller overwrites. NULL: memory ran out, and the out-of-memory handler returned
 * (cradle/options.h). */
CRADLE_INLINE void *cradle_new(cradle_mutator *mutator, uint32_t type, size_t size) CRADLE_MAY_COLLECT {
  size_t bytes = cradle_object_bytes(size);
  if (CRADLE_CHECKED) cradle_check_new(mutator, type, size);
  char *object = mutator->free;
  if (CRADLE_UNLIKELY(size > CRADLE_NURSERY_OBJECT_MAX_BYTES)) return cradle_new_slow(mutator, type, size);
  char *next = object + bytes;
  if (CRADLE_UNLIKELY(next > cradle_top(mutator))) return cradle_new_slow(mutator, type, size);
  CRADLE_UNPOISON(mutator, object, bytes);
  *(cradle_word *)(void *)object = type;
  mutator->free = next; /* last: docs/design/fast-path.md */
  memset(object + 8, 0, bytes - 8);
  return object;
}

/* Allocates a zeroed object with length items and stores the length where the type's descriptor says. For callers that
 * do not know the layout at compile time; CRADLE_NEW_ARRAY is inline. A length whose size overflows counts as out of
 * memory. An object of a type with services is registered (cradle_new_registered). */
CRADLE_API void *cradle_new_array(cradle_mutator *mutator, uint32_t type, size_t length) CRADLE_MAY_COLLECT;

/* Allocates a zeroed object of a type with services: weak slots, ephemerons, a finalizer, a destructor or an external
 * size. (It works for any other type as well.) The object is registered, so that the collector knows of it while it is
 * young and when it dies. Takes about five instructions more than cradle_new. The other inline functions are not for
 * these types: the slow path and CRADLE_CHECKED refuse them. Arrays of such types: cradle_new_array,
 * CRADLE_NEW_ARRAY_WITH. */
CRADLE_INLINE void *cradle_new_registered(cradle_mutator *mutator, uint32_t type, size_t size) CRADLE_MAY_COLLECT {
  char *object = cradle_registered_place(mutator, type, size);
  if (CRADLE_UNLIKELY(object == NULL)) return cradle_new_registered_slow(mutator, type, size);
  memset(object + 8, 0, cradle_object_bytes(size) - 8);
  return object;
}

/* Reserves room for objects of size bytes in all, with one check. size is at most CRADLE_NURSERY_OBJECT_MAX_BYTES; more
 * is misuse. Carve the objects with cradle_new_reserved. The next call that may collect ends the reservation. You need
 * not use all of it: the rest is lost until the nursery is emptied. Keep the reservation in a local variable: the
 * compiler then holds it in registers. If memory ran out and the handler returned, its free is NULL. */
CRADLE_INLINE cradle_reservation cradle_reserve(cradle_mutator *mutator, size_t size) CRADLE_MAY_COLLECT {
  if (CRADLE_UNLIKELY(size > CRADLE_NURSERY_OBJECT_MAX_BYTES)) return cradle_reserve_slow(mutator, size);
  cradle_reservation reservation = {mutator->free, mutator->free + ((size + 7) & ~(size_t)7), mutator};
  if (CRADLE_UNLIKELY(reservation.end > cradle_top(mutator))) return cradle_reserve_slow(mutator, size);
  mutator->free = reservation.end;
  if (CRADLE_CHECKED) mutator->reserved_end = reservation.end;
  CRADLE_UNPOISON(mutator, reservation.free, (size_t)(reservation.end - reservation.free));
  return reservation;
}
/* Carves an object out of the reservation, without a check; its contents after the header are undefined. The sum of the
 * rounded sizes must stay within the reservation, which CRADLE_CHECKED checks. Does not collect. */
CRADLE_INLINE void *cradle_new_reserved(cradle_reservation *reservation, uint32_t type, size_t size) {
  if (CRADLE_CHECKED) cradle_check_reserved(reservation, type, size);
  char *object = reservation->free;
  reservation->free = object + cradle_object_bytes(size);
  *(cradle_word *)(void *)object = type;
  return object;
}

CRADLE_END_DECLS

#endif
