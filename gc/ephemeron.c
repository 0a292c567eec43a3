/* Ephemerons: the value of a pair is reached when its holder and its key are.
 *
 * Each reached holder is scanned. A pair whose key has not been reached waits in the watch table, under its key, and the key's
 * header says that it is watched; whoever reaches the key then reaches the value. So the whole is linear in pairs and objects,
 * in whatever order a chain of ephemerons lies. Where memory for the table is refused, all holders are scanned again and
 * again until nothing more is reached.
 *
 *   minor   the young holders that were promoted and the old ones that were stored into; an old key counts as alive
 *   major   when the mark stack is empty for the first time, every marked holder, in increments, and from then on (watching)
 *           whatever is traced is asked for the flags; a holder that is stored into meanwhile is scanned again at the end
 *
 * A pair is two words. What the watch table knows is the address of the first; entries of pairs that the mutator has
 * overwritten since do no harm, because the key is compared.
 */
#include "gc/services.h"

/* Holders, or pieces of large ones, that are scanned between two turns of marking. */
#define SCAN_PIECES LIMIT(16, 2)
/* So often those that were stored into meanwhile are scanned in pieces. */
#define ROUNDS_MOST 3

static crd_list *list_of(const crd_death *death) {
  return &death->heap->services->lists[REGISTERED_EPHEMERON];
}

/* --- pairs --- */

typedef void (*pair_function)(crd_death *death, bool values, cradle_word *pair);

/* Calls visit for the pairs of a holder: of a large array for one piece, from death->item on, when pieces are wanted. false:
 * there is more. */
static inline bool each_pair(crd_death *death, cradle_word *holder, bool pieces, pair_function visit) {
  const crd_type_services *services = heap_services_of(death->heap, holder[0]);
  for (uint64_t bitmap = services->ephemerons; bitmap != 0; bitmap &= bitmap - 1)
    visit(death, services->values, holder + __builtin_ctzll(bitmap));
  if (services->items != CRADLE_ITEMS_EPHEMERONS) return true;
  const crd_type *type = heap_type(death->heap, holder[0]);
  uint64_t length = type_length(type, holder), first = pieces ? death->item : 0, last = length;
  if (first > length) first = length;
  if (pieces && length - first > SERVICE_PIECE_ITEMS) last = first + SERVICE_PIECE_ITEMS;
  cradle_word *items = holder + type->size / 8;
  for (uint64_t i = first; i < last; i++) visit(death, services->values, items + 2 * i);
  if (pieces) death->item = last < length ? last : 0;
  return last == length;
}

/* A key is watched once for each of its pairs, nearly. It has not been reached, so its header is where the pair says. */
static void watch_key(crd_death *death, uintptr_t key, cradle_word *pair, bool values) {
  if (death->incomplete) return;
  cradle_word what = (uintptr_t)pair | (values ? SLOT_HOLDS_VALUE : 0);
  if ((*(const cradle_word *)key & HEADER_WATCHED_FLAG) && crd_watch_knows(&death->watch, key, what)) return;
  if (crd_watch_add(&death->watch, key, what))
    *(cradle_word *)key |= HEADER_WATCHED_FLAG;
  else
    death->incomplete = true;
}

static void scan_pair(crd_death *death, bool values, cradle_word *pair) {
  uintptr_t key = service_address(death->heap, values, pair[0]);
  if (key != 0 && death_find(death, key) == 0)
    watch_key(death, key, pair, values);
  else
    crd_reach_slot(death, values, pair + 1, true);
}

void crd_ephemerons_scan(crd_death *death, cradle_word *holder) {
  each_pair(death, holder, false, scan_pair);
}

/* The key of a reached holder that has not been reached is dead. The others are followed, and so are the values. */
static void clear_pair(crd_death *death, bool values, cradle_word *pair) {
  if (death_judge(death, values, pair)) pair[1] = 0;
}

static void clear_holder(crd_death *death, cradle_word *holder) {
  each_pair(death, holder, false, clear_pair);
}

/* --- minor collections --- */

/* The old holders that may hold young objects. */
static void each_stored(crd_death *death, void (*visit)(crd_death *death, cradle_word *holder)) {
  const crd_list *list = list_of(death);
  if (list->words.base == list->words.top) return;
  if (death->all_old) {
    for (cradle_word *entry = list->words.base; entry < list->young; entry++)
      if (entry < list->kept || entry >= list->next) visit(death, (cradle_word *)(uintptr_t)*entry);
    return;
  }
  for (const cradle_word *entry = death->stored; entry < death->stored_end; entry++) {
    cradle_word *object = (cradle_word *)(uintptr_t)*entry;
    if (object[0] & HEADER_WEAK_FLAG) visit(death, object);
  }
}

/* Scans the promoted young holders; unless again is set, only those that have not been. */
static void scan_young(crd_death *death, bool again) {
  const crd_list *list = list_of(death);
  for (cradle_word *entry = list->young; entry < list->words.top; entry++) {
    if (!again && (*entry & ENTRY_SCANNED)) continue;
    uintptr_t place = death_find(death, (uintptr_t)(*entry & ~(cradle_word)ENTRY_BITS));
    if (place == 0) continue;
    *entry |= ENTRY_SCANNED;
    crd_ephemerons_scan(death, (cradle_word *)place);
  }
}

/* Keys that fast tracing has reached since they were watched. */
static void wake_reached(crd_death *death) {
  for (size_t i = 0; i < watch_count(&death->watch); i++) {
    uintptr_t key = watch_object(&death->watch, i), place = key == 0 ? 0 : death_find(death, key);
    if (place != 0) crd_reach_wake(death, (cradle_word *)place, key);
  }
}

void crd_ephemerons_minor(crd_death *death) {
  death->incomplete = death->progress = death->reaching = false;
  const crd_list *list = list_of(death);
  if (list->words.base == list->words.top) return;
  scan_young(death, false);
  each_stored(death, crd_ephemerons_scan);
  if (!death->progress) return; /* so no key has been reached since, and no holder */
  crd_minor_trace(death->context);
  death->reaching = true; /* from here on, what is reached is asked for the flags */
  scan_young(death, false);
  wake_reached(death);
  (void)crd_reach_run(death, NULL);
  crd_reach_complete(death);
}

void crd_ephemerons_by_passes(crd_death *death) {
  bool reaching = death->reaching;
  death->reaching = false;
  do {
    death->progress = false;
    scan_young(death, true);
    each_stored(death, crd_ephemerons_scan);
    crd_minor_trace(death->context);
  } while (death->progress);
  death->progress = true; /* in one of the passes, perhaps */
  death->reaching = reaching;
}

void crd_ephemerons_clear_minor(crd_death *death) {
  crd_list *list = list_of(death);
  death->reaching = false;
  if (list->words.base == list->words.top) return;
  each_stored(death, clear_holder);
  cradle_word *to = list->young;
  for (const cradle_word *entry = list->young; entry < list->words.top; entry++) {
    uintptr_t place = death_find(death, (uintptr_t)(*entry & ~(cradle_word)ENTRY_BITS));
    if (place == 0) continue;
    clear_holder(death, (cradle_word *)place);
    *to++ = services_settled(place);
  }
  list->words.top = list->young = to;
}

/* --- holders that are stored into while a major collection marks --- */

/* Noted, each once: a table that is stored into again and again would be scanned each time. That a marked object has the watched
 * flag says that it is; one that has it because it waits to be traced is scanned then. */
static void note(crd_death *major, cradle_word *holder) {
  const cradle_heap *heap = major->heap;
  if (!(heap_type(heap, holder[0])->registers >> REGISTERED_EPHEMERON & 1)) return;
  if ((holder[0] & HEADER_WATCHED_FLAG) || !old_is_marked(&heap->old, (uintptr_t)holder)) return;
  if (word_stack_push(&heap->services->noted, (uintptr_t)holder))
    holder[0] |= HEADER_WATCHED_FLAG;
  else
    crd_ephemerons_scan(major, holder);
}

void crd_ephemerons_stored(crd_death *major, const crd_death *minor) {
  major->stored = minor->stored;
  major->stored_end = minor->stored_end;
  major->all_old = minor->all_old;
  each_stored(major, note);
}

/* When nothing else is left to mark: in pieces, like the first scan. What is stored into meanwhile is noted again; in the end it is
 * scanned at once, or the program could put off the end of marking for ever. Returns whether there is more to do now. */
static bool scan_noted(crd_services *services) {
  crd_death *death = &services->major;
  const cradle_heap *heap = death->heap;
  if (services->noted.top == services->noted.base) return false;
  bool at_once = ++services->rounds > ROUNDS_MOST;
  while (services->noted.top > services->noted.base) {
    cradle_word *holder = (cradle_word *)(uintptr_t)*--services->noted.top;
    holder[0] &= ~HEADER_WATCHED_FLAG;
    if (at_once || !word_stack_push(&death->slots, (uintptr_t)holder)) crd_ephemerons_scan(death, holder);
  }
  return death->slots.top > death->slots.base || heap->mark_stack.top > heap->mark_stack.base || heap->major.overflowed;
}

/* --- major collections: marking --- */

/* Holders that are traced late wait on the slots stack, so that large ones are scanned in pieces. */
void crd_death_traced(cradle_heap *heap, cradle_word *object) {
  crd_death *death = &heap->services->major;
  if (object[0] & HEADER_WATCHED_FLAG) crd_reach_wake(death, object, (uintptr_t)object);
  if (!(object[0] & HEADER_WEAK_FLAG) || !(heap_type(heap, object[0])->registers >> REGISTERED_EPHEMERON & 1)) return;
  if (!word_stack_push(&death->slots, (uintptr_t)object)) crd_ephemerons_scan(death, object);
}

static void start_watching(crd_services *services) {
  crd_death *death = &services->major;
  services->watching = true;
  services->scan = services->lists[REGISTERED_EPHEMERON].words.base;
  death->incomplete = death->progress = death->reaching = false;
  death->holder = NULL;
  death->item = 0;
  services->noted.top = services->noted.base;
  services->rounds = 0;
}

/* The holder to scan: the one under way, or one on the stack, or the next marked one of the list. NULL: there is none. */
static cradle_word *next_holder(crd_death *death) {
  crd_services *services = death->heap->services;
  if (death->holder != NULL) return death->holder;
  if (death->slots.top > death->slots.base) return (cradle_word *)(uintptr_t)*--death->slots.top;
  while (services->scan < services->lists[REGISTERED_EPHEMERON].young) {
    uintptr_t address = (uintptr_t)*services->scan++;
    if (old_is_marked(&death->heap->old, address)) return (cradle_word *)address;
  }
  return NULL;
}

bool crd_death_mark_more(cradle_heap *heap, uint64_t *bytes) {
  crd_services *services = heap->services;
  const crd_list *list = &services->lists[REGISTERED_EPHEMERON];
  crd_death *death = &services->major;
  if (list->words.base == list->young) return false;
  if (!services->watching) start_watching(services);
  for (int pieces = 0; pieces < SCAN_PIECES; pieces++) {
    cradle_word *holder = next_holder(death);
    if (holder == NULL) break;
    death->holder = each_pair(death, holder, true, scan_pair) ? NULL : holder;
    size_t size = type_object_bytes(heap_type(heap, holder[0]), holder);
    *bytes += size < 16 * SERVICE_PIECE_ITEMS ? size : 16 * SERVICE_PIECE_ITEMS;
  }
  if (death->holder != NULL || services->scan < list->young || death->slots.top > death->slots.base) return true;
  if (heap->mark_stack.top > heap->mark_stack.base || heap->major.overflowed) return true;
  if (scan_noted(services)) return true;
  if (!death->incomplete || !death->progress) return false;
  death->progress = false;
  services->scan = list->words.base;
  return true;
}

/* --- major collections: clearing --- */

crd_verdict crd_ephemerons_clear_entry(crd_death *death, cradle_word *entry) {
  cradle_word *holder = (cradle_word *)(uintptr_t)*entry;
  if (!old_is_marked(&death->heap->old, (uintptr_t)holder)) return death->item = 0, ENTRY_DROP;
  return each_pair(death, holder, true, clear_pair) ? ENTRY_KEEP : ENTRY_AGAIN;
}
