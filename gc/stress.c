/* Stress: collections at chosen points of the program, so that a reference that is not rooted does not survive by luck.
 *
 * A point is an allocation that the library sees or a safepoint poll (options.stress_at); every stress_period-th collects, or,
 * with a seed, one at a random distance of that mean. Each collection has a number, the same in every run of a deterministic
 * program with the same settings, whatever else collects. stress_first and stress_last let only those between them happen; the
 * others are still counted, so halving the range finds the one collection that a bug needs.
 *
 * While stress is on a major collection always runs, and each collection does its smallest increment; every stress_major-th is
 * full and moves every old object. Freed and moved objects are poisoned at once.
 */
#include "gc/heap.h"
#include "gc/random.h"

const char *crd_stress_fault(const cradle_options *options) {
  bool others = options->stress_seed != 0 || options->stress_first != 0 || options->stress_last != 0 ||
                options->stress_at != CRADLE_STRESS_ANYWHERE;
  if ((unsigned)options->stress_at > CRADLE_STRESS_SAFEPOINTS) return "stress_at: no cradle_stress";
  if (options->stress_major != 0 && options->stress_period == 0) return "stress_major needs stress_period";
  if (others && options->stress_period == 0) return "stress_seed, stress_first, stress_last and stress_at need stress_period";
  if (options->stress_last != 0 && options->stress_first > options->stress_last) return "stress_first is above stress_last";
  return NULL;
}

static void wind_up(cradle_heap *heap) {
  uint64_t period = heap->options.stress_period, distances = period > UINT64_MAX / 2 ? UINT64_MAX : 2 * period - 1;
  heap->stress.countdown = heap->options.stress_seed == 0 ? period : 1 + random_next(&heap->stress.random) % distances;
}

void crd_stress_init(cradle_heap *heap) {
  if (!stress_is_on(heap)) return;
  heap->stress.random = heap->options.stress_seed;
  wind_up(heap);
}

static bool is_chosen(const cradle_heap *heap, uint64_t number) {
  const cradle_options *options = &heap->options;
  return number >= options->stress_first && (options->stress_last == 0 || number <= options->stress_last);
}

static bool collect(cradle_heap *heap) CRADLE_MAY_COLLECT {
  crd_stress *stress = &heap->stress;
  uint64_t number = ++stress->number;
  wind_up(heap);
  if (!is_chosen(heap, number)) return false;
  stress->collections++;
  bool major = heap->options.stress_major != 0 && number % heap->options.stress_major == 0 && heap->majors_disabled == 0;
  stress->majors += major;
  if (major)
    crd_collect_major(heap, CRADLE_CAUSE_STRESS, DEPTH_COMPACTING);
  else
    crd_collect(heap, CRADLE_CAUSE_STRESS);
  return true;
}

bool crd_stress_point(cradle_heap *heap, cradle_stress place) {
  cradle_stress at = heap->options.stress_at;
  if (!stress_is_on(heap) || (at != CRADLE_STRESS_ANYWHERE && at != place) || --heap->stress.countdown != 0) return false;
  return collect(heap);
}

/* Only a run that was free to collect everywhere is judged, once, and only of a heap that was used. What moved nothing had no live
 * object where it collected, or came to no point where it would have: most often its points lie where the program does no work. */
void crd_stress_judge(cradle_heap *heap) {
  const crd_stress *stress = &heap->stress;
  const cradle_stats *stats = &heap->stats;
  bool bounded = heap->options.stress_first > 1 || heap->options.stress_last != 0;
  if (!stress_is_on(heap) || stats->allocated_bytes == 0 || stress->judged) return;
  heap->stress.judged = true;
  if (stress->number < heap->options.stress_first)
    crd_event_note(heap, "stress: the run ends before the collection that stress_first says", stress->number,
                   heap->options.stress_first);
  if (bounded || stats->moved_objects != 0 || stats->moved_old_objects != 0) return;
  crd_text text = {.length = 0};
  crd_text_add(&text, "stress: the run proves nothing, its ");
  crd_text_number(&text, stress->collections);
  crd_text_add(&text, " collections, ");
  crd_text_number(&text, stress->majors);
  crd_text_add(&text, " of them full, moved ");
  crd_text_number(&text, stats->moved_objects);
  crd_text_add(&text, " young and ");
  crd_text_number(&text, stats->moved_old_objects);
  crd_text_add(&text, " old objects");
  crd_misuse(heap, text.buffer);
}
