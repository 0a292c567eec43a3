#include "gc/old/curve.h"

#define KEPT_EVERY 8
/* Fewer samples of a bin say nothing. */
#define SEEN_MIN 12

static uint32_t bin_of(uint64_t age) {
  uint32_t bin = 0;
  while (bin < CURVE_BINS - 1 && age >= CURVE_FIRST_BYTES << bin) bin++;
  return bin;
}

void crd_curve_note(crd_curve *curve, uint64_t age, uintptr_t promoted_to) {
  crd_curve_bin *bin = &curve->bins[bin_of(age)];
  bin->seen++;
  bin->kept += promoted_to != 0;
  if (promoted_to == 0 || ++curve->skipped < KEPT_EVERY) return;
  curve->skipped = 0;
  curve->samples[curve->next] = (crd_curve_sample){promoted_to, curve->allocated - age, true};
  curve->next = (curve->next + 1) % CURVE_SAMPLES;
}

static double share(uint32_t kept, uint32_t seen) {
  return (double)kept / (double)seen;
}

void crd_curve_settle(crd_curve *curve) {
  for (crd_curve_bin *bin = curve->bins; bin < curve->bins + CURVE_BINS; bin++) {
    if (bin->seen < SEEN_MIN) continue;
    bin->share = share(bin->kept, bin->seen);
    bin->source = CURVE_MINOR;
    bin->seen = bin->kept = 0;
  }
}

void crd_curve_begin_marking(crd_curve *curve) {
  for (uint32_t i = 0; i < CURVE_SAMPLES; i++) curve->samples[i].born_marked = false;
}

static void judge_samples(crd_curve *curve, const crd_old *old) {
  for (crd_curve_sample *sample = curve->samples; sample < curve->samples + CURVE_SAMPLES; sample++) {
    if (sample->address == 0 || sample->born_marked) continue;
    ASSERT(old_is_allocated(old, sample->address), "[curve.1] a sample is no object");
    crd_curve_bin *bin = &curve->bins[bin_of(curve->allocated - sample->born)];
    bool lives = old_is_marked(old, sample->address);
    bin->old_seen++;
    bin->old_kept += lives;
    if (!lives) sample->address = 0;
  }
}

void crd_curve_end_marking(crd_curve *curve, const crd_old *old, uint64_t nursery_bytes) {
  judge_samples(curve, old);
  for (uint32_t i = bin_of(nursery_bytes); i < CURVE_BINS; i++) {
    crd_curve_bin *bin = &curve->bins[i];
    if (bin->old_seen < SEEN_MIN) continue;
    *bin = (crd_curve_bin){.share = share(bin->old_kept, bin->old_seen), .source = CURVE_MARKING};
  }
}

void crd_curve_forget(crd_curve *curve) {
  for (uint32_t i = 0; i < CURVE_SAMPLES; i++) curve->samples[i].address = 0;
}

/* The share that lives at the ages of a bin; false: not known. */
static bool lives_at(const crd_curve *curve, const crd_curve_bin *bin, bool hints, double *lives) {
  if (bin->seen >= SEEN_MIN)
    *lives = share(bin->kept, bin->seen);
  else if (bin->source == CURVE_MINOR)
    *lives = bin->share;
  else if (bin->source == CURVE_MARKING && hints)
    *lives = bin->share * curve->promoted;
  else
    return false;
  return true;
}

/* At ages that are not known, as many live as at the younger ones. What was seen earlier may be of another phase of the
 * program: no more live than at the younger ages, which are seen now. */
double crd_curve_promoted(const crd_curve *curve, uint64_t nursery_bytes, bool hints) {
  double lives = curve->promoted, most = 1, promoted = 0;
  uint64_t from = 0;
  for (uint32_t i = 0; from < nursery_bytes; i++) {
    uint64_t end = CURVE_FIRST_BYTES << i;
    if (i >= CURVE_BINS - 1 || end > nursery_bytes) end = nursery_bytes;
    if (lives_at(curve, &curve->bins[i], hints, &lives)) {
      if (curve->bins[i].seen < SEEN_MIN && lives > most) lives = most;
      most = lives;
    }
    promoted += (double)(end - from) * lives;
    from = end;
  }
  return promoted / (double)nursery_bytes;
}

void crd_curve_write(const crd_curve *curve, crd_text *text) {
  for (uint32_t i = 0; i < CURVE_BINS; i++) {
    double lives;
    if (!lives_at(curve, &curve->bins[i], true, &lives)) continue;
    unsigned long long kib = (CURVE_FIRST_BYTES << i) >> 10;
    bool small = kib < 1024;
    crd_text_format(text, "%s%llu %s %u", text->length == 0 ? "" : ", ", small ? kib : kib >> 10, small ? "KiB" : "MiB",
                    (unsigned)(lives * 100 + 0.5));
  }
}
