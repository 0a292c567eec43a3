/* Object services: weak slots, ephemerons, weak sets, finalizers, destructors and external sizes. What their modules share.
 *
 * Objects with services are registered when they are allocated: each is in one list for each of its kinds of service. So a
 * minor collection looks at the young ones and those that were stored into, a major collection at all, and a heap without any
 * has no lists at all.
 *
 * The order of death is the same in both collections, and gc/death.c reads as it: everything that roots reach; ephemerons, to a
 * fixpoint; weak slots and weak sets are cleared; what finalizers bring back is queued and reached; ephemerons again;
 * ephemerons with dead keys are cleared; destructors. A minor collection does it in one go, a major one in increments
 * between marking and sweeping. The mutator cannot meet a dead object meanwhile: it reads weak slots with the guard up.
 *
 *   [services.1] Of a list, [base, kept) and [next, young) are old objects. [young, top) are those registered since the last
 *                minor collection; it is empty outside of one. kept == next == base unless a pass of the major collection
 *                over the list is under way.
 *   [services.2] An old object is in the weak or in the ephemeron list if and only if it has the weak flag.
 *   [services.3] Each list has room for all that fresh may hold, up to registered_end. For every registered finalizer there is
 *                room in its queue and in both candidate stacks: a collection cannot fail there. What else takes memory (watch
 *                tables, the stacks of reach) has a way without it: passes over all ephemerons until nothing changes, and
 *                registration order.
 *   [services.4] While a major collection marks and watching is set, every pair of a marked and scanned holder with an unmarked
 *                key has an entry in its watch table, and the key has the watched flag, unless the watch table is incomplete or
 *                the holder was stored into since: then it is remembered or noted.
 *   [services.5] After the clearing of weak slots, no weak slot leads to an object that the collection found dead.
 */
#ifndef CRADLE_GC_SERVICES_H
#define CRADLE_GC_SERVICES_H

#include <cradle/finalizer.h>

#include "gc/heap.h"
#include "gc/registry.h"
#include "gc/watch.h"

/* Low bits of an entry: of the finalizer list and of candidates, the queue; of fresh the same, if only the finalizer is
 * registered, and not by the type; of the ephemeron list, in a minor collection. */
#define ENTRY_BITS 7
#define ENTRY_SCANNED 1
/* What is in an entry of the watch table: the address of a pair, perhaps with SLOT_HOLDS_VALUE, or a candidate's number. */
#define WATCH_CANDIDATE 4
#define WATCH_SHIFT 3
/* Entries or pieces between two looks at the clock, and in the smallest increment, which the stress mode takes. */
#define PACE_ENTRIES 128
#define STEP_ENTRIES 4
/* Items of a large array that are looked at in one go. */
#define SERVICE_PIECE_ITEMS LIMIT(1024, 4)

typedef struct crd_list {
  crd_word_stack words;
  cradle_word *kept, *next, *young;
} crd_list;

/* Objects that came back and wait for the VM; [head, words.top). */
typedef struct crd_queue {
  crd_word_stack words;
  cradle_word *head;
} crd_queue;

/* One collection's way through the order of death. There is one for minor and one for major collections, since minor ones
 * run between the increments of major ones. */
typedef struct crd_death {
  cradle_heap *heap;
  bool is_minor;
  void *context;                 /* of gc/minor.c */
  const cradle_word *stored, *stored_end; /* minor: objects that were remembered; all old ones count as such when all_old */
  bool all_old;
  const cradle_word *fresh, *fresh_end; /* minor: what is not in the lists, since it dies unless something comes back */
  unsigned fresh_kinds;                 /* the lists that it would be in */
  crd_watch watch;
  bool incomplete;               /* the watch table is: fixpoints go by passes */
  bool progress;                 /* something was reached since it was last cleared */
  bool reaching;                 /* values go on the slots stack; else they are handed to the collection's own tracing */
  size_t trimmed, trimmed_bytes; /* stacks whose memory was given back, and of the next one */
  uint64_t item;                 /* of a large array, where to go on */
  cradle_word *holder;           /* major: the ephemeron holder that is being scanned, or NULL */
  /* gc/reach.c */
  crd_word_stack slots;          /* to look at, or objects to close; while marking: holders to scan */
  crd_word_stack open, path;     /* the strongly connected components under way */
  crd_word_stack members;        /* candidates in open components: place in open << 32 | candidate */
  bool ordering;
  bool unordered;                /* memory for the order was refused: no header tells what is reached with all it leads to */
  /* gc/finalizer.c */
  crd_word_stack candidates;     /* dead objects with finalizers, in registration order, with their queue */
  crd_word_stack ordered;        /* candidates' numbers, last first */
  size_t watched;                /* so many are, when their order is asked for */
  size_t candidate;              /* the next to reach, counted down; then the next to queue */
} crd_death;

/* What the clearing of a major collection does; see gc/death.c. */
typedef enum crd_stage {
  STAGE_WEAK, STAGE_SETS, STAGE_FIND, STAGE_REACH, STAGE_QUEUE, STAGE_EPHEMERONS, STAGE_HOLDERS, STAGE_DESTRUCTORS, STAGE_TRIM,
  STAGE_NONE
} crd_stage;

typedef struct crd_services {
  size_t list_bytes;    /* of address space, for each list and table; 0: not known yet */
  crd_word_stack fresh; /* [base, registered of the mutator) was registered since the last minor collection */
  crd_list lists[REGISTERED_KINDS];
  unsigned kinds;       /* the lists that are there */
  crd_queue queues[CRADLE_FINALIZER_QUEUES];
  crd_death minor, major;
  size_t finalizer_room; /* finalizers that may be listed, since there is room for them everywhere */
  bool watching;        /* the major collection marks, and values of ephemerons with it */
  cradle_word *scan;    /* the next entry of the ephemeron list to look at then */
  crd_word_stack noted; /* marked holders that were stored into since they were scanned; with the watched flag, but for those traced since */
  unsigned rounds;      /* they were scanned so often */
  crd_stage stage;
  struct cradle_weak_set *sets;    /* list of all */
  struct cradle_weak_set *set;     /* the one that is being cleared */
  uint64_t owned_bytes;            /* external sizes of old objects; part of heap.external_bytes, like pressure_bytes */
  uint64_t recounted_bytes;        /* of those looked at by the pass under way */
  uint64_t pressure_bytes;         /* told since the last minor collection */
} crd_services;

static inline const crd_type_services *heap_services_of(const cradle_heap *heap, uint64_t header) {
  return &heap->types.services[(uint32_t)header];
}

/* --- what a collection knows --- */

/* Where an object is now, or 0 while it has not been reached. What the collection does not judge is reached. */
static inline uintptr_t death_find(const crd_death *death, uintptr_t address) {
  const cradle_heap *heap = death->heap;
  const crd_arenas *arenas = &heap->old.arenas;
  if (!death->is_minor) return !arenas_contain(arenas, address) || old_is_marked(&heap->old, address) ? address : 0;
  if (CRADLE_LIKELY(heap_is_young(heap, address))) {
    cradle_word header = *(const cradle_word *)address;
    return header & HEADER_FORWARDED ? (uintptr_t)(header & ~HEADER_FORWARDED) : 0;
  }
  if (CRADLE_LIKELY(heap->old.young_large == PAGE_NONE) || !arenas_contain(arenas, address)) return address;
  return arenas_page(arenas, arenas_page_number(arenas, address))->state == PAGE_LARGE_YOUNG ? 0 : address;
}

/* The address that a weak word, a key or a value leads to; 0: none. */
static inline uintptr_t service_address(const cradle_heap *heap, bool value, cradle_word word) {
  return heap_address_in(heap, value, word);
}
static inline void service_redirect(const cradle_heap *heap, bool value, cradle_word *slot, uintptr_t address) {
  *slot = value ? value_moved(&heap->encoding, *slot, address) : address;
}

/* A slot that does not keep its object alive: follows it, or becomes zero. Returns whether it died. */
static inline bool death_judge(const crd_death *death, bool value, cradle_word *slot) {
  uintptr_t address = service_address(death->heap, value, *slot);
  if (address == 0) return false;
  uintptr_t place = death_find(death, address);
  if (place == address) return false;
  if (place == 0)
    *slot = 0;
  else
    service_redirect(death->heap, value, slot, place);
  return place == 0;
}

/* In a minor collection: moves what is fresh to the lists, but for those objects that have not been reached and have no finalizer
 * and no ephemeron: if nothing comes back, there is no need to. rest: it is needed. (gc/registry.c) */
void crd_registry_distribute(crd_death *death);
void crd_registry_distribute_rest(crd_death *death);
/* How much may be registered until the next one. */
void crd_registry_allow(cradle_heap *heap);
/* The entry of a young object with weak slots or ephemerons that survived: it is old from now on [services.2]. */
static inline cradle_word services_settled(uintptr_t place) {
  *(cradle_word *)place |= HEADER_WEAK_FLAG;
  return place;
}

/* --- passes of the major collection over a list --- */

/* How far an increment goes. */
typedef struct crd_pace {
  crd_budget budget;
  int countdown; /* entries or pieces to the next look at the clock */
} crd_pace;
bool crd_pace_is_over(crd_pace *pace);

typedef enum crd_verdict { ENTRY_DROP, ENTRY_KEEP, ENTRY_AGAIN } crd_verdict;
typedef crd_verdict (*crd_entry_function)(crd_death *death, cradle_word *entry);
/* Goes on with a pass over the old objects of a list. true: it is over, and the list closed up. */
bool crd_list_pass(crd_death *death, int kind, crd_entry_function judge, crd_pace *pace);
/* Forgets what the collection knew, whose stacks are empty, and gives their memory back to the system, and that of minor
 * collections' stacks. true: all of it. */
bool crd_registry_trim(crd_death *death, crd_pace *pace);

/* --- the modules; each phase for both collections, and what is left over for others --- */

/* gc/reach.c: what only finalizers and ephemerons hold. */
/* Looks at a slot whose object is to be reached. ephemeral: the value of a pair, of which a minor collection judges young ones
 * only. */
void crd_reach_slot(crd_death *death, bool value, cradle_word *slot, bool ephemeral);
/* Reaches an object that has not been. */
void crd_reach_object(crd_death *death, uintptr_t address);
/* Goes on until nothing is left to look at, or the pace is over (NULL: never). */
bool crd_reach_run(crd_death *death, crd_pace *pace);
/* Whether an increment ends here. Without order or a complete watch table none does before all is reached: the program could not
 * be kept from what is reached itself, but leads to what is not yet. */
bool crd_reach_pauses(const crd_death *death, crd_pace *pace);
/* Memory for the order was refused: finalizers come as they were registered. What is open closes. */
void crd_reach_give_up_order(crd_death *death);
/* At the end, when memory was refused: traces what went to the collection's own tracing, and looks for the ephemerons that
 * it missed. */
void crd_reach_complete(crd_death *death);
/* An object with the watched flag was reached. address: where it was when it was watched. */
void crd_reach_wake(crd_death *death, cradle_word *place, uintptr_t address);

/* gc/ephemeron.c */
void crd_ephemerons_minor(crd_death *death);
/* By passes over all, until nothing is reached any more. */
void crd_ephemerons_by_passes(crd_death *death);
/* Looks at all pairs of a reached holder. */
void crd_ephemerons_scan(crd_death *death, cradle_word *holder);
void crd_ephemerons_clear_minor(crd_death *death);
crd_verdict crd_ephemerons_clear_entry(crd_death *death, cradle_word *entry);
/* A minor collection ended while marking goes on: notes the holders that were stored into. */
void crd_ephemerons_stored(crd_death *major, const crd_death *minor);

/* gc/weak.c */
/* While the guard is up: whether marking left the object at an address that a weak slot holds. */
bool crd_weak_is_dead(const cradle_heap *heap, uintptr_t address);
void crd_weak_minor(crd_death *death, bool dead_too);
void crd_weak_settle(crd_death *death);
crd_verdict crd_weak_entry(crd_death *death, cradle_word *entry);
crd_verdict crd_weak_holder_entry(crd_death *death, cradle_word *entry);

/* gc/weak_set.c */
void crd_weak_sets_minor(crd_death *death);
void crd_weak_sets_begin(crd_services *services);
bool crd_weak_sets_pass(crd_death *death, crd_pace *pace);
/* Calls the functions of the sets that lost something. */
void crd_weak_sets_tell(cradle_heap *heap);
typedef void (*crd_move_function)(void *context, bool value, cradle_word *slot);
size_t crd_weak_sets_bytes(const crd_services *services);
void crd_weak_sets_each(cradle_heap *heap, crd_move_function visit, void *context);

/* gc/finalizer.c */
/* Moves the dead of the young to the candidates. false: there are none. */
bool crd_finalizers_find_minor(crd_death *death);
crd_verdict crd_finalizers_find_entry(crd_death *death, cradle_word *entry);
/* Reaches the candidates, in increments; true: done. */
bool crd_finalizers_reach(crd_death *death, crd_pace *pace);
bool crd_finalizers_queue(crd_death *death, crd_pace *pace);

/* gc/destructor.c */
void crd_destructors_minor(crd_death *death);
void crd_destructors_begin(crd_services *services);
crd_verdict crd_destructors_entry(crd_death *death, cradle_word *entry);
void crd_destructors_end(cradle_heap *heap);
/* Runs all that are left. */
void crd_destructors_fini(cradle_heap *heap);

#endif
