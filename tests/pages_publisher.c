/* A stand-in for a program with a Cradle heap, for the test of tools/cradle-pages: it maps an aligned region, touches a
 * part of it, publishes ranges in the file that CRADLE_PAGES_FILE names, and waits until its standard input ends.
 *
 *   pages_publisher huge|small|silent
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

#define UNIT ((size_t)2 << 20)
#define RESERVED (16 * UNIT)
#define COMMITTED (8 * UNIT)
#define TOUCHED (4 * UNIT)

static void publish(const char *base) {
  const char *pattern = getenv("CRADLE_PAGES_FILE");
  char path[4096];
  if (pattern == NULL) return;
  const char *number = strstr(pattern, "%d");
  if (number == NULL)
    snprintf(path, sizeof path, "%s", pattern);
  else
    snprintf(path, sizeof path, "%.*s%d%s", (int)(number - pattern), pattern, (int)getpid(), number + 2);
  FILE *file = fopen(path, "w");
  if (file == NULL) {
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    exit(1);
  }
  fprintf(file, "cradle-ranges 1\n%lx-%lx arenas\n", (unsigned long)base, (unsigned long)(base + RESERVED));
  fclose(file);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  char *mapped = mmap(NULL, RESERVED + UNIT, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return 1;
  char *base = (char *)(((unsigned long)mapped + UNIT - 1) & ~(UNIT - 1));
  if (mprotect(base, COMMITTED, PROT_READ | PROT_WRITE) != 0) return 1;
  madvise(base, RESERVED, strcmp(argv[1], "huge") == 0 ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  memset(base, 1, TOUCHED);
  if (strcmp(argv[1], "silent") != 0) {
    prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, base, RESERVED,
          "cradle arenas"); /* EINVAL where the kernel keeps no names */
    publish(base);
  }
  puts("ready");
  fflush(stdout);
  while (getchar() != EOF) continue;
  return 0;
}
