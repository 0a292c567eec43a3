/* Lists of registered objects: their entries, and passes over them.
 *
 * An entry is the address of an object. The three lowest bits of such an address are 0, and an entry uses them:
 *
 *   finalizers, candidates   the number of the finalizer queue
 *   fresh                    the number of the queue, if cradle_finalizer_register registered the object; else 0
 *   ephemerons               1 in a minor collection that has scanned the ephemeron; else 0
 *   other lists              0
 *
 * [services.1] (gc/death/services.h) says what lies where in a list.
 */
#ifndef CRADLE_GC_DEATH_LIST_H
#define CRADLE_GC_DEATH_LIST_H

#include "gc/death_calls.h"
#include "gc/old/major.h"

typedef struct crd_death crd_death;

/* --- entries --- */

#define ENTRY_BITS 7
#define ENTRY_SCANNED 1

static inline cradle_word entry_of(uintptr_t address, cradle_word queue) {
  ASSERT((address & ENTRY_BITS) == 0 && queue <= ENTRY_BITS, "an entry's address and queue share bits");
  return address | queue;
}
static inline uintptr_t entry_address(cradle_word entry) {
  return entry & ~(cradle_word)ENTRY_BITS;
}
static inline cradle_word *entry_object(cradle_word entry) {
  return object_at(entry_address(entry));
}
static inline cradle_word entry_queue(cradle_word entry) {
  return entry & ENTRY_BITS;
}

/* --- lists --- */

/* [services.1]: base <= kept <= next <= young <= top. */
typedef struct crd_list {
  crd_word_stack words;
  cradle_word *kept;  /* what is below was kept by the pass under way */
  cradle_word *next;  /* the entry that the pass looks at next */
  cradle_word *young; /* the first entry that was registered since the last minor collection */
} crd_list;

static inline bool list_is_empty(const crd_list *list) {
  return word_stack_is_empty(&list->words);
}
/* Whether an entry counts. The pass under way leaves a gap between what it kept and what it looks at next; in it are
 * entries that it moved down or dropped. */
static inline bool list_has(const crd_list *list, const cradle_word *entry) {
  return entry < list->kept || entry >= list->next;
}
/* Whether no pass is under way [services.1]. */
static inline bool list_is_whole(const crd_list *list) {
  return list->kept == list->words.base && list->next == list->words.base;
}
/* --- passes over a list --- */

/* So many entries or pieces come between two looks at the clock; and so many are in the smallest increment, which
 * the stress mode takes. */
#define PACE_ENTRIES 128
#define STEP_ENTRIES 4

/* How far an increment goes. */
typedef struct crd_pace {
  crd_budget budget;
  int countdown; /* entries or pieces to the next look at the clock */
} crd_pace;

bool crd_pace_is_over_slow(crd_pace *pace);
/* Counts an entry or a piece, and says whether the increment is over. NULL: a minor collection, which goes on to the
 * end. */
static inline bool pace_is_over(crd_pace *pace) {
  return pace != NULL && --pace->countdown <= 0 && crd_pace_is_over_slow(pace);
}

typedef enum crd_verdict { ENTRY_DROP, ENTRY_KEEP, ENTRY_AGAIN } crd_verdict;
typedef crd_verdict (*crd_entry_function)(crd_death *death, cradle_word *entry);
/* In a major collection: goes on with a pass over the old objects of a list. true: the pass is over, and the list has
 * no gap any more. */
bool crd_list_pass(crd_death *death, int kind, crd_entry_function judge, crd_pace *pace);
/* In a minor collection: a pass over the young entries. judge stores in an entry where its object is now. */
CRD_ALWAYS_INLINE void list_pass_young(crd_death *death, crd_list *list, crd_entry_function judge) {
  cradle_word *to = list->young;
  for (cradle_word *entry = to; entry < list->words.top; entry++)
    if (judge(death, entry) == ENTRY_KEEP) *to++ = *entry;
  list->words.top = to;
}

#endif
