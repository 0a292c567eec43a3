/* A model of heaps that are saved and loaded at random moments: a program builds and changes a graph, and a plain table
 * says what must be in it. At random it saves an image, frees the heap, and goes on with one that is made from the
 * image:
 * at its address or elsewhere, sealed or not, verified or not, with the types in another order or not.
 *
 *   image_model [SEED [OPERATIONS [--threads]]]
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cradle/cradle.h>
#include <cradle/runtime.h>

enum { ROOTS = 3000, IMAGE_EVERY = 1500, CHECK_EVERY = 400, NONE = 0 };

typedef struct thing {
  uint64_t header, number;
  struct thing *left, *right, *weak;
  uint64_t value; /* a reference, or an odd number */
  void (*call)(void);
  uint64_t padding[]; /* makes objects of other sizes */
} thing;
typedef struct table {
  uint64_t header, length;
  thing *item[];
} table;

static void one(void) {}
static void other(void) {}
static const cradle_image_symbol symbols[] = {{"one", NULL, one}, {"other", NULL, other}};

#define THING(bytes) \
  .size = sizeof(thing) + (bytes), .references = CRADLE_SLOT(thing, left) | CRADLE_SLOT(thing, right), \
  .values = CRADLE_SLOT(thing, value), .weak = CRADLE_SLOT(thing, weak), .symbols = CRADLE_SLOT(thing, call)
/* A plain one has no weak slot and no symbol: many in a row are relocated in a short loop. */
enum { PLAIN = 3, KINDS, TABLE = KINDS };
static const cradle_type types[] = {
    {.name = "small", THING(0)},
    {.name = "larger", THING(200)},
    {.name = "large", THING(9000)},
    {.name = "plain",
     .size = sizeof(thing),
     .references = CRADLE_SLOT(thing, left) | CRADLE_SLOT(thing, right),
     .values = CRADLE_SLOT(thing, value)},
    {.name = "table",
     .size = sizeof(table),
     .items = CRADLE_ITEMS_REFERENCES,
     .item_size = 8,
     .length_offset = offsetof(table, length)},
};
enum { TYPES = sizeof types / sizeof *types };

/* What the program knows of each object that it ever made; number 0 is none. */
typedef struct known {
  uint32_t left, right, weak, value, hash, kind;
  uint64_t id, seen;
  thing *at; /* as the last check has met it */
} known;

static known *all;
static uint32_t made, roots[ROOTS];
static uint64_t looks, seed, images;
static size_t order; /* of the types: rotated by so many */
static cradle_heap *heap;
static cradle_mutator *m;
static cradle_weak_set *set;
static thing *picked, *fresh;
static bool threads;

static uint64_t below(uint64_t bound) {
  seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
  return (seed >> 33) % bound;
}
static void fail(const char *what, uint64_t number) {
  fprintf(stderr, "image_model: %s at object %llu, after %llu images\n", what, (unsigned long long)number,
          (unsigned long long)images);
  abort();
}
static uint32_t type_id(uint32_t type) {
  return (uint32_t)((type + order) % TYPES);
}
static table *table_of_roots; /* a root */
static table *top(void) {
  return table_of_roots;
}

/* --- the check --- */

static void meet(thing *object, uint32_t number, uint32_t *stack, size_t *depth) {
  if ((object == NULL) != (number == NONE)) fail("a slot is empty, or is not", number);
  if (object == NULL) return;
  if (object->number != number) fail("another object is there", number);
  known *k = &all[number];
  if (k->seen == looks) {
    if (k->at != object) fail("there are two", number);
    return;
  }
  k->seen = looks;
  k->at = object;
  stack[(*depth)++] = number;
}

static void check_one(const known *k, const thing *object, uint64_t number) {
  if (cradle_type_of(object) != type_id(k->kind)) fail("the type differs", number);
  if (k->hash != 0 && cradle_identity_hash(m, k->at) != k->hash) fail("the hash differs", number);
  if (k->id != 0 && cradle_object_of_id(m, k->id) != k->at) fail("the id differs", number);
  if (k->kind != PLAIN && object->call != (number % 2 ? one : other)) fail("the symbol differs", number);
  if (k->value == NONE && object->value != (number << 1 | 1)) fail("the number differs", number);
}

static bool has_number(const void *object, const void *key) {
  return ((const thing *)object)->number == *(const uint64_t *)key;
}

static void check(void) {
  static uint32_t *stack;
  size_t depth = 0;
  if (stack == NULL) stack = malloc(10000000 * sizeof *stack);
  looks++;
  for (size_t i = 0; i < ROOTS; i++) meet(top()->item[i], roots[i], stack, &depth);
  while (depth > 0) {
    uint32_t number = stack[--depth];
    known *k = &all[number];
    check_one(k, k->at, number);
    meet(k->at->left, k->left, stack, &depth);
    meet(k->at->right, k->right, stack, &depth);
    if (k->value != NONE) meet((thing *)(uintptr_t)k->at->value, k->value, stack, &depth);
  }
  for (uint64_t number = 1; number <= made; number++) {
    const known *k = &all[number];
    if (k->seen != looks) continue;
    const thing *target = k->kind == PLAIN ? NULL : cradle_weak_get(m, &k->at->weak);
    bool alive = k->weak != NONE && all[k->weak].seen == looks;
    if (alive && target != all[k->weak].at) fail("a weak slot lost its object", number);
    if (!alive && target != NULL && target->number != k->weak) fail("a weak slot has another object", number);
    if (number % 3 == 0 && cradle_weak_set_find(set, number, has_number, &number) != k->at)
      fail("the weak set lost an object", number);
  }
}

/* --- operations --- */

/* Some object that is reachable, in picked; its number. NONE: there is none. */
static uint32_t pick(void) {
  size_t root = below(ROOTS);
  uint32_t number = roots[root];
  picked = top()->item[root];
  for (uint64_t steps = below(6); steps > 0 && number != NONE; steps--) {
    bool left = below(2);
    uint32_t next = left ? all[number].left : all[number].right;
    if (next == NONE) break;
    picked = left ? picked->left : picked->right;
    number = next;
  }
  return number;
}

static void make(void) CRADLE_MAY_COLLECT {
  uint32_t kind = below(50) == 0 ? 2 : below(2) == 0 ? PLAIN : (uint32_t)below(2);
  fresh = cradle_new_with(m, type_id(kind), (cradle_array_layout){0, 0, 0}, 0, 0);
  uint32_t number = ++made;
  all[number] = (known){.kind = kind};
  fresh->number = number;
  fresh->value = (uint64_t)number << 1 | 1;
  fresh->call = number % 2 ? one : other;
  if (number % 3 == 0) cradle_weak_set_add(set, number, fresh);
  uint32_t of = below(4) == 0 ? NONE : pick();
  if (of == NONE) {
    size_t root = below(ROOTS);
    roots[root] = number;
    cradle_store(m, top(), &top()->item[root], fresh);
  } else if (below(2)) {
    all[of].left = number;
    cradle_store(m, picked, &picked->left, fresh);
  } else {
    all[of].right = number;
    cradle_store(m, picked, &picked->right, fresh);
  }
  fresh = NULL;
}

static void change(void) {
  uint32_t target = pick();
  fresh = picked;
  uint32_t of = pick();
  if (of == NONE || target == NONE) return;
  switch (below(5)) {
  case 0:
    all[of].left = target;
    cradle_store(m, picked, &picked->left, fresh);
    break;
  case 1:
    if (all[of].kind == PLAIN) break;
    all[of].weak = target;
    cradle_store(m, picked, &picked->weak, fresh);
    break;
  case 2:
    all[of].value = target;
    cradle_store_value(m, picked, &picked->value, (uint64_t)(uintptr_t)fresh);
    break;
  case 3: all[of].hash = cradle_identity_hash(m, picked); break;
  default: all[of].id = cradle_id(m, picked); break;
  }
  fresh = NULL;
}

static void drop(void) {
  size_t root = below(ROOTS);
  roots[root] = NONE;
  cradle_store(m, top(), &top()->item[root], NULL);
}

/* --- heaps --- */

static bool write_to(void *file, const void *bytes, size_t count) {
  return fwrite(bytes, 1, count, file) == count;
}

static void open_heap(cradle_options *options) CRADLE_UNCHECKED_COLLECTION;
static void open_heap(cradle_options *options) {
  static cradle_type rotated[TYPES];
  cradle_error error;
  for (uint32_t i = 0; i < TYPES; i++) rotated[type_id(i)] = types[i];
  options->types = rotated;
  options->type_count = TYPES;
  options->encoding = cradle_encoding_of(0, 0, 0x01);
  options->reserve_bytes = (size_t)512 << 20;
  options->gc_threads = threads ? 2 : 0;
  if (below(2)) options->pause_ns = 0;
  heap = cradle_heap_new_from_environment(options, &error);
  if (heap == NULL) {
    fprintf(stderr, "image_model: %s\n", error.message);
    abort();
  }
  m = cradle_mutator_new(heap);
  picked = fresh = NULL;
  table_of_roots = (table *)(uintptr_t)cradle_image_root_get(heap, "top");
  cradle_global_root_add(heap, &table_of_roots, CRADLE_KIND_REFERENCE);
  cradle_global_root_add(heap, &picked, CRADLE_KIND_REFERENCE);
  cradle_global_root_add(heap, &fresh, CRADLE_KIND_REFERENCE);
}

static void close_heap(void) CRADLE_UNCHECKED_COLLECTION;
static void close_heap(void) {
  cradle_weak_set_free(set);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
}

static void save(FILE *file) CRADLE_UNCHECKED_COLLECTION;
static void save(FILE *file) {
  cradle_error error;
  cradle_image_root named[] = {{"top", &table_of_roots, CRADLE_KIND_REFERENCE}};
  cradle_image_set sets[] = {{"set", set}};
  cradle_image_contents contents = {named, 1, sets, 1, symbols, 2};
  rewind(file);
  if (!cradle_image_save_to(m, write_to, file, &contents, &error) || fflush(file) != 0) {
    fprintf(stderr, "image_model: %s\n", error.message);
    abort();
  }
  if (below(2)) check();
}

static void load(FILE *file) {
  cradle_options options;
  cradle_options_init(&options);
  cradle_image from = {.descriptor = fileno(file), .symbols = symbols, .symbol_count = 2};
  from.verify = below(2);
  from.checksum = below(2);
  from.sealed = below(2);
  options.image = &from;
  if (below(3) == 0) options.base_address = (void *)(uintptr_t)(0x200000000000 + (below(8) << 40));
  if (below(3) == 0) order = below(TYPES);
  open_heap(&options);
  set = cradle_image_set_take(heap, "set", NULL, NULL);
  images++;
}

static void change_heaps(void) {
  FILE *file = tmpfile();
  save(file);
  close_heap();
  load(file);
  fclose(file);
  check();
}

static void operate(void) CRADLE_UNCHECKED_COLLECTION;
static void operate(void) {
  switch (below(100)) {
  case 0: cradle_collect(m, CRADLE_COLLECT_MINOR); break;
  case 1: (void)cradle_collect_step(m, 20000); break;
  case 2:
    if (below(20) == 0) cradle_collect(m, CRADLE_COLLECT_MAJOR);
    break;
  case 3:
    if (below(20) == 0) cradle_collect(m, CRADLE_COLLECT_COMPACTING);
    break;
  default:
    if (below(3) == 0)
      make();
    else if (below(12) == 0)
      drop();
    else
      change();
  }
}

int main(int count, char **arguments) CRADLE_UNCHECKED_COLLECTION {
  seed = count > 1 ? strtoull(arguments[1], NULL, 10) : 1;
  uint64_t operations = count > 2 ? strtoull(arguments[2], NULL, 10) : 20000;
  threads = count > 3 && strcmp(arguments[3], "--threads") == 0;
  all = calloc(operations + 2, sizeof *all);
  cradle_options options;
  cradle_options_init(&options);
  open_heap(&options);
  set = cradle_weak_set_new(m, NULL, NULL);
  table_of_roots = CRADLE_NEW_ARRAY(m, table, type_id(TABLE), item, length, ROOTS);
  change_heaps();
  for (uint64_t i = 0; i < operations; i++) {
    operate();
    if (below(IMAGE_EVERY) == 0) change_heaps();
    if (below(CHECK_EVERY) == 0) check();
  }
  change_heaps();
  close_heap();
  printf("%llu operations, %llu images, %u objects made\n", (unsigned long long)operations, (unsigned long long)images,
         made);
  return 0;
}
