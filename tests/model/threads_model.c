/* Compares a heap that several threads use with a model of it (threads_model.h).
 *
 * Arguments: --threads K --seed N --ops N --nursery BYTES --verify 1 --stress N --gc-threads N --turns N. Without a
 * seed, several seeds and settings are run. The first difference ends the program, which prints the seed, the worker
 * and its operation. Threads run as the machine lets them, so a run need not fail again.
 *
 * --turns is the seed of an order: one mutator runs at a time (gc/turns.h). Such a run is made twice, and must be the
 * same; a third has another order.
 */
#include "tests/model/threads_model.h"

#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS(structure, bytes) \
  .size = sizeof(structure), .item_size = (bytes), .length_offset = offsetof(structure, length)

const cradle_type model_types[T_COUNT] = {
    [T_NODE] = {.name = "node", .size = sizeof(node), .references = CRADLE_SLOT(node, left) | CRADLE_SLOT(node, right)},
    [T_ARRAY] = {.name = "array", ITEMS(array, 8), .items = CRADLE_ITEMS_REFERENCES},
    [T_BYTES] = {.name = "bytes", ITEMS(bytes, 1), .items = CRADLE_ITEMS_BYTES},
    [T_WEAK] = {.name = "weak", .size = sizeof(link), .weak = CRADLE_SLOT(link, to)},
    [T_WEAKS] = {.name = "weaks", ITEMS(array, 8), .items = CRADLE_ITEMS_WEAK},
    [T_FINAL] = {.name = "final", .size = sizeof(link), .references = CRADLE_SLOT(link, to), .finalizer = 1},
    [T_KEY] = {.name = "key", .size = sizeof(object)},
};

enum { COMPARE_PERIOD = 256 };

void require(const worker *w, bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "threads_model: %s\n  seed %llu, worker %u of %u, operation %llu: %s\n", what,
          (unsigned long long)w->s->seed, w->number, w->s->threads, (unsigned long long)w->op,
          w->operation == NULL ? "none" : w->operation);
  abort();
}

uint64_t draw(uint64_t *random) {
  uint64_t word = *random += UINT64_C(0x9e3779b97f4a7c15);
  word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
  return word ^ (word >> 31);
}
uint64_t below(worker *w, uint64_t bound) {
  return draw(&w->random) % bound;
}

void take_lock(worker *w, pthread_mutex_t *lock) {
  if (pthread_mutex_trylock(lock) == 0) return;
  CRADLE_PARKED(w->m)(void) pthread_mutex_lock(lock);
}

/* --- turns --- */

static void add(shared *s, uint64_t number) {
  s->trace = (s->trace ^ number) * UINT64_C(0x100000001b3);
}

/* What must be the same each time: what the heap did, but not when and where. */
static void hear(void *data, const cradle_event *event) {
  shared *s = data;
  if (!s->turns) return;
  if (event->kind == CRADLE_EVENT_MINOR_END) {
    const uint64_t numbers[] = {
        event->u.minor.cause,          event->u.minor.nursery_bytes, event->u.minor.promoted_objects,
        event->u.minor.promoted_bytes, event->u.minor.remembered,    event->u.minor.recorded,
        event->u.minor.used_before,    event->u.minor.used_after};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) add(s, numbers[i]);
  } else if (event->kind == CRADLE_EVENT_STEP_END) {
    add(s, event->u.step.marked_objects);
    add(s, event->u.step.freed_objects);
  } else if (event->kind == CRADLE_EVENT_NOTE) {
    fprintf(stderr, "threads_model: %s\n", event->u.note.text);
  }
}

/* --- the life of a thread --- */

/* Whether other workers may ask the mutator for a safepoint. */
static void show(worker *w, cradle_mutator *shown) {
  take_lock(w, &w->s->workers_lock);
  w->shown = shown;
  (void)pthread_mutex_unlock(&w->s->workers_lock);
}

/* A mutator of the worker's own: a new one, or what the last thread has left. */
static void get_mutator(worker *w) {
  w->births++;
  if (w->left == NULL) {
    w->m = cradle_mutator_new(w->s->heap);
    require(w, w->m != NULL, "no memory for a mutator");
  } else {
    w->m = w->left;
    if (w->left_by_end && below(w, 2) == 0) {
      cradle_mutator_free(w->m);
      w->m = cradle_mutator_new(w->s->heap);
      w->depth = 0;
    } else
      cradle_mutator_attach(w->m);
  }
  w->left = NULL;
}

static void operate(worker *w) {
  if (below(w, 5) != 0)
    private_step(w);
  else
    shared_step(w);
  w->op++;
  w->operation = "compare";
  if (w->op % COMPARE_PERIOD == 0) private_compare(w);
}

/* The mutator goes on to the next thread, with the variables on its shadow stack. */
static void detach_with_variables(worker *w, const cradle_scope *scopes) {
  for (int i = 0; i < VARIABLES; i++) cradle_push(w->m, w->roots[i]);
  for (int i = VARIABLES; i-- > 0;) cradle_scope_close(&scopes[i]);
  w->left_by_end = false;
  w->left = w->m;
  cradle_mutator_detach(w->m);
}

/* Its scopes may end before or after. */
static void free_mutator(worker *w, const cradle_scope *scopes) {
  bool late = below(w, 2) == 0;
  cradle_pop_many(w->m, w->depth);
  w->depth = 0;
  private_forget(w);
  for (int i = VARIABLES; i-- > 0 && !late;) cradle_scope_close(&scopes[i]);
  cradle_mutator_free(w->m);
  for (int i = VARIABLES; i-- > 0 && late;) cradle_scope_close(&scopes[i]);
}

/* The thread ends with its mutator attached, perhaps parked: then a collection may look at its scoped roots after the
 * frame that has them is gone, so these are closed. */
static void leave_mutator(worker *w, const cradle_scope *scopes) {
  private_forget(w);
  w->left_by_end = true;
  w->left = w->m;
  if (below(w, 2) == 0) return;
  for (int i = VARIABLES; i-- > 0;) cradle_scope_close(&scopes[i]);
  cradle_mutator_park(w->m);
}

static void end_life(worker *w, const cradle_scope *scopes) {
  w->operation = "end of a thread";
  private_compare(w);
  if (w->op >= w->s->ops) private_empty(w);
  show(w, NULL);
  uint64_t how = w->op >= w->s->ops ? 0 : below(w, 3);
  if (how == 0)
    free_mutator(w, scopes);
  else if (how == 1)
    detach_with_variables(w, scopes);
  else
    leave_mutator(w, scopes);
}

static void *live(void *data) {
  worker *w = data;
  void *roots[VARIABLES] = {NULL};
  cradle_scope scopes[VARIABLES];
  bool handed_over = w->left != NULL && !w->left_by_end;
  w->operation = "birth of a thread";
  w->roots = roots;
  get_mutator(w);
  for (int i = 0; i < VARIABLES; i++) scopes[i] = cradle_scope_open(w->m, &roots[i], CRADLE_KIND_REFERENCE, "variable");
  for (int i = VARIABLES; i-- > 0 && handed_over;) roots[i] = cradle_pop(w->m);
  show(w, w->m);
  for (uint64_t left = 1 + below(w, 8000); left > 0 && w->op < w->s->ops; left--) {
    if (w->s->turns) add(w->s, w->number); /* alone */
    operate(w);
  }
  end_life(w, scopes);
  return NULL;
}

/* The threads of a worker, one after the other. */
static void *work(void *data) {
  worker *w = data;
  pthread_t thread;
  while (w->op < w->s->ops) {
    require(w, pthread_create(&thread, NULL, live, w) == 0, "no thread");
    atomic_store(&w->begun, true);
    (void)pthread_join(thread, NULL);
  }
  return NULL;
}

/* --- a run --- */

typedef struct settings {
  uint64_t threads, seed, ops, nursery, verify, stress, gc_threads, turns;
} settings;
typedef struct sums {
  uint64_t operations, walks, births, drained, minors, majors, stops, moved;
} sums;

static cradle_heap *new_heap(const settings *of, shared *s) {
  cradle_options options;
  cradle_options_init(&options);
  options.types = model_types;
  options.type_count = T_COUNT;
  options.mutators = of->threads + 1;
  options.nursery_bytes = of->nursery;
  options.verify = of->verify != 0;
  options.stress_period = of->stress;
  if (of->stress != 0) options.stress_major = 20, options.stress_seed = of->seed;
  options.gc_threads = (uint32_t)of->gc_threads;
  options.reserve_bytes = (size_t)1 << 30;
  options.major_min_bytes = (size_t)1 << 20;
  options.major_age_ns = 0;
  options.pause_ns = of->seed % 2 == 0 ? 0 : 1000000;
  options.stress_turns = of->turns;
  /* On a busy machine a thread may have to wait so long for its processor that it seems to wait for nobody. */
  if (of->turns != 0) options.stop_report_ns = 60 * UINT64_C(1000000000);
  options.listener = (cradle_listener){hear, s};
  cradle_error error = {.message = ""};
  cradle_heap *heap = cradle_heap_new(&options, &error);
  if (heap == NULL) fprintf(stderr, "threads_model: %s\n", error.message), exit(1);
  return heap;
}

static void add_up(sums *sum, const shared *s) {
  cradle_statistics now;
  cradle_heap_statistics(s->heap, &now, sizeof now);
  sum->minors += now.minor_collections;
  sum->majors += now.major_collections;
  sum->stops += now.stops;
  sum->moved += now.moved_objects;
  for (uint32_t i = 0; i < s->threads; i++) {
    sum->operations += s->workers[i].op;
    sum->walks += s->workers[i].walks;
    sum->births += s->workers[i].births;
    sum->drained += s->workers[i].drained;
  }
}

static void run_workers(shared *s, worker *w) {
  pthread_t *threads = calloc(s->threads, sizeof *threads);
  require(w, threads != NULL, "no memory for the threads");
  for (uint32_t i = 0; i < s->threads; i++) {
    require(w, pthread_create(&threads[i], NULL, work, &s->workers[i]) == 0, "no thread");
    while (s->turns && !atomic_load(&s->workers[i].begun)) (void)sched_yield(); /* threads come in the same order */
  }
  CRADLE_PARKED(w->m) {
    for (uint32_t i = 0; i < s->threads; i++) (void)pthread_join(threads[i], NULL);
  }
  free(threads);
}

/* Returns the trace of the run. */
static uint64_t run(const settings *of, sums *sum) {
  shared s = {.seed = of->seed, .ops = of->ops, .threads = (uint32_t)of->threads, .turns = of->turns != 0};
  s.heap = new_heap(of, &s);
  worker first = {.s = &s, .number = (uint32_t)of->threads, .random = of->seed};
  s.workers = calloc(s.threads, sizeof *s.workers);
  require(&first, s.workers != NULL, "no memory for the workers");
  for (uint32_t i = 0; i < s.threads; i++)
    s.workers[i] = (worker){.s = &s, .number = i, .random = of->seed * 1000003 + i};
  first.m = cradle_mutator_new(s.heap);
  shared_open(&s, &first);
  run_workers(&s, &first);
  first.operation = "end of the run";
  cradle_error error = {.message = ""};
  require(&first, cradle_heap_verify(s.heap, &error), error.message);
  shared_compare(&first);
  for (uint32_t i = 0; i < s.threads; i++) cradle_external_memory(first.m, -s.workers[i].external);
  shared_close(&s, &first);
  add_up(sum, &s);
  for (uint32_t i = 0; i < s.threads; i++) sum->drained += i == 0 ? first.drained : 0;
  cradle_mutator_free(first.m);
  cradle_heap_free(s.heap);
  free(s.workers);
  return s.trace;
}

/* Twice, and then in another order. */
static void run_turns(const settings *of, sums *sum) {
  settings other = *of;
  other.turns = of->turns + 1;
  uint64_t trace = run(of, sum);
  worker none = {.s = &(shared){.seed = of->seed}};
  require(&none, run(of, sum) == trace, "a run in turns was not repeated");
  require(&none, run(&other, sum) != trace, "another order of turns made the same run");
}

static void run_all(const settings *of, sums *sum) {
  static const uint64_t nurseries[] = {64 << 10, 256 << 10, 1 << 20, 4 << 20};
  settings now = *of;
  for (size_t i = 0; i < sizeof nurseries / sizeof *nurseries; i++) {
    now.seed = i + 1;
    now.nursery = nurseries[i];
    (void)run(&now, sum);
  }
  now.verify = 1;
  now.nursery = 128 << 10;
  now.ops = of->ops / 4;
  (void)run(&now, sum);
  now.stress = 50;
  (void)run(&now, sum);
}

/* false: an argument is not understood. */
static bool read_arguments(int argc, char **argv, settings *to) {
  const struct {
    const char *name;
    uint64_t *value;
  } names[] = {{"--threads", &to->threads},       {"--seed", &to->seed},     {"--ops", &to->ops},
               {"--nursery", &to->nursery},       {"--verify", &to->verify}, {"--stress", &to->stress},
               {"--gc-threads", &to->gc_threads}, {"--turns", &to->turns}};
  for (int i = 1; i < argc; i += 2) {
    size_t at = 0;
    while (at < sizeof names / sizeof *names && strcmp(argv[i], names[at].name) != 0) at++;
    if (at == sizeof names / sizeof *names || i + 1 == argc || !isdigit((unsigned char)*argv[i + 1])) return false;
    *names[at].value = strtoull(argv[i + 1], NULL, 0);
  }
  return to->threads >= 1 && to->threads <= WORKERS_MOST;
}

int main(int argc, char **argv) {
  settings of = {.threads = 4, .ops = 10000, .nursery = 256 << 10};
  sums sum = {0};
  if (!read_arguments(argc, argv, &of)) {
    fprintf(stderr,
            "usage: %s [--threads K] [--seed N] [--ops N] [--nursery BYTES] [--verify 1] [--stress N] [--gc-threads N]"
            " [--turns N]\n",
            argv[0]);
    return 2;
  }
  if (of.turns != 0)
    run_turns(&of, &sum);
  else if (of.seed != 0)
    (void)run(&of, &sum);
  else
    run_all(&of, &sum);
  printf("no difference\n");
  fprintf(
      stderr,
      "%llu operations, %llu comparisons, %llu threads, %llu objects came back; %llu minor collections, %llu major, "
      "%llu stops, %llu objects moved\n",
      (unsigned long long)sum.operations, (unsigned long long)sum.walks, (unsigned long long)sum.births,
      (unsigned long long)sum.drained, (unsigned long long)sum.minors, (unsigned long long)sum.majors,
      (unsigned long long)sum.stops, (unsigned long long)sum.moved);
  return 0;
}
