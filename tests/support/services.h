/* Types with services, for the tests of weak slots, ephemerons, finalizers and destructors. */
#ifndef TESTS_SERVICES_H
#define TESTS_SERVICES_H

#include "tests/support/heap_fixture.h"

enum {
  T_WEAK = T_COUNT, /* a weak reference */
  T_WEAKS,          /* an array of them */
  T_EPHEMERON,
  T_EPHEMERONS,
  T_FINAL, /* with a finalizer, and a reference */
  T_FILE,  /* with a destructor and an external size */
  T_SERVICES,
};
enum { QUEUE = 1, OTHER_QUEUE = 2 };

typedef struct weak {
  uint64_t header;
  void *to;
} weak;
typedef struct weaks {
  uint64_t header, length;
  void *item[];
} weaks;
typedef struct ephemeron {
  uint64_t header;
  void *key, *value;
} ephemeron;
typedef struct ephemerons {
  uint64_t header, length;
  struct {
    void *key, *value;
  } item[];
} ephemerons;
typedef struct final {
  uint64_t header, number;
  void *to, *other;
} final;
typedef struct file {
  uint64_t header;
  int *closed;
  size_t bytes;
} file;

static inline void close_file(void *user, void *object) {
  (void)user;
  file *f = object;
  if (f->closed != NULL) ++*f->closed;
}
static inline size_t file_bytes(void *user, const void *object) {
  (void)user;
  return ((const file *)object)->bytes;
}

static const cradle_type service_types[] = {
    {.name = "weak", .size = sizeof(weak), .weak = CRADLE_SLOT(weak, to)},
    {.name = "weaks",
     .size = sizeof(weaks),
     .items = CRADLE_ITEMS_WEAK,
     .item_size = 8,
     .length_offset = offsetof(weaks, length)},
    {.name = "ephemeron", .size = sizeof(ephemeron), .ephemerons = CRADLE_SLOT(ephemeron, key)},
    {.name = "ephemerons",
     .size = sizeof(ephemerons),
     .items = CRADLE_ITEMS_EPHEMERONS,
     .item_size = 16,
     .length_offset = offsetof(ephemerons, length)},
    {.name = "final",
     .size = sizeof(final),
     .finalizer = QUEUE,
     .references = CRADLE_SLOT(final, to) | CRADLE_SLOT(final, other)},
    {.name = "file", .size = sizeof(file), .destructor = close_file, .external_size = file_bytes},
};

/* A heap with them. Majors run in the smallest increments. */
static inline void services_open_with(fixture *f, void (*change)(cradle_options *options)) {
  cradle_options options;
  fixture_options(f, &options);
  options.pause_ns = 1;
  if (change != NULL) change(&options);
  fixture_open_with(f, &options);
  for (uint32_t i = 0; i < T_SERVICES - T_COUNT; i++)
    assert_int_equal(cradle_type_add(f->heap, &service_types[i]), T_COUNT + i);
}
static inline void services_open(fixture *f) {
  services_open_with(f, NULL);
}

static inline pair *new_pair(fixture *f, pair *first) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(f->m, first);
  pair *p = CRADLE_NEW(f->m, pair, T_PAIR);
  p->first = first;
  return p;
}
static inline weak *new_weak(fixture *f, void *to) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(f->m, to);
  weak *w = CRADLE_NEW_WITH(f->m, weak, T_WEAK, 0);
  w->to = to;
  return w;
}
static inline ephemeron *new_ephemeron(fixture *f, void *key, void *value) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(f->m, key);
  CRADLE_ROOT(f->m, value);
  ephemeron *e = CRADLE_NEW_WITH(f->m, ephemeron, T_EPHEMERON, 0);
  e->key = key;
  e->value = value;
  return e;
}
static inline final *new_final(fixture *f, uint64_t number, void *to) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(f->m, to);
  final *object = CRADLE_NEW_WITH(f->m, final, T_FINAL, 0);
  object->number = number;
  object->to = to;
  return object;
}
static inline file *new_file(fixture *f, int *closed, size_t bytes) CRADLE_MAY_COLLECT {
  file *object = CRADLE_NEW_WITH(f->m, file, T_FILE, 0);
  object->closed = closed;
  object->bytes = bytes;
  return object;
}

/* The ways in which an object can die: in a minor collection, in a major collection done at once, or in the smallest
 * increments. */
enum { BY_MINOR, BY_MAJOR, BY_STEPS, WAYS };
static inline void collect_by(fixture *f, int way) CRADLE_MAY_COLLECT {
  if (way == BY_MINOR) cradle_collect(f->m, CRADLE_COLLECT_MINOR);
  if (way == BY_MAJOR || f->stressed) cradle_collect(f->m, CRADLE_COLLECT_MAJOR); /* under stress nothing stays young */
  if (way == BY_STEPS) /* one may run already, and have marked what has died since */
    for (int i = 0; i < 2; i++)
      while (!cradle_collect_step(f->m, 0)) assert_heap_sound(f->heap);
  assert_heap_sound(f->heap);
}
/* Makes all live objects old, unless the test is about a minor collection. Under stress some objects are old already,
 * and the minor collection that finds an object dead would not find dead what the object leads to. */
static inline void age_for(fixture *f, int way) CRADLE_MAY_COLLECT {
  if (way != BY_MINOR || f->stressed) cradle_collect(f->m, CRADLE_COLLECT_MINOR);
}

#endif
