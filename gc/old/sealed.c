#include "gc/old/sealed.h"

#include <string.h>

void crd_seal(crd_old *old) {
  const crd_arenas *arenas = &old->arenas;
  ASSERT(old->sealed_bytes == 0, "[sealed.1] a heap is sealed twice");
  old->sealed_bytes = arenas->used_end * ARENA_BYTES;
  for (uint32_t i = 0; i < arenas->used_end; i++)
    if (arenas->states[i] == ARENA_USED)
      memcpy(arenas->meta[i].marks, arenas->meta[i].allocated, sizeof arenas->meta[i].marks);
}

/* A store must not fail: if there is no memory to note the object, each marking traces all sealed ones. */
void crd_sealed_open(crd_space *space, const cradle_word *object) {
  crd_old *old = &space->old;
  ASSERT(old_is_sealed(old, address_of(object)), "[sealed.2] an object is opened that is not sealed");
  space_lock(space);
  if (!crd_address_map_reserve(&old->opened))
    old->all_opened = true;
  else if (crd_address_map_find(&old->opened, address_of(object)) == NULL)
    crd_address_map_insert(&old->opened, address_of(object), 0);
  space_unlock(space);
}

static void turn_grey(void *context, cradle_word *object) {
  crd_marking *marking = context;
  ASSERT(old_is_marked(marking->old, address_of(object)), "[sealed.1] a sealed object is not marked");
  if (!word_stack_push(&marking->mark_stack, address_of(object))) marking->major.overflowed = true;
}

void crd_sealed_mark(crd_marking *marking) {
  const crd_old *old = marking->old;
  const crd_address_map *opened = &old->opened;
  for (size_t i = 0; i < opened->capacity; i++)
    if (opened->entries[i].address != 0) turn_grey(marking, object_at(opened->entries[i].address));
  for (uint32_t page = old->all_opened ? crd_old_next_span(old, 0) : PAGE_NONE; page != PAGE_NONE;
       page = old_span_after(old, page))
    if (old_is_sealed(old, arenas_page_address(&old->arenas, page)))
      crd_old_each_in(old, page, false, turn_grey, marking);
}
