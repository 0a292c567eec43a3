/* The comments that accept a finding. */
#include "program.h"

void accepted(cradle_mutator *m, pair *a) {
  make(m);
  use(a); // cradle-rootcheck: ok use() looks at nothing
}

void accepted_on_the_line_before(cradle_mutator *m, pair *a) {
  make(m);
  /* cradle-rootcheck: ok use() looks at nothing */
  use(a);
}
