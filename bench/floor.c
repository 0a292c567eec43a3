/* What the smallest program that embeds the collector costs, beside the same program on malloc and on Boehm's
 * collector: it starts, makes ten thousand small objects, and exits.
 *
 *     floor                 a table of all programs: time, memory, page faults, system calls
 *     floor create          the first heap of a process and later ones: made and freed
 *     floor run PROGRAM     one of the programs and nothing else, for strace, valgrind and the like
 *
 * "cradle" drops its objects, "cradle-kept" keeps them all in a list until its heap goes, so that they are promoted.
 * Programs with "static" are linked with the archive. Times are microseconds from posix_spawn to the end of the
 * child, the least and the median of interleaved runs. Memory and faults are what the child measures just before it
 * frees its heap. */
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cradle/cradle.h>

#include "bench/peers.h"
#include "bench/timing.h"

#define OBJECTS 10000
#define RUNS 41
#define HEAPS 41
#define PATH_BYTES 4096

extern char **environ;

static _Noreturn void fail(const char *what) {
  fprintf(stderr, "floor: %s\n", what);
  exit(1);
}

/* --- what a child measures about itself --- */

typedef struct account {
  double peak, huge; /* KiB */
  double faults;
} account;

/* The number behind the name in a file of /proc. */
static double number_in(const char *path, const char *name) {
  char text[4096] = "";
  int file = open(path, O_RDONLY);
  if (file < 0 || read(file, text, sizeof text - 1) < 0) return -1;
  close(file);
  const char *at = strstr(text, name);
  return at == NULL ? -1 : strtod(at + strlen(name), NULL);
}

static int tell_to = -1; /* the descriptor for a child's figures; -1: none */

/* Without stdio, because its buffers would be counted. */
static void tell(void) {
  if (tell_to < 0) return;
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  account told = {.faults = (double)usage.ru_minflt};
  told.peak = number_in("/proc/self/status", "VmHWM:");
  told.huge = number_in("/proc/self/smaps_rollup", "AnonHugePages:");
  if (write(tell_to, &told, sizeof told) != (ssize_t)sizeof told) _exit(1);
}

/* --- the programs --- */

typedef struct cell {
  uint64_t header;
  struct cell *next;
} cell;

static const cradle_type cell_type = {.name = "cell", .size = sizeof(cell), .references = CRADLE_SLOT(cell, next)};

static cradle_heap *open_heap(void) {
  cradle_options options;
  cradle_error error;
  cradle_options_init(&options);
  options.types = &cell_type;
  options.type_count = 1;
  cradle_heap *heap = cradle_heap_new(&options, &error);
  if (heap == NULL) fail(error.message);
  return heap;
}

CRADLE_UNCHECKED_COLLECTION static void run_cradle(bool kept) {
  static cell *list;
  cradle_heap *heap = open_heap();
  cradle_mutator *m = cradle_mutator_new(heap);
  if (m == NULL) fail("no memory for the mutator");
  if (kept) cradle_global_root_add(heap, &list, CRADLE_KIND_REFERENCE);
  for (int i = 0; i < OBJECTS; i++) {
    cell *fresh = CRADLE_NEW(m, cell, 0);
    fresh->next = kept ? list : NULL;
    list = fresh;
  }
  cradle_mutator_free(m);
  tell();
  cradle_heap_free(heap);
}

static void run_peer(peer_id id) {
  static cell *list;
  peer with;
  const char *why = peer_open(&with, id);
  if (why != NULL) fail(why);
  for (int i = 0; i < OBJECTS; i++) {
    cell *fresh = with.allocate(sizeof(cell));
    if (fresh == NULL) fail("out of memory");
    fresh->next = list;
    list = fresh; /* cradle-rootcheck: ok these are not objects of a heap */
  }
  tell();
}

static const struct program {
  const char *name;
  bool is_static;
} programs[] = {{"nothing", false},     {"malloc", false}, {"boehm", false},     {"cradle", false},
                {"cradle-kept", false}, {"cradle", true},  {"cradle-kept", true}};

enum { PROGRAMS = sizeof programs / sizeof *programs };

static void run_program(const char *name) {
  if (strcmp(name, "malloc") == 0)
    run_peer(PEER_MALLOC);
  else if (strcmp(name, "boehm") == 0)
    run_peer(PEER_BOEHM);
  else if (strcmp(name, "cradle") == 0 || strcmp(name, "cradle-kept") == 0)
    run_cradle(strcmp(name, "cradle-kept") == 0);
  else if (strcmp(name, "nothing") == 0)
    tell();
  else
    fail("no such program");
}

/* --- one heap after the other --- */

static void create(void) {
  double made[HEAPS], freed[HEAPS], both[HEAPS];
  long faults = 0;
  for (int i = 0; i < HEAPS; i++) {
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    uint64_t begin = now_ns();
    cradle_heap *heap = open_heap();
    uint64_t middle = now_ns();
    cradle_heap_free(heap);
    uint64_t end = now_ns();
    getrusage(RUSAGE_SELF, &after);
    made[i] = (double)(middle - begin) / 1e3, freed[i] = (double)(end - middle) / 1e3;
    both[i] = made[i] + freed[i];
    if (i == 0) faults = after.ru_minflt - before.ru_minflt;
  }
  printf("The first heap: made in %.0f us, freed in %.0f, both %.0f, %ld page faults\n", made[0], freed[0], both[0],
         faults);
  printf("The %d after it, medians: made in %.0f us, freed in %.0f, both %.0f\n", HEAPS - 1,
         median_of(made + 1, HEAPS - 1), median_of(freed + 1, HEAPS - 1), median_of(both + 1, HEAPS - 1));
}

/* --- children --- */

static char self[PATH_BYTES];

static const char *path_of(const struct program *program) {
  static char path[PATH_BYTES + 8];
  snprintf(path, sizeof path, "%s%s", self, program->is_static ? "-static" : "");
  return path;
}

static bool ended_well(pid_t child) {
  int status;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Microseconds; negative if the program cannot run here. */
static double time_program(const struct program *program) {
  static char run[] = "run";
  char *arguments[] = {self, run, (char *)(uintptr_t)program->name, NULL};
  pid_t child;
  uint64_t begin = now_ns();
  if (posix_spawn(&child, path_of(program), NULL, NULL, arguments, environ) != 0) return -1;
  bool well = ended_well(child);
  return well ? (double)(now_ns() - begin) / 1e3 : -1;
}

static bool ask_account(const struct program *program, account *told) {
  int ends[2];
  if (pipe(ends) != 0) fail("no pipe");
  pid_t child = fork();
  if (child == 0) {
    char number[16];
    snprintf(number, sizeof number, "%d", ends[1]);
    execl(path_of(program), self, "run", program->name, number, (char *)NULL);
    _exit(1);
  }
  close(ends[1]);
  bool got = read(ends[0], told, sizeof *told) == (ssize_t)sizeof *told;
  close(ends[0]);
  return ended_well(child) && got;
}

/* Negative where tracing is not allowed. */
static int count_calls(const struct program *program) {
  pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(1);
    execl(path_of(program), self, "run", program->name, (char *)NULL);
    _exit(1);
  }
  int stops = 0, status;
  while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
    stops++;
    ptrace(PTRACE_SYSCALL, child, NULL, NULL);
  }
  return stops > 1 ? stops / 2 : -1; /* each call stops twice, except the last */
}

static void print_row(const struct program *program, double *times) {
  account told = {-1, -1, -1};
  if (times[0] < 0 || !ask_account(program, &told)) {
    printf("| %s | does not run here |\n", program->name);
    return;
  }
  double middle = median_of(times, RUNS); /* sorts them */
  printf("| %s%s | %.0f (%.0f) | %.2f | %.0f | %.0f | %d |\n", program->name, program->is_static ? ", static" : "",
         times[0], middle, told.peak / 1024, told.huge / 1024, told.faults, count_calls(program));
}

static void print_table(void) {
  static double times[PROGRAMS][RUNS];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length < 0) fail("the program does not find itself");
  for (int run = -1; run < RUNS; run++) /* run -1 warms up */
    for (int i = 0; i < PROGRAMS; i++) {
      double time = time_program(&programs[i]);
      if (run >= 0) times[i][run] = time;
    }
  printf("A program that makes %d objects of 16 bytes: microseconds from start to end, least (median) of %d; most\n"
         "resident, MiB; on huge pages, MiB; page faults; system calls\n\n"
         "| program | us | MiB | huge | faults | calls |\n|---|---|---|---|---|---|\n",
         OBJECTS, RUNS);
  fflush(stdout);
  for (int i = 0; i < PROGRAMS; i++) {
    print_row(&programs[i], times[i]);
    fflush(stdout);
  }
}

int main(int count, char **arguments) {
  if (count >= 3 && strcmp(arguments[1], "run") == 0) {
    if (count > 3) tell_to = atoi(arguments[3]);
    run_program(arguments[2]);
  } else if (count == 2 && strcmp(arguments[1], "create") == 0) {
    create();
  } else if (count == 1) {
    print_table();
  } else {
    fprintf(stderr, "usage: floor [create | run PROGRAM]\n");
    return 2;
  }
  return 0;
}
