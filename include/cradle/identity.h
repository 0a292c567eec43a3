/* Identity: how a program tells one object from another while objects move (docs/identity.md).
 *
 * The identity hash, 24 bits in the object's header, is for hash tables that are keyed by the object itself. The id,
 * kept beside the object, is a number that no other object of the heap ever has. An object that is asked for neither
 * costs nothing more. Both end with the heap. Nothing here collects.
 */
#ifndef CRADLE_IDENTITY_H
#define CRADLE_IDENTITY_H

#include <cradle/detail/partners.h>

CRADLE_BEGIN_DECLS

/* For generated code: the hash is (header >> CRADLE_HASH_SHIFT) & CRADLE_HASH_MASK, and 0 if nobody has asked for it
 * yet. */
#define CRADLE_HASH_SHIFT 39
#define CRADLE_HASH_MASK 0xffffffu

/* The object's identity hash, from 1 to CRADLE_HASH_MASK, the same at every call. The first 16,777,215 objects that a
 * heap is asked about have different hashes, in an order that is the same in every run; after that they repeat. All
 * bits are mixed, so a table may use the low bits. Costs a load and a shift, and a call the first time; nothing in
 * collections. */
CRADLE_INLINE uint32_t cradle_identity_hash(cradle_mutator *mutator, void *object) {
  uint32_t hash = (uint32_t)(CRADLE_HEADER_(cradle_word, object) >> CRADLE_HASH_SHIFT) & CRADLE_HASH_MASK;
  if (CRADLE_UNLIKELY(hash == 0)) return cradle_identity_hash_slow(mutator, object);
  return hash;
}

/* Returns the object's id: the same number at every call, which no other object of this heap has or will have, counting
 * up from small ones. It costs about 50 bytes beside the heap until the object dies. A minor collection looks at each
 * id that was given to a young object since the last one, a major collection at all ids, in increments. 0: memory ran
 * out. It is misuse if the object is not one of the heap. */
CRADLE_API uint64_t cradle_id(cradle_mutator *mutator, void *object);

/* Returns the object that has the id. NULL: the object is dead, or a finalizer is about to bring it back, or no object
 * ever had this id. The result is a reference like any other. */
CRADLE_API void *cradle_object_of_id(cradle_mutator *mutator, uint64_t id);

CRADLE_END_DECLS

#endif
