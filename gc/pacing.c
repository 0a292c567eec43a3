/* Pacing: when the next major collection is due. RPython's rule: the bytes that survived times a factor, at most a stated
 * distance above them, at most a growth above the last threshold, at least a minimum, and never above the maximum heap. */
#include "gc/heap.h"

/* The minimum is so many base nurseries. */
#define MIN_NURSERIES 8
#define UNKNOWN_MEMORY_DELTA ((uint64_t)1 << 30)

void crd_pacing_init(crd_pacing *pacing, const cradle_options *options, const cradle_hardware *hardware,
                     size_t nursery_bytes) {
  uint64_t memory_delta = hardware->memory_bytes != 0 ? hardware->memory_bytes / 8 : UNKNOWN_MEMORY_DELTA;
  pacing->min = options->major_min_bytes != 0 ? options->major_min_bytes : MIN_NURSERIES * (uint64_t)nursery_bytes;
  pacing->max_delta = options->major_max_delta != 0 ? options->major_max_delta : memory_delta;
  pacing->factor = options->major_factor;
  pacing->growth = options->major_growth;
  pacing->threshold = pacing->min;
  if (options->heap_max_bytes != 0 && pacing->threshold > options->heap_max_bytes)
    pacing->threshold = options->heap_max_bytes;
}

static uint64_t scaled(uint64_t bytes, double factor) {
  double result = (double)bytes * factor;
  return result >= 9e18 ? (uint64_t)9e18 : (uint64_t)result;
}

static uint64_t smaller(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

void crd_pacing_update(crd_pacing *pacing, uint64_t survived_bytes, uint64_t heap_max_bytes) {
  uint64_t threshold = scaled(survived_bytes, pacing->factor);
  threshold = smaller(threshold, survived_bytes + pacing->max_delta);
  threshold = smaller(threshold, scaled(pacing->threshold, pacing->growth));
  if (threshold < pacing->min) threshold = pacing->min;
  if (heap_max_bytes != 0) threshold = smaller(threshold, heap_max_bytes);
  pacing->threshold = threshold;
}

void crd_pacing_reserve(crd_pacing *pacing, uint64_t bytes, uint64_t heap_max_bytes) {
  pacing->threshold += bytes;
  if (heap_max_bytes != 0) pacing->threshold = smaller(pacing->threshold, heap_max_bytes);
}
