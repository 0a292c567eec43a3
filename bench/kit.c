/* The runtime kit against C libraries with the same operations: kit [--quick]
 *
 * khash (in htslib's headers) and uthash with utarray keep malloc'ed memory that their user frees, in the time of the
 * next insertion; the kit's lists and maps are collected, in the time too. The containers are in variables that other
 * functions see, as a program's are. A list that one function has for itself is a case of its own: of a malloc'ed one
 * the compiler then keeps the length in a register. Each operation runs on a small container again and again, which
 * stays in the caches, and on a large one. The variants take turns; the figures are medians of the rounds, the ratios
 * medians of the rounds' ratios. Warm-up rounds come first, so that malloc and the heap already have their memory
 * from the system.
 */
#include <cradle/cradle.h>
#include <cradle/kit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/kit_work.h"
#include "bench/timing.h"

static void fail(const char *what) {
  fprintf(stderr, "kit: %s\n", what);
  exit(1);
}

/* --- the kit --- */

static cradle_heap *heap;
static cradle_kit kit;
static cradle_kit_list *list;
static cradle_kit_map *numbers, *named;
static cradle_kit_array *strings;

static uint64_t immediate(uint64_t number) {
  return number << 3 | 1;
}

static void start(void) CRADLE_GRANTS_COLLECTION;
static void start(void) {
  static const cradle_type types[CRADLE_KIT_TYPES] = {CRADLE_KIT_ROWS(0)};
  cradle_options options;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = CRADLE_KIT_TYPES;
  options.encoding = cradle_encoding_of(0, 0, 1);
  cradle_error error;
  heap = cradle_heap_new_from_environment(&options, &error);
  if (heap == NULL) fail(error.message);
  void *const roots[] = {&list, &numbers, &named, &strings};
  for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
    cradle_global_root_add(heap, roots[i], CRADLE_KIND_REFERENCE);
  cradle_mutator *mutator = cradle_mutator_new(heap);
  if (mutator == NULL) fail("no memory for the mutator");
  cradle_kit_init(&kit, mutator, 0);
}

/* The strings are made before the clock starts and are new for each size, so insertion computes their hashes and lookup
 * finds them stored. */
CRADLE_MAY_COLLECT static void make_strings(const kit_work *w) {
  strings = cradle_kit_array_new(&kit, w->size);
  for (size_t i = 0; i < w->size; i++) {
    cradle_kit_string *name = cradle_kit_string_new(&kit, w->names[i], strlen(w->names[i]));
    cradle_store(kit.mutator, strings, &strings->items[i], name);
  }
}

CRADLE_UNCHECKED_COLLECTION static size_t kit_append(const kit_work *w) {
  list = cradle_kit_list_new(&kit, 0);
  for (size_t i = 0; i < w->size; i++) cradle_kit_list_append(&kit, list, w->keys[i]);
  return 0;
}
CRADLE_UNCHECKED_COLLECTION static size_t kit_append_local(const kit_work *w) {
  list = NULL; /* drops the previous operation's list */
  cradle_kit_list *mine = cradle_kit_list_new(&kit, 0);
  CRADLE_ROOT(kit.mutator, mine);
  for (size_t i = 0; i < w->size; i++) cradle_kit_list_append(&kit, mine, w->keys[i]);
  return 0;
}
CRADLE_UNCHECKED_COLLECTION static size_t kit_insert(const kit_work *w) {
  numbers = NULL;
  numbers = cradle_kit_map_new(&kit, NULL);
  for (size_t i = 0; i < w->size; i++) cradle_kit_map_set(&kit, numbers, w->keys[i], immediate(i));
  return 0;
}
static size_t kit_count(const uint64_t *keys, size_t count) {
  size_t found = 0;
  for (size_t i = 0; i < count; i++) found += cradle_kit_map_get(&kit, numbers, keys[i], UINT64_MAX) < immediate(count);
  return found;
}
static size_t kit_find(const kit_work *w) {
  return kit_count(w->keys, w->size);
}
static size_t kit_miss(const kit_work *w) {
  return kit_count(w->absent, w->size);
}
CRADLE_UNCHECKED_COLLECTION static size_t kit_insert_names(const kit_work *w) {
  named = NULL;
  named = cradle_kit_map_new(&kit, &cradle_kit_keys_strings);
  for (size_t i = 0; i < w->size; i++) cradle_kit_map_set(&kit, named, strings->items[i], immediate(i));
  return 0;
}
static size_t kit_find_names(const kit_work *w) {
  size_t found = 0;
  for (size_t i = 0; i < w->size; i++)
    found += cradle_kit_map_get(&kit, named, strings->items[i], UINT64_MAX) < immediate(w->size);
  return found;
}
static const kit_variant kit_own = {
    "kit", {kit_append, kit_append_local, kit_insert, kit_find, kit_miss, kit_insert_names, kit_find_names}};

/* --- the comparison --- */

enum { ROUNDS_MAX = 9, WARM_UP = 4, VARIANTS = 3, FIND = 3, INSERT_NAMES = 5, FIND_NAMES = 6 };
static const char *const operation_names[KIT_OPERATIONS] = {
    "list append",        "list append, local",  "map insert",         "map lookup",
    "map lookup, absent", "map insert, strings", "map lookup, strings"};
static const kit_variant *const variants[VARIANTS] = {&kit_own, &kit_khash, &kit_uthash};

static kit_work new_work(size_t size) {
  kit_work w = {.size = size};
  w.keys = malloc(size * sizeof *w.keys);
  w.absent = malloc(size * sizeof *w.absent);
  w.names = malloc(size * sizeof *w.names);
  if (w.keys == NULL || w.absent == NULL || w.names == NULL) fail("no memory");
  for (size_t i = 0; i < size; i++) {
    uint64_t number = (i * UINT64_C(0x9E3779B97F4A7C15)) >> 8 & ~UINT64_C(1);
    w.keys[i] = immediate(number);
    w.absent[i] = immediate(number + 1);
    snprintf(w.names[i], sizeof w.names[i], "name_%llx", (unsigned long long)number);
  }
  return w;
}
static void free_work(kit_work *w) {
  free(w->keys);
  free(w->absent);
  free(w->names);
}

/* Nanoseconds an item. */
static double time_once(const kit_variant *variant, int which, const kit_work *w, size_t repetitions) {
  kit_operation *operation = variant->operations[which];
  size_t expected = which == FIND || which == FIND_NAMES ? w->size : 0;
  uint64_t begin = cpu_now_ns();
  for (size_t i = 0; i < repetitions; i++)
    if (operation(w) != expected) fail("a lookup found what it must not, or did not find what it must");
  return (double)(cpu_now_ns() - begin) / (double)(repetitions * w->size);
}

static void print_figure(const kit_variant *variant, int which, double *figures, double *ratios, size_t rounds) {
  if (variant->operations[which] == NULL) {
    printf("%11s%8s", "n/a", "");
    return;
  }
  printf("%11.2f", median_of(figures, rounds));
  if (variant == &kit_own)
    printf("%8s", "");
  else
    printf("%7.2fx", median_of(ratios, rounds));
}

static void compare(int which, const kit_work *w, size_t operations, size_t rounds) {
  double figures[VARIANTS][ROUNDS_MAX], ratios[VARIANTS][ROUNDS_MAX];
  size_t repetitions = operations / w->size > 0 ? operations / w->size : 1;
  for (size_t round = 0; round < WARM_UP + rounds; round++) {
    size_t at = round < WARM_UP ? 0 : round - WARM_UP;
    for (int v = 0; v < VARIANTS; v++) {
      if (variants[v]->operations[which] == NULL) continue;
      figures[v][at] = time_once(variants[v], which, w, repetitions);
      ratios[v][at] = figures[0][at] / figures[v][at];
    }
  }
  printf("%-20s%9zu", operation_names[which], w->size);
  for (int v = 0; v < VARIANTS; v++) print_figure(variants[v], which, figures[v], ratios[v], rounds);
  printf("\n");
}

int main(int argc, char **argv) CRADLE_UNCHECKED_COLLECTION;
int main(int argc, char **argv) {
  bool quick = argc == 2 && strcmp(argv[1], "--quick") == 0;
  if (argc > 1 && !quick) {
    fprintf(stderr, "kit: unknown argument: %s\nusage: kit [--quick]\n", argv[argc - 1]);
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* shows each line at once, because a run takes a while */
  start();
  printf("%-20s%9s%11s%8s%11s%8s%11s%8s   ns an item; ratio: kit to the library\n", "", "items", "kit", "", "khash",
         "ratio", "uthash", "ratio");
  for (size_t size = 1000; size <= 1000000; size *= 1000) {
    kit_work w = new_work(quick ? size / 100 : size);
    for (int which = 0; which < KIT_OPERATIONS; which++) {
      if (which == INSERT_NAMES) make_strings(&w);
      compare(which, &w, quick ? 10000 : 1000000, quick ? 1 : 5);
    }
    strings = NULL;
    named = NULL;
    free_work(&w);
  }
  for (int v = 1; v < VARIANTS; v++)
    if (variants[v]->operations[FIND] == NULL)
      printf("%s was not there when this was compiled; tools/setup installs it\n", variants[v]->name);
  cradle_mutator_free(kit.mutator);
  cradle_heap_free(heap);
  return 0;
}
