#include "gc/young/nursery.h"

#include <string.h>

#include "gc/base/sanitizers.h"
#include "gc/instruments/quarantine.h"
#include "gc/instruments/sample.h"
#include "gc/instruments/stress.h"
#include "gc/old/arena_memory.h"
#include "gc/old/marking.h"
#include "gc/platform/limits.h"
#include "gc/platform/pages.h"
#include "gc/young/chunks.h"
#include "gc/young/young.h"

#define HUGE_BYTES ARENA_BYTES
/* About what a small program allocates. Its first touch on base pages costs about as much as a huge page
 * (docs/design/pages.md). */
#define LEAD_BYTES ((size_t)256 << 10)
/* Where address space is limited, the room to grow takes at most one part in so many of what is left. */
#define ADDRESS_PARTS 8
#define L2_MULTIPLE 4
#define CHOSEN_MIN_BYTES ((size_t)256 << 10)
#define MAXIMUM_SHARE 8
/* The most without a pause target. */
#define FAR_MAX_BYTES ((size_t)128 << 20)
/* The share is a multiple of this, so that halving the nursery stays exact as long as it may be halved. */
#define SHARE_STEP_BYTES ((size_t)4 << 10)
/* Likewise for a nursery that is never collected. If the system refuses it, half of it is tried, and so on. */
#define UNCOLLECTED_STEP_BYTES ((size_t)64 << 10)
/* What a nursery that is never collected leaves of the maximum heap. */
#define UNCOLLECTED_ARENAS_BYTES (2 * ARENA_BYTES)
/* docs/design/fast-path.md has the reason for these numbers. */
#define FIRST_LOOKS 1000
#define LOOK_EVERY_BYTES ((size_t)1 << 20)
/* A smaller nursery has slack behind its end, so that the largest nursery object always fits an empty one. */
#define FULL_MIN_BYTES (2 * CRADLE_NURSERY_OBJECT_MAX_BYTES)

size_t crd_nursery_most(const cradle_options *options) {
  size_t most = options->pause_ns == 0 ? FAR_MAX_BYTES : CRADLE_NURSERY_CHOSEN_MAX_BYTES;
  size_t max = options->heap_max_bytes;
  if (max != 0 && max / MAXIMUM_SHARE < most) most = align_down(max / MAXIMUM_SHARE, SHARE_STEP_BYTES);
  size_t each = CRADLE_QUARANTINE_MAX_BYTES / (options->quarantine + 2) & ~(ARENA_BYTES - 1); /* whole pages */
  return each < most ? each : most;
}

/* Where collection is off: three quarters of the maximum heap or of the memory; large objects have the rest. */
static size_t choose_uncollected(const cradle_options *options, const cradle_hardware *hardware, const char **reason) {
  size_t room = options->heap_max_bytes != 0 ? options->heap_max_bytes : hardware->memory_bytes;
  *reason = "collection is off";
  if (room == 0) return CRADLE_NURSERY_MAX_BYTES;
  size_t rest = room - room / 4 * 3;
  if (rest < UNCOLLECTED_ARENAS_BYTES) rest = UNCOLLECTED_ARENAS_BYTES; /* the maximum is 5 MiB at least */
  return align_down(room - rest, UNCOLLECTED_STEP_BYTES);
}

size_t crd_nursery_choose(const cradle_options *options, const cradle_hardware *hardware, const char **reason) {
  *reason = "asked for";
  if (options->nursery_bytes != 0) return (options->nursery_bytes + 7) & ~(size_t)7;
  if (options->gc == CRADLE_GC_OFF) return choose_uncollected(options, hardware, reason);
  bool is_cut = hardware->l2_bytes > CRADLE_NURSERY_CHOSEN_MAX_BYTES / L2_MULTIPLE;
  size_t bytes = is_cut ? CRADLE_NURSERY_CHOSEN_MAX_BYTES : hardware->l2_bytes * L2_MULTIPLE;
  *reason = is_cut ? "4 x L2, cut to 32 MiB" : "4 x L2";
  if (bytes < CHOSEN_MIN_BYTES) bytes = CHOSEN_MIN_BYTES, *reason = "4 x L2, raised to 256 KiB";
  size_t most = crd_nursery_most(options);
  if (bytes > most) bytes = most, *reason = "4 x L2, cut to its share of the maximum heap or of the quarantine";
  return bytes & ~(size_t)7;
}

/* From the pool if the policy asks for it and all of the nursery came from it so far: what came from it is one piece
 * from the start on (pool_bytes), because it must not be dropped. */
static bool commit(crd_nursery *nursery, void *base, size_t bytes) {
  ASSERT(bytes != 0 && (address_of(base) + bytes) % HUGE_BYTES == 0,
         "[pages.1], [nursery.5] a part of a huge page is committed");
  size_t pool_page = nursery->backing.pool_page_bytes;
  bool pool = pool_page != 0 && nursery->pool_bytes == nursery->committed_bytes;
  if (pool && crd_pages_commit_pool(base, bytes, pool_page)) {
    nursery->pool_bytes += bytes;
  } else {
    if (pool) crd_pages_advise_huge(base, bytes, nursery->backing.transparent); /* the mapping may have changed */
    if (!crd_pages_commit(base, bytes)) return false;
  }
  nursery->committed_bytes += bytes;
  return true;
}

/* The bytes to commit for a nursery of so many: the lead and whole huge pages. */
static size_t whole_pages(const crd_nursery *nursery, size_t bytes) {
  size_t lead = nursery->lead_bytes;
  return bytes <= lead ? lead : lead + align_up(bytes - lead, HUGE_BYTES);
}

/* Address space below start: the rest of the lead's huge page. */
static size_t head_bytes(const crd_nursery *nursery) {
  return nursery->lead_bytes == 0 ? 0 : HUGE_BYTES - nursery->lead_bytes;
}

/* How many bytes are handed out at most, slack included. */
static size_t full_bytes(size_t bytes) {
  return bytes < FULL_MIN_BYTES ? FULL_MIN_BYTES : bytes;
}

static void begin_at(crd_space *space, char *base) {
  crd_nursery *nursery = &space->nursery;
  crd_local *local = &space->locals; /* there are no others yet */
  nursery->start = nursery->end = nursery->slack_end = base;
  local->start = local->end = local->left = local->look = base;
  local->first_looks = FIRST_LOOKS;
}

/* Under quarantine the nursery is a window that moves through a larger block. */
static bool init_quarantined(crd_young *young) {
  crd_nursery *nursery = &young->space->nursery;
  char *base = crd_quarantine_init(young->quarantine, young->space, full_bytes(nursery->bytes));
  if (base == NULL) return false;
  nursery->backing = crd_backing_choose(CRADLE_HUGEPAGES_OFF, young->space->hardware);
  begin_at(young->space, base);
  nursery->reserved_bytes = nursery->committed_bytes =
      young->quarantine->bytes / (young->space->options->quarantine + 2);
  sanitize_pool_begin(young->space->report);
  return true;
}

/* Nothing is populated (docs/design/pages.md). If address space for the largest size is refused, the nursery gets only
 * what it needs now, and cannot grow. */
bool crd_nursery_init(crd_young *young, size_t max) {
  if (young->space->options->quarantine != 0) return init_quarantined(young);
  crd_nursery *nursery = &young->space->nursery;
  nursery->backing = crd_backing_choose(young->space->options->hugepages_nursery, young->space->hardware);
  nursery->lead_bytes = nursery->backing.transparent && !nursery->backing.pool ? LEAD_BYTES : 0;
  size_t head = head_bytes(nursery), committed = whole_pages(nursery, full_bytes(nursery->bytes));
  size_t reserved = whole_pages(nursery, crd_limits_share(full_bytes(max), ADDRESS_PARTS, false));
  if (reserved < committed) reserved = committed;
  size_t pool_page = nursery->backing.pool_page_bytes;
  /* All of it at once, where the pool gives nothing less: such a nursery never grows. */
  char *place = pool_page != 0 ? crd_pages_reserve_pool(committed, pool_page) : NULL;
  if (place != NULL) reserved = nursery->pool_bytes = nursery->committed_bytes = committed;
  if (place == NULL) place = crd_pages_reserve(head + reserved, HUGE_BYTES, NULL);
  if (place == NULL && reserved > committed) place = crd_pages_reserve(head + (reserved = committed), HUGE_BYTES, NULL);
  if (place == NULL) return false;
  char *base = place + head;
  crd_pages_advise_huge(base, reserved, nursery->backing.transparent);
  if (nursery->committed_bytes == 0 && !commit(nursery, base, committed)) {
    crd_pages_unreserve(place, head + reserved);
    return false;
  }
  crd_pages_name(base, reserved, NURSERY_NAME);
  begin_at(young->space, base);
  nursery->reserved_bytes = reserved;
  sanitize_unused(base, committed);
  sanitize_pool_begin(young->space->report);
  return true;
}

bool crd_nursery_resize(crd_young *young, size_t bytes, const char *reason) {
  crd_nursery *nursery = &young->space->nursery;
  ASSERT(nursery_filled(young->space) == 0, "[nursery.3] a nursery that is not empty changes its size");
  size_t wanted = whole_pages(nursery, full_bytes(bytes)), committed = nursery->committed_bytes,
         before = nursery->bytes;
  if (wanted > nursery->reserved_bytes || (bytes > before && !crd_space_nursery_fits(young->space, bytes)))
    return false;
  if (wanted > committed) {
    if (nursery->backing.strict || !commit(nursery, nursery->start + committed, wanted - committed)) return false;
    sanitize_unused(nursery->start + committed, wanted - committed);
  }
  nursery->bytes = bytes;
  /* What the nursery gives up belongs to the arenas now, so its pages must be gone. */
  if (bytes < before && young->space->options->heap_max_bytes != 0) crd_nursery_discard(young, false);
  crd_space_limit_arenas(young->space);
  if (event_wanted(young->space->report)) {
    crd_text lives = {.length = 0};
    crd_curve_write(&young->marking->curve, &lives);
    crd_event_send(young->space->report,
                   &(cradle_event){.kind = CRADLE_EVENT_NURSERY_SIZED,
                                   .u.nursery = {bytes, before, reason, lives.length == 0 ? NULL : lives.buffer}});
  }
  return true;
}

/* Pages of the reserved pool stay: before Linux 6.10, a dropped page loses its reservation, so the pool may have no
 * page when the place is touched again, and the kernel kills the process. */
void crd_nursery_discard(crd_young *young, bool whole) {
  const crd_nursery *nursery = &young->space->nursery;
  size_t from = whole ? 0 : whole_pages(nursery, full_bytes(nursery->bytes));
  if (from < nursery->pool_bytes) from = nursery->pool_bytes;
  if (quarantine_is_on(young->quarantine) || from >= nursery->committed_bytes) return;
  (void)crd_pages_discard(nursery->start + from, nursery->committed_bytes - from); /* refused: the old pages stay */
}

void crd_nursery_fini(crd_young *young) {
  crd_nursery *nursery = &young->space->nursery;
  if (nursery->start == NULL) return;
  sanitize_pool_end(young->space->report);
  if (quarantine_is_on(young->quarantine)) {
    crd_quarantine_fini(young->quarantine);
    return;
  }
  sanitize_used(nursery->start, nursery->committed_bytes);
  crd_pages_unreserve(nursery->start - head_bytes(nursery), head_bytes(nursery) + nursery->reserved_bytes);
}

/* How many bytes can be handed out: all of them can be promoted [heap.2], even if everything survives. */
static size_t secure(crd_young *young) {
  crd_old *old = &young->space->old;
  size_t full = full_bytes(young->space->nursery.bytes);
  if (collection_is_off(young->space->options)) return full;
  uint32_t wanted = crd_old_arenas_for(old, full);
  if (CRADLE_LIKELY(old->arenas.free_count >= wanted) || crd_arenas_ensure_free(&old->arenas, wanted)) {
    old->reserve = wanted;
    return full;
  }
  size_t bytes = crd_old_nursery_for(old, old->arenas.free_count);
  if (bytes > full) bytes = full;
  old->reserve = bytes == 0 ? 0 : crd_old_arenas_for(old, bytes);
  ASSERT(old->reserve <= old->arenas.free_count, "[nursery.2] the promotion reserve is not there");
  return bytes;
}

/* Reports once that the pool ran dry. */
static void note_pool(crd_young *young) {
  const crd_arenas *arenas = &young->space->old.arenas;
  if (CRADLE_LIKELY(arenas->pool_refusals == 0) || young->space->nursery.pool_noted) return;
  young->space->nursery.pool_noted = true;
  crd_event_note(young->space->report,
                 arenas->backing.transparent ? "the huge-page pool refused arenas: transparent huge pages instead"
                                             : "the huge-page pool refused arenas: base pages instead",
                 arenas->pool_refusals, 0);
}

/* The first allocations of a heap are looked at one by one, later ones once in a MiB or for each sample. */
static void place_look(const crd_nursery *nursery, crd_local *local, char *free) {
  size_t every = nursery->sample_bytes != 0 ? nursery->sample_bytes : LOOK_EVERY_BYTES;
  local->look = local->first_looks != 0 ? free : free + every;
}

static void drop_piece(const crd_young *young, char *start, char *filled) {
  ASSERT(start <= filled && filled <= young->space->nursery.slack_end,
         "[nursery.1] free lies outside of what was handed out");
  if (stress_is_on(young->space->options)) poison_words(words_of(start), (size_t)(filled - start) / 8, POISON_NURSERY);
  sanitize_unused(start, (size_t)(filled - start));
}

/* What was filled is made inaccessible, and the quarantine's window moves on. false: the system refuses, or nothing was
 * filled. */
static bool advance(crd_young *young, char *filled) {
  crd_nursery *nursery = &young->space->nursery;
  char *start = nursery->start;
  if (filled == start || !crd_quarantine_advance(young->quarantine, young->space, filled)) return false;
  nursery->end += nursery->start - start;
  nursery->slack_end += nursery->start - start;
  return true;
}

/* Without a quarantine the same memory is used again. */
static CRADLE_NOINLINE void drop_filled(crd_young *young, crd_local *local, char *filled) {
  char *start = local->start;
  if (!(quarantine_is_on(young->quarantine) && advance(young, filled))) drop_piece(young, start, filled);
  local->start = young->space->nursery.start;
  local_move(local, local->start);
}

/* The same for a shared heap. Cutting its chunks moves what each mutator has to the start. */
static CRADLE_NOINLINE void drop_shared(crd_young *young) {
  crd_chunks *chunks = young->space->chunks;
  char *filled = young->space->nursery.start + nursery_extent(young->space);
  bool moved = quarantine_is_on(young->quarantine) && advance(young, filled);
  for (uint32_t i = 0; i < chunks->piece_count && !moved; i++)
    drop_piece(young, chunks->pieces[i].start, chunks->pieces[i].end);
  chunks->users = 0;
  for (EACH_LOCAL(local, young->space)) {
    chunks->users += local_filled(local) != 0;
    local->emptied_bytes += local_filled(local);
    if (!moved) drop_piece(young, local->start, *local->free);
  }
  for (EACH_MUTATOR(mutator, young->space)) mutator->public.reserved_end = NULL;
  crd_chunks_cut(young->space);
  sanitize_pool_emptied(young->space->report);
}

/* Whatever is in the nursery of a heap that is not shared is in the chunk that its mutator has [local.2]. */
void crd_nursery_empty(crd_young *young) {
  if (space_is_shared(young->space)) {
    drop_shared(young);
    return;
  }
  for (EACH_MUTATOR(mutator, young->space)) {
    crd_local *local = mutator->local;
    char *filled = mutator->public.free;
    if (filled != local->start) drop_filled(young, local, filled);
    mutator->public.free = local->start;
    place_look(&young->space->nursery, local, local->start);
    mutator->public.reserved_end = NULL; /* a reservation does not outlast the nursery's contents */
  }
  sanitize_pool_emptied(young->space->report);
}

/* slack_end comes from what can be promoted; end from most, which the pause target may lower. */
void crd_nursery_hand_out(crd_young *young, size_t most) {
  crd_nursery *nursery = &young->space->nursery;
  ASSERT(nursery_filled(young->space) == 0, "[nursery.3] a nursery that is not empty is handed out");
  bool was_lowered = nursery->lowered;
  size_t bytes = secure(young);
  note_pool(young);
  nursery->slack_end = nursery->start + bytes;
  nursery->end = bytes < most ? nursery->slack_end : nursery->start + most;
  if (space_is_shared(young->space))
    crd_chunks_cut(young->space);
  else
    young->space->locals.end = nursery->end; /* one mutator has all of it [local.1] */
  nursery->lowered = bytes < nursery->bytes;
  /* Reported when it begins, not at each collection that it lasts. */
  if (nursery->lowered && !was_lowered)
    crd_event_note(young->space->report, "the promotion reserve was refused: the nursery's end is lowered",
                   nursery->bytes, bytes);
  ASSERT(nursery->start <= nursery->end && nursery->end <= nursery->slack_end &&
             nursery->slack_end <= nursery->start + nursery->committed_bytes,
         "[nursery.1]");
}

/* Samples stay at least sample_bytes apart, so that the table covers the whole nursery. */
static void note_sample(const crd_nursery *nursery, crd_local *local, uintptr_t address) {
  uint32_t count = local->sample_count;
  bool in_nursery = address - address_of(nursery->start) < nursery->bytes;
  if (nursery->sample_bytes == 0 || count == NURSERY_SAMPLES || !in_nursery) return;
  size_t at = local->earlier + (size_t)(address - address_of(local->start));
  if (count != 0 && at < local->sampled_at[count - 1] + nursery->sample_bytes) return;
  local->sampled_at[count] = at;
  local->samples[local->sample_count++] = address;
}

void crd_nursery_looked(crd_mutator *mutator, const void *object) {
  const crd_nursery *nursery = &mutator->space->nursery;
  crd_local *local = mutator->local;
  char *free = mutator->public.free;
  if (free <= local->look) return; /* the slow path was taken for another reason */
  if (local->first_looks != 0) local->first_looks--;
  note_sample(nursery, local, address_of(object));
  place_look(nursery, local, free);
  crd_nursery_set_top(mutator);
}

static void count_ages(crd_local *local, crd_curve *curve) {
  size_t filled = local_filled(local);
  for (uint32_t i = 0; i < local->sample_count; i++) {
    size_t offset = local->sampled_at[i];
    if (offset >= filled) break; /* the sample was in a reservation that was given back */
    uint64_t header = *object_at(local->samples[i]);
    crd_curve_note(curve, filled - offset, header_is_forwarded(header) ? header_forwarded_to(header) : 0);
  }
  local->sample_count = 0;
}

void crd_nursery_count_ages(crd_young *young, uint64_t filled) {
  young->marking->curve.allocated = young->space->report->stats.allocated_bytes + filled;
  for (EACH_LOCAL(local, young->space))
    if (local->sample_count != 0) count_ages(local, &young->marking->curve);
}

static char *lowest_of(const crd_local *local, uintptr_t point) {
  char *lowest = local->look < local->end ? local->look : local->end;
  return point < address_of(lowest) ? (char *)memory_at(point) : lowest;
}

CRD_ALWAYS_INLINE void set_top(crd_mutator *mutator) {
  const crd_local *local = mutator->local;
  cradle_mutator *public = &mutator->public;
  /* Nobody may use a mutator that does not run: its thread looks at the rest when it does, because the world may be
   * stopped. A stress point of 0 wants the next allocation. */
  if (__atomic_load_n(&mutator->state, __ATOMIC_RELAXED) != MUTATOR_RUNNING ||
      mutator->space->report->state != HEAP_MUTATING || public->no_collect_depth != 0 || local->stress.point == 0) {
    __atomic_store_n(&mutator->parked_top, NULL, __ATOMIC_RELAXED);
    __atomic_store_n(&public->top, NULL, __ATOMIC_SEQ_CST);
    return;
  }
  uintptr_t stress = local->stress.point, sample = local->sample.point;
  __atomic_store_n(&public->top, lowest_of(local, stress < sample ? stress : sample), __ATOMIC_SEQ_CST);
  /* A request from another thread stores its flag before it lowers top, and so does a stop. Whichever store to top came
   * last, the flag is seen here, so none is lost. */
  if (__atomic_load_n(&mutator->pending_request, __ATOMIC_SEQ_CST) || space_stops(mutator))
    __atomic_store_n(&public->top, NULL, __ATOMIC_SEQ_CST);
}

void crd_nursery_set_top(crd_mutator *mutator) {
  set_top(mutator);
}

void crd_nursery_set_tops(crd_young *young) {
  for (EACH_MUTATOR(mutator, young->space)) set_top(mutator);
}
