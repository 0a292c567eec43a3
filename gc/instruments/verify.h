/* The verifier: walks the whole heap and reports the first thing that is wrong with it.
 *
 *   - Does each reference lead to the start of an object?
 *   - Is each old object that refers to a young one remembered, or its slot recorded?
 *   - While a major collection marks: is all marked that a traced object refers to?
 *   - Do headers, sizes, bitmaps, tables and counts agree?
 *
 * What it finds is more often a mistake of the embedder's than of the collector's: a missing barrier, a root that was
 * not registered, a wrong descriptor. So the message names holder, slot and type.
 *
 *     verify.c          the order of all that follows, and the messages
 *     verify_parts.c    what can be looked at without a walk, and what a walk relies on; after the walk, what is kept
 *                       beside the objects
 *     verify_objects.c  the walk over roots and objects
 *
 * A verification leaves the heap as it was, but for the allocators, which it retires.
 *
 *   [verification.1] The first fault is the one that is reported: once there is one, no more is looked at.
 */
#ifndef CRADLE_GC_INSTRUMENTS_VERIFY_H
#define CRADLE_GC_INSTRUMENTS_VERIFY_H

#include "gc/instruments/walk.h"

/* Verifies the heap; not to be called in a collection. false: *text says what is wrong. */
bool crd_verify(cradle_heap *heap, crd_text *text);

/* --- for the files of the verifier --- */

/* The words of a stack without their tags, sorted so that they can be looked up. */
typedef struct sorted_words {
  cradle_word *words;
  size_t count;
} sorted_words;

/* What the collector's stacks held when the verification began. */
enum {
  VERIFY_RECORDED,   /* slots */
  VERIFY_ITEMS,      /* slots [stored.1] */
  VERIFY_REMEMBERED, /* objects */
  VERIFY_GREY,       /* marked objects on the mark stack */
  VERIFY_REGISTERED, /* since the last minor collection */
  VERIFY_SETS
};

/* Whose slots are being looked at, and which rules hold for them. */
typedef struct verify_holder {
  cradle_word *object; /* NULL: a root */
  bool is_old;         /* the next minor collection looks at a slot only if the barrier has remembered it */
  bool is_traced;      /* the same holds for marking: the object is black */
} verify_holder;

typedef struct crd_verification {
  cradle_heap *heap;
  crd_text *text; /* empty while all is well */
  sorted_words sets[VERIFY_SETS];
  young_search young;
  crd_root_at at;
  verify_holder holder;
  /* The first old object with a broken header. It is not reported at once: if a reference to it is found later, the
   * message can name the holder, which helps more. */
  const cradle_word *broken;
} crd_verification;

static inline bool verify_failed(const crd_verification *verification) {
  return verification->text->length != 0;
}

bool crd_verify_has(const crd_verification *verification, int set, uintptr_t word);

/* Before the heap's state changes, because the mutator's pointers are those of the running program: whether stacks,
 * nursery, mutator, allocators, sampling and quarantine are within their bounds. With a wrong pointer, the walk would
 * read outside of the heap. */
void crd_verify_bounds(crd_verification *verification);
/* Before the walk: looks at arenas, spans and the bounds of root ranges. Retires the allocators. */
void crd_verify_spans(crd_verification *verification);
/* When stacks and spans were found sound: every reference leads to the start of an object, every object has a possible
 * header and size, and a collection will look at every slot that it must look at. */
void crd_verify_objects(crd_verification *verification);
/* After the walk, which found every object in order: compares the remembered set, pins, handles, ids and the lists of
 * services with the objects. */
void crd_verify_tables(crd_verification *verification);

/* Reports a fault in a slot of the holder; NULL: in no slot. what: a format of gc/base/text.h. */
CRADLE_COLD void crd_fault(crd_verification *verification, const cradle_word *slot, const char *what, ...)
    CRD_PRINTF(3, 4);
/* Reports a fault of an object. slot: the slot of the holder that refers to it, or NULL. */
CRADLE_COLD void crd_fault_of(crd_verification *verification, const char *what, const cradle_word *object,
                              const cradle_word *slot);
/* Reports a fault at an address; 0: at none. */
CRADLE_COLD void crd_fault_at(crd_verification *verification, const char *what, uintptr_t address);

#endif
