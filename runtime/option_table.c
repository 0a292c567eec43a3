/* The option table and what is made from its rows. */
#include "runtime/option_table.h"

#include "runtime/platform/process.h"
#include "runtime/report.h"

#include <stdio.h>
#include <string.h>

#define KIB ((uint64_t)1 << 10)
#define PREFIX_LENGTH (sizeof CRD_VARIABLE_PREFIX - 1)
/* A name up to this many edits away from a variable's name counts as a misspelling of it, but at most one edit in three
 * letters behind the prefix: other programs have CRADLE_ variables, too. */
#define MISSPELLING_EDITS 3
#define NAME_MAX_BYTES 64

#define FIELD(name) {#name, offsetof(cradle_options, name)}
#define ONE(name) {FIELD(name), NO_FIELD}
#define NO_FIELD {NULL, 0}
#define NONE {NO_FIELD, NO_FIELD}

enum { CHOICE_GC, CHOICE_PLACE, CHOICE_FAULTS, CHOICE_THREADS, CHOICE_PAGES, CHOICES };
#define CHOICE_NAMES 6
static const struct {
  const char *names[CHOICE_NAMES];
  const char *accepted;
} choices[CHOICES] = {
    [CHOICE_GC] = {{[CRADLE_GC_ON] = "on", [CRADLE_GC_OFF] = "off"}, "on or off"},
    [CHOICE_PLACE] = {{[CRADLE_STRESS_ANYWHERE] = "anywhere",
                       [CRADLE_STRESS_ALLOCATIONS] = "allocations",
                       [CRADLE_STRESS_SAFEPOINTS] = "safepoints"},
                      "anywhere, allocations or safepoints"},
    [CHOICE_FAULTS] =
        {{[CRADLE_FAULTS_LEFT] = "0", [CRADLE_FAULTS_REPORTED] = "1", [CRADLE_FAULTS_OWN_STACK] = "altstack"},
         "0, 1 or altstack"},
    [CHOICE_THREADS] =
        {{[CRADLE_GC_THREADS_NONE] = "0", [CRADLE_GC_THREADS_ONE] = "1", [CRADLE_GC_THREADS_AUTO] = "auto"},
         "0, 1 or auto"},
    [CHOICE_PAGES] = {{[CRADLE_HUGEPAGES_AUTO] = "auto",
                       [CRADLE_HUGEPAGES_HUGETLB] = "hugetlb",
                       [CRADLE_HUGEPAGES_OFF] = "off",
                       [CRADLE_HUGEPAGES_HUGETLB_STRICT] = "hugetlb!"},
                      "auto, hugetlb, hugetlb! or off, or such for nursery= and arenas="},
};

const crd_option crd_options[] = {
    {"CRADLE_GC", CRD_OPTION_CHOICE, ONE(gc), CHOICE_GC, 0, "off", "on",
     "off: nothing is collected, so that a program runs before it has roots; it stops with a message where a "
     "collection would begin."},
    {"CRADLE_GC_NURSERY", CRD_OPTION_SIZE, ONE(nursery_bytes), CRADLE_NURSERY_MIN_BYTES, CRADLE_NURSERY_MAX_BYTES, "4M",
     "chosen from the L2 cache", "Size of the nursery, where objects are born."},
    {"CRADLE_GC_MAJOR_COLLECT", CRD_OPTION_FACTOR, ONE(major_factor), 1, CRADLE_FACTOR_MAX, "1.82", "1.82",
     "A major collection starts when the old generation is this many times what last survived. "
     "Less saves memory, more saves time."},
    {"CRADLE_GC_GROWTH", CRD_OPTION_FACTOR, ONE(major_growth), 1, CRADLE_FACTOR_MAX, "1.4", "1.4",
     "The threshold grows at most by this factor from one major collection to the next. It may grow more if the last "
     "one freed less than an eighth, or if another one would be due at once."},
    {"CRADLE_GC_MIN", CRD_OPTION_SIZE, ONE(major_min_bytes), 0, CRADLE_ADDRESS_MAX_BYTES, "64M",
     "8 nurseries of the first size", "No major collection starts below it. 0: the default."},
    {"CRADLE_GC_MAX", CRD_OPTION_SIZE, ONE(heap_max_bytes), 0, CRADLE_ADDRESS_MAX_BYTES, "2G",
     "no limit, or 3/4 of the cgroup's",
     "The most memory for objects, old generation and nursery together. 0: the default."},
    {"CRADLE_GC_MAX_DELTA", CRD_OPTION_SIZE, ONE(major_max_delta), 0, CRADLE_ADDRESS_MAX_BYTES, "512M",
     "an eighth of the memory", "The threshold is at most this far above what survived. 0: the default."},
    {"CRADLE_GC_PAUSE", CRD_OPTION_TIME, ONE(pause_ns), 0, UINT64_C(1000000000), "1ms", "2ms",
     "Pause target: the collector cuts major collections into increments and shrinks the nursery to keep pauses below "
     "it. 0: none, a major collection runs in one go."},
    {"CRADLE_GC_THREADS", CRD_OPTION_CHOICE, ONE(gc_threads), CHOICE_THREADS, 0, NULL, "0; auto where the program asks",
     "1: a thread of the collector marks beside the program. auto: if the process may use two CPUs and the heap has "
     "grown to 8 MiB; see docs/tuning.md. 0: none."},
    {"CRADLE_GC_NURSERY_FIXED", CRD_OPTION_BOOL, ONE(nursery_fixed), 0, 1, NULL, "0",
     "1: the size chosen from the L2 cache never changes. A size that CRADLE_GC_NURSERY gives never does."},
    {"CRADLE_GC_RESERVE", CRD_OPTION_SIZE, ONE(reserve_bytes), CRADLE_RESERVE_MIN_BYTES, CRADLE_ADDRESS_MAX_BYTES,
     "16G", "room for the machine's memory, at least 64G",
     "Address space reserved for the old generation; it costs no memory. Where it is limited or refused, a share of "
     "what "
     "is left."},
    {"CRADLE_HUGEPAGES",
     CRD_OPTION_POLICY,
     {FIELD(hugepages_nursery), FIELD(hugepages_arenas)},
     CHOICE_PAGES,
     0,
     "nursery=auto,arenas=hugetlb",
     "auto",
     "Pages behind the heap; see docs/huge-pages-policy.md. auto: transparent huge pages; hugetlb: a reserved pool "
     "first; off: base pages. With a !, no heap is made when the pool refuses."},
    {CRD_LOG_VARIABLE, CRD_OPTION_LOG, NONE, 0, 0, "gc:gc.log", "no log",
     "Writes a log of the collector's work, as text, json or line; see docs/logging.md."},
    {CRD_PROFILE_VARIABLE, CRD_OPTION_FILE, NONE, 0, 0, "profile-%d", "no profile",
     "Writes a profile of what is allocated where; see docs/profiler.md."},
    {"CRADLE_PROFILE_RATE", CRD_OPTION_SIZE, ONE(sampler.interval_bytes), CRADLE_SAMPLE_MIN_BYTES,
     CRADLE_SAMPLE_MAX_BYTES, "512K", "512K",
     "One sample in so many allocated bytes, for the profile and for a sampler of the program's."},
    {CRD_STATS_VARIABLE, CRD_OPTION_SWITCH, NONE, 0, 1, NULL, "0",
     "1: prints statistics of each heap on standard error when it ends; see docs/statistics.md."},
    {"CRADLE_STRESS", CRD_OPTION_STRESS, ONE(stress_period), 0, UINT64_MAX, "auto", "0",
     "Collects at every n-th allocation, to find references that are not rooted. auto: 1,major=2,times=4, and "
     "CRADLE_QUARANTINE=8 and CRADLE_VERIFY=1 unless they are set. 0: off."},
    {"CRADLE_STRESS,major", CRD_OPTION_COUNT, ONE(stress_major), 0, UINT64_MAX, "10", "0",
     "One in k stress collections, on average, is full and compacting, so that every object moves. 0: none."},
    {"CRADLE_STRESS,seed", CRD_OPTION_SEED, ONE(stress_seed), 0, UINT64_MAX, "42", "0",
     "The distances between stress collections are random from this seed, and n on average. random: a seed is drawn "
     "and printed. 0: the distances are equal."},
    {"CRADLE_STRESS,first", CRD_OPTION_COUNT, ONE(stress_first), 0, UINT64_MAX, "100", "0",
     "Stress collections with a lower number are only counted. 0: from the first."},
    {"CRADLE_STRESS,last", CRD_OPTION_COUNT, ONE(stress_last), 0, UINT64_MAX, "100", "0",
     "Stress collections with a higher number are only counted. 0: no end."},
    {"CRADLE_STRESS,at", CRD_OPTION_CHOICE, ONE(stress_at), CHOICE_PLACE, 0, NULL, "anywhere",
     "What n counts: allocations, safepoint polls, or both."},
    {"CRADLE_STRESS,times", CRD_OPTION_COUNT, ONE(stress_times), 0, 1000, "20", "0",
     "Stress collections are spread so that the program takes at most about so many times its own time; 2 to 1000. 0: "
     "all take place."},
    {"CRADLE_STRESS,strict", CRD_OPTION_BOOL, ONE(stress_strict), 0, 1, NULL, "0",
     "1: a stress run that moved nothing aborts instead of printing a warning."},
    {"CRADLE_QUARANTINE", CRD_OPTION_COUNT, ONE(quarantine), 0, CRADLE_QUARANTINE_MAX, "8", "0",
     "Memory that a collection emptied stays inaccessible until the program has used so many nurseries of other "
     "memory. "
     "A stale reference into it faults and is reported. 0: off."},
    {"CRADLE_FAULTS", CRD_OPTION_CHOICE, ONE(fault_report), CHOICE_FAULTS, 0, NULL, "0; 1 with CRADLE_QUARANTINE",
     "1: a fault at a stale reference is reported on standard error; see docs/fault-reports.md. altstack: on a signal "
     "stack of its own."},
    {"CRADLE_VERIFY", CRD_OPTION_BOOL, ONE(verify), 0, 1, NULL, "0",
     "1: checks the whole heap before and after every collection."},
};
const size_t crd_option_count = sizeof crd_options / sizeof crd_options[0];

/* --- finding rows --- */

const crd_option *crd_option_find(const char *name, size_t length) {
  for (size_t i = 0; i < crd_option_count; i++)
    if (strlen(crd_options[i].name) == length && memcmp(crd_options[i].name, name, length) == 0) return &crd_options[i];
  return NULL;
}

static size_t least(size_t a, size_t b, size_t c) {
  size_t result = a < b ? a : b;
  return result < c ? result : c;
}

/* Levenshtein's distance in any case, one row of the matrix at a time: row[j] is the distance between the first i bytes
 * of a and the first j bytes of b. */
static size_t edits_between(const char *a, size_t a_length, const char *b, size_t b_length) {
  size_t row[NAME_MAX_BYTES + 1];
  for (size_t j = 0; j <= b_length; j++) row[j] = j;
  for (size_t i = 1; i <= a_length; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b_length; j++) {
      size_t above = row[j];
      row[j] = least(above + 1, row[j - 1] + 1, diagonal + (crd_in_capitals(a[i - 1]) != crd_in_capitals(b[j - 1])));
      diagonal = above;
    }
  }
  return row[b_length];
}

const crd_option *crd_option_of(const char *name, const crd_option_field **field) {
  for (size_t i = 0; i < crd_option_count; i++)
    for (size_t k = 0; k < CRD_OPTION_FIELDS; k++) {
      *field = &crd_options[i].fields[k];
      if ((*field)->name != NULL && strcmp((*field)->name, name) == 0) return &crd_options[i];
    }
  return NULL;
}

static size_t edits_allowed(const char *candidate) {
  size_t letters = strlen(candidate) - PREFIX_LENGTH;
  return letters / 3 < MISSPELLING_EDITS ? letters / 3 : MISSPELLING_EDITS;
}

const crd_option *crd_option_nearest(const char *name, size_t length) {
  const crd_option *nearest = NULL;
  size_t fewest = MISSPELLING_EDITS + 1;
  if (length > NAME_MAX_BYTES) return NULL;
  for (size_t i = 0; i < crd_option_count; i++) {
    const char *candidate = crd_options[i].name;
    size_t edits = edits_between(candidate, strlen(candidate), name, length);
    if (edits >= fewest || edits > edits_allowed(candidate)) continue;
    fewest = edits;
    nearest = &crd_options[i];
  }
  return nearest;
}

/* --- values --- */

static bool set_size(const crd_option *option, const char *text, void *field) {
  size_t bytes;
  if (!crd_parse_size(text, &bytes)) return false;
  if (bytes < option->minimum || bytes > option->maximum) return false;
  *(size_t *)field = bytes;
  return true;
}

static bool set_factor(const crd_option *option, const char *text, void *field) {
  uint64_t whole;
  double fraction;
  if (!crd_parse_decimal(&text, &whole, &fraction) || *text != '\0') return false;
  double factor = (double)whole + fraction;
  if (!(factor > (double)option->minimum && factor <= (double)option->maximum)) return false;
  *(double *)field = factor;
  return true;
}

/* Stores a number with its unit as nanoseconds; 0 needs no unit. */
static bool set_time(const crd_option *option, const char *text, void *field) {
  static const struct {
    const char *name;
    uint64_t ns;
  } units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
  uint64_t whole;
  double fraction;
  if (!crd_parse_decimal(&text, &whole, &fraction)) return false;
  if (*text == '\0' && whole == 0 && fraction == 0) {
    *(uint64_t *)field = 0;
    return true;
  }
  while (*text == ' ') text++;
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
    if (!crd_equal_in_any_case(text, units[i].name) || whole > option->maximum / units[i].ns) continue;
    uint64_t ns = whole * units[i].ns + (uint64_t)(fraction * (double)units[i].ns);
    if (ns < option->minimum || ns > option->maximum) return false;
    *(uint64_t *)field = ns;
    return true;
  }
  return false;
}

static bool parse_count(const crd_option *option, const char *text, uint64_t *count) {
  if (*text == '\0' || !crd_parse_whole(&text, count) || *text != '\0') return false;
  return *count >= option->minimum && *count <= option->maximum;
}

static bool set_count(const crd_option *option, const char *text, void *field) {
  uint64_t count;
  if (!parse_count(option, text, &count)) return false;
  *(uint64_t *)field = count;
  return true;
}

#define AUTO_MAJOR 2
#define AUTO_TIMES 4
#define AUTO_QUARANTINE 8

/* The rows of the other fields come later, so a value that the user gives them wins. */
static bool set_stress(const crd_option *option, const char *text, cradle_options *options) {
  if (!crd_equal_in_any_case(text, "auto")) return set_count(option, text, &options->stress_period);
  options->stress_period = 1;
  if (options->gc == CRADLE_GC_OFF) return true; /* stress is then put aside, and nothing else should be */
  options->stress_major = AUTO_MAJOR;
  options->stress_times = AUTO_TIMES;
  if (options->quarantine == 0) options->quarantine = AUTO_QUARANTINE;
  options->verify = true;
  return true;
}

/* Draws a seed: any number but 0 that is hard to predict. It is drawn once in a process, so that one setting repeats
 * the run of all its heaps. */
static uint64_t drawn_seed(void) {
  static uint64_t drawn; /* 0: not drawn so far */
  uint64_t now = crd_unix_time_ns();
  uint64_t before = 0,
           seed = now / 1000000000u * 1000000007u ^ now % 1000000000u ^ (uint64_t)crd_process_number() << 20;
  seed = (seed & UINT32_MAX) | 1;
  return __atomic_compare_exchange_n(&drawn, &before, seed, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ? seed : before;
}

/* Stores the given number, or draws one. */
static bool set_seed(const crd_option *option, const char *text, void *field) {
  if (!crd_equal_in_any_case(text, "random")) return set_count(option, text, field);
  uint64_t seed = drawn_seed();
  *(uint64_t *)field = seed;
  crd_report("%s=%ju was drawn; set it to repeat this run", option->name, (uintmax_t)seed);
  return true;
}

/* The row's minimum numbers the list of choices; the field is an enumeration. */
static bool set_choice(const crd_option *option, const char *text, void *field) {
  for (int i = 0; i < CHOICE_NAMES; i++) {
    const char *name = choices[option->minimum].names[i];
    if (name == NULL || !crd_equal_in_any_case(text, name)) continue;
    memcpy(field, &i, sizeof i);
    return true;
  }
  return false;
}

static bool is_switch(const crd_option *option, const char *text) {
  uint64_t count;
  return parse_count(option, text, &count);
}

static bool set_bool(const crd_option *option, const char *text, void *field) {
  uint64_t count;
  if (!parse_count(option, text, &count)) return false;
  *(bool *)field = count != 0;
  return true;
}

/* Stores one policy for both regions, or one for each region that is named: region=policy,region=policy. */
static bool set_policies(const crd_option *option, const char *text, cradle_options *options) {
  static const char *const regions[CRD_OPTION_FIELDS] = {"nursery=", "arenas="};
  cradle_options changed = *options;
  bool by_region = strchr(text, '=') != NULL;
  for (bool more = true; more;) {
    char part[32] = "";
    size_t length = by_region ? strcspn(text, ",") : strlen(text), stored = 0;
    if (length >= sizeof part) return false;
    memcpy(part, text, length);
    for (size_t i = 0; i < CRD_OPTION_FIELDS; i++) {
      size_t skip = by_region ? strlen(regions[i]) : 0;
      if (strncmp(part, regions[i], skip) != 0) continue;
      if (!set_choice(option, part + skip, (char *)&changed + option->fields[i].offset)) return false;
      stored++;
    }
    if (stored == 0) return false;
    more = text[length] == ',';
    text += length + more;
  }
  *options = changed;
  return true;
}

size_t crd_option_bytes(const crd_option *option) {
  switch (option->type) {
  case CRD_OPTION_BOOL: return sizeof(bool);
  case CRD_OPTION_CHOICE:
  case CRD_OPTION_POLICY: return sizeof(int);
  default: return sizeof(uint64_t);
  }
}

bool crd_option_set(const crd_option *option, const char *text, cradle_options *options) {
  void *field = (char *)options + option->fields[0].offset;
  switch (option->type) {
  case CRD_OPTION_SIZE: return set_size(option, text, field);
  case CRD_OPTION_FACTOR: return set_factor(option, text, field);
  case CRD_OPTION_COUNT: return set_count(option, text, field);
  case CRD_OPTION_STRESS: return set_stress(option, text, options);
  case CRD_OPTION_TIME: return set_time(option, text, field);
  case CRD_OPTION_BOOL: return set_bool(option, text, field);
  case CRD_OPTION_SEED: return set_seed(option, text, field);
  case CRD_OPTION_CHOICE: return set_choice(option, text, field);
  case CRD_OPTION_POLICY: return set_policies(option, text, options);
  case CRD_OPTION_SWITCH: return is_switch(option, text);
  case CRD_OPTION_LOG:
  case CRD_OPTION_FILE: return true;
  }
  return false;
}

/* --- words --- */

static const char *unit_of(uint64_t *number) {
  static const char *const units[] = {"", "K", "M", "G", "T"};
  size_t i = 0;
  for (; *number != 0 && *number % KIB == 0 && i + 1 < sizeof units / sizeof units[0]; i++) *number /= KIB;
  return units[i];
}

static void size_accepted(uint64_t minimum, uint64_t maximum, char *words) {
  const char *minimum_unit = unit_of(&minimum), *maximum_unit = unit_of(&maximum);
  snprintf(words, CRD_ACCEPTED_BYTES, "a size from %ju%s to %ju%s", (uintmax_t)minimum, minimum_unit,
           (uintmax_t)maximum, maximum_unit);
}

void crd_option_accepted(const crd_option *option, char words[CRD_ACCEPTED_BYTES]) {
  switch (option->type) {
  case CRD_OPTION_SIZE: size_accepted(option->minimum, option->maximum, words); break;
  case CRD_OPTION_FACTOR:
    snprintf(words, CRD_ACCEPTED_BYTES, "a number above %ju, at most %ju", (uintmax_t)option->minimum,
             (uintmax_t)option->maximum);
    break;
  case CRD_OPTION_COUNT:
    strcpy(words, "a whole number");
    if (option->maximum != UINT64_MAX)
      snprintf(words, CRD_ACCEPTED_BYTES, "a whole number up to %ju", (uintmax_t)option->maximum);
    break;
  case CRD_OPTION_STRESS: strcpy(words, "a whole number or auto"); break;
  case CRD_OPTION_TIME: strcpy(words, "a time from 0 to 1s with its unit (ns, us, ms, s)"); break;
  case CRD_OPTION_SWITCH:
  case CRD_OPTION_BOOL: strcpy(words, "0 or 1"); break;
  case CRD_OPTION_SEED: strcpy(words, "a whole number or random"); break;
  case CRD_OPTION_CHOICE:
  case CRD_OPTION_POLICY: strcpy(words, choices[option->minimum].accepted); break;
  case CRD_OPTION_FILE: strcpy(words, "FILE"); break;
  case CRD_OPTION_LOG: strcpy(words, "FILE or WORD,WORD:FILE"); break;
  }
}
