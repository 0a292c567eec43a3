/* service-loop KIND N: allocates N objects of three words with a service, all of which die young, and has no other
 * work; or, for the kind minor, makes N minor collections of an empty nursery on a heap that never had a service.
 * tests/programs/test_service_cost.py counts its instructions for N and 2 N: the difference is what one of them costs
 * from allocation to death.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cradle/cradle.h>

#define LOOP_NURSERY_BYTES ((size_t)1 << 20)

enum { T_PLAIN, T_WEAK, T_EPHEMERON, T_FINAL, T_FILE, T_COUNT, QUEUE = 1 };

typedef struct thing {
  uint64_t header;
  void *first, *second;
} thing;

static uint64_t destroyed;
static void destroy(void *user, void *object) {
  (void)user;
  (void)object;
  destroyed++;
}

static const cradle_type types[T_COUNT] = {
    [T_PLAIN] = {.name = "plain", .size = sizeof(thing)},
    [T_WEAK] = {.name = "weak", .size = sizeof(thing), .weak = CRADLE_SLOT(thing, first)},
    [T_EPHEMERON] = {.name = "ephemeron", .size = sizeof(thing), .ephemerons = CRADLE_SLOT(thing, first)},
    [T_FINAL] = {.name = "final", .size = sizeof(thing), .references = CRADLE_SLOT(thing, first), .finalizer = QUEUE},
    [T_FILE] = {.name = "file", .size = sizeof(thing), .destructor = destroy},
};

static void minors(cradle_mutator *m, uint32_t type, uint64_t count) CRADLE_MAY_COLLECT {
  (void)type;
  for (uint64_t i = 0; i < count; i++) cradle_collect(m, CRADLE_COLLECT_MINOR);
}

static void plain(cradle_mutator *m, uint32_t type, uint64_t count) CRADLE_MAY_COLLECT {
  (void)type;
  for (uint64_t i = 0; i < count; i++) {
    thing *object = CRADLE_NEW(m, thing, T_PLAIN);
    __asm__ volatile("" : : "r"(object) : "memory"); /* the compiler must assume that the stores are read */
  }
}

static void registered(cradle_mutator *m, uint32_t type, uint64_t count) CRADLE_MAY_COLLECT {
  for (uint64_t i = 0; i < count; i++) {
    thing *object = CRADLE_NEW_WITH(m, thing, type, 0);
    if (type == T_WEAK || type == T_EPHEMERON) object->first = object;
  }
}

static void finalizers(cradle_mutator *m, uint32_t type, uint64_t count) CRADLE_MAY_COLLECT {
  for (uint64_t i = 0; i < count; i++) {
    (void)CRADLE_NEW_WITH(m, thing, type, 0);
    while (cradle_finalizer_next(m, QUEUE) != NULL) continue;
  }
}

static const struct kind {
  const char *name;
  void (*run)(cradle_mutator *m, uint32_t type, uint64_t count);
  uint32_t type;
} kinds[] = {
    {"minor", minors, T_PLAIN},         {"plain", plain, T_PLAIN},
    {"weak", registered, T_WEAK},       {"ephemeron", registered, T_EPHEMERON},
    {"destructor", registered, T_FILE}, {"finalizer", finalizers, T_FINAL},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static bool run(const struct kind *kind, uint64_t count) CRADLE_UNCHECKED_COLLECTION {
  cradle_options options;
  cradle_error error;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = T_COUNT;
  options.nursery_bytes = LOOP_NURSERY_BYTES;
  cradle_heap *heap = cradle_heap_new(&options, &error);
  if (heap == NULL) {
    fprintf(stderr, "service-loop: %s\n", error.message);
    return false;
  }
  cradle_mutator *mutator = cradle_mutator_new(heap);
  if (mutator != NULL) kind->run(mutator, kind->type, count);
  cradle_mutator_free(mutator);
  cradle_heap_free(heap);
  return mutator != NULL;
}

int main(int argc, char **argv) {
  char *end = NULL;
  errno = 0;
  uint64_t count = argc == 3 ? strtoull(argv[2], &end, 10) : 0;
  const struct kind *kind = NULL;
  for (size_t i = 0; i < KINDS && argc == 3; i++)
    if (strcmp(argv[1], kinds[i].name) == 0) kind = &kinds[i];
  if (end == NULL || *end != '\0' || end == argv[2] || errno != 0 || kind == NULL) {
    fprintf(stderr,
            "service-loop: give a kind (minor, plain, weak, ephemeron, destructor or finalizer) and a number\n");
    return 2;
  }
  return run(kind, count) ? 0 : 1;
}
