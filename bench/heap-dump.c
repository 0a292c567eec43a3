/* How long a heap dump takes:  heap-dump [MIB] [PATH]   (default: 1024 MiB; without PATH nothing is written)
 *
 * The heap holds records: a vector of eight items, each a pair with a string of 24 bytes and a link to a pair made
 * before; so most objects are small, which costs the most work for each byte.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cradle/cradle.h>

#include "bench/timing.h"

enum { PAIR, STRING, VECTOR, TYPES };
enum { ITEMS = 8, STRING_BYTES = 24 };

typedef struct pair {
  uint64_t header;
  void *first, *rest;
} pair;
typedef struct array {
  uint64_t header, length;
  void *item[];
} array;
typedef struct string {
  uint64_t header, length;
  char bytes[];
} string;

static const cradle_type types[TYPES] = {
    [PAIR] = {.name = "pair", .size = sizeof(pair), .references = CRADLE_SLOT(pair, first) | CRADLE_SLOT(pair, rest)},
    [STRING] = {.name = "string",
                .size = sizeof(string),
                .items = CRADLE_ITEMS_BYTES,
                .item_size = 1,
                .length_offset = offsetof(string, length)},
    [VECTOR] = {.name = "vector",
                .size = sizeof(array),
                .items = CRADLE_ITEMS_REFERENCES,
                .item_size = 8,
                .length_offset = offsetof(array, length)},
};

static void fail(const char *what) {
  fprintf(stderr, "heap-dump: %s\n", what);
  exit(1);
}

static array *new_record(cradle_mutator *m, array *before) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(m, before);
  array *record = CRADLE_NEW_ARRAY(m, array, VECTOR, item, length, ITEMS);
  CRADLE_ROOT(m, record);
  for (int i = 0; i < ITEMS; i++) {
    pair *one = CRADLE_NEW(m, pair, PAIR);
    CRADLE_ROOT(m, one);
    string *text = CRADLE_NEW_ARRAY(m, string, STRING, bytes, length, STRING_BYTES);
    cradle_store(m, one, &one->first, text);
    if (before != NULL) cradle_store(m, one, &one->rest, before->item[i]);
    cradle_store(m, record, &record->item[i], one);
  }
  return record;
}

static void fill(cradle_mutator *m, array **records, size_t bytes) CRADLE_MAY_COLLECT {
  size_t record_bytes = sizeof(array) + ITEMS * (8 + sizeof(pair) + sizeof(array) + STRING_BYTES) + 8;
  size_t count = bytes / record_bytes;
  *records = CRADLE_NEW_ARRAY(m, array, VECTOR, item, length, count);
  for (size_t i = 0; i < count; i++) {
    array *record = new_record(m, i == 0 ? NULL : (*records)->item[i * 7919 % i]);
    cradle_store(m, *records, &(*records)->item[i], record);
  }
  cradle_collect(m, CRADLE_COLLECT_FULL);
}

static bool count_object(void *data, const cradle_object_info *info) {
  (void)info;
  ++*(uint64_t *)data;
  return true;
}

static bool count_referrer(void *data, const cradle_referrer *referrer) {
  (void)referrer;
  ++*(uint64_t *)data;
  return true;
}

static double seconds_since(uint64_t begin) {
  return (double)(now_ns() - begin) / 1e9;
}

static void measure(cradle_heap *heap, const array *records, const char *path) {
  cradle_error error;
  uint64_t objects = 0, referrers = 0, begin = now_ns();
  if (cradle_heap_walk(heap, count_object, &objects) != CRADLE_WALK_COMPLETE) fail("the walk was not complete");
  printf("walk       %8.3f s  %llu objects\n", seconds_since(begin), (unsigned long long)objects);
  begin = now_ns();
  if (cradle_referrers(heap, records->item[0], count_referrer, &referrers) != CRADLE_WALK_COMPLETE)
    fail("no referrers");
  printf("referrers  %8.3f s  %llu found\n", seconds_since(begin), (unsigned long long)referrers);
  begin = now_ns();
  if (!cradle_heap_dump(heap, path, &error)) fail(error.message);
  printf("dump       %8.3f s  to %s\n", seconds_since(begin), path);
}

int main(int argc, char **argv) {
  size_t mib = argc > 1 ? strtoul(argv[1], NULL, 10) : 1024;
  if (mib == 0 || argc > 3) fail("usage: heap-dump [MIB] [PATH]");
  cradle_options options;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = TYPES;
  cradle_error error;
  cradle_heap *heap = cradle_heap_new(&options, &error);
  if (heap == NULL) fail(error.message);
  cradle_mutator *m = cradle_mutator_new(heap);
  array *records = NULL;
  cradle_global_root_add(heap, &records, CRADLE_KIND_REFERENCE);
  fill(m, &records, mib << 20);
  cradle_statistics stats;
  cradle_heap_statistics(heap, &stats, sizeof stats);
  printf("heap       %8.3f GiB in use\n", (double)stats.old_bytes / (1 << 30));
  measure(heap, records, argc > 2 ? argv[2] : "/dev/null");
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  return 0;
}
