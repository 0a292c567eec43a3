/* The slow paths of allocation: the nursery is used up, a stress mode or a safepoint request wants to be served, the
 * object is large, or memory runs out. Arguments are checked first. */
#include <cradle/detail/items.h>

#include <string.h>

#include "gc/base/probes.h"
#include "gc/base/sanitizers.h"
#include "gc/collect.h"
#include "gc/death/registry.h"
#include "gc/heap.h"
#include "gc/instruments/sample.h"
#include "gc/instruments/stress.h"
#include "gc/mutator.h"
#include "gc/old/arena_memory.h"
#include "gc/outgrow.h"
#include "gc/platform/pages.h"
#include "gc/report/misuse.h"
#include "gc/tables/pin.h"
#include "gc/world.h"
#include "gc/young/chunks.h"
#include "gc/young/nursery.h"
#include "gc/young/remember.h"

/* --- checks: the type is one of the heap's, the size is the type's, and the function is one for such types --- */

static CRADLE_COLD void unknown_type(cradle_heap *heap, uint32_t type, const char *what) {
  uint32_t count = heap->space.types.count;
  if (count == 0) crd_misuse(heap, "%s: allocation on a heap without types", what);
  if (type < count) crd_misuse(heap, "%s: allocation of type %u, whose row in the table of types is empty", what, type);
  crd_misuse(heap, "%s: allocation of type %u, but the heap's types are 0 to %u", what, type, count - 1);
}

static CRADLE_COLD void wrong_size(cradle_heap *heap, uint32_t type, size_t size, const char *what) {
  const crd_type *descriptor = &heap->space.types.types[type];
  if (descriptor->items != CRADLE_ITEMS_NONE)
    crd_misuse(heap,
               "%s: allocation of %zu bytes for %s, which has items: CRADLE_NEW_ARRAY, cradle_new_with and their kin "
               "allocate such types",
               what, size, crd_name_type(&heap->space, type).buffer);
  crd_misuse(heap, "%s: allocation of %zu bytes for %s, whose descriptor says %u", what, size,
             crd_name_type(&heap->space, type).buffer, descriptor->size);
}

static CRADLE_COLD void must_register(cradle_heap *heap, uint32_t type, const char *what) {
  crd_misuse(
      heap,
      "%s: allocation of %s, which has weak slots, ephemerons, a finalizer, a destructor or an external size: only "
      "CRADLE_NEW_WITH, CRADLE_NEW_ARRAY_WITH and cradle_new_with, without flags, allocate such types",
      what, crd_name_type(&heap->space, type).buffer);
}

static const crd_type *check_type(cradle_heap *heap, uint32_t type, const char *what) {
  if (CRADLE_UNLIKELY(!type_table_has(&heap->space.types, type) || heap->space.types.types[type].size == 0))
    unknown_type(heap, type, what);
  return &heap->space.types.types[type];
}

/* Misuse unless the type has no items and the size is the type's. */
static void check_fixed_size(cradle_heap *heap, uint32_t type, size_t size, const char *what) {
  const crd_type *descriptor = &heap->space.types.types[type];
  bool possible = size <= SIZE_MAX / 2 && cradle_object_bytes(size) == descriptor->size;
  if (CRADLE_UNLIKELY(descriptor->items != CRADLE_ITEMS_NONE || !possible)) wrong_size(heap, type, size, what);
}

/* Misuse unless the type has no services. */
static void check_unregistered(cradle_heap *heap, uint32_t type, const char *what) {
  if (CRADLE_UNLIKELY(check_type(heap, type, what)->registers != 0)) must_register(heap, type, what);
}

static void check_size(cradle_heap *heap, uint32_t type, size_t size, const char *what) {
  check_unregistered(heap, type, what);
  check_fixed_size(heap, type, size, what);
}

/* Misuse unless the type has items. Returns the bytes of an object of the length, 0 if they overflow. */
static size_t check_array(cradle_heap *heap, uint32_t type, size_t length, const char *what) {
  const crd_type *descriptor = check_type(heap, type, what);
  if (CRADLE_UNLIKELY(descriptor->items == CRADLE_ITEMS_NONE))
    crd_misuse(heap, "%s: the descriptor of %s has no items", what, crd_name_type(&heap->space, type).buffer);
  return type_array_bytes(descriptor, length);
}

static CRADLE_COLD void wrong_layout(cradle_heap *heap, uint32_t type, cradle_array_layout layout, const char *what) {
  const crd_type *descriptor = &heap->space.types.types[type];
  crd_misuse(
      heap,
      "%s: a structure of %u bytes with items of %u and its length at %u, for %s, whose descriptor says size %u, "
      "item_size %u, length_offset %u",
      what, layout.size, layout.item_size, layout.length_offset, crd_name_type(&heap->space, type).buffer,
      descriptor->size, descriptor->item_size, descriptor->length_offset);
}

/* Misuse unless the layout, which comes from the caller's structure, is the descriptor's. */
static void check_layout(cradle_heap *heap, uint32_t type, cradle_array_layout layout, const char *what) {
  const crd_type *descriptor = check_type(heap, type, what);
  if (CRADLE_UNLIKELY(layout.size != descriptor->size || layout.item_size != descriptor->item_size ||
                      layout.length_offset != descriptor->length_offset))
    wrong_layout(heap, type, layout, what);
}

/* The same for a layout that may be of zeros; and misuse if count is not 0 and the type has no items. Returns the bytes
 * of the object, 0 if they overflow. */
static size_t check_with(cradle_heap *heap, uint32_t type, cradle_array_layout layout, size_t count, const char *what) {
  const crd_type *descriptor = check_type(heap, type, what);
  bool is_given = layout.size != 0 || layout.item_size != 0 || layout.length_offset != 0;
  if (is_given && layout.item_size == 0 && layout.length_offset == 0)
    check_fixed_size(heap, type, layout.size, what);
  else if (is_given)
    check_layout(heap, type, layout, what);
  if (count == 0 && descriptor->items == CRADLE_ITEMS_NONE) return descriptor->size;
  return check_array(heap, type, count, what);
}

/* --- room --- */

/* Returns whether a collection took place. */
static bool serve_stress(crd_mutator *mutator, cradle_stress place) CRADLE_MAY_COLLECT {
  cradle_heap *heap = mutator->public.heap;
  crd_stress_demand demand = crd_stress_point(&heap->stress, place, heap->majors_disabled != 0);
  if (demand != STRESS_NOTHING) {
    uint64_t spent = heap->stress.spent_ns;
    crd_stress_begin(&heap->stress);
    if (demand == STRESS_COLLECT_FULL)
      crd_collect_major(heap, CRADLE_CAUSE_STRESS, CRADLE_COLLECT_COMPACTING);
    else
      crd_collect(heap, CRADLE_CAUSE_STRESS);
    crd_stress_served(&heap->stress, spent);
  }
  crd_nursery_set_top(mutator); /* a gap may have begun or ended */
  return demand != STRESS_NOTHING;
}

/* Serves whatever lowered top: a stress mode, or a request from another thread. */
static void serve(cradle_mutator *mutator, cradle_stress place) CRADLE_MAY_COLLECT {
  crd_mutator *m = mutator_of(mutator);
  if (stress_is_on(&mutator->heap->options) && serve_stress(m, place)) return;
  if (__atomic_load_n(&m->pending_request, __ATOMIC_SEQ_CST)) crd_collect(mutator->heap, CRADLE_CAUSE_SAFEPOINT);
}

/* free may lie above limit: the last object may have reached into the slack behind the nursery's end. */
static inline bool fits_below(const cradle_mutator *mutator, size_t bytes, const char *limit) {
  return mutator->free <= limit && bytes <= (size_t)(limit - mutator->free);
}

static inline bool fits(cradle_mutator *mutator, size_t bytes) {
  return fits_below(mutator, bytes, mutator_of(mutator)->local->end);
}

static bool takes_chunk(cradle_mutator *mutator, size_t bytes) {
  return space_is_shared(&mutator->heap->space) && crd_chunks_take(mutator_of(mutator), bytes);
}

/* The same after a collection. */
static bool fits_empty(cradle_mutator *mutator, size_t bytes) {
  const crd_space *space = &mutator->heap->space;
  return space_is_shared(space) ? takes_chunk(mutator, bytes) : fits_below(mutator, bytes, space->nursery.slack_end);
}

/* Makes room in the mutator's chunk, and collects if it must. Only an empty nursery may use the slack. If even that has
 * no room, memory for the promotion reserve was refused, and the end is lowered: a full collection may raise it. */
static bool make_room(cradle_mutator *mutator, size_t bytes) CRADLE_MAY_COLLECT {
  cradle_heap *heap = mutator->heap;
  mutator->reserved_end = NULL;
  serve(mutator, CRADLE_STRESS_ALLOCATIONS);
  if (fits(mutator, bytes) || takes_chunk(mutator, bytes)) return true;
  crd_collect(heap, CRADLE_CAUSE_NURSERY_FULL);
  if (fits_empty(mutator, bytes)) return true;
  for (cradle_collection_kind kind = CRADLE_COLLECT_FULL; kind <= CRADLE_COLLECT_COMPACTING; kind++) {
    crd_collect_major(heap, CRADLE_CAUSE_MEMORY, kind);
    if (fits_empty(mutator, bytes)) return true;
  }
  return false;
}

#ifdef CRD_VALGRIND
/* Out of line so that cradle/detail/new.h need not include valgrind's header. */
void cradle_handed_out(const cradle_mutator *mutator, void *address, size_t size) {
  sanitize_handed_out(mutator->heap, address, size);
}
#endif

static void *bump(cradle_mutator *mutator, uint32_t type, size_t bytes) {
  char *object = mutator->free;
  ASSERT(bytes % 8 == 0 && bytes >= CRADLE_OBJECT_MIN_BYTES, "an object's size was not rounded");
  ASSERT(mutator->free + bytes <= mutator->heap->space.nursery.slack_end,
         "[nursery.1] an object goes beyond the nursery");
  mutator->free = object + bytes;
  sanitize_handed_out(mutator->heap, object, bytes);
  memset(object, 0, bytes);
  *words_of(object) = type;
  return object;
}

/* --- objects outside the nursery --- */

/* Objects outside the nursery bring on collections themselves: when a major collection is due; or, while one runs or
 * none may begin, when they come to a nursery's size. */
static void collect_before(cradle_heap *heap, size_t bytes) CRADLE_MAY_COLLECT {
  crd_major *major = &heap->marking.major;
  if (collection_is_off(&heap->options)) return;
  /* Counted even if nothing is collected now: pacing asks for it at the next pause. */
  major->large_bytes += bytes;
  bool may_begin = major->phase == MAJOR_IDLE && heap->majors_disabled == 0;
  space_lock(&heap->space);
  bool is_due = may_begin
                    ? heap->space.old.used_bytes + heap->marking.external_bytes + bytes >= crd_collect_due_at(heap)
                    : major->large_bytes >= heap->space.nursery.bytes;
  space_unlock(&heap->space);
  if (is_due) crd_collect(heap, CRADLE_CAUSE_LARGE);
}

/* Before a large object is allocated: collects if the next minor collection would scan too much otherwise [large.3].
 * Returns whether the object is to be recorded from birth; then nothing is young now, unless other mutators run: what
 * they fill of the nursery cannot be read. */
static bool limit_scan(cradle_heap *heap, const crd_type *type, size_t bytes) CRADLE_MAY_COLLECT {
  crd_old *old = &heap->space.old;
  bool weakly = type->registers & REGISTERED_WEAKLY;
  if ((!type->has_slots && !weakly) || collection_is_off(&heap->options)) return false;
  if (old->young_scanned_bytes + bytes > SCANNED_MAX_BYTES &&
      (space_is_shared(&heap->space) || nursery_filled(&heap->space) != 0 || old->young_large != PAGE_NONE))
    crd_collect(heap, CRADLE_CAUSE_LARGE);
  return bytes > SCANNED_MAX_BYTES && (weakly || type->recording != RECORDING_OBJECT);
}

/* An arena was opened for a large object, whose last page is the given one. Promotion will fill the rest of it: that it
 * need not touch it first, in a pause, the arena is populated now. What the object fills is left to the program. */
static void prepare_rest(cradle_heap *heap, uint32_t last_page) {
  if (last_page % ARENA_PAGES == ARENA_PAGES - 1 || heap->small || heap->options.stress_period != 0) return;
  uint64_t begin = crd_platform_now_ns();
  (void)crd_arenas_populate(&heap->space.old.arenas, last_page / ARENA_PAGES);
  heap->report.stats.prepare_ns += crd_platform_now_ns() - begin;
}

static void *take_large(cradle_heap *heap, size_t bytes, bool young) {
  crd_old *old = &heap->space.old;
  uint32_t in_use = arenas_in_use(&old->arenas);
  void *place = crd_old_take_large(old, bytes, young, true, old->reserve);
  uint32_t opened = arenas_in_use(&old->arenas) - in_use;
  if (place == NULL || opened == 0) return place;
  prepare_rest(heap, arenas_page_number(&old->arenas, address_of(place) + bytes - 1));
  /* FREE arenas that were too few or too short for the object do not stay beside those that it has opened. */
  (void)crd_arenas_settle(&old->arenas, old->reserve + old->arenas.supply.ahead, crd_platform_now_ns(), opened);
  return place;
}

/* Allocations must not touch the promotion reserve (old->reserve). Small objects come here only if they are pinned. */
static void *take_outside(cradle_heap *heap, size_t bytes, bool young) {
  ASSERT(young || bytes >= CRADLE_OBJECT_MIN_BYTES, "an object's size was not rounded");
  crd_old *old = &heap->space.old;
  if (young || bytes > SMALL_MAX_BYTES) return take_large(heap, bytes, young);
  const crd_allocator *allocator = &old->leader.allocators[old_class_of(old, bytes)];
  if (allocator->free == allocator->end) { /* the next run's marks share words with others */
    space_lock(&heap->space);
    (void)crd_marker_stop(&heap->marking);
    space_unlock(&heap->space);
  }
  char *place = old_take_small(old, &old->leader, old_class_of(old, bytes), old->reserve);
  return place == NULL ? NULL : memset(place, 0, bytes);
}

/* A young large object, or an old one of any size. NULL: no memory. */
static cradle_word *new_outside(cradle_mutator *mutator, uint32_t type, size_t bytes, bool young) CRADLE_MAY_COLLECT {
  cradle_heap *heap = mutator->heap;
  PROBE3(allocate_large, heap, type, bytes);
  mutator->reserved_end = NULL;
  serve(mutator, CRADLE_STRESS_ALLOCATIONS);
  /* No collection could make room for so much. */
  if (bytes > heap->space.old.arenas.bytes) return NULL;
  if (CRADLE_UNLIKELY(heap->small))
    crd_world_stop(&heap->space, "an allocation"); /* the nursery is measured, and may change */
  heap_grows(heap, bytes);
  collect_before(heap, bytes);
  const crd_type *descriptor = &heap->space.types.types[type];
  bool recorded = young && limit_scan(heap, descriptor, bytes);
  /* The maximum heap or the system may refuse it. The more thorough collections come only then. */
  cradle_word *object = take_outside(heap, bytes, young);
  for (cradle_collection_kind kind = CRADLE_COLLECT_FULL; object == NULL && kind <= CRADLE_COLLECT_COMPACTING; kind++) {
    crd_collect_major(heap, CRADLE_CAUSE_MEMORY, kind);
    object = take_outside(heap, bytes, young);
  }
  if (object == NULL) return NULL;
  ASSERT(!space_is_young(&heap->space, address_of(object)), "a large or old object lies in the nursery");
  heap->report.stats.allocated_bytes += bytes;
  mutator_of(mutator)->local->emptied_bytes += bytes;
  object[0] = type;
  if (!young)
    object_set_flags(object, type_old_flags(descriptor, bytes));
  else if (recorded)
    crd_record_from_birth(&heap->space, object, bytes);
  else if (descriptor->has_slots || descriptor->registers & REGISTERED_WEAKLY)
    heap->space.old.young_scanned_bytes += bytes;
  return object;
}

/* --- the public slow paths --- */

/* In a shared heap: stands if a stop is on. Then, unless something else is to be served or a sample is to be taken, the
 * mutator may only need its next chunk, and the world need not be held. */
static bool has_chunk(cradle_mutator *mutator, size_t bytes) CRADLE_MAY_COLLECT {
  crd_mutator *m = mutator_of(mutator);
  crd_world_stand(m);
  mutator->reserved_end = NULL;
  if (bytes > CRADLE_NURSERY_OBJECT_MAX_BYTES || stress_is_on(&mutator->heap->options) ||
      m->local->sample.point - address_of(mutator->free) < bytes ||
      __atomic_load_n(&m->pending_request, __ATOMIC_SEQ_CST) != 0)
    return false;
  return fits(mutator, bytes) || crd_chunks_take(m, bytes);
}

static void *allocate(cradle_mutator *mutator, uint32_t type, size_t size) CRADLE_MAY_COLLECT {
  ASSERT(size <= SIZE_MAX / 2, "a size that was not checked");
  size_t bytes = cradle_object_bytes(size);
  crd_space *space = &mutator->heap->space;
  void *object = NULL;
  PROBE3(allocate_slow, mutator->heap, type, bytes);
  bool shared = space_is_shared(space), quick = shared && has_chunk(mutator, bytes);
  if (shared && !quick) crd_world_take(space, mutator_of(mutator));
  if (bytes > CRADLE_NURSERY_OBJECT_MAX_BYTES)
    object = new_outside(mutator, type, bytes, true);
  else if (quick || make_room(mutator, bytes))
    object = bump(mutator, type, bytes);
  crd_nursery_looked(mutator_of(mutator), object);
  if (mutator->heap->sampling.interval != 0 && object != NULL) crd_sample_slow(mutator, object, type, bytes);
  if (!shared) return object;
  if (!quick) crd_world_release(space);
  crd_nursery_set_top(mutator_of(mutator));
  return object;
}

void *cradle_new_slow(cradle_mutator *mutator, uint32_t type, size_t size) {
  crd_mutator_check(mutator, "cradle_new");
  check_size(mutator->heap, type, size, "cradle_new");
  void *object = allocate(mutator, type, size);
  if (CRADLE_UNLIKELY(object == NULL)) crd_out_of_memory(&mutator->heap->space, "cradle_new", size);
  return object;
}

cradle_reservation cradle_reserve_slow(cradle_mutator *mutator, size_t size) {
  const char *what = "cradle_reserve";
  crd_mutator_check(mutator, what);
  if (size > CRADLE_NURSERY_OBJECT_MAX_BYTES)
    crd_misuse(mutator->heap, "%s: more than CRADLE_NURSERY_OBJECT_MAX_BYTES (32768)", what);
  size_t bytes = (size + 7) & ~(size_t)7;
  PROBE2(reserve_slow, mutator->heap, bytes);
  crd_space *space = &mutator->heap->space;
  bool quick = space_is_shared(space) && has_chunk(mutator, bytes);
  if (!quick) crd_world_enter(space, mutator_of(mutator));
  if (!quick && !make_room(mutator, bytes)) {
    crd_world_leave(space);
    crd_out_of_memory(space, what, size);
    return (cradle_reservation){NULL, NULL, mutator};
  }
  char *start = mutator->free;
  ASSERT(start + bytes <= mutator->heap->space.nursery.slack_end, "[nursery.1] a reservation goes beyond the nursery");
  mutator->free = mutator->reserved_end = start + bytes;
  sanitize_handed_out(mutator->heap, start, bytes);
  crd_nursery_looked(mutator_of(mutator), start);
  if (mutator->heap->sampling.interval != 0) crd_sample_slow(mutator, start, CRADLE_TYPE_ID_END, bytes);
  if (!quick) crd_world_leave(space);
  if (space_is_shared(space)) crd_nursery_set_top(mutator_of(mutator));
  return (cradle_reservation){start, start + bytes, mutator};
}

/* Stores the length in a new array, and returns the array. If object is NULL, memory ran out: tells the out-of-memory
 * handler so, and returns NULL. what: the public function. */
CRD_ALWAYS_INLINE void *end_array(cradle_mutator *mutator, uint32_t type, cradle_word *object, size_t length,
                                  const char *what) {
  const crd_type *descriptor = &mutator->heap->space.types.types[type];
  ASSERT(descriptor->length_offset + 8 <= descriptor->size, "[type.1] the length lies outside of the fixed part");
  if (CRADLE_LIKELY(object != NULL)) {
    object[descriptor->length_offset / 8] = length;
  } else {
    size_t bytes = type_array_bytes(descriptor, length);
    crd_out_of_memory(&mutator->heap->space, what, bytes != 0 ? bytes : SIZE_MAX); /* 0: above any address space */
  }
  return object;
}

static bool makes_room(crd_mutator *mutator) {
  space_lock(mutator->space);
  bool ready = crd_registry_make_room(mutator, 0);
  space_unlock(mutator->space);
  return ready;
}

/* Makes room to register one object, which may take a full collection. The room is still there after the object's
 * allocation, even if that collects. */
static bool make_registry_room(crd_mutator *mutator) CRADLE_MAY_COLLECT {
  if (CRADLE_LIKELY(makes_room(mutator))) return true;
  crd_collect_major(mutator->public.heap, CRADLE_CAUSE_MEMORY, CRADLE_COLLECT_FULL);
  return makes_room(mutator);
}

static bool reserve_pin(cradle_heap *heap) {
  space_lock(&heap->space);
  bool ready = crd_pins_reserve(&heap->tables.pins);
  space_unlock(&heap->space);
  return ready;
}

/* A lowered top means that the slow path has something to serve. */
CRD_ALWAYS_INLINE cradle_word *new_young(cradle_mutator *mutator, uint32_t type, size_t bytes) CRADLE_MAY_COLLECT {
  bool fits = bytes <= CRADLE_NURSERY_OBJECT_MAX_BYTES && fits_below(mutator, bytes, cradle_top(mutator));
  return fits ? bump(mutator, type, bytes) : allocate(mutator, type, bytes);
}

/* An object of any type. NULL: no memory for it, for its registration or for its pin. What lies beside the object comes
 * first: once it exists, nothing may fail. */
static cradle_word *new_held(cradle_mutator *mutator, uint32_t type, size_t bytes, uint32_t flags) CRADLE_MAY_COLLECT {
  cradle_heap *heap = mutator->heap;
  bool is_registered = heap->space.types.types[type].registers != 0, is_pinned = flags & CRADLE_PINNED;
  mutator->reserved_end = NULL;
  bool needs_room = is_registered && mutator->registered == mutator->registered_end;
  if (CRADLE_UNLIKELY(needs_room && !make_registry_room(mutator_of(mutator)))) return NULL;
  if (CRADLE_UNLIKELY(is_pinned && !reserve_pin(heap))) return NULL;
  cradle_word *object = is_pinned ? new_outside(mutator, type, bytes, false) : new_young(mutator, type, bytes);
  if (CRADLE_UNLIKELY(object == NULL)) return NULL;
  if (CRADLE_UNLIKELY(is_pinned && heap->sampling.interval != 0)) crd_sample_slow(mutator, object, type, bytes);
  ASSERT(!is_pinned || !space_is_young(&heap->space, address_of(object)),
         "[pin.2] what was allocated pinned is not old");
  ASSERT(!is_registered || mutator->registered < mutator->registered_end,
         "a collection took the room to register an object");
  if (is_registered) *mutator->registered++ = address_of(object);
  if (is_pinned) {
    space_lock(&heap->space);
    crd_pin_add(&heap->tables, object);
    space_unlock(&heap->space);
  }
  return object;
}

/* The world is held from then on: nobody else uses up the room that is made, and no type is added, which would take the
 * room back. */
static CRADLE_NOINLINE cradle_word *new_any(cradle_mutator *mutator, uint32_t type, size_t bytes, uint32_t flags)
    CRADLE_MAY_COLLECT {
  crd_space *space = &mutator->heap->space;
  bool needs_room = flags != 0 || space->types.types[type].registers != 0;
  if (CRADLE_LIKELY(!space_is_shared(space)) || !needs_room) return new_held(mutator, type, bytes, flags);
  crd_world_take(space, mutator_of(mutator));
  cradle_word *object = new_held(mutator, type, bytes, flags);
  crd_world_release(space);
  return object;
}

/* An array whose layout the descriptor says. */
CRD_ALWAYS_INLINE void *new_array(cradle_mutator *mutator, uint32_t type, size_t count, const char *what)
    CRADLE_MAY_COLLECT {
  size_t bytes = check_array(mutator->heap, type, count, what);
  cradle_word *object = NULL;
  mutator->reserved_end = NULL;
  if (CRADLE_LIKELY(bytes != 0))
    object = CRADLE_UNLIKELY(mutator->heap->space.types.types[type].registers != 0) ? new_any(mutator, type, bytes, 0)
                                                                                    : new_young(mutator, type, bytes);
  return end_array(mutator, type, object, count, what);
}

void *cradle_new_items_slow(cradle_mutator *mutator, uint32_t type, cradle_array_layout layout, size_t count) {
  const char *what = "CRADLE_NEW_ARRAY";
  crd_mutator_check(mutator, what);
  check_layout(mutator->heap, type, layout, what);
  check_unregistered(mutator->heap, type, what);
  return new_array(mutator, type, count, what);
}

void *cradle_new_with(cradle_mutator *mutator, uint32_t type, cradle_array_layout layout, size_t count,
                      uint32_t flags) {
  const char *what = "cradle_new_with";
  cradle_heap *heap = mutator->heap;
  crd_mutator_check(mutator, what);
  if (CRADLE_LIKELY((layout.size | flags) == 0 && count != 0)) return new_array(mutator, type, count, what);
  if (CRADLE_UNLIKELY(flags & ~CRADLE_PINNED))
    crd_misuse(heap, "%s: flags are 0 or CRADLE_PINNED, not %u", what, flags);
  if (flags & CRADLE_PINNED) check_unregistered(heap, type, what);
  size_t bytes = check_with(heap, type, layout, count, what);
  cradle_word *object = bytes != 0 ? new_any(mutator, type, bytes, flags) : NULL;
  if (heap->space.types.types[type].items != CRADLE_ITEMS_NONE) return end_array(mutator, type, object, count, what);
  if (CRADLE_UNLIKELY(object == NULL)) crd_out_of_memory(&heap->space, what, bytes);
  return object;
}

void cradle_safepoint_slow(cradle_mutator *mutator) {
  crd_mutator_check(mutator, "cradle_safepoint");
  PROBE1(safepoint_slow, mutator->heap);
  mutator->reserved_end = NULL;
  crd_mutator *m = mutator_of(mutator);
  crd_world_stand(m);
  bool requested = __atomic_load_n(&m->pending_request, __ATOMIC_SEQ_CST) != 0;
  if (!space_is_shared(m->space) || requested || stress_is_on(&mutator->heap->options)) {
    crd_world_enter(m->space, m);
    serve(mutator, CRADLE_STRESS_SAFEPOINTS);
    crd_world_leave(m->space);
  }
  ASSERT(mutator->heap->report.state == HEAP_MUTATING, "[heap.4] a safepoint leaves something running");
  crd_nursery_set_top(m);
}

void cradle_safepoint_request(cradle_mutator *mutator) {
  /* The flag is stored before top is lowered: crd_nursery_set_top, which may raise top at the same time, looks at
   * the flag afterwards. */
  __atomic_store_n(&mutator_of(mutator)->pending_request, 1, __ATOMIC_SEQ_CST);
  __atomic_store_n(&mutator->top, NULL, __ATOMIC_SEQ_CST);
}

/* --- for callers that were compiled with CRADLE_CHECKED --- */

void cradle_check_new(cradle_mutator *mutator, uint32_t type, size_t size) {
  crd_mutator_check(mutator, "cradle_new");
  mutator->reserved_end = NULL;
  check_size(mutator->heap, type, size, "cradle_new");
}

void cradle_check_new_fast(cradle_mutator *mutator, uint32_t type, size_t size) {
  if (cradle_top(mutator) == NULL) return; /* there is no room: a callback runs, for example */
  crd_mutator_check_thread(mutator, "CRADLE_NEW_FAST");
  check_size(mutator->heap, type, size, "CRADLE_NEW_FAST");
}

void cradle_check_items(cradle_mutator *mutator, uint32_t type, cradle_array_layout layout, bool may_collect) {
  const char *what = "CRADLE_NEW_ARRAY";
  (may_collect ? crd_mutator_check : crd_mutator_check_thread)(mutator, what);
  if (may_collect) mutator->reserved_end = NULL;
  check_layout(mutator->heap, type, layout, what);
  check_unregistered(mutator->heap, type, what);
}

void cradle_check_room(const cradle_reservation *reservation, size_t bytes) {
  cradle_mutator *mutator = reservation->mutator;
  crd_mutator_check_thread(mutator, "CRADLE_NEW_RESERVED");
  /* A call that may collect has ended every reservation: it sets reserved_end to NULL. */
  if (mutator->reserved_end != reservation->end)
    crd_misuse(mutator->heap, "CRADLE_NEW_RESERVED: the reservation is over (a call that may collect ended it)");
  if (bytes > (size_t)(reservation->end - reservation->free))
    crd_misuse(mutator->heap, "CRADLE_NEW_RESERVED: the object goes beyond the reservation");
}

void cradle_check_reserved(const cradle_reservation *reservation, uint32_t type, size_t size) {
  crd_mutator_check_thread(reservation->mutator, "CRADLE_NEW_RESERVED");
  check_size(reservation->mutator->heap, type, size, "CRADLE_NEW_RESERVED");
  cradle_check_room(reservation, cradle_object_bytes(size));
}
