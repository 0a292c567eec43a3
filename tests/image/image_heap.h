/* What the tests of images share: types of every kind, a graph of their objects with a check of it, and an image in
 * memory that is written to a file to be loaded. */
#ifndef TESTS_IMAGE_HEAP_H
#define TESTS_IMAGE_HEAP_H

#include <fcntl.h>

#include "tests/support/folder.h"
#include "tests/support/heap_fixture.h"

#include "tests/inside.h"

enum {
  I_NODE = 1,
  I_BYTES,
  I_VECTOR,
  I_VALUES,
  I_WEAK,
  I_WEAKS,
  I_PAIRS,
  I_OWNER,
  I_CALLER,
  I_RECORDS,
  I_TRACED,
  I_COUNT
};

typedef struct node {
  uint64_t header, number;
  struct node *left, *right;
} node;
typedef struct bytes {
  uint64_t header, length;
  char byte[];
} bytes;
typedef struct words { /* vectors, values, weak slots, pairs, records */
  uint64_t header, length, item[];
} words;
typedef struct pairs {
  uint64_t header, length;
  struct {
    void *key, *value;
  } item[];
} pairs;
typedef struct weak {
  uint64_t header;
  node *strong, *weak, *key, *value;
} weak;
typedef struct owner {
  uint64_t header, size;
  char *buffer;
  node *child;
} owner;
typedef struct caller {
  uint64_t header;
  int (*call)(int);
  const char *text;
  node *child;
} caller;

static size_t owners; /* buffers that exist */
static inline void owner_fill(owner *o) {
  o->size = o->size < 100 ? o->size : 100; /* a damaged image may say anything */
  o->buffer = malloc(o->size + 1);
  memset(o->buffer, (int)o->size, o->size);
  owners++;
}
static void owner_mend(void *user, void *object) {
  (void)user;
  owner_fill(object);
}
static void owner_end(void *user, void *object) {
  owner *o = object;
  (void)user;
  if (o->buffer == NULL) return;
  free(o->buffer);
  owners--;
}
static size_t owner_size(void *user, const void *object) {
  (void)user;
  return ((const owner *)object)->size;
}
static void trace_node(void *user, void *object, cradle_visitor *visitor) {
  (void)user;
  cradle_visit(visitor, &((node *)object)->left, CRADLE_KIND_REFERENCE);
}

static int twice(int number) {
  return 2 * number;
}
static int thrice(int number) {
  return 3 * number;
}
static const char a_text[] = "a text of the program";
static const cradle_image_symbol image_symbols[] = {{"unused", &owners, NULL},
                                                    {"twice", NULL, (void (*)(void))twice},
                                                    {"thrice", NULL, (void (*)(void))thrice},
                                                    {"text", a_text, NULL}};
enum { SYMBOLS = sizeof image_symbols / sizeof *image_symbols };

#define ITEMS(of) .items = (of), .size = sizeof(words), .length_offset = offsetof(words, length)
static const cradle_type image_types[I_COUNT] = {
    /* fixture_close makes one */
    [T_PAIR] = {.name = "pair", .size = sizeof(pair), .references = CRADLE_SLOT(pair, first) | CRADLE_SLOT(pair, rest)},
    [I_NODE] = {.name = "node", .size = sizeof(node), .references = CRADLE_SLOT(node, left) | CRADLE_SLOT(node, right)},
    [I_BYTES] = {.name = "bytes", .item_size = 1, ITEMS(CRADLE_ITEMS_BYTES)},
    [I_VECTOR] = {.name = "vector", .item_size = 8, ITEMS(CRADLE_ITEMS_REFERENCES)},
    [I_VALUES] = {.name = "values", .item_size = 8, ITEMS(CRADLE_ITEMS_VALUES)},
    [I_WEAK] = {.name = "weak",
                .size = sizeof(weak),
                .references = CRADLE_SLOT(weak, strong),
                .weak = CRADLE_SLOT(weak, weak),
                .ephemerons = CRADLE_SLOT(weak, key)},
    [I_WEAKS] = {.name = "weaks", .item_size = 8, ITEMS(CRADLE_ITEMS_WEAK)},
    [I_PAIRS] = {.name = "pairs", .item_size = 16, ITEMS(CRADLE_ITEMS_EPHEMERONS)},
    [I_OWNER] = {.name = "owner",
                 .size = sizeof(owner),
                 .references = CRADLE_SLOT(owner, child),
                 .destructor = owner_end,
                 .external_size = owner_size,
                 .mend = owner_mend},
    [I_CALLER] = {.name = "caller",
                  .size = sizeof(caller),
                  .references = CRADLE_SLOT(caller, child),
                  .symbols = CRADLE_SLOT(caller, call) | CRADLE_SLOT(caller, text)},
    [I_RECORDS] =
        {.name = "records", .item_size = 24, .item_references = 2, .item_values = 4, ITEMS(CRADLE_ITEMS_STRUCTURES)},
    [I_TRACED] = {.name = "traced", .size = sizeof(node), .references = CRADLE_SLOT(node, right), .trace = trace_node},
};

static inline void image_options(fixture *f, cradle_options *options) {
  fixture_options(f, options);
  options->types = image_types;
  options->type_count = I_COUNT;
  options->encoding = cradle_encoding_of(0, 0, 0x01);
  options->reserve_bytes = (size_t)256 << 20;
}

/* --- the image in memory, and in a file --- */

typedef struct buffer {
  char *bytes;
  size_t length, room;
} buffer;

static bool take(void *data, const void *bytes, size_t count) {
  buffer *to = data;
  if (to->length + count > to->room) {
    to->room = 2 * (to->length + count);
    to->bytes = realloc(to->bytes, to->room);
  }
  memcpy(to->bytes + to->length, bytes, count);
  to->length += count;
  return true;
}

static const char *image_path(void) {
  static char path[100];
  snprintf(path, sizeof path, "%s/test.image", folder);
  return path;
}
static inline void write_file(const buffer *from) {
  FILE *file = fopen(image_path(), "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(from->bytes, 1, from->length, file), from->length);
  assert_int_equal(fclose(file), 0);
}
/* After a change: gives the tables their checksum again. */
static inline void sum_tables(buffer *image) {
  image_header *header = (void *)image->bytes;
  uint64_t end = header->objects_at;
  if (end > image->length || end < sizeof *header) return;
  uint64_t sum = image_sum(0, &header->file_bytes, sizeof *header - offsetof(image_header, file_bytes));
  header->checksum = image_sum(sum, image->bytes + sizeof *header, end - sizeof *header);
}

static inline cradle_image image_of_file(void) {
  return (cradle_image){.path = image_path(), .symbols = image_symbols, .symbol_count = SYMBOLS};
}

/* --- a graph of every kind of object --- */

enum { NODES = 400, LARGE = 3000 };
static size_t huge_items = 400000;

static node *new_node(cradle_mutator *m, uint64_t number) CRADLE_MAY_COLLECT {
  node *n = CRADLE_NEW(m, node, I_NODE);
  n->number = number;
  return n;
}
static words *new_words(cradle_mutator *m, int type, size_t length) CRADLE_MAY_COLLECT {
  return cradle_new_array(m, (uint32_t)type, length);
}

CRADLE_UNCHECKED_COLLECTION static inline words *build(fixture *f, cradle_weak_set *set, uint32_t *hashes,
                                                       uint64_t *ids) {
  cradle_mutator *m = f->m;
  words *all = new_words(m, I_VECTOR, NODES + 12), *huge = NULL;
  CRADLE_ROOT(m, all);
  CRADLE_ROOT(m, huge);
  for (size_t i = 0; i < NODES; i++) {
    node *n = new_node(m, i);
    cradle_store(m, all, &all->item[i], n);
    if (i > 0) cradle_store(m, n, &n->left, (void *)(uintptr_t)all->item[i / 2]);
    if (i % 5 == 0) (void)new_words(m, I_BYTES, i * 7); /* garbage between them */
    hashes[i] = i % 3 == 0 ? cradle_identity_hash(m, (void *)(uintptr_t)all->item[i]) : 0;
    ids[i] = i % 7 == 0 ? cradle_id(m, (void *)(uintptr_t)all->item[i]) : 0;
    if (set != NULL && i % 2 == 0) cradle_weak_set_add(set, i, (void *)(uintptr_t)all->item[i]);
  }
#define AT(i) ((node *)(uintptr_t)all->item[i])
#define PUT(at, made) \
  do { \
    void *made_ = (made); \
    cradle_store(m, all, &all->item[NODES + (at)], made_); \
  } while (0)
  bytes *text = (bytes *)new_words(m, I_BYTES, 21);
  memcpy(text->byte, a_text, 21);
  PUT(0, text);
  PUT(1, new_words(m, I_VECTOR, LARGE));
  for (size_t i = 0; i < LARGE; i++) {
    words *v = (words *)AT(NODES + 1);
    cradle_store(m, v, &v->item[i], AT(i % NODES));
  }
  PUT(2, new_words(m, I_VALUES, 2 * LARGE));
  for (size_t i = 0; i < 2 * LARGE; i++) {
    words *v = (words *)AT(NODES + 2);
    cradle_store_value(m, v, &v->item[i], i % 2 ? i << 3 | 1 : all->item[i % NODES]);
  }
  weak *w = CRADLE_NEW_WITH(m, weak, I_WEAK, 0);
  w->strong = AT(1);
  w->weak = AT(2);
  w->key = AT(3);
  w->value = AT(4);
  PUT(3, w);
  PUT(4, CRADLE_NEW_ARRAY_WITH(m, words, I_WEAKS, item, length, NODES, 0));
  for (size_t i = 0; i < NODES; i++) {
    node *n = i % 3 ? AT(i) : new_node(m, i); /* a third of them dies */
    words *v = (words *)AT(NODES + 4);
    cradle_store(m, v, &v->item[i], n);
  }
  PUT(5, CRADLE_NEW_ARRAY_WITH(m, pairs, I_PAIRS, item, length, NODES, 0));
  for (size_t i = 0; i < NODES; i++) {
    node *value = new_node(m, i + 1000);
    words *v = (words *)AT(NODES + 5);
    cradle_store(m, v, (uint64_t *)&v->item[2 * i], AT(i));
    cradle_store(m, v, (uint64_t *)&v->item[2 * i + 1], value);
  }
  owner *o = CRADLE_NEW_WITH(m, owner, I_OWNER, 0);
  o->size = 77;
  o->child = AT(5);
  owner_fill(o);
  PUT(6, o);
  caller *c = CRADLE_NEW(m, caller, I_CALLER);
  c->call = twice;
  c->text = a_text;
  c->child = AT(6);
  PUT(7, c);
  PUT(8, new_words(m, I_RECORDS, 100));
  for (size_t i = 0; i < 100; i++) {
    words *v = (words *)AT(NODES + 8);
    v->item[3 * i] = i;
    cradle_store(m, v, &v->item[3 * i + 1], AT(i));
    cradle_store_value(m, v, &v->item[3 * i + 2], i % 2 ? i << 3 | 1 : all->item[i]);
  }
  node *traced = CRADLE_NEW(m, node, I_TRACED);
  traced->left = AT(8);
  traced->right = AT(9);
  PUT(9, traced);
  huge = new_words(m, I_VECTOR, huge_items);
  cradle_store(m, huge, &huge->item[huge_items - 1], AT(7));
  PUT(10, huge);
  return all;
}

/* That a root leads to what build has made. */
CRADLE_UNCHECKED_COLLECTION static inline void check(fixture *f, const words *all, cradle_weak_set *set,
                                                     const uint32_t *hashes, const uint64_t *ids) {
  cradle_mutator *m = f->m;
  assert_int_equal(all->length, NODES + 12);
  for (size_t i = 0; i < NODES; i++) {
    assert_int_equal(cradle_type_of(AT(i)), I_NODE);
    assert_int_equal(AT(i)->number, i);
    assert_ptr_equal(AT(i)->left, i > 0 ? AT(i / 2) : NULL);
    if (hashes[i] != 0) assert_int_equal(cradle_identity_hash(m, AT(i)), hashes[i]);
    if (ids[i] != 0) assert_ptr_equal(cradle_object_of_id(m, ids[i]), AT(i));
  }
  const bytes *text = (const bytes *)AT(NODES);
  assert_memory_equal(text->byte, a_text, 21);
  const words *v = (const words *)AT(NODES + 1);
  for (size_t i = 0; i < LARGE; i++) assert_int_equal(v->item[i], all->item[i % NODES]);
  v = (const words *)AT(NODES + 2);
  for (size_t i = 0; i < 2 * LARGE; i++) assert_int_equal(v->item[i], i % 2 ? i << 3 | 1 : all->item[i % NODES]);
  const weak *w = (const weak *)AT(NODES + 3);
  assert_ptr_equal(w->strong, AT(1));
  assert_ptr_equal(cradle_weak_get(m, &w->weak), AT(2));
  assert_ptr_equal(w->key, AT(3));
  assert_ptr_equal(w->value, AT(4));
  v = (const words *)AT(NODES + 4);
  for (size_t i = 0; i < NODES; i++) assert_ptr_equal(cradle_weak_get(m, &v->item[i]), i % 3 ? AT(i) : NULL);
  v = (const words *)AT(NODES + 5);
  for (size_t i = 0; i < NODES; i++) {
    assert_ptr_equal(cradle_weak_get(m, &v->item[2 * i]), AT(i));
    assert_int_equal(((const node *)(uintptr_t)v->item[2 * i + 1])->number, i + 1000);
  }
  const owner *o = (const owner *)AT(NODES + 6);
  assert_int_equal(o->size, 77);
  for (size_t i = 0; i < o->size; i++) assert_int_equal(o->buffer[i], 77);
  assert_ptr_equal(o->child, AT(5));
  const caller *c = (const caller *)AT(NODES + 7);
  assert_int_equal(c->call(21), 42);
  assert_ptr_equal(c->text, a_text);
  assert_ptr_equal(c->child, AT(6));
  v = (const words *)AT(NODES + 8);
  for (size_t i = 0; i < 100; i++) {
    assert_int_equal(v->item[3 * i], i);
    assert_int_equal(v->item[3 * i + 1], all->item[i]);
    assert_int_equal(v->item[3 * i + 2], i % 2 ? i << 3 | 1 : all->item[i]);
  }
  assert_ptr_equal(((const node *)AT(NODES + 9))->left, AT(8));
  assert_ptr_equal(((const node *)AT(NODES + 9))->right, AT(9));
  v = (const words *)AT(NODES + 10);
  assert_int_equal(v->length, huge_items);
  assert_int_equal(v->item[huge_items - 1], all->item[7]);
  if (set != NULL) assert_int_equal(set_count(set), NODES / 2);
}

/* Saves such a graph. base: where its heap lies, or NULL. */
CRADLE_UNCHECKED_COLLECTION static inline buffer save_graph(uint32_t *hashes, uint64_t *ids, void *base) {
  fixture f;
  cradle_options options;
  cradle_error error;
  buffer image = {NULL, 0, 0};
  image_options(&f, &options);
  options.base_address = base;
  fixture_open_with(&f, &options);
  cradle_weak_set *set = cradle_weak_set_new(f.m, NULL, NULL);
  {
    words *all = build(&f, set, hashes, ids);
    CRADLE_ROOT(f.m, all);
    cradle_value number = 7 << 3 | 1;
    cradle_image_root roots[] = {{"all", &all, CRADLE_KIND_REFERENCE}, {"number", &number, CRADLE_KIND_VALUE}};
    cradle_image_set sets[] = {{"set", set}};
    cradle_image_contents contents = {roots, 2, sets, 1, image_symbols, SYMBOLS};
    if (!cradle_image_save_to(f.m, take, &image, &contents, &error)) fail_msg("%s", error.message);
    check(&f, all, set, hashes, ids);
    assert_heap_sound(f.heap);
  }
  cradle_weak_set_free(set);
  fixture_close(&f);
  return image;
}

#endif
