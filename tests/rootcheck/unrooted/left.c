/* What --fix leaves, below what it adds: it is told with the lines of the file that the user has, and why. */
#include "../program.h"

pair *mended(cradle_mutator *m, pair *a) {
  make(m);
  return join(m, a, make(m));
}
void stored(pair *a, pair *b) {
  a->first = b; /* left: cradle_write_barrier */
}
void jumps(cradle_mutator *m) {
  pair *a = make(m);
  make(m); /* the call */
again:
  use(a); /* left: the function has labels */
  if (count(m) > 0) goto again;
}
void in_a_switch(cradle_mutator *m, int which) {
  switch (which) {
  case 0:;
    pair *a = make(m);
    make(m);
    use(a); /* left: declared in a switch */
  }
}
void without_a_mutator(pair *a) {
  make(NULL);
  use(a); /* left: no mutator is in scope */
}
#define LOCAL(name) pair *name = make(m)
void in_a_macro(cradle_mutator *m) {
  LOCAL(a);
  make(m);
  use(a); /* left: declared in a macro's body */
}
void if_it_holds(cradle_mutator *m, pair *a) {
  CRADLE_ROOT(m, a);
  if (a != NULL && join(m, a, make(m)) == NULL) use(a); /* left: only if a condition holds */
}
void each_round(cradle_mutator *m, pair *a) {
  CRADLE_ROOT(m, a);
  while (join(m, a, make(m)) != NULL) use(a); /* left: in a loop's head */
}
void inside(cradle_mutator *m, array *a) {
  CRADLE_ROOT(m, a);
  void **item = &a->items[0];
  make(m);
  use(*item); /* left: an address inside an object cannot be rooted */
}
pair *forgotten;
void global(cradle_mutator *m) {
  forgotten = make(m); /* left: cradle_global_root_add */
}
