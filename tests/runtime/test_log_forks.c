/* The log among processes: the lock on its file, and what forks and exits leave in it. */
#include "tests/runtime/log_fixture.h"
#include "tests/support/allocated.h"
#include "tests/support/yields.h"

#include <errno.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

/* Two functions of the C library are replaced: any file may pass for a terminal, and the kernel for an old one, which
 * cannot clear a page in a child of fork. */
static bool terminals, old_kernel;

int isatty(int fd) {
  (void)fd;
  if (terminals) return 1;
  errno = ENOTTY;
  return 0;
}

int madvise(void *start, size_t bytes, int advice) {
#ifdef MADV_WIPEONFORK
  if (old_kernel && advice == MADV_WIPEONFORK) {
    errno = EINVAL;
    return -1;
  }
#endif
  return (int)syscall(SYS_madvise, start, bytes, advice);
}

/* --- the lock --- */

static bool is_locked(const char *path) {
  int file = open(path, O_WRONLY);
  assert_true(file >= 0);
  bool locked = flock(file, LOCK_EX | LOCK_NB) != 0;
  close(file);
  return locked;
}

static void log_on_standard_error(void *locked) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", STDERR_FILENO);
  if (write(STDERR_FILENO, "the program's\n", 14) < 0) return;
  crd_link *log = open_log(":", "-");
  *(bool *)locked = is_locked(path);
  send_life(log);
}

/* Standard error is the program's, even where it leads to a file. */
static void standard_error_is_neither_emptied_nor_locked(void **state) {
  bool locked = true;
  (void)state;
  char *text = errors_of(log_on_standard_error, &locked);
  assert_int_equal(strncmp(text, "the program's\n[", 15), 0);
  assert_int_equal(read_sections(text), 12);
  assert_false(locked);
  free(text);
}

static pid_t child_that_waits(const int *ends) {
  char byte;
  fflush(NULL);
  pid_t child = fork();
  if (child != 0) return child;
  close(ends[1]);
  _exit((int)read(ends[0], &byte, 1));
}

/* It has the descriptor, but the log is complete. */
static void a_child_keeps_no_lock(void **state) {
  const char *path = fresh_name(".log");
  int ends[2];
  (void)state;
  assert_int_equal(pipe(ends), 0);
  crd_link *log = open_log(":", path);
  pid_t child = child_that_waits(ends);
  send_life(log);
  assert_false(is_locked(path));
  close(ends[1]);
  assert_int_equal(wait_for(child), 0);
  close(ends[0]);
}

static void a_child_does_not_give_back_its_parents_lock(void **state) {
  char selection[300], path[300];
  (void)state;
  snprintf(selection, sizeof selection, "%s/lock-%%d.log", folder);
  snprintf(path, sizeof path, "%s/lock-%d.log", folder, (int)getpid());
  crd_link *log = open_log(":", selection);
  fflush(NULL);
  for (int i = 0; i < 2; i++) {
    pid_t child = fork();
    if (child == 0) {
      if (i == 1) send_minor(log); /* into a file of its own */
      close_log(log);
      _exit(0);
    }
    assert_int_equal(wait_for(child), 0);
    assert_true(is_locked(path));
  }
  send_life(log);
}

static void a_file_that_another_process_writes_is_kept(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  crd_link *log = open_log(":", path);
  send_life(open_log(":", path));
  pid_t child = fork();
  if (child == 0) begin_again("--live", path);
  assert_int_equal(wait_for(child), 0);
  send_life(log);
  char *text = must_read(path);
  assert_int_equal(count_of(text, "] {gc-heap-end"), 3);
  free(text);
}

static void live_when_closed(const char *path, const int ends[2]) {
  char none;
  close(ends[1]);
  (void)!read(ends[0], &none, 1);
  close_log(open_log("json:", path));
}

/* One process may empty the file just as another one writes its head. */
static void processes_share_a_file(void **state) {
  enum { PROCESSES = 4, ROUNDS = 200 };
  (void)state;
  fflush(NULL);
  for (int round = 0; round < ROUNDS; round++) {
    const char *path = fresh_name(".log");
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    write_old(path);
    for (int i = 0; i < PROCESSES; i++) {
      if (fork() != 0) continue;
      live_when_closed(path, ends);
      _exit(0);
    }
    close(ends[0]);
    close(ends[1]);
    for (int i = 0; i < PROCESSES; i++) assert_int_equal(wait_for(-1), 0);
    char *text = must_read(path);
    assert_one_log(text);
    free(text);
  }
}

/* --- fork --- */

/* Neither a child that only exits nor one that has events writes what its parent had in the buffer. */
static void a_child_writes_nothing_twice(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  crd_link *log = open_log(":", path);
  send_minor(log);
  for (int has_events = 0; has_events <= 1; has_events++) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
      if (has_events) send_minor(log);
      if (has_events) send_life(log);
      exit(0); /* with what a normal end writes */
    }
    assert_int_equal(wait_for(child), 0);
    char *text = must_read(path);
    assert_string_equal(text, "");
    free(text);
  }
  send_life(log);
  char *text = must_read(path);
  assert_int_equal(read_sections(text), 12 + 2);
  free(text);
}

static void a_child_gets_its_own_file_with_d(void **state) {
  char path[300], childs[300];
  (void)state;
  snprintf(path, sizeof path, "%s/fork-%%d.log", folder);
  crd_link *log = open_log(":", path);
  send_minor(log);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    send_minor(log);
    exit(0);
  }
  assert_int_equal(wait_for(child), 0);
  close_log(log);
  snprintf(childs, sizeof childs, "%s/fork-%d.log", folder, (int)child);
  char *text = must_read(childs);
  assert_int_equal(read_sections(text), 3);
  assert_has(text, "{cradle-log");
  free(text);
}

/* The process remembers the names of the files that it wrote to; it keeps nothing else as long as the name. */
static void a_child_frees_the_name_of_its_parents_file(void **state) {
  enum { NAME_BYTES = 3000 };
  char path[NAME_BYTES + 100];
  (void)state;
  int length = snprintf(path, sizeof path, "%s", folder);
  while (length < NAME_BYTES) length += snprintf(path + length, sizeof path - (size_t)length, "/.");
  snprintf(path + length, sizeof path - (size_t)length, "/name-%%d.log");
  char *selection = malloc(sizeof path + 1);
  snprintf(selection, sizeof path + 1, ":%s", path);
  crd_link *log = open_log_before(selection, (cradle_listener){0});
  free(selection);
  assert_non_null(log);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    size_t before = allocated_bytes();
    send_minor(log);
    _exit(allocated_bytes() - before >= (size_t)2 * NAME_BYTES);
  }
  assert_int_equal(wait_for(child), 0);
  close_log(log);
}

static void fork_on_stderr(void *data) {
  crd_link *log = open_log(data, "-");
  send_minor(log);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    send_minor(log);
    _exit(0);
  }
  assert_int_equal(wait_for(child), 0);
  close_log(log);
}

/* Its sections would be taken for its parent's. */
static void a_child_has_its_own_label_on_standard_error(void **state) {
  char label[60], *text = errors_of(fork_on_stderr, (char *)(uintptr_t)":");
  (void)state;
  assert_int_equal(read_sections(text), 6);
  const char *childs = strstr(strstr(text, "{cradle-log") + 1, "{cradle-log\nheap: ");
  assert_non_null(childs);
  assert_int_equal(sscanf(childs, "{cradle-log\nheap: %59s", label), 1);
  assert_int_not_equal(strtol(label, NULL, 10), getpid());
  assert_non_null(strstr(childs, "{gc-minor\nheap: "));
  assert_int_equal(strncmp(strstr(childs, "{gc-minor\nheap: ") + 16, label, strlen(label)), 0);
  free(text);
  text = errors_of(fork_on_stderr, (char *)(uintptr_t)"json:");
  assert_int_equal(count_of(text, "\"event\":\"cradle-log\""), 2);
  free(text);
  text = errors_of(fork_on_stderr, (char *)(uintptr_t)"line:");
  assert_int_equal(lines_with(text, "cradle-log: "), 2);
  assert_int_equal(lines_with(text, "gc-minor "), 2);
  free(text);
}

/* A child compares its number with that of the process that opened the log. */
static void forks_are_noticed_on_an_old_kernel(void **state) {
  old_kernel = true;
  a_child_does_not_give_back_its_parents_lock(state);
  a_child_writes_nothing_twice(state);
  a_child_gets_its_own_file_with_d(state);
  a_child_has_its_own_label_on_standard_error(state);
  old_kernel = false;
}

/* People look there. A child of fork goes on in it, under a head of its own. */
static void a_terminal_is_written_at_each_section(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  terminals = true;
  crd_link *log = open_log(":", path);
  terminals = false;
  send_minor(log);
  char *text = must_read(path);
  assert_int_equal(read_sections(text), 3);
  free(text);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    send_minor(log);
    _exit(0);
  }
  assert_int_equal(wait_for(child), 0);
  close_log(log);
  text = must_read(path);
  assert_int_equal(read_sections(text), 6);
  assert_int_equal(count_of(text, "{cradle-log\n"), 2);
  free(text);
}

/* --- the time in a head that is written after a fork --- */

/* The second head is of a log that has had an event from far in the future. */
static char *fork_in_the_future(const char *words) {
  struct timespec clock;
  clock_gettime(CLOCK_MONOTONIC, &clock);
  now = ((uint64_t)clock.tv_sec + 1000) * 1000000000u;
  return errors_of(fork_on_stderr, (char *)(uintptr_t)words);
}

/* The head's line about the clock must lead from the time of an event to the time of day. */
static void assert_time_of_day(const char *text) {
  unsigned long long tick, seconds;
  int length = 0;
  struct timespec clock;
  assert_int_equal(sscanf(text,
                          "[%llx] {cradle-log\nheap: %*[0-9.]\nCradle log, format 1\n1 tick = 1 ns of CLOCK_MONOTONIC\n"
                          "seconds since 1970: %llu.%*9[0-9]\n%n",
                          &tick, &seconds, &length),
                   2);
  assert_true(length > 0);
  clock_gettime(CLOCK_MONOTONIC, &clock);
  int64_t since_tick = (int64_t)clock.tv_sec - (int64_t)(tick / 1000000000u);
  assert_in_range((int64_t)seconds + since_tick, time(NULL) - 300, time(NULL) + 300);
}

static void the_head_tells_the_time_of_day(void **state) {
  (void)state;
  char *text = fork_in_the_future("");
  assert_int_equal(count_of(text, "{cradle-log\n"), 2);
  const char *second = strstr(strstr(text, "{cradle-log\n") + 1, "{cradle-log\n");
  assert_time_of_day(text);
  while (*second != '[') second--;
  assert_time_of_day(second);
  free(text);
}

/* When the process opened its first log, also for a log whose last event is from far in the future. */
static void seconds_count_from_the_first_head(void **state) {
  double seconds;
  char label[40];
  (void)state;
  close_log(open_log(":", fresh_name(".log")));
  usleep(10);
  char *text = fork_in_the_future("line:");
  said_by(text, &seconds, label);
  assert_true(seconds > 0 && seconds < 300);
  said_by(strchr(text, '\n') + 1, &seconds, label);
  assert_true(seconds > 700 && seconds < 1301);
  free(text);
}

/* --- exit --- */

static void write_without_standard_error(const char *path) {
  close(STDERR_FILENO);
  crd_link *log = open_log(":", path);
  if (write(STDERR_FILENO, "the program's\n", 14) >= 0) _exit(1);
  send_life(log);
  _exit(0);
}

static void a_closed_standard_error_is_not_the_log(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) write_without_standard_error(path);
  assert_int_equal(wait_for(child), 0);
  char *text = must_read(path);
  assert_int_equal(read_sections(text), 12);
  assert_lacks(text, "the program's");
  free(text);
}

/* The second log leaves the list from between others. */
static void a_normal_end_writes_each_log_once(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    crd_link *logs[4];
    for (int i = 0; i < 4; i++) send_minor(logs[i] = open_log(":", path));
    close_log(logs[1]);
    exit(0);
  }
  assert_int_equal(wait_for(child), 0);
  char *text = must_read(path);
  assert_int_equal(count_of(text, "{cradle-log\n"), 4);
  assert_int_equal(count_of(text, "{gc-minor\n"), 4);
  assert_int_equal(count_of(text, "] gc-minor}\n"), 4);
  free(text);
}

static void *log_until_it_stops(void *log) {
  for (int i = 0; i < 1000; i++) send_minor(log);
  return NULL;
}

/* The log is locked while it writes, and its pipe is full. */
static void fork_while_a_thread_logs(void *status) {
  const char *path = fresh_name(".fifo");
  pthread_t thread;
  int waiting = 0;
  assert_int_equal(mkfifo(path, 0600), 0);
  int reader = open(path, O_RDONLY | O_NONBLOCK);
  crd_link *log = open_log(":", path);
  int bytes = fcntl(reader, F_SETPIPE_SZ, 4096);
  pthread_create(&thread, NULL, log_until_it_stops, log);
  while (ioctl(reader, FIONREAD, &waiting) == 0 && waiting < bytes) usleep(1000);
  pid_t child = fork();
  if (child == 0) {
    yields = 0;
    ends_with_its_yields = true;
    exit(0);
  }
  *(int *)status = wait_for(child);
  close(reader);
  pthread_join(thread, NULL);
  close_log(log);
}

static void a_child_does_not_wait_for_a_thread_that_it_has_not(void **state) {
  int status = -1;
  (void)state;
  fflush(NULL);
  free(errors_of(fork_while_a_thread_logs, &status));
  assert_int_equal(status, 0);
}

/* Ends this process with 7 as soon as a thread waits for a lock; it would end by SIGALRM otherwise. */
static void *end_with_the_first_yield(void *none) {
  (void)none;
  while (__atomic_load_n(&yields, __ATOMIC_RELAXED) == 0) usleep(1000);
  _exit(7);
}

static void watch_yields(void) {
  pthread_t thread;
  alarm(60);
  yields = 0;
  if (pthread_create(&thread, NULL, end_with_the_first_yield, NULL) != 0) _exit(8);
}

static void make_full_pipe(const char *path) {
  if (mkfifo(path, 0600) != 0) _exit(9);
  int reader = open(path, O_RDONLY | O_NONBLOCK), writer = open(path, O_WRONLY | O_NONBLOCK);
  if (reader < 0 || writer < 0) _exit(9);
  for (size_t bytes = 4096; bytes != 0; bytes /= 2)
    while (write(writer, folder, bytes < sizeof folder ? bytes : sizeof folder) > 0) {}
}

static void *log_slowly(void *log) {
  for (;; usleep(1000)) send_minor(log);
  return NULL;
}

static void exit_beside_a_thread_that_logs(const char *path) {
  pthread_t thread;
  crd_link *log = open_log(":", path);
  send_minor(log);
  watch_yields();
  pthread_create(&thread, NULL, log_slowly, log);
  exit(0);
}

/* For one that writes a log's buffer. */
static void threads_wait_for_each_other(void **state) {
  const char *path = fresh_name(".fifo");
  (void)state;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    make_full_pipe(path);
    exit_beside_a_thread_that_logs(path);
  }
  int status = wait_for(child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 7);
}

static crd_link *log_at_exit;
static void collect_at_exit(void) {
  send_minor(log_at_exit);
}

/* An exit handler of the program runs after the log's when it was registered before. */
static void what_comes_after_the_end_is_written_too(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) begin_again("--collect-at-exit", path);
  assert_int_equal(wait_for(child), 0);
  char *text = must_read(path);
  assert_int_equal(read_sections(text), 3);
  free(text);
}

/* What tests run as another program. */
static int act(const char *action, const char *path) {
  if (strcmp(action, "--live") == 0) {
    send_life(open_log(":", path));
    return 0;
  }
  atexit(collect_at_exit);
  log_at_exit = open_log(":", path);
  return 0;
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(standard_error_is_neither_emptied_nor_locked),
      cmocka_unit_test(a_child_keeps_no_lock),
      cmocka_unit_test(a_child_does_not_give_back_its_parents_lock),
      cmocka_unit_test(a_file_that_another_process_writes_is_kept),
      cmocka_unit_test(processes_share_a_file),
      cmocka_unit_test(a_child_writes_nothing_twice),
      cmocka_unit_test(a_child_gets_its_own_file_with_d),
      cmocka_unit_test(a_child_frees_the_name_of_its_parents_file),
      cmocka_unit_test(a_child_has_its_own_label_on_standard_error),
      cmocka_unit_test(forks_are_noticed_on_an_old_kernel),
      cmocka_unit_test(a_terminal_is_written_at_each_section),
      cmocka_unit_test(the_head_tells_the_time_of_day),
      cmocka_unit_test(seconds_count_from_the_first_head),
      cmocka_unit_test(a_closed_standard_error_is_not_the_log),
      cmocka_unit_test(a_normal_end_writes_each_log_once),
      cmocka_unit_test(a_child_does_not_wait_for_a_thread_that_it_has_not),
      cmocka_unit_test(threads_wait_for_each_other),
      cmocka_unit_test(what_comes_after_the_end_is_written_too),
  };
  atexit(end_with_yields); /* before the logs', so that it runs after them */
  if (argc == 3) return act(argv[1], argv[2]);
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
