/* The header: the word that every object begins with, all 64 bits of it. No other file masks or shifts a header. A new
 * object's header is nothing but its type id.
 *
 *    63 62                              39  38  37 36 35 34 33 32 31                             0
 *   +--+----------------------------------+---+---+--+--+--+--+--+--------------------------------+
 *   |F |          identity hash           |ID |PIN|WK|WA|VA|SL|BA|            type id             |
 *   +--+----------------------------------+---+---+--+--+--+--+--+--------------------------------+
 *
 *   bits      what it says                                    who sets and clears it
 *   0..31     type id, the embedder's constant                the allocation writes it; it never changes
 *   32  BA    the object is old and not remembered: a store   set when the object becomes old; the slow path clears
 *             into it takes the barrier's slow path           it, and the next minor collection sets it again;
 *             (gc/young/remember.h)                           public, for generated code
 *   33  SL    a large old array whose slots are all of one    set when the object becomes old; never cleared, even if
 *             kind: stores are recorded slot by slot          the array is made shorter
 *   34  VA    with SL: the slots hold values. Without SL: a     the same
 *             large old array of structures, with stores
 *             recorded slot by slot, too
 *   35  WA    watched: the object was not reached yet, and    gc/death/ in a collection; cleared when the object is
 *             something waits for it (gc/death/waiting.h).    reached, or the holder is scanned again; an object that
 *             Or, on a marked holder of ephemerons: the       dies keeps it
 *             program has stored into it since it was
 *             scanned (gc/death/ephemeron.c)
 *   36  WK    old, with weak slots or ephemerons              gc/death/ in the minor collection in which the object
 *                                                             becomes old, or at birth as above; never cleared
 *   37  PIN   the object does not move (gc/tables/pin.h)      the first pin sets it, the last unpin clears it; public
 *   38  ID    it has an id (gc/tables/identity.h)             the first cradle_id; never cleared
 *   39..62    identity hash, or 0                             the first cradle_identity_hash; never changes; public
 *   63  F     forwarded: the object has moved, and all other  a minor collection, in the nursery; compaction, in the
 *             bits are its new address                        place left behind
 *
 *   [header.1] A forwarded header never changes: nobody sets a flag in a place that an object has left. Outside a
 *              collection no reference leads to such a place.
 *   [header.2] Outside a collection a young object's header has nothing above the type id but ID and hash, and BA, SL
 *              VA and WK if the object is a large array that is recorded from birth (gc/old/large.h).
 *
 * A header can also be *open*, while the order of death looks for what finalizers bring back (gc/death/reach.h). Then
 * bit 63 is set, and bits 36..62 are the object's place among those that were reached and are not done; or, as long as
 * it was not reached, its number among the candidates for finalizers (gc/death/finalizer.h), and WA is set; in a minor
 * collection without bit 63, which would say that the object has moved. A stack keeps the header until the object
 * closes. Open headers outlast a pause, but no program can reach their objects.
 */
#ifndef CRADLE_GC_OBJECT_HEADER_H
#define CRADLE_GC_OBJECT_HEADER_H

#include <cradle/identity.h>
#include <cradle/pin.h>

#include "gc/base/address.h"
#include "gc/base/check.h"

#define HEADER_BARRIER_FLAG ((uint64_t)CRADLE_BARRIER_MASK << (8 * CRADLE_BARRIER_OFFSET))
#define HEADER_SLOTS_FLAG (HEADER_BARRIER_FLAG << 1)
#define HEADER_VALUES_FLAG (HEADER_BARRIER_FLAG << 2)
#define HEADER_WATCHED_FLAG (HEADER_BARRIER_FLAG << 3)
#define HEADER_WEAK_FLAG (HEADER_BARRIER_FLAG << 4)
#define HEADER_PINNED_FLAG (UINT64_C(1) << CRADLE_PINNED_BIT)
#define HEADER_ID_FLAG (UINT64_C(1) << 38)
#define HEADER_HASH ((uint64_t)CRADLE_HASH_MASK << CRADLE_HASH_SHIFT)
#define HEADER_FORWARDED (UINT64_C(1) << 63)
/* In an open header the type id and the flags below this bit stay readable. */
#define HEADER_OPEN_SHIFT 36
#define HEADER_OPEN_PLACES (UINT64_C(1) << (63 - HEADER_OPEN_SHIFT))

#define HEADER_RECORDING_SHIFT 33
/* Flags that large old arrays, young objects, those that are recorded from birth, and old objects may have. */
#define HEADER_ARRAY_FLAGS (HEADER_SLOTS_FLAG | HEADER_VALUES_FLAG)
#define HEADER_YOUNG_FLAGS (HEADER_ID_FLAG | HEADER_HASH)
#define HEADER_RECORDED_FLAGS (HEADER_BARRIER_FLAG | HEADER_ARRAY_FLAGS | HEADER_WEAK_FLAG | HEADER_YOUNG_FLAGS)
#define HEADER_OLD_FLAGS (HEADER_RECORDED_FLAGS | HEADER_WATCHED_FLAG | HEADER_PINNED_FLAG)
/* Flags that only an old object can have. */
#define HEADER_OLD_ONLY_FLAGS (HEADER_BARRIER_FLAG | HEADER_ARRAY_FLAGS | HEADER_PINNED_FLAG)

_Static_assert(CRADLE_HASH_SHIFT == 39 && CRADLE_HASH_MASK == 0xffffff, "the hash lies between the id flag and bit 63");
_Static_assert(CRADLE_BARRIER_OFFSET == 4 && CRADLE_BARRIER_MASK == 1,
               "the barrier's flag is the first above the type id");

/* How stores into large old arrays of a type are remembered: the array as a whole, or slot by slot, with the kind of
 * the slots. The numbers are those of the two flags above. */
enum {
  RECORDING_OBJECT = 0,
  RECORDING_REFERENCES = HEADER_SLOTS_FLAG >> HEADER_RECORDING_SHIFT,
  RECORDING_STRUCTURES = HEADER_VALUES_FLAG >> HEADER_RECORDING_SHIFT,
  RECORDING_VALUES = HEADER_ARRAY_FLAGS >> HEADER_RECORDING_SHIFT,
};

/* --- objects and addresses --- */

static inline cradle_word *object_at(uintptr_t address) {
  return (cradle_word *)memory_at(address);
}
static inline cradle_word *words_of(void *memory) {
  return (cradle_word *)memory;
}
/* Reads a slot that other mutators may store into meanwhile (cradle_compare_exchange). */
static inline cradle_word word_now(const cradle_word *slot) {
  return __atomic_load_n(slot, __ATOMIC_RELAXED);
}

/* --- what a header says --- */

static inline uint32_t header_type(uint64_t header) {
  return (uint32_t)header;
}
static inline uint64_t header_flags(uint64_t header) {
  return header & ~(uint64_t)UINT32_MAX;
}
/* Whether the header has any of the flags. */
static inline bool header_has(uint64_t header, uint64_t flags) {
  return (header & flags) != 0;
}
static inline bool header_has_barrier(uint64_t header) {
  return header_has(header, HEADER_BARRIER_FLAG);
}
/* The flags that a large old array gets from its type's recording field. */
static inline uint64_t header_recording(uint8_t recording) {
  return (uint64_t)recording << HEADER_RECORDING_SHIFT;
}
static inline uint64_t header_array_flags(uint64_t header) {
  return header & HEADER_ARRAY_FLAGS;
}
static inline bool header_records_slots(uint64_t header) {
  return header_has(header, HEADER_ARRAY_FLAGS);
}
/* If stores are recorded slot by slot: whether all slots of the array are of one kind. */
static inline bool header_records_one_kind(uint64_t header) {
  return header_has(header, HEADER_SLOTS_FLAG);
}
/* If the slots are of one kind: whether they are values. */
static inline bool header_holds_values(uint64_t header) {
  return header_has(header, HEADER_VALUES_FLAG);
}
static inline bool header_records_structures(uint64_t header) {
  return header_array_flags(header) == HEADER_VALUES_FLAG;
}
static inline uint64_t header_with(uint64_t header, uint64_t flags) {
  return header | flags;
}
/* The header with another type id, for an image whose types have other numbers. */
static inline uint64_t header_renumbered(uint64_t header, uint32_t type) {
  return header_flags(header) | type;
}
static inline bool header_is_watched(uint64_t header) {
  return header_has(header, HEADER_WATCHED_FLAG);
}
static inline bool header_is_weak(uint64_t header) {
  return header_has(header, HEADER_WEAK_FLAG);
}
/* The type id with the two flags of objects whose tracing needs more than their type: watched and weak ones. */
static inline uint64_t header_kind(uint64_t header) {
  return header & (UINT32_MAX | HEADER_WATCHED_FLAG | HEADER_WEAK_FLAG);
}
static inline bool header_is_pinned(uint64_t header) {
  return header_has(header, HEADER_PINNED_FLAG);
}
static inline bool header_has_id(uint64_t header) {
  return header_has(header, HEADER_ID_FLAG);
}
static inline bool header_has_hash(uint64_t header) {
  return header_has(header, HEADER_HASH);
}
static inline bool header_is_forwarded(uint64_t header) {
  return header_has(header, HEADER_FORWARDED);
}
static inline uintptr_t header_forwarded_to(uint64_t header) {
  ASSERT(header_is_forwarded(header), "[header.1] the object has not moved");
  return (uintptr_t)(header & ~HEADER_FORWARDED);
}

/* --- changes --- */

static inline void object_set_flags(cradle_word *object, uint64_t flags) {
  ASSERT(!header_is_forwarded(*object), "[header.1] a flag is set where an object has moved away");
  *object |= flags;
}
static inline void object_clear_flags(cradle_word *object, uint64_t flags) {
  ASSERT(!header_is_forwarded(*object), "[header.1] a flag is cleared where an object has moved away");
  *object &= ~flags;
}
static inline void object_set_hash(cradle_word *object, uint32_t hash) {
  ASSERT(!header_has_hash(*object), "an identity hash changes");
  ASSERT(hash != 0 && hash <= CRADLE_HASH_MASK, "an identity hash is none, or reaches into the other bits");
  object_set_flags(object, (uint64_t)hash << CRADLE_HASH_SHIFT);
}
/* The object has been copied to `place`: leaves that address in the header of the old copy. */
static inline void object_forward(cradle_word *object, const cradle_word *place) {
  ASSERT(!header_is_forwarded(*object), "[header.1] an object moves from where it is not any more");
  ASSERT(!header_is_pinned(*object), "a pinned object moves");
  *object = address_of(place) | HEADER_FORWARDED;
}
/* The same where several threads may promote an object: one of those that have read the header succeeds. For the others
 * *header becomes what that one has left. */
static inline bool object_try_forward(cradle_word *object, uint64_t *header, const cradle_word *place) {
  return __atomic_compare_exchange_n(object, header, address_of(place) | HEADER_FORWARDED, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE);
}

/* --- open headers (gc/death/reach.c) --- */

static inline bool header_is_open(uint64_t header) {
  return header_has(header, HEADER_FORWARDED);
}
/* What stands where an open header has the place. */
static inline uint64_t header_place(uint64_t header) {
  return (header & ~HEADER_FORWARDED) >> HEADER_OPEN_SHIFT;
}
static inline uint64_t header_open_place(uint64_t header) {
  ASSERT(header_is_open(header), "the place of a header that is not open");
  return header_place(header);
}
static inline uint64_t header_with_place(uint64_t header, uint64_t place) {
  ASSERT(place < HEADER_OPEN_PLACES, "the place of an open header reaches into bit 63");
  return place << HEADER_OPEN_SHIFT | (header & ((UINT64_C(1) << HEADER_OPEN_SHIFT) - 1));
}
/* Opens a header. The place replaces the weak flag and everything above it; the flags below and the type id stay. */
static inline void object_open(cradle_word *object, uint64_t place) {
  ASSERT(!header_is_open(*object), "a header is opened twice");
  *object = HEADER_FORWARDED | header_with_place(*object, place);
}
/* The flags that say that a header is open: bit 63, and while a large component closes the watched flag, too. */
static inline uint64_t header_open_flags(bool ordering, bool closing) {
  return (ordering ? HEADER_FORWARDED : 0) | (closing ? HEADER_WATCHED_FLAG : 0);
}
/* What is kept for a candidate whose object has another number as well: that number. A kept header has no bit 63. */
static inline uint64_t header_of_same(uint64_t number) {
  return HEADER_FORWARDED | number;
}
static inline bool header_is_of_same(uint64_t kept) {
  return header_has(kept, HEADER_FORWARDED);
}
static inline uint64_t header_same(uint64_t kept) {
  return kept & ~HEADER_FORWARDED;
}
/* Gives a candidate for finalizers its number, in place of one that it has. */
static inline void object_set_place(cradle_word *object, uint64_t place, bool open) {
  *object = (open ? HEADER_FORWARDED : 0) | HEADER_WATCHED_FLAG | header_with_place(*object, place);
}
/* Closes a header: puts back the one that the object had before it was opened. */
static inline void object_close(cradle_word *object, uint64_t header) {
  ASSERT(header_is_open(*object), "a header is closed that is not open");
  *object = header;
}

#endif
