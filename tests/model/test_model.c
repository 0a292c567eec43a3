/* Compares a heap with a simple model of it, through random operations from a seed.
 *
 * Arguments: --seed N --ops N --nursery BYTES --stress N --quarantine N --verify 1 --threads N --turns N --delays N.
 * Without a seed, several seeds and nursery sizes are run. The first difference from the model ends the program; it
 * prints the seed and the number of the operation, so that the run can be repeated.
 *
 * With threads, each minor collection has a team, and a thread marks beside. --turns and --delays are seeds of orders
 * in which the team's workers come (tests/model/turns.h), in test_model-small only.
 */
#include "tests/model/model_operations.h"
#ifndef MODEL_PUBLIC
#include "tests/model/turns.h"
#endif

#include <ctype.h>

static void step(world *w) CRADLE_MAY_COLLECT {
  if (w->op % 64 == 0) look_while_clearing(w);
  if (below(w, 10) == 0) {
    identity_step(w);
    return;
  }
  if (below(w, 12) == 0) {
    stack_step(w);
    return;
  }
  uint64_t which = below(w, 1000);
  if (which < 300)
    op_allocate_into_root(w);
  else if (which < 600)
    op_allocate_into_object(w);
  else if (which < 800)
    op_store(w);
  else if (which < 810)
    op_store_many(w);
  else if (which < 822)
    op_store_pair(w);
  else if (which < 832)
    op_weak_set(w);
  else if (which < 836)
    op_finalize(w, false);
  else if (which < 838)
    op_register(w);
  else if (which < 842)
    op_secret(w);
  else if (which < 844)
    op_shorten(w);
  else if (which < 856)
    op_copy(w);
  else if (which < 880)
    op_drop(w);
  else if (which < 940)
    op_push(w);
  else if (which < 975)
    op_pop(w);
  else if (which < 985)
    op_poke(w);
  else if (which < 995)
    op_immediate(w);
  else if (w->op % 64 == 0)
    look(w, false);
  else
    op_collect(w);
}

static uint64_t moved_old, recorded, beside, helped; /* summed over all runs */
static uint32_t threads;

/* false: the library does not ask for turns. */
static bool set_turns(uint64_t turns, uint64_t delays) {
#ifdef MODEL_PUBLIC
  return turns == 0 && delays == 0;
#else
  return (turns == 0 || turns_take(turns)) && (delays == 0 || turns_delay(delays));
#endif
}

static void set_team(cradle_heap *heap) {
#ifdef MODEL_PUBLIC
  (void)heap;
#else
  if (threads != 0) turns_always(heap);
#endif
}

static uint64_t run(uint64_t seed, uint64_t ops, size_t nursery, uint64_t stress, size_t quarantine, bool verify) {
  world w;
  cradle_options options;
  choose_options(&options, seed, seed + seed / 100, nursery, stress, quarantine, verify);
  options.gc_threads = threads;
  open_world(&w, seed, &options);
  set_team(w.heap);
  start_mutator(&w);
  for (w.op = 0; w.op < ops; w.op++) step(&w);
  check_last(&w);
  cradle_statistics stats;
  cradle_heap_statistics(w.heap, &stats, sizeof stats);
  if (stats.moved_objects == 0 || stats.major_collections == 0) differ(&w, "the run moved nothing or marked nothing");
  moved_old += stats.moved_old_objects;
  recorded += stats.recorded_slots;
  beside += stats.beside_objects;
  helped += stats.helped_objects;
  close_world(&w);
  return stats.moved_objects;
}

static uint64_t argument(int argc, char **argv, const char *name, uint64_t otherwise) {
  for (int i = 1; i + 1 < argc; i += 2)
    if (strcmp(argv[i], name) == 0) return strtoull(argv[i + 1], NULL, 0);
  return otherwise;
}

/* Whether the arguments are names, each followed by a number. */
static bool understood(int argc, char **argv) {
  static const char *const names[] = {"--seed",   "--ops",     "--nursery", "--stress", "--quarantine",
                                      "--verify", "--threads", "--turns",   "--delays"};
  for (int i = 1; i < argc; i += 2) {
    size_t name = 0;
    while (name < sizeof names / sizeof *names && strcmp(argv[i], names[name]) != 0) name++;
    if (name == sizeof names / sizeof *names || i + 1 == argc || !isdigit((unsigned char)*argv[i + 1])) return false;
  }
  return true;
}

int main(int argc, char **argv) {
  if (!understood(argc, argv)) {
    fprintf(stderr,
            "usage: %s [--seed N] [--ops N] [--nursery BYTES] [--stress N] [--quarantine N] [--verify 1]"
            " [--threads N] [--turns N] [--delays N]\n",
            argv[0]);
    return 2;
  }
  uint64_t ops = argument(argc, argv, "--ops", 20000), moved = 0;
  threads = (uint32_t)argument(argc, argv, "--threads", 0);
  if (!set_turns(argument(argc, argv, "--turns", 0), argument(argc, argv, "--delays", 0))) {
    fprintf(stderr, "%s: --turns and --delays are for test_model-small\n", argv[0]);
    return 2;
  }
  if (argc > 1 && argument(argc, argv, "--seed", 0) != 0) {
    moved = run(argument(argc, argv, "--seed", 1), ops, argument(argc, argv, "--nursery", 65536),
                argument(argc, argv, "--stress", 0), argument(argc, argv, "--quarantine", 0),
                argument(argc, argv, "--verify", 0) != 0);
  } else {
    static const size_t nurseries[] = {4096, 5000, 16384, 65536, 262144, 1 << 20, 4 << 20};
    for (size_t i = 0; i < sizeof nurseries / sizeof *nurseries; i++)
      for (uint64_t seed = 1; seed <= 2; seed++) moved += run(seed + i * 100, ops, nurseries[i], 0, 0, false);
    moved += run(77, ops / 15, 4096, 1, 0, false);
    moved += run(78, ops / 5, 65536, 7, 0, false);
    moved += run(79, ops / 15, 16384, 3, 2, false);
    for (uint64_t seed = 90; seed < 93; seed++) moved += run(seed, ops / 3, 16384, 0, seed == 92 ? 4 : 0, true);
    if (moved_old < 300 || recorded < 100 || looks_while_clearing < 3) {
      printf("the runs moved %llu old objects (300 are wanted), recorded %llu slots (100) and looked %llu times while "
             "the dead were found (3)\n",
             (unsigned long long)moved_old, (unsigned long long)recorded, (unsigned long long)looks_while_clearing);
      return 1;
    }
    if (threads != 0 && beside < 1000) {
      printf("the second core traced hardly an object\n");
      return 1;
    }
  }
  /* Without turns, the machine decides whether a helper comes in time. */
  if (argument(argc, argv, "--turns", 0) != 0 && helped == 0) {
    printf("the helpers promoted no object\n");
    return 1;
  }
  /* Every run must print the same (tests/programs/sweep.py), so the counts, which depend on the collections, go to
   * stderr. */
  printf("no difference\n");
  fprintf(stderr,
          "%llu objects moved, %llu of them old, %llu traced beside, %llu promoted by helpers, %llu looks between "
          "marking and sweeping\n",
          (unsigned long long)moved, (unsigned long long)moved_old, (unsigned long long)beside,
          (unsigned long long)helped, (unsigned long long)looks_while_clearing);
  return 0;
}
