/* The environment: sizes, the option table, what is reported and how often. tests/tree/list_options.py compares the
 * table with docs/environment.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cradle/options.h>
#include <cradle/runtime.h>
#include <cradle/statistics.h>

#include "runtime/environment.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#ifndef __linux__
extern char **environ;
#endif
#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

/* --- sizes --- */

static void assert_size(const char *text, uint64_t expected) {
  uint64_t bytes = 1234567;
  if (!crd_parse_size(text, &bytes)) fail_msg("\"%s\" was not accepted", text);
  if (bytes != expected) fail_msg("\"%s\" was read as %ju, not %ju", text, (uintmax_t)bytes, (uintmax_t)expected);
}

static void assert_no_size(const char *text) {
  uint64_t bytes = 1234567;
  if (crd_parse_size(text, &bytes)) fail_msg("\"%s\" was accepted as %ju", text, (uintmax_t)bytes);
}

static void sizes_are_read(void **state) {
  (void)state;
  assert_size("0", 0);
  assert_size("65536", 65536);
  assert_size("4m", (size_t)4 << 20);
  assert_size("4M", (size_t)4 << 20);
  assert_size("4MB", (size_t)4 << 20);
  assert_size("4mib", (size_t)4 << 20);
  assert_size("32 KiB", 32768);
  assert_size("12B", 12);
  assert_size("3T", (size_t)3 << 40);
  assert_size("0.5k", 512);
  assert_size(".5K", 512);
  assert_size("1.6GB", 1717986918);
  assert_size("1.0000000000000000000000001K", 1024);
  assert_size("0.99999999999999999999K", 1023);
  assert_size("0.000000000001819T", 2); /* a byte depends on the last digit */
  assert_size("18446744073709551615", SIZE_MAX);
  assert_size("16777215T", (size_t)16777215 << 40);
}

static void other_text_is_no_size(void **state) {
  static const char *const texts[] = {"",    " ",   "KB",   "B",     "-1",  "+1",   "-4M",  " 4M", "4M ",  "4 ", "4MM",
                                      "4Mi", "4iB", "12Q",  "1e400", "1e3", "0x10", "1.",   "1.M", ".",    ".K", "1..5",
                                      "1.5", "0.5", "1,5M", "inf",   "nan", "1 2",  "4K\n", "4P",  "4 M B"};
  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) assert_no_size(texts[i]);
}

static void overflow_is_no_size(void **state) {
  (void)state;
  assert_no_size("18446744073709551616");
  assert_no_size("99999999999999999999999999");
  assert_no_size("16777216T");
  assert_no_size("18014398509481984K");
}

/* --- the environment --- */

/* The person who runs the tests may have set some variables, known and unknown. */
static void forget_unknown(void) {
  char name[200];
  for (char **entry = environ; *entry != NULL; entry++) {
    if (strncmp(*entry, "CRADLE_", 7) != 0) continue;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(*entry, "="), *entry);
    unsetenv(name);
    entry--; /* unsetenv moved the rest down */
  }
}

static void forget_all(void) {
  for (size_t i = 0; i < crd_option_count; i++)
    if (crd_options[i].variable != NULL) unsetenv(crd_options[i].variable);
  forget_unknown();
}

/* Each test starts without any variable and with fresh options. */
static cradle_options options;
static char said[4096];

static int begin(void **state) {
  (void)state;
  forget_all();
  cradle_options_init(&options);
  return 0;
}

/* Overlays the options with the environment; what is written on standard error goes into said. */
static int overlay(void) {
  int ends[2], kept = dup(STDERR_FILENO);
  assert_int_equal(pipe(ends), 0);
  fflush(stderr);
  dup2(ends[1], STDERR_FILENO);
  int reports = crd_options_from_environment(&options);
  dup2(kept, STDERR_FILENO);
  close(kept);
  close(ends[1]);
  ssize_t length = read(ends[0], said, sizeof said - 1);
  said[length > 0 ? length : 0] = '\0';
  close(ends[0]);
  return reports;
}

static int overlay_fresh(void) {
  cradle_options_init(&options);
  return overlay();
}

static void assert_heap_starts(const cradle_options *options) {
  cradle_error error;
  cradle_heap *heap = cradle_heap_new(options, &error);
  if (heap == NULL) fail_msg("%s", error.message);
  cradle_heap_free(heap);
}

/* Compares field by field, because padding between fields may hold anything. */
static void assert_same_choices(const cradle_options *a, const cradle_options *b) {
  assert_int_equal(a->nursery_bytes, b->nursery_bytes);
  assert_int_equal(a->reserve_bytes, b->reserve_bytes);
  assert_true(a->major_factor == b->major_factor && a->major_growth == b->major_growth);
  assert_int_equal(a->major_min_bytes, b->major_min_bytes);
  assert_int_equal(a->major_max_delta, b->major_max_delta);
  assert_int_equal(a->heap_max_bytes, b->heap_max_bytes);
  assert_int_equal(a->hugepages_nursery, b->hugepages_nursery);
  assert_int_equal(a->hugepages_arenas, b->hugepages_arenas);
  assert_int_equal(a->pause_ns, b->pause_ns);
  assert_int_equal(a->nursery_fixed, b->nursery_fixed);
  assert_int_equal(a->stress_period, b->stress_period);
  assert_int_equal(a->stress_major, b->stress_major);
  assert_int_equal(a->verify, b->verify);
  assert_true(a->stress_seed == b->stress_seed && a->stress_first == b->stress_first &&
              a->stress_last == b->stress_last);
  assert_int_equal(a->stress_at, b->stress_at);
  assert_int_equal(a->quarantine, b->quarantine);
  assert_int_equal(a->fault_report, b->fault_report);
  assert_int_equal(a->sampler.interval_bytes, b->sampler.interval_bytes);
}

static void values_reach_the_options(void **state) {
  (void)state;
  setenv("CRADLE_GC_NURSERY", "1.5MB", 1);
  setenv("CRADLE_GC_MAJOR_COLLECT", "2.25", 1);
  setenv("CRADLE_GC_GROWTH", "3", 1);
  setenv("CRADLE_GC_MIN", "10M", 1);
  setenv("CRADLE_GC_MAX", "2G", 1);
  setenv("CRADLE_GC_MAX_DELTA", "7M", 1);
  setenv("CRADLE_GC_PAUSE", "1.5 ms", 1);
  setenv("CRADLE_GC_NURSERY_FIXED", "1", 1);
  setenv("CRADLE_GC_RESERVE", "4G", 1);
  setenv("CRADLE_PROFILE_RATE", "64K", 1);
  setenv("CRADLE_STRESS", "18446744073709551615,major=12,seed=42,strict,first=7,last=9,at=Safepoints,times=30", 1);
  setenv("CRADLE_VERIFY", "1", 1);
  setenv("CRADLE_QUARANTINE", "8", 1);
  setenv("CRADLE_FAULTS", "1", 1);
  assert_int_equal(overlay_fresh(), 0);
  assert_string_equal(said, "");
  assert_int_equal(options.nursery_bytes, 1536 << 10);
  assert_true(options.major_factor == 2.25 && options.major_growth == 3.0);
  assert_int_equal(options.major_min_bytes, 10 << 20);
  assert_int_equal(options.heap_max_bytes, (size_t)2 << 30);
  assert_int_equal(options.major_max_delta, 7 << 20);
  assert_int_equal(options.reserve_bytes, (size_t)4 << 30);
  assert_int_equal(options.pause_ns, 1500000);
  assert_true(options.nursery_fixed);
  assert_int_equal(options.sampler.interval_bytes, 64 << 10);
  assert_true(options.stress_period == UINT64_MAX);
  assert_int_equal(options.stress_major, 12);
  assert_true(options.verify);
  assert_int_equal(options.stress_seed, 42);
  assert_int_equal(options.stress_first, 7);
  assert_int_equal(options.stress_last, 9);
  assert_int_equal(options.stress_at, CRADLE_STRESS_SAFEPOINTS);
  assert_int_equal(options.stress_times, 30);
  assert_true(options.stress_strict);
  assert_int_equal(options.quarantine, 8);
  assert_true(options.fault_report);
  forget_all();
  setenv("CRADLE_GC_MAJOR_COLLECT", "1000", 1); /* the largest */
  setenv("CRADLE_GC", "Off", 1);
  assert_int_equal(overlay_fresh(), 0);
  assert_true(options.major_factor == 1000.0);
  assert_int_equal(options.gc, CRADLE_GC_OFF);
}

/* One variable alone is seen by the quick first check; the others are read all the same. */
static void words_are_read_in_any_case(void **state) {
  static const char *const words[] = {"auto", "AUTO", "aUtO"};
  (void)state;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    setenv("CRADLE_STRESS", words[i], 1);
    assert_int_equal(overlay_fresh(), 0);
    assert_int_equal(options.stress_period, 1);
  }
}

static void stress_chooses_by_itself(void **state) {
  (void)state;
  setenv("CRADLE_STRESS", "auto", 1);
  assert_int_equal(overlay_fresh(), 0);
  assert_int_equal(options.stress_period, 1);
  assert_int_equal(options.stress_major, 2);
  assert_int_equal(options.stress_times, 4);
  assert_int_equal(options.quarantine, 8);
  assert_true(options.verify);
  assert_true(options.fault_report);
  setenv("CRADLE_STRESS", "auto,major=5,times=0", 1);
  setenv("CRADLE_QUARANTINE", "0", 1);
  setenv("CRADLE_VERIFY", "0", 1);
  assert_int_equal(overlay_fresh(), 0);
  assert_int_equal(options.stress_major, 5);
  assert_int_equal(options.stress_times, 0);
  assert_int_equal(options.quarantine, 0);
  assert_false(options.verify);
  assert_false(options.fault_report);
  forget_all();
  setenv("CRADLE_STRESS", "auto", 1);
  setenv("CRADLE_GC", "off", 1);
  assert_int_equal(overlay_fresh(), 1);
  assert_non_null(strstr(said, "CRADLE_STRESS=auto: needs collections, which are turned off by CRADLE_GC; put aside"));
  assert_int_equal(options.gc, CRADLE_GC_OFF);
  assert_true(options.stress_period == 0 && options.stress_major == 0 && options.quarantine == 0);
}

static void instruments_that_cannot_be(void **state) {
  static const struct {
    const char *name, *value, *wants;
  } bad[] = {
      {"CRADLE_STRESS", "0,seed=often",
       "CRADLE_STRESS,seed=often: not accepted; wants a whole number or random (such as 42)"},
      {"CRADLE_STRESS", "0,seed=-1", "wants a whole number or random"},
      {"CRADLE_STRESS", "0,seed", "CRADLE_STRESS,seed=: not accepted; wants a whole number or random"},
      {"CRADLE_STRESS", "0,sead=3",
       "CRADLE_STRESS,sead: unknown; did you mean seed? (docs/environment.md lists the keys)"},
      {"CRADLE_STRESS", "0,everywhere", "CRADLE_STRESS,everywhere: unknown (docs/environment.md lists the keys)"},
      {"CRADLE_STRESS", "seed=3", "CRADLE_STRESS=seed=3: not accepted; wants a whole number or auto"},
      {"CRADLE_STRESS_SEED", "3", "unknown; did you mean CRADLE_STRESS,seed?"},
      {"CRADLE_STRESS", "0,seed=18446744073709551616", "wants a whole number or random"},
      {"CRADLE_STRESS", "0,first=1.5", "wants a whole number"},
      {"CRADLE_STRESS", "0,at=everywhere", "wants anywhere, allocations or safepoints"},
      {"CRADLE_STRESS", "0,times=1001", "wants a whole number from 2 to 1000, or 0"},
      {"CRADLE_STRESS", "often", "wants a whole number or auto (such as auto)"},
      {"CRADLE_GC", "no", "wants on or off (such as off)"},
      {"CRADLE_QUARANTINE", "5000", "wants a whole number up to 4096"},
      {"CRADLE_FAULTS", "yes", "wants 0 or 1"}};
  cradle_options fresh;
  (void)state;
  cradle_options_init(&fresh);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    forget_all();
    setenv(bad[i].name, bad[i].value, 1);
    assert_int_equal(overlay_fresh(), 1);
    if (strstr(said, bad[i].name) == NULL || strstr(said, bad[i].wants) == NULL) fail_msg("%s was said", said);
    assert_same_choices(&options, &fresh);
  }
}

/* Once, and every heap has it: set, it repeats the run. */
static void a_drawn_seed_is_printed(void **state) {
  char wanted[80];
  (void)state;
  setenv("CRADLE_STRESS", "10,seed=random", 1);
  assert_int_equal(overlay_fresh(), 0);
  assert_true(options.stress_seed != 0);
  snprintf(wanted, sizeof wanted, "CRADLE_STRESS,seed=%ju was drawn", (uintmax_t)options.stress_seed);
  assert_non_null(strstr(said, wanted));
  uint64_t seed = options.stress_seed;
  assert_int_equal(overlay_fresh(), 0);
  assert_true(options.stress_seed == seed);
  assert_string_equal(said, "");
}

static void contradicting_instruments_are_settled(void **state) {
  (void)state;
  setenv("CRADLE_STRESS", ",seed=2,first=3,at=allocations", 1);
  assert_int_equal(overlay_fresh(), 3);
  assert_non_null(strstr(said, "CRADLE_STRESS,seed=2: does nothing without CRADLE_STRESS"));
  assert_true(options.stress_seed == 0 && options.stress_first == 0 && options.stress_at == CRADLE_STRESS_ANYWHERE);
  forget_all();
  setenv("CRADLE_STRESS", "1,first=30,last=20", 1);
  assert_int_equal(overlay_fresh(), 1);
  assert_non_null(
      strstr(said, "CRADLE_STRESS,last=20: no collection would take place, because it is below CRADLE_STRESS,first; "
                   "put aside"));
  assert_true(options.stress_period == 1 && options.stress_first == 30 && options.stress_last == 0);
  forget_all();
  setenv("CRADLE_QUARANTINE", "3", 1);
  setenv("CRADLE_HUGEPAGES", "hugetlb!", 1);
  assert_int_equal(overlay_fresh(), 1);
  assert_non_null(strstr(said, "CRADLE_HUGEPAGES=hugetlb!: must be auto or off, because base pages are needed by "
                               "CRADLE_QUARANTINE; put aside"));
  assert_int_equal(options.hugepages_nursery, CRADLE_HUGEPAGES_AUTO);
  assert_int_equal(options.hugepages_arenas, CRADLE_HUGEPAGES_HUGETLB_STRICT);
  assert_true(options.fault_report);
}

/* This quarantine would need more address space than it may take, and keep the program from starting. */
static void a_quarantine_of_large_nurseries_is_lowered(void **state) {
  setenv("CRADLE_QUARANTINE", "4096", 1);
  setenv("CRADLE_GC_NURSERY", "1G", 1);
  assert_int_equal(overlay_fresh(), 1);
  assert_non_null(strstr(
      said, "CRADLE_QUARANTINE=4096: above 64 GiB with nurseries of CRADLE_GC_NURSERY; at most 62; that is used"));
  assert_int_equal(options.quarantine, 62);
  setenv("CRADLE_QUARANTINE", "62", 1);
  assert_int_equal(overlay_fresh(), 0);
  assert_int_equal(options.quarantine, 62);
  setenv("CRADLE_QUARANTINE", "4096", 1);
  setenv("CRADLE_GC_NURSERY", "4K", 1);
  assert_int_equal(overlay_fresh(), 0);
  setenv("CRADLE_GC_NURSERY", "687194767", 1); /* a hundred fit, but not when each has whole pages */
  assert_int_equal(overlay_fresh(), 1);
  assert_int_equal(options.quarantine, 97);
  unsetenv("CRADLE_GC_NURSERY"); /* the heap chooses one that fits */
  assert_int_equal(overlay_fresh(), 0);
  assert_int_equal(options.quarantine, 4096);
  cradle_hardware large = {.page_bytes = 4096, .l2_bytes = (size_t)64 << 20};
  options.hardware = &large;
  const size_t ring = (size_t)65 << 30;
  void *room = mmap(NULL, ring, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room != MAP_FAILED) {
    munmap(room, ring);
    cradle_heap *heap = cradle_heap_new(&options, NULL);
    assert_non_null(heap);
    cradle_statistics stats;
    cradle_heap_statistics(heap, &stats, sizeof stats);
    assert_in_range(stats.nursery_bytes, 8 << 20, 16 << 20);
    cradle_heap_free(heap);
  } else {
    puts("no 65 GiB of addresses: the largest quarantine is not opened");
  }
  begin(state); /* the program's, with the user's nursery */
  options.quarantine = 4096;
  setenv("CRADLE_GC_NURSERY", "1G", 1);
  assert_int_equal(overlay(), 1);
  assert_non_null(strstr(
      said, "the program's quarantine: above 64 GiB with nurseries of CRADLE_GC_NURSERY; at most 62; that is used"));
  assert_int_equal(options.quarantine, 62);
  begin(state); /* all the program's: heap creation refuses it */
  options.quarantine = 4096;
  options.nursery_bytes = (size_t)1 << 30;
  assert_int_equal(overlay(), 0);
  assert_int_equal(options.quarantine, 4096);
}

static void times_have_units(void **state) {
  static const struct {
    const char *value;
    uint64_t ns;
  } good[] = {{"0", 0},          {"0ms", 0}, {"250us", 250000}, {"0.5ms", 500000},
              {"1 MS", 1000000}, {"7ns", 7}, {"1s", 1000000000}};
  (void)state;
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    forget_all();
    setenv("CRADLE_GC_PAUSE", good[i].value, 1);
    assert_int_equal(overlay_fresh(), 0);
    assert_int_equal(options.pause_ns, good[i].ns);
  }
}

static void policies_are_for_both_regions_or_for_each(void **state) {
  (void)state;
  setenv("CRADLE_HUGEPAGES", "HugeTLB", 1);
  assert_int_equal(overlay_fresh(), 0);
  assert_int_equal(options.hugepages_nursery, CRADLE_HUGEPAGES_HUGETLB);
  assert_int_equal(options.hugepages_arenas, CRADLE_HUGEPAGES_HUGETLB);
  setenv("CRADLE_HUGEPAGES", "OFF,arenas=hugetlb!", 1);
  assert_int_equal(overlay_fresh(), 0);
  assert_int_equal(options.hugepages_nursery, CRADLE_HUGEPAGES_OFF);
  assert_int_equal(options.hugepages_arenas, CRADLE_HUGEPAGES_HUGETLB_STRICT);
  setenv("CRADLE_HUGEPAGES", ",arenas=hugetlb!", 1);
  assert_int_equal(overlay_fresh(), 0);
  assert_int_equal(options.hugepages_nursery, CRADLE_HUGEPAGES_AUTO); /* not named, not changed */
  assert_int_equal(options.hugepages_arenas, CRADLE_HUGEPAGES_HUGETLB_STRICT);
  setenv("CRADLE_HUGEPAGES", "auto", 1);
  cradle_options_init(&options);
  options.hugepages_nursery = options.hugepages_arenas = CRADLE_HUGEPAGES_OFF;
  assert_int_equal(overlay(), 0);
  assert_int_equal(options.hugepages_nursery, CRADLE_HUGEPAGES_AUTO);
  assert_int_equal(options.hugepages_arenas, CRADLE_HUGEPAGES_AUTO);
}

/* As docs/environment.md has them. */
static void the_defaults_are_those_of_the_page(void **state) {
  (void)state;
  assert_int_equal(options.nursery_bytes, 0);
  assert_true(options.major_factor > 1.8199 && options.major_factor < 1.8201);
  assert_true(options.major_growth > 1.3999 && options.major_growth < 1.4001);
  assert_int_equal(options.pause_ns, 2000000);
  assert_int_equal(options.heap_max_bytes, 0);
  assert_int_equal(options.reserve_bytes, 0); /* from the memory */
  assert_int_equal(options.hugepages_nursery, CRADLE_HUGEPAGES_AUTO);
  assert_int_equal(options.hugepages_arenas, CRADLE_HUGEPAGES_AUTO);
  assert_int_equal(options.stress_period, 0);
  assert_int_equal(options.stress_at, CRADLE_STRESS_ANYWHERE);
  assert_int_equal(options.quarantine, 0);
  assert_false(options.verify);
}

static void nothing_set_changes_nothing(void **state) {
  cradle_options untouched;
  (void)state;
  setenv("CRADLE_GC_NURSERY", "", 1);
  setenv("CRADLE_LOG", "gc:gc.log", 1);
  cradle_options_init(&untouched);
  assert_int_equal(overlay_fresh(), 0);
  assert_same_choices(&options, &untouched);
  assert_string_equal(said, "");
}

/* Each value is bad in its own way, and none may change the options. */
static void bad_values_are_ignored(void **state) {
  static const struct {
    const char *name, *value;
  } bad[] = {
      {"CRADLE_GC_NURSERY", "4095"},
      {"CRADLE_GC_NURSERY", "2G"},
      {"CRADLE_GC_NURSERY", "-1"},
      {"CRADLE_GC_MAJOR_COLLECT", "1"},
      {"CRADLE_GC_MAJOR_COLLECT", "1.0"},
      {"CRADLE_GC_MAJOR_COLLECT", "1,82"},
      {"CRADLE_GC_MAJOR_COLLECT", "nan"},
      {"CRADLE_GC_MAJOR_COLLECT", "inf"},
      {"CRADLE_GC_MAJOR_COLLECT", "2K"},
      {"CRADLE_GC_GROWTH", "0.5"},
      {"CRADLE_GC_GROWTH", "1000.5"},
      {"CRADLE_GC_PAUSE", "2"},
      {"CRADLE_GC_PAUSE", "2 s"},
      {"CRADLE_GC_PAUSE", "1e3us"},
      {"CRADLE_GC_PAUSE", "99999999999999999999ns"},
      {"CRADLE_GC_NURSERY_FIXED", "4M"},
      {"CRADLE_GC_RESERVE", "15M"},
      {"CRADLE_GC_RESERVE", "9T"},
      {"CRADLE_HUGEPAGES", "on"},
      {"CRADLE_HUGEPAGES", "off!"},
      {"CRADLE_HUGEPAGES", "nursery=2m"},
      {"CRADLE_HUGEPAGES", "auto,arenas"},
      {"CRADLE_HUGEPAGES", "auto,arenas=2m"},
      {"CRADLE_HUGEPAGES", "hugetlbhugetlbhugetlb"},
      {"CRADLE_GC", "on or off"},
      {"CRADLE_STRESS", "0,at=anywhere or safepoints"},
      {"CRADLE_PROFILE_RATE", "0"},
      {"CRADLE_PROFILE_RATE", "63"},
      {"CRADLE_PROFILE_RATE", "often"},
      {"CRADLE_STRESS", "4K"},
      {"CRADLE_STRESS", "-1"},
      {"CRADLE_STRESS", "18446744073709551616"},
      {"CRADLE_VERIFY", "2"},
      {"CRADLE_VERIFY", "yes"},
  };
  cradle_options untouched;
  (void)state;
  cradle_options_init(&untouched);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    forget_all();
    setenv(bad[i].name, bad[i].value, 1);
    int reports = overlay_fresh();
    if (reports != 1) fail_msg("%s=%s: %d reports", bad[i].name, bad[i].value, reports);
    assert_same_choices(&options, &untouched);
    assert_non_null(strstr(said, bad[i].name));
    assert_non_null(strstr(said, "not accepted; wants "));
  }
}

static void the_report_says_what_is_accepted(void **state) {
  (void)state;
  setenv("CRADLE_GC_NURSERY", "12Q", 1);
  assert_int_equal(overlay_fresh(), 1);
  assert_string_equal(said, "cradle: CRADLE_GC_NURSERY=12Q: not accepted; "
                            "wants a size from 4K to 1G, or 0 (such as 4M)\n");
  setenv("CRADLE_GC_NURSERY", "two\nlines", 1);
  assert_int_equal(overlay_fresh(), 1);
  assert_non_null(strstr(said, "two?lines"));
  assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
}

static void slips_are_reported(void **state) {
  (void)state;
  setenv("CRADLE_GC_NURSRY", "4M", 1);
  assert_int_equal(overlay_fresh(), 1);
  unsetenv("CRADLE_GC_NURSRY");
  assert_string_equal(said, "cradle: CRADLE_GC_NURSRY: unknown; did you mean CRADLE_GC_NURSERY? "
                            "(docs/environment.md lists all)\n");
  assert_int_equal(options.nursery_bytes, 0);
}

/* The variables that a container gets about services named cradle and cradle-gc, and those of other programs. */
static void names_of_others_are_left_alone(void **state) {
  static const char *const names[] = {
      "CRADLE_PORT",
      "CRADLE_PORT_80_TCP",
      "CRADLE_PORT_80_TCP_ADDR",
      "CRADLE_PORT_80_TCP_PORT",
      "CRADLE_PORT_80_TCP_PROTO",
      "CRADLE_SERVICE_HOST",
      "CRADLE_SERVICE_PORT",
      "CRADLE_SERVICE_PORT_HTTP",
      "CRADLE_GC_PORT",
      "CRADLE_GC_PORT_443_TCP",
      "CRADLE_GC_SERVICE_HOST",
      "CRADLE_GC_SERVICE_PORT",
      "CRADLE_LOG_SERVICE_HOST",
      "CRADLE_ENV",
      "CRADLE_HOME",
      "CRADLE_CC",
      "CRADLE_",
      "CRADLE_UNHEARD_OF",
  };
  enum { COUNT = sizeof names / sizeof names[0] };
  char long_name[400] = "CRADLE_";
  (void)state;
  memset(long_name + 7, 'X', sizeof long_name - 8);
  setenv(long_name, "1", 1);
  for (size_t i = 0; i < COUNT; i++) setenv(names[i], "tcp://10.0.0.1:80", 1);
  int reports = overlay_fresh();
  unsetenv(long_name);
  for (size_t i = 0; i < COUNT; i++) unsetenv(names[i]);
  assert_string_equal(said, "");
  assert_int_equal(reports, 0);
}

/* Up to three letters too few, too many or others, and one in three at most. */
static void misspelled_names_are_recognised(void **state) {
  static const struct {
    const char *name, *meant; /* NULL: none */
  } cases[] = {
      {"CRADLE_GC_NURERY_FXD", "CRADLE_GC_NURSERY_FIXED"},
      {"CRADLE_GC_NRERY_FXD", NULL},
      {"CRADLE_GC_NUURSERYY_FIXEDD", "CRADLE_GC_NURSERY_FIXED"},
      {"CRADLE_GC_NUURSSERYY_FIXEDD", NULL},
      {"CRADLE_GC_NORSARY_FOXED", "CRADLE_GC_NURSERY_FIXED"},
      {"CRADLE_GC_NORSARY_FOXAD", NULL},
      {"CRADLE_GV", NULL},
      {"CRADLE_LOGS", "CRADLE_LOG"},
      {"CRADLE_PORT", NULL},
      {"CRADLE_GC_MINN", "CRADLE_GC_MIN"}, /* and not the maximum */
      {"CRADLE_GC_MAXX", "CRADLE_GC_MAX"},
      {"CRADLE_GC_MAX_DETLA", "CRADLE_GC_MAX_DELTA"},
      {"CRADLE_XUARANTINX", "CRADLE_QUARANTINE"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char wanted[200] = "";
    if (cases[i].meant != NULL)
      snprintf(wanted, sizeof wanted, "cradle: %s: unknown; did you mean %s? (docs/environment.md lists all)\n",
               cases[i].name, cases[i].meant);
    setenv(cases[i].name, "1", 1);
    assert_int_equal(overlay_fresh(), cases[i].meant != NULL);
    unsetenv(cases[i].name);
    assert_string_equal(said, wanted);
  }
}

static void each_report_is_made_once(void **state) {
  (void)state;
  setenv("CRADLE_GC_MAX", "lots", 1);
  assert_int_equal(overlay_fresh(), 1);
  assert_int_equal(overlay_fresh(), 0);
  assert_string_equal(said, "");
  setenv("CRADLE_GC_MAX", "more", 1);
  assert_int_equal(overlay_fresh(), 1);
}

static void contradictions_are_settled(void **state) {
  (void)state;
  setenv("CRADLE_GC_MIN", "2G", 1);
  setenv("CRADLE_GC_MAX", "1G", 1);
  setenv("CRADLE_STRESS", ",major=3", 1);
  assert_int_equal(overlay_fresh(), 2);
  assert_int_equal(options.major_min_bytes, (size_t)1 << 30);
  assert_int_equal(options.stress_major, 0);
}

static void the_users_word_wins_over_the_embedders(void **state) {
  (void)state;
  options.major_min_bytes = (size_t)2 << 30;
  options.stress_period = options.stress_major = 5;
  setenv("CRADLE_GC_MAX", "1G", 1);
  setenv("CRADLE_STRESS", "0", 1);
  assert_int_equal(overlay(), 2);
  assert_string_equal(said,
                      "cradle: the program's major_min_bytes: above CRADLE_GC_MAX; at most 1073741824; that is used\n"
                      "cradle: the program's stress_major: does nothing without CRADLE_STRESS; put aside\n");
  assert_int_equal(options.major_min_bytes, (size_t)1 << 30);
  assert_int_equal(options.stress_major, 0);
}

/* Each would be refused by heap creation. nursery and max: what the options say afterwards. */
static void a_maximum_has_room_for_nursery_and_arenas(void **state) {
  static const size_t MIB = (size_t)1 << 20;
  static const struct {
    const char *max, *nursery_wanted;
    size_t programs_max, programs_nursery, max_after, nursery_after;
    const char *says; /* NULL: nothing */
  } cases[] = {
      {"4K", NULL, 0, 0, 5 * MIB, 0,
       "CRADLE_GC_MAX=4K: too small for the nursery and two arenas; at least 5242880; that is used"},
      {"5242878", NULL, 0, 0, 5 * MIB, 0, "CRADLE_GC_MAX=5242878: too small for the nursery and two arenas"},
      {"5M", NULL, 0, 0, 5 * MIB, 0, NULL}, /* the heap chooses a nursery that fits */
      {"4K", "16M", 0, 0, 20 * MIB, 16 * MIB, "CRADLE_GC_MAX=4K: too small for the nursery and two arenas; at least"},
      {"8M", "16M", 0, 0, 8 * MIB, 0,
       "CRADLE_GC_NURSERY=16M: leaves no room for two arenas in CRADLE_GC_MAX; put aside"},
      {"7M", NULL, 0, 16 * MIB, 7 * MIB, 0,
       "the program's nursery_bytes: leaves no room for two arenas in CRADLE_GC_MAX; put aside"},
      {"20M", "16M", 0, 0, 20 * MIB, 16 * MIB, NULL},
      {"5M", "1048569", 0, 0, 5 * MIB, MIB - 7, NULL}, /* which is rounded up to whole words */
      {"5242879", "1048569", 0, 0, 5 * MIB, 0, "CRADLE_GC_NURSERY=1048569: leaves no room"},
      {NULL, "64M", 64 * MIB, 0, 64 * MIB, 0,
       "CRADLE_GC_NURSERY=64M: leaves no room for two arenas in the program's heap_max_bytes (CRADLE_GC_MAX); put "
       "aside"},
      {NULL, "60M", 64 * MIB, 0, 64 * MIB, 60 * MIB, NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    begin(state);
    options.heap_max_bytes = cases[i].programs_max;
    options.nursery_bytes = cases[i].programs_nursery;
    if (cases[i].max != NULL) setenv("CRADLE_GC_MAX", cases[i].max, 1);
    if (cases[i].nursery_wanted != NULL) setenv("CRADLE_GC_NURSERY", cases[i].nursery_wanted, 1);
    overlay();
    if (options.heap_max_bytes != cases[i].max_after || options.nursery_bytes != cases[i].nursery_after)
      fail_msg("case %zu: maximum %zu, nursery %zu", i, options.heap_max_bytes, options.nursery_bytes);
    bool is_said = cases[i].says == NULL ? said[0] == '\0' : strstr(said, cases[i].says) != NULL;
    if (!is_said) fail_msg("case %zu: %s", i, said);
    assert_heap_starts(&options);
  }
}

static void a_minimum_is_lowered_to_the_maximum_that_is_raised(void **state) {
  (void)state;
  setenv("CRADLE_GC_MAX", "1", 1);
  setenv("CRADLE_GC_MIN", "5M", 1);
  assert_int_equal(overlay_fresh(), 1);
  assert_int_equal(options.major_min_bytes, (size_t)5 << 20);
  assert_heap_starts(&options);
}

/* The user asks for huge pages, which the quarantine in the program's own options rules out. */
static void pages_that_the_program_has_no_place_for(void **state) {
  options.quarantine = 4;
  setenv("CRADLE_HUGEPAGES", "hugetlb", 1);
  assert_int_equal(overlay(), 1);
  assert_non_null(strstr(said, "CRADLE_HUGEPAGES=hugetlb: must be auto or off, because base pages are needed by "
                               "the program's quarantine (CRADLE_QUARANTINE); put aside"));
  assert_int_equal(options.hugepages_nursery, CRADLE_HUGEPAGES_AUTO);
  assert_int_equal(options.hugepages_arenas, CRADLE_HUGEPAGES_HUGETLB);
  assert_false(options.fault_report);
  assert_heap_starts(&options);
  begin(state); /* the program's own contradiction */
  options.quarantine = 4;
  options.hugepages_nursery = CRADLE_HUGEPAGES_HUGETLB;
  assert_int_equal(overlay(), 0);
  assert_int_equal(options.hugepages_nursery, CRADLE_HUGEPAGES_HUGETLB);
}

static void contradictions_of_the_embedder_stay(void **state) {
  (void)state;
  options.major_min_bytes = 2000;
  options.heap_max_bytes = 1000;
  options.stress_major = 5;
  assert_int_equal(overlay(), 0);
  assert_int_equal(options.major_min_bytes, 2000);
  assert_int_equal(options.stress_major, 5);
}

static void options_of_another_version_are_refused(void **state) {
  cradle_error error;
  (void)state;
  setenv("CRADLE_GC_NURSERY", "1M", 1);
  cradle_options_init(&options);
  options.size = 8;
  assert_null(cradle_heap_new_from_environment(&options, &error));
  assert_non_null(strstr(error.message, "version"));
}

static void numbers_do_not_depend_on_the_locale(void **state) {
  (void)state;
  if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL) print_message("no locale with a decimal comma\n");
  setenv("CRADLE_GC_MAJOR_COLLECT", "1.5", 1);
  assert_int_equal(overlay_fresh(), 0);
  assert_true(options.major_factor == 1.5);
  assert_size("1.5K", 1536);
  setlocale(LC_ALL, "C");
}

/* --- the table --- */

static void rows_are_complete(void **state) {
  (void)state;
  for (const crd_option *row = crd_options; row < crd_options + crd_option_count; row++) {
    assert_int_equal(strncmp(row->wants, "wants ", 6), 0);
    if (row->variable == NULL) continue;
    assert_int_equal(strncmp(row->variable, "CRADLE_", 7), 0);
    assert_true(row->initial[0] != '\0' && row->help[0] != '\0');
    assert_null(strchr(row->help, '|'));
    for (uint64_t i = 0; row->names != NULL && i <= row->most; i++) assert_non_null(row->names[i]);
  }
}

/* A row says its bounds twice, as numbers and in words: both ends of each are accepted, and nothing behind them. */
static void the_words_of_a_row_are_its_bounds(void **state) {
  (void)state;
  for (const crd_option *row = crd_options; row < crd_options + crd_option_count; row++) {
    char least[30], most[30], beyond[30];
    uint64_t ends[2];
    if (row->variable == NULL || row->field == NULL || strstr(row->wants, " from ") == NULL) continue;
    assert_int_equal(sscanf(strstr(row->wants, " from "), " from %29[0-9KMGTs] to %29[0-9KMGTs]", least, most), 2);
    assert_true(crd_option_set(row, least, &options));
    ends[0] = crd_option_number(row, &options);
    assert_true(crd_option_set(row, most, &options));
    ends[1] = crd_option_number(row, &options);
    assert_true(ends[0] == row->least && ends[1] == row->most);
    snprintf(beyond, sizeof beyond, "%ju%s", (uintmax_t)row->most + 1, row->type == CRD_OPTION_TIME ? "ns" : "");
    assert_false(crd_option_set(row, beyond, &options));
    assert_int_equal(crd_option_set(row, "0", &options), row->or_zero || row->least == 0);
    assert_int_equal(strstr(row->wants, ", or 0") != NULL, row->or_zero);
  }
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(sizes_are_read),
      TEST(other_text_is_no_size),
      TEST(overflow_is_no_size),
      TEST(values_reach_the_options),
      TEST(instruments_that_cannot_be),
      TEST(a_drawn_seed_is_printed),
      TEST(words_are_read_in_any_case),
      TEST(stress_chooses_by_itself),
      TEST(contradicting_instruments_are_settled),
      TEST(a_quarantine_of_large_nurseries_is_lowered),
      TEST(times_have_units),
      TEST(policies_are_for_both_regions_or_for_each),
      TEST(the_defaults_are_those_of_the_page),
      TEST(nothing_set_changes_nothing),
      TEST(bad_values_are_ignored),
      TEST(the_report_says_what_is_accepted),
      TEST(slips_are_reported),
      TEST(names_of_others_are_left_alone),
      TEST(misspelled_names_are_recognised),
      TEST(each_report_is_made_once),
      TEST(contradictions_are_settled),
      TEST(the_users_word_wins_over_the_embedders),
      TEST(a_maximum_has_room_for_nursery_and_arenas),
      TEST(a_minimum_is_lowered_to_the_maximum_that_is_raised),
      TEST(pages_that_the_program_has_no_place_for),
      TEST(contradictions_of_the_embedder_stay),
      TEST(options_of_another_version_are_refused),
      TEST(numbers_do_not_depend_on_the_locale),
      TEST(rows_are_complete),
      TEST(the_words_of_a_row_are_its_bounds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
