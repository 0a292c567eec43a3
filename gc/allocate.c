/* The slow paths of allocation: when the nursery is used up, a stress mode or a request wants to be served, the object is
 * large, or memory runs out. */
#include <string.h>

#include "gc/check.h"
#include "gc/heap.h"
#include "gc/probes.h"
#include "gc/registry.h"
#include "gc/sanitize.h"
#include "gc/visit.h"

#include <cradle/new.h>

/* --- checks of what is asked for --- */

void crd_text_type(crd_text *text, const cradle_heap *heap, uint32_t type) {
  const char *name = type < heap->types.count ? heap->types.types[type].name : NULL;
  crd_text_add(text, "type ");
  crd_text_number(text, type);
  if (name == NULL) return;
  crd_text_add(text, " (");
  crd_text_add(text, name);
  crd_text_add(text, ")");
}

static CRADLE_COLD void unknown_type(cradle_heap *heap, uint32_t type) {
  crd_text text = {.length = 0};
  crd_text_add(&text, "allocation of type ");
  crd_text_number(&text, type);
  crd_text_add(&text, ", but the heap's types are 0 to ");
  crd_text_number(&text, heap->types.count - (uint64_t)1);
  if (heap->types.count == 0) text = (crd_text){.buffer = "allocation on a heap without types"};
  crd_misuse(heap, text.buffer);
}

static CRADLE_COLD void wrong_size(cradle_heap *heap, uint32_t type, size_t size) {
  crd_text text = {.length = 0};
  crd_text_add(&text, "allocation of ");
  crd_text_number(&text, size);
  crd_text_add(&text, " bytes for ");
  crd_text_type(&text, heap, type);
  crd_text_add(&text, ", whose descriptor says ");
  if (heap->types.types[type].items != CRADLE_ITEMS_NONE) crd_text_add(&text, "at least ");
  crd_text_number(&text, heap->types.types[type].size);
  crd_misuse(heap, text.buffer);
}

const crd_type *crd_check_type(cradle_heap *heap, uint32_t type) {
  if (CRADLE_UNLIKELY(type >= heap->types.count)) unknown_type(heap, type);
  return &heap->types.types[type];
}

static CRADLE_COLD void must_register(cradle_heap *heap, uint32_t type) {
  crd_text text = {.length = 0};
  crd_text_add(&text, "allocation of ");
  crd_text_type(&text, heap, type);
  crd_text_add(&text, ", which has weak slots, ephemerons, a finalizer, a destructor or an external size: only "
                      "cradle_new_registered and its kin allocate such types");
  crd_misuse(heap, text.buffer);
}

void crd_check_size(cradle_heap *heap, uint32_t type, size_t size) {
  const crd_type *descriptor = crd_check_type(heap, type);
  if (CRADLE_UNLIKELY(descriptor->registers != 0)) must_register(heap, type);
  bool fixed = descriptor->items == CRADLE_ITEMS_NONE;
  if (CRADLE_UNLIKELY(fixed ? cradle_object_bytes(size) != descriptor->size : size < descriptor->size))
    wrong_size(heap, type, size);
}

void cradle_check_new(cradle_mutator *mutator, uint32_t type, size_t size) {
  crd_mutator_check(mutator, "cradle_new");
  mutator->reserved_end = NULL;
  crd_check_size(mutator->heap, type, size);
}

void cradle_check_new_fast(cradle_mutator *mutator, uint32_t type, size_t size) {
  if (cradle_top(mutator) == NULL) return; /* there is no room: in a callback, say */
  crd_mutator_check_thread(mutator, "cradle_new_fast");
  crd_check_size(mutator->heap, type, size);
}

void cradle_check_reserved(const cradle_reservation *reservation, uint32_t type, size_t size) {
  cradle_mutator *mutator = reservation->mutator;
  crd_mutator_check_thread(mutator, "cradle_new_reserved");
  crd_check_size(mutator->heap, type, size);
  if (mutator->reserved_end != reservation->end)
    crd_misuse(mutator->heap, "cradle_new_reserved: the reservation is over (a call that may collect ended it)");
  if (cradle_object_bytes(size) > (size_t)(reservation->end - reservation->free))
    crd_misuse(mutator->heap, "cradle_new_reserved: the object goes beyond the reservation");
}

/* --- room --- */

/* Serves what lowered top. */
static void serve(cradle_heap *heap, cradle_stress place) CRADLE_MAY_COLLECT {
  if (crd_stress_point(heap, place)) return;
  if (__atomic_load_n(&heap->pending_request, __ATOMIC_SEQ_CST)) crd_collect(heap, CRADLE_CAUSE_SAFEPOINT);
}

/* Whether an object fits below limit, which free may have passed: one object may lie in the slack behind the nursery's end. */
static bool fits_below(const cradle_mutator *mutator, size_t bytes, const char *limit) {
  return mutator->free <= limit && bytes <= (size_t)(limit - mutator->free);
}

/* Makes room for bytes in the nursery, collecting if it must. */
static bool make_room(cradle_mutator *mutator, size_t bytes) CRADLE_MAY_COLLECT {
  cradle_heap *heap = mutator->heap;
  mutator->reserved_end = NULL;
  serve(heap, CRADLE_STRESS_ALLOCATIONS);
  if (fits_below(mutator, bytes, heap->nursery.end)) return true;
  crd_collect(heap, CRADLE_CAUSE_NURSERY_FULL);
  if (fits_below(mutator, bytes, heap->nursery.slack_end)) return true;
  for (crd_depth depth = DEPTH_FULL; depth <= DEPTH_COMPACTING; depth++) {
    crd_collect_major(heap, CRADLE_CAUSE_MEMORY, depth);
    if (fits_below(mutator, bytes, heap->nursery.slack_end)) return true;
  }
  return false;
}

#ifdef CRD_VALGRIND
/* What the inline part would have to include valgrind's header for. */
void cradle_handed_out(const cradle_mutator *mutator, void *address, size_t size) {
  sanitize_handed_out(mutator->heap, address, size);
}
#endif

static void *bump(cradle_mutator *mutator, uint32_t type, size_t bytes) {
  char *object = mutator->free;
  mutator->free = object + bytes;
  sanitize_handed_out(mutator->heap, object, bytes);
  memset(object, 0, bytes);
  *(cradle_word *)object = type;
  return object;
}

/* --- objects outside the nursery --- */

/* What is allocated here fills no nursery, so it brings on collections itself: when a major one would be due, or, while a
 * major collection runs or none may begin, when it comes to a nursery's size. */
static void collect_before(cradle_heap *heap, size_t bytes) CRADLE_MAY_COLLECT {
  crd_major *major = &heap->major;
  major->large_bytes += bytes;
  bool may_begin = major->phase == MAJOR_IDLE && heap->majors_disabled == 0;
  if (may_begin ? heap->old.used_bytes + heap->external_bytes + bytes >= crd_collect_due_at(heap)
                : major->large_bytes >= heap->nursery.bytes)
    crd_collect(heap, CRADLE_CAUSE_LARGE);
}

static void *take_outside(cradle_heap *heap, size_t bytes, bool young) {
  crd_old *old = &heap->old;
  if (young || bytes > SMALL_MAX_BYTES) return crd_old_take_large(old, bytes, young, true, old->reserve);
  char *place = old_take_small(old, old_class_of(old, bytes), old->reserve);
  return place == NULL ? NULL : memset(place, 0, bytes);
}

/* A young large object, or an old one of any size. NULL: no memory. */
static cradle_word *new_outside(cradle_mutator *mutator, uint32_t type, size_t bytes, bool young) CRADLE_MAY_COLLECT {
  cradle_heap *heap = mutator->heap;
  PROBE3(allocate_large, heap, type, bytes);
  mutator->reserved_end = NULL;
  serve(heap, CRADLE_STRESS_ALLOCATIONS);
  if (bytes > heap->old.arenas.bytes) return NULL;
  collect_before(heap, bytes);
  cradle_word *object = take_outside(heap, bytes, young);
  for (crd_depth depth = DEPTH_FULL; object == NULL && depth <= DEPTH_COMPACTING; depth++) {
    crd_collect_major(heap, CRADLE_CAUSE_MEMORY, depth);
    object = take_outside(heap, bytes, young);
  }
  if (object == NULL) return NULL;
  heap->stats.allocated_bytes += bytes;
  object[0] = type | (young ? 0 : heap_old_flags(&heap->types.types[type], bytes));
  return object;
}

void *crd_allocate_old(cradle_mutator *mutator, uint32_t type, size_t bytes) {
  cradle_heap *heap = mutator->heap;
  cradle_word *object = new_outside(mutator, type, bytes, false);
  if (object == NULL) return NULL;
  if (heap->sampling.interval != 0) crd_sample_slow(mutator, object, type, bytes);
  return object;
}

/* --- the public slow paths --- */

void crd_out_of_memory(cradle_mutator *mutator, size_t size) {
  cradle_heap *heap = mutator->heap;
  if (heap->options.on_out_of_memory != NULL) {
    heap->options.on_out_of_memory(heap->options.handler_data, mutator, size);
    crd_misuse(NULL, "the out-of-memory handler returned; it must not");
  }
  crd_text text = {.length = 0};
  crd_text_add(&text, "out of memory: ");
  crd_text_number(&text, size);
  crd_text_add(&text, " bytes asked for, ");
  crd_text_number(&text, heap->old.used_bytes);
  crd_text_add(&text, " in use, maximum heap ");
  crd_text_number(&text, heap->options.heap_max_bytes);
  if (heap->options.heap_max_bytes == 0) crd_text_add(&text, " (none)");
  crd_out_of_memory_abort(text.buffer);
}

static void *take_place(cradle_mutator *mutator, uint32_t type, size_t bytes) CRADLE_MAY_COLLECT {
  if (bytes > CRADLE_NURSERY_OBJECT_MAX_BYTES) return new_outside(mutator, type, bytes, true);
  return make_room(mutator, bytes) ? bump(mutator, type, bytes) : NULL;
}

static void *allocate(cradle_mutator *mutator, uint32_t type, size_t size) CRADLE_MAY_COLLECT {
  if (size > SIZE_MAX / 2) return NULL;
  size_t bytes = cradle_object_bytes(size);
  PROBE3(allocate_slow, mutator->heap, type, bytes);
  void *object = take_place(mutator, type, bytes);
  if (mutator->heap->sampling.interval != 0 && object != NULL) crd_sample_slow(mutator, object, type, bytes);
  return object;
}

void *cradle_try_new_slow(cradle_mutator *mutator, uint32_t type, size_t size) {
  crd_mutator_check(mutator, "cradle_try_new");
  crd_check_size(mutator->heap, type, size);
  return allocate(mutator, type, size);
}

void *cradle_new_slow(cradle_mutator *mutator, uint32_t type, size_t size) {
  crd_mutator_check(mutator, "cradle_new");
  crd_check_size(mutator->heap, type, size);
  void *object = allocate(mutator, type, size);
  if (CRADLE_UNLIKELY(object == NULL)) crd_out_of_memory(mutator, size);
  return object;
}

cradle_reservation cradle_reserve_slow(cradle_mutator *mutator, size_t size, bool may_fail) {
  crd_mutator_check(mutator, "cradle_reserve");
  if (size > CRADLE_NURSERY_OBJECT_MAX_BYTES)
    crd_misuse(mutator->heap, "cradle_reserve: more than CRADLE_NURSERY_OBJECT_MAX_BYTES (32768)");
  size_t bytes = (size + 7) & ~(size_t)7;
  PROBE2(reserve_slow, mutator->heap, bytes);
  if (!make_room(mutator, bytes)) {
    if (may_fail) return (cradle_reservation){NULL, NULL, mutator};
    crd_out_of_memory(mutator, size);
  }
  char *start = mutator->free;
  mutator->free = mutator->reserved_end = start + bytes;
  sanitize_handed_out(mutator->heap, start, bytes);
  if (mutator->heap->sampling.interval != 0) crd_sample_slow(mutator, start, CRADLE_TYPE_ID_END, bytes);
  return (cradle_reservation){start, start + bytes, mutator};
}

/* The bytes of an array; 0: too many. */
static size_t array_bytes(cradle_heap *heap, uint32_t type, size_t length, const char *what) {
  const crd_type *descriptor = crd_check_type(heap, type);
  if (descriptor->items != CRADLE_ITEMS_NONE) return type_array_bytes(descriptor, length);
  crd_text text = {.length = 0};
  crd_text_add(&text, what);
  crd_text_add(&text, ": the type's descriptor has no items");
  crd_misuse(heap, text.buffer);
}

size_t crd_check_array(cradle_heap *heap, uint32_t type, size_t length, const char *what) {
  size_t bytes = array_bytes(heap, type, length, what);
  if (CRADLE_UNLIKELY(heap->types.types[type].registers != 0)) must_register(heap, type);
  return bytes;
}

/* The new object, or NULL, with its length. */
static void *with_length(const cradle_heap *heap, uint32_t type, cradle_word *object, size_t length) {
  if (object != NULL) object[heap->types.types[type].length_offset / 8] = length;
  return object;
}

static CRADLE_COLD _Noreturn void out_of_memory_for_array(cradle_mutator *mutator, uint32_t type, size_t length) {
  size_t bytes = type_array_bytes(&mutator->heap->types.types[type], length);
  crd_out_of_memory(mutator, bytes != 0 ? bytes : SIZE_MAX);
}

void *cradle_try_new_array(cradle_mutator *mutator, uint32_t type, size_t length) {
  crd_mutator_check(mutator, "cradle_new_array");
  size_t bytes = crd_check_array(mutator->heap, type, length, "cradle_new_array");
  return with_length(mutator->heap, type, bytes == 0 ? NULL : allocate(mutator, type, bytes), length);
}

void *cradle_new_array(cradle_mutator *mutator, uint32_t type, size_t length) {
  void *object = cradle_try_new_array(mutator, type, length);
  if (CRADLE_UNLIKELY(object == NULL)) out_of_memory_for_array(mutator, type, length);
  return object;
}

/* --- registered objects --- */

static void *new_registered(cradle_mutator *mutator, uint32_t type, size_t bytes) CRADLE_MAY_COLLECT {
  cradle_heap *heap = mutator->heap;
  mutator->reserved_end = NULL;
  if (CRADLE_UNLIKELY(!crd_registry_make_room(heap, 0))) {
    crd_collect_major(heap, CRADLE_CAUSE_MEMORY, DEPTH_FULL);
    if (!crd_registry_make_room(heap, 0)) return NULL;
  }
  bool fits = bytes <= CRADLE_NURSERY_OBJECT_MAX_BYTES && mutator->free + bytes <= cradle_top(mutator);
  cradle_word *object = fits ? bump(mutator, type, bytes) : allocate(mutator, type, bytes);
  if (object == NULL) return NULL;
  ASSERT(mutator->registered < mutator->registered_end, "a collection took the room to register an object");
  *mutator->registered++ = (uintptr_t)object;
  return object;
}

static size_t registered_bytes(cradle_mutator *mutator, uint32_t type, size_t size, const char *what) {
  crd_mutator_check(mutator, what);
  const crd_type *descriptor = crd_check_type(mutator->heap, type);
  bool fixed = descriptor->items == CRADLE_ITEMS_NONE;
  size_t bytes = size > SIZE_MAX / 2 ? size : cradle_object_bytes(size);
  if (CRADLE_UNLIKELY(fixed ? bytes != descriptor->size : size < descriptor->size)) wrong_size(mutator->heap, type, size);
  return bytes;
}

void *cradle_try_new_registered_slow(cradle_mutator *mutator, uint32_t type, size_t size) {
  return new_registered(mutator, type, registered_bytes(mutator, type, size, "cradle_try_new_registered"));
}

void *cradle_new_registered_slow(cradle_mutator *mutator, uint32_t type, size_t size) {
  void *object = new_registered(mutator, type, registered_bytes(mutator, type, size, "cradle_new_registered"));
  if (CRADLE_UNLIKELY(object == NULL)) crd_out_of_memory(mutator, size);
  return object;
}

void *cradle_try_new_registered_array(cradle_mutator *mutator, uint32_t type, size_t length) {
  crd_mutator_check(mutator, "cradle_new_registered_array");
  size_t bytes = array_bytes(mutator->heap, type, length, "cradle_new_registered_array");
  return with_length(mutator->heap, type, bytes == 0 ? NULL : new_registered(mutator, type, bytes), length);
}

void *cradle_new_registered_array(cradle_mutator *mutator, uint32_t type, size_t length) {
  void *object = cradle_try_new_registered_array(mutator, type, length);
  if (CRADLE_UNLIKELY(object == NULL)) out_of_memory_for_array(mutator, type, length);
  return object;
}

void cradle_safepoint_slow(cradle_mutator *mutator) {
  crd_mutator_check(mutator, "cradle_safepoint");
  PROBE1(safepoint_slow, mutator->heap);
  mutator->reserved_end = NULL;
  serve(mutator->heap, CRADLE_STRESS_SAFEPOINTS);
  crd_nursery_set_top(mutator->heap);
}

void cradle_safepoint_request(cradle_mutator *mutator) {
  __atomic_store_n(&mutator->heap->pending_request, 1, __ATOMIC_SEQ_CST);
  __atomic_store_n(&mutator->top, NULL, __ATOMIC_SEQ_CST);
}
