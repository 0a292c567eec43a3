#define _POSIX_C_SOURCE 200809L
#define _DARWIN_C_SOURCE 1 /* or macOS's struct rusage has no figure of memory */
#include "system.h"

#ifdef _WIN32

#define PSAPI_VERSION 2 /* needs no extra library */
#include <windows.h>

#include <psapi.h>

uint64_t now_ns(void) {
  LARGE_INTEGER frequency, counter;
  QueryPerformanceFrequency(&frequency);
  QueryPerformanceCounter(&counter);
  return (uint64_t)((double)counter.QuadPart / (double)frequency.QuadPart * 1e9);
}

double peak_bytes(void) {
  PROCESS_MEMORY_COUNTERS counters;
  BOOL known = GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters);
  return known ? (double)counters.PeakWorkingSetSize : 0;
}

FILE *memory_file_open(char *text, size_t room) {
  (void)text, (void)room;
  return tmpfile();
}

void memory_file_close(FILE *file, char *text, size_t room) {
  rewind(file);
  text[fread(text, 1, room - 1, file)] = '\0';
  fclose(file);
}

#else

#include <sys/resource.h>
#include <time.h>

uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Linux reports this program's own figure here; getrusage's figure includes the program that started it. */
double peak_bytes(void) {
  unsigned long long kib = 0;
  char line[128];
  FILE *status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(line, sizeof line, status) != NULL && sscanf(line, "VmHWM: %llu kB", &kib) != 1)
    continue;
  if (status != NULL) fclose(status);
  struct rusage used;
  if (kib == 0 && getrusage(RUSAGE_SELF, &used) == 0) kib = (unsigned long long)used.ru_maxrss;
#if defined(__APPLE__)
  kib /= 1024; /* macOS gives bytes */
#endif
  return 1024.0 * (double)kib;
}

FILE *memory_file_open(char *text, size_t room) {
  return fmemopen(text, room, "w");
}

void memory_file_close(FILE *file, char *text, size_t room) {
  fflush(file); /* fails if the text is longer */
  fclose(file);
  text[room - 1] = '\0';
}

#endif
