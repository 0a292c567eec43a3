#include "gc/old/marker.h"

#include <stdlib.h>

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
/* Between pauses so much of the processors that running mutators leave. */
#define MARK_SHARE 4
#define ASIDE_MAX_BYTES ((size_t)64 << 20)
#define OTHER_STACK_MAX_BYTES ((size_t)64 << 20)
#define SHADED_MAX_BYTES ((size_t)1 << 20)
#define LATE_RUNS_MAX_BYTES ((size_t)1 << 20)
/* A minor collection that promotes less, on average, is over before the thread would have begun. */
#define WORTH_A_ROUND_BYTES LIMIT((uint64_t)128 << 10, 1)
/* A smaller heap is swept before a thread has begun. */
#define SWEEP_MIN_ARENAS LIMIT(8, 1)
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
      crd_marker_work_as(marking, 0);
      crd_thread_set(self, &marker->word, ROUND_IDLE);
    } else if (taken == ROUND_CALLED) {
      marker->help(marker->young);
    } else if (!crd_supply_next(&marking->old->arenas) && taken == ROUND_IDLE) {
      crd_thread_wait(self, &marker->word, ROUND_IDLE);
    }
  }
}

static bool is_here(const crd_marker *marker) {
  return marker->thread != NULL && crd_thread_is_here(marker->thread);
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

/* Makes what more than one marker needs. false: no memory. */
static bool get_ready(crd_marking *marking) {
  crd_marker *marker = &marking->marker;
  if (marker->first.aside.base == NULL &&
      !crd_word_stack_init(&marker->first.aside, ASIDE_MAX_BYTES, marking->space->hardware->page_bytes,
                           "cradle put aside"))
    return false;
  if (marker->others == NULL) marker->others = calloc(1, sizeof *marker->others);
  return marker->others != NULL;
}

/* Makes the thread, and before it the stacks that only a heap with a thread needs. false: something was refused. */
static bool make(crd_marking *marking) {
  crd_marker *marker = &marking->marker;
  size_t page = marking->space->hardware->page_bytes;
  marker->word = ROUND_IDLE;
  if (!get_ready(marking) ||
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

static void end_others(crd_marker *marker) {
  if (marker->others == NULL) return;
  for (uint32_t i = 0; i < CRADLE_GC_THREADS_MAX; i++) {
    crd_word_stack_fini(&marker->others->tracers[i].stack);
    crd_word_stack_fini(&marker->others->tracers[i].aside);
  }
  crd_pool_fini(&marker->others->pool);
  free(marker->others);
  marker->others = NULL;
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
  crd_word_stack_fini(&marker->first.aside);
  end_others(marker);
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

/* --- several markers --- */

void crd_marker_enlist(crd_marking *marking, crd_thread *thread, uint32_t *word) {
  crd_markers *others = marking->marker.others;
  if (others == NULL || others->count == CRADLE_GC_THREADS_MAX - 1) return;
  others->threads[others->count].thread = thread;
  others->threads[others->count++].word = word;
}

void crd_marker_dismiss(crd_marking *marking) {
  ASSERT(!marking->marker.going || marking->marker.in_round == 1, "[marker.8] a marker is dismissed in a round");
  if (marking->marker.others != NULL) marking->marker.others->count = 0;
}

static uint32_t threads(const crd_marker *marker) {
  return 1 + (marker->others != NULL ? marker->others->count : 0);
}

/* Threads of the round that goes on, or of the last one. */
static uint32_t threads_in_round(const crd_marker *marker) {
  return marker->in_round - marker->leads - marker->guests;
}
static uint32_t *word_of(crd_marker *marker, uint32_t thread) {
  return thread == 0 ? &marker->word : marker->others->threads[thread - 1].word;
}
static crd_thread *thread_of(const crd_marker *marker, uint32_t thread) {
  return thread == 0 ? marker->thread : marker->others->threads[thread - 1].thread;
}

/* What a marker takes from the pool has room on its stack from the beginning. */
static bool make_stacks(crd_tracer *tracer, size_t page) {
  crd_word_stack *stack = &tracer->stack, *aside = &tracer->aside;
  return (stack->base != NULL || crd_word_stack_init(stack, OTHER_STACK_MAX_BYTES, page, "cradle mark stack")) &&
         (stack->limit != stack->base || crd_word_stack_grow(stack)) &&
         (aside->base != NULL || crd_word_stack_init(aside, ASIDE_MAX_BYTES, page, "cradle put aside"));
}

/* Gives stacks to as many markers as are wanted. Returns how many have some. */
static uint32_t equip(crd_marking *marking, uint32_t wanted) {
  crd_markers *others = marking->marker.others;
  if (wanted == 1 || others == NULL) return 1;
  while (others->equipped < wanted - 1) {
    crd_tracer *tracer = &others->tracers[others->equipped];
    if (!make_stacks(tracer, marking->space->hardware->page_bytes)) return 1 + others->equipped;
    tracer->random = ++others->equipped;
  }
  return wanted;
}

void crd_marker_work_as(crd_marking *marking, uint32_t thread) {
  crd_marker *marker = &marking->marker;
  ASSERT(thread < threads_in_round(marker), "[marker.8] a thread takes a round that it was not offered");
  if (marker->sweep != NULL) {
    crd_sweep_together(marker->sweep);
  } else {
    if (marker->leads) crd_pool_join(&marker->others->pool);
    crd_mark_beside(marking, marker_tracer(marker, thread + marker->leads));
  }
}

bool crd_marker_visit(crd_marking *marking) {
  crd_marker *marker = &marking->marker;
  uint32_t place;
  if (!crd_pool_enter(&marker->others->pool, &place)) return false;
  if (marker->sweep != NULL)
    crd_sweep_together(marker->sweep);
  else
    crd_mark_beside(marking, marker_tracer(marker, marker->in_round - 1 - place));
  crd_pool_leave(&marker->others->pool);
  return true;
}

crd_word_stack *crd_marker_aside(crd_marker *marker) {
  uint32_t tracers = 1 + (marker->others != NULL ? marker->others->equipped : 0);
  for (uint32_t i = 0; i < tracers; i++)
    if (!word_stack_is_empty(&marker_tracer(marker, i)->aside)) return &marker_tracer(marker, i)->aside;
  return NULL;
}

bool crd_marker_next_stack(crd_marking *marking) {
  crd_markers *others = marking->marker.others;
  ASSERT(word_stack_is_empty(&marking->mark_stack), "[marker.9] the mark stack is exchanged before it is empty");
  for (uint32_t i = 0; others != NULL && i < others->equipped; i++) {
    crd_word_stack *stack = &others->tracers[i].stack, emptied = marking->mark_stack;
    if (word_stack_is_empty(stack)) continue;
    marking->mark_stack = *stack;
    *stack = emptied;
    return true;
  }
  return false;
}

void crd_marker_discard(crd_marking *marking) {
  crd_markers *others = marking->marker.others;
  for (uint32_t i = 0; others != NULL && i < others->equipped; i++) {
    crd_word_stack_discard(&others->tracers[i].stack, marking->space->hardware->page_bytes);
    crd_word_stack_discard(&others->tracers[i].aside, marking->space->hardware->page_bytes);
  }
}

/* --- stopping --- */

/* The threads did not survive a fork. What was on their stacks is lost, but marked: a rescan traces it [mark.4]. */
static void forget(crd_marking *marking) {
  crd_marker *marker = &marking->marker;
  crd_thread_forget(marker->thread);
  marker->thread = NULL;
  marker->word = ROUND_IDLE;
  crd_supply_forget(&marking->old->arenas);
  if (marker->others != NULL) marker->others->count = marker->others->pool.count = 0;
  if (!marker->going) return;
  marking->mark_stack.top = marking->mark_stack.base;
  for (uint32_t i = 0; i < marker->in_round; i++) {
    crd_tracer *tracer = marker_tracer(marker, i);
    if (i > 0) tracer->stack.top = tracer->stack.base;
    tracer->aside.top = tracer->aside.base;
  }
  marking->major.overflowed = true;
}

/* Waits for the end of a thread's part, a few microseconds, at first awake; if the two take turns, only asleep. */
static void wait_for(crd_marker *marker, uint32_t thread) {
  const uint32_t *word = word_of(marker, thread);
  int spins = marker->takes_turns ? 0 : STOP_SPINS;
  for (; spins > 0 && !rounds_is_idle(word); spins--) crd_thread_relax();
  if (!rounds_is_idle(word)) crd_thread_wait(thread_of(marker, thread), word, ROUND_ASKED);
}

/* [marker.8] */
static void end_round(crd_marker *marker) {
  uint32_t count = threads_in_round(marker), asked = 0;
  __atomic_store_n(&marker->has_places, false, __ATOMIC_RELAXED);
  if (marker->in_round > 1) crd_pool_close(&marker->others->pool);
  for (uint32_t i = 0; i < count; i++) asked += !rounds_stop(word_of(marker, i));
  if (asked == 0) return;
  uint64_t begin = crd_platform_now_ns();
  for (uint32_t i = 0; i < count; i++) wait_for(marker, i);
  if (!marker->leads) marker->since.stop_ns += crd_platform_now_ns() - begin;
}

/* is_thread: it was a thread's work, and not the mutator's. */
static void add_work(crd_marking *marking, crd_tracer *tracer, bool is_thread) {
  crd_marker_work *work = &tracer->work, *since = &marking->marker.since;
  if (tracer->overflowed) marking->major.overflowed = true;
  marking->major.objects += work->objects;
  marking->major.bytes += work->bytes;
  if (is_thread) {
    since->objects += work->objects;
    since->bytes += work->bytes;
    since->put_aside += work->put_aside;
    since->run_ns += work->run_ns;
  }
  *work = (crd_marker_work){0};
  tracer->overflowed = false;
}

/* All or none, so that no piece of an array is cut [pool.4]. */
static void push_all(crd_marking *marking, const cradle_word *from, const cradle_word *to) {
  crd_word_stack *stack = &marking->mark_stack;
  cradle_word *before = stack->top;
  while (from < to && word_stack_push(stack, *from)) from++;
  if (from == to) return;
  stack->top = before;
  marking->major.overflowed = true;
}

static void take_pool(crd_marking *marking) {
  crd_mark_pool *pool = &marking->marker.others->pool;
  push_all(marking, pool->entries, pool->entries + pool->count);
  pool->count = 0;
}

static void take_work(crd_marking *marking) {
  crd_marker *marker = &marking->marker;
  uint32_t traced = 0;
  marking->mark_stack = marker->first.stack;
  for (uint32_t i = 0; i < marker->in_round; i++) {
    traced += marker_tracer(marker, i)->work.objects != 0;
    add_work(marking, marker_tracer(marker, i), i >= marker->leads);
  }
  if (traced > marker->since.markers) marker->since.markers = traced;
  if (marker->in_round == 1) return;
  take_pool(marking); /* [pool.3] */
  if (word_stack_is_empty(&marking->mark_stack)) (void)crd_marker_next_stack(marking);
}

static void end_marking_round(crd_marking *marking) {
  end_round(&marking->marker);
  take_work(marking);
  marking->marker.going = marking->marker.leads = marking->old->marked_beside = false;
}

/* The shaded objects are marked last, when the mark stack is the mutator's again: marking pushes on it. */
bool crd_marker_stop(crd_marking *marking) {
  crd_marker *marker = &marking->marker;
  bool went = marker->going;
  if (CRADLE_LIKELY(marker->thread == NULL)) return false;
  if (!crd_thread_is_here(marker->thread)) {
    forget(marking);
  } else if (went) {
    end_marking_round(marking);
  }
  marker->going = marking->old->marked_beside = false;
  ASSERT(rounds_is_idle(&marker->word), "[marker.1] a round goes on after it was stopped");
  crd_old_write_late_runs(marking->old);
  while (!word_stack_is_empty(&marker->shaded)) crd_mark_address(marking, word_stack_pop(&marker->shaded));
  return went;
}

void crd_marker_tell(crd_marking *marking) {
  crd_marker *marker = &marking->marker;
  if (CRADLE_LIKELY(marker->thread == NULL && marker->since.run_ns == 0)) return;
  cradle_statistics *stats = &marking->space->report->stats;
  const crd_marker_work *since = &marker->since;
  stats->beside_objects += since->objects;
  stats->beside_bytes += since->bytes;
  stats->beside_ns += since->run_ns;
  stats->beside_stops += since->stop_ns != 0;
  stats->beside_stop_ns += since->stop_ns;
  if (since->stop_ns > stats->beside_stop_max_ns) stats->beside_stop_max_ns = since->stop_ns;
  if (since->run_ns != 0 && event_wanted(marking->space->report))
    crd_event_send(marking->space->report,
                   &(cradle_event){.kind = CRADLE_EVENT_BESIDE,
                                   .u.beside = {since->objects, since->bytes, since->put_aside, since->run_ns,
                                                since->stop_ns, since->markers}});
  marker->last = marker->since;
  marker->since = (crd_marker_work){0};
}

static void move_stack(crd_marking *marking, crd_word_stack *stack) {
  push_all(marking, stack->base, stack->top);
  stack->top = stack->base;
}

void crd_marker_gather(crd_marking *marking) {
  crd_markers *others = marking->marker.others;
  ASSERT(!marking->marker.going, "[marker.1] what is put aside is taken while a round goes on");
  for (crd_word_stack *aside; (aside = crd_marker_aside(&marking->marker)) != NULL;) move_stack(marking, aside);
  for (uint32_t i = 0; others != NULL && i < others->equipped; i++) move_stack(marking, &others->tracers[i].stack);
}

void crd_marker_supply(crd_marking *marking, uint32_t keep, uint32_t ahead) {
  crd_marker *marker = &marking->marker;
  if (!crd_thread_is_here(marker->thread)) return;
  if (crd_supply_ask(&marking->old->arenas, keep, ahead)) rounds_call(&marker->word, marker->thread);
}

/* --- going on --- */

/* How many threads may mark while the program runs. */
static uint32_t markers_between_pauses(const crd_marking *marking) {
  if (marking->space->options->gc_threads != CRADLE_GC_THREADS_AUTO) return CRADLE_GC_THREADS_MAX;
  uint32_t left = processors(marking), markers;
  for (EACH_MUTATOR(mutator, marking->space))
    left -= left != 0 && __atomic_load_n(&mutator->state, __ATOMIC_RELAXED) != MUTATOR_PARKED;
  markers = left / MARK_SHARE;
  return markers == 0 ? 1 : markers;
}

static void offer(crd_marker *marker) {
  for (uint32_t i = 0; i < threads_in_round(marker); i++)
    crd_thread_set(thread_of(marker, i), word_of(marker, i), ROUND_OFFERED);
}

static uint32_t lesser(uint32_t count, uint32_t most) {
  return count < most ? count : most;
}

/* Says who takes part in a round: at most so many, the mutator among them if it leads. */
static void open_places(crd_marking *marking, uint32_t most, bool leads) {
  crd_marker *marker = &marking->marker;
  const crd_space *space = marking->space;
  uint32_t own = leads + (is_here(marker) ? threads(marker) : 0);
  uint32_t guests = leads ? lesser(space->standing, space->guests) : 0;
  uint32_t markers = equip(marking, lesser(own + guests, most));
  if (markers > 1 && !crd_pool_init(&marker->others->pool)) markers = 1;
  marker->in_round = markers;
  marker->leads = leads;
  marker->guests = markers > own ? markers - own : 0;
  if (markers > 1) crd_pool_open(&marker->others->pool, leads ? 1 : markers);
}

/* Once all is ready: one who comes from the last round may enter at once. */
static void invite(crd_marking *marking) {
  crd_marker *marker = &marking->marker;
  if (marker->guests == 0) return;
  crd_pool_invite(&marker->others->pool, marker->guests);
  __atomic_store_n(&marker->has_places, true, __ATOMIC_RELEASE);
  marking->space->call_guests(marking->space, marker->guests);
}

static void open_round(crd_marking *marking, uint32_t most, bool leads) {
  crd_marker *marker = &marking->marker;
  open_places(marking, most, leads);
  uint32_t markers = marker->in_round;
  marker->begins_shared = false;
  for (uint32_t i = 1; i < markers; i++)
    if (!word_stack_is_empty(&marker_tracer(marker, i)->stack)) marker->begins_shared = true;
  marker->arenas_bytes = marking->old->arenas.committed_end * ARENA_BYTES;
  marker->first.stack = marking->mark_stack;
  marker->going = marking->old->marked_beside = true;
  offer(marker);
  invite(marking);
}

static bool may_go_on(const crd_marking *marking) {
  return marking->major.phase == MAJOR_MARKING && !word_stack_is_empty(&marking->mark_stack);
}

static void go_on(crd_marking *marking, uint32_t most) {
  crd_marker *marker = &marking->marker;
  if (!may_go_on(marking) || !crd_thread_is_here(marker->thread)) return;
  ASSERT(word_stack_is_empty(&marker->shaded), "[marker.3] what was to be marked waits for another round");
  open_round(marking, most, false);
}

void crd_marker_go_on(crd_marking *marking) {
  if (CRADLE_UNLIKELY(marking->marker.thread != NULL) && !marking->marker.going &&
      marking->space->report->state == HEAP_MUTATING)
    go_on(marking, markers_between_pauses(marking));
}

void crd_marker_go_on_in_minor(crd_marking *marking) {
  ASSERT(marking->space->report->state == HEAP_COLLECTING && !marking->marker.going,
         "[marker.2] a minor collection begins in a round");
  bool is_worth_it = !marking->marker.takes_turns && marking->pacing.promoted_average >= WORTH_A_ROUND_BYTES;
  if (is_worth_it || marking->space->options->stress_period != 0) go_on(marking, 1);
}

static bool may_lead(crd_marking *marking) {
  const crd_space *space = marking->space;
  bool others = is_here(&marking->marker) || (space->standing != 0 && space->guests != 0);
  return others && !marking->marker.takes_turns && get_ready(marking);
}

void crd_marker_lead(crd_marking *marking) {
  if (!may_go_on(marking) || !may_lead(marking)) return;
  open_round(marking, CRADLE_GC_THREADS_MAX, true);
  crd_mark_beside(marking, &marking->marker.first);
  end_marking_round(marking);
}

void crd_marker_sweep(crd_marking *marking) {
  crd_marker *marker = &marking->marker;
  crd_sweep sweep = {.old = marking->old, .end = marking->old->arenas.used_end};
  crd_swept *swept = &marking->major.swept;
  if (sweep.end < SWEEP_MIN_ARENAS || arenas_go_round(&marking->old->arenas) ||
      space_remains(marking->space, true).poison != 0 || !may_lead(marking))
    return;
  __atomic_store_n(&marker->sweep, &sweep, __ATOMIC_RELAXED);
  open_places(marking, CRADLE_GC_THREADS_MAX, true);
  offer(marker);
  invite(marking);
  crd_sweep_together(&sweep);
  end_round(marker);
  __atomic_store_n(&marker->sweep, NULL, __ATOMIC_RELAXED);
  marker->leads = false;
  swept->freed_objects += sweep.swept.freed_objects;
  swept->freed_bytes += sweep.swept.freed_bytes;
  swept->freed_spans += sweep.swept.freed_spans;
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
