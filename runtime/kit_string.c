/* Strings: see cradle/kit.h. */
#include <cradle/kit.h>

/* --- the hash --- */

static uint64_t load(const unsigned char *bytes, size_t count) {
  uint64_t word = 0;
  memcpy(&word, bytes, count);
  return word;
}

/* Takes sixteen bytes in each step, so that a step waits for only one multiplication. */
uint64_t cradle_kit_hash_bytes(const void *bytes, size_t length) {
  const unsigned char *at = bytes;
  uint64_t hash = length * CRADLE_KIT_HASH_ODD_1;
  size_t left = length;
  for (; left > 16; left -= 16, at += 16)
    hash = cradle_kit_hash_fold(load(at, 8) ^ hash, load(at + 8, 8) ^ CRADLE_KIT_HASH_ODD_2);
  uint64_t first = left > 8 ? load(at, 8) : load(at, left), second = left > 8 ? load(at + 8, left - 8) : 0;
  hash = cradle_kit_hash_fold(first ^ hash, second ^ CRADLE_KIT_HASH_ODD_2);
  hash = cradle_kit_hash_word(hash);
  return hash != 0 ? hash : 1;
}

/* Several threads may compute it at once: all store the same. */
uint64_t cradle_kit_string_hash(cradle_kit_string *string) {
  uint64_t hash = __atomic_load_n(&string->hash, __ATOMIC_RELAXED);
  if (hash != 0) return hash;
  hash = cradle_kit_hash_bytes(string->bytes, string->length);
  __atomic_store_n(&string->hash, hash, __ATOMIC_RELAXED);
  return hash;
}

/* --- making strings --- */

/* A string with undefined bytes. NULL: memory ran out. */
static cradle_kit_string *allocate(const cradle_kit *kit, size_t length) CRADLE_MAY_COLLECT {
  cradle_kit_string *string = CRADLE_NEW_ARRAY_UNINITIALIZED(
      kit->mutator, cradle_kit_string, kit->first_type + CRADLE_KIT_STRING, bytes, length, length);
  if (CRADLE_LIKELY(string != NULL)) string->hash = 0;
  return string;
}

cradle_kit_string *cradle_kit_string_new(const cradle_kit *kit, const char *bytes, size_t length) {
  cradle_kit_string *string = allocate(kit, length);
  if (string == NULL || length == 0) return string;
  if (bytes != NULL)
    memcpy(string->bytes, bytes, length);
  else
    memset(string->bytes, 0, length);
  return string;
}

cradle_kit_string *cradle_kit_string_join(const cradle_kit *kit, cradle_kit_string *left, cradle_kit_string *right) {
  CRADLE_ROOT(kit->mutator, left);
  CRADLE_ROOT(kit->mutator, right);
  cradle_kit_string *joined = allocate(kit, left->length + right->length);
  if (joined == NULL) return NULL;
  memcpy(joined->bytes, left->bytes, left->length);
  memcpy(joined->bytes + left->length, right->bytes, right->length);
  return joined;
}

cradle_kit_string *cradle_kit_string_slice(const cradle_kit *kit, cradle_kit_string *string, size_t start, size_t end) {
  if (CRADLE_UNLIKELY(end > string->length)) cradle_kit_no_item(kit, "cradle_kit_string_slice", end, string->length);
  if (CRADLE_UNLIKELY(start > end)) cradle_kit_no_item(kit, "cradle_kit_string_slice", start, end);
  CRADLE_ROOT(kit->mutator, string);
  cradle_kit_string *slice = allocate(kit, end - start);
  if (slice != NULL) memcpy(slice->bytes, string->bytes + start, end - start);
  return slice;
}

int cradle_kit_string_compare(const cradle_kit_string *left, const cradle_kit_string *right) {
  size_t common = left->length < right->length ? left->length : right->length;
  int order = memcmp(left->bytes, right->bytes, common);
  if (order != 0) return order;
  return (left->length > right->length) - (left->length < right->length);
}
