/* Sizes on command lines, such as 512M, 1G or 65536. */
#ifndef BENCH_SIZE_H
#define BENCH_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Reads a whole number with one of the units K, M, G and T in steps of 1024, or without. false: text is no size. */
static inline bool read_bytes(const char *text, size_t *bytes) {
  static const char units[] = "KMGT";
  char *end;
  unsigned long long number = strtoull(text, &end, 10);
  const char *unit = *end == '\0' ? NULL : strchr(units, *end & ~0x20);
  unsigned shift = unit == NULL ? 0 : 10 * (unsigned)(unit - units + 1);
  if (text[0] < '0' || text[0] > '9' || (*end != '\0' && (unit == NULL || end[1] != '\0'))) return false;
  if (number > SIZE_MAX >> shift) return false;
  *bytes = (size_t)number << shift;
  return true;
}

#endif
