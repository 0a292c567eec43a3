/* Sealed objects: those of a sealed image (cradle/image.h), which never die and never move. Their mark bits are always
 * set, so marking takes them for traced and sweeping leaves them out. What they refer to is sealed, too, until the
 * program stores into one: that object is *opened*, and each major collection traces it, as it traces roots.
 *
 *   [sealed.1] The arenas of sealed objects are below sealed_bytes and have the flag ARENA_SEALED. Their mark bits are
 *              their allocation bits, and nothing is allocated in them.
 *   [sealed.2] A sealed object that refers to one that is not sealed is opened, or all_opened is set.
 */
#ifndef CRADLE_GC_OLD_SEALED_H
#define CRADLE_GC_OLD_SEALED_H

#include "gc/old/marking.h"

/* Seals all objects: the heap has only those of an image. */
void crd_seal(crd_old *old);
/* The program stores into a sealed object. */
void crd_sealed_open(crd_space *space, const cradle_word *object);
/* Marking begins: the opened objects turn grey. */
void crd_sealed_mark(crd_marking *marking);

#endif
