#include "gc/young/remember.h"

#include "gc/base/probes.h"
#include "gc/mutator.h"
#include "gc/old/mark.h"
#include "gc/old/sealed.h"
#include "gc/young/young.h"

/* An array is remembered as a whole once slots / RECORDED_SHARE of its slots are recorded. */
#define RECORDED_SHARE 2
/* While marking, once so many slots of an array are recorded and slots / LISTED_SHARE, marking traces it again. */
#define LISTED_MIN_SLOTS LIMIT((uint64_t)1 << 16, 256)
#define LISTED_SHARE 16

/* Remembers an object that has its barrier flag. */
static void remember(const crd_mutator *mutator, cradle_word *object) {
  const crd_space *space = mutator->space;
  ASSERT(space_is_shared(space) || header_has_barrier(*object), "[remember.1] an object is remembered twice");
  ASSERT(arenas_contain(&space->old.arenas, address_of(object)), "[header.2] the barrier flag outside of the arenas");
  if (!space_take_flags(space, object, HEADER_BARRIER_FLAG)) return; /* another mutator remembers it */
  /* A set that cannot grow only makes the next minor collection slower: the store must not fail. */
  if (!word_stack_push(&mutator->local->remembered, address_of(object))) mutator->young->remember_all = true;
}

static inline void open_if_sealed(const crd_mutator *mutator, const void *object) {
  if (old_is_sealed(&mutator->space->old, address_of(object))) crd_sealed_open(mutator->space, object);
}

void cradle_write_barrier_slow(cradle_mutator *mutator, void *object) {
  crd_mutator *m = mutator_of(mutator);
  heap_check(mutator->heap, "cradle_write_barrier"); /* [heap.4] */
  PROBE2(barrier_slow, mutator->heap, object);
  open_if_sealed(m, object);
  remember(m, object);
}

/* How many slots of an array may be recorded. The words before its items, one or two, are counted as slots, too. */
static CRADLE_NOINLINE uint32_t recorded_most(const crd_space *space, const cradle_word *array) {
  const crd_type *type = space_type(space, CRADLE_HEADER_(cradle_word, array));
  uint64_t slots = type_object_bytes(type, array) / 8;
  if (type->items == CRADLE_ITEMS_STRUCTURES) slots = crd_type_item_slot_count(type, array);
  return (uint32_t)(slots / RECORDED_SHARE);
}

static inline crd_page *page_of(const crd_space *space, const cradle_word *array) {
  const crd_arenas *arenas = &space->old.arenas;
  ASSERT(arenas_contain(arenas, address_of(array)), "[remember.2] slots of an object outside the arenas are recorded");
  return arenas_page(arenas, arenas_page_number(arenas, address_of(array)));
}

/* A large young array has no other counter than this one, because its page entry is linked in a list. With the weak
 * flag items are recorded as those of an old holder. */
void crd_record_from_birth(const crd_space *space, cradle_word *array, size_t bytes) {
  crd_page *page = page_of(space, array);
  ASSERT(page->state == PAGE_LARGE_YOUNG, "[large.3] an array that is not a young large one is recorded from birth");
  page->record_left = (uint32_t)(bytes / 8 / RECORDED_SHARE);
  const crd_type *type = space_type(space, CRADLE_HEADER_(cradle_word, array));
  object_set_flags(array, type_old_flags(type, bytes) | (type->registers & REGISTERED_WEAKLY ? HEADER_WEAK_FLAG : 0));
}

/* Whether a store of an old reference into the array must be seen, too. One that is recorded from birth is traced when
 * it has become old [large.3], and a listed one after the next minor collection [mark.5]. */
static inline bool marking_sees(const crd_mutator *mutator, const cradle_word *array) {
  return CRADLE_UNLIKELY(mutator->marking->major.phase == MAJOR_MARKING) &&
         !old_is_young_large(&mutator->space->old, address_of(array)) &&
         !old_is_listed(&mutator->space->old, address_of(array));
}

/* The counter of slots that may still be recorded before the next minor collection, and the collection after which it
 * was set. A large array has its own, in its page entry; that of a young one is always valid (at: NULL). If two others
 * meet in one, they are only remembered as wholes earlier. */
typedef struct record_counter {
  uint32_t *at, *left;
} record_counter;

static inline record_counter counter_of(const crd_mutator *mutator, const cradle_word *array) {
  crd_page *page = page_of(mutator->space, array);
  if (CRADLE_UNLIKELY(page->state == PAGE_LARGE_YOUNG)) return (record_counter){NULL, &page->record_left};
  crd_record_budget *shared = &mutator->local->budgets[address_of(array) / SLOTS_MIN_BYTES % RECORD_BUDGETS];
  bool large = page->state == PAGE_LARGE;
  return large ? (record_counter){&page->recorded_at, &page->record_left}
               : (record_counter){&shared->recorded_at, &shared->left};
}
/* Mutators that store into one array share its counter: what one of them counts may be lost, so more is recorded. */
static inline uint32_t read_counter(const uint32_t *counter) {
  return __atomic_load_n(counter, __ATOMIC_RELAXED);
}
static inline void set_counter(uint32_t *counter, uint32_t value) {
  __atomic_store_n(counter, value, __ATOMIC_RELAXED);
}
static inline bool is_set(const crd_mutator *mutator, record_counter counter) {
  return counter.at == NULL || read_counter(counter.at) == (uint32_t)mutator->space->report->stats.minor_collections;
}

static inline uint32_t *may_record(const crd_mutator *mutator, const cradle_word *array) {
  record_counter counter = counter_of(mutator, array);
  if (CRADLE_UNLIKELY(!is_set(mutator, counter))) {
    set_counter(counter.at, (uint32_t)mutator->space->report->stats.minor_collections);
    set_counter(counter.left, recorded_most(mutator->space, array));
  }
  return counter.left;
}

/* While marking, when count more slots of an array are to be recorded: whether these are too many for one pause, so
 * that the array was listed instead. */
static CRADLE_NOINLINE bool list_instead(const crd_mutator *mutator, const cradle_word *array, size_t count) {
  crd_page *page = page_of(mutator->space, array);
  uint64_t slots = (uint64_t)page->pages * PAGE_BYTES / 8, least = slots / LISTED_SHARE;
  if (least < LISTED_MIN_SLOTS) least = LISTED_MIN_SLOTS;
  if (page->state != PAGE_LARGE || slots <= least) return false;
  if (recorded_most(mutator->space, array) - read_counter(may_record(mutator, array)) + count <= least) return false;
  space_lock(mutator->space);
  if (page->again == 0) crd_mark_later(mutator->marking, page->head);
  space_unlock(mutator->space);
  return true;
}

/* Records those of the count words from words on that need it: slots of one kind, or items of an array of structures.
 * false: they are too many, or memory was refused, so the array is to be remembered as a whole. */
CRD_ALWAYS_INLINE bool record_words(const crd_mutator *mutator, const cradle_word *array, bool structures, bool value,
                                    const cradle_word *words, size_t count) {
  uint32_t *most = may_record(mutator, array);
  bool marking = marking_sees(mutator, array) && !list_instead(mutator, array, count);
  /* If more slots were copied than may be recorded, the first that needs it has the whole array remembered, unless a
   * scan of the array takes so long that it is worth to find out how many slots need a record. */
  bool few = structures || count <= read_counter(most) || (!marking && count > SCANNED_MAX_BYTES / 8);
  for (size_t i = 0; i < count; i++) {
    if (structures) {
      cradle_items kind =
          crd_type_item_word(space_type(mutator->space, CRADLE_HEADER_(cradle_word, array)), array, &words[i]);
      if (kind == CRADLE_ITEMS_BYTES) continue;
      value = kind == CRADLE_ITEMS_VALUES;
    }
    uintptr_t address = space_address_in(mutator->space, value, word_now(&words[i]));
    if (address == 0 || (!marking && !space_holds_young(mutator->space, address))) continue;
    uint32_t left = read_counter(most);
    if (!few || left == 0 || !word_stack_push(&mutator->local->recorded, slot_entry(&words[i], value))) return false;
    set_counter(most, left - 1);
  }
  return true;
}

static CRADLE_NOINLINE bool record_in_structures(const crd_mutator *mutator, const cradle_word *array,
                                                 const cradle_word *words, size_t count) {
  return record_words(mutator, array, true, false, words, count);
}

/* Has items of a large array of weak slots or ephemerons recorded (gc/death/registry.h), if words are items. */
static CRADLE_NOINLINE bool record_items(const crd_mutator *mutator, const cradle_word *holder,
                                         const cradle_word *words, size_t count) {
  const crd_page *page = page_of(mutator->space, holder);
  uintptr_t at =
      address_of(words) - address_of(holder) - space_type(mutator->space, CRADLE_HEADER_(cradle_word, holder))->size;
  /* The slot of a trace callback may lie outside of the object. */
  if (page->state < PAGE_LARGE || at >= (uint64_t)page->pages * PAGE_BYTES) return false;
  if (count == 1 && mutator->marking->major.phase != MAJOR_MARKING) {
    bool values = space_type(mutator->space, CRADLE_HEADER_(cradle_word, holder))->weak_values;
    if (!space_holds_young(mutator->space, space_address_in(mutator->space, values, word_now(words)))) return true;
  }
  space_lock(mutator->space);
  bool recorded =
      mutator->space->death->record(mutator->space->services, holder, words, count, may_record(mutator, holder));
  space_unlock(mutator->space);
  return recorded;
}

/* Whether the store needs no remembering: the word is an old reference or an immediate, and nothing marks. */
static inline bool needs_nothing(const crd_mutator *mutator, const cradle_word *object, cradle_word word) {
  uintptr_t address = address_of(object);
  /* An immediate that looks like the address of a young object only has the object remembered in vain. */
  if (mutator->marking->major.phase == MAJOR_MARKING ||
      space_is_young(mutator->space, value_payload(&mutator->space->encoding, word)))
    return false;
  uintptr_t *place = &mutator->local->spared[address / CRADLE_OBJECT_MIN_BYTES % SPARED_OBJECTS];
  uintptr_t times = *place - address; /* above SPARED_TIMES: the place is another object's, which loses it */
  if (times == SPARED_TIMES) return false;
  *place = times < SPARED_TIMES ? *place + 1 : address;
  return true;
}

/* While large objects are young. Whether the slot holds a value is not known, so the word is read in both ways. */
static CRADLE_NOINLINE void remember_beside_large(const crd_mutator *mutator, cradle_word *object, cradle_word word) {
  bool may_be_young_large = old_is_young_large(&mutator->space->old, word) ||
                            old_is_young_large(&mutator->space->old, value_address(&mutator->space->encoding, word));
  if (may_be_young_large || !needs_nothing(mutator, object, word)) remember(mutator, object);
}

static CRADLE_NOINLINE void record_slot_slow(const crd_mutator *mutator, cradle_word *array, cradle_word slot) {
  uint32_t *most = may_record(mutator, array);
  uint32_t left = read_counter(most);
  if (left > 0 && word_stack_push(&mutator->local->recorded, slot))
    set_counter(most, left - 1);
  else
    remember(mutator, array);
}
/* Records a slot of an array of slots of one kind, with SLOT_HOLDS_VALUE if they hold values. It calls nothing, so it
 * saves no register. */
static CRADLE_NOINLINE void record_slot(const crd_mutator *mutator, cradle_word *array, cradle_word slot) {
  record_counter counter = counter_of(mutator, array);
  crd_word_stack *recorded = &mutator->local->recorded;
  uint32_t left = read_counter(counter.left);
  if (CRADLE_LIKELY(is_set(mutator, counter) && left != 0 && recorded->top != recorded->limit)) {
    *recorded->top++ = slot;
    set_counter(counter.left, left - 1);
    return;
  }
  record_slot_slow(mutator, array, slot);
}

/* The same while marking, where the word is an old reference. */
static CRADLE_NOINLINE void record_for_marking(const crd_mutator *mutator, cradle_word *array, cradle_word slot) {
  if (marking_sees(mutator, array) && !list_instead(mutator, array, 1)) record_slot(mutator, array, slot);
}

/* The word has been stored into a slot of an array. */
CRD_ALWAYS_INLINE void record_store(const crd_mutator *mutator, cradle_word *array, const cradle_word *slot, bool value,
                                    cradle_word word) {
  uintptr_t address = space_address_in(mutator->space, value, word); /* 0: the word refers to nothing */
  if (space_holds_young(mutator->space, address))
    record_slot(mutator, array, slot_entry(slot, value));
  else if (CRADLE_UNLIKELY(mutator->marking->major.phase == MAJOR_MARKING) && address != 0)
    record_for_marking(mutator, array, slot_entry(slot, value));
}

/* Whether the word refers to something young, as a reference or as a value: which it is, takes long to find out. */
static inline bool may_be_young(const crd_space *space, cradle_word word) {
  return space_holds_young(space, word) ||
         (!space->plain_encoding && space_holds_young(space, value_address(&space->encoding, word)));
}

static CRADLE_NOINLINE void record_in_item(const crd_mutator *mutator, cradle_word *array, const cradle_word *slot,
                                           cradle_word word) {
  cradle_items kind = crd_type_item_word(space_type(mutator->space, CRADLE_HEADER_(cradle_word, array)), array, slot);
  if (kind != CRADLE_ITEMS_BYTES) record_store(mutator, array, slot, kind == CRADLE_ITEMS_VALUES, word);
}
static CRADLE_NOINLINE void store_into_structures(const crd_mutator *mutator, cradle_word *array,
                                                  const cradle_word *slot, cradle_word word) {
  if (CRADLE_UNLIKELY(mutator->marking->major.phase == MAJOR_MARKING) || may_be_young(mutator->space, word))
    record_in_item(mutator, array, slot, word);
}

static CRADLE_NOINLINE void store_into_other(const crd_mutator *mutator, cradle_word *object, const cradle_word *slot,
                                             cradle_word word) {
  if (CRADLE_UNLIKELY(header_is_weak(CRADLE_HEADER_(cradle_word, object))) && record_items(mutator, object, slot, 1))
    return;
  if (CRADLE_UNLIKELY(space_is_shared(mutator->space) || mutator->space->old.young_large != PAGE_NONE)) {
    remember_beside_large(mutator, object, word); /* a tail call: a test here would cost each store two registers */
    return;
  }
  if (!needs_nothing(mutator, object, word)) remember(mutator, object);
}

/* The object is old and not remembered. What is done depends on what it is:
 *
 *   array of slots of one kind   the slot is recorded, if the next minor collection must look at it
 *   array of structures          likewise, if its type says that the word is a slot
 *   weak slots or ephemerons     likewise, of a large array
 *   any other object             remembered, or left alone (needs_nothing)
 *
 * An array whose slot cannot be recorded is remembered as a whole. Most stores into an array end here: numbers, NULL
 * and old references. So what takes more registers is in functions of its own, as tail calls. */
void cradle_store_slow(cradle_mutator *mutator, void *object, void *slot, cradle_word word) {
  const crd_mutator *m = mutator_of(mutator);
  heap_check(mutator->heap, "cradle_store"); /* [heap.4] */
  cradle_word header = CRADLE_HEADER_(cradle_word, object);
  PROBE2(barrier_slow, mutator->heap, object);
  ASSERT(header_has_barrier(header) || space_is_shared(m->space),
         "[remember.1] the barrier's slow path is for objects with the flag");
  __atomic_store_n(words_of(slot), word, __ATOMIC_RELEASE); /* for cradle_store_release and CRADLE_RACY */
  open_if_sealed(m, object);
  if (CRADLE_UNLIKELY(!header_records_one_kind(header))) {
    if (header_records_structures(header))
      store_into_structures(m, object, slot, word);
    else
      store_into_other(m, object, slot, word);
    return;
  }
  record_store(m, object, slot, header_holds_values(header), word);
}

void cradle_copy_slots_slow(cradle_mutator *mutator, void *object, const void *slots, size_t count) {
  crd_mutator *m = mutator_of(mutator);
  heap_check(mutator->heap, "cradle_copy_slots"); /* [heap.4] */
  cradle_word header = CRADLE_HEADER_(cradle_word, object);
  PROBE2(barrier_slow, mutator->heap, object);
  ASSERT(header_has_barrier(header) || space_is_shared(m->space),
         "[remember.1] the barrier's slow path is for objects with the flag");
  open_if_sealed(m, object);
  bool recorded = header_records_one_kind(header)
                      ? record_words(m, object, false, header_holds_values(header), slots, count)
                  : header_records_structures(header) ? record_in_structures(m, object, slots, count)
                                                      : header_is_weak(header) && record_items(m, object, slots, count);
  if (!recorded) remember(m, object);
}
