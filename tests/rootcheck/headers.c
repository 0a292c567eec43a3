/* Objects that are assigned as a whole, which overwrites the header. */
#include "program.h"

static const pair nothing;

void copied(cradle_mutator *m) {
  pair *made = make(m);
  *made = nothing; // expect: header as a whole
}
void copied_to_an_item(cradle_mutator *m, pair **rows) {
  rows[2] = make(m);
  *rows[2] = nothing; // expect: header as a whole
}
void with_its_header(cradle_mutator *m) {
  pair *made = make(m);
  *made = (pair){made->header, NULL, NULL, 12};
}
void in_plain_memory(void) {
  pair *made = malloc(sizeof(pair)), local;
  *made = nothing;
  local = nothing;
  use_two(made, &local);
}
