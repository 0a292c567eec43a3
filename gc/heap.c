/* The heap's life: modules are made in order, and unmade in the reverse order. */
#include "gc/heap.h"

#include <stdlib.h>
#include <string.h>

#include "gc/death/weak.h"
#include "gc/image/image.h"
#include "gc/instruments/history.h"
#include "gc/instruments/other_heaps.h"
#include "gc/instruments/sample.h"
#include "gc/instruments/stress.h"
#include "gc/mutator.h"
#include "gc/old/closed.h"
#include "gc/options.h"
#include "gc/outgrow.h"
#include "gc/platform/pages.h"
#include "gc/report/misuse.h"
#include "gc/statistics.h"
#include "gc/tables/handle.h"
#include "gc/tables/identity.h"
#include "gc/tables/pin.h"
#include "gc/world.h"
#include "gc/young/adapt.h"
#include "gc/young/chunks.h"
#include "gc/young/nursery.h"

/* The most that the stacks take. When one is full, nothing is lost but time: the next minor collection looks at
 * every old object, or at arrays as wholes, or marking looks for what did not fit. */
#define REMEMBERED_MAX_BYTES ((size_t)64 << 20)
#define RECORDED_MAX_BYTES ((size_t)32 << 20)
#define MARK_STACK_MAX_BYTES ((size_t)64 << 20)
/* The type table and the two stacks that stores fill are in one reservation. */
#define STORED_MAX_BYTES (REMEMBERED_MAX_BYTES + RECORDED_MAX_BYTES)
#define TABLES_MAX_BYTES (TYPES_MAX_BYTES + STORED_MAX_BYTES)
/* A heap that collects nothing has its nursery halved while the system refuses, down to this. */
#define NURSERY_HALVED_MIN_BYTES ((size_t)1 << 20)

/* --- states --- */

/* To HEAP_MUTATING or from it: only then top moves [state.1]. The second core stops before anything but the mutator
 * runs [marker.2], and goes on afterwards; a collection lets it go on by itself. */
static void go_to(cradle_heap *heap, crd_state state) {
  static const char *const stops[HEAP_STATES] = {
      [HEAP_COLLECTING] = "a collection", [HEAP_VERIFYING] = "the verifier",  [HEAP_FORKING] = "cradle_fork_prepare",
      [HEAP_SAMPLING] = "a sampler",      [HEAP_DESTROYING] = "a destructor", [HEAP_TELLING] = "a listener",
      [HEAP_WALKING] = "a walk",
  };
  crd_marker *marker = &heap->marking.marker;
  if (state != HEAP_MUTATING) crd_world_stop(&heap->space, stops[state]); /* [world.3] */
  if (CRADLE_UNLIKELY(marker->thread != NULL) && state != HEAP_MUTATING)
    marker->resumes = crd_marker_stop(&heap->marking) && state != HEAP_COLLECTING;
  ASSERT(!marker->going || state == HEAP_TELLING, "[marker.2] a state begins while a round goes on");
  heap->report.state = state;
  crd_nursery_set_tops(&heap->young);
  if (CRADLE_UNLIKELY(marker->resumes) && state == HEAP_MUTATING) crd_marker_go_on(&heap->marking);
}

/* Before a handler of the program runs, which may longjmp. */
static void let_go(cradle_heap *heap) {
  space_unlock(&heap->space);
  crd_world_let_go(&heap->space);
}

/* --- making --- */

static void join_parts(cradle_heap *heap) {
  crd_space *space = &heap->space;
  heap->report.options = space->options = &heap->options;
  heap->report.go_to = go_to;
  heap->report.let_go = let_go;
  space->report = &heap->report;
  space->hardware = &heap->hardware;
  space->known_hardware = &heap->known_hardware;
  heap->roots.space = heap->tables.space = heap->marking.space = heap->young.space = space;
  heap->marking.old = &space->old;
  heap->marking.roots = heap->young.roots = &heap->roots;
  heap->marking.tables = heap->young.tables = &heap->tables;
  heap->tables.marking = heap->young.marking = &heap->marking;
  space->locals.free = &space->locals.left;
  heap->marking.marker.young = &heap->young;
  heap->marking.marker.help = crd_team_help;
  space->locals.registered = &space->locals.fresh.top;
  heap->young.stress = &heap->stress;
  heap->young.sampling = &heap->sampling;
  heap->young.quarantine = &heap->quarantine;
}

/* The type table, with its size classes. The descriptor is sound. false: memory was refused. */
static bool add_type(cradle_heap *heap, const cradle_type *type) {
  crd_type *entry = crd_type_table_add(&heap->space.types, type, heap->space.plain_encoding);
  if (entry == NULL) return false;
  entry->user = heap->options.user;
  if (entry->size != 0 && entry->items == CRADLE_ITEMS_NONE && entry->size <= SMALL_MAX_BYTES) {
    entry->size_class = (uint8_t)old_class_of(&heap->space.old, entry->size);
    entry->class_bytes = heap->space.old.classes.of[entry->size_class].bytes;
    ASSERT(entry->class_bytes >= entry->size, "[type.4] objects of a type do not fit their size class");
  }
  type_table_publish(&heap->space.types);
  return true;
}

static bool init_types(cradle_heap *heap) {
  size_t size = heap->options.type_size;
  for (size_t i = 0; i < heap->options.type_count; i++) {
    const void *row = (const char *)heap->options.types + i * size;
    cradle_type type = crd_type_read(row, size);
    if (!add_type(heap, &type)) return false;
  }
  return true;
}

/* What the heap cannot do without was refused. bytes: how many that is. heap: NULL if there is none so far. */
static bool fail_init(const cradle_heap *heap, cradle_error *error, const char *what, size_t bytes) {
  if (error == NULL) return false;
  crd_text limit = {.length = 0};
  crd_text_limit(&limit, bytes);
  (void)crd_fail(error, "%s was refused: %s", what, limit.buffer);
  if (heap != NULL && heap->options.base_address != NULL && heap->space.old.arenas.base == 0)
    error->option = "base_address";
  return false;
}

/* For an image, all the address space that is wanted at the image's own address, or else as for any heap. */
static bool init_old(cradle_heap *heap) {
  crd_old *old = &heap->space.old;
  if (heap->image != NULL && heap->options.base_address == NULL) {
    heap->options.base_address = memory_at(heap->image->header.base);
    bool reserved = crd_old_init(old, &heap->options, &heap->hardware);
    heap->options.base_address = NULL;
    if (reserved && old->arenas.refused_bytes == 0) return true;
    if (reserved) crd_old_fini(old);
  }
  return crd_old_init(old, &heap->options, &heap->hardware);
}

static bool init_memory(cradle_heap *heap, cradle_error *error) {
  size_t page = heap->hardware.page_bytes;
  if (!init_old(heap) || (heap->options.quarantine != 0 && !crd_closed_init(&heap->space.old.arenas, page)))
    return fail_init(heap, error, "address space for the old generation", CRADLE_RESERVE_MIN_BYTES);
  if (heap->options.mutators > 1) {
    heap->space.old.is_shared = true;
    heap->space.old.young_large_start = heap->space.old.arenas.base;
    heap->space.old.young_large_bytes = heap->space.old.arenas.bytes;
  }
  crd_local *local = &heap->space.locals;
  crd_word_stack *types = &heap->space.types.room;
  if (!crd_word_stack_init(types, TABLES_MAX_BYTES, page, "cradle types and remembered set") ||
      !crd_word_stack_init(&heap->marking.mark_stack, MARK_STACK_MAX_BYTES, page, "cradle mark stack"))
    return fail_init(heap, error, "address space for the collector's stacks", page);
  crd_word_stack_divide(types, &local->remembered, STORED_MAX_BYTES, TABLES_MAX_BYTES, page);
  crd_word_stack_divide(&local->remembered, &local->recorded, RECORDED_MAX_BYTES, STORED_MAX_BYTES, page);
  /* Without any room on the stack, marking would look at the whole heap for each object. So its first pages are
   * committed before they are needed. */
  return crd_word_stack_grow(&heap->marking.mark_stack) || fail_init(heap, error, "memory for the mark stack", page);
}

/* What only a heap with several mutators has. */
static bool init_shared(cradle_heap *heap, cradle_error *error) {
  crd_space *space = &heap->space;
  if (heap->options.mutators <= 1) return true;
  space->chunks = calloc(1, sizeof *space->chunks);
  if (space->chunks == NULL || !crd_world_init(space, &heap->young))
    return fail_init(heap, error, "memory for several mutators", sizeof *space->chunks);
  crd_world_take(space, NULL); /* until it is made */
  return true;
}

/* Sends the note, if there is one. */
static void note_if(cradle_heap *heap, const char *text, uint64_t wanted, uint64_t got) {
  if (text != NULL) crd_event_note(&heap->report, text, wanted, got);
}

/* What the heap got from the huge-page pool less than its options want, and why. */
static void note_pool(cradle_heap *heap) {
  const crd_nursery *nursery = &heap->space.nursery;
  if (nursery->backing.pool && nursery->pool_bytes == 0) {
    note_if(heap,
            nursery->backing.transparent ? "the huge-page pool refused the nursery: transparent huge pages instead"
                                         : "the huge-page pool refused the nursery: base pages instead",
            nursery->committed_bytes, 0);
    note_if(heap, crd_pages_pool_doubt(false), nursery->committed_bytes, 0);
  }
  if (heap->space.old.arenas.backing.pool) note_if(heap, crd_pages_pool_doubt(true), 0, 0);
}

/* Where sizes are not what the program asked for, or cannot be reached. */
static void note_sizes(cradle_heap *heap) {
  size_t max = heap->options.heap_max_bytes, arenas = heap->space.old.arenas.bytes;
  if (arenas < heap->options.reserve_bytes)
    note_if(heap, "the address space reserved for the old generation is smaller than asked for",
            heap->options.reserve_bytes, arenas);
  note_pool(heap);
  if (max != 0 && max == heap->hardware.group_bytes / 4 * 3)
    note_if(heap, "the maximum heap is three quarters of the cgroup's memory", heap->hardware.group_bytes, max);
  if (max > heap->space.nursery.bytes && max - heap->space.nursery.bytes > arenas)
    note_if(heap, "the maximum heap cannot be reached: the address space for the old generation is smaller", max,
            arenas);
}

static void send_created(cradle_heap *heap, const char *reason) {
  cradle_event created = {.kind = CRADLE_EVENT_HEAP_CREATED,
                          .u.heap = {.hardware = &heap->hardware,
                                     .arenas_base = heap->space.old.arenas.base,
                                     .nursery_base = address_of(heap->space.nursery.start),
                                     .arenas_bytes = heap->space.old.arenas.bytes,
                                     .pause_target_ns = heap->options.pause_ns}};
  cradle_event sized = {.kind = CRADLE_EVENT_NURSERY_SIZED, .u.nursery = {heap->space.nursery.bytes, 0, reason, NULL}};
  heap->announced = true;
  crd_event_send(&heap->report, &created);
  crd_event_send(&heap->report, &sized);
  note_sizes(heap);
  const char *doubt = crd_backing_doubt(&heap->space.nursery.backing, &heap->hardware);
  if (doubt == NULL) doubt = crd_backing_doubt(&heap->space.old.arenas.backing, &heap->hardware);
  note_if(heap, doubt, heap->hardware.thp_page_bytes, heap->hardware.page_bytes);
}

static bool fail_pool(const cradle_heap *heap, bool of_arenas, cradle_error *error) {
  const crd_arenas *arenas = &heap->space.old.arenas;
  const char *option = of_arenas ? "hugepages_arenas" : "hugepages_nursery", *doubt = crd_pages_pool_doubt(of_arenas);
  size_t wanted = of_arenas ? arenas->committed_count * ARENA_BYTES : heap->space.nursery.committed_bytes;
  size_t got = of_arenas ? arenas->pool_count * ARENA_BYTES : 0;
  if (doubt != NULL)
    (void)crd_fail(error, "%s: strict, but %s; without \"!\" base pages serve instead", option, doubt);
  else
    (void)crd_fail(
        error,
        "%s: strict, but the pool of huge pages gave %zu of the %zu bytes that the heap starts with (pool page "
        "%zu bytes, %zu free; vm.nr_hugepages); without \"!\" transparent huge pages serve instead",
        option, got, wanted, heap->hardware.pool_page_bytes, heap->hardware.pool_pages_free);
  if (error != NULL) error->option = option;
  return false;
}

static bool check_pool(const cradle_heap *heap, cradle_error *error) {
  const crd_nursery *nursery = &heap->space.nursery;
  const crd_arenas *arenas = &heap->space.old.arenas;
  if (nursery->backing.strict && nursery->pool_bytes == 0) return fail_pool(heap, false, error);
  return !arenas->backing.strict || arenas->pool_count == arenas->committed_count || fail_pool(heap, true, error);
}

static bool init_nursery(cradle_heap *heap, cradle_error *error) {
  const char *reason;
  bool off = collection_is_off(&heap->options);
  size_t bytes = crd_nursery_choose(&heap->options, &heap->hardware, &reason);
  /* crd_adapt_init takes the base from here, and the largest size it finds is reserved below. */
  heap->space.nursery.bytes = bytes;
  crd_adapt_init(&heap->young);
  bool ready = crd_nursery_init(&heap->young, off ? bytes : heap->young.adapt.max);
  /* Where nothing is collected, the nursery's size is a share of the machine's memory, which the system may refuse. */
  while (!ready && off && heap->options.nursery_bytes == 0 && bytes > NURSERY_HALVED_MIN_BYTES) {
    heap->space.nursery.bytes = bytes /= 2;
    ready = crd_nursery_init(&heap->young, bytes);
  }
  if (!ready)
    return heap->options.quarantine == 0
               ? fail_init(heap, error, "memory for the nursery", bytes)
               : crd_fail(error, "memory for the nurseries of the quarantine was refused, or above 64 GiB");
  send_created(heap, reason);
  crd_pacing_init(&heap->marking.pacing, &heap->options, &heap->hardware, bytes);
  heap->marking.compaction.backoff = 1;
  crd_space_limit_arenas(&heap->space);
  ASSERT(heap->space.old.arenas.limit >= 2, "the options left no room for two arenas beside the nursery");
  crd_sampling_init(&heap->sampling, &heap->space);
  crd_stress_add(&heap->stress, &heap->space.locals);
  crd_sampling_add(&heap->sampling, &heap->space.locals);
  crd_nursery_hand_out(&heap->young, crd_adapt_hand_out(&heap->young));
  if (heap->space.nursery.slack_end == heap->space.nursery.start)
    return fail_init(heap, error, "memory for the promotion reserve", 2 * ARENA_BYTES);
  return check_pool(heap, error);
}

/* Without an image, nothing. */
static bool of_image(const cradle_heap *heap, bool (*stage)(crd_image *image, cradle_error *error),
                     cradle_error *error) {
  bool done = heap->image == NULL || stage(heap->image, error);
  if (!done && error != NULL) error->option = "image";
  return done;
}

static void destroy(cradle_heap *heap) {
  ASSERT(heap->report.state == HEAP_MUTATING && heap->space.mutators == NULL,
         "[heap.4] a heap is destroyed while it is in use");
  crd_image_fini(heap->image);
  heap->image = NULL;
  cradle_statistics last;
  uint32_t pins = heap->tables.pins.count, handles = heap->tables.handles.open_count;
  /* The thread first, because it reads the heap. Destructors (crd_registry_fini) come before any memory of objects
   * goes. */
  crd_marker_end(&heap->marking);
  crd_team_fini(&heap->young);
  crd_other_heaps_leave(heap);
  if (pins != 0) note_if(heap, "objects are still pinned as their heap is freed", 0, pins);
  if (handles != 0) note_if(heap, "handles are still open as their heap is freed", 0, handles);
  /* A heap that failed before it was announced has told nobody of its beginning, so its end is not told either. */
  if (heap->announced) crd_statistics_arenas(heap, true);
  cradle_heap_statistics(heap, &last, sizeof last);
  crd_registry_fini(&heap->space);
  crd_handles_fini(&heap->tables.handles);
  crd_pins_fini(&heap->tables.pins);
  crd_ids_fini(&heap->tables.ids);
  crd_nursery_fini(&heap->young);
  crd_word_stack_fini(&heap->marking.mark_stack);
  crd_closed_fini(&heap->space.old.arenas);
  crd_old_fini(&heap->space.old);
  const crd_local *local = &heap->space.locals;
  if (local->recorded.end != NULL) heap->space.types.room.end = local->recorded.end;
  for (crd_local *other = local->next, *next; other != NULL; other = next) {
    next = other->next;
    crd_local_free(other);
  }
  crd_word_stack_fini(&heap->space.types.room);
  free(heap->space.types.mended);
  free(heap->roots.globals);
  crd_address_map_fini(&heap->roots.global_of);
  crd_sampling_fini(&heap->sampling);
  crd_history_close(heap);
  cradle_event destroyed = {.kind = CRADLE_EVENT_HEAP_DESTROYED, .u.destroyed.statistics = &last};
  if (heap->announced) crd_event_send(&heap->report, &destroyed);
  crd_world_fini(&heap->space);
  free(heap->space.chunks);
  free(heap);
}

/* With turns: the clock decides nothing, and nobody works beside. */
static void prepare_turns(cradle_options *options) {
  if (options->stress_turns == 0) return;
  options->pause_ns = options->major_age_ns = 0;
  options->nursery_fixed = true;
  options->gc_threads = 0;
}

cradle_heap *cradle_heap_new(const cradle_options *given, cradle_error *error) {
  cradle_options whole;
  const cradle_options *options = &whole;
  if (!crd_options_read(&whole, given, error) || !cradle_options_check(options, error)) return NULL;
  if (error != NULL) *error = (cradle_error){.option = NULL}; /* what can be had only in part is no reason to fail */
  cradle_heap *heap = calloc(1, sizeof *heap);
  if (heap == NULL) {
    (void)fail_init(NULL, error, "memory for the heap's structure", sizeof *heap);
    return NULL;
  }
  join_parts(heap);
  heap->report.created_ns = crd_platform_now_ns();
  heap->options = *options;
  prepare_turns(&heap->options);
  heap->space.encoding = options->encoding;
  crd_stress_init(&heap->stress, &heap->space);
  crd_history_open(heap);
  /* The order matters: the machine must be known before the maximum, which may be the cgroup's, and the maximum
   * before the nursery, which takes a share of it. */
  crd_outgrow_init(heap);
  crd_outgrow_respect_group(heap);
  heap->space.plain_encoding = crd_encoding_is_plain(&heap->space.encoding);
  if (init_shared(heap, error) && crd_image_make(heap, error) && of_image(heap, crd_image_open, error) &&
      init_memory(heap, error) && (init_types(heap) || crd_fail(error, "memory for the type table was refused")) &&
      of_image(heap, crd_image_enter, error) && init_nursery(heap, error) && of_image(heap, crd_image_settle, error)) {
    crd_other_heaps_enter(heap);
    crd_world_leave(&heap->space);
    return heap;
  }
  destroy(heap);
  return NULL;
}

void cradle_heap_free(cradle_heap *heap) {
  if (heap == NULL) return;
  crd_heap_enter(heap, "cradle_heap_free");
  if (heap->space.mutators != NULL) crd_misuse(heap, "cradle_heap_free: its mutator has not been freed");
  crd_image_fini(heap->image); /* with the weak sets that were not taken */
  heap->image = NULL;
  if (crd_weak_sets_exist(heap->space.services)) crd_misuse(heap, "cradle_heap_free: a weak set has not been freed");
  /* A stress run that moved nothing has tested nothing, and is reported. */
  crd_stress_judge(&heap->stress);
  destroy(heap);
}

const cradle_encoding *cradle_heap_encoding(const cradle_heap *heap) {
  return &heap->options.encoding;
}

static uint32_t add_checked(cradle_heap *heap, const cradle_type *type, const char *what) {
  const char *fault = crd_type_fault(type);
  uint32_t id = heap->space.types.count;
  if (fault != NULL) crd_misuse(heap, "%s: type %u (%s): %s", what, id, crd_show_name(type->name).buffer, fault);
  /* The new type may need lists of registered objects that do not exist yet. */
  crd_registry_close(&heap->space);
  if (add_type(heap, type)) return id;
  ASSERT(heap->space.types.count == id, "[type.3] a type that was not added has an id");
  crd_out_of_room(&heap->space, what, "type");
  return CRADLE_TYPE_ID_END;
}

/* The rows of a program are as long as type_size says; the kit's have no field that came later. */
uint32_t cradle_type_add(cradle_heap *heap, const cradle_type *row) {
  static const char what[] = "cradle_type_add";
  cradle_type type = crd_type_read(row, heap->options.type_size);
  crd_heap_enter(heap, what);
  crd_world_stop(&heap->space, what); /* allocation reads the table */
  uint32_t id = add_checked(heap, &type, what);
  crd_world_leave(&heap->space);
  return id;
}
