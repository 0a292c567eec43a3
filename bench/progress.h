/* One line on standard error that says how far a long run is, where that is a terminal; nothing elsewhere. */
#ifndef BENCH_PROGRESS_H
#define BENCH_PROGRESS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

static inline bool progress_is_shown(void) {
  return isatty(STDERR_FILENO);
}

/* Replaces the line before. Show an empty line, which removes it, before you print anything else. */
__attribute__((format(printf, 1, 2))) static inline void progress_show(const char *format, ...) {
  if (!progress_is_shown()) return;
  va_list arguments;
  va_start(arguments, format);
  fputs("\r\033[K", stderr);
  vfprintf(stderr, format, arguments);
  fflush(stderr);
  va_end(arguments);
}

/* Runs are counted from 0; one before them, -1, warms the machine up. */
static inline const char *progress_run(int run, int runs, char text[40]) {
  if (run < 0) return "a run before the first";
  snprintf(text, 40, "run %d of %d", run + 1, runs);
  return text;
}

static inline void progress_end(void) {
  progress_show("%s", "");
}

#endif
