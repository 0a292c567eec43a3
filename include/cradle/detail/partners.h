/* What single inline functions call in the rare case. A program does not call these; generated code calls the ones that
 * docs/jit.md names. */
#ifndef CRADLE_DETAIL_PARTNERS_H
#define CRADLE_DETAIL_PARTNERS_H

#include <cradle/base.h>

CRADLE_BEGIN_DECLS

/* cradle_safepoint, when a safepoint was asked for. */
CRADLE_API void cradle_safepoint_slow(cradle_mutator *mutator) CRADLE_MAY_COLLECT;
/* cradle_identity_hash of an object that was never asked: gives it its hash. */
CRADLE_API CRADLE_NOINLINE uint32_t cradle_identity_hash_slow(cradle_mutator *mutator, void *object);
/* cradle_weak_get while weak slots may hold references to the dead: whether the word of a slot is one. */
CRADLE_API bool cradle_weak_is_dead(cradle_mutator *mutator, cradle_word word, bool value);

CRADLE_END_DECLS

#endif
