/* Comments that accept nothing are findings themselves. */
#include "program.h"

void no_reason(cradle_mutator *m, pair *a) {
  make(m);
  use(a); /* expect: stale 'a' */ /* expect: comment reason */ // cradle-rootcheck: ok
}

void nothing_to_accept(cradle_mutator *m, pair *a) {
  use(a); /* expect: comment nothing */ // cradle-rootcheck: ok it is used before the call
  make(m);
}

void unknown_word(cradle_mutator *m, pair *a) {
  make(m);
  use(a); /* expect: stale 'a' */ /* expect: comment only 'ok' */ // cradle-rootcheck: ignore
}
