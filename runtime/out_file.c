#include "runtime/out_file.h"

#include "runtime/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ".partial.", a pid, ".", a number and the end */
#define ENDING_BYTES 40
/* Files of this name that a dead process left behind may be in the way. */
#define PARTIAL_ATTEMPTS 1000

/* --- opening --- */

/* Writes wait, as a program expects. */
static bool make_blocking(int fd) {
  int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0;
}

/* fd, unless negative, and the file called made, unless NULL, are nobody's now. */
static int give_up(int fd, const char *made) {
  int error = errno;
  if (made != NULL) unlink(made);
  if (fd >= 0) close(fd);
  errno = error;
  return -1;
}

static int open_with_mode(const char *path, int flags, mode_t mode) {
  int opened;
  do opened = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | flags, mode);
  while (opened < 0 && errno == EINTR);
  int fd = crd_above_standard(opened);
  if (fd >= 0 && make_blocking(fd)) return fd;
  return give_up(fd, opened >= 0 && (flags & O_EXCL) ? path : NULL);
}

int crd_open_to_write(const char *path, int flags) {
  return open_with_mode(path, flags, 0666);
}

const char *crd_open_failure(int error) {
  return error == ENXIO ? "nobody reads this pipe, or the device is missing; start the reader first" : strerror(error);
}

/* --- replacing --- */

/* Makes a file that no other writer has, of this process or another one. */
static bool open_partial(crd_replacement *file, mode_t mode) {
  size_t bytes = strlen(file->target) + ENDING_BYTES;
  file->partial = malloc(bytes);
  if (file->partial == NULL) return false;
  unsigned number = 0;
  do {
    snprintf(file->partial, bytes, "%s.partial.%d.%u", file->target, (int)getpid(), number++);
    file->fd = open_with_mode(file->partial, O_CREAT | O_EXCL, mode);
  } while (file->fd < 0 && errno == EEXIST && number < PARTIAL_ATTEMPTS);
  return file->fd >= 0;
}

static void free_names(crd_replacement *file) {
  int error = errno;
  free(file->partial);
  free(file->target);
  errno = error;
}

/* old: what is replaced. Until the new file has its permissions, nobody else opens it. */
static bool begin_at_target(crd_replacement *file, const struct stat *old) {
  if (file->target != NULL && open_partial(file, old != NULL ? 0600 : 0666)) {
    if (old == NULL || fchmod(file->fd, old->st_mode & 0777) == 0) return true;
    give_up(file->fd, file->partial);
  }
  free_names(file);
  return false;
}

/* Whether the program's own output goes there: a path such as /dev/stdout leads to the file that it was sent to. */
static bool is_standard(const struct stat *file) {
  for (int fd = 0; fd <= STDERR_FILENO; fd++) {
    struct stat standard;
    if (fstat(fd, &standard) == 0 && standard.st_dev == file->st_dev && standard.st_ino == file->st_ino) return true;
  }
  return false;
}

bool crd_replacement_begin(crd_replacement *file, const char *path) {
  struct stat old;
  *file = (crd_replacement){.fd = -1};
  if (stat(path, &old) == 0) {
    if (S_ISREG(old.st_mode) && is_standard(&old)) {
      file->fd = crd_open_to_write(path, O_APPEND);
      return file->fd >= 0;
    }
    if (S_ISREG(old.st_mode)) {
      file->target = realpath(path, NULL);
      return begin_at_target(file, &old);
    }
    file->fd = crd_open_to_write(path, 0);
    return file->fd >= 0;
  }
  if (errno != ENOENT) return false;
  if (lstat(path, &old) == 0) { /* a link to a file that is not there */
    file->fd = crd_open_to_write(path, O_CREAT | O_TRUNC);
    return file->fd >= 0;
  }
  file->target = strdup(path);
  return begin_at_target(file, NULL);
}

bool crd_replacement_end(crd_replacement *file, bool complete) {
  int error = errno;
  if (close(file->fd) != 0 && complete) complete = false, error = errno;
  if (file->partial != NULL) {
    if (complete && rename(file->partial, file->target) != 0) complete = false, error = errno;
    if (!complete) unlink(file->partial);
  }
  free_names(file);
  errno = error;
  return complete;
}
