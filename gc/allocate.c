/* The slow paths of allocation: the nursery is used up, a stress mode or a safepoint request wants to be served, the
 * object is large, or memory runs out. */
#include <inttypes.h>
#include <string.h>

#include "gc/allocate_check.h"
#include "gc/base/probes.h"
#include "gc/base/sanitizers.h"
#include "gc/collect.h"
#include "gc/death/registry.h"
#include "gc/heap.h"
#include "gc/instruments/sample.h"
#include "gc/instruments/stress.h"
#include "gc/report/misuse.h"
#include "gc/mutator.h"
#include "gc/outgrow.h"
#include "gc/tables/pin.h"
#include "gc/young/nursery.h"

/* --- room --- */

static void serve_stress(cradle_heap *heap, crd_stress_demand demand) CRADLE_MAY_COLLECT {
  uint64_t spent = heap->stress.spent_ns;
  crd_stress_begin(&heap->stress);
  if (demand == STRESS_COLLECT_FULL)
    crd_collect_major(heap, CRADLE_CAUSE_STRESS, CRADLE_COLLECT_COMPACTING);
  else
    crd_collect(heap, CRADLE_CAUSE_STRESS);
  crd_stress_served(&heap->stress, spent);
  crd_nursery_set_top(&heap->young);
}

/* Serves whatever lowered top: a stress mode, or a request from another thread. */
static void serve(cradle_heap *heap, cradle_stress place) CRADLE_MAY_COLLECT {
  crd_stress_demand demand = stress_is_on(&heap->options)
                                 ? crd_stress_point(&heap->stress, place, heap->majors_disabled != 0)
                                 : STRESS_NOTHING;
  if (demand != STRESS_NOTHING) {
    serve_stress(heap, demand);
    return;
  }
  if (stress_is_on(&heap->options)) crd_nursery_set_top(&heap->young); /* a gap may have begun or ended */
  if (__atomic_load_n(&heap->young.pending_request, __ATOMIC_SEQ_CST)) crd_collect(heap, CRADLE_CAUSE_SAFEPOINT);
}

/* Whether an object fits below limit. free may lie above limit: the last object may have reached into the slack
 * behind the nursery's end. */
static inline bool fits_below(const cradle_mutator *mutator, size_t bytes, const char *limit) {
  return mutator->free <= limit && bytes <= (size_t)(limit - mutator->free);
}

/* Makes room for bytes in the nursery, and collects if it must. Only an empty nursery may use the slack. If even
 * that has no room, memory for the promotion reserve was refused and the end is lowered: more thorough collections
 * may raise it. */
static bool make_room(cradle_mutator *mutator, size_t bytes) CRADLE_MAY_COLLECT {
  cradle_heap *heap = mutator->heap;
  mutator->reserved_end = NULL;
  serve(heap, CRADLE_STRESS_ALLOCATIONS);
  if (fits_below(mutator, bytes, heap->space.nursery.end)) return true;
  crd_collect(heap, CRADLE_CAUSE_NURSERY_FULL);
  if (fits_below(mutator, bytes, heap->space.nursery.slack_end)) return true;
  for (cradle_collection_kind kind = CRADLE_COLLECT_FULL; kind <= CRADLE_COLLECT_COMPACTING; kind++) {
    crd_collect_major(heap, CRADLE_CAUSE_MEMORY, kind);
    if (fits_below(mutator, bytes, heap->space.nursery.slack_end)) return true;
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

/* Objects outside the nursery do not fill it, so they bring on collections themselves: when a major collection is
 * due; or, while one runs or none may begin, when they come to a nursery's size. */
static void collect_before(cradle_heap *heap, size_t bytes) CRADLE_MAY_COLLECT {
  crd_major *major = &heap->marking.major;
  if (collection_is_off(&heap->options)) return;
  /* Counted even if nothing is collected now: pacing asks for it at the next pause. */
  major->large_bytes += bytes;
  bool may_begin = major->phase == MAJOR_IDLE && heap->majors_disabled == 0;
  if (may_begin ? heap->space.old.used_bytes + heap->marking.external_bytes + bytes >= crd_collect_due_at(heap)
                : major->large_bytes >= heap->space.nursery.bytes)
    crd_collect(heap, CRADLE_CAUSE_LARGE);
}

/* Before a large object is allocated: collects if the next minor collection would scan too much otherwise [large.3].
 * Returns whether the object is to be recorded from birth; then nothing is young now. */
static bool limit_scan(cradle_heap *heap, const crd_type *type, size_t bytes) CRADLE_MAY_COLLECT {
  crd_old *old = &heap->space.old;
  bool weakly = type->registers & REGISTERED_WEAKLY;
  if ((!type->has_slots && !weakly) || collection_is_off(&heap->options)) return false;
  if (old->young_scanned_bytes + bytes > SCANNED_MAX_BYTES &&
      (nursery_filled(&heap->space) != 0 || old->young_large != PAGE_NONE))
    crd_collect(heap, CRADLE_CAUSE_LARGE);
  return bytes > SCANNED_MAX_BYTES && (weakly || type->recording != RECORDING_OBJECT);
}

/* Places are taken beyond the promotion reserve (old->reserve), which an allocation must not touch. Small objects
 * come here only if they are to be old at once, pinned ones for example. */
static void *take_outside(cradle_heap *heap, size_t bytes, bool young) {
  ASSERT(young || bytes >= CRADLE_OBJECT_MIN_BYTES, "an object's size was not rounded");
  crd_old *old = &heap->space.old;
  if (young || bytes > SMALL_MAX_BYTES) return crd_old_take_large(old, bytes, young, true, old->reserve);
  const crd_allocator *allocator = &old->allocators[old_class_of(old, bytes)];
  if (allocator->free == allocator->end)
    (void)crd_marker_stop(&heap->marking); /* the next run's marks share words with others */
  char *place = old_take_small(old, old_class_of(old, bytes), old->reserve);
  return place == NULL ? NULL : memset(place, 0, bytes);
}

/* A young large object, or an old one of any size. NULL: no memory. */
static cradle_word *new_outside(cradle_mutator *mutator, uint32_t type, size_t bytes, bool young) CRADLE_MAY_COLLECT {
  cradle_heap *heap = mutator->heap;
  PROBE3(allocate_large, heap, type, bytes);
  mutator->reserved_end = NULL;
  serve(heap, CRADLE_STRESS_ALLOCATIONS);
  /* No collection could make room for so much. */
  if (bytes > heap->space.old.arenas.bytes) return NULL;
  heap_grows(heap, bytes);
  collect_before(heap, bytes);
  const crd_type *descriptor = &heap->space.types.types[type];
  bool recorded = young && limit_scan(heap, descriptor, bytes);
  /* Objects outside the nursery may be refused: the maximum heap or the system sets a limit. The more thorough
   * collections come only then. */
  cradle_word *object = take_outside(heap, bytes, young);
  for (cradle_collection_kind kind = CRADLE_COLLECT_FULL; object == NULL && kind <= CRADLE_COLLECT_COMPACTING; kind++) {
    crd_collect_major(heap, CRADLE_CAUSE_MEMORY, kind);
    object = take_outside(heap, bytes, young);
  }
  if (object == NULL) return NULL;
  ASSERT(!space_is_young(&heap->space, address_of(object)), "a large or old object lies in the nursery");
  heap->report.stats.allocated_bytes += bytes;
  object[0] = type;
  if (!young)
    object_set_flags(object, type_old_flags(descriptor, bytes));
  else if (recorded)
    crd_record_from_birth(&heap->young, object, bytes);
  else if (descriptor->has_slots || descriptor->registers & REGISTERED_WEAKLY)
    heap->space.old.young_scanned_bytes += bytes;
  return object;
}

/* --- the public slow paths --- */

static void *take_place(cradle_mutator *mutator, uint32_t type, size_t bytes) CRADLE_MAY_COLLECT {
  if (bytes > CRADLE_NURSERY_OBJECT_MAX_BYTES) return new_outside(mutator, type, bytes, true);
  return make_room(mutator, bytes) ? bump(mutator, type, bytes) : NULL;
}

static void *allocate(cradle_mutator *mutator, uint32_t type, size_t size) CRADLE_MAY_COLLECT {
  ASSERT(size <= SIZE_MAX / 2, "a size that was not checked");
  size_t bytes = cradle_object_bytes(size);
  PROBE3(allocate_slow, mutator->heap, type, bytes);
  void *object = take_place(mutator, type, bytes);
  crd_nursery_looked(&mutator->heap->young, object);
  if (mutator->heap->sampling.interval != 0 && object != NULL) crd_sample_slow(mutator, object, type, bytes);
  return object;
}

void *cradle_new_slow(cradle_mutator *mutator, uint32_t type, size_t size) {
  crd_mutator_check(mutator, "cradle_new");
  crd_check_size(mutator->heap, type, size, "cradle_new");
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
  if (!make_room(mutator, bytes)) {
    crd_out_of_memory(&mutator->heap->space, what, size);
    return (cradle_reservation){NULL, NULL, mutator};
  }
  char *start = mutator->free;
  ASSERT(start + bytes <= mutator->heap->space.nursery.slack_end, "[nursery.1] a reservation goes beyond the nursery");
  mutator->free = mutator->reserved_end = start + bytes;
  sanitize_handed_out(mutator->heap, start, bytes);
  crd_nursery_looked(&mutator->heap->young, start);
  if (mutator->heap->sampling.interval != 0) crd_sample_slow(mutator, start, CRADLE_TYPE_ID_END, bytes);
  return (cradle_reservation){start, start + bytes, mutator};
}

static CRADLE_COLD void out_of_arrays(cradle_heap *heap, uint32_t type, size_t length, const char *what) {
  size_t bytes = type_array_bytes(&heap->space.types.types[type], length);
  crd_out_of_memory(&heap->space, what, bytes != 0 ? bytes : SIZE_MAX); /* 0: more than any address space has */
}

/* Stores the length in a new array, and returns the array. If object is NULL, memory ran out: tells the out-of-memory
 * handler so, and returns NULL. what: the public function. */
CRD_ALWAYS_INLINE void *end_array(cradle_mutator *mutator, uint32_t type, cradle_word *object, size_t length,
                                  const char *what) {
  const crd_type *descriptor = &mutator->heap->space.types.types[type];
  ASSERT(descriptor->length_offset + 8 <= descriptor->size, "[type.1] the length lies outside of the fixed part");
  if (CRADLE_LIKELY(object != NULL))
    object[descriptor->length_offset / 8] = length;
  else
    out_of_arrays(mutator->heap, type, length, what);
  return object;
}

/* Whether the inline functions would find room in the nursery. A lowered top means that the slow path has something
 * to serve. */
static inline bool has_place(const cradle_mutator *mutator, size_t bytes) {
  return bytes <= CRADLE_NURSERY_OBJECT_MAX_BYTES && fits_below(mutator, bytes, cradle_top(mutator));
}

/* Makes room to register one object, which may take a full collection. The room is still there after the object's
 * allocation, even if that collects. */
static bool make_registry_room(crd_mutator *mutator) CRADLE_MAY_COLLECT {
  if (CRADLE_LIKELY(crd_registry_make_room(mutator, 0))) return true;
  crd_collect_major(mutator->public.heap, CRADLE_CAUSE_MEMORY, CRADLE_COLLECT_FULL);
  return crd_registry_make_room(mutator, 0);
}

static cradle_word *allocate_old(cradle_mutator *mutator, uint32_t type, size_t bytes) CRADLE_MAY_COLLECT {
  cradle_word *object = new_outside(mutator, type, bytes, false);
  if (object != NULL && mutator->heap->sampling.interval != 0) crd_sample_slow(mutator, object, type, bytes);
  return object;
}

CRD_ALWAYS_INLINE cradle_word *new_young(cradle_mutator *mutator, uint32_t type, size_t bytes) CRADLE_MAY_COLLECT {
  return has_place(mutator, bytes) ? bump(mutator, type, bytes) : allocate(mutator, type, bytes);
}

/* An object of any type. NULL: no memory for it, for its registration or for its pin. What lies beside the object comes
 * first: once it exists, nothing may fail. */
static CRADLE_NOINLINE cradle_word *new_any(cradle_mutator *mutator, uint32_t type, size_t bytes, uint32_t flags)
    CRADLE_MAY_COLLECT {
  cradle_heap *heap = mutator->heap;
  bool is_registered = heap->space.types.types[type].registers != 0, is_pinned = flags & CRADLE_PINNED;
  mutator->reserved_end = NULL;
  if (CRADLE_UNLIKELY(is_registered && !make_registry_room(mutator_of(mutator)))) return NULL;
  if (CRADLE_UNLIKELY(is_pinned && !crd_pins_reserve(&heap->tables.pins))) return NULL;
  cradle_word *object = is_pinned ? allocate_old(mutator, type, bytes) : new_young(mutator, type, bytes);
  if (CRADLE_UNLIKELY(object == NULL)) return NULL;
  ASSERT(!is_pinned || !space_is_young(&heap->space, address_of(object)),
         "[pin.2] what was allocated pinned is not old");
  ASSERT(!is_registered || mutator->registered < mutator->registered_end,
         "a collection took the room to register an object");
  if (is_registered) *mutator->registered++ = address_of(object);
  if (is_pinned) crd_pin_add(&heap->tables, object);
  return object;
}

/* An array whose layout the descriptor says. */
CRD_ALWAYS_INLINE void *new_array(cradle_mutator *mutator, uint32_t type, size_t count, const char *what)
    CRADLE_MAY_COLLECT {
  size_t bytes = crd_check_array(mutator->heap, type, count, what);
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
  crd_check_layout(mutator->heap, type, layout, what);
  crd_check_unregistered(mutator->heap, type, what);
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
  if (flags & CRADLE_PINNED) crd_check_unregistered(heap, type, what);
  size_t bytes = crd_check_with(heap, type, layout, count, what);
  cradle_word *object = bytes != 0 ? new_any(mutator, type, bytes, flags) : NULL;
  if (heap->space.types.types[type].items != CRADLE_ITEMS_NONE) return end_array(mutator, type, object, count, what);
  if (CRADLE_UNLIKELY(object == NULL)) crd_out_of_memory(&heap->space, what, bytes);
  return object;
}

void cradle_safepoint_slow(cradle_mutator *mutator) {
  crd_mutator_check(mutator, "cradle_safepoint");
  PROBE1(safepoint_slow, mutator->heap);
  mutator->reserved_end = NULL;
  serve(mutator->heap, CRADLE_STRESS_SAFEPOINTS);
  ASSERT(mutator->heap->report.state == HEAP_MUTATING, "[heap.4] a safepoint leaves something running");
  crd_nursery_set_top(&mutator->heap->young);
}

void cradle_safepoint_request(cradle_mutator *mutator) {
  /* The flag is stored before top is lowered: crd_nursery_set_top, which may raise top at the same time, looks at
   * the flag afterwards. */
  __atomic_store_n(&mutator->heap->young.pending_request, 1, __ATOMIC_SEQ_CST);
  __atomic_store_n(&mutator->top, NULL, __ATOMIC_SEQ_CST);
}
