#include "gc/instruments/sample.h"

#include <stdlib.h>

#include "gc/base/grow.h"
#include "gc/base/probes.h"
#include "gc/base/random.h"
#include "gc/report/report.h"
#include "gc/space.h"
#include "gc/young/nursery.h"
#include "gc/young/young.h"

/* A random word of a stretch, as bytes from its start. */
static uint64_t next_offset(crd_sample_points *points, uint64_t interval) {
  return random_next(&points->random) % (interval / 8) * 8;
}

/* Counts the points in the next so many bytes, and moves *distance, which leads to the next point, on to the first one
 * behind these bytes. The stretches that a very large object covers whole are counted by a division: each has one
 * point, wherever it lies. */
static uint64_t points_in(crd_sample_points *points, uint64_t interval, uint64_t *distance, uint64_t bytes) {
  uint64_t count = 0;
  if (bytes > *distance && (bytes - *distance) / interval > 2) {
    count = (bytes - *distance) / interval - 1;
    *distance += count * interval;
  }
  while (*distance < bytes) {
    uint64_t offset = next_offset(points, interval);
    count++;
    *distance += points->stretch_end + offset;
    points->stretch_end = interval - offset;
  }
  *distance -= bytes;
  ASSERT(points->stretch_end >= 8 && points->stretch_end <= interval, "a point lies outside of its stretch");
  return count;
}

/* Without a sampler the point is the highest address, which no allocation reaches. */
void crd_sampling_init(crd_sampling *sampling, const crd_space *space) {
  sampling->space = space;
  if (space->options->sampler.sampled == NULL) return;
  sampling->interval = (space->options->sampler.interval_bytes + 7) & ~(uint64_t)7;
}

void crd_sampling_add(const crd_sampling *sampling, crd_local *local) {
  crd_sample_points *points = &local->sample;
  points->point = UINTPTR_MAX;
  if (sampling->interval == 0) return;
  points->random = sampling->space->options->sampler.seed + local->number;
  uint64_t offset = next_offset(points, sampling->interval);
  points->point = address_of(*local->free) + offset;
  points->stretch_end = sampling->interval - offset;
}

void crd_sampling_fini(crd_sampling *sampling) {
  free(sampling->open);
}

static void settle(const crd_sampling *sampling, const cradle_sample *sample, cradle_fate fate) {
  const cradle_sampler *sampler = &sampling->space->options->sampler;
  if (sampler->settled != NULL) sampler->settled(sampler->data, sample, fate);
}

/* The sampler's callback runs: top is lowered, and the heap refuses what the callback tries. The state of a shared heap
 * is everybody's, so there it is the mutator's thread that says so. */
static crd_state begin_callback(crd_mutator *mutator) {
  if (!space_is_shared(mutator->space)) return crd_state_enter(mutator->space->report, HEAP_SAMPLING);
  __atomic_store_n(&mutator->thread, MUTATOR_SAMPLED, __ATOMIC_RELAXED);
  __atomic_store_n(&mutator->public.top, NULL, __ATOMIC_RELAXED);
  return HEAP_MUTATING;
}

static void end_callback(crd_mutator *mutator, crd_state before) {
  if (space_is_shared(mutator->space))
    __atomic_store_n(&mutator->thread, crd_thread_self(), __ATOMIC_RELAXED);
  else
    crd_state_leave(mutator->space->report, before);
}

/* Shows a sample to the sampler. A sample that cannot be kept is settled at once. */
static void take(crd_sampling *sampling, cradle_mutator *mutator, cradle_sample *sample) {
  const cradle_sampler *sampler = &sampling->space->options->sampler;
  PROBE3(sample, mutator->heap, sample->type, sample->weight_bytes);
  char name[MUTATOR_NAME_BYTES];
  if (space_is_shared(sampling->space)) {
    crd_mutator_copy_name(mutator_of(mutator), name);
    sample->mutator = name;
  }
  crd_state before = begin_callback(mutator_of(mutator));
  sample->tag = sampler->sampled(sampler->data, mutator, sample);
  sample->mutator = NULL;
  if (sample->type != CRADLE_TYPE_ID_END && GROW(sampling->open, sampling->open_count, sampling->open_capacity))
    sampling->open[sampling->open_count++] = *sample;
  else
    settle(sampling, sample, CRADLE_FATE_UNKNOWN);
  end_callback(mutator_of(mutator), before);
}

/* A large or a pinned object has no place in the nursery. It counts as if it had been allocated where free is. */
void crd_sample_slow(cradle_mutator *mutator, void *object, uint32_t type, size_t bytes) {
  crd_sampling *sampling = mutator_of(mutator)->young->sampling;
  const crd_space *space = sampling->space;
  crd_sample_points *own = &mutator_of(mutator)->local->sample;
  bool is_young = space_is_young(space, address_of(object));
  uintptr_t from = is_young ? address_of(object) : address_of(mutator->free);
  ASSERT(from <= own->point, "[sample.1] an object was allocated over the point, and nobody saw it");
  uint64_t distance = own->point - from;
  uint64_t points = points_in(own, sampling->interval, &distance, bytes);
  own->point = address_of(mutator->free) + distance;
  if (points != 0) {
    ASSERT(!space_is_shared(space) || space->holder == mutator_of(mutator), "a sample is taken without the world");
    cradle_sample sample = {.object = object,
                            .type_name = type_table_name(&space->types, type),
                            .bytes = bytes,
                            .weight_bytes = points * sampling->interval,
                            .type = type,
                            .is_large = !is_young};
    take(sampling, mutator, &sample);
  }
  crd_nursery_set_top(mutator_of(mutator));
}

/* Whether a sampled object survived. One in the nursery has been forwarded then. A large one, or one that was allocated
 * pinned, does not move; if it died, its page is free. */
static bool survived(const crd_sampling *sampling, const cradle_sample *sample) {
  const crd_arenas *arenas = &sampling->space->old.arenas;
  uintptr_t address = address_of(sample->object);
  if (!sample->is_large) return header_is_forwarded(object_at(address)[0]);
  return arenas_page(arenas, arenas_page_number(arenas, address))->state != PAGE_FREE;
}

void crd_sample_settle(crd_sampling *sampling) {
  ASSERT(sampling->space->report->state == HEAP_COLLECTING, "[sample.3] samples are settled outside of a collection");
  for (size_t i = 0; i < sampling->open_count; i++) {
    const cradle_sample *sample = &sampling->open[i];
    settle(sampling, sample, survived(sampling, sample) ? CRADLE_FATE_SURVIVED : CRADLE_FATE_DIED);
  }
  sampling->open_count = 0;
}

static bool is_open_for(const crd_sampling *sampling, const cradle_sample *sample) {
  uintptr_t address = address_of(sample->object);
  if (!sample->is_large) return nursery_holds(sampling->space, address);
  return arenas_contain(&sampling->space->old.arenas, address) && survived(sampling, sample);
}

const char *crd_sampling_check(const crd_sampling *sampling) {
  for (EACH_LOCAL(local, sampling->space)) {
    if (sampling->interval == 0 && local->sample.point != UINTPTR_MAX)
      return "there is a sample point without a sampler [sample.1]";
    if (address_of(*local->free) > local->sample.point) return "an object passed the sample point unseen [sample.1]";
  }
  for (EACH_MUTATOR(mutator, sampling->space))
    if (address_of(__atomic_load_n(&mutator->public.top, __ATOMIC_RELAXED)) > mutator->local->sample.point)
      return "top is above the sample point [sample.2]";
  for (size_t i = 0; i < sampling->open_count; i++)
    if (!is_open_for(sampling, &sampling->open[i])) return "a sample is open, but its object is not new [sample.3]";
  return NULL;
}
