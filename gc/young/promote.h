/* Promotion: copies of young objects and what they lead to, in the order in which a program will meet them.
 *
 * A program mostly follows the slots of an object from the first to the last, and an array's items likewise. So each
 * object is copied, then what its first slot leads to, all of it, then what its second slot leads to: what is walked
 * together lies together, one object behind the other. (Which order is best was measured: docs/design/nursery.md.)
 *
 *   [promote.1] Objects whose copies are still to be traced are linked through their dead bodies in the nursery: word 0
 *               is the new address, word 1 the next body, and in its upper bits the word of the last slot that was
 *               looked at. So the list needs no memory and cannot overflow.
 *   [promote.2] The list is a stack. Of an object whose slots are all fixed ones and of one sort, the first slot is
 *               looked at when it is copied, and each further one when all that the ones before lead to has been
 *               promoted. With one such slot it is never on the list: a chain needs none.
 *   [promote.3] The items of an array are followed one at a time as well, by a call in a call where arrays hold arrays,
 *               up to a depth. Further in, and in callbacks of the embedder's, which must not be called within one
 *               another, what items refer to is copied and waits on the list.
 */
#ifndef CRADLE_GC_YOUNG_PROMOTE_H
#define CRADLE_GC_YOUNG_PROMOTE_H

#include "gc/heap.h"

struct crd_minor {
  crd_minor *self; /* what a copy in registers is a copy of */
  uintptr_t nursery_start, nursery_bytes;
  uintptr_t near_start, near_bytes; /* where the address of a value that matters lies */
  crd_allocator *allocators;
  const crd_type *types;
  cradle_word *pending;   /* [promote.1] */
  cradle_word *until;     /* the body of the list at which the present caller goes on, or NULL */
  unsigned depth;         /* callers that wait: arrays inside arrays */
  uint32_t pending_large; /* [minor.1] */
  bool has_young_large, marking;
  bool looked_at_all; /* old objects, not only the remembered ones */
  bool looks_at_old;  /* has_young_large or marking: references that do not lead into the nursery matter */
  uint64_t objects, bytes;
  cradle_heap *heap;
  cradle_encoding encoding; /* of the heap */
};

/* Promotes a young object that has not been; its slots are the caller's to look at. */
cradle_word *crd_promote_object(crd_minor *context, cradle_word *object);
/* Promotes the young object at the address, which a slot refers to, and all that it leads to. */
void crd_promote_all(crd_minor *context, cradle_word *slot, uintptr_t address, bool value);
/* The same, but only along first slots [promote.2]; the rest waits on the list. */
void crd_promote_one(crd_minor *context, cradle_word *slot, uintptr_t address, bool value);
/* Promotes as crd_promote_one does what recorded slots refer to: those named by the entries [entry, to). The entries
 * from to up to top come next, and are prefetched. */
void crd_promote_recorded(crd_minor *context, const cradle_word *entry, const cradle_word *to, const cradle_word *top);
/* A reference that does not lead into the nursery: to an object that marking must see if live, or to a large one that
 * may be young. */
void crd_promote_old(crd_minor *context, uintptr_t address, bool live);
/* Looks at all slots of an old object, or of a copy. */
void crd_promote_from(crd_minor *context, cradle_word *object);
/* The same of an old object that may be dead: what it refers to need not be marked. */
void crd_promote_from_unmarked(crd_minor *context, cradle_word *object);
/* Empties the list. */
void crd_promote_list(crd_minor *context);

CRD_ALWAYS_INLINE bool is_young(const crd_minor *context, uintptr_t address) {
  return address - context->nursery_start < context->nursery_bytes;
}

/* --- visit functions: with all that a slot leads to, or with itself only, for callbacks --- */

/* Most values are zero, immediates or old: taken for an address, whatever the encoding, they lie elsewhere, and the
 * loops over arrays and stacks pass them with one comparison. */
CRD_ALWAYS_INLINE void promote_slot(void *data, bool value, cradle_word *slot) {
  crd_minor *context = data;
  uintptr_t address = *slot;
  if (value) {
    address = value_address(&context->encoding, *slot);
    if (CRADLE_LIKELY(address - context->near_start >= context->near_bytes)) return;
    if (!value_is_reference(&context->encoding, *slot)) return;
  }
  if (is_young(context, address))
    crd_promote_all(context, slot, address, value);
  else if (CRADLE_UNLIKELY(context->looks_at_old))
    crd_promote_old(context, address, true);
}

static inline void promote_slot_only(void *data, bool value, cradle_word *slot) {
  crd_minor *context = data;
  if (value && !value_is_reference(&context->encoding, *slot)) return;
  uintptr_t address = value ? value_address(&context->encoding, *slot) : *slot;
  if (is_young(context, address))
    crd_promote_one(context, slot, address, value);
  else if (context->looks_at_old)
    crd_promote_old(context, address, true);
}

#endif
