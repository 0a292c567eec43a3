/* Files on Windows are read into memory: a view of a file cannot take the place of a part of a reservation. */
#include "gc/platform/input.h"

#include "gc/platform/windows.h"

#define PATH_MOST 1024
#define READ_MOST ((size_t)1 << 30)

static HANDLE open_path(const char *path) {
  WCHAR wide[PATH_MOST];
  if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide, PATH_MOST) == 0) return INVALID_HANDLE_VALUE;
  DWORD share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
  return CreateFileW(wide, GENERIC_READ, share, NULL, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
}

const char *crd_input_open(crd_input *input, const char *path, int descriptor) {
  KEEP_LAST_ERROR;
  LARGE_INTEGER length;
  (void)descriptor;
  *input = (crd_input){.is_open = false};
  if (path == NULL) return "a descriptor is given, which this system does not take";
  HANDLE handle = open_path(path);
  if (handle == INVALID_HANDLE_VALUE) return "it cannot be opened";
  *input = (crd_input){.handle = (intptr_t)handle, .is_open = true, .is_own = true};
  if (GetFileType(handle) != FILE_TYPE_DISK || !GetFileSizeEx(handle, &length)) return "it is no regular file";
  input->length = (uint64_t)length.QuadPart;
  return NULL;
}

void crd_input_close(crd_input *input) {
  KEEP_LAST_ERROR;
  if (input->is_open) (void)CloseHandle((HANDLE)input->handle);
  input->is_open = false;
}

bool crd_input_read(const crd_input *input, uint64_t at, void *bytes, size_t count) {
  KEEP_LAST_ERROR;
  for (char *to = bytes; count > 0;) {
    DWORD part = (DWORD)(count < READ_MOST ? count : READ_MOST), got = 0;
    OVERLAPPED place = {.Offset = (DWORD)at, .OffsetHigh = (DWORD)(at >> 32)};
    if (!ReadFile((HANDLE)input->handle, to, part, &got, &place) || got == 0) return false;
    to += got;
    at += got;
    count -= got;
  }
  return true;
}

bool crd_input_map(const crd_input *input, uint64_t at, void *address, size_t size) {
  (void)input, (void)at, (void)address, (void)size;
  return false;
}
