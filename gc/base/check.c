#include "gc/base/check.h"

#include <stdlib.h>
#include <string.h>

#include "gc/platform/pages.h"

void crd_abort(const char *kind, const char *message) {
  crd_platform_last_words(kind, strlen(kind));
  crd_platform_last_words(message, strlen(message));
  crd_platform_last_words("\n", 1);
  abort();
}

void crd_assertion_failed(const char *message) {
  crd_abort("cradle: assertion failed: ", message);
}
