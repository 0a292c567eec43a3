/* Unwinding: what a function that was left with longjmp or by an exception may have left open. */
#ifndef CRADLE_GC_UNWIND_H
#define CRADLE_GC_UNWIND_H

#include <cradle/mutator.h>

/* Scoped roots of frames that are gone are misuse. Not every call looks at all of them. what: the public function. */
void crd_unwind_check_scopes(cradle_mutator *mutator, const char *what);

#endif
