#include "gc/sample.h"

#include <stdlib.h>

#include "gc/heap.h"
#include "gc/probes.h"
#include "gc/random.h"

#define OPEN_FIRST 64

/* --- the points --- */

/* A word of a stretch, as bytes from its start. */
static uint64_t next_offset(crd_sampling *sampling) {
  return random_next(&sampling->random) % (sampling->interval / 8) * 8;
}

/* Given the distance to the next point, counts the points in so many bytes from here, and moves the distance on to the first
 * point behind them. A long run passes most of its stretches at once: each holds one point wherever that lies. */
static uint64_t points_in(crd_sampling *sampling, uint64_t *distance, uint64_t bytes) {
  uint64_t points = 0, interval = sampling->interval;
  if (bytes > *distance && (bytes - *distance) / interval > 2) {
    points = (bytes - *distance) / interval - 1;
    *distance += points * interval;
  }
  while (*distance < bytes) {
    uint64_t offset = next_offset(sampling);
    points++;
    *distance += sampling->stretch_end + offset;
    sampling->stretch_end = interval - offset;
  }
  *distance -= bytes;
  return points;
}

const char *crd_sampler_fault(const cradle_sampler *sampler) {
  if (sampler->sampled == NULL) return sampler->settled == NULL ? NULL : "sampler: settled, but no sampled function";
  if (sampler->interval_bytes < CRADLE_SAMPLE_MIN_BYTES || sampler->interval_bytes > CRADLE_SAMPLE_MAX_BYTES)
    return "sampler.interval_bytes: accepted are 64 bytes to 1 TiB";
  return NULL;
}

void crd_sampling_init(cradle_heap *heap) {
  crd_sampling *sampling = &heap->sampling;
  sampling->point = UINTPTR_MAX;
  if (heap->options.sampler.sampled == NULL) return;
  sampling->interval = (heap->options.sampler.interval_bytes + 7) & ~(uint64_t)7;
  sampling->random = heap->options.sampler.seed;
  uint64_t offset = next_offset(sampling);
  sampling->point = (uintptr_t)heap->nursery.start + offset;
  sampling->stretch_end = sampling->interval - offset;
}

void crd_sampling_fini(cradle_heap *heap) {
  free(heap->sampling.open);
}

void crd_sample_rewind(crd_sampling *sampling, size_t bytes) {
  if (sampling->interval != 0) sampling->point -= bytes;
}

/* --- samples --- */

static bool keep_open(crd_sampling *sampling, const cradle_sample *sample) {
  if (sampling->open_count == sampling->open_capacity) {
    size_t capacity = sampling->open_capacity == 0 ? OPEN_FIRST : 2 * sampling->open_capacity;
    cradle_sample *open = realloc(sampling->open, capacity * sizeof *open);
    if (open == NULL) return false;
    sampling->open = open;
    sampling->open_capacity = capacity;
  }
  sampling->open[sampling->open_count++] = *sample;
  return true;
}

static void settle(const cradle_heap *heap, const cradle_sample *sample, cradle_fate fate) {
  const cradle_sampler *sampler = &heap->options.sampler;
  if (sampler->settled != NULL) sampler->settled(sampler->data, sample, fate);
}

/* The callbacks run with the state set and top lowered, so that an allocation of theirs is refused. */
static void take(cradle_mutator *mutator, cradle_sample *sample) {
  cradle_heap *heap = mutator->heap;
  const cradle_sampler *sampler = &heap->options.sampler;
  PROBE3(sample, heap, sample->type, sample->weight_bytes);
  heap->state = HEAP_SAMPLING;
  crd_nursery_set_top(heap);
  sample->tag = sampler->sampled(sampler->data, mutator, sample);
  if (sample->type == CRADLE_TYPE_ID_END || !keep_open(&heap->sampling, sample))
    settle(heap, sample, CRADLE_FATE_UNKNOWN);
  heap->state = HEAP_MUTATING;
}

void crd_sample_slow(cradle_mutator *mutator, void *object, uint32_t type, size_t bytes) {
  cradle_heap *heap = mutator->heap;
  crd_sampling *sampling = &heap->sampling;
  bool young = heap_is_young(heap, (uintptr_t)object);
  uintptr_t from = young ? (uintptr_t)object : (uintptr_t)mutator->free;
  uint64_t distance = sampling->point - from;
  uint64_t points = points_in(sampling, &distance, bytes);
  sampling->point = (uintptr_t)mutator->free + distance;
  if (points != 0) {
    cradle_sample sample = {.object = object,
                            .type_name = type < heap->types.count ? heap->types.types[type].name : NULL,
                            .bytes = bytes,
                            .weight_bytes = points * sampling->interval,
                            .type = type,
                            .is_large = !young};
    take(mutator, &sample);
  }
  crd_nursery_set_top(heap);
}

/* --- fates --- */

/* A large object stays where it is, as one does that was allocated pinned, and its page tells: that of one that died is free. */
static bool survived(const cradle_heap *heap, const cradle_sample *sample) {
  const crd_arenas *arenas = &heap->old.arenas;
  uintptr_t address = (uintptr_t)sample->object;
  if (!sample->is_large) return (*(const cradle_word *)sample->object & HEADER_FORWARDED) != 0;
  return arenas_page(arenas, arenas_page_number(arenas, address))->state != PAGE_FREE;
}

void crd_sample_settle(cradle_heap *heap) {
  crd_sampling *sampling = &heap->sampling;
  for (size_t i = 0; i < sampling->open_count; i++) {
    const cradle_sample *sample = &sampling->open[i];
    settle(heap, sample, survived(heap, sample) ? CRADLE_FATE_SURVIVED : CRADLE_FATE_DIED);
  }
  sampling->open_count = 0;
}
