/* Tests that no file makes a heap that crashes: images that are cut off, shifted, damaged in each field of each table,
 * or anywhere by a bit. With the checksum every change is found; under image.verify what is let through is a sound
 * heap. */
#include "tests/image/image_heap.h"

static uint32_t hashes[NODES];
static uint64_t ids[NODES];
static buffer sound;   /* an image */
static buffer damaged; /* a copy, and its file */
static int file;
static size_t refused, accepted;

static int make(void **state) {
  make_folder(state);
  huge_items = 1200;
  sound = save_graph(hashes, ids, NULL);
  damaged = sound;
  damaged.bytes = malloc(sound.length);
  file = open(image_path(), O_RDWR | O_CREAT, 0600);
  return file < 0;
}
static int end(void **state) {
  close(file);
  free(sound.bytes);
  free(damaged.bytes);
  return remove_folder(state);
}
static void restore(void) {
  damaged.length = sound.length;
  memcpy(damaged.bytes, sound.bytes, sound.length);
}

static void put_file(void) {
  assert_int_equal(pwrite(file, damaged.bytes, damaged.length, 0), damaged.length);
  assert_int_equal(ftruncate(file, (off_t)damaged.length), 0);
}

/* Uses a heap of a damaged image that was let through. */
CRADLE_UNCHECKED_COLLECTION static void use(fixture *f) {
  accepted++;
  f->m = cradle_mutator_new(f->heap);
  f->stressed = false;
  cradle_weak_set *set = cradle_image_set_take(f->heap, "set", NULL, NULL);
  assert_heap_sound(f->heap);
  cradle_collect(f->m, CRADLE_COLLECT_MAJOR);
  for (size_t i = 0; i < 1000; i++) (void)CRADLE_NEW(f->m, node, I_NODE);
  cradle_collect(f->m, CRADLE_COLLECT_COMPACTING);
  assert_heap_sound(f->heap);
  cradle_weak_set_free(set);
  fixture_close(f);
}

/* Whether the file is refused, in words. */
CRADLE_UNCHECKED_COLLECTION static bool is_refused(bool verify, bool checksum, void *base) {
  fixture f = {.armed = false};
  cradle_options options;
  cradle_error error = {.option = NULL};
  image_options(&f, &options);
  fixture_unstress(&options);
  options.verify = false;
  options.base_address = base;
  cradle_image from = image_of_file();
  from.path = NULL;
  from.descriptor = file;
  from.verify = verify;
  from.checksum = checksum;
  options.image = &from;
  put_file();
  f.heap = cradle_heap_new(&options, &error);
  if (f.heap != NULL) {
    use(&f);
    return false;
  }
  refused++;
  assert_true(strlen(error.message) > 10);
  return true;
}

static void a_sound_one(void **state) {
  (void)state;
  restore();
  assert_false(is_refused(true, true, NULL));
}

/* [image.2] */
static void cut_off(void **state) {
  (void)state;
  const image_header *header = (const void *)sound.bytes;
  restore();
  for (size_t at = 0; at <= IMAGE_PARTS + 40; at++) {
    uint64_t near_by = at < IMAGE_PARTS    ? header->parts[at].at
                       : at == IMAGE_PARTS ? header->objects_at
                                           : (at - IMAGE_PARTS) * (sound.length / 41);
    for (int off = -1; off <= 1; off++) {
      if (near_by + (uint64_t)(int64_t)off >= sound.length) continue;
      damaged.length = near_by + (uint64_t)(int64_t)off;
      assert_true(is_refused(off == 0, false, NULL));
      /* and with a header that says that this is its length */
      if (damaged.length < sizeof *header) continue;
      ((image_header *)(void *)damaged.bytes)->file_bytes = damaged.length;
      sum_tables(&damaged);
      assert_true(is_refused(off == 0, false, NULL));
      restore();
    }
  }
}

static void shifted_and_foreign(void **state) {
  (void)state;
  restore();
  memmove(damaged.bytes + 8, damaged.bytes, damaged.length - 8);
  assert_true(is_refused(false, false, NULL));
  restore();
  size_t at = ((image_header *)(void *)damaged.bytes)->objects_at;
  memmove(damaged.bytes + at + 8, damaged.bytes + at, damaged.length - at - 8);
  assert_true(is_refused(false, true, NULL));
  assert_true(is_refused(true, false, NULL));
  for (size_t i = 0; i < damaged.length; i++) damaged.bytes[i] = (char)(i * 7);
  assert_true(is_refused(true, true, NULL));
  memset(damaged.bytes, 0, damaged.length);
  assert_true(is_refused(true, true, NULL));
}

/* Each field of the header and of the tables gets other values, one at a time. */
static void each_field(void **state) {
  (void)state;
  const image_header *header = (const void *)sound.bytes;
  uint64_t tables_end = header->parts[IMAGE_NAMES].at + header->parts[IMAGE_NAMES].count;
  static const uint64_t changes[] = {0,   1, UINT64_MAX, UINT64_C(1) << 63, UINT64_C(1) << 32, 8, UINT64_C(1) << 21,
                                     4096};
  for (uint64_t at = 0, step = 8; at + 8 <= tables_end; at += step) {
    /* of the long tables only some */
    if (at >= sizeof *header) step = 8 * (1 + (at / 8 * UINT64_C(2654435761) >> 7) % 40);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
      restore();
      uint64_t *word = (uint64_t *)(void *)(damaged.bytes + at);
      *word = i < 3 ? changes[i] : *word ^ changes[i];
      sum_tables(&damaged);
      (void)is_refused(true, false, i % 2 ? (void *)(uintptr_t)0x200000000000 : NULL);
    }
  }
  assert_true(refused > 500);
}

/* [image.3] Entries in another order. */
static void out_of_order(void **state) {
  (void)state;
  const image_header *header = (const void *)sound.bytes;
  static const int parts[] = {IMAGE_SPANS, IMAGE_LISTS, IMAGE_LISTS + 1, IMAGE_FIXES};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    char kept[64];
    size_t each = image_part_bytes[parts[i]];
    assert_true(header->parts[parts[i]].count > 1);
    restore();
    char *first = damaged.bytes + header->parts[parts[i]].at;
    memcpy(kept, first, each);
    memmove(first, first + each, each);
    memcpy(first + each, kept, each);
    sum_tables(&damaged);
    assert_true(is_refused(true, false, NULL));
  }
}

/* Allocation bits where no object can begin are found although the objects are not looked at. */
static void bits_between(void **state) {
  (void)state;
  const image_header *header = (const void *)sound.bytes;
  restore();
  *(uint64_t *)(void *)(damaged.bytes + header->parts[IMAGE_BITS].at) |= 2;
  sum_tables(&damaged);
  assert_true(is_refused(false, false, NULL));
  const uint64_t outside[] = {header->arenas * ARENA_BYTES + 64, UINT64_MAX - 7, UINT64_C(1) << 46};
  for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) { /* and symbols outside of all arenas */
    restore();
    ((image_fix *)(void *)(damaged.bytes + header->parts[IMAGE_FIXES].at + sizeof(image_fix)))->place = outside[i];
    sum_tables(&damaged);
    assert_true(is_refused(false, false, NULL));
  }
}

/* The part of a table in the damaged copy. */
static void *part_of(int part) {
  return damaged.bytes + ((image_header *)(void *)damaged.bytes)->parts[part].at;
}
static uint64_t count_of(int part) {
  return ((image_header *)(void *)damaged.bytes)->parts[part].count;
}
/* What the copy has at a place. */
static uint64_t *words_at(uint64_t place) {
  char *at = damaged.bytes + ((image_header *)(void *)damaged.bytes)->objects_at;
  const image_arena *arena = part_of(IMAGE_ARENAS);
  for (; arena->index != place / ARENA_BYTES; arena++) at += (size_t)arena->pages * PAGE_BYTES;
  return (uint64_t *)(void *)(at + place % ARENA_BYTES);
}

/* Faults of one table against the others are found although the objects are not looked at [image.1]. */
static void tables_that_disagree(void **state) {
  (void)state;
#define REFUSED (sum_tables(&damaged), is_refused(false, false, NULL))
  restore();
  const image_id *id = part_of(IMAGE_IDS);
  while (id->place == IMAGE_NOWHERE) id++;
  *words_at(id->place) &= ~HEADER_ID_FLAG;
  assert_true(REFUSED); /* an id without the flag */
  restore();
  image_fix *fix = part_of(IMAGE_FIXES);
  while (fix->symbol == IMAGE_NUMBER_NONE) fix++;
  fix->symbol = count_of(IMAGE_SYMBOLS);
  assert_true(REFUSED); /* a symbol that is not there */
  restore();
  ((image_set *)part_of(IMAGE_SETS))->count--;
  assert_true(REFUSED); /* a member of no set */
  restore();
  image_header *header = (void *)damaged.bytes;
  char *behind_bits = (char *)part_of(IMAGE_BITS) + 8 * count_of(IMAGE_BITS);
  char *end = (char *)part_of(IMAGE_NAMES) + count_of(IMAGE_NAMES);
  assert_true(end + 64 <= damaged.bytes + header->objects_at);
  memmove(behind_bits + 64, behind_bits, (size_t)(end - behind_bits));
  header->parts[IMAGE_BITS].count += 8;
  for (int part = IMAGE_BITS + 1; part < IMAGE_PARTS; part++) header->parts[part].at += 64;
  assert_true(REFUSED); /* bits of no span */
  restore();
  image_span *full = part_of(IMAGE_SPANS);
  while (full->full_words == 0) full++;
  full->full_words++;
  assert_true(REFUSED); /* full of objects of another size */
  restore();
  full = part_of(IMAGE_SPANS);
  while (full->size_class != IMAGE_NUMBER_NONE) full++;
  full->full_words = 1;
  assert_true(REFUSED); /* a large object that is full of others */
  buffer of_small = damaged;
  huge_items = 300000;
  damaged = save_graph(hashes, ids, NULL);
  huge_items = 1200;
  image_span *span = part_of(IMAGE_SPANS);
  for (; span->pages <= ARENA_PAGES;) span++;
  span->page++; /* in two arenas, and does not begin with the first */
  span->pages--;
  assert_true(REFUSED);
  free(damaged.bytes);
  damaged = of_small;
#undef REFUSED
}

/* [image.4] Places without an object, and what is behind one, are zero. */
static void nothing_between(void **state) {
  (void)state;
  fixture f;
  cradle_options options;
  size_t free_words = 0;
  image_options(&f, &options);
  fixture_open_with(&f, &options); /* for the types and size classes */
  restore();
  const uint64_t *bits = part_of(IMAGE_BITS);
  const image_span *span = part_of(IMAGE_SPANS), *end = span + count_of(IMAGE_SPANS);
  for (; span < end; span++) {
    bool is_small = span->size_class != IMAGE_NUMBER_NONE;
    size_t room = (size_t)span->pages * PAGE_BYTES / 8;
    const crd_size_class *class = &inside_old(f.heap)->classes.of[is_small ? span->size_class : 0];
    for (size_t word = 0, used = 0; word < room; word++) {
      const uint64_t *at = words_at((uint64_t)span->page * PAGE_BYTES + 8 * word);
      bool full = span->full_words != 0, begins = word == 0;
      if (is_small && full) begins = word % class->words == 0 && word / class->words < class->objects;
      if (is_small && !full) begins = bitmap_has(bits, word);
      if (begins) used = is_small ? class->words : type_object_bytes(space_type(&f.heap->space, *at), at) / 8;
      if (used > 0) {
        used--;
      } else {
        assert_int_equal(*at, 0);
        free_words++;
      }
    }
    if (is_small && span->full_words == 0) bits += room / 64;
  }
  assert_true(free_words > 100);
  fixture_close(&f);
}

/* An array that says that it is longer than its place is found wherever objects are looked at. */
static void too_long(void **state) {
  (void)state;
  const uint64_t lengths[] = {NODES + 500, UINT64_C(1) << 40, UINT64_MAX, UINT64_C(1) << 61};
  uint64_t *word = (uint64_t *)(void *)(sound.bytes + ((image_header *)(void *)sound.bytes)->objects_at);
  while ((uint32_t)word[0] != I_VECTOR || word[1] != NODES + 12) word++;
  size_t at = (size_t)((char *)word - sound.bytes) + 8;
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    restore();
    memcpy(damaged.bytes + at, &lengths[i], 8);
    assert_true(is_refused(true, false, NULL));
    assert_true(is_refused(false, false, (void *)(uintptr_t)0x200000000000));
  }
}

static uint64_t seed = 1;
static size_t below(size_t bound) {
  seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
  return (size_t)(seed >> 33) % bound;
}

static void flipped_bits(void **state) {
  (void)state;
  const image_header *header = (const void *)sound.bytes;
  size_t times = getenv("IMAGE_FLIPS") != NULL ? (size_t)atol(getenv("IMAGE_FLIPS")) : 600;
  for (size_t i = 0; i < times; i++) {
    restore();
    size_t at =
        below(3) == 0 ? below(header->objects_at) : header->objects_at + below(sound.length - header->objects_at);
    damaged.bytes[at] ^= (char)(1 << below(8));
    assert_true(is_refused(false, true, NULL));
    for (size_t more = below(4); more > 0; more--) {
      at = below(3) == 0 ? below(header->objects_at) : header->objects_at + below(sound.length - header->objects_at);
      damaged.bytes[at] ^= (char)(1 << below(8));
    }
    sum_tables(&damaged);
    (void)is_refused(true, false, i % 2 ? (void *)(uintptr_t)0x200000000000 : NULL);
  }
  print_message("%zu refused, %zu let through\n", refused, accepted);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_sound_one),     cmocka_unit_test(cut_off),      cmocka_unit_test(shifted_and_foreign),
      cmocka_unit_test(out_of_order),    cmocka_unit_test(bits_between), cmocka_unit_test(too_long),
      cmocka_unit_test(each_field),      cmocka_unit_test(flipped_bits), cmocka_unit_test(tables_that_disagree),
      cmocka_unit_test(nothing_between),
  };
  return cmocka_run_group_tests(tests, make, end);
}
