/* What the program has stored into old holders of weak slots and ephemerons since the last minor collection.
 *
 * The barrier remembers most holders as wholes (gc/young/remember.h). Of a large array it has the single items recorded
 * here instead: a table of a million pairs would otherwise be looked at from end to end after each store into it.
 *
 *   [stored.1] Outside a collection, if an item of an old holder with the barrier flag refers to a young object, the
 *              item is recorded: of a pair the key's slot, whichever word was stored.
 */
#ifndef CRADLE_GC_DEATH_STORED_H
#define CRADLE_GC_DEATH_STORED_H

#include "gc/death/registry.h"

/* Records those of the count words from words on that the next minor collection must look at. At most *left are
 * recorded, which it counts down. false: the words are no items, there are more, or memory was refused; the holder is
 * to be remembered as a whole. */
bool crd_stored_record(crd_services *services, const cradle_word *holder, const cradle_word *words, size_t count,
                       uint32_t *left);
/* Calls visit for the old holders of the kind that may hold young objects: those that the minor collection found
 * remembered and that have the weak flag, or the whole list if every old object may be. Calls visit_item, with the
 * death, for each recorded item. What visit returns makes no difference. */
void crd_stored_each(crd_death *death, int kind, bool (*visit)(crd_death *death, cradle_word *holder),
                     crd_slot_function visit_item);
/* The recorded items' slots, with tags in the lowest bits: for the verifier. */
crd_word_stack crd_stored_items(const crd_services *services);
/* The slot of an item that is recorded if this word of the holder is stored into; NULL: the word is no item. */
const cradle_word *crd_stored_item(const crd_space *space, const cradle_word *holder, const cradle_word *word);

#endif
