/* What the tests of the public interface share: a heap with a few types, and a misuse handler that lands in the
 * test. */
#ifndef TESTS_HEAP_FIXTURE_H
#define TESTS_HEAP_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <cradle/cradle.h>

#include "runtime/environment.h"

enum { T_PAIR, T_STRING, T_VECTOR, T_VALUES, T_COUNT };
typedef struct pair {
  uint64_t header;
  struct pair *first, *rest;
} pair;
typedef struct string {
  uint64_t header, length;
  char byte[];
} string;
typedef struct vector {
  uint64_t header, length;
  void *item[];
} vector;
typedef struct values {
  uint64_t header, length;
  uint64_t item[];
} values;

static const cradle_type fixture_types[T_COUNT] = {
    [T_PAIR] = {.name = "pair", .size = sizeof(pair), .references = CRADLE_SLOT(pair, first) | CRADLE_SLOT(pair, rest)},
    [T_STRING] = {.name = "string",
                  .size = sizeof(string),
                  .items = CRADLE_ITEMS_BYTES,
                  .item_size = 1,
                  .length_offset = offsetof(string, length)},
    [T_VECTOR] = {.name = "vector",
                  .size = sizeof(vector),
                  .items = CRADLE_ITEMS_REFERENCES,
                  .item_size = 8,
                  .length_offset = offsetof(vector, length)},
    [T_VALUES] = {.name = "values",
                  .size = sizeof(values),
                  .items = CRADLE_ITEMS_VALUES,
                  .item_size = 8,
                  .length_offset = offsetof(values, length)},
};

typedef struct fixture {
  cradle_heap *heap;
  cradle_mutator *m;
  cradle_checkpoint checkpoint;
  jmp_buf landing;
  bool armed; /* landing is set */
  bool stressed;
  char message[800];
  size_t shortages; /* calls of fixture_shortage */
  /* For heaps with the listener fixture_listen: who receives events, and of which kinds (bit k: kind k). */
  void (*listener)(void *data, const cradle_event *event);
  void *listener_data;
  uint32_t listens_to;
} fixture;

#define EVENT_BIT(kind) (UINT32_C(1) << (kind))

static inline void fixture_listen(void *data, const cradle_event *event) {
  const fixture *f = data;
  if (f->listens_to & EVENT_BIT(event->kind)) f->listener(f->listener_data, event);
}

/* For misuse_messages.py and verifier_messages.py. */
static inline void fixture_log_misuse(const char *message) {
  const char *path = getenv("MISUSE_LOG");
  FILE *log = path == NULL ? NULL : fopen(path, "a");
  if (log == NULL) return;
  fprintf(log, "%s\n", message);
  fclose(log);
}

/* The verifier's messages go to the same place, for verifier_messages.py. */
static inline bool fixture_verify(cradle_heap *heap, cradle_error *error) {
  cradle_error own;
  if (error == NULL) error = &own;
  if ((cradle_heap_verify)(heap, error)) return true;
  fixture_log_misuse(error->message);
  return false;
}
#undef cradle_heap_verify
#define cradle_heap_verify(heap, error) fixture_verify((heap), (error))

static inline void fixture_misuse(void *data, const char *message) {
  fixture *f = data;
  fixture_log_misuse(message);
  if (!f->armed) fail_msg("unexpected misuse: %s", message);
  f->armed = false;
  strncpy(f->message, message, sizeof f->message - 1);
  longjmp(f->landing, 1);
}

/* Returns, so the call that was refused returns NULL, 0 or false. */
static inline void fixture_shortage(void *data, cradle_mutator *mutator, size_t size, const char *message) {
  (void)mutator, (void)size, (void)message;
  if (data != NULL) ((fixture *)data)->shortages++;
}

static inline void fixture_options(fixture *f, cradle_options *options) {
  cradle_options_init(options);
  options->types = fixture_types;
  options->type_count = T_COUNT;
  options->nursery_bytes = (size_t)64 << 10;
  options->verify = true;
  options->on_misuse = fixture_misuse;
  options->on_out_of_memory = fixture_shortage;
  options->user = f;
  crd_options_from_environment(options); /* the suite runs again under stress */
  f->stressed = options->stress_period != 0;
}

/* Turns the environment's stress and quarantine off, for a test that allocates too much for them. */
static inline void fixture_unstress(cradle_options *options) {
  options->stress_period = options->stress_major = options->stress_seed = options->stress_times = 0;
  options->stress_strict = false;
  options->quarantine = 0;
}

CRADLE_UNCHECKED_COLLECTION static inline void fixture_open_with(fixture *f, const cradle_options *options) {
  cradle_error error;
  f->heap = cradle_heap_new(options, &error);
  if (f->heap == NULL) fail_msg("%s", error.message);
  f->m = cradle_mutator_new(f->heap);
  assert_non_null(f->m);
  f->checkpoint = cradle_checkpoint_save(f->m);
  f->message[0] = '\0';
  f->armed = false;
  f->shortages = 0;
  f->stressed = options->stress_period != 0;
}

static inline void fixture_open(fixture *f) {
  cradle_options options;
  fixture_options(f, &options);
  fixture_open_with(f, &options);
}

CRADLE_UNCHECKED_COLLECTION static inline void fixture_close(fixture *f) {
  if (f->stressed) { /* a heap of nothing but garbage moves nothing, which stress reports as an error */
    cradle_push(f->m, CRADLE_NEW(f->m, pair, T_PAIR));
    cradle_collect(f->m, CRADLE_COLLECT_MINOR);
    cradle_pop(f->m);
  }
  cradle_mutator_free(f->m);
  cradle_heap_free(f->heap);
}

/* For a test that opened the heap itself and says nothing under stress. */
CRADLE_UNCHECKED_COLLECTION static inline void fixture_skip_stressed(fixture *f, const char *why) {
  if (!f->stressed) return;
  fixture_close(f);
  print_message("not under stress: %s\n", why);
  skip();
}

/* The first allocations of a heap all take the slow path. A test of the fast path must come after these. */
CRADLE_UNCHECKED_COLLECTION static inline void fixture_pass_first_looks(fixture *f) {
  for (int i = 0; i < 1000; i++) (void)CRADLE_NEW(f->m, pair, T_PAIR);
}

static inline cradle_statistics fixture_stats(fixture *f) {
  cradle_statistics stats;
  cradle_heap_statistics(f->heap, &stats, sizeof stats);
  return stats;
}

static inline void assert_heap_sound(cradle_heap *heap) {
  cradle_error error;
  if (!cradle_heap_verify(heap, &error)) fail_msg("%s", error.message);
}

/* The encoding that options get if they name none. */
static inline cradle_encoding plain_encoding(void) {
  cradle_options options;
  cradle_options_init(&options);
  return options.encoding;
}

static inline size_t set_count(cradle_weak_set *set) {
  cradle_weak_cursor cursor = {0, 0};
  size_t count = 0;
  while (cradle_weak_set_next(set, &cursor) != NULL) count++;
  return count;
}

/* Collections of each kind as functions. */
CRADLE_UNCHECKED_COLLECTION static inline void collect_minor(cradle_mutator *m) {
  cradle_collect(m, CRADLE_COLLECT_MINOR);
}
CRADLE_UNCHECKED_COLLECTION static inline void collect_major(cradle_mutator *m) {
  cradle_collect(m, CRADLE_COLLECT_MAJOR);
}
CRADLE_UNCHECKED_COLLECTION static inline void collect_compacting(cradle_mutator *m) {
  cradle_collect(m, CRADLE_COLLECT_COMPACTING);
}

/* True the first time; false after the handler came back here because misuse was refused. */
#define FIXTURE_LANDS(f) ((f)->armed = true, setjmp((f)->landing) == 0)

/* The statement must be refused with a message that contains the words, and must leave the heap sound. */
#define ASSERT_MISUSE(f, words, ...) \
  do { \
    (f)->message[0] = '\0'; \
    if (FIXTURE_LANDS(f)) { \
      __VA_ARGS__; \
      fail_msg("not refused: %s", #__VA_ARGS__); \
    } \
    if (strstr((f)->message, (words)) == NULL) \
      fail_msg("the message is \"%s\", without \"%s\"", (f)->message, (words)); \
    cradle_checkpoint_restore((f)->m, &(f)->checkpoint); \
    assert_heap_sound((f)->heap); \
  } while (0)

/* For tests that call cradle_fork_prepare, which must succeed. */
static inline void skip_without_fork(void) {
#ifdef _WIN32
  skip();
#endif
}

/* The same for act(f->m) where no handler can go on, in the middle of a collection: a child process tries it. */
CRADLE_UNCHECKED_COLLECTION static inline void assert_refused_in_child(fixture *f, void (*act)(cradle_mutator *),
                                                                       const char *words) {
  int status;
#ifdef _WIN32
  if (act != NULL) { /* no child process can be used there; the rest of the test still runs */
    print_message("skipped: fork is needed to see it refused: %s\n", words);
    return;
  }
#endif
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    if (FIXTURE_LANDS(f)) {
      act(f->m);
      _exit(1);
    }
    _exit(strstr(f->message, words) != NULL ? 0 : 2);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  if (WEXITSTATUS(status) == 1) fail_msg("not refused: %s", words);
  if (WEXITSTATUS(status) != 0) fail_msg("refused without \"%s\"", words);
}

#endif
