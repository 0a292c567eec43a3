/* Tests CRADLE_PAGES_FILE: what the file says while heaps are made and freed, after a fork, and when it cannot be
 * written. */
#include "tests/heap_fixture.h"

#include <cradle/runtime.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[64];

static int make_folder(void **state) {
  (void)state;
  strcpy(folder, "/tmp/cradle-ranges-XXXXXX");
  return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state) {
  char command[128];
  (void)state;
  unsetenv("CRADLE_PAGES_FILE");
  unsetenv("CRADLE_LOG");
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command);
}

static void read_text(const char *path, char *text, size_t size) {
  FILE *file = fopen(path, "r");
  size_t length = file == NULL ? 0 : fread(text, 1, size - 1, file);
  if (file != NULL) fclose(file);
  text[length] = '\0';
}

static void path_in(char *path, size_t size, const char *name) {
  snprintf(path, size, "%s/%s", folder, name);
  setenv("CRADLE_PAGES_FILE", path, 1);
}

static cradle_heap *start(cradle_listener listener) {
  cradle_options options;
  cradle_error error;
  cradle_options_init(&options);
  options.reserve_bytes = (size_t)64 << 20;
  options.listener = listener;
  cradle_heap *heap = cradle_heap_new_from_environment(&options, &error);
  if (heap == NULL) fail_msg("%s", error.message);
  return heap;
}

static void put_region(char *text, const cradle_region *region) {
  sprintf(text + strlen(text), "%jx-%jx %s\n", (uintmax_t)region->start,
          (uintmax_t)(region->start + region->reserved_bytes), region->name);
}

/* Appends the lines that the file must have for a heap. */
static void put_heap(char *text, cradle_heap *heap) {
  cradle_memory memory;
  cradle_memory_report(heap, &memory, sizeof memory);
  put_region(text, &memory.nursery);
  put_region(text, &memory.arenas);
  put_region(text, &memory.metadata);
}

static int files_in_folder(void) {
  char command[128];
  int count = -1;
  snprintf(command, sizeof command, "ls %s | wc -l", folder);
  FILE *pipe = popen(command, "r");
  assert_int_equal(fscanf(pipe, "%d", &count), 1);
  pclose(pipe);
  return count;
}

static void count_event(void *data, const cradle_event *event) {
  (void)event;
  ++*(int *)data;
}

/* The file that has the name now: 0, if there is none. */
static uintmax_t file_number(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 ? (uintmax_t)status.st_ino : 0;
}

CRADLE_UNCHECKED_COLLECTION static void the_file_follows_the_heaps(void **state) {
  (void)state;
  char path[128], text[2000], expected[2000];
  int events = 0;
  path_in(path, sizeof path, "ranges");
  cradle_heap *first = start((cradle_listener){count_event, &events});
  strcpy(expected, "cradle-ranges 1\n");
  put_heap(expected, first);
  read_text(path, text, sizeof text);
  assert_string_equal(text, expected);
  uintmax_t file = file_number(path);
  cradle_mutator *m = cradle_mutator_new(first);
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  cradle_mutator_free(m);
  assert_true(file_number(path) == file); /* it is not written again when the list stays the same */
  cradle_heap *second = start((cradle_listener){NULL, NULL});
  strcpy(expected, "cradle-ranges 1\n");
  put_heap(expected, second);
  put_heap(expected, first);
  read_text(path, text, sizeof text);
  assert_string_equal(text, expected);
  cradle_heap_free(first);
  assert_true(events >= 3); /* created, sized, destroyed: the program's listener gets them too */
  strcpy(expected, "cradle-ranges 1\n");
  put_heap(expected, second);
  read_text(path, text, sizeof text);
  assert_string_equal(text, expected);
  cradle_heap_free(second);
  read_text(path, text, sizeof text);
  assert_string_equal(text, "cradle-ranges 1\n");
  assert_int_equal(files_in_folder(), 1); /* no temporary file is left */
}

CRADLE_UNCHECKED_COLLECTION static void a_child_has_a_file_of_its_own(void **state) {
  (void)state;
  char path[128], text[2000], expected[2000] = "cradle-ranges 1\n", mine[128];
  int status;
  path_in(path, sizeof path, "%d.ranges");
  cradle_heap *heap = start((cradle_listener){NULL, NULL});
  put_heap(expected, heap);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    cradle_mutator *m = cradle_mutator_new(heap);
    cradle_collect(m, CRADLE_COLLECT_MINOR);
    snprintf(mine, sizeof mine, "%s/%d.ranges", folder, (int)getpid());
    uintmax_t file = file_number(mine);
    cradle_collect(m, CRADLE_COLLECT_MINOR);
    _exit(file == 0 || file_number(mine) != file);
  }
  waitpid(child, &status, 0);
  assert_int_equal(status, 0);
  snprintf(mine, sizeof mine, "%s/%d.ranges", folder, (int)child);
  read_text(mine, text, sizeof text);
  assert_string_equal(text, expected);
  snprintf(mine, sizeof mine, "%s/%d.ranges", folder, (int)getpid());
  read_text(mine, text, sizeof text);
  assert_string_equal(text, expected);
  cradle_heap_free(heap);
}

static void *start_and_free(void *nothing) {
  cradle_heap_free(start((cradle_listener){NULL, NULL}));
  return nothing;
}

/* Another thread is blocked while publishing, because its file is a pipe that nobody reads. */
CRADLE_UNCHECKED_COLLECTION static void a_child_goes_on_though_its_parent_was_publishing(void **state) {
  (void)state;
  char path[128], text[2000], pipe[128];
  pthread_t publisher;
  int status;
  path_in(path, sizeof path, "%d.ranges");
  cradle_heap *heap = start((cradle_listener){NULL, NULL});
  snprintf(pipe, sizeof pipe, "%s/%d.ranges.%d", folder, (int)getpid(), (int)getpid());
  assert_int_equal(mkfifo(pipe, 0600), 0);
  pthread_create(&publisher, NULL, start_and_free, NULL);
  nanosleep(&(struct timespec){0, 300000000}, NULL);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    alarm(30);
    cradle_collect(cradle_mutator_new(heap), CRADLE_COLLECT_MINOR);
    cradle_heap_free(start((cradle_listener){NULL, NULL}));
    _exit(0);
  }
  waitpid(child, &status, 0);
  int reader = open(pipe, O_RDONLY | O_NONBLOCK);
  pthread_join(publisher, NULL);
  close(reader);
  assert_int_equal(status, 0);
  snprintf(path, sizeof path, "%s/%d.ranges", folder, (int)child);
  read_text(path, text, sizeof text);
  assert_int_equal(strncmp(text, "cradle-ranges 1\n", 16), 0);
  cradle_heap_free(heap);
}

static void a_child_leaves_its_parents_file_alone(void **state) {
  (void)state;
  char path[128], text[2000], expected[2000] = "cradle-ranges 1\n";
  path_in(path, sizeof path, "ranges");
  cradle_heap *heap = start((cradle_listener){NULL, NULL});
  put_heap(expected, heap);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    cradle_heap_free(heap);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  read_text(path, text, sizeof text);
  assert_string_equal(text, expected);
  cradle_heap_free(heap);
}

/* The file's name has no %d; the child has its parent's heap, which the parent frees meanwhile, and one of its own. */
static void a_childs_own_heap_leaves_its_parents_file_alone(void **state) {
  (void)state;
  char path[128], text[2000], expected[2000] = "cradle-ranges 1\n", go;
  int status, ends[2];
  path_in(path, sizeof path, "ranges");
  cradle_heap *first = start((cradle_listener){NULL, NULL});
  assert_int_equal(pipe(ends), 0);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    if (read(ends[0], &go, 1) != 1) _exit(1);
    cradle_heap *own = start((cradle_listener){NULL, NULL});
    cradle_heap_free(first);
    cradle_heap_free(own);
    _exit(0);
  }
  cradle_heap_free(first);
  cradle_heap *second = start((cradle_listener){NULL, NULL});
  put_heap(expected, second);
  assert_int_equal(write(ends[1], "g", 1), 1);
  waitpid(child, &status, 0);
  assert_int_equal(status, 0);
  close(ends[0]);
  close(ends[1]);
  read_text(path, text, sizeof text);
  assert_string_equal(text, expected);
  cradle_heap_free(second);
}

/* A child whose parent has no heap at the fork publishes like any other process. */
static void a_child_without_its_parents_heap_publishes(void **state) {
  (void)state;
  char path[128], text[2000];
  int status;
  path_in(path, sizeof path, "ranges");
  cradle_heap_free(start((cradle_listener){NULL, NULL}));
  remove(path);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    cradle_heap_free(start((cradle_listener){NULL, NULL}));
    _exit(0);
  }
  waitpid(child, &status, 0);
  assert_int_equal(status, 0);
  read_text(path, text, sizeof text);
  assert_string_equal(text, "cradle-ranges 1\n");
}

static void it_is_written_beside_a_log(void **state) {
  (void)state;
  char path[128], log[128], text[4000];
  path_in(path, sizeof path, "ranges");
  snprintf(log, sizeof log, ":%s/log", folder);
  setenv("CRADLE_LOG", log, 1);
  cradle_heap_free(start((cradle_listener){NULL, NULL}));
  read_text(path, text, sizeof text);
  assert_string_equal(text, "cradle-ranges 1\n");
  read_text(log + 1, text, sizeof text);
  assert_non_null(strstr(text, "gc-heap-end}"));
}

/* What the library says while a heap starts and ends. */
static void start_and_listen(char *text, size_t size) {
  int ends[2], kept = dup(STDERR_FILENO);
  if (pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0) _exit(2);
  cradle_heap_free(start((cradle_listener){NULL, NULL}));
  dup2(kept, STDERR_FILENO);
  close(kept);
  close(ends[1]);
  ssize_t length = read(ends[0], text, size - 1);
  text[length < 0 ? 0 : length] = '\0';
  close(ends[0]);
}

/* [ranges.4]. The folder appears when it is too late. The program's errno is what it was. */
static int fail_and_give_up(void) {
  char path[128], text[600], wanted[300];
  struct stat status;
  path_in(path, sizeof path, "late/%d.ranges");
  start_and_listen(text, sizeof text);
  snprintf(wanted, sizeof wanted,
           "cradle: CRADLE_PAGES_FILE: %s/late/%d.ranges: No such file or directory; the ranges are not published\n",
           folder, (int)getpid());
  if (strcmp(text, wanted) != 0) return 3;
  snprintf(path, sizeof path, "%s/late", folder);
  if (mkdir(path, 0700) != 0) return 2;
  start_and_listen(text, sizeof text);
  snprintf(path, sizeof path, "%s/late/%d.ranges", folder, (int)getpid());
  return text[0] != '\0' ? 4 : stat(path, &status) == 0 ? 5 : 0;
}

static int lose_folder(void) {
  char path[128];
  path_in(path, sizeof path, "sub/ranges");
  snprintf(path, sizeof path, "%s/sub", folder);
  if (mkdir(path, 0700) != 0) return 2;
  cradle_heap *heap = start((cradle_listener){NULL, NULL});
  snprintf(path, sizeof path, "%s/sub/ranges", folder);
  if (remove(path) != 0) return 3;
  snprintf(path, sizeof path, "%s/sub", folder);
  if (remove(path) != 0) return 3;
  close(STDERR_FILENO); /* it is reported */
  errno = EDOM;
  cradle_heap_free(heap);
  return errno == EDOM ? 0 : 4;
}

static void what_failed_is_not_tried_again(void **state) {
  int (*const runs[])(void) = {fail_and_give_up, lose_folder};
  int status;
  (void)state;
  for (int i = 0; i < 2; i++) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) _exit(runs[i]());
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
  }
}

/* Runs in a child and returns its exit status: 0 when publishing fails and the library reports it. */
static int start_and_be_told(void) {
  char text[600] = "";
  int ends[2];
  if (pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0) return 2;
  cradle_heap_free(start((cradle_listener){NULL, NULL}));
  close(ends[1]);
  close(STDERR_FILENO);
  if (read(ends[0], text, sizeof text - 1) <= 0) return 3;
  return strncmp(text, "cradle: CRADLE_PAGES_FILE: /tmp/cradle-ranges-", 46) == 0 &&
                 strstr(text, "the ranges are not published\n") != NULL
             ? 0
             : 4;
}

static void a_place_that_is_none_is_told_once(void **state) {
  (void)state;
  char path[128];
  int status;
  path_in(path, sizeof path, "no/such/folder");
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) _exit(start_and_be_told());
  waitpid(child, &status, 0);
  assert_int_equal(status, 0);
}

static void a_limit_on_files_is_told_and_leaves_nothing(void **state) {
  (void)state;
  char path[128];
  const struct rlimit none = {0, 0};
  int status;
  path_in(path, sizeof path, "ranges");
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    setrlimit(RLIMIT_FSIZE, &none);
    _exit(start_and_be_told());
  }
  waitpid(child, &status, 0);
  assert_int_equal(status, 0);
  assert_int_equal(files_in_folder(), 0);
}

#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void) {
  const struct CMUnitTest tests[] = {
      FOLDER_TEST(the_file_follows_the_heaps),
      FOLDER_TEST(a_child_has_a_file_of_its_own),
      FOLDER_TEST(a_child_goes_on_though_its_parent_was_publishing),
      FOLDER_TEST(a_child_leaves_its_parents_file_alone),
      FOLDER_TEST(a_childs_own_heap_leaves_its_parents_file_alone),
      FOLDER_TEST(a_child_without_its_parents_heap_publishes),
      FOLDER_TEST(it_is_written_beside_a_log),
      FOLDER_TEST(what_failed_is_not_tried_again),
      FOLDER_TEST(a_place_that_is_none_is_told_once),
      FOLDER_TEST(a_limit_on_files_is_told_and_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
