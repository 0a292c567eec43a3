/* Fibers: coroutines with C stacks of their own (ucontext), each of which is an object of the heap.
 *
 *   fibers [NUMBER]   prints the primes below NUMBER (a chain of fibers, one for each prime), whether two trees
 *                     have the same leaves (two fibers that walk them), and how many of the fibers that were dropped
 *                     were freed
 *
 * A fiber keeps references in C variables, as any C code does, so it needs scoped roots, and a root stack of its own
 * for them. docs/coroutines.md explains each step.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include <cradle/cradle.h>
#include <cradle/runtime.h>

/* What lies outside of the heap: it must not move. */
typedef struct coroutine {
  ucontext_t context;
  cradle_root_stack *roots;
  void (*body)(void *argument);
  bool has_ended;
  char c_stack[64 << 10];
} coroutine;

typedef struct fiber {
  uint64_t header;
  coroutine *coroutine;
  void *value;           /* the argument, then what it yields */
  struct fiber *resumer; /* who goes on when it yields; NULL: the main program */
} fiber;
typedef struct number {
  uint64_t header;
  long value;
} number;
typedef struct tree {
  uint64_t header;
  void *left, *right; /* two trees, or a number and NULL */
} tree;

enum { FIBER, NUMBER, TREE, TYPES };
static void free_fiber(void *user, void *object);
static const cradle_type types[TYPES] = {
    [FIBER] = {.name = "fiber",
               .size = sizeof(fiber),
               .references = CRADLE_SLOT(fiber, value) | CRADLE_SLOT(fiber, resumer),
               .destructor = free_fiber},
    [NUMBER] = {.name = "number", .size = sizeof(number)},
    [TREE] = {.name = "tree", .size = sizeof(tree), .references = CRADLE_SLOT(tree, left) | CRADLE_SLOT(tree, right)},
};

static cradle_mutator *m;
static fiber *running; /* a global root; NULL: the main program */
static coroutine main_program;
static long fibers_freed;

static coroutine *coroutine_of(const fiber *f) {
  return f == NULL ? &main_program : f->coroutine;
}

/* The root stack first, then the C stack. Between the two, nothing is rooted and nothing collects; other fibers, which
 * run until the switch back, do collect. */
static void switch_to(fiber *to) CRADLE_MAY_COLLECT {
  coroutine *from = coroutine_of(running), *next = coroutine_of(to);
  running = to;
  cradle_root_stack_switch(m, next->roots);
  swapcontext(&from->context, &next->context);
}

static void yield(void *value) CRADLE_MAY_COLLECT {
  cradle_store(m, running, &running->value, value);
  switch_to(running->resumer);
}

/* A fiber must not root itself: its root stack would keep it alive for ever. */
static void begin(void) CRADLE_MAY_COLLECT {
  running->coroutine->body(running->value);
  running->coroutine->has_ended = true;
  yield(NULL);
}

static coroutine *new_coroutine(void (*body)(void *argument)) {
  coroutine *c = malloc(sizeof *c);
  if (c == NULL || (c->roots = cradle_root_stack_new(m)) == NULL || getcontext(&c->context) != 0) abort();
  c->body = body;
  c->has_ended = false;
  c->context.uc_stack.ss_sp = c->c_stack;
  c->context.uc_stack.ss_size = sizeof c->c_stack;
  c->context.uc_link = NULL;
  makecontext(&c->context, begin, 0);
  return c;
}

static fiber *new_fiber(void (*body)(void *argument), void *argument) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(m, argument);
  coroutine *c = new_coroutine(body);
  fiber *f = CRADLE_NEW_WITH(m, fiber, FIBER, 0);
  f->coroutine = c;
  f->value = argument;
  return f;
}

/* The fiber may be in the middle of its work: its open scopes go with its root stack. */
static void free_fiber(void *user, void *object) {
  (void)user;
  coroutine *c = ((fiber *)object)->coroutine;
  cradle_root_stack_free(c->roots);
  free(c);
  fibers_freed++;
}

/* Returns what the fiber yields next; NULL: it has ended. */
static void *resume(fiber *f) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(m, f);
  if (f->coroutine->has_ended) return NULL;
  cradle_store(m, f, &f->resumer, running);
  switch_to(f);
  return f->value;
}

static number *new_number(long value) CRADLE_MAY_COLLECT {
  number *n = CRADLE_NEW(m, number, NUMBER);
  n->value = value;
  return n;
}

/* --- primes: each fiber passes on what its prime does not divide --- */

static void count_up(void *argument) CRADLE_MAY_COLLECT {
  long end = ((number *)argument)->value;
  for (long i = 2; i < end; i++) yield(new_number(i));
}

/* The argument is the source. The first number that it gives is a prime, and all that is passed on to the next fiber is
 * not divided by it. */
static void sieve(void *argument) CRADLE_MAY_COLLECT {
  fiber *source = argument;
  CRADLE_ROOT(m, source);
  number *n = resume(source);
  if (n == NULL) return;
  long prime = n->value;
  yield(n);
  while ((n = resume(source)) != NULL)
    if (n->value % prime != 0) yield(n);
}

static void primes(long end) CRADLE_MAY_COLLECT {
  fiber *last = new_fiber(count_up, new_number(end));
  CRADLE_ROOT(m, last);
  long found = 0;
  for (number *n;; found++) {
    last = new_fiber(sieve, last);
    n = resume(last);
    if (n == NULL) break;
    printf("%ld ", n->value);
  }
  printf("\n%ld primes\n", found);
}

/* --- trees: two that are built differently may have the same leaves --- */

static tree *new_tree(long first, long last, int shape) CRADLE_MAY_COLLECT {
  tree *made = CRADLE_NEW(m, tree, TREE);
  CRADLE_ROOT(m, made);
  long middle = shape == 0 ? (first + last) / 2 : first;
  if (first == last) {
    number *leaf = new_number(first);
    cradle_store(m, made, &made->left, leaf);
  } else {
    tree *left = new_tree(first, middle, shape);
    cradle_store(m, made, &made->left, left);
    tree *right = new_tree(middle + 1, last, shape);
    cradle_store(m, made, &made->right, right);
  }
  return made;
}

static void walk(void *argument) CRADLE_MAY_COLLECT {
  tree *node = argument;
  CRADLE_ROOT(m, node);
  if (node->right == NULL) {
    yield(node->left);
  } else {
    walk(node->left);
    walk(node->right);
  }
}

static bool same_leaves(tree *one, tree *two) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(m, two);
  fiber *a = new_fiber(walk, one);
  CRADLE_ROOT(m, a);
  fiber *b = new_fiber(walk, two);
  CRADLE_ROOT(m, b);
  for (;;) {
    number *from_a = resume(a);
    CRADLE_ROOT(m, from_a);
    number *from_b = resume(b);
    if (from_a == NULL || from_b == NULL) return (void *)from_a == (void *)from_b;
    if (from_a->value != from_b->value) return false;
  }
}

static void trees(void) CRADLE_MAY_COLLECT {
  tree *wide = new_tree(1, 100, 0);
  CRADLE_ROOT(m, wide);
  tree *deep = new_tree(1, 100, 1);
  CRADLE_ROOT(m, deep);
  tree *other = new_tree(1, 99, 0);
  CRADLE_ROOT(m, other);
  printf("the same leaves: %d %d\n", same_leaves(wide, deep), same_leaves(wide, other));
}

int main(int argc, char **argv) {
  cradle_options options;
  cradle_error error;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = TYPES;
  cradle_heap *heap = cradle_heap_new_from_environment(&options, &error);
  if (heap == NULL) {
    fprintf(stderr, "fibers: %s\n", error.message);
    return 1;
  }
  m = cradle_mutator_new(heap);
  cradle_global_root_add(heap, &running, CRADLE_KIND_REFERENCE);
  primes(argc > 1 ? atol(argv[1]) : 60);
  trees();
  for (int i = 0; i < 4; i++) cradle_collect(m, CRADLE_COLLECT_FULL); /* a dropped chain is freed fiber by fiber */
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  printf("fibers freed: %ld\n", fibers_freed);
  return 0;
}
