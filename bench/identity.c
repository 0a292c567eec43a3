/* identity: what identity hashes, ids, pins and handles cost.
 *
 *     identity [TURNS]
 *
 * Each row is timed in turns of a million operations, the rows of a turn one after the other, collections included; the
 * figure is the median over the turns (default 9) of the thread's processor time. "an object" rows allocate the object,
 * too: the row above them is the allocation alone. The last rows are collections with a million entries beside the
 * heap.
 */
#include <stdio.h>
#include <stdlib.h>

#include <cradle/cradle.h>

#include "bench/timing.h"

#define OPERATIONS 1000000
#define TURNS_MOST 101

enum { T_NODE, T_BYTES, T_VECTOR, T_COUNT };
typedef struct node {
  uint64_t header, value;
} node;
typedef struct vector {
  uint64_t header, length;
  void *item[];
} vector;
static const cradle_type types[T_COUNT] = {
    [T_NODE] = {.name = "node", .size = sizeof(node)},
    [T_BYTES] = {.name = "bytes", .size = 16, .items = CRADLE_ITEMS_BYTES, .item_size = 1, .length_offset = 8},
    [T_VECTOR] = {.name = "vector", .size = 16, .items = CRADLE_ITEMS_REFERENCES, .item_size = 8, .length_offset = 8},
};

typedef struct bench {
  cradle_heap *heap;
  cradle_mutator *m;
  node *old;            /* an object of the old generation, rooted as a global */
  cradle_handle handle; /* open, for it */
  cradle_handle *handles;
  uint64_t sum; /* of all results, so that the compiler keeps them */
} bench;

static void allocate(bench *b) CRADLE_MAY_COLLECT {
  for (int i = 0; i < OPERATIONS; i++) ((node *)CRADLE_NEW(b->m, node, T_NODE))->value = (uint64_t)i;
}

static void hash_young(bench *b) CRADLE_MAY_COLLECT {
  for (int i = 0; i < OPERATIONS; i++) {
    node *fresh = CRADLE_NEW(b->m, node, T_NODE);
    fresh->value = (uint64_t)i;
    b->sum += cradle_identity_hash(b->m, fresh);
  }
}

static void hash_again(bench *b) CRADLE_MAY_COLLECT {
  for (int i = 0; i < OPERATIONS; i++) {
    __asm__ volatile("" ::: "memory");
    b->sum += cradle_identity_hash(b->m, b->old);
  }
}

static void id_young(bench *b) CRADLE_MAY_COLLECT {
  for (int i = 0; i < OPERATIONS; i++) b->sum += cradle_id(b->m, CRADLE_NEW(b->m, node, T_NODE));
}

static void id_again(bench *b) CRADLE_MAY_COLLECT {
  for (int i = 0; i < OPERATIONS; i++) b->sum += cradle_id(b->m, b->old);
}

static void object_of_id(bench *b) CRADLE_MAY_COLLECT {
  uint64_t id = cradle_id(b->m, b->old);
  for (int i = 0; i < OPERATIONS; i++) b->sum += (uintptr_t)cradle_object_of_id(b->m, id);
}

static void pin_old(bench *b) CRADLE_MAY_COLLECT {
  for (int i = 0; i < OPERATIONS; i++) {
    b->sum += (uintptr_t)cradle_pin(b->m, b->old);
    cradle_unpin(b->m, b->old);
  }
}

/* Each is a minor collection of an almost empty nursery. */
static void pin_young(bench *b) CRADLE_MAY_COLLECT {
  for (int i = 0; i < OPERATIONS / 10; i++) {
    void *pinned = cradle_pin(b->m, CRADLE_NEW(b->m, node, T_NODE));
    cradle_unpin(b->m, pinned);
  }
}

static void new_pinned(bench *b) CRADLE_MAY_COLLECT {
  for (int i = 0; i < OPERATIONS; i++)
    cradle_unpin(b->m, cradle_new_with(b->m, T_BYTES, (cradle_array_layout){0}, 48, CRADLE_PINNED));
}

static void handle_new_free(bench *b) CRADLE_MAY_COLLECT {
  for (int i = 0; i < OPERATIONS; i++) cradle_handle_free(b->m, cradle_handle_new(b->m, b->old));
}

static void handle_get(bench *b) CRADLE_MAY_COLLECT {
  for (int i = 0; i < OPERATIONS; i++) b->sum += (uintptr_t)cradle_handle_get(b->m, b->handle);
}

static void handle_set_young(bench *b) CRADLE_MAY_COLLECT {
  for (int i = 0; i < OPERATIONS; i++) cradle_handle_set(b->m, b->handle, CRADLE_NEW(b->m, node, T_NODE));
  cradle_handle_set(b->m, b->handle, b->old);
}

typedef struct row {
  const char *name;
  void (*run)(bench *b);
  int operations;
} row;
static const row rows[] = {
    {"allocate 16 bytes", allocate, OPERATIONS},
    {"allocate and hash, an object", hash_young, OPERATIONS},
    {"hash again", hash_again, OPERATIONS},
    {"allocate and id, an object", id_young, OPERATIONS},
    {"id again", id_again, OPERATIONS},
    {"object of id", object_of_id, OPERATIONS},
    {"pin and unpin, old", pin_old, OPERATIONS},
    {"allocate, pin and unpin, young", pin_young, OPERATIONS / 10},
    {"allocate pinned 64 bytes and unpin", new_pinned, OPERATIONS},
    {"handle new and free, old", handle_new_free, OPERATIONS},
    {"handle get", handle_get, OPERATIONS},
    {"allocate and handle set, young", handle_set_young, OPERATIONS},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* --- collections with a million entries of each kind --- */

static double minor_ns(bench *b) CRADLE_MAY_COLLECT {
  enum { MINORS = 1000 };
  uint64_t begin = cpu_now_ns();
  for (int i = 0; i < MINORS; i++) cradle_collect(b->m, CRADLE_COLLECT_MINOR);
  return (double)(cpu_now_ns() - begin) / MINORS;
}

static double major_ms(bench *b) CRADLE_MAY_COLLECT {
  uint64_t begin = cpu_now_ns();
  cradle_collect(b->m, CRADLE_COLLECT_MAJOR);
  return (double)(cpu_now_ns() - begin) / 1e6;
}

/* The longest increment of a major collection in increments of 0.1 ms. */
static double worst_step_ms(bench *b) CRADLE_MAY_COLLECT {
  uint64_t worst = 0;
  for (bool complete = false; !complete;) {
    uint64_t begin = cpu_now_ns();
    complete = cradle_collect_step(b->m, 100000);
    uint64_t ns = cpu_now_ns() - begin;
    if (ns > worst) worst = ns;
  }
  return (double)worst / 1e6;
}

static void tell(bench *b, const char *what) CRADLE_MAY_COLLECT {
  double minor = minor_ns(b), major = major_ms(b);
  printf("  %-32s %10.0f ns %10.1f ms %8.2f ms\n", what, minor, major, worst_step_ms(b));
}

static void with_a_million(bench *b) CRADLE_MAY_COLLECT {
  printf("\n  %-32s %13s %13s %11s\n", "a million", "empty minor", "major", "worst step");
  vector *all = CRADLE_NEW_ARRAY(b->m, vector, T_VECTOR, item, length, OPERATIONS);
  CRADLE_ROOT(b->m, all);
  for (int i = 0; i < OPERATIONS; i++) {
    node *fresh = CRADLE_NEW(b->m, node, T_NODE);
    cradle_store(b->m, all, &all->item[i], fresh);
  }
  cradle_collect(b->m, CRADLE_COLLECT_MAJOR);
  tell(b, "objects");
  for (int i = 0; i < OPERATIONS; i++) b->sum += cradle_identity_hash(b->m, all->item[i]);
  tell(b, "and hashed");
  for (int i = 0; i < OPERATIONS; i++) b->handles[i] = cradle_handle_new(b->m, all->item[i]);
  tell(b, "and handles");
  for (int i = 0; i < OPERATIONS; i++) b->sum += cradle_id(b->m, all->item[i]);
  tell(b, "and ids");
  for (int i = 0; i < OPERATIONS; i++) b->sum += (uintptr_t)cradle_pin(b->m, all->item[i]);
  tell(b, "and pinned");
}

int main(int argc, char **argv) CRADLE_UNCHECKED_COLLECTION {
  int turns = argc > 1 ? atoi(argv[1]) : 9;
  if (turns < 1 || turns > TURNS_MOST) {
    fprintf(stderr, "identity: TURNS: 1 to %d\n", TURNS_MOST);
    return 2;
  }
  cradle_options options;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = T_COUNT;
  options.nursery_bytes = (size_t)4 << 20;
  cradle_error error;
  bench b = {.heap = cradle_heap_new(&options, &error)};
  b.handles = malloc(OPERATIONS * sizeof *b.handles);
  if (b.heap == NULL || b.handles == NULL || (b.m = cradle_mutator_new(b.heap)) == NULL) {
    fprintf(stderr, "identity: %s\n", b.heap == NULL ? error.message : "memory was refused");
    return 1;
  }
  cradle_global_root_add(b.heap, &b.old, CRADLE_KIND_REFERENCE);
  b.old = CRADLE_NEW(b.m, node, T_NODE);
  cradle_collect(b.m, CRADLE_COLLECT_MAJOR);
  b.handle = cradle_handle_new(b.m, b.old);
  static double ns[ROWS][TURNS_MOST];
  for (int turn = 0; turn < turns; turn++)
    for (int i = 0; i < ROWS; i++) {
      uint64_t begin = cpu_now_ns();
      rows[i].run(&b);
      ns[i][turn] = (double)(cpu_now_ns() - begin) / rows[i].operations;
    }
  for (int i = 0; i < ROWS; i++) printf("  %-40s %8.2f ns\n", rows[i].name, median_of(ns[i], (size_t)turns));
  with_a_million(&b);
  return b.sum == 42;
}
