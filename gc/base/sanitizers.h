/* The one header that knows AddressSanitizer and valgrind. Unused nursery memory is poisoned, so that a use of memory
 * that was never allocated, or of an object that has moved away, is reported where it happens.
 *
 * The same for valgrind, when library and callers are compiled with CRADLE_VALGRIND=1. It also reports a word of an
 * object that is read before it was written. Each heap's nursery is declared to it as a pool of blocks, so that its
 * reports name the place where an object was allocated and, if the object has moved or died, the collection that did
 * it. */
#ifndef CRADLE_GC_BASE_SANITIZERS_H
#define CRADLE_GC_BASE_SANITIZERS_H

#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CRD_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define CRD_ASAN 1
#endif
#if defined(CRADLE_VALGRIND) && CRADLE_VALGRIND && !defined(CRD_ASAN)
#define CRD_VALGRIND 1
#endif

#ifdef CRD_ASAN
#include <sanitizer/asan_interface.h>
static inline void sanitize_unused(void *address, size_t size) {
  __asan_poison_memory_region(address, size);
}
static inline void sanitize_used(void *address, size_t size) {
  __asan_unpoison_memory_region(address, size);
}
static inline void sanitize_known(void *address, size_t size) {
  __asan_unpoison_memory_region(address, size);
}
#elif defined(CRD_VALGRIND)
#include <valgrind/memcheck.h>
static inline void sanitize_unused(void *address, size_t size) {
  VALGRIND_MAKE_MEM_NOACCESS(address, size);
}
static inline void sanitize_used(void *address, size_t size) {
  VALGRIND_MAKE_MEM_UNDEFINED(address, size);
}
static inline void sanitize_known(void *address, size_t size) {
  VALGRIND_MAKE_MEM_DEFINED(address, size);
}
#else
static inline void sanitize_unused(void *address, size_t size) {
  (void)address, (void)size;
}
static inline void sanitize_used(void *address, size_t size) {
  (void)address, (void)size;
}
static inline void sanitize_known(void *address, size_t size) {
  (void)address, (void)size;
}
#endif

/* An object or a reservation is handed out of the pool of this name, any address that is the heap's own. */
static inline void sanitize_handed_out(const void *pool, void *address, size_t size) {
#ifdef CRD_VALGRIND
  VALGRIND_MEMPOOL_ALLOC(pool, address, size);
#else
  (void)pool;
  sanitize_used(address, size);
#endif
}

static inline void sanitize_pool_begin(const void *pool) {
#ifdef CRD_VALGRIND
  VALGRIND_CREATE_MEMPOOL(pool, 0, 0);
#else
  (void)pool;
#endif
}

/* None of its blocks is left. */
static inline void sanitize_pool_emptied(const void *pool) {
#ifdef CRD_VALGRIND
  VALGRIND_MEMPOOL_TRIM(pool, pool, 0);
#else
  (void)pool;
#endif
}

static inline void sanitize_pool_end(const void *pool) {
#ifdef CRD_VALGRIND
  VALGRIND_DESTROY_MEMPOOL(pool);
#else
  (void)pool;
#endif
}

#endif
