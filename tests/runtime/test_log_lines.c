/* The log as lines: each line is whole and says what its events said, whatever the heap, the file and the other writers
 * do.
 *
 *     test_log_lines [PAGE]
 *
 * PAGE is docs/logging.md, whose example must be what the library writes. */
#include "tests/runtime/log_fixture.h"

#include <pthread.h>
#include <sys/stat.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <time.h>

static const char *page;

/* --- lines --- */

static const char *behind_head(const char *text) {
  return strchr(text, '\n') + 1;
}

/* What a line says behind its seconds and its label. Fails unless it has both, and ends. */
static const char *said_by(const char *line, double *seconds, char label[40]) {
  int length = 0;
  if (strchr(line, '\n') == NULL) fail_msg("torn: %s", line);
  if (sscanf(line, " %lf  %39[0-9.]  %n", seconds, label, &length) != 2) fail_msg("no line of the log: %s", line);
  assert_true(line[8] != '.' && line[9] == '.'); /* the column of the seconds */
  return line + length;
}

/* Fails unless all lines are whole and each heap has its head first. Returns how many lines begin with prefix. */
static int lines_with(const char *text, const char *prefix) {
  char heads[8][40];
  int head_count = 0, count = 0;
  for (; *text != '\0'; text = behind_head(text)) {
    char label[40];
    double seconds;
    const char *said = said_by(text, &seconds, label);
    int i = 0;
    while (i < head_count && strcmp(heads[i], label) != 0) i++;
    if (strncmp(said, "cradle-log: format 1, process ", 30) == 0 && i < 8) strcpy(heads[head_count++], label);
    if (i >= head_count) fail_msg("heap %s has no head", label);
    count += strncmp(said, prefix, strlen(prefix)) == 0;
  }
  return count;
}

/* --- events by hand --- */

static void send_sized_minor(crd_link *log, cradle_cause cause, uint64_t number, uint64_t bytes, uint64_t ns) {
  cradle_event end = {.kind = CRADLE_EVENT_MINOR_END};
  end.u.minor.cause = cause;
  end.u.minor.number = number;
  end.u.minor.promoted_bytes = end.u.minor.used_before = end.u.minor.used_after = bytes;
  end.u.minor.duration_ns = ns;
  send_event(log, end);
}

/* A pause in which the thread ran for ran_ns, and the system took the processor so often. */
static void send_pause(crd_link *log, uint64_t ns, uint64_t ran_ns, uint64_t preemptions) {
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_PAUSE,
                                 .u.pause = {CRADLE_CAUSE_NURSERY_FULL, ns, ran_ns, preemptions != 0, preemptions}});
}

/* What docs/logging.md shows. */
static void send_example(crd_link *log) {
  const uint64_t mib = 1 << 20;
  cradle_event minor = {.kind = CRADLE_EVENT_MINOR_END};
  for (uint64_t i = 1; i <= 2; i++) {
    now += 6321000;
    minor.u.minor.number = i;
    minor.u.minor.promoted_bytes = 66816 * i * i;
    minor.u.minor.used_before = 29 * mib + i * 180000;
    minor.u.minor.used_after = 25 * mib + minor.u.minor.promoted_bytes;
    minor.u.minor.duration_ns = 121004 * i;
    send_event(log, minor);
    if (i == 2)
      send_event(log, (cradle_event){.kind = CRADLE_EVENT_MAJOR_END,
                                     .u.major = {CRADLE_CAUSE_THRESHOLD, 1, 25 * mib + 300000, 12 * mib + 8192,
                                                 22 * mib, 10600000}});
    send_pause(log, i == 2 ? 1950000 : 123004, i == 1 ? 81000 : 1949980, i == 1 ? 2 : 0);
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

static void a_section_is_a_line(void **state) {
  char *text = example();
  (void)state;
  assert_int_equal(lines_with(text, ""), 1 + 5);
  assert_has(text, "  gc-minor 1: nursery full, 29.2 MiB => 25.1 MiB, survived 65.3 KiB, took 121 us\n");
  assert_has(text, "  gc-pause: nursery full, took 123 us, ran 81.0 us, other work ran, times 2\n");
  assert_has(text, "  gc-minor 2: nursery full, 29.3 MiB => 25.3 MiB, survived 261 KiB, took 242 us\n");
  assert_has(text, "  gc-collect-done 1: threshold, 25.3 MiB => 12.0 MiB, next at 22.0 MiB, took 10.6 ms\n");
  assert_has(text, "  gc-pause: nursery full, took 1.95 ms, ran 1.95 ms\n");
  free(text);
}

static void every_section_for_people_has_its_line(void **state) {
  (void)state;
  char *text = log_of_life("line:");
  assert_int_equal(lines_with(text, ""), 1 + 5);
  assert_has(text, "  gc-set-nursery-size: 512 KiB, before 0 B, half of the L2 cache\n");
  assert_has(text, "  gc-note: a note, wanted 8, got 4\n");
  free(text);
  const char *path = fresh_name(".log");
  crd_link *log = open_log("line:", path);
  send_kind(log, CRADLE_EVENT_COMPACT_BEGIN);
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_COMPACT_END, .u.compact = {1, 2048, 3, 4, 5000}});
  close_log(log);
  text = must_read(path);
  assert_has(text, "  gc-collect-compact: moved 2.00 KiB, arenas emptied 3 of 4, took 5.00 us\n");
  free(text);
}

/* The page's lines without what differs from run to run: times and the process's number. */
static void the_page_shows_what_is_written(void **state) {
  (void)state;
  if (page == NULL) skip();
  char *documented = must_read(page), *text = example();
  int lines = 0;
  for (const char *at = behind_head(text); *at != '\0'; at = behind_head(at), lines++) {
    char wanted[600], label[40];
    double seconds;
    const char *said = said_by(at, &seconds, label);
    snprintf(wanted, sizeof wanted, "  4711.1  %.*s", (int)strcspn(said, "\n") + 1, said);
    assert_has(documented, wanted);
  }
  assert_int_equal(lines, 5);
  assert_has(documented, "  4711.1  cradle-log: format 1, process 4711\n");
  free(documented);
  free(text);
}

/* Three digits, or all of a whole number. */
static void amounts_have_three_digits(void **state) {
  static const struct {
    uint64_t amount;
    const char *bytes, *time;
  } cases[] = {
      {0, "0 B", "0 ns"},
      {999, "999 B", "999 ns"},
      {1000, "1000 B", "1.00 us"},
      {1023, "1023 B", "1.02 us"},
      {1024, "1.00 KiB", "1.02 us"},
      {9994, "9.76 KiB", "9.99 us"},
      {9995, "9.76 KiB", "10.0 us"},
      {10229, "9.99 KiB", "10.2 us"},
      {10236, "10.0 KiB", "10.2 us"},
      {99949, "97.6 KiB", "99.9 us"},
      {99950, "97.6 KiB", "100 us"},
      {102348, "99.9 KiB", "102 us"},
      {102350, "100 KiB", "102 us"},
      {999499, "976 KiB", "999 us"},
      {999500, "976 KiB", "1.00 ms"},
      {1048063, "1023 KiB", "1.05 ms"},
      {1048064, "1.00 MiB", "1.05 ms"},
      {1000000000, "954 MiB", "1.00 s"},
      {(uint64_t)1 << 30, "1.00 GiB", "1.07 s"},
      {(uint64_t)1 << 40, "1.00 TiB", "1100 s"},
  };
  const char *path = fresh_name(".log");
  (void)state;
  crd_link *log = open_log("line:", path);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    send_sized_minor(log, CRADLE_CAUSE_NURSERY_FULL, i + 1, cases[i].amount, cases[i].amount);
  close_log(log);
  char *text = must_read(path);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char wanted[200];
    snprintf(wanted, sizeof wanted, "  gc-minor %zu: nursery full, %s => %s, survived %s, took %s\n", i + 1,
             cases[i].bytes, cases[i].bytes, cases[i].bytes, cases[i].time);
    assert_has(text, wanted);
  }
  free(text);
}

static void sections_select_lines(void **state) {
  (void)state;
  static const char *const minors[] = {"line,gc-minor:", "gc-min,line:"};
  for (int i = 0; i < 2; i++) {
    char *text = log_of_life(minors[i]);
    assert_int_equal(lines_with(text, ""), 1 + 1);
    assert_has(text, "  gc-minor 1: ");
    free(text);
  }
}

static void lines_are_whole_whatever_comes(void **state) {
  const char *path = fresh_name(".log");
  unsigned random = 4711;
  (void)state;
  crd_link *log = open_log("line:", path);
  for (int i = 0; i < 20000; i++) {
    random = random * 1103515245u + 12345u;
    cradle_event event = {.kind = (cradle_event_kind)(1 + (random >> 16) % (CRADLE_EVENT_NOTE + 2))};
    if (event.kind <= CRADLE_EVENT_NURSERY_SIZED || event.kind == CRADLE_EVENT_NOTE) continue; /* pointers */
    memset(&event.u, (int)(random >> 8 & 15), sizeof event.u / 8); /* some fields of any kind */
    send_event(log, event);
  }
  close_log(log);
  char *text = must_read(path);
  assert_true(lines_with(text, "") > 2000);
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
    const cradle_event end = {.kind = CRADLE_EVENT_MINOR_END, .u.minor = {.number = i, .promoted_bytes = i}};
    crd_link_hear(log, &end);
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
  assert_int_equal(lines_with(text, "cradle-log: "), WRITERS);
  assert_int_equal(lines_with(text, "gc-minor "), WRITERS * COLLECTIONS);
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

static long bytes_in(const char *path) {
  struct stat status;
  assert_int_equal(stat(path, &status), 0);
  return (long)status.st_size;
}

/* In a file each line would be a system call. */
static void lines_for_a_file_wait_in_the_buffer(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  crd_link *log = open_log("line:", path);
  send_sized_minor(log, CRADLE_CAUSE_NURSERY_FULL, 1, 4096, 100);
  assert_int_equal(bytes_in(path), 0);
  close_log(log);
  char *text = must_read(path);
  assert_int_equal(lines_with(text, "gc-minor "), 1);
  free(text);
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
    if (child == 0) exit(0);
  }
  close_log(log);
}

/* On standard error it goes on under its own label; into a file, its parent's lines alone are written. */
static void a_child_of_fork_tears_no_line(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  char *text = errors_of(fork_and_write, (char *)(uintptr_t)"-");
  assert_int_equal(lines_with(text, "cradle-log: "), 2);
  assert_int_equal(lines_with(text, "gc-minor "), 4);
  free(text);
  fork_and_write((char *)(uintptr_t)path);
  text = must_read(path);
  assert_int_equal(lines_with(text, "cradle-log: "), 1);
  assert_int_equal(lines_with(text, "gc-minor "), 2);
  free(text);
}

/* When the process opened its first log, also for a log whose last event is from far in the future. */
static void seconds_count_from_the_first_head(void **state) {
  struct timespec clock;
  double seconds;
  char label[40];
  (void)state;
  clock_gettime(CLOCK_MONOTONIC, &clock);
  now = ((uint64_t)clock.tv_sec + 1000) * 1000000000u;
  char *text = errors_of(fork_and_write, (char *)(uintptr_t)"-");
  said_by(text, &seconds, label);
  assert_true(seconds >= 0 && seconds < 300);
  said_by(behind_head(text), &seconds, label);
  assert_true(seconds > 700 && seconds < 1301);
  free(text);
}

/* --- heaps that run ---
 *
 * Their lines say what their events said, under stress too. */

typedef struct node {
  uint64_t header;
  struct node *next;
} node;
enum { T_NODE, T_COUNT };
static const cradle_type types[T_COUNT] = {
    [T_NODE] = {.name = "node", .size = sizeof(node), .references = CRADLE_SLOT(node, next)},
};

/* What the events said, and what the heap counted. */
typedef struct told {
  double survived[20000];
  int minors;
  cradle_statistics last;
} told;

static void remember(void *data, const cradle_event *event) {
  told *all = data;
  assert_in_range(all->minors, 0, 19999);
  if (event->kind == CRADLE_EVENT_MINOR_END) all->survived[all->minors++] = (double)event->u.minor.promoted_bytes;
  if (event->kind == CRADLE_EVENT_HEAP_DESTROYED) all->last = *event->u.destroyed.statistics;
}

CRADLE_UNCHECKED_COLLECTION static void use(cradle_mutator *m) {
  node *list = NULL;
  CRADLE_ROOT(m, list);
  for (int i = 0; i < 30000; i++) {
    node *fresh = cradle_new(m, T_NODE, sizeof(node));
    fresh->next = i % 7000 == 0 ? NULL : list;
    if (i % 2 == 0) list = fresh;
  }
  cradle_collect(m, CRADLE_COLLECT_FULL);
}

CRADLE_UNCHECKED_COLLECTION static void live(const char *path, uint64_t stress, told *all) {
  cradle_options options;
  cradle_error error;
  char text[300];
  cradle_options_init(&options);
  options.types = types;
  options.type_count = T_COUNT;
  options.nursery_bytes = 16384;
  options.major_min_bytes = 16384;
  options.stress_period = stress;
  snprintf(text, sizeof text, "line:%s", path);
  crd_link *log = open_log_before(text, (cradle_listener){remember, all});
  options.listener = (cradle_listener){crd_link_hear, log};
  cradle_heap *heap = cradle_heap_new(&options, &error);
  if (heap == NULL) fail_msg("%s", error.message);
  give_heap(log);
  cradle_mutator *m = cradle_mutator_new(heap);
  use(m);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
}

static void the_lines_say_what_the_events_said(void **state) {
  static told all;
  (void)state;
  for (uint64_t stress = 0; stress <= 50; stress += 50) {
    const char *path = fresh_name(".log");
    all = (told){.minors = 0};
    live(path, stress, &all);
    char *text = must_read(path);
    int number = 0;
    assert_int_equal(lines_with(text, "gc-minor "), all.last.minor_collections);
    assert_int_equal(lines_with(text, "gc-collect-done "), all.last.major_collections);
    assert_int_equal(lines_with(text, "gc-pause: "), all.last.pauses);
    for (const char *at = text; (at = strstr(at, "  gc-minor ")) != NULL; at++) {
      double survived, factor = 1;
      char unit[4];
      assert_int_equal(strtol(at + 11, NULL, 10), ++number);
      assert_int_equal(sscanf(strstr(at, ", survived "), ", survived %lf %3[KMiB]", &survived, unit), 2);
      if (*unit != 'B') factor = *unit == 'K' ? 1024 : 1048576;
      assert_true(survived * factor >= all.survived[number - 1] * 0.9949);
      assert_true(survived * factor <= all.survived[number - 1] * 1.0051);
    }
    assert_int_equal(number, all.minors);
    free(text);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_section_is_a_line),
      cmocka_unit_test(every_section_for_people_has_its_line),
      cmocka_unit_test(the_page_shows_what_is_written),
      cmocka_unit_test(amounts_have_three_digits),
      cmocka_unit_test(sections_select_lines),
      cmocka_unit_test(lines_are_whole_whatever_comes),
      cmocka_unit_test(nothing_is_allocated),
      cmocka_unit_test(threads_share_a_file),
      cmocka_unit_test(threads_share_standard_error),
      cmocka_unit_test(threads_share_a_pipe),
      cmocka_unit_test(a_line_is_one_write),
      cmocka_unit_test(lines_for_a_file_wait_in_the_buffer),
      cmocka_unit_test(a_child_of_fork_tears_no_line),
      cmocka_unit_test(seconds_count_from_the_first_head),
      cmocka_unit_test(the_lines_say_what_the_events_said),
  };
  if (argc > 1) page = argv[1];
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
