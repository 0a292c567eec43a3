/* Entering an image into a new heap, whose arenas are empty. */
#include <inttypes.h>
#include <stdlib.h>

#include "gc/death/services.h"
#include "gc/image/image.h"
#include "gc/instruments/verify.h"
#include "gc/mutator.h"
#include "gc/old/arena_memory.h"
#include "gc/old/sealed.h"
#include "gc/platform/thread.h"
#include "gc/world.h"

/* From so many arenas on, a second thread pays for its making: 2.7 ms in place of 3.3 (docs/design/images.md). */
#define SHARED_ARENAS 4

/* --- arenas --- */

/* Elsewhere nearly every page would be written, so that reading the file is faster than mapping it. */
static bool fill(const crd_image *image, uint64_t at, uint32_t index, size_t bytes) {
  crd_arenas *arenas = &image->heap->space.old.arenas;
  void *memory = memory_at(arenas->base + (size_t)index * ARENA_BYTES);
  if (image->moved == 0 && image->heap->hardware.page_bytes <= IMAGE_ALIGNMENT &&
      crd_input_map(&image->input, at, memory, bytes)) {
    arenas->origins[index] |= ARENA_FROM_FILE;
    return true;
  }
  return crd_input_read(&image->input, at, memory, bytes);
}

/* Commits the memory of all arenas. */
static bool take_arenas(const crd_image *image, cradle_error *error) {
  crd_arenas *arenas = &image->heap->space.old.arenas;
  const image_arena *arena = image_part_of(image, IMAGE_ARENAS), *end = arena + image_count(image, IMAGE_ARENAS);
  uint64_t at = image->header.objects_at, last = image->header.file_bytes - sizeof(uint64_t), next = 0;
  size_t max = image->heap->options.heap_max_bytes;
  if (image->header.arenas > arenas->capacity)
    return IMAGE_REFUSE(error, "options.reserve_bytes must be at least %" PRIu64,
                        image->header.arenas * (uint64_t)ARENA_BYTES);
  if (max != 0 && image_count(image, IMAGE_ARENAS) > max / ARENA_BYTES)
    return IMAGE_REFUSE(error, "it has more than options.heap_max_bytes");
  if (image->moved != 0 && end - arena > 1) crd_arenas_enter_huge(arenas);
  for (; arena < end; arena++) {
    size_t bytes = (size_t)arena->pages * PAGE_BYTES;
    if (arena->index < next || arena->index >= image->header.arenas || arena->pages == 0 ||
        arena->pages > ARENA_PAGES || arena->pages % IMAGE_STEP_PAGES != 0 || last < at || bytes > last - at)
      return IMAGE_REFUSE(error, DAMAGED "its table of arenas is wrong");
    next = arena->index + UINT64_C(1);
    if (!crd_arenas_commit_at(arenas, arena->index, 1)) return IMAGE_REFUSE(error, NO_MEMORY);
    memset(arenas->meta[arena->index].free_map, 0xff, sizeof arenas->meta->free_map);
    at += bytes;
  }
  return (at == last && next == image->header.arenas) || IMAGE_REFUSE(error, DAMAGED "its table of arenas is wrong");
}

/* --- spans --- */

/* Takes the pages of a span, which lie in arenas of the image as far as those are in the file. */
static bool take_pages(const crd_image *image, const image_arena **arena, const image_span *span) {
  const crd_arenas *arenas = &image->heap->space.old.arenas;
  const image_arena *end = (const image_arena *)image_part_of(image, IMAGE_ARENAS) + image_count(image, IMAGE_ARENAS);
  for (uint64_t page = span->page, last = page + span->pages; page < last;) {
    while (*arena < end && (*arena)->index < page / ARENA_PAGES) ++*arena;
    uint64_t stop = page / ARENA_PAGES * ARENA_PAGES;
    stop = last - stop < ARENA_PAGES ? last : stop + ARENA_PAGES;
    if (*arena == end || (*arena)->index != page / ARENA_PAGES ||
        stop > page / ARENA_PAGES * ARENA_PAGES + (*arena)->pages)
      return false;
    for (; page < stop; page++) bitmap_clear(arenas->meta[(*arena)->index].free_map, page % ARENA_PAGES);
  }
  return true;
}

/* Copies the allocation bits of a span; from: NULL: it is full. Returns how many there are; 0: none, or one where no
 * object can be. */
static uint32_t take_bits(const crd_old *old, uint32_t page, const crd_size_class *class, const uint64_t *from) {
  span_bits bits = old_bits_of(old, page, class->pages);
  uint32_t count = 0, end = class->objects * class->words, over = 0, step = 64 % class->words;
  for (uint32_t i = 0; i < bits.words; i++) {
    /* size_class_starts, without a division for each word */
    uint32_t phase = over == 0 ? 0 : class->words - over;
    uint64_t places = phase >= 64 ? 0 : class->pattern << phase;
    over += step;
    if (over >= class->words) over -= class->words;
    if (end < (i + 1) * 64) places &= end <= i * 64 ? 0 : (UINT64_C(1) << (end - i * 64)) - 1;
    bits.allocated[i] = from == NULL ? places : from[i];
    if (from == NULL) continue;
    if (from[i] & ~places) return 0;
    count += count_bits(from[i]);
  }
  return from == NULL ? class->objects : count;
}

static bool enter_span(crd_image *image, const image_span *span, const uint64_t **bits, uint64_t *bits_left) {
  crd_old *old = &image->heap->space.old;
  bool in_one = span->page % ARENA_PAGES + (uint64_t)span->pages <= ARENA_PAGES, is_full = span->full_words != 0;
  if (span->size_class == IMAGE_NUMBER_NONE) {
    if (is_full || (!in_one && span->page % ARENA_PAGES != 0)) return false;
    crd_old_adopt_large(old, span->page, span->pages);
    return true;
  }
  const crd_size_class *class = &old->classes.of[span->size_class < old->classes.count ? span->size_class : 0];
  uint64_t words = is_full ? 0 : (uint64_t)span->pages * (PAGE_BYTES / 512);
  if (span->size_class >= old->classes.count || span->pages != class->pages || !in_one || words > *bits_left ||
      (is_full && span->full_words != class->words))
    return false;
  uint32_t objects = take_bits(old, span->page, class, is_full ? NULL : *bits);
  if (objects == 0) return false;
  ASSERT(objects <= class->objects, "[image.1] a span of an image has more objects than places");
  crd_old_adopt_span(old, span->page, span->size_class, objects, !image->from->sealed);
  *bits += words;
  *bits_left -= words;
  return true;
}

static bool enter_spans(crd_image *image, cradle_error *error) {
  crd_arenas *arenas = &image->heap->space.old.arenas;
  const image_arena *first = image_part_of(image, IMAGE_ARENAS), *arena = first;
  const image_span *span = image_part_of(image, IMAGE_SPANS);
  const uint64_t *bits = image_part_of(image, IMAGE_BITS);
  uint64_t next = 0, bits_left = image_count(image, IMAGE_BITS);
  for (uint64_t i = 0; i < image_count(image, IMAGE_SPANS); i++, span++) {
    if (span->page < next || span->pages == 0 || span->pages > arenas->capacity * (uint64_t)ARENA_PAGES ||
        !take_pages(image, &arena, span) || !enter_span(image, span, &bits, &bits_left))
      return IMAGE_REFUSE(error, DAMAGED "span %" PRIu64 " is wrong", i);
    next = (uint64_t)span->page + span->pages;
  }
  if (bits_left != 0) return IMAGE_REFUSE(error, DAMAGED "it has more allocation bits than spans");
  for (uint64_t i = 0; i < image_count(image, IMAGE_ARENAS); i++) {
    const uint64_t *map = arenas->meta[first[i].index].free_map;
    uint64_t all = UINT64_MAX;
    for (size_t word = 0; word < ARENA_PAGES / 64; word++) all &= map[word];
    if (all == UINT64_MAX) return IMAGE_REFUSE(error, DAMAGED "an arena has no object");
    crd_arenas_adopt(arenas, first[i].index, image->from->sealed);
  }
  if (image->from->sealed) crd_seal(&image->heap->space.old);
  return true;
}

/* --- objects --- */

/* The arenas that one thread reads, and whose objects it looks at. */
typedef struct crd_share {
  crd_image *image;
  size_t begin, end; /* of the table */
  uint64_t at, sum;  /* where they are in the file; their checksum */
  cradle_error error;
  bool done;
} crd_share;

static bool read_share(crd_share *share) {
  crd_image *image = share->image;
  const crd_arenas *arenas = &image->heap->space.old.arenas;
  const image_arena *arena = image_part_of(image, IMAGE_ARENAS);
  for (size_t i = share->begin; i < share->end; i++) {
    size_t bytes = (size_t)arena[i].pages * PAGE_BYTES;
    if (!fill(image, share->at, (uint32_t)arena[i].index, bytes))
      return IMAGE_REFUSE(&share->error, "its objects cannot be read");
    if (image->from->checksum)
      share->sum = image_sum(share->sum, memory_at(arenas->base + arena[i].index * ARENA_BYTES), bytes);
    share->at += bytes;
  }
  if (image->moved == 0 && !image->renumbers && !image->from->verify) return true;
  bool all = share->end == image_count(image, IMAGE_ARENAS);
  uint32_t begin = share->begin == 0 ? 0 : arena[share->begin].index;
  uint32_t end = all ? (uint32_t)image->header.arenas : arena[share->end].index;
  return crd_image_objects(image, begin * ARENA_PAGES, end * ARENA_PAGES, &share->error);
}

static void run_share(crd_thread *self, void *data) {
  crd_share *share = data;
  (void)self;
  share->done = read_share(share);
}

/* Where a second thread's share begins: about in the middle, with an arena at whose beginning a span begins. 0: there
 * is no second thread. It may call nothing of the program's, and lists and checksums are for one thread. */
static size_t second_share(const crd_image *image) {
  const crd_old *old = &image->heap->space.old;
  const image_arena *arena = image_part_of(image, IMAGE_ARENAS);
  size_t count = image_count(image, IMAGE_ARENAS);
  if (image->moved == 0 || image->from->checksum || image->from->verify || count < SHARED_ARENAS ||
      !crd_marker_helps(&image->heap->marking))
    return 0;
  for (size_t i = 0; i < image->type_end; i++)
    if (image->types[i] != IMAGE_NUMBER_NONE && image->heap->space.types.types[image->types[i]].trace != NULL) return 0;
  for (size_t i = count / 2; i < count; i++) {
    uint32_t page = (uint32_t)arena[i].index * ARENA_PAGES;
    if (crd_old_next_span(old, page) == page) return i;
  }
  return 0;
}

static bool read_objects(crd_image *image, cradle_error *error) {
  const image_arena *arena = image_part_of(image, IMAGE_ARENAS);
  crd_share first = {.image = image, .end = image_count(image, IMAGE_ARENAS), .at = image->header.objects_at};
  crd_share second = first;
  second.begin = second_share(image);
  for (size_t i = 0; i < second.begin; i++) second.at += (size_t)arena[i].pages * PAGE_BYTES;
  crd_thread *thread = second.begin == 0 ? NULL : crd_thread_new("cradle-image", run_share, &second);
  if (thread != NULL) first.end = second.begin;
  first.done = read_share(&first);
  if (thread != NULL) crd_thread_join(thread);
  if (!first.done || (thread != NULL && !second.done)) {
    *error = first.done ? second.error : first.error;
    return false;
  }
  uint64_t wanted;
  if (!crd_input_read(&image->input, image->header.file_bytes - sizeof wanted, &wanted, sizeof wanted))
    return IMAGE_REFUSE(error, "the file cannot be read");
  return !image->from->checksum || first.sum == wanted ||
         IMAGE_REFUSE(error, DAMAGED "its objects do not have their checksum");
}

/* --- tables --- */

/* The address of a place where an object begins; 0: none begins there. */
static uintptr_t object_of(const crd_image *image, uint64_t place) {
  const crd_old *old = &image->heap->space.old;
  if (place >= image->header.arenas * ARENA_BYTES || place % 8 != 0) return 0;
  uintptr_t address = old->arenas.base + place;
  return crd_old_is_object(old, address) ? address : 0;
}

/* The type of an object whose header was not compared with the table; NULL: its number is that of none. */
static const crd_type *type_of(const crd_image *image, uintptr_t object) {
  const crd_space *space = &image->heap->space;
  uint32_t id = header_type(*object_at(object));
  return type_table_has(&space->types, id) ? &space->types.types[id] : NULL;
}

static bool enter_ids(crd_image *image, cradle_error *error) {
  crd_ids *ids = &image->heap->tables.ids;
  ASSERT(ids->used == 0, "an image enters a heap that has ids");
  const image_id *id = image_part_of(image, IMAGE_IDS), *end = id + image_count(image, IMAGE_IDS);
  ids->hashes = image->header.hashes;
  for (; id < end; id++) {
    uintptr_t address = id->place == IMAGE_NOWHERE ? 0 : object_of(image, id->place);
    if (id->generation > UINT32_MAX ||
        (id->place != IMAGE_NOWHERE && (address == 0 || !header_has_id(*object_at(address)))))
      return IMAGE_REFUSE(error, DAMAGED "an id belongs to no object");
    if (!crd_ids_adopt(ids, address, (uint32_t)id->generation))
      return IMAGE_REFUSE(error, NO_MEMORY ", or it is damaged");
  }
  return true;
}

/* Objects with destructors are listed in the end: until they are mended, nobody may call these. */
static bool enter_list(crd_image *image, crd_services *services, int kind, cradle_error *error) {
  const uint64_t *place = image_part_of(image, IMAGE_LISTS + kind),
                 *end = place + image_count(image, IMAGE_LISTS + kind);
  for (; place < end; place++) {
    uintptr_t address = object_of(image, *place);
    const crd_type *type = address == 0 ? NULL : type_of(image, address);
    bool weakly = REGISTERED_WEAKLY >> kind & 1;
    if (type == NULL || !(type->registers >> kind & 1) || (weakly && !header_is_weak(*object_at(address))) ||
        kind == REGISTERED_FINALIZER)
      return IMAGE_REFUSE(error, DAMAGED "a list of registered objects has another one");
    if (weakly && !crd_registry_adopt(services, kind, address)) return IMAGE_REFUSE(error, NO_MEMORY);
  }
  return true;
}

static bool enter_sets(crd_image *image, crd_services *services, cradle_error *error) {
  const image_set *set = image_part_of(image, IMAGE_SETS);
  const image_member *member = image_part_of(image, IMAGE_MEMBERS), *end = member + image_count(image, IMAGE_MEMBERS);
  uint64_t count = image_count(image, IMAGE_SETS);
  image->sets = calloc(count + 1, sizeof *image->sets);
  for (; image->sets != NULL && image->set_count < count; set++) {
    const char *name = image_name(image, set->name);
    if (name == NULL || set->count > (uint64_t)(end - member))
      return IMAGE_REFUSE(error, DAMAGED "a weak set is wrong");
    cradle_weak_set *made = crd_weak_set_make(services, NULL, NULL);
    if (made == NULL) break;
    image->sets[image->set_count++] = (crd_named_set){set->name, made};
    for (const image_member *stop = member + set->count; member < stop; member++) {
      uintptr_t address = object_of(image, member->place);
      if (address == 0) return IMAGE_REFUSE(error, DAMAGED "a weak set has what is no object");
      if (!crd_weak_set_put(made, member->hash, memory_at(address))) return IMAGE_REFUSE(error, NO_MEMORY);
    }
  }
  if (image->set_count < count || image->sets == NULL) return IMAGE_REFUSE(error, NO_MEMORY);
  return member == end || IMAGE_REFUSE(error, DAMAGED "objects belong to no weak set");
}

static bool enter_registered(crd_image *image, cradle_error *error) {
  uint64_t count = image_count(image, IMAGE_SETS) + image_count(image, IMAGE_MEMBERS);
  for (int kind = 0; kind < REGISTERED_KINDS; kind++) count += image_count(image, IMAGE_LISTS + kind);
  if (count == 0) return true;
  crd_services *services = crd_registry_open(&image->heap->space, &image->heap->marking);
  if (services == NULL) return IMAGE_REFUSE(error, NO_MEMORY);
  for (int kind = 0; kind < REGISTERED_KINDS; kind++)
    if (!enter_list(image, services, kind, error)) return false;
  return enter_sets(image, services, error);
}

static bool enter_roots(crd_image *image, cradle_error *error) {
  const crd_space *space = &image->heap->space;
  const image_root *root = image_part_of(image, IMAGE_ROOTS);
  uint64_t count = image_count(image, IMAGE_ROOTS);
  image->roots = calloc(count + 1, sizeof *image->roots);
  if (image->roots == NULL) return IMAGE_REFUSE(error, NO_MEMORY);
  for (; image->root_count < count; root++) {
    const char *name = image_name(image, root->name);
    bool value = root->kind == CRADLE_KIND_VALUE && !space->plain_encoding;
    uintptr_t address = space_address_in(space, value, root->word);
    if (name == NULL || root->kind > CRADLE_KIND_VALUE ||
        (address != 0 && object_of(image, address - image->header.base) == 0))
      return IMAGE_REFUSE(error, DAMAGED "root %zu is wrong", image->root_count);
    cradle_word word = address == 0 ? root->word
                       : value      ? value_moved(&space->encoding, root->word, address + image->moved)
                                    : address + image->moved;
    crd_named_root *named = &image->roots[image->root_count++];
    *named = (crd_named_root){root->name, word};
    if (!cradle_global_root_add(image->heap, &named->word, (cradle_kind)root->kind))
      return IMAGE_REFUSE(error, NO_MEMORY);
  }
  return true;
}

/* A word that is a symbol already at its address is not written: its page stays shared. */
static bool enter_fixes(crd_image *image, cradle_error *error) {
  const crd_arenas *arenas = &image->heap->space.old.arenas;
  const image_fix *fix = image_part_of(image, IMAGE_FIXES), *end = fix + image_count(image, IMAGE_FIXES);
  for (; fix < end; fix++) {
    if (fix->place >= image->header.arenas * ARENA_BYTES || fix->place % 8 != 0 ||
        !arenas_are_committed(arenas, arenas->base + fix->place) ||
        (fix->symbol == IMAGE_NUMBER_NONE ? object_of(image, fix->place) == 0
                                          : fix->symbol >= image_count(image, IMAGE_SYMBOLS)))
      return IMAGE_REFUSE(error, DAMAGED "a symbol belongs to no object");
    cradle_word *word = object_at(arenas->base + fix->place);
    if (fix->symbol != IMAGE_NUMBER_NONE && *word != image->symbols[fix->symbol]) *word = image->symbols[fix->symbol];
  }
  return true;
}

bool crd_image_enter(crd_image *image, cradle_error *error) {
  crd_old *old = &image->heap->space.old;
  ASSERT(old->used_bytes == 0 && old->arenas.used_end == 0, "an image enters a heap that has objects");
  if (image_layout(old) != image->header.layout)
    return IMAGE_REFUSE(error, "it was made by a library that lays out objects differently");
  image->moved = old->arenas.base - image->header.base;
  if (!crd_image_match(image, error)) return false;
  return take_arenas(image, error) && enter_spans(image, error) && read_objects(image, error) &&
         enter_ids(image, error) && enter_fixes(image, error) && enter_registered(image, error) &&
         enter_roots(image, error);
}

/* --- when the heap is complete --- */

static bool verify(const crd_image *image, cradle_error *error) {
  crd_text text = {.length = 0};
  return crd_verify(image->heap, &text) || IMAGE_REFUSE(error, DAMAGED "%s", text.buffer);
}

static bool mend(const crd_image *image, cradle_error *error) {
  crd_space *space = &image->heap->space;
  const image_fix *fix = image_part_of(image, IMAGE_FIXES), *end = fix + image_count(image, IMAGE_FIXES);
  for (; fix < end; fix++) {
    if (fix->symbol != IMAGE_NUMBER_NONE) continue;
    cradle_word *object = object_at(space->old.arenas.base + fix->place);
    ASSERT(object_of(image, fix->place) != 0, "[image.1] what is mended is no object");
    const crd_mended *mended = crd_type_mended(&space->types, header_type(object[0]));
    if (mended == NULL || mended->mend == NULL)
      return IMAGE_REFUSE(error, DAMAGED "%s is to be mended", crd_name_object(space, object).buffer);
    crd_state before = crd_state_enter(space->report, HEAP_DESTROYING);
    mended->mend(space->options->user, object);
    crd_state_leave(space->report, before);
  }
  return true;
}

static bool list_destructors(const crd_image *image, cradle_error *error) {
  crd_space *space = &image->heap->space;
  const uint64_t *place = image_part_of(image, IMAGE_LISTS + REGISTERED_DESTRUCTOR);
  for (uint64_t i = 0; i < image_count(image, IMAGE_LISTS + REGISTERED_DESTRUCTOR); i++)
    if (!crd_destructors_adopt(space->services, object_at(space->old.arenas.base + place[i])))
      return IMAGE_REFUSE(error, NO_MEMORY);
  return true;
}

/* Of the tables only the names are kept. */
static void keep_names(crd_image *image) {
  size_t count = image_count(image, IMAGE_NAMES);
  memmove(image->tables, image_part_of(image, IMAGE_NAMES), count);
  ASSERT(count == 0 || image->tables[count - 1] == 0, "[image.1] the last name has no end");
  char *smaller = realloc(image->tables, count + 1);
  if (smaller != NULL) image->tables = smaller;
  free(image->types);
  free(image->symbols);
  image->types = NULL;
  image->symbols = NULL;
  crd_input_close(&image->input);
}

bool crd_image_settle(crd_image *image, cradle_error *error) {
  crd_marking *marking = &image->heap->marking;
  ASSERT(image->from != NULL && image->tables != NULL, "an image is settled that was not entered");
  ASSERT(marking->major.phase == MAJOR_IDLE, "a major collection began before the image was settled");
  if (image->from->verify && !verify(image, error)) return false;
  if (!mend(image, error) || !list_destructors(image, error)) return false;
  keep_names(image);
  crd_space_note_used(&image->heap->space);
  crd_pacing_update(&marking->pacing, crd_major_counted_bytes(marking), 0, 0, false, crd_major_threshold_max(marking));
  image->heap->options.image = image->from = NULL;
  return true;
}

/* --- what the program takes --- */

cradle_value cradle_image_root_get(cradle_heap *heap, const char *name) {
  crd_heap_enter(heap, "cradle_image_root_get");
  cradle_value value = 0;
  for (size_t i = 0; heap->image != NULL && i < heap->image->root_count; i++)
    if (strcmp(heap->image->tables + heap->image->roots[i].name, name) == 0) value = heap->image->roots[i].word;
  crd_world_leave(&heap->space);
  return value;
}

cradle_weak_set *cradle_image_set_take(cradle_heap *heap, const char *name, cradle_weak_swept_function swept,
                                       void *data) {
  crd_heap_enter(heap, "cradle_image_set_take");
  cradle_weak_set *set = NULL;
  for (size_t i = 0; heap->image != NULL && i < heap->image->set_count && set == NULL; i++) {
    crd_named_set *named = &heap->image->sets[i];
    if (named->set == NULL || strcmp(heap->image->tables + named->name, name) != 0) continue;
    set = named->set;
    set->swept = swept;
    set->data = data;
    named->set = NULL;
  }
  crd_world_leave(&heap->space);
  return set;
}
