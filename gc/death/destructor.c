#include "gc/death/destructor.h"

#include "gc/death/services.h"
#include "gc/mutator.h"
#include "gc/report/report.h"

/* The callers of destroy and size_of have entered HEAP_DESTROYING, so every call of the library from a callback is
 * misuse: the memory of dead objects is still whole, but what they refer to may be gone. */
static void destroy(crd_services *services, cradle_word *object) {
  ASSERT(services->space->report->state == HEAP_DESTROYING, "a destructor is called in another state");
  cradle_destructor_function destructor = space_services_of(services->space, object[0])->destructor;
  if (destructor != NULL) destructor(services->space->options->user, object);
}

static uint64_t size_of(crd_services *services, cradle_word *object) {
  ASSERT(services->space->report->state == HEAP_DESTROYING, "an external size is asked for in another state");
  cradle_external_size_function external_size = space_services_of(services->space, object[0])->external_size;
  return external_size == NULL ? 0 : external_size(services->space->options->user, object);
}

/* The sum, at most COUNTED_MAX_BYTES: a callback may return anything. */
static uint64_t counted(uint64_t sum, uint64_t bytes) {
  return bytes < COUNTED_MAX_BYTES - sum ? sum + bytes : COUNTED_MAX_BYTES;
}

/* Sets one of the parts of external_bytes that the services count. */
static void recount(crd_services *services, uint64_t *part, uint64_t bytes) {
  ASSERT(services->marking->external_bytes >= crd_destructors_owned_bytes(services), "external sizes wrap around");
  services->marking->external_bytes += bytes - *part;
  *part = bytes;
}

/* In a major collection the sum is of the pass: sizes may have changed since the last one, and nobody reported that. */
crd_verdict crd_destructors_entry(crd_death *death, cradle_word *entry) {
  crd_services *services = death->services;
  crd_owned *owned = &services->owned;
  uintptr_t place = death_find(death, *entry);
  crd_state before = crd_state_enter(services->space->report, HEAP_DESTROYING);
  if (place == 0)
    destroy(services, object_at(*entry));
  else if (death->is_minor)
    recount(services, &owned->bytes, counted(owned->bytes, size_of(services, object_at(place))));
  else
    owned->recounted_bytes = counted(owned->recounted_bytes, size_of(services, object_at(place)));
  crd_state_leave(services->space->report, before);
  if (place == 0) return ENTRY_DROP;
  *entry = place;
  return ENTRY_KEEP;
}

void crd_destructors_minor(crd_death *death) {
  crd_services *services = death->services;
  list_pass_young(death, &services->lists[REGISTERED_DESTRUCTOR], crd_destructors_entry);
  /* Most objects that die young were never moved to a list. */
  if (death->unlisted.kinds >> REGISTERED_DESTRUCTOR & 1) {
    crd_state before = crd_state_enter(services->space->report, HEAP_DESTROYING);
    for (const cradle_word *entry = death->unlisted.from; entry < death->unlisted.end; entry++)
      destroy(services, object_at(*entry));
    crd_state_leave(services->space->report, before);
  }
  /* The pressure stood for young objects, which are not asked for their sizes. Those that live are counted by their
   * sizes now. */
  recount(services, &services->owned.pressure_bytes, 0);
}

void crd_destructors_end(crd_services *services) {
  recount(services, &services->owned.bytes, services->owned.recounted_bytes);
  services->owned.recounted_bytes = 0;
}

void crd_destructors_fini(crd_services *services) {
  const crd_list *list = &services->lists[REGISTERED_DESTRUCTOR];
  crd_state before = crd_state_enter(services->space->report, HEAP_DESTROYING);
  for (cradle_word *entry = list->words.base; entry < list->words.top; entry++)
    if (list_has(list, entry)) destroy(services, object_at(*entry));
  crd_state_leave(services->space->report, before);
}

uint64_t crd_destructors_owned_bytes(const crd_services *services) {
  return services == NULL ? 0 : services->owned.bytes + services->owned.pressure_bytes;
}

void cradle_external_pressure(cradle_mutator *mutator, size_t bytes) {
  crd_mutator_check_thread(mutator, "cradle_external_pressure");
  crd_services *services = crd_registry_open(mutator_of(mutator));
  if (services == NULL) return; /* without memory for services no object of such a type exists either */
  crd_owned *owned = &services->owned;
  uint64_t pressure = counted(owned->pressure_bytes, bytes);
  recount(services, &owned->pressure_bytes, pressure);
  /* Pressure of a nursery's size asks for a minor collection, as if it had filled the nursery. */
  if (pressure >= services->space->nursery.bytes && !collection_is_off(services->space->options))
    cradle_safepoint_request(mutator);
}
