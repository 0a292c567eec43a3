/* Checks in three tiers.
 *
 *   crd_misuse          what the embedder did wrong: always on, on cold paths (gc/report/misuse.h)
 *   ASSERT              the collector's own invariants, in builds with assertions; other builds compile the condition,
 *                       so that it stays correct, and do not evaluate it
 *   *_check, verify     a whole structure at a time (gc/instruments/verify.c)
 */
#ifndef CRADLE_GC_BASE_CHECK_H
#define CRADLE_GC_BASE_CHECK_H

#include <cradle/base.h>

#ifndef CRADLE_ASSERTIONS
#define CRADLE_ASSERTIONS 0
#endif

#define ASSERT(condition, message) \
  do { \
    if (CRADLE_ASSERTIONS && CRADLE_UNLIKELY(!(condition))) \
      crd_assertion_failed(__FILE__ ":" CRD_STRING(__LINE__) ": " message " [" #condition "]"); \
  } while (0)
#define CRD_STRING_(x) #x
#define CRD_STRING(x) CRD_STRING_(x)

#define CRD_ALWAYS_INLINE static inline __attribute__((always_inline))

/* A variable of each thread. glibc keeps room for a few of them in shared objects that dlopen loads, so that reading
 * one calls nothing. Other C libraries refuse to load such an object (musl) or may do so. */
#ifdef __GLIBC__
#define CRD_THREAD_LOCAL _Thread_local __attribute__((tls_model("initial-exec")))
#else
#define CRD_THREAD_LOCAL _Thread_local
#endif

/* A bound that only large amounts of data reach. The fuzz target is built with small ones, which a few hundred bytes
 * of input reach. */
#ifndef CRADLE_SMALL_LIMITS
#define CRADLE_SMALL_LIMITS 0
#endif
#define LIMIT(usual, small) (CRADLE_SMALL_LIMITS ? (small) : (usual))

/* Writes kind and message to standard error, as one line. */
void crd_say(const char *kind, const char *message);
CRADLE_COLD _Noreturn void crd_assertion_failed(const char *message);
/* Writes kind and message, then where the call came from, and aborts. The second writes only where. */
CRADLE_COLD _Noreturn void crd_abort(const char *kind, const char *message);
CRADLE_COLD _Noreturn void crd_abort_here(void);

/* Writes calls that belong to last words, and hands them to the runtime, which names their source lines after the last
 * ones (runtime/faults.c). crd_call_namer is atomic; NULL: nobody names them. */
struct crd_backtrace;
typedef void crd_name_calls(const struct crd_backtrace *trace, bool is_last);
extern crd_name_calls *crd_call_namer;
CRADLE_COLD void crd_write_calls(const struct crd_backtrace *trace, bool is_last);

#endif
