#include "gc/instruments/stress.h"

#include <inttypes.h>

#include <cradle/detail/new.h>

#include "gc/base/random.h"
#include "gc/event.h"
#include "gc/heap.h"
#include "gc/misuse.h"
#include "gc/platform/pages.h"

/* With stress_times, the first collections are not bounded, until they have taken so long together: so a short program
 * is stressed throughout. */
#define UNBOUNDED_NS UINT64_C(300000000)
#define DISTANCE_MAX_BYTES (UINT64_C(1) << 40)

/* Draws the number of points up to the next collection: stress_period, or random with that mean, from 1 to twice as
 * much less 1. */
static void wind_up(cradle_heap *heap) {
  uint64_t period = heap->options.stress_period, distances = period > UINT64_MAX / 2 ? UINT64_MAX : 2 * period - 1;
  heap->stress.countdown = heap->options.stress_seed == 0 ? period : 1 + random_next(&heap->stress.random) % distances;
  ASSERT(heap->stress.countdown >= 1, "[stress.1] there is no next point");
}

void crd_stress_init(cradle_heap *heap) {
  heap->stress.point = UINTPTR_MAX;
  if (!stress_is_on(heap)) return;
  heap->stress.point = 0;
  heap->stress.random = heap->options.stress_seed;
  wind_up(heap);
}

static bool is_chosen(const cradle_heap *heap, uint64_t number) {
  const cradle_options *options = &heap->options;
  return number >= options->stress_first && (options->stress_last == 0 || number <= options->stress_last);
}

/* One collection in each group of stress_major is full, a random one. At equal distances, full collections could keep
 * step with a loop of the program and always come at the same line of it, never at another. */
static bool is_full(const cradle_heap *heap, uint64_t number) {
  uint64_t group = heap->options.stress_major;
  if (group == 0 || heap->majors_disabled != 0) return false;
  uint64_t random = (number - 1) / group;
  return (number - 1) % group == random_next(&random) % group;
}

/* The countdown is over: what to do at this point. */
static crd_stress_demand demand(cradle_heap *heap) {
  crd_stress *stress = &heap->stress;
  uint64_t number = ++stress->number;
  wind_up(heap);
  if (!is_chosen(heap, number)) return STRESS_NOTHING;
  stress->collections++;
  bool full = is_full(heap, number);
  stress->majors += full;
  ASSERT(stress->majors <= stress->collections && stress->collections <= number, "[stress.2] a collection is lost");
  return full ? STRESS_COLLECT_FULL : STRESS_COLLECT;
}

crd_stress_demand crd_stress_point(cradle_heap *heap, cradle_stress place) {
  cradle_stress at = heap->options.stress_at;
  ASSERT(stress_is_on(heap), "a point of a heap without stress");
  ASSERT(place != CRADLE_STRESS_ANYWHERE, "a point lies at one place");
  ASSERT(heap->stress.countdown >= 1, "[stress.1] the last collection did not say when the next one is due");
  uintptr_t free = address_of(heap->mutator->public.free);
  ASSERT(heap->stress.point == 0 || address_of(cradle_top(&heap->mutator->public)) <= heap->stress.point,
         "[stress.3] the program allocates beyond the point where it is looked at");
  if (heap->stress.point > free + CRADLE_NURSERY_OBJECT_MAX_BYTES) return STRESS_NOTHING;
  if ((at != CRADLE_STRESS_ANYWHERE && at != place) || --heap->stress.countdown != 0) return STRESS_NOTHING;
  return demand(heap);
}

/* How many bytes the program allocates in ns nanoseconds, at the pace that it had so far. own_ns: its own time so
 * far. */
static uint64_t allocated_in(const cradle_heap *heap, double ns, double own_ns) {
  double bytes = ns * (double)heap->stats.allocated_bytes / (own_ns + 1);
  return bytes < DISTANCE_MAX_BYTES ? (uint64_t)bytes : DISTANCE_MAX_BYTES;
}

void crd_stress_spend(cradle_heap *heap, uint64_t begin_ns) {
  if (stress_is_on(heap)) heap->stress.spent_ns += crd_platform_now_ns() - begin_ns;
}

/* If collections may take share times as long as the program (share is stress_times - 1), the program must run for last
 * / share after a collection that took last. If earlier ones took more than their share, what is owed is waited for as
 * well. The distance is random with that mean. */
void crd_stress_served(cradle_heap *heap, uint64_t spent_before_ns) {
  crd_stress *stress = &heap->stress;
  uint64_t times = heap->options.stress_times, last = stress->spent_ns - spent_before_ns;
  ASSERT(stress->spent_ns >= spent_before_ns, "a stress collection takes time back");
  if (times == 0 || stress->spent_ns <= UNBOUNDED_NS) return;
  double share = (double)(times - 1);
  double own = (double)(crd_platform_now_ns() - heap->created_ns) - (double)stress->spent_ns;
  double owed = (double)(stress->spent_ns - UNBOUNDED_NS) - share * own;
  double wait = ((double)last + (owed > 0 ? owed : 0)) / share;
  uint64_t distance = allocated_in(heap, wait, own);
  stress->point = address_of(heap->mutator->public.free) + random_next(&stress->random) % (2 * distance + 1);
}

void crd_stress_rewind(crd_stress *stress, size_t bytes) {
  if (stress->point != 0 && stress->point != UINTPTR_MAX) stress->point -= bytes;
}

/* Judged once, if the heap was used and the run was not bounded by stress_first or stress_last. If nothing moved, no
 * object was alive where the run collected, or it never collected: most often its points lie where the program does no
 * work. */
void crd_stress_judge(cradle_heap *heap) {
  const crd_stress *stress = &heap->stress;
  const cradle_statistics *stats = &heap->stats;
  bool bounded = heap->options.stress_first > 1 || heap->options.stress_last != 0;
  if (!stress_is_on(heap) || stats->allocated_bytes == 0 || stress->judged) return;
  heap->stress.judged = true;
  if (stress->number < heap->options.stress_first)
    crd_event_note(heap, "stress: the run ends before the collection that stress_first says", stress->number,
                   heap->options.stress_first);
  if (bounded || stats->moved_objects != 0 || stats->moved_old_objects != 0) return;
  if (!heap->options.stress_strict) {
    crd_event_note(heap, "stress: nothing moved, so that the run proves nothing", stress->collections, stress->majors);
    return;
  }
  crd_misuse(heap,
             "stress: the run proves nothing, its %" PRIu64 " collections, %" PRIu64 " of them full, moved %" PRIu64
             " young and %" PRIu64 " old objects",
             stress->collections, stress->majors, stats->moved_objects, stats->moved_old_objects);
}
