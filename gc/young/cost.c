#include "gc/young/cost.h"

#include "gc/old/marking.h"
#include "gc/young/young.h"

/* What a promoted object and a promoted byte take. */
#define OBJECT_NS 30
#define BYTE_NS 0.3
/* What leaving the cache takes an allocated byte: so much for the first doubling above base, and for each further one
 * so much more than for the one before. */
#define CACHE_NS 0.02
/* Another size is better if it costs less than this share, and less by so many ns. */
#define BETTER 0.85
#define BETTER_NS 0.01
/* How far a collection of the present size may exceed the share of the pause target, and one of another size. */
#define OVERRUN_STAYS 1.0
#define OVERRUN_NEW 0.7
/* A size whose collections are longer, by up to so much, must cost less than this share of one that is in time. */
#define OVERRUN_MOST 3.5
#define WORTH_LONG 0.6
#define COST_NONE 1e9

double crd_cost_price(uint64_t objects, uint64_t bytes) {
  return bytes == 0 ? 0 : BYTE_NS + OBJECT_NS * (double)objects / (double)bytes;
}

double crd_cost_promoted(const crd_young *young, size_t bytes, bool hints) {
  double share = young->adapt.scale * crd_curve_promoted(&young->marking->curve, bytes, hints);
  return (share < 1 ? share : 1) * (double)bytes;
}

/* Promotion may also take as long as the roots, which take the same in a smaller nursery. */
double crd_cost_overrun(const crd_young *young, size_t bytes, bool hints) {
  double most = (double)young->space->options->pause_ns * PAUSE_SHARE_MOST;
  double roots = crd_adapt_roots_least_ns(&young->adapt);
  if (most == 0) return 0;
  return young->adapt.ns_per_promoted_byte * crd_cost_promoted(young, bytes, hints) / (roots > most ? roots : most);
}

static double cost(const crd_young *young, size_t bytes, bool hints) {
  double ns = young->adapt.price * crd_cost_promoted(young, bytes, hints) + crd_adapt_roots_least_ns(&young->adapt);
  double cache = 0, step = CACHE_NS;
  for (size_t size = young->adapt.base; size < bytes; size *= 2, step += CACHE_NS) cache += step;
  return ns / (double)bytes + cache;
}

typedef struct choice {
  size_t bytes;
  double ns;
} choice;

/* Up to base, a larger size that costs the same is better. */
static void prefer(choice *best, choice other, size_t base) {
  if (other.ns < best->ns || (other.ns == best->ns && other.bytes <= base)) *best = other;
}

/* A program that has promoted little may end before it has gained what it costs to touch a nursery beyond early_max. */
size_t crd_cost_best_size(const crd_young *young, bool hints) {
  const crd_adapt *adapt = &young->adapt;
  size_t now = young->space->nursery.bytes, bytes = now;
  uint64_t promoted = young->space->report->stats.promoted_bytes;
  while (bytes / 2 >= adapt->min) bytes /= 2;
  choice in_time = {bytes, COST_NONE}, longer = {bytes, COST_NONE};
  for (; bytes <= adapt->max && (bytes <= adapt->early_max || bytes <= promoted); bytes *= 2) {
    bool stays = bytes == now && bytes >= adapt->base;
    choice this = {bytes, cost(young, bytes, hints)};
    double overrun = crd_cost_overrun(young, bytes, hints);
    bool is_in_time = overrun <= (stays ? OVERRUN_STAYS : OVERRUN_NEW);
    if (stays) this.ns = this.ns * BETTER - (is_in_time ? BETTER_NS : 0);
    if (is_in_time)
      prefer(&in_time, this, adapt->base);
    else if (overrun <= OVERRUN_MOST)
      prefer(&longer, this, adapt->base);
  }
  return longer.ns < WORTH_LONG * in_time.ns ? longer.bytes : in_time.bytes;
}
