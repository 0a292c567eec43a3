/* Global variables that hold references. Whoever makes one a root takes its address. */
#include "program.h"

static pair *forgotten;
pair *forgotten_too;
static void *of_no_type;
static value forgotten_value;
static pair *forgotten_items[4];
static struct {
  pair *inside;
} forgotten_structure;

void forgotten_ones(cradle_mutator *m) {
  forgotten = NULL;
  if (forgotten == NULL) forgotten = make(m); // expect: global 'forgotten'
  forgotten = make(m);
  forgotten_too = forgotten;                        // expect: global 'forgotten_too'
  of_no_type = cradle_new(m, T_PAIR, sizeof(pair)); // expect: global 'of_no_type'
  value v = make_value(m);
  CRADLE_ROOT_VALUE(m, v);
  forgotten_value = v; // expect: global 'forgotten_value'
  pair *item = make(m);
  forgotten_items[2] = item;            // expect: global 'forgotten_items'
  forgotten_structure.inside = make(m); // expect: global 'forgotten_structure'
}

pair *cached(cradle_mutator *m) {
  static pair *cache;
  if (cache == NULL) cache = make(m); // expect: global 'cache'
  return cache;
}

/* Registered, reported by a root callback, or in a root range. */
static pair *registered, *reported, *frame[8];
static void *const *base = (void *const *)frame;
static struct {
  pair *inside;
} registered_structure;
static pair *no_reference;
static int64_t number;

void visit(void *data, cradle_visitor *visitor) {
  use(data);
  cradle_visit(visitor, &reported, CRADLE_KIND_REFERENCE);
}
void known_ones(cradle_mutator *m, cradle_heap *heap) {
  cradle_global_root_add(heap, &registered, CRADLE_KIND_REFERENCE);
  cradle_global_root_add(heap, &registered_structure.inside, CRADLE_KIND_REFERENCE);
  registered = make(m);
  reported = make(m);
  frame[1] = make(m);
  registered_structure.inside = make(m);
  no_reference = NULL;
  number = count(m);
  use(base);
}
