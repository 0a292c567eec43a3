/* Tests a heap under the limits of its process: what it takes, what it leaves, what a refusal says; which system calls
 * it makes after cradle_heap_prepare; and that memory goes back at rest. Each limit is set in a child. */
#include "tests/support/heap_fixture.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/inside.h"

#define MIB ((size_t)1 << 20)

#ifdef CRADLE_ASAN
#define NEEDS_LIMITS() \
  do { \
    print_message("AddressSanitizer needs its own address space: no limits are set\n"); \
    skip(); \
  } while (0)
#else
#define NEEDS_LIMITS() (void)0
#endif

static size_t limit_bytes;

static int in_child(int (*body)(void)) {
  pid_t child = fork();
  int status;
  if (child == 0) _exit(body());
  assert_true(child > 0);
  assert_int_equal(waitpid(child, &status, 0), child);
  if (WIFSIGNALED(status)) return 200 + WTERMSIG(status);
  return WEXITSTATUS(status);
}

static void default_options(cradle_options *options) {
  cradle_options_init(options);
  options->on_out_of_memory = fixture_shortage;
  options->types = fixture_types;
  options->type_count = T_COUNT;
}

static int limit(int resource, size_t bytes) {
  struct rlimit wanted = {bytes, bytes};
  return setrlimit(resource, &wanted);
}

/* --- many heaps --- */

enum { HEAPS = 3000 };

CRADLE_UNCHECKED_COLLECTION static int many_heaps(void) {
  cradle_options options;
  default_options(&options);
  for (int i = 0; i < HEAPS; i++) {
    cradle_heap *heap = cradle_heap_new(&options, NULL);
    cradle_mutator *m = heap == NULL ? NULL : cradle_mutator_new(heap);
    if (m == NULL || cradle_new(m, T_PAIR, sizeof(pair)) == NULL) return 10;
    if (i == 0 && inside_old(heap)->arenas.bytes < (size_t)64 << 30) return 11;
    if (inside_old(heap)->arenas.bytes < 256 * MIB) return 12;
  }
  void *program = malloc(100 * MIB);
  return program == NULL ? 13 : 0;
}

static void three_thousand_heaps_leave_the_program_room(void **state) {
  (void)state;
  NEEDS_LIMITS();
  assert_int_equal(in_child(many_heaps), 0);
}

/* --- limited addresses --- */

CRADLE_UNCHECKED_COLLECTION static int works_under_addresses(void) {
  cradle_options options;
  cradle_error error;
  default_options(&options);
  if (limit(RLIMIT_AS, limit_bytes) != 0) return 10;
  cradle_heap *heap = cradle_heap_new(&options, &error);
  if (heap == NULL) return strstr(error.message, "RLIMIT_AS is ") != NULL ? 11 : 12;
  cradle_mutator *m = cradle_mutator_new(heap);
  if (m == NULL) return 13;
  cradle_push(m, NULL);
  for (size_t made = 0; made < MIB / 2; made += 1024) { /* lives, beside garbage */
    vector *fresh = cradle_new_array(m, T_VECTOR, 126);
    if (fresh == NULL) return 14;
    fresh->item[0] = (void *)(uintptr_t)cradle_pop(m);
    cradle_push(m, fresh);
    for (int i = 0; i < 64; i++)
      if (cradle_new_array(m, T_STRING, 1000) == NULL) return 15;
  }
  void *ephemeral = cradle_new(m, T_PAIR, sizeof(pair));
  if (ephemeral == NULL || !cradle_finalizer_register(m, ephemeral, 1)) return 16;
  cradle_collect(m, CRADLE_COLLECT_FULL);
  if (!cradle_heap_verify(heap, &error)) return 17;
  return malloc(limit_bytes / 16) == NULL ? 18 : 0;
}

static void a_heap_takes_a_share_of_limited_addresses(void **state) {
  (void)state;
  NEEDS_LIMITS();
  for (limit_bytes = 40 * MIB; limit_bytes <= 320 * MIB; limit_bytes += 20 * MIB) {
    int result = in_child(works_under_addresses);
    if (result != 0) fail_msg("%zu bytes: %d", limit_bytes, result);
  }
}

static int refused_for(const char *words) {
  cradle_options options;
  cradle_error error;
  default_options(&options);
  cradle_heap *heap = cradle_heap_new(&options, &error);
  if (heap == NULL) return strstr(error.message, words) != NULL ? 0 : 12;
  return 11;
}

static int no_addresses(void) {
  return limit(RLIMIT_AS, 12 * MIB) != 0 ? 10 : refused_for("RLIMIT_AS is 12582912 bytes (ulimit -v)");
}
static int no_data(void) {
  return limit(RLIMIT_DATA, MIB) != 0 ? 10 : refused_for("RLIMIT_DATA is 1048576 bytes (ulimit -d)");
}
/* Each body is refused by exactly one limit, and its words are expected [limits.2]. A child that may lock as much as it
 * likes has no such limit. */
static int no_locked_memory(void) {
  if (limit(RLIMIT_MEMLOCK, 8 * MIB) != 0 || (getuid() == 0 && setuid(65534) != 0)) return 77;
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) return 77;
  return refused_for("RLIMIT_MEMLOCK is 8388608 bytes (ulimit -l");
}
/* Mappings of changing access do not merge. */
static int no_mappings(void) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  for (int i = 0; i < 1000000; i++)
    if (mmap(NULL, page, i & 1 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
      return refused_for("vm.max_map_count");
  return 77;
}

static void keep_note(void *data, const cradle_event *event) {
  if (event->kind == CRADLE_EVENT_NOTE) snprintf(data, 300, "%s", event->u.note.text);
}

CRADLE_UNCHECKED_COLLECTION static int no_mutator(void) {
  cradle_options options;
  default_options(&options);
  char note[300] = "";
  options.listener = (cradle_listener){keep_note, note};
  cradle_heap *heap = cradle_heap_new(&options, NULL);
  if (heap == NULL) return 14;
  if (limit(RLIMIT_AS, MIB) != 0) return 10;
  for (void *volatile rest = note; rest != NULL;) rest = malloc(4096);
  if (cradle_mutator_new(heap) != NULL) return 13;
  return strstr(note, "cradle_mutator_new: no memory") != NULL && strstr(note, "RLIMIT_AS is 1048576") != NULL ? 0 : 12;
}

static void a_refusal_names_the_limit(void **state) {
  (void)state;
  NEEDS_LIMITS();
  static int (*const bodies[])(void) = {no_addresses, no_data, no_locked_memory, no_mappings, no_mutator};
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
    int result = in_child(bodies[i]);
    if (result == 77) print_message("limit %zu cannot be set here\n", i);
    if (result != 0 && result != 77) fail_msg("limit %zu: %d", i, result);
  }
}

/* --- what an out-of-memory message names --- */

static char handed[1024];
static jmp_buf landing;
static void note_shortage(void *data, cradle_mutator *mutator, size_t size, const char *message) {
  (void)data, (void)mutator, (void)size;
  snprintf(handed, sizeof handed, "%s", message);
  longjmp(landing, 1);
}

CRADLE_UNCHECKED_COLLECTION static void a_full_reservation_is_named(void **state) {
  (void)state;
  cradle_options options;
  default_options(&options);
  options.reserve_bytes = 32 * MIB;
  options.on_out_of_memory = note_shortage;
  cradle_heap *heap = cradle_heap_new(&options, NULL);
  cradle_mutator *m = cradle_mutator_new(heap);
  if (setjmp(landing) == 0) {
    (void)cradle_new_array(m, T_STRING, 64 * MIB);
    fail();
  }
  assert_non_null(strstr(handed, "addresses, 33554432, are used up (CRADLE_GC_RESERVE)"));
  cradle_mutator_free(m);
  cradle_heap_free(heap);
}

static const char *limit_words;
static size_t filled, filled_min;
static void end_with_words(void *data, cradle_mutator *mutator, size_t size, const char *message) {
  (void)data, (void)mutator, (void)size;
  if (strstr(message, limit_words) == NULL) fprintf(stderr, "%s\n", message);
  if (filled < filled_min) fprintf(stderr, "only %zu\n", filled);
  _exit(strstr(message, limit_words) == NULL ? 12 : filled < filled_min ? 14 : 0);
}

static void fill_handles(cradle_mutator *m) {
  cradle_handle made = cradle_handle_new(m, (void *)(uintptr_t)*cradle_peek(m, 0));
  (void)made;
}
static void fill_finalizers(cradle_mutator *m) {
  cradle_finalizer_register(m, (void *)(uintptr_t)*cradle_peek(m, 0), 1);
}
static void fill_ids(cradle_mutator *m) {
  pair *next = cradle_new(m, T_PAIR, sizeof(pair));
  next->first = (void *)(uintptr_t)*cradle_peek(m, 0);
  *cradle_peek(m, 0) = (cradle_word)(uintptr_t)next;
  (void)cradle_id(m, next);
}
static void fill_objects(cradle_mutator *m) {
  vector *next = cradle_new_array(m, T_VECTOR, 1000);
  next->item[0] = (void *)(uintptr_t)*cradle_peek(m, 0);
  *cradle_peek(m, 0) = (cradle_word)(uintptr_t)next;
}

static const struct shortage {
  const char *name;
  void (*fill)(cradle_mutator *m);
  int resource;
  const char *words;
  size_t filled_min; /* at least so many must fit */
} shortages[] = {
    {"handles", fill_handles, RLIMIT_AS, "; RLIMIT_AS is 125829120 bytes (ulimit -v)", 1000000},
    {"finalizers", fill_finalizers, RLIMIT_AS, "; RLIMIT_AS is 125829120 bytes (ulimit -v)", 80000},
    {"ids", fill_ids, RLIMIT_AS, "; RLIMIT_AS is 125829120 bytes (ulimit -v)", 500000},
    {"handles", fill_handles, RLIMIT_DATA, "; RLIMIT_DATA is 125829120 bytes (ulimit -d)", 1000000},
    {"objects", fill_objects, RLIMIT_AS,
     " are used up (CRADLE_GC_RESERVE), a share of what RLIMIT_AS, 125829120 bytes, leaves (ulimit -v)", 2000},
};
static const struct shortage *shortage;

CRADLE_UNCHECKED_COLLECTION static int runs_short(void) {
  cradle_options options;
  default_options(&options);
  options.on_out_of_memory = end_with_words;
  options.nursery_bytes = 2 * MIB; /* a larger one, by a large L2 cache, leaves the arenas too little */
  limit_words = shortage->words;
  filled_min = shortage->filled_min;
  if (limit(shortage->resource, 120 * MIB) != 0) return 10;
  cradle_heap *heap = cradle_heap_new(&options, NULL);
  cradle_mutator *m = heap == NULL ? NULL : cradle_mutator_new(heap);
  if (m == NULL) return 11;
  cradle_push(m, cradle_new(m, T_PAIR, sizeof(pair)));
  for (filled = 0; filled < (size_t)1 << 26; filled++) shortage->fill(m);
  return 13;
}

/* The caller knows how large an object is, and not by how much a table grows: its limit is found all the same. */
static void whatever_runs_short_names_its_limit(void **state) {
  (void)state;
  NEEDS_LIMITS();
  for (size_t i = 0; i < sizeof shortages / sizeof *shortages; i++) {
    shortage = &shortages[i];
    int result = in_child(runs_short);
    if (result != 0) fail_msg("%s, limit %d: %d", shortage->name, shortage->resource, result);
  }
}

/* --- at rest --- */

/* Makes vectors of 1 KiB on two lists: one in `keep` of them stays, the others are the spike. Nothing of the spike is
 * dropped before a major collection has seen that it lives, if it is to see that. */
CRADLE_UNCHECKED_COLLECTION static void make_spike(cradle_mutator *m, size_t count, size_t keep, bool seen) {
  cradle_push(m, NULL); /* what stays */
  cradle_push(m, NULL); /* the spike */
  for (size_t i = 0; i < count; i++) {
    vector *fresh = cradle_new_array(m, T_VECTOR, 126);
    bool stays = i % keep == 0;
    fresh->item[0] = (void *)(uintptr_t)*cradle_peek(m, stays ? 1 : 0);
    *cradle_peek(m, stays ? 1 : 0) = (cradle_word)(uintptr_t)fresh;
  }
  if (seen) cradle_collect(m, CRADLE_COLLECT_MAJOR);
  cradle_pop(m);
}

static cradle_heap *open_spike(cradle_options *options, cradle_mutator **m, size_t count, size_t keep, bool seen) {
  cradle_heap *heap = cradle_heap_new(options, NULL);
  *m = cradle_mutator_new(heap);
  make_spike(*m, count, keep, seen);
  return heap;
}

static void close_spike(cradle_heap *heap, cradle_mutator *m) {
  cradle_error error;
  assert_true(cradle_heap_verify(heap, &error));
  cradle_pop(m);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
}

CRADLE_UNCHECKED_COLLECTION static void a_full_collection_compacts_what_is_sparse(void **state) {
  (void)state;
  cradle_options options;
  cradle_mutator *m;
  default_options(&options);
  options.major_age_ns = 0;
  cradle_heap *heap = open_spike(&options, &m, 128 * 1024, 64, false);
  cradle_collect(m, CRADLE_COLLECT_FULL);
  assert_true((uint64_t)arenas_in_use(&inside_old(heap)->arenas) * ARENA_BYTES <=
              2 * inside_old(heap)->used_bytes + 4 * ARENA_BYTES);
  close_spike(heap, m);
}

/* Little is allocated, with a pause now and then, as by a program that is idle. */
CRADLE_UNCHECKED_COLLECTION static uint64_t idle(cradle_heap *heap, cradle_mutator *m) {
  for (int i = 0; i < 20000 && arenas_in_use(&inside_old(heap)->arenas) > 8; i++) {
    for (int j = 0; j < 1000; j++) (void)cradle_new_array(m, T_STRING, 1000);
    usleep(500);
  }
  cradle_statistics now;
  cradle_heap_statistics(heap, &now, sizeof now);
  return now.major_causes[CRADLE_CAUSE_AGE];
}

CRADLE_UNCHECKED_COLLECTION static void a_major_collection_begins_by_age(void **state) {
  (void)state;
  for (int threads = 0; threads < 2; threads++)
    for (uint64_t pause = 0; pause <= 2000000; pause += 2000000) {
      cradle_options options;
      cradle_mutator *m;
      default_options(&options);
      options.pause_ns = pause;
      options.gc_threads = threads ? 1 : 0;
      options.major_age_ns = 50000000;
      cradle_heap *heap = open_spike(&options, &m, 32 * 1024, 128, true);
      uint64_t aged = idle(heap, m);
      assert_true(aged > 0);
      assert_true(arenas_in_use(&inside_old(heap)->arenas) <= 8);
      close_spike(heap, m);
    }
}

/* [rest.2] */
CRADLE_UNCHECKED_COLLECTION static void no_age_no_collection(void **state) {
  (void)state;
  cradle_options options;
  cradle_mutator *m;
  default_options(&options);
  options.major_age_ns = 0;
  cradle_heap *heap = open_spike(&options, &m, 32 * 1024, 128, true);
  for (int i = 0; i < 100; i++) {
    cradle_collect(m, CRADLE_COLLECT_MINOR);
    usleep(1000);
  }
  cradle_statistics now;
  cradle_heap_statistics(heap, &now, sizeof now);
  assert_int_equal(now.major_causes[CRADLE_CAUSE_AGE], 0);
  close_spike(heap, m);
}

/* The time doubles at each collection in vain, up to 16 times [rest.1]. */
CRADLE_UNCHECKED_COLLECTION static void collections_by_age_in_vain_become_rare(void **state) {
  (void)state;
  cradle_options options;
  cradle_mutator *m;
  default_options(&options);
  options.pause_ns = 0;
  options.major_age_ns = 1000000;
  cradle_heap *heap = open_spike(&options, &m, 24 * 1024, 1, false); /* all of it stays */
  uint64_t longest = 0;
  cradle_statistics now = {.pauses = 0};
  /* Four double it, and the others must not. */
  for (int i = 0; i < 5000 && now.major_causes[CRADLE_CAUSE_AGE] < 7; i++) {
    usleep(1000);
    (void)cradle_new_array(m, T_STRING, 1000);
    heap->marking.rest.cost_ns = 0; /* on a slow machine, the share of the time would bind before the wait does */
    cradle_safepoint_request(m);
    cradle_safepoint(m);
    if (heap->marking.rest.wait_ns > longest) longest = heap->marking.rest.wait_ns;
    assert_true(heap->marking.rest.wait_ns <= 16 * options.major_age_ns);
    cradle_heap_statistics(heap, &now, sizeof now);
  }
  assert_int_equal(now.major_causes[CRADLE_CAUSE_AGE], 7);
  assert_int_equal(longest, 16 * options.major_age_ns);
  close_spike(heap, m);
}

/* --- in a sandbox --- */

/* musl's compiler on Debian has no headers of the kernel. */
#if defined(__x86_64__) && __has_include(<linux/filter.h>)
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ALLOW(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* The list of docs/failures.md, and what this program needs to end. Opening a file is not in it [limits.1]. */
static bool lock_up(void) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      ALLOW(mmap),
      ALLOW(munmap),
      ALLOW(mprotect),
      ALLOW(madvise),
      ALLOW(prctl),
      ALLOW(prlimit64),
      ALLOW(brk),
      ALLOW(mremap),
      ALLOW(clock_gettime),
      ALLOW(getpid),
      ALLOW(gettid),
      ALLOW(tgkill),
      ALLOW(futex),
      ALLOW(sched_yield),
      ALLOW(clone3),
      ALLOW(clone),
      ALLOW(rt_sigprocmask),
      ALLOW(rt_sigaction),
      ALLOW(rseq),
      ALLOW(set_robust_list),
      ALLOW(exit),
      ALLOW(exit_group),
      ALLOW(write),
      ALLOW(getrusage),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool prepares, threads_wanted, listens, verifies;
static uint64_t period;
static int said[2]; /* a pipe that takes a child's messages */

static void ignore(void *data, const cradle_event *event) {
  (void)data, (void)event;
}

CRADLE_UNCHECKED_COLLECTION static int works_in_a_sandbox(void) {
  cradle_options options;
  cradle_error error;
  default_options(&options);
  options.gc_threads = threads_wanted ? CRADLE_GC_THREADS_AUTO : 0;
  options.stress_period = period;
  options.verify = verifies;
  options.quarantine = verifies ? 2 : 0;
  options.major_age_ns = threads_wanted ? 0 : 1000000; /* by age, marking may begin too early for a thread */
  if (listens) options.listener = (cradle_listener){ignore, NULL};
  cradle_heap *heap = cradle_heap_new(&options, &error);
  cradle_mutator *m = cradle_mutator_new(heap);
  if (prepares) cradle_heap_prepare(heap);
  if (!lock_up()) return 77;
  make_spike(m, period != 0 || verifies ? 2000 : 64 * 1024, 64, false);
  for (int kind = CRADLE_COLLECT_MINOR; kind <= CRADLE_COLLECT_COMPACTING; kind++)
    cradle_collect(m, (cradle_collection_kind)kind);
  string *large = cradle_new_array(m, T_STRING, 20 * MIB);
  cradle_finalizer_register(m, cradle_new(m, T_PAIR, sizeof(pair)), 1);
  (void)cradle_id(m, large = cradle_new_array(m, T_STRING, 10 * MIB));
  large = cradle_pin(m, large);
  cradle_unpin(m, large);
  while (!cradle_collect_step(m, 100000)) {}
  (void)cradle_release_memory(heap);
  make_spike(m, period != 0 || verifies ? 2000 : 32 * 1024, 64, false);
  if (!cradle_heap_verify(heap, &error)) return 12;
  cradle_pop_many(m, 2);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  return 0;
}

static void a_prepared_heap_makes_only_the_listed_calls(void **state) {
  (void)state;
  NEEDS_LIMITS();
  prepares = true;
  for (int round = 0; round < 8; round++)
    for (period = 0; period <= 10; period += 10) {
      threads_wanted = round & 1;
      listens = round & 2; /* with a listener, the machine is read when the heap is made */
      verifies = round & 4;
      int result = in_child(works_in_a_sandbox);
      if (result == 77) skip();
      if (result != 0) fail_msg("round %d, stress %d: %d", round, (int)period, result);
    }
  /* Without it, the control group's files are opened, and the filter ends the program: the test can see that. */
  prepares = threads_wanted = listens = verifies = false;
  period = 0;
  assert_int_equal(in_child(works_in_a_sandbox), 200 + SIGSYS);
}

/* Misuse with the default handler: the message ends with a backtrace, whose commands name the program's file. */
static int misuses_in_a_sandbox(void) {
  cradle_options options;
  default_options(&options);
  cradle_heap *heap = cradle_heap_new(&options, NULL);
  cradle_mutator *m = cradle_mutator_new(heap);
  if (prepares) cradle_heap_prepare(heap);
  if (dup2(said[1], STDERR_FILENO) < 0 || !lock_up()) return 77;
  cradle_major_hold(m, false);
  return 10;
}

static void last_words_need_no_file(void **state) {
  (void)state;
  NEEDS_LIMITS();
  char words[4096];
  assert_int_equal(pipe(said), 0);
  prepares = true;
  int result = in_child(misuses_in_a_sandbox);
  if (result == 77) skip();
  assert_int_equal(result, 200 + SIGABRT);
  ssize_t length = read(said[0], words, sizeof words - 1);
  assert_true(length > 0);
  words[length] = '\0';
  assert_non_null(strstr(words, "major collections are not held off"));
#ifdef __GLIBC__
  assert_non_null(strstr(words, "addr2line"));
  assert_non_null(strstr(words, "test_limits 0x"));
  prepares = false;
  assert_int_equal(in_child(misuses_in_a_sandbox), 200 + SIGSYS);
#endif
  close(said[0]);
  close(said[1]);
}
#else
static void last_words_need_no_file(void **state) {
  (void)state;
  skip();
}
static void a_prepared_heap_makes_only_the_listed_calls(void **state) {
  (void)state;
  skip();
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(three_thousand_heaps_leave_the_program_room),
      cmocka_unit_test(a_heap_takes_a_share_of_limited_addresses),
      cmocka_unit_test(a_refusal_names_the_limit),
      cmocka_unit_test(a_full_reservation_is_named),
      cmocka_unit_test(whatever_runs_short_names_its_limit),
      cmocka_unit_test(a_full_collection_compacts_what_is_sparse),
      cmocka_unit_test(a_major_collection_begins_by_age),
      cmocka_unit_test(no_age_no_collection),
      cmocka_unit_test(collections_by_age_in_vain_become_rare),
      cmocka_unit_test(a_prepared_heap_makes_only_the_listed_calls),
      cmocka_unit_test(last_words_need_no_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
