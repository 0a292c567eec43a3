/* Tests heap images: what is saved is what is loaded, at the same address and elsewhere, and goes on as a heap. */
#include "tests/image/image_heap.h"

static uint32_t hashes[NODES];
static uint64_t ids[NODES];

/* A place for heaps that nothing else takes. */
#define SOME_BASE ((void *)(uintptr_t)0x200000000000)
#define OTHER_BASE ((void *)(uintptr_t)0x210000000000)

typedef struct way {
  void *base;
  bool sealed, verify, checksum, renumbered, threads;
} way;

static cradle_type more_types[I_COUNT + 1];

CRADLE_UNCHECKED_COLLECTION static void load(fixture *f, way by) {
  cradle_options options;
  image_options(f, &options);
  cradle_image from = image_of_file();
  from.sealed = by.sealed;
  from.verify = by.verify;
  from.checksum = by.checksum;
  options.image = &from;
  options.base_address = by.base;
  if (by.threads) options.gc_threads = 1;
  if (by.renumbered) { /* the same types in the opposite order */
    more_types[T_PAIR] = image_types[T_PAIR];
    for (size_t i = 1; i < I_COUNT; i++) more_types[I_COUNT - i] = image_types[i];
    options.types = more_types;
  }
  fixture_open_with(f, &options);
}

/* Goes on with the heap: drops and changes some of the graph, while collections of every kind run. */
CRADLE_UNCHECKED_COLLECTION static void go_on(fixture *f, words *all, cradle_weak_set *set, uint32_t of_node) {
  cradle_mutator *m = f->m;
  CRADLE_ROOT(m, all);
  for (size_t round = 0; round < 6; round++) {
    for (size_t i = round; i < NODES; i += 6) {
      node *n = CRADLE_NEW(m, node, of_node);
      n->number = i + 5000;
      n->left = AT(i);
      cradle_store(m, all, &all->item[i], n);
      node *more = CRADLE_NEW(m, node, of_node);
      more->number = i + 7000;
      node *image_node = AT(i)->left;
      cradle_store(m, image_node, &image_node->right, more);
    }
    cradle_collect(m, round % 3 == 0   ? CRADLE_COLLECT_MINOR
                      : round % 3 == 1 ? CRADLE_COLLECT_MAJOR
                                       : CRADLE_COLLECT_COMPACTING);
    assert_heap_sound(f->heap);
  }
  for (size_t i = 0; i < NODES; i++) {
    assert_int_equal(AT(i)->number, i + 5000);
    assert_int_equal(AT(i)->left->number, i);
    assert_int_equal(AT(i)->left->right->number, i + 7000);
  }
  words *v = (words *)AT(NODES + 1); /* slots of a large array are recorded one by one */
  for (size_t i = 0; i < LARGE; i += 100) {
    node *n = CRADLE_NEW(m, node, of_node);
    n->number = i;
    v = (words *)AT(NODES + 1);
    cradle_store(m, v, &v->item[i], n);
  }
  cradle_collect(m, CRADLE_COLLECT_MAJOR);
  cradle_collect(m, CRADLE_COLLECT_MAJOR);
  v = (words *)AT(NODES + 1);
  for (size_t i = 0; i < LARGE; i += 100) assert_int_equal(((node *)(uintptr_t)v->item[i])->number, i);
  assert_int_equal(set_count(set), NODES / 2);
  assert_heap_sound(f->heap);
}

CRADLE_UNCHECKED_COLLECTION static void load_and_go_on(way by) {
  fixture f;
  size_t before = owners;
  load(&f, by);
  assert_heap_sound(f.heap);
  assert_int_equal(owners, before + 1);
  {
    words *all = (words *)(uintptr_t)cradle_image_root_get(f.heap, "all");
    CRADLE_ROOT(f.m, all);
    assert_int_equal(cradle_image_root_get(f.heap, "number"), 7 << 3 | 1);
    assert_int_equal(cradle_image_root_get(f.heap, "nothing"), 0);
    cradle_weak_set *set = cradle_image_set_take(f.heap, "set", NULL, NULL);
    assert_non_null(set);
    assert_null(cradle_image_set_take(f.heap, "set", NULL, NULL));
    if (!by.renumbered) check(&f, all, set, hashes, ids);
    uint32_t of_node = by.renumbered ? I_COUNT - I_NODE : I_NODE;
    cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
    if (!by.renumbered) check(&f, all, set, hashes, ids);
    go_on(&f, all, set, of_node);
    /* the counter of identity hashes goes on */
    for (size_t i = 0; i < 300; i++) {
      uint32_t hash = cradle_identity_hash(f.m, CRADLE_NEW(f.m, node, of_node));
      for (size_t at = 0; at < NODES; at++) assert_int_not_equal(hash, hashes[at]);
    }
    cradle_weak_set_free(set);
  }
  fixture_close(&f);
  assert_int_equal(owners, before);
}

/* Under stress, which is slow, three ways stand for all. */
static void every_way(void **state) {
  (void)state;
  static const way ways[] = {
      {.base = OTHER_BASE, .verify = true},
      {.base = NULL, .sealed = true},
      {.base = NULL, .threads = true},
      {.base = NULL},
      {.base = SOME_BASE, .verify = true, .checksum = true},
      {.base = OTHER_BASE},
      {.base = NULL, .renumbered = true},
      {.base = OTHER_BASE, .renumbered = true, .verify = true},
      {.base = OTHER_BASE, .sealed = true, .verify = true},
      {.base = NULL, .threads = true, .sealed = true},
  };
  size_t count = getenv("CRADLE_STRESS") != NULL ? 3 : sizeof ways / sizeof *ways;
  buffer image = save_graph(hashes, ids, SOME_BASE);
  write_file(&image);
  for (size_t i = 0; i < count; i++) load_and_go_on(ways[i]);
  free(image.bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_way),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
