/* Heap dumps: what cannot be written, what is refused, and who else writes. tests/model/model_walk.c compares their
 * contents with whole random heaps, and tests/tools/test_cradle_heap.py reads them. */
#include "tests/support/one_heap.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/inside.h"

static void choose(cradle_options *options) {
  options->verify = false; /* the tests say when */
}

static pair *new_pair(void) {
  return cradle_new(f.m, T_PAIR, sizeof(pair));
}

static bool refuse_after(void *data, const void *bytes, size_t count) {
  (void)bytes;
  size_t *left = data;
  if (count > *left) return false;
  *left -= count;
  return true;
}

static void a_dump_that_cannot_be_written(void **state) {
  (void)state;
  cradle_error error;
  vector *all = cradle_new_array(f.m, T_VECTOR, 30000);
  CRADLE_ROOT(f.m, all);
  for (size_t i = 0; i < all->length; i++) {
    pair *fresh = new_pair();
    cradle_store(f.m, all, &all->item[i], fresh);
  }
  for (size_t left = 0; left < 600000; left = 3 * left + 40) {
    size_t room = left;
    error = (cradle_error){.message = "old", .option = "old", .accepted = 1};
    assert_false(cradle_heap_dump_to(f.heap, refuse_after, &room, &error));
    assert_string_equal(error.message, "the dump could not be written");
    assert_null(error.option);
    assert_int_equal(error.accepted, 0);
  }
  size_t room = SIZE_MAX;
  error = (cradle_error){.message = "old", .option = "old", .accepted = 1};
  assert_true(cradle_heap_dump_to(f.heap, refuse_after, &room, &error));
  assert_string_equal(error.message, "");
  assert_null(error.option);
  assert_false(cradle_heap_dump(f.heap, "/no/such/folder/dump", &error));
  if (strstr(error.message, "/no/such/folder/dump") == NULL || strstr(error.message, "No such file") == NULL)
    fail_msg("the message is \"%s\"", error.message);
#ifdef _WIN32
  return; /* no limit of a file's size */
#endif
  char folder[] = "/tmp/cradle-dump-XXXXXX", path[64];
  struct rlimit before, small;
  struct stat status;
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/dump", folder);
  getrlimit(RLIMIT_FSIZE, &before);
  small = (struct rlimit){10000, before.rlim_max}; /* files no larger than that: as on a full disk */
  setrlimit(RLIMIT_FSIZE, &small);
  bool dumped = cradle_heap_dump(f.heap, path, &error);
  setrlimit(RLIMIT_FSIZE, &before);
  assert_false(dumped);
  if (strstr(error.message, "File too large") == NULL) fail_msg("the message is \"%s\"", error.message);
  assert_int_equal(stat(path, &status), 0);
  assert_int_equal(status.st_size, 10000); /* the beginning of a dump, which readers refuse for lack of an end */
  assert_true(cradle_heap_dump(f.heap, path, &error));
  assert_int_equal(stat(path, &status), 0);
  assert_true((uint64_t)status.st_size > 30000 * 16);
  remove(path);
  assert_int_equal(rmdir(folder), 0);
}

/* Allocates at the write of this number. */
static size_t writes_left;
CRADLE_UNCHECKED_COLLECTION static bool write_and_allocate(void *data, const void *bytes, size_t count) {
  (void)data, (void)bytes, (void)count;
  if (--writes_left == 0) (void)cradle_new(f.m, T_PAIR, sizeof(pair));
  return true;
}
static void dump(cradle_mutator *m) {
  (void)m;
  (void)cradle_heap_dump_to(f.heap, write_and_allocate, NULL, NULL);
}

/* The dump is complete, from its head to the totals. */
static void a_dumps_writes_that_use_the_heap(void **state) {
  (void)state;
  pair *object = new_pair();
  CRADLE_ROOT(f.m, object);
  writes_left = SIZE_MAX;
  assert_true(cradle_heap_dump_to(f.heap, write_and_allocate, NULL, NULL));
  size_t writes = SIZE_MAX - writes_left;
  assert_true(writes > 4);
  for (size_t i = 1; i <= writes; i++) {
    writes_left = i;
    assert_refused_in_child(&f, dump, "cradle_new: called from a callback of a heap walk");
  }
}

typedef struct written {
  size_t bytes;
  char text[4 << 20];
} written;

static bool keep(void *data, const void *bytes, size_t count) {
  written *all = data;
  assert_true(count <= sizeof all->text - all->bytes);
  memcpy(all->text + all->bytes, bytes, count);
  all->bytes += count;
  return true;
}

/* Copies what the chunks with the tag hold to the text's end; returns where, and *bytes. */
static const char *chunks_of(written *all, size_t end, uint32_t tag, size_t *bytes) {
  char *out = all->text + end;
  *bytes = 0;
  for (size_t at = sizeof(dump_header); at < end;) {
    dump_chunk chunk;
    memcpy(&chunk, all->text + at, sizeof chunk);
    at += sizeof chunk;
    assert_true(chunk.bytes % 8 == 0 && chunk.bytes <= end - at);
    assert_true(sizeof all->text - end - *bytes >= chunk.bytes);
    if (chunk.tag == tag) memcpy(out + *bytes, all->text + at, chunk.bytes), *bytes += chunk.bytes;
    at += chunk.bytes;
  }
  return out;
}

/* More references, objects and roots than fit in one chunk: between chunks none is lost, and none comes in. */
static void what_takes_many_chunks_is_whole(void **state) {
  enum { REFERENCES = 70001, OBJECTS = 20000, ROOTS = 12000 };
  (void)state;
  if (f.stressed) {
    print_message("not under stress: there are too many objects\n");
    skip();
  }
  static written all;
  pair *list = NULL;
  vector *holder = cradle_new_array(f.m, T_VECTOR, REFERENCES);
  CRADLE_ROOT(f.m, holder);
  CRADLE_ROOT(f.m, list);
  for (int i = 0; i < OBJECTS; i++) {
    pair *fresh = new_pair();
    fresh->first = list;
    list = fresh;
  }
  for (size_t i = 0; i < REFERENCES; i++) cradle_store(f.m, holder, &holder->item[i], list);
  for (int i = 0; i < ROOTS; i++) cradle_push(f.m, list);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  all.bytes = 0;
  assert_true(cradle_heap_dump_to(f.heap, keep, &all, NULL));
  size_t end = all.bytes, bytes;
  dump_header header;
  dump_totals totals;
  memcpy(&header, all.text, sizeof header);
  memcpy(&totals, chunks_of(&all, end, DUMP_END, &bytes), sizeof totals);
  assert_int_equal(bytes, sizeof totals);
  assert_int_equal(totals.objects, OBJECTS + 1);
  assert_int_equal(totals.references, REFERENCES + OBJECTS - 1);
  assert_int_equal(totals.roots, ROOTS + 2);
  uint64_t wanted = ((uintptr_t)list - header.old_base) / 8, in_objects = 0, found = 0;
  const char *at = chunks_of(&all, end, DUMP_OBJECTS, &bytes);
  assert_int_equal(bytes, totals.objects * sizeof(dump_object));
  for (uint64_t i = 0; i < totals.objects; i++) {
    dump_object object;
    memcpy(&object, at + i * sizeof object, sizeof object), in_objects += object.references;
  }
  assert_int_equal(in_objects, totals.references);
  at = chunks_of(&all, end, DUMP_REFERENCES, &bytes);
  assert_int_equal(bytes, (totals.references * sizeof(uint32_t) + 7) / 8 * 8);
  for (uint64_t i = 0; i < totals.references; i++) {
    uint32_t position;
    memcpy(&position, at + i * sizeof position, sizeof position);
    assert_true(position < header.words);
    found += position == wanted;
  }
  assert_int_equal(found, REFERENCES);
  at = chunks_of(&all, end, DUMP_ROOTS, &bytes);
  assert_int_equal(bytes, totals.roots * sizeof(dump_root));
  for (uint64_t i = 0; i < ROOTS; i++) {
    dump_root root;
    memcpy(&root, at + i * sizeof root, sizeof root);
    assert_int_equal(root.holder, CRADLE_HOLDER_SHADOW_STACK);
    assert_int_equal(root.index, i);
    assert_int_equal(root.position, wanted);
  }
  cradle_pop_many(f.m, ROOTS);
}

/* The last registered is the first visited. A range that refers to nothing has a number, too, and no name. */
static void root_ranges_are_told_apart(void **state) {
  (void)state;
  static const char *const names[3] = {"low", "empty", "high"};
  static written all;
  cradle_word words[3][2] = {{0, 0}, {0, 0}, {0, 0}}, *base[3], *top[3];
  cradle_root_range ranges[3];
  for (int i = 0; i < 3; i++) {
    base[i] = words[i], top[i] = words[i] + 2;
    ranges[i] = CRADLE_ROOT_RANGE(base[i], top[i], CRADLE_KIND_REFERENCE, names[i]);
    cradle_root_range_add(f.m, &ranges[i]);
    if (i != 1) words[i][1] = (cradle_word)new_pair();
  }
  all.bytes = 0;
  assert_true(cradle_heap_dump_to(f.heap, keep, &all, NULL));
  for (int i = 0; i < 3; i++) cradle_root_range_remove(f.m, &ranges[i]);
  size_t end = all.bytes, bytes;
  dump_root roots[2];
  const char *at = chunks_of(&all, end, DUMP_ROOTS, &bytes);
  assert_int_equal(bytes, sizeof roots);
  memcpy(roots, at, sizeof roots);
  for (uint32_t i = 0; i < 2; i++) {
    assert_int_equal(roots[i].holder, CRADLE_HOLDER_ROOT_RANGE);
    assert_int_equal(roots[i].index, 1);
    assert_int_equal(roots[i].name, 2 * i);
  }
  at = chunks_of(&all, end, DUMP_NAMES, &bytes); /* each a number, a length, and the name padded to eight bytes */
  assert_int_equal(bytes, 32);
  assert_memory_equal(at, "\0\0\0\0\4\0\0\0high\0\0\0\0\2\0\0\0\3\0\0\0low\0\0\0\0\0", 32);
}

/* [dump.1] */
static void a_heap_that_spans_more_than_32_gib_is_refused(void **state) {
  (void)state;
  uint32_t *end = &inside_old(f.heap)->arenas.used_end, before = *end;
  cradle_error error;
  size_t room = SIZE_MAX;
  *end = (uint32_t)((UINT64_C(32) << 30) / ARENA_BYTES) + 1;
  bool dumped = cradle_heap_dump_to(f.heap, refuse_after, &room, &error);
  *end = before;
  assert_false(dumped);
  assert_non_null(strstr(error.message, "32 GiB"));
  assert_true(room == SIZE_MAX);
}

static void write_to_standard_error(void *data, cradle_visitor *visitor) {
  (void)data, (void)visitor;
  ssize_t written = write(STDERR_FILENO, "text", 4);
  (void)written;
}

/* With standard error closed, text that the program writes there does not get into a dump. */
static void a_dump_is_never_a_standard_stream(void **state) {
  (void)state;
  char folder[] = "/tmp/cradle-dump-XXXXXX", path[64], bytes[2][1 << 14];
  size_t lengths[2];
  cradle_error error;
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/dump", folder);
  cradle_root_callback_set(f.heap, write_to_standard_error, NULL);
  for (int closed = 0; closed < 2; closed++) {
    int kept = dup(STDERR_FILENO);
    if (closed) close(STDERR_FILENO);
    bool dumped = cradle_heap_dump(f.heap, path, &error);
    dup2(kept, STDERR_FILENO);
    close(kept);
    assert_true(dumped);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    lengths[closed] = fread(bytes[closed], 1, sizeof bytes[closed], file);
    fclose(file);
  }
  cradle_root_callback_set(f.heap, NULL, NULL);
  assert_int_equal(lengths[0], lengths[1]);
  assert_memory_equal(bytes[0], bytes[1], lengths[0]);
  assert_int_equal(remove(path), 0);
  assert_int_equal(rmdir(folder), 0);
}

/* Nothing is left open, nor a file begun. */
CRADLE_UNCHECKED_COLLECTION static void a_dump_that_is_refused(void **state) {
  (void)state;
  char folder[] = "/tmp/cradle-dump-XXXXXX", path[64];
  cradle_error error;
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/dump", folder);
  int before = dup(0);
  close(before);
  cradle_mutator_detach(f.m);
  if (FIXTURE_LANDS(&f)) {
    (void)cradle_heap_dump(f.heap, path, &error);
    fail_msg("not refused");
  }
  assert_non_null(strstr(f.message, "cradle_heap_dump: the mutator is attached to no thread"));
  size_t writes = SIZE_MAX;
  if (FIXTURE_LANDS(&f)) {
    (void)cradle_heap_dump_to(f.heap, write_and_allocate, &writes, &error);
    fail_msg("not refused");
  }
  assert_true(writes == SIZE_MAX);
  cradle_mutator_attach(f.m);
  int after = dup(0);
  close(after);
  assert_int_equal(after, before);
  assert_int_equal(rmdir(folder), 0);
}

/* The only free descriptor is a standard one. */
static void a_dump_for_which_no_descriptor_is_left(void **state) {
  (void)state;
  char folder[] = "/tmp/cradle-dump-XXXXXX", path[64];
  cradle_error error;
  struct rlimit before, little;
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/dump", folder);
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  int kept = dup(STDERR_FILENO);
  little = (struct rlimit){.rlim_cur = (rlim_t)kept + 1, .rlim_max = before.rlim_max};
  close(STDERR_FILENO);
  int limited = setrlimit(RLIMIT_NOFILE, &little);
  bool dumped = cradle_heap_dump(f.heap, path, &error);
  dup2(kept, STDERR_FILENO);
  setrlimit(RLIMIT_NOFILE, &before);
  close(kept);
  assert_int_equal(limited, 0);
  assert_false(dumped);
  assert_non_null(strstr(error.message, strerror(EMFILE)));
  remove(path);
  assert_int_equal(rmdir(folder), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_FIXTURE(a_dump_that_cannot_be_written),     WITH_FIXTURE(what_takes_many_chunks_is_whole),
      WITH_FIXTURE(root_ranges_are_told_apart),        WITH_FIXTURE(a_heap_that_spans_more_than_32_gib_is_refused),
      WITH_FIXTURE(a_dumps_writes_that_use_the_heap),  WITH_FIXTURE(a_dump_that_is_refused),
      WITH_FIXTURE(a_dump_is_never_a_standard_stream), WITH_FIXTURE(a_dump_for_which_no_descriptor_is_left),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
