/* The heap's life: options are checked, modules are made in order and unmade in the reverse. */
#include "gc/heap.h"

#include <stdlib.h>
#include <string.h>

#include "gc/check.h"
#include "gc/platform/hardware.h"
#include "gc/platform/pages.h"
#include "gc/registry.h"

#define RESERVE_DEFAULT_BYTES ((size_t)64 << 30)
#define SHADOW_STACK_DEFAULT_BYTES ((size_t)64 << 20)
#define PAUSE_DEFAULT_NS UINT64_C(2000000)
/* Address space of one kind that can be asked for. */
#define ADDRESS_MAX_BYTES ((size_t)8 << 40)
#define PAGE_MIN_BYTES ((size_t)4 << 10)
#define REMEMBERED_MAX_BYTES ((size_t)64 << 20)
/* More stores than this into large arrays between two minor collections: the arrays are looked at as a whole. */
#define RECORDED_MAX_BYTES ((size_t)32 << 20)
#define MARK_STACK_MAX_BYTES ((size_t)64 << 20)
/* A share of a cgroup's memory below this and two nurseries is no room for a heap, and is not made its maximum. */
#define GROUP_MIN_BYTES ((size_t)16 << 20)

uint32_t cradle_version(void) {
  return CRADLE_VERSION;
}

void cradle_options_init_sized(cradle_options *options, uint32_t version, size_t size, size_t type_size) {
  memset(options, 0, size);
  options->version = version;
  options->size = (uint32_t)size;
  if (size != sizeof *options) return; /* another version's structure: heap creation will say so */
  options->type_size = type_size;
  options->encoding = cradle_encoding_plain();
  options->reserve_bytes = RESERVE_DEFAULT_BYTES;
  options->shadow_stack_bytes = SHADOW_STACK_DEFAULT_BYTES;
  options->major_factor = 1.82;
  options->major_growth = 1.4;
  options->pause_ns = PAUSE_DEFAULT_NS;
  options->sampler.interval_bytes = CRADLE_SAMPLE_DEFAULT_BYTES;
}

/* --- what may be wrong with the options --- */

static const char *version_fault(const cradle_options *options) {
  if (options == NULL) return "options: NULL";
  if (options->version / 100 != CRADLE_VERSION / 100 || options->size != sizeof *options)
    return "options: made by another version of the headers than this library, or not by cradle_options_init";
  if (options->type_count != 0 && options->types == NULL) return "types: NULL, but type_count is not 0";
  if (options->type_size != sizeof(cradle_type)) return "type_size: cradle_type of another version of the headers";
  return NULL;
}

static const char *size_fault(const cradle_options *options) {
  if (options->nursery_bytes != 0 &&
      (options->nursery_bytes < CRADLE_NURSERY_MIN_BYTES || options->nursery_bytes > CRADLE_NURSERY_MAX_BYTES))
    return "nursery_bytes: accepted are 4 KiB to 1 GiB, or 0 for a size from the L2 cache";
  if (options->reserve_bytes < ((size_t)16 << 20) || options->reserve_bytes > ADDRESS_MAX_BYTES)
    return "reserve_bytes: accepted are 16 MiB to 8 TiB";
  if (options->shadow_stack_bytes < ((size_t)4 << 10) || options->shadow_stack_bytes > ADDRESS_MAX_BYTES)
    return "shadow_stack_bytes: accepted are 4 KiB to 8 TiB";
  if (options->heap_max_bytes != 0 && options->major_min_bytes > options->heap_max_bytes)
    return "major_min_bytes is above heap_max_bytes";
  return NULL;
}

/* 0 is none. */
static bool is_page_or_none(size_t bytes, const cradle_hardware *hardware) {
  return bytes == 0 || (bytes >= hardware->page_bytes && (bytes & (bytes - 1)) == 0);
}

static const char *hardware_fault(const cradle_hardware *hardware) {
  if (hardware == NULL) return NULL;
  size_t page = hardware->page_bytes;
  if (page < PAGE_MIN_BYTES || page > ARENA_BYTES || (page & (page - 1)) != 0)
    return "hardware.page_bytes: accepted are powers of two from 4 KiB to 2 MiB";
  if (!is_page_or_none(hardware->thp_page_bytes, hardware))
    return "hardware.thp_page_bytes: accepted are powers of two from page_bytes on, or 0";
  if (!is_page_or_none(hardware->pool_page_bytes, hardware))
    return "hardware.pool_page_bytes: accepted are powers of two from page_bytes on, or 0";
  if ((unsigned)hardware->thp_mode > CRADLE_THP_ALWAYS) return "hardware.thp_mode: no cradle_thp_mode";
  return NULL;
}

static bool is_factor(double factor) {
  return factor > 1.0 && factor <= CRADLE_FACTOR_MAX;
}

static const char *choice_fault(const cradle_options *options) {
  if (!is_factor(options->major_factor)) return "major_factor: accepted are numbers above 1, at most 1000";
  if (!is_factor(options->major_growth)) return "major_growth: accepted are numbers above 1, at most 1000";
  if ((unsigned)options->hugepages_nursery > CRADLE_HUGEPAGES_1G_STRICT) return "hugepages_nursery: no cradle_hugepages";
  if ((unsigned)options->hugepages_arenas > CRADLE_HUGEPAGES_1G_STRICT) return "hugepages_arenas: no cradle_hugepages";
  if ((unsigned)options->shadow_stack > CRADLE_KIND_VALUE) return "shadow_stack: no cradle_kind";
  if ((unsigned)options->fault_report > CRADLE_FAULTS_OWN_STACK) return "fault_report: no cradle_fault_report";
  const char *fault = crd_stress_fault(options);
  if (fault == NULL) fault = crd_quarantine_fault(options);
  if (fault == NULL) fault = crd_sampler_fault(&options->sampler);
  if (fault == NULL) fault = hardware_fault(options->hardware);
  return fault != NULL ? fault : crd_encoding_fault(&options->encoding);
}

bool crd_fail(cradle_error *error, const char *message) {
  if (error == NULL) return false;
  crd_text text = {.length = 0};
  crd_text_add(&text, message);
  memcpy(error->message, text.buffer, sizeof error->message);
  return false;
}

static bool check_options(const cradle_options *options, cradle_error *error) {
  const char *fault = version_fault(options);
  if (fault == NULL) fault = size_fault(options);
  if (fault == NULL) fault = choice_fault(options);
  if (fault != NULL) return crd_fail(error, fault);
  for (size_t i = 0; i < options->type_count; i++) {
    fault = crd_type_fault(&options->types[i]);
    if (fault == NULL) continue;
    crd_text text = {.length = 0};
    crd_text_add(&text, "types[");
    crd_text_number(&text, i);
    crd_text_add(&text, "]: ");
    crd_text_add(&text, fault);
    return crd_fail(error, text.buffer);
  }
  return true;
}

/* --- making --- */

static bool init_types(cradle_heap *heap, cradle_error *error) {
  heap->plain_encoding = crd_encoding_is_plain(&heap->encoding);
  for (size_t i = 0; i < heap->options.type_count; i++)
    if (!crd_type_table_add(&heap->types, &heap->options.types[i], heap->plain_encoding, &heap->old.classes))
      return crd_fail(error, "memory for the type table was refused");
  return true;
}

/* How many arenas a maximum heap allows beside a nursery of so many bytes. */
static size_t arenas_within(const cradle_heap *heap, size_t max, size_t nursery_bytes) {
  if (max == 0) return heap->old.arenas.capacity;
  size_t arenas = max > nursery_bytes ? (max - nursery_bytes) >> ARENA_SHIFT : 0;
  return arenas < heap->old.arenas.capacity ? arenas : heap->old.arenas.capacity;
}

static size_t most_arenas(const cradle_heap *heap, size_t nursery_bytes) {
  return arenas_within(heap, heap->options.heap_max_bytes, nursery_bytes);
}

size_t crd_heap_arenas_within(const cradle_heap *heap, size_t max) {
  return arenas_within(heap, max, heap->nursery.bytes);
}

bool crd_heap_nursery_fits(const cradle_heap *heap, size_t nursery_bytes) {
  return heap->old.arenas.committed_count + crd_old_arenas_for(&heap->old, nursery_bytes) <= most_arenas(heap, nursery_bytes);
}

uint64_t crd_heap_threshold_max(const cradle_heap *heap) {
  size_t max = heap->options.heap_max_bytes;
  if (max == 0) return 0;
  return (max < COUNTED_MAX_BYTES ? max : COUNTED_MAX_BYTES) + heap->external_bytes;
}

void crd_heap_limit_arenas(cradle_heap *heap) {
  heap->old.arenas.limit = (uint32_t)most_arenas(heap, heap->nursery.bytes);
}

static bool check_maximum(cradle_heap *heap, cradle_error *error) {
  crd_heap_limit_arenas(heap);
  if (heap->old.arenas.limit >= 2) return true;
  crd_text text = {.length = 0};
  crd_text_add(&text, "heap_max_bytes: too small for the nursery and two arenas; at least ");
  crd_text_number(&text, heap->nursery.bytes + 2 * ARENA_BYTES);
  return crd_fail(error, text.buffer);
}

/* A cgroup that runs out of memory is killed without a word, so a heap without a maximum gets one. */
static void respect_group(cradle_heap *heap) {
  const char *reason;
  size_t bytes = heap->hardware.group_bytes / 4 * 3, nursery = crd_nursery_choose(&heap->options, &heap->hardware, &reason);
  if (heap->options.heap_max_bytes != 0 || bytes < 2 * nursery + GROUP_MIN_BYTES) return;
  heap->options.heap_max_bytes = bytes;
  if (heap->options.major_min_bytes > bytes) heap->options.major_min_bytes = bytes;
}

/* Where the system gave less address space than was asked for, the stacks take an eighth of what the old generation has. */
static size_t stack_bytes(const cradle_heap *heap, size_t most) {
  if (heap->old.arenas.bytes >= heap->options.reserve_bytes) return most;
  size_t bytes = heap->old.arenas.bytes / 8;
  return bytes < most ? bytes : most;
}

static bool init_memory(cradle_heap *heap, cradle_error *error) {
  size_t page = heap->hardware.page_bytes;
  if (!crd_old_init(&heap->old, &heap->options, &heap->hardware))
    return crd_fail(error, "address space for the old generation was refused (reserve_bytes, RLIMIT_AS)");
  if (!crd_word_stack_init(&heap->remembered, stack_bytes(heap, REMEMBERED_MAX_BYTES), page, "cradle remembered set") ||
      !crd_word_stack_init(&heap->recorded, stack_bytes(heap, RECORDED_MAX_BYTES), page, "cradle recorded slots") ||
      !crd_word_stack_init(&heap->mark_stack, stack_bytes(heap, MARK_STACK_MAX_BYTES), page, "cradle mark stack"))
    return crd_fail(error, "address space for the collector's stacks was refused");
  /* Marking without any room looks at the whole heap for each object: what it begins with is there before it is needed. */
  if (!crd_word_stack_grow(&heap->mark_stack)) return crd_fail(error, "memory for the mark stack was refused");
  return true;
}

/* Where the maximum is not what the program asked for, or cannot be reached. */
static void note_maximum(cradle_heap *heap) {
  size_t max = heap->options.heap_max_bytes;
  if (max != 0 && max == heap->hardware.group_bytes / 4 * 3)
    crd_event_note(heap, "the maximum heap is three quarters of the cgroup's memory", heap->hardware.group_bytes, max);
  if (max > heap->nursery.bytes && max - heap->nursery.bytes > heap->old.arenas.bytes)
    crd_event_note(heap, "the maximum heap cannot be reached: the address space for the old generation is smaller", max,
                   heap->old.arenas.bytes);
}

static void send_created(cradle_heap *heap, const char *nursery_reason) {
  cradle_event created = {.kind = CRADLE_EVENT_HEAP_CREATED,
                          .u.heap = {&heap->hardware, heap->old.arenas.base, (uintptr_t)heap->nursery.start,
                                     heap->old.arenas.bytes}};
  cradle_event sized = {.kind = CRADLE_EVENT_NURSERY_SIZED, .u.nursery = {heap->nursery.bytes, 0, nursery_reason}};
  heap->announced = true;
  crd_event_send(heap, &created);
  crd_event_send(heap, &sized);
  if (heap->old.arenas.bytes < heap->options.reserve_bytes)
    crd_event_note(heap, "the address space reserved for the old generation is smaller than asked for",
                   heap->options.reserve_bytes, heap->old.arenas.bytes);
  if (heap->nursery.backing.pool && heap->nursery.pool_bytes == 0)
    crd_event_note(heap, "the huge-page pool refused the nursery: transparent huge pages instead",
                   heap->nursery.committed_bytes, 0);
  note_maximum(heap);
  const char *doubt = crd_backing_doubt(&heap->nursery.backing, &heap->hardware);
  if (doubt == NULL) doubt = crd_backing_doubt(&heap->old.arenas.backing, &heap->hardware);
  if (doubt != NULL) crd_event_note(heap, doubt, heap->hardware.thp_page_bytes, heap->hardware.page_bytes);
}

/* "hugepages_nursery: strictly ... " */
static bool fail_pool(const cradle_heap *heap, const char *option, size_t wanted, size_t got, cradle_error *error) {
  crd_text text = {.length = 0};
  crd_text_add(&text, option);
  crd_text_add(&text, ": strict, but the pool of huge pages gave ");
  crd_text_number(&text, got);
  crd_text_add(&text, " of the ");
  crd_text_number(&text, wanted);
  crd_text_add(&text, " bytes that the heap starts with (pool page ");
  crd_text_number(&text, heap->hardware.pool_page_bytes);
  crd_text_add(&text, " bytes, ");
  crd_text_number(&text, heap->hardware.pool_pages_free);
  crd_text_add(&text, " free; vm.nr_hugepages); without \"!\" transparent huge pages serve instead");
  return crd_fail(error, text.buffer);
}

static bool check_pool(const cradle_heap *heap, cradle_error *error) {
  const crd_nursery *nursery = &heap->nursery;
  const crd_arenas *arenas = &heap->old.arenas;
  if (nursery->backing.strict && nursery->pool_bytes == 0)
    return fail_pool(heap, "hugepages_nursery", nursery->committed_bytes, 0, error);
  if (arenas->backing.strict && arenas->pool_count < arenas->committed_count)
    return fail_pool(heap, "hugepages_arenas", arenas->committed_count * ARENA_BYTES, arenas->pool_count * ARENA_BYTES,
                     error);
  return true;
}

static bool init_nursery(cradle_heap *heap, cradle_error *error) {
  const char *reason;
  size_t bytes = crd_nursery_choose(&heap->options, &heap->hardware, &reason);
  heap->nursery.bytes = bytes;
  crd_adapt_init(heap);
  if (!crd_nursery_init(heap, bytes, heap->adapt.max))
    return crd_fail(error, heap->options.quarantine == 0 ? "memory for the nursery was refused"
                                                     : "memory for the nurseries of the quarantine was refused, or above 64 GiB");
  send_created(heap, reason);
  crd_pacing_init(&heap->pacing, &heap->options, &heap->hardware, bytes);
  heap->compact_backoff = 1;
  if (!check_maximum(heap, error)) return false;
  crd_sampling_init(heap);
  crd_nursery_reset(heap);
  if (heap->nursery.slack_end == heap->nursery.start) return crd_fail(error, "memory for the promotion reserve was refused");
  return check_pool(heap, error);
}

/* What the program did not end is said; it costs nothing but the memory that it held until now. */
static void note_unended(cradle_heap *heap) {
  if (heap->pins.count != 0) crd_event_note(heap, "objects are still pinned as their heap is freed", 0, heap->pins.count);
  if (heap->handles.open_count != 0)
    crd_event_note(heap, "handles are still open as their heap is freed", 0, heap->handles.open_count);
}

static void destroy(cradle_heap *heap) {
  note_unended(heap);
  crd_registry_fini(heap);
  crd_prebuilts_fini(heap);
  crd_handles_fini(&heap->handles);
  crd_pins_fini(&heap->pins);
  crd_ids_fini(&heap->ids);
  if (heap->announced) crd_event_arenas(heap, true);
  crd_nursery_fini(heap);
  crd_word_stack_fini(&heap->mark_stack);
  crd_word_stack_fini(&heap->recorded);
  crd_word_stack_fini(&heap->remembered);
  crd_old_fini(&heap->old);
  crd_type_table_fini(&heap->types);
  free(heap->globals);
  crd_sampling_fini(heap);
  if (heap->announced) crd_event_simple(heap, CRADLE_EVENT_HEAP_DESTROYED);
  free(heap);
}

cradle_heap *cradle_heap_new(const cradle_options *options, cradle_error *error) {
  if (error != NULL) error->message[0] = '\0';
  if (!check_options(options, error)) return NULL;
  cradle_heap *heap = calloc(1, sizeof *heap);
  if (heap == NULL) {
    crd_fail(error, "memory for the heap's structure was refused");
    return NULL;
  }
  heap->options = *options;
  heap->encoding = options->encoding;
  crd_handles_init(&heap->handles);
  crd_ids_init(&heap->ids);
  crd_stress_init(heap);
  if (options->hardware != NULL)
    heap->hardware = *options->hardware;
  else
    crd_hardware_detect(&heap->hardware);
  respect_group(heap);
  if (init_memory(heap, error) && init_types(heap, error) && init_nursery(heap, error)) return heap;
  destroy(heap);
  return NULL;
}

void cradle_heap_free(cradle_heap *heap) {
  if (heap == NULL) return;
  heap_check(heap, "cradle_heap_free");
  if (heap->mutator != NULL) crd_misuse(heap, "cradle_heap_free: its mutator has not been freed");
  if (crd_registry_has_sets(heap)) crd_misuse(heap, "cradle_heap_free: a weak set has not been freed");
  crd_stress_judge(heap);
  destroy(heap);
}
