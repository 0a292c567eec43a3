/* Processes of their own for tests/old/test_second_core.c, and what they ask the system, or have it refuse. */
#ifndef TESTS_SECOND_CORE_PROCESS_H
#define TESTS_SECOND_CORE_PROCESS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if __has_include(<linux/filter.h>) /* not where musl stands beside glibc */
#include <linux/filter.h>
#include <linux/seccomp.h>
#define CAN_REFUSE_THREADS 1
#else
#define CAN_REFUSE_THREADS 0
#endif

#include <cmocka.h>

#include "tests/support/second_core.h"

#define CHILD_MOST_S 120

/* --- a process of its own --- */

/* Makes the system refuse new threads in this process. Returns false if the system has no such filters. */
static inline bool refuse_threads(void) {
#if CAN_REFUSE_THREADS
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
#else
  return false;
#endif
}

/* The exit status of a program that cannot be tried on this system. */
#define SKIP_STATUS 77

/* Runs a program as a child and waits for its end; an alarm ends a child that hangs. */
static inline void run_program(void (*program)(void), int expected) {
  int status = 0;
  (void)fflush(NULL);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    (void)alarm(CHILD_MOST_S);
    program();
    exit(0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  if (WIFSIGNALED(status))
    fail_msg("the child was ended by signal %d%s", WTERMSIG(status),
             WTERMSIG(status) == SIGALRM ? ": it waits for ever" : "");
  if (WEXITSTATUS(status) == SKIP_STATUS) skip();
  assert_int_equal(WEXITSTATUS(status), expected);
}

/* The collector's threads, by their name. */
static inline int markers_here(void) {
  int count = 0;
  DIR *tasks = opendir("/proc/self/task");
  require(tasks != NULL, "/proc/self/task cannot be read");
  for (const struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
    char path[300], name[20] = "";
    (void)snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
    FILE *file = fopen(path, "r");
    if (file == NULL) continue;
    if (fgets(name, sizeof name, file) != NULL && strcmp(name, "cradle-marker\n") == 0) count++;
    (void)fclose(file);
  }
  (void)closedir(tasks);
  return count;
}

/* A new thread sets its name only a moment after it starts, and a joined thread may stay listed for a moment. */
static inline void require_markers(int expected) {
  for (int i = 0; i < 1000 && markers_here() != expected; i++) nap_ms(1);
  require(markers_here() == expected, "a thread was not ended, or one was not made");
}

static inline void keep_to_one_processor(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  require(sched_getaffinity(0, sizeof set, &set) == 0, "no affinity");
  int first = 0;
  while (!CPU_ISSET(first, &set)) first++;
  CPU_ZERO(&set);
  CPU_SET(first, &set);
  require(sched_setaffinity(0, sizeof set, &set) == 0, "no affinity");
}

#endif
