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

static bool replace(const char *text) {
  crd_replacement file;
  return crd_replacement_begin(&file, path) && crd_replacement_end(&file, crd_write_all(file.fd, text, strlen(text)));
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
  static const mode_t modes[] = {0600, 0666, 0444, 0755};
  (void)state;
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    put(path, "old");
    chmod(path, modes[i]);
    assert_true(replace("new"));
    assert_contains(path, "new");
    assert_int_equal(mode_of(path), S_IFREG | modes[i]);
    remove(path);
  }
}

static void a_link_stays_and_its_file_is_replaced(void **state) {
  (void)state;
  put(target, "old");
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

/* [files.3] When the file is the program's own output, neither earlier nor later output of the program is lost. */
static void the_own_output_is_written_in_place(void **state) {
  (void)state;
  put(path, "before ");
  int output = dup(STDOUT_FILENO), file = open(path, O_WRONLY | O_APPEND);
  assert_true(output >= 0 && file >= 0);
  fflush(stdout);
  assert_int_equal(dup2(file, STDOUT_FILENO), STDOUT_FILENO);
  bool replaced = replace("the report ");
  bool written = write(STDOUT_FILENO, "after", 5) == 5;
  assert_int_equal(dup2(output, STDOUT_FILENO), STDOUT_FILENO);
  close(file);
  close(output);
  assert_true(replaced && written);
  assert_contains(path, "before the report after");
  assert_int_equal(files_in_folder(), 1);
}

static void what_is_not_complete_is_removed(void **state) {
  crd_replacement file;
  (void)state;
  put(path, "old");
  assert_true(crd_replacement_begin(&file, path));
  assert_int_equal(files_in_folder(), 2);
  errno = ENOSPC;
  assert_false(crd_replacement_end(&file, false));
  assert_int_equal(errno, ENOSPC);
  assert_contains(path, "old");
  assert_int_equal(files_in_folder(), 1);
}

/* A link at the path where the new file would be made is not followed. */
static void new_files_are_made_exclusively(void **state) {
  char partial[200];
  (void)state;
  put(target, "mine");
  snprintf(partial, sizeof partial, "%s.partial.%d.0", path, (int)getpid());
  assert_int_equal(symlink("target", partial), 0);
  assert_true(replace("new"));
  assert_contains(path, "new");
  assert_contains(target, "mine");
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

/* Replaces the C library's function. */
static int rename_error;
int rename(const char *from, const char *to) {
  if (rename_error == 0) return renameat(AT_FDCWD, from, AT_FDCWD, to);
  errno = rename_error;
  return -1;
}

/* The dump is written as a whole, and then the system refuses to give it its name. */
static void a_dump_that_does_not_get_its_name_is_an_error(void **state) {
  cradle_options options;
  cradle_error error;
  char wanted[256];
  (void)state;
  cradle_options_init(&options);
  cradle_heap *heap = cradle_heap_new(&options, NULL);
  snprintf(wanted, sizeof wanted, "heap dump to \"%s\": Operation not permitted", path);
  rename_error = EPERM;
  bool done = cradle_heap_dump(heap, path, &error), done_silently = cradle_heap_dump(heap, path, NULL);
  rename_error = 0;
  assert_false(done || done_silently);
  assert_string_equal(error.message, wanted);
  assert_int_equal(files_in_folder(), 0);
  assert_true(cradle_heap_dump(heap, path, &error));
  assert_int_equal(files_in_folder(), 1);
  cradle_heap_free(heap);
}

#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void) {
  const struct CMUnitTest tests[] = {
      FOLDER_TEST(a_new_file_has_the_usual_mode),
      FOLDER_TEST(a_file_keeps_its_mode),
      FOLDER_TEST(a_link_stays_and_its_file_is_replaced),
      FOLDER_TEST(a_link_to_no_file_makes_it),
      FOLDER_TEST(a_pipe_is_written),
      FOLDER_TEST(a_device_is_written),
      FOLDER_TEST(the_own_output_is_written_in_place),
      FOLDER_TEST(what_is_not_complete_is_removed),
      FOLDER_TEST(a_dump_that_does_not_get_its_name_is_an_error),
      FOLDER_TEST(new_files_are_made_exclusively),
      FOLDER_TEST(what_cannot_be_written_is_an_error),
      FOLDER_TEST(a_pipe_that_nobody_reads_is_told),
      FOLDER_TEST(a_pipe_that_is_read_is_written_by_all),
      FOLDER_TEST(a_dump_leaves_links_and_modes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
