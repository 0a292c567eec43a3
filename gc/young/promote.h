/* Promotion: copies young objects and what they lead to into the old generation (docs/design/nursery.md has figures).
 *
 * A program mostly follows the slots of an object, and the items of an array, from the first to the last. So promotion
 * copies an object, then everything that its first slot leads to, then everything that its second slot leads to. So
 * what is walked together lies together:
 *
 *           1
 *          / \           the span of the size class afterwards:
 *         2   5
 *        / \   \         | 1 | 2 | 3 | 4 | 5 | 6 |
 *       3   4   6
 *
 * Slots that have no order of their own are followed in the order in which the young objects were allocated, which is
 * that of their addresses: items that are structures, such as the entries of a hash table, and what a trace callback
 * reports. Where a table has an entry depends on a hash. A program that builds and then walks such tables uses the
 * entries in the order in which it made them.
 *
 * Depth first usually needs a stack. Promotion needs no memory for one: what is left of a promoted object in the
 * nursery, its *body*, is dead and has room for a link, and for a *note* of each slot that leads to a young object.
 *
 *    body, in the nursery                                    copy, in the old generation
 *    word 0   address of the copy, and bit F    ---------->  header
 *    word 1   next body, and a number                        the object's words; its slots lead into the nursery
 *    word 2.. notes                                          until they are looked at
 *
 *   [promote.1] Objects whose copies are still to be traced are linked through word 1 of their bodies. So the list
 *               needs no memory and cannot overflow.
 *   [promote.2] The list is a stack. If an object's slots are all fixed ones and of one sort, the first that leads to
 *               something young is followed when the object is copied, and each further one once everything that the
 *               slots before it lead to is promoted. Word 1 has the number of the slot's word. An object with one such
 *               slot is never on the list, so a chain needs no list.
 *   [promote.3] Of any other object, the slots that lead to young objects are noted when it is first taken from the
 *               list: fixed slots and references and values in their order, structures in that of the addresses. Then
 *               they are followed one at a time, as in [promote.2]; word 1 has the number of the note. There is room
 *               for the notes, because the header is no slot: the first note is read before the link is stored over
 *               it. So promotion never calls itself, however deep tables lie in tables.
 *   [promote.4] References into two ranges of addresses need a look: the nursery, and [beyond_start, beyond_start +
 *               beyond_bytes). The second is the arenas while a major collection marks. Otherwise it has the young
 *               large objects, and is empty if there are none. [near_start, near_start + near_bytes) covers both.
 *   [promote.5] A trace callback's slots may lie anywhere, and callbacks must not be called within one another. So what
 *               they refer to is promoted at once, sorted in batches, and waits in that order on the list. Structures
 *               of an old object, which has no body, are sorted in batches, too.
 */
#ifndef CRADLE_GC_YOUNG_PROMOTE_H
#define CRADLE_GC_YOUNG_PROMOTE_H

#include "gc/space.h"
#include "gc/young/minor.h"

/* Who promotes: one worker; the leader of a team that has not given anything away; or several. */
typedef enum promote_mode { PROMOTE_ALONE, PROMOTE_LEADING, PROMOTE_SHARING } promote_mode;

struct crd_minor {
  crd_minor *self; /* the context itself; in a local copy, the original */
  uintptr_t nursery_start, nursery_bytes;
  uintptr_t beyond_start, beyond_bytes; /* [promote.4] */
  uintptr_t near_start, near_bytes;     /* [promote.4] */
  crd_allocator *allocators;
  const crd_type *types;
  cradle_word *pending;   /* [promote.1] */
  crd_team *team;         /* of which the worker is one; NULL: it is alone */
  crd_worker *worker;     /* with the allocators, in a team */
  uint32_t index;         /* of the worker; the leader's is 0 */
  bool shares;            /* gc/young/team.h */
  bool left_remembered;   /* some remembered objects wait for the time when the team is done */
  uint32_t gather;        /* of an array's items, so many are gathered before some are given away */
  uint32_t gathered;      /* of them; both are counted while somebody is hungry */
  uint32_t pending_large; /* [minor.1] */
  bool has_young_large, marking;
  bool looked_at_all; /* every old object was looked at, not only the remembered ones */
  uint64_t objects, bytes;
  crd_young *young;
  crd_old *old;
  cradle_encoding encoding; /* of the space */
};

/* Promotes a young object that was not promoted yet. The caller looks at its slots. */
cradle_word *crd_promote_object(crd_minor *context, cradle_word *object);
/* Promotes the young object at the address, to which the slot refers, and everything that it leads to. */
void crd_promote_all(crd_minor *context, cradle_word *slot, uintptr_t address, bool value);
/* The same, but follows first slots only [promote.2]; the rest waits on the list. */
void crd_promote_one(crd_minor *context, cradle_word *slot, uintptr_t address, bool value);
/* Promotes what the recorded slots of the entries [entry, to) refer to, as crd_promote_one does. [to, top) are the
 * entries that come next: they are prefetched. */
void crd_promote_recorded(crd_minor *context, const cradle_word *entry, const cradle_word *to, const cradle_word *top);
/* Looks at all slots of an old object, or of a copy. */
void crd_promote_from(crd_minor *context, cradle_word *object);
/* The same in two steps: at all slots but the items, of which there are as many as is returned; at some items. */
uint64_t crd_promote_fixed(crd_minor *context, cradle_word *object);
void crd_promote_items(crd_minor *context, cradle_word *array, uint64_t first, uint64_t last);
/* The same for an old object that may be dead: what it refers to is promoted, but not marked if it is old. */
void crd_promote_from_unmarked(crd_minor *context, cradle_word *object);
/* The same for one without a trace callback that marking will trace [mark.6]. */
void crd_promote_from_grey(crd_minor *context, cradle_word *object);
/* Traces the copies on the list. */
void crd_promote_list(crd_minor *context);

/* The link's low 48 bits are an address. Above them is the word number of the last slot that was looked at, or the
 * number of the last note that was followed, from 1 on. It is 0 before the first. */
#define PENDING_NUMBER_SHIFT 48

CRD_ALWAYS_INLINE cradle_word pending_link(uintptr_t next, unsigned number) {
  ASSERT(next >> PENDING_NUMBER_SHIFT == 0, "[promote.1] an address reaches into the place of a number");
  return next | (cradle_word)number << PENDING_NUMBER_SHIFT;
}
CRD_ALWAYS_INLINE uintptr_t pending_after(cradle_word link) {
  return link & ((UINT64_C(1) << PENDING_NUMBER_SHIFT) - 1);
}
CRD_ALWAYS_INLINE unsigned pending_number(const cradle_word *body) {
  return (unsigned)(body[1] >> PENDING_NUMBER_SHIFT);
}
/* In a team, another worker may take a word of a body for the object's length [team.2]. */
CRD_ALWAYS_INLINE void body_set(cradle_word *word, cradle_word to) {
  __atomic_store_n(word, to, __ATOMIC_RELEASE);
}
CRD_ALWAYS_INLINE void pending_set(cradle_word *body, cradle_word link) {
  body_set(&body[1], link);
}
static inline cradle_word *pending_next(const cradle_word *body) {
  return object_at(pending_after(body[1]));
}
static inline void pending_set_next(cradle_word *body, const cradle_word *next) {
  pending_set(body, pending_link(address_of(next), pending_number(body)));
}

/* Whether a reference that does not lead into the nursery needs a look. */
CRD_ALWAYS_INLINE bool is_beyond(const crd_minor *context, uintptr_t address) {
  return CRADLE_UNLIKELY(address - context->beyond_start < context->beyond_bytes);
}
CRD_ALWAYS_INLINE bool is_young(const crd_minor *context, uintptr_t address) {
  return address - context->nursery_start < context->nursery_bytes;
}

/* The address that a slot's word refers to, or 0. */
CRD_ALWAYS_INLINE uintptr_t address_in(const crd_minor *context, bool value, cradle_word word) {
  return value ? value_address(&context->encoding, word) : word;
}

/* Two workers may look at one slot, and store the same. */
CRD_ALWAYS_INLINE cradle_word slot_load(const cradle_word *slot) {
  return __atomic_load_n(slot, __ATOMIC_RELAXED);
}
CRD_ALWAYS_INLINE void slot_store(cradle_word *slot, cradle_word word) {
  __atomic_store_n(slot, word, __ATOMIC_RELAXED);
}

/* The visit function for slots: promotes everything that the slot leads to. Most values are zero, immediates or old
 * references. Such a word, read as an address, lies outside of [near_start, near_start + near_bytes), whatever the
 * encoding. So loops over arrays and stacks pass it with one comparison, before the encoding is asked. */
CRD_ALWAYS_INLINE void promote_slot(void *data, bool value, cradle_word *slot) {
  crd_minor *context = data;
  cradle_word word = slot_load(slot);
  uintptr_t address = word;
  if (value) {
    address = value_payload(&context->encoding, word);
    if (CRADLE_LIKELY(address - context->near_start >= context->near_bytes)) return;
    if (!value_is_reference(&context->encoding, word)) return;
  }
  if (is_young(context, address))
    crd_promote_all(context, slot, address, value);
  else if (is_beyond(context, address))
    crd_minor_beyond(context, address, true);
}

/* That for callbacks, within which promotion must call no further callbacks: follows first slots only. */
static inline void promote_slot_only(void *data, bool value, cradle_word *slot) {
  crd_minor *context = data;
  uintptr_t address = address_in(context, value, slot_load(slot));
  if (is_young(context, address))
    crd_promote_one(context, slot, address, value);
  else if (is_beyond(context, address))
    crd_minor_beyond(context, address, true);
}

#endif
