/* A heap dump to a file. The file gets its name when the dump is complete, so that none is ever cut short. It is made when there
 * is more to write than the dump's beginning: a heap that refuses to be dumped, as misuse, does so after that, and may not
 * return. */
#include <cradle/inspect.h>

#include "runtime/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ".partial.", a pid, ".", a number and the end */
#define ENDING_BYTES 40
/* Room for the header and the names of several hundred types. */
#define BEGINNING_BYTES ((size_t)16 << 10)

typedef struct dump_file {
  const char *path;
  char *partial; /* owned; NULL: there is no file yet */
  int fd;
  int error;     /* errno of the first call that failed, or 0 */
  size_t held_bytes;
  char held[BEGINNING_BYTES]; /* what is to be written first */
} dump_file;

static bool fail(cradle_error *error, const char *path, const char *what) {
  if (error != NULL) snprintf(error->message, sizeof error->message, "heap dump to \"%.100s\": %s", path, what);
  return false;
}

/* Makes a file that no other dump writes, of this process or another one. */
static bool create_partial(dump_file *dump) {
  size_t bytes = strlen(dump->path) + ENDING_BYTES;
  unsigned number = 0;
  char *partial = malloc(bytes);
  if (partial == NULL) return false;
  do {
    snprintf(partial, bytes, "%s.partial.%d.%u", dump->path, (int)getpid(), number++);
    dump->fd = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (dump->fd < 0 && (errno == EEXIST || errno == EINTR));
  if (dump->fd >= 0)
    dump->partial = partial;
  else
    free(partial);
  return dump->fd >= 0;
}

static bool note(dump_file *dump, bool done) {
  if (!done) dump->error = errno;
  return done;
}

static bool begin_file(dump_file *dump) {
  return note(dump, create_partial(dump) && crd_write_all(dump->fd, dump->held, dump->held_bytes));
}

static bool write_to_file(void *data, const void *bytes, size_t count) {
  dump_file *dump = data;
  if (dump->partial == NULL && count <= sizeof dump->held - dump->held_bytes) {
    memcpy(dump->held + dump->held_bytes, bytes, count);
    dump->held_bytes += count;
    return true;
  }
  if (dump->partial == NULL && !begin_file(dump)) return false;
  return note(dump, crd_write_all(dump->fd, bytes, count));
}

/* Writes the dump and closes the file. Returns NULL, or what went wrong. */
static const char *write_dump(cradle_heap *heap, dump_file *dump, cradle_error *error) {
  bool written = cradle_heap_dump_to(heap, write_to_file, dump, error);
  if (written && dump->partial == NULL) begin_file(dump);
  if (dump->partial != NULL && close(dump->fd) != 0 && dump->error == 0) dump->error = errno;
  if (dump->error != 0) return strerror(dump->error);
  return written ? NULL : "memory for it was refused";
}

bool cradle_heap_dump(cradle_heap *heap, const char *path, cradle_error *error) {
  if (error != NULL) error->message[0] = '\0';
  dump_file dump = {.path = path};
  const char *fault = write_dump(heap, &dump, error);
  if (fault == NULL && rename(dump.partial, path) != 0) fault = strerror(errno);
  if (fault != NULL && dump.partial != NULL) remove(dump.partial);
  free(dump.partial);
  return fault == NULL || fail(error, path, fault);
}
