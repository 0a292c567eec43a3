/* Preloaded into a program: holds the page at HOLD_ADDRESS, so that no image can be mapped where it was saved. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

__attribute__((constructor)) static void hold(void) {
  const char *text = getenv("HOLD_ADDRESS");
  void *wanted = (void *)strtoull(text != NULL ? text : "0", NULL, 0);
  if (mmap(wanted, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == wanted) return;
  fprintf(stderr, "hold_address: %p is not free\n", wanted);
  exit(99);
}
