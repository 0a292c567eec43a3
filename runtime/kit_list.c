/* Lists: an array with room at its end. A full array is replaced by one twice as large, so that an append copies one
 * item on average. */
#include <cradle/kit.h>

enum {
  ROOM_LEAST = 6,
  ROOM_SMALL_MOST = (CRADLE_NURSERY_OBJECT_MAX_BYTES - sizeof(cradle_kit_array)) / sizeof(cradle_word)
};

cradle_kit_array *cradle_kit_array_new(const cradle_kit *kit, size_t length) {
  return CRADLE_NEW_ARRAY(kit->mutator, cradle_kit_array, kit->first_type + CRADLE_KIT_ARRAY, items, length, length);
}

/* Replaces the array by one with the given room and the list's items. false: memory ran out. */
static bool set_room(const cradle_kit *kit, cradle_kit_list *list, size_t room) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(kit->mutator, list);
  cradle_kit_array *array = CRADLE_NEW_ARRAY_UNINITIALIZED(kit->mutator, cradle_kit_array,
                                                           kit->first_type + CRADLE_KIT_ARRAY, items, length, room);
  if (CRADLE_UNLIKELY(array == NULL)) return false;
  size_t filled = list->length * sizeof *array->items; /* fresh: no barrier */
  if (filled > 0) memcpy(array->items, list->array->items, filled);
  if (room <= ROOM_SMALL_MOST) /* a larger array comes zeroed */
    memset(array->items + list->length, 0, room * sizeof *array->items - filled);
  cradle_store(kit->mutator, list, &list->array, array);
  list->room = room;
  return true;
}

cradle_kit_list *cradle_kit_list_new(const cradle_kit *kit, size_t capacity) {
  cradle_kit_list *list = CRADLE_NEW(kit->mutator, cradle_kit_list, kit->first_type + CRADLE_KIT_LIST);
  if (capacity == 0 || list == NULL) return list;
  CRADLE_ROOT(kit->mutator, list);
  return set_room(kit, list, capacity) ? list : NULL;
}

/* --- in the middle: many references change their slots at once --- */

bool cradle_kit_list_insert(const cradle_kit *kit, cradle_kit_list *list, size_t index, cradle_value value) {
  if (CRADLE_UNLIKELY(index > list->length)) cradle_kit_no_item(kit, "cradle_kit_list_insert", index, list->length);
  CRADLE_ROOT(kit->mutator, list);
  CRADLE_ROOT_VALUE(kit->mutator, value);
  size_t more = list->room < ROOM_LEAST ? ROOM_LEAST : 2 * list->room;
  if (list->length == list->room && !set_room(kit, list, more)) return false;
  cradle_word *items = list->array->items;
  cradle_copy_slots(kit->mutator, list->array, items + index + 1, items + index, list->length - index);
  cradle_kit_store(kit, list->array, &items[index], value);
  list->length++;
  return true;
}

cradle_value cradle_kit_list_remove(const cradle_kit *kit, cradle_kit_list *list, size_t index) {
  if (CRADLE_UNLIKELY(index >= list->length)) cradle_kit_no_item(kit, "cradle_kit_list_remove", index, list->length);
  cradle_word *items = list->array->items;
  cradle_value value = items[index];
  list->length--;
  cradle_copy_slots(kit->mutator, list->array, items + index, items + index + 1, list->length - index);
  items[list->length] = 0; /* needs no barrier: a zero word is no reference */
  return value;
}
