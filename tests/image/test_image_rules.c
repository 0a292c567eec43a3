/* Tests what an image refuses, by name; that it says nothing of dead objects; what a sealed one spares; and images in
 * shared heaps, across a fork and in files. */
#include <errno.h>
#include <pthread.h>
#ifndef _WIN32
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#include "tests/image/image_heap.h"

static uint32_t hashes[NODES];
static uint64_t ids[NODES];
static buffer image;

static int make(void **state) {
  make_folder(state);
  huge_items = 5000;
  image = save_graph(hashes, ids, NULL);
  write_file(&image);
  return 0;
}
static int end(void **state) {
  free(image.bytes);
  return remove_folder(state);
}

static const cradle_image_contents nothing;

/* --- saving --- */

CRADLE_UNCHECKED_COLLECTION static void refuses(fixture *f, const cradle_image_contents *contents, const char *words) {
  cradle_error error;
  buffer saved = {NULL, 0, 0};
  assert_false(cradle_image_save_to(f->m, take, &saved, contents, &error));
  if (strstr(error.message, words) == NULL) fail_msg("\"%s\" has no \"%s\"", error.message, words);
  assert_int_equal(saved.length, 0);
  assert_heap_sound(f->heap);
}

CRADLE_UNCHECKED_COLLECTION static void saves(fixture *f) {
  cradle_error error;
  buffer saved = {NULL, 0, 0};
  if (!cradle_image_save_to(f->m, take, &saved, &nothing, &error)) fail_msg("%s", error.message);
  free(saved.bytes);
}

static node outside = {.header = I_NODE};

static const cradle_type odd_types[] = {
    {.name = "node", .size = sizeof(node), .references = CRADLE_SLOT(node, left) | CRADLE_SLOT(node, right)},
    {.size = sizeof(node), .references = CRADLE_SLOT(node, left)},
    {.name = "final", .size = sizeof(node), .references = CRADLE_SLOT(node, left), .finalizer = 1},
    {.name = "buffered", .size = sizeof(node), .destructor = owner_end},
    {.name = "node", .size = sizeof(node), .references = CRADLE_SLOT(node, right)},
    {.name = "calls", .size = sizeof(caller), .symbols = CRADLE_SLOT(caller, call)},
};
enum { O_NODE, O_NAMELESS, O_FINAL, O_BUFFERED, O_TWIN, O_CALLS, O_COUNT };

static void what_cannot_be_saved(void **state) {
  (void)state;
  fixture f;
  cradle_options options;
  fixture_options(&f, &options);
  options.types = odd_types;
  options.type_count = O_COUNT;
  fixture_open_with(&f, &options);
  {
    node *n = CRADLE_NEW(f.m, node, O_NODE), *other = NULL;
    CRADLE_ROOT(f.m, n);
    CRADLE_ROOT(f.m, other);
    saves(&f);
    cradle_handle handle = cradle_handle_new(f.m, n);
    refuses(&f, &nothing, "handles cannot be saved, and 1 are open");
    cradle_handle_free(f.m, handle);
    n = cradle_pin(f.m, n);
    refuses(&f, &nothing, "pins cannot be saved, and type 0 (node) at");
    cradle_unpin(f.m, n);
    other = CRADLE_NEW(f.m, node, O_NAMELESS);
    refuses(&f, &nothing, "type 1 has objects and no name that is its own (without a name)");
    other = CRADLE_NEW(f.m, node, O_TWIN);
    refuses(&f, &nothing, "type 4 has objects and no name that is its own (node)");
    other = CRADLE_NEW_WITH(f.m, node, O_FINAL, 0);
    refuses(&f, &nothing, "type 2 (final) at ");
    refuses(&f, &nothing, "has an open finalizer");
    other = NULL;
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    refuses(&f, &nothing, "has an open finalizer"); /* it waits in the queue */
    assert_non_null(cradle_finalizer_next(f.m, 1));
    saves(&f);
    other = CRADLE_NEW_WITH(f.m, node, O_BUFFERED, 0);
    refuses(&f, &nothing, "has a destructor or an external size, and its type no cradle_type.mend");
    caller *c = CRADLE_NEW(f.m, caller, O_CALLS);
    c->call = twice;
    other = (node *)c;
    refuses(&f, &nothing, "word 1 of type 5 (calls)");
    refuses(&f, &nothing, "is the address of no symbol");
    other = NULL;
    const void *unrooted = &outside;
    cradle_image_root roots[] = {{"lost", &unrooted, CRADLE_KIND_REFERENCE}};
    cradle_image_contents contents = {.roots = roots, .root_count = 1};
    refuses(&f, &contents, "the root lost refers to no object of the heap");
    cradle_store(f.m, n, &n->left, &outside);
    refuses(&f, &nothing, "word 2 of type 0 (node)");
    refuses(&f, &nothing, "refers to memory outside of the heap");
    cradle_store(f.m, n, &n->left, NULL);
    saves(&f);
  }
  fixture_close(&f);
}

static void no_collection_no_image(void **state) {
  (void)state;
  fixture f;
  cradle_options options;
  fixture_options(&f, &options);
  fixture_unstress(&options);
  options.gc = CRADLE_GC_OFF;
  fixture_open_with(&f, &options);
  refuses(&f, &nothing, "the heap collects nothing");
  fixture_close(&f);
}

static bool stop_after(void *data, const void *bytes, size_t count) {
  (void)bytes;
  size_t *left = data;
  if (*left < count) {
    if (*left >= 1000) errno = ENOSPC;
    return false;
  }
  *left -= count;
  errno = EIO; /* what nobody asks for */
  return true;
}

CRADLE_UNCHECKED_COLLECTION static void a_write_that_fails(void **state) {
  (void)state;
  fixture f;
  cradle_error error;
  fixture_open(&f);
  for (size_t room = 0; room < 3000; room += 500) {
    size_t left = room;
    assert_false(cradle_image_save_to(f.m, stop_after, &left, &nothing, &error));
    char expected[200];
    snprintf(expected, sizeof expected, "image: it could not be written%s%s", left < 1000 ? "" : ": ",
             left < 1000 ? "" : strerror(ENOSPC));
    assert_string_equal(error.message, expected);
  }
  cradle_image_contents contents = nothing;
  assert_false(cradle_image_save(f.m, "/nowhere/at/all.image", &contents, &error));
  assert_non_null(strstr(error.message, "/nowhere/at/all.image.new"));
  assert_non_null(strstr(error.message, strerror(ENOENT)));
  char long_path[5000];
  memset(long_path, 'x', sizeof long_path);
  long_path[sizeof long_path - 1] = 0;
  assert_false(cradle_image_save(f.m, long_path, &contents, &error));
  assert_non_null(strstr(error.message, strerror(ENAMETOOLONG)));
  fixture_close(&f);
}

/* A longer file that an earlier process left behind under the name of the new one is emptied first. */
CRADLE_UNCHECKED_COLLECTION static void a_file_left_behind(void **state) {
  (void)state;
  fixture f;
  cradle_error error;
  char path[300], new_path[310];
  snprintf(path, sizeof path, "%s/behind.image", folder);
  snprintf(new_path, sizeof new_path, "%s.new", path);
  FILE *left = fopen(new_path, "wb");
  assert_non_null(left);
  assert_int_equal(fwrite(image.bytes, 1, image.length, left), image.length);
  assert_int_equal(fclose(left), 0);
  cradle_options options;
  image_options(&f, &options);
  fixture_open_with(&f, &options);
  if (!cradle_image_save(f.m, path, &nothing, &error)) fail_msg("%s", error.message);
  fixture_close(&f);
  cradle_image from = {.path = path};
  image_options(&f, &options);
  options.image = &from;
  fixture_open_with(&f, &options);
  fixture_close(&f);
  assert_int_equal(remove(path), 0);
}

#ifndef _WIN32
/* The system's reason is in the error, no part of a file is left, and the file of that name stays as it was. */
CRADLE_UNCHECKED_COLLECTION static void a_file_that_may_not_grow(void **state) {
  (void)state;
  fixture f;
  cradle_error error;
  char path[300], new_path[310];
  struct rlimit before, limited;
  struct stat file;
  fixture_open(&f);
  snprintf(path, sizeof path, "%s.limited", image_path());
  snprintf(new_path, sizeof new_path, "%s.new", path);
  assert_true(cradle_image_save(f.m, path, &nothing, &error));
  assert_int_equal(stat(path, &file), 0);
  off_t length = file.st_size;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  limited = before;
  limited.rlim_cur = 1000;
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limited), 0);
  bool saved = cradle_image_save(f.m, path, &nothing, &error);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);
  assert_false(saved);
  if (strstr(error.message, strerror(EFBIG)) == NULL) fail_msg("%s", error.message);
  assert_int_equal(stat(new_path, &file), -1);
  assert_int_equal(stat(path, &file), 0);
  assert_int_equal(file.st_size, length);
  unlink(path);
  fixture_close(&f);
}
#endif

/* [image.4] Nor is the end of a large array that became shorter. */
CRADLE_UNCHECKED_COLLECTION static void nothing_behind_an_end(void **state) {
  (void)state;
  fixture f;
  cradle_options options;
  cradle_error error;
  buffer saved = {NULL, 0, 0};
  image_options(&f, &options);
  fixture_unstress(&options);
  fixture_open_with(&f, &options);
  {
    words *rest = new_words(f.m, I_BYTES, 1900000); /* of the arena: it is so full that nothing moves */
    CRADLE_ROOT(f.m, rest);
    bytes *large = (bytes *)new_words(f.m, I_BYTES, 50000);
    CRADLE_ROOT(f.m, large);
    cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
    const bytes *before = large;
    memset(large->byte, 'x', 50000);
    large->length = 49500;
    if (!cradle_image_save_to(f.m, take, &saved, &nothing, &error)) fail_msg("%s", error.message);
    assert_ptr_equal(large, before); /* a copy would not have the end */
  }
  size_t found = 0;
  for (size_t at = 0; at < saved.length; at++) found += saved.bytes[at] == 'x';
  assert_in_range(found, 49500, 49600);
  free(saved.bytes);
  fixture_close(&f);
}

/* [image.4] What is dead is not in the file, also where it lay between objects that live. */
CRADLE_UNCHECKED_COLLECTION static void nothing_of_the_dead(void **state) {
  (void)state;
  static const char dead[] = "this is dead ";
  fixture f;
  cradle_options options;
  cradle_error error;
  buffer saved = {NULL, 0, 0};
  image_options(&f, &options);
  fixture_unstress(&options);
  options.verify = false; /* which writes poison over what died */
  fixture_open_with(&f, &options);
  {
    /* so many arenas that the compaction, which empties the sparsest, does not fill all places of the dead */
    words *all = new_words(f.m, I_VECTOR, 200000);
    CRADLE_ROOT(f.m, all);
    for (size_t i = 0; i < all->length; i++) {
      bytes *text = (bytes *)new_words(f.m, I_BYTES, 100);
      for (size_t at = 0; at < 100; at++) text->byte[at] = i % 8 == 0 ? dead[at % 13] : 'x';
      cradle_store(f.m, all, &all->item[i], text);
    }
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    for (size_t i = 0; i < all->length; i += 8) cradle_store(f.m, all, &all->item[i], NULL);
    if (!cradle_image_save_to(f.m, take, &saved, &nothing, &error)) fail_msg("%s", error.message);
  }
  for (size_t at = 0; at + 13 <= saved.length; at++)
    if (memcmp(saved.bytes + at, dead, 13) == 0) fail_msg("a dead object is in the image");
  free(saved.bytes);
  fixture_close(&f);
}

/* --- loading --- */

static void refuses_load(cradle_options *options, const char *words) {
  cradle_error error;
  assert_null(cradle_heap_new(options, &error));
  if (strstr(error.message, words) == NULL) fail_msg("\"%s\" has no \"%s\"", error.message, words);
  assert_string_equal(error.option, "image");
}

/* [image.1] */
static void what_does_not_fit(void **state) {
  (void)state;
  fixture f;
  cradle_options options;
  cradle_type types[I_COUNT];
  image_options(&f, &options);
  cradle_image from = image_of_file();
  options.image = &from;
  options.types = types;
#define AFRESH memcpy(types, image_types, sizeof types)
  AFRESH;
  types[I_NODE].references = CRADLE_SLOT(node, left);
  refuses_load(&options, "type node: references is 0xc in the image, and 0x4 in this program");
  AFRESH;
  types[I_RECORDS].item_size = 32;
  refuses_load(&options, "type records: item_size is 0x18 in the image, and 0x20 in this program");
  AFRESH;
  types[I_OWNER].mend = NULL;
  refuses_load(&options, "type owner: mend is 0x1 in the image");
  AFRESH;
  types[I_CALLER].name = "somebody";
  refuses_load(&options, "objects of the type caller, which is not in options.types");
  AFRESH;
  from.symbol_count = 2;
  refuses_load(&options, "it needs the symbol text, which the program has not");
  from.symbol_count = SYMBOLS;
  options.encoding = cradle_encoding_of(0, 0, 0x03);
  refuses_load(&options, "another encoding than options.encoding");
  image_options(&f, &options);
  options.image = &from;
  from.path = "/nowhere/at/all.image";
  refuses_load(&options, "/nowhere/at/all.image: ");
  from.path = NULL;
  from.descriptor = -1;
  refuses_load(&options, "no file is given");
  from.path = folder;
  refuses_load(&options, "image: ");
  from.path = "/dev/null";
  refuses_load(&options, "no regular file");
}

static void a_maximum_below_the_image(void **state) {
  (void)state;
  fixture f;
  cradle_options options;
  buffer saved = {NULL, 0, 0}, before = image;
  cradle_error error;
  image_options(&f, &options);
  fixture_unstress(&options);
  fixture_open_with(&f, &options);
  {
    words *large = new_words(f.m, I_VECTOR, (size_t)3 << 20); /* 24 MiB */
    CRADLE_ROOT(f.m, large);
    if (!cradle_image_save_to(f.m, take, &saved, &nothing, &error)) fail_msg("%s", error.message);
  }
  fixture_close(&f);
  write_file(&saved);
  image_options(&f, &options);
  cradle_image from = image_of_file();
  options.image = &from;
  options.nursery_bytes = (size_t)64 << 10;
  options.heap_max_bytes = (size_t)16 << 20;
  refuses_load(&options, "it has more than options.heap_max_bytes");
  free(saved.bytes);
  write_file(&before);
}

static void types_of_images(void **state) {
  (void)state;
  fixture f;
  cradle_type type = {.name = "wrong", .size = 32, .references = 4, .symbols = 4};
  fixture_open(&f);
  ASSERT_MISUSE(&f, "symbols has a bit of a slot or of the header", (void)cradle_type_add(f.heap, &type));
  type.symbols = 16;
  ASSERT_MISUSE(&f, "symbols has a bit beyond size", (void)cradle_type_add(f.heap, &type));
  fixture_close(&f);
}

/* --- a loaded heap --- */

CRADLE_UNCHECKED_COLLECTION static void open_image(fixture *f, bool sealed, uint32_t mutators) {
  cradle_options options;
  image_options(f, &options);
  fixture_unstress(&options);
  cradle_image from = image_of_file();
  from.sealed = sealed;
  options.image = &from;
  options.mutators = mutators;
  fixture_open_with(f, &options);
}

/* Nothing is allocated in the pages of a sealed image, which has places for it. */
CRADLE_UNCHECKED_COLLECTION static void a_sealed_image_is_left_alone(void **state) {
  (void)state;
  fixture f;
  const image_header *header = (const void *)image.bytes;
  const image_arena *arena = (const void *)(image.bytes + header->parts[IMAGE_ARENAS].at);
  assert_int_equal(header->parts[IMAGE_ARENAS].count, 1);
  for (int sealed = 0; sealed <= 1; sealed++) {
    size_t inside = 0;
    open_image(&f, sealed, 1);
    for (size_t i = 0; i < 1000; i++) cradle_push(f.m, new_node(f.m, i));
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    for (size_t i = 0; i < 1000; i++)
      inside += arenas_index(&inside_old(f.heap)->arenas, *cradle_peek(f.m, i)) == arena->index;
    cradle_pop_many(f.m, 1000);
    assert_true(sealed ? inside == 0 : inside > 0);
    fixture_close(&f);
  }
}

static uint64_t marked, counted_objects, counted_bytes;
static void count_marked(void *data, const cradle_event *event) {
  (void)data;
  if (event->kind == CRADLE_EVENT_STEP_END) marked += event->u.step.marked_bytes;
  if (event->kind != CRADLE_EVENT_TYPES) return;
  counted_objects += event->u.types.live_objects;
  counted_bytes += event->u.types.live_bytes;
}

/* [sealed.1], [sealed.2] A major collection of a sealed image traces what was stored into, and nothing else of it.
 * [census.1] Its objects are not counted by type. */
CRADLE_UNCHECKED_COLLECTION static void a_sealed_image_is_not_traced(void **state) {
  (void)state;
  uint64_t of_whole = 0;
  for (int sealed = 0; sealed <= 1; sealed++) {
    fixture f;
    cradle_options options;
    image_options(&f, &options);
    fixture_unstress(&options);
    cradle_image from = image_of_file();
    from.sealed = sealed;
    options.image = &from;
    options.listener = (cradle_listener){fixture_listen, &f};
    options.report_types = 2;
    f.listens_to = 0;
    fixture_open_with(&f, &options);
    f.listener = count_marked;
    f.listens_to = EVENT_BIT(CRADLE_EVENT_STEP_END) | EVENT_BIT(CRADLE_EVENT_TYPES);
    marked = 0;
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    if (!sealed) of_whole = marked;
    uint64_t of_pairs = marked; /* all ephemerons are looked at */
    words *all = (words *)(uintptr_t)cradle_image_root_get(f.heap, "all");
    node *n = CRADLE_NEW(f.m, node, I_NODE);
    all = (words *)(uintptr_t)cradle_image_root_get(f.heap, "all");
    cradle_store(f.m, AT(3), &AT(3)->right, n);
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    marked = counted_objects = counted_bytes = 0;
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    assert_int_equal(counted_bytes, sealed ? sizeof(node) : fixture_stats(&f).old_bytes);
    if (sealed) assert_int_equal(counted_objects, 1);
    if (sealed) assert_in_range(marked, of_pairs + 1, of_pairs + 200);
    if (sealed) assert_in_range(of_pairs, 16 * NODES, 17 * NODES);
    assert_heap_sound(f.heap);
    fixture_close(&f);
  }
  assert_true(of_whole > 40000);
}

CRADLE_UNCHECKED_COLLECTION static void work(fixture *f, cradle_mutator *m, size_t offset) {
  words *all = (words *)(uintptr_t)cradle_image_root_get(f->heap, "all");
  CRADLE_ROOT(m, all);
  for (size_t i = offset; i < NODES; i += 2) {
    node *n = CRADLE_NEW(m, node, I_NODE);
    n->number = i;
    cradle_store(m, AT(i), &AT(i)->right, n);
    if (i % 50 == offset) cradle_collect(m, CRADLE_COLLECT_MAJOR);
  }
}

typedef struct thread_work {
  fixture *f;
  size_t offset;
} thread_work;
CRADLE_UNCHECKED_COLLECTION static void *in_thread(void *data) {
  const thread_work *of = data;
  cradle_mutator *m = cradle_mutator_new(of->f->heap);
  work(of->f, m, of->offset);
  cradle_mutator_free(m);
  return NULL;
}

CRADLE_UNCHECKED_COLLECTION static void two_mutators(void **state) {
  (void)state;
  for (int sealed = 0; sealed <= 1; sealed++) {
    fixture f;
    pthread_t thread;
    cradle_error error;
    open_image(&f, sealed, 2);
    thread_work other = {&f, 1};
    assert_int_equal(pthread_create(&thread, NULL, in_thread, &other), 0);
    work(&f, f.m, 0);
    cradle_image_root roots[] = {{"all", NULL, CRADLE_KIND_REFERENCE}};
    words *all = (words *)(uintptr_t)cradle_image_root_get(f.heap, "all");
    {
      CRADLE_ROOT(f.m, all);
      roots[0].variable = &all;
      cradle_image_contents contents = {
          .roots = roots, .root_count = 1, .symbols = image_symbols, .symbol_count = SYMBOLS};
      buffer again = {NULL, 0, 0};
      if (!cradle_image_save_to(f.m, take, &again, &contents, &error)) fail_msg("%s", error.message);
      free(again.bytes);
    }
    CRADLE_PARKED(f.m) assert_int_equal(pthread_join(thread, NULL), 0);
    all = (words *)(uintptr_t)cradle_image_root_get(f.heap, "all");
    for (size_t i = 0; i < NODES; i++) assert_int_equal(AT(i)->right->number, i);
    assert_heap_sound(f.heap);
    fixture_close(&f);
  }
}

CRADLE_UNCHECKED_COLLECTION static void a_fork(void **state) {
  (void)state;
#ifndef _WIN32
  for (int sealed = 0; sealed <= 1; sealed++) {
    fixture f;
    cradle_error error;
    open_image(&f, sealed, 1);
    if (!cradle_fork_prepare(f.heap, &error)) fail_msg("%s", error.message);
    pid_t child = fork();
    cradle_fork_done(f.heap);
    work(&f, f.m, child == 0);
    cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
    words *all = (words *)(uintptr_t)cradle_image_root_get(f.heap, "all");
    for (size_t i = 0; i < NODES; i++) {
      bool ours = i % 2 == (child == 0);
      if (ours ? AT(i)->right->number != i : AT(i)->right != NULL) _exit(1);
    }
    if (child == 0) _exit(0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    fixture_close(&f);
  }
#endif
}

/* An image of a heap that was made from an image, in a file that takes the place of another one. */
CRADLE_UNCHECKED_COLLECTION static void an_image_of_an_image(void **state) {
  (void)state;
  for (int sealed = 0; sealed <= 1; sealed++) {
    fixture f;
    cradle_error error;
    char path[200];
    snprintf(path, sizeof path, "%s/second.image", folder);
    open_image(&f, sealed, 1);
    cradle_weak_set *set = cradle_image_set_take(f.heap, "set", NULL, NULL);
    words *all = (words *)(uintptr_t)cradle_image_root_get(f.heap, "all");
    {
      CRADLE_ROOT(f.m, all);
      cradle_image_root roots[] = {{"all", &all, CRADLE_KIND_REFERENCE}};
      cradle_image_set sets[] = {{"again", set}};
      cradle_image_contents contents = {roots, 1, sets, 1, image_symbols, SYMBOLS};
      for (int i = 0; i < 2; i++)
        if (!cradle_image_save(f.m, path, &contents, &error)) fail_msg("%s", error.message);
    }
    cradle_weak_set_free(set);
    fixture_close(&f);
    cradle_options options;
    image_options(&f, &options);
    cradle_image from = image_of_file();
    from.path = path;
    from.verify = from.checksum = true;
    options.image = &from;
    fixture_open_with(&f, &options);
    set = cradle_image_set_take(f.heap, "again", NULL, NULL);
    assert_null(cradle_image_set_take(f.heap, "set", NULL, NULL));
    check(&f, (words *)(uintptr_t)cradle_image_root_get(f.heap, "all"), set, hashes, ids);
    cradle_weak_set_free(set);
    fixture_close(&f);
  }
}

/* The arenas of an image whose objects died are used again: what is allocated there is zero, though the file is not. */
CRADLE_UNCHECKED_COLLECTION static void memory_is_used_again(void **state) {
  (void)state;
  enum { EACH = 100000, COUNT = 60 };
  for (int kind = CRADLE_COLLECT_MAJOR; kind <= CRADLE_COLLECT_COMPACTING; kind++) {
    fixture f;
    cradle_error error;
    cradle_options options;
    char path[200];
    image_options(&f, &options);
    fixture_unstress(&options);
    fixture_open_with(&f, &options);
    snprintf(path, sizeof path, "%s/third.image", folder);
    {
      words *all = new_words(f.m, I_VECTOR, COUNT);
      CRADLE_ROOT(f.m, all);
      for (size_t i = 0; i < COUNT; i++) {
        bytes *text = (bytes *)new_words(f.m, I_BYTES, EACH);
        memset(text->byte, 'x', EACH);
        cradle_store(f.m, all, &all->item[i], text);
      }
      if (!cradle_image_save(f.m, path, NULL, &error)) fail_msg("%s", error.message);
    }
    fixture_close(&f);
    cradle_image from = {.path = path};
    options.image = &from;
    fixture_open_with(&f, &options);
    assert_true(fixture_stats(&f).old_bytes > EACH * COUNT);
    cradle_collect(f.m, (cradle_collection_kind)kind);
    assert_true(fixture_stats(&f).old_bytes < EACH);
    {
      words *all = new_words(f.m, I_VECTOR, COUNT);
      CRADLE_ROOT(f.m, all);
      for (size_t i = 0; i < COUNT; i++) {
        bytes *text = (bytes *)new_words(f.m, I_BYTES, EACH);
        for (size_t at = 0; at < EACH; at++)
          if (text->byte[at] != 0) fail_msg("a byte of a new object is %d", text->byte[at]);
        cradle_store(f.m, all, &all->item[i], text);
      }
    }
    fixture_close(&f);
  }
}

/* A heap without image: both functions find nothing. [input.1] Loading does not change errno. */
static void without_an_image(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f);
  assert_int_equal(cradle_image_root_get(f.heap, "all"), 0);
  assert_null(cradle_image_set_take(f.heap, "set", NULL, NULL));
  fixture_close(&f);
  errno = 77;
  open_image(&f, false, 1);
  assert_int_equal(errno, 77);
  fixture_close(&f); /* with a weak set that nobody took */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_cannot_be_saved),
      cmocka_unit_test(no_collection_no_image),
      cmocka_unit_test(a_write_that_fails),
      cmocka_unit_test(a_file_left_behind),
      cmocka_unit_test(nothing_of_the_dead),
      cmocka_unit_test(nothing_behind_an_end),
      cmocka_unit_test(what_does_not_fit),
      cmocka_unit_test(types_of_images),
#ifndef _WIN32
      cmocka_unit_test(a_file_that_may_not_grow),
#endif
      cmocka_unit_test(two_mutators),
      cmocka_unit_test(a_fork),
      cmocka_unit_test(an_image_of_an_image),
      cmocka_unit_test(a_sealed_image_is_not_traced),
      cmocka_unit_test(a_sealed_image_is_left_alone),
      cmocka_unit_test(a_maximum_below_the_image),
      cmocka_unit_test(memory_is_used_again),
      cmocka_unit_test(without_an_image),
  };
  return cmocka_run_group_tests(tests, make, end);
}
