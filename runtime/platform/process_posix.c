#include "runtime/platform/process.h"

#include <errno.h>
#include <stdlib.h>
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

void crd_thread_rest(void) {
  int error = errno;
  nanosleep(&(struct timespec){0, 1000000}, NULL);
  errno = error;
}

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
