/* Finalizers: dead objects that are given back to the VM.
 *
 * The dead objects of the finalizer list are the candidates, in registration order. If none of them can lead to another
 * one, that is the order. Otherwise each candidate gets its number, and then they are reached, from the last to the
 * first. gc/death/reach.c learns on the way which of them lead to each other and so are one component; the components
 * come out last first. Each candidate's component is noted, and the candidates of a component are linked in
 * registration order. Then they go to their queues, alive. Objects in a queue are old, and roots of marking.
 *
 * Whether a candidate can lead to another one is told from its slots alone: it cannot if each leads to an object that
 * was reached, or to a leaf (no slots, no pairs) that is no candidate. A leaf whose type has a finalizer may be one. If
 * the program has registered any other leaf that is a candidate now, the order is looked for.
 *
 * The number of a candidate is in its header until it is reached, in the bits that say where an object is open; it is
 * right if the candidate of that number is the object. The header that the candidate had is in headers; or there is the
 * number of another candidate, which is the same object, registered several times.
 *
 *   [finalizer.1] When all candidates are reached and the order was not given up, each has its component, once.
 *   [finalizer.2] Candidates wait only from the stage that finds them to the one that queues them.
 *   [finalizer.3] The VM sees none of a collection's objects in any queue before all of them are in their queues. What
 *                 a minor collection queues while a major one is queueing lies behind the major one's objects, and
 *                 becomes visible with them.
 *   [finalizer.4] While the order is looked for, the headers of the first candidates, as many as headers has words,
 *                 hold their numbers unless they were reached. In a major collection these headers are open, so nobody
 *                 takes the number for flags. When the order is given up, all get their headers back.
 *   [finalizer.5] While marking, the objects of a queue behind its first `unmarked` are marked. Those waited when
 *                 marking began, and are marked in pieces, the last first; what is queued meanwhile was born marked. At
 *                 other times unmarked is 0.
 */
#ifndef CRADLE_GC_DEATH_FINALIZER_H
#define CRADLE_GC_DEATH_FINALIZER_H

#include "gc/death/registry.h"

/* The objects that came back and wait for the VM, by their addresses: [head, words.top). head <= shown <= words.top. */
typedef struct crd_queue {
  crd_word_stack words;
  cradle_word *head;
  cradle_word *shown; /* [finalizer.3] the VM sees [head, shown); the rest waits until its collection has queued all */
  size_t unmarked;    /* so many at the head are still to be marked [finalizer.5] */
} crd_queue;

typedef struct crd_candidates {
  crd_word_stack entries; /* dead objects with finalizers, in registration order, each with its queue */
  crd_word_stack headers; /* of the candidates that have their numbers: the header of each, or another number */
  crd_word_stack ordered; /* numbers of 32 bits: for each candidate its component, then the next candidate of that;
                           * behind these, for each component its first candidate. Its top stays at its base. */
  size_t next;            /* the next to reach, counting down from count; after that the next to queue, counting up */
  size_t placed;          /* candidates that have their component and are not linked */
  size_t components;      /* that came out and were not queued */
  bool comes_out;         /* a candidate of the next component has come out */
  uint32_t linked;        /* the next candidate to queue of the component that is being queued, or UINT32_MAX */
} crd_candidates;

static inline size_t candidates_count(const crd_candidates *candidates) {
  return word_stack_count(&candidates->entries);
}

/* --- the stages, of both collections; a pace of NULL is a minor collection's; true: done --- */

/* Makes the object of an entry of the list a candidate if it is dead, and says what becomes of the entry. */
crd_verdict crd_finalizers_find_entry(crd_death *death, cradle_word *entry);
/* In a minor collection: the same for all young objects of the list. false: no object is a candidate. */
bool crd_finalizers_find(crd_death *death);
/* Reaches the candidates and everything that they lead to. */
bool crd_finalizers_reach(crd_death *death, crd_pace *pace);
/* For a watched object that is about to be reached while the order is looked for. If it is a candidate, gives it its
 * header back and returns its number; otherwise returns CANDIDATE_NONE. */
#define CANDIDATE_NONE UINT64_MAX
cradle_word crd_finalizers_unnumber(crd_death *death, cradle_word *object);
/* An object of the component that comes out is the candidate of that number, or none. */
void crd_finalizers_come_out(crd_candidates *candidates, cradle_word number);
/* All objects of the component have come out. */
void crd_finalizers_came_out(crd_candidates *candidates);
/* The order is given up: all candidates get their headers back. */
void crd_finalizers_unnumber_all(crd_death *death);
bool crd_finalizers_queue(crd_death *death, crd_pace *pace);

/* --- between collections --- */

/* When marking starts: all objects that wait in queues are still to be marked. */
void crd_finalizers_mark_begin(crd_services *services);
/* When the mark stack is empty: marks a piece of them. false: all were marked before. */
bool crd_finalizers_mark_some(crd_services *services);
/* Queues every object with a finalizer. No major collection runs, and everything that is listed lives. */
void crd_finalizers_queue_all(crd_services *services);

/* How many objects wait in a queue, for the program to see. */
size_t crd_finalizer_waiting(const crd_services *services, uint32_t number);

#endif
