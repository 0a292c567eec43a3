/* A stack machine in about a hundred lines, as a first user would write it: numbers and pairs, a value stack that is a
 * root range, programs that build linked structures and drop them. It prints the same whatever the collector does. */
#include <stdio.h>
#include <stdlib.h>

#include <cradle/cradle.h>

typedef struct object {
  uint64_t header;
  union {
    int64_t number;
    struct {
      struct object *first, *rest;
    } pair;
  } as;
} object;

enum { NUMBER, PAIR, TYPES };
static const cradle_type types[TYPES] = {
    [NUMBER] = {.name = "number", .size = 16},
    [PAIR] = {.name = "pair",
              .size = 24,
              .references = CRADLE_SLOT(object, as.pair.first) | CRADLE_SLOT(object, as.pair.rest)},
};

enum { STACK_MAX = 1 << 16 };
typedef struct vm {
  cradle_heap *heap;
  cradle_mutator *m;
  void *stack[STACK_MAX], *base, *top;
  cradle_root_range range;
} vm;

static void push(vm *v, object *value) {
  void **top = v->top;
  if (top == v->stack + STACK_MAX) fputs("stack overflow\n", stderr), exit(1);
  *top = value;
  v->top = top + 1;
}

static object *pop(vm *v) {
  v->top = (void **)v->top - 1;
  return *(void **)v->top;
}

static void push_number(vm *v, int64_t number) CRADLE_MAY_COLLECT {
  object *fresh = cradle_new(v->m, NUMBER, 16);
  fresh->as.number = number;
  push(v, fresh);
}

/* Replaces the top two objects by a pair of them. They stay on the stack, and so rooted, until the pair exists. */
static void cons(vm *v) CRADLE_MAY_COLLECT {
  object *fresh = cradle_new(v->m, PAIR, 24);
  fresh->as.pair.rest = pop(v);
  fresh->as.pair.first = pop(v);
  push(v, fresh);
}

static void tree(vm *v, int depth) CRADLE_MAY_COLLECT {
  if (depth == 0) {
    push_number(v, 1);
    return;
  }
  tree(v, depth - 1);
  tree(v, depth - 1);
  cons(v);
}

static int64_t sum(const object *value) {
  if (value == NULL) return 0;
  return cradle_type_of(value) == NUMBER ? value->as.number : sum(value->as.pair.first) + sum(value->as.pair.rest);
}

/* A list of n numbers, then each of them replaced by its double: stores into objects that may be old. */
static void doubled_list(vm *v, int64_t n) CRADLE_MAY_COLLECT {
  push(v, NULL);
  for (int64_t i = 1; i <= n; i++) {
    push_number(v, i);
    object *number = pop(v), *list = pop(v);
    push(v, number);
    push(v, list);
    cons(v);
  }
  push(v, ((void **)v->top)[-1]);
  for (object *cell; (cell = ((void **)v->top)[-1]) != NULL;) {
    push_number(v, 2 * cell->as.pair.first->as.number);
    object *twice = pop(v);
    cell = pop(v);
    cradle_store(v->m, cell, &cell->as.pair.first, twice);
    push(v, cell->as.pair.rest);
  }
  pop(v);
}

int main(void) {
  static vm v;
  cradle_options options;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = TYPES;
  cradle_error error;
  if ((v.heap = cradle_heap_new_from_environment(&options, &error)) == NULL)
    return fprintf(stderr, "%s\n", error.message), 1;
  v.m = cradle_mutator_new(v.heap);
  v.base = v.top = v.stack;
  v.range = CRADLE_ROOT_RANGE(v.base, v.top, CRADLE_KIND_REFERENCE, "value stack");
  cradle_root_range_add(v.m, &v.range);
  tree(&v, 10); /* lives through what follows */
  for (int i = 0; i < 5; i++) {
    doubled_list(&v, 1000);
    tree(&v, 6);
    printf("list %lld, tree %lld\n", (long long)sum(((void **)v.top)[-2]), (long long)sum(((void **)v.top)[-1]));
    v.top = (void **)v.top - 2;
  }
  printf("tree that lived %lld\n", (long long)sum(pop(&v)));
  cradle_mutator_free(v.m);
  cradle_heap_free(v.heap);
  return 0;
}
