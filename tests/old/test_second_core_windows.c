/* Runs the programs of tests/old/second_core_programs.h on Windows, where the collector marks on a second core. Each
 * program is a process of its own, for which this program starts itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "gc/platform/windows.h"
#include "tests/support/second_core.h"

#define CHILD_MOST_MS 120000

/* A joined thread has ended, so the library's own count of threads is used here. */
static void require_markers(uint32_t expected) {
  require(crd_thread_count() == expected, "a thread was not ended, or one was not made");
}

static void keep_to_one_processor(void) {
  DWORD_PTR own, all;
  require(GetProcessAffinityMask(GetCurrentProcess(), &own, &all) != 0, "no affinity");
  require(SetProcessAffinityMask(GetCurrentProcess(), own & -own) != 0, "no affinity");
}

#include "tests/old/second_core_programs.h"

static const struct {
  const char *name;
  void (*run)(void);
  DWORD status;
} programs[] = {
    {"exits", exits, 7},
    {"exits-on-another-thread", exits_on_another_thread, 8},
    {"frees-the-heap", frees_the_heap, 0},
    {"has-one-processor", has_one_processor, 0},
    {"has-heaps-on-many-threads", has_heaps_on_many_threads, 0},
    {"hands-the-mutator-on", hands_the_mutator_on, 0},
    {"holds-no-references", holds_no_references, 0},
};
#define PROGRAMS (sizeof programs / sizeof *programs)

static void test_program(void **state) {
  size_t index = (size_t)(uintptr_t)*state;
  char path[MAX_PATH], line[2 * MAX_PATH];
  STARTUPINFOA start = {.cb = sizeof start};
  PROCESS_INFORMATION child;
  DWORD status;
  assert_int_not_equal(GetModuleFileNameA(NULL, path, sizeof path), 0);
  (void)snprintf(line, sizeof line, "\"%s\" %s", path, programs[index].name);
  assert_true(CreateProcessA(path, line, NULL, NULL, TRUE, 0, NULL, NULL, &start, &child));
  if (WaitForSingleObject(child.hProcess, CHILD_MOST_MS) != WAIT_OBJECT_0) {
    (void)TerminateProcess(child.hProcess, 1);
    fail_msg("it waits for ever");
  }
  assert_true(GetExitCodeProcess(child.hProcess, &status));
  (void)CloseHandle(child.hProcess);
  (void)CloseHandle(child.hThread);
  assert_int_equal(status, programs[index].status);
}

int main(int argc, char **argv) {
  struct CMUnitTest tests[PROGRAMS];
  for (size_t i = 0; i < PROGRAMS; i++) {
    if (argc > 1 && strcmp(argv[1], programs[i].name) == 0) {
      programs[i].run();
      return 0;
    }
    tests[i] = (struct CMUnitTest){programs[i].name, test_program, NULL, NULL, (void *)(uintptr_t)i};
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
