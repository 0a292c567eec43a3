/* Addresses inside of objects that are given to what may collect. */
#include "program.h"
#include <string.h>

typedef struct symbol {
  uint64_t header, length;
  struct symbol *next;
  char text[];
} symbol;
static const uint64_t symbol_slots = CRADLE_SLOT(symbol, next);

symbol *make_string(cradle_mutator *m, size_t n, const char *text) CRADLE_MAY_COLLECT;

symbol *to_another_file(cradle_mutator *m, symbol *s) {
  CRADLE_ROOT(m, s);
  return make_string(m, s->length, s->text); // expect: interior 'make_string'
}

static symbol *copies(cradle_mutator *m, size_t n, const char *text) CRADLE_MAY_COLLECT {
  symbol *made = cradle_new_array(m, T_ARRAY, n);
  memcpy(made->text, text, n);
  return made;
}
static symbol *hands_on(cradle_mutator *m, const char *text) CRADLE_MAY_COLLECT {
  const char *end = text + strlen(text);
  return copies(m, (size_t)(end - text), text);
}
symbol *to_a_function_here(cradle_mutator *m, symbol *s) {
  return copies(m, s->length, s->text); // expect: interior 'copies'
}
symbol *further_on(cradle_mutator *m, symbol *s) {
  return hands_on(m, s->text); // expect: interior 'hands_on'
}
symbol *by_a_local(cradle_mutator *m, symbol *s) {
  const char *text = s->text + 1;
  return copies(m, 3, text); // expect: interior 'copies'
}
static void set_later(cradle_mutator *m, pair **slot) CRADLE_MAY_COLLECT {
  pair *made = make(m);
  *slot = made;
}
void of_a_slot(cradle_mutator *m, pair *a) {
  set_later(m, &a->first); // expect: interior 'set_later'
}
typedef symbol *maker(cradle_mutator *m, size_t n, const char *text);
symbol *through_a_pointer(cradle_mutator *m, maker *f, symbol *s) {
  return f(m, s->length, s->text); // expect: interior 'f'
}

/* The function returns an address inside of the object. */
static const char *text_of(const symbol *s) {
  return s->text;
}
void what_a_function_returns(cradle_mutator *m, symbol *s) {
  CRADLE_ROOT(m, s);
  const char *text = text_of(s);
  make(m);
  use(text); // expect: stale cannot be rooted
}

/* --- right --- */

static symbol *looks_before_it_collects(cradle_mutator *m, const char *text) CRADLE_MAY_COLLECT {
  size_t n = strlen(text);
  symbol *made = cradle_new_array(m, T_ARRAY, n);
  return made;
}
static symbol *takes_the_object(cradle_mutator *m, symbol *s) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(m, s);
  symbol *made = cradle_new_array(m, T_ARRAY, s->length);
  memcpy(made->text, s->text, s->length);
  return made;
}
typedef struct named {
  symbol base;
  int64_t number;
} named;
symbol *right(cradle_mutator *m, symbol *s, named *n) {
  CRADLE_ROOT(m, s);
  CRADLE_ROOT(m, n);
  use(looks_before_it_collects(m, s->text));
  use(takes_the_object(m, s));
  use(takes_the_object(m, &n->base)); /* where the object begins: the object */
  use(copies(m, 4, "text"));
  use(s->text);
  return takes_the_object(m, s);
}

/* Behind the object's structure. */
void behind(cradle_mutator *m, symbol *s) {
  CRADLE_ROOT(m, s);
  copies(m, 3, (const char *)(s + 1)); // expect: interior 'copies'
}

/* One caller gives an object; that the others give none stays so. */
static void keep(const void *bytes) {
  use(bytes);
}
void keep_object(pair *a) {
  keep(a);
}
void keep_bytes(cradle_mutator *m, const void *bytes) {
  make(m);
  keep(bytes);
}
