/* A copy of the words of a stack in ascending order. The verifier asks for every old object whether it is remembered
 * and for every slot whether it is recorded; in a stack that would be a search from end to end each time. */
#ifndef CRADLE_GC_INSTRUMENTS_SORTED_WORDS_H
#define CRADLE_GC_INSTRUMENTS_SORTED_WORDS_H

#include <stdlib.h>

#include "gc/base/word_stack.h"

typedef struct sorted_words {
  cradle_word *words;
  size_t count;
} sorted_words;

/* The lowest bits of an entry are tags. On the mark stack bit 0 says that the entry is the rest of an array, and then
 * the entry below is an index and no object. */
#define ENTRY_TAG ((cradle_word)1)
#define ENTRY_TAGS ((cradle_word)7)

static inline int sorted_words_compare(const void *a, const void *b) {
  const cradle_word *x = a, *y = b;
  return *x < *y ? -1 : *x > *y;
}

/* Copies the entries without their tags. has_indices: it is the mark stack, whose indices are left out. false: memory
 * was refused. */
static inline bool sorted_words_init(sorted_words *set, const crd_word_stack *stack, bool has_indices) {
  *set = (sorted_words){.words = malloc((word_stack_count(stack) + 1) * sizeof *set->words)};
  if (set->words == NULL) return false;
  for (const cradle_word *entry = stack->top; entry > stack->base;) {
    cradle_word word = *--entry;
    if (has_indices && (word & ENTRY_TAG)) entry--;
    set->words[set->count++] = word & ~ENTRY_TAGS;
  }
  ASSERT(set->count <= word_stack_count(stack), "a set has more words than its stack");
  qsort(set->words, set->count, sizeof *set->words, sorted_words_compare);
  return true;
}

static inline void sorted_words_fini(sorted_words *set) {
  free(set->words);
}

static inline bool sorted_words_contain(const sorted_words *set, cradle_word word) {
  return set->count != 0 && bsearch(&word, set->words, set->count, sizeof word, sorted_words_compare) != NULL;
}

#endif
