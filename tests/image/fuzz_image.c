/* A fuzz target: an input says how an image is damaged and how it is loaded then. With image.verify it is refused in
 * words, or gives a sound heap that is used.
 *
 *   byte 0       how it is loaded: bit 0 elsewhere, 1 sealed, 2 with a second type of a name, 3 without its last bytes
 *   then         edits of 8 bytes each: which word (24 bits; bit 23: of the objects, not of the tables), a number of
 *                bits to rotate (8 bits), and 32 bits that are exclusive-or'ed into the word
 *
 * The engine is libFuzzer's (tools/fuzz --image). As a program: fuzz_image [SEED [INPUTS]] makes its own inputs, and
 * fuzz_image FILE... runs those. */
#include <limits.h>

#include "tests/image/image_heap.h"

static uint32_t hashes[NODES];
static uint64_t ids[NODES];
static buffer sound;
static int file;

static void make(void) {
  void *state = NULL;
  if (sound.bytes != NULL) return;
  make_folder(&state);
  huge_items = 1200;
  sound = save_graph(hashes, ids, (void *)(uintptr_t)0x220000000000);
  file = open(image_path(), O_RDWR | O_CREAT, 0600);
  unlink(image_path());
}

static void damage(buffer *image, const unsigned char *edits, size_t size) {
  uint64_t tables = ((const image_header *)(const void *)sound.bytes)->objects_at / 8, words = sound.length / 8;
  for (; size >= 8; edits += 8, size -= 8) {
    uint32_t place, mask;
    memcpy(&place, edits, 4);
    memcpy(&mask, edits + 4, 4);
    uint64_t at = place >> 31 ? tables + (place & 0xffff) % (words - tables) : (place & 0xffff) % tables;
    unsigned turn = place >> 16 & 63;
    uint64_t change = mask;
    ((uint64_t *)(void *)image->bytes)[at] ^= turn == 0 ? change : change << turn | change >> (64 - turn);
  }
}

CRADLE_UNCHECKED_COLLECTION static void use(fixture *f) {
  f->m = cradle_mutator_new(f->heap);
  cradle_weak_set *set = cradle_image_set_take(f->heap, "set", NULL, NULL);
  assert_heap_sound(f->heap);
  for (size_t i = 0; i < 200; i++) (void)CRADLE_NEW(f->m, node, I_NODE);
  cradle_collect(f->m, CRADLE_COLLECT_COMPACTING);
  assert_heap_sound(f->heap);
  cradle_weak_set_free(set);
  cradle_mutator_free(f->m);
  cradle_heap_free(f->heap);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  fixture f = {.armed = false};
  cradle_options options;
  cradle_error error = {.option = NULL};
  make();
  if (size == 0) return 0;
  buffer image = {malloc(sound.length), sound.length, sound.length};
  memcpy(image.bytes, sound.bytes, sound.length);
  damage(&image, data + 1, size - 1);
  sum_tables(&image);
  if (data[0] & 8) image.length -= data[0];
  if (pwrite(file, image.bytes, image.length, 0) != (ssize_t)image.length || ftruncate(file, (off_t)image.length) != 0)
    abort();
  free(image.bytes);
  image_options(&f, &options);
  options.verify = false;
  if (data[0] & 1) options.base_address = (void *)(uintptr_t)0x200000000000;
  cradle_image from = image_of_file();
  from.path = NULL;
  from.descriptor = file;
  from.verify = true;
  from.sealed = data[0] & 2;
  options.image = &from;
  if (data[0] & 4) options.type_count = I_COUNT - 1;
  f.heap = cradle_heap_new(&options, &error);
  if (f.heap == NULL && error.message[0] == '\0') abort();
  if (f.heap != NULL) use(&f);
  return 0;
}

#ifndef FUZZ_ENGINE
static void run_file(const char *path) {
  unsigned char input[4096];
  FILE *from = fopen(path, "rb");
  if (from == NULL) exit(2);
  (void)LLVMFuzzerTestOneInput(input, fread(input, 1, sizeof input, from));
  fclose(from);
}

int main(int count, char **arguments) {
  char *end = NULL;
  uint64_t seed = count > 1 ? strtoull(arguments[1], &end, 10) : 1;
  uint64_t inputs = count > 2 ? strtoull(arguments[2], NULL, 10) : 300;
  if (count > 1 && *end != '\0') {
    for (int i = 1; i < count; i++) run_file(arguments[i]);
    return 0;
  }
  for (uint64_t i = 0; i < inputs; i++) {
    unsigned char input[33];
    for (size_t at = 0; at < sizeof input; at++) {
      seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
      input[at] = (unsigned char)(seed >> 56);
    }
    if (i % 2) input[0] &= 7; /* half of them whole, with one edit of the header's or the first tables' words */
    if (i % 4 == 1) memset(input + 9, 0, sizeof input - 9);
    if (i % 8 == 1) input[2] = 0;
    (void)LLVMFuzzerTestOneInput(input, i % 2 ? 9 : sizeof input);
  }
  return 0;
}
#endif
