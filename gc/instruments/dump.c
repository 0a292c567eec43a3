/* The heap dump: one walk, whose objects, references and roots go into three buffers, each written as a chunk when it
 * is full. */
#include "gc/instruments/dump.h"

#include <stdlib.h>
#include <string.h>

#include "gc/heap.h"
#include "gc/instruments/walk.h"
#include "gc/report/misuse.h"
#include "gc/roots.h"
#include "gc/world.h"

#define BUFFER_BYTES ((size_t)256 << 10)
#define POSITIONS (UINT64_C(1) << 32)

typedef struct dump_buffer {
  uint32_t tag, filled;
  char *bytes; /* BUFFER_BYTES of them */
} dump_buffer;

typedef struct dump_context {
  cradle_heap *heap;
  crd_walker walker;
  cradle_write_function write;
  void *data;
  bool failed; /* write said no */
  dump_header header;
  dump_totals totals;
  dump_buffer objects, references, roots;
  uint32_t named;            /* root ranges below this number that have a root in the dump have a name there */
  cradle_object_info object; /* the one whose slots the walk is reporting; object NULL: none yet */
  uint64_t count;            /* of its references so far */
} dump_context;

/* Once a write has failed, nothing more is written and the walk stops. */
static void put(dump_context *context, const void *bytes, size_t count) {
  if (!context->failed && count != 0 && !context->write(context->data, bytes, count)) context->failed = true;
  if (context->failed) context->walker.stopped = true;
}

/* A chunk: head and bytes, padded with zeros. */
static void put_chunk(dump_context *context, uint32_t tag, const void *head, uint32_t head_bytes, const void *bytes,
                      uint32_t count) {
  static const char zeros[8];
  uint32_t padding = -(head_bytes + count) & 7;
  put(context, &(dump_chunk){tag, head_bytes + count + padding}, sizeof(dump_chunk));
  put(context, head, head_bytes);
  put(context, bytes, count);
  put(context, zeros, padding);
}

static void flush(dump_context *context, dump_buffer *buffer) {
  ASSERT(buffer->filled <= BUFFER_BYTES, "a chunk is longer than its buffer");
  if (buffer->filled != 0) put_chunk(context, buffer->tag, NULL, 0, buffer->bytes, buffer->filled);
  buffer->filled = 0;
}

static void add(dump_context *context, dump_buffer *buffer, const void *record, uint32_t bytes) {
  if (buffer->filled + bytes > BUFFER_BYTES) flush(context, buffer);
  memcpy(buffer->bytes + buffer->filled, record, bytes);
  buffer->filled += bytes;
}

static void put_name(dump_context *context, uint32_t tag, uint32_t number, const char *name) {
  uint32_t head[2] = {number, name == NULL ? 0 : (uint32_t)strlen(name)};
  put_chunk(context, tag, head, sizeof head, name, head[1]);
}

static uint64_t position_of(const dump_context *context, uintptr_t address) {
  const dump_header *header = &context->header;
  if (space_is_young(&context->heap->space, address)) return header->old_words + (address - header->nursery_base) / 8;
  return (address - header->old_base) / 8;
}

/* Adds the object whose references have all been reported. An object's record has the number of its references, which
 * is known only when the walk comes to the next object. */
static void end_object(dump_context *context) {
  const cradle_object_info *info = &context->object;
  if (info->object == NULL) return;
  uint64_t position = position_of(context, address_of(info->object)), words = info->bytes / 8;
  ASSERT(info->type < DUMP_YOUNG, "a type id reaches into the flags");
  ASSERT(position + words <= context->header.words, "[dump.1] an object leads out of the dump");
  uint32_t type = info->type | (info->is_young ? DUMP_YOUNG : 0) | (info->is_large ? DUMP_LARGE : 0);
  dump_object record = {(uint32_t)position, type, (uint32_t)words, (uint32_t)context->count};
  add(context, &context->objects, &record, sizeof record);
  context->totals.objects++;
  context->totals.bytes += info->bytes;
  context->totals.references += context->count;
  context->count = 0;
}

static bool tell_object(void *data, const cradle_object_info *info) {
  dump_context *context = data;
  end_object(context);
  context->object = *info;
  return !context->failed;
}

/* Only a heap that may have several mutators names them. */
static uint32_t mutator_bits(const dump_context *context, const crd_mutator *mutator) {
  return space_is_shared(&context->heap->space) && mutator != NULL ? (uint32_t)mutator->number << DUMP_MUTATOR : 0;
}

static void put_mutators(dump_context *context) {
  char name[MUTATOR_NAME_BYTES];
  if (!space_is_shared(&context->heap->space)) return;
  for (EACH_MUTATOR(mutator, &context->heap->space)) {
    crd_mutator_copy_name(mutator, name);
    put_name(context, DUMP_MUTATORS, mutator_bits(context, mutator) >> DUMP_MUTATOR, name);
  }
}

static void tell_root(dump_context *context, const cradle_word *slot, uint64_t position) {
  crd_root_at *at = &context->walker.at;
  uint32_t range = at->holder == CRADLE_HOLDER_ROOT_RANGE ? at->range : 0;
  cradle_referrer referrer = {.slot = slot};
  crd_root_name(at, &referrer);
  dump_root root = {position, referrer.index, (uint32_t)at->holder | mutator_bits(context, at->mutator), range};
  if (at->holder == CRADLE_HOLDER_ROOT_RANGE && range >= context->named) {
    put_name(context, DUMP_NAMES, range, at->name);
    context->named = range + 1;
  }
  add(context, &context->roots, &root, sizeof root);
  context->totals.roots++;
}

static void tell_slot(void *data, const cradle_word *holder, const cradle_word *slot, cradle_kind kind,
                      uintptr_t address) {
  dump_context *context = data;
  (void)kind;
  uint64_t position = position_of(context, address);
  ASSERT(position < context->header.words, "[dump.1] a reference leads out of the dump");
  ASSERT(holder == NULL || holder == context->object.object, "[dump.2] a slot is told after another object");
  if (holder == NULL) {
    tell_root(context, slot, position);
  } else {
    add(context, &context->references, &(uint32_t){(uint32_t)position}, sizeof(uint32_t));
    context->count++;
  }
}

static dump_header header_of(const cradle_heap *heap) {
  dump_header header = {.version = DUMP_VERSION,
                        .position_bytes = sizeof(uint32_t),
                        .old_base = heap->space.old.arenas.base,
                        .nursery_base = address_of(heap->space.nursery.start),
                        .old_words = heap->space.old.arenas.used_end * ARENA_BYTES / 8,
                        .minor_collections = heap->report.stats.minor_collections,
                        .major_collections = heap->report.stats.major_collections};
  memcpy(header.magic, DUMP_MAGIC, sizeof header.magic);
  header.words = header.old_words + nursery_extent(&heap->space) / 8;
  return header;
}

static cradle_walk_result dump(dump_context *context) {
  crd_state before = crd_state_enter(&context->heap->report, HEAP_WALKING);
  put(context, &context->header, sizeof context->header);
  for (uint32_t i = 0; i < context->heap->space.types.count; i++)
    put_name(context, DUMP_TYPES, i, context->heap->space.types.types[i].name);
  put_mutators(context);
  cradle_walk_result result = crd_walk(context->heap, &context->walker);
  end_object(context);
  flush(context, &context->roots);
  flush(context, &context->objects);
  flush(context, &context->references);
  put_chunk(context, DUMP_END, NULL, 0, &context->totals, sizeof context->totals);
  crd_state_leave(&context->heap->report, before);
  return result;
}

static bool dump_to(cradle_heap *heap, cradle_write_function write, void *data, cradle_error *error) {
  dump_context context = {.heap = heap,
                          .walker = {.object = tell_object, .slot = tell_slot, .data = &context},
                          .write = write,
                          .data = data,
                          .header = header_of(heap),
                          .objects.tag = DUMP_OBJECTS,
                          .references.tag = DUMP_REFERENCES,
                          .roots.tag = DUMP_ROOTS};
  if (context.header.words > POSITIONS)
    return crd_fail(error, "the heap spans more than 32 GiB, which no dump can hold");
  char *buffers = malloc(3 * BUFFER_BYTES);
  cradle_walk_result result = CRADLE_WALK_NO_MEMORY;
  if (buffers != NULL) {
    context.objects.bytes = buffers;
    context.references.bytes = buffers + BUFFER_BYTES;
    context.roots.bytes = buffers + 2 * BUFFER_BYTES;
    result = dump(&context);
    free(buffers);
  }
  if (context.failed) return crd_fail(error, "the dump could not be written");
  if (result == CRADLE_WALK_NO_MEMORY) return crd_fail(error, "memory for the dump was refused");
  if (error != NULL) *error = (cradle_error){.option = NULL};
  return true;
}

bool cradle_heap_dump_to(cradle_heap *heap, cradle_write_function write, void *data, cradle_error *error) {
  crd_heap_enter(heap, "cradle_heap_dump");
  bool done = dump_to(heap, write, data, error);
  crd_world_leave(&heap->space);
  return done;
}
