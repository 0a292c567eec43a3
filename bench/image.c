/* Heap images: the time until a program with a library of objects answers, and what memory it takes.
 *
 *   image [OBJECTS [--sealed]]      a million objects of 48 bytes by default
 *
 * Each row is a process of its own, so that its memory is its own: built anew; the image loaded at its address;
 * elsewhere, by one thread and by two; with types of other numbers; by ten processes at once. "ready" is the time until
 * the first object is read, "walked" until all were. Rows that end in "again" are medians of loads that a process makes
 * after its first one: without the first touches of code, stacks and tables. Memory is what the kernel says of the
 * process (private and shared, in MiB) when it is ready and when it has walked; private contains what every process
 * has. Then a major collection; its instructions are best counted by callgrind. Linux only. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cradle/cradle.h>

typedef struct node {
  uint64_t header, number;
  struct node *left, *right;
  uint64_t payload[2];
} node;
typedef struct vector {
  uint64_t header, length;
  node *item[];
} vector;

enum { T_NODE, T_VECTOR, T_COUNT };
static const cradle_type types[] = {
    [T_NODE] = {.name = "node", .size = sizeof(node), .references = CRADLE_SLOT(node, left) | CRADLE_SLOT(node, right)},
    [T_VECTOR] = {.name = "vector",
                  .size = sizeof(vector),
                  .items = CRADLE_ITEMS_REFERENCES,
                  .item_size = 8,
                  .length_offset = offsetof(vector, length)},
    [T_COUNT] = {.name = "other", .size = 16},
};

#define IMAGE_BASE ((void *)(uintptr_t)0x200000000000)
#define OTHER_BASE ((void *)(uintptr_t)0x210000000000)

enum { LOADS = 21 };

static size_t objects = 1000000;
static bool sealed;
static char path[] = "/tmp/cradle-bench-image-XXXXXX";
static uint64_t begun;

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
static double passed_ms(void) {
  return (double)(now_ns() - begun) / 1e6;
}

static void memory_mib(double *own, double *shared) {
  char line[256];
  unsigned long kib;
  FILE *file = fopen("/proc/self/smaps_rollup", "r");
  *own = *shared = 0;
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "Private_Clean: %lu", &kib) == 1 || sscanf(line, "Private_Dirty: %lu", &kib) == 1)
      *own += (double)kib / 1024;
    if (sscanf(line, "Shared_Clean: %lu", &kib) == 1 || sscanf(line, "Shared_Dirty: %lu", &kib) == 1)
      *shared += (double)kib / 1024;
  }
  if (file != NULL) fclose(file);
}

static cradle_heap *make_heap(void *base, const cradle_image *image, bool renumbered, uint32_t threads) {
  cradle_options options;
  cradle_error error;
  static cradle_type other[T_COUNT + 1];
  memcpy(other, types, sizeof types);
  other[T_VECTOR] = types[T_COUNT];
  other[T_COUNT] = types[T_VECTOR];
  cradle_options_init(&options);
  options.types = renumbered ? other : types;
  options.type_count = T_COUNT + 1;
  options.base_address = base;
  options.image = image;
  options.gc_threads = threads;
  cradle_heap *heap = cradle_heap_new(&options, &error);
  if (heap == NULL) {
    fprintf(stderr, "image: %s\n", error.message);
    exit(1);
  }
  return heap;
}

/* A heap, and a tree of nodes in it that fills a vector. */
CRADLE_UNCHECKED_COLLECTION static vector *build(cradle_mutator *m) {
  vector *all = CRADLE_NEW_ARRAY(m, vector, T_VECTOR, item, length, objects);
  CRADLE_ROOT(m, all);
  for (size_t i = 0; i < objects; i++) {
    node *n = CRADLE_NEW(m, node, T_NODE);
    n->number = i;
    if (i > 0) n->left = all->item[i / 2];
    if (i > 1) n->right = all->item[i - 1];
    cradle_store(m, all, &all->item[i], n);
  }
  return all;
}

static uint64_t walk(const vector *all) {
  uint64_t sum = 0;
  for (size_t i = 0; i < objects; i++) sum += all->item[i]->number;
  return sum;
}

CRADLE_UNCHECKED_COLLECTION static void tell(const char *name, cradle_heap *heap, cradle_mutator *m, vector *all) {
  double own, shared, own_walked, shared_walked;
  uint64_t first = all->item[objects / 2]->number;
  double ready = passed_ms();
  memory_mib(&own, &shared);
  if (first + walk(all) == 0) abort();
  double walked = passed_ms();
  memory_mib(&own_walked, &shared_walked);
  CRADLE_ROOT(m, all);
  uint64_t before = now_ns();
  cradle_collect(m, CRADLE_COLLECT_MAJOR);
  printf("%-22s %9.2f %9.2f   %7.1f %7.1f   %7.1f %7.1f   %8.2f\n", name, ready, walked, own, shared, own_walked,
         shared_walked, (double)(now_ns() - before) / 1e6);
  fflush(stdout);
  (void)heap;
}

CRADLE_UNCHECKED_COLLECTION static void build_anew(void) {
  begun = now_ns();
  cradle_heap *heap = make_heap(IMAGE_BASE, NULL, false, 0);
  cradle_mutator *m = cradle_mutator_new(heap);
  vector *all = build(m);
  CRADLE_ROOT(m, all);
  tell("built anew", heap, m, all);
  cradle_error error;
  cradle_image_root roots[] = {{"all", &all, CRADLE_KIND_REFERENCE}};
  cradle_image_contents contents = {.roots = roots, .root_count = 1};
  uint64_t before = now_ns();
  if (!cradle_image_save(m, path, &contents, &error)) fprintf(stderr, "image: %s\n", error.message);
  printf("%-22s %9.2f\n", "saved", (double)(now_ns() - before) / 1e6);
  fflush(stdout);
}

CRADLE_UNCHECKED_COLLECTION static void load(const char *name, void *base, bool renumbered, uint32_t threads) {
  begun = now_ns();
  cradle_image image = {.path = path, .sealed = sealed};
  cradle_heap *heap = make_heap(base, &image, renumbered, threads);
  cradle_mutator *m = cradle_mutator_new(heap);
  tell(name, heap, m, (vector *)(uintptr_t)cradle_image_root_get(heap, "all"));
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void load_again(const char *name, void *base, uint32_t threads) {
  double ready[LOADS + 1];
  for (size_t i = 0; i <= LOADS; i++) {
    begun = now_ns();
    cradle_image image = {.path = path, .sealed = sealed};
    cradle_heap *heap = make_heap(base, &image, false, threads);
    const vector *all = (const vector *)(uintptr_t)cradle_image_root_get(heap, "all");
    if (all->item[objects / 2]->number != objects / 2) abort();
    ready[i] = passed_ms();
    cradle_heap_free(heap);
  }
  qsort(ready + 1, LOADS, sizeof *ready, ascending);
  printf("%-22s %9.2f\n", name, ready[1 + LOADS / 2]);
  fflush(stdout);
}

/* The rows, and those of the ten processes last. */
enum { ROWS = 8, TEN = 10 };

static void run(int row) {
  pid_t child = fork();
  if (child != 0) return;
  switch (row) {
  case 0: build_anew(); break;
  case 1: load("at its address", NULL, false, 0); break;
  case 2: load_again("  again", NULL, 0); break;
  case 3: load("elsewhere", OTHER_BASE, false, 0); break;
  case 4: load_again("  again", OTHER_BASE, 0); break;
  case 5: load("elsewhere, two threads", OTHER_BASE, false, 1); break;
  case 6: load_again("  again", OTHER_BASE, 1); break;
  case 7: load("types renumbered", NULL, true, 0); break;
  default: load("one of ten processes", NULL, false, 0);
  }
  _exit(0);
}

int main(int argc, char **argv) {
  if (argc > 1) objects = strtoull(argv[1], NULL, 10);
  sealed = argc > 2 && strcmp(argv[2], "--sealed") == 0;
  if (objects < 4) objects = 4;
  close(mkstemp(path));
  printf("%-22s %9s %9s   %15s   %15s   %8s\n", "ms; MiB", "ready", "walked", "own, shared", "when walked", "major");
  fflush(stdout);
  for (int row = 0; row < ROWS; row++) {
    run(row);
    while (wait(NULL) > 0) continue;
  }
  for (int i = 0; i < TEN; i++) run(ROWS);
  while (wait(NULL) > 0) continue;
  unlink(path);
  return 0;
}
