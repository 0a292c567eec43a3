/* table-loop KIND... N: what many entries of each table cost. For each KIND (all of them: no KIND) it makes N and then
 * 4 N entries, each time in a heap of its own, in three phases:
 *
 *   make    makes the entries, all of which stay, and looks each of them up where that can be done
 *   minor   makes MINORS minor collections; nothing of the table changes meanwhile
 *   free    frees the entries, one half in the order in which they were made and the other half in the reverse order
 *
 * It prints a line for each phase, and calls phase_is_over after it: tests/programs/test_table_cost.py has callgrind
 * count the instructions between these calls. The phases of a heap do not contain making and freeing the heap.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cradle/cradle.h>

#include "bench/timing.h"

#define MINORS 10
#define TIMES 4
#define MOST ((uint64_t)1 << 24)
#define QUEUE 1

enum { T_PLAIN, T_WEAK, T_EPHEMERON, T_FINAL, T_FILE, T_COUNT };

typedef struct thing {
  uint64_t header;
  void *first, *second;
} thing;

static void destroy(void *user, void *object) {
  (void)user;
  (void)object;
}

static const cradle_type types[T_COUNT] = {
    [T_PLAIN] = {.name = "plain", .size = sizeof(thing), .references = CRADLE_SLOT(thing, first)},
    [T_WEAK] = {.name = "weak", .size = sizeof(thing), .weak = CRADLE_SLOT(thing, first)},
    [T_EPHEMERON] = {.name = "ephemeron", .size = sizeof(thing), .ephemerons = CRADLE_SLOT(thing, first)},
    [T_FINAL] = {.name = "final", .size = sizeof(thing), .references = CRADLE_SLOT(thing, first), .finalizer = QUEUE},
    [T_FILE] = {.name = "file", .size = sizeof(thing), .destructor = destroy},
};

/* One entry of any table. */
typedef union entry {
  cradle_handle handle;
  thing *object;
  uint64_t id;
  cradle_weak_set *set;
  cradle_heap *heap;
  cradle_root_stack *stack;
  cradle_word word;
} entry;

typedef struct table {
  cradle_heap *heap;
  cradle_mutator *m;
  cradle_weak_set *set;
  cradle_root_range *ranges;
  thing *things, *one; /* memory of the program; an old object of the heap, a global root */
  entry *entries;
  uint64_t count;
} table;

static void make_heap(table *t, cradle_heap **heap) {
  cradle_options options;
  cradle_error error;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = T_COUNT;
  options.nursery_bytes = (size_t)64 << 10;
  options.reserve_bytes = (size_t)1 << (t == NULL ? 28 : 32);
  *heap = cradle_heap_new_from_environment(&options, &error);
  if (*heap != NULL) return;
  fprintf(stderr, "table-loop: %s\n", error.message);
  exit(1);
}

/* Where one half is freed in order and the other in the reverse order, the place of the i-th that is freed. */
static uint64_t place(const table *t, uint64_t i) {
  uint64_t half = (t->count + 1) / 2;
  return i < half ? 2 * i : 2 * (t->count - 1 - i) + 1;
}

/* --- the kinds: each makes or frees the entry with a number --- */

static void add_type(table *t, uint64_t i) CRADLE_MAY_COLLECT {
  t->entries[i].word = cradle_type_add(t->heap, &types[T_PLAIN]);
}

static void open_handle(table *t, uint64_t i) CRADLE_MAY_COLLECT {
  t->entries[i].handle = cradle_handle_new(t->m, CRADLE_NEW(t->m, thing, T_PLAIN));
  (void)cradle_handle_get(t->m, t->entries[i / 2].handle);
}
static void free_handle(table *t, uint64_t i) CRADLE_MAY_COLLECT {
  cradle_handle_free(t->m, t->entries[i].handle);
}

static void add_pin(table *t, uint64_t i) CRADLE_MAY_COLLECT {
  t->entries[i].object = CRADLE_NEW_WITH(t->m, thing, T_PLAIN, CRADLE_PINNED);
}
static void pin_again(table *t, uint64_t i) CRADLE_MAY_COLLECT {
  add_pin(t, i);
  (void)!cradle_pin(t->m, t->entries[i].object);
  cradle_unpin(t->m, t->entries[i].object);
}
static void unpin(table *t, uint64_t i) CRADLE_MAY_COLLECT {
  cradle_unpin(t->m, t->entries[i].object);
}

static void give_id(table *t, uint64_t i) CRADLE_MAY_COLLECT {
  thing *object = CRADLE_NEW(t->m, thing, T_PLAIN);
  t->entries[i].id = cradle_id(t->m, object);
  object->first = t->one->first;
  cradle_store(t->m, t->one, &t->one->first, object); /* keeps it and all before it */
  (void)cradle_object_of_id(t->m, t->entries[i / 2].id);
}

static void make_set(table *t, uint64_t i) CRADLE_MAY_COLLECT {
  t->entries[i].set = cradle_weak_set_new(t->m, NULL, NULL);
  cradle_weak_set_add(t->entries[i].set, i, t->one);
}
static void free_set(table *t, uint64_t i) CRADLE_MAY_COLLECT {
  cradle_weak_set_free(t->entries[i].set);
}

static bool is_it(const void *object, const void *key) {
  return object == key;
}
static void add_to_set(table *t, uint64_t i) CRADLE_MAY_COLLECT {
  if (t->set == NULL) t->set = cradle_weak_set_new(t->m, NULL, NULL);
  cradle_weak_set_add(t->set, i * 0x9e3779b97f4a7c15, t->one);
  (void)cradle_weak_set_find(t->set, i / 2 * 0x9e3779b97f4a7c15, is_it, t->one);
}
static void remove_from_set(table *t, uint64_t i) CRADLE_MAY_COLLECT {
  (void)cradle_weak_set_remove(t->set, i * 0x9e3779b97f4a7c15, t->one);
}

static void keep(table *t, uint32_t type) CRADLE_MAY_COLLECT {
  thing *object = CRADLE_NEW_WITH(t->m, thing, type, 0);
  object->first = t->one;
  CRADLE_ROOT(t->m, object);
  thing *cell = CRADLE_NEW(t->m, thing, T_PLAIN);
  cell->first = t->one->first;
  cell->second = object;
  cradle_store(t->m, t->one, &t->one->first, cell);
}
static void add_weak(table *t, uint64_t i) CRADLE_MAY_COLLECT {
  (void)i;
  keep(t, T_WEAK);
}
static void add_ephemeron(table *t, uint64_t i) CRADLE_MAY_COLLECT {
  (void)i;
  keep(t, T_EPHEMERON);
}
static void add_finalizer(table *t, uint64_t i) CRADLE_MAY_COLLECT {
  (void)i;
  keep(t, T_FINAL);
}
static void add_file(table *t, uint64_t i) CRADLE_MAY_COLLECT {
  (void)i;
  keep(t, T_FILE);
}
static void add_waiting(table *t, uint64_t i) CRADLE_MAY_COLLECT {
  (void)i;
  (void)CRADLE_NEW_WITH(t->m, thing, T_FINAL, 0);
}
static void take_waiting(table *t, uint64_t i) CRADLE_MAY_COLLECT {
  (void)i;
  (void)cradle_finalizer_next(t->m, QUEUE);
}

static void make_root_stack(table *t, uint64_t i) CRADLE_MAY_COLLECT {
  cradle_root_stack *stack = t->entries[i].stack = cradle_root_stack_new(t->m);
  cradle_root_stack *before = cradle_root_stack_switch(t->m, stack);
  cradle_push(t->m, t->one);
  (void)cradle_root_stack_switch(t->m, before);
}
static void free_root_stack(table *t, uint64_t i) CRADLE_MAY_COLLECT {
  cradle_root_stack_free(t->entries[i].stack);
}

static void save_checkpoint(table *t, uint64_t i) CRADLE_MAY_COLLECT {
  (void)i;
  cradle_checkpoint checkpoint = cradle_checkpoint_save(t->m);
  cradle_push(t->m, t->one);
  cradle_checkpoint_restore(t->m, &checkpoint);
  cradle_push(t->m, t->one);
}
static void pop_word(table *t, uint64_t i) CRADLE_MAY_COLLECT {
  (void)i;
  (void)cradle_pop(t->m);
}

static void add_global(table *t, uint64_t i) CRADLE_MAY_COLLECT {
  t->entries[i].object = t->one;
  cradle_global_root_add(t->heap, &t->entries[i].object, CRADLE_KIND_REFERENCE);
}
static void remove_global(table *t, uint64_t i) CRADLE_MAY_COLLECT {
  cradle_global_root_remove(t->heap, &t->entries[i].object);
}

static void add_range(table *t, uint64_t i) CRADLE_MAY_COLLECT {
  static cradle_word *base, *top;
  t->ranges[i] = CRADLE_ROOT_RANGE(base, top, CRADLE_KIND_REFERENCE, NULL);
  cradle_root_range_add(t->m, &t->ranges[i]);
}
static void remove_range(table *t, uint64_t i) CRADLE_MAY_COLLECT {
  cradle_root_range_remove(t->m, &t->ranges[i]);
}

/* With a mutator each, all of which are attached to this thread. */
CRADLE_UNCHECKED_COLLECTION static void make_other_heap(table *t, uint64_t i) {
  make_heap(NULL, &t->entries[i].heap);
  cradle_mutator *m = cradle_mutator_new(t->entries[i].heap);
  cradle_mutator_detach(m);
  cradle_mutator_attach(m);
  t->things[i].first = m;
}
CRADLE_UNCHECKED_COLLECTION static void free_other_heap(table *t, uint64_t i) {
  cradle_mutator_free(t->things[i].first);
  cradle_heap_free(t->entries[i].heap);
}

static const struct kind {
  const char *name;
  void (*make)(table *t, uint64_t i);
  void (*free)(table *t, uint64_t i); /* NULL: entries go with the heap */
  uint64_t share;                     /* of N: costly entries are fewer */
} kinds[] = {
    {"types", add_type, NULL, 1},
    {"handles", open_handle, free_handle, 1},
    {"pins", add_pin, unpin, 1},
    {"pins-again", pin_again, unpin, 1},
    {"ids", give_id, NULL, 1},
    {"weak-sets", make_set, free_set, 1},
    {"weak-set", add_to_set, remove_from_set, 1},
    {"weak-slots", add_weak, NULL, 1},
    {"ephemerons", add_ephemeron, NULL, 1},
    {"finalizers", add_finalizer, NULL, 1},
    {"waiting", add_waiting, take_waiting, 1},
    {"destructors", add_file, NULL, 1},
    {"root-stacks", make_root_stack, free_root_stack, 1},
    {"checkpoints", save_checkpoint, pop_word, 1},
    {"globals", add_global, remove_global, 1},
    {"ranges", add_range, remove_range, 1},
    {"heaps", make_other_heap, free_other_heap, 200},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* callgrind writes what it counted when this is called. */
CRADLE_NOINLINE void phase_is_over(void);
CRADLE_NOINLINE void phase_is_over(void) {
  __asm__ volatile("");
}

static void say(const struct kind *kind, uint64_t count, const char *phase, uint64_t since_ns) {
  phase_is_over();
  printf("%s %llu %s %.6f\n", kind->name, (unsigned long long)count, phase, (double)(cpu_now_ns() - since_ns) / 1e9);
  fflush(stdout);
  phase_is_over();
}

static void run_phases(table *t, const struct kind *kind) CRADLE_MAY_COLLECT {
  phase_is_over();
  uint64_t since = cpu_now_ns();
  for (uint64_t i = 0; i < t->count; i++) kind->make(t, i);
  say(kind, t->count, "make", since);
  cradle_collect(t->m, CRADLE_COLLECT_MINOR); /* what was young is settled */
  phase_is_over();
  since = cpu_now_ns();
  for (int i = 0; i < MINORS; i++) cradle_collect(t->m, CRADLE_COLLECT_MINOR);
  say(kind, t->count, "minor", since);
  since = cpu_now_ns();
  for (uint64_t i = 0; i < t->count && kind->free != NULL; i++) kind->free(t, place(t, i));
  say(kind, t->count, "free", since);
}

static void run(const struct kind *kind, uint64_t count) CRADLE_UNCHECKED_COLLECTION {
  table t = {.count = count};
  make_heap(&t, &t.heap);
  t.m = cradle_mutator_new(t.heap);
  t.entries = calloc(count + 1, sizeof *t.entries);
  t.things = calloc(count + 1, sizeof *t.things);
  t.ranges = calloc(count + 1, sizeof *t.ranges);
  if (t.m == NULL || t.entries == NULL || t.things == NULL || t.ranges == NULL) exit(1);
  cradle_global_root_add(t.heap, &t.one, CRADLE_KIND_REFERENCE);
  t.one = CRADLE_NEW(t.m, thing, T_PLAIN);
  cradle_collect(t.m, CRADLE_COLLECT_MINOR);
  run_phases(&t, kind);
  cradle_weak_set_free(t.set);
  cradle_mutator_free(t.m);
  cradle_heap_free(t.heap);
  free(t.entries);
  free(t.things);
  free(t.ranges);
}

int main(int argc, char **argv) {
  char *end = NULL;
  errno = 0;
  uint64_t count = argc >= 2 ? strtoull(argv[argc - 1], &end, 10) : 0;
  bool understood = argc >= 2 && *end == '\0' && end != argv[argc - 1] && errno == 0 && count > 0 && count <= MOST;
  for (size_t i = 0, named; i < KINDS && understood; i++) {
    named = argc == 2;
    for (int j = 1; j < argc - 1; j++) named |= strcmp(argv[j], kinds[i].name) == 0;
    for (uint64_t n = count; named && n <= TIMES * count; n *= TIMES)
      run(&kinds[i], (n + kinds[i].share - 1) / kinds[i].share);
  }
  if (!understood) fprintf(stderr, "table-loop: give kinds of entries, or none for all of them, and a number\n");
  return understood ? 0 : 2;
}
