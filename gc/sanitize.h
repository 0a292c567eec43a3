/* The one header that knows AddressSanitizer and valgrind. Unused nursery memory is poisoned, so that a use of memory that was
 * never allocated, or of an object that has moved away, is reported where it happens. valgrind is told when library and callers
 * are compiled with CRADLE_VALGRIND=1; it then knows of words of objects that were never written, too: unused memory becomes used
 * where it is handed out, to be written first, and known where the collector reads again what was in it. */
#ifndef CRADLE_GC_SANITIZE_H
#define CRADLE_GC_SANITIZE_H

#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CRD_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define CRD_ASAN 1
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
#elif defined(CRADLE_VALGRIND) && CRADLE_VALGRIND
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

#endif
