/* What the functions and macros of cradle/new.h and cradle/typed.h are made of. A program does not call these;
 * generated code calls the partners that docs/jit.md names. */
#ifndef CRADLE_DETAIL_NEW_H
#define CRADLE_DETAIL_NEW_H

#include <cradle/mutator.h>

#include <string.h>

CRADLE_BEGIN_DECLS

/* The partners of the inline functions. They return zeroed memory with its header. NULL: memory ran out. */
CRADLE_API CRADLE_COLD void *cradle_new_slow(cradle_mutator *mutator, uint32_t type, size_t size) CRADLE_MAY_COLLECT;
CRADLE_API CRADLE_COLD cradle_reservation cradle_reserve_slow(cradle_mutator *mutator, size_t size) CRADLE_MAY_COLLECT;

/* With CRADLE_CHECKED: report misuse unless type and size agree with a descriptor and allocation is allowed here. */
CRADLE_API void cradle_check_new(cradle_mutator *mutator, uint32_t type, size_t size);
CRADLE_API void cradle_check_new_fast(cradle_mutator *mutator, uint32_t type, size_t size);
CRADLE_API void cradle_check_reserved(const cradle_reservation *reservation, uint32_t type, size_t size);
/* With CRADLE_CHECKED: reports misuse unless the reservation has room for this many bytes. */
CRADLE_API void cradle_check_room(const cradle_reservation *reservation, size_t bytes);

/* Tells AddressSanitizer or valgrind that the size bytes at address may be used. The unused nursery is poisoned when
 * library and caller are built with AddressSanitizer, or both with CRADLE_VALGRIND=1. */
#ifdef CRADLE_ASAN
void __asan_unpoison_memory_region(void const volatile *address, size_t size);
#define CRADLE_UNPOISON(mutator, address, size) __asan_unpoison_memory_region((address), (size))
#elif defined(CRADLE_VALGRIND) && CRADLE_VALGRIND
CRADLE_API void cradle_handed_out(const cradle_mutator *mutator, void *address, size_t size);
#define CRADLE_UNPOISON(mutator, address, size) cradle_handed_out((mutator), (address), (size))
#else
#define CRADLE_UNPOISON(mutator, address, size) ((void)0)
#endif

/* top as the fast path reads it. Another thread may lower it meanwhile (cradle_safepoint_request). A plain read of an
 * aligned word sees the old or the new value, and the compiler folds it into the comparison. ThreadSanitizer gets an
 * atomic read, so that it does not report this race. */
CRADLE_INLINE const char *cradle_top(const cradle_mutator *mutator) {
#ifdef CRADLE_TSAN
  return __atomic_load_n(&mutator->top, __ATOMIC_RELAXED);
#else
  return mutator->top;
#endif
}

/* The fast path: takes the memory and stores the header. NULL: the slow path must do it. The compiler must not test for
 * that where there was room. */
CRADLE_INLINE char *cradle_new_place(cradle_mutator *mutator, uint32_t type, size_t size) {
  size_t bytes = cradle_object_bytes(size);
  char *object = mutator->free;
  if (CRADLE_UNLIKELY(size > CRADLE_NURSERY_OBJECT_MAX_BYTES)) return NULL;
  char *next = object + bytes;
  if (CRADLE_UNLIKELY(next > cradle_top(mutator))) return NULL;
  if (object == NULL) __builtin_unreachable();
  CRADLE_UNPOISON(mutator, object, bytes);
  *(cradle_word *)(void *)object = type;
  mutator->free = next; /* last: docs/design/fast-path.md */
  return object;
}

/* CRADLE_NEW_UNINITIALIZED: objects above CRADLE_NURSERY_OBJECT_MAX_BYTES do not take the fast path, and are zeroed. */
CRADLE_INLINE void *cradle_new_uninitialized(cradle_mutator *mutator, uint32_t type, size_t size) CRADLE_MAY_COLLECT {
  if (CRADLE_CHECKED) cradle_check_new(mutator, type, size);
  char *object = cradle_new_place(mutator, type, size);
  return CRADLE_UNLIKELY(object == NULL) ? cradle_new_slow(mutator, type, size) : object;
}

/* CRADLE_NEW_FAST. */
CRADLE_INLINE void *cradle_new_fast(cradle_mutator *mutator, uint32_t type, size_t size) {
  if (CRADLE_CHECKED) cradle_check_new_fast(mutator, type, size);
  return cradle_new_place(mutator, type, size);
}

/* CRADLE_NEW_RESERVED. */
CRADLE_INLINE void *cradle_new_reserved(cradle_reservation *reservation, uint32_t type, size_t size) {
  if (CRADLE_CHECKED) cradle_check_reserved(reservation, type, size);
  char *object = reservation->free;
  reservation->free = object + cradle_object_bytes(size);
  *(cradle_word *)(void *)object = type;
  return object;
}

CRADLE_END_DECLS

#endif
