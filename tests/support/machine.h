/* Helpers for the tests of pages and memory: they read the machine's settings and change some of them. */
#ifndef TESTS_MACHINE_H
#define TESTS_MACHINE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/auxv.h>
#endif

#define MIB ((size_t)1 << 20)
#define HUGE_BYTES (2 * MIB)
#define POOL_FILE "/proc/sys/vm/nr_hugepages"
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define SKIP(reason) (print_message("skipped: %s\n", reason), skip())

/* --- memory --- */

#if defined(__linux__)
/* The unit of /proc and of first touches: the kernel's own page size, even where tests/platform/simulated_pages.c
 * simulates larger pages. */
static inline size_t kernel_page_bytes(void) {
  return getauxval(AT_PAGESZ);
}
#endif

/* A read by the kernel reports missing access without a fault. */
static inline bool is_readable(const void *address) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  bool readable = write(ends[1], address, 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return readable;
}

/* Whether some page is mapped to nothing. */
static inline bool is_hole(void *address, size_t size) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  for (size_t at = 0; at < size; at += page) {
    void *probe = mmap((char *)address + at, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (probe == MAP_FAILED) continue;
    munmap(probe, page);
    if (probe == (char *)address + at) return true;
  }
  return false;
}

/* --- the pool of huge pages --- */

/* The number that follows the name in one of the kernel's files; 0 if the name is missing. */
static inline size_t number_in(const char *path, const char *name) {
  char line[256];
  size_t number = 0;
  FILE *file = fopen(path, "r");
  if (file == NULL) return 0;
  while (fgets(line, sizeof line, file) != NULL)
    if (strncmp(line, name, strlen(name)) == 0) number = strtoul(line + strlen(name), NULL, 10);
  fclose(file);
  return number;
}

static inline size_t meminfo(const char *name) {
  return number_in("/proc/meminfo", name);
}

static inline bool put(const char *path, size_t number) {
  FILE *file = fopen(path, "w");
  if (file == NULL) return false;
  bool written = fprintf(file, "%zu\n", number) > 0;
  return fclose(file) == 0 && written;
}

/* The pool's size before the first of these tests. A test that fails keeps pages of the pool, and they are counted
 * until the program ends. */
static inline int remember_pool(void **state) {
  static size_t total = SIZE_MAX;
  if (total == SIZE_MAX) total = meminfo("HugePages_Total:");
  *state = &total;
  return 0;
}

static inline int restore_pool(void **state) {
  size_t total = *(size_t *)*state;
  return meminfo("HugePages_Total:") == total || put(POOL_FILE, total) ? 0 : 1;
}

/* --- processes --- */

/* The exit status of a child that runs the function, above 128 the signal that ended it; a child is needed where a
 * limit stays. */
static inline int status_of_child(int (*function)(void)) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) _exit(function());
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#endif
