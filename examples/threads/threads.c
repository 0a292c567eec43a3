/* Threads: a small virtual machine whose green threads run on several system threads, in one heap.
 *
 *   threads [WORKERS [TASKS]]
 *
 * A green thread is an object: its code, and two registers. WORKERS system threads take green threads from a queue, run
 * each for a while, and put it back. A green thread that must wait for a channel waits in the channel, and its worker
 * takes another; a worker without green threads parks. The program: a feeder sends the numbers 1 to TASKS into a
 * channel. Many green threads take numbers out, make a list of each (its Collatz sequence), count the list's numbers in
 * a map that needs no lock, and send the list into a second channel. The last green thread adds the lists up. What is
 * printed does not depend on who did what. docs/threads.md and docs/memory-model.md explain each step.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <cradle/cradle.h>
#include <cradle/runtime.h>

enum { WORKERS_MOST = 64, CHANNEL_ITEMS = 16, BUCKETS = 1024, GREEN_EACH = 4, SLICE = 200 };

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
/* A green thread. While it runs, only its worker uses it; else it is in the queue, or waits in a channel. */
typedef struct green {
  uint64_t header;
  struct green *next;
  void *a, *b; /* its registers */
  const unsigned char *at;
} green;

enum { NUMBER, LIST, ENTRY, ARRAY, GREEN, TYPES };
static const cradle_type types[TYPES] = {
    [NUMBER] = {.name = "number", .size = sizeof(number)},
    [LIST] = {.name = "list", .size = sizeof(list), .references = CRADLE_SLOT(list, first) | CRADLE_SLOT(list, rest)},
    [ENTRY] = {.name = "entry", .size = sizeof(entry), .references = CRADLE_SLOT(entry, next)},
    [ARRAY] = {.name = "array",
               .size = sizeof(array),
               .items = CRADLE_ITEMS_REFERENCES,
               .item_size = 8,
               .length_offset = offsetof(array, length)},
    [GREEN] = {.name = "green thread",
               .size = sizeof(green),
               .references = CRADLE_SLOT(green, next) | CRADLE_SLOT(green, a) | CRADLE_SLOT(green, b)},
};

static cradle_heap *heap;

static _Noreturn void fail(const char *why) {
  fprintf(stderr, "threads: %s\n", why);
  exit(1);
}

static cradle_mutator *new_mutator(const char *name) CRADLE_GRANTS_COLLECTION CRADLE_UNCHECKED_COLLECTION {
  cradle_mutator *m = cradle_mutator_new(heap);
  if (m == NULL) fail("no memory for a mutator");
  cradle_mutator_name(m, name); /* for the message about a thread that keeps a collection waiting */
  return m;
}

static void add_root(void *variable) {
  if (!cradle_global_root_add(heap, variable, CRADLE_KIND_REFERENCE)) fail("no memory for a root");
}

/* Whoever waits for a lock is parked, so a thread may allocate while it has one. */
static void lock(cradle_mutator *m, pthread_mutex_t *wanted) CRADLE_MAY_COLLECT {
  if (pthread_mutex_trylock(wanted) == 0) return;
  CRADLE_PARKED(m) pthread_mutex_lock(wanted);
}

/* --- the queue of green threads that can run: objects in a list, under a lock --- */

static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  green *first, *last; /* global roots */
  unsigned alive;      /* green threads that have not ended */
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Puts green threads, linked by next, at the end. */
static void let_run(cradle_mutator *m, green *chain) CRADLE_MAY_COLLECT {
  if (chain == NULL) return;
  CRADLE_ROOT(m, chain);
  lock(m, &queue.lock);
  if (queue.first == NULL)
    queue.first = chain;
  else
    cradle_store(m, queue.last, &queue.last->next, chain);
  for (queue.last = chain; queue.last->next != NULL;) queue.last = queue.last->next;
  pthread_cond_broadcast(&queue.changed);
  pthread_mutex_unlock(&queue.lock);
}

/* NULL: all have ended. */
static green *take_next(cradle_mutator *m) CRADLE_MAY_COLLECT {
  lock(m, &queue.lock);
  while (queue.first == NULL && queue.alive > 0)
    CRADLE_PARKED(m) pthread_cond_wait(&queue.changed, &queue.lock); /* may collect */
  green *g = queue.first;
  if (g != NULL) {
    queue.first = g->next;
    cradle_store(m, g, &g->next, NULL);
  }
  pthread_mutex_unlock(&queue.lock);
  return g;
}

static void end_green(cradle_mutator *m) CRADLE_MAY_COLLECT {
  lock(m, &queue.lock);
  if (--queue.alive == 0) pthread_cond_broadcast(&queue.changed);
  pthread_mutex_unlock(&queue.lock);
}

/* --- channels: a green thread that cannot go on waits in the channel, and repeats its instruction later --- */

typedef struct channel {
  pthread_mutex_t lock;
  array *items;   /* a ring; a global root */
  green *waiting; /* a global root */
  uint64_t first, count;
  unsigned senders; /* that have not left */
} channel;

enum { TASKS, LISTS, CHANNELS };
static channel channels[CHANNELS] = {
    [TASKS] = {.lock = PTHREAD_MUTEX_INITIALIZER}, [LISTS] = {.lock = PTHREAD_MUTEX_INITIALIZER}};

/* Under the lock. Once that is let go, another worker may run the green thread. */
static void wait_in(cradle_mutator *m, channel *c, green *g) {
  cradle_store(m, g, &g->next, c->waiting);
  c->waiting = g;
}
/* The channel has changed: lets go of it, and all that wait in it try again. */
static void end_change(cradle_mutator *m, channel *c) CRADLE_MAY_COLLECT {
  green *woken = c->waiting;
  c->waiting = NULL;
  pthread_mutex_unlock(&c->lock);
  let_run(m, woken);
}

/* false: g waits. */
static bool send(cradle_mutator *m, channel *c, green *g, void *object) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(m, g);
  CRADLE_ROOT(m, object);
  lock(m, &c->lock);
  if (c->count == CHANNEL_ITEMS) {
    wait_in(m, c, g);
    pthread_mutex_unlock(&c->lock);
    return false;
  }
  cradle_store(m, c->items, &c->items->item[(c->first + c->count) % CHANNEL_ITEMS], object);
  c->count++;
  end_change(m, c);
  return true;
}

/* Receives into register b; NULL: no sender is left. false: g waits. */
static bool receive(cradle_mutator *m, channel *c, green *g) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(m, g);
  lock(m, &c->lock);
  if (c->count == 0 && c->senders > 0) {
    wait_in(m, c, g);
    pthread_mutex_unlock(&c->lock);
    return false;
  }
  cradle_store(m, g, &g->b, c->count == 0 ? NULL : c->items->item[c->first]);
  if (c->count > 0) {
    cradle_store(m, c->items, &c->items->item[c->first], NULL);
    c->first = (c->first + 1) % CHANNEL_ITEMS;
    c->count--;
  }
  end_change(m, c);
  return true;
}

static void leave_channel(cradle_mutator *m, channel *c) CRADLE_MAY_COLLECT {
  lock(m, &c->lock);
  c->senders--;
  end_change(m, c);
}

/* --- numbers: equal ones are one object, found in a weak set that all threads use --- */

static cradle_weak_set *numbers;

static bool has_value(const void *object, const void *key) {
  return ((const number *)object)->value == *(const uint64_t *)key;
}

static number *number_of(cradle_mutator *m, uint64_t value) CRADLE_MAY_COLLECT {
  uint64_t hash = value * UINT64_C(0x9e3779b97f4a7c15) >> 20;
  number *known = cradle_weak_set_find(numbers, hash, has_value, &value);
  if (known != NULL) return known;
  number *mine = CRADLE_NEW(m, number, NUMBER);
  mine->value = value;
  return cradle_weak_set_find_or_add(numbers, hash, has_value, &value, mine); /* another's, if it was quicker */
}

/* --- the map: entries are only added, at the head of a bucket, so a compare-exchange is enough --- */

static array *buckets; /* a global root */

static entry *find_entry(entry *at, uint64_t key) {
  while (at != NULL && at->key != key) at = at->next;
  return at;
}

static void count_number(cradle_mutator *m, uint64_t key) CRADLE_MAY_COLLECT {
  entry *found = find_entry(cradle_load_acquire(&buckets->item[key % BUCKETS]), key);
  if (found == NULL) {
    entry *fresh = CRADLE_NEW(m, entry, ENTRY);
    fresh->key = key;
    void *slot = &buckets->item[key % BUCKETS]; /* after the allocation, which may have moved the buckets */
    do {
      fresh->next = cradle_load_acquire(slot); /* plain: nobody else knows the entry */
      found = find_entry(fresh->next, key);
    } while (found == NULL && !cradle_compare_exchange(m, buckets, slot, fresh->next, fresh));
    if (found == NULL) found = fresh;
  }
  __atomic_fetch_add(&found->count, 1, __ATOMIC_RELAXED); /* no reference: needs no barrier */
}

/* --- the machine --- */

/* Registers: a is a list, or the feeder's last number; b is a number or what was received. A letter stands for a byte
 * after the instruction: c is a channel, t the place in the code that is jumped to. */
typedef enum instruction {
  INCREMENT,     /* b += 1 */
  HALVE,         /* b /= 2 */
  TRIPLE,        /* b = 3 b + 1 */
  CLEAR,         /* a = the empty list */
  PREPEND,       /* a = b before a */
  COUNT,         /* counts b in the map */
  SUM,           /* adds up the list b */
  SEND_A,        /* c */
  SEND_B,        /* c */
  RECEIVE,       /* c: into b */
  LEAVE,         /* c */
  JUMP,          /* t */
  JUMP_IF_NULL,  /* t: b is NULL */
  JUMP_IF_EQUAL, /* t: b is a */
  JUMP_IF_ONE,   /* t: b is 1 */
  JUMP_IF_ODD,   /* t */
  END
} instruction;

/* t: how far from the byte itself. */
#define BACK(bytes) (unsigned char)(256 - (bytes))
static const unsigned char feed[] = {INCREMENT, SEND_B, TASKS, JUMP_IF_EQUAL, 3, JUMP, BACK(6), LEAVE, TASKS, END};
static const unsigned char collatz[] = {
    RECEIVE, TASKS,   JUMP_IF_NULL, 18,   CLEAR,    PREPEND, COUNT, JUMP_IF_ONE, 9,        JUMP_IF_ODD, 4,     HALVE,
    JUMP,    BACK(8), TRIPLE,       JUMP, BACK(11), SEND_A,  LISTS, JUMP,        BACK(20), LEAVE,       LISTS, END};
static const unsigned char add_up[] = {RECEIVE, LISTS, JUMP_IF_NULL, 4, SUM, JUMP, BACK(6), END};

static uint64_t value_of(const void *object) {
  return ((const number *)object)->value;
}

static void set_number(cradle_mutator *m, green *g, uint64_t value) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(m, g);
  number *n = number_of(m, value);
  cradle_store(m, g, &g->b, n);
}

static void prepend(cradle_mutator *m, green *g) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(m, g);
  list *made = CRADLE_NEW(m, list, LIST);
  made->first = g->b; /* fresh, so plain stores do */
  made->rest = g->a;
  cradle_store(m, g, &g->a, made);
}

static struct {
  uintmax_t lists, numbers, sum;
} sums; /* one green thread's; the queue's lock orders the workers that run it */

static void add_list(const list *one) {
  for (sums.lists++; one != NULL; one = one->rest, sums.numbers++) sums.sum += one->first->value;
}

static void jump(green *g, bool jumps) {
  g->at += jumps ? 1 + (signed char)g->at[1] : 2;
}

/* Runs g for a while. */
static void run(cradle_mutator *m, green *g) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(m, g);
  for (int i = 0; i < SLICE; i++) {
    const unsigned char *at = g->at;
    switch ((instruction)*at) {
    case INCREMENT: set_number(m, g, value_of(g->b) + 1), g->at++; break;
    case HALVE: set_number(m, g, value_of(g->b) / 2), g->at++; break;
    case TRIPLE: set_number(m, g, value_of(g->b) * 3 + 1), g->at++; break;
    case CLEAR: cradle_store(m, g, &g->a, NULL), g->at++; break;
    case PREPEND: prepend(m, g), g->at++; break;
    case COUNT: count_number(m, value_of(g->b)), g->at++; break;
    case SUM: add_list(g->b), g->at++; break;
    case SEND_A:
    case SEND_B:
      if (!send(m, &channels[at[1]], g, *at == SEND_A ? g->a : g->b)) return;
      g->at += 2;
      break;
    case RECEIVE:
      if (!receive(m, &channels[at[1]], g)) return;
      g->at += 2;
      break;
    case LEAVE: leave_channel(m, &channels[at[1]]), g->at += 2; break;
    case JUMP: jump(g, true); break;
    case JUMP_IF_NULL: jump(g, g->b == NULL); break;
    case JUMP_IF_EQUAL: jump(g, g->b == g->a); break;
    case JUMP_IF_ONE: jump(g, value_of(g->b) == 1); break;
    case JUMP_IF_ODD: jump(g, value_of(g->b) % 2 == 1); break;
    case END: end_green(m); return;
    }
  }
  let_run(m, g);
}

static void *be_worker(void *nothing) {
  (void)nothing;
  cradle_mutator *m = new_mutator("worker");
  for (green *g; (g = take_next(m)) != NULL;) run(m, g);
  cradle_mutator_free(m);
  return NULL;
}

/* --- the program --- */

static void start_green(cradle_mutator *m, const unsigned char *code, uint64_t last) CRADLE_MAY_COLLECT {
  green *g = CRADLE_NEW(m, green, GREEN);
  g->at = code;
  CRADLE_ROOT(m, g);
  number *n = number_of(m, last);
  cradle_store(m, g, &g->a, n);
  n = number_of(m, 0);
  cradle_store(m, g, &g->b, n);
  queue.alive++; /* no worker runs yet */
  let_run(m, g);
}

static void open_channel(cradle_mutator *m, channel *c, unsigned senders) CRADLE_MAY_COLLECT {
  add_root(&c->items), add_root(&c->waiting);
  c->items = CRADLE_NEW_ARRAY(m, array, ARRAY, item, length, CHANNEL_ITEMS);
  c->senders = senders;
}

static void start_all(cradle_mutator *m, unsigned greens, uint64_t count) CRADLE_MAY_COLLECT {
  numbers = cradle_weak_set_new(m, NULL, NULL);
  if (numbers == NULL) fail("no memory for a weak set");
  add_root(&queue.first), add_root(&queue.last), add_root(&buckets);
  buckets = CRADLE_NEW_ARRAY(m, array, ARRAY, item, length, BUCKETS);
  open_channel(m, &channels[TASKS], 1);
  open_channel(m, &channels[LISTS], greens);
  start_green(m, feed, count);
  for (unsigned i = 0; i < greens; i++) start_green(m, collatz, 0);
  start_green(m, add_up, 0);
}

static void print_sums(void) {
  uintmax_t different = 0, counted = 0;
  for (size_t i = 0; i < BUCKETS; i++)
    for (const entry *e = buckets->item[i]; e != NULL; e = e->next, different++) counted += e->key * e->count;
  printf("%ju lists, %ju numbers, %ju different; sums %ju and %ju\n", sums.lists, sums.numbers, different, sums.sum,
         counted);
}

int main(int argc, char **argv) {
  unsigned workers = argc > 1 ? (unsigned)atoi(argv[1]) : 4;
  uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 10000;
  if (workers < 1 || workers > WORKERS_MOST || count < 1) fail("1 to 64 workers, and at least one task");
  cradle_options options;
  cradle_error error;
  cradle_options_init(&options);
  options.types = types, options.type_count = TYPES;
  options.mutators = workers + 1; /* and main's */
  heap = cradle_heap_new_from_environment(&options, &error);
  if (heap == NULL) fail(error.message);
  cradle_mutator *m = new_mutator("main");
  start_all(m, workers * GREEN_EACH, count);
  pthread_t threads[WORKERS_MOST];
  for (unsigned i = 0; i < workers; i++)
    if (pthread_create(&threads[i], NULL, be_worker, NULL) != 0) fail("a thread was refused");
  CRADLE_PARKED(m) for (unsigned i = 0; i < workers; i++) pthread_join(threads[i], NULL);
  print_sums();
  cradle_weak_set_free(numbers);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  return 0;
}
