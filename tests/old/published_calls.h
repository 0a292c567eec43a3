/* The second core and the old generation as test_published.c has them compiled: the test acts between two accesses to
 * words that both sides read or write. It has the loop of marking so, too, which is inline. */
#ifndef TESTS_PUBLISHED_CALLS_H
#define TESTS_PUBLISHED_CALLS_H

void accessed(const void *word);
#define __atomic_load_n(word, order) (accessed(word), __atomic_load_n(word, order))
#define __atomic_store_n(word, value, order) (__atomic_store_n(word, value, order), accessed(word))

#ifndef REPLACED_CALLS
#include "gc/old/mark_loop.h"
#undef __atomic_load_n
#undef __atomic_store_n
#endif

#endif
