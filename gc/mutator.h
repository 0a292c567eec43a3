/* Mutators: what every public function checks first. The invariants of mutators are in cradle/mutator.h.
 *
 *   function                                     thread   state   no-collection region   checks with
 *   may collect                                  yes      yes     yes                    crd_mutator_check
 *   has a mutator                                yes      yes                            crd_mutator_check_thread
 *   has a heap                                   yes *    yes                            crd_heap_enter
 *   has a weak set                               yes *    yes                            crd_mutator_check_thread
 *   stores, past the barrier's inline test       **       yes                            heap_check
 *   only reads, and says so in its header; uses no heap; is the kit's: nothing
 *
 *   thread: the calling thread is the one that the mutator is attached to, and has not parked it. *: if the heap has a
 *   mutator; a shared heap (gc/world.h) takes any thread, and the function holds the world until it ends. **: in code
 *   compiled with CRADLE_CHECKED; the inline test asks nobody, and the slow path is hot.
 *   state:  no callback runs, no collection, no fork ([heap.4], gc/report/report.h).
 *
 * tests/heap/test_every_function.c has a row for each public function; tests/tree/every_function.py finds those that it
 * lacks. A heap, mutator or structure that is NULL faults at address 0. One that was freed cannot be recognised. An
 * object that must not be NULL is misuse.
 */
#ifndef CRADLE_GC_MUTATOR_H
#define CRADLE_GC_MUTATOR_H

#include "gc/parts.h"
#include "gc/report/report.h"
#include "gc/root_stack.h"

/* gc/world.h says what they mean. */
enum { MUTATOR_PARKED, MUTATOR_RUNNING, MUTATOR_STOPPED };

/* The calling thread, by the address of a variable of its own: that needs no call. A later thread may have a variable
 * at the same address, so the mutators of a thread forget it as the thread ends [mutator.5]. */
extern CRD_THREAD_LOCAL char crd_thread_mark;
static inline const void *crd_thread_self(void) {
  return &crd_thread_mark;
}

/* In place of the thread of a mutator in a shared heap: a sampler's callback runs on it. */
#define MUTATOR_SAMPLED ((const void *)memory_at(1))

#define MUTATOR_NAME_BYTES 32

struct crd_mutator {
  cradle_mutator public; /* first */
  /* The parts of its heap. */
  crd_space *space;
  crd_tables *tables;
  crd_marking *marking;
  crd_young *young;
  struct crd_mutator *next; /* of the heap's */
  crd_local *local;         /* its chunk of the nursery, and what its barrier recorded */
  cradle_root_stack own, *running;
  crd_ring rings[ROOT_STACKS_RINGS]; /* of root stacks [root_stack.1] */
  cradle_root_range *ranges;         /* that belong to no root stack */
  int state;                         /* RUNNING, STOPPED or PARKED, atomic */
  int pending_request;               /* a safepoint request of another thread, atomic */
  const void *thread;                /* that it is attached to and may use it; NULL: none; atomic */
  char *parked_top;                  /* top as it was when it parked; NULL: a stop has changed it since */
  const void *parked_by;             /* the thread that has parked it; NULL: it is not parked, or has no thread */
  uint64_t number;                   /* of the heap's mutators so far, from 1 */
  char name[MUTATOR_NAME_BYTES];     /* ends with 0; changes under space_lock */
  uint64_t thread_id;                /* for messages; 0: it never had a thread; atomic */
  const char *last_place;            /* of its thread's last call that had one (cradle_call_begin), or NULL; atomic */
  uint64_t began;                    /* what its local had allocated before it */
  uint64_t stops, stop_ns;           /* see cradle_mutator_figures */
  uint64_t waited_ns;
  bool orphaned;                                      /* that thread has ended without detaching it */
  struct crd_mutator *next_attached, **attached_link; /* the other mutators of the thread */
  uint64_t unlooked_calls;                            /* so many more skip the look at all scoped roots (gc/unwind.c) */
  uint64_t open_scopes;                               /* of a freed mutator: scopes that have not ended */
  cradle_word no_root; /* of a freed mutator: its scoped roots, of which only the first word, 0, is left */
};

static inline crd_mutator *mutator_of(cradle_mutator *mutator) {
  return (crd_mutator *)mutator;
}

/* The checks of the table above. what: the public function. */
CRADLE_COLD _Noreturn void crd_heap_busy(cradle_heap *heap, const char *what);
static inline void heap_check(cradle_heap *heap, const char *what) {
  if (CRADLE_UNLIKELY(heap_report(heap)->state != HEAP_MUTATING)) crd_heap_busy(heap, what);
}
void crd_mutator_check(cradle_mutator *mutator, const char *what);
void crd_mutator_check_thread(cradle_mutator *mutator, const char *what);
void crd_heap_check_thread(cradle_heap *heap, const char *what);
/* The same, and takes the world of a shared heap, until crd_world_leave. */
void crd_heap_enter(cradle_heap *heap, const char *what);
/* Takes the world of a shared heap, and stops it, without any check: for calls that only read. Returns the heap. */
cradle_heap *crd_heap_hold(const cradle_heap *heap, const char *what);
/* Copies the mutator's name: any thread may change it meanwhile. */
void crd_mutator_copy_name(const crd_mutator *mutator, char name[MUTATOR_NAME_BYTES]);
/* In the child of a fork: the mutators of other threads are as if these had ended. */
void crd_mutators_forked(cradle_heap *heap);
/* The heap's mutator that the calling thread may use; NULL: none. In a heap that is not shared: the only one, whose
 * thread is not looked at. */
crd_mutator *crd_heap_mutator(cradle_heap *heap);
/* Checks only the thread, if the heap has a mutator: for calls that end a state. */
void crd_heap_check_owner(cradle_heap *heap, const char *what);

#endif
