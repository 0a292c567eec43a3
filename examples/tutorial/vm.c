/* A virtual machine whose instructions are single characters. docs/embed.md builds it step by step. */
#include <stdio.h>
#include <stdlib.h>

#include "cradle/cradle.h"

typedef struct { uint64_t header; double value; } number;
typedef struct { uint64_t header; void *first, *rest; } pair; /* NULL is the empty list */
enum { NUMBER, PAIR, TYPES, ANY };
static const cradle_type types[TYPES] = {
    [NUMBER] = {.name = "number", .size = sizeof(number)},
    [PAIR] = {.name = "pair", .size = sizeof(pair), .references = CRADLE_SLOT(pair, first) | CRADLE_SLOT(pair, rest)},
};

enum { VARIABLES = 26, STACK_MAX = 1000 };
typedef struct {
  cradle_heap *heap;
  cradle_mutator *m;
  void *stack[STACK_MAX], *base, *top; /* the variables a to z, then the values up to top */
  cradle_root_range range;
} vm;

static _Noreturn void fail(const char *message) { fprintf(stderr, "vm: %s\n", message), exit(1); }
static void start(vm *v) CRADLE_GRANTS_COLLECTION {
  cradle_options options;
  cradle_options_init(&options);
  options.types = types, options.type_count = TYPES, options.gc_threads = CRADLE_GC_THREADS_AUTO;
  cradle_error error;
  if ((v->heap = cradle_heap_new_from_environment(&options, &error)) == NULL) fail(error.message);
  if ((v->m = cradle_mutator_new(v->heap)) == NULL) fail("out of memory");
  v->base = v->stack, v->top = v->stack + VARIABLES;
  v->range = CRADLE_ROOT_RANGE(v->base, v->top, CRADLE_KIND_REFERENCE, "stack");
  cradle_root_range_add(v->m, &v->range);
}

static void push(vm *v, void *value) {
  if (v->top == v->stack + STACK_MAX) fail("the stack is full");
  *(void **)v->top = value, v->top = (void **)v->top + 1;
}
static void *pop(vm *v, uint32_t type) {
  if (v->top == v->stack + VARIABLES) fail("the stack is empty");
  void *value = *(void **)(v->top = (void **)v->top - 1);
  if (type != ANY && (value == NULL || cradle_type_of(value) != type)) fail("a value of another type is wanted");
  return value;
}
static double pop_number(vm *v) { return ((number *)pop(v, NUMBER))->value; }

static void push_number(vm *v, double value) CRADLE_MAY_COLLECT {
  number *n = CRADLE_NEW(v->m, number, NUMBER);
  n->value = value;
  push(v, n);
}
static void push_pair(vm *v) CRADLE_MAY_COLLECT {
  pair *p = CRADLE_NEW(v->m, pair, PAIR); /* the two values are still on the stack, which keeps them */
  p->rest = pop(v, ANY), p->first = pop(v, ANY);
  push(v, p);
}
static void set_rest(vm *v) {
  void *rest = pop(v, ANY);
  pair *p = pop(v, PAIR);
  cradle_store(v->m, p, &p->rest, rest);
}

static void **variable(vm *v, char name) {
  if (name < 'a' || name > 'z') fail("no such instruction or variable");
  return &v->stack[name - 'a'];
}
static char *run(vm *v, char *code) CRADLE_MAY_COLLECT { /* returns where it stopped: a ] or the end */
  for (char *loop;; code++) {
    switch (*code) {
    case '\0': case ']': return code;
    case ' ': break;
    case '+': push_number(v, pop_number(v) + pop_number(v)); break;
    case '-': push_number(v, -pop_number(v)); break;
    case ',': push_pair(v); break;
    case '<': push(v, ((pair *)pop(v, PAIR))->first); break;
    case '>': push(v, ((pair *)pop(v, PAIR))->rest); break;
    case '!': set_rest(v); break;
    case '?': push_number(v, pop(v, ANY) != NULL); break;
    case '.': printf("%g\n", pop_number(v)); break;
    case '=': *variable(v, *++code) = pop(v, ANY); break;
    case '[':
      for (loop = code + 1; *(code = run(v, loop)) == ']' && pop_number(v) != 0;) continue;
      if (*code == '\0') fail("a [ has no ]");
      break;
    default:
      if (*code >= '0' && *code <= '9') push_number(v, strtod(code, &code)), code--;
      else push(v, *variable(v, *code));
    }
  }
}

int main(int argc, char **argv) {
  static vm v;
  if (argc != 2) fail("usage: vm CODE");
  start(&v);
  if (*run(&v, argv[1]) != '\0') fail("a ] has no [");
  cradle_mutator_free(v.m);
  cradle_heap_free(v.heap);
}
