/* A library that has the collector inside, for tests/old/test_second_core.c. */
#include "tests/support/second_core.h"

__attribute__((visibility("default"))) void second_core_plugin_run(void);

/* The thread is at work when the heap goes. */
void second_core_plugin_run(void) {
  second_core s = second_core_new(1, LIST_NODES);
  second_core_begin_round(&s);
  second_core_free(&s);
}
