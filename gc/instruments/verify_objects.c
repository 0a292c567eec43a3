#include "gc/instruments/verify.h"

#include <inttypes.h>

#include "gc/death/weak.h"
#include "gc/heap.h"
#include "gc/instruments/describe.h"
#include "gc/instruments/history.h"
#include "gc/report/misuse.h"
#include "gc/roots.h"
#include "gc/tables/identity.h"

/* --- headers --- */

/* Whether a word can be a header. flags: those that an object at that place may have [header.2]. A large array has both
 * of its type's flags, and keeps them when it becomes shorter [heap.3]. */
static bool is_possible_header(const cradle_heap *heap, cradle_word header, uint64_t flags) {
  if (!type_table_has(&heap->space.types, header_type(header)) || (header_flags(header) & ~flags) != 0) return false;
  const crd_type *type = space_type(&heap->space, header);
  if (header_is_weak(header) && !(type->registers & REGISTERED_WEAKLY)) return false;
  uint64_t of_array = header_array_flags(type_old_flags(type, SIZE_MAX));
  return !header_has(header, HEADER_ARRAY_FLAGS) || header_array_flags(header) == of_array;
}

/* Whether an object of so many bytes can lie in a place with so much room. An object of a fixed size must be in a place
 * of its class; an array may have become shorter than its place. */
static bool is_possible_size(const cradle_heap *heap, const cradle_word *object, size_t bytes, size_t room) {
  const crd_type *type = space_type(&heap->space, object[0]);
  if (bytes == 0 || bytes > room) return false;
  if (type->items != CRADLE_ITEMS_NONE || !arenas_contain(&heap->space.old.arenas, address_of(object))) return true;
  return type->class_bytes != 0 ? type->class_bytes == room : room - bytes < PAGE_BYTES;
}

/* Whether the object can be looked into. Each condition protects the next: a size is computed from the type only if the
 * header has a possible type, and a length is read only if the fixed part fits. */
static bool can_be_read(const cradle_heap *heap, const cradle_word *object, size_t room, uint64_t flags) {
  return is_possible_header(heap, object[0], flags) &&
         space_type(&heap->space, object[0])->size <= room && /* so that the length can be read */
         is_possible_size(heap, object, type_object_bytes(space_type(&heap->space, object[0]), object), room);
}

/* A flag in the header may say that something about the object is kept in a table (an id, a pin, the remembered set).
 * Returns what is not there, or NULL. */
static const char *missing_beside(const crd_verification *verification, const cradle_word *object, uint64_t flags) {
  const cradle_heap *heap = verification->heap;
  const crd_type *type = space_type(&heap->space, object[0]);
  if (header_has_id(object[0]) && !crd_ids_know(&heap->tables.ids, object))
    return "an object has the flag of an id, but no id [identity.1]";
  if (header_is_pinned(object[0]) &&
      crd_address_map_get(&heap->tables.pins.by_address, address_of(object)) == ADDRESS_MAP_NONE)
    return "an object has the pinned flag, but no pin [pin.1]";
  if (!header_has_barrier(flags)) return NULL;
  if (!header_has_barrier(object[0]) && !heap->young.remember_all &&
      !crd_verify_has(verification, VERIFY_REMEMBERED, address_of(object)))
    return "an old object has not the barrier flag, but is not remembered (was its header overwritten?) [heap.3]";
  bool is_large_array = header_records_slots(flags & type_old_flags(type, type_object_bytes(type, object)));
  if (is_large_array && !header_records_slots(object[0])) return "a large array has not the flags of one [heap.3]";
  return NULL;
}

/* Reports a header that cannot be right. slot: what led to the object, or NULL. */
static void fault_of_header(crd_verification *verification, const cradle_word *object, uint64_t flags,
                            const cradle_word *slot) {
  const cradle_heap *heap = verification->heap;
  crd_text what = {.length = 0};
  if (is_possible_header(heap, object[0], flags)) {
    crd_text_format(&what, "wrong length or size of %s", crd_name_type(&heap->space, header_type(object[0])).buffer);
  } else {
    const char *cause = crd_poison_cause(object[0]);
    crd_text_format(&what, "broken header %#" PRIx64, object[0]);
    if (cause != NULL) crd_text_format(&what, ", of %s", cause);
    if (is_possible_header(heap, object[0], HEADER_OLD_FLAGS))
      crd_text_format(&what, ", as an old object has (copied with one?)");
  }
  if (slot == NULL) crd_text_format(&what, " at %p", (const void *)object);
  crd_fault(verification, slot, "%s", what.buffer);
}

/* Looks at the header of an object. false: the object cannot be looked into, and that was reported. */
static bool verify_header(crd_verification *verification, const cradle_word *object, size_t room, uint64_t flags,
                          const cradle_word *slot) {
  if (!can_be_read(verification->heap, object, room, flags)) {
    fault_of_header(verification, object, flags, slot);
    return false;
  }
  const char *missing = missing_beside(verification, object, flags);
  if (missing != NULL) crd_fault_of(verification, missing, object, slot);
  return true;
}

/* --- places --- */

/* What an old object may take up, and which flags it may have. */
typedef struct old_place {
  size_t room;
  uint64_t flags;
  bool is_young;
  bool takes_barrier; /* stores into it must be remembered: it is old, or recorded from birth [large.3] */
} old_place;

static old_place place_of(const cradle_heap *heap, const cradle_word *object) {
  const crd_page *page = old_span_of(&heap->space.old, address_of(object));
  old_place place = {.is_young = page->state == PAGE_LARGE_YOUNG};
  place.room = page->state == PAGE_SMALL ? heap->space.old.classes.of[page->size_class].bytes
                                         : (size_t)page->pages << PAGE_SHIFT;
  place.takes_barrier = !place.is_young || header_records_slots(object[0]) || header_is_weak(object[0]);
  place.flags = !place.takes_barrier ? HEADER_YOUNG_FLAGS : place.is_young ? HEADER_RECORDED_FLAGS : HEADER_OLD_FLAGS;
  return place;
}

/* --- references --- */

/* Whether the next minor collection will look at the slot of the old holder. */
static bool is_remembered(const crd_verification *verification, const cradle_word *slot) {
  cradle_word header = verification->holder.object[0];
  if (!header_has_barrier(header)) return true;
  const cradle_heap *heap = verification->heap;
  const cradle_word *item =
      header_is_weak(header) ? crd_stored_item(&heap->space, verification->holder.object, slot) : NULL;
  if (item != NULL && crd_verify_has(verification, VERIFY_ITEMS, address_of(item))) return true;
  return header_records_slots(header) && crd_verify_has(verification, VERIFY_RECORDED, address_of(slot));
}

/* Reports that a store into the holder had no barrier. */
static void missing_barrier(crd_verification *verification, const cradle_word *slot, const char *what) {
  crd_history_suspect(verification->heap, verification->holder.object);
  crd_fault(verification, slot, "missing write barrier%s", what);
}

/* Reports that the old holder refers to a young object and is not remembered. */
static void fault_of_barrier(crd_verification *verification, const char *young, const cradle_word *slot) {
  crd_history_suspect(verification->heap, verification->holder.object);
  crd_fault(verification, slot, "missing write barrier: an old object that is not remembered refers to %s [%s]", young,
            header_records_slots(verification->holder.object[0]) ? "heap.5" : "heap.1");
}

/* A slot refers into the nursery. The object is looked into later, when it is taken from the stack. */
static void found_young(crd_verification *verification, uintptr_t address, const cradle_word *slot) {
  young_search *young = &verification->young;
  if (verification->holder.is_old && !is_remembered(verification, slot))
    fault_of_barrier(verification, "a young one", slot);
  if (!young_search_found(young, address)) return;
  size_t room = young->start + young->bytes - address;
  if (verify_header(verification, object_at(address), room, HEADER_YOUNG_FLAGS, slot))
    young_search_put_aside(young, address);
}

/* A slot refers into the old generation. Two barriers may be missing: a minor collection must learn of a young large
 * object, and marking of an object that has no mark although its holder is black [heap.6]. */
static void found_old(crd_verification *verification, uintptr_t address, const cradle_word *slot) {
  const cradle_heap *heap = verification->heap;
  const verify_holder *holder = &verification->holder;
  const cradle_word *object = object_at(address);
  /* A header is open only while its object is dead, and then whoever refers to the object is dead, too. */
  if (space_has_open(&heap->space, object)) return;
  old_place place = place_of(heap, object);
  if (!verify_header(verification, object, place.room, place.flags, slot)) return;
  /* An array that is recorded from birth may refer to itself by a plain store: it was the only young object then. */
  if (place.is_young && holder->is_old && object != holder->object && !is_remembered(verification, slot))
    fault_of_barrier(verification, "a young large one", slot);
  if (!place.is_young && holder->is_traced && !old_is_marked(&heap->space.old, address) &&
      !is_remembered(verification, slot))
    missing_barrier(verification, slot, " while marking: a traced object refers to one that is not marked [heap.6]");
}

/* What a slot may hold depends on where its address leads. */
static void verify_slot(void *data, bool value, cradle_word *slot) {
  crd_verification *verification = data;
  if (verify_failed(verification)) return;
  const crd_space *space = &verification->heap->space;
  const verify_holder *holder = &verification->holder;
  uintptr_t address = space_address_in(space, value, *slot);
  bool young = space_is_young(space, address), old = arenas_contain(&space->old.arenas, address);
  bool tagged = holder->object != NULL && space_type(space, holder->object[0])->folded;
  const char *fault = crd_reference_fault(verification->heap, address, tagged);
  const char *cause = fault == NULL ? NULL : crd_poison_cause(address);
  if (fault != NULL)
    crd_fault(verification, slot, cause == NULL ? "%s" : "%s, of %s", fault, cause);
  else if (young)
    found_young(verification, address, slot);
  else if (old)
    found_old(verification, address, slot);
}

/* A weak slot, or a slot of an ephemeron or a weak set: it may hold no stale reference either, but marking does not
 * follow it, so what it refers to need not be marked. */
static void verify_service(void *data, bool value, cradle_word *slot) {
  crd_verification *verification = data;
  bool traced = verification->holder.is_traced;
  verification->holder.is_traced = false;
  verify_slot(verification, value, slot);
  verification->holder.is_traced = traced;
}

/* --- objects --- */

/* Whether an object of a type with services was registered. Young ones are in the list of those registered since the
 * last minor collection. Of the old ones, only those with weak slots or ephemerons can be told, by their weak flag. */
static bool is_registered(const crd_verification *verification, const cradle_word *object, unsigned registers) {
  if (space_holds_young(&verification->heap->space, address_of(object)))
    return crd_verify_has(verification, VERIFY_REGISTERED, address_of(object));
  return !(registers & REGISTERED_WEAKLY) || header_is_weak(object[0]);
}

static void verify_slots(crd_verification *verification, verify_holder holder) {
  cradle_heap *heap = verification->heap;
  cradle_word *object = holder.object;
  verification->holder = holder;
  unsigned registers = space_type(&heap->space, object[0])->registers;
  if (CRADLE_UNLIKELY(registers != 0)) {
    if (!is_registered(verification, object, registers))
      crd_fault(verification, object, "an object of a type with services was not registered when it was allocated");
    crd_registry_each_slot(&heap->space, object, verify_service, verification);
  }
  visit_object(&heap->space.types, object, verify_slot, verification);
}

/* Whether an old object is black: marking has traced it and will not come to it again. During a rescan no object counts
 * as black. */
static bool is_traced(const crd_verification *verification, const cradle_word *object) {
  const cradle_heap *heap = verification->heap;
  const crd_major *major = &heap->marking.major;
  if (major->phase != MAJOR_MARKING || major->overflowed || major->rescan_page != PAGE_NONE) return false;
  return old_is_marked(&heap->space.old, address_of(object)) && !old_is_listed(&heap->space.old, address_of(object)) &&
         !crd_verify_has(verification, VERIFY_GREY, address_of(object));
}

static void verify_old_object(void *data, cradle_word *object) {
  crd_verification *verification = data;
  const cradle_heap *heap = verification->heap;
  if (verify_failed(verification) || space_has_open(&heap->space, object)) return;
  old_place place = place_of(heap, object);
  if (!can_be_read(heap, object, place.room, place.flags) ||
      missing_beside(verification, object, place.flags) != NULL) {
    if (verification->broken == NULL) verification->broken = object; /* its holder may still be found */
    return;
  }
  if (marking_knows_dead(&heap->marking, address_of(object))) return;
  verify_slots(verification, (verify_holder){.object = object,
                                             .is_old = place.takes_barrier,
                                             .is_traced = !place.is_young && is_traced(verification, object)});
}

/* Reports the broken object if no reference to it was found. */
static void verify_broken(crd_verification *verification) {
  if (verify_failed(verification) || verification->broken == NULL) return;
  old_place place = place_of(verification->heap, verification->broken);
  (void)verify_header(verification, verification->broken, place.room, place.flags, NULL);
}

static void verify_young_objects(crd_verification *verification) {
  for (cradle_word *object; !verify_failed(verification) && (object = young_search_next(&verification->young)) != NULL;)
    verify_slots(verification, (verify_holder){.object = object});
}

/* Whether two young objects overlap. Then one of them is longer than was allocated, or the other is no object, but a
 * reference that leads into the first. */
static void verify_neighbours(crd_verification *verification) {
  const cradle_heap *heap = verification->heap;
  const young_search *found = &verification->young;
  const cradle_word *start = object_at(found->start), *last = NULL;
  for (size_t i = 0; i < young_search_length(found) && !verify_failed(verification); i++)
    for (uint64_t word = found->bits[i]; word != 0; word &= word - 1) {
      const cradle_word *object = start + i * 64 + (uint32_t)__builtin_ctzll(word);
      if (last != NULL && object < last + type_object_bytes(space_type(&heap->space, last[0]), last) / 8) {
        crd_text what = {.length = 0};
        crd_text_format(&what, "the young object at %p lies inside another", (const void *)object);
        crd_fault_of(verification, what.buffer, last, NULL);
      }
      last = object;
    }
}

/* --- roots --- */

/* A root that minor collections skip may refer to no young object; one that marking skips, too, to no unmarked one
 * while it goes on. young, unmarked: what is said if it does; unmarked NULL: marking does not skip it. */
static void verify_skipped(crd_verification *verification, bool value, const cradle_word *slot, const char *young,
                           const char *unmarked) {
  const cradle_heap *heap = verification->heap;
  uintptr_t address = space_address_in(&heap->space, value, *slot);
  if (space_holds_young(&heap->space, address))
    crd_fault(verification, slot, "%s", young);
  else if (unmarked != NULL && heap->marking.major.phase == MAJOR_MARKING &&
           crd_old_is_object(&heap->space.old, address) && !old_is_marked(&heap->space.old, address))
    crd_fault(verification, slot, "%s", unmarked);
}

static void verify_root(void *data, bool value, cradle_word *slot) {
  crd_verification *verification = data;
  const crd_root_at *at = &verification->at;
  if (at->stack != NULL && at->ring != ROOT_STACKS_RAN)
    verify_skipped(verification, value, slot,
                   "a root of a suspended root stack refers to a young object: it was written while the root stack was "
                   "suspended [root_stack.2]",
                   at->ring == ROOT_STACKS_UNMARKED
                       ? NULL
                       : "a root of a suspended root stack refers to an object that marking has not seen: it was "
                         "written while the root stack was suspended [root_stack.3]");
  else if (at->holder == CRADLE_HOLDER_SHADOW_STACK && slot < at->stack->watermark)
    verify_skipped(verification, value, slot,
                   "a shadow-stack word that counts as unchanged refers to a young object (no cradle_peek, or a top "
                   "lowered without the watermark?) [mutator.6]",
                   "a shadow-stack word that counts as unchanged refers to an object that marking has not seen (no "
                   "cradle_peek?) [mutator.6]");
  verify_slot(verification, value, slot);
}

/* Roots and old objects find young objects; the young ones find more. A broken old object is reported only after all of
 * them have been asked for a reference to it. Weak sets may find further young objects. */
void crd_verify_objects(crd_verification *verification) {
  cradle_heap *heap = verification->heap;
  ASSERT(!verify_failed(verification), "[verification.1] objects are looked at in a heap that is broken");
  verification->holder = (verify_holder){.object = NULL};
  crd_walk_roots(heap, &verification->at, verify_root, verification);
  if (!verify_failed(verification)) crd_old_each(&heap->space.old, verify_old_object, verification);
  verify_young_objects(verification);
  verify_broken(verification);
  verification->holder = (verify_holder){.object = NULL};
  if (!verify_failed(verification) && heap->space.services != NULL)
    crd_weak_sets_each(heap->space.services, verify_service, verification);
  verify_young_objects(verification);
  if (!verify_failed(verification)) verify_neighbours(verification);
}
