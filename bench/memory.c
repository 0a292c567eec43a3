/* What decides about the heap's memory: what a populated nursery saves, what a fork costs, what goes back to the
 * system.
 *
 *     memory first-touch    a nursery's first cycle, populated before it or not
 *     memory fork           a fork with a live heap of 1 GiB and what both processes pay afterwards
 *     memory give-back      4 GiB that die, and when they are back with the system
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cradle/cradle.h>

#include "bench/timing.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)
#define HUGE_BYTES (2 * MIB)
#define NURSERY_BYTES (4 * MIB)
#define TOUCH_RUNS 41
#define FORK_RUNS 7

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static void fail(const char *what) {
  fprintf(stderr, "memory: %s\n", what);
  exit(1);
}

/* --- first touch --- */

/* Microseconds to map a nursery, touch its first bytes and unmap it. */
static double touch(size_t bytes, bool huge, bool populated) {
  uint64_t begin = now_ns();
  char *mapped = mmap(NULL, NURSERY_BYTES + HUGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) fail("no memory");
  char *start = (char *)(((uintptr_t)mapped + HUGE_BYTES - 1) & ~(uintptr_t)(HUGE_BYTES - 1));
  madvise(start, NURSERY_BYTES, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  if (populated && madvise(start, NURSERY_BYTES, MADV_POPULATE_WRITE) != 0) fail("the system cannot populate");
  for (size_t at = 0; at < bytes; at += 64) ((volatile char *)start)[at] = 1;
  munmap(mapped, NURSERY_BYTES + HUGE_BYTES);
  return (double)(now_ns() - begin) / 1e3;
}

static void first_touch(void) {
  static const size_t sizes[] = {16 * KIB, 64 * KIB, 256 * KIB, MIB, 2 * MIB, 4 * MIB};
  printf("A nursery of 4 MiB is mapped, its first part written, and unmapped: microseconds, least (median) of %d,\n"
         "interleaved\n\n"
         "| written | base, lazy | base, populated | huge, lazy | huge, populated |\n|---|---|---|---|---|\n",
         TOUCH_RUNS);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    double times[4][TOUCH_RUNS];
    for (int run = -2; run < TOUCH_RUNS; run++) /* two runs warm up */
      for (int way = 0; way < 4; way++) {
        double time = touch(sizes[i], way >= 2, way % 2 == 1);
        if (run >= 0) times[way][run] = time;
      }
    printf("| %zu KiB |", sizes[i] / KIB);
    for (int way = 0; way < 4; way++) {
      double middle = median_of(times[way], TOUCH_RUNS); /* sorts them */
      printf(" %.0f (%.0f) |", times[way][0], middle);
    }
    printf("\n");
  }
}

/* --- heaps --- */

typedef struct node {
  uint64_t header;
  struct node *next;
  uint64_t filling[30];
} node;

static const cradle_type node_type = {.name = "node", .size = sizeof(node), .references = CRADLE_SLOT(node, next)};

typedef struct setting {
  cradle_heap *heap;
  cradle_mutator *m;
} setting;

CRADLE_UNCHECKED_COLLECTION static setting open_heap(cradle_hugepages policy) {
  cradle_options options;
  cradle_error error;
  cradle_options_init(&options);
  options.types = &node_type;
  options.type_count = 1;
  options.nursery_bytes = NURSERY_BYTES;
  options.hugepages_nursery = options.hugepages_arenas = policy;
  setting s = {.heap = cradle_heap_new(&options, &error)};
  if (s.heap == NULL) fail(error.message);
  s.m = cradle_mutator_new(s.heap);
  if (s.m == NULL) fail("no memory for the mutator");
  cradle_push(s.m, NULL);
  return s;
}

CRADLE_UNCHECKED_COLLECTION static void close_heap(setting *s) {
  cradle_pop_many(s->m, 1);
  cradle_mutator_free(s->m);
  cradle_heap_free(s->heap);
}

/* Adds nodes to the list on the shadow stack, or makes garbage. */
CRADLE_UNCHECKED_COLLECTION static void allocate(setting *s, size_t bytes, bool kept) {
  for (size_t made = 0; made < bytes; made += sizeof(node)) {
    node *fresh = CRADLE_NEW(s->m, node, 0);
    if (!kept) continue;
    fresh->next = (node *)(uintptr_t)*cradle_peek(s->m, 0);
    *cradle_peek(s->m, 0) = (cradle_word)(uintptr_t)fresh;
  }
}

/* Writes to the first bytes of the live list. */
static void write_live(setting *s, size_t bytes) {
  node *at = (node *)(uintptr_t)*cradle_peek(s->m, 0);
  for (size_t done = 0; done < bytes && at != NULL; done += sizeof(node), at = at->next) at->filling[0]++;
}

/* --- forks --- */

enum { PREPARE, FORK, CHILD_NURSERY, PARENT_NURSERY, PARENT_LIVE, FORK_COLUMNS };

static double since(uint64_t begin) {
  return (double)(now_ns() - begin) / 1e3;
}

/* The child's time comes through a pipe. It lives until its parent has written to what they share. */
CRADLE_UNCHECKED_COLLECTION static void fork_once(setting *s, double column[FORK_COLUMNS]) {
  int up[2], down[2];
  char byte = 0;
  if (pipe(up) != 0 || pipe(down) != 0) fail("no pipe");
  fflush(NULL);
  uint64_t begin = now_ns();
  if (!cradle_fork_prepare(s->heap, NULL)) fail("fork refused");
  column[PREPARE] = since(begin);
  begin = now_ns();
  pid_t child = fork();
  if (child == 0) {
    cradle_fork_done(s->heap);
    begin = now_ns();
    allocate(s, NURSERY_BYTES - 64 * KIB, false);
    double time = since(begin);
    close(down[1]);
    if (write(up[1], &time, sizeof time) == sizeof time && read(down[0], &byte, 1) == 0) _exit(0);
    _exit(1);
  }
  column[FORK] = since(begin);
  cradle_fork_done(s->heap);
  if (child < 0 || read(up[0], &column[CHILD_NURSERY], sizeof(double)) != sizeof(double)) fail("no child");
  begin = now_ns();
  allocate(s, NURSERY_BYTES - 64 * KIB, false);
  column[PARENT_NURSERY] = since(begin);
  begin = now_ns();
  write_live(s, 64 * MIB);
  column[PARENT_LIVE] = since(begin);
  close(up[0]), close(up[1]), close(down[0]), close(down[1]);
  waitpid(child, NULL, 0);
}

CRADLE_UNCHECKED_COLLECTION static void forks(void) {
  static const cradle_hugepages policies[] = {CRADLE_HUGEPAGES_OFF, CRADLE_HUGEPAGES_AUTO};
  static const char *const names[] = {"base", "huge"};
  printf("A heap with 1 GiB of live objects forks: microseconds, least (median) of %d\n\n"
         "| pages | prepare | fork | child fills its nursery | parent fills its nursery | "
         "parent writes to 64 MiB of live objects |\n"
         "|---|---|---|---|---|---|\n",
         FORK_RUNS);
  for (int p = 0; p < 2; p++) {
    double columns[FORK_COLUMNS][FORK_RUNS], column[FORK_COLUMNS];
    setting s = open_heap(policies[p]);
    allocate(&s, GIB, true);
    cradle_collect(s.m, CRADLE_COLLECT_FULL);
    for (int run = -1; run < FORK_RUNS; run++) {
      fork_once(&s, column);
      for (int i = 0; run >= 0 && i < FORK_COLUMNS; i++) columns[i][run] = column[i];
    }
    printf("| %s |", names[p]);
    for (int i = 0; i < FORK_COLUMNS; i++) {
      double middle = median_of(columns[i], FORK_RUNS);
      printf(" %.0f (%.0f) |", columns[i][0], middle);
    }
    cradle_memory memory;
    cradle_memory_report(s.heap, &memory, sizeof memory);
    printf("\n");
    fprintf(stderr, "%s pages: %.0f %% of the arenas' resident memory is huge after %d forks\n", names[p],
            100.0 * (double)memory.arenas.huge_bytes / (double)memory.arenas.resident_bytes, FORK_RUNS + 1);
    close_heap(&s);
  }
}

/* --- giving back --- */

static void show(const setting *s, const char *when, uint64_t begin) {
  cradle_memory memory;
  cradle_statistics stats;
  cradle_memory_report(s->heap, &memory, sizeof memory);
  cradle_heap_statistics(s->heap, &stats, sizeof stats);
  printf("| %s | %.1f | %ju | %ju | %ju | %ju |\n", when, (double)(now_ns() - begin) / 1e9,
         (uintmax_t)(memory.arenas.committed_bytes / MIB), (uintmax_t)(memory.arenas.resident_bytes / MIB),
         (uintmax_t)memory.arenas_given_back, (uintmax_t)stats.minor_collections);
}

CRADLE_UNCHECKED_COLLECTION static void give_back(void) {
  setting s = open_heap(CRADLE_HUGEPAGES_AUTO);
  printf("A heap of 4 GiB drops to 100 MiB and goes on allocating\n\n"
         "| when | s | committed, MiB | resident, MiB | arenas given back | minor collections "
         "|\n|---|---|---|---|---|---|\n");
  uint64_t begin = now_ns();
  allocate(&s, 4 * GIB, true);
  show(&s, "4 GiB are live", begin);
  *cradle_peek(s.m, 0) = 0;
  allocate(&s, 100 * MIB, true);
  begin = now_ns();
  cradle_collect(s.m, CRADLE_COLLECT_MAJOR);
  show(&s, "100 MiB are live", begin);
  for (int tenth = 1; tenth <= 100; tenth++) {
    while (now_ns() - begin < (uint64_t)tenth * 100000000u) {
      allocate(&s, MIB, false);
      usleep(10000); /* as if the program did other work */
    }
    if (tenth % 10 == 0) show(&s, "going on", begin);
  }
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf("\npeak of the process: %ld MiB\n", usage.ru_maxrss / 1024);
  close_heap(&s);
}

int main(int argc, char **argv) {
  const char *what = argc == 2 ? argv[1] : "";
  if (strcmp(what, "first-touch") == 0)
    first_touch();
  else if (strcmp(what, "fork") == 0)
    forks();
  else if (strcmp(what, "give-back") == 0)
    give_back();
  else
    return fprintf(stderr, "usage: memory first-touch | fork | give-back\n"), 2;
  return 0;
}
