#include "gc/base/check.h"

#include <stdlib.h>
#include <string.h>

#include "gc/platform/backtrace.h"
#include "gc/platform/pages.h"

void crd_say(const char *kind, const char *message) {
  crd_platform_last_words(kind, strlen(kind));
  crd_platform_last_words(message, strlen(message));
  crd_platform_last_words("\n", 1);
}

crd_name_calls *crd_call_namer = NULL;

void crd_write_calls(const crd_backtrace *trace, bool is_last) {
  crd_name_calls *name = __atomic_load_n(&crd_call_namer, __ATOMIC_ACQUIRE);
  crd_backtrace_write(trace);
  if (name != NULL) name(trace, is_last);
}

void crd_abort_here(void) {
  crd_backtrace trace;
  crd_say("cradle: ", "called from, the innermost first (? for a line: compile that file with -g):");
  crd_backtrace_take(&trace);
  crd_write_calls(&trace, true);
  abort();
}

void crd_abort(const char *kind, const char *message) {
  crd_say(kind, message);
  crd_abort_here();
}

void crd_assertion_failed(const char *message) {
  crd_abort("cradle: assertion failed: ", message);
}
