/* References decoded from the result of a call, by the macros of a NaN-boxed machine: no local holds the value. */
#include "program.h"

typedef struct name {
  uint64_t header, length;
  char text[];
} name;
typedef struct class {
  uint64_t header;
  name *called;
  value start;
} class;
static struct {
  value stack[256], *top;
} vm;

#define BOXED UINT64_C(0xfffc000000000000)
#define AS_OBJECT(v) ((void *)(uintptr_t)((v) & ~BOXED))
#define AS_CLASS(v) ((class *)AS_OBJECT(v))
#define AS_NAME(v) ((name *)AS_OBJECT(v))
#define NUMBER(v) ((double)(int32_t)(v))

enum { T_NAME = 10, T_CLASS };
const uint64_t class_slots[] = {CRADLE_SLOT(class, called), CRADLE_SLOT(class, start)};

name *make_name(const char *text) CRADLE_MAY_COLLECT;
class *make_class(void) CRADLE_MAY_COLLECT;

static value peek(int distance) {
  return vm.top[-1 - distance];
}
static value pop(void) {
  return *--vm.top;
}
static value from_the_top(unsigned distance) {
  return peek((int)distance);
}
static value doubled(int64_t n) {
  return (value)n << 1;
}
static value unboxed(value v) {
  return v & ~BOXED;
}

void over_a_call(void) {
  class *c = AS_CLASS(peek(1));
  name *n = make_name("n");
  use_two(c, n); // expect: stale 'c'
}
void popped(void) {
  name *n = AS_NAME(pop());
  make_name("n");
  use(n); // expect: stale 'n'
}
void by_two_calls(void) {
  class *c = AS_CLASS(from_the_top(0));
  make_class();
  use(c); // expect: stale 'c'
}
void masked(void) {
  class *c = (class *)(uintptr_t)unboxed(peek(0));
  make_class();
  use(c); // expect: stale 'c'
}
void a_value(void) {
  value v = peek(0);
  make_class();
  use_value(v); // expect: stale 'v'
}
void without_a_barrier(void) {
  AS_CLASS(peek(1))->called = AS_NAME(peek(0)); // expect: barrier 'called'
}
void a_value_without_a_barrier(class *c) {
  c->start = peek(0); // expect: barrier 'start'
}
void in_any_order(cradle_mutator *m) {
  use_two(AS_CLASS(peek(0)), make(m));  // expect: order 'make'
  use_two(AS_OBJECT(peek(0)), make(m)); // expect: order 'make'
}

/* --- right: numbers --- */

void a_number(class *c, int64_t n) {
  c->start = doubled(n);
  c->start = doubled(3);
}
void reread(void) {
  make_class();
  use(AS_CLASS(peek(1)));
}
