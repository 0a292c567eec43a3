/* The second core: threads that mark while the program runs.
 *
 * The thread traces what is on the mark stack, in rounds, while the program runs and while a minor collection promotes.
 * Everything else of a major collection is done in pauses, on the program's thread:
 *
 *     program    runs      | pause: minor collection | pause: the rest | runs
 *     thread     a round   |        a round          |                 | a round
 *                          ^stop, go on              ^stop             ^go on
 *
 * If the process has one processor, minor collections have no rounds beside them: the two would only take turns. One
 * atomic word says which state the round is in, and who owns what the round works on:
 *
 *     IDLE     the mutator's; the thread waits, or populates arenas (gc/old/supply.h)
 *     CALLED   the same; the thread is to look for arenas to populate
 *     OFFERED  the thread may go on and has not begun: the mutator may take the round back, and need not wait
 *     TAKEN    the thread's
 *     ASKED    the thread's, which is to end the round as soon as it can
 *     END      the thread is to return; nobody works any more
 *
 *     mutator  IDLE or CALLED -> OFFERED with release; OFFERED -> IDLE; TAKEN -> ASKED; IDLE -> CALLED; IDLE or
 *              CALLED -> END
 *     thread   OFFERED -> TAKEN with acquire; TAKEN or ASKED -> IDLE with release; CALLED -> IDLE
 *
 *   [marker.1] What a round works on (mark bits, mark stack, aside, the figures of the round) has one owner: the thread
 *              while the word says TAKEN or ASKED, the mutator otherwise, but for [marker.3].
 *   [marker.2] A round runs only while the heap is marking, and only while the heap's state is HEAP_MUTATING or a minor
 *              collection traces. crd_state_enter stops it before anything else begins, even before a minor collection,
 *              which may then offer a round of its own.
 *   [marker.3] While a round runs, the mutator sets mark bits only in bitmap words that no other object shares: those
 *              of pages that it has just taken for a large object or a new span. There it sets the mark bits first,
 *              then the allocation bits, with release order. Everything else waits for the end of the round: what is
 *              noted by crd_marker_shade, and the bits of places that promotion takes in other spans [span.8].
 *   [marker.4] What the thread reads in an object is a hint. The thread marks a word's object only if an allocation bit
 *              says that one begins there; it never writes to an object and never calls the program. Marking too much
 *              keeps an object until the next collection; the next pause repairs marking too little [heap.6].
 *   [marker.5] The thread traces no object that is younger than the last pause: these are marked before anything can
 *              refer to them [span.7], or have no allocation bit until the round is over [span.8].
 *   [marker.6] Objects that need the program or the order of death (trace callbacks, weak slots, ephemerons, watched
 *              objects) are marked and put aside. The mutator traces them in its next increment.
 *
 * If the heap has more threads, several mark in a round. These *markers* are the thread and helpers that the team of
 * minor collections has hired (gc/young/team.h), each with such a word of its own. What one of them has left to trace
 * is on its own stack; they share through a pool (gc/old/mark_pool.h). Where all that is to be marked is marked in a
 * pause, the mutator leads a round: it marks, too, and needs no word, as the round ends when nothing is left to trace.
 * In such a round the threads of mutators that stand mark, too: guests, as in a team (gc/young/team.h).
 * Beside a minor collection one thread marks, because the helpers promote.
 *
 *   [marker.7] In a round of several, bits are set by an atomic or. The first marker has the mark stack. While it alone
 *              has something to trace, it sets them by plain stores: the others have none to set.
 *   [marker.8] A round belongs to all. A pause closes the pool, asks all markers, and then waits for each.
 *   [marker.9] Between rounds the mark stack is empty only if all stacks of markers are.
 *
 * docs/design/second-core.md gives the reasons, and shows that each access is ordered strongly enough.
 */
#ifndef CRADLE_GC_OLD_MARKER_H
#define CRADLE_GC_OLD_MARKER_H

#include "gc/old/mark_pool.h"
#include "gc/old/sweep.h"
#include "gc/parts.h"
#include "gc/platform/thread.h"

enum { ROUND_IDLE = 0, ROUND_CALLED, ROUND_OFFERED, ROUND_TAKEN, ROUND_ASKED, ROUND_END };

/* --- the mutator's side --- */

static inline bool rounds_change(uint32_t *word, uint32_t from, uint32_t to) {
  return __atomic_compare_exchange_n(word, &from, to, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE);
}
/* Ends the round that was offered. true: the mutator owns everything again. false: the thread has taken the round and
 * was asked to end it; wait for rounds_is_idle. */
static inline bool rounds_stop(uint32_t *word) {
  return rounds_change(word, ROUND_OFFERED, ROUND_IDLE) || !rounds_change(word, ROUND_TAKEN, ROUND_ASKED);
}
/* Whether everything is the mutator's. After rounds_stop returned false: whether the thread has ended the round. */
static inline bool rounds_is_idle(const uint32_t *word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE) <= ROUND_CALLED;
}
/* Tells the thread that there are arenas to populate, unless a round runs: the thread looks for them afterwards. */
static inline void rounds_call(uint32_t *word, crd_thread *thread) {
  if (__atomic_load_n(word, __ATOMIC_RELAXED) == ROUND_IDLE) crd_thread_set(thread, word, ROUND_CALLED);
}

/* --- the thread's side --- */

/* Takes a round (TAKEN is returned) or a call (CALLED), if there is one; otherwise END or IDLE. */
static inline uint32_t rounds_take(uint32_t *word) {
  if (rounds_change(word, ROUND_OFFERED, ROUND_TAKEN)) return ROUND_TAKEN;
  if (rounds_change(word, ROUND_CALLED, ROUND_IDLE)) return ROUND_CALLED;
  return __atomic_load_n(word, __ATOMIC_ACQUIRE) == ROUND_END ? ROUND_END : ROUND_IDLE;
}
static inline bool rounds_end_now(const uint32_t *word) {
  return __atomic_load_n(word, __ATOMIC_RELAXED) != ROUND_TAKEN;
}

/* --- the marker of a heap --- */

typedef struct crd_marker_work {
  uint64_t objects, bytes; /* traced */
  uint64_t put_aside;      /* objects */
  uint64_t run_ns;
  uint64_t stop_ns; /* how long the mutator waited for rounds to end; written by the mutator */
  uint32_t markers; /* the most that marked in a round */
} crd_marker_work;

/* What one marker works with in a round [marker.1]. */
typedef struct crd_tracer {
  crd_word_stack stack; /* the first one's is the mark stack, while a round goes on */
  crd_word_stack aside; /* [marker.6] */
  bool overflowed;      /* an object was marked and no stack had room for it */
  crd_marker_work work; /* of the round */
  uint64_t random;      /* under stress it decides where rounds end */
} crd_tracer;

/* What a heap needs for more than one marker. Threads have numbers: the heap's first thread has 0. */
typedef struct crd_markers {
  uint32_t count;    /* threads but the first */
  uint32_t equipped; /* tracers that have stacks */
  struct {
    crd_thread *thread;
    uint32_t *word;
  } threads[CRADLE_GC_THREADS_MAX];          /* number n is at n - 1 */
  crd_tracer tracers[CRADLE_GC_THREADS_MAX]; /* all but the first */
  crd_mark_pool pool;
} crd_markers;

typedef struct crd_marker {
  crd_thread *thread;             /* NULL: the heap has no thread now */
  void (*help)(crd_young *young); /* has the thread take part in the minor collection that runs, if one wants it */
  crd_young *young;
  uint32_t made;         /* threads: more than one, if the process comes out of a fork */
  uint32_t word;         /* of the protocol; atomic */
  bool refused;          /* the thread could not be made; that is not tried again */
  bool takes_turns;      /* the process has one processor: either the thread or the mutator works */
  bool going;            /* a round was offered and not stopped since */
  bool resumes;          /* crd_state_leave offers a round again */
  crd_sweep *sweep;      /* what a round sweeps that the mutator leads; NULL: it marks; atomic */
  bool leads;            /* the mutator is the first marker of the round */
  bool has_places;       /* guests may have a part in the round; atomic */
  bool begins_shared;    /* more than the first marker have something to trace as the round begins [marker.7] */
  uint32_t in_round;     /* markers of the round that goes on, or the last one: with places for guests, who come last */
  uint32_t guests;       /* these places */
  crd_tracer first;      /* the first marker of a round */
  crd_markers *others;   /* NULL: no memory, or no thread was made */
  crd_word_stack shaded; /* addresses that the mutator wants marked; used by the mutator only */
  crd_marker_work since; /* of the rounds since the last pause began */
  crd_marker_work last;  /* of the rounds between the last two pauses */
  size_t arenas_bytes;   /* of the arenas that were committed when the round was offered */
} crd_marker;

static inline crd_tracer *marker_tracer(crd_marker *marker, uint32_t number) {
  return number == 0 ? &marker->first : &marker->others->tracers[number - 1];
}

/* When marking begins: makes the thread, if there is none and the options and the heap want one. */
void crd_marker_begin(crd_marking *marking);
/* Before the heap is freed. */
void crd_marker_end(crd_marking *marking);
/* Whether there is a thread, or the next marking will make one. */
bool crd_marker_helps(crd_marking *marking);

/* How many threads the heap is to have, the marker's among them, once that has been made. */
uint32_t crd_marker_threads(const crd_marking *marking);

/* Ends the round if one goes on, which is returned, and marks the objects that crd_marker_shade noted in it. */
bool crd_marker_stop(crd_marking *marking);
/* Offers a round, if there is something to mark and nothing runs but the mutator. */
void crd_marker_go_on(crd_marking *marking);
/* The same beside a minor collection, if that will probably take long enough. There must be a thread. */
void crd_marker_go_on_in_minor(crd_marking *marking);
/* Has the object at an address marked: at once, or at the next stop if a round goes on. */
void crd_marker_shade(crd_marking *marking, uintptr_t address);
/* At the beginning of a pause: adds to the statistics what the rounds since the last one did, and sends an event. */
void crd_marker_tell(crd_marking *marking);
/* Has the thread, which must exist, populate `keep` FREE arenas and, while the heap grows, `ahead` more. */
void crd_marker_supply(crd_marking *marking, uint32_t keep, uint32_t ahead);
/* Moves what rounds put aside, and what markers have on their stacks, to the mark stack. */
void crd_marker_gather(crd_marking *marking);
/* Objects that rounds put aside: a stack that is not empty, or NULL. */
crd_word_stack *crd_marker_aside(crd_marker *marker);
/* The mark stack is empty: takes the stack of another marker that is not. false: all are empty. */
bool crd_marker_next_stack(crd_marking *marking);
/* Drops the empty pages of the other markers' stacks. */
void crd_marker_discard(crd_marking *marking);
/* A helper's thread can mark from now on; or none can, because the helpers are dismissed. */
void crd_marker_enlist(crd_marking *marking, crd_thread *thread, uint32_t *word);
void crd_marker_dismiss(crd_marking *marking);
/* In a pause: the mutator, the heap's threads and guests trace what is on the mark stack. Does nothing if there is
 * neither a thread nor a guest. */
void crd_marker_lead(crd_marking *marking);
/* The same for small spans that wait to be swept, once marking is over. */
void crd_marker_sweep(crd_marking *marking);
/* On a thread, which has taken a round: does its part. */
void crd_marker_work_as(crd_marking *marking, uint32_t thread);
/* Whether a guest may have a part in a round; it has one. false: it came too late. */
static inline bool marker_has_place(const crd_marker *marker) {
  return __atomic_load_n(&marker->has_places, __ATOMIC_ACQUIRE);
}
bool crd_marker_visit(crd_marking *marking);
/* A marker's part of a round (gc/old/mark_beside.c), until nothing is left to trace or a pause asks for the end. */
void crd_mark_beside(crd_marking *marking, crd_tracer *tracer);

#endif
