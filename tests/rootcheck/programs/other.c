/* The other of two programs that are read together. */
#include "../program.h"

int main(void) {
  static pair *kept;
  kept = make(NULL);
  pair *p = kept;
  make(NULL);
  return p->first == NULL; /* stale, and kept is no root */
}
