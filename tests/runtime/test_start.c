/* Heaps that start from the environment. What was started for a heap ends with it, whether the heap was made or not.
 * Also tests what a stress run says, and what all of that shares: reports, locks and the end of the process. */
#include "tests/support/folder.h"
#include "tests/support/heap_fixture.h"

#include <cradle/runtime.h>

#include "runtime/chain.h"
#include "runtime/report.h"
#include "tests/support/refused_memory.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

/* --- standard error --- */

/* Standard error, from catch_errors to caught_errors, which returns what was written: at most 64 KiB. */
static int caught_ends[2], kept_errors;

static void catch_errors(void) {
  fflush(NULL);
  assert_int_equal(pipe(caught_ends), 0);
  kept_errors = dup(STDERR_FILENO);
  dup2(caught_ends[1], STDERR_FILENO);
  close(caught_ends[1]);
}

static const char *caught_errors(void) {
  static char text[1 << 16];
  dup2(kept_errors, STDERR_FILENO);
  close(kept_errors);
  ssize_t length = read(caught_ends[0], text, sizeof text - 1);
  text[length < 0 ? 0 : length] = '\0';
  close(caught_ends[0]);
  return text;
}

/* --- reports --- */

/* [report.1]. A line is written once, and cut at 600 bytes. */
static void a_line_is_reported_once(void **state) {
  char many[700], wanted[1024];
  (void)state;
  memset(many, 'x', sizeof many - 1);
  many[sizeof many - 1] = '\0';
  catch_errors();
  int lines = crd_report("%d and %s", 1, "words") * 1000 + crd_report("%d and %s", 1, "words") * 100 +
              crd_report("%d and %s", 2, "words") * 10 + crd_report("%s", many);
  const char *text = caught_errors();
  assert_int_equal(lines, 1011);
  snprintf(wanted, sizeof wanted, "cradle: 1 and words\ncradle: 2 and words\ncradle: %.591s\n", many);
  assert_string_equal(text, wanted);
}

static void a_line_that_is_not_remembered_is_written_again(void **state) {
  (void)state;
  catch_errors();
  refused_in = 1;
  int lines = crd_report("again") * 100;
  lines += crd_report("again") * 10 + crd_report("again");
  assert_string_equal(caught_errors(), "cradle: again\ncradle: again\n");
  assert_int_equal(lines, 110);
}

/* --- locks: who waits for one yields --- */

/* Replaces the C library's function and counts the calls. */
static int yields;
int sched_yield(void) {
  __atomic_add_fetch(&yields, 1, __ATOMIC_RELAXED);
  return 0;
}

static void a_heaps_lock_is_left_to_the_process_that_holds_it(void **state) {
  crd_lock lock = {0};
  (void)state;
  yields = 0;
  assert_true(crd_lock_try(&lock, false));
  assert_int_equal(lock.holder, getpid());
  assert_int_equal(yields, 0);
  assert_false(crd_lock_try(&lock, false)); /* it gave up after a while */
  assert_true(yields > 100);
  assert_int_equal(lock.holder, getpid());
  crd_lock_release(&lock);
  assert_int_equal(lock.holder, 0);
  lock.holder = getpid() + 1;
  yields = 0;
  assert_false(crd_lock_try(&lock, false));
  assert_int_equal(yields, 0);
  assert_int_equal(lock.holder, getpid() + 1);
  crd_lock_take(&lock);
  assert_int_equal(lock.holder, getpid());
  crd_lock_release(&lock);
  crd_lock_take(&lock);
  assert_int_equal(lock.holder, getpid());
  assert_int_equal(yields, 0);
}

static void a_lock_of_the_process_is_taken_over_from_another(void **state) {
  crd_lock lock = {getpid() + 1};
  (void)state;
  yields = 0;
  assert_true(crd_lock_try(&lock, true));
  assert_int_equal(lock.holder, getpid());
  assert_int_equal(yields, 0);
  assert_false(crd_lock_try(&lock, true));
  assert_true(yields > 100);
  crd_lock_release(&lock);
  assert_int_equal(lock.holder, 0);
  yields = 0;
  crd_lock_take(&lock);
  assert_int_equal(lock.holder, getpid());
  assert_int_equal(yields, 0);
}

static crd_lock held;
static int taken;

static void *take_held(void *unused) {
  crd_lock_take(&held);
  __atomic_store_n(&taken, 1, __ATOMIC_RELEASE);
  return unused;
}

/* The thread tries for a while, rests, and tries again. */
static void who_takes_a_lock_waits_for_it(void **state) {
  pthread_t thread;
  (void)state;
  yields = 0;
  crd_lock_take(&held);
  assert_int_equal(pthread_create(&thread, NULL, take_held, NULL), 0);
  while (__atomic_load_n(&yields, __ATOMIC_RELAXED) < 3000) usleep(100);
  assert_int_equal(__atomic_load_n(&taken, __ATOMIC_ACQUIRE), 0);
  crd_lock_release(&held);
  pthread_join(thread, NULL);
  assert_int_equal(taken, 1);
  assert_int_equal(held.holder, getpid());
}

/* --- what a heap takes beside itself --- */

static void set_file(const char *variable, const char *before, const char *name) {
  char value[128];
  snprintf(value, sizeof value, "%s%s/%s", before, folder, name);
  setenv(variable, value, 1);
}

/* Everything that listens to a heap. */
static void ask_for_all(const char *log) {
  set_file("CRADLE_LOG", log, "log");
  set_file("CRADLE_PROFILE", "", "profile");
  setenv("CRADLE_PROFILE_RATE", "64", 1);
  setenv("CRADLE_STATS", "1", 1);
  setenv("CRADLE_STRESS", "7", 1);
  setenv("CRADLE_FAULTS", "1", 1);
}

static void ask_for_nothing(void) {
  static const char *const names[] = {"CRADLE_LOG",   "CRADLE_PROFILE", "CRADLE_PROFILE_RATE",
                                      "CRADLE_STATS", "CRADLE_STRESS",  "CRADLE_FAULTS"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
}

/* The events that the program's own listener got. */
static size_t events, ends;

static void count_event(void *data, const cradle_event *event) {
  (void)data;
  events++;
  if (event->kind == CRADLE_EVENT_HEAP_DESTROYED) ends++;
}

static size_t frames(void *data, cradle_mutator *mutator, cradle_frame *out, size_t capacity) {
  (void)data, (void)mutator, (void)capacity;
  out[0] = (cradle_frame){.name = "inner", .file = "program", .line = 1};
  out[1] = (cradle_frame){.name = "outer", .file = "program", .line = 2};
  return 2;
}

static void live_once(void) {
  cradle_options options;
  cradle_error error;
  cradle_options_init(&options);
  options.types = fixture_types;
  options.type_count = T_COUNT;
  options.reserve_bytes = (size_t)64 << 20;
  options.listener = (cradle_listener){count_event, NULL};
  options.stack = (cradle_stack){frames, NULL};
  cradle_heap *heap = cradle_heap_new_from_environment(&options, &error);
  if (heap == NULL) fail_msg("%s", error.message);
  cradle_mutator *m = cradle_mutator_new(heap);
  for (int i = 0; i < 200; i++) (void)cradle_new(m, T_PAIR, sizeof(pair));
  cradle_collect(m, CRADLE_COLLECT_FULL);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
}

static void be_refused_once(void) {
  static const cradle_type bad[1] = {{.name = "too small", .size = 1}};
  cradle_options options;
  cradle_options_init(&options);
  options.types = bad;
  options.type_count = 1;
  options.listener = (cradle_listener){count_event, NULL};
  assert_null(cradle_heap_new_from_environment(&options, NULL));
}

/* Refused after the first events. */
static void be_refused_late_once(void) {
  static const cradle_hardware no_pool = {.page_bytes = 4096};
  cradle_options options;
  cradle_options_init(&options);
  options.hardware = &no_pool;
  options.hugepages_nursery = CRADLE_HUGEPAGES_HUGETLB_STRICT;
  options.listener = (cradle_listener){count_event, NULL};
  assert_null(cradle_heap_new_from_environment(&options, NULL));
}

static int open_files(void) {
  int count = 0;
  for (int fd = 0; fd < 256; fd++) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

/* The first time may leave something behind, such as the name of a log in the process's list. */
static void assert_all_is_given_back(const char *log, void (*once)(void)) {
  ask_for_all(log);
  catch_errors();
  once();
  long blocks = live_blocks;
  int files = open_files();
  for (int i = 0; i < 3; i++) once();
  int files_then = open_files();
  (void)caught_errors();
  ask_for_nothing();
  assert_int_equal(live_blocks, blocks);
  assert_int_equal(files_then, files);
}

static void a_heap_gives_back_what_was_started_for_it(void **state) {
  static const char *const logs[] = {":", "line:", "json:"};
  (void)state;
  events = ends = 0;
  for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) assert_all_is_given_back(logs[i], live_once);
  assert_int_equal(ends, 4 * sizeof logs / sizeof *logs); /* each event reached the program's listener once */
  assert_true(events > 10 * ends);
}

/* Runs in a child, where no line was said yet. 0: there are not so many allocations; 1: it is as it should be. */
static int status_if_refused(int allocation) {
  catch_errors();
  int files = open_files(), lines = 0;
  long blocks = live_blocks;
  refused_in = allocation;
  be_refused_once();
  bool was_refused = refused_in == 0;
  refused_in = 0;
  bool leaves_files = open_files() != files;
  const char *text = caught_errors();
  for (const char *end = text; (end = strchr(end, '\n')) != NULL; end++) lines++;
  if (leaves_files) return 2;
  if (live_blocks - blocks != lines) return 3; /* each line that was said is remembered */
  if (!was_refused) return lines == 0 ? 0 : 4;
  return lines == 1 && strstr(text, " memory") != NULL && strncmp(text, "cradle: CRADLE_", 15) == 0 ? 1 : 5;
}

/* While everything is opened for a heap, one allocation after the other is refused. What cannot be opened is reported,
 * and leaves nothing. */
static void what_there_is_no_memory_for_is_reported(void **state) {
  int allocation = 0, status;
  (void)state;
  ask_for_all(":");
  be_refused_once();
  do {
    allocation++;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) _exit(status_if_refused(allocation));
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
      fail_msg("allocation %d refused: %x", allocation, (unsigned)status);
  } while (WEXITSTATUS(status) != 0);
  assert_true(allocation > 10);
  ask_for_nothing();
}

static void a_heap_that_is_refused_does_so_too(void **state) {
  (void)state;
  events = 0;
  assert_all_is_given_back(":", be_refused_once);
  assert_int_equal(events, 0);
  assert_all_is_given_back(":", be_refused_late_once);
  assert_true(events > 0);
}

/* --- what a stress run says --- */

static void count_note(crd_link *report, cradle_note about, const char *text, uint64_t wanted, uint64_t got) {
  const cradle_event event = {.kind = CRADLE_EVENT_NOTE, .u.note = {text, wanted, got, about}};
  crd_link_hear(report, &event);
}

static void note(crd_link *report, cradle_note about, const char *text) {
  count_note(report, about, text, 1, 2);
}

static crd_link *begin_report(bool is_wanted) {
  events = 0;
  cradle_options options = {.listener = {count_event, NULL}};
  crd_link *report = crd_stress_report_open(&options, is_wanted);
  assert_non_null(report);
  return report;
}

/* A run that was cut short says so always; a whole one where the user asks for statistics. */
static void a_stress_run_says_how_much_took_place(void **state) {
  (void)state;
  static const char *const cut[] = {"cradle: stress: 481 of about 868 collections took place, those at rare places "
                                    "first; the heap was verified at 100 "
                                    "of them; CRADLE_STRESS with times=0 makes all\n",
                                    "cradle: stress: 482 of about 868 collections took place, those at rare places "
                                    "first; CRADLE_STRESS with times=0 makes "
                                    "all\n"};
  for (int is_wanted = 0; is_wanted <= 1; is_wanted++) {
    catch_errors();
    crd_link *report = begin_report(is_wanted);
    count_note(report, CRADLE_NOTE_STRESS_COLLECTIONS, "stress: collections", 868, 868);
    if (!is_wanted) count_note(report, CRADLE_NOTE_STRESS_VERIFIED, "stress: verified collections", 481, 100);
    count_note(report, CRADLE_NOTE_STRESS_COLLECTIONS, "stress: collections", 868, is_wanted ? 482 : 481);
    report->end(report->part);
    const char *said = caught_errors();
    if (is_wanted) {
      static const char whole[] = "cradle: stress: all 868 collections took place\n";
      assert_int_equal(strncmp(said, whole, strlen(whole)), 0);
      said += strlen(whole);
    }
    assert_string_equal(said, cut[is_wanted]);
  }
}

/* What the run did is said of a real heap only, and only to a user who asks. */
static void a_stress_run_says_what_it_did(void **state) {
  (void)state;
  for (int is_wanted = 0; is_wanted <= 1; is_wanted++) {
    static const char *const none[] = {"CRADLE_STRESS=1,seed=7,major=2", "CRADLE_VERIFY=1"};
    for (size_t i = 0; i < 2; i++) assert_int_equal(putenv((char *)(uintptr_t)none[i]), 0);
    if (is_wanted) setenv("CRADLE_STATS", "1", 1);
    catch_errors();
    cradle_options options;
    cradle_options_init(&options);
    cradle_type row = {.name = "pair", .size = 24};
    options.types = &row;
    options.type_count = 1;
    cradle_heap *heap = cradle_heap_new_from_environment(&options, NULL);
    cradle_mutator *m = cradle_mutator_new(heap);
    cradle_push(m, cradle_new(m, 0, 24));
    for (int i = 0; i < 20; i++) (void)cradle_new(m, 0, 24);
    (void)cradle_pop(m);
    cradle_mutator_free(m);
    cradle_heap_free(heap);
    const char *said = caught_errors();
    unsetenv("CRADLE_STRESS"), unsetenv("CRADLE_VERIFY"), unsetenv("CRADLE_STATS");
    const char *line = strstr(said, "cradle: stress: ");
    if (!is_wanted) {
      assert_null(line);
      continue;
    }
    unsigned long long minor, major, compacted, young, old, verified, first;
    assert_int_equal(sscanf(line,
                            "cradle: stress: all %llu collections took place\ncradle: stress: %llu minor and %llu "
                            "major collections in all, %llu of which moved old objects; %llu young and %llu old "
                            "objects moved; the heap was verified at %llu stress collections (period 1, seed 7)",
                            &first, &minor, &major, &compacted, &young, &old, &verified),
                     7);
    assert_true(first > 0 && minor >= first && major > 0 && compacted > 0 && young > 0 && verified == first);
  }
}

/* Without a log nobody else would hear it. Each is said once, however many collections it comes at. */
static void an_instrument_that_does_less_says_so(void **state) {
  (void)state;
  catch_errors();
  crd_link *report = begin_report(false);
  for (int i = 0; i < 3; i++) {
    note(report, CRADLE_NOTE_LESS_CHECKED,
         "quarantine: the system refuses to protect pages; what moved stays accessible");
    note(report, CRADLE_NOTE_LESS_CHECKED, "the heap was verified in part: no memory for all of it");
    note(report, CRADLE_NOTE_OTHER, "the address space is small");
  }
  report->end(report->part);
  assert_string_equal(caught_errors(),
                      "cradle: quarantine: the system refuses to protect pages; what moved stays accessible\n"
                      "cradle: the heap was verified in part: no memory for all of it\n");
}

static void notes_of_no_instrument_are_not_reported(void **state) {
  (void)state;
  catch_errors();
  crd_link *report = begin_report(false);
  note(report, CRADLE_NOTE_OTHER, "stress: a sentence decides nothing");
  note(report, CRADLE_NOTE_STRESS, "stress: a note of a stress run");
  report->end(report->part);
  assert_string_equal(caught_errors(), "cradle: stress: a note of a stress run (CRADLE_STRESS)\n");
  assert_int_equal(events, 2);
}

/* It hangs, so somebody must say why: the program's listener or, if it has none, the end of the chain. */
static void a_thread_that_does_not_come_is_told_once(void **state) {
  (void)state;
  for (int has_listener = 0; has_listener <= 1; has_listener++) {
    cradle_options options = {.listener = {has_listener ? count_event : NULL, NULL}};
    events = 0;
    catch_errors();
    crd_link *first = crd_stress_report_open(&options, false), *second = crd_stress_report_open(&options, false);
    note(second, CRADLE_NOTE_LATE, "a collection waits for the mutator at 0x1");
    first->end(first->part);
    second->end(second->part);
    assert_string_equal(caught_errors(), has_listener ? "" : "cradle: a collection waits for the mutator at 0x1\n");
    assert_int_equal(events, has_listener);
  }
}

/* Whoever asked for it in the environment need not have a listener. */
CRADLE_UNCHECKED_COLLECTION static void a_stress_run_that_moved_nothing_is_told(void **state) {
  cradle_options options;
  (void)state;
  cradle_options_init(&options);
  options.types = fixture_types;
  options.type_count = T_COUNT;
  setenv("CRADLE_STRESS", "1", 1);
  catch_errors();
  cradle_heap *heap = cradle_heap_new_from_environment(&options, NULL);
  unsetenv("CRADLE_STRESS");
  assert_non_null(heap);
  cradle_mutator *m = cradle_mutator_new(heap);
  for (int i = 0; i < 10; i++) (void)cradle_new(m, T_PAIR, sizeof(pair));
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  assert_string_equal(caught_errors(),
                      "cradle: stress: nothing moved, so that the run proves nothing (CRADLE_STRESS)\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_stress_run_that_moved_nothing_is_told), /* first, because other heaps would report it */
      cmocka_unit_test(a_line_is_reported_once),
      cmocka_unit_test(a_line_that_is_not_remembered_is_written_again),
      cmocka_unit_test(a_heaps_lock_is_left_to_the_process_that_holds_it),
      cmocka_unit_test(a_lock_of_the_process_is_taken_over_from_another),
      cmocka_unit_test(who_takes_a_lock_waits_for_it),
      cmocka_unit_test_setup_teardown(a_heap_gives_back_what_was_started_for_it, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(a_heap_that_is_refused_does_so_too, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(what_there_is_no_memory_for_is_reported, make_folder, remove_folder),
      cmocka_unit_test(a_stress_run_says_how_much_took_place),
      cmocka_unit_test(a_stress_run_says_what_it_did),
      cmocka_unit_test(an_instrument_that_does_less_says_so),
      cmocka_unit_test(notes_of_no_instrument_are_not_reported),
      cmocka_unit_test(a_thread_that_does_not_come_is_told_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
