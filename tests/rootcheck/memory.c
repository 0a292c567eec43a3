/* References that are read from globals, from plain memory and from a value stack: the compiler may read them before a
 * call in the same expression, which moves what they refer to. Rooting them does not help. */
#include "program.h"

static pair *nil;
static void *untyped;
static value unbound;
static pair *const constant = NULL;

typedef struct vm {
  cradle_mutator *m;
  pair *current;
  void *result; /* a global root */
  void *data;   /* nothing of the collector's */
  void *stack[100], *base, *top;
  cradle_root_range range;
} vm;
static vm machine;

void register_them(cradle_heap *heap, vm *v) {
  cradle_global_root_add(heap, &nil, CRADLE_KIND_REFERENCE);
  cradle_global_root_add(heap, &untyped, CRADLE_KIND_REFERENCE);
  cradle_global_root_add(heap, &unbound, CRADLE_KIND_VALUE);
  cradle_global_root_add(heap, &v->current, CRADLE_KIND_REFERENCE);
  cradle_global_root_add(heap, &v->result, CRADLE_KIND_REFERENCE);
  v->base = v->stack, v->top = v->stack;
  v->range = CRADLE_ROOT_RANGE(v->base, v->top, CRADLE_KIND_REFERENCE, "stack");
  cradle_root_range_add(v->m, &v->range);
}

void value_is_one(cradle_mutator *m, value v) {
  CRADLE_ROOT_VALUE(m, v);
  make(m);
  use_value(v);
}

/* --- read in any order --- */

pair *a_global(cradle_mutator *m) {
  return join(m, make(m), nil); // expect: order C leaves open whether this reference or 'make'
}
void an_untyped_global(cradle_mutator *m) {
  use_two(untyped, make(m)); // expect: order C leaves open whether this reference or 'make'
}
void a_value(cradle_mutator *m) {
  use_two((void *)(uintptr_t)unbound, make(m)); // expect: order C leaves open whether this reference or 'make'
}
pair *a_field(vm *v) {
  return join(v->m, make(v->m), v->current); // expect: order C leaves open whether this reference or 'make'
}
void an_untyped_field(vm *v) {
  use_two(make(v->m), v->result); // expect: order C leaves open whether this reference or 'make'
}
void a_field_of_a_global(void) {
  use_two(make(machine.m), machine.current); // expect: order C leaves open whether this reference or 'make'
}
void an_item_of_the_stack(vm *v) {
  use_two(v->stack[3], make(v->m)); // expect: order C leaves open whether this reference or 'make'
}
void a_field_of_what_a_global_refers_to(cradle_mutator *m) {
  nil->rest = make(m); // expect: order the address in the object
}

pair *first_the_call(cradle_mutator *m) {
  pair *made = make(m);
  return join(m, made, nil);
}
pair *never_changes(cradle_mutator *m) {
  return join(m, make(m), constant);
}
void not_a_reference(vm *v) {
  use_two(v->data, make(v->m));
}
void what_lies_in_it(cradle_mutator *m) {
  if (count(m) + nil->number > 0) use(NULL);
}
/* Made of a number, and so no reference. */
static value tagged(int64_t n) {
  return (value)n << 3 | 1;
}
value numbers(cradle_mutator *m, int64_t n) {
  use_two((void *)(uintptr_t)tagged(n), make(m));
  return (value)n << 3 | (make(m) != NULL);
}

/* --- kept in a local over a call --- */

void copied_from_an_untyped_global(cradle_mutator *m) {
  void *copy = untyped;
  make(m);
  use(copy); // expect: stale 'copy'
}
void copied_from_an_untyped_field(vm *v) {
  void *copy = v->result;
  make(v->m);
  use(copy); // expect: stale 'copy'
}
void not_copied_from_a_reference(vm *v) {
  void *copy = v->data;
  make(v->m);
  use(copy);
}

static void push(vm *v, void *object) {
  *(void **)v->top = object, v->top = (void **)v->top + 1;
}
static void *pop(vm *v) {
  v->top = (void **)v->top - 1;
  return *(void **)v->top;
}
static void **peek(vm *v, int i) {
  return &v->stack[i];
}
void popped(vm *v) {
  void *a = pop(v), *b = *peek(v, 2);
  push(v, make(v->m));
  use_two(a, b); // expect: stale 'a' // expect: stale 'b'
}
void popped_afterwards(vm *v) {
  pair *made = make(v->m);
  void *a = pop(v);
  use_two(a, made);
}

/* --- a variable that is rooted is a reference, whatever its type --- */

void rooted_here_only(cradle_mutator *m, void *a, void *b) {
  {
    CRADLE_ROOT(m, a);
    make(m);
  }
  use_two(a, b);
  make(m);
  use(a); // expect: stale 'a'
}
static void *evaluate(cradle_mutator *m, void *x, void *env) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(m, env);
  CRADLE_ROOT(m, x);
  make(m);
  return cradle_pop(m) == env ? x : env;
}
void in_any_order(cradle_mutator *m, void *x, void *env) {
  evaluate(m, evaluate(m, x, env), env); // expect: order 'evaluate'
}
void given_to_what_roots_it(cradle_mutator *m, void *x, void *env) {
  evaluate(m, x, NULL);
  evaluate(m, NULL, env); // expect: stale 'env'
}
static void *second_of(void *a, void *b) {
  return a == NULL ? a : b;
}
void returned_without_a_type(cradle_mutator *m, pair *a) {
  void *same = second_of(NULL, a);
  make(m);
  use(same); // expect: stale 'same'
}
struct frame {
  void *env, *unrelated;
};
void a_member(cradle_mutator *m, struct frame f) {
  {
    CRADLE_ROOT(m, f.env);
    make(m);
  }
  make(m);
  use(f.unrelated);
  use(f.env); // expect: stale 'f.env'
}
void a_plain_word(cradle_mutator *m, uint64_t word, uint64_t number) {
  {
    CRADLE_ROOT_VALUE(m, word);
    make(m);
  }
  make(m);
  use_value(number);
  use_value(word); // expect: stale 'word'
}

/* --- what never moves --- */

static pair empty_list;
static pair *empty = &empty_list;
void an_object_of_the_program(cradle_mutator *m, pair *a) {
  CRADLE_ROOT(m, a);
  use_two(empty, make(m));
  empty->first = a;
}

/* --- a local that holds a reference at one time, and something else at another --- */

void at_another_time(cradle_mutator *m, boxed *b, void *buffer) {
  void *any = buffer;
  make(m);
  use(any);
  b = cradle_new(m, T_BOXED, sizeof(boxed));
  any = b->any;
  make(m);
  use(any); // expect: stale 'any'
  any = malloc(10);
  make(m);
  use(any);
}

/* --- the machine, whose fields the roots are elsewhere --- */

void a_local_machine(cradle_mutator *m) {
  vm v = {.m = m};
  v.current = make(v.m);
  make(v.m);
  use(v.current);
}
