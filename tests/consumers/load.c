/* Loads shared objects by dlopen and uses the copy of the library in each, on this thread and on another
 * (run.py copies). Prints a line with the versions that worked; 0 stands for a copy that did not. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uint64_t works(void);

static void *work(void *data) {
  works *function = *(works **)data;
  return (void *)(uintptr_t)function();
}

int main(int count, char **paths) {
  works *functions[8];
  void *result;
  for (int i = 1; i < count && i <= 8; i++) {
    void *library = dlopen(paths[i], RTLD_NOW | RTLD_GLOBAL), *found = NULL;
    if (library != NULL) found = dlsym(library, "copy_works");
    if (found == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    memcpy(&functions[i - 1], &found, sizeof found);
  }
  for (int i = 0; i + 1 < count; i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, &functions[i]) != 0 || pthread_join(thread, &result) != 0) return 1;
    printf("%s%ju %ju", i == 0 ? "" : " ", (uintmax_t)functions[i](), (uintmax_t)(uintptr_t)result);
  }
  puts("");
  return 0;
}
