#include "gc/young/minor.h"

#include "gc/old/mark.h"
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

static void trace_large(crd_minor *context) {
  uint32_t page = context->pending_large;
  const crd_page *entry = arenas_page(&context->old->arenas, page);
  ASSERT(entry->state == PAGE_LARGE_REACHED, "[minor.1] a large object waits that was not reached");
  context->pending_large = entry->pending;
  crd_promote_from(context, old_page_start(context->old, page));
}

static inline void trace_pending(crd_minor *context) {
  for (;;) {
    if (context->pending != NULL) crd_promote_list(context);
    if (CRADLE_LIKELY(context->pending_large == PAGE_NONE)) return;
    trace_large(context);
  }
}

/* While a major collection marks: whether what an old object refers to must be marked now. An unmarked object may be
 * dead; if it lives, marking or the second core will reach it. Prebuilt objects always live. */
static inline bool may_be_live(const crd_young *young, const cradle_word *object) {
  uintptr_t address = address_of(object);
  return !arenas_know(&young->space->old.arenas, address) || old_is_marked(&young->space->old, address);
}

/* What each object leads to is traced at once, while it is still in the cache. */
static void trace_remembered(crd_minor *context, crd_word_stack *remembered) {
  for (cradle_word *entry = remembered->base; entry < remembered->top; entry++) {
    if (entry + AHEAD < remembered->top) __builtin_prefetch(object_at(entry[AHEAD]), 1);
    cradle_word *object = object_at(*entry);
    ASSERT(context->looked_at_all || !header_has_barrier(object[0]),
           "[heap.3] a remembered object has the barrier flag");
    object_set_flags(object, HEADER_BARRIER_FLAG);
    if (CRADLE_UNLIKELY(context->marking) && !may_be_live(context->young, object))
      crd_promote_from_unmarked(context, object);
    else
      crd_promote_from(context, object);
    trace_pending(context);
  }
  remembered->top = remembered->base;
}

/* Copies what a piece of the recorded slots refers to, then traces these copies while they are still in the cache. */
static void trace_recorded(crd_minor *context, crd_word_stack *recorded) {
  const cradle_word *top = recorded->top;
  for (const cradle_word *from = recorded->base, *to; from < top; from = to) {
    to = top - from > RECORDED_PIECE ? from + RECORDED_PIECE : top;
    crd_promote_recorded(context, from, to, top);
    trace_pending(context);
  }
  recorded->top = recorded->base;
}

/* Recorded slots first: they lie in the order of the stores, so objects that were stored right after their allocation
 * are copied almost in the order of their allocation. */
static CRADLE_NOINLINE void trace_records(crd_minor *context, cradle_event *event) {
  for (EACH_LOCAL(local, context->young->space)) {
    event->u.minor.remembered += word_stack_count(&local->remembered);
    event->u.minor.recorded += word_stack_count(&local->recorded);
    trace_recorded(context, &local->recorded);
    trace_remembered(context, &local->remembered);
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
  for (uint32_t i = 0; i < context->young->tables->prebuilts.written; i++) {
    cradle_word *object = context->young->tables->prebuilts.of[i].object;
    object_set_flags(object, HEADER_BARRIER_FLAG);
    crd_promote_from(context, object);
  }
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
    /* Born marked and not scanned here: marking does not know yet what it refers to [large.3]. */
    if (young->marking->major.phase == MAJOR_MARKING && header_records_slots(*object))
      crd_mark_again(young->marking, object);
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
 * entries of the remembered set, which is empty by now: they are still in memory. */
static CRADLE_NOINLINE uint64_t settle(crd_minor *context, uint64_t remembered) {
  crd_young *young = context->young;
  const crd_space *space = young->space;
  const cradle_word *set = space->locals.remembered.base; /* the only one [local.1] */
  crd_stored stored = {set, set + remembered, context->looked_at_all};
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
  context->beyond_bytes = context->marking ? old->arenas.bytes : old->young_large_bytes;
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

static crd_minor begin(crd_young *young) {
  crd_space *space = young->space;
  return (crd_minor){.nursery_start = address_of(space->nursery.start),
                     .nursery_bytes = space->nursery.reserved_bytes,
                     .allocators = space->old.leader.allocators,
                     .types = space->types.types,
                     .pending_large = PAGE_NONE,
                     .has_young_large = space->old.young_large != PAGE_NONE,
                     .marking = young->marking->major.phase == MAJOR_MARKING,
                     .young = young,
                     .old = &space->old,
                     .encoding = space->encoding};
}

static void trace_roots(crd_minor *context) {
  crd_young *young = context->young;
  crd_heap_report *report = young->space->report;
  bool wanted = event_wanted(report);
  if (CRADLE_UNLIKELY(wanted)) crd_event_send(report, &(cradle_event){.kind = CRADLE_EVENT_ROOTS_BEGIN});
  /* Without the words of the shadow stack below the watermark, which refer to nothing young [mutator.6]. */
  uint64_t root_words = visit_changed_roots(young->roots, promote_slot, context);
  root_words += visit_callback_roots(young->roots, promote_slot_only, context);
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
  crd_minor context = begin(young);
  context.self = &context;
  find_near(&context);
  trace_roots(&context);
  if (CRADLE_UNLIKELY(young->remember_all)) trace_all_old(&context);
  event->u.minor.remembered = event->u.minor.recorded = 0;
  if (!space_has_no_records(space)) trace_records(&context, event);
  if (CRADLE_UNLIKELY(marking->marker.going)) (void)crd_marker_stop(marking);
  if (CRADLE_UNLIKELY(marking->major.again != 0)) crd_mark_listed(marking);
  bool settled = space->death == NULL && young->tables->ids.young == 0 && !context.has_young_large;
  uint64_t freed = CRADLE_LIKELY(settled) ? 0 : settle(&context, event->u.minor.remembered);
  ASSERT(context.pending == NULL && context.pending_large == PAGE_NONE, "[minor.2] an object was not traced");
  ASSERT(space_has_no_records(space), "[minor.2] the remembered set or the recorded slots are not empty");
  /* Last, when everything that lives is forwarded, and before the nursery is emptied. */
  crd_nursery_count_ages(young);
  event->u.minor.large_freed_bytes = freed;
  event->u.minor.promoted_objects = context.objects;
  event->u.minor.promoted_bytes = context.bytes;
}
