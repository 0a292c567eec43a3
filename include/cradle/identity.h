/* Identity: what tells one object from another while objects move.
 *
 * The identity hash is for hash tables that are keyed by the object itself: 24 bits that the object keeps for life, in
 * spare bits of its header. The id is a number that no other object of the heap ever has, for a language's id() and for
 * tools; it is kept beside the object. An object that is asked for neither pays nothing for them. Nothing here
 * collects.
 *
 * At the heap's destruction hashes and ids go with the objects.
 */
#ifndef CRADLE_IDENTITY_H
#define CRADLE_IDENTITY_H

#include <cradle/detail/partners.h>

CRADLE_BEGIN_DECLS

/* For generated code: the hash is (header >> CRADLE_HASH_SHIFT) & CRADLE_HASH_MASK, and 0 when it was never asked
 * for. */
#define CRADLE_HASH_SHIFT 39
#define CRADLE_HASH_MASK 0xffffffu

/* The object's identity hash, from 1 to CRADLE_HASH_MASK, the same at every call. The first 16,777,215 objects that a
 * heap is asked about have different hashes, in an order that is the same in every run; after that they repeat. All
 * bits are mixed, so that a table may use the low ones. Costs a load and a shift, the first time a call that stores
 * into the header; no memory, and nothing in collections. object: any object of the heap, young, old or prebuilt. */
CRADLE_INLINE uint32_t cradle_identity_hash(cradle_mutator *mutator, void *object) {
  uint32_t hash = (uint32_t)(*(const cradle_word *)object >> CRADLE_HASH_SHIFT) & CRADLE_HASH_MASK;
  if (CRADLE_UNLIKELY(hash == 0)) return cradle_identity_hash_slow(mutator, object);
  return hash;
}

/* The object's id, which no other object of this heap has or will have, the same at every call; small numbers first. It
 * costs about 50 bytes beside the heap until the object dies. A minor collection looks at each id given to a young
 * object since the last one, a major collection at all ids, in increments. When memory for it runs out the
 * out-of-memory handler is called, or 0 returned by the try variant. A NULL object is misuse. */
CRADLE_API uint64_t cradle_id(cradle_mutator *mutator, void *object);
CRADLE_API CRADLE_RESULT_MATTERS uint64_t cradle_try_id(cradle_mutator *mutator, void *object);

/* The object that has the id, or NULL: it is dead, a finalizer is about to bring it back, or no object ever had it. The
 * result is a reference like any other. */
CRADLE_API void *cradle_object_of_id(cradle_mutator *mutator, uint64_t id);

CRADLE_END_DECLS

#endif
