/* Explains an address or a word that led a program astray, for the fault handler and for messages.
 *
 * A fault handler calls this while anything may be going on, so everything here can run in a signal handler, on a small
 * stack: it takes no lock, allocates nothing, and makes no system call but those that change the access to pages. */
#ifndef CRADLE_GC_INSTRUMENTS_EXPLAIN_H
#define CRADLE_GC_INSTRUMENTS_EXPLAIN_H

#include <cradle/base.h>

/* Which poison a word is: what was in the place that now holds it. NULL: the word is no poison. */
const char *crd_poison_cause(uint64_t word);
/* What is wrong with a reference that does not lead into the heap. NULL: nothing, the program may have objects of its
 * own there. tagged: the reference may have a tag. */
const char *crd_outside_fault(const cradle_heap *heap, uintptr_t address, bool tagged);

#endif
