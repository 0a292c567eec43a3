/* Files on Windows: descriptors of the C library around handles. Opening and writing bypass the C library, so that it
 * does not change text and several processes can append without mixing. */
#include "runtime/platform/files.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdlib.h>
#include <string.h>

#define WIN32_LEAN_AND_MEAN 1
#include <windows.h>

/* The byte that is locked. It is far behind the contents, because Windows lets nobody else write locked bytes. */
#define LOCK_OFFSET_HIGH 0x40000000

static HANDLE handle_of(int fd) {
  return (HANDLE)_get_osfhandle(fd);
}

/* Sets errno from the system's last error. */
static int failed(void) {
  switch (GetLastError()) {
  case ERROR_FILE_NOT_FOUND:
  case ERROR_PATH_NOT_FOUND:
  case ERROR_INVALID_NAME:
  case ERROR_BAD_PATHNAME: errno = ENOENT; break;
  case ERROR_FILE_EXISTS:
  case ERROR_ALREADY_EXISTS: errno = EEXIST; break;
  case ERROR_ACCESS_DENIED:
  case ERROR_SHARING_VIOLATION:
  case ERROR_LOCK_VIOLATION: errno = EACCES; break;
  case ERROR_DISK_FULL:
  case ERROR_HANDLE_DISK_FULL: errno = ENOSPC; break;
  case ERROR_NOT_ENOUGH_MEMORY:
  case ERROR_OUTOFMEMORY: errno = ENOMEM; break;
  case ERROR_TOO_MANY_OPEN_FILES: errno = EMFILE; break;
  case ERROR_BROKEN_PIPE:
  case ERROR_NO_DATA: errno = EPIPE; break;
  case ERROR_PIPE_BUSY: errno = ENXIO; break;
  case ERROR_INVALID_HANDLE: errno = EBADF; break;
  default: errno = EIO; break;
  }
  return -1;
}

/* --- writing: no signal comes of it --- */

void crd_quiet_begin(crd_quiet *quiet) {
  (void)quiet;
}

void crd_quiet_end(const crd_quiet *quiet) {
  (void)quiet;
}

ptrdiff_t crd_write_quietly(int fd, const void *bytes, size_t length) {
  DWORD written, part = length < INT32_MAX ? (DWORD)length : INT32_MAX;
  if (part == 0) return 0;
  return WriteFile(handle_of(fd), bytes, part, &written, NULL) ? (ptrdiff_t)written : failed();
}

bool crd_write_all(int fd, const void *bytes, size_t length) {
  const char *next = bytes;
  while (length != 0) {
    ptrdiff_t written = crd_write_quietly(fd, next, length);
    if (written <= 0) return false;
    next += written;
    length -= (size_t)written;
  }
  return true;
}

/* --- opening --- */

/* From malloc; NULL: no memory, or the name is not UTF-8. */
static wchar_t *wide_name(const char *path) {
  int room = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, NULL, 0);
  wchar_t *wide = room > 0 ? malloc((size_t)room * sizeof *wide) : NULL;
  if (wide != NULL) (void)MultiByteToWideChar(CP_UTF8, 0, path, -1, wide, room);
  if (wide == NULL) errno = room > 0 ? ENOMEM : EILSEQ;
  return wide;
}

/* Makes a descriptor around the handle that is not 0, 1 or 2: if the program has closed these, they are occupied
 * meanwhile. */
static int descriptor_of(HANDLE handle) {
  int lower[CRD_STANDARD_ERROR + 1], count = 0;
  int fd = _open_osfhandle((intptr_t)handle, _O_BINARY | _O_NOINHERIT);
  while (fd >= 0 && fd <= CRD_STANDARD_ERROR) {
    lower[count++] = fd;
    fd = _dup(fd);
  }
  int error = errno;
  if (fd < 0 && count == 0) CloseHandle(handle);
  while (count > 0) _close(lower[--count]);
  errno = error;
  return fd;
}

bool crd_begins_with_drive(const char *text) {
  char letter = (char)(text[0] | 0x20);
  return letter >= 'a' && letter <= 'z' && text[1] == ':' && (text[2] == '\\' || text[2] == '/');
}

/* A handle that may only append always writes at the end, also if other processes append. */
int crd_open_to_write(const char *path, int flags) {
  wchar_t *name = wide_name(path);
  if (name == NULL) return -1;
  DWORD rights = flags & O_APPEND ? FILE_APPEND_DATA | FILE_READ_ATTRIBUTES | SYNCHRONIZE : GENERIC_WRITE;
  DWORD shares = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
  HANDLE handle = CreateFileW(name, rights, shares, NULL, flags & O_CREAT ? OPEN_ALWAYS : OPEN_EXISTING,
                              FILE_ATTRIBUTE_NORMAL, NULL);
  free(name);
  return handle == INVALID_HANDLE_VALUE ? failed() : descriptor_of(handle);
}

const char *crd_open_failure(int error) {
  return error == ENXIO ? "nobody reads this pipe; start the reader first" : strerror(error);
}

bool crd_file_close(int fd) {
  return _close(fd) == 0;
}

/* A handle that only appends cannot empty its file, but a second handle of the file can. */
bool crd_file_empty(int fd) {
  wchar_t path[MAX_PATH + 1];
  if (!crd_file_is_regular(fd)) return true;
  DWORD length = GetFinalPathNameByHandleW(handle_of(fd), path, MAX_PATH, FILE_NAME_NORMALIZED);
  if (length == 0 || length >= MAX_PATH) return failed() == 0;
  DWORD shares = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
  HANDLE other = CreateFileW(path, GENERIC_WRITE, shares, NULL, TRUNCATE_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
  if (other == INVALID_HANDLE_VALUE) return failed() == 0;
  CloseHandle(other);
  return true;
}

/* --- what it is --- */

bool crd_file_is_terminal(int fd) {
  DWORD mode;
  return GetConsoleMode(handle_of(fd), &mode) != 0;
}

bool crd_file_is_regular(int fd) {
  return GetFileType(handle_of(fd)) == FILE_TYPE_DISK;
}

/* --- locks --- */

static bool lock(int fd, DWORD how) {
  OVERLAPPED place = {.OffsetHigh = LOCK_OFFSET_HIGH};
  return LockFileEx(handle_of(fd), how, 0, 1, 0, &place) || GetLastError() != ERROR_LOCK_VIOLATION;
}

void crd_file_unlock(int fd) {
  OVERLAPPED place = {.OffsetHigh = LOCK_OFFSET_HIGH};
  (void)UnlockFileEx(handle_of(fd), 0, 1, 0, &place);
}

/* Windows cannot change a lock from exclusive to shared, so this one is given back before the shared one is taken. */
void crd_file_lock_shared(int fd) {
  crd_file_unlock(fd);
  (void)lock(fd, 0);
}

bool crd_file_lock_alone(int fd) {
  bool alone = lock(fd, LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY);
  if (!alone) crd_file_lock_shared(fd);
  return alone;
}
