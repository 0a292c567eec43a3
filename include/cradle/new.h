/* Allocation by type and size: the fast path. Programs written by hand use the macros of cradle/typed.h, which call
 * these functions; compilers and other generators of code, which have no C structures, call them themselves. Every
 * function here may collect unless it says otherwise.
 *
 * In a loop, cradle_new_uninitialized of a constant size compiles to: load free, add, compare with top, branch, store
 * the header, store free. docs/design/fast-path.md shows the machine code and its cost; a test counts its instructions.
 *
 * Sizes are bytes, rounded up to a multiple of 8; 0 and anything below CRADLE_OBJECT_MIN_BYTES become that minimum. The
 * type's descriptor must give the same size. The slow path checks type and size against the descriptor, and the first
 * 1,000 allocations of a heap and one in each MiB after them take it; compile with CRADLE_CHECKED=1 to check every
 * allocation.
 *
 * The functions that take a size are for types without items, and refuse others. For types with items there are
 * cradle_new_array and, inline, cradle_new_items (cradle/items.h).
 */
#ifndef CRADLE_NEW_H
#define CRADLE_NEW_H

#include <string.h>

#include <cradle/detail/new.h>
#include <cradle/mutator.h>

CRADLE_BEGIN_DECLS

/* An object whose words after the header have undefined contents: the caller writes every slot before its next call
 * that may collect. size is as above and at most CRADLE_NURSERY_OBJECT_MAX_BYTES for the fast path; larger objects come
 * zeroed. */
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

/* The fast path alone, for code that would rather root its references when a collection comes than before each
 * allocation: NULL when there is no room without a call, and the caller then roots what it needs and calls cradle_new.
 * Size and contents as above. In a callback of the collector and in a no-collection region there is never room. Does
 * not collect. */
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

/* An object with every word after the header zero. With a constant size the zeroing is inline, and the compiler drops
 * the stores that the caller overwrites. When memory runs out the out-of-memory handler is called; NULL is never
 * returned. */
CRADLE_INLINE void *cradle_new(cradle_mutator *mutator, uint32_t type, size_t size) CRADLE_MAY_COLLECT {
  size_t bytes = cradle_object_bytes(size);
  char *object = (char *)cradle_new_uninitialized(mutator, type, size);
  if (bytes <= CRADLE_NURSERY_OBJECT_MAX_BYTES) memset(object + 8, 0, bytes - 8);
  return object;
}

/* The same, with NULL in place of the out-of-memory handler. */
CRADLE_INLINE void *cradle_try_new(cradle_mutator *mutator, uint32_t type, size_t size) CRADLE_MAY_COLLECT {
  size_t bytes = cradle_object_bytes(size);
  if (CRADLE_CHECKED) cradle_check_new(mutator, type, size);
  char *object = mutator->free;
  if (CRADLE_UNLIKELY(size > CRADLE_NURSERY_OBJECT_MAX_BYTES)) return cradle_try_new_slow(mutator, type, size);
  char *next = object + bytes;
  if (CRADLE_UNLIKELY(next > cradle_top(mutator))) return cradle_try_new_slow(mutator, type, size);
  CRADLE_UNPOISON(mutator, object, bytes);
  *(cradle_word *)(void *)object = type;
  mutator->free = next; /* last: docs/design/fast-path.md */
  memset(object + 8, 0, bytes - 8);
  return object;
}

/* For callers that do not know the layout at compile time; CRADLE_NEW_ARRAY is inline. A variable-size object of the
 * type with room for length items, zeroed, its length stored where the descriptor says. A length whose size overflows
 * is out of memory: the handler is called, or NULL returned by the try variant. */
CRADLE_API void *cradle_new_array(cradle_mutator *mutator, uint32_t type, size_t length) CRADLE_MAY_COLLECT;
CRADLE_API void *cradle_try_new_array(cradle_mutator *mutator, uint32_t type, size_t length) CRADLE_MAY_COLLECT;

/* An object of a type with weak slots, ephemerons, a finalizer, a destructor or an external size (any other type will
 * do), fixed or with items: zeroed, and registered, so that the collector knows of it while it is young and when it
 * dies. About five instructions more than cradle_new. Such types must not be allocated otherwise: the slow path and
 * CRADLE_CHECKED refuse it. When memory runs out the handler is called, or NULL returned by the try variants. */
CRADLE_INLINE void *cradle_new_registered(cradle_mutator *mutator, uint32_t type, size_t size) CRADLE_MAY_COLLECT {
  char *object = cradle_registered_place(mutator, type, size);
  if (CRADLE_UNLIKELY(object == NULL)) return cradle_new_registered_slow(mutator, type, size);
  memset(object + 8, 0, cradle_object_bytes(size) - 8);
  return object;
}
CRADLE_INLINE void *cradle_try_new_registered(cradle_mutator *mutator, uint32_t type, size_t size) CRADLE_MAY_COLLECT {
  char *object = cradle_registered_place(mutator, type, size);
  if (CRADLE_UNLIKELY(object == NULL)) return cradle_try_new_registered_slow(mutator, type, size);
  memset(object + 8, 0, cradle_object_bytes(size) - 8);
  return object;
}
/* The same with items: length is stored. */
CRADLE_API void *cradle_new_registered_array(cradle_mutator *mutator, uint32_t type, size_t length) CRADLE_MAY_COLLECT;
CRADLE_API void *cradle_try_new_registered_array(cradle_mutator *mutator, uint32_t type, size_t length)
    CRADLE_MAY_COLLECT;

/* Room for objects of size bytes in all (at most CRADLE_NURSERY_OBJECT_MAX_BYTES; more is misuse) behind one check. The
 * objects are carved with cradle_new_reserved until the next call that may collect ends the reservation; what is not
 * carved by then is lost until the nursery is emptied, and legal. Keep the reservation in a local variable: the
 * compiler then holds it in a register. When memory runs out the handler is called. */
CRADLE_INLINE cradle_reservation cradle_reserve(cradle_mutator *mutator, size_t size) CRADLE_MAY_COLLECT {
  if (CRADLE_UNLIKELY(size > CRADLE_NURSERY_OBJECT_MAX_BYTES)) return cradle_reserve_slow(mutator, size, false);
  cradle_reservation reservation = {mutator->free, mutator->free + ((size + 7) & ~(size_t)7), mutator};
  if (CRADLE_UNLIKELY(reservation.end > cradle_top(mutator))) return cradle_reserve_slow(mutator, size, false);
  mutator->free = reservation.end;
  if (CRADLE_CHECKED) mutator->reserved_end = reservation.end;
  CRADLE_UNPOISON(mutator, reservation.free, (size_t)(reservation.end - reservation.free));
  return reservation;
}
/* The same; the reservation's free is NULL when memory runs out. */
CRADLE_INLINE cradle_reservation cradle_try_reserve(cradle_mutator *mutator, size_t size) CRADLE_MAY_COLLECT {
  if (CRADLE_UNLIKELY(size > CRADLE_NURSERY_OBJECT_MAX_BYTES)) return cradle_reserve_slow(mutator, size, true);
  cradle_reservation reservation = {mutator->free, mutator->free + ((size + 7) & ~(size_t)7), mutator};
  if (CRADLE_UNLIKELY(reservation.end > cradle_top(mutator))) return cradle_reserve_slow(mutator, size, true);
  mutator->free = reservation.end;
  if (CRADLE_CHECKED) mutator->reserved_end = reservation.end;
  CRADLE_UNPOISON(mutator, reservation.free, (size_t)(reservation.end - reservation.free));
  return reservation;
}
/* Carves an object with undefined contents after the header out of the reservation, without a check. The sum of the
 * rounded sizes must stay within the reservation; with CRADLE_CHECKED that is checked. Does not collect. */
CRADLE_INLINE void *cradle_new_reserved(cradle_reservation *reservation, uint32_t type, size_t size) {
  if (CRADLE_CHECKED) cradle_check_reserved(reservation, type, size);
  char *object = reservation->free;
  reservation->free = object + cradle_object_bytes(size);
  *(cradle_word *)(void *)object = type;
  return object;
}

CRADLE_END_DECLS

#endif
