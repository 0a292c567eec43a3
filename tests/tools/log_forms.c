/* One run of a heap, logged in all forms at once: log_forms FOLDER [abort | threads].
 *
 * Writes FOLDER/text.log and json.log. With abort, the process aborts half-way, after more than a buffer of
 * each was written. With threads, the heap has a thread, and survivors that may be worth a helper. */
#include <cradle/cradle.h>

#include "runtime/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NURSERY_BYTES 65536
#define NURSERY_WITH_THREADS (1 << 20)
#define KEPT 20000
#define ALLOCATED 400000
#define LARGE_BYTES 200000

typedef struct node {
  uint64_t header;
  struct node *next;
} node;

enum { T_NODE, T_BYTES, TYPE_COUNT };
static const cradle_type types[TYPE_COUNT] = {
    [T_NODE] = {.name = "node", .size = sizeof(node), .references = CRADLE_SLOT(node, next)},
    [T_BYTES] = {.name = "bytes", .size = LARGE_BYTES},
};

static void run(cradle_mutator *m, int allocated, bool aborts, bool threads) CRADLE_MAY_COLLECT {
  node *list = NULL;
  CRADLE_ROOT(m, list);
  for (int i = 0; i < allocated; i++) {
    node *fresh = cradle_new(m, T_NODE, sizeof(node));
    fresh->next = i % (2 * KEPT) == 0 ? NULL : list;
    if (i % 2 == 0) list = fresh;
    if (i % 50000 == 0) cradle_new(m, T_BYTES, LARGE_BYTES);
    if (i % 100000 == 99999 && !threads) cradle_collect(m, CRADLE_COLLECT_FULL);
    if (i % 100000 == 99999 && threads) (void)cradle_collect_step(m, 0); /* in which a thread is made */
    if (aborts && i > allocated / 2) abort();
  }
}

static void add_log(cradle_options *options, const char *form, const char *folder) {
  char text[500];
  snprintf(text, sizeof text, "%s:%s/%s.log", form, folder, form);
  if (crd_log_open(text, options) == NULL) exit(1);
}

int main(int argc, char **argv) {
  static const char *const forms[] = {"text", "json"};
  cradle_options options;
  cradle_error error;
  if (argc < 2) return 2;
  bool aborts = argc > 2 && strcmp(argv[2], "abort") == 0, threads = argc > 2 && !aborts;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = TYPE_COUNT;
  options.nursery_bytes = aborts ? 4096 : threads ? NURSERY_WITH_THREADS : NURSERY_BYTES;
  options.gc_threads = threads;
  for (int i = 0; i < 2; i++) add_log(&options, forms[i], argv[1]);
  cradle_heap *heap = cradle_heap_new(&options, &error);
  if (heap == NULL) {
    fprintf(stderr, "log_forms: %s\n", error.message);
    return 1;
  }
  crd_chain_settle(options.listener, (cradle_listener){0}, heap);
  cradle_mutator *m = cradle_mutator_new(heap);
  run(m, threads ? 8 * ALLOCATED : ALLOCATED, aborts, threads);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  return 0;
}
