/* The smallest program that uses the library: it prints the version that it runs with, and fails when the headers it
 * was compiled with are of another. */
#include <cradle/cradle.h>

#include <stdio.h>

int main(void) {
  unsigned version = (unsigned)cradle_version();
  printf("%u.%u.%u\n", version / 10000, version / 100 % 100, version % 100);
  return version == CRADLE_VERSION ? 0 : 1;
}
