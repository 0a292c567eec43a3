#include "shim.h"

#include <stdio.h>
#include <stdlib.h>

#include <cradle/cradle.h>

cradle_heap *shim_heap_new(const shim_type *types, size_t count, char *message, size_t room) {
  static const cradle_items items[] = {CRADLE_ITEMS_NONE, CRADLE_ITEMS_BYTES, CRADLE_ITEMS_REFERENCES};
  cradle_type *rows = calloc(count, sizeof *rows);
  cradle_options options;
  cradle_error error = {.message = "memory for the types was refused"};
  cradle_options_init(&options);
  for (size_t i = 0; rows != NULL && i < count; i++) {
    rows[i].name = types[i].name;
    rows[i].size = types[i].size;
    rows[i].references = types[i].references;
    rows[i].items = items[types[i].items];
    if (types[i].items == SHIM_NO_ITEMS) continue;
    rows[i].item_size = types[i].items == SHIM_BYTES ? 1 : sizeof(void *);
    rows[i].length_offset = sizeof(uint64_t);
  }
  options.types = rows;
  options.type_count = count;
  cradle_heap *heap = rows == NULL ? NULL : cradle_heap_new_from_environment(&options, &error);
  if (heap == NULL) (void)snprintf(message, room, "%s", error.message);
  free(rows); /* the heap has copied them, but not their names */
  return heap;
}

void *shim_new(cradle_mutator *mutator, uint32_t type, size_t size) CRADLE_MAY_COLLECT {
  return cradle_new(mutator, type, size);
}
void *shim_new_array(cradle_mutator *mutator, uint32_t type, size_t length) CRADLE_MAY_COLLECT {
  return cradle_new_array(mutator, type, length);
}
void shim_store(cradle_mutator *mutator, void *object, void *slot, void *reference) {
  cradle_store(mutator, object, slot, reference);
}
void shim_push(cradle_mutator *mutator, void *reference) {
  cradle_push(mutator, reference);
}
void shim_pop_many(cradle_mutator *mutator, size_t count) {
  cradle_pop_many(mutator, count);
}
void **shim_root(cradle_mutator *mutator, size_t from_top) {
  return (void **)cradle_peek(mutator, from_top);
}
