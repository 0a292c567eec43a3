/* The nursery: one block that is handed out by bumping free, emptied as a whole, and never unmapped in between.
 *
 * Its size follows the L2 cache: four times the L2, between 256 KiB and 32 MiB. docs/design/nursery.md holds the measurements
 * behind the rule. */
#include <string.h>

#include <cradle/new.h>

#include "gc/heap.h"
#include "gc/platform/pages.h"
#include "gc/sanitize.h"

#define HUGE_BYTES ARENA_BYTES
#define L2_MULTIPLE 4
#define CHOSEN_MIN_BYTES ((size_t)256 << 10)
#define CHOSEN_MAX_BYTES ((size_t)32 << 20)
/* A nursery smaller than this has slack behind its end, so that the largest nursery object always fits an empty one. */
#define FULL_MIN_BYTES (2 * CRADLE_NURSERY_OBJECT_MAX_BYTES)

size_t crd_nursery_choose(const cradle_options *options, const cradle_hardware *hardware, const char **reason) {
  *reason = "asked for";
  if (options->nursery_bytes != 0) return (options->nursery_bytes + 7) & ~(size_t)7;
  size_t bytes = hardware->l2_bytes * L2_MULTIPLE;
  *reason = "4 x L2";
  if (bytes > CHOSEN_MAX_BYTES) bytes = CHOSEN_MAX_BYTES, *reason = "4 x L2, cut to 32 MiB";
  if (bytes < CHOSEN_MIN_BYTES) bytes = CHOSEN_MIN_BYTES, *reason = "4 x L2, raised to 256 KiB";
  return bytes & ~(size_t)7;
}

static bool commit(cradle_heap *heap, void *base, size_t bytes) {
  bool pool = heap->options.hugepages_nursery == CRADLE_HUGEPAGES_HUGETLB ||
              heap->options.hugepages_nursery == CRADLE_HUGEPAGES_1G;
  size_t pool_page = heap->hardware.pool_page_bytes;
  if (pool && pool_page != 0 && bytes % pool_page == 0 && crd_pages_commit_pool(base, bytes, pool_page)) return true;
  heap->nursery.pool_refused = pool;
  return crd_pages_commit(base, bytes);
}

bool crd_nursery_init(cradle_heap *heap, size_t bytes) {
  crd_nursery *nursery = &heap->nursery;
  size_t full = bytes < FULL_MIN_BYTES ? FULL_MIN_BYTES : bytes;
  size_t mapped = (full + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1);
  char *base = crd_pages_reserve(mapped, HUGE_BYTES, NULL);
  if (base == NULL) return false;
  crd_pages_advise_huge(base, mapped, heap->options.hugepages_nursery != CRADLE_HUGEPAGES_OFF);
  if (!commit(heap, base, mapped)) {
    crd_pages_unreserve(base, mapped);
    return false;
  }
  crd_pages_name(base, mapped, "cradle nursery");
  nursery->start = nursery->end = nursery->slack_end = base;
  nursery->bytes = bytes;
  nursery->full_bytes = full;
  nursery->mapped_bytes = mapped;
  sanitize_unused(base, mapped);
  return true;
}

void crd_nursery_fini(cradle_heap *heap) {
  crd_nursery *nursery = &heap->nursery;
  if (nursery->start == NULL) return;
  sanitize_used(nursery->start, nursery->mapped_bytes);
  crd_pages_unreserve(nursery->start, nursery->mapped_bytes);
  nursery->start = NULL;
}

/* How many bytes can be handed out so that all of them can be promoted [heap.2]. */
static size_t secure(cradle_heap *heap) {
  crd_old *old = &heap->old;
  uint32_t wanted = crd_old_arenas_for(old, heap->nursery.full_bytes);
  if (crd_arenas_ensure_free(&old->arenas, wanted)) {
    old->reserve = wanted;
    return heap->nursery.full_bytes;
  }
  size_t bytes = crd_old_nursery_for(old, old->arenas.free_count);
  if (bytes > heap->nursery.full_bytes) bytes = heap->nursery.full_bytes;
  old->reserve = bytes == 0 ? 0 : crd_old_arenas_for(old, bytes);
  return bytes;
}

/* The pool of huge pages runs dry once; that the arenas fall back is said once. */
static void note_pool(cradle_heap *heap) {
  uint32_t refused = heap->old.arenas.pool_refusals;
  if (CRADLE_LIKELY(refused == 0) || heap->pool_noted) return;
  heap->pool_noted = true;
  crd_event_note(heap, "the huge-page pool refused arenas: transparent huge pages instead", refused, 0);
}

void crd_nursery_reset(cradle_heap *heap) {
  crd_nursery *nursery = &heap->nursery;
  char *previous_end = nursery->end;
  size_t bytes = secure(heap);
  note_pool(heap);
  nursery->slack_end = nursery->start + bytes;
  nursery->end = bytes < nursery->bytes ? nursery->slack_end : nursery->start + nursery->bytes;
  if (nursery->end < previous_end)
    crd_event_note(heap, "the promotion reserve was refused: the nursery's end is lowered", nursery->bytes, bytes);
  if (heap->mutator != NULL) {
    char *filled = heap->mutator->public.free;
    if (heap->options.stress_period != 0)
      for (cradle_word *word = (cradle_word *)nursery->start; word < (cradle_word *)filled; word++) *word = POISON_NURSERY;
    sanitize_unused(nursery->start, (size_t)(filled - nursery->start));
    crd_sample_rewind(&heap->sampling, (size_t)(filled - nursery->start));
    heap->mutator->public.free = nursery->start;
    heap->mutator->public.reserved_end = NULL;
  }
  crd_nursery_set_top(heap);
}

static char *lowest_of(char *end, uintptr_t point) {
  return point < (uintptr_t)end ? (char *)point : end;
}

void crd_nursery_set_top(cradle_heap *heap) {
  if (heap->mutator == NULL) return;
  cradle_mutator *mutator = &heap->mutator->public;
  bool slow = heap->options.stress_period != 0 || mutator->no_collect_depth != 0 || heap->state != HEAP_MUTATING;
  __atomic_store_n(&mutator->top, slow ? NULL : lowest_of(heap->nursery.end, heap->sampling.point), __ATOMIC_SEQ_CST);
  /* A request stores its flag before it lowers top: whichever store of top came last, the flag is seen. */
  if (__atomic_load_n(&heap->pending_request, __ATOMIC_SEQ_CST)) __atomic_store_n(&mutator->top, NULL, __ATOMIC_SEQ_CST);
}
