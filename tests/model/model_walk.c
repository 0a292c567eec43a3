#include "tests/model/model_walk.h"

#include <stdlib.h>
#include <string.h>

#include "tests/inside.h"

/* For this many objects of each view, the test looks for the referrers. */
#define REFERRERS_ASKED 4

static void *grown(void *items, size_t *capacity, size_t item_bytes) {
  *capacity = *capacity == 0 ? 1024 : *capacity * 2;
  items = realloc(items, *capacity * item_bytes);
  if (items == NULL) abort();
  return items;
}

void view_add(view *view, view_object object) {
  if (view->count == view->capacity) view->objects = grown(view->objects, &view->capacity, sizeof *view->objects);
  view->objects[view->count++] = object;
}

void view_add_root(view *view, uint32_t number) {
  if (view->root_count == view->root_capacity)
    view->roots = grown(view->roots, &view->root_capacity, sizeof *view->roots);
  view->roots[view->root_count++] = number;
}

void view_free(view *view) {
  free(view->objects);
  free(view->roots);
  *view = (struct view){0};
}

/* --- the walk --- */

typedef struct walked {
  cradle_object_info *infos;
  size_t count, capacity;
} walked;

static bool take_info(void *data, const cradle_object_info *info) {
  walked *all = data;
  if (all->count == all->capacity) all->infos = grown(all->infos, &all->capacity, sizeof *all->infos);
  all->infos[all->count++] = *info;
  return true;
}

static int by_address(const void *a, const void *b) {
  uintptr_t x = (uintptr_t)*(void *const *)a, y = (uintptr_t)*(void *const *)b;
  return x < y ? -1 : x > y;
}

static const cradle_object_info *info_at(const walked *all, const void *object) {
  return bsearch(&object, all->infos, all->count, sizeof *all->infos, by_address);
}

static const view_object *known_at(const view *sorted, const void *object) {
  return sorted->count == 0 ? NULL
                            : bsearch(&object, sorted->objects, sorted->count, sizeof *sorted->objects, by_address);
}

static const char *check_walk(const view *view, const walked *all, bool exact) {
  for (size_t i = 1; i < all->count; i++)
    if (all->infos[i].object == all->infos[i - 1].object) return "the walk visits an object twice";
  for (size_t i = 0; i < view->count; i++) {
    const cradle_object_info *info = info_at(all, view->objects[i].object);
    if (info == NULL) return "the walk leaves out a reachable object";
    if (info->type != view->objects[i].type) return "the walk says another type";
    if (info->bytes != view->objects[i].bytes || info->place_bytes < info->bytes) return "the walk says another size";
  }
  for (size_t i = 0; exact && i < all->count; i++)
    if (known_at(view, all->infos[i].object) == NULL && !view->is_kept(view->data, all->infos[i].object))
      return "the walk visits what is neither reachable nor kept";
  return exact && all->count != view->count + view->kept ? "the walk leaves out what is kept" : NULL;
}

/* --- addresses --- */

static const char *check_address(cradle_heap *heap, const cradle_object_info *info, size_t offset) {
  cradle_address_info what;
  cradle_describe_address(heap, (char *)info->object + offset, &what, sizeof what);
  if (info->is_young && !info->is_large)
    return what.kind == CRADLE_ADDRESS_NURSERY ? NULL : "a young object lies elsewhere";
  if (what.kind != (offset == 0 ? CRADLE_ADDRESS_OBJECT : CRADLE_ADDRESS_INTERIOR))
    return "an object's address is of another kind";
  if (what.offset != offset || what.object.object != info->object || what.object.bytes != info->bytes ||
      what.object.place_bytes != info->place_bytes || what.object.type != info->type ||
      what.object.is_young != info->is_young || what.object.is_large != info->is_large)
    return "an object's address leads to another object";
  return NULL;
}

static const char *check_addresses(cradle_heap *heap, const walked *all) {
  for (size_t i = 0; i < all->count; i++) {
    const char *fault = check_address(heap, &all->infos[i], 0);
    if (fault == NULL) fault = check_address(heap, &all->infos[i], all->infos[i].bytes - 1);
    if (fault != NULL) return fault;
  }
  return NULL;
}

/* --- referrers --- */

typedef struct asked {
  const view_object *object;
  const view *view;
  const walked *all;
  uint64_t from_known, from_roots, from_queues;
  const char *fault;
} asked;

static bool take_referrer(void *data, const cradle_referrer *referrer) {
  asked *a = data;
  void *held = *(void *const *)referrer->slot;
  if (referrer->kind == CRADLE_KIND_VALUE)
    held = cradle_value_object(&a->view->encoding, (cradle_value)(uintptr_t)held);
  if (held != a->object->object) a->fault = "a referrer's slot holds something else";
  if (referrer->holder != CRADLE_HOLDER_OBJECT) {
    ++*(referrer->holder == CRADLE_HOLDER_FINALIZER_QUEUE ? &a->from_queues : &a->from_roots);
    return true;
  }
  a->from_known += known_at(a->view, referrer->object.object) != NULL;
  const cradle_object_info *info = info_at(a->all, referrer->object.object);
  if (info == NULL || info->bytes != referrer->object.bytes) a->fault = "a referrer is no object of the walk";
  if (referrer->index != CRADLE_INDEX_OUTSIDE &&
      (void *const *)referrer->object.object + referrer->index != referrer->slot)
    a->fault = "a referrer's index is wrong";
  return true;
}

static const char *check_referrers(const view *view, cradle_heap *heap, const walked *all) {
  for (size_t k = 0; k < REFERRERS_ASKED && view->count > 0; k++) {
    asked a = {.object = &view->objects[k * (view->count - 1) / (REFERRERS_ASKED - 1)], .view = view, .all = all};
    uint64_t from_known = 0, from_roots = 0;
    for (size_t i = 0; i < view->count; i++)
      for (uint64_t j = 0; j < view->objects[i].slot_count; j++)
        from_known += view->objects[i].slots[j * view->objects[i].slot_step] == a.object->number;
    for (size_t i = 0; i < view->root_count; i++) from_roots += view->roots[i] == a.object->number;
    if (cradle_referrers(heap, a.object->object, take_referrer, &a) != CRADLE_WALK_COMPLETE)
      return "the referrers were not walked";
    if (a.fault != NULL) return a.fault;
    if (a.from_roots != from_roots) return "another number of roots refers to an object";
    if (a.from_queues > 1 || a.from_queues > view->waiting) return "an object waits more than once for its finalizer";
    if (a.from_known != from_known) return "another number of objects refers to an object";
  }
  return NULL;
}

/* --- the dump --- */

typedef struct blob {
  char *bytes;
  size_t count, capacity;
} blob;

static bool take_bytes(void *data, const void *bytes, size_t count) {
  blob *b = data;
  while (b->capacity - b->count < count) b->bytes = grown(b->bytes, &b->capacity, 1);
  memcpy(b->bytes + b->count, bytes, count);
  b->count += count;
  return true;
}

typedef struct dump_reader {
  dump_header header;
  dump_totals totals;
  blob objects, references, roots;
  uint64_t types;
  bool ended;
} dump_reader;

static const char *read_chunks(dump_reader *reader, const blob *file) {
  if (file->count < sizeof reader->header) return "the dump is cut short";
  memcpy(&reader->header, file->bytes, sizeof reader->header);
  for (size_t at = sizeof reader->header; at < file->count;) {
    dump_chunk chunk;
    if (reader->ended || file->count - at < sizeof chunk) return "the dump has more or less than its chunks";
    memcpy(&chunk, file->bytes + at, sizeof chunk);
    at += sizeof chunk;
    if (chunk.bytes % 8 != 0 || file->count - at < chunk.bytes) return "a chunk of the dump is cut short";
    switch (chunk.tag) {
    case DUMP_TYPES: reader->types++; break;
    case DUMP_NAMES: break;
    case DUMP_OBJECTS: take_bytes(&reader->objects, file->bytes + at, chunk.bytes); break;
    case DUMP_REFERENCES: take_bytes(&reader->references, file->bytes + at, chunk.bytes); break;
    case DUMP_ROOTS: take_bytes(&reader->roots, file->bytes + at, chunk.bytes); break;
    case DUMP_END:
      if (chunk.bytes != sizeof reader->totals) return "the dump's totals have another size";
      memcpy(&reader->totals, file->bytes + at, sizeof reader->totals);
      reader->ended = true;
      break;
    default: return "the dump has an unknown chunk";
    }
    at += chunk.bytes;
  }
  return reader->ended ? NULL : "the dump has no end";
}

static void *address_at(const dump_reader *reader, uint64_t position) {
  const dump_header *h = &reader->header;
  uintptr_t address = (uintptr_t)(position < h->old_words ? h->old_base + position * 8
                                                          : h->nursery_base + (position - h->old_words) * 8);
  return (void *)address;
}

static dump_object dumped_object(const dump_reader *reader, uint64_t i) {
  dump_object object;
  memcpy(&object, reader->objects.bytes + i * sizeof object, sizeof object);
  return object;
}

static void *reference_at(const dump_reader *reader, uint64_t i) {
  uint32_t position;
  memcpy(&position, reader->references.bytes + i * sizeof position, sizeof position);
  return address_at(reader, position);
}

static int by_number(const void *a, const void *b) {
  uint32_t x = ((const view_object *)a)->number, y = ((const view_object *)b)->number;
  return x < y ? -1 : x > y;
}

static const view_object *with_number(const view *numbered, uint32_t number) {
  return bsearch(&(view_object){.number = number}, numbered->objects, numbered->count, sizeof *numbered->objects,
                 by_number);
}

/* The references that the model knows in an object, in the order of the object's slots. */
static const char *check_references(const view *sorted, const view *numbered, const view_object *object,
                                    const dump_reader *reader, uint64_t first, uint64_t count) {
  uint64_t met = 0;
  for (uint64_t j = 0; j < object->slot_count; j++) {
    uint32_t number = object->slots[j * object->slot_step];
    if (number == 0) continue;
    const view_object *known = with_number(numbered, number);
    const void *told = met == count ? NULL : reference_at(reader, first + met);
    if (known != NULL && told != known->object) return "the dump has another reference";
    if (known != NULL || (told != NULL && known_at(sorted, told) == NULL)) met++;
  }
  return met == count ? NULL : "the dump has a reference too many";
}

static const char *check_dumped(const view *sorted, const view *numbered, const walked *all,
                                const dump_reader *reader) {
  const dump_totals *totals = &reader->totals;
  uint64_t first = 0, bytes = 0;
  if (totals->objects != all->count) return "the dump has another number of objects than the walk";
  for (uint64_t i = 0; i < totals->objects; i++) {
    dump_object object = dumped_object(reader, i);
    void *address = address_at(reader, object.position);
    const cradle_object_info *info = info_at(all, address);
    if (info == NULL || (uint64_t)object.words * 8 != info->bytes || (object.type_and_flags & 0xfffff) != info->type ||
        !(object.type_and_flags & DUMP_YOUNG) == info->is_young ||
        !(object.type_and_flags & DUMP_LARGE) == info->is_large)
      return "the dump has an object that the walk has not";
    const view_object *known = known_at(sorted, address);
    const char *fault =
        known == NULL ? NULL : check_references(sorted, numbered, known, reader, first, object.references);
    for (uint64_t j = first; fault == NULL && j < first + object.references; j++)
      if (info_at(all, reference_at(reader, j)) == NULL) fault = "the dump has a reference to what the walk has not";
    if (fault != NULL) return fault;
    first += object.references;
    bytes += info->bytes;
  }
  if (first != totals->references || bytes != totals->bytes) return "the dump's totals are wrong";
  return totals->roots == sorted->root_count + sorted->waiting ? NULL : "the dump has another number of roots";
}

static const char *check_dump(const view *sorted, const view *numbered, cradle_heap *heap, const walked *all) {
  blob file = {0};
  dump_reader reader = {0};
  const char *fault = cradle_heap_dump_to(heap, take_bytes, &file, NULL) ? NULL : "the dump failed";
  if (fault == NULL) fault = read_chunks(&reader, &file);
  if (fault == NULL) fault = check_dumped(sorted, numbered, all, &reader);
  free(file.bytes);
  free(reader.objects.bytes);
  free(reader.references.bytes);
  free(reader.roots.bytes);
  return fault;
}

/* --- all of it --- */

const char *view_check(view *view, cradle_heap *heap, bool exact) {
  walked all = {0};
  struct view numbered = *view;
  numbered.objects = malloc((view->count + 1) * sizeof *numbered.objects);
  if (numbered.objects == NULL) abort();
  if (view->count != 0) memcpy(numbered.objects, view->objects, view->count * sizeof *view->objects);
  if (view->count != 0) qsort(numbered.objects, view->count, sizeof *numbered.objects, by_number);
  if (view->count != 0) qsort(view->objects, view->count, sizeof *view->objects, by_address);
  const char *fault =
      cradle_heap_walk(heap, take_info, &all) == CRADLE_WALK_COMPLETE ? NULL : "the walk was not complete";
  if (all.count != 0) qsort(all.infos, all.count, sizeof *all.infos, by_address);
  if (fault == NULL) fault = check_walk(view, &all, exact);
  if (fault == NULL) fault = check_addresses(heap, &all);
  if (fault == NULL) fault = check_referrers(view, heap, &all);
  if (fault == NULL) fault = check_dump(view, &numbered, heap, &all);
  free(numbered.objects);
  free(all.infos);
  return fault;
}
