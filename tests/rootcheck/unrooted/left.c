/* What --fix leaves, below what it adds: it is told with the lines of the file that the user has. */
#include "../program.h"

pair *mended(cradle_mutator *m, pair *a) {
  make(m);
  return join(m, a, make(m));
}
void stored(pair *a, pair *b) {
  a->first = b; /* left */
}
void jumps(cradle_mutator *m) {
  pair *a = make(m);
  make(m); /* the call */
again:
  use(a); /* left */
  if (count(m) > 0) goto again;
}
