/* The log's file. */
#include "runtime/log_file.h"

#include "gc/platform/thread.h"
#include "runtime/platform/files.h"
#include "runtime/platform/process.h"
#include "runtime/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

/* Room for the decimal digits of a pid, and a sign. */
#define PID_BYTES 12

/* --- names --- */

/* A copy of name with each %d replaced by the process's number. NULL: no memory. */
static char *path_with_pid(const char *name) {
  size_t bytes = strlen(name) + 1;
  for (const char *p = name; (p = strstr(p, "%d")) != NULL; p += 2) bytes += PID_BYTES;
  char *path = malloc(bytes), *end = path;
  if (path == NULL) return NULL;
  for (const char *p; (p = strstr(name, "%d")) != NULL; name = p + 2)
    end += sprintf(end, "%.*s%d", (int)(p - name), name, crd_process_number());
  strcpy(end, name);
  return path;
}

/* --- opening --- */

/* A shared lock says that a process writes the file; a process that is alone may empty it. This matters for programs
 * that start others with the same CRADLE_LOG. Standard error and pipes hold nothing to empty. */
static void empty_if_alone(crd_log_file *file) {
  file->regular = file->path != NULL && crd_file_is_regular(file->fd);
  if (!file->regular || !crd_file_lock_alone(file->fd)) return;
  if (crd_first_time(file->path) && !crd_file_empty(file->fd))
    crd_report("%s: %s: %s; appending", file->variable, file->path, strerror(errno));
  crd_file_lock_shared(file->fd);
}

static bool open_target(crd_log_file *file) {
  if (strcmp(file->name, "-") == 0) {
    file->fd = CRD_STANDARD_ERROR;
    file->interactive = true;
    file->regular = false;
    return true;
  }
  free(file->path);
  file->path = path_with_pid(file->name);
  if (file->path != NULL) file->fd = crd_open_to_write(file->path, O_CREAT | O_APPEND);
  if (file->fd >= 0) {
    file->interactive = crd_file_is_terminal(file->fd);
    empty_if_alone(file);
    return true;
  }
  crd_report("%s: %s: %s; there will be no %s", file->variable, file->path != NULL ? file->path : file->name,
             crd_open_failure(errno), file->noun);
  return false;
}

bool crd_log_file_open(crd_log_file *file, const char *name, const char *variable, const char *noun) {
  int error = errno;
  file->variable = variable;
  file->noun = noun;
  file->ours = crd_fork_mark_new();
  file->owner = crd_process_number();
  file->fd = -1;
  file->name = strdup(name);
  if (file->name == NULL) crd_report("%s: no memory for the %s", variable, noun);
  bool opened = file->name != NULL && open_target(file);
  if (!opened) {
    crd_fork_mark_free(file->ours);
    free(file->name);
    free(file->path);
  }
  errno = error;
  return opened;
}

/* Gives the lock back, because a child of fork that has inherited the descriptor would keep it. The child itself does
 * not give it back: the lock is the parent's. */
static void close_descriptor(crd_log_file *file) {
  int fd = file->fd;
  file->fd = -1; /* first: a child of fork must not close a descriptor that has another user by now */
  if (fd < 0 || fd == CRD_STANDARD_ERROR) return;
  if (!crd_log_file_is_inherited(file)) crd_file_unlock(fd);
  crd_file_close(fd);
}

void crd_log_file_close(crd_log_file *file) {
  crd_log_file_flush(file);
  close_descriptor(file);
  crd_fork_mark_free(file->ours);
  free(file->name);
  free(file->path);
}

/* --- fork --- */

bool crd_log_file_is_inherited(const crd_log_file *file) {
  return file->ours != NULL ? *file->ours == 0 : file->owner != crd_process_number();
}

bool crd_log_file_renew(crd_log_file *file) {
  if (!file->interactive) close_descriptor(file);
  file->length = 0;
  file->owner = crd_process_number();
  if (file->ours != NULL) *file->ours = 1;
  if (file->stopped) return false;
  if (file->interactive) return true;
  file->stopped = strstr(file->name, "%d") == NULL || !open_target(file);
  return !file->stopped;
}

/* --- writing --- */

static void stop(crd_log_file *file) {
  file->stopped = true;
  if (file->fd != CRD_STANDARD_ERROR)
    crd_report("%s: %s: %s; the %s stops", file->variable, file->path, strerror(errno), file->noun);
  close_descriptor(file);
}

void crd_log_file_flush(crd_log_file *file) {
  size_t length = file->length;
  int error = errno; /* the program's: it did not ask for this write */
  file->length = 0;
  if (length == 0 || file->stopped || crd_log_file_is_inherited(file)) return;
  if (!crd_write_all(file->fd, file->buffer, length)) stop(file);
  errno = error;
}

void crd_log_file_section_end(crd_log_file *file, bool outermost) {
  bool nearly_full = sizeof file->buffer - file->length < CRD_LOG_SECTION_BYTES;
  if (outermost && (nearly_full || file->interactive || file->unbuffered)) crd_log_file_flush(file);
}

void crd_log_file_put_slow(crd_log_file *file, const char *text, size_t length) {
  while (length != 0) {
    if (file->length == sizeof file->buffer) crd_log_file_flush(file);
    size_t room = sizeof file->buffer - file->length, part = length < room ? length : room;
    memcpy(file->buffer + file->length, text, part);
    file->length += part;
    text += part;
    length -= part;
  }
}
