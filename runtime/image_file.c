/* An image in a file. It is written beside the file that it replaces, because other processes may have that one mapped. */
#include <cradle/image.h>

#include "gc/base/text.h"
#include "runtime/platform/files.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define PATH_MOST 4096

typedef struct image_file {
  int fd;
} image_file;

static bool write_image(void *data, const void *bytes, size_t count) {
  const image_file *file = data;
  return crd_write_all(file->fd, bytes, count);
}

/* Windows does not rename a file to the name of another one. */
static bool replace(const char *written, const char *path) {
  if (rename(written, path) == 0) return true;
#ifdef _WIN32
  return remove(path) == 0 && rename(written, path) == 0;
#else
  return false;
#endif
}

static bool fail(cradle_error *error, const char *path, const char *what) {
  char shown[100];
  (void)crd_show_text(shown, sizeof shown, path, strlen(path));
  if (error == NULL) return false;
  *error = (cradle_error){.option = NULL};
  snprintf(error->message, sizeof error->message, "image: \"%s\" %.120s", shown, what);
  return false;
}

bool cradle_image_save(cradle_mutator *mutator, const char *path, const cradle_image_contents *contents,
                       cradle_error *error) {
  char written[PATH_MOST];
  if (strlen(path) + sizeof ".new" > sizeof written) return fail(error, path, "is too long a name");
  snprintf(written, sizeof written, "%s.new", path);
  image_file file = {crd_open_to_write(written, O_CREAT)};
  if (file.fd < 0 || !crd_file_empty(file.fd)) return fail(error, written, "cannot be written");
  bool done = cradle_image_save_to(mutator, write_image, &file, contents, error);
  if (!crd_file_close(file.fd) && done) done = fail(error, written, "could not be written");
  if (done && !replace(written, path)) done = fail(error, path, "could not be replaced");
  if (!done) (void)remove(written);
  return done;
}
