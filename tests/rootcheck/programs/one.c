/* One of two programs that are read together. */
#include "../program.h"

int main(void) {
  pair *p = make(NULL);
  make(NULL);
  return p->first == NULL; /* stale */
}
