#include "gc/old/mark.h"

#include "gc/old/mark_loop.h"
#include "gc/old/sealed.h"
#include "gc/platform/pages.h"
#include "gc/roots.h"
#include "gc/tables/tables.h"

/* Objects between two readings of the clock. */
#define CLOCK_OBJECTS LIMIT(128, 8)
/* Handles and pinned objects that are marked at a time. */
#define TABLE_PIECE LIMIT(256, 8)
/* What the mutator marks before it has the collector's threads help. */
#define ALONE_BYTES LIMIT((uint64_t)256 << 10, 256)
/* How many objects an increment traces if its budget is 0 bytes. The stress mode makes such increments. */
#define STEP_OBJECTS 12

static inline mark_context begin(crd_marking *marking) {
  return mark_context_of(marking, &marking->mark_stack, &marking->major.overflowed, marking->old->arenas.known_bytes);
}

void crd_mark_address(crd_marking *marking, uintptr_t address) {
  mark_context context = begin(marking);
  ASSERT(marking->old->born_marked, "[span.7] an object is marked while nothing marks");
  ASSERT(!marking->old->marked_beside, "[marker.3] the mutator marks an object in a round");
  mark_address_in(&context, address, MARK_ALONE);
  mark_write_back(&context);
}

void crd_mark_again(crd_marking *marking, const cradle_word *object) {
  ASSERT(old_is_marked(marking->old, address_of(object)), "[mark.1] an object is traced again that is not marked");
  ASSERT(!marking->marker.going, "[marker.1] the mutator pushes on the mark stack in a round");
  if (!word_stack_push(&marking->mark_stack, address_of(object))) marking->major.overflowed = true;
  marking->major.again_bytes += (uint64_t)old_span_of(marking->old, address_of(object))->pages << PAGE_SHIFT;
}

#define AGAIN_END UINT32_MAX

void crd_mark_later(crd_marking *marking, uint32_t page) {
  crd_page *entry = arenas_page(&marking->old->arenas, page);
  ASSERT(entry->state == PAGE_LARGE && entry->again == 0,
         "[mark.5] what is listed is no old large object, or is so already");
  entry->again = marking->major.again == 0 ? AGAIN_END : marking->major.again;
  marking->major.again = page + 1;
}

void crd_mark_listed(crd_marking *marking) {
  uint32_t at = marking->major.again;
  for (marking->major.again = 0; at != 0 && at != AGAIN_END;) {
    uintptr_t address = arenas_page_address(&marking->old->arenas, at - 1);
    crd_page *entry = arenas_page(&marking->old->arenas, at - 1);
    at = entry->again;
    entry->again = 0;
    /* Marking has not come to an unmarked array yet. */
    if (marking->major.phase != MAJOR_MARKING || !old_is_marked(marking->old, address)) continue;
    crd_mark_again(marking, object_at(address));
  }
}

/* --- the mutator's loop --- */

static CRADLE_NOINLINE void trace(mark_context *context, cradle_word *object) {
  if (CRADLE_UNLIKELY(context->marking->major.watching))
    mark_trace(context, object, MARK_WATCHING);
  else
    mark_trace(context, object, MARK_ALONE);
}
static CRADLE_NOINLINE void trace_rest(mark_context *context, cradle_word *object) {
  mark_rest(context, object, MARK_ALONE);
}
static void trace_again(void *context, cradle_word *object) {
  trace(context, object);
}

static bool is_spent(const mark_context *context) {
  crd_budget budget = context->budget;
  return context->bytes >= budget.bytes ||
         (budget.deadline_ns != UINT64_MAX && crd_platform_now_ns() >= budget.deadline_ns);
}
static int next_countdown(mark_context *context) {
  return is_spent(context) ? 0 : CLOCK_OBJECTS;
}

static const mark_calls calls = {trace, trace_rest, next_countdown};

/* Apart, because with both loops in one function gcc takes seven instructions more for each object. */
static bool drain_watching(mark_context *context) {
  return mark_drain(context, &calls, MARK_WATCHING);
}

static bool drain(mark_context *context) {
  mark_take_again(context);
  return CRADLE_UNLIKELY(context->marking->major.watching) ? drain_watching(context)
                                                           : mark_drain(context, &calls, MARK_ALONE);
}

/* If all is to be marked now, the collector's threads help with what takes long. */
static bool drain_all(mark_context *context) {
  context->budget.bytes = context->bytes + ALONE_BYTES;
  bool empty = drain(context);
  context->budget.bytes = UINT64_MAX;
  if (empty) return true;
  crd_marker_lead(context->marking);
  context->countdown = CLOCK_OBJECTS;
  return drain(context);
}

/* --- other sources of grey objects --- */

/* Moves the cursor, *at, on by a piece, [*first, *at). false: it is at the end. */
static bool next_piece(uint32_t *at, uint32_t count, uint32_t *first) {
  ASSERT(*at <= count, "marking went past the end of a table");
  *first = *at;
  *at += count - *at < TABLE_PIECE ? count - *at : TABLE_PIECE;
  return *at > *first;
}

/* A piece of a root stack's words: its shadow stack, its scoped roots and its ranges, one behind the other. */
typedef struct root_piece {
  size_t skip;  /* words before the piece */
  int64_t left; /* words that it may still have; the last scoped root may make it negative */
} root_piece;

static void mark_block(mark_context *context, root_piece *piece, cradle_word *base, const cradle_word *top,
                       cradle_kind kind) {
  size_t count = base < top ? (size_t)(top - base) : 0, skip = piece->skip < count ? piece->skip : count;
  size_t most = piece->left > 0 ? (size_t)piece->left : 0, words = count - skip < most ? count - skip : most;
  visit_words(base + skip, base + skip + words, kind == CRADLE_KIND_VALUE, mark_slot, context);
  piece->skip -= skip;
  piece->left -= (int64_t)words;
}

static void mark_scoped(mark_context *context, root_piece *piece, const cradle_root_stack *stack) {
  size_t count = root_stack_scoped_words(stack), skip = piece->skip < count ? piece->skip : count;
  const cradle_word *at = stack->scoped.top - skip, *from = at, *base = stack->scoped.base + 1;
  while (at > base && from - at < piece->left) {
    crd_scoped_root root = scoped_root_next(&at);
    mark_slot(context, root.kind == CRADLE_KIND_VALUE, root.variable);
  }
  piece->skip -= skip;
  piece->left -= from - at;
}

static void mark_root_stack(mark_context *context, root_piece *piece, const cradle_root_stack *stack) {
  mark_block(context, piece, stack->shadow.base, stack->shadow.top, context->space->options->shadow_stack);
  mark_scoped(context, piece, stack);
  for (cradle_root_range *range = stack->ranges; range != NULL; range = range->next)
    mark_block(context, piece, range_base(range), range_top(range), range->kind);
}

/* Marks one piece of the root stacks that did not run since marking began [root_stack.3]. false: there are none. */
static bool mark_suspended_of(mark_context *context, crd_mutator *mutator) {
  crd_ring *unmarked = &mutator->rings[ROOT_STACKS_UNMARKED];
  if (CRADLE_LIKELY(unmarked->next == unmarked)) return false;
  root_piece piece = {.left = TABLE_PIECE};
  while (piece.left > 0 && unmarked->next != unmarked) {
    cradle_root_stack *stack = root_stack_of(unmarked->next);
    int64_t before = piece.left;
    piece.skip = stack->looked_at;
    mark_root_stack(context, &piece, stack);
    stack->looked_at += (size_t)(before - piece.left);
    if (piece.left-- <= 0) break; /* there may be more of it */
    stack->looked_at = 0;
    ring_remove(&stack->ring);
    ring_insert(&mutator->rings[ROOT_STACKS_RESTED], &stack->ring);
  }
  return true;
}

static bool mark_suspended(mark_context *context) {
  for (EACH_MUTATOR(mutator, context->space))
    if (mark_suspended_of(context, mutator)) return true;
  return false;
}

/* Marks one piece of the tables, each of which may hold a million roots. An entry that changes after the cursor has
 * passed it is marked when it changes. false: the cursors are at the ends. */
static bool mark_tables(mark_context *context) {
  crd_tables *tables = context->marking->tables;
  uint32_t first;
  if (next_piece(&tables->handles.marked_at, tables->handles.used, &first))
    visit_handles(tables, first, tables->handles.marked_at, mark_slot, context);
  else if (next_piece(&tables->pins.marked_at, tables->pins.count, &first))
    for (; first < tables->pins.marked_at; first++)
      mark_address_in(context, tables->pins.pins[first].address, MARK_ALONE);
  else if (!mark_suspended(context))
    return false;
  mark_write_back(context);
  return true;
}

/* Traces some of the objects that the second core put aside. false: there are none. */
static bool mark_aside(mark_context *context) {
  crd_word_stack *aside = crd_marker_aside(&context->marking->marker);
  if (CRADLE_LIKELY(aside == NULL)) return false;
  for (int i = 0; i < CLOCK_OBJECTS && !word_stack_is_empty(aside); i++)
    trace_again(context, object_at(word_stack_pop(aside)));
  mark_write_back(context);
  return true;
}

/* What minor collections skip of the shadow stack was marked when marking began. A precaution: if the program wrote a
 * reference there unnoticed, its object stays alive. Returns whether something is grey now. */
static bool mark_unchanged_roots(mark_context *context) {
  mark_take_again(context);
  visit_unchanged_roots(context->marking->roots, mark_slot, context);
  mark_write_back(context);
  return !word_stack_is_empty(context->stack) || context->marking->major.overflowed;
}

/* Traces the marked objects of the next span once more, after the stack has overflowed. Free places that allocators own
 * have mark bits, too, so they are retired. false: all spans have been looked at. */
static bool rescan_span(mark_context *context) {
  crd_marking *marking = context->marking;
  crd_major *major = &marking->major;
  if (major->rescan_page == PAGE_NONE) {
    if (!major->overflowed) return false;
    major->overflowed = false;
    major->rescan_page = 0;
  }
  ASSERT(word_stack_is_empty(context->stack), "[mark.4] a rescan while objects wait on the stack");
  crd_old_retire(marking->old);
  uint32_t page = crd_old_next_span(marking->old, major->rescan_page);
  major->rescan_page = PAGE_NONE;
  if (page == PAGE_NONE) return major->overflowed;
  major->rescan_page = page + arenas_page(&marking->old->arenas, page)->pages;
  crd_old_each_in(marking->old, page, true, trace_again, context);
  mark_write_back(context);
  return true;
}

void crd_mark_start(crd_marking *marking) {
  mark_context context = begin(marking);
  ASSERT(word_stack_is_empty(&marking->mark_stack), "[mark.2] the mark stack is not empty before marking");
  ASSERT(!marking->old->born_marked, "[span.7] marking begins twice");
  marking->major.rescan_page = PAGE_NONE;
  marking->tables->handles.marked_at = marking->tables->pins.marked_at = 0;
  crd_old_retire(marking->old); /* the places that allocators own have no mark bits; those taken from now on get them */
  marking->old->born_marked = true;
  (void)visit_roots_if(marking->roots, ROOTS_RAN, mark_slot, &context);
  (void)visit_callback_roots(marking->roots, mark_slot, &context);
  for (EACH_MUTATOR(mutator, marking->space)) crd_root_stacks_unmark(mutator);
  mark_write_back(&context);
  crd_sealed_mark(marking);
  if (marking->space->death != NULL) marking->space->death->mark_starts(marking->space->services);
}

/* When the stack is empty, the next source is asked: the unchanged roots last, as a look goes over all of them. */
bool crd_mark_some(crd_marking *marking, crd_budget budget) {
  mark_context context = begin(marking);
  bool complete = false;
  context.budget = budget;
  ASSERT(!marking->marker.going, "[marker.1] an increment of marking while a round goes on");
  ASSERT(marking->old->born_marked, "[span.7] an increment of marking while nothing marks");
  bool helped = marking_may_lead(marking) && budget.deadline_ns == UINT64_MAX && budget.bytes == UINT64_MAX;
  do {
    context.countdown = budget.bytes == 0 ? STEP_OBJECTS : CLOCK_OBJECTS;
    if (budget.aside) {
      if (!mark_aside(&context)) break;
    } else if (helped ? drain_all(&context) : drain(&context))
      complete = !crd_marker_next_stack(marking) && !mark_aside(&context) && !mark_tables(&context) &&
                 !rescan_span(&context) &&
                 (marking->space->death == NULL ||
                  !marking->space->death->mark_more(marking->space->services, &context.bytes)) &&
                 !mark_unchanged_roots(&context);
  } while (!complete && !is_spent(&context));
  ASSERT(!complete || (word_stack_is_empty(&marking->mark_stack) && !marking->major.overflowed &&
                       marking->major.rescan_page == PAGE_NONE),
         "[mark.2] marking is over while objects are grey");
  ASSERT(!complete || crd_marker_aside(&marking->marker) == NULL, "[marker.6] marking is over while objects are aside");
  marking->major.objects += context.objects;
  marking->major.bytes += context.bytes;
  return complete;
}
