#include "gc/death/destructor.h"

#include "gc/death/services.h"
#include "gc/heap.h"
#include "gc/mutator.h"
#include "gc/state.h"

/* The callers of destroy and size_of have entered HEAP_DESTROYING, so every call of the library from a callback is
 * misuse: the memory of dead objects is still whole, but what they refer to may be gone. */
static void destroy(cradle_heap *heap, cradle_word *object) {
  ASSERT(heap->state == HEAP_DESTROYING, "a destructor is called in another state");
  cradle_destructor_function destructor = heap_services_of(heap, object[0])->destructor;
  if (destructor != NULL) destructor(object);
}

static uint64_t size_of(cradle_heap *heap, cradle_word *object) {
  ASSERT(heap->state == HEAP_DESTROYING, "an external size is asked for in another state");
  const crd_type_services *services = heap_services_of(heap, object[0]);
  return services->external_size == NULL ? 0 : services->external_size(object);
}

/* Destroys objects that died young before they were listed. */
static void destroy_unlisted(const crd_death *death) {
  for (const cradle_word *entry = death->unlisted.from; entry < death->unlisted.end; entry++)
    destroy(death->heap, object_at(*entry));
}

/* The sum, at most COUNTED_MAX_BYTES: a callback may return anything. */
static uint64_t counted(uint64_t sum, uint64_t bytes) {
  return bytes < COUNTED_MAX_BYTES - sum ? sum + bytes : COUNTED_MAX_BYTES;
}

/* Sets one of the parts of heap->external_bytes that the services count. */
static void recount(cradle_heap *heap, uint64_t *part, uint64_t bytes) {
  ASSERT(heap->external_bytes >= crd_destructors_owned_bytes(heap), "external sizes wrap around");
  heap->external_bytes += bytes - *part;
  *part = bytes;
}

void crd_destructors_minor(crd_death *death) {
  cradle_heap *heap = death->heap;
  crd_list *list = &heap->services->lists[REGISTERED_DESTRUCTOR];
  crd_owned *owned = &heap->services->owned;
  cradle_word *to = list->young;
  uint64_t bytes = owned->bytes;
  crd_state before = crd_state_enter(heap, HEAP_DESTROYING);
  for (cradle_word *entry = list->young; entry < list->words.top; entry++) {
    uintptr_t place = death_find(death, *entry);
    if (place == 0) {
      destroy(heap, object_at(*entry));
      continue;
    }
    *to++ = place;
    bytes = counted(bytes, size_of(heap, object_at(place)));
  }
  list_keep(list, to);
  /* Most objects that die young were never moved to a list. */
  if (death->unlisted.kinds >> REGISTERED_DESTRUCTOR & 1) destroy_unlisted(death);
  crd_state_leave(heap, before);
  recount(heap, &owned->bytes, bytes);
  /* The pressure stood for young objects, which are not asked for their sizes. Those that live are counted by their
   * sizes now. */
  recount(heap, &owned->pressure_bytes, 0);
}

void crd_destructors_begin(cradle_heap *heap) {
  /* Sizes may have changed since the last pass, and nobody reported that: each pass adds them up anew. */
  heap->services->owned.recounted_bytes = 0;
}

crd_verdict crd_destructors_entry(crd_death *death, cradle_word *entry) {
  cradle_heap *heap = death->heap;
  bool is_alive = old_is_marked(&heap->old, *entry);
  uint64_t *sum = &heap->services->owned.recounted_bytes;
  crd_state before = crd_state_enter(heap, HEAP_DESTROYING);
  if (is_alive) {
    *sum = counted(*sum, size_of(heap, object_at(*entry)));
  } else {
    destroy(heap, object_at(*entry));
  }
  crd_state_leave(heap, before);
  return is_alive ? ENTRY_KEEP : ENTRY_DROP;
}

void crd_destructors_end(cradle_heap *heap) {
  recount(heap, &heap->services->owned.bytes, heap->services->owned.recounted_bytes);
}

void crd_destructors_fini(cradle_heap *heap) {
  const crd_list *list = &heap->services->lists[REGISTERED_DESTRUCTOR];
  crd_state before = crd_state_enter(heap, HEAP_DESTROYING);
  for (cradle_word *entry = list->words.base; entry < list->words.top; entry++)
    if (list_has(list, entry)) destroy(heap, object_at(*entry));
  crd_state_leave(heap, before);
}

uint64_t crd_destructors_owned_bytes(const cradle_heap *heap) {
  const crd_services *services = heap->services;
  return services == NULL ? 0 : services->owned.bytes + services->owned.pressure_bytes;
}

void cradle_external_pressure(cradle_mutator *mutator, size_t bytes) {
  crd_mutator_check_thread(mutator, "cradle_external_pressure");
  cradle_heap *heap = mutator->heap;
  if (!crd_registry_open(heap)) return; /* without memory for services no object of such a type exists either */
  crd_owned *owned = &heap->services->owned;
  uint64_t pressure = counted(owned->pressure_bytes, bytes);
  recount(heap, &owned->pressure_bytes, pressure);
  /* Pressure of a nursery's size asks for a minor collection, as if it had filled the nursery. */
  if (pressure >= heap->nursery.bytes && !collection_is_off(heap)) cradle_safepoint_request(mutator);
}
