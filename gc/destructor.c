/* Destructors and external sizes: objects that own something outside the heap.
 *
 * Both kinds are in one list. It is looked at last in the order of death, when it is certain what is dead.
 */
#include "gc/services.h"

static cradle_word *object_of(const cradle_word *entry) {
  return (cradle_word *)(uintptr_t)*entry;
}

/* The object's memory is still whole. The state makes every call of the library from it misuse. */
static void destroy(cradle_heap *heap, cradle_word *object) {
  const crd_type_services *services = heap_services_of(heap, object[0]);
  if (services->destructor == NULL) return;
  int state = heap->state;
  heap->state = HEAP_DESTROYING;
  services->destructor(object);
  heap->state = state;
}

/* Those that died young, in one turn. */
static void destroy_fresh(const crd_death *death) {
  cradle_heap *heap = death->heap;
  int state = heap->state;
  heap->state = HEAP_DESTROYING;
  for (const cradle_word *entry = death->fresh; entry < death->fresh_end; entry++) {
    cradle_word *object = object_of(entry);
    cradle_destructor_function destructor = heap_services_of(heap, object[0])->destructor;
    if (destructor != NULL) destructor(object);
  }
  heap->state = state;
}

static uint64_t size_of(cradle_heap *heap, cradle_word *object) {
  const crd_type_services *services = heap_services_of(heap, object[0]);
  if (services->external_size == NULL) return 0;
  int state = heap->state;
  heap->state = HEAP_DESTROYING;
  uint64_t bytes = services->external_size(object);
  heap->state = state;
  return bytes;
}

/* The sum, or the most that is counted: a callback may say anything. */
static uint64_t counted(uint64_t sum, uint64_t bytes) {
  return bytes < COUNTED_MAX_BYTES - sum ? sum + bytes : COUNTED_MAX_BYTES;
}

static void set_owned(cradle_heap *heap, uint64_t bytes) {
  heap->external_bytes += bytes - heap->services->owned_bytes;
  heap->services->owned_bytes = bytes;
}

void crd_destructors_minor(crd_death *death) {
  cradle_heap *heap = death->heap;
  crd_list *list = &heap->services->lists[REGISTERED_DESTRUCTOR];
  cradle_word *to = list->young;
  uint64_t owned = heap->services->owned_bytes;
  for (cradle_word *entry = list->young; entry < list->words.top; entry++) {
    uintptr_t place = death_find(death, (uintptr_t)*entry);
    if (place == 0) {
      destroy(heap, object_of(entry));
      continue;
    }
    *to++ = place;
    owned = counted(owned, size_of(heap, (cradle_word *)place));
  }
  list->words.top = list->young = to;
  if (death->fresh_kinds >> REGISTERED_DESTRUCTOR & 1) destroy_fresh(death);
  set_owned(heap, owned);
  heap->external_bytes -= heap->services->pressure_bytes;
  heap->services->pressure_bytes = 0;
}

void crd_destructors_begin(crd_services *services) {
  services->recounted_bytes = 0;
}

crd_verdict crd_destructors_entry(crd_death *death, cradle_word *entry) {
  if (!old_is_marked(&death->heap->old, (uintptr_t)*entry)) {
    destroy(death->heap, object_of(entry));
    return ENTRY_DROP;
  }
  uint64_t *sum = &death->heap->services->recounted_bytes;
  *sum = counted(*sum, size_of(death->heap, object_of(entry)));
  return ENTRY_KEEP;
}

void crd_destructors_end(cradle_heap *heap) {
  set_owned(heap, heap->services->recounted_bytes);
}

void crd_destructors_fini(cradle_heap *heap) {
  const crd_list *list = &heap->services->lists[REGISTERED_DESTRUCTOR];
  for (cradle_word *entry = list->words.base; entry < list->words.top; entry++)
    if (entry < list->kept || entry >= list->next) destroy(heap, object_of(entry));
}

void cradle_external_pressure(cradle_mutator *mutator, size_t bytes) {
  crd_mutator_check_thread(mutator, "cradle_external_pressure");
  cradle_heap *heap = mutator->heap;
  if (!crd_registry_open(heap)) return; /* without memory for the services there is no object of such a type either */
  uint64_t before = heap->services->pressure_bytes, pressure = counted(before, bytes);
  heap->services->pressure_bytes = pressure;
  heap->external_bytes += pressure - before;
  if (pressure >= heap->nursery.bytes) cradle_safepoint_request(mutator);
}
