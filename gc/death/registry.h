/* The registry: the lists of objects with services (gc/death/services.h).
 *
 * An object is registered when it is allocated: its address goes to the end of one list for all kinds, the mutator's
 * fresh (gc/young/local.h), which takes one store. The next minor collection moves those that survive, and those that
 * may bring others back, to the list of each kind of service that their type has. An object with only weak slots or a
 * destructor that dies young is never moved.
 *
 * An entry is the address of an object. The three lowest bits of such an address are 0, and an entry uses them:
 *
 *   finalizers, candidates   the number of the finalizer queue
 *   fresh                    the number of the queue, if cradle_finalizer_register registered the object; else 0
 *   ephemerons               1 in a minor collection that has scanned the ephemeron; else 0
 *   other lists              0
 *
 * The barrier remembers most old holders that are stored into as wholes (gc/young/remember.h). Of a large array it has
 * the single items recorded here: else a table of a million pairs would be looked at as a whole after each store.
 *
 *   [stored.1] Outside a collection, if an item of an old holder with the barrier flag refers to a young object, the
 *              item is recorded: of a pair the key's slot, whichever word was stored.
 */
#ifndef CRADLE_GC_DEATH_REGISTRY_H
#define CRADLE_GC_DEATH_REGISTRY_H

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
/* Whether an entry counts: it is not in the gap that the pass under way leaves [services.1]. */
static inline bool list_has(const crd_list *list, const cradle_word *entry) {
  return entry < list->kept || entry >= list->next;
}
/* Whether no pass is under way [services.1]. */
static inline bool list_is_whole(const crd_list *list) {
  return list->kept == list->words.base && list->next == list->words.base;
}

/* --- passes over a list --- */

/* Entries or pieces between two looks at the clock; and in the smallest increment, which the stress mode takes. */
#define PACE_ENTRIES 128
#define STEP_ENTRIES 4

typedef struct crd_pace {
  crd_budget budget;
  int countdown; /* entries or pieces to the next look at the clock */
} crd_pace;

bool crd_pace_is_over_slow(crd_pace *pace);
/* Counts an entry or a piece. Whether the increment is over; of a minor collection (NULL) it never is. */
static inline bool pace_is_over(crd_pace *pace) {
  return pace != NULL && --pace->countdown <= 0 && crd_pace_is_over_slow(pace);
}

typedef enum crd_verdict { ENTRY_DROP, ENTRY_KEEP, ENTRY_AGAIN } crd_verdict;
typedef crd_verdict (*crd_entry_function)(crd_death *death, cradle_word *entry);
/* A minor collection's pass over the young entries. judge stores in an entry where its object is now. */
CRD_ALWAYS_INLINE void list_pass_young(crd_death *death, crd_list *list, crd_entry_function judge) {
  cradle_word *to = list->young;
  for (cradle_word *entry = to; entry < list->words.top; entry++)
    if (judge(death, entry) == ENTRY_KEEP) *to++ = *entry;
  list->words.top = to;
}

/* --- registration --- */

/* Makes the structure that the services share, if the heap has none yet. NULL: memory was refused. */
crd_services *crd_registry_open(crd_space *space, crd_marking *marking);
/* Lists an old object of an image, which has the weak flag if it needs it. false: memory was refused. */
bool crd_registry_adopt(crd_services *services, int kind, uintptr_t address);
/* Makes room to register one more object, even if a collection comes first. kinds: lists that are needed besides
 * those of the heap's types. false: memory was refused. */
bool crd_registry_make_room(crd_mutator *mutator, unsigned kinds);
/* Makes each mutator's next registration ask for room, because a new type may need lists that do not exist yet. */
void crd_registry_close(const crd_space *space);
/* Runs the destructors of all objects that are left, and frees everything. */
void crd_registry_fini(crd_space *space);

/* --- memory: each stack has its own address space (list_bytes), and grows in place --- */

/* The major collection is over and its stacks are empty. Gives their memory, and that of the minor collections'
 * stacks, back to the system. true: all of it. */
bool crd_services_trim(crd_death *death, crd_pace *pace);
/* Drops the pages of stacks that hold nothing now, while no collection is under way. */
void crd_services_discard(crd_services *services);
/* Bytes committed for services: stacks and weak sets. */
size_t crd_services_committed(crd_services *services);

/* --- in a minor collection --- */

/* Moves newly registered objects to their lists. Unreached ones that cannot resurrect anything stay behind; the second
 * function moves them if something was resurrected. */
void crd_registry_distribute(crd_death *death);
void crd_registry_distribute_rest(crd_death *death);

/* --- what the program has stored into old holders since the last minor collection --- */

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

/* --- for compaction, the verifier and walks: words that lead to objects and do not keep them alive as slots do --- */

/* Every entry of lists and queues and every word of weak sets, while no major collection runs. visit gets each as a
 * word that is exactly the address, and may change it. */
void crd_registry_each_word(crd_services *services, crd_slot_function visit, void *context);
/* Every weak slot, key and ephemeron value of an object that has the weak flag. */
void crd_registry_each_slot(const crd_space *space, cradle_word *object, crd_slot_function visit, void *context);
/* Every object in a queue that the VM may take out: its word there. queue: the queue's number, from 1. */
void crd_registry_each_waiting(crd_services *services, void (*visit)(void *context, uint32_t queue, cradle_word *word),
                               void *context);
/* NULL, or what is wrong with the lists, and at what address. */
const char *crd_registry_check(const crd_services *services, uintptr_t *at);

#endif
