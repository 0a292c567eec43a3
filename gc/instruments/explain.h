/* What a heap knows of an address or a word that led a program astray. Everything here can run in a signal handler, on
 * a small stack: it takes no lock, allocates nothing and calls nothing but the page protection. */
#ifndef CRADLE_GC_INSTRUMENTS_EXPLAIN_H
#define CRADLE_GC_INSTRUMENTS_EXPLAIN_H

#include <cradle/base.h>

/* What was where the poison word lies, or NULL when the word is no poison. */
const char *crd_poison_cause(uint64_t word);
/* What is wrong with a reference out of the heap, or NULL: objects of the program's own lie there.
 * tagged: it may have a tag. */
const char *crd_outside_fault(const cradle_heap *heap, uintptr_t address, bool tagged);

#endif
