/* What suspended coroutines cost. Each has a root stack with a scoped root, a word on its shadow stack and a root range
 * of two words.
 *
 *   generators [COUNT]   the time to make and to free a root stack, the time of a switch to another one
 *                        and back, of an empty minor collection while one of the others ran and while COUNT are
 *                        suspended (the difference must stay below 1 us), and the longest pause of a major collection
 *                        in increments
 *
 * Times are processor time; each is the median of RUNS.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cradle/cradle.h>

#include "bench/timing.h"

#define STANDARD_COUNT 100000
#define COLLECTIONS 2000
#define SWITCHES 1000000
#define RUNS 5
#define PAUSE_TARGET_NS 1000000

typedef struct cell {
  uint64_t header;
  void *rest;
} cell;
static const cradle_type types[] = {{.name = "cell", .size = sizeof(cell), .references = CRADLE_SLOT(cell, rest)}};

typedef struct generator {
  cradle_root_stack *roots;
  void *variable, *words[2], **base, **top;
  cradle_root_range range;
} generator;

static cradle_mutator *m;

static void suspend_new(generator *g) CRADLE_MAY_COLLECT {
  g->roots = cradle_root_stack_new(m);
  if (g->roots == NULL) abort();
  g->base = g->words;
  g->top = g->words + 2;
  g->range = CRADLE_ROOT_RANGE(g->base, g->top, CRADLE_KIND_REFERENCE, "generator");
  g->range.stack = g->roots;
  cradle_root_range_add(m, &g->range);
  cradle_root_stack_switch(m, g->roots);
  (void)cradle_scope_open(m, &g->variable, CRADLE_KIND_REFERENCE, NULL);
  g->variable = CRADLE_NEW(m, cell, 0);
  cradle_push(m, g->words[1] = CRADLE_NEW(m, cell, 0));
  cradle_root_stack_switch(m, NULL);
}

static double minor_ns(cradle_root_stack *ran) CRADLE_MAY_COLLECT {
  double times[RUNS];
  for (int run = 0; run < RUNS; run++) {
    uint64_t begin = cpu_now_ns();
    for (int i = 0; i < COLLECTIONS; i++) {
      if (ran != NULL) cradle_root_stack_switch(m, ran), cradle_root_stack_switch(m, NULL);
      cradle_collect(m, CRADLE_COLLECT_MINOR);
    }
    times[run] = (double)(cpu_now_ns() - begin) / COLLECTIONS;
  }
  return median_of(times, RUNS);
}

/* Steps of the collector, each with the same limit. */
static double major_pause_ns(void) CRADLE_MAY_COLLECT {
  double longest = 0;
  for (bool over = false; !over;) {
    uint64_t begin = cpu_now_ns();
    over = cradle_collect_step(m, PAUSE_TARGET_NS);
    double took = (double)(cpu_now_ns() - begin);
    if (took > longest) longest = took;
  }
  return longest;
}

static void print(const char *what, double ns) {
  char text[32];
  printf("%-52s %s\n", what, duration_text(ns, text));
}

int main(int argc, char **argv) {
  size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : STANDARD_COUNT;
  generator *all = calloc(count + 1, sizeof *all);
  cradle_options options;
  cradle_error error;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = 1;
  cradle_heap *heap = cradle_heap_new_from_environment(&options, &error);
  if (all == NULL || heap == NULL) {
    fprintf(stderr, "generators: %s\n", heap == NULL ? error.message : "no memory");
    return 1;
  }
  m = cradle_mutator_new(heap);
  suspend_new(&all[count]);
  print("an empty minor collection", minor_ns(NULL));
  print("the same, and one generator ran", minor_ns(all[count].roots));
  uint64_t begin = cpu_now_ns();
  for (size_t i = 0; i < count; i++) suspend_new(&all[i]);
  print("to make a generator, with collections", (double)(cpu_now_ns() - begin) / (double)count);
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  printf("%zu generators are suspended\n", count);
  print("an empty minor collection", minor_ns(NULL));
  print("the same, and one generator ran", minor_ns(all[count].roots));
  begin = cpu_now_ns();
  for (size_t i = 0; i < SWITCHES; i++) {
    cradle_root_stack_switch(m, all[i * 7919 % count].roots);
    cradle_root_stack_switch(m, NULL);
  }
  print("to switch to another one and back", (double)(cpu_now_ns() - begin) / SWITCHES);
  begin = cpu_now_ns();
  cradle_collect(m, CRADLE_COLLECT_MAJOR);
  print("a major collection at once", (double)(cpu_now_ns() - begin));
  print("the longest pause of one in steps of 1 ms", major_pause_ns());
  begin = cpu_now_ns();
  for (size_t i = 0; i < count; i++) cradle_root_stack_free(all[i * 7919 % count].roots);
  print("to free a generator", (double)(cpu_now_ns() - begin) / (double)count);
  cradle_root_stack_free(all[count].roots);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  free(all);
  return 0;
}
