#include "runtime/platform/process.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#elif defined(__APPLE__)
#include <crt_externs.h>
#define environ (*_NSGetEnviron()) /* on macOS a shared library cannot use the variable itself */
#else
/* Defined by the program's start-up code; weak, because a shared library must not leave names undefined. */
extern char **environ __attribute__((__weak__));
#endif

int crd_process_number(void) {
  return (int)getpid();
}

const char *crd_program_name(void) {
#if defined(__linux__)
  return program_invocation_short_name;
#elif defined(__APPLE__) || defined(__FreeBSD__)
  return getprogname();
#else
  return "unknown";
#endif
}

void crd_thread_rest(void) {
  int error = errno;
  nanosleep(&(struct timespec){0, 1000000}, NULL);
  errno = error;
}

/* --- running another program --- */

#ifdef __linux__

#define CHILD_STACK_BYTES (64 << 10) /* execvp puts paths of 4 KiB on it */
#define NO_PROGRAM 127

typedef struct run {
  const char *const *arguments;
  int most_ms;
  crd_run_end end;
} run;

/* fork is not safe in a signal handler, as it may wait for the lock of malloc. This child has the process's memory, a
 * stack of its own, and no signals; the process waits for its end, or until it runs another program. */
static pid_t begin_child(int (*function)(void *), run *run, char *stack, int signal_at_end) {
  return clone(function, stack + CHILD_STACK_BYTES, CLONE_VM | CLONE_VFORK | signal_at_end, run);
}

static int become_program(void *data) {
  const run *it = data;
  if (dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) execvp(it->arguments[0], (char *const *)(uintptr_t)it->arguments);
  _exit(NO_PROGRAM);
}

static crd_run_end wait_for(pid_t program, int most_ms) {
  int status = 0;
  for (int i = 0; waitpid(program, &status, WNOHANG) == 0; i++) {
    if (i == most_ms) {
      kill(program, SIGKILL);
      waitpid(program, &status, 0);
      return CRD_RUN_LATE;
    }
    crd_thread_rest();
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == NO_PROGRAM) return CRD_RUN_NONE;
  return status == 0 ? CRD_RUN_OK : CRD_RUN_FAILED;
}

/* The parent of the program: of the end of a child that ran a program, SIGCHLD would tell the process. */
static int run_program(void *data) {
  static char stack[CHILD_STACK_BYTES] __attribute__((__aligned__(64)));
  run *it = data;
  (void)signal(SIGCHLD, SIG_DFL); /* ignored, it would hide the status */
  pid_t program = begin_child(become_program, it, stack, SIGCHLD);
  if (program > 0) it->end = wait_for(program, it->most_ms);
  _exit(0);
}

crd_run_end crd_run(const char *const *arguments, int most_ms) {
  static char stack[CHILD_STACK_BYTES] __attribute__((__aligned__(64)));
  run it = {arguments, most_ms, CRD_RUN_NONE};
  int error = errno;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pid_t child = begin_child(arguments != NULL ? run_program : NULL, &it, stack, 0); /* NULL: refused */
  if (child != 0) (void)waitpid(child > 0 ? child : getpid(), NULL, __WCLONE);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = error;
  return it.end;
}

#else

crd_run_end crd_run(const char *const *arguments, int most_ms) {
  (void)arguments, (void)most_ms;
  return CRD_RUN_NONE;
}

#endif

uint64_t crd_unix_time_ns(void) {
  struct timespec now = {0, 0};
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool crd_has_more_rights_than_user(void) {
#ifdef __linux__
  return getauxval(AT_SECURE) != 0;
#else
  return getuid() != geteuid() || getgid() != getegid();
#endif
}

const char *crd_variable_value(const char *name) {
  return getenv(name);
}

void crd_each_variable(void (*function)(void *data, const char *entry), void *data) {
  for (char **entry = environ; entry != NULL && *entry != NULL; entry++) function(data, *entry);
}
