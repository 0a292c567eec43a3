#include "gc/base/check.h"

#include <stdlib.h>
#include <string.h>

#include <cradle/backtrace.h>

#include "gc/platform/pages.h"

void crd_abort(const char *kind, const char *message) {
  crd_platform_last_words(kind, strlen(kind));
  crd_platform_last_words(message, strlen(message));
  static const char from[] = "\ncradle: called from, the innermost first:\n";
  cradle_backtrace trace;
  crd_platform_last_words(from, sizeof from - 1);
  cradle_backtrace_take(&trace);
  cradle_backtrace_write(&trace);
  abort();
}

void crd_assertion_failed(const char *message) {
  crd_abort("cradle: assertion failed: ", message);
}
