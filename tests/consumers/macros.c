/* The macros and inline functions of the public headers in a program's own code. It is compiled with the warnings that
 * hosts turn on (run.py headers), and never run. */
#include <cradle/cradle.h>
#include <cradle/kit.h>

typedef struct {
  uint64_t header;
  void *first;
} cell;
typedef struct {
  uint64_t header, length;
  void *items[];
} array;
enum { CELL, ARRAY };

void *objects(cradle_mutator *m) CRADLE_MAY_COLLECT;
void *objects(cradle_mutator *m) {
  cell *made = CRADLE_NEW(m, cell, CELL);
  CRADLE_ROOT(m, made);
  cradle_value value = 0;
  CRADLE_ROOT_VALUE(m, value);
  cradle_reservation room = cradle_reserve(m, sizeof(cell));
  cell *several[] = {CRADLE_NEW_UNINITIALIZED(m, cell, CELL), CRADLE_NEW_FAST(m, cell, CELL),
                     CRADLE_NEW_WITH(m, cell, CELL, 0), CRADLE_NEW_WITH(m, cell, CELL, CRADLE_PINNED),
                     CRADLE_NEW_RESERVED(&room, cell, CELL)};
  cradle_store(m, made, &made->first, several[0]);
  cradle_store_value(m, made, &made->first, value);
  cradle_write_barrier(m, made);
  return made;
}

uint64_t arrays(cradle_mutator *m, size_t n) CRADLE_MAY_COLLECT;
uint64_t arrays(cradle_mutator *m, size_t n) {
  cradle_reservation room = cradle_reserve(m, CRADLE_ARRAY_BYTES(array, items, n));
  array *several[] = {CRADLE_NEW_RESERVED_ARRAY(&room, array, ARRAY, items, length, n),
                      CRADLE_NEW_ARRAY(m, array, ARRAY, items, length, n),
                      CRADLE_NEW_ARRAY_UNINITIALIZED(m, array, ARRAY, items, length, n),
                      CRADLE_NEW_ARRAY_FAST(m, array, ARRAY, items, length, n),
                      CRADLE_NEW_ARRAY_WITH(m, array, ARRAY, items, length, n, 0),
                      CRADLE_NEW_ARRAY_WITH(m, array, ARRAY, items, length, n, CRADLE_PINNED)};
  cradle_copy_slots(m, several[0], several[0]->items, several[1]->items, n);
  return several[0]->length + cradle_type_of(several[1]) + cradle_identity_hash(m, several[2]);
}

void roots(cradle_mutator *m, cradle_heap *heap, void **base, void **top) CRADLE_MAY_COLLECT;
void roots(cradle_mutator *m, cradle_heap *heap, void **base, void **top) {
  cradle_root_range range = CRADLE_ROOT_RANGE(base, top, CRADLE_KIND_REFERENCE, "stack");
  cradle_root_range_add(m, &range);
  cradle_push(m, *base);
  *cradle_peek(m, 0) = (cradle_word)(uintptr_t)cradle_pop(m);
  cradle_pop_many(m, 1);
  *top = cradle_pop(m);
  *base = cradle_weak_get(m, base);
  *top = cradle_value_object(cradle_heap_encoding(heap), cradle_weak_get_value(m, (cradle_value *)(void *)top));
  cradle_safepoint(m);
}

uint64_t kit_of(cradle_mutator *m, uint32_t first) CRADLE_MAY_COLLECT;
uint64_t kit_of(cradle_mutator *m, uint32_t first) {
  static const cradle_type rows[CRADLE_KIT_TYPES] = {CRADLE_KIT_ROWS(0)};
  cradle_kit kit;
  cradle_kit_init(&kit, m, first);
  cradle_kit_list *list = cradle_kit_list_new(&kit, rows[0].size);
  cradle_kit_list_append(&kit, list, 1);
  cradle_kit_list_set(&kit, list, 0, cradle_kit_list_get(list, 0) + cradle_kit_list_pop(list));
  cradle_kit_map *map = cradle_kit_map_new(&kit, &cradle_kit_keys_strings);
  size_t entry = cradle_kit_map_find(&kit, map, 1);
  cradle_kit_map_set(&kit, map, 1, cradle_kit_map_key_at(map, entry));
  cradle_kit_string *text = cradle_kit_string_new(&kit, NULL, CRADLE_KIT_MAP_MAX);
  return cradle_kit_map_get(&kit, map, 0, text->length);
}
