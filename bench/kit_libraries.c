/* The kit benchmark's operations with khash, and with uthash and utarray. Each is compiled if its header exists. */
#include "bench/kit_work.h"

#ifndef HAVE_KHASH
#define HAVE_KHASH 0
#endif
#ifndef HAVE_UTHASH
#define HAVE_UTHASH 0
#endif

#include <stdlib.h>
#include <string.h>

#if HAVE_KHASH
#include <htslib/khash.h>

KHASH_MAP_INIT_INT64(numbers, uint64_t)
KHASH_MAP_INIT_STR(names, uint64_t)
static khash_t(numbers) * numbers;
static khash_t(names) * names;

static size_t khash_insert(const kit_work *w) {
  kh_destroy(numbers, numbers);
  numbers = kh_init(numbers);
  for (size_t i = 0; i < w->size; i++) {
    int added;
    khint_t place = kh_put(numbers, numbers, w->keys[i], &added);
    kh_val(numbers, place) = i;
  }
  return 0;
}
static size_t khash_count(const uint64_t *keys, size_t count) {
  size_t found = 0;
  for (size_t i = 0; i < count; i++) {
    khint_t place = kh_get(numbers, numbers, keys[i]);
    found += place != kh_end(numbers) && kh_val(numbers, place) < count;
  }
  return found;
}
static size_t khash_find(const kit_work *w) {
  return khash_count(w->keys, w->size);
}
static size_t khash_miss(const kit_work *w) {
  return khash_count(w->absent, w->size);
}
static size_t khash_insert_names(const kit_work *w) {
  kh_destroy(names, names);
  names = kh_init(names);
  for (size_t i = 0; i < w->size; i++) {
    int added;
    khint_t place = kh_put(names, names, w->names[i], &added);
    kh_val(names, place) = i;
  }
  return 0;
}
static size_t khash_find_names(const kit_work *w) {
  size_t found = 0;
  for (size_t i = 0; i < w->size; i++) {
    khint_t place = kh_get(names, names, w->names[i]);
    found += place != kh_end(names) && kh_val(names, place) < w->size;
  }
  return found;
}
const kit_variant kit_khash = {
    "khash", {NULL, NULL, khash_insert, khash_find, khash_miss, khash_insert_names, khash_find_names}};
#else
const kit_variant kit_khash = {"khash", {NULL}};
#endif

#if HAVE_UTHASH
#include <utarray.h>
#include <uthash.h>

typedef struct item {
  uint64_t key, value;
  const char *name;
  UT_hash_handle hh;
} item;
static item *by_number, *by_name;

static item *new_item(uint64_t value) {
  item *made = malloc(sizeof *made);
  if (made == NULL) abort();
  made->value = value;
  return made;
}
static void free_items(item **table) {
  item *each, *next;
  HASH_ITER(hh, *table, each, next) {
    HASH_DEL(*table, each);
    free(each);
  }
}

static const UT_icd word = {sizeof(uint64_t), NULL, NULL, NULL};
static UT_array *array_of_all;

static size_t utarray_append(const kit_work *w) {
  if (array_of_all != NULL) utarray_free(array_of_all);
  utarray_new(array_of_all, &word);
  for (size_t i = 0; i < w->size; i++) utarray_push_back(array_of_all, &w->keys[i]);
  return 0;
}
/* No other function sees this array. The compiler notices, keeps its length in a register and knows its elements. */
static size_t utarray_append_local(const kit_work *w) {
  UT_array *array;
  utarray_new(array, &word);
  for (size_t i = 0; i < w->size; i++) utarray_push_back(array, &w->keys[i]);
  utarray_free(array);
  return 0;
}
static size_t uthash_insert(const kit_work *w) {
  free_items(&by_number);
  for (size_t i = 0; i < w->size; i++) {
    item *made = new_item(i);
    made->key = w->keys[i];
    HASH_ADD(hh, by_number, key, sizeof made->key, made);
  }
  return 0;
}
static size_t uthash_count(const uint64_t *keys, size_t count) {
  size_t found = 0;
  for (size_t i = 0; i < count; i++) {
    item *met;
    HASH_FIND(hh, by_number, &keys[i], sizeof keys[i], met);
    found += met != NULL && met->value < count;
  }
  return found;
}
static size_t uthash_find(const kit_work *w) {
  return uthash_count(w->keys, w->size);
}
static size_t uthash_miss(const kit_work *w) {
  return uthash_count(w->absent, w->size);
}
static size_t uthash_insert_names(const kit_work *w) {
  free_items(&by_name);
  for (size_t i = 0; i < w->size; i++) {
    item *made = new_item(i);
    made->name = w->names[i];
    HASH_ADD_KEYPTR(hh, by_name, made->name, strlen(made->name), made);
  }
  return 0;
}
static size_t uthash_find_names(const kit_work *w) {
  size_t found = 0;
  for (size_t i = 0; i < w->size; i++) {
    item *met;
    HASH_FIND_STR(by_name, w->names[i], met);
    found += met != NULL && met->value < w->size;
  }
  return found;
}
const kit_variant kit_uthash = {"uthash",
                                {utarray_append, utarray_append_local, uthash_insert, uthash_find, uthash_miss,
                                 uthash_insert_names, uthash_find_names}};
#else
const kit_variant kit_uthash = {"uthash", {NULL}};
#endif
