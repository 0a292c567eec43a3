/* How the public headers are written for each compiler: the machines that are refused, how functions are declared, and
 * the permission to collect that clang's analysis follows. A program does not name these. */
#ifndef CRADLE_DETAIL_COMPILER_H
#define CRADLE_DETAIL_COMPILER_H

#if defined(__ILP32__) || !(defined(__x86_64__) || defined(__aarch64__) || (defined(__riscv) && __riscv_xlen == 64))
#error "cradle needs a 64-bit little-endian machine with 64-bit pointers: x86-64, 64-bit Arm or RISC-V"
#endif
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "cradle needs a little-endian machine"
#endif
#if !defined(__GNUC__) && !defined(__clang__)
#error "cradle needs gcc or clang"
#endif

/* The sanitizer that this file is compiled with. A program may test these two. */
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

#ifdef __cplusplus
#define CRADLE_BEGIN_DECLS extern "C" {
#define CRADLE_END_DECLS }
#else
#define CRADLE_BEGIN_DECLS
#define CRADLE_END_DECLS
#endif

/* How the functions of these headers are declared: exported, unless who vendors the library defines it otherwise
 * (docs/building.md); always inlined; out of the way. */
#ifndef CRADLE_API
#define CRADLE_API __attribute__((__visibility__("default")))
#endif
/* Data. cradle.c of tools/amalgamate defines it without extern, so that CRADLE_API can be static there. */
#ifndef CRADLE_API_DATA
#define CRADLE_API_DATA CRADLE_API extern
#endif
#define CRADLE_INLINE static inline __attribute__((__always_inline__))
#define CRADLE_COLD __attribute__((__noinline__, __cold__))
#define CRADLE_NOINLINE __attribute__((__noinline__))
#define CRADLE_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define CRADLE_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
/* The compiler warns where the result is not used. */
#define CRADLE_RESULT_MATTERS __attribute__((__warn_unused_result__))

/* A name that the macro around it makes for itself, and a line's number for messages. */
#define CRADLE_JOIN_(a, b) a##b
#define CRADLE_JOIN(a, b) CRADLE_JOIN_(a, b)
#define CRADLE_TEXT_(line) #line
#define CRADLE_TEXT(line) CRADLE_TEXT_(line)

/* How the format of a function is checked. On Windows gcc means the conversions of an old C library by "printf". */
#if defined(_WIN32) && !defined(__clang__)
#define CRADLE_PRINTF_KIND __gnu_printf__
#else
#define CRADLE_PRINTF_KIND __printf__
#endif

/* Evaluates to 0. Where the condition is false the program does not compile; C compilers print the reason. */
#ifdef __cplusplus
#define CRADLE_REQUIRE_(condition, why) (0 * sizeof(char[(condition) ? 1 : -1]))
#else
#define CRADLE_REQUIRE_(condition, why) \
  (0 * sizeof(struct { \
     char nothing; \
     _Static_assert(condition, why); \
   }))
#endif

/* What the annotations of cradle/base.h are made of: clang's attributes, and the permission to collect as a thing that
 * a function can have. */
#if defined(__clang__)
#define CRADLE_ATTRIBUTE(x) __attribute__((x))
#else
#define CRADLE_ATTRIBUTE(x)
#endif
struct CRADLE_ATTRIBUTE(capability("permission to collect")) cradle_permission {
  char nothing;
};
/* Named in annotations only; it is never defined. */
extern struct cradle_permission cradle_collection;

/* Reads a header, or a part of it, whose flags another mutator may change meanwhile. A plain read of an aligned word
 * sees the old or the new value. ThreadSanitizer gets an atomic read, so that it does not report this race. */
#ifdef CRADLE_TSAN
#define CRADLE_HEADER_(type, address) __atomic_load_n((const type *)(const void *)(address), __ATOMIC_RELAXED)
#else
#define CRADLE_HEADER_(type, address) (*(const type *)(const void *)(address))
#endif

#endif
