/* What a fork leaves behind while another thread ends the process: that thread holds locks of the runtime, and does not
 * exist in the child. The child goes on with its heap, frees it, starts another one and exits. */
#include "tests/support/heap_fixture.h"

#include <cradle/runtime.h>

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* A child that waits for nobody needs far less time. */
#define CHILD_MOST_S 30
#define PIPE_BYTES 4096

static char folder[] = "/tmp/cradle-fork-XXXXXX";

static int make_folder(void **state) {
  (void)state;
  return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state) {
  char command[64];
  (void)state;
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command);
}

/* --- a program with much to tell at its end --- */

typedef struct program {
  cradle_heap *heap;
  cradle_mutator *m;
  uint64_t function;
} program;

/* Each call uses a new function, which makes the profile long. */
static size_t frames(void *data, cradle_mutator *mutator, cradle_frame *out, size_t capacity) {
  program *p = data;
  (void)mutator, (void)capacity;
  out[0] = (cradle_frame){.id = ++p->function, .name = "a function whose name takes up room in the profile"};
  return 1;
}

static void begin(program *p) {
  cradle_options options;
  cradle_error error;
  cradle_options_init(&options);
  options.types = fixture_types, options.type_count = T_COUNT;
  options.nursery_bytes = (size_t)64 << 10;
  options.stack = (cradle_stack){.frames = frames, .data = p};
  if ((p->heap = cradle_heap_new_from_environment(&options, &error)) == NULL) _exit(10);
  if ((p->m = cradle_mutator_new(p->heap)) == NULL) _exit(11);
}

CRADLE_UNCHECKED_COLLECTION static void work(program *p) {
  for (int i = 0; i < 100000; i++) (void)cradle_new(p->m, T_PAIR, sizeof(pair));
  for (int i = 0; i < 100; i++) cradle_collect(p->m, CRADLE_COLLECT_MINOR);
}

static void end(program *p) {
  cradle_mutator_free(p->m);
  cradle_heap_free(p->heap);
}

static void *exit_beside(void *number) {
  __atomic_store_n((pid_t *)number, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
  exit(20);
}

static int go_on(program *p, const char *variable) {
  int elsewhere = open(folder, O_TMPFILE | O_RDWR, 0600);
  alarm(CHILD_MOST_S);
  if (elsewhere >= 0) dup2(elsewhere, STDERR_FILENO);
  work(p);
  end(p);
  unsetenv(variable); /* its pipe is full */
  begin(p);
  work(p);
  end(p);
  return 0;
}

static void fill(const char *path) {
  int writer = open(path, O_WRONLY | O_NONBLOCK);
  static const char bytes[PIPE_BYTES];
  for (size_t size = sizeof bytes; size != 0; size /= 2)
    while (write(writer, bytes, size) > 0) {}
  close(writer);
}

/* poll, because what does not fit into a pipe waits for room. */
static bool is_writing(long call) {
#ifdef SYS_poll
  if (call == SYS_poll) return true;
#endif
  return call == SYS_write || call == SYS_ppoll;
}

static bool writes(pid_t thread) {
  char path[64], number[32] = "";
  snprintf(path, sizeof path, "/proc/self/task/%d/syscall", (int)thread);
  FILE *file = fopen(path, "r");
  if (file == NULL) return usleep(300000) == 0; /* the kernel does not tell: after this time it does */
  bool read = fgets(number, sizeof number, file) != NULL;
  fclose(file);
  return read && number[0] != 'r' && is_writing(strtol(number, NULL, 10)); /* 'r': running */
}

static void wait_until_it_writes(const pid_t *thread) {
  pid_t number;
  while ((number = __atomic_load_n(thread, __ATOMIC_ACQUIRE)) == 0 || !writes(number)) usleep(1000);
}

/* Forks while its other thread, in exit, waits for room in the pipe: the child's status. */
static int fork_beside_exit(const char *variable, const char *value, const char *path) {
  program p = {0};
  pthread_t thread;
  pid_t number = 0;
  int status;
  int reader = open(path, O_RDONLY | O_NONBLOCK), writer = open(path, O_WRONLY);
  fcntl(reader, F_SETPIPE_SZ, PIPE_BYTES);
  setenv(variable, value, 1);
  begin(&p);
  work(&p);
  dup2(writer, STDERR_FILENO);
  fill(path);
  pthread_create(&thread, NULL, exit_beside, &number);
  wait_until_it_writes(&number);
  pid_t child = fork();
  if (child == 0) _exit(go_on(&p, variable));
  if (waitpid(child, &status, 0) != child) return 13;
  return WIFSIGNALED(status) ? 100 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* before: the variable's value up to the name of the pipe; "1": all of it. */
static void a_child_beside(const char *variable, const char *before) {
  char path[64], value[80];
  int status;
  snprintf(path, sizeof path, "%s/%s", folder, variable);
  assert_int_equal(mkfifo(path, 0600), 0);
  fflush(NULL);
  pid_t process = fork();
  snprintf(value, sizeof value, "%s%s", before, path);
  if (process == 0) _exit(fork_beside_exit(variable, strcmp(before, "1") == 0 ? before : value, path));
  assert_int_equal(waitpid(process, &status, 0), process);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_child_beside_a_profile_that_is_written_goes_on(void **state) {
  (void)state;
  a_child_beside("CRADLE_PROFILE", "");
}

static void a_child_beside_a_log_that_is_written_goes_on(void **state) {
  (void)state;
  a_child_beside("CRADLE_LOG", "gc-minor-walkroots:"); /* more would fill the pipe while the program works */
}

static void a_child_beside_statistics_that_are_written_goes_on(void **state) {
  (void)state;
  a_child_beside("CRADLE_STATS", "1");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_child_beside_a_profile_that_is_written_goes_on),
      cmocka_unit_test(a_child_beside_a_log_that_is_written_goes_on),
      cmocka_unit_test(a_child_beside_statistics_that_are_written_goes_on),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
