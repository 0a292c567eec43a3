/* The smallest program that uses the library: it prints the version of its headers. It fails if the library is of
 * another version, which heap creation refuses. */
#include <cradle/cradle.h>

#include <stdio.h>

int main(void) {
  cradle_options options;
  cradle_options_init(&options);
  cradle_heap *heap = cradle_heap_new(&options, NULL);
  printf("%d.%d.%d\n", CRADLE_VERSION_MAJOR, CRADLE_VERSION_MINOR, CRADLE_VERSION_PATCH);
  cradle_heap_free(heap);
  return heap == NULL;
}
