#include "gc/death/ephemeron.h"

#include "gc/death/services.h"
#include "gc/death/stored.h"
#include "gc/old/mark.h"
#include "gc/young/minor.h"

/* So many holders, or pieces of large ones, are scanned before marking goes on. */
#define SCAN_PIECES LIMIT(16, 2)
/* Holders that were stored into are scanned in pieces so often; after that, all at once. */
#define ROUNDS_MOST 3

static crd_list *list_of(const crd_death *death) {
  return &death->services->lists[REGISTERED_EPHEMERON];
}

static bool is_holder(const crd_services *services, const cradle_word *object) {
  return space_type(services->space, object[0])->registers >> REGISTERED_EPHEMERON & 1;
}

/* --- pairs --- */

/* Has the pair wait for its key. A pair that is known already is not entered again, as far as crd_watch_knows can
 * tell. The key was not reached, so it has not moved, and its header is at the address in the pair. */
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

void crd_ephemerons_scan(crd_death *death, cradle_word *holder) {
  ASSERT(death_find(death, address_of(holder)) == address_of(holder), "a holder is scanned that was not reached");
  (void)death_visit(death, holder, CRADLE_ITEMS_EPHEMERONS, false, scan_pair);
}

bool crd_ephemerons_scan_piece(crd_death *death, cradle_word *holder) {
  return death_visit(death, holder, CRADLE_ITEMS_EPHEMERONS, !death->is_minor, scan_pair);
}

/* Judges a pair of a reached holder. A key that was not reached is dead, and its value goes with it. Other keys and
 * their values have been reached. */
static void clear_pair(void *data, bool values, cradle_word *pair) {
  crd_death *death = data;
  if (death_judge(death, values, pair)) pair[1] = 0;
  ASSERT(death_is_judged(death, values, pair[1]), "[ephemeron.1] the value of a living key was not reached");
}

static void clear_holder(crd_death *death, cradle_word *holder) {
  (void)death_visit(death, holder, CRADLE_ITEMS_EPHEMERONS, false, clear_pair);
}

/* --- minor collections --- */

/* Scans the young holders that were promoted; without again, only those that were not scanned yet. */
static void scan_young(crd_death *death, bool again) {
  const crd_list *list = list_of(death);
  for (cradle_word *entry = list->young; entry < list->words.top; entry++) {
    if (!again && entry_is_scanned(*entry)) continue;
    uintptr_t place = death_find(death, entry_address(*entry));
    if (place == 0) continue;
    entry_set_scanned(entry);
    if (!death_is_recorded(place, *entry)) crd_ephemerons_scan(death, object_at(place));
  }
}

static void scan_stored(crd_death *death) {
  crd_stored_each(death, REGISTERED_EPHEMERON, crd_ephemerons_scan, scan_pair);
}

/* The collection's own tracing does not ask for the watched flag. So looks for keys that it has reached since they
 * were watched. */
static void wake_reached(crd_death *death) {
  for (size_t i = 0; i < watch_count(&death->watch); i++) {
    uintptr_t key = watch_object(&death->watch, i), place = key == 0 ? 0 : death_find(death, key);
    if (place != 0) crd_reach_wake(death, object_at(place), key);
  }
}

bool crd_ephemerons_reach(crd_death *death) {
  crd_reach *reach = &death->reach;
  /* The first scan lets the minor collection's own tracing do the work, which is faster. That asks no object for its
   * flags, so holders and keys that it has reached are looked for afterwards. From there on the slots stack is used,
   * and nothing is missed. */
  reach_begin(reach);
  if (list_is_empty(list_of(death))) return false;
  scan_young(death, false);
  scan_stored(death);
  if (!reach->progress) return false; /* nothing was reached, so no key and no holder can have been */
  crd_minor_trace(death->minor);
  reach->by_stack = true; /* from here on each reached object is asked for its flags */
  scan_young(death, false);
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
    scan_young(death, true);
    scan_stored(death);
    crd_minor_trace(death->minor);
  } while (reach->progress);
}

/* Old holders that were not stored into have only old keys, which do not die in a minor collection. */
void crd_ephemerons_clear(crd_death *death) {
  crd_list *list = list_of(death);
  if (list_is_empty(list)) return;
  crd_stored_each(death, REGISTERED_EPHEMERON, clear_holder, clear_pair);
  cradle_word *to = list->young;
  for (const cradle_word *entry = list->young; entry < list->words.top; entry++) {
    uintptr_t place = death_find(death, entry_address(*entry));
    if (place == 0) continue;
    if (!death_is_recorded(place, *entry)) clear_holder(death, object_at(place));
    *to++ = death_settle(place);
  }
  list_keep(list, to);
}

/* --- holders that are stored into while a major collection marks --- */

/* Notes a holder, once: a table that the program stores into all the time would be scanned each time otherwise. On a
 * marked object the watched flag says that it is noted. An unmarked one may have the flag because a pair waits for
 * it; it is scanned when it is traced. If the note finds no room, the holder is scanned at once. */
static void note(crd_death *death, cradle_word *holder) {
  crd_services *services = death->services;
  if (!is_holder(services, holder)) return;
  if (header_is_watched(holder[0]) || !old_is_marked(&services->space->old, address_of(holder))) return;
  if (word_stack_push(&services->scan.noted, address_of(holder)))
    object_set_flags(holder, HEADER_WATCHED_FLAG);
  else
    crd_ephemerons_scan(death, holder);
}

void crd_ephemerons_stored(crd_services *services) {
  crd_death *death = &services->major;
  death->stored = services->minor.stored;
  crd_stored_each(death, REGISTERED_EPHEMERON, note, scan_pair);
  /* Objects that the minor collection marked may be keys. */
  if (!word_stack_is_empty(&services->marking->mark_stack) || services->marking->major.overflowed)
    death->reach.progress = true;
}

/* Called when nothing else is left to mark. Has the noted holders scanned in pieces, as in the first scan. What the
 * program stores into meanwhile is noted again. After ROUNDS_MOST rounds they are scanned at once; otherwise the
 * program could put off the end of marking for ever. Returns whether there is more to do now. */
static bool scan_noted(crd_death *death) {
  crd_services *services = death->services;
  crd_scan *scan = &services->scan;
  crd_word_stack *holders = &death->reach.slots;
  if (word_stack_is_empty(&scan->noted)) return false;
  bool at_once = ++scan->rounds > ROUNDS_MOST;
  while (!word_stack_is_empty(&scan->noted)) {
    cradle_word *holder = object_at(word_stack_pop(&scan->noted));
    ASSERT(old_is_marked(&services->space->old, address_of(holder)),
           "[ephemeron.2] a holder is noted that is not marked");
    object_clear_flags(holder, HEADER_WATCHED_FLAG);
    if (at_once || !word_stack_push(holders, address_of(holder))) crd_ephemerons_scan(death, holder);
  }
  return !word_stack_is_empty(holders) || !word_stack_is_empty(&services->marking->mark_stack) ||
         services->marking->major.overflowed;
}

/* --- major collections: marking --- */

/* Holders that are traced while watching wait on the slots stack, so that large ones are scanned in pieces. */
void crd_ephemerons_traced(crd_services *services, cradle_word *object) {
  crd_death *death = &services->major;
  ASSERT(old_is_marked(&services->space->old, address_of(object)), "an object is traced that is not marked");
  if (header_is_watched(object[0])) crd_reach_wake(death, object, address_of(object));
  if (!header_is_weak(object[0]) || !is_holder(services, object)) return;
  if (!word_stack_push(&death->reach.slots, address_of(object))) crd_ephemerons_scan(death, object);
}

static void start_watching(crd_services *services) {
  crd_death *death = &services->major;
  crd_scan *scan = &services->scan;
  ASSERT(word_stack_is_empty(&death->reach.slots) && watch_count(&death->watch) == 0,
         "[services.4] watching starts with what another collection left");
  death->services->marking->major.watching = true;
  reach_begin(&death->reach);
  death->item = 0;
  scan->next = services->lists[REGISTERED_EPHEMERON].words.base;
  scan->holder = NULL;
  scan->noted.top = scan->noted.base;
  scan->rounds = 0;
}

/* The holder to scan next: the one under way, one from the stack, or the next marked one of the list. NULL: there is
 * none. Unmarked holders are left out, because they come to the stack if they are traced later. */
static cradle_word *next_holder(crd_death *death) {
  crd_scan *scan = &death->services->scan;
  crd_word_stack *holders = &death->reach.slots;
  if (scan->holder != NULL) return scan->holder;
  if (!word_stack_is_empty(holders)) return object_at(word_stack_pop(holders));
  while (scan->next < list_of(death)->young) {
    uintptr_t address = *scan->next++;
    if (old_is_marked(&death->space->old, address)) return object_at(address);
  }
  return NULL;
}

/* Scans some holders, or pieces of large ones. */
static void scan_some(crd_death *death, uint64_t *bytes) {
  crd_scan *scan = &death->services->scan;
  for (int pieces = 0; pieces < SCAN_PIECES; pieces++) {
    cradle_word *holder = next_holder(death);
    if (holder == NULL) break;
    scan->holder = death_visit(death, holder, CRADLE_ITEMS_EPHEMERONS, true, scan_pair) ? NULL : holder;
    size_t size = type_object_bytes(space_type(death->space, holder[0]), holder);
    *bytes += size < 16 * SERVICE_PIECE_ITEMS ? size : 16 * SERVICE_PIECE_ITEMS;
  }
}

/* Called each time the mark stack is empty. Returns true as soon as anything may be left, and marking calls again:
 * first holders of the list and those that were traced late, then what these put on the mark stack, then the noted
 * holders, then another pass if the table is incomplete. */
bool crd_ephemerons_mark_more(crd_services *services, uint64_t *bytes) {
  const crd_list *list = &services->lists[REGISTERED_EPHEMERON];
  crd_death *death = &services->major;
  crd_scan *scan = &services->scan;
  ASSERT(list->young == list->words.top && list_is_whole(list), "[services.1] marking scans a list that is in use");
  if (list_is_empty(list)) return false;
  if (!services->marking->major.watching) start_watching(services);
  scan_some(death, bytes);
  if (scan->holder != NULL || scan->next < list->young || !word_stack_is_empty(&death->reach.slots)) return true;
  if (!word_stack_is_empty(&services->marking->mark_stack) || services->marking->major.overflowed) return true;
  if (scan_noted(death)) return true;
  /* The table missed pairs, and something was reached since the last pass: another pass over all holders. */
  if (!death->reach.incomplete || !death->reach.progress) return false;
  death->reach.progress = false;
  scan->next = list->words.base;
  return true;
}

/* --- major collections: clearing --- */

/* Marking goes on in clearing, with watching set: its mark_more then makes passes over all holders. */
static void mark_until_nothing_is_reached(crd_death *death) {
  crd_services *services = death->services;
  crd_scan *scan = &services->scan;
  ASSERT(scan->holder == NULL && word_stack_is_empty(&scan->noted), "holders that marking left would be scanned");
  bool watching = services->marking->major.watching;
  scan->next = list_of(death)->words.base;
  services->marking->major.watching = true;
  death->reach.progress = false;
  while (!crd_mark_some(services->marking, (crd_budget){UINT64_MAX, UINT64_MAX, false})) continue;
  services->marking->major.watching = watching;
}

crd_verdict crd_ephemerons_clear_entry(crd_death *death, cradle_word *entry) {
  if (!old_is_marked(&death->space->old, *entry)) {
    death->item = 0;
    return ENTRY_DROP;
  }
  return death_visit(death, object_at(*entry), CRADLE_ITEMS_EPHEMERONS, true, clear_pair) ? ENTRY_KEEP : ENTRY_AGAIN;
}

/* --- both --- */

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
