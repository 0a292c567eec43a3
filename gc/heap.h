/* The heap: the structure that all folders of gc/ share, and the few predicates that need several of them. Its
 * invariants promise that no young object is lost (1, 3 and 5: gc/young/remember.h), that promotion cannot fail (2),
 * that callbacks do not use the heap (4), and that marking misses nothing (6: gc/old/mark.h).
 *
 *   [heap.1] Outside a collection every old object without array flags (see [heap.3]) that refers to a young one is
 *            remembered, or remember_all is set.
 *   [heap.2] Outside a collection old.reserve arenas are FREE, enough to promote all that the nursery can hold. If
 *            collection is off, nothing is promoted and old.reserve is 0.
 *   [heap.3] An old object's barrier flag is set exactly when it is not remembered. The array flags (slots, values) say
 *            that stores into an array are recorded slot by slot. An array gets the array flags that its type chooses
 *            if it is above SLOTS_MIN_BYTES when it becomes old, or at birth [large.3]. It never loses them.
 *   [heap.4] state says what runs now (gc/state.h); no allocation and no barrier happens unless it is HEAP_MUTATING.
 *   [heap.5] If an array with array flags has a slot with a young reference, the slot is in `recorded`, or the array is
 *            remembered, or remember_all is set.
 *   [heap.6] While the heap marks and no round (gc/old/marker.h) runs: if a marked object's slot refers to an unmarked
 *            old object, the slot is recorded, or that object is remembered, stacked, aside [marker.6], listed [mark.5].
 */
#ifndef CRADLE_GC_HEAP_H
#define CRADLE_GC_HEAP_H

#include <cradle/heap.h>
#include <cradle/statistics.h>

#include "gc/death_calls.h"
#include "gc/instruments/quarantine.h"
#include "gc/instruments/sample.h"
#include "gc/instruments/stress.h"
#include "gc/object/poison.h"
#include "gc/object/type_table.h"
#include "gc/old/compact.h"
#include "gc/old/major.h"
#include "gc/old/marker.h"
#include "gc/old/pacing.h"
#include "gc/old/rest.h"
#include "gc/platform/pages.h"
#include "gc/root_stack.h"
#include "gc/tables/handle.h"
#include "gc/tables/identity.h"
#include "gc/tables/pin.h"
#include "gc/tables/prebuilt.h"
#include "gc/young/adapt.h"
#include "gc/young/nursery.h"
#include "gc/young/remember.h"

/* What runs now; gc/state.h says which may begin while another runs. */
typedef enum crd_state {
  HEAP_MUTATING = 0,
  HEAP_COLLECTING,
  HEAP_VERIFYING,
  HEAP_FORKING,
  HEAP_SAMPLING,   /* a callback of the sampler */
  HEAP_DESTROYING, /* a destructor, an external-size callback or a weak set's function */
  HEAP_TELLING,    /* a listener or a hook */
  HEAP_WALKING,
  HEAP_STATES
} crd_state;

typedef struct crd_global_root {
  cradle_word *address;
  cradle_kind kind;
} crd_global_root;

typedef struct crd_mutator {
  cradle_mutator public; /* first */
  cradle_root_stack own, *running;
  crd_ring rings[ROOT_STACKS_RINGS]; /* of root stacks [root_stack.1] */
  cradle_root_range *ranges;         /* that belong to no root stack */
  const void *thread;                /* identifies the thread that it is attached to; NULL: none; atomic */
  bool orphaned;                     /* that thread has ended without detaching it */
  struct crd_mutator *next_attached, **attached_link; /* the other mutators of the thread */
  uint64_t open_scopes;                               /* of a freed mutator: scopes that have not ended */
  cradle_word no_root; /* of a freed mutator: its scoped roots, of which only the first word, 0, is left */
} crd_mutator;

struct cradle_heap {
  crd_state state;
  int pending_request; /* a safepoint request of another thread, atomic */
  cradle_options options;
  cradle_hardware hardware;
  unsigned known_hardware;              /* which of its parts were read or given (gc/platform/hardware.h) */
  bool small, plain_encoding, prepared; /* small: gc/outgrow.h; prepared: no file is opened any more */
  crd_type_table types;
  cradle_encoding encoding;

  /* young */
  crd_nursery nursery;
  crd_adapt adapt;
  crd_word_stack remembered;
  crd_word_stack recorded; /* slots of large arrays that were stored into, as slot entries (gc/object/value.h) */
  crd_record_budget budgets[RECORD_BUDGETS]; /* slots that arrays without their own page may record; some share one */
  uintptr_t spared[SPARED_OBJECTS];          /* see SPARED_TIMES */
  bool remember_all; /* the set could not grow: the next minor collection looks at every old object */

  /* old */
  crd_old old;
  crd_word_stack mark_stack;
  crd_major major;
  crd_marker marker;
  crd_pacing pacing;
  crd_compaction_wait compaction;
  crd_rest rest;
  uint32_t majors_disabled; /* open calls of cradle_major_hold */

  /* roots, and what is kept beside objects */
  crd_mutator *mutator; /* or NULL */
  crd_global_root *globals;
  uint32_t global_count, global_capacity;
  crd_address_map global_of; /* the variable's address: its place in globals */
  cradle_root_function root_callback;
  void *root_callback_data;
  crd_handles handles;
  crd_pins pins;
  crd_prebuilts prebuilts;
  crd_ids ids;

  /* death */
  struct crd_services *services; /* NULL: no object with services ever existed (gc/death/services.h) */
  const crd_death_calls *death;  /* NULL if services is NULL */
  uint64_t open_flags;           /* header flags that say that an object counts as dead (gc/death/reach.h); mostly 0 */
  uint64_t external_bytes;       /* cradle_external_memory + external sizes + pressure; each <= COUNTED_MAX_BYTES */

  /* instruments, events and figures */
  crd_quarantine quarantine;
  crd_stress stress;
  crd_sampling sampling;
  struct crd_history *history; /* NULL: the heap is not verified (gc/instruments/history.h) */
  cradle_statistics stats;     /* except what is computed when it is asked for */
  cradle_cause last_cause;
  uint64_t created_ns; /* when the heap was made */
  crd_pause_begin pause_begin;
  uint64_t arenas_told[2];    /* taken_total and given_back_total as the last event had them */
  uint64_t majors_measured;   /* stats.major_collections when the kernel was last asked which pages back the arenas */
  bool pool_noted, announced; /* sent: the note that the huge-page pool refused arenas; the event HEAP_CREATED */
};

static inline crd_mutator *mutator_of(cradle_mutator *mutator) {
  return (crd_mutator *)mutator;
}

/* --- objects --- */

static inline const crd_type *heap_type(const cradle_heap *heap, uint64_t header) {
  return &heap->types.types[header_type(header)];
}
/* The address that a word refers to, or 0: none. The word is a value if value is set, otherwise a plain reference. */
static inline uintptr_t heap_address_in(const cradle_heap *heap, bool value, cradle_word word) {
  return CRADLE_LIKELY(!value) ? word : value_address(&heap->encoding, word);
}
static inline bool heap_is_young(const cradle_heap *heap, uintptr_t address) {
  return address - address_of(heap->nursery.start) < heap->nursery.reserved_bytes;
}
/* Whether a young object, large ones included, is at an address. The address may be any word. */
static inline bool heap_holds_young(const cradle_heap *heap, uintptr_t address) {
  return heap_is_young(heap, address) || old_is_young_large(&heap->old, address);
}
/* Whether the object at an address of the old generation is known to be dead: marking is over and did not reach it. */
static inline bool heap_is_known_dead(const cradle_heap *heap, uintptr_t address) {
  const crd_page *page = old_span_of(&heap->old, address);
  if (page->state == PAGE_LARGE_YOUNG || page->state == PAGE_LARGE_REACHED) return false;
  return (heap->major.phase == MAJOR_CLEARING || old_is_unswept(&heap->old, page)) &&
         !old_is_marked(&heap->old, address);
}
/* Whether an old object's header is open. Until it closes, the object counts as dead, although it was reached. */
static inline bool heap_has_open(const cradle_heap *heap, const cradle_word *object) {
  return CRADLE_UNLIKELY(heap->open_flags != 0) && header_has(object[0], heap->open_flags);
}

/* --- which parts are on --- */

static inline bool collection_is_off(const cradle_heap *heap) {
  return CRADLE_UNLIKELY(heap->options.gc == CRADLE_GC_OFF);
}
static inline uint64_t nursery_filled(const cradle_heap *heap) {
  return heap->mutator == NULL ? heap->nursery.kept_bytes
                               : (uint64_t)(heap->mutator->public.free - heap->nursery.start);
}
/* Bytes in objects: old ones, rounded up to size classes, and the filled nursery. */
static inline uint64_t heap_used_bytes(const cradle_heap *heap) {
  return heap->old.used_bytes - crd_old_unfilled_bytes(&heap->old) + nursery_filled(heap);
}
static inline bool event_wanted(const cradle_heap *heap) {
  return heap->options.listener.function != NULL;
}
static inline bool stress_is_on(const cradle_heap *heap) {
  return CRADLE_UNLIKELY(heap->options.stress_period != 0);
}
static inline bool quarantine_is_on(const cradle_heap *heap) {
  return CRADLE_UNLIKELY(heap->quarantine.base != NULL);
}
/* Whether to poison memory that died or moved. Only for instruments that look for poison: it takes time. */
static inline bool heap_poisons(const cradle_heap *heap) {
  return CRADLE_UNLIKELY(stress_is_on(heap) || quarantine_is_on(heap) || heap->options.verify);
}
static inline crd_remains heap_remains(const cradle_heap *heap, bool swept) {
  uint64_t poison = swept ? POISON_SWEPT : POISON_NURSERY;
  uint64_t collection = heap->stats.minor_collections + !swept; /* the running one is not counted yet */
  return (crd_remains){heap_poisons(heap) ? poison : 0, collection, swept};
}

#endif
