/* second_model: random calls of every service, and a shadow that says what they must give; the idea is in
 * second_model.h. */
#include "second_model.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct {
  const char *name;
  void (*run)(world *w);
  uint32_t weight;
} operations[] = {
    {"allocate_object", allocate_object, 400},
    {"allocate_reserved", allocate_reserved, 40},
    {"store", store, 240},
    {"store_raw", store_raw, 10},
    {"transfer", transfer, 80},
    {"store_outside", store_outside, 40},
    {"copy_slots", copy_slots, 50},
    {"copy_words", copy_words, 20},
    {"shorten", shorten, 10},
    {"load", load, 80},
    {"load_weak", load_weak, 50},
    {"root_push", root_push, 60},
    {"root_pop", root_pop, 40},
    {"root_peek", root_peek, 20},
    {"root_move", root_move, 40},
    {"root_clear", root_clear, 40},
    {"root_scope", root_scope, 20},
    {"root_unwind", root_unwind, 10},
    {"root_coroutine", root_coroutine, 30},
    {"root_range", root_range, 20},
    {"root_global", root_global, 16},
    {"root_handle", root_handle, 30},
    {"pin", pin, 30},
    {"unpin", unpin, 24},
    {"identify", identify, 12},
    {"look_up_id", look_up_id, 12},
    {"finalizer_register", finalizer_register, 16},
    {"finalizer_drain", finalizer_drain, 16},
    {"finalizer_order", finalizer_order, 3},
    {"set_add", set_add, 40},
    {"set_find", set_find, 20},
    {"set_remove", set_remove, 10},
    {"set_iterate", set_iterate, 4},
    {"collect", collect, 16},
    {"collect_step", collect_step, 30},
    {"safepoint", safepoint, 8},
    {"no_collect", no_collect, 16},
    {"control", control, 8},
    {"limit", limit, 3},
    {"exhaust", exhaust, 4},
    {"external", external, 6},
    {"add_type", add_type, 4},
    {"hand_over", hand_over, 2},
    {"fork_heap", fork_heap, 2},
    {"inspect", inspect, 30},
    {"look_at_statistics", look_at_statistics, 16},
    {"verify", verify, 2},
};
static bool traces;
enum { OPERATIONS = sizeof operations / sizeof *operations };

void operate(world *w) {
  uint32_t all = 0, at = 0;
  for (size_t i = 0; i < OPERATIONS; i++) all += operations[i].weight;
  uint64_t drawn = below(w, all);
  while (drawn >= operations[at].weight) drawn -= operations[at++].weight;
  w->operation = operations[at].name;
  if (traces) fprintf(stderr, "step %llu, heap %u: %s\n", (unsigned long long)w->step, w->number, w->operation);
  operations[at].run(w);
}

/* One operation. It may end by a longjmp, when memory runs out or a step further in unwinds. */
void step(world *w) {
  frame here = {
      .outer = w->frame, .on = w->on, .stack_count = w->on->count, .scoped_count = w->scoped_count, .floor = w->floor};
  here.checkpoint = cradle_checkpoint_save(w->m);
  w->frame = &here;
  if (setjmp(here.buffer) == 0) {
    operate(w);
  } else {
    w->on->base = w->m->shadow_base;
    cradle_checkpoint_restore(w->m, &w->frame->checkpoint);
    root_stacks_left(w, w->frame);
    w->on->count = w->frame->stack_count;
    w->scoped_count = w->frame->scoped_count;
    w->floor = w->frame->floor;
  }
  w->frame = w->frame->outer;
}

/* --- a run --- */

/* Where the run is, for the message of a run that crashes. */
static world *running;
static void say_where(void) {
  char text[200];
  if (running == NULL) return;
  int length =
      snprintf(text, sizeof text, "crash: seed %llu, step %llu, heap %u, %s\n", (unsigned long long)running->seed,
               (unsigned long long)running->step, running->number, running->operation);
  if (write(2, text, (size_t)length) < 0) _exit(3);
}

#if defined __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
static void say_where_at_the_end(void) {
  __sanitizer_set_death_callback(say_where);
}
#else
static void crashed(int number) {
  say_where();
  signal(number, SIG_DFL);
  raise(number);
}
static void say_where_at_the_end(void) {
  static const int numbers[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) signal(numbers[i], crashed);
}
#endif

typedef struct settings {
  uint64_t seed, runs, steps, every;
  double seconds;
  bool shrinks;
} settings;

/* Which steps are left out, while a failure is made smaller. */
static unsigned char *left_out;

static void run(const settings *set, uint64_t seed) {
  static world heaps[3];
  uint32_t count = 1 + (uint32_t)(seed % 3);
  for (uint32_t i = 0; i < count; i++) world_open(&heaps[i], seed, i);
  for (uint64_t at = 0; at < set->steps; at++) {
    if (left_out != NULL && left_out[at]) continue;
    world *w = &heaps[at % count];
    w->step = at;
    running = w;
    draw_from(w, seed, at);
    step(w);
    w->operation = "comparing";
    if (at / count % set->every == 0) compare(w, false);
  }
  for (uint32_t i = 0; i < count; i++) world_close(&heaps[i]);
  running = NULL;
}

/* --- shrinking --- */

static bool fails(const settings *set) {
  int status;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    if (freopen("/dev/null", "w", stderr) == NULL) _exit(2);
    run(set, set->seed);
    _exit(0);
  }
  return child > 0 && waitpid(child, &status, 0) == child && status != 0;
}

/* Leaves out pieces of the steps as long as the run fails without them, halving the pieces. */
static int shrink(const settings *set) {
  left_out = calloc(set->steps, 1);
  if (left_out == NULL || !fails(set)) return puts("the run does not fail"), 1;
  for (uint64_t piece = set->steps / 2; piece > 0; piece /= 2)
    for (uint64_t from = 0; from < set->steps; from += piece) {
      uint64_t end = from + piece < set->steps ? from + piece : set->steps;
      unsigned char *before = malloc(piece);
      if (before == NULL) return 1;
      memcpy(before, left_out + from, end - from);
      memset(left_out + from, 1, end - from);
      if (!fails(set)) memcpy(left_out + from, before, end - from);
      free(before);
    }
  printf("steps that fail:");
  for (uint64_t at = 0; at < set->steps; at++)
    if (!left_out[at]) printf(" %llu", (unsigned long long)at);
  printf("\n");
  fflush(stdout);
  run(set, set->seed);
  return 0;
}

/* --- the command line --- */

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int usage(void) {
  fputs("usage: second_model [--seed N] [--runs N] [--steps N] [--every N] [--seconds S] [--shrink]\n                  "
        "  [--only STEP,...] [--trace]\n"
        "  runs the seeds from N on, --runs of them or for so many seconds, each so many steps long; compares\n"
        "  everything after every --every steps. --shrink leaves out steps of a failing seed; --only replays\n  some; "
        "--trace prints each operation.\n",
        stderr);
  return 2;
}

/* Replays the steps of the list, which --shrink printed with blanks. */
static bool keep_only(settings *set, char *list) {
  left_out = malloc(set->steps);
  if (left_out == NULL) return false;
  memset(left_out, 1, set->steps);
  for (char *at = strtok(list, ", "); at != NULL; at = strtok(NULL, ", ")) {
    uint64_t step_number = strtoull(at, NULL, 10);
    if (step_number >= set->steps) return false;
    left_out[step_number] = 0;
  }
  return true;
}

static bool parse(settings *set, int count, char **arguments) {
  char *only = NULL;
  for (int i = 1; i < count; i++) {
    const char *name = arguments[i];
    if (strcmp(name, "--shrink") == 0) {
      set->shrinks = true;
      continue;
    }
    if (strcmp(name, "--trace") == 0) {
      traces = true;
      continue;
    }
    if (i + 1 == count) return false;
    char *value = arguments[++i];
    if (strcmp(name, "--seed") == 0)
      set->seed = strtoull(value, NULL, 10);
    else if (strcmp(name, "--runs") == 0)
      set->runs = strtoull(value, NULL, 10);
    else if (strcmp(name, "--steps") == 0)
      set->steps = strtoull(value, NULL, 10);
    else if (strcmp(name, "--every") == 0)
      set->every = strtoull(value, NULL, 10);
    else if (strcmp(name, "--seconds") == 0)
      set->seconds = strtod(value, NULL);
    else if (strcmp(name, "--only") == 0)
      only = value;
    else
      return false;
  }
  return set->steps != 0 && set->every != 0 && (only == NULL || keep_only(set, only));
}

int main(int count, char **arguments) {
  settings set = {.seed = 1, .runs = 1, .steps = 1500, .every = 40};
  if (!parse(&set, count, arguments)) return usage();
  say_where_at_the_end();
  if (set.shrinks) return shrink(&set);
  double begin = seconds_now();
  uint64_t done = 0;
  while (set.seconds > 0 ? seconds_now() - begin < set.seconds : done < set.runs) run(&set, set.seed + done++);
  printf("%llu seeds from %llu, %llu steps each, %.1f s: the heap is as its shadow\n", (unsigned long long)done,
         (unsigned long long)set.seed, (unsigned long long)set.steps, seconds_now() - begin);
  return 0;
}
