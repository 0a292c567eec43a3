/* The verifier's messages: what is wrong, in which slot of which object or root, and which collection was the last.
 * Only the first fault of a verification is kept: what follows may be its consequence. */
#ifndef CRADLE_GC_INSTRUMENTS_VERIFY_WORDS_H
#define CRADLE_GC_INSTRUMENTS_VERIFY_WORDS_H

#include "gc/instruments/verification.h"

/* Reports a fault in a slot of the holder; NULL: in no slot. */
CRADLE_COLD void crd_fault(crd_verification *verification, const char *what, const cradle_word *slot);
/* Reports a fault of an object. slot: the slot of the holder that refers to it, or NULL. */
CRADLE_COLD void crd_fault_of(crd_verification *verification, const char *what, const cradle_word *object,
                              const cradle_word *slot);
/* Reports a fault at an address; 0: at none. */
CRADLE_COLD void crd_fault_at(crd_verification *verification, const char *what, uintptr_t address);

#endif
