/* The look at every object of an image. It believes nothing of an object either: a type, a length or a slot that is
 * impossible is an error. With image.verify the lists of the file are compared with what objects say, in one walk,
 * because both are in the order of addresses [image.3]. */
#include <inttypes.h>

#include "gc/death/registry.h"
#include "gc/image/image.h"

/* The addresses that the image had, and what is added to them. A loop works on a copy of its own, which the compiler
 * keeps in registers: words of the heap that are stored might otherwise be those of the copy. */
typedef struct image_shift {
  const crd_space *space;
  uintptr_t from, length, moved;
} image_shift;

typedef struct image_look {
  const crd_image *image;
  const crd_space *space;
  cradle_error *error;
  cradle_word *object;
  size_t room, bytes; /* of its place, of the object */
  image_shift shift;
  uint64_t listed[REGISTERED_KINDS], fixes;
  bool verifies, failed;
} image_look;

#define FAIL(look, ...) ((look)->failed = true, (void)IMAGE_REFUSE((look)->error, DAMAGED __VA_ARGS__))

static uint64_t place_of(const image_look *look, const cradle_word *word) {
  return address_of(word) - look->space->old.arenas.base;
}

/* A slot follows the object that it refers to. */
CRD_ALWAYS_INLINE void move_slot(void *data, bool value, cradle_word *slot) {
  const image_shift *shift = data;
  uintptr_t address = space_address_in(shift->space, value, *slot), now = address + shift->moved;
  if (address - shift->from >= shift->length) return;
  *slot = value ? value_moved(&shift->space->encoding, *slot, now) : now;
}
static void move_weak_slot(void *data, bool value, cradle_word *slot) {
  move_slot(data, value, slot);
}
static void move_items(const crd_type *type, cradle_word *object, image_shift shift) {
  visit_items(&shift.space->types, object, 0, type_length(type, object), move_slot, &shift);
}

/* What a trace callback visits must lie in the object. */
static void move_own_slot(void *data, bool value, cradle_word *slot) {
  image_look *look = data;
  if (address_of(slot) - address_of(look->object) < look->bytes)
    move_slot(&look->shift, value, slot);
  else if (!look->failed)
    FAIL(look, "an object at %#" PRIx64 " has a slot outside of itself", place_of(look, look->object));
}

/* Whether the next entry of a list is the object; the entry is passed then. */
static bool is_next(image_look *look, int kind) {
  const uint64_t *places = image_part_of(look->image, IMAGE_LISTS + kind);
  uint64_t at = look->listed[kind];
  if (at >= image_count(look->image, IMAGE_LISTS + kind) || places[at] != place_of(look, look->object)) return false;
  look->listed[kind]++;
  return true;
}
static bool is_next_fix(image_look *look, const cradle_word *word, bool mends) {
  const image_fix *fixes = image_part_of(look->image, IMAGE_FIXES);
  uint64_t at = look->fixes;
  if (at >= image_count(look->image, IMAGE_FIXES) || fixes[at].place != place_of(look, word) ||
      mends != (fixes[at].symbol == IMAGE_NUMBER_NONE))
    return false;
  look->fixes++;
  return true;
}

static void compare(image_look *look, const crd_type *type) {
  const crd_mended *mended = crd_type_mended(&look->space->types, header_type(look->object[0]));
  bool agrees = (type->registers & REGISTERED_WEAKLY) == 0 || header_is_weak(look->object[0]);
  for (unsigned kinds = type->registers & ~(1u << REGISTERED_FINALIZER); kinds != 0; kinds &= kinds - 1)
    agrees &= is_next(look, __builtin_ctz(kinds));
  if (mended != NULL && mended->mend != NULL) agrees &= is_next_fix(look, look->object, true);
  for (uint64_t left = mended == NULL ? 0 : mended->symbols; left != 0; left &= left - 1) {
    const cradle_word *word = look->object + __builtin_ctzll(left);
    if (*word != 0) agrees &= is_next_fix(look, word, false);
  }
  if (!agrees) FAIL(look, "its lists do not match the object at %#" PRIx64, place_of(look, look->object));
}

static void look_at(image_look *look, cradle_word *object) {
  const crd_image *image = look->image;
  uint32_t id = header_type(object[0]), now = id < image->type_end ? image->types[id] : IMAGE_NUMBER_NONE;
  ASSERT(look->room % 8 == 0 && look->room != 0, "a place of an image is no words");
  look->object = object;
  if (now == IMAGE_NUMBER_NONE || header_is_forwarded(object[0])) {
    FAIL(look, "no object can have the header %#" PRIx64 " at %#" PRIx64, object[0], place_of(look, object));
    return;
  }
  if (now != id) object[0] = header_renumbered(object[0], now);
  const crd_type *type = space_type(look->space, object[0]);
  look->bytes = type->size <= look->room ? type_object_bytes(type, object) : 0;
  if (look->bytes == 0 || look->bytes > look->room) {
    FAIL(look, "the object at %#" PRIx64 " is longer than its place", place_of(look, object));
    return;
  }
  if (look->verifies) compare(look, type);
  image_shift shift = look->shift;
  if (CRADLE_UNLIKELY(type->trace != NULL)) {
    visit_object(&look->space->types, object, move_own_slot, look);
  } else if (shift.moved != 0 && type->has_slots) {
    visit_bits(object, type->references, false, move_slot, &shift);
    visit_bits(object, type->values, true, move_slot, &shift);
    if (type->items >= CRADLE_ITEMS_REFERENCES) move_items(type, object, shift);
  }
  if (header_is_weak(object[0])) crd_registry_each_slot(look->space, object, move_weak_slot, &look->shift);
}

/* Whether another object with the same header in a place of the same size needs no look: its header and its size were
 * found right, and its slots are those of the descriptor. */
static bool is_model(const image_look *look, const cradle_word *object) {
  const crd_type *type = space_type(look->space, object[0]);
  return !look->verifies && !look->failed && type->items == CRADLE_ITEMS_NONE && type->trace == NULL &&
         !header_is_weak(object[0]);
}

/* Moves the slots of the objects that have the header, and gives these another one. Stops at the first object with
 * another header. Returns the bits that are left. */
CRD_ALWAYS_INLINE uint64_t move_alike(cradle_word *words, uint64_t left, cradle_word header, cradle_word becomes,
                                      uint64_t references, uint64_t values, image_shift shift) {
  for (; left != 0; left &= left - 1) {
    cradle_word *object = words + (uint32_t)__builtin_ctzll(left);
    if (object[0] != header) break;
    if (becomes != header) object[0] = becomes;
    visit_bits(object, references, false, move_slot, &shift);
    visit_bits(object, values, true, move_slot, &shift);
  }
  return left;
}

static void look_in(image_look *look, uint32_t page) {
  const crd_old *old = &look->space->old;
  span_bits bits = old_bits_of(old, page, arenas_page(&old->arenas, page)->pages);
  cradle_word header = 0, becomes = 0; /* of the last object, before and after the look */
  uint64_t references = 0, values = 0;
  bool has_model = false;
  for (uint32_t i = 0; i < bits.words; i++) {
    cradle_word *words = old_page_start(old, page) + i * 64;
    for (uint64_t left = bits.allocated[i]; left != 0;) {
      if (has_model && values == 0)
        left = move_alike(words, left, header, becomes, references, 0, look->shift);
      else if (has_model)
        left = move_alike(words, left, header, becomes, references, values, look->shift);
      if (left == 0) break;
      cradle_word *object = words + (uint32_t)__builtin_ctzll(left);
      header = object[0];
      look_at(look, object);
      if (look->failed) return;
      becomes = object[0];
      has_model = is_model(look, object);
      references = look->shift.moved == 0 ? 0 : space_type(look->space, becomes)->references;
      values = look->shift.moved == 0 ? 0 : space_type(look->space, becomes)->values;
      left &= left - 1;
    }
  }
}

bool crd_image_objects(const crd_image *image, uint32_t begin, uint32_t end, cradle_error *error) {
  const crd_space *space = &image->heap->space;
  const crd_old *old = &space->old;
  image_look look = {.image = image, .space = space, .error = error, .verifies = image->from->verify};
  look.shift = (image_shift){space, image->header.base, image->header.arenas * ARENA_BYTES, image->moved};
  for (uint32_t page = crd_old_next_span(old, begin); page < end && !look.failed; page = old_span_after(old, page)) {
    const crd_page *entry = arenas_page(&old->arenas, page);
    ASSERT(entry->pages <= end - page, "a span belongs to two shares of an image");
    look.room =
        entry->state == PAGE_SMALL ? old->classes.of[entry->size_class].bytes : (size_t)entry->pages << PAGE_SHIFT;
    look_in(&look, page);
  }
  bool agrees = look.fixes == image_count(image, IMAGE_FIXES);
  for (int kind = 0; kind < REGISTERED_KINDS; kind++)
    agrees &= look.listed[kind] == image_count(image, IMAGE_LISTS + kind);
  if (!look.failed && look.verifies && !agrees) FAIL(&look, "its lists have more than its objects need");
  return !look.failed;
}
