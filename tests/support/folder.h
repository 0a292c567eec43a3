/* A folder of its own for a test program, as setup and teardown of a cmocka group. */
#ifndef TESTS_FOLDER_H
#define TESTS_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];

static inline int make_folder(void **state) {
  (void)state;
  strcpy(folder, "/tmp/cradle-test-XXXXXX");
  return mkdtemp(folder) == NULL;
}

static inline int remove_folder(void **state) {
  char command[128];
  (void)state;
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command);
}

#endif
