/* The second core and the old generation as test_mark_beside.c has them compiled: the test acts between two accesses to
 * words that both sides read or write. It has the loop of marking so, too, which is inline. */
#ifndef TESTS_MARK_BESIDE_CALLS_H
#define TESTS_MARK_BESIDE_CALLS_H

void accessed(const void *word);
#define __atomic_load_n(word, order) (accessed(word), __atomic_load_n(word, order))
#define __atomic_store_n(word, value, order) (__atomic_store_n(word, value, order), accessed(word))

#ifndef REPLACED_CALLS
#include "gc/old/mark_loop.h"
#undef __atomic_load_n
#undef __atomic_store_n
#endif

#endif
