/* Symbols, in a weak set that is searched by the bytes of a name, so that finding a known name makes no string. */
#include <cradle/kit.h>

typedef struct name_bytes {
  const char *bytes;
  size_t length;
} name_bytes;

static bool is_named(const void *object, const void *key) {
  const cradle_kit_string *name = ((const cradle_kit_symbol *)object)->name;
  const name_bytes *wanted = key;
  return name->length == wanted->length && memcmp(name->bytes, wanted->bytes, wanted->length) == 0;
}

static cradle_kit_symbol *find(cradle_weak_set *symbols, uint64_t hash, const char *bytes, size_t length) {
  return cradle_weak_set_find(symbols, hash, is_named, &(name_bytes){bytes, length});
}

/* Makes the symbol of a name that was not in the table; another thread may have added it by now. NULL: memory ran
 * out. */
static cradle_kit_symbol *add(const cradle_kit *kit, cradle_weak_set *symbols, cradle_kit_string *name)
    CRADLE_MAY_COLLECT {
  CRADLE_ROOT(kit->mutator, name);
  cradle_kit_symbol *symbol = CRADLE_NEW(kit->mutator, cradle_kit_symbol, kit->first_type + CRADLE_KIT_SYMBOL);
  if (CRADLE_UNLIKELY(symbol == NULL)) return NULL;
  symbol->name = name;
  symbol->hash = cradle_kit_string_hash(name);
  return cradle_weak_set_find_or_add(symbols, symbol->hash, is_named, &(name_bytes){name->bytes, name->length}, symbol);
}

cradle_kit_symbol *cradle_kit_intern(const cradle_kit *kit, cradle_weak_set *symbols, const char *bytes,
                                     size_t length) {
  cradle_kit_symbol *known = find(symbols, cradle_kit_hash_bytes(bytes, length), bytes, length);
  if (known != NULL) return known;
  cradle_kit_string *name = cradle_kit_string_new(kit, bytes, length);
  return name == NULL ? NULL : add(kit, symbols, name);
}

cradle_kit_symbol *cradle_kit_intern_string(const cradle_kit *kit, cradle_weak_set *symbols, cradle_kit_string *name) {
  cradle_kit_symbol *known = find(symbols, cradle_kit_string_hash(name), name->bytes, name->length);
  return known != NULL ? known : add(kit, symbols, name);
}
