/* Finalizers: dead objects that are given back to the VM.
 *
 * The dead objects of the finalizer list are the candidates, in registration order. If one of them leads to anything
 * that was not reached, each is watched, so that gc/death/reach.c, which reaches them from the last to the first,
 * learns which of them lead to which; what comes out is the order, last first. If none does, registration order is the
 * order. Then they go to their queues, alive. Objects in a queue are old, and roots of marking.
 *
 *   [finalizer.1] When all candidates are reached and the order was not given up, each has its place in ordered, once.
 *   [finalizer.2] Candidates wait only from the stage that finds them to the one that queues them.
 *   [finalizer.3] The VM sees none of a collection's objects in any queue before all of them are in their queues. What
 *                 a minor collection queues while a major one is queueing lies behind that one's, and waits with it.
 */
#ifndef CRADLE_GC_DEATH_FINALIZER_H
#define CRADLE_GC_DEATH_FINALIZER_H

#include "gc/death/list.h"

/* Objects that came back and wait for the VM: [head, words.top), addresses. head <= shown <= words.top. */
typedef struct crd_queue {
  crd_word_stack words;
  cradle_word *head;
  cradle_word *shown; /* [finalizer.3] what lies behind waits for the rest that the same collection queues */
} crd_queue;

typedef struct crd_candidates {
  crd_word_stack entries; /* dead objects with finalizers, in registration order, with their queue */
  crd_word_stack ordered; /* their numbers, last first */
  size_t watched;         /* so many are, when their order is asked for; <= count */
  size_t next;            /* the next to reach, counted down from count; then the next to queue, counted up */
} crd_candidates;

static inline size_t candidates_count(const crd_candidates *candidates) {
  return word_stack_count(&candidates->entries);
}

/* --- the stages, of both collections; a pace of NULL is a minor collection's --- */

/* Moves the dead of the young to the candidates, or one entry of a pass. false: there are none. */
bool crd_finalizers_find(crd_death *death);
crd_verdict crd_finalizers_find_entry(crd_death *death, cradle_word *entry);
/* Reaches the candidates with all that they lead to; true: done. */
bool crd_finalizers_reach(crd_death *death, crd_pace *pace);
/* Queues them, in order; true: done. */
bool crd_finalizers_queue(crd_death *death, crd_pace *pace);

/* --- between collections --- */

/* Marking starts: marks the objects that wait in queues. */
void crd_finalizers_mark_queues(cradle_heap *heap);
/* Every object with a finalizer goes to its queue; no major collection runs, and all that is listed lives. */
void crd_finalizers_queue_all(cradle_heap *heap);

#endif
