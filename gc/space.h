/* The space of objects: the types that say what an object is, the encoding of references, and the two places where
 * objects lie, the nursery and the old generation. Every room below the spine gets the space (gc/parts.h). */
#ifndef CRADLE_GC_SPACE_H
#define CRADLE_GC_SPACE_H

#include "gc/base/spinlock.h"
#include "gc/death_calls.h"
#include "gc/mutator.h"
#include "gc/object/poison.h"
#include "gc/object/type_table.h"
#include "gc/old/large.h"
#include "gc/report/misuse.h"
#include "gc/young/local.h"
#include "gc/young/nursery.h"

typedef struct crd_space {
  crd_heap_report *report; /* of the heap */
  const cradle_options *options;
  cradle_hardware *hardware;
  unsigned *known_hardware; /* which of its parts were read or given (gc/platform/hardware.h) */
  crd_type_table types;
  cradle_encoding encoding;
  bool plain_encoding;
  crd_mutator *mutators; /* a list; at most one, if the heap is not shared */
  uint64_t born;         /* mutators so far */
  crd_nursery nursery;
  crd_old old;
  crd_services *services;       /* NULL: no object with services ever existed (gc/death/services.h) */
  const crd_death_calls *death; /* NULL if services is NULL */
  uint64_t open_flags;          /* header flags that say that an object counts as dead (gc/death/reach.h); mostly 0 */
  crd_local locals;             /* the first */
  crd_world *world;             /* NULL: the heap has at most one mutator */
  crd_chunks *chunks;           /* NULL likewise */
  uint32_t stopping;            /* a stop is wanted or on (gc/world.h); atomic */
  uint32_t standing;            /* mutators that stand in this stop, or will soon */
  uint32_t guests;              /* at most so many of them help in a collection (gc/young/team.h, gc/old/marker.h) */
  /* Wakes so many of them that sleep. NULL if the heap is not shared. */
  void (*call_guests)(struct crd_space *space, uint32_t count);
  crd_mutator *holder;      /* of the thread that holds the world; NULL: it has none, or nobody holds it; atomic */
  crd_spinlock tables_lock; /* of a shared heap (space_lock) */
  const void *locked_by;    /* the thread that has it; atomic */
} crd_space;

/* --- mutators --- */

/* The mutators of a heap, and what mutators have or left of the young generation (gc/young/local.h), of which a second
 * is unlikely: for (EACH_MUTATOR(mutator, space)) ... */
#define EACH_MUTATOR(mutator, space) \
  crd_mutator *mutator = (space)->mutators; \
  (mutator) != NULL; \
  (mutator) = (mutator)->next
#define EACH_LOCAL(local, space) \
  __typeof__(&(space)->locals) local = &(space)->locals; \
  CRADLE_UNLIKELY((local) != NULL); \
  (local) = (local)->next

/* Whether no mutator has recorded anything for the next minor collection. */
static inline bool space_has_no_records(const crd_space *space) {
  for (EACH_LOCAL(local, space))
    if (!word_stack_is_empty(&local->remembered) || !word_stack_is_empty(&local->recorded)) return false;
  return true;
}

/* Whether the heap may have several mutators. */
static inline bool space_is_shared(const crd_space *space) {
  return CRADLE_UNLIKELY(space->world != NULL);
}

/* The mutator that made the call or the allocation that is being served, for functions that are not told which one it
 * was. In a shared heap: the mutator of the thread that holds the world. NULL: there is no such mutator. */
static inline crd_mutator *space_running(const crd_space *space) {
  return CRADLE_LIKELY(!space_is_shared(space)) ? space->mutators : space->holder;
}
/* Whether a mutator that runs is to stand. */
static inline bool space_stops(const crd_mutator *mutator) {
  const crd_space *space = mutator->space;
  return CRADLE_UNLIKELY(__atomic_load_n(&space->stopping, __ATOMIC_SEQ_CST) != 0) &&
         __atomic_load_n(&space->holder, __ATOMIC_RELAXED) != mutator;
}

/* In a shared heap: what the heap has once (tables, the lists of services) is used by one mutator at a time. The lock
 * is a leaf: between the two nothing calls the program, waits, collects, or takes the world. */
static inline void space_lock(crd_space *space) {
  if (!space_is_shared(space)) return;
  spinlock_take(&space->tables_lock);
  __atomic_store_n(&space->locked_by, crd_thread_self(), __ATOMIC_RELAXED);
}
/* Nothing, if the thread does not have the lock any more: it is let go before a handler of the program runs. */
static inline void space_unlock(crd_space *space) {
  if (!space_is_shared(space) || __atomic_load_n(&space->locked_by, __ATOMIC_RELAXED) != crd_thread_self()) return;
  __atomic_store_n(&space->locked_by, NULL, __ATOMIC_RELAXED);
  spinlock_release(&space->tables_lock);
}

/* --- objects --- */

/* Sets and clears flags of a header while mutators run: in a shared heap, several may change the same header. Clearing
 * returns whether the flags were set. If several mutators clear the same flag, that is true for exactly one. */
static inline void space_give_flags(const crd_space *space, cradle_word *object, cradle_word flags) {
  if (space_is_shared(space))
    (void)__atomic_fetch_or(object, flags, __ATOMIC_RELAXED);
  else
    object_set_flags(object, flags);
}
static inline bool space_take_flags(const crd_space *space, cradle_word *object, cradle_word flags) {
  if (space_is_shared(space)) return (__atomic_fetch_and(object, ~flags, __ATOMIC_RELAXED) & flags) != 0;
  object_clear_flags(object, flags);
  return true;
}

static inline const crd_type *space_type(const crd_space *space, uint64_t header) {
  return &space->types.types[header_type(header)];
}
/* The address that a word refers to, or 0: none. The word is a value if value is set, otherwise a plain reference. */
static inline uintptr_t space_address_in(const crd_space *space, bool value, cradle_word word) {
  return CRADLE_LIKELY(!value) ? word : value_address(&space->encoding, word);
}
static inline bool space_is_young(const crd_space *space, uintptr_t address) {
  return address - address_of(space->nursery.start) < space->nursery.reserved_bytes;
}
/* Whether an address, which may be any word, is one of the heap's. */
static inline bool space_has(const crd_space *space, uintptr_t address) {
  return space_is_young(space, address) || arenas_know(&space->old.arenas, address);
}
/* Whether a young object, large ones included, is at an address. The address may be any word. */
static inline bool space_holds_young(const crd_space *space, uintptr_t address) {
  return space_is_young(space, address) || old_is_young_large(&space->old, address);
}
/* Whether an old object counts as dead although it was reached, until its header closes. */
static inline bool space_has_open(const crd_space *space, const cradle_word *object) {
  return CRADLE_UNLIKELY(space->open_flags != 0) && header_has(object[0], space->open_flags);
}
/* For messages: "type 3 (vector) at 0x7f0012345678". What the embedder gives may be no object at all. */
crd_type_words crd_name_type(const crd_space *space, uint32_t type);
crd_type_words crd_name_object(const crd_space *space, const void *object);

/* --- memory --- */

static inline uint64_t local_filled(const crd_local *local) {
  return local->earlier + (uint64_t)(*local->free - local->start);
}
static inline uint64_t nursery_filled(const crd_space *space) {
  uint64_t bytes = 0;
  for (EACH_LOCAL(local, space)) bytes += local_filled(local);
  return bytes;
}
/* What the mutators of a local have allocated so far, in bytes. */
uint64_t crd_space_allocated(const crd_space *space, const crd_local *local);
/* Whether an address lies in what is filled of the nursery. */
bool crd_space_pieces_hold(const crd_space *space, uintptr_t address);
static inline bool nursery_holds(const crd_space *space, uintptr_t address) {
  for (EACH_LOCAL(local, space))
    if (address - address_of(local->start) < (uint64_t)(*local->free - local->start)) return true;
  return space_is_shared(space) && crd_space_pieces_hold(space, address);
}
/* How far the nursery is filled: no object lies above its start and so many bytes. */
uint64_t crd_space_extent(const crd_space *space);
static inline uint64_t nursery_extent(const crd_space *space) {
  return space_is_shared(space) ? crd_space_extent(space) : nursery_filled(space);
}
/* Bytes in objects: old ones, rounded up to size classes, and the filled nursery. */
static inline uint64_t space_used_bytes(const crd_space *space) {
  return space->old.used_bytes - crd_old_unfilled_bytes(&space->old) + nursery_filled(space);
}
/* Called when much may be in use: notes a new peak. */
void crd_space_note_used(crd_space *space);

/* How many arenas a maximum heap allows beside the nursery; max 0: there is no maximum. */
size_t crd_space_arenas_within(const crd_space *space, size_t max);
/* Whether a nursery of so many bytes leaves enough of the maximum for what the old generation has committed, and for
 * its promotion. */
bool crd_space_nursery_fits(const crd_space *space, size_t nursery_bytes);
/* Limits the arenas to the maximum minus the nursery. */
void crd_space_limit_arenas(crd_space *space);

/* Calls the heap's out-of-memory handler with the size and a message. If the heap has no handler, prints the message
 * and aborts. what: the public function that found no memory. size: of the object that was asked for, in bytes. The
 * handler may longjmp, so the caller must not have changed anything yet. If it returns, the public function returns
 * NULL, 0 or false. */
CRADLE_COLD void crd_out_of_memory(crd_space *space, const char *what, size_t size);
/* The same for memory that is not in objects. thing: what could not be made, such as "pin". */
CRADLE_COLD void crd_out_of_room(crd_space *space, const char *what, const char *thing);

/* --- instruments --- */

/* Whether to poison memory that died or moved. Only for instruments that look for poison: it takes time. */
static inline bool space_poisons(const crd_space *space) {
  return CRADLE_UNLIKELY(stress_is_on(space->options) || space->options->quarantine != 0 || space->options->verify);
}
static inline crd_remains space_remains(const crd_space *space, bool swept) {
  uint64_t poison = swept ? POISON_SWEPT : POISON_NURSERY;
  uint64_t collection = space->report->stats.minor_collections + !swept; /* the running one is not counted yet */
  return (crd_remains){space_poisons(space) ? poison : 0, collection, swept};
}

#endif
