#include "gc/old/pacing.h"

#include "gc/base/check.h"

/* The minimum is so many base nurseries. */
#define MIN_NURSERIES 8
/* However much survived, the next collection is not due before this share of the minimum was promoted. */
#define ROOM_SHARE 4
/* Where more survives than the soft maximum, the heap may still grow by this share of it. */
#define SOFT_SHARE 4
/* A collection that frees less than this share of what was there when it began was not worth its marking. */
#define YIELD_SHARE 8
#define UNKNOWN_MEMORY_DELTA ((uint64_t)1 << 30)
/* Averages move by this share of the distance to a new value. */
#define AVERAGE_SHARE 8
/* Beside the second core, the heap may exceed the threshold by this share. */
#define BESIDE_ROOM_SHARE 2
/* An increment marks at least so many times what was promoted. */
#define MARK_PER_PROMOTED 2
#define MARKED_AVERAGE_FIRST ((uint64_t)4 << 20)
#define MARK_MIN_BYTES ((uint64_t)1 << 20)
/* What follows the increment has an eighth of the pause target, and the increment at least as much. */
#define AFTERWARDS_SHARE 8
#define INCREMENT_SHARE 8

static uint64_t smaller(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

void crd_pacing_init(crd_pacing *pacing, const cradle_options *options, const cradle_hardware *hardware,
                     size_t nursery_bytes) {
  uint64_t min = options->major_min_bytes != 0 ? options->major_min_bytes : MIN_NURSERIES * (uint64_t)nursery_bytes;
  min = smaller(min, COUNTED_MAX_BYTES);
  *pacing = (crd_pacing){.min = min,
                         .threshold = min,
                         .beside_room = min / BESIDE_ROOM_SHARE,
                         .factor = options->major_factor,
                         .growth = options->major_growth,
                         .marked_average = MARKED_AVERAGE_FIRST};
  crd_pacing_bound(pacing, options, hardware);
  ASSERT(pacing->factor > 1 && pacing->growth > 1, "a factor that lets no heap grow");
}

void crd_pacing_bound(crd_pacing *pacing, const cradle_options *options, const cradle_hardware *hardware) {
  uint64_t memory_delta = hardware->memory_bytes != 0 ? hardware->memory_bytes / 8 : UNKNOWN_MEMORY_DELTA;
  pacing->max_delta =
      smaller(options->major_max_delta != 0 ? options->major_max_delta : memory_delta, COUNTED_MAX_BYTES);
  pacing->soft_max = hardware->group_high_bytes / 4 * 3;
  if (options->major_min_bytes != 0) pacing->min = smaller(options->major_min_bytes, COUNTED_MAX_BYTES);
  if (options->heap_max_bytes != 0) pacing->threshold = smaller(pacing->threshold, options->heap_max_bytes);
}

/* bytes * factor, at most 9e18: a product above what 64 bits hold is not defined [pacing.3]. */
static uint64_t scaled(uint64_t bytes, double factor) {
  double result = (double)bytes * factor;
  return result >= 9e18 ? (uint64_t)9e18 : (uint64_t)result;
}

/* How many bytes of those that survived are probably dead. In a heap that no longer grows, as many bytes die while a
 * collection marks as are promoted, about half of them after they were marked. If the factor multiplied them, the
 * threshold would be the higher the longer marking takes. It keeps at least half of its distance to what survived. */
static uint64_t floating(const crd_pacing *pacing, uint64_t survived, uint64_t born_marked) {
  return smaller(born_marked / 2, scaled(survived, (pacing->factor - 1) / pacing->factor / 2));
}

void crd_pacing_update(crd_pacing *pacing, uint64_t survived_bytes, uint64_t freed_bytes, uint64_t born_marked_bytes,
                       bool was_due, uint64_t heap_max_bytes) {
  ASSERT(survived_bytes < 4 * (COUNTED_MAX_BYTES - 1), "[pacing.3] more bytes are counted than any machine has");
  uint64_t settled = survived_bytes - smaller(born_marked_bytes, survived_bytes);
  bool in_vain = freed_bytes < settled / (YIELD_SHARE - 1);
  uint64_t threshold =
      in_vain && was_due ? scaled(survived_bytes, 1 + (pacing->factor - 1) * pacing->growth)
                         : scaled(survived_bytes - floating(pacing, survived_bytes, born_marked_bytes), pacing->factor);
  threshold = smaller(threshold, survived_bytes + pacing->max_delta);
  if (!in_vain) {
    uint64_t grown = larger(scaled(pacing->threshold, pacing->growth), survived_bytes + pacing->min / ROOM_SHARE);
    threshold = smaller(threshold, grown);
  }
  /* Above the soft maximum the kernel slows the program down, so collecting more often pays; but not without end. */
  if (pacing->soft_max != 0)
    threshold = smaller(threshold, larger(pacing->soft_max, survived_bytes + survived_bytes / SOFT_SHARE));
  threshold = larger(threshold, pacing->min);
  if (heap_max_bytes != 0) threshold = smaller(threshold, heap_max_bytes);
  ASSERT(threshold >= pacing->min || threshold == heap_max_bytes, "[pacing.1] the threshold is below the minimum");
  pacing->threshold = threshold;
  pacing->survived = survived_bytes;
  /* What was born marked may float, and must not make the next collection longer, in which more would. */
  pacing->beside_room = larger(scaled(settled, pacing->factor), pacing->min) / BESIDE_ROOM_SHARE;
}

uint64_t crd_pacing_trigger(const crd_pacing *pacing, uint64_t used_bytes) {
  if (pacing->threshold <= pacing->survived) return pacing->threshold;
  uint64_t increments = used_bytes / larger(pacing->marked_average, 1) + 2;
  uint64_t grown = scaled(pacing->grown_average, (double)increments);
  uint64_t trigger = pacing->threshold - smaller(grown, (pacing->threshold - pacing->survived) / 2);
  ASSERT(trigger <= pacing->threshold && trigger >= pacing->survived,
         "[pacing.2] a collection begins too late or early");
  return trigger;
}

uint64_t crd_pacing_limit_beside(const crd_pacing *pacing, uint64_t heap_max_bytes) {
  uint64_t limit = pacing->threshold + smaller(pacing->beside_room, pacing->threshold / BESIDE_ROOM_SHARE);
  return heap_max_bytes != 0 ? smaller(limit, larger(heap_max_bytes, pacing->threshold)) : limit;
}

/* The share of the room that the promotions have used up, times what is unmarked, times 1.25 to be safe. If there is no
 * room left, everything. */
uint64_t crd_pacing_needed(uint64_t limit_bytes, uint64_t promoted_bytes, uint64_t used_bytes,
                           uint64_t unmarked_bytes) {
  uint64_t room = limit_bytes > used_bytes ? limit_bytes - used_bytes : 0;
  if (room <= promoted_bytes) return unmarked_bytes;
  return scaled(unmarked_bytes, 1.25 * (double)promoted_bytes / (double)room);
}

uint64_t crd_pacing_increment(const crd_pacing *pacing, uint64_t promoted_bytes, uint64_t used_bytes,
                              uint64_t unmarked_bytes) {
  uint64_t least = larger(promoted_bytes * MARK_PER_PROMOTED, MARK_MIN_BYTES);
  return larger(least, crd_pacing_needed(pacing->threshold, promoted_bytes, used_bytes, unmarked_bytes));
}

uint64_t crd_pacing_deadline(uint64_t begin_ns, uint64_t now_ns, uint64_t target_ns) {
  return larger(begin_ns + target_ns - target_ns / AFTERWARDS_SHARE, now_ns + target_ns / INCREMENT_SHARE);
}

/* One value moves an average by a share of the distance, so an outlier does not change the pace. */
static void move_average(uint64_t *average, uint64_t value) {
  *average += value / AVERAGE_SHARE - *average / AVERAGE_SHARE;
}

void crd_pacing_promoted(crd_pacing *pacing, uint64_t promoted_bytes, uint64_t large_bytes) {
  move_average(&pacing->promoted_average, promoted_bytes);
  move_average(&pacing->grown_average, promoted_bytes + large_bytes);
}

void crd_pacing_marked(crd_pacing *pacing, uint64_t bytes) {
  move_average(&pacing->marked_average, bytes);
}
