/* Ephemerons: the value of a pair is reached when its holder and its key are. A reached holder is scanned pair by pair.
 * If the key was not reached yet, the pair waits in the watch table (gc/death/waiting.h), and the watched flag in the
 * key's header says so. Whoever reaches the key later reaches the value, too:
 *
 *    holder        | key | value |        the key is not reached: the watch table has  key -> address of the pair
 *    (reached)        |       |
 *                     v       v
 *                    key    value         the key is reached: its flag leads to the table, and the table to the value
 *
 * So each pair is looked at a fixed number of times, and the work is linear in pairs and objects, even if each value is
 * the key of the next pair and the pairs are scanned in the worst order. If memory for the table is refused, all
 * holders are scanned again and again until nothing more is reached.
 *
 *   minor   The young holders that were promoted are scanned, and the old ones that were stored into. An old key counts
 *           as alive.
 *   major   When the mark stack is empty for the first time, every marked holder is scanned, in increments. From then
 *           on the collection is watching: each object that is traced is asked for its flags. What the program stores
 *           into meanwhile is scanned again at the end of the minor collection that finds it remembered.
 *
 * The program may overwrite a pair that waits: the key in the pair is compared with the one that was reached.
 *
 *   [ephemeron.1] When the dead keys are cleared, a pair of a reached holder whose key was reached, or that has no key,
 *                 has a value that was reached.
 */
#ifndef CRADLE_GC_DEATH_EPHEMERON_H
#define CRADLE_GC_DEATH_EPHEMERON_H

#include "gc/death/registry.h"

/* Scans a reached holder; in a major collection only the next piece of an array. true: it was the last. */
bool crd_ephemerons_scan(crd_death *death, cradle_word *holder);
/* In a minor collection: reaches what the pairs of reached holders keep. Returns whether it reached anything. */
bool crd_ephemerons_reach(crd_death *death);
/* When everything that finalizers bring back was reached: finds the values that an incomplete watch table missed. */
void crd_ephemerons_complete(crd_death *death);
/* Clears the pairs of a holder whose keys are dead. */
crd_verdict crd_ephemerons_clear_entry(crd_death *death, cradle_word *entry);
/* In a minor collection: the same for young holders and for the old ones that were stored into. */
void crd_ephemerons_clear(crd_death *death);

/* --- while a major collection marks --- */

/* The mark stack is empty: looks for values that must be marked, and adds the bytes that it looked at to *bytes.
 * false: there are no more. */
bool crd_ephemerons_mark_more(crd_services *services, uint64_t *bytes);
/* While watching, when an object with the weak or the watched flag is traced. */
void crd_ephemerons_traced(crd_services *services, cradle_word *object);
/* While watching, when a minor collection has ended: scans what was stored into. */
void crd_ephemerons_stored(crd_services *services);

#endif
