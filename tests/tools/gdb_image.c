/* The program that tests/tools/test_gdb.py debugs with a heap made from an image: sealed, then not sealed. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cradle/cradle.h>

enum { PAIR, VECTOR, TYPES };
typedef struct pair {
  uint64_t header;
  struct pair *first, *rest;
} pair;
typedef struct vector {
  uint64_t header, length;
  pair *item[];
} vector;

static const cradle_type types[TYPES] = {
    [PAIR] = {.name = "pair", .size = sizeof(pair), .references = CRADLE_SLOT(pair, first) | CRADLE_SLOT(pair, rest)},
    [VECTOR] = {.name = "vector", .size = 16, .items = CRADLE_ITEMS_REFERENCES, .item_size = 8, .length_offset = 8},
};

void stop_here(cradle_heap *heap, pair *saved, pair *made, vector *items);
__attribute__((noinline)) void stop_here(cradle_heap *heap, pair *saved, pair *made, vector *items) {
  __asm__ volatile("" ::"r"(heap), "r"(saved), "r"(made), "r"(items) : "memory");
}

static bool write_to(void *data, const void *bytes, size_t count) {
  return write(*(const int *)data, bytes, count) == (ssize_t)count;
}

CRADLE_UNCHECKED_COLLECTION static bool save(cradle_options *options, int *file) {
  cradle_heap *heap = cradle_heap_new(options, NULL);
  cradle_mutator *m = cradle_mutator_new(heap);
  vector *items = cradle_new_array(m, VECTOR, 5000);
  bool saved;
  {
    CRADLE_ROOT(m, items);
    pair *first = CRADLE_NEW(m, pair, PAIR);
    cradle_store(m, items, &items->item[4999], first);
    cradle_image_root root = {"the\nitems", &items, CRADLE_KIND_REFERENCE};
    cradle_image_contents contents = {.roots = &root, .root_count = 1};
    saved = cradle_image_save_to(m, write_to, file, &contents, NULL);
  }
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  return saved;
}

CRADLE_UNCHECKED_COLLECTION static void load(cradle_options *options, int file, bool sealed) {
  cradle_image image = {.descriptor = file, .sealed = sealed};
  options->image = &image;
  cradle_heap *heap = cradle_heap_new(options, NULL);
  cradle_mutator *m = heap == NULL ? NULL : cradle_mutator_new(heap);
  if (m == NULL) exit(1);
  pair *made = CRADLE_NEW(m, pair, PAIR);
  {
    CRADLE_ROOT(m, made);
    cradle_collect(m, CRADLE_COLLECT_MINOR);
    vector *items = (vector *)(uintptr_t)cradle_image_root_get(heap, "the\nitems");
    cradle_store(m, made, &made->first, items->item[4999]);
    stop_here(heap, items->item[4999], made, items);
  }
  cradle_mutator_free(m);
  cradle_heap_free(heap);
}

int main(void) {
  char path[] = "/tmp/gdb_image.XXXXXX";
  cradle_options options;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = TYPES;
  int file = mkstemp(path);
  if (file < 0 || unlink(path) != 0 || !save(&options, &file)) return 1;
  load(&options, file, true);
  load(&options, file, false);
  return close(file);
}
