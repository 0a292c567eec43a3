/* Tests heaps in many threads. Each thread makes, uses and frees its own heaps at the same time; a mutator is handed
 * from thread to thread; and a thread requests a safepoint of another thread's mutator. Built with ThreadSanitizer,
 * this test shows that heaps share nothing. If a request is lost, the test hangs until its time limit.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cradle/cradle.h>

enum { T_PAIR, T_ARRAY, T_WEAK, T_COUNT };
typedef struct pair {
  uint64_t header;
  struct pair *next;
  uint64_t number;
} pair;
typedef struct array {
  uint64_t header, length;
  pair *item[];
} array;
static const cradle_type types[T_COUNT] = {
    [T_PAIR] = {.name = "pair", .size = sizeof(pair), .references = CRADLE_SLOT(pair, next)},
    [T_ARRAY] = {.name = "array",
                 .size = sizeof(array),
                 .items = CRADLE_ITEMS_REFERENCES,
                 .item_size = 8,
                 .length_offset = offsetof(array, length)},
    [T_WEAK] = {.name = "weak", .size = 16, .weak = 1 << 1},
};

enum { THREADS = 4, HEAPS = 3, ITEMS = 200, ROUNDS = 20, REQUESTS = 200, HANDS = 20 };

static void require(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "test_threads: %s\n", what);
  exit(1);
}

static void *checked(void *memory, const char *what) {
  require(memory != NULL, what);
  return memory;
}

static cradle_heap *new_heap(void) {
  cradle_options options;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = T_COUNT;
  options.nursery_bytes = 64 << 10;
  options.heap_max_bytes = (size_t)64 << 20;
  options.reserve_bytes = (size_t)1 << 30; /* emulators have little address space for many heaps */
  cradle_error error = {.message = ""};
  return checked(cradle_heap_new(&options, &error), error.message);
}

/* --- heaps of their own --- */

static pair *push(cradle_mutator *m, pair *list, uint64_t number) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(m, list);
  pair *fresh = cradle_new(m, T_PAIR, sizeof(pair));
  fresh->next = list;
  fresh->number = number;
  return fresh;
}

static uint64_t sum(const array *all) {
  uint64_t total = 0;
  for (uint64_t i = 0; i < all->length; i++)
    for (const pair *p = all->item[i]; p != NULL; p = p->next) total += p->number;
  return total;
}

/* Keeps lists in an array that becomes old, so there are stores into old objects and collections of each kind. */
static uint64_t work(cradle_mutator *m, uint64_t seed) CRADLE_MAY_COLLECT {
  array *all = cradle_new_array(m, T_ARRAY, ITEMS);
  CRADLE_ROOT(m, all);
  for (uint64_t round = 0; round < ROUNDS; round++) {
    for (uint64_t i = 0; i < ITEMS; i++) {
      pair *longer = push(m, round % 7 == 6 ? NULL : all->item[i], seed + i * round);
      cradle_store(m, all, &all->item[i], longer);
    }
    if (round == ROUNDS / 3) cradle_collect(m, CRADLE_COLLECT_FULL);
    if (round == ROUNDS / 2) cradle_collect(m, CRADLE_COLLECT_COMPACTING);
  }
  return sum(all);
}

/* The sum that work must return, computed without a heap. */
static uint64_t expected(uint64_t seed) {
  uint64_t total = 0;
  for (uint64_t round = ROUNDS - ROUNDS % 7 - 1; round < ROUNDS; round++)
    for (uint64_t i = 0; i < ITEMS; i++) total += seed + i * round;
  return total;
}

static void *use_heaps(void *data) {
  uint64_t seed = (uint64_t)(uintptr_t)data;
  for (int i = 0; i < HEAPS; i++) {
    cradle_heap *heap = new_heap();
    cradle_mutator *m = cradle_mutator_new(heap);
    require(m != NULL, "no memory for a mutator");
    require(work(m, seed + (uint64_t)i) == expected(seed + (uint64_t)i), "a heap's sum is wrong");
    cradle_error error;
    require(cradle_heap_verify(heap, &error), "a heap is not sound");
    cradle_mutator_free(m);
    cradle_heap_free(heap);
  }
  return NULL;
}

static void threads_have_heaps_of_their_own(void) {
  pthread_t threads[THREADS];
  for (uintptr_t i = 0; i < THREADS; i++)
    require(pthread_create(&threads[i], NULL, use_heaps, (void *)(i * 1000)) == 0, "no thread");
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

/* --- a request from another thread --- */

typedef struct asked {
  cradle_heap *heap;
  _Atomic(cradle_mutator *) mutator;
  _Atomic uint64_t served; /* minor collections so far */
  atomic_bool enough;
  int way;
} asked;
enum { POLLS, ALLOCATES, REGISTERS, WAYS }; /* each of these ways serves a request */

static uint64_t minors(cradle_heap *heap) {
  cradle_statistics stats;
  cradle_heap_statistics(heap, &stats, sizeof stats);
  return stats.minor_collections;
}

static void *serve(void *data) {
  asked *a = data;
  cradle_mutator *m = cradle_mutator_new(a->heap);
  require(m != NULL, "no memory for a mutator");
  atomic_store(&a->mutator, m);
  while (!atomic_load(&a->enough)) {
    if (a->way == POLLS) cradle_safepoint(m);
    if (a->way == ALLOCATES) cradle_new(m, T_PAIR, sizeof(pair));
    if (a->way == REGISTERS) cradle_new_registered(m, T_WEAK, 16);
    atomic_store(&a->served, minors(a->heap));
  }
  cradle_mutator_free(m);
  return NULL;
}

static void no_request_is_lost(int way) {
  asked a = {.heap = new_heap(), .way = way};
  pthread_t thread;
  require(pthread_create(&thread, NULL, serve, &a) == 0, "no thread");
  cradle_mutator *m;
  while ((m = atomic_load(&a.mutator)) == NULL) sched_yield();
  for (int i = 0; i < REQUESTS; i++) {
    uint64_t before = atomic_load(&a.served);
    cradle_safepoint_request(m);
    while (atomic_load(&a.served) == before) sched_yield();
  }
  atomic_store(&a.enough, true);
  pthread_join(thread, NULL);
  cradle_heap_free(a.heap);
}

/* --- handed from thread to thread --- */

typedef struct handed {
  cradle_mutator *m;
  pair *list;
} handed;

static void *add_one(void *data) {
  handed *h = data;
  cradle_mutator_attach(h->m);
  h->list = push(h->m, h->list, 1);
  cradle_collect(h->m, CRADLE_COLLECT_MINOR);
  cradle_mutator_detach(h->m);
  return NULL;
}

static void a_mutator_is_handed_on(void) {
  cradle_heap *heap = new_heap();
  handed h = {.m = cradle_mutator_new(heap)};
  require(h.m != NULL, "no memory for the mutator");
  cradle_global_root_add(heap, &h.list, CRADLE_KIND_REFERENCE);
  cradle_mutator_detach(h.m);
  for (int i = 0; i < HANDS; i++) {
    pthread_t thread;
    require(pthread_create(&thread, NULL, add_one, &h) == 0, "no thread");
    pthread_join(thread, NULL);
  }
  cradle_mutator_attach(h.m);
  int count = 0;
  for (const pair *p = h.list; p != NULL; p = p->next) count++;
  require(count == HANDS, "a list that many threads built is too short");
  cradle_mutator_free(h.m);
  cradle_heap_free(heap);
}

/* --- threads that end --- */

enum { RETURNS, EXITS, IS_CANCELLED, FREES_LATE, ENDINGS };
typedef struct left {
  cradle_heap *heap;
  cradle_mutator *m;
  pair *list;
  int ending;
  bool freed;
} left;

/* A key's destructor of the program, which may run after the library's. */
static pthread_key_t late_key;
static void free_late(void *data) {
  left *l = data;
  l->list = push(l->m, l->list, 1);
  cradle_mutator_free(l->m);
  l->freed = true;
}

/* The scoped root and the region end with the thread; the shadow stack stays. Without AddressSanitizer's marks, which a
 * cancelled thread leaves on its stack, where the sanitizer's own destructor then meets them. */
__attribute__((no_sanitize_address)) static void *leave(void *data) {
  left *l = data;
  l->heap = new_heap();
  l->m = cradle_mutator_new(l->heap);
  pair *on_stack = push(l->m, NULL, 1);
  CRADLE_ROOT(l->m, on_stack);
  l->list = push(l->m, on_stack, 2);
  cradle_global_root_add(l->heap, &l->list, CRADLE_KIND_REFERENCE);
  if (l->ending == FREES_LATE)
    (void)pthread_setspecific(late_key, l);
  else
    cradle_push(l->m, l->list);
  if (l->ending == EXITS) pthread_exit(NULL);
  if (l->ending != IS_CANCELLED) return NULL;
  for (;;) {
    pthread_testcancel();
    struct timespec moment = {0, 1000000};
    (void)nanosleep(&moment, NULL);
  }
}

static void overwrite_the_stack_of_a_thread(void) {
  pthread_t thread;
  left l = {.ending = RETURNS};
  require(pthread_create(&thread, NULL, leave, &l) == 0, "no thread");
  pthread_join(thread, NULL);
  cradle_mutator_free(l.m); /* with words on its shadow stack */
  cradle_heap_free(l.heap);
}

static void a_thread_ends(int ending, int way) {
  pthread_t thread;
  left l = {.ending = ending};
  require(pthread_create(&thread, NULL, leave, &l) == 0, "no thread");
  if (ending == IS_CANCELLED) {
    struct timespec moment = {0, 50000000};
    (void)nanosleep(&moment, NULL);
    require(pthread_cancel(thread) == 0, "not cancelled");
  }
  pthread_join(thread, NULL);
  if (ending == FREES_LATE) {
    require(l.freed, "a key's destructor did not run, or could not use the mutator");
    cradle_heap_free(l.heap);
    return;
  }
  if (way == 0) cradle_mutator_detach(l.m);
  if (way <= 1) {
    overwrite_the_stack_of_a_thread();
    cradle_mutator_attach(l.m);
    l.list = push(l.m, l.list, 3);
    cradle_collect(l.m, CRADLE_COLLECT_COMPACTING);
    const pair *word = cradle_pop(l.m);
    require(word->number == 2 && l.list->next == word && word->next->number == 1, "the shadow stack was lost");
  }
  cradle_mutator_free(l.m);
  cradle_heap_free(l.heap);
}

int main(void) {
  threads_have_heaps_of_their_own();
  for (int way = 0; way < WAYS; way++) no_request_is_lost(way);
  a_mutator_is_handed_on();
  require(pthread_key_create(&late_key, free_late) == 0, "no key");
  for (int ending = 0; ending < ENDINGS; ending++)
    for (int way = 0; way < 3; way++) a_thread_ends(ending, way);
  puts("ok");
  return 0;
}
