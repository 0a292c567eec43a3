/* Finalizers: dead objects that are given back to the VM.
 *
 * The dead objects of the finalizer list are the candidates, in registration order. If none of them leads to anything
 * that was not reached, registration order is the order, and nothing is sorted. Otherwise each candidate is watched and
 * then reached, from the last to the first. gc/death/reach.c learns on the way which of them lead to which, and puts
 * them in order, the last one first. Then they go to their queues, alive. Objects in a queue are old, and roots of
 * marking.
 *
 *   [finalizer.1] When all candidates are reached and the order was not given up, each has its place in ordered, once.
 *   [finalizer.2] Candidates wait only from the stage that finds them to the one that queues them.
 *   [finalizer.3] The VM sees none of a collection's objects in any queue before all of them are in their queues. What
 *                 a minor collection queues while a major one is queueing lies behind the major one's objects, and
 *                 becomes visible with them.
 */
#ifndef CRADLE_GC_DEATH_FINALIZER_H
#define CRADLE_GC_DEATH_FINALIZER_H

#include "gc/death/list.h"

/* The objects that came back and wait for the VM, by their addresses: [head, words.top). head <= shown <= words.top. */
typedef struct crd_queue {
  crd_word_stack words;
  cradle_word *head;
  cradle_word *shown; /* [finalizer.3] the VM sees [head, shown); the rest waits until its collection has queued all */
} crd_queue;

typedef struct crd_candidates {
  crd_word_stack entries; /* dead objects with finalizers, in registration order, each with its queue */
  crd_word_stack ordered; /* their numbers, last first */
  size_t watched;         /* so many of them are watched, if their order is asked for; <= count */
  size_t next;            /* the next to reach, counting down from count; after that the next to queue, counting up */
} crd_candidates;

static inline size_t candidates_count(const crd_candidates *candidates) {
  return word_stack_count(&candidates->entries);
}

/* --- the stages, of both collections; a pace of NULL is a minor collection's --- */

/* Moves dead objects to the candidates: of the young ones in a minor collection, of one entry in a pass. false:
 * there are none. */
bool crd_finalizers_find(crd_death *death);
crd_verdict crd_finalizers_find_entry(crd_death *death, cradle_word *entry);
/* Reaches the candidates and everything that they lead to. true: done. */
bool crd_finalizers_reach(crd_death *death, crd_pace *pace);
/* Queues the candidates in order. true: done. */
bool crd_finalizers_queue(crd_death *death, crd_pace *pace);

/* --- between collections --- */

/* When marking starts: marks the objects that wait in queues. */
void crd_finalizers_mark_queues(cradle_heap *heap);
/* Queues every object with a finalizer. No major collection runs, and everything that is listed lives. */
void crd_finalizers_queue_all(cradle_heap *heap);

#endif
