#include "gc/base/random.h"
#include "gc/old/mark_loop.h"
#include "gc/platform/pages.h"

/* Objects between two looks at the protocol's word: a few microseconds, even if every object misses the cache. */
#define LOOK_OBJECTS LIMIT(32, 4)

static CRADLE_NOINLINE void trace(mark_context *context, cradle_word *object) {
  mark_trace(context, object, MARK_BESIDE);
}
static CRADLE_NOINLINE void trace_rest(mark_context *context, cradle_word *object) {
  mark_rest(context, object, MARK_BESIDE);
}
static CRADLE_NOINLINE void trace_shared(mark_context *context, cradle_word *object) {
  mark_trace(context, object, MARK_SHARED);
}
static CRADLE_NOINLINE void trace_rest_shared(mark_context *context, cradle_word *object) {
  mark_rest(context, object, MARK_SHARED);
}

static bool must_end(const mark_context *context) {
  return context->pool != NULL ? pool_is_over(context->pool) : rounds_end_now(&context->marking->marker.word);
}

/* Whether somebody waits for a part of the stack, which is long enough. */
static bool may_give(const mark_context *context) {
  return pool_wants(context->pool) && context->top - context->stack->base >= POOL_GIVE_MIN;
}

/* How many objects are traced until the next look at the word or the pool. Under stress that is a random number, and
 * every eighth look ends the marker's part, at any object. */
static int look_again_after(uint64_t *random) {
  if (CRADLE_LIKELY(random == NULL)) return LOOK_OBJECTS;
  uint64_t number = random_next(random);
  return number % 8 == 0 ? 0 : 1 + (int)(number / 8 % LOOK_OBJECTS);
}

/* The first of several markers goes on in the shared mode when it can give something away. */
static int next_countdown(mark_context *context) {
  if (CRADLE_UNLIKELY(must_end(context))) return 0;
  if (CRADLE_LIKELY(context->pool == NULL)) return look_again_after(context->random);
  POOL_TURN();
  return may_give(context) ? 0 : LOOK_OBJECTS;
}

static int next_shared(mark_context *context) {
  POOL_TURN();
  if (CRADLE_UNLIKELY(may_give(context))) {
    mark_write_back(context);
    crd_pool_give(context->pool, context->stack);
    mark_take_again(context);
  }
  return CRADLE_UNLIKELY(must_end(context)) ? 0 : look_again_after(context->random);
}

static const mark_calls calls = {trace, trace_rest, next_countdown};
static const mark_calls shared_calls = {trace_shared, trace_rest_shared, next_shared};

static bool take(mark_context *context) {
  uint64_t begin = crd_platform_now_ns();
  bool taken = crd_pool_take(context->pool, context->stack);
  context->hungry_ns += crd_platform_now_ns() - begin;
  mark_take_again(context);
  return taken;
}

static void mark_shared(mark_context *context, bool empty) {
  while (!empty || take(context)) {
    context->countdown = next_shared(context);
    if (context->countdown <= 0 || !mark_drain(context, &shared_calls, MARK_SHARED)) return;
    empty = true;
  }
}

/* The round works on copies of the stacks and figures: it writes to nothing that the mutator reads meanwhile. */
void crd_mark_beside(crd_marking *marking, crd_tracer *tracer) {
  uint64_t begin = crd_platform_now_ns();
  crd_marker *marker = &marking->marker;
  crd_word_stack stack = tracer->stack, aside = tracer->aside;
  bool overflowed = false, empty = word_stack_is_empty(&stack);
  mark_context context = mark_context_of(marking, &stack, &overflowed, marker->arenas_bytes);
  context.aside = &aside;
  context.pool = marker->in_round > 1 ? &marker->others->pool : NULL;
  /* If a marker left a round that the mutator leads, the others would wait for it for ever. */
  context.random = marking->space->options->stress_period != 0 && !marker->leads ? &tracer->random : NULL;
  if (tracer == &marker->first && !marker->begins_shared) {
    context.countdown = next_countdown(&context);
    if (context.countdown > 0) empty = mark_drain(&context, &calls, MARK_BESIDE);
  }
  if (context.pool != NULL) mark_shared(&context, empty);
  tracer->stack = stack;
  tracer->aside = aside;
  tracer->overflowed = overflowed;
  tracer->work = (crd_marker_work){.objects = context.objects,
                                   .bytes = context.bytes,
                                   .put_aside = context.objects_aside,
                                   .run_ns = crd_platform_now_ns() - begin - context.hungry_ns};
}
