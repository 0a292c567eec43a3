/* Checks in three tiers.
 *
 *   CHECK-like misuse   always on, on cold paths: crd_misuse tells the embedder what was done wrong, through the heap's
 *                       handler, and does not return
 *   ASSERT              the collector's own invariants, in builds with assertions; the condition still compiles in others
 *   *_check, verify     a whole structure at a time (gc/verify.c)
 */
#ifndef CRADLE_GC_CHECK_H
#define CRADLE_GC_CHECK_H

#include <cradle/base.h>

#ifndef CRADLE_ASSERTIONS
#define CRADLE_ASSERTIONS 0
#endif

#define ASSERT(condition, message)                                                       \
  do {                                                                                   \
    if (CRADLE_ASSERTIONS && CRADLE_UNLIKELY(!(condition)))                              \
      crd_assertion_failed(__FILE__ ":" CRD_STRING(__LINE__) ": " message " [" #condition "]"); \
  } while (0)
#define CRD_STRING_(x) #x
#define CRD_STRING(x) CRD_STRING_(x)

/* A bound that only much data comes to. The fuzz target is built with small ones, so that some hundred bytes of input do. */
#ifndef CRADLE_SMALL_LIMITS
#define CRADLE_SMALL_LIMITS 0
#endif
#define LIMIT(usual, small) (CRADLE_SMALL_LIMITS ? (small) : (usual))

/* Writes the message to standard error and aborts. */
CRADLE_COLD _Noreturn void crd_assertion_failed(const char *message);
CRADLE_COLD _Noreturn void crd_out_of_memory_abort(const char *message);
/* Hands the message to the heap's misuse handler (the default one when heap is NULL) and aborts if that returns. */
CRADLE_COLD _Noreturn void crd_misuse(cradle_heap *heap, const char *message);

/* Messages are put together in a buffer of the caller's, cut when it is full, always terminated. */
typedef struct crd_text {
  char buffer[256];
  size_t length;
} crd_text;
void crd_text_add(crd_text *text, const char *words);
void crd_text_number(crd_text *text, uint64_t number);
void crd_text_hex(crd_text *text, uint64_t number);

#endif
