/* Tests images that two threads read and relocate: of several arenas, and with large objects where the second share
 * could begin. */
#include "tests/image/image_heap.h"

/* ThreadSanitizer keeps most addresses for itself. */
#ifdef __SANITIZE_THREAD__
#define SOME_BASE ((void *)(uintptr_t)0x7ea000000000)
#define OTHER_BASE ((void *)(uintptr_t)0x7eb000000000)
#else
#define SOME_BASE ((void *)(uintptr_t)0x200000000000)
#define OTHER_BASE ((void *)(uintptr_t)0x210000000000)
#endif
enum { COUNT = 150000, HUGE_ITEMS = 900000, NAMED = 2 };

static const char *const names[NAMED] = {"nodes", "huge"};

/* Nodes that refer to each other, and an array in several arenas of which every hundredth item is a node. */
CRADLE_UNCHECKED_COLLECTION static buffer save_nodes(bool huge_first) {
  fixture f;
  cradle_options options;
  buffer image = {NULL, 0, 0};
  image_options(&f, &options);
  fixture_unstress(&options);
  options.base_address = SOME_BASE;
  options.verify = false;        /* which is slow in a heap of this size; the loaded ones are verified */
  options.type_count = I_TRACED; /* a trace callback is for one thread */
  fixture_open_with(&f, &options);
  words *huge = huge_first ? new_words(f.m, I_VECTOR, HUGE_ITEMS) : NULL;
  CRADLE_ROOT(f.m, huge);
  words *all = new_words(f.m, I_VECTOR, COUNT);
  CRADLE_ROOT(f.m, all);
  for (size_t i = 0; i < COUNT; i++) {
    node *n = new_node(f.m, i);
    n->left = i == 0 ? NULL : AT(i / 2);
    cradle_store(f.m, all, &all->item[i], n);
  }
  if (!huge_first) huge = new_words(f.m, I_VECTOR, HUGE_ITEMS);
  for (size_t i = 0; i < HUGE_ITEMS; i += 100) cradle_store(f.m, huge, &huge->item[i], AT(i % COUNT));
  cradle_image_root roots[NAMED] = {{names[0], &all, CRADLE_KIND_REFERENCE}, {names[1], &huge, CRADLE_KIND_REFERENCE}};
  cradle_image_contents contents = {.roots = roots, .root_count = NAMED};
  cradle_error error;
  if (!cradle_image_save_to(f.m, take, &image, &contents, &error)) fail_msg("%s", error.message);
  fixture_close(&f);
  return image;
}

static bool load(fixture *f, uint32_t threads, cradle_image from, cradle_error *error) {
  cradle_options options;
  image_options(f, &options);
  fixture_unstress(&options);
  from.path = image_path();
  options.image = &from;
  options.base_address = OTHER_BASE;
  options.verify = false;
  options.type_count = I_TRACED;
  options.gc_threads = threads;
  f->heap = cradle_heap_new(&options, error);
  return f->heap != NULL;
}

CRADLE_UNCHECKED_COLLECTION static void check_nodes(cradle_heap *heap) {
  const words *all = (const words *)(uintptr_t)cradle_image_root_get(heap, names[0]);
  const words *huge = (const words *)(uintptr_t)cradle_image_root_get(heap, names[1]);
  assert_int_equal(all->length, COUNT);
  assert_int_equal(huge->length, HUGE_ITEMS);
  for (size_t i = 0; i < COUNT; i++) {
    if (AT(i)->number != i || AT(i)->left != (i == 0 ? NULL : AT(i / 2))) fail_msg("node %zu is another one", i);
  }
  for (size_t i = 0; i < HUGE_ITEMS; i++)
    if (huge->item[i] != (i % 100 == 0 ? all->item[i % COUNT] : 0)) fail_msg("item %zu is another one", i);
  assert_heap_sound(heap);
}

/* Moves the objects, and drops half of them. */
CRADLE_UNCHECKED_COLLECTION static void go_on(fixture *f) {
  f->m = cradle_mutator_new(f->heap);
  for (int i = 0; i < 2; i++) {
    words *all = (words *)(uintptr_t)cradle_image_root_get(f->heap, names[0]);
    for (size_t at = 1; i == 1 && at < COUNT; at += 2) cradle_store(f->m, all, &all->item[at], NULL);
    cradle_collect(f->m, i == 0 ? CRADLE_COLLECT_COMPACTING : CRADLE_COLLECT_FULL);
    if (i == 0) check_nodes(f->heap);
  }
  const words *all = (const words *)(uintptr_t)cradle_image_root_get(f->heap, names[0]);
  for (size_t at = 0; at < COUNT; at += 2) assert_int_equal(AT(at)->number, at);
  assert_heap_sound(f->heap);
  cradle_mutator_free(f->m);
}

static void whole(bool huge_first) {
  buffer image = save_nodes(huge_first);
  static const cradle_image ways[] = {{.path = NULL}, {.sealed = true}, {.checksum = true}, {.verify = true}};
  write_file(&image);
  for (uint32_t threads = 0; threads < 2; threads++)
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
      fixture f;
      cradle_error error;
      if (!load(&f, threads, ways[i], &error)) fail_msg("%s", error.message);
      check_nodes(f.heap);
      go_on(&f);
      cradle_heap_free(f.heap);
    }
  free(image.bytes);
}
static void large_objects_at_the_end(void **state) {
  (void)state;
  whole(false);
}
static void large_objects_at_the_beginning(void **state) {
  (void)state;
  whole(true);
}

/* An image without an object, which has no arena. */
CRADLE_UNCHECKED_COLLECTION static void nothing_at_all(void **state) {
  (void)state;
  static const cradle_image_contents nothing;
  fixture f;
  cradle_options options;
  cradle_error error;
  buffer image = {NULL, 0, 0};
  image_options(&f, &options);
  options.base_address = SOME_BASE;
  fixture_open_with(&f, &options);
  if (!cradle_image_save_to(f.m, take, &image, &nothing, &error)) fail_msg("%s", error.message);
  fixture_close(&f);
  write_file(&image);
  for (uint32_t threads = 0; threads < 2; threads++)
    for (int verify = 0; verify < 2; verify++) {
      if (!load(&f, threads, (cradle_image){.verify = verify != 0}, &error)) fail_msg("%s", error.message);
      assert_heap_sound(f.heap);
      cradle_heap_free(f.heap);
    }
  free(image.bytes);
}

/* Where a page of the heap is in the file. */
static uint64_t place_in(const buffer *image, uint64_t page) {
  const image_header *header = (const void *)image->bytes;
  const image_arena *arena = (const void *)(image->bytes + header->parts[IMAGE_ARENAS].at);
  uint64_t at = header->objects_at;
  for (; page >= arena->index * (uint64_t)ARENA_PAGES + ARENA_PAGES; arena++) at += arena->pages * (uint64_t)PAGE_BYTES;
  return at + (page - arena->index * (uint64_t)ARENA_PAGES) * PAGE_BYTES;
}

/* The first span, the last, and both: whichever thread meets it, the message is about the first one. */
static void damage_in_either_share(void **state) {
  (void)state;
  buffer image = save_nodes(true), damaged = {malloc(image.length), image.length, image.length};
  const image_header *header = (const void *)image.bytes;
  const image_span *spans = (const void *)(image.bytes + header->parts[IMAGE_SPANS].at);
  assert_in_range(header->parts[IMAGE_ARENAS].count, 4, 100);
  uint64_t ends[2] = {spans[0].page, spans[header->parts[IMAGE_SPANS].count - 1].page};
  assert_true(ends[1] / ARENA_PAGES >= 4);
  for (int where = 1; where < 4; where++) {
    cradle_error error;
    char place[40];
    fixture f;
    memcpy(damaged.bytes, image.bytes, image.length);
    for (int end = 0; end < 2; end++)
      if (where & 1 << end) memset(damaged.bytes + place_in(&image, ends[end]), 0xee, PAGE_BYTES);
    write_file(&damaged);
    snprintf(place, sizeof place, "at 0x%llx", (unsigned long long)ends[where == 2] * PAGE_BYTES);
    for (uint32_t threads = 0; threads < 2; threads++) {
      assert_false(load(&f, threads, (cradle_image){.path = NULL}, &error));
      if (strstr(error.message, place) == NULL) fail_msg("no %s in: %s", place, error.message);
    }
  }
  free(damaged.bytes);
  free(image.bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(large_objects_at_the_end),
      cmocka_unit_test(large_objects_at_the_beginning),
      cmocka_unit_test(nothing_at_all),
      cmocka_unit_test(damage_in_either_share),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
