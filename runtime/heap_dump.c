/* A heap dump to a file. The file is opened at the first write, so a refused call leaves no file. */
#include <cradle/inspect.h>

#include "gc/base/text.h"
#include "runtime/platform/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

typedef struct dump_file {
  const char *path;
  int fd;    /* negative: not opened */
  int error; /* errno of the first failure, or 0 */
} dump_file;

static bool open_file(dump_file *dump) {
  dump->fd = crd_open_to_write(dump->path, O_CREAT);
  return dump->fd >= 0 && crd_file_empty(dump->fd);
}

static bool write_to_file(void *data, const void *bytes, size_t count) {
  dump_file *dump = data;
  if ((dump->fd >= 0 || open_file(dump)) && crd_write_all(dump->fd, bytes, count)) return true;
  dump->error = errno;
  return false;
}

bool cradle_heap_dump(cradle_heap *heap, const char *path, cradle_error *error) {
  dump_file dump = {.path = path, .fd = -1};
  cradle_error why;
  bool written = cradle_heap_dump_to(heap, write_to_file, &dump, &why);
  if (error != NULL) *error = why;
  if (dump.fd >= 0 && !crd_file_close(dump.fd) && written) dump.error = errno;
  if (written && dump.error == 0) return true;
  const char *what = dump.error != 0 ? crd_open_failure(dump.error) : why.message;
  char shown[100];
  (void)crd_show_text(shown, sizeof shown, path, strlen(path));
  if (error != NULL) snprintf(error->message, sizeof error->message, "heap dump to \"%s\": %.130s", shown, what);
  return false;
}
