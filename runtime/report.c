/* Reports on standard error, each once a process. */
#include "runtime/report.h"

#include <cradle/inspect.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define REPORT_MAX_BYTES 600
#define LOCK_ATTEMPTS 1000

static bool take_if_held_by(pid_t *lock, pid_t holder, pid_t self) {
  return __atomic_compare_exchange_n(lock, &holder, self, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

bool crd_lock_try(crd_lock *lock) {
  pid_t self = getpid();
  for (int i = 0; i < LOCK_ATTEMPTS; i++) {
    if (take_if_held_by(&lock->holder, 0, self)) return true;
    pid_t holder = __atomic_load_n(&lock->holder, __ATOMIC_RELAXED);
    if (holder != 0 && holder != self) return false;
    sched_yield();
  }
  return false;
}

/* From a thread of another process, too: it does not exist here. Gives up after a while. */
static bool try_or_take_over(pid_t *lock) {
  pid_t self = getpid();
  for (int i = 0; i < LOCK_ATTEMPTS; i++) {
    pid_t holder = __atomic_load_n(lock, __ATOMIC_RELAXED);
    if (holder != self && take_if_held_by(lock, holder, self)) return true;
    sched_yield();
  }
  return false;
}

/* Between attempts it sleeps: the holder may wait for a disk. */
static void take_or_take_over(pid_t *lock) {
  while (!try_or_take_over(lock)) nanosleep(&(struct timespec){0, 1000000}, NULL);
}

void crd_lock_take(crd_lock *lock) {
  take_or_take_over(&lock->holder);
}

void crd_lock_release(crd_lock *lock) {
  __atomic_store_n(&lock->holder, 0, __ATOMIC_RELEASE);
}

bool crd_process_lock_try(crd_process_lock *lock) {
  return try_or_take_over(&lock->holder);
}

void crd_process_lock_take(crd_process_lock *lock) {
  take_or_take_over(&lock->holder);
}

void crd_process_lock_release(crd_process_lock *lock) {
  __atomic_store_n(&lock->holder, 0, __ATOMIC_RELEASE);
}

/* The process's state of [report.1]. Texts are never freed: they are few, and what was said stays
 * said. */
typedef struct said {
  struct said *next;
  char text[];
} said;
static said *all_said;
static crd_process_lock said_lock;

static bool was_said(const char *text) {
  for (const said *one = all_said; one != NULL; one = one->next)
    if (strcmp(one->text, text) == 0) return true;
  return false;
}

/* Without memory the text is forgotten, and said again. */
static void remember(const char *text) {
  size_t bytes = strlen(text) + 1;
  said *one = malloc(sizeof *one + bytes);
  if (one == NULL) return;
  memcpy(one->text, text, bytes);
  one->next = all_said;
  __atomic_store_n(&all_said, one, __ATOMIC_RELEASE);
}

bool crd_first_time(const char *text) {
  crd_process_lock_take(&said_lock);
  bool first = !was_said(text);
  if (first) remember(text);
  crd_process_lock_release(&said_lock);
  return first;
}

/* The signals that writing raises, but those in except. */
static sigset_t raised_by_writing(const sigset_t *except) {
  sigset_t set;
  sigemptyset(&set);
  if (!sigismember(except, SIGPIPE)) sigaddset(&set, SIGPIPE);
  if (!sigismember(except, SIGXFSZ)) sigaddset(&set, SIGXFSZ);
  return set;
}

void crd_quiet_begin(crd_quiet *quiet) {
  sigset_t none, block;
  sigemptyset(&none);
  block = raised_by_writing(&none);
  sigemptyset(&quiet->pending);
  sigpending(&quiet->pending);
  pthread_sigmask(SIG_BLOCK, &block, &quiet->before);
}

/* What our writes raised is taken back; a signal that waited before stays. */
void crd_quiet_end(const crd_quiet *quiet) {
  int error = errno;
  sigset_t ours = raised_by_writing(&quiet->pending);
  while (sigtimedwait(&ours, NULL, &(struct timespec){0, 0}) > 0) {}
  pthread_sigmask(SIG_SETMASK, &quiet->before, NULL);
  errno = error;
}

ptrdiff_t crd_write_quietly(int fd, const void *bytes, size_t length) {
  crd_quiet quiet;
  ptrdiff_t written;
  crd_quiet_begin(&quiet);
  do written = write(fd, bytes, length);
  while (written < 0 && errno == EINTR);
  crd_quiet_end(&quiet);
  return written;
}

/* Standard error may have been made non-blocking by somebody else. */
static bool wait_for_room(int fd) {
  struct pollfd descriptor = {.fd = fd, .events = POLLOUT};
  return poll(&descriptor, 1, -1) >= 0 || errno == EINTR;
}

bool crd_write_all(int fd, const void *bytes, size_t length) {
  const char *next = bytes;
  while (length != 0) {
    ptrdiff_t written = crd_write_quietly(fd, next, length);
    if (written < 0) {
      if (errno == EAGAIN && wait_for_room(fd)) continue;
      return false;
    }
    next += written;
    length -= (size_t)written;
  }
  return true;
}

int crd_above_standard(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), error = errno;
  close(fd);
  errno = error;
  return moved;
}

int crd_report(const char *format, ...) {
  char line[REPORT_MAX_BYTES + 2] = "cradle: ";
  size_t prefix = strlen(line);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line + prefix, REPORT_MAX_BYTES - prefix, format, arguments);
  va_end(arguments);
  (void)cradle_show_text(line, sizeof line, line, strlen(line));
  if (!crd_first_time(line)) return 0;
  strcat(line, "\n");
  crd_write_all(STDERR_FILENO, line, strlen(line));
  return 1;
}
