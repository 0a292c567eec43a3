#include "gc/young/adapt.h"

#include "gc/platform/hardware.h"
#include "gc/young/young.h"

/* Collections from one decision to the next. */
#define DECISION_COLLECTIONS 4
/* Shares of the allocated bytes that survive: above HIGH the nursery may grow, below LOW it may shrink. */
#define SURVIVAL_HIGH 0.03
#define SURVIVAL_LOW 0.005
/* The survival of the oldest quarter, of which at least OLD_SAMPLES samples were seen, divided by that of all samples.
 * Below OLD_DIE a larger nursery lets more die, if they differ by OLD_DEVIATIONS standard deviations. Above OLD_LIVE
 * the larger one has brought nothing. */
#define OLD_DIE 0.75
#define OLD_LIVE 0.9
#define OLD_SAMPLES 12
#define OLD_DEVIATIONS 2.5
/* A trial succeeds when the surviving share falls below TRIAL_SUCCESS of what it was. No trial begins when more than
 * TRIAL_VAIN survives and the oldest live like the others. */
#define TRIAL_SUCCESS 0.9
#define TRIAL_VAIN 0.5
/* Samples are at least so far apart. */
#define SAMPLE_MIN_BYTES ((size_t)16 << 10)
/* Halving the nursery for the pauses has failed if a promoted byte then takes this many times as long. */
#define SHRINK_FAILURE 1.5
/* Collections to wait after a failed trial: doubled with each failure, up to the second. */
#define WAIT_FIRST 16
#define WAIT_MOST 4096
/* Shares of the pause target that a minor collection is expected to take. Above MOST, or OLD_DIE if the oldest die, the
 * nursery shrinks. Below GROW it may grow. While increments run, so much is handed out that a minor collection takes
 * INCREMENT, or BESIDE if the second core keeps up with marking or the heap is swept below the threshold. */
#define PAUSE_SHARE_MOST 0.9
#define PAUSE_SHARE_OLD_DIE 2.0
#define PAUSE_SHARE_GROW 0.6
#define PAUSE_SHARE_INCREMENT 0.25
#define PAUSE_SHARE_BESIDE 0.625
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
/* A nursery with fewer bytes for each root is worth doubling: to look at a root takes 2 to 5 ns, and to allocate
 * this many bytes 16. */
#define ROOT_BYTES 256
/* What a root takes at least, in ns. To say anything of promotion, a collection promotes ROOT_RATE bytes a root. */
#define ROOT_NS 2
#define ROOT_RATE 16
/* Bounds of the size: at least base / MIN_SHARE, at most L3 / L3_SHARE, or UNKNOWN_L3_BASES bases if the L3 is
 * unknown. */
#define MIN_SHARE 32
#define MIN_BYTES ((size_t)128 << 10)
#define L3_SHARE 2
#define UNKNOWN_L3_BASES 4
#define MAX_BYTES CRADLE_NURSERY_CHOSEN_MAX_BYTES

/* Bounds the size by the L3. Reading the machine takes time: it waits until the nursery would grow (gc/outgrow.h). */
static void learn_l3(crd_young *young) {
  crd_adapt *adapt = &young->adapt;
  if (adapt->knows_l3) return;
  crd_hardware_learn(young->space->hardware, young->space->known_hardware, HARDWARE_CACHES);
  adapt->knows_l3 = true;
  size_t l3 = young->space->hardware->l3_bytes, max = l3 != 0 ? l3 / L3_SHARE : adapt->base * UNKNOWN_L3_BASES;
  if (max < adapt->base) max = adapt->base;
  if (max < adapt->max) adapt->max = max;
}

void crd_adapt_init(crd_young *young) {
  crd_adapt *adapt = &young->adapt;
  const cradle_options *options = young->space->options;
  size_t base = young->space->nursery.bytes;
  *adapt = (crd_adapt){.fixed = options->nursery_bytes != 0 || options->nursery_fixed || options->quarantine != 0,
                       .base = base,
                       .min = base / MIN_SHARE > MIN_BYTES ? base / MIN_SHARE : MIN_BYTES,
                       .max = MAX_BYTES,
                       .ns_per_promoted_byte = RATE_FIRST,
                       .least_rate = RATE_NONE,
                       .growth.backoff = WAIT_FIRST,
                       .shrinking.backoff = WAIT_FIRST};
  /* A nursery that has its whole share of the maximum heap already has nowhere to grow. */
  if (adapt->fixed || base == crd_nursery_most(options) || adapt->max < base) adapt->max = base;
  if (adapt->min > base) adapt->min = base;
  if (*young->space->known_hardware & HARDWARE_CACHES) learn_l3(young);
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
  adapt->base = adapt->max = bytes; /* it must not grow beyond its share again */
  if (adapt->min > bytes) adapt->min = bytes;
  if (young->space->nursery.bytes > bytes) crd_nursery_resize(young, bytes, "its share of the maximum heap");
}

/* Asked last: the answer may need a look at the machine. */
static bool may_double(crd_young *young) {
  if (young->space->nursery.bytes * 2 > young->adapt.max) return false;
  learn_l3(young);
  return young->space->nursery.bytes * 2 <= young->adapt.max;
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

/* The expected time of a minor collection of a nursery of so many bytes, of which this share survives. */
static double expected_ns(const crd_adapt *adapt, double survival, size_t bytes) {
  return adapt->ns_per_promoted_byte * survival * (double)bytes;
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
  if (young->adapt.old_die) return PAUSE_SHARE_OLD_DIE;
  if (!beside) return PAUSE_SHARE_MOST;
  bool late = crd_major_counted_bytes(young->marking) > young->marking->pacing.threshold;
  return !marks && late ? PAUSE_SHARE_INCREMENT : PAUSE_SHARE_BESIDE;
}

/* ns for each promoted byte in the phase that the heap is in. Without the second core, the last collections do not
 * count where the oldest die: a part of the nursery would promote much more (docs/design/pauses.md). */
static double rate_now(crd_young *young) {
  double average = young->adapt.ns_per_promoted_byte, recent = second_least(rates_of(young));
  if (young->adapt.old_die && !runs_beside(young)) return average;
  return recent > average ? recent : average;
}

size_t crd_adapt_hand_out(crd_young *young) {
  const crd_adapt *adapt = &young->adapt;
  size_t bytes = young->space->nursery.bytes;
  if (CRADLE_UNLIKELY(young->marking->rest.active) && young->marking->rest.piece_bytes < bytes)
    bytes = young->marking->rest.piece_bytes;
  double target = (double)young->space->options->pause_ns;
  bool counts = young->marking->major.phase == MAJOR_MARKING || young->marking->major.phase == MAJOR_CLEARING;
  uint32_t cuts = counts ? young->marking->major.behind : 0;
  if (target == 0 || (cuts == 0 && adapt->survival == 0)) return bytes;
  double most = target * pause_share(young), rate = rate_now(young);
  if (crd_adapt_roots_least_ns(adapt) > most) cuts = 0;
  most = with_roots(adapt, most);
  /* While shrinking.wait runs, a smaller nursery has just failed to make collections shorter. */
  bool shortens = !adapt->fixed && adapt->shrinking.wait == 0;
  while (shortens && bytes / 2 >= adapt->min && rate * adapt->survival * (double)bytes > most) bytes /= 2;
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
  crd_nursery_resize(young, before, reason);
}

/* The share of the oldest samples that lives, divided by the share of all samples that does: 1 if it is not known. */
static double old_share(const crd_adapt *adapt, double survival) {
  const crd_ages *ages = &adapt->ages;
  if (ages->old_seen < OLD_SAMPLES || ages->kept == 0 || survival <= SURVIVAL_HIGH) return 1;
  return (double)ages->old_kept / (double)ages->old_seen * (double)ages->seen / (double)ages->kept;
}

/* Whether clearly fewer of the oldest live: below OLD_DIE, and by more than chance. The variance is that of a
 * binomial share; both sides are squared to need no square root. */
static bool oldest_die(const crd_adapt *adapt, double survival) {
  const crd_ages *ages = &adapt->ages;
  if (old_share(adapt, survival) >= OLD_DIE) return false;
  double share = (double)ages->old_kept / (double)ages->old_seen;
  double distance = OLD_DIE * (double)ages->kept / (double)ages->seen - share;
  return distance * distance * (double)ages->old_seen > OLD_DEVIATIONS * OLD_DEVIATIONS * share * (1 - share);
}

/* Doubles the size where the ages say that more will die: at most the share of the oldest lives in the added half. */
static bool grow(crd_young *young, double survival) {
  crd_adapt *adapt = &young->adapt;
  size_t bytes = young->space->nursery.bytes;
  double share = old_share(adapt, survival), target = (double)young->space->options->pause_ns * PAUSE_SHARE_OLD_DIE;
  if (!oldest_die(adapt, survival) || adapt->growth.wait > 0) return false;
  if (target != 0 && expected_ns(adapt, survival * (1 + share) / 2, bytes * 2) > with_roots(adapt, target))
    return false;
  if (!may_double(young)) return false;
  if (!crd_nursery_resize(young, bytes * 2, "the oldest die: a larger nursery lets more of them die")) {
    wait_longer(&adapt->growth);
    return false;
  }
  /* The ages have decided, so a trial that runs is over. */
  adapt->shrinking.before = adapt->growth.before = 0;
  return true;
}

/* Where memory is refused, wait is set but backoff is not doubled: the size was not tried. */
static void begin_trial(crd_young *young, double survival) {
  crd_adapt *adapt = &young->adapt;
  size_t before = young->space->nursery.bytes;
  if (!crd_nursery_resize(young, before * 2, "trial: much survives")) {
    adapt->growth.wait = adapt->growth.backoff;
    return;
  }
  ASSERT(adapt->shrinking.before == 0, "[adapt.2] a trial begins while another runs");
  adapt->growth.before = before;
  adapt->growth.rate_before = survival;
}

static bool has_many_roots(const crd_adapt *adapt, size_t bytes) {
  return adapt->root_words > bytes / ROOT_BYTES;
}

/* If a trial ends by going back, nothing else is decided: the figures are of the larger size. */
static void decide(crd_young *young, double survival) {
  crd_adapt *adapt = &young->adapt;
  double target = (double)young->space->options->pause_ns;
  size_t bytes = young->space->nursery.bytes;
  bool in_time = target == 0 || expected_ns(adapt, survival, bytes * 2) < with_roots(adapt, target * PAUSE_SHARE_GROW);
  /* Half the size must not have many roots, or the next decision would double it again. */
  bool many_roots = has_many_roots(adapt, bytes), may_halve = bytes > adapt->base && !has_many_roots(adapt, bytes / 2);
  bool vain = survival > TRIAL_VAIN && old_share(adapt, survival) > OLD_LIVE;
  if (adapt->growth.before != 0)
    end_trial(young, &adapt->growth, survival < adapt->growth.rate_before * TRIAL_SUCCESS,
              "back: as much survives in the larger nursery");
  if (young->space->nursery.bytes != bytes || adapt->growth.wait > 0) return;
  if (bytes < adapt->base && in_time) {
    crd_nursery_resize(young, bytes * 2, "towards the base again: pauses allow it");
  } else if (many_roots && in_time && may_double(young)) {
    if (!crd_nursery_resize(young, bytes * 2, "many roots")) adapt->growth.wait = adapt->growth.backoff;
  } else if (survival > SURVIVAL_HIGH && !vain && in_time && may_double(young)) {
    begin_trial(young, survival);
  } else if (may_halve && vain && adapt->ages.old_seen >= OLD_SAMPLES) {
    crd_nursery_resize(young, bytes / 2, "the oldest live like the others: a smaller nursery is enough");
  } else if (survival < SURVIVAL_LOW && may_halve) {
    wait_longer(&adapt->growth);
    if (crd_nursery_resize(young, bytes / 2, "little survives")) crd_nursery_discard(young, false);
  }
}

/* --- for the pauses --- */

/* After a decision: counts from here on. */
static void begin_count(crd_adapt *adapt) {
  adapt->promoted = adapt->allocated = 0;
  adapt->ages = (crd_ages){0};
  adapt->collections = 0;
  adapt->least_rate = RATE_NONE;
}

/* Whether minor collections are expected to take too much of the pause target, if there is one. */
static bool takes_too_long(const crd_young *young, double survival) {
  double share = young->adapt.old_die ? PAUSE_SHARE_OLD_DIE : PAUSE_SHARE_MOST;
  double most = (double)young->space->options->pause_ns * share;
  return most != 0 &&
         expected_ns(&young->adapt, survival, young->space->nursery.bytes) > with_roots(&young->adapt, most);
}

/* Keeps the nursery from growing for a while: the two would undo each other. */
static void begin_shrinking(crd_young *young) {
  crd_adapt *adapt = &young->adapt;
  adapt->growth.before = 0;
  ASSERT(adapt->shrinking.before == 0, "[adapt.2] a trial begins while another runs");
  adapt->shrinking.before = young->space->nursery.bytes;
  adapt->shrinking.rate_before = adapt->least_rate;
  begin_count(adapt);
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

/* Asks for samples of the next nursery if survival comes near the share above which growth is worth it. */
static void want_ages(crd_young *young) {
  size_t every = young->space->nursery.bytes / NURSERY_SAMPLES;
  if (every < SAMPLE_MIN_BYTES) every = SAMPLE_MIN_BYTES;
  young->space->nursery.sample_bytes = young->adapt.survival > SURVIVAL_HIGH / 3 ? every : 0;
}

void crd_adapt_after_minor(crd_young *young, const cradle_event *minor) {
  crd_adapt *adapt = &young->adapt;
  if (adapt->fixed) return;
  ASSERT(young->space->nursery.bytes >= adapt->min && young->space->nursery.bytes <= adapt->max,
         "[adapt.1] the nursery's size");
  note_rate(young, minor);
  uint64_t filled = minor->u.minor.nursery_bytes;
  /* A collection that came early, on request, says little of what survives a full nursery. */
  if (filled < adapt->min / 4 * 3) return;
  adapt->survival += ((double)minor->u.minor.promoted_bytes / (double)filled - adapt->survival) * SURVIVAL_SHARE;
  if (adapt->shrinking.wait > 0) adapt->shrinking.wait--;
  bool may_shrink =
      adapt->shrinking.before == 0 && adapt->shrinking.wait == 0 && young->space->nursery.bytes / 2 >= adapt->min;
  if (filled < young->space->nursery.bytes / 4 * 3) {
    /* Where only a part is handed out for long, the size follows, or the first collections after the major collection
     * might be too long. */
    if (!runs_beside(young) || !may_shrink || !takes_too_long(young, adapt->survival)) return;
    begin_shrinking(young);
    want_ages(young);
    return;
  }
  if (adapt->growth.wait > 0) adapt->growth.wait--;
  adapt->promoted += minor->u.minor.promoted_bytes;
  adapt->allocated += filled;
  const crd_ages *ages = &young->space->nursery.ages;
  adapt->ages = (crd_ages){adapt->ages.seen + ages->seen, adapt->ages.kept + ages->kept,
                           adapt->ages.old_seen + ages->old_seen, adapt->ages.old_kept + ages->old_kept};
  adapt->collections++;
  double survival = (double)adapt->promoted / (double)adapt->allocated;
  bool knows_ages = adapt->ages.old_seen >= OLD_SAMPLES || adapt->collections > 1;
  if (knows_ages) adapt->old_die = oldest_die(adapt, survival);
  if (grow(young, survival)) {
    begin_count(adapt);
  } else if (may_shrink && knows_ages && takes_too_long(young, survival)) {
    begin_shrinking(young);
  } else if (adapt->collections >= DECISION_COLLECTIONS) {
    if (adapt->shrinking.before != 0)
      end_trial(young, &adapt->shrinking, shrinking_succeeds(young),
                "back: collections of the smaller nursery take as long");
    else
      decide(young, survival);
    begin_count(adapt);
  }
  want_ages(young);
}
