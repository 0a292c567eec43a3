/* One verification of a heap, as the files that do it share it:
 *
 *     verify.c          the order of all that follows
 *     verify_bounds.c   pointers and counts: what can be looked at without a walk, and what a walk relies on
 *     verify_tables.c   spans and arenas before the walk; what is kept beside the objects after it
 *     verify_objects.c  the walk over roots and objects
 *     verify_words.c    the message about what is wrong
 *
 *   [verification.1] The first fault is the one that is reported: once there is one, no more is looked at.
 *   [verification.2] A verification leaves the heap as it was, but for the allocators, which it retires.
 */
#ifndef CRADLE_GC_INSTRUMENTS_VERIFICATION_H
#define CRADLE_GC_INSTRUMENTS_VERIFICATION_H

#include "gc/instruments/sorted_words.h"
#include "gc/instruments/young_set.h"

/* What the collector's stacks held when the verification began, sorted so that it can be looked up. */
typedef struct verify_sets {
  sorted_words recorded;   /* slots */
  sorted_words items;      /* slots [stored.1] */
  sorted_words remembered; /* objects */
  sorted_words grey;       /* marked objects on the mark stack */
  sorted_words registered; /* since the last minor collection */
} verify_sets;

/* Young objects. No bitmap says where they are, so they are found by following references from roots and old objects.
 * Those that were found and not looked into yet wait on the mark stack, above what marking has there. */
typedef struct verify_young {
  young_set seen;
  crd_word_stack *waiting;
  cradle_word *waiting_base;
  bool incomplete; /* memory for them ran out */
} verify_young;

/* Whose slots are being looked at, and which rules hold for them. */
typedef struct verify_holder {
  cradle_word *object; /* NULL: a root */
  const char *root;    /* a name for roots that cannot be told by their address */
  bool is_old;         /* the next minor collection looks at a slot only if the barrier has remembered it */
  bool is_traced;      /* the same holds for marking: the object is black */
  bool is_unwritten;   /* a prebuilt object that was never remembered: no collection looks at it */
} verify_holder;

typedef struct crd_verification {
  cradle_heap *heap;
  crd_text *text; /* empty while all is well */
  verify_sets sets;
  verify_young young;
  verify_holder holder;
  /* The first old object with a broken header. It is not reported at once: if a reference to it is found later, the
   * message can name the holder, which helps more. */
  const cradle_word *broken;
} crd_verification;

static inline bool verify_failed(const crd_verification *verification) {
  return verification->text->length != 0;
}

#endif
