#include "gc/young/minor.h"

#include "gc/old/mark.h"
#include "gc/old/marking.h"
#include "gc/roots.h"
#include "gc/tables/handle.h"
#include "gc/tables/identity.h"
#include "gc/tables/tables.h"
#include "gc/young/promote.h"
#include "gc/young/young.h"

/* How many recorded slots are visited before the copies made from them are traced. */
#define RECORDED_PIECE LIMIT(64, 4)
/* How many entries ahead remembered objects are prefetched. */
#define AHEAD 16
/* How many remembered objects a worker claims at a time. */
#define REMEMBERED_PIECE LIMIT(64, 4)
/* How many items of a long array it claims at a time. */
#define ITEMS_PIECE LIMIT(512, 4)
/* More pieces than these are shared with a worker that has nothing to do. */
#define WORTH_PIECES 4

/* Whether marking, if it goes on, traces a young large object of the type once it is old [mark.6]. */
static inline bool is_left_to_marking(const crd_young *young, const crd_type *type) {
  return young->marking->major.phase == MAJOR_MARKING && type->has_slots && type->trace == NULL;
}

/* No trace callback is called while others promote [team.4]. */
static inline bool is_left_for_later(const crd_minor *context, const cradle_word *object) {
  return CRADLE_UNLIKELY(context->shares) && context->types[header_type(*object)].trace != NULL;
}

/* --- long arrays --- */

/* Has all workers claim items of the array, from the first on, unless another array is claimed. */
static bool divide(crd_minor *context, cradle_word *array, uint64_t first, uint64_t end) {
  crd_team *team = context->team;
  context->shares = true;
  spinlock_take(&team->lock);
  bool free = !team_has_items(team);
  if (free) {
    team->array = array;
    __atomic_store_n(&team->items_at, first, __ATOMIC_RELAXED);
    __atomic_store_n(&team->items_end, end, __ATOMIC_RELAXED);
  }
  spinlock_release(&team->lock);
  return free;
}

/* Returns the array, or NULL: all its items are claimed. */
static cradle_word *claim_items(crd_team *team, uint64_t *first, uint64_t *last) {
  spinlock_take(&team->lock);
  cradle_word *array = team_has_items(team) ? team->array : NULL;
  *first = team->items_at;
  *last = team->items_end - *first > ITEMS_PIECE ? *first + ITEMS_PIECE : team->items_end;
  __atomic_store_n(&team->items_at, *last, __ATOMIC_RELAXED);
  spinlock_release(&team->lock);
  return array;
}

static void trace_claimed_items(crd_minor *context) {
  uint64_t first, last;
  ASSERT(context->shares, "[team.1] a worker claims items that does not share");
  for (cradle_word *array; (array = claim_items(context->team, &first, &last)) != NULL;) {
    crd_promote_items(context, array, first, last);
    if (context->pending != NULL) crd_promote_list(context);
  }
}

/* As crd_promote_from, in a team: when somebody is hungry, all look at the items of a long array. */
static CRADLE_NOINLINE void trace_in_pieces(crd_minor *context, cradle_word *object) {
  uint64_t items = crd_promote_fixed(context, object);
  for (uint64_t first = 0, last; first < items; first = last) {
    last = items - first > ITEMS_PIECE ? first + ITEMS_PIECE : items;
    if (items - first > WORTH_PIECES * ITEMS_PIECE && team_is_hungry(context->team) &&
        divide(context, object, first, items)) {
      trace_claimed_items(context);
      return;
    }
    crd_promote_items(context, object, first, last);
  }
}

static inline void trace_object(crd_minor *context, cradle_word *object) {
  if (CRADLE_UNLIKELY(context->team != NULL))
    trace_in_pieces(context, object);
  else
    crd_promote_from(context, object);
}

/* The first reference to a young large object links it; it is traced from the list. One that is recorded from birth
 * need not be traced [large.3]. Neither needs a mark: it was born marked if a major collection marks [marker.5]. */
static void reach_large(crd_minor *context, crd_page *page) {
  uint8_t young = PAGE_LARGE_YOUNG;
  if (!__atomic_compare_exchange_n(&page->state, &young, PAGE_LARGE_REACHED, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    return;
  const crd_arenas *arenas = &context->old->arenas;
  if (header_records_slots(*object_at(arenas_page_address(arenas, page->head)))) return;
  if (CRADLE_UNLIKELY(context->team != NULL) && context->index != 0) {
    crd_team_leave_large(context, page->head);
    return;
  }
  page->pending = context->pending_large;
  context->pending_large = page->head;
}

void crd_minor_beyond(crd_minor *context, uintptr_t address, bool live) {
  const crd_old *old = context->old;
  if (!arenas_know(&old->arenas, address)) return;
  if (old_may_be_young_large(old, address)) {
    crd_page *page = arenas_page(&old->arenas, arenas_page_number(&old->arenas, address));
    uint8_t state = __atomic_load_n(&page->state, __ATOMIC_RELAXED);
    if (state == PAGE_LARGE_YOUNG) reach_large(context, page);
    if (state == PAGE_LARGE_YOUNG || state == PAGE_LARGE_REACHED) return;
  }
  if (!context->marking || !live) return;
  if (CRADLE_UNLIKELY(context->team != NULL))
    crd_team_shade(context, address);
  else
    crd_marker_shade(context->young->marking, address);
}

static void trace_large(crd_minor *context) {
  uint32_t page = context->pending_large;
  const crd_page *entry = arenas_page(&context->old->arenas, page);
  cradle_word *object = old_page_start(context->old, page);
  ASSERT(entry->state == PAGE_LARGE_REACHED, "[minor.1] a large object waits that was not reached");
  context->pending_large = entry->pending;
  if (is_left_for_later(context, object))
    crd_team_leave_large(context, page);
  else if (is_left_to_marking(context->young, space_type(context->young->space, *object)))
    crd_promote_from_grey(context, object);
  else
    trace_object(context, object);
}

static inline void trace_pending(crd_minor *context) {
  for (;;) {
    if (context->pending != NULL) crd_promote_list(context);
    if (CRADLE_LIKELY(context->pending_large == PAGE_NONE)) return;
    trace_large(context);
  }
}

/* While a major collection marks: whether what an old object refers to must be marked now. An unmarked object may be
 * dead; if it lives, marking or the second core will reach it. */
static inline bool may_be_live(const crd_young *young, const cradle_word *object) {
  return old_is_marked(&young->space->old, address_of(object));
}

/* Claims the next entries of a stack, at most `most`, for this worker: [*from, *to). false: all are claimed. */
static bool claim_piece(crd_minor *context, const crd_word_stack *stack, size_t *next, size_t most, cradle_word **from,
                        cradle_word **to) {
  crd_team *team = context->team;
  size_t count = word_stack_count(stack), at = __atomic_load_n(next, __ATOMIC_RELAXED);
  if (at >= count) return false;
  if (CRADLE_UNLIKELY(team != NULL)) {
    if (context->index == 0 && count - at > WORTH_PIECES * most && team_is_hungry(team)) crd_team_give_pieces(context);
    at = __atomic_fetch_add(next, most, __ATOMIC_RELAXED);
  } else {
    *next += most;
  }
  if (at >= count) return false;
  *from = stack->base + at;
  *to = count - at > most ? *from + most : stack->top;
  return true;
}

/* While a major collection marks, an object that may be dead keeps nothing alive. */
static void trace_remembered_object(crd_minor *context, cradle_word *object) {
  ASSERT(context->looked_at_all || !header_has_barrier(object[0]), "[heap.3] a remembered object has the barrier flag");
  object_set_flags(object, HEADER_BARRIER_FLAG);
  if (CRADLE_UNLIKELY(context->marking) && !may_be_live(context->young, object))
    crd_promote_from_unmarked(context, object);
  else
    trace_object(context, object);
  trace_pending(context);
}

/* What each object leads to is traced at once, while it is still in the cache. */
static void trace_remembered(crd_minor *context, crd_local *local) {
  const crd_word_stack *remembered = &local->remembered;
  cradle_word *entry, *to;
  while (claim_piece(context, remembered, &local->claimed_remembered, REMEMBERED_PIECE, &entry, &to))
    for (; entry < to; entry++) {
      if (entry + AHEAD < remembered->top) __builtin_prefetch(object_at(entry[AHEAD]), 1);
      cradle_word *object = object_at(*entry);
      if (is_left_for_later(context, object))
        __atomic_store_n(&context->team->left_remembered, true, __ATOMIC_RELAXED);
      else
        trace_remembered_object(context, object);
    }
}

/* Copies what a piece of the recorded slots refers to, then traces these copies while they are still in the cache. */
static void trace_recorded(crd_minor *context, crd_local *local) {
  cradle_word *from, *to;
  while (claim_piece(context, &local->recorded, &local->claimed_recorded, RECORDED_PIECE, &from, &to)) {
    crd_promote_recorded(context, from, to, local->recorded.top);
    trace_pending(context);
  }
}

/* Recorded slots first: they lie in the order of the stores, so objects that were stored right after their allocation
 * are copied almost in the order of their allocation. */
void crd_minor_pieces(crd_minor *context) {
  if (CRADLE_UNLIKELY(context->shares)) trace_claimed_items(context);
  for (EACH_LOCAL(local, context->young->space)) {
    trace_recorded(context, local);
    trace_remembered(context, local);
  }
  if (CRADLE_UNLIKELY(context->team != NULL)) __atomic_store_n(&context->team->pieces, false, __ATOMIC_RELEASE);
}

/* With a team, everything was looked at but what helpers have left to the leader: it has no barrier flag. */
static CRADLE_NOINLINE void end_records(crd_minor *context, cradle_event *event) {
  crd_minor_pieces(context);
  for (EACH_LOCAL(local, context->young->space)) {
    crd_word_stack *remembered = &local->remembered;
    for (const cradle_word *entry = remembered->base; context->left_remembered && entry < remembered->top; entry++)
      if (!header_has_barrier(*object_at(*entry))) trace_remembered_object(context, object_at(*entry));
    local->stored = word_stack_count(remembered);
    event->u.minor.remembered += local->stored;
    event->u.minor.recorded += word_stack_count(&local->recorded);
    remembered->top = remembered->base;
    local->recorded.top = local->recorded.base;
    local->claimed_remembered = local->claimed_recorded = 0;
  }
}

/* Only handles that were set since the last minor collection: the others refer to old objects. */
static CRADLE_NOINLINE uint64_t trace_young_handles(crd_minor *context) {
  uint64_t words = 0;
  cradle_word *slot;
  for (; (slot = crd_handles_next_young(&context->young->tables->handles)) != NULL; words++)
    promote_slot(context, false, slot);
  return words;
}

static void trace_old_object(void *data, cradle_word *object) {
  crd_minor *context = data;
  const crd_old *old = context->old;
  uintptr_t address = address_of(object);
  /* Promotion takes places during the walk, so the walk may meet places that are not filled yet. The slots of objects
   * that are known to be dead may refer to memory that is used for other objects by now. */
  if (old_is_unfilled(old, old_span_of(old, address), address)) return;
  if (marking_knows_dead(context->young->marking, address)) return;
  /* The program cannot reach an object with an open header, so it has stored nothing into the object. */
  if (space_has_open(context->young->space, object)) return;
  object_set_flags(object, HEADER_BARRIER_FLAG);
  crd_promote_from(context, object);
}

/* The remembered set could not grow, so any old object may refer to a young one. If the walk meets copies that it has
 * promoted, they are traced twice, which does no harm. */
static void trace_all_old(crd_minor *context) {
  (void)crd_marker_stop(context->young->marking);
  crd_old_retire(context->old); /* the allocation bits are exact now [span.2], [span.8] */
  crd_old_each(context->old, trace_old_object, context);
  trace_pending(context); /* now: there may be no recorded slots and remembered objects after which to trace */
  context->young->remember_all = false;
  context->looked_at_all = true;
}

/* Large young objects: those that were reached become old, the others are freed. Returns the bytes freed. */
static uint64_t settle_large(crd_young *young) {
  crd_old *old = &young->space->old;
  uint64_t before = old->used_bytes;
  for (uint32_t page = old->young_large, next; page != PAGE_NONE; page = next) {
    crd_page *entry = arenas_page(&old->arenas, page);
    cradle_word *object = old_page_start(old, page);
    next = entry->next;
    ASSERT(entry->state == PAGE_LARGE_YOUNG || entry->state == PAGE_LARGE_REACHED,
           "[minor.1] the list of young large objects holds one that is not young");
    if (entry->state == PAGE_LARGE_YOUNG) {
      /* The object was born marked, and a mark must not stay behind where there is no object [span.4]. */
      if (old->born_marked) old_unmark(old, address_of(object));
      crd_old_bury_large(old, page, space_remains(young->space, false));
      continue;
    }
    entry->state = PAGE_LARGE;
    entry->next = PAGE_NONE;
    ASSERT(!old->born_marked || old_is_marked(old, address_of(object)),
           "[marker.5] a large object was not born marked");
    const crd_type *type = space_type(young->space, *object);
    if (is_left_to_marking(young, type)) crd_mark_again(young->marking, object);
    object_set_flags(object, type_old_flags(type, type_object_bytes(type, object)));
  }
  old_end_young_large(old);
  return before - old->used_bytes;
}

/* --- for the order of death --- */

cradle_word *crd_minor_reach(crd_minor *context, uintptr_t address) {
  if (is_young(context, address)) return crd_promote_object(context, object_at(address));
  crd_arenas *arenas = &context->old->arenas;
  arenas_page(arenas, arenas_page_number(arenas, address))->state = PAGE_LARGE_REACHED;
  return object_at(address);
}

void crd_minor_visit(crd_minor *context, bool value, cradle_word *slot) {
  promote_slot_only(context, value, slot);
}

void crd_minor_trace(crd_minor *context) {
  trace_pending(context);
}

/* Runs the order of death (gc/death/services.h) for what died, then frees the large objects that died: destructors
 * still read them. Returns their bytes. The order of death looks for old holders of weak slots and ephemerons among the
 * entries of the remembered sets, which are empty by now: they are still in memory. */
static CRADLE_NOINLINE uint64_t settle(crd_minor *context, uint64_t remembered) {
  crd_young *young = context->young;
  const crd_space *space = young->space;
  crd_stored stored = {remembered != 0, context->looked_at_all};
  if (space->death != NULL) space->death->minor_deaths(space->services, context, stored);
  /* After the order of death: a finalizer may have brought back an object with an id. */
  crd_ids_after_minor(young->tables);
  uint64_t freed = context->has_young_large ? settle_large(young) : 0;
  if (space->death != NULL) space->death->minor_ended(space->services);
  return freed;
}

/* --- the whole --- */

/* Sets the ranges of addresses that need a look [promote.4]. */
static void find_near(crd_minor *context) {
  const crd_old *old = context->old;
  context->beyond_start = context->marking ? old->arenas.base : old->young_large_start;
  context->beyond_bytes = context->marking ? old->arenas.bytes : context->has_young_large ? old->young_large_bytes : 0;
  uintptr_t start = context->nursery_start, end = start + context->nursery_bytes;
  if (context->beyond_bytes != 0) {
    uintptr_t beyond_end = context->beyond_start + context->beyond_bytes;
    if (context->beyond_start < start) start = context->beyond_start;
    if (beyond_end > end) end = beyond_end;
  }
  ASSERT(context->beyond_bytes != 0 || (!context->marking && !context->has_young_large),
         "[promote.4] references that need a look would be passed over");
  context->near_start = start;
  context->near_bytes = end - start;
}

CRD_ALWAYS_INLINE void begin(crd_minor *context, crd_young *young) {
  crd_space *space = young->space;
  *context = (crd_minor){.self = context,
                         .nursery_start = address_of(space->nursery.start),
                         .nursery_bytes = space->nursery.reserved_bytes,
                         .allocators = space->old.leader.allocators,
                         .types = space->types.types,
                         .pending_large = PAGE_NONE,
                         .has_young_large = space->old.young_large != PAGE_NONE,
                         .marking = young->marking->major.phase == MAJOR_MARKING,
                         .young = young,
                         .old = &space->old,
                         .encoding = space->encoding};
  find_near(context);
}

void crd_minor_begin(crd_minor *context, crd_young *young) {
  begin(context, young);
}

static inline bool team_is_possible(const crd_young *young) {
  return CRADLE_UNLIKELY(young->marking->marker.thread != NULL || space_is_shared(young->space));
}

static void trace_roots(crd_minor *context) {
  crd_young *young = context->young;
  crd_heap_report *report = young->space->report;
  bool wanted = event_wanted(report);
  if (CRADLE_UNLIKELY(wanted)) crd_event_send(report, &(cradle_event){.kind = CRADLE_EVENT_ROOTS_BEGIN});
  /* Callbacks first: nothing was given away yet [team.4]. */
  uint64_t root_words = visit_callback_roots(young->roots, promote_slot_only, context);
  /* Without the words of the shadow stack below the watermark, which refer to nothing young [mutator.6]. */
  root_words += visit_changed_roots(young->roots, promote_slot, context);
  if (CRADLE_UNLIKELY(young->tables->handles.young != 0)) root_words += trace_young_handles(context);
  if (CRADLE_UNLIKELY(wanted))
    crd_event_send(report, &(cradle_event){.kind = CRADLE_EVENT_ROOTS_END, .u.roots.words = root_words});
  young->adapt.root_words = root_words;
  trace_pending(context);
}

void crd_minor_run(crd_young *young, cradle_event *event) {
  const crd_space *space = young->space;
  crd_marking *marking = young->marking;
  ASSERT(space->report->state == HEAP_COLLECTING, "[heap.4] a minor collection while the mutator runs");
  crd_minor context;
  begin(&context, young);
  uint64_t begun = team_is_possible(young) ? crd_team_begin(&context) : 0;
  trace_roots(&context);
  if (CRADLE_UNLIKELY(young->remember_all)) trace_all_old(&context);
  event->u.minor.remembered = event->u.minor.recorded = 0;
  if (CRADLE_UNLIKELY(context.team != NULL)) crd_team_end(&context);
  if (!space_has_no_records(space)) end_records(&context, event);
  if (CRADLE_UNLIKELY(begun != 0)) crd_team_judge(&context, begun);
  if (CRADLE_UNLIKELY(marking->marker.going)) (void)crd_marker_stop(marking);
  if (CRADLE_UNLIKELY(marking->major.again != 0)) crd_mark_listed(marking);
  bool settled = space->death == NULL && young->tables->ids.young == 0 && !context.has_young_large;
  uint64_t freed = CRADLE_LIKELY(settled) ? 0 : settle(&context, event->u.minor.remembered);
  ASSERT(context.pending == NULL && context.pending_large == PAGE_NONE, "[minor.2] an object was not traced");
  ASSERT(space_has_no_records(space), "[minor.2] the remembered set or the recorded slots are not empty");
  /* Last, when everything that lives is forwarded, and before the nursery is emptied. */
  crd_nursery_count_ages(young, event->u.minor.nursery_bytes);
  event->u.minor.large_freed_bytes = freed;
  event->u.minor.promoted_objects = context.objects;
  event->u.minor.promoted_bytes = context.bytes;
  if (team_is_possible(young)) crd_team_tell(&young->team, event);
}
