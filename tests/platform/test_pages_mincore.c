/* Tests the POSIX backend as macOS and FreeBSD compile it: there mincore reports which pages back a range. Here it is
 * compiled with their constants and calls Linux's mincore, which reports residence in the same bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/platform/pages_mincore_calls.h"

#include "tests/inside.h"

static bool refuses;
static const unsigned char *told; /* of as many pages as are asked about; NULL: what the kernel tells */

bool crd_fault_should_fail(const char *call, int *error);
bool crd_fault_should_fail(const char *call, int *error) {
  *error = ENOMEM;
  return refuses && call[0] == 'm' && call[1] == 'i';
}

int answer_mincore(void *address, size_t size, unsigned char *states) {
  if (told == NULL) return mincore(address, size, states);
  memcpy(states, told, size / (size_t)sysconf(_SC_PAGESIZE));
  return 0;
}

static char *touched(size_t page, size_t pages) {
  static const size_t at[] = {0, 5, 600};
  char *base = crd_pages_reserve(pages * page, page, NULL);
  assert_non_null(base);
  assert_true(crd_pages_commit(base, pages * page));
  madvise(base, pages * page, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < 3; i++) base[at[i] * page] = 1;
  return base;
}

static void resident_pages_are_counted(void **state) {
  (void)state;
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  crd_pages_backing backing;
  char *base = touched(page, 700);
  errno = 77;
  assert_true(crd_pages_backing_of(base, 700 * page, &backing));
  assert_int_equal(backing.resident_bytes, 3 * page);
  assert_int_equal(backing.huge_bytes, 0);
  assert_true(crd_pages_backing_of(base, 600 * page, &backing));
  assert_int_equal(backing.resident_bytes, 2 * page);
  assert_true(crd_pages_discard(base, 700 * page));
  assert_true(crd_pages_backing_of(base, 700 * page, &backing));
  assert_int_equal(backing.resident_bytes, 0);
  assert_int_equal(errno, 77);
  assert_true(crd_pages_unreserve(base, 700 * page));
}

static void what_is_not_told_is_no_figure(void **state) {
  (void)state;
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  crd_pages_backing backing;
  char *base = touched(page, 700);
  refuses = true;
  assert_false(crd_pages_backing_of(base, 700 * page, &backing));
  refuses = false;
  assert_true(crd_pages_unreserve(base, 700 * page));
}

static void superpages_are_huge(void **state) {
  (void)state;
  static const unsigned char states[4] = {MINCORE_INCORE | 0x20, MINCORE_INCORE, 0x20, MINCORE_INCORE | 0x40};
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  crd_pages_backing backing;
  told = states;
  assert_true(crd_pages_backing_of(NULL, 4 * page, &backing));
  told = NULL;
  assert_int_equal(backing.resident_bytes, 3 * page);
  assert_int_equal(backing.huge_bytes, 2 * page);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(resident_pages_are_counted),
      cmocka_unit_test(what_is_not_told_is_no_figure),
      cmocka_unit_test(superpages_are_huge),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
