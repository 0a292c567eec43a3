/* One verification of a heap, for the files that do it: verify.c has the order, verify_bounds.c looks at what can be
 * seen without a walk, verify_objects.c walks over roots and objects, verify_tables.c compares what is kept beside the
 * objects with them, and verify_words.c says what is wrong.
 *
 *   [verification.1] The first fault is the one that is reported: once there is one, no more is looked at.
 *   [verification.2] A verification leaves the heap as it was, but for the allocators, which it retires.
 */
#ifndef CRADLE_GC_INSTRUMENTS_VERIFICATION_H
#define CRADLE_GC_INSTRUMENTS_VERIFICATION_H

#include "gc/base/text.h"
#include "gc/instruments/sorted_words.h"
#include "gc/instruments/young_set.h"

/* What the collector's stacks held at the beginning. */
typedef struct verify_sets {
  sorted_words recorded;   /* slots */
  sorted_words remembered; /* objects */
  sorted_words grey;       /* marked objects on the mark stack */
  sorted_words registered; /* since the last minor collection */
} verify_sets;

/* Young objects, which are found by following references. Those that were found and not looked into wait on the mark
 * stack, above what was on it. */
typedef struct verify_young {
  young_set seen;
  crd_word_stack *waiting;
  cradle_word *waiting_base;
  bool incomplete; /* memory for them ran out */
} verify_young;

/* Whose slots are being looked at. */
typedef struct verify_holder {
  cradle_word *object; /* NULL: a root */
  const char *root;    /* what a root is whose slot no table tells */
  bool is_old;         /* the next minor collection looks at its slots only where a barrier says so */
  bool is_traced;      /* and marking does not look at them again either */
  bool is_unwritten;   /* a prebuilt object that no collection looks at */
} verify_holder;

typedef struct crd_verification {
  cradle_heap *heap;
  crd_text *text; /* empty while all is well */
  verify_sets sets;
  verify_young young;
  verify_holder holder;
  /* the first old object that cannot be looked into, to which nothing seen so far refers */
  const cradle_word *broken;
} crd_verification;

static inline bool verify_failed(const crd_verification *verification) {
  return verification->text->length != 0;
}

#endif
