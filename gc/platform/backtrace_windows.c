/* Backtraces as Windows unwinds them, written as ready commands for addr2line.
 *
 * addr2line wants the addresses for which the file was linked. They are read from the file's header on disk, because
 * the loader may have changed the header in memory to where it loaded the file. */
#include "gc/platform/backtrace.h"

#include <stdbool.h>
#include <stdio.h>

#include "gc/platform/windows.h"

#define PATH_CHARS 768
/* The most bytes that so many characters have in UTF-8. */
#define PATH_BYTES (3 * PATH_CHARS)

static void write_words(const char *words) {
  DWORD written;
  (void)WriteFile(GetStdHandle(STD_ERROR_HANDLE), words, (DWORD)strlen(words), &written, NULL);
}

/* The loaded file that an address is in; NULL: none. */
static HMODULE module_of(uintptr_t address) {
  HMODULE module;
  DWORD how = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  return GetModuleHandleExW(how, (const wchar_t *)address, &module) ? module : NULL;
}

static bool read_at(HANDLE file, DWORD offset, void *to, DWORD bytes) {
  DWORD got;
  return SetFilePointer(file, (LONG)offset, NULL, FILE_BEGIN) == offset && ReadFile(file, to, bytes, &got, NULL) &&
         got == bytes;
}

/* The address for which the file was linked; 0: the file cannot be read. */
static uintptr_t linked_base(const wchar_t *path) {
  IMAGE_DOS_HEADER start;
  IMAGE_NT_HEADERS64 header;
  HANDLE file = CreateFileW(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL, OPEN_EXISTING, 0, NULL);
  if (file == INVALID_HANDLE_VALUE) return 0;
  bool known = read_at(file, 0, &start, sizeof start) && start.e_magic == IMAGE_DOS_SIGNATURE &&
               read_at(file, (DWORD)start.e_lfanew, &header, sizeof header) && header.Signature == IMAGE_NT_SIGNATURE &&
               header.OptionalHeader.Magic == IMAGE_NT_OPTIONAL_HDR64_MAGIC;
  CloseHandle(file);
  return known ? (uintptr_t)header.OptionalHeader.ImageBase : 0;
}

/* Begins the command for the file. Returns the distance between an address in memory and the same one in the file. */
static uintptr_t begin_command(HMODULE module) {
  wchar_t path[PATH_CHARS];
  char shown[PATH_BYTES + 1] = "";
  if (module == NULL) {
    write_words("cradle: in no file (generated code?):");
    return 0;
  }
  DWORD length = GetModuleFileNameW(module, path, PATH_CHARS);
  if (length == 0 || length == PATH_CHARS) {
    write_words("addr2line -f -p -i -e PROGRAM");
    return 0;
  }
  (void)WideCharToMultiByte(CP_UTF8, 0, path, -1, shown, sizeof shown, NULL, NULL);
  write_words("addr2line -f -p -i -e \"");
  write_words(shown);
  write_words("\"");
  uintptr_t linked = linked_base(path);
  return linked == 0 ? 0 : (uintptr_t)module - linked;
}

static void write_commands(const crd_backtrace *trace) {
  HMODULE last = NULL;
  uintptr_t loaded = 0;
  for (size_t i = 0; i < trace->depth; i++) {
    char address[24];
    HMODULE module = module_of(trace->calls[i]);
    if (i == 0 || module != last) {
      if (i != 0) write_words("\n");
      loaded = begin_command(module);
      last = module;
    }
    snprintf(address, sizeof address, " 0x%llx", (unsigned long long)(trace->calls[i] - loaded));
    write_words(address);
  }
  write_words("\n");
}

void crd_backtrace_take(crd_backtrace *trace) {
  void *returns[BACKTRACE_MOST];
  KEEP_LAST_ERROR;
  trace->depth = CaptureStackBackTrace(1, BACKTRACE_MOST, returns, NULL);
  for (size_t i = 0; i < trace->depth; i++) trace->calls[i] = (uintptr_t)returns[i] - 1;
}

void crd_backtrace_prepare(void) {
  crd_backtrace trace;
  crd_backtrace_take(&trace);
}

void crd_backtrace_write(const crd_backtrace *trace) {
  KEEP_LAST_ERROR;
  if (trace->depth != 0)
    write_commands(trace);
  else
    write_words("cradle: the calls are not known: the system's unwinder found none\n");
}

void crd_backtrace_each_file(const crd_backtrace *trace, crd_backtrace_visit *visit, void *data) {
  (void)trace, (void)visit, (void)data;
}
