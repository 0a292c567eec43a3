#include "gc/death/ephemeron.h"

#include "gc/death/services.h"
#include "gc/old/mark.h"
#include "gc/young/minor.h"

/* So many holders, or pieces of large ones, are scanned before marking goes on. */
#define SCAN_PIECES LIMIT(16, 2)

static crd_list *list_of(const crd_death *death) {
  return &death->services->lists[REGISTERED_EPHEMERON];
}

static bool is_holder(const crd_services *services, const cradle_word *object) {
  return space_type(services->space, object[0])->registers >> REGISTERED_EPHEMERON & 1;
}

/* --- pairs --- */

/* Has the pair wait for its key. The key was not reached, so it has not moved, and its header is at that address. */
static void watch_key(crd_death *death, uintptr_t key, cradle_word *pair, bool values) {
  if (death->reach.incomplete) return;
  cradle_word what = slot_entry(pair, values);
  bool watched = header_is_watched(*object_at(key)); /* of a candidate for finalizers the header may be open */
  if (watched && crd_watch_knows(&death->watch, key, what)) return;
  if (!crd_watch_add(&death->watch, key, what))
    death->reach.incomplete = true;
  else if (!watched)
    object_set_flags(object_at(key), HEADER_WATCHED_FLAG);
}

static void scan_pair(void *data, bool values, cradle_word *pair) {
  crd_death *death = data;
  uintptr_t key = space_address_in(death->space, values, pair[0]);
  if (key != 0 && death_find(death, key) == 0)
    watch_key(death, key, pair, values);
  else
    crd_reach_slot(death, values, pair + 1, true);
}

static void scan_whole(crd_death *death, cradle_word *holder) {
  (void)death_visit(death, holder, CRADLE_ITEMS_EPHEMERONS, false, scan_pair);
}

bool crd_ephemerons_scan(crd_death *death, cradle_word *holder) {
  ASSERT(death_find(death, address_of(holder)) == address_of(holder), "a holder is scanned that was not reached");
  return death_visit(death, holder, CRADLE_ITEMS_EPHEMERONS, !death->is_minor, scan_pair);
}

static void clear_pair(void *data, bool values, cradle_word *pair) {
  crd_death *death = data;
  if (death_judge(death, values, pair)) pair[1] = 0;
  ASSERT(death_is_judged(death, values, pair[1]), "[ephemeron.1] the value of a living key was not reached");
}

/* In a major collection, one piece of a large array. false: there is more. */
static bool clear_holder(crd_death *death, cradle_word *holder) {
  return death_visit(death, holder, CRADLE_ITEMS_EPHEMERONS, !death->is_minor, clear_pair);
}

crd_verdict crd_ephemerons_clear_entry(crd_death *death, cradle_word *entry) {
  uintptr_t place = death_find(death, entry_address(*entry));
  if (place == 0) {
    death->item = 0;
    return ENTRY_DROP;
  }
  if (!death_is_recorded(death, place, *entry) && !clear_holder(death, object_at(place))) return ENTRY_AGAIN;
  *entry = death_settle(death, place);
  return ENTRY_KEEP;
}

/* Old holders that were not stored into have only old keys, which do not die in a minor collection. */
void crd_ephemerons_clear(crd_death *death) {
  crd_stored_each(death, REGISTERED_EPHEMERON, clear_holder, clear_pair);
  list_pass_young(death, list_of(death), crd_ephemerons_clear_entry);
}

/* --- minor collections --- */

/* Scans the young holders that were promoted; without again, only those that were not scanned yet. And, if wanted, the
 * old ones that were stored into. */
static void scan_holders(crd_death *death, bool again, bool stored) {
  const crd_list *list = list_of(death);
  for (cradle_word *entry = list->young; entry < list->words.top; entry++) {
    if (!again && *entry & ENTRY_SCANNED) continue;
    uintptr_t place = death_find(death, entry_address(*entry));
    if (place == 0) continue;
    *entry |= ENTRY_SCANNED;
    if (!death_is_recorded(death, place, *entry)) (void)crd_ephemerons_scan(death, object_at(place));
  }
  if (stored) crd_stored_each(death, REGISTERED_EPHEMERON, crd_ephemerons_scan, scan_pair);
}

/* Looks for keys that the collection's own tracing has reached since they were watched. */
static void wake_reached(crd_death *death) {
  for (size_t i = 0; i < watch_count(&death->watch); i++) {
    uintptr_t key = watch_object(&death->watch, i), place = key == 0 ? 0 : death_find(death, key);
    if (place != 0) crd_reach_wake(death, object_at(place), key);
  }
}

bool crd_ephemerons_reach(crd_death *death) {
  crd_reach *reach = &death->reach;
  /* The first scan leaves the work to the minor collection's own tracing, which is faster. That asks no object for its
   * flags, so holders and keys that it has reached are looked for afterwards. */
  reach_begin(reach);
  if (list_is_empty(list_of(death))) return false;
  scan_holders(death, false, true);
  if (!reach->progress) return false; /* nothing was reached, so no key and no holder can have been */
  crd_minor_trace(death->minor);
  reach->by_stack = true; /* from here on each reached object is asked for its flags */
  scan_holders(death, false, false);
  wake_reached(death);
  (void)crd_reach_run(death, NULL);
  reach->by_stack = false;
  crd_ephemerons_complete(death);
  return true;
}

static void pass_until_nothing_is_reached(crd_death *death) {
  crd_reach *reach = &death->reach;
  do {
    reach->progress = false;
    scan_holders(death, true, true);
    crd_minor_trace(death->minor);
  } while (reach->progress);
}

/* --- major collections: marking --- */

/* Holders that are traced while watching wait on the slots stack, so that large ones are scanned in pieces. */
void crd_ephemerons_traced(crd_services *services, cradle_word *object) {
  crd_death *death = &services->major;
  ASSERT(old_is_marked(&services->space->old, address_of(object)), "an object is traced that is not marked");
  if (header_is_watched(object[0])) crd_reach_wake(death, object, address_of(object));
  if (!header_is_weak(object[0]) || !is_holder(services, object)) return;
  if (!word_stack_push(&death->reach.slots, address_of(object))) scan_whole(death, object);
}

static void start_watching(crd_services *services) {
  crd_death *death = &services->major;
  ASSERT(word_stack_is_empty(&death->reach.slots) && watch_count(&death->watch) == 0,
         "[services.4] watching starts with what another collection left");
  services->marking->major.watching = true;
  reach_begin(&death->reach);
  death->item = 0;
  services->scan_next = services->lists[REGISTERED_EPHEMERON].words.base;
}

/* An unmarked holder is left out: it is scanned when it is traced. */
static bool scan_if_marked(crd_death *death, cradle_word *holder) {
  if (is_holder(death->services, holder) && old_is_marked(&death->space->old, address_of(holder)))
    scan_whole(death, holder);
  return true;
}

/* Holders that were scanned may be among them. The minor collection has looked at all of these, so this doubles its
 * work at most. */
void crd_ephemerons_stored(crd_services *services) {
  crd_death *death = &services->major;
  death->stored = services->minor.stored;
  crd_stored_each(death, REGISTERED_EPHEMERON, scan_if_marked, scan_pair);
  /* Objects that the minor collection marked may be keys. */
  if (!word_stack_is_empty(&services->marking->mark_stack) || services->marking->major.overflowed)
    death->reach.progress = true;
}

/* The holder to scan next: the one under way, one from the stack, or the next marked one of the list. Those that are
 * not marked yet come to the stack when they are traced. NULL: no holder is left. */
static cradle_word *next_holder(crd_death *death) {
  crd_services *services = death->services;
  crd_word_stack *holders = &death->reach.slots;
  if (death->reach.holder != NULL) return death->reach.holder;
  if (!word_stack_is_empty(holders)) return object_at(word_stack_pop(holders));
  while (services->scan_next < list_of(death)->young) {
    uintptr_t address = *services->scan_next++;
    if (old_is_marked(&death->space->old, address)) return object_at(address);
  }
  return NULL;
}

/* Scans some holders, or pieces of large ones. */
static void scan_some(crd_death *death, uint64_t *bytes) {
  for (int pieces = 0; pieces < SCAN_PIECES; pieces++) {
    cradle_word *holder = next_holder(death);
    if (holder == NULL) break;
    death->reach.holder = crd_ephemerons_scan(death, holder) ? NULL : holder;
    size_t size = type_object_bytes(space_type(death->space, holder[0]), holder);
    *bytes += size < 16 * SERVICE_PIECE_ITEMS ? size : 16 * SERVICE_PIECE_ITEMS;
  }
}

/* Returns true as soon as anything may be left, and marking calls again: holders of the list and those that were traced
 * late, then what these put on the mark stack, then another pass if the table is incomplete. */
bool crd_ephemerons_mark_more(crd_services *services, uint64_t *bytes) {
  const crd_list *list = &services->lists[REGISTERED_EPHEMERON];
  crd_death *death = &services->major;
  crd_reach *reach = &death->reach;
  ASSERT(list->young == list->words.top && list_is_whole(list), "[services.1] marking scans a list that is in use");
  if (list_is_empty(list)) return false;
  if (!services->marking->major.watching) start_watching(services);
  scan_some(death, bytes);
  if (reach->holder != NULL || services->scan_next < list->young || !word_stack_is_empty(&reach->slots)) return true;
  if (!word_stack_is_empty(&services->marking->mark_stack) || services->marking->major.overflowed) return true;
  /* The table missed pairs, and something was reached since the last pass: another pass over all holders. */
  if (!reach->incomplete || !reach->progress) return false;
  reach->progress = false;
  services->scan_next = list->words.base;
  return true;
}

/* --- both --- */

/* Marking goes on in clearing, with watching set: its mark_more then makes passes over all holders. */
static void mark_until_nothing_is_reached(crd_death *death) {
  crd_services *services = death->services;
  ASSERT(death->reach.holder == NULL, "a holder that marking left would be scanned");
  bool watching = services->marking->major.watching;
  services->scan_next = list_of(death)->words.base;
  services->marking->major.watching = true;
  death->reach.progress = false;
  while (!crd_mark_some(services->marking, (crd_budget){UINT64_MAX, UINT64_MAX, false})) continue;
  services->marking->major.watching = watching;
}

void crd_ephemerons_complete(crd_death *death) {
  ASSERT(!death->reach.by_stack && word_stack_is_empty(&death->reach.slots), "passes while slots wait on the stack");
  if (!death->reach.incomplete) return;
  /* A key that nobody watched did not lead to its value, so what was found of the order may be wrong. */
  if (death->reach.ordering) crd_reach_give_up_order(death);
  if (death->is_minor)
    pass_until_nothing_is_reached(death);
  else
    mark_until_nothing_is_reached(death);
}
