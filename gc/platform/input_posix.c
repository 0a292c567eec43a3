#include "gc/platform/input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gc/platform/calls.h"

#define READ_MOST ((size_t)1 << 30)

static const char *why(int error) {
  return error == ENOENT ? "there is no such file" : error == EACCES ? "permission was denied" : "it cannot be opened";
}

const char *crd_input_open(crd_input *input, const char *path, int descriptor) {
  KEEP_ERRNO;
  struct stat status;
  int fd = path != NULL ? CALL(open, -1, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : descriptor;
  *input = (crd_input){.handle = fd, .is_open = fd >= 0, .is_own = path != NULL};
  if (fd < 0 || CALL(fstat, -1, fd, &status) != 0) return fd < 0 && path == NULL ? "no file is given" : why(errno);
  if (!S_ISREG(status.st_mode)) return "it is no regular file";
  input->length = (uint64_t)status.st_size;
  return NULL;
}

void crd_input_close(crd_input *input) {
  KEEP_ERRNO;
  if (input->is_open && input->is_own) (void)close((int)input->handle);
  input->is_open = false;
}

bool crd_input_read(const crd_input *input, uint64_t at, void *bytes, size_t count) {
  KEEP_ERRNO;
  for (char *to = bytes; count > 0;) {
    size_t part = count < READ_MOST ? count : READ_MOST;
    ssize_t got = CALL(pread, -1, (int)input->handle, to, part, (off_t)at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    at += (uint64_t)got;
    count -= (size_t)got;
  }
  return true;
}

bool crd_input_map(const crd_input *input, uint64_t at, void *address, size_t size) {
  KEEP_ERRNO;
  return CALL(mmap, MAP_FAILED, address, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, (int)input->handle,
              (off_t)at) != MAP_FAILED;
}
