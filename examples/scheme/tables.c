/* Hash tables: the kit's ordered maps, in the order of insertion. */
#include "scheme.h"

/* --- keys --- */

static uint64_t hash_eqv(const cradle_kit *kit, value key) {
  if (!is_a(key, T_FLONUM)) return cradle_kit_hash_identity(kit, key);
  double number = ((const flonum *)object_of(key))->number;
  return cradle_kit_hash_bytes(&number, number == 0 ? 0 : sizeof number); /* 0.0 and -0.0 are one key */
}
static bool equal_eqv(const cradle_kit *kit, value left, value right) {
  (void)kit;
  return is_eqv(left, right);
}
const cradle_kit_keys eqv_keys = {hash_eqv, equal_eqv};

/* Lists and vectors are hashed by their first parts, to a small depth. */
enum { HASHED_PARTS = 8, HASHED_DEPTH = 4 };
static uint64_t hash_parts(const cradle_kit *kit, value key, int depth) {
  uint64_t hash = 1;
  if (depth == 0) return hash;
  if (is_pair(key)) {
    for (int i = 0; i < HASHED_PARTS && is_pair(key); i++, key = cdr(key))
      hash = hash * 31 + hash_parts(kit, car(key), depth - 1);
    return hash;
  }
  if (!is_a(key, T_VECTOR)) return hash_eqv(kit, key);
  const cradle_kit_array *vector = object_of(key);
  for (size_t i = 0; i < HASHED_PARTS && i < vector->length; i++)
    hash = hash * 33 + hash_parts(kit, vector->items[i], depth - 1);
  return hash;
}
static uint64_t hash_equal(const cradle_kit *kit, value key) {
  return hash_parts(kit, key, HASHED_DEPTH);
}
static bool equal_equal(const cradle_kit *kit, value left, value right) {
  return is_equal(kit->data, left, right);
}
const cradle_kit_keys equal_keys = {hash_equal, equal_equal};

/* --- procedures --- */

CRADLE_MAY_COLLECT static cradle_kit_map *check_table(scheme *s, value v) {
  check_type(s, v, T_TABLE, "a hash table");
  return object_of(v);
}
CRADLE_MAY_COLLECT static value make_equal_row(scheme *s, size_t count, const value *args) {
  (void)count, (void)args;
  return value_of(cradle_kit_map_new(&s->kit, &equal_keys));
}
CRADLE_MAY_COLLECT static value make_eqv_row(scheme *s, size_t count, const value *args) {
  (void)count, (void)args;
  return value_of(cradle_kit_map_new(&s->kit, &eqv_keys));
}
CRADLE_MAY_COLLECT static value is_table_row(scheme *s, size_t count, const value *args) {
  (void)s, (void)count;
  return boolean(is_a(args[0], T_TABLE));
}
CRADLE_MAY_COLLECT static value table_set_row(scheme *s, size_t count, const value *args) {
  (void)count;
  cradle_kit_map_set(&s->kit, check_table(s, args[0]), args[1], args[2]);
  return UNSPECIFIED;
}
CRADLE_MAY_COLLECT static value table_ref_default_row(scheme *s, size_t count, const value *args) {
  (void)count;
  return cradle_kit_map_get(&s->kit, check_table(s, args[0]), args[1], args[2]);
}
CRADLE_MAY_COLLECT static value table_ref_row(scheme *s, size_t count, const value *args) {
  value found = cradle_kit_map_get(&s->kit, check_table(s, args[0]), args[1], NOT_GIVEN);
  if (found != NOT_GIVEN) return found;
  if (count < 3) fail(s, args[1], "the table has no key");
  return apply(s, args[2], 0);
}
CRADLE_MAY_COLLECT static value table_contains_row(scheme *s, size_t count, const value *args) {
  (void)count;
  return boolean(cradle_kit_map_find(&s->kit, check_table(s, args[0]), args[1]) != CRADLE_KIT_MAP_NONE);
}
CRADLE_MAY_COLLECT static value table_delete_row(scheme *s, size_t count, const value *args) {
  (void)count;
  cradle_kit_map_remove(&s->kit, check_table(s, args[0]), args[1]);
  return UNSPECIFIED;
}
CRADLE_MAY_COLLECT static value table_count_row(scheme *s, size_t count, const value *args) {
  (void)count;
  return fixnum((int64_t)check_table(s, args[0])->count);
}
CRADLE_MAY_COLLECT static value table_clear_row(scheme *s, size_t count, const value *args) {
  (void)count;
  cradle_kit_map *table = check_table(s, args[0]);
  for (size_t e = cradle_kit_map_next(table, 0); e != CRADLE_KIT_MAP_NONE; e = cradle_kit_map_next(table, e + 1))
    cradle_kit_map_remove(&s->kit, table, cradle_kit_map_key_at(table, e));
  return UNSPECIFIED;
}
/* (hash-table-update! table key change [default]): default is a procedure without arguments, or for update!/default the
 * value. */
CRADLE_MAY_COLLECT static value table_update_row(scheme *s, size_t count, const value *args) {
  value before =
      count < 4 ? table_ref_row(s, 2, args) : cradle_kit_map_get(&s->kit, check_table(s, args[0]), args[1], NOT_GIVEN);
  if (before == NOT_GIVEN) before = apply(s, args[3], 0);
  value after = apply_1(s, args[2], before);
  cradle_kit_map_set(&s->kit, check_table(s, args[0]), args[1], after);
  return UNSPECIFIED;
}
CRADLE_MAY_COLLECT static value table_update_default_row(scheme *s, size_t count, const value *args) {
  (void)count;
  value before = cradle_kit_map_get(&s->kit, check_table(s, args[0]), args[1], args[3]);
  value after = apply_1(s, args[2], before);
  cradle_kit_map_set(&s->kit, check_table(s, args[0]), args[1], after);
  return UNSPECIFIED;
}

typedef enum listed { KEYS, VALUES, BOTH } listed;
CRADLE_MAY_COLLECT static value list_table(scheme *s, const value *args, listed what) {
  value list = NIL;
  CRADLE_ROOT_VALUE(s->m, list);
  const cradle_kit_map *table = check_table(s, args[0]);
  for (size_t e = cradle_kit_map_next(table, 0); e != CRADLE_KIT_MAP_NONE;
       e = cradle_kit_map_next(object_of(args[0]), e + 1)) {
    table = object_of(args[0]);
    value key = cradle_kit_map_key_at(table, e), content = cradle_kit_map_value_at(table, e);
    value part = what == KEYS ? key : what == VALUES ? content : cons(s, key, content);
    list = cons(s, part, list);
  }
  return reverse_in_place(s, list, NIL);
}
CRADLE_MAY_COLLECT static value table_keys_row(scheme *s, size_t count, const value *args) {
  (void)count;
  return list_table(s, args, KEYS);
}
CRADLE_MAY_COLLECT static value table_values_row(scheme *s, size_t count, const value *args) {
  (void)count;
  return list_table(s, args, VALUES);
}
CRADLE_MAY_COLLECT static value table_to_alist_row(scheme *s, size_t count, const value *args) {
  (void)count;
  return list_table(s, args, BOTH);
}
/* Walks over the entries that are in the table when the walk begins, because the procedure may change the table. */
CRADLE_MAY_COLLECT static value table_walk_row(scheme *s, size_t count, const value *args) {
  (void)count;
  for (value list = list_table(s, args, BOTH); list != NIL;) {
    CRADLE_ROOT_VALUE(s->m, list);
    cradle_push_word(s->m, car(car(list)));
    cradle_push_word(s->m, cdr(car(list)));
    apply(s, args[1], 2);
    list = cdr(list);
  }
  return UNSPECIFIED;
}
CRADLE_MAY_COLLECT static value table_copy_row(scheme *s, size_t count, const value *args) {
  (void)count;
  const cradle_kit_map *table = check_table(s, args[0]);
  cradle_kit_map *copy = cradle_kit_map_new(&s->kit, table->keys);
  CRADLE_ROOT(s->m, copy);
  for (size_t e = cradle_kit_map_next(object_of(args[0]), 0); e != CRADLE_KIT_MAP_NONE;
       e = cradle_kit_map_next(object_of(args[0]), e + 1)) {
    table = object_of(args[0]);
    cradle_kit_map_set(&s->kit, copy, cradle_kit_map_key_at(table, e), cradle_kit_map_value_at(table, e));
  }
  return value_of(copy);
}

const primitive_row table_rows[] = {
    {"make-hash-table", make_equal_row, 0, 0},
    {"make-equal-hash-table", make_equal_row, 0, 0},
    {"make-string-hash-table", make_equal_row, 0, 0},
    {"make-eqv-hash-table", make_eqv_row, 0, 0},
    {"make-eq-hash-table", make_eqv_row, 0, 0},
    {"hash-table?", is_table_row, 1, 1},
    {"hash-table-set!", table_set_row, 3, 3},
    {"hash-table-ref", table_ref_row, 2, 3},
    {"hash-table-ref/default", table_ref_default_row, 3, 3},
    {"hash-table-contains?", table_contains_row, 2, 2},
    {"hash-table-exists?", table_contains_row, 2, 2},
    {"hash-table-delete!", table_delete_row, 2, 2},
    {"hash-table-count", table_count_row, 1, 1},
    {"hash-table-size", table_count_row, 1, 1},
    {"hash-table-clear!", table_clear_row, 1, 1},
    {"hash-table-update!", table_update_row, 3, 4},
    {"hash-table-update!/default", table_update_default_row, 4, 4},
    {"hash-table-keys", table_keys_row, 1, 1},
    {"hash-table-values", table_values_row, 1, 1},
    {"hash-table->alist", table_to_alist_row, 1, 1},
    {"hash-table-walk", table_walk_row, 2, 2},
    {"hash-table-copy", table_copy_row, 1, 1},
};
const size_t table_row_count = sizeof table_rows / sizeof *table_rows;
