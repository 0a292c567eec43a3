#include "gc/instruments/stress.h"

#include <inttypes.h>

#include <cradle/detail/new.h>

#include "gc/base/random.h"
#include "gc/platform/pages.h"
#include "gc/report/misuse.h"
#include "gc/space.h"

/* With stress_times, what is allowed beyond the program's share, so that a program of a millisecond is stressed, too.
 * */
#define GRACE_NS UINT64_C(5000000)
/* Points that may pass after a collection while a rare place is waited for. Each takes about 50 ns more than on the
 * fast path, so all of them together less than a collection. */
#define RARE_LOOKS 1024
/* Points that may pass after a gap. */
#define SOON_LOOKS 31
#define DISTANCE_MAX_BYTES (UINT64_C(1) << 40)

uint64_t crd_stress_now(const crd_stress *stress) {
  uint64_t ns = stress->options->mutators > 1 ? 0 : crd_platform_thread_ns();
  return ns != 0 ? ns : crd_platform_now_ns();
}

/* Draws the number of points up to the next collection: stress_period, or random with that mean, from 1 to twice as
 * much less 1. */
static void wind_up(const crd_stress *stress, crd_stress_points *points) {
  uint64_t period = stress->options->stress_period, distances = period > UINT64_MAX / 2 ? UINT64_MAX : 2 * period - 1;
  points->countdown = stress->options->stress_seed == 0 ? period : 1 + random_next(&points->random) % distances;
  ASSERT(points->countdown >= 1, "[stress.1] there is no next point");
}

/* Those of the mutator that is served. */
static crd_stress_points *points_here(const crd_stress *stress) {
  return &space_running(stress->space)->local->stress;
}

void crd_stress_init(crd_stress *stress, crd_space *space) {
  stress->space = space;
  stress->options = space->options;
  if (stress_is_on(stress->options)) stress->look_ns = crd_stress_now(stress);
}

void crd_stress_add(const crd_stress *stress, crd_local *local) {
  crd_stress_points *points = &local->stress;
  points->point = stress_is_on(stress->options) || stress->options->stress_turns != 0 ? 0 : UINTPTR_MAX;
  if (!stress_is_on(stress->options)) return;
  points->random = stress->options->stress_seed + local->number;
  wind_up(stress, points);
}

static bool is_chosen(const crd_stress *stress, uint64_t number) {
  const cradle_options *options = stress->options;
  return number >= options->stress_first && (options->stress_last == 0 || number <= options->stress_last);
}

/* One collection in each group of stress_major is full, a random one. At equal distances, full collections could keep
 * step with a loop of the program and always come at the same line of it, never at another. */
static bool is_full(const crd_stress *stress, uint64_t number, bool held) {
  uint64_t group = stress->options->stress_major;
  if (group == 0 || held) return false;
  uint64_t random = (number - 1) / group;
  return (number - 1) % group == random_next(&random) % group;
}

/* Without what other mutators have allocated since the last collection, which cannot be read while they run. */
static uint64_t allocated_so_far(const crd_stress *stress) {
  return stress->space->report->stats.allocated_bytes + local_filled(space_running(stress->space)->local);
}

/* Counts a visit of the place of the present point, and returns the visits so far. */
static uint8_t visit_place(crd_stress *stress) {
  const cradle_mutator *mutator = &space_running(stress->space)->public;
  crd_stress_points *points = points_here(stress);
  const uintptr_t at[STRESS_DEPTHS] = {address_of(__builtin_frame_address(0)), address_of(mutator->shadow_top),
                                       address_of(mutator->scoped_top)};
  uint64_t place = 0;
  for (int i = 0; i < STRESS_DEPTHS; i++) {
    place = place * 31 + (at[i] - points->depths[i]);
    points->depths[i] = at[i];
  }
  uint8_t *met = &stress->met[random_next(&place) % STRESS_PLACES];
  if (*met < UINT8_MAX) ++*met;
  return *met;
}

static bool is_rare(uint8_t visits) {
  return visits <= 2 || (visits & (visits - 1)) == 0;
}

/* How many times as long as the program its collections may take. */
static double share_of(const crd_stress *stress) {
  return (double)(stress->options->stress_times - 1);
}

/* The served mutator has no collection for the gap's mean, on average. */
static void join_gap(const crd_stress *stress, crd_stress_points *points) {
  points->gap_bytes = 1 + random_next(&points->random) % (2 * stress->gap_mean + 1);
  points->point = address_of(space_running(stress->space)->public.free) + points->gap_bytes;
}

/* For all mutators together, at the pace at which the program has allocated so far. */
static void begin_gap(crd_stress *stress, double wait_ns) {
  double bytes = wait_ns * (double)allocated_so_far(stress) / ((double)stress->own_ns + 1);
  uint64_t running = 0;
  for (EACH_MUTATOR(mutator, stress->space))
    running += __atomic_load_n(&mutator->state, __ATOMIC_RELAXED) != MUTATOR_PARKED;
  stress->gap_mean = (bytes < DISTANCE_MAX_BYTES ? (uint64_t)bytes : DISTANCE_MAX_BYTES) / running;
  points_here(stress)->gaps = ++stress->gaps;
  join_gap(stress, points_here(stress));
}

static void end_gap(crd_stress *stress, crd_local *local) {
  crd_stress_points *points = &local->stress;
  stress->gap_bytes += points->gap_bytes - (points->point - address_of(*local->free));
  stress->looks = SOON_LOOKS;
  points->point = 0;
}

/* Whether stress_times lets this point collect. If the last look was in vain, a gap begins; the caller of
 * crd_stress_point sets the mutator's top. */
static bool is_its_turn(crd_stress *stress) {
  if (stress->options->stress_times == 0) return true;
  if (is_rare(visit_place(stress)) || stress->looks == 0) return true;
  if (--stress->looks == SOON_LOOKS)
    begin_gap(stress, (double)stress->spent_ns / (double)stress->collections / share_of(stress));
  return false;
}

/* The countdown is over: what to do at this point. */
static crd_stress_demand demand(crd_stress *stress, bool held) {
  uint64_t number = ++stress->number;
  wind_up(stress, points_here(stress));
  if (!is_chosen(stress, number) || !is_its_turn(stress)) return STRESS_NOTHING;
  stress->collections++;
  bool full = is_full(stress, number, held);
  stress->majors += full;
  ASSERT(stress->majors <= stress->collections && stress->collections <= number, "[stress.2] a collection is lost");
  return full ? STRESS_COLLECT_FULL : STRESS_COLLECT;
}

crd_stress_demand crd_stress_point(crd_stress *stress, cradle_stress place, bool held) {
  cradle_stress at = stress->options->stress_at;
  ASSERT(stress_is_on(stress->options), "a point of a heap without stress");
  ASSERT(place != CRADLE_STRESS_ANYWHERE, "a point lies at one place");
  const cradle_mutator *mutator = &space_running(stress->space)->public;
  crd_stress_points *points = points_here(stress);
  ASSERT(points->countdown >= 1, "[stress.1] the last collection did not say when the next one is due");
  ASSERT(points->point == 0 || address_of(cradle_top(mutator)) <= points->point,
         "[stress.3] the program allocates beyond the point where it is looked at");
  if (points->gaps != stress->gaps && points->point == 0) join_gap(stress, points); /* another mutator has begun one */
  points->gaps = stress->gaps;
  if (points->point > address_of(mutator->free) + CRADLE_NURSERY_OBJECT_MAX_BYTES) return STRESS_NOTHING;
  if (points->point != 0) end_gap(stress, space_running(stress->space)->local);
  if ((at != CRADLE_STRESS_ANYWHERE && at != place) || --points->countdown != 0) return STRESS_NOTHING;
  return demand(stress, held);
}

/* The heap may have come to another thread, whose time may be less. */
static uint64_t since(uint64_t begin_ns, uint64_t now_ns) {
  return now_ns > begin_ns ? now_ns - begin_ns : 0;
}

uint64_t crd_stress_enter(crd_stress *stress) {
  if (!stress_is_on(stress->options)) return 0;
  uint64_t now = crd_stress_now(stress);
  stress->own_ns += since(stress->look_ns, now);
  stress->look_ns = now;
  return now;
}

void crd_stress_spend(crd_stress *stress, uint64_t begin_ns) {
  if (!stress_is_on(stress->options)) return;
  stress->look_ns = crd_stress_now(stress);
  stress->spent_ns += since(begin_ns, stress->look_ns);
}

/* How much time collections may have taken so far. */
static double allowed_ns(const crd_stress *stress) {
  return (double)GRACE_NS + share_of(stress) * (double)stress->own_ns;
}

/* With stress_times, verification takes at most about a quarter of the time of collections: it finds most of what it
 * finds at any later collection, too. */
void crd_stress_begin(crd_stress *stress) {
  bool bounded = stress->options->stress_times != 0 && (double)stress->spent_ns > allowed_ns(stress) / 8;
  stress->verifies = stress->options->verify && (!bounded || stress->verify_ns <= stress->spent_ns / 4);
  stress->verified += stress->verifies;
}

/* After a collection that took last, the program must run for last / share. If earlier ones took more than is allowed,
 * what is owed is waited for as well. */
void crd_stress_served(crd_stress *stress, uint64_t spent_before_ns) {
  stress->verifies = false;
  ASSERT(stress->spent_ns >= spent_before_ns, "a stress collection takes time back");
  if (stress->options->stress_times == 0) return;
  double spent = (double)stress->spent_ns, allowed = allowed_ns(stress);
  stress->looks = spent < allowed / 2 ? 0 : RARE_LOOKS + SOON_LOOKS;
  if (spent < allowed) return;
  double last = spent - (double)spent_before_ns;
  begin_gap(stress, (last + spent - allowed) / share_of(stress));
}

/* Says how many collections took place, and of how many. In gaps nobody counted: there were as many allocations in a
 * byte as elsewhere. */
static void tell(crd_stress *stress) {
  for (EACH_LOCAL(local, stress->space))
    if (local->stress.point != 0) end_gap(stress, local);
  double allocated = (double)stress->space->report->stats.allocated_bytes,
         looked_at = allocated - (double)stress->gap_bytes;
  uint64_t points = looked_at <= 0 ? stress->number : (uint64_t)((double)stress->number * allocated / looked_at + 0.5);
  if (stress->options->verify && stress->verified != stress->collections)
    crd_event_note_about(stress->space->report, CRADLE_NOTE_STRESS_VERIFIED, "stress: verified collections",
                         stress->collections, stress->verified);
  crd_event_note_about(stress->space->report, CRADLE_NOTE_STRESS_COLLECTIONS, "stress: collections", points,
                       stress->collections);
}

/* Judged once, if the heap was used and the run was not bounded by stress_first or stress_last. If nothing moved, no
 * object was alive where the run collected, or it never collected: most often its points lie where the program does no
 * work. */
void crd_stress_judge(crd_stress *stress) {
  const cradle_statistics *stats = &stress->space->report->stats;
  bool bounded = stress->options->stress_first > 1 || stress->options->stress_last != 0;
  if (!stress_is_on(stress->options) || stats->allocated_bytes == 0 || stress->judged) return;
  stress->judged = true;
  if (stress->number < stress->options->stress_first)
    crd_event_note_about(stress->space->report, CRADLE_NOTE_STRESS,
                         "stress: the run ends before the collection with the number stress_first", stress->number,
                         stress->options->stress_first);
  if (bounded) return;
  tell(stress);
  if (stats->moved_objects != 0 || stats->moved_old_objects != 0) return;
  if (!stress->options->stress_strict) {
    crd_event_note_about(stress->space->report, CRADLE_NOTE_STRESS,
                         "stress: nothing moved, so that the run proves nothing", stress->collections, stress->majors);
    return;
  }
  crd_misuse(heap_of(stress->space->report),
             "stress: the run proves nothing, its %" PRIu64 " collections, %" PRIu64 " of them full, moved %" PRIu64
             " young and %" PRIu64 " old objects",
             stress->collections, stress->majors, stats->moved_objects, stats->moved_old_objects);
}
