/* Tests several mutators on one heap: each thread keeps lists of its own, all share an array behind a lock that they
 * wait for while they are parked, and threads come and go. Every collection is verified, and what the lists hold is
 * compared with what they must hold. Built with ThreadSanitizer, it shows that what mutators share is ordered.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cradle/cradle.h>

enum { T_PAIR, T_ARRAY, T_BYTES, T_COUNT };
typedef struct pair {
  uint64_t header;
  struct pair *next;
  uint64_t number;
} pair;
typedef struct array {
  uint64_t header, length;
  pair *item[];
} array;
typedef struct bytes {
  uint64_t header, length;
  unsigned char byte[];
} bytes;
static const cradle_type types[T_COUNT] = {
    [T_PAIR] = {.name = "pair", .size = sizeof(pair), .references = CRADLE_SLOT(pair, next)},
    [T_ARRAY] = {.name = "array",
                 .size = sizeof(array),
                 .items = CRADLE_ITEMS_REFERENCES,
                 .item_size = 8,
                 .length_offset = offsetof(array, length)},
    [T_BYTES] = {.name = "bytes",
                 .size = sizeof(bytes),
                 .items = CRADLE_ITEMS_BYTES,
                 .item_size = 1,
                 .length_offset = offsetof(bytes, length)},
};

enum { THREADS = 4, LIVES = 3, ITEMS = 200, ROUNDS = 30, SHARED_ITEMS = 64 };

static void require(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "test_world: %s\n", what);
  exit(1);
}

/* What a thread of the test gets. */
typedef struct shared {
  cradle_heap *heap;
  pthread_mutex_t lock; /* of the array that all share, a global root */
  array *all;
  atomic_uint births;
} shared;

/* --- one thread's work --- */

static pair *push(cradle_mutator *m, pair *list, uint64_t number) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(m, list);
  pair *fresh = cradle_new(m, T_PAIR, sizeof(pair));
  fresh->next = list;
  fresh->number = number;
  return fresh;
}

/* Waits for the lock as a program must: parked. */
static void take_lock(cradle_mutator *m, pthread_mutex_t *lock) CRADLE_MAY_COLLECT {
  if (pthread_mutex_trylock(lock) == 0) return;
  CRADLE_PARKED(m)(void) pthread_mutex_lock(lock);
}

/* Stores a list of its own into the array of all, and checks another: a list's numbers are equal, and as many. */
static void exchange(shared *s, cradle_mutator *m, uint64_t number) CRADLE_MAY_COLLECT {
  pair *list = NULL;
  CRADLE_ROOT(m, list);
  for (uint64_t i = 0; i <= number % 7; i++) list = push(m, list, number);
  take_lock(m, &s->lock);
  cradle_store(m, s->all, &s->all->item[number % SHARED_ITEMS], list);
  const pair *other = s->all->item[number * 31 % SHARED_ITEMS];
  uint64_t length = 0, first = other == NULL ? 0 : other->number;
  for (; other != NULL; other = other->next, length++) require(other->number == first, "a shared list has mixed");
  require(length == 0 || length == first % 7 + 1, "a shared list has another length");
  (void)pthread_mutex_unlock(&s->lock);
}

static void work(shared *s, cradle_mutator *m, uint64_t seed) CRADLE_MAY_COLLECT {
  array *mine = cradle_new_array(m, T_ARRAY, ITEMS);
  CRADLE_ROOT(m, mine);
  for (uint64_t round = 0; round < ROUNDS; round++) {
    for (uint64_t i = 0; i < ITEMS; i++) {
      pair *longer = push(m, round % 7 == 6 ? NULL : mine->item[i], seed + i);
      cradle_store(m, mine, &mine->item[i], longer);
    }
    bytes *large = cradle_new_array(m, T_BYTES, (size_t)40 << 10);
    large->byte[large->length - 1] = 1;
    exchange(s, m, seed + round);
    if (round == ROUNDS / 3) cradle_collect(m, CRADLE_COLLECT_FULL);
    if (round == ROUNDS / 2) cradle_collect(m, CRADLE_COLLECT_COMPACTING);
    cradle_handle handle = cradle_handle_new(m, mine->item[round]);
    cradle_collect(m, CRADLE_COLLECT_MINOR);
    require(cradle_handle_get(m, handle) == mine->item[round], "a handle lost its object");
    cradle_handle_free(m, handle);
  }
  for (uint64_t i = 0; i < ITEMS; i++) {
    uint64_t length = 0;
    for (const pair *p = mine->item[i]; p != NULL; p = p->next, length++)
      require(p->number == seed + i, "a list of the thread's own has another's number");
    require(length == (ROUNDS - 1) % 7 + (ROUNDS - 1 < 7 ? 1 : 2), "a list of the thread's own has another length");
  }
}

static void *live(void *data) {
  shared *s = data;
  for (int i = 0; i < LIVES; i++) {
    cradle_mutator *m = cradle_mutator_new(s->heap);
    work(s, m, 1000 * (1 + atomic_fetch_add(&s->births, 1)));
    cradle_mutator_free(m);
  }
  return NULL;
}

/* --- the test --- */

static cradle_heap *new_heap(bool verify, uint64_t stress, uint32_t gc_threads) {
  cradle_options options;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = T_COUNT;
  options.mutators = THREADS + 1;
  options.nursery_bytes = 512 << 10;
  options.verify = verify;
  options.stress_period = stress;
  options.gc_threads = gc_threads;
  options.reserve_bytes = (size_t)1 << 30;
  cradle_error error = {.message = ""};
  cradle_heap *heap = cradle_heap_new(&options, &error);
  require(heap != NULL, error.message);
  return heap;
}

static void run(bool verify, uint64_t stress, uint32_t gc_threads) {
  shared s = {.heap = new_heap(verify, stress, gc_threads)};
  pthread_t threads[THREADS];
  (void)pthread_mutex_init(&s.lock, NULL);
  cradle_mutator *m = cradle_mutator_new(s.heap);
  s.all = cradle_new_array(m, T_ARRAY, SHARED_ITEMS);
  cradle_global_root_add(s.heap, &s.all, CRADLE_KIND_REFERENCE);
  for (int i = 0; i < THREADS; i++) require(pthread_create(&threads[i], NULL, live, &s) == 0, "no thread");
  CRADLE_PARKED(m) for (int i = 0; i < THREADS; i++)(void) pthread_join(threads[i], NULL);
  cradle_error error = {.message = ""};
  require(cradle_heap_verify(s.heap, &error), error.message);
  cradle_global_root_remove(s.heap, &s.all);
  cradle_mutator_free(m);
  cradle_heap_free(s.heap);
  (void)pthread_mutex_destroy(&s.lock);
}

int main(void) {
  run(false, 0, 0);
  run(true, 0, 0);
  run(false, 0, 1);
  run(false, 97, 0);
  return 0;
}
