/* A small program as it comes out of a port that has not got to the roots yet: cradle-rootcheck --fix must add them
 * all. It is compiled and run by tests/tools/rootcheck.py, and prints the same under CRADLE_STRESS=1 then. */
#include <cradle/cradle.h>
#include <stdio.h>
#include <string.h>

typedef struct pair {
  uint64_t header;
  struct pair *first, *rest;
  int64_t number;
} pair;
typedef struct text {
  uint64_t header, length;
  char bytes[];
} text;
typedef struct box {
  uint64_t header;
  void *content;
} box;
enum { PAIR, TEXT, BOX, TYPES };
static const cradle_type types[TYPES] = {
    [PAIR] = {.name = "pair", .size = sizeof(pair), .references = CRADLE_SLOT(pair, first) | CRADLE_SLOT(pair, rest)},
    [TEXT] = {.name = "text",
              .size = sizeof(text),
              .items = CRADLE_ITEMS_BYTES,
              .item_size = 1,
              .length_offset = offsetof(text, length)},
    [BOX] = {.name = "box", .size = sizeof(box), .references = CRADLE_SLOT(box, content)},
};

typedef struct vm {
  cradle_heap *heap;
  cradle_mutator *mutator;
} vm;
static pair *nil; /* a global root */

/* Parameters. */
static pair *number(vm *v, int64_t n) {
  pair *made = CRADLE_NEW(v->mutator, pair, PAIR);
  made->number = n;
  return made;
}
static pair *cons(vm *v, pair *first, pair *rest) {
  pair *made = CRADLE_NEW(v->mutator, pair, PAIR);
  made->first = first, made->rest = rest;
  return made;
}
static box *wrap(vm *v, void *content) {
  box *made = CRADLE_NEW(v->mutator, box, BOX);
  made->content = content;
  return made;
}

/* Operands in any order, one of them a global; and both allocate. */
static pair *couple(vm *v, int64_t a, int64_t b) {
  return cons(v, number(v, a), cons(v, number(v, b), nil));
}

/* A loop that builds, a variable without a value, and the mutator in a local. */
static pair *numbers(vm *v, int64_t from, int64_t to) {
  cradle_mutator *m = v->mutator;
  pair *list = nil;
  pair *one;
  for (int64_t i = to; i >= from; i--) {
    one = CRADLE_NEW(m, pair, PAIR);
    one->number = i;
    list = cons(v, one, list);
  }
  return list;
}

/* Two variables in one declaration, and a loop's own. */
static pair *map(vm *v, pair *list, int64_t add) {
  pair *all = nil, *unused = number(v, add);
  for (pair *p = list; p != nil; p = p->rest) all = cons(v, number(v, p->first->number + unused->number), all);
  pair *back = nil;
  for (pair *p = all; p != nil; p = p->rest) back = cons(v, p->first, back);
  return back;
}

/* Members of a local structure, and something without a type. */
typedef struct two {
  pair *left, *right;
} two;
static int64_t difference(vm *v, pair *a) {
  two t = {number(v, 40), a};
  void *boxed = wrap(v, t.left);
  t.right = couple(v, 1, 2);
  pair *unboxed = ((box *)boxed)->content;
  return unboxed->number - t.right->rest->first->number + a->number;
}

static text *spell(vm *v, const char *bytes) {
  text *made = CRADLE_NEW_ARRAY(v->mutator, text, TEXT, bytes, length, strlen(bytes));
  memcpy(made->bytes, bytes, made->length);
  return made;
}
static text *joined(vm *v, text *a, text *b) {
  text *made = CRADLE_NEW_ARRAY(v->mutator, text, TEXT, bytes, length, a->length + b->length);
  memcpy(made->bytes, a->bytes, a->length);
  memcpy(made->bytes + a->length, b->bytes, b->length);
  return made;
}

/* Statements without braces, and calls that a macro makes. */
#define CONS(first, rest) cons(v, (first), (rest))
static pair *choose(vm *v, int which) {
  switch (which) {
  case 1: return cons(v, number(v, 1), nil);
  default:
    if (which > 2) return CONS(number(v, 2), CONS(number(v, 3), CONS(number(v, 4), nil)));
  }
  return nil;
}

static int64_t sum(const pair *list) {
  int64_t all = 0;
  for (; list != nil; list = list->rest) all += list->first->number;
  return all;
}

static void run(vm *v) {
  nil = number(v, 0);
  pair *list = numbers(v, 1, 100);
  printf("%d\n", (int)sum(list));
  pair *couples = couple(v, 3, 4);
  printf("%d %d\n", (int)sum(couples), (int)sum(list));
  printf("%d\n", (int)difference(v, couples->first));
  pair *mapped = map(v, list, 10);
  printf("%d %d\n", (int)sum(mapped), (int)sum(list));
  text *name = joined(v, spell(v, "cra"), spell(v, "dle"));
  couple(v, 5, 6);
  printf("%.*s\n", (int)name->length, name->bytes);
  pair *chosen = choose(v, 1);
  printf("%d\n", (int)(sum(choose(v, 3)) + sum(chosen)));
}

int main(void) {
  vm v = {0};
  cradle_options options;
  cradle_options_init(&options);
  options.types = types, options.type_count = TYPES;
  v.heap = cradle_heap_new_from_environment(&options, NULL);
  if (v.heap == NULL || (v.mutator = cradle_mutator_new(v.heap)) == NULL) return 1;
  cradle_global_root_add(v.heap, &nil, CRADLE_KIND_REFERENCE);
  run(&v);
  cradle_mutator_free(v.mutator);
  cradle_heap_free(v.heap);
}
