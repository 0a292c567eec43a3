/* Tests the collector's thread, which marks on a second core, in hard conditions: the program forks, exits, frees the
 * heap, gets many signals, has no second processor, gets no thread, switches stacks, or unloads the library.
 *
 * Each test runs in its own child process with a time limit, so a thread that survives or hangs fails one test only. A
 * child that finds a fault prints it and exits with 1. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/old/second_core_process.h"
#include "tests/old/second_core_programs.h"
#include "tests/support/forks.h"
#include "tests/support/second_core.h"

#define FORKS 8

static const char *plugin_path;

/* --- fork --- */

/* Both processes go on: the parent's thread keeps marking, and the child has no thread. The child then forks, too. */
static void forks_plainly(void) {
  second_core s = second_core_new(1, LIST_NODES);
  for (int i = 0; i < FORKS; i++) {
    second_core_begin_round(&s);
    for (volatile int spin = 0; spin < i * i * 1000;) spin++; /* so that the thread is at another place each time */
    pid_t child = fork();
    require(child >= 0, "no child");
    if (child == 0) {
      (void)alarm(CHILD_MOST_S);
      require_markers(0);
      second_core_work(&s);
      pid_t grandchild = i % 2 == 0 ? -1 : fork();
      if (grandchild == 0) (void)alarm(CHILD_MOST_S);
      second_core_check(&s);
      if (grandchild > 0) {
        int status;
        require(waitpid(grandchild, &status, 0) == grandchild && status == 0, "the child's child failed");
      }
      second_core_free(&s);
      _exit(0);
    }
    second_core_work(&s);
    int status = 0;
    require(waitpid(child, &status, 0) == child && status == 0, "the child of a fork in a round failed");
    second_core_check(&s);
  }
  require_markers(1);
  second_core_free(&s);
}

static void test_plain_fork(void **state) {
  (void)state;
  if (!FORKS_ARE_TRIED) skip();
  run_program(forks_plainly, 0);
}

static void forks_prepared(void) {
  second_core s = second_core_new(1, LIST_NODES);
  for (int i = 0; i < FORKS / 2; i++) {
    cradle_error error = {.message = ""};
    second_core_begin_round(&s);
    require(cradle_fork_prepare(s.heap, &error), error.message);
    require(!inside_marker(s.heap)->going, "a round goes on while the heap is prepared for a fork");
    pid_t child = fork();
    require(child >= 0, "no child");
    if (child == 0) {
      (void)alarm(CHILD_MOST_S);
      cradle_fork_done(s.heap);
      second_core_work(&s);
      second_core_check(&s);
      second_core_free(&s);
      _exit(0);
    }
    cradle_fork_done(s.heap);
    second_core_work(&s);
    int status = 0;
    require(waitpid(child, &status, 0) == child && status == 0, "the child of a prepared fork failed");
  }
  second_core_check(&s);
  second_core_free(&s);
}

static void test_prepared_fork(void **state) {
  (void)state;
  if (!FORKS_ARE_TRIED) skip();
  run_program(forks_prepared, 0);
}

static void hangs(int number) {
  (void)number;
  (void)!write(STDERR_FILENO, "it waits for ever\n", 18);
  _exit(1);
}

/* The first process of a PID namespace forks the first process of another one, so both have the same process id. */
static void forks_with_the_same_number(void) {
  if (unshare(CLONE_NEWPID) != 0) _exit(SKIP_STATUS);
  pid_t first = fork();
  require(first >= 0, "no child");
  if (first > 0) {
    int status = 0;
    require(waitpid(first, &status, 0) == first, "no status");
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }
  (void)alarm(CHILD_MOST_S);
  second_core s = second_core_new(1, LIST_NODES);
  second_core_begin_round(&s);
  if (unshare(CLONE_NEWPID) != 0) _exit(SKIP_STATUS);
  pid_t second = fork();
  require(second >= 0, "no child");
  if (second == 0) {
    struct itimerval limit = {.it_value = {.tv_sec = 5}};
    (void)signal(SIGALRM, hangs); /* the first process of a namespace ignores signals that it does not handle */
    (void)setitimer(ITIMER_REAL, &limit, NULL);
    require(getpid() == 1, "not the first process of its namespace");
    second_core_work(&s);
    second_core_check(&s);
    second_core_free(&s);
    _exit(0);
  }
  int status = 0;
  require(waitpid(second, &status, 0) == second && status == 0, "the child with the parent's number failed");
  second_core_check(&s);
  second_core_free(&s);
  _exit(0);
}

static void test_fork_with_the_same_number(void **state) {
  (void)state;
  if (!FORKS_ARE_TRIED) skip();
  run_program(forks_with_the_same_number, 0);
}

/* --- the end --- */

static void test_exit(void **state) {
  (void)state;
  run_program(exits, 7);
  run_program(exits_on_another_thread, 8);
}

static void test_heap_freed(void **state) {
  (void)state;
  run_program(frees_the_heap, 0);
}

/* --- no thread, one processor --- */

static char noted[400];

static void note(void *data, const cradle_event *event) {
  (void)data;
  if (event->kind == CRADLE_EVENT_NOTE && strstr(event->u.note.text, "thread") != NULL)
    (void)snprintf(noted, sizeof noted, "%s", event->u.note.text);
}

static void is_refused(void) {
  if (!refuse_threads()) exit(SKIP_STATUS);
  second_core_listener = note;
  second_core s = second_core_new(1, LIST_NODES);
  second_core_begin(&s);
  require(inside_marker(s.heap)->thread == NULL, "there is a thread where none can be made");
  second_core_work(&s);
  second_core_check(&s);
  second_core_free(&s);
  require(noted[0] != '\0', "nobody was told that there is no thread");
  _exit(0); /* a normal exit would run LeakSanitizer, which makes a thread */
}

static void test_refused(void **state) {
  (void)state;
  run_program(is_refused, 0);
}

static void test_one_processor(void **state) {
  (void)state;
  run_program(has_one_processor, 0);
}

/* There are never more collector threads than processors, however many heaps want one. */
static void has_more_heaps_than_processors(void) {
  cpu_set_t set;
  require(sched_getaffinity(0, sizeof set, &set) == 0, "no affinity");
  int processors = CPU_COUNT(&set), heaps = processors + 2;
  if (processors < 2 || heaps > 20) exit(SKIP_STATUS);
  second_core s[20];
  for (int i = 0; i < heaps; i++) {
    s[i] = second_core_new(CRADLE_GC_THREADS_AUTO, WORTHWHILE_NODES);
    second_core_begin(&s[i]);
    require(inside_marker(s[0].heap)->thread != NULL, "the first heap that asks for a thread gets none");
    require(crd_thread_count() <= (uint32_t)processors, "there are more threads than processors");
  }
  for (int i = 0; i < heaps; i++) second_core_free(&s[i]);
  require_markers(0);
}

static void test_many_heaps(void **state) {
  (void)state;
  run_program(has_more_heaps_than_processors, 0);
}

/* --- signals --- */

static pid_t program_thread;
static volatile sig_atomic_t signals, elsewhere;

static void count_signal(int number) {
  (void)number;
  signals = signals + 1;
  if ((pid_t)syscall(SYS_gettid) != program_thread) elsewhere = 1;
}

static void is_stormed(void) {
  sigset_t set;
  struct itimerval often = {.it_interval = {.tv_usec = 100}, .it_value = {.tv_usec = 100}},
                   never = {.it_value = {0, 0}};
  struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
  second_core s = second_core_new(1, LIST_NODES);
  program_thread = (pid_t)syscall(SYS_gettid);
  (void)sigaction(SIGALRM, &action, NULL);
  (void)sigaction(SIGUSR1, &action, NULL);
  second_core_begin_round(&s);
  /* The program blocks the signal, so a collector thread that did not block it would receive it. */
  (void)sigemptyset(&set);
  (void)sigaddset(&set, SIGUSR1);
  (void)sigprocmask(SIG_BLOCK, &set, NULL);
  (void)kill(getpid(), SIGUSR1);
  nap_ms(20);
  require(signals == 0, "a signal that the program blocks was handled on the collector's thread");
  (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
  require(signals == 1, "a signal was lost");
  (void)setitimer(ITIMER_REAL, &often, NULL);
  for (int i = 0; i < 4; i++) {
    second_core_work(&s);
    second_core_begin_round(&s);
  }
  (void)setitimer(ITIMER_REAL, &never, NULL);
  require(signals > 20, "there was no storm");
  require(!elsewhere, "a signal was handled on the collector's thread");
  (void)alarm(CHILD_MOST_S);
  second_core_check(&s);
  second_core_free(&s);
}

static void test_signals(void **state) {
  (void)state;
  run_program(is_stormed, 0);
}

/* --- threads of the program --- */

static void test_threads(void **state) {
  (void)state;
  run_program(has_heaps_on_many_threads, 0);
  run_program(hands_the_mutator_on, 0);
}

/* --- words that are no references --- */

static void test_no_references(void **state) {
  (void)state;
  run_program(holds_no_references, 0);
}

/* --- coroutines --- */

#ifdef WITHOUT_CONTEXTS
static void runs_coroutines(void) {
  exit(SKIP_STATUS);
}
#else
#define STACK_BYTES ((size_t)256 << 10)
#define SWITCHES 20
static ucontext_t main_context, contexts[2];
static second_core coroutines_core;

static void coroutine(int number) {
  for (int i = 0; i < SWITCHES; i++) {
    second_core_begin(&coroutines_core);
    second_core_churn(&coroutines_core, 1000);
    (void)swapcontext(&contexts[number], &contexts[1 - number]);
  }
}

static void runs_coroutines(void) {
  static char stacks[2][STACK_BYTES];
  coroutines_core = second_core_new(1, LIST_NODES);
  for (int i = 0; i < 2; i++) {
    require(getcontext(&contexts[i]) == 0, "no context");
    contexts[i].uc_stack = (stack_t){.ss_sp = stacks[i], .ss_size = STACK_BYTES};
    contexts[i].uc_link = &main_context;
    makecontext(&contexts[i], (void (*)(void))coroutine, 1, i);
  }
  require(swapcontext(&main_context, &contexts[0]) == 0, "no switch");
  second_core_check(&coroutines_core);
  second_core_free(&coroutines_core);
}
#endif

static void test_coroutines(void **state) {
  (void)state;
  run_program(runs_coroutines, 0);
}

/* --- a library that comes and goes --- */

static bool is_mapped(const char *path) {
  char line[512];
  bool found = false;
  FILE *maps = fopen("/proc/self/maps", "r");
  require(maps != NULL, "/proc/self/maps cannot be read");
  while (fgets(line, sizeof line, maps) != NULL)
    if (strstr(line, strrchr(path, '/')) != NULL) found = true;
  (void)fclose(maps);
  return found;
}

static void loads_and_unloads(void) {
  for (int i = 0; i < 5; i++) {
    void *library = dlopen(plugin_path, RTLD_NOW | RTLD_LOCAL);
    require(library != NULL, "the library cannot be loaded");
    void (*run)(void);
    *(void **)&run = dlsym(library, "second_core_plugin_run");
    require(run != NULL, "the library has no function");
    run();
    require(dlclose(library) == 0, "the library cannot be closed");
    if (is_mapped(plugin_path)) exit(SKIP_STATUS); /* some C libraries and sanitizers never unload a library */
    nap_ms(2);
    require_markers(0);
  }
}

static void test_library(void **state) {
  (void)state;
  if (plugin_path == NULL) skip();
  run_program(loads_and_unloads, 0);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_plain_fork),
      cmocka_unit_test(test_prepared_fork),
      cmocka_unit_test(test_fork_with_the_same_number),
      cmocka_unit_test(test_exit),
      cmocka_unit_test(test_heap_freed),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_one_processor),
      cmocka_unit_test(test_many_heaps),
      cmocka_unit_test(test_signals),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_no_references),
      cmocka_unit_test(test_coroutines),
      cmocka_unit_test(test_library),
  };
  if (argc > 1) plugin_path = argv[1];
  return cmocka_run_group_tests(tests, NULL, NULL);
}
