/* profile-cost: what the allocation profiler costs at several rates, on the loop of allocate-a-lot.
 *
 *     profile-cost [DEPTH [names]]
 *
 * DEPTH is how many frames the program's stack has at each allocation, 0 to 128 (0: the program reports no stack). A
 * frame is identified by an id, or with "names" by its name. One heap a rate, in one process, take turns of two million
 * objects of 16 bytes; the figure is the median over the turns. The figures of docs/profiler.md.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cradle/cradle.h>

#include "bench/timing.h"

#define TURNS 51
#define TURN_OBJECTS 2000000

typedef struct node {
  uint64_t header, value;
} node;
static const cradle_type types[] = {{.name = "node", .size = sizeof(node)}};

static const char *const rates[] = {NULL, "16M", "4M", "1M", "512K", "256K", "64K", "16K", "4K", "1K", "256", "64"};
enum { RATES = sizeof rates / sizeof rates[0] };

typedef struct contender {
  cradle_heap *heap;
  cradle_mutator *mutator;
  double ns[TURNS];     /* an allocation */
  double ratios[TURNS]; /* to the heap without a profile, in the same turn */
} contender;

typedef struct stack {
  size_t depth;
  bool by_name;
  char names[CRADLE_FRAMES_MAX][24];
} stack;

static size_t frames(void *data, cradle_mutator *mutator, cradle_frame *out, size_t capacity) {
  const stack *s = data;
  (void)mutator, (void)capacity;
  for (size_t i = 0; i < s->depth; i++)
    out[i] = (cradle_frame){.name = s->names[i], .file = "program.vm", .id = s->by_name ? 0 : i + 1};
  return s->depth;
}

/* Nothing here survives a collection. */
static __attribute__((noinline)) void allocate(cradle_mutator *mutator) CRADLE_MAY_COLLECT {
  for (uint64_t i = 0; i < TURN_OBJECTS; i++) {
    node *fresh = CRADLE_NEW(mutator, node, 0);
    fresh->value = i;
  }
}

static void open_contender(contender *c, const char *rate, stack *s) CRADLE_UNCHECKED_COLLECTION {
  cradle_options options;
  cradle_error error;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = 1;
  if (s->depth != 0) options.stack = (cradle_stack){frames, s};
  if (rate != NULL) {
    setenv("CRADLE_PROFILE", "/dev/null", 1);
    setenv("CRADLE_PROFILE_RATE", rate, 1);
  }
  c->heap = cradle_heap_new_from_environment(&options, &error);
  c->mutator = c->heap == NULL ? NULL : cradle_mutator_new(c->heap);
  if (c->mutator == NULL) {
    fprintf(stderr, "profile-cost: %s\n", c->heap == NULL ? error.message : "out of memory");
    exit(1);
  }
}

static void close_contender(contender *c) CRADLE_UNCHECKED_COLLECTION {
  cradle_mutator_free(c->mutator);
  cradle_heap_free(c->heap);
}

/* The turn before belonged to another heap, and one that samples at every object leaves a cold cache: a turn that is
 * not timed comes first. */
static double time_turn(cradle_mutator *mutator) CRADLE_UNCHECKED_COLLECTION {
  allocate(mutator);
  uint64_t begin = now_ns();
  allocate(mutator);
  return (double)(now_ns() - begin) / TURN_OBJECTS;
}

static void run(contender *contenders) {
  for (int turn = 0; turn < TURNS; turn++) {
    for (int i = 0; i < RATES; i++) {
      int which = (i + turn) % RATES; /* the order rotates, so that each is first sometimes */
      contenders[which].ns[turn] = time_turn(contenders[which].mutator);
    }
    for (int i = 0; i < RATES; i++) contenders[i].ratios[turn] = contenders[i].ns[turn] / contenders[0].ns[turn];
  }
}

static void read_arguments(stack *s, int argc, char **argv) {
  char *end = NULL;
  unsigned long depth = argc > 1 ? strtoul(argv[1], &end, 10) : 0;
  bool is_number = end == NULL || (*end == '\0' && end != argv[1]);
  if (argc > 3 || !is_number || depth > CRADLE_FRAMES_MAX || (argc == 3 && strcmp(argv[2], "names") != 0)) {
    fprintf(stderr, "usage: profile-cost [DEPTH [names]]   DEPTH: 0 to %d frames\n", CRADLE_FRAMES_MAX);
    exit(2);
  }
  s->depth = depth;
  s->by_name = argc == 3;
  for (size_t i = 0; i < depth; i++) snprintf(s->names[i], sizeof s->names[i], "function_%zu", i);
}

int main(int argc, char **argv) {
  static contender contenders[RATES];
  static stack s;
  read_arguments(&s, argc, argv);
  for (int i = 0; i < RATES; i++) open_contender(&contenders[i], rates[i], &s);
  run(contenders);
  printf("%zu frames%s\n\n| one sample in | ns an allocation | cost |\n|---|---|---|\n", s.depth,
         s.by_name ? ", by name" : "");
  for (int i = 0; i < RATES; i++) {
    double ns = median_of(contenders[i].ns, TURNS);
    double ratio = median_of(contenders[i].ratios, TURNS);
    printf("| %s | %.3f | %+.1f %% |\n", rates[i] == NULL ? "no profile" : rates[i], ns, 100 * (ratio - 1));
  }
  for (int i = 0; i < RATES; i++) close_contender(&contenders[i]);
  return 0;
}
