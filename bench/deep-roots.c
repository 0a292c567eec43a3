/* What deep recursion costs: cells that die young are allocated below many frames, each of which roots one old cell.
 *
 *   deep-roots [CELLS [DEPTH]]   the time of allocating CELLS cells 10 and DEPTH frames deep, and the ratio of the two,
 *                                for roots on the shadow stack and for scoped roots; medians of five runs
 *   deep-roots minors KIND DEPTH COUNT   makes COUNT minor collections that deep, and nothing else;
 *   deep-roots pairs KIND COUNT          pushes and pops COUNT roots, or opens and closes their scopes:
 *                                tests/programs/test_root_cost.py counts their instructions
 *
 * KIND is shadow or scoped. Times are processor time of one thread, which is made with a C stack that is large enough
 * for the depth.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cradle/cradle.h>

#include "bench/timing.h"

#define STANDARD_CELLS 40000000
#define STANDARD_DEPTH 300000
#define SHALLOW_DEPTH 10
#define RUNS 5
/* C stack of one frame of descend_scoped, large enough for a build without optimisation. */
#define FRAME_BYTES ((size_t)512)
#define STACK_BYTES ((size_t)1 << 20)

enum { T_CELL, T_COUNT };
typedef struct cell {
  uint64_t header, number;
} cell;
static const cradle_type types[T_COUNT] = {[T_CELL] = {.name = "cell", .size = sizeof(cell)}};

typedef struct run run;
/* The work at the bottom of the recursion, done count times. */
typedef void (*work)(cradle_mutator *m, uint64_t count);
struct run {
  bool scoped;
  uint64_t depth, count;
  work work;
  double seconds; /* of the work, without the recursion and its page faults */
  bool wrong;
};

static void allocate(cradle_mutator *m, uint64_t count) CRADLE_MAY_COLLECT {
  for (uint64_t i = 0; i < count; i++) {
    cell *object = cradle_new(m, T_CELL, sizeof *object);
    object->number = i;
    __asm__ volatile("" : : "r"(object) : "memory"); /* the stores count as used */
  }
}

static void collect(cradle_mutator *m, uint64_t count) CRADLE_MAY_COLLECT {
  for (uint64_t i = 0; i < count; i++) cradle_collect(m, CRADLE_COLLECT_MINOR);
}

static void push_and_pop(cradle_mutator *m, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) {
    void *reference = NULL;
    __asm__ volatile("" : "+r"(reference)); /* keeps it in a register, and the popped value in use */
    cradle_push(m, reference);
    __asm__ volatile("" : : : "memory");
    reference = cradle_pop(m);
    __asm__ volatile("" : : "r"(reference));
  }
}

static void open_and_close(cradle_mutator *m, uint64_t count) {
  void *reference = NULL;
  for (uint64_t i = 0; i < count; i++) {
    CRADLE_ROOT(m, reference);
    __asm__ volatile("" : : : "memory");
  }
}

static uint64_t do_the_work(cradle_mutator *m, run *r) CRADLE_UNCHECKED_COLLECTION {
  uint64_t begin = cpu_now_ns();
  r->work(m, r->count);
  r->seconds = (double)(cpu_now_ns() - begin) / 1e9;
  return 0;
}

static CRADLE_NOINLINE uint64_t descend_shadow(cradle_mutator *m, uint64_t depth, run *r) CRADLE_UNCHECKED_COLLECTION {
  if (depth == 0) return do_the_work(m, r);
  cell *mine = cradle_new(m, T_CELL, sizeof *mine);
  mine->number = depth;
  cradle_push(m, mine);
  uint64_t below = descend_shadow(m, depth - 1, r);
  return below + ((const cell *)cradle_pop(m))->number;
}

static CRADLE_NOINLINE uint64_t descend_scoped(cradle_mutator *m, uint64_t depth, run *r) CRADLE_UNCHECKED_COLLECTION {
  if (depth == 0) return do_the_work(m, r);
  cell *mine = cradle_new(m, T_CELL, sizeof *mine);
  mine->number = depth;
  CRADLE_ROOT(m, mine);
  uint64_t below = descend_scoped(m, depth - 1, r);
  return below + mine->number;
}

static void *run_on_its_stack(void *data) CRADLE_UNCHECKED_COLLECTION {
  run *r = data;
  cradle_options options;
  cradle_error error;
  cradle_options_init(&options);
  options.types = types, options.type_count = T_COUNT;
  cradle_heap *heap = cradle_heap_new_from_environment(&options, &error);
  cradle_mutator *m = heap == NULL ? NULL : cradle_mutator_new(heap);
  r->wrong = m == NULL;
  if (m != NULL) {
    uint64_t sum = (r->scoped ? descend_scoped : descend_shadow)(m, r->depth, r);
    r->wrong = sum != r->depth * (r->depth + 1) / 2;
  }
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  return NULL;
}

/* false: no memory, or a wrong result. */
static bool run_once(run *r) {
  pthread_attr_t attributes;
  pthread_t thread;
  if (pthread_attr_init(&attributes) != 0) return false;
  bool started = pthread_attr_setstacksize(&attributes, STACK_BYTES + r->depth * FRAME_BYTES) == 0 &&
                 pthread_create(&thread, &attributes, run_on_its_stack, r) == 0;
  pthread_attr_destroy(&attributes);
  return started && pthread_join(thread, NULL) == 0 && !r->wrong;
}

/* The median of the runs, or a negative number if one failed. */
static double seconds_of(bool scoped, uint64_t depth, uint64_t cells) {
  double seconds[RUNS];
  for (int i = 0; i < RUNS; i++) {
    run r = {.scoped = scoped, .depth = depth, .count = cells, .work = allocate};
    if (!run_once(&r)) return -1;
    seconds[i] = r.seconds;
  }
  return median_of(seconds, RUNS);
}

static bool compare(uint64_t cells, uint64_t depth) {
  for (int scoped = 0; scoped < 2; scoped++) {
    double shallow = seconds_of(scoped, SHALLOW_DEPTH, cells), deep = seconds_of(scoped, depth, cells);
    if (shallow < 0 || deep < 0) return false;
    printf("%-12s %d deep %.3f s, %llu deep %.3f s: %.2f times\n", scoped ? "scoped roots" : "shadow stack",
           SHALLOW_DEPTH, shallow, (unsigned long long)depth, deep, deep / shallow);
  }
  return true;
}

static bool read_number(const char *text, uint64_t *number) {
  char *end;
  errno = 0;
  *number = strtoull(text, &end, 10);
  return end != text && *end == '\0' && errno == 0 && *number < UINT64_MAX / FRAME_BYTES / 2;
}

static bool read_kind(const char *text, run *r) {
  r->scoped = strcmp(text, "scoped") == 0;
  return r->scoped || strcmp(text, "shadow") == 0;
}

int main(int argc, char **argv) {
  uint64_t cells = STANDARD_CELLS, depth = STANDARD_DEPTH;
  run r = {.depth = 0};
  bool done = false, understood = true;
  if (argc == 5 && strcmp(argv[1], "minors") == 0 && read_kind(argv[2], &r) && read_number(argv[3], &r.depth) &&
      read_number(argv[4], &r.count)) {
    r.work = collect;
    done = run_once(&r);
  } else if (argc == 4 && strcmp(argv[1], "pairs") == 0 && read_kind(argv[2], &r) && read_number(argv[3], &r.count)) {
    r.work = r.scoped ? open_and_close : push_and_pop;
    done = run_once(&r);
  } else if (argc <= 3 && (argc < 2 || read_number(argv[1], &cells)) && (argc < 3 || read_number(argv[2], &depth))) {
    done = compare(cells, depth);
  } else {
    understood = false;
  }
  if (!understood)
    fprintf(stderr, "deep-roots: give nothing, CELLS, CELLS DEPTH, minors KIND DEPTH COUNT, or pairs KIND COUNT; "
                    "KIND is shadow or scoped\n");
  else if (!done)
    fprintf(stderr, "deep-roots: a heap or a stack could not be made, or a root was lost\n");
  return !understood ? 2 : done ? 0 : 1;
}
