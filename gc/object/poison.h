/* Poison: a word that says why memory is dead. Each cause has its own word, above all addresses. So its use as a
 * reference faults, and gc/instruments/describe.c can say what was there. */
#ifndef CRADLE_GC_OBJECT_POISON_H
#define CRADLE_GC_OBJECT_POISON_H

#include <cradle/base.h>

#define POISON_SWEPT UINT64_C(0xdead0001dead0001)     /* freed by a sweep */
#define POISON_NURSERY UINT64_C(0xdead0002dead0002)   /* an object that moved or died in a minor collection was here */
#define POISON_UNUSED UINT64_C(0xdead0003dead0003)    /* nursery memory under quarantine, never written to */
#define POISON_COMPACTED UINT64_C(0xdead0004dead0004) /* an object that a compaction moved was here */

/* Fills count words. */
static inline void poison_words(cradle_word *words, size_t count, uint64_t poison) {
  for (size_t i = 0; i < count; i++) words[i] = poison;
}

#endif
