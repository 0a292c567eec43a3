/* One verification of a heap, as the files that do it share it:
 *
 *     verify.c          the order of all that follows
 *     verify_bounds.c   pointers and counts: what can be looked at without a walk, and what a walk relies on
 *     verify_tables.c   spans and arenas before the walk; what is kept beside the objects after it
 *     verify_objects.c  the walk over roots and objects
 *     verify_words.c    the message about what is wrong, in which slot of which object or root, and which collection
 *                       was the last
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

/* Before the heap's state changes, because the mutator's pointers are those of the running program: whether stacks,
 * nursery, mutator, allocators, sampling and quarantine are within their bounds. With a wrong pointer, the walk would
 * read outside of the heap. */
void crd_verify_bounds(crd_verification *verification);
/* Before the walk: looks at arenas, spans and the bounds of root ranges. Retires the allocators. */
void crd_verify_spans(crd_verification *verification);
/* When stacks and spans were found sound: every reference leads to the start of an object, every object has a possible
 * header and size, and a collection will look at every slot that it must look at. */
void crd_verify_objects(crd_verification *verification);
/* After the walk, which found every object in order: compares the remembered set, pins, handles, ids, prebuilt objects
 * and the lists of services with the objects. */
void crd_verify_tables(crd_verification *verification);

/* Reports a fault in a slot of the holder; NULL: in no slot. */
CRADLE_COLD void crd_fault(crd_verification *verification, const char *what, const cradle_word *slot);
/* Reports a fault of an object. slot: the slot of the holder that refers to it, or NULL. */
CRADLE_COLD void crd_fault_of(crd_verification *verification, const char *what, const cradle_word *object,
                              const cradle_word *slot);
/* Reports a fault at an address; 0: at none. */
CRADLE_COLD void crd_fault_at(crd_verification *verification, const char *what, uintptr_t address);

#endif
