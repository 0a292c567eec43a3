#include "gc/base/option_table.h"

#include <string.h>

#define KIB ((uint64_t)1 << 10)
#define ANY UINT64_MAX
#define FIELD(name) #name, offsetof(cradle_options, name)
#define CHOICE(list) .names = (list), .most = sizeof(list) / sizeof *(list) - 1

static const char *const gc_names[] = {[CRADLE_GC_ON] = "on", [CRADLE_GC_OFF] = "off"};
static const char *const place_names[] = {[CRADLE_STRESS_ANYWHERE] = "anywhere",
                                          [CRADLE_STRESS_ALLOCATIONS] = "allocations",
                                          [CRADLE_STRESS_SAFEPOINTS] = "safepoints"};
static const char *const thread_names[] = {"0", "1",  "2",  "3",  "4",  "5",  "6",  "7",  "8",
                                           "9", "10", "11", "12", "13", "14", "15", "16", "auto"};
static const char *const page_names[] = {[CRADLE_HUGEPAGES_AUTO] = "auto",
                                         [CRADLE_HUGEPAGES_HUGETLB] = "hugetlb",
                                         [CRADLE_HUGEPAGES_OFF] = "off",
                                         [CRADLE_HUGEPAGES_HUGETLB_STRICT] = "hugetlb!"};
static const char *const kind_names[] = {[CRADLE_KIND_REFERENCE] = "references", [CRADLE_KIND_VALUE] = "values"};
#define PAGES_WANTED "wants auto, hugetlb, hugetlb! or off"
#define FACTOR_WANTED "wants a number above 1, at most 1000"

const crd_option crd_options[] = {
    {"CRADLE_GC", CRD_OPTION_CHOICE, FIELD(gc), CHOICE(gc_names), .wants = "wants on or off", .example = "off",
     .initial = "on",
     .help = "off: nothing is collected, so that a program runs before it has roots; it stops with a message where a "
             "collection would begin."},
    {"CRADLE_GC_NURSERY", CRD_OPTION_SIZE, FIELD(nursery_bytes), CRADLE_NURSERY_MIN_BYTES, CRADLE_NURSERY_MAX_BYTES,
     .or_zero = true, .wants = "wants a size from 4K to 1G, or 0", .example = "4M",
     .initial = "chosen from the L2 cache", .help = "Size of the nursery, where objects are born. 0: the default."},
    {"CRADLE_GC_MAJOR_COLLECT", CRD_OPTION_FACTOR, FIELD(major_factor), 1, CRADLE_FACTOR_MAX, .wants = FACTOR_WANTED,
     .example = "1.82", .initial = "1.82",
     .help = "The threshold is this many times what last survived. A major collection ought to be over when the old "
             "generation reaches it. Less saves memory, more saves time."},
    {"CRADLE_GC_GROWTH", CRD_OPTION_FACTOR, FIELD(major_growth), 1, CRADLE_FACTOR_MAX, .wants = FACTOR_WANTED,
     .example = "1.4", .initial = "1.4",
     .help = "The threshold grows at most by this factor from one major collection to the next. It may grow more if "
             "the last one freed less than an eighth, or if another one would be due at once."},
    {"CRADLE_GC_MIN", CRD_OPTION_SIZE, FIELD(major_min_bytes), 0, ANY, .wants = "wants a size", .example = "64M",
     .initial = "8 nurseries of the first size", .help = "The threshold is at least this. 0: the default."},
    {"CRADLE_GC_MAX", CRD_OPTION_SIZE, FIELD(heap_max_bytes), 0, ANY, .wants = "wants a size", .example = "2G",
     .initial = "no limit, or 3/4 of the cgroup's",
     .help = "The most memory for objects, old generation and nursery together. 0: the default."},
    {"CRADLE_GC_MAX_DELTA", CRD_OPTION_SIZE, FIELD(major_max_delta), 0, ANY, .wants = "wants a size", .example = "512M",
     .initial = "an eighth of the memory",
     .help = "The threshold is at most this far above what survived. 0: the default."},
    {"CRADLE_GC_PAUSE", CRD_OPTION_TIME, FIELD(pause_ns), 0, UINT64_C(1000000000),
     .wants = "wants a time from 0 to 1s with its unit (ns, us, ms, s)", .example = "1ms", .initial = "2ms",
     .help =
         "Pause target: the collector cuts major collections into increments and shrinks the nursery to keep pauses "
         "below it. 0: none, a major collection runs in one go."},
    {"CRADLE_GC_THREADS", CRD_OPTION_CHOICE, FIELD(gc_threads), CHOICE(thread_names), .wants = "wants 0 to 16 or auto",
     .initial = "0; auto where the program asks",
     .help = "Threads of the collector's own: they mark beside the program and help to promote. auto: a quarter of the "
             "CPUs that the process may use, at least 1 if there are 2, once the heap has 8 MiB; see docs/tuning.md."},
    {"CRADLE_GC_NURSERY_FIXED", CRD_OPTION_BOOL, FIELD(nursery_fixed), 0, 1, .wants = "wants 0 or 1", .initial = "0",
     .help = "1: the size chosen from the L2 cache never changes. A size that CRADLE_GC_NURSERY gives never does."},
    {"CRADLE_GC_RESERVE", CRD_OPTION_SIZE, FIELD(reserve_bytes), CRADLE_RESERVE_MIN_BYTES, CRADLE_ADDRESS_MAX_BYTES,
     .or_zero = true, .wants = "wants a size from 16M to 8T, or 0", .example = "16G",
     .initial = "room for the machine's memory, at least 64G",
     .help = "Address space reserved for the old generation; it costs no memory. Where it is limited or refused, the "
             "heap takes a share of what is left. 0: the default."},
    {NULL, CRD_OPTION_COUNT, FIELD(mutators), 1, CRADLE_MUTATORS_MAX, .wants = "wants 1 to 4096"},
    {NULL, CRD_OPTION_COUNT, FIELD(report_types), 0, 1000, .wants = "wants 0 to 1000"},
    {NULL, CRD_OPTION_TIME, FIELD(stop_report_ns), 0, ANY, .wants = "wants a time"},
    {NULL, CRD_OPTION_SIZE, FIELD(shadow_stack_bytes), 4 * KIB, CRADLE_ADDRESS_MAX_BYTES,
     .wants = "wants a size from 4K to 8T"},
    {NULL, CRD_OPTION_CHOICE, FIELD(shadow_stack), CHOICE(kind_names), .wants = "wants a value of cradle_kind"},
    {"CRADLE_HUGEPAGES", CRD_OPTION_CHOICE, FIELD(hugepages_nursery), CHOICE(page_names), .wants = PAGES_WANTED,
     .example = "auto,arenas=hugetlb", .initial = "auto",
     .help = "Pages behind the heap; see docs/huge-pages-policy.md. auto: transparent huge pages; hugetlb: a "
             "reserved pool first; off: base pages. With a !, no heap is made when the pool refuses."},
    {"CRADLE_HUGEPAGES,arenas", CRD_OPTION_CHOICE, FIELD(hugepages_arenas), CHOICE(page_names), .inherits = true,
     .wants = PAGES_WANTED, .initial = "the variable's own value",
     .help = "Pages behind the old generation, if they are to differ from the nursery's."},
    {"CRADLE_LOG", CRD_OPTION_FILE, .wants = "wants FILE or WORD,WORD:FILE", .example = "gc:gc.log",
     .initial = "no log", .help = "Writes a log of the collector's work, as text, json or line; see docs/logging.md."},
    {"CRADLE_PROFILE", CRD_OPTION_FILE, .wants = "wants FILE", .example = "profile-%d", .initial = "no profile",
     .help = "Writes a profile of what is allocated where; see docs/profiler.md."},
    {"CRADLE_PROFILE_RATE", CRD_OPTION_SIZE, FIELD(sampler.interval_bytes), CRADLE_SAMPLE_MIN_BYTES,
     CRADLE_SAMPLE_MAX_BYTES, .wants = "wants a size from 64 to 1T", .example = "512K", .initial = "512K",
     .help = "One sample in this many allocated bytes, for the profile and for a sampler of the program's."},
    {"CRADLE_STATS", CRD_OPTION_BOOL, .most = 1, .wants = "wants 0 or 1", .initial = "0",
     .help = "1: prints statistics of each heap on standard error when it ends; see docs/statistics.md."},
    {"CRADLE_STRESS", CRD_OPTION_STRESS, FIELD(stress_period), 0, ANY, .wants = "wants a whole number or auto",
     .example = "auto", .initial = "0",
     .help = "Collects at every n-th allocation, to find references that are not rooted. auto: 1,major=2,times=4, and "
             "CRADLE_QUARANTINE=8 and CRADLE_VERIFY=1 unless they are set. 0: off."},
    {"CRADLE_STRESS,major", CRD_OPTION_COUNT, FIELD(stress_major), 0, ANY, .wants = "wants a whole number",
     .example = "10", .initial = "0",
     .help = "One in k stress collections, on average, is full and compacting, so that every object moves. 0: none."},
    {"CRADLE_STRESS,seed", CRD_OPTION_SEED, FIELD(stress_seed), 0, ANY, .wants = "wants a whole number or random",
     .example = "42", .initial = "0",
     .help = "The distances between stress collections are random from this seed, and n on average. random: a seed is "
             "drawn and printed. 0: the distances are equal."},
    {"CRADLE_STRESS,first", CRD_OPTION_COUNT, FIELD(stress_first), 0, ANY, .wants = "wants a whole number",
     .example = "100", .initial = "0",
     .help = "Stress collections with a lower number are only counted. 0: from the first."},
    {"CRADLE_STRESS,last", CRD_OPTION_COUNT, FIELD(stress_last), 0, ANY, .wants = "wants a whole number",
     .example = "100", .initial = "0", .help = "Stress collections with a higher number are only counted. 0: no end."},
    {"CRADLE_STRESS,at", CRD_OPTION_CHOICE, FIELD(stress_at), CHOICE(place_names),
     .wants = "wants anywhere, allocations or safepoints", .initial = "anywhere",
     .help = "What n counts: allocations, safepoint polls (and unparking, if there are several mutators), or both."},
    {"CRADLE_STRESS,times", CRD_OPTION_COUNT, FIELD(stress_times), 2, 1000, .or_zero = true,
     .wants = "wants a whole number from 2 to 1000, or 0", .example = "20", .initial = "0",
     .help = "Stress collections are spread so that the program takes at most about this many times its own time. 0: "
             "all take place."},
    {"CRADLE_STRESS,strict", CRD_OPTION_BOOL, FIELD(stress_strict), 0, 1, .wants = "wants 0 or 1", .initial = "0",
     .help = "1: a stress run that moved nothing aborts instead of printing a warning."},
    {"CRADLE_STRESS,turns", CRD_OPTION_SEED, FIELD(stress_turns), 0, ANY, .wants = "wants a whole number or random",
     .example = "7", .initial = "0",
     .help = "With several mutators: one runs at a time, in an order from this seed, so that a run repeats. Works "
             "without stress, too. 0: threads run as the machine lets them."},
    {"CRADLE_QUARANTINE", CRD_OPTION_COUNT, FIELD(quarantine), 0, CRADLE_QUARANTINE_MAX,
     .wants = "wants a whole number up to 4096", .example = "8", .initial = "0",
     .help = "Memory that a collection emptied stays inaccessible until the program has used this many nurseries of "
             "other memory. A stale reference into it faults and is reported. 0: off."},
    {"CRADLE_FAULTS", CRD_OPTION_BOOL, FIELD(fault_report), 0, 1, .wants = "wants 0 or 1",
     .initial = "0; 1 with CRADLE_QUARANTINE",
     .help = "1: a fault at a stale reference is reported on standard error; see docs/fault-reports.md."},
    {"CRADLE_VERIFY", CRD_OPTION_BOOL, FIELD(verify), 0, 1, .wants = "wants 0 or 1", .initial = "0",
     .help = "1: checks the whole heap before and after every collection."},
};
const size_t crd_option_count = sizeof crd_options / sizeof crd_options[0];

size_t crd_option_bytes(const crd_option *option) {
  return option->type == CRD_OPTION_BOOL ? sizeof(bool) : option->names != NULL ? sizeof(int) : sizeof(uint64_t);
}

uint64_t crd_option_number(const crd_option *option, const cradle_options *options) {
  uint64_t number = 0;
  memcpy(&number, (const char *)options + option->offset, crd_option_bytes(option));
  return number;
}

bool crd_option_accepts(const crd_option *option, uint64_t number) {
  double factor;
  memcpy(&factor, &number, sizeof factor);
  if (option->type == CRD_OPTION_FACTOR) return factor > (double)option->least && factor <= (double)option->most;
  return (number >= option->least && number <= option->most) || (option->or_zero && number == 0);
}
