#include "gc/young/adapt.h"

#include "gc/old/marking.h"
#include "gc/platform/hardware.h"
#include "gc/young/chunks.h"
#include "gc/young/cost.h"
#include "gc/young/young.h"

/* Collections from one decision to the next, in a trial, and in which a smaller size is enough before it is taken. */
#define DECISION_COLLECTIONS 4
#define TRIAL_COLLECTIONS 2
#define SMALLER_COLLECTIONS 16
/* Where less than this share survives, a size above base has nothing to gain, and no sample is taken. */
#define SURVIVAL_LOW 0.01
/* Roots that take less than this, in ns for each byte of the nursery, are few. */
#define ROOTS_NS_LOW 0.01
/* A trial of a larger size is of one that is expected to promote less than TRIAL_SHARE of what is promoted now. It
 * succeeds below TRIAL_SUCCESS of that. */
#define TRIAL_SHARE 0.6
#define TRIAL_SUCCESS 0.75
/* Samples are at least so far apart. */
#define SAMPLE_MIN_BYTES ((size_t)16 << 10)
/* Halving the nursery for the pauses has failed if a promoted byte then takes this many times as long. */
#define SHRINK_FAILURE 1.5
/* Collections to wait after a failed trial: doubled with each failure, up to the second. */
#define WAIT_FIRST 8
#define WAIT_MOST 4096
/* While increments run, so much is handed out that a minor collection takes the share INCREMENT of the pause target, or
 * BESIDE if the second core keeps up with marking or the heap is swept below the threshold. Less is handed out only if
 * half promotes less than CUT_WORTH. */
#define PAUSE_SHARE_INCREMENT 0.25
#define PAUSE_SHARE_BESIDE 0.625
#define CUT_WORTH 0.75
/* If so many times what recent collections promoted is in time, the curve is not asked. */
#define SURELY_SHORT 4
/* The average time for a promoted byte: its first value, how far a longer and a shorter sample move it, and the most
 * that a sample counts, as a multiple of it. A collection that took longer may have been interrupted. */
#define RATE_FIRST 0.25
#define RATE_SHARE_UP (1.0 / 32)
#define RATE_SHARE_DOWN 0.25
#define RATE_CLIP 1.5
#define RATE_NONE 1e9
/* After so many collections in a row that were all beyond RATE_CLIP, the quickest of them is the new average. */
#define SLOW_COLLECTIONS 16
#define SURVIVAL_SHARE 0.25
/* What a root takes at least, in ns. To say anything of promotion, a collection promotes ROOT_RATE bytes a root. */
#define ROOT_NS 2
#define ROOT_RATE 16
/* Bounds of the size: at least base / MIN_SHARE, at most L3 / L3_SHARE, or UNKNOWN_L3_BASES bases if the L3 is
 * unknown. Without a pause target, at most the memory / FAR_SHARE: nursery and promotion reserve take a sixteenth. */
#define MIN_SHARE 32
#define MIN_BYTES ((size_t)128 << 10)
#define L3_SHARE 2
#define UNKNOWN_L3_BASES 4
#define FAR_SHARE 40
#define MAX_BYTES CRADLE_NURSERY_CHOSEN_MAX_BYTES

/* Bounds the size by the L3, or by the memory. Reading the machine takes time: it waits until the nursery would grow
 * (gc/outgrow.h). */
static void learn_bounds(crd_young *young) {
  crd_adapt *adapt = &young->adapt;
  const cradle_hardware *hardware = young->space->hardware;
  if (adapt->knows_bounds) return;
  bool untimed = young->space->options->pause_ns == 0;
  crd_hardware_learn(young->space->hardware, young->space->known_hardware,
                     untimed ? HARDWARE_CACHES | HARDWARE_MEMORY : HARDWARE_CACHES);
  adapt->knows_bounds = true;
  size_t max = hardware->l3_bytes != 0 ? hardware->l3_bytes / L3_SHARE : adapt->base * UNKNOWN_L3_BASES;
  if (max < adapt->early_max) adapt->early_max = max > adapt->base ? max : adapt->base;
  uint64_t high = hardware->group_high_bytes, memory = hardware->memory_bytes;
  if (high != 0 && high < memory) memory = high;
  uint64_t most = untimed && memory / FAR_SHARE > adapt->early_max ? memory / FAR_SHARE : adapt->early_max;
  if (most < adapt->max) adapt->max = (size_t)most;
}

void crd_adapt_init(crd_young *young) {
  crd_adapt *adapt = &young->adapt;
  const cradle_options *options = young->space->options;
  size_t base = young->space->nursery.bytes, most = crd_nursery_most(options);
  *adapt = (crd_adapt){.fixed = options->nursery_bytes != 0 || options->nursery_fixed || options->quarantine != 0,
                       .base = base,
                       .min = base / MIN_SHARE > MIN_BYTES ? base / MIN_SHARE : MIN_BYTES,
                       .max = most > MAX_BYTES ? most : MAX_BYTES,
                       .ns_per_promoted_byte = RATE_FIRST,
                       .least_rate = RATE_NONE,
                       .shares = 1,
                       .scale = 1,
                       .growth.backoff = WAIT_FIRST,
                       .shrinking.backoff = WAIT_FIRST};
  /* A nursery that has its whole share of the maximum heap already has nowhere to grow. */
  if (adapt->fixed || base == most || adapt->max < base) adapt->max = base;
  if (adapt->min > base) adapt->min = base;
  adapt->early_max = adapt->max;
  if (*young->space->known_hardware & HARDWARE_CACHES) learn_bounds(young);
  ASSERT(adapt->min <= adapt->base && adapt->base <= adapt->max, "[adapt.1]");
}

void crd_adapt_bound(crd_young *young) {
  size_t most = crd_nursery_most(young->space->options);
  if (!young->adapt.fixed && young->space->nursery.bytes > most) young->adapt.cut_to = most & ~(size_t)7;
}

void crd_adapt_cut(crd_young *young) {
  crd_adapt *adapt = &young->adapt;
  size_t bytes = adapt->cut_to;
  adapt->cut_to = 0;
  adapt->base = adapt->early_max = adapt->max = bytes; /* it must not grow beyond its share again */
  if (adapt->min > bytes) adapt->min = bytes;
  if (young->space->nursery.bytes > bytes) crd_nursery_resize(young, bytes, "its share of the maximum heap");
}

/* One collection that is far above the average was probably interrupted. Several in a row were not: the program does
 * something else now, and the quickest of them says what that takes. */
static bool is_new_rate(crd_adapt *adapt, double sample) {
  if (sample <= RATE_CLIP * adapt->ns_per_promoted_byte) {
    adapt->slow = 0;
    return false;
  }
  if (adapt->slow == 0 || sample < adapt->slow_least) adapt->slow_least = sample;
  adapt->slow = (adapt->slow + 1) % SLOW_COLLECTIONS;
  return adapt->slow == 0;
}

/* Whether a major collection runs in which the second core marks or has marked. */
static bool runs_beside(const crd_young *young) {
  return young->marking->major.phase != MAJOR_IDLE && young->marking->marker.thread != NULL;
}

/* The rates of collections as the next one will be. */
static crd_rates *rates_of(crd_young *young) {
  crd_adapt *adapt = &young->adapt;
  if (!runs_beside(young)) return &adapt->alone;
  return young->marking->major.phase == MAJOR_MARKING ? &adapt->marking : &adapt->sweeping;
}

double crd_adapt_roots_least_ns(const crd_adapt *adapt) {
  return (double)adapt->root_words * ROOT_NS;
}

/* Collections that promoted little are left out, or little for their roots: their time is that of roots. */
static void note_rate(crd_young *young, const cradle_event *minor) {
  crd_adapt *adapt = &young->adapt;
  uint64_t promoted = minor->u.minor.promoted_bytes;
  if (promoted < MIN_BYTES / 16 || promoted < ROOT_RATE * adapt->root_words) return;
  bool marks = young->marking->major.phase == MAJOR_MARKING, beside = runs_beside(young);
  double roots_ns = crd_adapt_roots_least_ns(adapt), duration = (double)minor->u.minor.duration_ns;
  double sample = (duration > roots_ns ? duration - roots_ns : 0) / (double)promoted;
  /* The quickest collection is what a trial compares: other programs can only have made collections slower. */
  if (!(marks && beside) && sample < adapt->least_rate) adapt->least_rate = sample;
  crd_rates *rates = rates_of(young);
  rates->last[rates->next] = sample;
  rates->next = (rates->next + 1) % RATE_SAMPLES;
  double *rate = &adapt->ns_per_promoted_byte;
  if (is_new_rate(adapt, sample)) *rate = adapt->slow_least;
  if (sample > RATE_CLIP * *rate) sample = RATE_CLIP * *rate;
  *rate += (sample - *rate) * (sample > *rate ? RATE_SHARE_UP : RATE_SHARE_DOWN);
}

/* The second quickest of the last collections: other programs may have interrupted two of them, and a change of the
 * program is known after three. */
static double second_least(const crd_rates *rates) {
  double least = RATE_NONE, second = RATE_NONE;
  for (int i = 0; i < RATE_SAMPLES; i++) { /* a place that has had no sample holds 0 */
    double sample = rates->last[i];
    if (sample >= second) continue;
    second = sample < least ? least : sample;
    if (sample < least) least = sample;
  }
  return second;
}

/* Promotion may take a share of the pause target, or as long as the roots, which take the same in a smaller nursery. */
static double with_roots(const crd_adapt *adapt, double most_ns) {
  double roots_ns = crd_adapt_roots_least_ns(adapt);
  return roots_ns > most_ns ? roots_ns : most_ns;
}

/* What a minor collection may take of the pause target, in the phase that the heap is in. */
static double pause_share(const crd_young *young) {
  bool marks = young->marking->major.phase == MAJOR_MARKING, beside = runs_beside(young);
  if (marks && (!beside || young->marking->major.behind > 0)) return PAUSE_SHARE_INCREMENT;
  if (!beside) return PAUSE_SHARE_MOST;
  bool late = crd_major_counted_bytes(young->marking) > young->marking->pacing.threshold;
  return !marks && late ? PAUSE_SHARE_INCREMENT : PAUSE_SHARE_BESIDE;
}

/* ns for each promoted byte in the phase that the heap is in. */
static double rate_now(crd_young *young) {
  double average = young->adapt.ns_per_promoted_byte, recent = second_least(rates_of(young));
  return recent > average ? recent : average;
}

/* Whether half of so many bytes is handed out in their place, so that the collection takes at most so many ns. */
static bool is_cut(crd_young *young, size_t bytes, double most) {
  double rate = rate_now(young);
  if (SURELY_SHORT * rate * young->marking->curve.promoted * (double)bytes <= most) return false;
  double promoted = crd_cost_promoted(young, bytes, true);
  return rate * promoted > most && crd_cost_promoted(young, bytes / 2, true) < CUT_WORTH * promoted;
}

size_t crd_adapt_hand_out(crd_young *young) {
  const crd_adapt *adapt = &young->adapt;
  size_t bytes = young->space->nursery.bytes;
  if (CRADLE_UNLIKELY(young->marking->rest.active) && young->marking->rest.piece_bytes < bytes)
    bytes = young->marking->rest.piece_bytes;
  double target = (double)young->space->options->pause_ns;
  bool counts = young->marking->major.phase == MAJOR_MARKING || young->marking->major.phase == MAJOR_CLEARING;
  uint32_t cuts = counts ? young->marking->major.behind : 0;
  if (target == 0 || (cuts == 0 && young->marking->curve.promoted == 0)) return bytes;
  double most = target * pause_share(young);
  if (crd_adapt_roots_least_ns(adapt) > most) cuts = 0;
  most = with_roots(adapt, most);
  /* While shrinking.wait runs, a smaller nursery has just failed to make collections shorter. */
  bool shortens = !adapt->fixed && adapt->shrinking.wait == 0;
  while (shortens && bytes / 2 >= adapt->min && is_cut(young, bytes, most)) bytes /= 2;
  /* Each increment of marking or clearing that fell behind halves it once: pauses then come sooner. */
  for (; cuts > 0 && bytes / 2 >= adapt->min; cuts--) bytes /= 2;
  return bytes & ~(size_t)7;
}

static void wait_longer(crd_trial *trial) {
  trial->wait = trial->backoff;
  if (trial->backoff < WAIT_MOST) trial->backoff *= 2;
}

/* A success makes the next trial come soon: sizes are tried as long as they help. Otherwise the size goes back. */
static void end_trial(crd_young *young, crd_trial *trial, bool success, const char *reason) {
  size_t before = trial->before;
  trial->before = 0;
  if (success) {
    trial->backoff = WAIT_FIRST;
    return;
  }
  wait_longer(trial);
  size_t tried = young->space->nursery.bytes;
  bool beyond = tried > young->adapt.early_max;
  if (tried > 2 * before) trial->wait *= (uint32_t)(tried / before / 2); /* it has cost as many collections more */
  if (crd_nursery_resize(young, before, reason) && beyond) crd_nursery_discard(young, false);
}

/* --- the size --- */

/* After a decision: counts from here on. */
static void begin_count(crd_young *young) {
  crd_adapt *adapt = &young->adapt;
  crd_curve_settle(&young->marking->curve);
  adapt->promoted = adapt->objects = adapt->allocated = 0;
  adapt->collections = 0;
  adapt->least_rate = RATE_NONE;
}

static double survival(const crd_adapt *adapt) {
  return (double)adapt->promoted / (double)adapt->allocated;
}

/* The size to try, where only marking has seen that fewer live: the first that makes a difference. */
static size_t size_to_try(const crd_young *young, size_t best) {
  size_t bytes = young->space->nursery.bytes;
  double wanted = TRIAL_SHARE * crd_cost_promoted(young, bytes, true) / (double)bytes;
  do bytes *= 2;
  while (bytes < best && crd_cost_promoted(young, bytes, true) > wanted * (double)bytes);
  return bytes;
}

/* The largest of the sizes from bytes down that the system and the maximum heap have room for; false: none. */
static bool enlarge(crd_young *young, size_t bytes, const char *reason) {
  size_t before = young->space->nursery.bytes;
  while (bytes > before && !crd_nursery_resize(young, bytes, reason)) bytes /= 2;
  return bytes > before;
}

/* Where memory is refused, wait is set but backoff is not doubled: no size was tried. */
static bool grow(crd_young *young) {
  crd_adapt *adapt = &young->adapt;
  size_t before = young->space->nursery.bytes;
  if (adapt->growth.wait > 0 || adapt->growth.before != 0 || crd_cost_best_size(young, true) <= before) return false;
  learn_bounds(young);
  size_t best = crd_cost_best_size(young, true), sure = crd_cost_best_size(young, false);
  if (best <= before) return false;
  bool tries = sure <= before && best > adapt->base;
  size_t bytes = sure > before ? sure : tries ? size_to_try(young, best) : best;
  if (!enlarge(young, bytes, tries ? "trial: marking found that more dies" : "a larger nursery promotes less")) {
    adapt->growth.wait = adapt->growth.backoff;
    return false;
  }
  adapt->shrinking.before = 0;
  adapt->growth.before = tries ? before : 0;
  adapt->growth.rate_before = survival(adapt);
  return true;
}

/* --- for the pauses --- */

/* Keeps the nursery from growing for a while: the two would undo each other. */
static void begin_shrinking(crd_young *young) {
  crd_adapt *adapt = &young->adapt;
  adapt->growth.before = 0;
  ASSERT(adapt->shrinking.before == 0, "[adapt.2] a trial begins while another runs");
  adapt->shrinking.before = young->space->nursery.bytes;
  adapt->shrinking.rate_before = adapt->least_rate;
  wait_longer(&adapt->growth);
  crd_nursery_resize(young, young->space->nursery.bytes / 2, "a minor collection takes too much of the pause target");
}

/* The smaller size stays where the second core marked beside all collections of one of the two sizes: then no sample
 * says how fast that size is. */
static bool shrinking_succeeds(const crd_young *young) {
  const crd_adapt *adapt = &young->adapt;
  bool unknown = young->marking->marker.thread != NULL && adapt->least_rate == RATE_NONE;
  return unknown || adapt->least_rate < SHRINK_FAILURE * adapt->shrinking.rate_before;
}

/* Whether shrinking may begin. Where only a part of the nursery was handed out, because collections took long for a
 * while, it may only beside the second core: there the first ones after the major collection might be too long. */
static bool may_shrink(const crd_young *young, bool whole) {
  const crd_adapt *adapt = &young->adapt;
  return adapt->shrinking.before == 0 && adapt->shrinking.wait == 0 && young->space->nursery.bytes / 2 >= adapt->min &&
         (whole || runs_beside(young));
}

/* --- decisions --- */

/* If a trial ends by going back, nothing else is decided: the figures are of the larger size. A smaller size must have
 * been better for a while; until then, less is handed out where collections would be too long. */
static void decide(crd_young *young, bool whole) {
  crd_adapt *adapt = &young->adapt;
  size_t bytes = young->space->nursery.bytes;
  if (adapt->growth.before != 0)
    end_trial(young, &adapt->growth, survival(adapt) < adapt->growth.rate_before * TRIAL_SUCCESS,
              "back: as much survives in the larger nursery");
  bool smaller = young->space->nursery.bytes == bytes && crd_cost_best_size(young, true) < bytes;
  adapt->smaller = smaller ? adapt->smaller + adapt->collections : 0;
  if (adapt->smaller < SMALLER_COLLECTIONS) return;
  adapt->smaller = 0;
  if (crd_cost_overrun(young, bytes, true) > 1) {
    if (may_shrink(young, whole)) begin_shrinking(young);
  } else if (bytes > adapt->base && crd_nursery_resize(young, bytes / 2, "a smaller nursery is enough")) {
    crd_nursery_discard(young, false);
  }
}

/* --- after a minor collection --- */

/* Asks for samples of the next nursery if they may tell something. */
static void want_ages(crd_young *young) {
  size_t every = young->space->nursery.bytes / NURSERY_SAMPLES;
  if (every < SAMPLE_MIN_BYTES) every = SAMPLE_MIN_BYTES;
  young->space->nursery.sample_bytes = young->marking->curve.promoted > SURVIVAL_LOW ? every : 0;
}

static void note_survival(crd_young *young, uint64_t promoted, uint64_t filled) {
  crd_adapt *adapt = &young->adapt;
  crd_curve *curve = &young->marking->curve;
  double share = (double)promoted / (double)filled;
  curve->promoted += (share - curve->promoted) * SURVIVAL_SHARE;
  if (curve->promoted <= SURVIVAL_LOW) return;
  double expected = crd_curve_promoted(curve, filled, true);
  if (expected > 0) adapt->scale += (share / expected - adapt->scale) * SURVIVAL_SHARE;
}

static void count(crd_adapt *adapt, const cradle_event *minor) {
  adapt->promoted += minor->u.minor.promoted_bytes;
  adapt->objects += minor->u.minor.promoted_objects;
  adapt->allocated += minor->u.minor.nursery_bytes;
  adapt->collections++;
  adapt->price = crd_cost_price(adapt->objects, adapt->promoted);
  if (adapt->growth.wait > 0) adapt->growth.wait--;
}

/* Whether no other size would cost notably less, unless that is smaller: nearly nothing survives, and there are few
 * roots. */
static bool costs_little(const crd_young *young) {
  return young->marking->curve.promoted <= SURVIVAL_LOW &&
         crd_adapt_roots_least_ns(&young->adapt) <= ROOTS_NS_LOW * (double)young->space->nursery.bytes;
}

/* true: the size may have changed. Where it costs little, that takes no time. */
static bool choose(crd_young *young, bool whole) {
  crd_adapt *adapt = &young->adapt;
  bool little = costs_little(young);
  if ((!little || young->space->nursery.bytes < adapt->base) && grow(young)) return true;
  if (adapt->collections < (adapt->growth.before != 0 ? TRIAL_COLLECTIONS : DECISION_COLLECTIONS)) return false;
  if (adapt->shrinking.before != 0)
    end_trial(young, &adapt->shrinking, shrinking_succeeds(young),
              "back: collections of the smaller nursery take as long");
  else if (!little || young->space->nursery.bytes > adapt->base)
    decide(young, whole);
  return true;
}

static size_t at_most(size_t bytes, size_t most) {
  return bytes < most ? bytes : most;
}

/* The first size is for one mutator, and so is the bound that the L3 sets. So many that allocated since the last
 * collection have as many times that, as heaps of their own would, but not more often than there are processors. If
 * they become fewer, the nursery shrinks like any other. */
static void share(crd_young *young) {
  crd_adapt *adapt = &young->adapt;
  const crd_chunks *chunks = young->space->chunks;
  if (CRADLE_LIKELY(chunks->users <= adapt->shares)) return;
  learn_bounds(young);
  crd_hardware_learn(young->space->hardware, young->space->known_hardware, HARDWARE_PROCESSORS);
  uint32_t processors = young->space->hardware->processors, shares = chunks->users;
  if (processors != 0 && shares > processors) shares = processors;
  if (shares <= adapt->shares) return;
  size_t base = adapt->base / adapt->shares * shares, most = crd_nursery_most(young->space->options);
  adapt->early_max = at_most(adapt->early_max / adapt->shares * shares, most);
  if (adapt->max < adapt->early_max) adapt->max = adapt->early_max;
  adapt->shares = shares;
  base = at_most(base, adapt->early_max);
  if (base <= adapt->base) return;
  adapt->base = base;
  if (young->space->nursery.bytes < base) (void)crd_nursery_resize(young, base, "more mutators");
}

void crd_adapt_after_minor(crd_young *young, const cradle_event *minor) {
  crd_adapt *adapt = &young->adapt;
  if (space_is_shared(young->space) && !adapt->fixed) share(young);
  size_t bytes = young->space->nursery.bytes;
  if (adapt->fixed) return;
  ASSERT(bytes >= adapt->min && bytes <= adapt->max, "[adapt.1] the nursery's size");
  note_rate(young, minor);
  uint64_t filled = minor->u.minor.nursery_bytes;
  /* A collection that came early, on request, says little of what survives a full nursery. */
  if (filled < adapt->min / 4 * 3) return;
  note_survival(young, minor->u.minor.promoted_bytes, filled);
  if (adapt->shrinking.wait > 0) adapt->shrinking.wait--;
  /* So does one of the part that is handed out while marking goes on. */
  bool whole = filled >= bytes / 4 * 3;
  if (!whole && young->marking->major.phase != MAJOR_IDLE && !runs_beside(young)) return;
  count(adapt, minor);
  if (choose(young, whole)) begin_count(young);
  want_ages(young);
}
