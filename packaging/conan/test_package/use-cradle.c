/* Makes a heap with the library, which refuses the headers of another version. */
#include <cradle/cradle.h>

#include <stdio.h>

int main(void) {
  cradle_options options;
  cradle_options_init(&options);
  cradle_heap *heap = cradle_heap_new(&options, NULL);
  if (heap == NULL) return 1;
  cradle_heap_free(heap);
  printf("Cradle %d.%d.%d\n", CRADLE_VERSION_MAJOR, CRADLE_VERSION_MINOR, CRADLE_VERSION_PATCH);
  return 0;
}
