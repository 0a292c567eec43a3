/* Which sanitizer the caller is compiled with, and how allocation reports to it. A program does not call these; it may
 * test CRADLE_ASAN and CRADLE_TSAN. */
#ifndef CRADLE_DETAIL_SANITIZERS_H
#define CRADLE_DETAIL_SANITIZERS_H

#include <cradle/base.h>

/* The unused nursery is poisoned when library and caller are built with AddressSanitizer, or both with
 * CRADLE_VALGRIND=1. */
#if defined(__SANITIZE_ADDRESS__)
#define CRADLE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CRADLE_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define CRADLE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CRADLE_TSAN 1
#endif
#endif

CRADLE_BEGIN_DECLS

/* Tells AddressSanitizer or valgrind that the size bytes at address may be used. Does not collect. */
#ifdef CRADLE_ASAN
void __asan_unpoison_memory_region(void const volatile *address, size_t size);
#define CRADLE_UNPOISON(mutator, address, size) __asan_unpoison_memory_region((address), (size))
#elif defined(CRADLE_VALGRIND) && CRADLE_VALGRIND
CRADLE_API void cradle_handed_out(const cradle_mutator *mutator, void *address, size_t size);
#define CRADLE_UNPOISON(mutator, address, size) cradle_handed_out((mutator), (address), (size))
#else
#define CRADLE_UNPOISON(mutator, address, size) ((void)0)
#endif

CRADLE_END_DECLS

#endif
