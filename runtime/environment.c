/* The environment over the options.
 *
 * What a user sets must not keep a program from starting: a value that is not accepted, or that
 * contradicts another one, is reported and put aside. Contradictions among the embedder's own
 * options are left to heap creation, which fails.
 */
#include <cradle/runtime.h>

#include "runtime/option_table.h"
#include "runtime/report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "CRADLE_"
/* Nurseries in a quarantine have whole pages. */
#define LARGEST_PAGE_BYTES ((size_t)64 << 10)
/* A maximum heap that is less than this above the nursery is refused: two arenas. */
#define ARENAS_LEAST_BYTES ((size_t)4 << 20)
/* In a maximum heap that a nursery of the heap's choice may be too large for, it gets this share. */
#define NURSERY_SHARE 8
#define MAXIMUM_LEAST_BYTES ((size_t)5 << 20)
/* What the address of an old generation on pages of 1 GiB is a multiple of. */
#define GIGANTIC_BYTES ((size_t)1 << 30)

static int report_value(const crd_option *option, const char *text) {
  char accepted[CRD_ACCEPTED_BYTES];
  crd_option_accepted(option, accepted);
  if (option->example == NULL)
    return crd_report("%s=%.80s: not accepted; wants %s", option->name, text, accepted);
  return crd_report("%s=%.80s: not accepted; wants %s (such as %s)", option->name, text, accepted,
                    option->example);
}

/* An empty variable counts as none: that is how shells and service files switch one off. */
static const char *value_of(const char *name) {
  const char *text = getenv(name);
  return text != NULL && *text != '\0' ? text : NULL;
}

static int overlay(const crd_option *option, cradle_options *options) {
  const char *text = value_of(option->name);
  if (text == NULL || crd_option_set(option, text, options)) return 0;
  return report_value(option, text);
}

static int report_unknown(const char *name, size_t length) {
  const crd_option *nearest = crd_option_nearest(name, length);
  int shown = length < 80 ? (int)length : 80;
  if (nearest == NULL)
    return crd_report("%.*s: unknown (docs/environment.md lists all)", shown, name);
  return crd_report("%.*s: unknown; did you mean %s? (docs/environment.md lists all)", shown, name,
                    nearest->name);
}

static int report_unknowns(void) {
  int reports = 0;
  for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
    if (strncmp(*entry, PREFIX, strlen(PREFIX)) != 0) continue;
    size_t length = strcspn(*entry, "=");
    if (crd_option_find(*entry, length) == NULL) reports += report_unknown(*entry, length);
  }
  return reports;
}

/* The least that a maximum heap may be with this nursery. */
static size_t least_maximum(size_t nursery) {
  return nursery != 0 ? ((nursery + 7) & ~(size_t)7) + ARENAS_LEAST_BYTES : MAXIMUM_LEAST_BYTES;
}

/* A maximum heap without room for the nursery and two arenas. Which nursery the heap would choose is not known here, so in one
 * that not every choice fits, it is given a size. */
static int settle_maximum(const cradle_options *before, cradle_options *options) {
  size_t max = options->heap_max_bytes, nursery = options->nursery_bytes, least = least_maximum(nursery);
  bool is_users = max != before->heap_max_bytes;
  int reports = 0;
  if (max == 0 || (!is_users && nursery == before->nursery_bytes)) return 0;
  if (max < least && !is_users) {
    options->nursery_bytes = before->nursery_bytes;
    return crd_report("CRADLE_GC_NURSERY=%.80s: leaves no room for two arenas in the program's maximum heap of %zu bytes; put aside",
                      value_of("CRADLE_GC_NURSERY"), max);
  }
  if (max < least) {
    reports = crd_report("CRADLE_GC_MAX=%.80s: too small for the nursery and two arenas; raised to %zu", value_of("CRADLE_GC_MAX"),
                         least);
    options->heap_max_bytes = max = least;
  }
  if (nursery == 0 && max < ARENAS_LEAST_BYTES + CRADLE_NURSERY_CHOSEN_MAX_BYTES) options->nursery_bytes = max / NURSERY_SHARE;
  return reports;
}

static int settle_minimum(const cradle_options *before, cradle_options *options) {
  size_t max = options->heap_max_bytes;
  if (max == 0 || options->major_min_bytes <= max) return 0;
  if (options->major_min_bytes == before->major_min_bytes && max == before->heap_max_bytes)
    return 0;
  bool is_users = options->major_min_bytes != before->major_min_bytes;
  options->major_min_bytes = max;
  if (!is_users)
    return crd_report("CRADLE_GC_MAX=%.80s: below the program's major_min_bytes of %zu, which is lowered to it",
                      value_of("CRADLE_GC_MAX"), before->major_min_bytes);
  return crd_report("CRADLE_GC_MIN=%.80s: above the maximum heap; lowered to it",
                    value_of("CRADLE_GC_MIN"));
}

/* A maximum heap that the address space is too small for. It is kept: the heap gets as large as it can. */
static int report_maximum(const cradle_options *before, const cradle_options *options) {
  size_t max = options->heap_max_bytes, reserve = options->reserve_bytes;
  if (max <= options->nursery_bytes || max - options->nursery_bytes <= reserve) return 0;
  if (max != before->heap_max_bytes)
    return crd_report("CRADLE_GC_MAX=%.80s: the old generation has address space for %zu bytes only (CRADLE_GC_RESERVE)",
                      value_of("CRADLE_GC_MAX"), reserve);
  if (reserve == before->reserve_bytes) return 0;
  return crd_report("CRADLE_GC_RESERVE=%.80s: too little address space for the program's maximum heap of %zu bytes",
                    value_of("CRADLE_GC_RESERVE"), max);
}

/* A nursery that the address space is too small for: what is promoted out of it must fit beside what there is. */
static int report_nursery(const cradle_options *before, const cradle_options *options) {
  size_t nursery = options->nursery_bytes, reserve = options->reserve_bytes;
  if (nursery <= reserve / 2) return 0;
  if (nursery != before->nursery_bytes)
    return crd_report("CRADLE_GC_NURSERY=%.80s: more than half of the old generation's address space of %zu bytes "
                      "(CRADLE_GC_RESERVE); less of it may be handed out",
                      value_of("CRADLE_GC_NURSERY"), reserve);
  if (reserve == before->reserve_bytes) return 0;
  return crd_report("CRADLE_GC_RESERVE=%.80s: less than twice the program's nursery of %zu bytes; less of it may be handed out",
                    value_of("CRADLE_GC_RESERVE"), nursery);
}

/* The user's setting, or the embedder's, which is now without effect, is put aside. */
static int put_aside(const char *name, const char *why) {
  const char *text = value_of(name);
  return text == NULL ? 0 : crd_report("%s=%.80s: %s", name, text, why);
}

/* What only changes how CRADLE_STRESS works, when there is none: the user's own is reported. What the embedder chose without
 * CRADLE_STRESS either is left for heap creation to refuse. */
static int settle_stress(const cradle_options *before, cradle_options *options) {
  static const char why[] = "does nothing without CRADLE_STRESS";
  int reports = 0;
  if (options->stress_period != 0) return 0;
  bool was_on = before->stress_period != 0;
  const struct {
    const char *name;
    uint64_t *now;
    uint64_t before;
  } fields[] = {{"CRADLE_STRESS_MAJOR", &options->stress_major, before->stress_major},
                {"CRADLE_STRESS_SEED", &options->stress_seed, before->stress_seed},
                {"CRADLE_STRESS_FIRST", &options->stress_first, before->stress_first},
                {"CRADLE_STRESS_LAST", &options->stress_last, before->stress_last}};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    if (*fields[i].now == 0 || (*fields[i].now == fields[i].before && !was_on)) continue;
    if (*fields[i].now != fields[i].before) reports += put_aside(fields[i].name, why);
    *fields[i].now = 0;
  }
  if (options->stress_at != CRADLE_STRESS_ANYWHERE && (options->stress_at != before->stress_at || was_on)) {
    if (options->stress_at != before->stress_at) reports += put_aside("CRADLE_STRESS_AT", why);
    options->stress_at = CRADLE_STRESS_ANYWHERE;
  }
  return reports;
}

static int settle_bounds(const cradle_options *before, cradle_options *options) {
  if (options->stress_last == 0 || options->stress_first <= options->stress_last) return 0;
  if (options->stress_first == before->stress_first && options->stress_last == before->stress_last) return 0;
  options->stress_first = options->stress_last = 0;
  return put_aside(value_of("CRADLE_STRESS_LAST") != NULL ? "CRADLE_STRESS_LAST" : "CRADLE_STRESS_FIRST",
                   "no collection lies between CRADLE_STRESS_FIRST and it; all take place");
}

/* A quarantine that the user asks for comes with its report. One that the user asks for, or asks huge pages for, comes with base
 * pages. */
static int settle_quarantine(const cradle_options *before, cradle_options *options) {
  bool is_users = value_of("CRADLE_QUARANTINE") != NULL;
  if (options->quarantine == 0) return 0;
  if (is_users && value_of("CRADLE_FAULTS") == NULL && before->fault_report == CRADLE_FAULTS_LEFT)
    options->fault_report = CRADLE_FAULTS_REPORTED;
  cradle_hugepages asked = options->hugepages_nursery;
  if (asked == CRADLE_HUGEPAGES_AUTO || asked == CRADLE_HUGEPAGES_OFF) return 0;
  if (!is_users && asked == before->hugepages_nursery) return 0;
  options->hugepages_nursery = CRADLE_HUGEPAGES_OFF;
  return put_aside("CRADLE_HUGEPAGES", is_users ? "CRADLE_QUARANTINE needs base pages for the nursery, and gets them"
                                                : "the program's quarantine needs base pages for the nursery, and gets them");
}

/* Pages of 1 GiB where the program has the old generation at an address that they do not fit: the pages before them in the order. */
static int settle_base(const cradle_options *before, cradle_options *options) {
  cradle_hugepages asked = options->hugepages_arenas;
  if ((uintptr_t)options->base_address % GIGANTIC_BYTES == 0 || asked == before->hugepages_arenas) return 0;
  if (asked != CRADLE_HUGEPAGES_1G && asked != CRADLE_HUGEPAGES_1G_STRICT) return 0;
  options->hugepages_arenas = asked == CRADLE_HUGEPAGES_1G ? CRADLE_HUGEPAGES_HUGETLB : CRADLE_HUGEPAGES_HUGETLB_STRICT;
  return put_aside("CRADLE_HUGEPAGES", "the program's base_address is no multiple of 1 GiB; the arenas get pages of 2 MiB");
}

/* The nurseries of a quarantine together have address space up to a bound: of large ones, fewer are kept. What the program
 * asked for altogether is left for heap creation to refuse. */
static int settle_quarantine_size(const cradle_options *before, cradle_options *options) {
  size_t nursery = options->nursery_bytes != 0 ? options->nursery_bytes : CRADLE_NURSERY_CHOSEN_MAX_BYTES;
  size_t pages = nursery / LARGEST_PAGE_BYTES + (nursery % LARGEST_PAGE_BYTES != 0);
  size_t asked = options->quarantine, most = CRADLE_QUARANTINE_MAX_BYTES / LARGEST_PAGE_BYTES / pages - 2;
  if (asked <= most || (asked == before->quarantine && options->nursery_bytes == before->nursery_bytes)) return 0;
  options->quarantine = most;
  if (asked != before->quarantine)
    return crd_report("CRADLE_QUARANTINE=%.80s: above 64 GiB with nurseries of %s%zu bytes; lowered to %zu",
                      value_of("CRADLE_QUARANTINE"), options->nursery_bytes != 0 ? "" : "up to ", nursery, most);
  return crd_report("CRADLE_GC_NURSERY=%.80s: above 64 GiB for a quarantine of %zu nurseries; that is lowered to %zu",
                    value_of("CRADLE_GC_NURSERY"), asked, most);
}

int cradle_options_from_environment(cradle_options *options) {
  /* Of another version of the headers: heap creation will say so. */
  if (options == NULL || options->size != sizeof *options) return 0;
  cradle_options before = *options;
  int reports = 0;
  for (size_t i = 0; i < crd_option_count; i++) reports += overlay(&crd_options[i], options);
  reports += settle_maximum(&before, options);
  reports += settle_minimum(&before, options);
  reports += report_maximum(&before, options);
  reports += report_nursery(&before, options);
  reports += settle_stress(&before, options);
  reports += settle_bounds(&before, options);
  reports += settle_quarantine(&before, options);
  reports += settle_quarantine_size(&before, options);
  reports += settle_base(&before, options);
  return reports + report_unknowns();
}
