#include "runtime/platform/process.h"

#include <stdlib.h>
#include <string.h>

#define WIN32_LEAN_AND_MEAN 1
#include <windows.h>

/* The system counts from 1601 on, in tenths of a microsecond. */
#define UNIX_EPOCH UINT64_C(116444736000000000)

int crd_process_number(void) {
  return (int)GetCurrentProcessId();
}

/* Of threads that ask at once each writes the same. */
const char *crd_program_name(void) {
  static char name[MAX_PATH * 3];
  wchar_t path[MAX_PATH];
  DWORD length = GetModuleFileNameW(NULL, path, MAX_PATH);
  if (length == 0 || length == MAX_PATH) return "unknown";
  const wchar_t *last = wcsrchr(path, L'\\');
  if (WideCharToMultiByte(CP_UTF8, 0, last != NULL ? last + 1 : path, -1, name, sizeof name, NULL, NULL) == 0)
    return "unknown";
  return name;
}

void crd_thread_rest(void) {
  Sleep(1);
}

crd_run_end crd_run(const char *const *arguments, int most_ms) {
  (void)arguments, (void)most_ms;
  return CRD_RUN_NONE;
}

uint64_t crd_unix_time_ns(void) {
  FILETIME now;
  GetSystemTimeAsFileTime(&now);
  return (((uint64_t)now.dwHighDateTime << 32 | now.dwLowDateTime) - UNIX_EPOCH) * 100;
}

/* On Windows, a program gets its environment only from its own user. */
bool crd_has_more_rights_than_user(void) {
  return false;
}

/* --- the environment --- */

/* Converts to UTF-8, in memory from malloc; NULL: no memory. */
static char *to_utf8(const wchar_t *wide) {
  int bytes = WideCharToMultiByte(CP_UTF8, 0, wide, -1, NULL, 0, NULL, NULL);
  char *text = bytes > 0 ? malloc((size_t)bytes) : NULL;
  if (text != NULL) (void)WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, bytes, NULL, NULL);
  return text;
}

static wchar_t *wide_value(const wchar_t *name) {
  DWORD room = GetEnvironmentVariableW(name, NULL, 0);
  wchar_t *value = room != 0 ? malloc(room * sizeof *value) : NULL;
  if (value != NULL && GetEnvironmentVariableW(name, value, room) >= room) free(value), value = NULL;
  return value;
}

/* The texts that were asked for, each once, because the system keeps no copy. They are few, as variables seldom
 * change. */
typedef struct kept {
  struct kept *next;
  char *text;
} kept;

/* Takes ownership of text and returns an equal text that stays valid; NULL: no memory. */
static const char *keep(char *text) {
  static kept *all;
  kept *first = __atomic_load_n(&all, __ATOMIC_ACQUIRE);
  for (const kept *one = first; one != NULL; one = one->next)
    if (strcmp(one->text, text) == 0) return free(text), one->text;
  kept *added = malloc(sizeof *added);
  if (added == NULL) return free(text), NULL;
  *added = (kept){first, text};
  while (!__atomic_compare_exchange_n(&all, &added->next, added, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {}
  return text;
}

const char *crd_variable_value(const char *name) {
  wchar_t wide_name[128];
  if (MultiByteToWideChar(CP_UTF8, 0, name, -1, wide_name, 128) == 0) return NULL;
  wchar_t *wide = wide_value(wide_name);
  char *text = wide != NULL ? to_utf8(wide) : NULL;
  free(wide);
  return text != NULL ? keep(text) : NULL;
}

void crd_each_variable(void (*function)(void *data, const char *entry), void *data) {
  wchar_t *all = GetEnvironmentStringsW();
  for (const wchar_t *entry = all; entry != NULL && *entry != L'\0'; entry += wcslen(entry) + 1) {
    char *text = to_utf8(entry);
    if (text != NULL) function(data, text);
    free(text);
  }
  if (all != NULL) FreeEnvironmentStringsW(all);
}
