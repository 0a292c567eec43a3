/* What a heap knows of an address or a word that led a program astray. Everything here can run in a signal handler, on
 * a small stack: it takes no lock, allocates nothing and calls nothing but the page protection. */
#ifndef CRADLE_GC_INSTRUMENTS_EXPLAIN_H
#define CRADLE_GC_INSTRUMENTS_EXPLAIN_H

#include <stdint.h>

/* What was where the poison word lies, or NULL when the word is no poison. */
const char *crd_poison_cause(uint64_t word);

#endif
