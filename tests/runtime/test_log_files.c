/* The files that the runtime writes at paths its user chose: an existing file, link or device stays what it is, and
 * opening never blocks. Also tests what can go wrong with a log's file, and threads that write one at once. */
#include "runtime/platform/files.h"
#include "tests/runtime/log_fixture.h"
#include "tests/support/allocated.h"

#include <cradle/inspect.h>
#include <cradle/runtime.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>

/* Replaces the C library's function: any file may pass for one that can only be appended to. */
static bool append_only;

int ftruncate(int fd, off_t bytes) {
  if (append_only) {
    errno = EPERM;
    return -1;
  }
  return (int)syscall(SYS_ftruncate, fd, bytes);
}

/* Each test has a folder of its own. */
static char output[128], target[128];

static int make_files(void **state) {
  int failed = make_folder(state);
  snprintf(output, sizeof output, "%s/out", folder);
  snprintf(target, sizeof target, "%s/target", folder);
  return failed;
}

static int files_in_folder(void) {
  char command[128];
  int count = -1;
  snprintf(command, sizeof command, "ls -A %s | wc -l", folder);
  FILE *pipe = popen(command, "r");
  assert_int_equal(fscanf(pipe, "%d", &count), 1);
  pclose(pipe);
  return count;
}

static mode_t mode_of(const char *name) {
  struct stat status;
  assert_int_equal(lstat(name, &status), 0);
  return status.st_mode;
}

static void assert_contains(const char *name, const char *expected) {
  char *text = must_read(name);
  assert_string_equal(text, expected);
  free(text);
}

/* Writes the text to the output, in place of what is there. */
static bool replace(const char *text) {
  int fd = crd_open_to_write(output, O_CREAT);
  return fd >= 0 && crd_file_empty(fd) && crd_write_all(fd, text, strlen(text)) && crd_file_close(fd);
}

/* --- what is there --- */

static void a_new_file_has_the_usual_mode(void **state) {
  (void)state;
  mode_t before = umask(027);
  assert_true(replace("new"));
  umask(before);
  assert_contains(output, "new");
  assert_int_equal(mode_of(output), S_IFREG | 0640);
  assert_int_equal(files_in_folder(), 1);
}

static void a_file_keeps_its_mode(void **state) {
  static const mode_t modes[] = {0600, 0666, 0755};
  (void)state;
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    write_text(output, "the old text");
    chmod(output, modes[i]);
    assert_true(replace("new"));
    assert_contains(output, "new");
    assert_int_equal(mode_of(output), S_IFREG | modes[i]);
    remove(output);
  }
}

static void a_link_stays_and_its_file_is_written(void **state) {
  (void)state;
  write_text(target, "the old text");
  assert_int_equal(symlink("target", output), 0);
  assert_true(replace("new"));
  assert_true(S_ISLNK(mode_of(output)));
  assert_contains(target, "new");
  assert_int_equal(files_in_folder(), 2);
}

static void a_link_to_no_file_makes_it(void **state) {
  (void)state;
  assert_int_equal(symlink("target", output), 0);
  assert_true(replace("new"));
  assert_true(S_ISLNK(mode_of(output)));
  assert_contains(target, "new");
}

static void a_pipe_is_written(void **state) {
  char text[10] = "";
  (void)state;
  assert_int_equal(mkfifo(output, 0600), 0);
  int reader = open(output, O_RDONLY | O_NONBLOCK);
  assert_true(replace("new"));
  assert_int_equal(read(reader, text, sizeof text), 3);
  assert_string_equal(text, "new");
  assert_true(S_ISFIFO(mode_of(output)));
  close(reader);
}

/* The null device's numbers, in a folder of the test's own. */
static void a_device_is_written(void **state) {
  (void)state;
  if (mknod(output, S_IFCHR | 0666, makedev(1, 3)) != 0) skip();
  int file = open(output, O_WRONLY);
  if (file < 0) skip(); /* the file system is mounted without devices */
  close(file);
  assert_true(replace("new"));
  assert_true(S_ISCHR(mode_of(output)));
  assert_int_equal(symlink("out", target), 0);
  strcpy(output, target);
  assert_true(replace("new"));
  assert_true(S_ISLNK(mode_of(output)));
}

static void what_cannot_be_written_is_an_error(void **state) {
  (void)state;
  assert_int_equal(mkdir(output, 0700), 0);
  assert_false(replace("new"));
  assert_int_equal(errno, EISDIR);
  strcat(output, "/no/such");
  assert_false(replace("new"));
  assert_int_equal(errno, ENOENT);
}

/* --- which outputs are written this way --- */

static void start_and_end(void *variable) {
  cradle_options options;
  cradle_error error;
  cradle_options_init(&options);
  setenv(variable, output, 1);
  cradle_heap *heap = cradle_heap_new_from_environment(&options, &error);
  unsetenv(variable);
  assert_non_null(heap);
  assert_true(cradle_heap_dump(heap, target, &error));
  cradle_heap_free(heap);
}

static char *const variables[] = {(char[]){"CRADLE_LOG"}, (char[]){"CRADLE_PROFILE"}};

static void a_pipe_that_nobody_reads_is_told(void **state) {
  (void)state;
  assert_int_equal(mkfifo(output, 0600), 0);
  for (int i = 0; i < 2; i++) {
    char *said = errors_of(start_and_end, variables[i]);
    assert_has(said, variables[i]);
    assert_has(said, "nobody reads this pipe");
    assert_true(S_ISFIFO(mode_of(output)));
    free(said);
  }
}

static void a_pipe_that_is_read_is_written_by_all(void **state) {
  (void)state;
  assert_int_equal(mkfifo(output, 0600), 0);
  for (int i = 0; i < 2; i++) {
    char text[20] = "";
    int reader = open(output, O_RDONLY | O_NONBLOCK);
    char *said = errors_of(start_and_end, variables[i]);
    assert_string_equal(said, "");
    assert_true(read(reader, text, sizeof text) > 5);
    assert_true(S_ISFIFO(mode_of(output)));
    close(reader);
    free(said);
  }
}

static void a_dump_leaves_links_and_modes(void **state) {
  char real[128];
  (void)state;
  snprintf(real, sizeof real, "%s/real", folder);
  write_text(real, "old");
  chmod(real, 0600);
  assert_int_equal(symlink("real", target), 0);
  start_and_end(variables[0]);
  assert_true(S_ISLNK(mode_of(target)));
  assert_int_equal(mode_of(real), S_IFREG | 0600);
  assert_int_equal(files_in_folder(), 3);
}

/* --- a log that cannot be opened --- */

static void an_unwritable_path_is_told_once(void **state) {
  char selection[300];
  (void)state;
  snprintf(selection, sizeof selection, "gc:%s/no/such/folder/%%d.log", folder);
  char *text = errors_of(open_and_live, selection);
  assert_has(text, "/no/such/folder/");
  assert_lacks(text, "%d");
  assert_has(text, "No such file or directory");
  assert_int_equal(count_of(text, "\n"), 1);
  free(text);
}

static long mapped_pages(void) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%ld", &pages), 1);
  fclose(file);
  return pages;
}

/* So many that pages which each of them leaves stand out from those that valgrind maps. */
enum { TRIES = 400 };

static void fail_to_open(void *selection) {
  for (int i = 0; i < TRIES; i++) assert_null(open_log_before(selection, (cradle_listener){0}));
}

static void a_log_that_cannot_be_opened_leaves_no_memory(void **state) {
  char selection[300];
  (void)state;
#ifdef CRADLE_ASAN
  print_message("skipped: AddressSanitizer maps memory, too\n");
  skip();
#endif
  snprintf(selection, sizeof selection, "gc:%s/no/such/folder", folder);
  free(errors_of(fail_to_open, selection));
  long before = mapped_pages();
  size_t bytes = allocated_bytes();
  fail_to_open(selection);
  assert_int_equal(allocated_bytes(), bytes);
  assert_in_range(mapped_pages(), 0, before + TRIES / 2);
}

static void opening_a_log_keeps_errno(void **state) {
  (void)state;
  errno = 77;
  crd_link *log = open_log(":", fresh_name(".log"));
  assert_int_equal(errno, 77);
  send_life(log);
}

/* --- a log that stops --- */

static void fill_disk(void *data) {
  crd_link *log = open_log_before(":/dev/full", (cradle_listener){no_listener, data});
  assert_non_null(log);
  errno = 77;
  for (int i = 0; i < 1000; i++) send_minor(log);
  assert_int_equal(errno, 77);
  send_life(log);
}

static void a_full_disk_stops_the_log_only(void **state) {
  int events = 0;
  (void)state;
  char *text = errors_of(fill_disk, &events);
  assert_string_equal(text, "cradle: CRADLE_LOG: /dev/full: No space left on device; the log stops\n");
  assert_int_equal(events, 4000 + 14);
  free(text);
}

/* The section that was open when the log stopped is not ended in a file that the program has opened since. */
static void lose_reader_in_a_section(void *data) {
  char path[300], note[70000];
  snprintf(path, sizeof path, "%s", fresh_name(".fifo"));
  memset(note, 'n', sizeof note - 1);
  note[sizeof note - 1] = '\0';
  assert_int_equal(mkfifo(path, 0600), 0);
  int reader = open(path, O_RDONLY | O_NONBLOCK);
  crd_link *log = open_log(":", path);
  close(reader);
  signal(SIGPIPE, SIG_DFL);
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_MINOR_BEGIN});
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_NOTE, .u.note = {note, 0, 0, CRADLE_NOTE_OTHER}});
  int files[8];
  for (int i = 0; i < 8; i++) files[i] = open(data, O_WRONLY | O_CREAT | O_APPEND, 0600);
  close_log(log);
  for (int i = 0; i < 8; i++) assert_int_equal(close(files[i]), 0);
}

static void a_log_that_stopped_touches_no_other_file(void **state) {
  char path[300];
  (void)state;
  snprintf(path, sizeof path, "%s", fresh_name(".txt"));
  char *said = errors_of(lose_reader_in_a_section, path), *text = must_read(path);
  assert_has(said, "Broken pipe; the log stops\n");
  assert_int_equal(count_of(said, "\n"), 1);
  assert_string_equal(text, "");
  free(said);
  free(text);
}

/* Lives in a child that may write files of one kilobyte, with its standard error in a pipe. */
static int live_with_small_files(const char *path, int error) {
  const struct rlimit small = {1024, 1024};
  dup2(error, STDERR_FILENO);
  setrlimit(RLIMIT_FSIZE, &small);
  signal(SIGXFSZ, SIG_DFL);
  send_life(open_log(":", path));
  return 0;
}

static void a_limit_on_files_stops_the_log_only(void **state) {
  const char *path = fresh_name(".log");
  char said[600] = "";
  int ends[2];
  (void)state;
  assert_int_equal(pipe(ends), 0);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) _exit(live_with_small_files(path, ends[1]));
  assert_int_equal(wait_for(child), 0);
  close(ends[1]);
  assert_true(read(ends[0], said, sizeof said - 1) > 0);
  close(ends[0]);
  assert_has(said, "File too large; the log stops\n");
}

/* The program's own signal, which it has blocked, is still there after a write of ours that fails. */
static void a_signal_that_waited_stays(void **state) {
  static const int signals[] = {SIGPIPE, SIGXFSZ};
  int ends[2];
  (void)state;
  assert_int_equal(pipe(ends), 0);
  close(ends[0]);
  for (int i = 0; i < 2; i++) {
    sigset_t one, before, pending;
    sigemptyset(&one);
    sigaddset(&one, signals[i]);
    pthread_sigmask(SIG_BLOCK, &one, &before);
    raise(signals[i]);
    assert_int_equal(crd_write_quietly(ends[1], "x", 1), -1);
    assert_int_equal(errno, EPIPE);
    sigpending(&pending);
    assert_true(sigismember(&pending, signals[i]));
    assert_false(sigismember(&pending, signals[!i]));
    assert_int_equal(sigtimedwait(&one, NULL, &(struct timespec){0, 0}), signals[i]);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
  }
  close(ends[1]);
}

/* --- the log's file --- */

static void d_is_the_process(void **state) {
  char path[300], expected[300];
  (void)state;
  snprintf(path, sizeof path, "%s/pid-%%d-%%d.log", folder);
  snprintf(expected, sizeof expected, "%s/pid-%d-%d.log", folder, (int)getpid(), (int)getpid());
  send_life(open_log(":", path));
  free(must_read(expected));
}

/* What was in it before is replaced, by the first of them. */
static void heaps_of_a_process_share_the_file(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  write_old(path);
  crd_link *first = open_log(":", path), *second = open_log(":", path);
  send_life(second);
  send_life(first);
  send_life(open_log(":", path));
  char *text = must_read(path);
  assert_int_equal(count_of(text, "] {gc-heap-end"), 3);
  assert_lacks(text, "yesterday's");
  free(text);
}

static void append_life(void *selection) {
  append_only = true;
  crd_link *log = open_log_before(selection, (cradle_listener){0});
  append_only = false;
  send_life(log);
}

static void an_old_log_that_cannot_be_emptied_is_appended_to(void **state) {
  char selection[300];
  (void)state;
  snprintf(selection, sizeof selection, ":%s", fresh_name(".log"));
  write_old(selection + 1);
  char *said = errors_of(append_life, selection), *text = must_read(selection + 1);
  assert_has(said, ".log: Operation not permitted; appending\n");
  assert_int_equal(strncmp(text, "yesterday's\n[", 13), 0);
  assert_int_equal(read_sections(text), 12);
  free(said);
  free(text);
}

static void long_logs_are_whole(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  crd_link *log = open_log("gc:", path);
  for (int i = 0; i < 1000; i++) send_minor(log);
  send_life(log);
  char *text = must_read(path);
  assert_int_equal(read_sections(text), 2000 + 12);
  assert_int_equal(count_of(text, "time taken: 0.000012345\n"), 1001);
  free(text);
}

static void a_note_longer_than_the_buffer_is_whole(void **state) {
  const char *path = fresh_name(".log");
  size_t length = 300000;
  char *note = malloc(length + 1);
  (void)state;
  memset(note, 'n', length);
  note[length] = '\0';
  crd_link *log = open_log(":", path);
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_NOTE, .u.note = {note, 0, 0, CRADLE_NOTE_OTHER}});
  close_log(log);
  char *text = must_read(path);
  assert_has(text, note);
  assert_has(text, "n\n[");
  assert_int_equal(read_sections(text), 2);
  free(note);
  free(text);
}

/* --- threads that write at once --- */

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
  for (int i = 0; i < 300; i++) {
    send_minor(log);
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

static pthread_barrier_t all_ready;

static void *live_with_others(void *path) {
  pthread_barrier_wait(&all_ready);
  close_log(open_log("json:", path));
  return NULL;
}

/* Whoever comes first empties the file, however close the others are. */
static void heaps_of_threads_empty_it_once(void **state) {
  enum { THREADS = 4, ROUNDS = 200 };
  (void)state;
  pthread_barrier_init(&all_ready, NULL, THREADS);
  for (int round = 0; round < ROUNDS; round++) {
    pthread_t threads[THREADS];
    char path[300];
    snprintf(path, sizeof path, "%s", fresh_name(".log"));
    write_old(path);
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, live_with_others, path), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    char *text = must_read(path);
    assert_one_log(text);
    assert_int_equal(count_of(text, "\"event\":\"cradle-log\""), THREADS);
    free(text);
  }
  pthread_barrier_destroy(&all_ready);
}

#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, make_files, remove_folder)

int main(void) {
  const struct CMUnitTest tests[] = {
      FOLDER_TEST(a_new_file_has_the_usual_mode),
      FOLDER_TEST(a_file_keeps_its_mode),
      FOLDER_TEST(a_link_stays_and_its_file_is_written),
      FOLDER_TEST(a_link_to_no_file_makes_it),
      FOLDER_TEST(a_pipe_is_written),
      FOLDER_TEST(a_device_is_written),
      FOLDER_TEST(what_cannot_be_written_is_an_error),
      FOLDER_TEST(a_pipe_that_nobody_reads_is_told),
      FOLDER_TEST(a_pipe_that_is_read_is_written_by_all),
      FOLDER_TEST(a_dump_leaves_links_and_modes),
      FOLDER_TEST(an_unwritable_path_is_told_once),
      FOLDER_TEST(a_log_that_cannot_be_opened_leaves_no_memory),
      FOLDER_TEST(opening_a_log_keeps_errno),
      FOLDER_TEST(a_full_disk_stops_the_log_only),
      FOLDER_TEST(a_log_that_stopped_touches_no_other_file),
      FOLDER_TEST(a_limit_on_files_stops_the_log_only),
      FOLDER_TEST(a_signal_that_waited_stays),
      FOLDER_TEST(d_is_the_process),
      FOLDER_TEST(heaps_of_a_process_share_the_file),
      FOLDER_TEST(an_old_log_that_cannot_be_emptied_is_appended_to),
      FOLDER_TEST(long_logs_are_whole),
      FOLDER_TEST(a_note_longer_than_the_buffer_is_whole),
      FOLDER_TEST(threads_share_a_file),
      FOLDER_TEST(threads_share_standard_error),
      FOLDER_TEST(threads_share_a_pipe),
      FOLDER_TEST(a_line_is_one_write),
      FOLDER_TEST(heaps_of_threads_empty_it_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
