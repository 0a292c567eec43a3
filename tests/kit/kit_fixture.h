/* A heap with the runtime kit, in each of three encodings of values, for its tests. */
#ifndef TESTS_KIT_FIXTURE_H
#define TESTS_KIT_FIXTURE_H

#include "tests/support/heap_fixture.h"

#include <cradle/kit.h>

typedef struct kit_fixture {
  fixture f;
  cradle_kit kit;
  uint64_t seed;
  bool has_immediates; /* the encoding has */
  jmp_buf out_of_memory;
} kit_fixture;

static inline uint64_t next(kit_fixture *k) {
  k->seed = k->seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
  return k->seed >> 33;
}
static inline size_t below(kit_fixture *k, size_t bound) {
  return next(k) % bound;
}
/* Stress collects and checks the heap at each allocation, so the tests do only part of the work. */
static inline int times(const kit_fixture *k, int count) {
  return k->f.stressed ? count / 20 + 1 : count;
}

enum { ENCODINGS = 3 };
#define NAN_BITS UINT64_C(0xfffc000000000000)
static inline cradle_encoding encoding_of(int which) {
  return which == 0   ? cradle_encoding_of(0, 0, 0x01)
         : which == 1 ? plain_encoding()
                      : cradle_encoding_of(NAN_BITS, NAN_BITS, 1 << 0);
}
static inline uint64_t reference(const kit_fixture *k, const void *object) {
  return (uint64_t)(uintptr_t)object | k->kit.encoding.pairs[0].pattern;
}
static inline void *object_of(const kit_fixture *k, uint64_t value) {
  return cradle_value_object(&k->kit.encoding, value);
}

CRADLE_UNCHECKED_COLLECTION static inline void open_kit(kit_fixture *k, int which, size_t heap_max) {
  cradle_options options;
  fixture_options(&k->f, &options);
  options.encoding = encoding_of(which);
  options.shadow_stack = CRADLE_KIND_VALUE;
  options.heap_max_bytes = heap_max;
  fixture_open_with(&k->f, &options);
  cradle_kit_init(&k->kit, k->f.m, cradle_kit_add_types(k->f.heap));
  k->seed = 42;
  k->has_immediates = which != 1;
}

/* Values that contain their number: even ones are immediates if the encoding has them, all others strings. */
CRADLE_MAY_COLLECT static inline uint64_t numbered(kit_fixture *k, uint64_t number) {
  if (number % 2 == 0 && k->has_immediates) return number << 3 | 1;
  return reference(k, cradle_kit_string_new(&k->kit, (const char *)&number, sizeof number));
}
static inline uint64_t number_of(const kit_fixture *k, uint64_t value) {
  const cradle_kit_string *string = object_of(k, value);
  uint64_t number = value >> 3;
  if (string != NULL) memcpy(&number, string->bytes, sizeof number);
  return number;
}

static inline void count_removed(void *data, size_t removed) {
  *(size_t *)data += removed;
}
/* A symbol table that counts in *removed, unless that is NULL, how many of its symbols died. */
static inline cradle_weak_set *new_symbols(kit_fixture *k, size_t *removed) {
  cradle_weak_set *symbols = cradle_weak_set_new(k->f.m, removed != NULL ? count_removed : NULL, removed);
  assert_non_null(symbols);
  return symbols;
}

#define FOR_EACH_ENCODING(k, test) \
  for (int which = 0; which < ENCODINGS; which++) { \
    open_kit(&(k), which, 0); \
    test(&(k)); \
    fixture_close(&(k).f); \
  }

#endif
