/* Says what an object is, what lies at an address, and what is wrong with an address or a word. It works at any moment,
 * in a collection, too, and in a signal handler on a small stack: it changes nothing, takes no lock, allocates nothing,
 * and makes no system call but those that change the access to pages. */
#ifndef CRADLE_GC_INSTRUMENTS_DESCRIBE_H
#define CRADLE_GC_INSTRUMENTS_DESCRIBE_H

#include <cradle/inspect.h>

/* Describes an object, an old or a young one. */
cradle_object_info crd_object_info(const cradle_heap *heap, const cradle_word *object);
/* Which poison a word is: what was in the place that now holds it. NULL: the word is no poison. */
const char *crd_poison_cause(uint64_t word);
/* What is wrong with an address as a reference; NULL: an object may be there. Outside of the heap the program may have
 * objects of its own, but not everywhere. tagged: there an address that is no multiple of 8 has a tag. */
const char *crd_reference_fault(const cradle_heap *heap, uintptr_t address, bool tagged);

#endif
