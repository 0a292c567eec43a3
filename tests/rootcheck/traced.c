/* Tables in memory from malloc, whose slots the trace callback of their owner reports: each store needs the owner's
 * barrier. */
#include "program.h"
#include <stdbool.h>

typedef struct entry {
  pair *key;
  value found;
  uint64_t hash;
} entry;
typedef struct table {
  int count, capacity;
  entry *entries;
} table;
typedef struct class {
  uint64_t header;
  table methods;
} class;
typedef struct list {
  uint64_t header;
  int count, capacity;
  value *items;
} list;
typedef struct fiber {
  uint64_t header;
  value *stack;
} fiber;
static struct {
  fiber *running;
  table globals;
} vm;

enum { T_CLASS = 10, T_LIST };
static void visit_table(cradle_visitor *visitor, table *t) {
  for (int i = 0; i < t->capacity; i++) {
    entry *e = &t->entries[i];
    cradle_visit(visitor, &e->key, CRADLE_KIND_REFERENCE);
    cradle_visit(visitor, &e->found, CRADLE_KIND_VALUE);
  }
}
static void trace_class(void *user, void *object, cradle_visitor *visitor) {
  (void)user;
  visit_table(visitor, &((class *)object)->methods);
}
static void trace_list(void *user, void *object, cradle_visitor *visitor) {
  (void)user;
  list *l = object;
  for (int i = 0; i < l->count; i++) cradle_visit(visitor, &l->items[i], CRADLE_KIND_VALUE);
}
void visit_roots(void *data, cradle_visitor *visitor) {
  visit_table(visitor, &vm.globals);
  cradle_visit(visitor, &vm.running->stack[0], CRADLE_KIND_VALUE);
}
const cradle_type types[] = {
    [T_CLASS] = {.name = "class", .size = sizeof(class), .trace = trace_class},
    [T_LIST] = {.name = "list", .size = sizeof(list), .trace = trace_list},
};
class *new_class(cradle_mutator *m) CRADLE_MAY_COLLECT;

static entry *find(entry *entries, int capacity, const pair *key) {
  for (int i = 0; i < capacity; i++)
    if (entries[i].key == key) return &entries[i];
  return entries;
}
static void grow(table *t) {
  entry *wider = malloc(16 * sizeof(entry));
  for (int i = 0; i < t->capacity; i++) {
    entry *into = find(wider, 16, t->entries[i].key);
    into->key = t->entries[i].key;
    into->found = t->entries[i].found;
  }
  t->entries = wider;
}
static bool set(table *t, pair *key, value v) {
  if (t->count == t->capacity) grow(t);
  entry *e = find(t->entries, t->capacity, key);
  bool is_new = e->key == NULL;
  e->key = key;
  e->found = v;
  e->hash = 7;
  return is_new;
}
static void set_all(const table *from, table *to) {
  for (int i = 0; i < from->capacity; i++) set(to, from->entries[i].key, from->entries[i].found);
}

void append(list *l, value v) {
  l->items[l->count++] = v; // expect: barrier trace callback
}
void by_a_local(cradle_mutator *m, list *l, value v) {
  value *items = l->items;
  items[0] = v; // expect: barrier trace callback
}
void through_a_function(class *c, pair *key, value v) {
  set(&c->methods, key, v); // expect: barrier 'set'
}
void through_two(class *from, class *to) {
  set_all(&from->methods, &to->methods); // expect: barrier 'set_all'
}
void of_another(cradle_mutator *m, class *c, class *other, pair *key, value v) {
  set(&c->methods, key, v); // expect: barrier 'set'
  cradle_write_barrier(m, other);
}
void too_early(cradle_mutator *m, class *c, pair *key, value v) {
  cradle_write_barrier(m, c);
  set(&c->methods, key, v); // expect: barrier 'set'
}
void whole_entry(class *c, const entry *e) {
  c->methods.entries[0] = *e; // expect: barrier trace callback
}

/* --- right --- */

void with_the_barrier(cradle_mutator *m, class *c, list *l, pair *key, value v) {
  set(&c->methods, key, v);
  cradle_write_barrier(m, c);
  l->items[0] = v;
  l->items[1] = v;
  cradle_write_barrier(m, l);
}
void of_a_root(pair *key, value v) {
  set(&vm.globals, key, v);
}
void only_a_root_callback_reports_it(fiber *f, value v) {
  f->stack[0] = v;
}
void fresh(cradle_mutator *m, pair *key, value v) {
  CRADLE_ROOT(m, key);
  class *c = new_class(m);
  set(&c->methods, key, 12);
}
void numbers(list *l, class *c) {
  l->items[0] = 12;
  l->items[0] = 0;
  c->methods.entries[0].hash = 9;
}
static void add(list *l, value v) {
  l->items[l->count++] = v;
}
void added(cradle_mutator *m, list *l, value v) {
  add(l, v);
  cradle_write_barrier(m, l);
}
