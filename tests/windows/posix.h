/* What tests use of POSIX and Windows lacks. This folder's headers stand before the compiler's where tests are built
 * for Windows, and add it. What cannot be done there ends the running test as skipped, which cmocka counts. */
#ifndef TESTS_WINDOWS_POSIX_H
#define TESTS_WINDOWS_POSIX_H

#pragma GCC system_header

#include <direct.h>
#include <fcntl.h>
#include <io.h>
#include <stddef.h>
#include_next <stdlib.h>
#include <string.h>
#include <sys/types.h>

#ifdef TESTS_WITHOUT_CMOCKA
#define POSIX_SKIP() ((void)0)
#else
void _skip(const char *const file, const int line);
#define POSIX_SKIP() _skip(__FILE__, __LINE__)
#endif

/* --- processes --- */

static inline pid_t fork(void) {
  POSIX_SKIP();
  return -1;
}

static inline pid_t waitpid(pid_t child, int *status, int options) {
  (void)child, (void)options;
  *status = 0;
  return -1;
}

static inline unsigned alarm(unsigned seconds) {
  (void)seconds;
  return 0;
}

#define WIFEXITED(status) ((status) == 0)
#define WEXITSTATUS(status) (status)
#define WIFSIGNALED(status) ((void)(status), 0)
#define WTERMSIG(status) (status)

typedef unsigned long long rlim_t;
struct rlimit {
  rlim_t rlim_cur, rlim_max;
};
#define RLIM_INFINITY ((rlim_t) - 1)
enum { RLIMIT_AS, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_CORE };

static inline int getrlimit(int resource, struct rlimit *limit) {
  (void)resource;
  *limit = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
  return 0;
}

static inline int setrlimit(int resource, const struct rlimit *limit) {
  (void)resource, (void)limit;
  POSIX_SKIP();
  return -1;
}

/* --- files --- */

static inline int pipe(int ends[2]) {
  return _pipe(ends, 1 << 16, _O_BINARY);
}

static inline int mkfifo(const char *path, int mode) {
  (void)path, (void)mode;
  POSIX_SKIP();
  return -1;
}

static inline int symlink(const char *to, const char *path) {
  (void)to, (void)path;
  POSIX_SKIP();
  return -1;
}

/* The template's X become a number that no folder has. */
static inline char *mkdtemp(char *path) {
  size_t length = strlen(path);
  (void)_mkdir("/tmp");
  for (unsigned number = 0; number < 1000000; number++) {
    for (unsigned digit = 0, rest = number; digit < 6; digit++, rest /= 10)
      path[length - 1 - digit] = (char)('0' + rest % 10);
    if (_mkdir(path) == 0) return path;
  }
  return NULL;
}

/* --- the process's surroundings --- */

#define mkdir(path, mode) _mkdir(path)
#define O_NONBLOCK 0
#define SIGPIPE 13
#define SIGBUS 7

#define _SC_PAGESIZE 1
static inline long sysconf(int name) {
  (void)name;
  return 4096;
}

static inline int setenv(const char *name, const char *value, int overwrite) {
  (void)overwrite;
  return _putenv_s(name, value);
}

static inline int unsetenv(const char *name) {
  return _putenv_s(name, "");
}

#endif
