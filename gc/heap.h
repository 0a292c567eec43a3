/* The heap: what the collector's modules share, and the order of a collection.
 *
 *   [heap.1] Outside a collection every old object that refers to a young one is remembered, or remember_all is set.
 *   [heap.2] Outside a collection old.reserve arenas are FREE, enough to promote all that the nursery can hold.
 *   [heap.3] An old object's barrier flag is set exactly when it is not remembered; of a young object's flags, only the weak
 *            one and those of its identity (hash, id) can be set. An old array with no slots but its items, above SLOTS_MIN_BYTES,
 *            has and keeps the slots flag, and the values flag if it holds values.
 *   [heap.4] state says what runs now; no allocation and no barrier happens unless it is HEAP_MUTATING.
 *   [heap.5] A slot of an array with the slots flag that holds a young reference is in recorded, or the array is remembered.
 *   [heap.6] While marking: no object that is marked and not on the mark stack holds, in a slot that is not recorded, a
 *            reference to an unmarked old object, unless the object itself is remembered.
 */
#ifndef CRADLE_GC_HEAP_H
#define CRADLE_GC_HEAP_H

#include <cradle/control.h>
#include <cradle/heap.h>
#include <cradle/roots.h>

#include "gc/check.h"
#include "gc/handle.h"
#include "gc/identity.h"
#include "gc/pin.h"
#include "gc/prebuilt.h"
#include "gc/registry.h"
#include "gc/sample.h"
#include "gc/span.h"
#include "gc/type_table.h"
#include "gc/value.h"
#include "gc/word_stack.h"

#define HEADER_BARRIER_FLAG ((uint64_t)CRADLE_BARRIER_MASK << (8 * CRADLE_BARRIER_OFFSET))
/* An old array whose stored slots are recorded one by one, where the barrier is told the slot; and that they hold values. */
#define HEADER_SLOTS_FLAG (HEADER_BARRIER_FLAG << 1)
#define HEADER_VALUES_FLAG (HEADER_BARRIER_FLAG << 2)
/* A dead object so far, for which the watch table of the collection that runs has entries (gc/watch.h); or, while marking, a marked
 * holder of ephemerons that was stored into (gc/ephemeron.c). */
#define HEADER_WATCHED_FLAG (HEADER_BARRIER_FLAG << 3)
/* An object with weak slots or ephemerons, old or young (gc/services.h). */
#define HEADER_WEAK_FLAG (HEADER_BARRIER_FLAG << 4)
#define HEADER_OLD_FLAGS \
  (HEADER_BARRIER_FLAG | HEADER_SLOTS_FLAG | HEADER_VALUES_FLAG | HEADER_WATCHED_FLAG | HEADER_WEAK_FLAG)
/* The object does not move; it has an id; and its identity hash, CRADLE_HASH_MASK at CRADLE_HASH_SHIFT. */
#define HEADER_PINNED_FLAG (UINT64_C(1) << CRADLE_PINNED_BIT)
#define HEADER_ID_FLAG (UINT64_C(1) << 38)
#define HEADER_IDENTITY (HEADER_ID_FLAG | (uint64_t)CRADLE_HASH_MASK << CRADLE_HASH_SHIFT)
/* Arrays with no slots but their items, above this size: up to it, looking at all of one costs less than recording. */
#define SLOTS_MIN_BYTES ((size_t)LIMIT(1024, 64))
/* Counters for those in spans, by a part of the address. */
#define RECORD_BUDGETS 1024
/* A promoted object's header in the nursery: the new address with this bit. Type ids keep below it. */
#define HEADER_FORWARDED (UINT64_C(1) << 63)
/* The header of an old object in an open component of gc/reach.c: its place among the open ones, with the same bit. */
#define HEADER_OPEN HEADER_FORWARDED

/* In an entry of recorded: the slot holds a value in the heap's encoding, not a plain reference. */
#define SLOT_HOLDS_VALUE 1

/* What options and callbacks say of bytes counts as at most so many, more than any machine has: no sum of a few of them wraps
 * around. */
#define COUNTED_MAX_BYTES ((uint64_t)1 << 60)

/* Poison: what a dead word says about why it is dead. */
#define POISON_SWEPT UINT64_C(0xdead0001dead0001)   /* freed by a sweep */
#define POISON_NURSERY UINT64_C(0xdead0002dead0002) /* an object that moved or died in a minor collection was here */
#define POISON_UNUSED UINT64_C(0xdead0003dead0003)  /* nursery memory under quarantine that no object was written to */
#define POISON_COMPACTED UINT64_C(0xdead0004dead0004) /* an object that a compaction moved was here */

enum {
  HEAP_MUTATING = 0,
  HEAP_COLLECTING,
  HEAP_VERIFYING,
  HEAP_FORKING,
  HEAP_SAMPLING,
  HEAP_DESTROYING,
  HEAP_TELLING,
  HEAP_WALKING,
};

#define NURSERY_NAME "cradle nursery"

typedef struct crd_nursery {
  char *start, *end;      /* [start, end) is handed out; end is lowered when the promotion reserve is refused */
  char *slack_end;        /* one object or reservation of the largest size may reach over end, up to here */
  size_t bytes;           /* the size chosen: end - start unless lowered */
  size_t reserved_bytes;  /* of address space: room for the largest size; addresses in it are young */
  size_t committed_bytes; /* of it: as much as the largest size so far */
  bool lowered;           /* the promotion reserve was refused in part */
  crd_backing backing;    /* which pages were asked for */
  size_t pool_bytes;      /* of the committed, the first so many are from the reserved pool */
} crd_nursery;

/* The ring of pages that the nursery moves through under quarantine; see gc/quarantine.c. base NULL: no quarantine. */
typedef struct crd_quarantine {
  char *base;
  size_t bytes;        /* of the ring */
  size_t page_bytes;
  char *clean;         /* [nursery.start, clean) was never handed out since it was opened */
  uint64_t *starts;    /* a bit a word: an object began there */
  uint64_t *closed_by; /* a page: the minor collection that closed it, or 0 */
  bool refused;        /* the log was told that pages cannot be protected */
} crd_quarantine;

/* What the adaptive nursery knows; see gc/adapt.c. */
typedef struct crd_adapt {
  bool fixed;
  size_t base, min, max;         /* sizes in bytes */
  double ns_per_promoted_byte;   /* of recent minor collections */
  double survival;               /* share of what was allocated that they promoted */
  uint64_t promoted, allocated;  /* bytes, in the running trial or since the last decision */
  uint32_t collections;          /* since then */
  double rate_before;            /* promoted / allocated at the size before the trial */
  size_t size_before;            /* 0: no trial runs */
  uint32_t wait, backoff;        /* collections until the next trial, and how many the next failure sets */
  double least_rate;             /* ns a promoted byte, of the quickest collection since the last decision */
  size_t shrunk_from;            /* the size before it was halved for the pauses, which is on trial; 0: it is not */
  double least_before;           /* least_rate at that size */
  uint32_t shrink_wait, shrink_backoff; /* collections until it may be halved for the pauses again, and as above */
} crd_adapt;

typedef struct crd_pacing {
  uint64_t threshold;         /* used bytes at which the next major collection ought to be over */
  uint64_t survived;          /* used bytes after the last one */
  uint64_t min, max_delta;
  double factor, growth;
  uint64_t promoted_average;  /* bytes a minor collection promotes, recently */
  uint64_t grown_average;     /* bytes by which the old generation grows from one to the next, large objects included */
  uint64_t marked_average;    /* bytes an increment marks, recently */
} crd_pacing;

/* The major collection that runs, if one does; see gc/major.c. */
enum { MAJOR_IDLE = 0, MAJOR_MARKING, MAJOR_SWEEPING, MAJOR_CLEARING };
typedef struct crd_major {
  int phase;
  cradle_cause cause;
  bool overflowed;               /* the mark stack was full: some marked object is not traced and not on the stack */
  uint32_t rescan_page;          /* where looking for such objects goes on, or PAGE_NONE: it is not under way */
  uint32_t purge_id;             /* of the ids: where dropping those of dead objects goes on, before sweeping */
  uint32_t sweep_page;           /* where sweeping goes on */
  uint64_t objects, bytes;       /* marked by tracing, in this cycle */
  uint64_t used_at_start;        /* bytes that were in use when it began */
  uint64_t collected_at_start;   /* the same with external memory */
  uint64_t used_before_sweep;
  crd_swept swept;
  uint64_t work_ns;              /* time spent on the cycle */
  uint32_t behind;               /* increments that could not mark what they should, less those that could; at most 8 */
  uint64_t large_bytes;          /* allocated large since the last pause that might have had an increment */
} crd_major;

/* What an increment may do: it stops when it has done so much work, or when the time has come. Zero and zero is the smallest
 * increment: a few objects, or one span. */
typedef struct crd_budget {
  uint64_t bytes;       /* to mark */
  uint64_t deadline_ns; /* UINT64_MAX: none */
} crd_budget;

/* The stress mode, if it is on; see gc/stress.c. */
typedef struct crd_stress {
  uint64_t countdown;   /* points until the next collection */
  uint64_t random;      /* state of the distances */
  uint64_t number;      /* of the last collection, those that were left out counted */
  uint64_t collections; /* that took place */
  uint64_t majors;      /* of these, full ones */
  bool judged;
} crd_stress;

typedef struct crd_global_root {
  cradle_word *address;
  cradle_kind kind;
} crd_global_root;

/* How many slots of an array may still be recorded before the next minor collection; see gc/remember.c. */
typedef struct crd_record_budget {
  uint32_t recorded_at; /* the minor collection after which left was set */
  uint32_t left;
} crd_record_budget;

struct cradle_heap {
  crd_nursery nursery;
  crd_quarantine quarantine;
  crd_old old;
  crd_type_table types;
  cradle_encoding encoding;
  bool plain_encoding;
  bool pool_noted;   /* the log was told that the pool refused arenas */
  bool announced;    /* HEAP_CREATED was sent, so HEAP_DESTROYED will be */
  bool remember_all; /* the remembered set could not grow: the next minor collection looks at every old object */
  int state;
  int pending_request; /* a safepoint request of another thread, atomic */

  struct crd_mutator *mutator; /* or NULL */
  crd_record_budget budgets[RECORD_BUDGETS]; /* of arrays in spans; some share one */
  crd_word_stack remembered;
  crd_word_stack recorded; /* slots of large arrays that were stored into; bit 0: it holds a value, not a reference */
  crd_word_stack mark_stack;
  crd_sampling sampling;
  crd_ids ids;
  crd_pins pins;
  crd_handles handles;
  crd_prebuilts prebuilts;
  crd_global_root *globals;
  size_t global_count, global_capacity;
  struct crd_services *services; /* weak slots, finalizers and the like; NULL: there never was one (gc/services.h) */
  cradle_root_function root_callback;
  void *root_callback_data;

  crd_pacing pacing;
  crd_major major;
  crd_adapt adapt;
  uint32_t compact_wait, compact_backoff; /* see crd_compact_if_due */
  uint64_t external_bytes; /* reported by the embedder in three ways, each at most COUNTED_MAX_BYTES */
  uint64_t arenas_told[2]; /* taken_total and given_back_total as the last event had them */
  uint64_t majors_measured; /* major collections when the kernel was last asked what backs the arenas */
  cradle_hardware hardware;
  cradle_options options;
  cradle_stats stats;
  crd_stress stress;
  cradle_cause last_cause;
  cradle_hook *hooks;       /* in the order in which they were added */
  uint32_t majors_disabled; /* open cradle_major_disable calls */
};

typedef struct crd_mutator {
  cradle_mutator public; /* first */
  crd_word_stack shadow;
  cradle_root_range *ranges;
  const void *thread; /* mark of the thread it is attached to, or NULL */
  char *handed_out;   /* nursery bytes up to here are in stats.allocated_bytes */
} crd_mutator;

static inline crd_mutator *mutator_of(cradle_mutator *mutator) {
  return (crd_mutator *)mutator;
}
static inline bool heap_is_young(const cradle_heap *heap, uintptr_t address) {
  return address - (uintptr_t)heap->nursery.start < heap->nursery.reserved_bytes;
}
/* The flags with which an object becomes old. */
static inline uint64_t heap_old_flags(const crd_type *type, size_t bytes) {
  bool only_items = type->items >= CRADLE_ITEMS_REFERENCES && type->references == 0 && type->values == 0 && type->trace == NULL &&
                    !(type->registers & REGISTERED_WEAKLY);
  if (!only_items || bytes <= SLOTS_MIN_BYTES) return HEADER_BARRIER_FLAG;
  return HEADER_BARRIER_FLAG | HEADER_SLOTS_FLAG | (type->items == CRADLE_ITEMS_VALUES ? HEADER_VALUES_FLAG : 0);
}
/* Whether the object at an address is young, large ones included. */
static inline bool heap_holds_young(const cradle_heap *heap, uintptr_t address) {
  if (CRADLE_LIKELY(heap_is_young(heap, address))) return true;
  if (CRADLE_LIKELY(heap->old.young_large == PAGE_NONE) || !arenas_contain(&heap->old.arenas, address)) return false;
  return arenas_page(&heap->old.arenas, arenas_page_number(&heap->old.arenas, address))->state == PAGE_LARGE_YOUNG;
}
/* Whether the object at an address of the old generation is known to be dead: marking is over and did not reach it. */
static inline bool heap_is_known_dead(const cradle_heap *heap, uintptr_t address) {
  const crd_page *page = old_span_of(&heap->old, address);
  if (page->state == PAGE_LARGE_YOUNG || page->state == PAGE_LARGE_REACHED) return false;
  return (heap->major.phase == MAJOR_CLEARING || old_is_unswept(&heap->old, page)) && !old_is_marked(&heap->old, address);
}
/* The address that a word leads to, which holds a plain reference or, if value is set, a value; 0: none. */
static inline uintptr_t heap_address_in(const cradle_heap *heap, bool value, cradle_word word) {
  if (CRADLE_LIKELY(!value)) return (uintptr_t)word;
  return value_is_reference(&heap->encoding, word) ? value_address(&heap->encoding, word) : 0;
}
static inline const crd_type *heap_type(const cradle_heap *heap, uint64_t header) {
  return &heap->types.types[(uint32_t)header];
}

/* --- events (gc/event.c) --- */
void crd_event_send(cradle_heap *heap, cradle_event *event);
void crd_event_simple(cradle_heap *heap, cradle_event_kind kind);
void crd_event_note(cradle_heap *heap, const char *text, uint64_t wanted, uint64_t got);
/* Tells how many arenas were taken and given back since it last did, if any; measured: even if none, and with what the kernel
 * gave, about 0.1 ms a GiB to ask. */
void crd_event_arenas(cradle_heap *heap, bool measured);
void crd_event_spans(cradle_heap *heap);
static inline bool event_wanted(const cradle_heap *heap) {
  return heap->options.listener.function != NULL || heap->hooks != NULL;
}

/* --- the maximum heap (gc/heap.c) --- */
/* Whether a nursery of so many bytes leaves what the old generation has committed below the maximum. */
bool crd_heap_nursery_fits(const cradle_heap *heap, size_t nursery_bytes);
/* How many arenas a maximum heap (0: none) allows beside the nursery. */
size_t crd_heap_arenas_within(const cradle_heap *heap, size_t max);
/* The threshold's bound: the maximum, and external memory, which the threshold counts and the maximum does not. 0: none. */
uint64_t crd_heap_threshold_max(const cradle_heap *heap);
/* Limits the arenas by the maximum less the nursery. */
void crd_heap_limit_arenas(cradle_heap *heap);

/* --- nursery (gc/nursery.c) --- */
size_t crd_nursery_choose(const cradle_options *options, const cradle_hardware *hardware, const char **reason);
/* Reserves room for a nursery of up to max bytes and commits one of so many. */
bool crd_nursery_init(cradle_heap *heap, size_t bytes, size_t max);
void crd_nursery_fini(cradle_heap *heap);
/* Changes the size of an empty nursery, from the next reset on. false: memory was refused, nothing changed. What a smaller
 * one does not use stays, for the next trial, until discard_rest drops its contents; with a maximum heap it does so at once. */
bool crd_nursery_resize(cradle_heap *heap, size_t bytes, const char *reason);
void crd_nursery_discard_rest(cradle_heap *heap);
/* Drops the contents of an empty nursery, so that its next use finds fresh pages; it stays committed. */
void crd_nursery_discard(cradle_heap *heap);
/* Empties it after a minor collection, secures the promotion reserve, and hands out as much as that allows. */
void crd_nursery_reset(cradle_heap *heap);
/* Sets top from what is asked of the mutator: its end or the next sample point, or NULL for the slow path at the next
 * allocation. */
void crd_nursery_set_top(cradle_heap *heap);
static inline uint64_t nursery_filled(const cradle_heap *heap) {
  return heap->mutator == NULL ? 0 : (uint64_t)(heap->mutator->public.free - heap->nursery.start);
}

/* --- the adaptive nursery (gc/adapt.c) --- */
void crd_adapt_init(cradle_heap *heap);
/* After a minor collection: decides about the size. */
void crd_adapt_after_minor(cradle_heap *heap, const cradle_event *minor);
/* How much of the nursery to hand out, so that a minor collection and an increment of marking fit the pause target, and
 * that increments come more often when they fall behind. */
size_t crd_adapt_hand_out(const cradle_heap *heap);

/* --- collections (gc/collect.c) --- */
/* Of the runs that allocators own, what they have not filled; old.used_bytes counts it. */
uint64_t crd_unfilled_bytes(const cradle_heap *heap);
/* Old generation and filled nursery, in bytes. */
uint64_t crd_used_bytes(const cradle_heap *heap);
void crd_collect_minor(cradle_heap *heap, cradle_cause cause) CRADLE_MAY_COLLECT;
/* Used bytes, external ones too, at which a major collection is to begin. */
uint64_t crd_collect_due_at(const cradle_heap *heap);
/* A minor collection, and after it an increment of the major one when that is due or runs: one pause. */
void crd_collect(cradle_heap *heap, cradle_cause cause) CRADLE_MAY_COLLECT;
/* A complete major collection. Full: what is unreachable now is gone, and empty arenas are given back; compacting: and
 * sparse arenas are emptied first. */
typedef enum crd_depth { DEPTH_MAJOR, DEPTH_FULL, DEPTH_COMPACTING } crd_depth;
void crd_collect_major(cradle_heap *heap, cradle_cause cause, crd_depth depth) CRADLE_MAY_COLLECT;
void crd_verify_if_asked(cradle_heap *heap);
/* Changes state, and top with it, so that an allocation where none may be takes the slow path and is refused there. */
void crd_heap_enter(cradle_heap *heap, int state);

/* --- their parts --- */
/* The minor collection's own work (gc/minor.c); fills event->u.minor but for times. */
void crd_minor_run(cradle_heap *heap, cradle_event *event) CRADLE_MAY_COLLECT;
/* For the order of death within it: promotes an object that is not, and leaves its slots to the caller; or looks at a slot
 * as tracing does, and traces what that left to trace. */
cradle_word *crd_minor_reach(void *context, uintptr_t address);
void crd_minor_visit(void *context, bool value, cradle_word *slot);
void crd_minor_trace(void *context);
/* The next increment of the running major collection, or the first of a new one (gc/major.c). */
void crd_major_start(cradle_heap *heap, cradle_cause cause);
void crd_major_step(cradle_heap *heap, crd_budget budget);
/* Marking (gc/mark.c). start: marks what the roots refer to. some: true when nothing is left to trace. */
void crd_mark_start(cradle_heap *heap);
bool crd_mark_some(cradle_heap *heap, crd_budget budget);
/* Marks the object at an address that may lie anywhere. */
void crd_mark_address(cradle_heap *heap, uintptr_t address);
/* Moves the objects of sparse arenas together and so empties them; no major collection runs, the nursery is empty. all: of
 * every arena, so that every old object moves, if memory allows (gc/compact.c). */
void crd_compact(cradle_heap *heap, bool all);
/* Whether compaction would give back enough to be worth its time. */
bool crd_compact_is_due(const cradle_heap *heap);
/* After a major collection: compacts when that is due. Where it was in vain (each arena has a pinned object, say), the next waits
 * until it was due once more, then twice, and so on. */
void crd_compact_if_due(cradle_heap *heap);

/* --- pacing (gc/pacing.c) --- */
void crd_pacing_init(crd_pacing *pacing, const cradle_options *options, const cradle_hardware *hardware, size_t nursery_bytes);
/* The threshold after a major collection that left so many bytes, and during whose marking so many were promoted. */
void crd_pacing_update(crd_pacing *pacing, uint64_t survived_bytes, uint64_t born_marked_bytes, uint64_t heap_max_bytes);
/* Used bytes at which the next major collection must begin, to be over at the threshold. */
uint64_t crd_pacing_trigger(const crd_pacing *pacing, uint64_t used_bytes);
/* Bytes to mark in the increment after a minor collection that promoted so many. */
uint64_t crd_pacing_increment(const crd_pacing *pacing, uint64_t promoted_bytes, uint64_t used_bytes,
                              uint64_t unmarked_bytes);
/* When that increment ends at the latest: its pause began at begin_ns, its minor collection is over now. */
uint64_t crd_pacing_deadline(const crd_pacing *pacing, uint64_t used_bytes, uint64_t begin_ns, uint64_t now_ns,
                             uint64_t target_ns);
/* Tells it what a minor collection promoted, what large objects came and lived before it, and what an increment marked. */
void crd_pacing_promoted(crd_pacing *pacing, uint64_t promoted_bytes, uint64_t large_bytes);
void crd_pacing_marked(crd_pacing *pacing, uint64_t bytes);

/* --- the remembered set (gc/remember.c) --- */
/* Remembers an old or prebuilt object whose barrier flag is set. */
void crd_remember(cradle_heap *heap, cradle_word *header);

/* --- quarantine (gc/quarantine.c) --- */
/* NULL when the options agree with each other. */
const char *crd_quarantine_fault(const cradle_options *options);
/* Makes the ring for a nursery of so many bytes, and returns its base; NULL: memory was refused. */
char *crd_quarantine_init(cradle_heap *heap, size_t window);
void crd_quarantine_fini(cradle_heap *heap);
/* Closes the nursery's pages up to filled, and moves its start behind them. false: the system refuses, nothing changed. */
bool crd_quarantine_advance(cradle_heap *heap, char *filled);
/* Whether the address lies on a closed page, and what was there. Fit for signal handlers. */
typedef struct crd_quarantined {
  const cradle_word *object; /* NULL: no object is known there */
  uintptr_t moved_to;        /* 0: it died */
  uint64_t collection;
  uint32_t type;
} crd_quarantined;
bool crd_quarantine_find(const cradle_heap *heap, uintptr_t address, crd_quarantined *found);
static inline bool quarantine_is_on(const cradle_heap *heap) {
  return CRADLE_UNLIKELY(heap->quarantine.base != NULL);
}
/* What was where the poison word lies, or NULL when the word is no poison (gc/explain.c). */
const char *crd_poison_cause(uint64_t word);

/* --- stress (gc/stress.c) --- */
/* NULL when the options agree with each other. */
const char *crd_stress_fault(const cradle_options *options);
void crd_stress_init(cradle_heap *heap);
/* Collects if this allocation or safepoint is one that the stress mode chose; whether it did. */
bool crd_stress_point(cradle_heap *heap, cradle_stress place) CRADLE_MAY_COLLECT;
/* Misuse if stress collections moved nothing: they could not have found anything. */
void crd_stress_judge(cradle_heap *heap);
static inline bool stress_is_on(const cradle_heap *heap) {
  return CRADLE_UNLIKELY(heap->options.stress_period != 0);
}
/* Whether what died or moved is poisoned, at a cost: one of the instruments that can tell is on. */
static inline bool heap_poisons(const cradle_heap *heap) {
  return CRADLE_UNLIKELY(stress_is_on(heap) || quarantine_is_on(heap) || heap->options.verify);
}
static inline crd_remains heap_remains(const cradle_heap *heap, bool swept) {
  uint64_t poison = swept ? POISON_SWEPT : POISON_NURSERY;
  uint64_t collection = heap->stats.minor_collections + !swept; /* the running one is not counted yet */
  return (crd_remains){heap_poisons(heap) ? poison : 0, collection, swept};
}

/* --- others --- */
/* Fills *error, unless error is NULL, and returns false (gc/heap.c). */
bool crd_fail(cradle_error *error, const char *message);
/* A zeroed object of a size that was checked, old from the start, with its header; NULL: no memory. May collect
 * (gc/allocate.c). */
void *crd_allocate_old(cradle_mutator *mutator, uint32_t type, size_t bytes) CRADLE_MAY_COLLECT;
/* The end of every allocation that must not fail; does not return. size: as the handler is told. */
CRADLE_COLD _Noreturn void crd_out_of_memory(cradle_mutator *mutator, size_t size);
/* Misuse unless an object of the type may have the size; the type's descriptor (gc/allocate.c). */
const crd_type *crd_check_type(cradle_heap *heap, uint32_t type);
void crd_check_size(cradle_heap *heap, uint32_t type, size_t size);
/* The bytes of a variable-size object, 0 when they overflow; misuse when the type has no items. what: the public function. */
size_t crd_check_array(cradle_heap *heap, uint32_t type, size_t length, const char *what);
bool crd_verify(cradle_heap *heap, crd_text *text);
/* Misuse in a callback, while a collection runs or the heap is otherwise busy. what: the public function. */
CRADLE_COLD _Noreturn void crd_heap_busy(cradle_heap *heap, const char *what);
static inline void heap_check(cradle_heap *heap, const char *what) {
  if (CRADLE_UNLIKELY(heap->state != HEAP_MUTATING)) crd_heap_busy(heap, what);
}
/* Misuse unless the calling thread is the mutator's, no collection runs, and none is forbidden. what: the public function. */
void crd_mutator_check(cradle_mutator *mutator, const char *what);
/* The same without the last condition, for functions that do not collect. */
void crd_mutator_check_thread(cradle_mutator *mutator, const char *what);
/* The same for functions of the heap, which may have no mutator. */
void crd_heap_check_thread(cradle_heap *heap, const char *what);
/* Names a type in a message. */
void crd_text_type(crd_text *text, const cradle_heap *heap, uint32_t type);

#endif
