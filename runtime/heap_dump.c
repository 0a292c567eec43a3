/* A heap dump to a file. The file is made at the first write, so that a call that is refused leaves nothing, and gets
 * its name when the dump is complete, so that none is ever cut short. */
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

typedef struct dump_file {
  const char *path;
  char *partial; /* the file's name until it is complete; NULL: there is none yet */
  int fd;
  int error; /* errno of the first write that failed, or 0 */
} dump_file;

/* Makes a file that no other dump writes, of this process or another one. */
static bool create_partial(dump_file *dump) {
  size_t bytes = strlen(dump->path) + ENDING_BYTES;
  char *partial = malloc(bytes);
  if (partial == NULL) return false;
  unsigned number = 0;
  do {
    snprintf(partial, bytes, "%s.partial.%d.%u", dump->path, (int)getpid(), number++);
    dump->fd = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (dump->fd < 0 && (errno == EEXIST || errno == EINTR));
  bool is_made = dump->fd >= 0;
  dump->fd = crd_above_standard(dump->fd);
  if (dump->fd >= 0) {
    dump->partial = partial;
    return true;
  }
  int error = errno;
  if (is_made) remove(partial);
  free(partial);
  errno = error;
  return false;
}

static bool write_to_file(void *data, const void *bytes, size_t count) {
  dump_file *dump = data;
  if ((dump->partial != NULL || create_partial(dump)) && crd_write_all(dump->fd, bytes, count)) return true;
  dump->error = errno;
  return false;
}

bool cradle_heap_dump(cradle_heap *heap, const char *path, cradle_error *error) {
  dump_file dump = {.path = path};
  bool written = cradle_heap_dump_to(heap, write_to_file, &dump, error);
  if (dump.partial != NULL) {
    if (close(dump.fd) != 0 && dump.error == 0) dump.error = errno;
    if (written && dump.error == 0 && rename(dump.partial, path) != 0) dump.error = errno;
    if (!written || dump.error != 0) remove(dump.partial);
    free(dump.partial);
  }
  if (written && dump.error == 0) return true;
  const char *what = dump.error != 0 ? strerror(dump.error) : "memory for it was refused";
  if (error != NULL) snprintf(error->message, sizeof error->message, "heap dump to \"%.100s\": %s", path, what);
  return false;
}
