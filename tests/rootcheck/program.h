/* What the files here share: a pair, a string, and functions that allocate. They are read by tools/cradle-rootcheck,
 * not run. A comment with expect, a kind of finding and a word of its text stands on the line where it must be found;
 * where there is none, nothing may be found. */
#include <cradle/cradle.h>
#include <stdlib.h>

typedef struct pair {
  uint64_t header;
  struct pair *first, *rest;
  int64_t number;
} pair;

typedef struct array {
  uint64_t header, length;
  void *items[];
} array;

typedef uint64_t value;

typedef struct boxed {
  uint64_t header;
  value inside;
  void *unknown; /* malloc'ed: no slot */
  void *any;     /* a slot */
} boxed;

enum { T_PAIR, T_ARRAY, T_BOXED };
static const uint64_t boxed_slots = CRADLE_SLOT(boxed, inside) | CRADLE_SLOT(boxed, any);

pair *make(cradle_mutator *m) CRADLE_MAY_COLLECT;
pair *join(cradle_mutator *m, pair *first, pair *rest) CRADLE_MAY_COLLECT;
value make_value(cradle_mutator *m) CRADLE_MAY_COLLECT;
int64_t count(cradle_mutator *m) CRADLE_MAY_COLLECT;
void use(const void *reference);
void use_two(const void *a, const void *b);
void use_value(value v);
int64_t sum(const pair *list);
