/* What the verifier says of a fault: what is wrong, in which slot, whose that is, and what the last collection was.
 * Nothing, if something was wrong before. */
#ifndef CRADLE_GC_INSTRUMENTS_VERIFY_WORDS_H
#define CRADLE_GC_INSTRUMENTS_VERIFY_WORDS_H

#include "gc/instruments/verification.h"

/* In the slot of the holder. */
CRADLE_COLD void crd_fault(crd_verification *verification, const char *what, const cradle_word *slot);
/* About an object, and the slot of the holder that refers to it, or NULL. */
CRADLE_COLD void crd_fault_of(crd_verification *verification, const char *what, const cradle_word *object,
                              const cradle_word *slot);
/* About an address, or (0) nothing that has one. */
CRADLE_COLD void crd_fault_at(crd_verification *verification, const char *what, uintptr_t address);

#endif
