/* Calls through pointers to functions: they collect if a function of that type in the files does, or if there is
 * none. */
#include "program.h"

typedef struct library {
  void (*hook)(void *data, float not_elsewhere);
  void (*log)(void *data, short not_elsewhere); // cradle-rootcheck: never-collects it writes to a file
  int (*compare)(const void *a, const void *b);
} library;

void unknown(library *l, pair *a) {
  l->hook(l, 0.5F);
  use(a); // expect: stale 'hook'
}
static void calls_it(library *l) {
  l->hook(l, 0.25F);
}
void further_down(library *l, pair *a) {
  calls_it(l);
  use(a); // expect: stale 'calls_it'
}
void said_to_be_quiet(library *l, pair *a) {
  l->log(l, 7);
  use(a);
}
// cradle-rootcheck: never-collects a number is all that it sees
typedef double (*function_of_numbers)(double x, char not_elsewhere);
double quiet_by_its_type(function_of_numbers f, function_of_numbers *table, pair *a) {
  double sum = f(1, 'x') + table[2](2, 'y');
  use(a);
  return sum;
}

/* Those in the files are known. */
static int compare_words(const void *a, const void *b) {
  return a < b ? -1 : a > b;
}
void known_and_quiet(library *l, pair *a, pair *b) {
  l->compare = compare_words;
  if (l->compare(a, b) > 0) use(a);
  use(b);
}

/* Converted to another type. */
typedef void (*any_function)(long long not_elsewhere);
static void allocates(cradle_mutator *m) {
  make(m);
}
static const any_function table[] = {(any_function)allocates};
void converted(pair *a, int i) {
  table[i](1);
  use(a); // expect: stale a call through a pointer
}

/* A function of another library that is handed one of ours calls it. */
static int64_t used;
static int compare_and_allocate(const void *a, const void *b) {
  used += count((cradle_mutator *)(uintptr_t)a);
  return compare_words(a, b);
}
void handed(void **words, size_t n, pair *a) {
  qsort(words, n, sizeof *words, compare_words);
  use(a);
  qsort(words, n, sizeof *words, compare_and_allocate);
  use(a); // expect: stale 'qsort'
}
