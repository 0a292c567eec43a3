#include "runtime/platform/process.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/auxv.h>
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

void crd_thread_yield(void) {
  (void)sched_yield();
}

void crd_thread_rest(void) {
  int error = errno;
  nanosleep(&(struct timespec){0, 1000000}, NULL);
  errno = error;
}

static uint64_t read_clock(clockid_t clock) {
  struct timespec now = {0, 0};
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t crd_clock_ns(void) {
  return read_clock(CLOCK_MONOTONIC);
}

uint64_t crd_unix_time_ns(void) {
  return read_clock(CLOCK_REALTIME);
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

#ifdef MADV_WIPEONFORK
/* qemu's user emulation says yes to any advice, and heeds few. The kernel refuses one that does not exist. */
static bool advice_is_heeded(char *page) {
  enum { NO_ADVICE = -1 };
  return madvise(page, 1, NO_ADVICE) != 0;
}
#endif

/* Maps a whole page, the smallest mapping, for one byte. */
char *crd_fork_mark_new(void) {
#ifdef MADV_WIPEONFORK
  int error = errno;
  char *page = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    errno = error;
    return NULL;
  }
  *page = 1;
  bool is_wiped = advice_is_heeded(page) && madvise(page, 1, MADV_WIPEONFORK) == 0;
  errno = error;
  if (is_wiped) return page;
  munmap(page, 1);
#endif
  return NULL;
}

void crd_fork_mark_free(char *mark) {
  if (mark != NULL) munmap(mark, 1);
}
