/* Saving an image: the objects are looked at once, in the order of their addresses, to fill the tables; then tables and
 * arenas are written. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "gc/collect.h"
#include "gc/death/services.h"
#include "gc/image/format.h"
#include "gc/mutator.h"
#include "gc/world.h"

#define FIRST_BYTES ((size_t)4096)
#define BUFFER_BYTES ((size_t)SPAN_MAX_PAGES * PAGE_BYTES)

typedef struct image_bytes {
  char *at;
  size_t used, room;
} image_bytes;

typedef struct image_save {
  cradle_heap *heap;
  const cradle_image_contents *contents;
  cradle_error *error;
  cradle_write_function write;
  void *data;
  image_header header;
  image_bytes parts[IMAGE_PARTS];
  uint64_t *seen;    /* a bit for each type that has objects */
  uint32_t *symbols; /* of each symbol of the program, its number in the file plus 1; 0: not used so far */
  char *buffer;
  cradle_word *holder; /* the object that is looked at */
  size_t holder_bytes;
  uint64_t sum;        /* of what was written of the arenas */
  uintptr_t large_end; /* of the large object whose pages are being written */
  bool failed;
} image_save;

#define REFUSE(save, ...) ((save)->failed = true, (void)IMAGE_REFUSE((save)->error, __VA_ARGS__))

/* --- tables --- */

static void add(image_save *save, int part, const void *bytes, size_t count) {
  image_bytes *to = &save->parts[part];
  if (to->used + count > to->room) {
    size_t room = 2 * (to->used + count) + FIRST_BYTES;
    char *larger = save->failed ? NULL : realloc(to->at, room);
    if (larger == NULL && !save->failed) REFUSE(save, NO_MEMORY);
    if (larger == NULL) return;
    to->at = larger;
    to->room = room;
  }
  memcpy(to->at + to->used, bytes, count);
  to->used += count;
}
#define ADD(save, part, ...) add((save), (part), &(__VA_ARGS__), sizeof(__VA_ARGS__))

static uint64_t count_of(const image_save *save, int part) {
  return save->parts[part].used / image_part_bytes[part];
}

static uint32_t add_name(image_save *save, const char *name) {
  size_t at = save->parts[IMAGE_NAMES].used;
  if (at > UINT32_MAX / 2) REFUSE(save, "its names are too long");
  add(save, IMAGE_NAMES, name, strlen(name) + 1);
  return (uint32_t)at;
}

static uint64_t place_of(const image_save *save, uintptr_t address) {
  return address - save->heap->space.old.arenas.base;
}

/* --- objects --- */

static crd_type_words name_of(const image_save *save, const cradle_word *object) {
  return crd_name_object(&save->heap->space, object);
}

static void save_slot(void *data, bool value, cradle_word *slot) {
  image_save *save = data;
  const crd_space *space = &save->heap->space;
  size_t at = address_of(slot) - address_of(save->holder);
  if (save->failed) return;
  if (at >= save->holder_bytes) {
    REFUSE(save, "the trace callback of %s visits a slot outside of the object", name_of(save, save->holder).buffer);
    return;
  }
  uintptr_t address = space_address_in(space, value, *slot);
  if (address == 0 || crd_old_is_object(&space->old, address)) return;
  bool tagged = space_type(space, save->holder[0])->folded && address % 8 != 0;
  if (tagged && !arenas_contain(&space->old.arenas, address)) return;
  REFUSE(save, "word %zu of %s refers to memory outside of the heap", at / 8, name_of(save, save->holder).buffer);
}

static uint64_t symbol_of(image_save *save, uint64_t word) {
  const cradle_image_contents *contents = save->contents;
  for (size_t i = 0; i < contents->symbol_count; i++) {
    if (image_symbol_address(&contents->symbols[i]) != word) continue;
    if (save->symbols[i] == 0) {
      ADD(save, IMAGE_SYMBOLS, (uint64_t){add_name(save, contents->symbols[i].name)});
      save->symbols[i] = (uint32_t)count_of(save, IMAGE_SYMBOLS);
    }
    return save->symbols[i] - 1;
  }
  return IMAGE_NUMBER_NONE;
}

static void save_mended(image_save *save, const crd_mended *mended, cradle_word *object) {
  uint64_t place = place_of(save, address_of(object));
  if (mended->mend != NULL) ADD(save, IMAGE_FIXES, (image_fix){place, IMAGE_NUMBER_NONE});
  for (uint64_t left = mended->symbols; left != 0 && !save->failed; left &= left - 1) {
    uint64_t word = (uint64_t)__builtin_ctzll(left), symbol;
    if (object[word] == 0) continue;
    symbol = symbol_of(save, object[word]);
    if (symbol == IMAGE_NUMBER_NONE)
      REFUSE(save, "word %u of %s is the address of no symbol of the contents: %#" PRIx64, (unsigned)word,
             name_of(save, object).buffer, object[word]);
    ADD(save, IMAGE_FIXES, (image_fix){place + 8 * word, symbol});
  }
}

static void save_object(void *data, cradle_word *object) {
  image_save *save = data;
  const crd_space *space = &save->heap->space;
  const crd_type *type = space_type(space, object[0]);
  const crd_mended *mended = crd_type_mended(&space->types, header_type(object[0]));
  if (save->failed) return;
  bitmap_set(save->seen, header_type(object[0]));
  save->holder = object;
  save->holder_bytes = type_object_bytes(type, object);
  ASSERT(!header_is_forwarded(object[0]), "an object is saved that has moved");
  ASSERT(place_of(save, address_of(object)) % 8 == 0, "[image.3] a place is no multiple of a word");
  if (type->has_slots) visit_object(&space->types, object, save_slot, save);
  if (header_is_weak(object[0])) crd_registry_each_slot(space, object, save_slot, save);
  if ((type->registers >> REGISTERED_DESTRUCTOR & 1) && (mended == NULL || mended->mend == NULL))
    REFUSE(save, "%s has a destructor or an external size, and its type no cradle_type.mend",
           name_of(save, object).buffer);
  for (unsigned kinds = type->registers & ~(1u << REGISTERED_FINALIZER); kinds != 0; kinds &= kinds - 1)
    ADD(save, IMAGE_LISTS + __builtin_ctz(kinds), (uint64_t){place_of(save, address_of(object))});
  if (mended != NULL) save_mended(save, mended, object);
}

/* --- what else there is --- */

/* Whether another type that has objects has the name. */
static bool is_twice(const image_save *save, uint32_t id) {
  const crd_type_table *types = &save->heap->space.types;
  const image_type *other = (const void *)save->parts[IMAGE_TYPES].at;
  for (uint64_t i = 0; i < count_of(save, IMAGE_TYPES); i++)
    if (strcmp(types->types[other[i].id].name, types->types[id].name) == 0) return true;
  return false;
}

static void save_types(image_save *save) {
  const crd_type_table *types = &save->heap->space.types;
  for (uint32_t id = 0; id < types->count && !save->failed; id++) {
    const char *name = types->types[id].name;
    if (!bitmap_has(save->seen, id)) continue;
    if (name == NULL || is_twice(save, id)) {
      REFUSE(save, "type %u has objects and no name that is its own (%s)", id, crd_show_name(name).buffer);
      return;
    }
    image_type saved = {.name = add_name(save, name), .id = id};
    image_fields(saved.fields, &types->types[id], crd_type_mended(types, id));
    ADD(save, IMAGE_TYPES, saved);
  }
}

static void add_arena(image_save *save, uint32_t index, uint32_t end_page) {
  image_bytes *part = &save->parts[IMAGE_ARENAS];
  image_arena *last = part->used == 0 ? NULL : (image_arena *)(void *)(part->at + part->used) - 1;
  uint32_t pages = (uint32_t)align_up(end_page, IMAGE_STEP_PAGES);
  if (last != NULL && last->index == index)
    last->pages = pages;
  else
    ADD(save, IMAGE_ARENAS, (image_arena){index, pages});
}

static uint32_t words_if_full(const crd_size_class *class, span_bits bits) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < bits.words; i++) count += count_bits(bits.allocated[i]);
  return count == class->objects ? class->words : 0;
}

static void save_spans(image_save *save) {
  const crd_old *old = &save->heap->space.old;
  for (uint32_t page = crd_old_next_span(old, 0); page != PAGE_NONE; page = old_span_after(old, page)) {
    const crd_page *entry = arenas_page(&old->arenas, page);
    bool small = entry->state == PAGE_SMALL;
    ASSERT(entry->pages != 0, "a span without pages is saved");
    span_bits bits = old_bits_of(old, page, entry->pages);
    uint32_t full_words = small ? words_if_full(&old->classes.of[entry->size_class], bits) : 0;
    ADD(save, IMAGE_SPANS, (image_span){page, entry->pages, small ? entry->size_class : IMAGE_NUMBER_NONE, full_words});
    if (small && full_words == 0) add(save, IMAGE_BITS, bits.allocated, bits.words * sizeof *bits.allocated);
    for (uint32_t at = page, end = page + entry->pages; at < end && !save->failed;
         at = (at / ARENA_PAGES + 1) * ARENA_PAGES) {
      uint32_t left = end - at / ARENA_PAGES * ARENA_PAGES;
      add_arena(save, at / ARENA_PAGES, left < ARENA_PAGES ? left : ARENA_PAGES);
    }
  }
}

static void save_tables(image_save *save) {
  const cradle_heap *heap = save->heap;
  const crd_ids *ids = &heap->tables.ids;
  for (uint32_t i = 0; i < ids->used; i++) {
    uintptr_t address = ids->entries[i].address;
    ADD(save, IMAGE_IDS,
        (image_id){address == 0 ? IMAGE_NOWHERE : place_of(save, address), ids->entries[i].generation});
  }
  for (size_t i = 0; i < save->contents->set_count && !save->failed; i++) {
    const cradle_image_set *named = &save->contents->sets[i];
    ADD(save, IMAGE_SETS, (image_set){add_name(save, named->name), named->set->count});
    for (size_t at = 0; at < named->set->capacity; at++) {
      const crd_weak_place *place = &named->set->places[at];
      if (weak_place_is_taken(place))
        ADD(save, IMAGE_MEMBERS, (image_member){place->hash, place_of(save, place->object)});
    }
  }
}

static void save_roots(image_save *save) {
  const crd_space *space = &save->heap->space;
  for (size_t i = 0; i < save->contents->root_count && !save->failed; i++) {
    const cradle_image_root *root = &save->contents->roots[i];
    cradle_word word = *object_at(address_of(root->variable));
    bool value = root->kind == CRADLE_KIND_VALUE && !space->plain_encoding;
    uintptr_t address = space_address_in(space, value, word);
    if (address != 0 && !crd_old_is_object(&space->old, address))
      REFUSE(save, "the root %s refers to no object of the heap: is its variable a root?",
             crd_show_name(root->name).buffer);
    ADD(save, IMAGE_ROOTS, (image_root){add_name(save, root->name), value, word});
  }
}

/* --- what cannot be saved --- */

static void check_finalizers(image_save *save, const crd_services *services) {
  const crd_list *list = &services->lists[REGISTERED_FINALIZER];
  const cradle_word *open = list_is_empty(list) ? NULL : list->words.base;
  for (size_t i = 0; i < CRADLE_FINALIZER_QUEUES && open == NULL; i++)
    if (services->queues[i].head != services->queues[i].words.top) open = services->queues[i].head;
  if (open != NULL) REFUSE(save, "%s has an open finalizer", name_of(save, entry_object(*open)).buffer);
}

static void check_tables(image_save *save) {
  const cradle_heap *heap = save->heap;
  if (heap->tables.handles.open_count != 0)
    REFUSE(save, "handles cannot be saved, and %u are open", heap->tables.handles.open_count);
  else if (heap->tables.pins.count != 0)
    REFUSE(save, "pins cannot be saved, and %s is pinned",
           name_of(save, object_at(heap->tables.pins.pins[0].address)).buffer);
  else if (nursery_filled(&heap->space) != 0 || heap->space.old.young_large != PAGE_NONE)
    REFUSE(save, "objects were allocated while it was made");
  else if (heap->space.services != NULL)
    check_finalizers(save, heap->space.services);
}

/* --- writing --- */

static void put(image_save *save, const void *bytes, size_t count) {
  if (save->failed) return;
  save->sum = image_sum(save->sum, bytes, count);
  errno = 0;
  if (save->write(save->data, bytes, count)) return;
  if (errno != 0)
    REFUSE(save, "it could not be written: %s", strerror(errno));
  else
    REFUSE(save, "it could not be written");
}

static void put_zeros(image_save *save, size_t count) {
  for (size_t part; count > 0; count -= part) {
    part = count < BUFFER_BYTES ? count : BUFFER_BYTES;
    memset(save->buffer, 0, part);
    put(save, save->buffer, part);
  }
}

/* The places without an object, and the tail, become zero [image.4]. */
static void put_span(image_save *save, uint32_t page, const crd_page *entry) {
  const crd_old *old = &save->heap->space.old;
  const crd_size_class *class = &old->classes.of[entry->size_class];
  span_bits bits = old_bits_of(old, page, entry->pages);
  memset(save->buffer, 0, entry->pages * (size_t)PAGE_BYTES);
  for (size_t place = 0; place < class->objects; place++)
    if (bitmap_has(bits.allocated, place * class->words))
      memcpy(save->buffer + place * class->bytes, old_page_start(old, page) + place * class->words, class->bytes);
  put(save, save->buffer, entry->pages * (size_t)PAGE_BYTES);
}

static void put_page_of_large(image_save *save, uint32_t page, const crd_page *entry) {
  const crd_old *old = &save->heap->space.old;
  const cradle_word *start = old_page_start(old, page);
  if (entry->state == PAGE_LARGE)
    save->large_end = address_of(start) + type_object_bytes(space_type(&save->heap->space, start[0]), start);
  uintptr_t left = save->large_end > address_of(start) ? save->large_end - address_of(start) : 0;
  memset(save->buffer, 0, PAGE_BYTES);
  memcpy(save->buffer, start, left < PAGE_BYTES ? left : PAGE_BYTES);
  put(save, save->buffer, PAGE_BYTES);
}

static void put_arena(image_save *save, const image_arena *arena) {
  const crd_arenas *arenas = &save->heap->space.old.arenas;
  uint32_t first = arena->index * ARENA_PAGES;
  for (uint32_t i = 0, count; i < arena->pages && !save->failed; i += count) {
    const crd_page *entry = arenas_page(arenas, first + i);
    count = entry->state == PAGE_SMALL ? entry->pages : 1;
    if (bitmap_has(arenas->meta[arena->index].free_map, i))
      put_zeros(save, PAGE_BYTES);
    else if (entry->state == PAGE_SMALL)
      put_span(save, first + i, entry);
    else
      put_page_of_large(save, first + i, entry);
  }
}

static void complete_header(image_save *save) {
  const cradle_heap *heap = save->heap;
  image_header *header = &save->header;
  memcpy(header->magic, IMAGE_MAGIC, sizeof header->magic);
  header->version = IMAGE_VERSION;
  header->bytes = sizeof *header;
  header->order = IMAGE_ORDER;
  header->layout = image_layout(&heap->space.old);
  image_encoding(header->encoding, &heap->space.encoding);
  header->base = heap->space.old.arenas.base;
  header->hashes = heap->tables.ids.hashes;
  uint64_t at = sizeof *header, bytes = 0;
  for (int i = 0; i < IMAGE_PARTS; i++) {
    header->parts[i].at = at;
    header->parts[i].count = count_of(save, i);
    while (save->parts[i].used % 8 != 0 && !save->failed) ADD(save, i, (char){0});
    at += save->parts[i].used;
  }
  const image_arena *arenas = (const void *)save->parts[IMAGE_ARENAS].at;
  for (uint64_t i = 0; i < count_of(save, IMAGE_ARENAS); i++) {
    bytes += (uint64_t)arenas[i].pages * PAGE_BYTES;
    header->arenas = arenas[i].index + UINT64_C(1);
  }
  header->objects_at = align_up(at, IMAGE_ALIGNMENT);
  header->file_bytes = header->objects_at + bytes + sizeof save->sum;
  uint64_t sum = image_sum(0, &header->file_bytes, sizeof *header - offsetof(image_header, file_bytes));
  for (int i = 0; i < IMAGE_PARTS; i++) sum = image_sum(sum, save->parts[i].at, save->parts[i].used);
  for (; at < header->objects_at; at += 8) sum = image_sum(sum, &(uint64_t){0}, 8);
  header->checksum = sum;
}

static void write_all(image_save *save) {
  complete_header(save);
  put(save, &save->header, sizeof save->header);
  uint64_t at = sizeof save->header;
  for (int i = 0; i < IMAGE_PARTS; at += save->parts[i++].used)
    if (save->parts[i].used != 0) put(save, save->parts[i].at, save->parts[i].used);
  put_zeros(save, save->header.objects_at - at);
  save->sum = 0;
  const image_arena *arenas = (const void *)save->parts[IMAGE_ARENAS].at;
  for (uint64_t i = 0; i < save->header.parts[IMAGE_ARENAS].count; i++) put_arena(save, &arenas[i]);
  ASSERT(save->failed || at <= save->header.objects_at, "[image.2] the tables reach into the objects");
  uint64_t sum = save->sum;
  put(save, &sum, sizeof sum);
}

/* --- the whole --- */

static void save_heap(image_save *save) {
  cradle_heap *heap = save->heap;
  save->seen = calloc(heap->space.types.count / 64 + 1, sizeof *save->seen);
  save->symbols = calloc(save->contents->symbol_count + 1, sizeof *save->symbols);
  save->buffer = malloc(BUFFER_BYTES);
  if (save->seen == NULL || save->symbols == NULL || save->buffer == NULL) REFUSE(save, NO_MEMORY);
  crd_state before = crd_state_enter(&heap->report, HEAP_WALKING);
  crd_old_retire(&heap->space.old);
  if (!save->failed) check_tables(save);
  if (!save->failed) crd_old_each(&heap->space.old, save_object, save);
  if (!save->failed) save_types(save);
  if (!save->failed) save_spans(save);
  if (!save->failed) save_tables(save);
  if (!save->failed) save_roots(save);
  if (!save->failed) write_all(save);
  crd_state_leave(&heap->report, before);
  for (int i = 0; i < IMAGE_PARTS; i++) free(save->parts[i].at);
  free(save->seen);
  free(save->symbols);
  free(save->buffer);
}

bool cradle_image_save_to(cradle_mutator *mutator, cradle_write_function write, void *data,
                          const cradle_image_contents *contents, cradle_error *error) {
  crd_mutator_check(mutator, "cradle_image_save");
  static const cradle_image_contents nothing = {.roots = NULL};
  cradle_heap *heap = mutator->heap;
  if (contents == NULL) contents = &nothing;
  image_save save = {.heap = heap, .contents = contents, .error = error, .write = write, .data = data};
  if (collection_is_off(&heap->options)) return IMAGE_REFUSE(error, "the heap collects nothing (options.gc)");
  crd_world_enter(&heap->space, mutator_of(mutator));
  crd_collect_major(heap, CRADLE_CAUSE_REQUEST, CRADLE_COLLECT_COMPACTING);
  save_heap(&save);
  crd_world_leave(&heap->space);
  if (!save.failed && error != NULL) *error = (cradle_error){.option = NULL};
  return !save.failed;
}
