/* A program that runs with more rights than its user ignores the CRADLE_ variables of the environment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cradle/base.h>
#include <cradle/options.h>
#include <cradle/runtime.h>

#include "runtime/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int start_with_more_rights(void) {
  cradle_options options, defaults;
  cradle_error error;
  cradle_options_init(&options);
  cradle_options_init(&defaults);
  if (getauxval(AT_SECURE) == 0) return 77;
  if (crd_options_from_environment(&options) != 0) return 2;
  if (memcmp(&options, &defaults, sizeof options) != 0) return 3;
  cradle_heap *heap = cradle_heap_new_from_environment(&options, &error);
  if (heap == NULL) return 4;
  cradle_heap_free(heap);
  return 0;
}

/* Makes a set-user-id copy of this program that the user "nobody" owns; only the superuser can do this. */
static bool make_set_user_id(const char *path) {
  char command[400];
  snprintf(command, sizeof command, "cp /proc/%d/exe %s && chown 65534 %s && chmod 4755 %s", (int)getpid(), path, path,
           path);
  return geteuid() == 0 && system(command) == 0;
}

static int run_with_more_rights(const char *path, const char *const *settings, char *said, size_t room) {
  int ends[2], status;
  assert_int_equal(pipe(ends), 0);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    for (; *settings != NULL; settings += 2) setenv(settings[0], settings[1], 1);
    execl(path, "test_more_rights", "--more-rights", (char *)NULL);
    _exit(78);
  }
  close(ends[1]);
  ssize_t length = read(ends[0], said, room - 1);
  said[length > 0 ? length : 0] = '\0';
  close(ends[0]);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void a_program_with_more_rights_obeys_nothing(void **state) {
  char folder[] = "/tmp/cradle-rights-XXXXXX", path[64], file[64], said[600], command[100];
  (void)state;
#ifdef CRADLE_ASAN
  print_message("LeakSanitizer ends such a program, and cannot be told not to\n");
  skip();
#endif
  assert_non_null(mkdtemp(folder));
  chmod(folder, 0777);
  snprintf(path, sizeof path, "%s/program", folder);
  snprintf(file, sizeof file, "%s/file", folder);
  const char *const settings[] = {"CRADLE_GC_NURSERY",
                                  "64K",
                                  "CRADLE_STRESS",
                                  "1",
                                  "CRADLE_STATS",
                                  "1",
                                  "CRADLE_LOG",
                                  file,
                                  "CRADLE_PROFILE",
                                  file,
                                  "CRADLE_GC_MAX",
                                  "1Q",
                                  "CRADLE_FAULTS",
                                  "1",
                                  "CRADLE_NONSENSE",
                                  "1",
                                  NULL};
  bool made = make_set_user_id(path);
  int status = made ? run_with_more_rights(path, settings, said, sizeof said) : 77;
  bool wrote = access(file, F_OK) == 0;
  snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(system(command), 0);
  if (status == 77) skip(); /* not the superuser, or a file system without set-user-id */
  assert_int_equal(status, 0);
  assert_string_equal(said, "");
  assert_false(wrote);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_program_with_more_rights_obeys_nothing)};
  if (argc == 2 && strcmp(argv[1], "--more-rights") == 0) return start_with_more_rights();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
