/* Files on POSIX systems. */
#include "runtime/platform/files.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* --- quiet writes --- */

_Static_assert(sizeof(sigset_t) <= sizeof((crd_quiet){{0}, {0}}.before), "crd_quiet holds the masks of signals");

/* The signals that writing can raise, without those in except. */
static sigset_t raised_by_writing(const sigset_t *except) {
  sigset_t set;
  sigemptyset(&set);
  if (except == NULL || !sigismember(except, SIGPIPE)) sigaddset(&set, SIGPIPE);
  if (except == NULL || !sigismember(except, SIGXFSZ)) sigaddset(&set, SIGXFSZ);
  return set;
}

void crd_quiet_begin(crd_quiet *quiet) {
  sigset_t block = raised_by_writing(NULL), before, pending;
  sigpending(&pending);
  pthread_sigmask(SIG_BLOCK, &block, &before);
  memcpy(quiet->before, &before, sizeof before);
  memcpy(quiet->pending, &pending, sizeof pending);
}

#if defined(__APPLE__)
/* macOS has no sigtimedwait, and sigwait would wait for ever if nothing is pending. */
static bool take_back_one(const sigset_t *ours) {
  static const int raised[] = {SIGPIPE, SIGXFSZ};
  sigset_t pending;
  int number;
  sigpending(&pending);
  for (size_t i = 0; i < sizeof raised / sizeof *raised; i++)
    if (sigismember(ours, raised[i]) && sigismember(&pending, raised[i])) return sigwait(ours, &number) == 0;
  return false;
}
#else
static bool take_back_one(const sigset_t *ours) {
  return sigtimedwait(ours, NULL, &(struct timespec){0, 0}) > 0;
}
#endif

/* Takes back the signals that our writes raised; a signal that was pending before stays. */
void crd_quiet_end(const crd_quiet *quiet) {
  int error = errno;
  sigset_t before, pending;
  memcpy(&before, quiet->before, sizeof before);
  memcpy(&pending, quiet->pending, sizeof pending);
  sigset_t ours = raised_by_writing(&pending);
  while (take_back_one(&ours)) {}
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = error;
}

ptrdiff_t crd_write_quietly(int fd, const void *bytes, size_t length) {
  crd_quiet quiet;
  ptrdiff_t written;
  crd_quiet_begin(&quiet);
#if defined(F_SETNOSIGPIPE) /* macOS: any thread that does not block SIGPIPE gets it, so the file must not raise it */
  bool raises = fcntl(fd, F_GETNOSIGPIPE) == 0;
  if (raises) (void)fcntl(fd, F_SETNOSIGPIPE, 1);
#endif
  do written = write(fd, bytes, length);
  while (written < 0 && errno == EINTR);
#if defined(F_SETNOSIGPIPE)
  int error = errno;
  if (raises) (void)fcntl(fd, F_SETNOSIGPIPE, 0);
  errno = error;
#endif
  crd_quiet_end(&quiet);
  return written;
}

/* Descriptors that were opened here do not block, nor does standard error if another process made it so. */
static bool wait_for_room(int fd) {
  return poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1) >= 0 || errno == EINTR;
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

/* --- opening --- */

static int above_standard(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), error = errno;
  close(fd);
  errno = error;
  return moved;
}

bool crd_begins_with_drive(const char *text) {
  (void)text;
  return false;
}

int crd_open_to_write(const char *path, int flags) {
  int opened;
  do opened = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | flags, 0666);
  while (opened < 0 && errno == EINTR);
  return above_standard(opened);
}

const char *crd_open_failure(int error) {
  return error == ENXIO ? "nobody reads this pipe, or the device is missing; start the reader first" : strerror(error);
}

bool crd_file_close(int fd) {
  return close(fd) == 0;
}

/* EINVAL: a device or a pipe, which has nothing to empty. */
bool crd_file_empty(int fd) {
  return ftruncate(fd, 0) == 0 || errno == EINVAL;
}

/* --- what it is --- */

bool crd_file_is_terminal(int fd) {
  return isatty(fd) == 1;
}

bool crd_file_is_regular(int fd) {
  struct stat status;
  return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

/* --- locks --- */

void crd_file_lock_shared(int fd) {
  while (flock(fd, LOCK_SH) != 0 && errno == EINTR) {}
}

bool crd_file_lock_alone(int fd) {
  bool alone = flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  if (!alone) crd_file_lock_shared(fd);
  return alone;
}

void crd_file_unlock(int fd) {
  flock(fd, LOCK_UN);
}
