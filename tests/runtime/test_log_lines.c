/* The log as lines: each line is whole and has all its columns, whatever the heap, the file and the other writers do.
 *
 *     test_log_lines [PAGE]
 *
 * PAGE is docs/logging.md, whose example must be what the library writes. */
#include "tests/runtime/line_log.h"

#include <pthread.h>
#include <sys/stat.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <time.h>

static const char *page;

/* --- events by hand --- */

/* The text behind the two lines of the header. */
static const char *behind_head(const char *text) {
  return strchr(strchr(text, '\n') + 1, '\n') + 1;
}

static void send_sized_minor(crd_link *log, cradle_cause cause, uint64_t number, uint64_t bytes, uint64_t ns) {
  cradle_event end = {.kind = CRADLE_EVENT_MINOR_END};
  end.u.minor.cause = cause;
  end.u.minor.number = number;
  end.u.minor.nursery_bytes = 2 * bytes;
  end.u.minor.promoted_bytes = end.u.minor.used_before = end.u.minor.used_after = bytes;
  end.u.minor.duration_ns = ns;
  send_event(log, end);
}

/* A pause in which the thread ran for ran_ns (0: not known), and the system took the processor so often. */
static void send_shared_pause(crd_link *log, uint64_t ns, uint64_t ran_ns, uint64_t preemptions) {
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_PAUSE,
                                 .u.pause = {CRADLE_CAUSE_NURSERY_FULL, ns, ran_ns, preemptions != 0, preemptions}});
}

static void send_pause(crd_link *log, uint64_t ns) {
  send_shared_pause(log, ns, 0, 0);
}

static void send_step(crd_link *log, cradle_phase from, uint64_t marked, uint64_t freed, uint64_t ns) {
  send_kind(log, CRADLE_EVENT_STEP_BEGIN);
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_STEP_END,
                                 .u.step = {from, CRADLE_PHASE_IDLE, marked / 32, marked, freed / 32, freed, 0, ns}});
}

static void send_given_back(crd_link *log, uint64_t arenas) {
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_ARENAS, .u.arenas = {.given_back = arenas}});
}

static void send_major_end(crd_link *log, uint64_t number, uint64_t before, uint64_t after) {
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_MAJOR_END,
                                 .u.major = {CRADLE_CAUSE_THRESHOLD, number, before, after, 1, 1}});
}

/* What docs/logging.md shows. */
static void send_example(crd_link *log) {
  const uint64_t mib = 1 << 20;
  cradle_event minor = {.kind = CRADLE_EVENT_MINOR_END};
  for (uint64_t i = 1; i <= 3; i++) {
    now += 6321000;
    minor.u.minor.number = i;
    minor.u.minor.nursery_bytes = 4 * mib;
    minor.u.minor.promoted_bytes = i == 3 ? 0 : 66816 * i * i;
    minor.u.minor.used_before = 29 * mib + i * 180000;
    minor.u.minor.used_after = i == 3 ? 12 * mib + 8192 : 25 * mib + minor.u.minor.promoted_bytes;
    minor.u.minor.duration_ns = i == 3 ? 92 : 121004 * i;
    send_event(log, minor);
    if (i == 2) {
      send_event(log, (cradle_event){.kind = CRADLE_EVENT_MAJOR_BEGIN, .u.begin = {CRADLE_CAUSE_THRESHOLD, 1, 1}});
      for (int step = 0; step < 6; step++) send_step(log, CRADLE_PHASE_MARKING, 2 * mib, 0, 1610000);
      send_step(log, CRADLE_PHASE_CLEARING, 0, 0, 84200);
      for (int step = 0; step < 2; step++) send_step(log, CRADLE_PHASE_SWEEPING, 0, 6 * mib + 700000, 450000);
      send_major_end(log, 1, 25 * mib + 300000, 12 * mib + 8192);
    }
    uint64_t pause_ns = i == 2 ? 1950000 : minor.u.minor.duration_ns + 2000;
    send_shared_pause(log, pause_ns, i == 1 ? 81000 : pause_ns - 20, i == 1 ? 2 : 0);
    if (i == 2) send_given_back(log, 3);
  }
}

static char *example(void) {
  const char *path = fresh_name(".log");
  struct timespec clock;
  crd_link *log = open_log("line:", path);
  clock_gettime(CLOCK_MONOTONIC, &clock);
  now = (uint64_t)clock.tv_sec * 1000000000u + (uint64_t)clock.tv_nsec;
  send_example(log);
  close_log(log);
  return must_read(path);
}

static void a_collection_is_a_line(void **state) {
  char *text = example();
  whole_log log = read_lines(text, true);
  (void)state;
  assert_int_equal(log.heap_count, 1);
  assert_int_equal(log.line_count, 4);
  assert_has(text, "  minor        1  29.2 MiB  25.1 MiB  65.3 KiB    1.6 %   121 us   123 us  nursery full; "
                   "ran 81.0 us, other work 2 times\n");
  assert_has(text, "  minor        3  29.5 MiB  12.0 MiB     0 B      0.0 %    92 ns  2.09 us  nursery full; "
                   "ran 2.07 us\n");
  assert_has(text,
             "  major        1  25.3 MiB  12.0 MiB  12.0 MiB   47.3 %  10.6 ms  1.95 ms  threshold: increments 9; "
             "marking 9.66 ms, clearing 84.2 us, sweeping 900 us, compacting 0 ns; marked 12.0 MiB, "
             "freed 13.3 MiB, given back 6.00 MiB; ran 1.95 ms\n");
  free(text);
}

/* The page's lines without what differs from run to run: times and the process's number. */
static void the_page_shows_what_is_written(void **state) {
  (void)state;
  if (page == NULL) skip();
  char *documented = must_read(page), *text = example();
  int lines = 0;
  for (const char *at = behind_head(text); *at != '\0'; at = strchr(at, '\n') + 1, lines++) {
    char wanted[600];
    snprintf(wanted, sizeof wanted, "  4711.1    %.*s", (int)strcspn(at + 26, "\n") + 1, at + 26);
    assert_has(documented, wanted);
  }
  assert_int_equal(lines, 4);
  assert_has(documented, "    # Cradle's line log, format 1; heap 4711.1; second 0 is ");
  assert_has(documented,
             "    #      seconds  heap        collection        before     after  survived             took    "
             "pause  cause\n");
  free(documented);
  free(text);
}

/* Numbers of any size keep to their columns. */
static void every_size_lines_up(void **state) {
  static const uint64_t near[] = {0, 1, 9, 10, 99, 100, 994, 995, 999, 1000, 1001, 1023, 1024, 9994, 9995, 9996};
  const char *path = fresh_name(".log");
  uint64_t sizes[300], number = 0;
  (void)state;
  for (size_t i = 0; i < sizeof near / sizeof near[0]; i++) sizes[number++] = near[i];
  for (int bit = 10; bit < 50; bit++)
    for (int less = -2; less <= 2; less++) sizes[number++] = ((uint64_t)1 << bit) + (uint64_t)less;
  for (uint64_t ten = 1000; ten < 1000000000000; ten *= 10)
    sizes[number++] = ten - 1, sizes[number++] = 9995 * ten / 10;
  crd_link *log = open_log("line:", path);
  for (uint64_t i = 0; i < number; i++) {
    uint64_t ns = sizes[i] % 9000000000000;
    send_sized_minor(log, CRADLE_CAUSE_NURSERY_FULL, i + 1, sizes[i], ns);
    send_pause(log, ns);
  }
  close_log(log);
  char *text = must_read(path);
  const char *at = behind_head(text);
  for (uint64_t i = 0; i < number; i++, at = strchr(at, '\n') + 1) {
    char one[600];
    snprintf(one, sizeof one, "%.*s", (int)strcspn(at, "\n"), at);
    line read = read_line(one);
    double size = (double)sizes[i], ns = (double)(sizes[i] % 9000000000000);
    assert_true(read.survived >= size * 0.9949 && read.survived <= size * 1.0051);
    assert_true(read.pause >= ns * 0.9949 && read.pause <= ns * 1.0051);
    assert_true(read.share == (sizes[i] == 0 ? 0.0 : 50.0));
  }
  assert_int_equal(read_lines(text, true).line_count, number);
  free(text);
}

/* Before a fork, it would be the child's, too. */
static void look_after_a_stop(void *data) {
  struct stat status;
  long *sizes = data;
  crd_link *log = open_log("line:", "-");
  send_sized_minor(log, CRADLE_CAUSE_FORK, 1, 4096, 500);
  fstat(STDERR_FILENO, &status);
  sizes[0] = (long)status.st_size;
  send_sized_minor(log, CRADLE_CAUSE_DETACH, 2, 4096, 600);
  fstat(STDERR_FILENO, &status);
  sizes[1] = (long)status.st_size;
  close_log(log);
}

static void a_stop_that_is_no_pause_is_written_at_once(void **state) {
  long sizes[2];
  (void)state;
  char *text = errors_of(look_after_a_stop, sizes);
  assert_int_equal(read_lines(text, true).line_count, 2);
  assert_has(text, "  500 ns   500 ns  before a fork\n");
  assert_has(text, "  600 ns   600 ns  mutator freed\n");
  assert_int_equal(sizes[0], strstr(text, "before a fork\n") + 14 - text);
  assert_int_equal(sizes[1], strlen(text));
  free(text);
}

/* As when the program asks for a complete collection while one runs. */
static void two_major_collections_end_in_a_pause(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  crd_link *log = open_log("line:", path);
  send_given_back(log, 1);
  send_sized_minor(log, CRADLE_CAUSE_MAJOR, 1, 4096, 1000);
  for (uint64_t i = 1; i <= 2; i++) {
    send_event(log, (cradle_event){.kind = CRADLE_EVENT_MAJOR_BEGIN});
    send_step(log, CRADLE_PHASE_MARKING, 100, 0, 10000 * i);
    send_step(log, CRADLE_PHASE_SWEEPING, 0, 50 * i, 3000);
    send_major_end(log, i, 1000, 900);
  }
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_COMPACT_END, .u.compact = {1, 2, 3, 4, 5000}});
  send_pause(log, 60000);
  send_given_back(log, 2);
  send_given_back(log, 9); /* of no collection yet */
  close_log(log);
  char *text = must_read(path);
  assert_int_equal(read_lines(text, true).line_count, 3);
  assert_has(
      text,
      "  major        1  1000 B     900 B     950 B     95.0 %  13.0 us  60.0 us  threshold: increments 2; "
      "marking 10.0 us, clearing 0 ns, sweeping 3.00 us, compacting 0 ns; marked 100 B, freed 50 B, given back 0 B\n");
  assert_has(text,
             "  major        2  1000 B     900 B     900 B     90.0 %  28.0 us  60.0 us  threshold: increments 2; "
             "marking 20.0 us, clearing 0 ns, sweeping 3.00 us, compacting 5.00 us; marked 100 B, freed 100 B, "
             "given back 6.00 MiB\n");
  free(text);
}

/* A collection's line has the sums of its increments, and the longest of the pauses in which there were some. */
static void increments_of_several_pauses_add_up(void **state) {
  static const uint64_t pauses[] = {5000, 9000, 7000, 8000};
  const char *path = fresh_name(".log");
  (void)state;
  crd_link *log = open_log("line,gc-collect:", path);
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_MAJOR_BEGIN});
  for (uint64_t i = 0; i < 4; i++) {
    if (i % 2 == 0) send_step(log, i == 0 ? CRADLE_PHASE_MARKING : CRADLE_PHASE_SWEEPING, 100, 600 * i, 1000);
    send_pause(log, pauses[i]);
    send_given_back(log, 0);
  }
  send_step(log, CRADLE_PHASE_SWEEPING, 0, 0, 1000);
  send_major_end(log, 1, 1000, 900);
  send_pause(log, 6000);
  send_given_back(log, 0);
  close_log(log);
  char *text = must_read(path);
  assert_int_equal(read_lines(text, true).line_count, 1);
  assert_has(text,
             "  major        1  1000 B     900 B       0 B      0.0 %  3.00 us  7.00 us  threshold: increments 3; "
             "marking 1.00 us, clearing 0 ns, sweeping 2.00 us, compacting 0 ns; marked 200 B, freed 1.17 KiB, ");
  free(text);
}

static void a_minor_collection_waits_for_its_pause(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  crd_link *log = open_log("line:", path);
  send_sized_minor(log, CRADLE_CAUSE_NURSERY_FULL, 1, 4096, 100);
  send_given_back(log, 1);
  send_pause(log, 200);
  close_log(log);
  char *text = must_read(path);
  assert_int_equal(read_lines(text, true).line_count, 1);
  assert_has(text, "   100 ns   200 ns  nursery full\n");
  free(text);
}

/* Three digits, or all of a whole number. */
static void amounts_have_three_digits(void **state) {
  static const struct {
    uint64_t amount;
    const char *bytes, *time; /* as in their columns */
  } cases[] = {
      {0, "   0 B  ", "   0 ns"},
      {999, " 999 B  ", " 999 ns"},
      {1000, "1000 B  ", "1.00 us"},
      {1023, "1023 B  ", "1.02 us"},
      {1024, "1.00 KiB", "1.02 us"},
      {9994, "9.76 KiB", "9.99 us"},
      {9995, "9.76 KiB", "10.0 us"},
      {10229, "9.99 KiB", "10.2 us"},
      {10236, "10.0 KiB", "10.2 us"},
      {99949, "97.6 KiB", "99.9 us"},
      {99950, "97.6 KiB", " 100 us"},
      {102348, "99.9 KiB", " 102 us"},
      {102350, " 100 KiB", " 102 us"},
      {999499, " 976 KiB", " 999 us"},
      {999500, " 976 KiB", "1.00 ms"},
      {1048063, "1023 KiB", "1.05 ms"},
      {1048064, "1.00 MiB", "1.05 ms"},
      {1000000000, " 954 MiB", "1.00 s "},
      {(uint64_t)1 << 30, "1.00 GiB", "1.07 s "},
      {(uint64_t)1 << 40, "1.00 TiB", "1100 s "},
  };
  const char *path = fresh_name(".log");
  (void)state;
  crd_link *log = open_log("line:", path);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    send_sized_minor(log, CRADLE_CAUSE_NURSERY_FULL, i + 1, cases[i].amount, cases[i].amount);
    send_pause(log, cases[i].amount);
  }
  close_log(log);
  char *text = must_read(path);
  const char *at = behind_head(text);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++, at = strchr(at, '\n') + 1) {
    char wanted[100];
    snprintf(wanted, sizeof wanted, "  %s  %s  %s  %s %%  %s  %s  nursery full\n", cases[i].bytes, cases[i].bytes,
             cases[i].bytes, i == 0 ? "  0.0" : " 50.0", cases[i].time, cases[i].time);
    const char *columns = strstr(at, "  minor") + 16;
    if (strncmp(columns, wanted, strlen(wanted)) != 0)
      fail_msg("%.*s, not %s", (int)strcspn(columns, "\n"), columns, wanted);
  }
  free(text);
}

/* A collection's times and bytes of the second core are sums; of its stops the longest counts. */
static void what_the_second_core_did_ends_the_line(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  crd_link *log = open_log("line:", path);
  for (uint64_t i = 1; i <= 2; i++) {
    send_event(log, (cradle_event){.kind = CRADLE_EVENT_MAJOR_BEGIN});
    send_event(log, (cradle_event){.kind = CRADLE_EVENT_BESIDE, .u.beside = {7, 200, 0, 5000, 40}});
    if (i == 1) send_event(log, (cradle_event){.kind = CRADLE_EVENT_BESIDE, .u.beside = {8, 300, 0, 6000, 30}});
    send_step(log, CRADLE_PHASE_MARKING, 100, 0, 10000);
    send_major_end(log, i, 1000, 900);
    send_pause(log, 60000);
    send_given_back(log, 0);
  }
  close_log(log);
  char *text = must_read(path);
  assert_has(text, ", given back 0 B; second core 11.0 us, marked 500 B, stopped within 40 ns\n");
  assert_has(text, ", given back 0 B; second core 5.00 us, marked 200 B, stopped within 40 ns\n");
  assert_int_equal(count_of(behind_head(text), "\n"), 2);
  free(text);
}

static void sections_select_lines(void **state) {
  (void)state;
  static const char *const minors[] = {"line,gc-minor:", "gc-min,line:"};
  for (int i = 0; i < 2; i++) {
    char *text = log_of_life(minors[i]);
    assert_has(text, "  minor        1  ");
    assert_lacks(text, "major");
    free(text);
  }
  char *text = log_of_life("line,gc-collect:");
  assert_has(text, "  major        1  ");
  assert_lacks(text, "minor");
  free(text);
}

static void open_and_close(void *data) {
  close_log(open_log_before(data, (cradle_listener){0}));
}

static void a_selection_without_lines_is_told(void **state) {
  char selection[300];
  (void)state;
  snprintf(selection, sizeof selection, "line,gc-arena:%s", fresh_name(".log"));
  char *said = errors_of(open_and_close, selection);
  assert_string_equal(said, "cradle: CRADLE_LOG: a line log has the sections gc-minor and gc-collect-done, and neither "
                            "is selected\n");
  free(said);
}

static void lines_are_whole_whatever_comes(void **state) {
  const char *path = fresh_name(".log");
  unsigned random = 4711;
  (void)state;
  crd_link *log = open_log("line:", path);
  give_heap(log);
  for (int i = 0; i < 20000; i++) {
    random = random * 1103515245u + 12345u;
    cradle_event event = {.kind = (cradle_event_kind)(1 + (random >> 16) % (CRADLE_EVENT_NOTE + 2))};
    if (event.kind == CRADLE_EVENT_HEAP_DESTROYED) continue;
    memset(&event.u, (int)(random >> 8 & 15), sizeof event.u / 8); /* some fields of any kind */
    send_event(log, event);
  }
  send_kind(log, CRADLE_EVENT_HEAP_DESTROYED);
  char *text = must_read(path);
  const char *at = behind_head(text);
  int lines = 0;
  for (; *at != '\0'; at = strchr(at, '\n') + 1, lines++) assert_non_null(strchr(at, '\n'));
  assert_true(lines > 2000);
  free(text);
}

static void nothing_is_allocated(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  crd_link *log = open_log("line:", path);
  send_example(log);
#if defined(__GLIBC__) /* since 2.33, which is older than Debian 12 */
  struct mallinfo2 before = mallinfo2();
  for (int i = 0; i < 2000; i++) send_example(log);
  struct mallinfo2 after = mallinfo2();
  assert_int_equal(after.uordblks, before.uordblks);
  assert_int_equal(after.fordblks, before.fordblks);
#endif
  close_log(log);
}

/* --- writers at once --- */

enum { WRITERS = 4, COLLECTIONS = 1000 };

static void *write_many(void *path) {
  crd_link *log = open_log("line:", path);
  for (uint64_t i = 1; i <= COLLECTIONS; i++) {
    cradle_listener listener = (cradle_listener){crd_link_hear, log};
    cradle_event end = {.kind = CRADLE_EVENT_MINOR_END, .u.minor = {.number = i, .promoted_bytes = i}};
    listener.function(listener.data, &end);
    cradle_event pause = {.kind = CRADLE_EVENT_PAUSE,
                          .u.pause = {.cause = CRADLE_CAUSE_NURSERY_FULL, .duration_ns = i}};
    listener.function(listener.data, &pause);
  }
  close_log(log);
  return NULL;
}

static void write_on_threads(void *path) {
  pthread_t threads[WRITERS];
  for (int i = 0; i < WRITERS; i++) assert_int_equal(pthread_create(&threads[i], NULL, write_many, path), 0);
  for (int i = 0; i < WRITERS; i++) pthread_join(threads[i], NULL);
}

static void assert_all_lines(const char *text) {
  whole_log log = read_lines(text, true);
  assert_int_equal(log.heap_count, WRITERS);
  assert_int_equal(log.line_count, WRITERS * COLLECTIONS);
}

static void threads_share_a_file(void **state) {
  char path[300];
  (void)state;
  snprintf(path, sizeof path, "%s", fresh_name(".log"));
  write_on_threads(path);
  char *text = must_read(path);
  assert_all_lines(text);
  free(text);
}

static void threads_share_standard_error(void **state) {
  (void)state;
  char *text = errors_of(write_on_threads, (char *)(uintptr_t)"-");
  assert_all_lines(text);
  free(text);
}

static void *drain(void *pipe) {
  size_t room = (size_t)WRITERS * COLLECTIONS * 200, length = 0;
  char *text = malloc(room + 1);
  for (ssize_t got; (got = read(*(int *)pipe, text + length, room - length)) > 0;) length += (size_t)got;
  text[length] = '\0';
  return text;
}

/* A pipe takes small writes as a whole, and large ones in pieces. */
static void threads_share_a_pipe(void **state) {
  char path[300], *text;
  pthread_t reader;
  (void)state;
  snprintf(path, sizeof path, "%s", fresh_name(".fifo"));
  assert_int_equal(mkfifo(path, 0600), 0);
  int end = open(path, O_RDONLY | O_NONBLOCK), keeps_open = open(path, O_WRONLY);
  assert_int_equal(fcntl(end, F_SETFL, 0), 0);
  assert_int_equal(pthread_create(&reader, NULL, drain, &end), 0);
  write_on_threads(path);
  close(keeps_open);
  pthread_join(reader, (void **)&text);
  close(end);
  assert_all_lines(text);
  free(text);
}

static void look_after_each(void *data) {
  long *sizes = data;
  struct stat status;
  crd_link *log = open_log("line:", "-");
  for (int i = 0; i < 3; i++) {
    fstat(STDERR_FILENO, &status);
    sizes[i] = (long)status.st_size;
    send_sized_minor(log, CRADLE_CAUSE_NURSERY_FULL, (uint64_t)i + 1, 4096, 100);
    send_pause(log, 200);
  }
  close_log(log);
}

static void standard_error_has_each_line_at_once(void **state) {
  long sizes[3];
  (void)state;
  char *text = errors_of(look_after_each, sizes);
  assert_int_equal(sizes[0], behind_head(text) - text);
  assert_int_equal(sizes[2] - sizes[1], sizes[1] - sizes[0]);
  assert_true(sizes[1] > sizes[0]);
  assert_int_equal(read_lines(text, true).line_count, 3);
  free(text);
}

static long bytes_in(const char *path) {
  struct stat status;
  assert_int_equal(stat(path, &status), 0);
  return (long)status.st_size;
}

/* The head is there at once, for people who look; each line would be a system call. */
static void lines_for_a_file_wait_in_the_buffer(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  crd_link *log = open_log("line:", path);
  long head = bytes_in(path);
  assert_true(head > 0);
  send_sized_minor(log, CRADLE_CAUSE_NURSERY_FULL, 1, 4096, 100);
  send_pause(log, 200);
  assert_int_equal(bytes_in(path), head);
  close_log(log);
  char *text = must_read(path);
  assert_int_equal(behind_head(text) - text, head);
  assert_int_equal(read_lines(text, true).line_count, 1);
  free(text);
}

/* Each write to such a pipe is a packet. */
static void write_packets(void *data) {
  int ends[2], packets = 0;
  char packet[4096];
  (void)data;
  assert_int_equal(pipe2(ends, O_DIRECT | O_NONBLOCK), 0);
  dup2(ends[1], STDERR_FILENO);
  crd_link *log = open_log("line:", "-");
  for (uint64_t i = 1; i <= 300; i++) {
    send_sized_minor(log, CRADLE_CAUSE_NURSERY_FULL, i, 4096, 100);
    send_pause(log, 200);
    for (ssize_t length; (length = read(ends[0], packet, sizeof packet)) > 0; packets++)
      assert_int_equal(packet[length - 1], '\n');
  }
  close_log(log);
  close(ends[0]);
  close(ends[1]);
  assert_int_equal(packets, 1 + 300);
}

static void a_line_is_one_write(void **state) {
  (void)state;
  free(errors_of(write_packets, NULL));
}

static void fork_and_write(void *data) {
  crd_link *log = open_log("line:", data);
  for (int process = 0; process < 2; process++) {
    fflush(NULL);
    pid_t child = process == 0 ? fork() : -1;
    if (child > 0) {
      assert_int_equal(wait_for(child), 0);
      continue;
    }
    send_sized_minor(log, CRADLE_CAUSE_FORK, 1, 4096, 100);
    send_sized_minor(log, CRADLE_CAUSE_NURSERY_FULL, 2, 4096, 100);
    send_pause(log, 200);
    if (child == 0) exit(0);
  }
  close_log(log);
}

/* On standard error it goes on under its own label; into a file, its parent's lines alone are written. */
static void a_child_of_fork_tears_no_line(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  char *text = errors_of(fork_and_write, (char *)(uintptr_t)"-");
  whole_log log = read_lines(text, true);
  assert_int_equal(log.heap_count, 2);
  assert_int_equal(log.line_count, 4);
  free(text);
  fork_and_write((char *)(uintptr_t)path);
  text = must_read(path);
  log = read_lines(text, true);
  assert_int_equal(log.heap_count, 1);
  assert_int_equal(log.line_count, 2);
  free(text);
}

static void fork_later(void *data) {
  struct timespec clock;
  (void)data;
  clock_gettime(CLOCK_MONOTONIC, &clock);
  now = ((uint64_t)clock.tv_sec + 1000) * 1000000000u;
  fork_and_write((char *)(uintptr_t)"-");
}

/* When the process opened its first log, also for a log whose last event is from far in the future. */
static void second_0_is_the_same_in_every_head(void **state) {
  (void)state;
  char *text = errors_of(fork_later, NULL);
  int heads = 0;
  for (const char *at = text; (at = strstr(at, "; second 0 is ")) != NULL; heads++) {
    unsigned long long seconds;
    assert_int_equal(sscanf(at, "; second 0 is %llu.%*9[0-9] seconds since 1970\n", &seconds), 1);
    assert_in_range(seconds, time(NULL) - 300, time(NULL) + 300);
    at++;
  }
  assert_int_equal(heads, 2);
  free(text);
}

/* --- heaps that run ---
 *
 * Their lines say what their events said, under stress and on several threads too. */

typedef struct node {
  uint64_t header;
  struct node *next;
} node;
#define LARGE_BYTES (5u << 20)
enum { T_NODE, T_LARGE, T_COUNT };
static const cradle_type types[T_COUNT] = {
    [T_NODE] = {.name = "node", .size = sizeof(node), .references = CRADLE_SLOT(node, next)},
    [T_LARGE] = {.name = "large", .size = LARGE_BYTES},
};

/* What the events said, and what the heap counted. */
typedef struct told {
  struct {
    double promoted, pause, before, after;
  } minor[20000];
  int minors, pauses;
  cradle_statistics last;
  uint64_t given_back, given_back_in_lines; /* arenas; until the last pause in which a major collection ended */
} told;

static void remember(void *data, const cradle_event *event) {
  told *all = data;
  if (event->kind == CRADLE_EVENT_MINOR_END) {
    assert_in_range(all->minors, 0, 19999);
    all->minor[all->minors].promoted = (double)event->u.minor.promoted_bytes;
    all->minor[all->minors].before = (double)event->u.minor.used_before;
    all->minor[all->minors].after = (double)event->u.minor.used_after;
    all->minor[all->minors++].pause = (double)event->u.minor.duration_ns;
  }
  if (event->kind == CRADLE_EVENT_PAUSE) all->minor[all->minors - 1].pause = (double)event->u.pause.duration_ns;
  if (event->kind == CRADLE_EVENT_ARENAS) all->given_back += event->u.arenas.given_back;
  if (event->kind == CRADLE_EVENT_SPANS) all->given_back_in_lines = all->given_back;
  if (event->kind == CRADLE_EVENT_HEAP_DESTROYED) all->last = *event->u.destroyed.statistics;
}

/* Its arenas are given back when it has died old. */
CRADLE_UNCHECKED_COLLECTION static void live_through_large(cradle_mutator *m) {
  {
    void *large = cradle_new(m, T_LARGE, LARGE_BYTES);
    CRADLE_ROOT(m, large);
    cradle_collect(m, CRADLE_COLLECT_MAJOR);
  }
  cradle_collect(m, CRADLE_COLLECT_COMPACTING);
}

CRADLE_UNCHECKED_COLLECTION static void use(cradle_mutator *m) {
  node *list = NULL;
  CRADLE_ROOT(m, list);
  for (int i = 0; i < 30000; i++) {
    node *fresh = cradle_new(m, T_NODE, sizeof(node));
    fresh->next = i % 7000 == 0 ? NULL : list;
    if (i % 2 == 0) list = fresh;
    if (i % 9000 == 8999) live_through_large(m);
  }
  cradle_collect(m, CRADLE_COLLECT_FULL);
}

typedef struct life {
  const char *path;
  uint64_t stress;
  told told;
} life;

static cradle_heap *heap_with_log(life *of) {
  cradle_options options;
  cradle_error error;
  char text[300];
  cradle_options_init(&options);
  options.types = types;
  options.type_count = T_COUNT;
  options.nursery_bytes = 16384;
  options.major_min_bytes = 16384;
  options.reserve_bytes = (size_t)1 << 30; /* emulators have little address space for many heaps */
  options.stress_period = of->stress;
  options.stress_major = of->stress != 0 ? 5 : 0;
  options.verify = of->stress != 0;
  snprintf(text, sizeof text, "line:%s", of->path);
  crd_link *log = open_log_before(text, (cradle_listener){remember, &of->told});
  options.listener = (cradle_listener){crd_link_hear, log};
  cradle_heap *heap = cradle_heap_new(&options, &error);
  if (heap == NULL) fail_msg("%s", error.message);
  give_heap(log);
  return heap;
}

CRADLE_UNCHECKED_COLLECTION static void *live(void *data) {
  cradle_heap *heap = heap_with_log(data);
  cradle_mutator *m = cradle_mutator_new(heap);
  use(m);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  return NULL;
}

static bool is_near(double written, double told) {
  return written >= told * 0.9949 && written <= told * 1.0051;
}

/* The lines say what the events said. */
static void assert_same(const char *text, const char *label, const life *of) {
  uint64_t majors = 0;
  double given_back = 0;
  int minors = 0;
  for (; *text != '\0'; text = strchr(text, '\n') + 1) {
    char one[600];
    snprintf(one, sizeof one, "%.*s", (int)strcspn(text, "\n"), text);
    if (*one == '#') continue;
    line read = read_line(one);
    if (strcmp(read.label, label) != 0) continue;
    given_back += read.given_back;
    if (read.is_major && ++majors != 0) continue;
    assert_true(is_near(read.survived, of->told.minor[minors].promoted));
    assert_true(is_near(read.before, of->told.minor[minors].before));
    assert_true(is_near(read.after, of->told.minor[minors].after));
    assert_true(is_near(read.pause, of->told.minor[minors].pause));
    minors++;
  }
  assert_int_equal(minors, of->told.last.minor_collections);
  assert_int_equal(majors, of->told.last.major_collections);
  assert_true(majors >= 4);
  assert_true(of->told.given_back_in_lines >= 6 || of->stress != 0); /* under stress nothing is */
  double told = (double)of->told.given_back_in_lines * (double)of->told.last.arena_bytes;
  if (!is_near(given_back, told)) fail_msg("given back: %f written, %f told", given_back, told);
}

static void lives_are_logged(uint64_t stress) {
  enum { HEAPS = 3 };
  static life lives[HEAPS];
  pthread_t threads[HEAPS];
  char path[300];
  snprintf(path, sizeof path, "%s", fresh_name(".log"));
  for (int i = 0; i < HEAPS; i++) lives[i] = (life){.path = path, .stress = stress};
  for (int i = 0; i < HEAPS; i++) assert_int_equal(pthread_create(&threads[i], NULL, live, &lives[i]), 0);
  for (int i = 0; i < HEAPS; i++) pthread_join(threads[i], NULL);
  char *text = must_read(path);
  whole_log log = read_lines(text, true);
  assert_int_equal(log.heap_count, HEAPS);
  uint64_t collections = 0;
  for (int i = 0; i < HEAPS; i++)
    collections += lives[i].told.last.minor_collections + lives[i].told.last.major_collections;
  assert_int_equal(log.line_count, collections);
  free(text);
}

static void a_heap_is_logged(uint64_t stress) {
  static life of;
  of = (life){.path = fresh_name(".log"), .stress = stress};
  live(&of);
  char *text = must_read(of.path);
  whole_log log = read_lines(text, true);
  assert_same(text, log.heaps[0].label, &of);
  free(text);
}

static void the_lines_say_what_the_events_said(void **state) {
  (void)state;
  a_heap_is_logged(0);
}

static void so_they_do_under_stress(void **state) {
  (void)state;
  a_heap_is_logged(50);
}

static void heaps_of_threads_are_logged(void **state) {
  (void)state;
  lives_are_logged(0);
  lives_are_logged(100);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_collection_is_a_line),
      cmocka_unit_test(the_page_shows_what_is_written),
      cmocka_unit_test(every_size_lines_up),
      cmocka_unit_test(a_stop_that_is_no_pause_is_written_at_once),
      cmocka_unit_test(two_major_collections_end_in_a_pause),
      cmocka_unit_test(increments_of_several_pauses_add_up),
      cmocka_unit_test(a_minor_collection_waits_for_its_pause),
      cmocka_unit_test(amounts_have_three_digits),
      cmocka_unit_test(what_the_second_core_did_ends_the_line),
      cmocka_unit_test(sections_select_lines),
      cmocka_unit_test(a_selection_without_lines_is_told),
      cmocka_unit_test(lines_are_whole_whatever_comes),
      cmocka_unit_test(nothing_is_allocated),
      cmocka_unit_test(threads_share_a_file),
      cmocka_unit_test(threads_share_standard_error),
      cmocka_unit_test(threads_share_a_pipe),
      cmocka_unit_test(standard_error_has_each_line_at_once),
      cmocka_unit_test(lines_for_a_file_wait_in_the_buffer),
      cmocka_unit_test(a_line_is_one_write),
      cmocka_unit_test(a_child_of_fork_tears_no_line),
      cmocka_unit_test(second_0_is_the_same_in_every_head),
      cmocka_unit_test(the_lines_say_what_the_events_said),
      cmocka_unit_test(so_they_do_under_stress),
      cmocka_unit_test(heaps_of_threads_are_logged),
  };
  if (argc > 1) page = argv[1];
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
