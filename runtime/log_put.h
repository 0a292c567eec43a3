/* Puts numbers and texts into the log's buffer. They are formatted by hand, for speed: there are thousands of minor
 * collections a second, each with a dozen numbers.
 */
#ifndef CRADLE_RUNTIME_LOG_PUT_H
#define CRADLE_RUNTIME_LOG_PUT_H

#include "runtime/log_file.h"

static inline void put(crd_log_file *file, const char *text) {
  crd_log_file_put(file, text, strlen(text));
}

static inline void put_number(crd_log_file *file, uint64_t number) {
  char digits[20], *first = digits + sizeof digits;
  do *--first = (char)('0' + number % 10);
  while ((number /= 10) != 0);
  crd_log_file_put(file, first, (size_t)(digits + sizeof digits - first));
}

static inline void put_hex(crd_log_file *file, uint64_t number) {
  char digits[16], *first = digits + sizeof digits;
  do *--first = "0123456789abcdef"[number & 15];
  while ((number >>= 4) != 0);
  crd_log_file_put(file, first, (size_t)(digits + sizeof digits - first));
}

/* whole.decimals, where decimals has count digits and is below 10 to the count. */
static inline void put_decimals(crd_log_file *file, uint64_t whole, uint64_t decimals, int count) {
  char text[20] = {'.'};
  for (int i = count; i > 0; i--, decimals /= 10) text[i] = (char)('0' + decimals % 10);
  put_number(file, whole);
  crd_log_file_put(file, text, (size_t)count + 1);
}

/* Seconds, to the nanosecond. */
static inline void put_seconds(crd_log_file *file, uint64_t ns) {
  put_decimals(file, ns / 1000000000u, ns % 1000000000u, 9);
}

/* A number from 0 to 1. */
static inline void put_share(crd_log_file *file, double share) {
  uint64_t parts = (uint64_t)(share * 1e6 + 0.5);
  put_decimals(file, parts / 1000000u, parts % 1000000u, 6);
}

#endif
