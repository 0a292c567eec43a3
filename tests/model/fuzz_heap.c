/* The model test with bytes in place of the random numbers: a fuzzer looks for bytes under which heap and model differ.
 *
 * The first four bytes choose nursery, stress mode, increments, encoding, verifier and quarantine, every operation
 * takes one or more of the others, and the run is over when they are used up. Two programs are made of this file: with
 * libFuzzer or AFL++ (FUZZ_ENGINE: they have the main function), which tools/fuzz builds and runs, and one that replays
 * files, which is a test:
 *
 *     fuzz_heap [--whole] [--twice] [--threads] FILE-OR-FOLDER...
 *
 * An input is looked at as tests/model/fuzz_sample.h says, so that what an engine found is found again; with --whole
 * all of it, after each collection. With --twice each is run again, after others, and must be the same run.
 *
 * With --threads, or in an engine with FUZZ_THREADS=1 in the environment, a second core marks beside each run. Then the
 * same bytes are not always the same run: the thread is as quick as the machine lets it be.
 */
#include <dirent.h>
#include <limits.h>
#include <setjmp.h>
#include <unistd.h>

#include "tests/model/fuzz_sample.h"
#include "tests/model/fuzz_system.h"
#include "tests/model/model_operations.h"

#define BYTES_MOST 4096

/* One fixed machine for all inputs: the same bytes give the same run everywhere, and nothing is detected again. */
static const cradle_hardware *machine(void) {
  static cradle_hardware hardware = {.l2_bytes = (size_t)1 << 20, .memory_bytes = (size_t)8 << 30};
  hardware.page_bytes = (size_t)sysconf(_SC_PAGESIZE);
  return &hardware;
}

/* From here on memory may be refused, either for a while or until something inspects the heap. */
static void op_refuse(world *w) {
  unsigned after = (unsigned)below(w, 16), count = (unsigned)below(w, 16);
  system_refuse(after, count == 0 ? UINT_MAX : count);
  w->was_refused = true;
}

static void fuzz_step(world *w) CRADLE_MAY_COLLECT {
  uint64_t which = below(w, 256);
  switch (which < 240 ? which % 24 : which - 240 + 24) {
  case 24:
  case 25:
  case 26: op_secret(w); break;
  case 27:
  case 28:
  case 29: op_take(w); break;
  case 30: op_shorten(w); break;
  case 32:
  case 33:
  case 34:
  case 35: op_immediate(w); break;
  case 36:
  case 37:
  case 38:
  case 39: stack_step(w); break;
  case 31: op_poke(w); break;
  case 0:
  case 1:
  case 2:
  case 3: op_allocate_into_root(w); break;
  case 4:
  case 5:
  case 6: op_allocate_into_object(w); break;
  case 7:
  case 8:
  case 9: op_store(w); break;
  case 10: op_store_many(w); break;
  case 11: op_drop(w); break;
  case 12: op_push(w); break;
  case 13: op_pop(w); break;
  case 14: op_store_pair(w); break;
  case 15: op_weak_set(w); break;
  case 16: op_finalize(w, false); break;
  case 17: op_copy(w); break;
  case 18:
  case 19: identity_step(w); break;
  case 20: look_while_clearing(w); break;
  case 21: op_register(w); break;
  case 22: op_refuse(w); break;
  default: op_collect(w); break;
  }
}

static uint32_t threads;
static jmp_buf step_end;

/* Something was refused: the operation ends before it changed anything. Every second time the call returns, and the
 * operation calls this function with an empty message (granted). */
static void end_step(void *data, cradle_mutator *m, size_t size, const char *message) {
  world *w = data;
  (void)m, (void)size;
  if (!w->was_refused) differ(w, "memory ran out");
  if (message[0] != '\0' && w->shortages++ % 2 == 0) return;
  longjmp(step_end, 1);
}

static void fuzz_steps(world *w) CRADLE_MAY_COLLECT {
  cradle_checkpoint checkpoint;
  for (; w->choice < w->choices_end; w->op++) {
    checkpoint = cradle_checkpoint_save(w->m);
    if (threads != 0) system_await_round(w->heap);
    if (setjmp(step_end) == 0)
      fuzz_step(w);
    else
      cradle_checkpoint_restore(w->m, &checkpoint);
  }
}

/* A stressed run in which nothing moved is refused. */
static void move_something(world *w) CRADLE_MAY_COLLECT {
  void *moves = cradle_new(w->m, T_NODE, sizeof(node));
  cradle_push(w->m, moves);
  cradle_collect(w->m, CRADLE_COLLECT_MINOR);
  (void)cradle_pop(w->m);
}

/* What a run was like. */
typedef struct digest {
  uint64_t operations, bytes_left, objects, comparisons, deliveries, random;
  long long clock_ns;
  cradle_statistics statistics; /* before the end */
} digest;
static digest last_run;

static void describe_run(const world *w, const unsigned char *data_end) {
  memset(&last_run, 0, sizeof last_run); /* padding, too: digests are compared as bytes */
  last_run.operations = w->op;
  last_run.bytes_left = (uint64_t)(data_end - w->choice);
  last_run.objects = w->count;
  last_run.comparisons = w->comparisons;
  last_run.deliveries = w->deliveries;
  last_run.random = w->seed;
  cradle_heap_statistics(w->heap, &last_run.statistics, sizeof last_run.statistics);
}

/* Can be called at any time: the end of the heap takes care of pins and handles. */
static void leave_world(world *w) CRADLE_REVOKES_COLLECTION {
  compare(w, false);
  take_world_apart(w);
  free(w->identity);
}

static void end_run(world *w) CRADLE_REVOKES_COLLECTION {
  cradle_error error;
  if (!sample_end_is_due()) {
    move_something(w);
    leave_world(w);
    return;
  }
  if (!cradle_heap_verify(w->heap, &error)) differ(w, error.message);
  check_last(w);
  move_something(w);
  close_world(w);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  static const size_t nurseries[] = {4096, 5000, 16384, 65536};
  static const uint64_t periods[] = {0, 0, 1, 7};
  memset(&last_run, 0, sizeof last_run);
  if (size < 4 || size > BYTES_MOST) return 0;
  system_reset();
  sample_begin(data, size);
  world w;
  cradle_options options;
  choose_options(&options, data[2] % 3, data[2] / 3, nurseries[data[0] % 4], periods[data[1] % 4],
                 data[3] / 4 % 4 == 3 ? 2 : 0, data[3] % 4 != 0);
  options.hardware = machine();
  /* clearing one takes longer than most inputs */
  options.hugepages_nursery = options.hugepages_arenas = CRADLE_HUGEPAGES_OFF;
  options.gc_threads = threads;
  options.on_out_of_memory = end_step;
  options.user = &w;
  open_world(&w, data[2] % 3, &options);
  w.choice = data + 4;
  w.choices_end = data + size;
  w.before_look = system_heal; /* looking needs memory itself */
  w.look_is_due = sample_is_due;
  start_mutator(&w);
  fuzz_steps(&w);
  system_heal();
  describe_run(&w, data + size);
  end_run(&w);
  last_run.clock_ns = system_clock_ns();
  if (system_mapped_bytes() != 0) {
    fprintf(stderr, "fuzz_heap: the heap left %zu bytes of address space\n", system_mapped_bytes());
    abort();
  }
  return 0;
}

#ifdef FUZZ_ENGINE
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  const char *wanted = getenv("FUZZ_THREADS");
  if (wanted != NULL && strcmp(wanted, "1") == 0) threads = 1;
  return 0;
}
#else
typedef struct input {
  unsigned char bytes[BYTES_MOST];
  size_t size;
  digest digest; /* of its first run */
} input;
static input *inputs;
static size_t input_count;

static bool refuse(const char *name) {
  fprintf(stderr, "fuzz_heap: %s cannot be read\n", name);
  return false;
}

static bool read_file(const char *name) {
  FILE *file = fopen(name, "rb");
  if (file == NULL) return refuse(name);
  inputs = realloc(inputs, (input_count + 1) * sizeof *inputs);
  if (inputs == NULL) abort();
  input *next = &inputs[input_count++];
  next->size = fread(next->bytes, 1, sizeof next->bytes, file);
  fclose(file);
  return true;
}

static bool read_all(const char *name) {
  DIR *folder = opendir(name);
  if (folder == NULL) return read_file(name);
  bool done = true;
  for (const struct dirent *entry; done && (entry = readdir(folder)) != NULL;) {
    char path[4096];
    if (entry->d_name[0] == '.') continue;
    int length = snprintf(path, sizeof path, "%s/%s", name, entry->d_name);
    done = length < (int)sizeof path ? read_file(path) : refuse(entry->d_name);
  }
  closedir(folder);
  return done;
}

/* Runs each input again after the inputs behind it. The run must be the same: no input leaves state for another. */
static bool repeat(void) {
  for (size_t i = input_count; i-- > 0;) {
    LLVMFuzzerTestOneInput(inputs[i].bytes, inputs[i].size);
    if (memcmp(&last_run, &inputs[i].digest, sizeof last_run) == 0) continue;
    fprintf(stderr,
            "fuzz_heap: input %zu of %zu is another run the second time: %llu operations, clock %lld; %llu, %lld\n", i,
            input_count, (unsigned long long)inputs[i].digest.operations, inputs[i].digest.clock_ns,
            (unsigned long long)last_run.operations, last_run.clock_ns);
    return false;
  }
  return true;
}

static int usage(void) {
  fputs("usage: fuzz_heap [--whole] [--twice] [--threads] FILE-OR-FOLDER...\n", stderr);
  return 2;
}

int main(int argc, char **argv) {
  bool twice = false;
  int at = 1;
  for (; at < argc && argv[at][0] == '-'; at++) {
    if (strcmp(argv[at], "--whole") == 0)
      sample_all();
    else if (strcmp(argv[at], "--twice") == 0)
      twice = true;
    else if (strcmp(argv[at], "--threads") == 0)
      threads = 1;
    else
      return usage();
  }
  if (at == argc || (twice && threads != 0)) return usage();
  for (; at < argc; at++)
    if (!read_all(argv[at])) return 1;
  uint64_t traced_beside = 0;
  for (size_t i = 0; i < input_count; i++) {
    LLVMFuzzerTestOneInput(inputs[i].bytes, inputs[i].size);
    inputs[i].digest = last_run;
    traced_beside += last_run.statistics.beside_objects;
  }
  if (twice && !repeat()) return 1;
  if (threads != 0 && traced_beside == 0) {
    fputs("fuzz_heap: the second core traced no object\n", stderr);
    return 1;
  }
  printf("%zu files replayed, no difference\n", input_count);
  if (traced_beside != 0) fprintf(stderr, "%llu objects traced beside\n", (unsigned long long)traced_beside);
  free(inputs);
  return input_count == 0;
}
#endif
