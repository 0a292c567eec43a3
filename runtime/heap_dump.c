/* A heap dump to a file. The file gets its name when the dump is complete, so that none is ever cut short. */
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
  int fd;
  int error; /* errno of the first write that failed, or 0 */
} dump_file;

static bool write_to_file(void *data, const void *bytes, size_t count) {
  dump_file *dump = data;
  if (crd_write_all(dump->fd, bytes, count)) return true;
  dump->error = errno;
  return false;
}

static bool fail(cradle_error *error, const char *path, const char *what) {
  if (error != NULL) snprintf(error->message, sizeof error->message, "heap dump to \"%.100s\": %s", path, what);
  return false;
}

/* Writes the dump and closes the file. Returns NULL, or what went wrong. */
static const char *write_dump(cradle_heap *heap, dump_file *dump, cradle_error *error) {
  bool written = cradle_heap_dump_to(heap, write_to_file, dump, error);
  if (close(dump->fd) != 0 && dump->error == 0) dump->error = errno;
  if (dump->error != 0) return strerror(dump->error);
  return written ? NULL : "memory for it was refused";
}

/* Fills in the name of a file that no other dump writes, of this process or another one. Returns what open does. */
static int create_partial(char *partial, size_t bytes, const char *path) {
  int fd;
  unsigned number = 0;
  do {
    snprintf(partial, bytes, "%s.partial.%d.%u", path, (int)getpid(), number++);
    fd = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (fd < 0 && (errno == EEXIST || errno == EINTR));
  return fd;
}

bool cradle_heap_dump(cradle_heap *heap, const char *path, cradle_error *error) {
  if (error != NULL) error->message[0] = '\0';
  size_t bytes = strlen(path) + ENDING_BYTES;
  char *partial = malloc(bytes);
  if (partial == NULL) return fail(error, path, "memory for it was refused");
  dump_file dump = {create_partial(partial, bytes, path), 0};
  const char *fault = dump.fd < 0 ? strerror(errno) : write_dump(heap, &dump, error);
  if (fault == NULL && rename(partial, path) != 0) fault = strerror(errno);
  if (fault != NULL && dump.fd >= 0) remove(partial);
  free(partial);
  return fault == NULL || fail(error, path, fault);
}
