/* One verification of a heap: what gc/verify.c has found so far, and the words for a fault, of gc/verify_words.c. */
#ifndef CRADLE_GC_VERIFY_H
#define CRADLE_GC_VERIFY_H

#include "gc/heap.h"

/* Words in ascending order. */
typedef struct sorted_words {
  cradle_word *words;
  size_t count;
} sorted_words;

typedef struct verify_context {
  cradle_heap *heap;
  crd_text *text;          /* empty while all is well */
  uint64_t *seen;          /* a bit a word of the nursery: a young object that was found */
  crd_word_stack *pending; /* young objects found and not looked into: the mark stack, above what is on it */
  cradle_word *pending_base;
  sorted_words recorded;   /* slots */
  sorted_words remembered; /* objects */
  sorted_words grey;       /* marked objects on the mark stack */
  sorted_words registered; /* since the last minor collection */
  const cradle_word *holder; /* NULL: a root */
  const char *other_root;    /* what a root is of which no table tells the slot */
  bool holder_is_old, holder_is_traced;
  bool holder_is_unwritten;  /* a prebuilt object that no collection looks at */
  const cradle_word *broken; /* the first old object that cannot be looked into, to which nothing seen so far refers */
  bool incomplete;         /* memory for the walk ran out */
} verify_context;

static inline bool verify_failed(const verify_context *context) {
  return context->text->length != 0;
}

/* Each says what is wrong, unless something was before. */
CRADLE_COLD void crd_fault(verify_context *context, const char *what, const cradle_word *slot); /* in the slot of the holder */
/* About an object, and the slot of the holder that refers to it, or NULL; or where its header cannot be trusted an address; 0: not
 * known. */
CRADLE_COLD void crd_fault_of(verify_context *context, const char *what, const cradle_word *object, const cradle_word *slot);
CRADLE_COLD void crd_fault_at(verify_context *context, const char *what, uintptr_t address);
/* The range's end lies below its beginning: collections take it for an empty one, and what it holds dies. */
CRADLE_COLD void crd_fault_of_range(verify_context *context, const cradle_root_range *range);

#endif
