/* An image in a file. It is written beside the file that it replaces, because other processes may have that one mapped;
 * and the file is opened at the first write, so a refused call leaves none. */
#include <cradle/image.h>

#include "gc/base/text.h"
#include "runtime/platform/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

typedef struct image_file {
  char path[4096];
  int fd;    /* negative: not opened */
  int error; /* errno of the first failure, or 0 */
} image_file;

static bool write_image(void *data, const void *bytes, size_t count) {
  image_file *file = data;
  bool is_first = file->fd < 0;
  if (is_first) file->fd = crd_open_to_write(file->path, O_CREAT);
  if (file->fd >= 0 && (!is_first || crd_file_empty(file->fd)) && crd_write_all(file->fd, bytes, count)) return true;
  file->error = errno;
  return false;
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

bool cradle_image_save(cradle_mutator *mutator, const char *path, const cradle_image_contents *contents,
                       cradle_error *error) {
  image_file file = {.fd = -1};
  bool fits = snprintf(file.path, sizeof file.path, "%s.new", path) < (int)sizeof file.path;
  bool done = fits && cradle_image_save_to(mutator, write_image, &file, contents, error);
  if (!fits) file.error = ENAMETOOLONG;
  if (file.fd >= 0 && !crd_file_close(file.fd) && done) file.error = errno;
  if (done && file.error == 0 && !replace(file.path, path)) file.error = errno;
  if (file.fd >= 0 && file.error == 0 && done) return true;
  int why = file.error;
  if (file.fd >= 0) (void)remove(file.path);
  if (why == 0 || error == NULL) return false;
  char shown[100];
  (void)crd_show_text(shown, sizeof shown, file.path, strlen(file.path));
  *error = (cradle_error){.option = NULL};
  snprintf(error->message, sizeof error->message, "image: \"%s\" could not be written: %.100s", shown,
           crd_open_failure(why));
  return false;
}
