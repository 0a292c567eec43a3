/* Unwinding: scoped roots of frames that are gone, no-collection regions, and checkpoints. */
#include "gc/unwind.h"

#include "gc/heap.h"
#include "gc/report/misuse.h"
#include "gc/roots.h"
#include "gc/young/nursery.h"

/* --- scoped roots of frames that are gone --- */

/* Anything this close below the current frame is on the same stack. */
#define SAME_STACK_BYTES ((size_t)16 << 10)
#define SAME_STACK_MAYBE_BYTES ((size_t)1 << 20) /* but for programs with coroutines */

static CRADLE_COLD _Noreturn void frame_is_gone(cradle_mutator *mutator, const char *what,
                                                const crd_scoped_root *root) {
  crd_misuse(
      mutator->heap,
      "%s: a scoped root of a frame that is gone is still open%s%s: missing is cradle_checkpoint_restore after a "
      "longjmp, -fexceptions for C code that a C++ exception passed, or a root stack for another C stack",
      what, root->name == NULL ? "" : ": ", root->name == NULL ? "" : root->name);
}

/* Whether the innermost scoped root was opened by a function that ran below the frame, and so is gone. Only roots of
 * CRADLE_CHECKED code have frames. If the variable lies above its own frame, a helper opened the scope for its caller,
 * as C++ constructors do, and nothing is known. */
static bool is_below(const crd_scoped_root *root, uintptr_t frame) {
  return root->frame != 0 && address_of(root->variable) < root->frame && root->frame < frame &&
         frame - root->frame <= SAME_STACK_MAYBE_BYTES;
}

static void check_innermost(cradle_mutator *mutator, const char *what, uintptr_t frame) {
  const cradle_word *at = mutator->scoped_top;
  if (at == mutator->scoped_base) return;
  crd_scoped_root root = scoped_root_next(&at);
  if (CRADLE_UNLIKELY(is_below(&root, frame))) frame_is_gone(mutator, what, &root);
}

void cradle_check_scope(cradle_mutator *mutator, const void *frame) {
  if (mutator->heap != NULL) check_innermost(mutator, "CRADLE_ROOT", address_of(frame));
}

/* A scoped root whose variable lies deeper in the stack than the running function belongs to a frame that a longjmp or
 * an exception left; but a variable on another stack may lie there, too, so only builds with assertions look far. They
 * look at all roots in each call. Other builds skip calls when many roots are open, so that on average a call looks at
 * SCOPES_A_CALL: a deep recursion would otherwise take a time that grows with the square of its depth. */
#define SCOPES_A_CALL 64
CRADLE_NOINLINE void crd_unwind_check_scopes(cradle_mutator *mutator, const char *what) {
  const cradle_options *options = &mutator->heap->options;
  const crd_call *call = &crd_running_call;
  if (call->place != NULL && call->frame != NULL) check_innermost(mutator, what, address_of(call->frame));
  if (!CRADLE_ASSERTIONS && !options->verify && options->stress_period == 0) return;
  uint64_t *left = &mutator_of(mutator)->unlooked_calls, seen = 0;
  if (!CRADLE_ASSERTIONS && *left != 0) {
    --*left;
    return;
  }
  ASSERT(mutator->scoped_base <= mutator->scoped_top, "scopes have ended that were not open");
  uintptr_t here = address_of(__builtin_frame_address(0));
  uintptr_t reach = CRADLE_ASSERTIONS ? SAME_STACK_MAYBE_BYTES : SAME_STACK_BYTES;
  for (const cradle_word *at = mutator->scoped_top; at > mutator->scoped_base;) {
    crd_scoped_root root = scoped_root_next(&at);
    uintptr_t variable = address_of(root.variable);
    seen++;
    if (variable < here && here - variable <= reach) frame_is_gone(mutator, what, &root);
  }
  *left = seen / SCOPES_A_CALL;
}

/* --- no-collection regions --- */

CRADLE_UNCHECKED_COLLECTION void cradle_no_collect_begin(cradle_mutator *mutator) {
  crd_mutator_check_thread(mutator, "cradle_no_collect_begin");
  /* top becomes NULL in a region, so that an allocation takes the slow path, which refuses it. */
  mutator->no_collect_depth++;
  crd_nursery_set_top(mutator_of(mutator));
}

CRADLE_UNCHECKED_COLLECTION void cradle_no_collect_end(cradle_mutator *mutator) {
  crd_mutator_check_thread(mutator, "cradle_no_collect_end");
  if (mutator->no_collect_depth == 0) crd_misuse(mutator->heap, "cradle_no_collect_end: no region is open");
  mutator->no_collect_depth--;
  crd_nursery_set_top(mutator_of(mutator));
}

/* --- checkpoints --- */

cradle_checkpoint cradle_checkpoint_save(const cradle_mutator *mutator) {
  const crd_mutator *m = (const crd_mutator *)mutator;
  return (cradle_checkpoint){.shadow_depth = (size_t)(mutator->shadow_top - mutator->shadow_base),
                             .scoped_depth = (size_t)(mutator->scoped_top - mutator->scoped_base),
                             .no_collect_depth = mutator->no_collect_depth,
                             .stack = m->running == &m->own ? NULL : m->running};
}

/* The words below the checkpoint were not written since, unless the watermark was lowered for it. So it is enough to
 * lower the watermark to the top. */
void cradle_checkpoint_restore(cradle_mutator *mutator, const cradle_checkpoint *checkpoint) {
  static const char name[] = "cradle_checkpoint_restore";
  crd_mutator *m = mutator_of(mutator);
  crd_mutator_check_thread(mutator, name);
  if (m->running != (checkpoint->stack == NULL ? &m->own : checkpoint->stack))
    (void)cradle_root_stack_switch(mutator, checkpoint->stack);
  if (checkpoint->shadow_depth > (size_t)(mutator->shadow_top - mutator->shadow_base))
    crd_misuse(mutator->heap, "%s: the shadow stack is already lower than at the checkpoint", name);
  if (checkpoint->scoped_depth > (size_t)(mutator->scoped_top - mutator->scoped_base))
    crd_misuse(mutator->heap, "%s: scopes that were open at the checkpoint have ended", name);
  mutator->shadow_top = mutator->shadow_base + checkpoint->shadow_depth;
  if (mutator->shadow_watermark > mutator->shadow_top) mutator->shadow_watermark = mutator->shadow_top;
  mutator->scoped_top = mutator->scoped_base + checkpoint->scoped_depth;
  mutator->no_collect_depth = checkpoint->no_collect_depth;
  crd_nursery_set_top(m);
}
