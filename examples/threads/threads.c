/* Threads: workers on one heap, which run programs of a small stack machine and share what they make.
 *
 *   threads [WORKERS [TASKS]]
 *
 * A feeder sends the numbers 1 to TASKS into a channel. Each worker takes numbers out of it and runs a program on each,
 * which makes a list: the Collatz sequence of the number. The worker counts the list's numbers in a map that all
 * workers share, and sends the list into a second channel. main takes the lists out of that and adds them up. What is
 * printed does not depend on which thread did what. docs/threads.md explains each step.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <cradle/cradle.h>
#include <cradle/runtime.h>

enum { WORKERS_MOST = 64, CHANNEL_ITEMS = 16, BUCKETS = 1024, STACK_WORDS = 2 };

typedef struct number {
  uint64_t header, value;
} number;
typedef struct list {
  uint64_t header;
  number *first;
  struct list *rest;
} list;
typedef struct entry {
  uint64_t header;
  struct entry *next;
  uint64_t key, count;
} entry;
typedef struct array {
  uint64_t header, length;
  void *item[];
} array;

enum { NUMBER, LIST, ENTRY, ARRAY, TYPES };
static const cradle_type types[TYPES] = {
    [NUMBER] = {.name = "number", .size = sizeof(number)},
    [LIST] = {.name = "list", .size = sizeof(list), .references = CRADLE_SLOT(list, first) | CRADLE_SLOT(list, rest)},
    [ENTRY] = {.name = "entry", .size = sizeof(entry), .references = CRADLE_SLOT(entry, next)},
    [ARRAY] = {.name = "array",
               .size = sizeof(array),
               .items = CRADLE_ITEMS_REFERENCES,
               .item_size = 8,
               .length_offset = offsetof(array, length)},
};

static cradle_heap *heap;

static _Noreturn void fail(const char *why) {
  fprintf(stderr, "threads: %s\n", why);
  exit(1);
}

static cradle_mutator *new_mutator(void) CRADLE_GRANTS_COLLECTION CRADLE_UNCHECKED_COLLECTION {
  cradle_mutator *m = cradle_mutator_new(heap);
  if (m == NULL) fail("no memory for a mutator");
  return m;
}

static number *new_number(cradle_mutator *m, uint64_t value) CRADLE_MAY_COLLECT {
  number *n = CRADLE_NEW(m, number, NUMBER);
  n->value = value;
  return n;
}

static void new_global_array(cradle_mutator *m, array **variable, uint64_t length) CRADLE_MAY_COLLECT {
  if (!cradle_global_root_add(heap, variable, CRADLE_KIND_REFERENCE)) fail("no memory for a root");
  *variable = CRADLE_NEW_ARRAY(m, array, ARRAY, item, length, length);
}

/* --- channels: the lock and what it guards lie outside of the heap, the items in it --- */

/* Whoever waits for a lock is parked, so a thread may allocate while it has one. */
static void lock(cradle_mutator *m, pthread_mutex_t *wanted) CRADLE_MAY_COLLECT {
  if (pthread_mutex_trylock(wanted) == 0) return;
  CRADLE_PARKED(m) pthread_mutex_lock(wanted);
}

typedef struct channel {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  array *items; /* a ring; a global root */
  uint64_t first, count;
  unsigned senders; /* that have not left; when none is left, receive returns NULL */
} channel;

static channel tasks = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
static channel lists = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void end_change(channel *c) {
  pthread_cond_broadcast(&c->changed);
  pthread_mutex_unlock(&c->lock);
}

static void send(cradle_mutator *m, channel *c, void *object) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(m, object);
  lock(m, &c->lock);
  while (c->count == CHANNEL_ITEMS) CRADLE_PARKED(m) pthread_cond_wait(&c->changed, &c->lock); /* may collect */
  cradle_store(m, c->items, &c->items->item[(c->first + c->count) % CHANNEL_ITEMS], object);
  c->count++;
  end_change(c);
}

static void *receive(cradle_mutator *m, channel *c) CRADLE_MAY_COLLECT {
  void *object = NULL;
  lock(m, &c->lock);
  while (c->count == 0 && c->senders > 0) CRADLE_PARKED(m) pthread_cond_wait(&c->changed, &c->lock);
  if (c->count > 0) {
    object = c->items->item[c->first];
    cradle_store(m, c->items, &c->items->item[c->first], NULL);
    c->first = (c->first + 1) % CHANNEL_ITEMS;
    c->count--;
  }
  end_change(c);
  return object;
}

static void leave_channel(cradle_mutator *m, channel *c) CRADLE_MAY_COLLECT {
  lock(m, &c->lock);
  c->senders--;
  end_change(c);
}

/* --- the map --- */

static array *buckets; /* a global root */
static pthread_mutex_t map_lock = PTHREAD_MUTEX_INITIALIZER;

static void count_number(cradle_mutator *m, uint64_t key) CRADLE_MAY_COLLECT {
  lock(m, &map_lock);
  entry *e = buckets->item[key % BUCKETS];
  while (e != NULL && e->key != key) e = e->next;
  if (e == NULL) {
    e = CRADLE_NEW(m, entry, ENTRY);
    e->key = key;
    e->next = buckets->item[key % BUCKETS]; /* read after the allocation, which may have moved it */
    cradle_store(m, buckets, &buckets->item[key % BUCKETS], e);
  }
  e->count++;
  pthread_mutex_unlock(&map_lock);
}

/* --- the machine: each thread has one, with a stack that is a root range --- */

typedef struct machine {
  cradle_mutator *m;
  const unsigned char *code;
  void *stack[STACK_WORDS], **base, **top;
  cradle_root_range range;
} machine;

/* The stack holds a list and a number. PREPEND makes the list longer by the number; RETURN_IF_ONE returns the list. */
typedef enum instruction { PREPEND, RETURN_IF_ONE, HALVE, TRIPLE, JUMP, JUMP_IF_ODD } instruction;
static unsigned char collatz[] = {PREPEND, RETURN_IF_ONE, JUMP_IF_ODD, 7, HALVE, JUMP, 0, TRIPLE, JUMP, 0};

static list *new_list(machine *v) CRADLE_MAY_COLLECT {
  list *made = CRADLE_NEW(v->m, list, LIST); /* fresh, so plain stores do */
  made->rest = v->top[-2];
  made->first = v->top[-1];
  return made;
}

static list *run(machine *v, number *argument) CRADLE_MAY_COLLECT {
  v->stack[0] = NULL;
  v->stack[1] = argument;
  for (const unsigned char *at = v->code;;) {
    uint64_t value = ((number *)v->top[-1])->value;
    switch ((instruction)*at++) {
    case PREPEND: v->top[-2] = new_list(v); break;
    case RETURN_IF_ONE:
      if (value == 1) return v->top[-2];
      break;
    case HALVE: v->top[-1] = new_number(v->m, value / 2); break;
    case TRIPLE: v->top[-1] = new_number(v->m, value * 3 + 1); break;
    case JUMP: at = v->code + *at; break;
    case JUMP_IF_ODD: at = value % 2 == 1 ? v->code + *at : at + 1; break;
    }
  }
}

/* --- the threads --- */

static void work(machine *v) CRADLE_MAY_COLLECT {
  for (number *task; (task = receive(v->m, &tasks)) != NULL;) {
    list *made = run(v, task), *at = made;
    CRADLE_ROOT(v->m, made);
    CRADLE_ROOT(v->m, at);
    for (; at != NULL; at = at->rest) count_number(v->m, at->first->value);
    send(v->m, &lists, made);
  }
  leave_channel(v->m, &lists);
}

static void *be_worker(void *code) {
  machine v = {.m = new_mutator(), .code = code};
  v.base = v.stack, v.top = v.stack + STACK_WORDS;
  v.range = CRADLE_ROOT_RANGE(v.base, v.top, CRADLE_KIND_REFERENCE, "machine");
  cradle_root_range_add(v.m, &v.range);
  work(&v);
  cradle_root_range_remove(v.m, &v.range);
  cradle_mutator_free(v.m);
  return NULL;
}

static void *be_feeder(void *count) {
  cradle_mutator *m = new_mutator();
  for (uint64_t i = 1; i <= *(uint64_t *)count; i++) send(m, &tasks, new_number(m, i));
  leave_channel(m, &tasks);
  cradle_mutator_free(m);
  return NULL;
}

static void print_sums(cradle_mutator *m) CRADLE_MAY_COLLECT {
  uintmax_t received = 0, numbers = 0, sum = 0, different = 0, counted = 0;
  for (list *one; (one = receive(m, &lists)) != NULL; received++)
    for (; one != NULL; one = one->rest, numbers++) sum += one->first->value; /* nothing here collects */
  for (size_t i = 0; i < BUCKETS; i++)
    for (const entry *e = buckets->item[i]; e != NULL; e = e->next, different++) counted += e->key * e->count;
  printf("%ju lists, %ju numbers, %ju different; sums %ju and %ju\n", received, numbers, different, sum, counted);
}

int main(int argc, char **argv) {
  unsigned workers = argc > 1 ? (unsigned)atoi(argv[1]) : 4;
  uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 10000;
  if (workers < 1 || workers > WORKERS_MOST) fail("1 to 64 workers");
  cradle_options options;
  cradle_error error;
  cradle_options_init(&options);
  options.types = types, options.type_count = TYPES;
  options.mutators = workers + 2; /* the feeder's, and main's */
  heap = cradle_heap_new_from_environment(&options, &error);
  if (heap == NULL) fail(error.message);
  cradle_mutator *m = new_mutator();
  tasks.senders = 1, lists.senders = workers;
  new_global_array(m, &tasks.items, CHANNEL_ITEMS);
  new_global_array(m, &lists.items, CHANNEL_ITEMS);
  new_global_array(m, &buckets, BUCKETS);
  pthread_t threads[WORKERS_MOST + 1];
  if (pthread_create(&threads[workers], NULL, be_feeder, &count) != 0) fail("a thread was refused");
  for (unsigned i = 0; i < workers; i++)
    if (pthread_create(&threads[i], NULL, be_worker, collatz) != 0) fail("a thread was refused");
  print_sums(m);
  CRADLE_PARKED(m) for (unsigned i = 0; i <= workers; i++) pthread_join(threads[i], NULL);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  return 0;
}
