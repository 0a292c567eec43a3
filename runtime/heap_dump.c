/* A heap dump to a file. The file is made at the first write, so a refused call leaves no file. */
#include <cradle/inspect.h>

#include "gc/base/text.h"
#include "runtime/platform/files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef struct dump_file {
  const char *path;
  crd_replacement file;
  bool begun;
  int error; /* errno of the first failure, or 0 */
} dump_file;

static bool write_to_file(void *data, const void *bytes, size_t count) {
  dump_file *dump = data;
  if (!dump->begun) dump->begun = crd_replacement_begin(&dump->file, dump->path);
  if (dump->begun && crd_write_all(dump->file.fd, bytes, count)) return true;
  dump->error = errno;
  return false;
}

bool cradle_heap_dump(cradle_heap *heap, const char *path, cradle_error *error) {
  dump_file dump = {.path = path};
  bool written = cradle_heap_dump_to(heap, write_to_file, &dump, error);
  if (dump.begun && !crd_replacement_end(&dump.file, written) && dump.error == 0 && written) dump.error = errno;
  if (written && dump.error == 0) return true;
  const char *what = dump.error != 0 ? crd_open_failure(dump.error) : "memory for it was refused";
  char shown[100];
  (void)crd_show_text(shown, sizeof shown, path, strlen(path));
  if (error != NULL) snprintf(error->message, sizeof error->message, "heap dump to \"%s\": %s", shown, what);
  return false;
}
