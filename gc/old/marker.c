#include "gc/old/marker.h"

#include "gc/old/mark.h"
#include "gc/old/marking.h"
#include "gc/old/supply.h"
#include "gc/platform/hardware.h"
#include "gc/platform/pages.h"

/* A heap that uses less than this when marking begins is not worth a thread. */
#define WORTH_BYTES ((uint64_t)8 << 20)
/* With CRADLE_GC_THREADS_AUTO, so much of the CPUs, and at most so many. */
#define AUTO_SHARE 4
#define AUTO_MOST 8
#define ASIDE_MAX_BYTES ((size_t)64 << 20)
#define SHADED_MAX_BYTES ((size_t)1 << 20)
#define LATE_RUNS_MAX_BYTES ((size_t)1 << 20)
/* A minor collection that promotes less, on average, is over before the thread would have begun. */
#define WORTH_A_ROUND_BYTES LIMIT((uint64_t)128 << 10, 1)
/* Looks at the word before the mutator sleeps until the round has ended: some ten microseconds. */
#define STOP_SPINS 4000

/* --- the thread --- */

static void run(crd_thread *self, void *data) {
  crd_marking *marking = data;
  crd_marker *marker = &marking->marker;
  for (;;) {
    uint32_t taken = rounds_take(&marker->word);
    if (taken == ROUND_END) return;
    if (taken == ROUND_TAKEN) {
      crd_mark_beside(marking);
      crd_thread_set(self, &marker->word, ROUND_IDLE);
    } else if (taken == ROUND_CALLED) {
      marker->help(marker->young);
    } else if (!crd_supply_next(&marking->old->arenas) && taken == ROUND_IDLE) {
      crd_thread_wait(self, &marker->word, ROUND_IDLE);
    }
  }
}

static uint32_t processors(const crd_marking *marking) {
  crd_hardware_learn(marking->space->hardware, marking->space->known_hardware, HARDWARE_PROCESSORS);
  return marking->space->hardware->processors;
}

/* Whether the options want a thread for this heap now. */
static bool is_wanted(const crd_marking *marking) {
  const cradle_options *options = marking->space->options;
  if (marking->marker.refused || options->gc == CRADLE_GC_OFF) return false;
  if (options->gc_threads != CRADLE_GC_THREADS_AUTO) return options->gc_threads != 0;
  if (options->stress_period != 0 || marking->old->used_bytes < WORTH_BYTES) return false;
  return processors(marking) > 1 && processors(marking) > crd_thread_count();
}

/* Makes the thread, and before it the stacks that only a heap with a thread needs. false: something was refused. */
static bool make(crd_marking *marking) {
  crd_marker *marker = &marking->marker;
  size_t page = marking->space->hardware->page_bytes;
  marker->word = ROUND_IDLE;
  if ((marker->aside.base == NULL && !crd_word_stack_init(&marker->aside, ASIDE_MAX_BYTES, page, "cradle put aside")) ||
      (marker->shaded.base == NULL && !crd_word_stack_init(&marker->shaded, SHADED_MAX_BYTES, page, "cradle shaded")))
    return false;
  /* Without it, minor collections open new spans in a round, and are none the worse for it. */
  if (marking->old->late_runs.base == NULL)
    (void)crd_word_stack_init(&marking->old->late_runs, LATE_RUNS_MAX_BYTES, page, "cradle late runs");
  marker->takes_turns = processors(marking) == 1;
  marker->made++;
  marker->thread = crd_thread_new("cradle-marker", run, marking);
  return marker->thread != NULL;
}

void crd_marker_begin(crd_marking *marking) {
  crd_marker *marker = &marking->marker;
  if (marker->thread != NULL || !is_wanted(marking) || make(marking)) return;
  marker->refused = true;
  crd_event_note(marking->space->report,
                 "the collector's thread could not be made: marking is done by the program's thread alone", 1, 0);
}

void crd_marker_end(crd_marking *marking) {
  crd_marker *marker = &marking->marker;
  (void)crd_marker_stop(marking);
  if (marker->thread != NULL) {
    crd_thread_set(marker->thread, &marker->word, ROUND_END);
    crd_thread_join(marker->thread);
  }
  marker->thread = NULL;
  crd_supply_forget(&marking->old->arenas);
  crd_word_stack_fini(&marking->old->late_runs);
  crd_word_stack_fini(&marker->shaded);
  crd_word_stack_fini(&marker->aside);
}

uint32_t crd_marker_threads(const crd_marking *marking) {
  uint32_t wanted = marking->space->options->gc_threads;
  if (wanted != CRADLE_GC_THREADS_AUTO) return wanted;
  uint32_t all = processors(marking), threads = all / AUTO_SHARE, count = crd_thread_count();
  uint32_t most = 1 + (all > count ? all - count : 0); /* the marker's is counted already */
  if (most > AUTO_MOST) most = AUTO_MOST;
  return threads == 0 ? 1 : threads < most ? threads : most;
}

bool crd_marker_helps(crd_marking *marking) {
  return marking->marker.thread != NULL || is_wanted(marking);
}

/* --- stopping --- */

/* The thread did not survive a fork. What was on its stacks is lost, but marked: a rescan traces it [mark.4]. */
static void forget(crd_marking *marking) {
  crd_marker *marker = &marking->marker;
  crd_thread_forget(marker->thread);
  marker->thread = NULL;
  marker->word = ROUND_IDLE;
  crd_supply_forget(&marking->old->arenas);
  if (!marker->going) return;
  marking->mark_stack.top = marking->mark_stack.base;
  marker->aside.top = marker->aside.base;
  marking->major.overflowed = true;
}

/* Waits for the end of the round, a few microseconds, at first awake; if the two take turns, only asleep. */
static void end_round(crd_marker *marker) {
  if (rounds_stop(&marker->word)) return;
  uint64_t begin = crd_platform_now_ns();
  int spins = marker->takes_turns ? 0 : STOP_SPINS;
  for (; spins > 0 && !rounds_is_idle(&marker->word); spins--) crd_thread_relax();
  if (!rounds_is_idle(&marker->word)) crd_thread_wait(marker->thread, &marker->word, ROUND_ASKED);
  marker->since.stop_ns += crd_platform_now_ns() - begin;
}

static void take_work(crd_marking *marking) {
  marking->mark_stack = marking->marker.stack;
  if (marking->marker.overflowed) marking->major.overflowed = true;
  crd_marker_work *work = &marking->marker.work, *since = &marking->marker.since;
  marking->major.objects += work->objects;
  marking->major.bytes += work->bytes;
  since->objects += work->objects;
  since->bytes += work->bytes;
  since->put_aside += work->put_aside;
  since->run_ns += work->run_ns;
  *work = (crd_marker_work){0};
  marking->marker.overflowed = false;
}

/* The shaded objects are marked last, when the mark stack is the mutator's again: marking pushes on it. */
bool crd_marker_stop(crd_marking *marking) {
  crd_marker *marker = &marking->marker;
  bool went = marker->going;
  if (CRADLE_LIKELY(marker->thread == NULL)) return false;
  if (!crd_thread_is_here(marker->thread)) {
    forget(marking);
  } else if (went) {
    end_round(marker);
    take_work(marking);
  }
  marker->going = marking->old->marked_beside = false;
  ASSERT(rounds_is_idle(&marker->word), "[marker.1] a round goes on after it was stopped");
  crd_old_write_late_runs(marking->old);
  while (!word_stack_is_empty(&marker->shaded)) crd_mark_address(marking, word_stack_pop(&marker->shaded));
  return went;
}

void crd_marker_tell(crd_marking *marking) {
  crd_marker *marker = &marking->marker;
  if (CRADLE_LIKELY(marker->thread == NULL)) return;
  cradle_statistics *stats = &marking->space->report->stats;
  const crd_marker_work *since = &marker->since;
  stats->beside_objects += since->objects;
  stats->beside_bytes += since->bytes;
  stats->beside_ns += since->run_ns;
  stats->beside_stops += since->stop_ns != 0;
  stats->beside_stop_ns += since->stop_ns;
  if (since->stop_ns > stats->beside_stop_max_ns) stats->beside_stop_max_ns = since->stop_ns;
  if (since->run_ns != 0 && event_wanted(marking->space->report))
    crd_event_send(marking->space->report, &(cradle_event){.kind = CRADLE_EVENT_BESIDE,
                                                           .u.beside = {since->objects, since->bytes, since->put_aside,
                                                                        since->run_ns, since->stop_ns}});
  marker->last = marker->since;
  marker->since = (crd_marker_work){0};
}

void crd_marker_gather(crd_marking *marking) {
  crd_word_stack *aside = &marking->marker.aside;
  ASSERT(!marking->marker.going, "[marker.1] what is put aside is taken while a round goes on");
  while (!word_stack_is_empty(aside))
    if (!word_stack_push(&marking->mark_stack, word_stack_pop(aside))) marking->major.overflowed = true;
}

void crd_marker_supply(crd_marking *marking, uint32_t keep, uint32_t ahead) {
  crd_marker *marker = &marking->marker;
  if (!crd_thread_is_here(marker->thread)) return;
  if (crd_supply_ask(&marking->old->arenas, keep, ahead)) rounds_call(&marker->word, marker->thread);
}

/* --- going on --- */

static void go_on(crd_marking *marking) {
  crd_marker *marker = &marking->marker;
  if (marking->major.phase != MAJOR_MARKING || word_stack_is_empty(&marking->mark_stack) ||
      !crd_thread_is_here(marker->thread))
    return;
  ASSERT(word_stack_is_empty(&marker->shaded), "[marker.3] what was to be marked waits for another round");
  marker->arenas_bytes = marking->old->arenas.committed_end * ARENA_BYTES;
  marker->stack = marking->mark_stack;
  marker->going = marking->old->marked_beside = true;
  crd_thread_set(marker->thread, &marker->word, ROUND_OFFERED);
}

void crd_marker_go_on(crd_marking *marking) {
  if (CRADLE_UNLIKELY(marking->marker.thread != NULL) && !marking->marker.going &&
      marking->space->report->state == HEAP_MUTATING)
    go_on(marking);
}

void crd_marker_go_on_in_minor(crd_marking *marking) {
  ASSERT(marking->space->report->state == HEAP_COLLECTING && !marking->marker.going,
         "[marker.2] a minor collection begins in a round");
  bool is_worth_it = !marking->marker.takes_turns && marking->pacing.promoted_average >= WORTH_A_ROUND_BYTES;
  if (is_worth_it || marking->space->options->stress_period != 0) go_on(marking);
}

/* Called for each old object that a minor collection meets, so it asks nothing of the system. */
void crd_marker_shade(crd_marking *marking, uintptr_t address) {
  crd_marker *marker = &marking->marker;
  if (CRADLE_UNLIKELY(marker->going)) {
    if (arenas_know(&marking->old->arenas, address) && old_is_marked(marking->old, address)) return;
    if (word_stack_push(&marker->shaded, address)) return;
    (void)crd_marker_stop(marking);
  }
  crd_mark_address(marking, address);
}
