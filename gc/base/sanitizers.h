/* The one header that knows AddressSanitizer, ThreadSanitizer and valgrind. Unused nursery memory is poisoned, so that
 * a use of memory that was never allocated, or of an object that has moved away, is reported where it happens.
 *
 * Valgrind reports the same if library and callers are compiled with CRADLE_VALGRIND=1, and also a word of an object
 * that is read before it was written. docs/design/instruments.md says why the nursery is a pool of valgrind's.
 */
#ifndef CRADLE_GC_BASE_SANITIZERS_H
#define CRADLE_GC_BASE_SANITIZERS_H

#include <cradle/detail/compiler.h>

#if defined(CRADLE_VALGRIND) && CRADLE_VALGRIND && !defined(CRADLE_ASAN)
#define CRD_VALGRIND 1
#endif

/* unused: memory that must not be touched; used: memory that may be written, then read; known: memory that may be
 * read as it is. A pool is named by any address of the heap's own. Objects and reservations are handed out of it,
 * and when it is emptied, none of its blocks is left. */
#ifdef CRADLE_ASAN
#include <sanitizer/asan_interface.h>
#define sanitize_unused(address, size) __asan_poison_memory_region((address), (size))
#define sanitize_used(address, size) __asan_unpoison_memory_region((address), (size))
#define sanitize_known sanitize_used
#elif defined(CRD_VALGRIND)
#include <valgrind/memcheck.h>
#define sanitize_unused(address, size) ((void)VALGRIND_MAKE_MEM_NOACCESS((address), (size)))
#define sanitize_used(address, size) ((void)VALGRIND_MAKE_MEM_UNDEFINED((address), (size)))
#define sanitize_known(address, size) ((void)VALGRIND_MAKE_MEM_DEFINED((address), (size)))
#else
#define sanitize_unused(address, size) ((void)(address), (void)(size))
#define sanitize_used(address, size) ((void)(address), (void)(size))
#define sanitize_known(address, size) ((void)(address), (void)(size))
#endif

#ifdef CRD_VALGRIND
#define sanitize_handed_out(pool, address, size) VALGRIND_MEMPOOL_ALLOC((pool), (address), (size))
#define sanitize_pool_begin(pool) VALGRIND_CREATE_MEMPOOL((pool), 0, 0)
#define sanitize_pool_emptied(pool) VALGRIND_MEMPOOL_TRIM((pool), (pool), 0)
#define sanitize_pool_end(pool) VALGRIND_DESTROY_MEMPOOL((pool))
#else
#define sanitize_handed_out(pool, address, size) ((void)(pool), sanitize_used((address), (size)))
#define sanitize_pool_begin(pool) ((void)(pool))
#define sanitize_pool_emptied(pool) ((void)(pool))
#define sanitize_pool_end(pool) ((void)(pool))
#endif

/* For the one function that reads what another thread may write at the same time (gc/old/mark_loop.h).
 * ThreadSanitizer would report that, and it is meant. The function must not be inline in such builds, or its caller
 * would be checked in its place. In functions with no_sanitize, clang still checks atomic accesses. */
#if defined CRADLE_TSAN && defined __clang__
#define SANITIZE_RACY static __attribute__((noinline, disable_sanitizer_instrumentation))
#elif defined CRADLE_TSAN
#define SANITIZE_RACY static __attribute__((noinline, no_sanitize("thread")))
#else
#define SANITIZE_RACY CRD_ALWAYS_INLINE
#endif

#endif
