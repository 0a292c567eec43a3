/* Gives each test of a file its own heap, f. The file's choose() sets options beyond the fixture's. */
#ifndef TESTS_ONE_HEAP_H
#define TESTS_ONE_HEAP_H

#include "tests/support/heap_fixture.h"

static fixture f;

static void choose(cradle_options *options);

static inline int open_fixture(void **state) {
  (void)state;
  cradle_options options;
  fixture_options(&f, &options);
  choose(&options);
  fixture_open_with(&f, &options);
  return 0;
}

static inline int close_fixture(void **state) {
  (void)state;
  fixture_close(&f);
  return 0;
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, open_fixture, close_fixture)

#endif
