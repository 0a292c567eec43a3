/* Ephemerons: the value of a pair is reached when its holder and its key are.
 *
 * Each reached holder is scanned. A pair whose key has not been reached waits in the watch table, under its key, and
 * the key's header says that it is watched; whoever reaches the key then reaches the value. So the whole is linear in
 * pairs and objects, in whatever order a chain of ephemerons lies. Where memory for the table is refused, all holders
 * are scanned again and again until nothing more is reached.
 *
 *   minor   the young holders that were promoted and the old ones that were stored into; an old key counts as alive
 *   major   when the mark stack is empty for the first time, every marked holder, in increments, and from then on
 *           (watching) whatever is traced is asked for the flags; a holder that is stored into meanwhile is scanned
 *           again at the end
 *
 * A pair is two words. What the watch table knows is the address of the first; entries of pairs that the mutator has
 * overwritten since do no harm, because the key is compared.
 *
 *   [ephemeron.1] When the dead keys are cleared, a pair of a reached holder whose key was reached, or that has no
 *                 key, has a value that was reached.
 *   [ephemeron.2] While marking, a holder that is noted is marked, and has the watched flag unless it was traced since.
 */
#ifndef CRADLE_GC_DEATH_EPHEMERON_H
#define CRADLE_GC_DEATH_EPHEMERON_H

#include "gc/death/list.h"

/* How far a major collection is with the marked holders. */
typedef struct crd_scan {
  cradle_word *next;    /* of the list; watching: list base <= next <= young */
  cradle_word *holder;  /* the one that is being scanned in pieces, or NULL */
  crd_word_stack noted; /* holders that were stored into since they were scanned, each once */
  unsigned rounds;      /* so often those were scanned */
} crd_scan;

/* Looks at all pairs of a reached holder. */
void crd_ephemerons_scan(crd_death *death, cradle_word *holder);

/* In a minor collection: reaches what the pairs of reached holders keep. Returns whether there was anything. */
bool crd_ephemerons_reach(crd_death *death);
/* What finalizers bring back was reached, and with it what their pairs keep. Where the watch table is incomplete, looks
 * for what it missed. */
void crd_ephemerons_complete(crd_death *death);
/* Clears the pairs whose keys are dead: in a minor collection, and in a pass of a major one. */
void crd_ephemerons_clear(crd_death *death);
crd_verdict crd_ephemerons_clear_entry(crd_death *death, cradle_word *entry);

/* --- while a major collection marks --- */

/* The mark stack is empty: looks for values that must be marked, and adds what it looked at to *bytes. false: there are
 * none left. */
bool crd_ephemerons_mark_more(cradle_heap *heap, uint64_t *bytes);
/* While watching: an object with the weak or the watched flag is traced. */
void crd_ephemerons_traced(cradle_heap *heap, cradle_word *object);
/* While watching, a minor collection ended: notes the holders that were stored into. */
void crd_ephemerons_stored(cradle_heap *heap);

#endif
