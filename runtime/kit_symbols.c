/* Symbols: a table of symbols in open addressing, at most half full. The table is looked up by bytes, so that a name that is
 * known already makes no string. */
#include <cradle/kit.h>

enum { LENGTH_LEAST = 64 };

static bool is_named(const cradle_symbol *symbol, uint64_t hash, const char *bytes, size_t length) {
  return symbol->hash == hash && symbol->name->length == length && memcmp(symbol->name->bytes, bytes, length) == 0;
}

/* The place of the symbol with that name, or the free place where it would be. */
static cradle_symbol **place_of(cradle_chains *chains, uint64_t hash, const char *bytes, size_t length) {
  uint64_t mask = chains->length - 1, at = hash & mask;
  while (chains->symbols[at] != NULL && !is_named(chains->symbols[at], hash, bytes, length)) at = (at + 1) & mask;
  return &chains->symbols[at];
}

static void grow(const cradle_kit *kit, cradle_symbols *symbols) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(kit->mutator, symbols);
  cradle_chains *chains = cradle_new_array(kit->mutator, kit->first_type + CRADLE_KIT_CHAINS, 2 * symbols->chains->length);
  uint64_t mask = chains->length - 1;
  for (uint64_t i = 0; i < symbols->chains->length; i++) {
    cradle_symbol *symbol = symbols->chains->symbols[i];
    if (symbol == NULL) continue;
    uint64_t at = symbol->hash & mask;
    while (chains->symbols[at] != NULL) at = (at + 1) & mask;
    chains->symbols[at] = symbol; /* fresh: no barrier */
  }
  cradle_store(kit->mutator, symbols, &symbols->chains, chains);
}

cradle_symbols *cradle_symbols_new(const cradle_kit *kit) {
  cradle_symbols *symbols = cradle_new(kit->mutator, kit->first_type + CRADLE_KIT_SYMBOLS, sizeof(cradle_symbols));
  CRADLE_ROOT(kit->mutator, symbols);
  cradle_chains *chains = cradle_new_array(kit->mutator, kit->first_type + CRADLE_KIT_CHAINS, LENGTH_LEAST);
  cradle_store(kit->mutator, symbols, &symbols->chains, chains);
  return symbols;
}

cradle_symbol *cradle_symbols_find(const cradle_symbols *symbols, const char *bytes, size_t length) {
  return *place_of(symbols->chains, cradle_hash_bytes(bytes, length), bytes, length);
}

/* Makes the symbol of a name that is not in the table. */
static cradle_symbol *add(const cradle_kit *kit, cradle_symbols *symbols, cradle_string *name) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(kit->mutator, symbols);
  CRADLE_ROOT(kit->mutator, name);
  if (2 * (symbols->count + 1) > symbols->chains->length) grow(kit, symbols);
  cradle_symbol *symbol = cradle_new(kit->mutator, kit->first_type + CRADLE_KIT_SYMBOL, sizeof(cradle_symbol));
  symbol->name = name;
  symbol->hash = cradle_string_hash(name);
  cradle_symbol **place = place_of(symbols->chains, symbol->hash, name->bytes, name->length);
  cradle_store(kit->mutator, symbols->chains, place, symbol);
  symbols->count++;
  return symbol;
}

cradle_symbol *cradle_intern(const cradle_kit *kit, cradle_symbols *symbols, const char *bytes, size_t length) {
  cradle_symbol *known = cradle_symbols_find(symbols, bytes, length);
  if (known != NULL) return known;
  CRADLE_ROOT(kit->mutator, symbols);
  cradle_string *name = cradle_string_new(kit, bytes, length);
  return add(kit, symbols, name);
}

cradle_symbol *cradle_intern_string(const cradle_kit *kit, cradle_symbols *symbols, cradle_string *name) {
  cradle_symbol *known = *place_of(symbols->chains, cradle_string_hash(name), name->bytes, name->length);
  return known != NULL ? known : add(kit, symbols, name);
}
