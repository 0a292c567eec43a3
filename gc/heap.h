/* The heap: what the collector's modules share, and the order of a collection.
 *
 *   [heap.1] Outside a collection every old object that refers to a young one is remembered, or remember_all is set.
 *   [heap.2] Outside a collection old.reserve arenas are FREE, enough to promote all that the nursery can hold.
 *   [heap.3] An old object's barrier flag is set exactly when it is not remembered; a young object's flags are zero.
 *   [heap.4] state says what runs now; no allocation and no barrier happens unless it is HEAP_MUTATING.
 */
#ifndef CRADLE_GC_HEAP_H
#define CRADLE_GC_HEAP_H

#include <cradle/heap.h>
#include <cradle/roots.h>

#include "gc/check.h"
#include "gc/sample.h"
#include "gc/span.h"
#include "gc/type_table.h"
#include "gc/value.h"
#include "gc/word_stack.h"

#define HEADER_BARRIER_FLAG ((uint64_t)CRADLE_BARRIER_MASK << (8 * CRADLE_BARRIER_OFFSET))
/* A promoted object's header in the nursery: the new address with this bit. Type ids keep below it. */
#define HEADER_FORWARDED (UINT64_C(1) << 63)

/* Poison: what a dead word says about why it is dead. */
#define POISON_SWEPT UINT64_C(0xdead0001dead0001)   /* freed by a sweep */
#define POISON_NURSERY UINT64_C(0xdead0002dead0002) /* an object that moved or died in a minor collection was here */

enum { HEAP_MUTATING = 0, HEAP_COLLECTING, HEAP_VERIFYING, HEAP_SAMPLING };

typedef struct crd_nursery {
  char *start, *end;   /* [start, end) is handed out; end is lowered when the promotion reserve is refused */
  char *slack_end;     /* one object or reservation of the largest size may reach over end, up to here */
  size_t bytes;        /* the size chosen: end - start unless lowered */
  size_t full_bytes;   /* slack_end - start unless lowered */
  size_t mapped_bytes; /* of the mapping */
  bool pool_refused;   /* the huge-page pool was asked for it and had not enough */
} crd_nursery;

typedef struct crd_pacing {
  uint64_t threshold;     /* used bytes at which the next major collection is due */
  uint64_t min, max_delta;
  double factor, growth;
} crd_pacing;

typedef struct crd_global_root {
  cradle_word *address;
  cradle_kind kind;
} crd_global_root;

struct cradle_heap {
  crd_nursery nursery;
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
  crd_word_stack remembered;
  crd_word_stack mark_stack;
  crd_sampling sampling;
  crd_global_root *globals;
  size_t global_count, global_capacity;
  cradle_root_function root_callback;
  void *root_callback_data;

  crd_pacing pacing;
  uint32_t arena_demand; /* arenas that were in use at recent major collections; see gc/collect.c */
  cradle_hardware hardware;
  cradle_options options;
  cradle_stats stats;
  uint64_t stress_countdown, stress_collections;
  cradle_cause last_cause;
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
  return address - (uintptr_t)heap->nursery.start < heap->nursery.mapped_bytes;
}
static inline const crd_type *heap_type(const cradle_heap *heap, uint64_t header) {
  return &heap->types.types[(uint32_t)header];
}

/* --- events (gc/event.c) --- */
void crd_event_send(cradle_heap *heap, cradle_event *event);
void crd_event_simple(cradle_heap *heap, cradle_event_kind kind);
void crd_event_note(cradle_heap *heap, const char *text, uint64_t wanted, uint64_t got);
static inline bool event_wanted(const cradle_heap *heap) {
  return heap->options.listener.function != NULL;
}

/* --- nursery (gc/nursery.c) --- */
size_t crd_nursery_choose(const cradle_options *options, const cradle_hardware *hardware, const char **reason);
bool crd_nursery_init(cradle_heap *heap, size_t bytes);
void crd_nursery_fini(cradle_heap *heap);
/* Empties it after a minor collection, secures the promotion reserve, and hands out as much as that allows. */
void crd_nursery_reset(cradle_heap *heap);
/* Sets top from what is asked of the mutator: its end or the next sample point, or NULL for the slow path at the next
 * allocation. */
void crd_nursery_set_top(cradle_heap *heap);

/* --- collections (gc/collect.c drives gc/minor.c, gc/mark.c and the sweep) --- */
void crd_collect_minor(cradle_heap *heap, cradle_cause cause);
/* A minor collection, and a major one after it when the threshold is reached. */
void crd_collect(cradle_heap *heap, cradle_cause cause);
void crd_collect_major(cradle_heap *heap, cradle_cause cause, bool full);
/* The minor collection's own work; fills event->u.minor but for times. */
void crd_minor_run(cradle_heap *heap, cradle_event *event);
void crd_mark_run(cradle_heap *heap, uint64_t *objects, uint64_t *bytes);

/* --- pacing (gc/pacing.c) --- */
void crd_pacing_init(crd_pacing *pacing, const cradle_options *options, const cradle_hardware *hardware, size_t nursery_bytes);
/* The threshold after a major collection that left so many bytes. */
void crd_pacing_update(crd_pacing *pacing, uint64_t survived_bytes, uint64_t heap_max_bytes);
/* Raises the threshold by an object that is about to be allocated and was the reason for the collection: an object larger
 * than the minimum must not be a reason again and again. */
void crd_pacing_reserve(crd_pacing *pacing, uint64_t bytes, uint64_t heap_max_bytes);

/* --- others --- */
bool crd_verify(cradle_heap *heap, crd_text *text);
/* Misuse unless the calling thread is the mutator's, no collection runs, and none is forbidden. what: the public function. */
void crd_mutator_check(cradle_mutator *mutator, const char *what);
/* The same without the last condition, for functions that do not collect. */
void crd_mutator_check_thread(cradle_mutator *mutator, const char *what);
/* Names a type in a message. */
void crd_text_type(crd_text *text, const cradle_heap *heap, uint32_t type);

#endif
