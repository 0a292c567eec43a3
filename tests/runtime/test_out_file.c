/* Tests the files that the runtime writes at paths its user chose: an existing file, link or device stays what it is,
 * and opening never blocks. */
#include "tests/support/heap_fixture.h"

#include "runtime/platform/files.h"
#include "runtime/report.h"

#include <cradle/inspect.h>
#include <cradle/runtime.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static char folder[64], path[128], target[128];

static int make_folder(void **state) {
  (void)state;
  strcpy(folder, "/tmp/cradle-out-XXXXXX");
  if (mkdtemp(folder) == NULL) return 1;
  snprintf(path, sizeof path, "%s/out", folder);
  snprintf(target, sizeof target, "%s/target", folder);
  return 0;
}

static int remove_folder(void **state) {
  char command[128];
  (void)state;
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command);
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

static void put(const char *name, const char *text) {
  FILE *file = fopen(name, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static void assert_contains(const char *name, const char *expected) {
  char text[100] = "";
  FILE *file = fopen(name, "r");
  assert_non_null(file);
  assert_true(fread(text, 1, sizeof text - 1, file) < sizeof text);
  fclose(file);
  assert_string_equal(text, expected);
}

/* Writes the text to the path, in place of what is there. */
static bool replace(const char *text) {
  int fd = crd_open_to_write(path, O_CREAT);
  return fd >= 0 && crd_file_empty(fd) && crd_write_all(fd, text, strlen(text)) && crd_file_close(fd);
}

/* --- what is there --- */

static void a_new_file_has_the_usual_mode(void **state) {
  (void)state;
  mode_t before = umask(027);
  assert_true(replace("new"));
  umask(before);
  assert_contains(path, "new");
  assert_int_equal(mode_of(path), S_IFREG | 0640);
  assert_int_equal(files_in_folder(), 1);
}

static void a_file_keeps_its_mode(void **state) {
  static const mode_t modes[] = {0600, 0666, 0755};
  (void)state;
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    put(path, "the old text");
    chmod(path, modes[i]);
    assert_true(replace("new"));
    assert_contains(path, "new");
    assert_int_equal(mode_of(path), S_IFREG | modes[i]);
    remove(path);
  }
}

static void a_link_stays_and_its_file_is_written(void **state) {
  (void)state;
  put(target, "the old text");
  assert_int_equal(symlink("target", path), 0);
  assert_true(replace("new"));
  assert_true(S_ISLNK(mode_of(path)));
  assert_contains(target, "new");
  assert_int_equal(files_in_folder(), 2);
}

static void a_link_to_no_file_makes_it(void **state) {
  (void)state;
  assert_int_equal(symlink("target", path), 0);
  assert_true(replace("new"));
  assert_true(S_ISLNK(mode_of(path)));
  assert_contains(target, "new");
}

static void a_pipe_is_written(void **state) {
  char text[10] = "";
  (void)state;
  assert_int_equal(mkfifo(path, 0600), 0);
  int reader = open(path, O_RDONLY | O_NONBLOCK);
  assert_true(replace("new"));
  assert_int_equal(read(reader, text, sizeof text), 3);
  assert_string_equal(text, "new");
  assert_true(S_ISFIFO(mode_of(path)));
  close(reader);
}

/* The null device's numbers, in a folder of the test's own. */
static void a_device_is_written(void **state) {
  (void)state;
  if (mknod(path, S_IFCHR | 0666, makedev(1, 3)) != 0) skip();
  int file = open(path, O_WRONLY);
  if (file < 0) skip(); /* the file system is mounted without devices */
  close(file);
  assert_true(replace("new"));
  assert_true(S_ISCHR(mode_of(path)));
  assert_int_equal(symlink("out", target), 0);
  strcpy(path, target);
  assert_true(replace("new"));
  assert_true(S_ISLNK(mode_of(path)));
}

static void what_cannot_be_written_is_an_error(void **state) {
  (void)state;
  assert_int_equal(mkdir(path, 0700), 0);
  assert_false(replace("new"));
  assert_int_equal(errno, EISDIR);
  strcat(path, "/no/such");
  assert_false(replace("new"));
  assert_int_equal(errno, ENOENT);
}

/* --- which outputs are written this way --- */

static void start_and_end(const char *variable) {
  cradle_options options;
  cradle_error error;
  cradle_options_init(&options);
  setenv(variable, path, 1);
  cradle_heap *heap = cradle_heap_new_from_environment(&options, &error);
  unsetenv(variable);
  assert_non_null(heap);
  assert_true(cradle_heap_dump(heap, target, &error));
  cradle_heap_free(heap);
}

/* Returns the exit status of a child that starts and frees a heap; copies the child's standard error to said. */
static int run(const char *variable, char *said, size_t room) {
  int ends[2], status;
  assert_int_equal(pipe(ends), 0);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    alarm(20); /* ends a child that blocks */
    dup2(ends[1], STDERR_FILENO);
    start_and_end(variable);
    exit(0);
  }
  close(ends[1]);
  ssize_t length = read(ends[0], said, room - 1);
  said[length > 0 ? length : 0] = '\0';
  close(ends[0]);
  assert_int_equal(waitpid(child, &status, 0), child);
  return status;
}

static const char *const variables[] = {"CRADLE_LOG", "CRADLE_PROFILE"};

static void a_pipe_that_nobody_reads_is_told(void **state) {
  (void)state;
  assert_int_equal(mkfifo(path, 0600), 0);
  for (int i = 0; i < 2; i++) {
    char said[600];
    assert_int_equal(run(variables[i], said, sizeof said), 0);
    if (strstr(said, variables[i]) == NULL || strstr(said, "nobody reads this pipe") == NULL)
      fail_msg("%s: \"%s\"", variables[i], said);
    assert_true(S_ISFIFO(mode_of(path)));
  }
}

static void a_pipe_that_is_read_is_written_by_all(void **state) {
  (void)state;
  assert_int_equal(mkfifo(path, 0600), 0);
  for (int i = 0; i < 2; i++) {
    char said[600], text[20] = "";
    int reader = open(path, O_RDONLY | O_NONBLOCK);
    assert_int_equal(run(variables[i], said, sizeof said), 0);
    assert_string_equal(said, "");
    assert_true(read(reader, text, sizeof text) > 5);
    assert_true(S_ISFIFO(mode_of(path)));
    close(reader);
  }
}

static void a_dump_leaves_links_and_modes(void **state) {
  char real[128];
  (void)state;
  snprintf(real, sizeof real, "%s/real", folder);
  put(real, "old");
  chmod(real, 0600);
  assert_int_equal(symlink("real", target), 0);
  start_and_end("CRADLE_LOG");
  assert_true(S_ISLNK(mode_of(target)));
  assert_int_equal(mode_of(real), S_IFREG | 0600);
  assert_int_equal(files_in_folder(), 3);
}

#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

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
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
