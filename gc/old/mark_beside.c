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

/* How many objects are traced until the round is over or looks at the word again. Under stress that is a random number,
 * and every eighth look ends the round, at any object. */
static int next_countdown(const mark_context *context) {
  if (CRADLE_UNLIKELY(rounds_end_now(&context->marking->marker.word))) return 0;
  if (CRADLE_LIKELY(context->random == NULL)) return LOOK_OBJECTS;
  uint64_t number = random_next(context->random);
  return number % 8 == 0 ? 0 : 1 + (int)(number / 8 % LOOK_OBJECTS);
}

static const mark_calls calls = {trace, trace_rest, next_countdown};

/* The round works on copies of the stacks and figures: it writes to nothing that the mutator reads meanwhile. */
void crd_mark_beside(crd_marking *marking) {
  uint64_t begin = crd_platform_now_ns();
  crd_marker *marker = &marking->marker;
  crd_word_stack stack = marker->stack, aside = marker->aside;
  bool overflowed = false;
  mark_context context = mark_context_of(marking, &stack, &overflowed, marker->arenas_bytes);
  context.aside = &aside;
  context.random = marking->space->options->stress_period != 0 ? &marker->random : NULL;
  context.countdown = next_countdown(&context);
  if (context.countdown > 0) (void)mark_drain(&context, &calls, MARK_BESIDE);
  marker->stack = stack;
  marker->aside = aside;
  marker->overflowed = overflowed;
  marker->work = (crd_marker_work){.objects = context.objects,
                                   .bytes = context.bytes,
                                   .put_aside = context.objects_aside,
                                   .run_ns = crd_platform_now_ns() - begin};
}
