/* Tests what else a program may do with a heap that was made from an image: collection turned off, quarantine, a plain
 * fork, walks, referrers, descriptions and dumps. */
#include "tests/image/image_heap.h"

static uint32_t hashes[NODES];
static uint64_t ids[NODES];

/* A place for heaps that nothing else takes. */
#define SOME_BASE ((void *)(uintptr_t)0x200000000000)
#define OTHER_BASE ((void *)(uintptr_t)0x210000000000)

static int make(void **state) {
  make_folder(state);
  huge_items = 5000;
  buffer image = save_graph(hashes, ids, SOME_BASE);
  write_file(&image);
  free(image.bytes);
  return 0;
}

typedef void (*change_function)(cradle_options *options);

/* Calls use with heaps from the image: at its address and elsewhere, sealed and not. */
CRADLE_UNCHECKED_COLLECTION static void each_way(change_function change, void (*use)(fixture *f, words *all)) {
  for (int way = 0; way < 4; way++) {
    fixture f;
    cradle_options options;
    cradle_image from = image_of_file();
    image_options(&f, &options);
    options.image = &from;
    from.sealed = way & 1;
    options.base_address = way & 2 ? OTHER_BASE : SOME_BASE;
    change(&options);
    fixture_open_with(&f, &options);
    use(&f, (words *)(uintptr_t)cradle_image_root_get(f.heap, "all"));
    assert_heap_sound(f.heap);
    fixture_close(&f);
  }
}

static void no_stress(cradle_options *options) {
  fixture_unstress(options);
}

/* --- collection is off --- */

static void no_collection(cradle_options *options) {
  fixture_unstress(options);
  options->gc = CRADLE_GC_OFF;
  options->nursery_bytes = (size_t)8 << 20;
}

CRADLE_UNCHECKED_COLLECTION static void use_without_collection(fixture *f, words *all) {
  cradle_weak_set *set = cradle_image_set_take(f->heap, "set", NULL, NULL);
  check(f, all, set, hashes, ids);
  for (size_t i = 0; i < NODES; i++) { /* nothing is rooted */
    node *n = new_node(f->m, i + 5000);
    n->left = AT(i);
    cradle_store(f->m, AT(i), &AT(i)->right, n);
    (void)new_words(f->m, I_VECTOR, 10 * i);
  }
  owner *o = CRADLE_NEW_WITH(f->m, owner, I_OWNER, 0);
  owner_fill(o);
  for (size_t i = 0; i < NODES; i++) {
    assert_int_equal(AT(i)->right->number, i + 5000);
    assert_ptr_equal(AT(i)->right->left, AT(i));
  }
  check(f, all, set, hashes, ids);
  cradle_weak_set_add(set, 1, new_node(f->m, 1));
  assert_int_equal(set_count(set), NODES / 2 + 1);
  assert_int_equal(cradle_object_of_id(f->m, cradle_id(f->m, AT(1))) == AT(1), true);
  ASSERT_MISUSE(f, "collection is off", cradle_collect(f->m, CRADLE_COLLECT_MAJOR));
  assert_int_equal(fixture_stats(f).major_collections + fixture_stats(f).minor_collections, 0);
  cradle_weak_set_free(set);
}

static void without_collection(void **state) {
  (void)state;
  size_t before = owners;
  each_way(no_collection, use_without_collection);
  assert_int_equal(owners, before); /* destructors run when the heap ends */
}

/* --- quarantine --- */

static void with_quarantine(cradle_options *options) {
  fixture_unstress(options);
  options->quarantine = 4;
  options->nursery_bytes = (size_t)64 << 10;
}

CRADLE_UNCHECKED_COLLECTION static void use_quarantined(fixture *f, words *all) {
  CRADLE_ROOT(f->m, all);
  node *stale = NULL;
  for (size_t round = 0; round < 40; round++) {
    for (size_t i = 0; i < NODES; i++) {
      node *n = new_node(f->m, i + round);
      cradle_store(f->m, AT(i), &AT(i)->right, n);
      if (i == 7) stale = n;
    }
    cradle_collect(f->m, round % 4 == 3 ? CRADLE_COLLECT_COMPACTING : CRADLE_COLLECT_MINOR);
    for (size_t i = 0; i < NODES; i++) assert_int_equal(AT(i)->right->number, i + round);
  }
  cradle_address_info info;
  cradle_describe_address(f->heap, stale, &info, sizeof info);
  assert_non_null(strstr(info.text, "moved"));
  for (size_t i = 0; i < NODES; i++) cradle_store(f->m, AT(i), &AT(i)->right, NULL);
  check(f, all, NULL, hashes, ids);
}

static void quarantine(void **state) {
  (void)state;
  each_way(with_quarantine, use_quarantined);
}

/* --- a fork of which the heap does not know --- */

#ifndef _WIN32
CRADLE_UNCHECKED_COLLECTION static void store_and_collect(fixture *f, words *all, uint64_t number) {
  CRADLE_ROOT(f->m, all);
  for (size_t i = 0; i < NODES; i++) {
    node *n = new_node(f->m, number + i);
    cradle_store(f->m, AT(i), &AT(i)->right, n);
    if (i % 100 == 0) cradle_collect(f->m, i % 200 == 0 ? CRADLE_COLLECT_MAJOR : CRADLE_COLLECT_COMPACTING);
  }
  for (size_t i = 0; i < NODES; i++)
    if (AT(i)->right->number != number + i || AT(i)->number != i) _exit(1);
}

CRADLE_UNCHECKED_COLLECTION static void use_across_fork(fixture *f, words *all) {
  pid_t child = fork();
  int status;
  assert_true(child >= 0);
  store_and_collect(f, all, child == 0 ? 1000 : 2000);
  if (child == 0) _exit(cradle_heap_verify(f->heap, NULL) ? 0 : 2);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}
#endif

static void a_plain_fork(void **state) {
  (void)state;
#ifdef _WIN32
  skip();
#else
  each_way(no_stress, use_across_fork);
#endif
}

/* --- looking at it --- */

typedef struct seen {
  size_t objects, of_type[I_COUNT], references;
  const void *holder;
  uint64_t index;
  bool by_root;
} seen;

static bool see_object(void *data, const cradle_object_info *object) {
  seen *s = data;
  s->objects++;
  s->of_type[object->type]++;
  return !object->is_young;
}

static bool see_referrer(void *data, const cradle_referrer *referrer) {
  seen *s = data;
  s->references++;
  s->holder = referrer->object.object;
  s->index = referrer->index;
  s->by_root = referrer->holder == CRADLE_HOLDER_GLOBAL_ROOT;
  return true;
}

static long file_bytes(const char *path) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  long bytes = ftell(file);
  assert_int_equal(fclose(file), 0);
  return bytes;
}

CRADLE_UNCHECKED_COLLECTION static void look(fixture *f, words *all) {
  seen s = {.objects = 0};
  cradle_address_info info;
  cradle_error error;
  char path[200];
  assert_int_equal(cradle_heap_walk(f->heap, see_object, &s), CRADLE_WALK_COMPLETE);
  assert_int_equal(s.of_type[I_NODE], 2 * NODES); /* those of the graph, and the values of ephemerons */
  assert_int_equal(s.of_type[I_OWNER] + s.of_type[I_CALLER] + s.of_type[I_WEAK] + s.of_type[I_TRACED], 4);
  assert_int_equal(cradle_referrers(f->heap, all, see_referrer, &s), CRADLE_WALK_COMPLETE);
  assert_true(s.references == 1 && s.by_root);
  s.references = 0;
  assert_int_equal(cradle_referrers(f->heap, AT(NODES + 7), see_referrer, &s), CRADLE_WALK_COMPLETE);
  assert_true(s.references == 1 && s.holder == all && s.index == 2 + NODES + 7 && !s.by_root);
  cradle_describe_address(f->heap, (char *)AT(NODES + 1) + 100, &info, sizeof info);
  assert_int_equal(info.kind, CRADLE_ADDRESS_INTERIOR);
  assert_true(info.object.object == (void *)AT(NODES + 1) && info.object.type == I_VECTOR && info.offset == 100);
  snprintf(path, sizeof path, "%s/heap.dump", folder);
  if (!cradle_heap_dump(f->heap, path, &error)) fail_msg("%s", error.message);
  assert_true(file_bytes(path) > (long)(16 * s.objects));
}

static void looked_at(void **state) {
  (void)state;
  each_way(no_stress, look);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_collection),
      cmocka_unit_test(quarantine),
      cmocka_unit_test(a_plain_fork),
      cmocka_unit_test(looked_at),
  };
  return cmocka_run_group_tests(tests, make, remove_folder);
}
