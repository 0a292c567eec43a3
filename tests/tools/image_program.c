/* Writes an image and a dump of the same heap for tests/tools/test_cradle_heap.py: image_program FOLDER */
#include "tests/image/image_heap.h"

CRADLE_UNCHECKED_COLLECTION static bool write_both(fixture *f, const char *to) {
  static uint32_t hashes[NODES];
  static uint64_t ids[NODES];
  char path[4096];
  cradle_error error = {.message = "no error"};
  cradle_weak_set *set = cradle_weak_set_new(f->m, NULL, NULL);
  words *all = build(f, set, hashes, ids);
  CRADLE_ROOT(f->m, all);
  cradle_value number = 7 << 3 | 1;
  cradle_image_root roots[] = {{"all\033[2J", &all, CRADLE_KIND_VALUE}, {"number", &number, CRADLE_KIND_VALUE}};
  cradle_image_set sets[] = {{"set", set}};
  cradle_image_contents contents = {roots, 2, sets, 1, image_symbols, SYMBOLS};
  snprintf(path, sizeof path, "%s/all.image", to);
  bool written = cradle_image_save(f->m, path, &contents, &error);
  snprintf(path, sizeof path, "%s/all.dump", to);
  written = written && cradle_heap_dump(f->heap, path, &error);
  if (written) check(f, all, set, hashes, ids);
  if (!written) fprintf(stderr, "%s\n", error.message);
  cradle_weak_set_free(set);
  return written;
}

int main(int argc, char **argv) {
  fixture f;
  cradle_options options;
  if (argc != 2) return 2;
  image_options(&f, &options);
  fixture_open_with(&f, &options);
  bool written = write_both(&f, argv[1]);
  fixture_close(&f);
  return written ? 0 : 1;
}
