/* A program with a stack of its own, whose shares of allocation are known, for tests/programs/test_profile.py.
 *
 *     profiled_program MODE
 *
 * It prints the bytes that each of its functions allocates, as a JSON object, and leaves the profile to
 * CRADLE_PROFILE. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cradle/cradle.h>

enum { PAIR, BYTES, NAMELESS, TYPES };
typedef struct pair {
  uint64_t header;
  struct pair *first, *rest;
} pair;
static const cradle_type types[TYPES] = {
    [PAIR] = {.name = "pair", .size = sizeof(pair), .references = CRADLE_SLOT(pair, first) | CRADLE_SLOT(pair, rest)},
    [BYTES] = {.name = "bytes", .size = 16, .items = CRADLE_ITEMS_BYTES, .item_size = 1, .length_offset = 8},
    [NAMELESS] = {.size = 48},
};

enum { FUNCTIONS_MAX = 8, DEPTH_MAX = 1000 };
typedef struct program {
  cradle_heap *heap;
  cradle_mutator *m;
  const char *stack[DEPTH_MAX];
  size_t depth;
  bool with_ids, forks;
  uint64_t parse_bytes, eval_bytes, read_bytes, live_bytes;
} program;

static void call(program *p, const char *function) {
  p->stack[p->depth++] = function;
}
static void leave(program *p) {
  p->depth--;
}

/* Replaces the C library's function and counts calls: whoever waits for a lock yields. */
static int yields;
int sched_yield(void) {
  yields++;
  return nanosleep(&(struct timespec){0, 1000}, NULL);
}

static bool is_child;
static void end_with_yields(void) {
  if (is_child) _exit(yields != 0);
}

/* The child ends in the middle of a sample. */
static void fork_while_sampled(void) {
  int status;
  pid_t child = fork();
  if (child == 0) {
    is_child = true;
    exit(0);
  }
  if (waitpid(child, &status, 0) != child || status != 0) _exit(3);
}

static size_t frames(void *data, cradle_mutator *mutator, cradle_frame *out, size_t capacity) {
  program *p = data;
  (void)mutator;
  if (p->forks) {
    p->forks = false;
    fork_while_sampled();
  }
  for (size_t i = 0; i < p->depth && i < capacity; i++) {
    const char *name = p->stack[p->depth - 1 - i];
    out[i] = (cradle_frame){.name = name, .file = "program.vm", .line = (uint32_t)name[0]};
    if (p->with_ids) out[i].id = (uintptr_t)name;
  }
  return p->depth;
}

/* --- what it does --- */

CRADLE_MAY_COLLECT static void parse(program *p) {
  call(p, "parse");
  for (int i = 0; i < 5; i++) (void)cradle_new(p->m, PAIR, sizeof(pair));
  p->parse_bytes += 5 * sizeof(pair);
  leave(p);
}

/* Keeps every fourth of its objects. */
CRADLE_MAY_COLLECT static void eval(program *p, int round) {
  call(p, "eval");
  void *object = cradle_new_array(p->m, BYTES, 184);
  p->eval_bytes += 200;
  if (round % 4 == 0) {
    cradle_push(p->m, object);
    p->live_bytes += 200;
  }
  leave(p);
}

/* What eval kept has survived a collection then. */
CRADLE_MAY_COLLECT static void drop_kept(program *p) {
  cradle_collect(p->m, CRADLE_COLLECT_MINOR);
  cradle_pop_many(p->m, (size_t)(p->m->shadow_top - p->m->shadow_base));
}

CRADLE_MAY_COLLECT static void read_file(program *p, int round) {
  if (round % 100 != 0) return;
  call(p, "read_file");
  (void)cradle_new_array(p->m, BYTES, 80000 - 16);
  p->read_bytes += 80000;
  leave(p);
}

CRADLE_MAY_COLLECT static void run(program *p, int rounds) {
  call(p, "main");
  for (int round = 0; round < rounds; round++) {
    parse(p);
    eval(p, round);
    read_file(p, round);
    (void)cradle_new(p->m, NAMELESS, 48);
    if (round % 1000 == 999) drop_kept(p);
  }
  leave(p);
}

static void print_shares(const program *p, int rounds) {
  printf("{\"parse\": %ju, \"eval\": %ju, \"read_file\": %ju, \"main\": %ju, \"kept\": %ju}\n",
         (uintmax_t)p->parse_bytes, (uintmax_t)p->eval_bytes, (uintmax_t)p->read_bytes, (uintmax_t)rounds * 48,
         (uintmax_t)p->live_bytes);
}

/* --- modes --- */

static uint64_t mutators = 1;

static uint64_t own_sampled(void *data, cradle_mutator *mutator, const cradle_sample *sample) {
  (void)data, (void)mutator, (void)sample;
  return 0;
}

CRADLE_UNCHECKED_COLLECTION static void open_heap(program *p, bool stack, bool samples_itself) {
  cradle_options options;
  cradle_error error;
  cradle_options_init(&options);
  options.mutators = mutators;
  options.types = types;
  options.type_count = TYPES;
  if (stack) options.stack = (cradle_stack){frames, p};
  if (samples_itself) options.sampler.sampled = own_sampled;
  p->heap = cradle_heap_new_from_environment(&options, &error);
  if (p->heap == NULL) fprintf(stderr, "%s\n", error.message), exit(1);
  p->m = cradle_mutator_new(p->heap);
  if (p->m == NULL) exit(1);
}

CRADLE_UNCHECKED_COLLECTION static void close_heap(program *p) {
  cradle_mutator_free(p->m);
  cradle_heap_free(p->heap);
}

CRADLE_UNCHECKED_COLLECTION static void recurse(program *p, int depth) {
  call(p, "deep");
  if (depth > 0)
    recurse(p, depth - 1);
  else
    for (int i = 0; i < 10000; i++) (void)cradle_new(p->m, PAIR, sizeof(pair));
  leave(p);
}

/* As many functions, each of which allocates two intervals of the test. */
CRADLE_UNCHECKED_COLLECTION static void run_many(program *p) {
  static char names[3000][8];
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    snprintf(names[i], sizeof names[i], "f%zu", i);
    call(p, names[i]);
    (void)cradle_new_array(p->m, BYTES, 4096 - 16);
    leave(p);
  }
}

static program one, two;

static atomic_bool is_sampled; /* the other thread has allocated enough for samples */

CRADLE_UNCHECKED_COLLECTION static void *allocate_on(void *unused) {
  cradle_mutator_attach(one.m);
  for (uint64_t i = 0;; i++) {
    (void)cradle_new(one.m, PAIR, sizeof(pair));
    if (i == 1000) atomic_store(&is_sampled, true);
  }
  return unused;
}

/* Children whose heaps are at work on another thread when they end. */
CRADLE_UNCHECKED_COLLECTION static void fork_busy_children(void) {
  for (int i = 0; i < 20; i++) {
    cradle_error error;
    pthread_t other;
    int status;
    if (!cradle_fork_prepare(one.heap, &error)) fprintf(stderr, "%s\n", error.message), exit(1);
    pid_t child = fork();
    if (child == 0) {
      cradle_fork_done(one.heap);
      cradle_mutator_detach(one.m);
      if (pthread_create(&other, NULL, allocate_on, NULL) != 0) _exit(1);
      do nanosleep(&(struct timespec){0, 1000000}, NULL);
      while (!atomic_load(&is_sampled));
      exit(0);
    }
    cradle_fork_done(one.heap);
    if (waitpid(child, &status, 0) != child || status != 0) exit(1);
  }
}

CRADLE_UNCHECKED_COLLECTION static void *allocate_beside(void *number) {
  char name[] = "worker 0";
  cradle_mutator *m = cradle_mutator_new(one.heap);
  name[sizeof name - 2] = (char)('0' + *(const int *)number);
  if (*(const int *)number != 2) cradle_mutator_name(m, name); /* the other is "mutator 3" */
  for (int i = 0; i < 1000 * *(const int *)number; i++) (void)cradle_new(m, PAIR, sizeof(pair));
  cradle_mutator_free(m);
  return NULL;
}

/* Two threads allocate, one twice as much as the other. */
CRADLE_UNCHECKED_COLLECTION static void run_threads(void) {
  static int numbers[] = {1, 2};
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) {
    if (pthread_create(&threads[i], NULL, allocate_beside, &numbers[i]) != 0) exit(1);
    CRADLE_PARKED(one.m)(void) pthread_join(threads[i], NULL);
  }
}

int main(int argc, char **argv) CRADLE_UNCHECKED_COLLECTION {
  enum { ROUNDS = 40000 };
  const char *mode = argc == 2 ? argv[1] : "";
  bool is_plain = strcmp(mode, "plain") == 0;
  atexit(end_with_yields); /* before the profiles', so that it runs after them */
  one.with_ids = strcmp(mode, "ids") == 0;
  one.forks = strcmp(mode, "fork-while-sampled") == 0;
  if (strcmp(mode, "threads") == 0) mutators = 2;
  open_heap(&one, !is_plain, strcmp(mode, "own-sampler") == 0);
  if (strcmp(mode, "deep") == 0) {
    recurse(&one, 500);
  } else if (strcmp(mode, "threads") == 0) {
    run_threads();
  } else if (strcmp(mode, "many") == 0) {
    run_many(&one);
  } else if (strcmp(mode, "fork-busy") == 0) {
    fork_busy_children();
  } else if (strcmp(mode, "odd-names") == 0) {
    call(&one, "quote \" backslash \\ line\n tab\t bell\a");
    call(&one, "\xc3\xa4\xe2\x82\xac \xf0\x9f\x98\x80 bad \xff \xc0\x80 \xed\xa0\x80 cut \xe2\x82");
    run(&one, 1000);
    leave(&one);
    leave(&one);
  } else if (strcmp(mode, "fork") == 0) {
    run(&one, 1000);
    if (fork() == 0) {
      call(&one, "child");
      run(&one, 1000);
      exit(0);
    }
    wait(NULL);
  } else if (strcmp(mode, "young") == 0) {
    call(&one, "young"); /* no collection comes before the end */
    for (int i = 0; i < 1000; i++) (void)cradle_new(one.m, PAIR, sizeof(pair));
    leave(&one);
    exit(0);
  } else if (strcmp(mode, "two-heaps") == 0) {
    open_heap(&two, true, false);
    call(&two, "other");
    run(&two, 1000);
    leave(&two);
    run(&one, 1000);
    close_heap(&two);
  } else {
    run(&one, ROUNDS);
    print_shares(&one, ROUNDS);
  }
  if (strcmp(mode, "wait") == 0) fflush(stdout), getchar(); /* until the test lets it end */
  if (strcmp(mode, "abort") == 0) abort();
  if (strcmp(mode, "exit") == 0) exit(0); /* the heap is still there */
  close_heap(&one);
  return 0;
}
