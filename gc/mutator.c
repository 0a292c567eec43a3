/* Mutators: their life, their thread, no-collection regions, and unwinding. */
#include "gc/mutator.h"

#include <stdlib.h>

#include <cradle/mutator.h>
#include <cradle/roots.h>

#include "gc/base/address.h"
#include "gc/base/check.h"
#include "gc/base/word_stack.h"
#include "gc/collect.h"
#include "gc/death/order.h"
#include "gc/death/registry.h"
#include "gc/heap.h"
#include "gc/misuse.h"
#include "gc/young/nursery.h"

_Static_assert(offsetof(cradle_mutator, free) == CRADLE_MUTATOR_FREE_OFFSET, "published offset");
_Static_assert(offsetof(cradle_mutator, top) == CRADLE_MUTATOR_TOP_OFFSET, "published offset");
_Static_assert(offsetof(cradle_mutator, shadow_top) == CRADLE_MUTATOR_SHADOW_TOP_OFFSET, "published offset");
_Static_assert(offsetof(cradle_mutator, shadow_limit) == CRADLE_MUTATOR_SHADOW_LIMIT_OFFSET, "published offset");

/* A thread is known by the address of a variable of its own: no call, and nothing to clean up. */
static _Thread_local char thread_mark __attribute__((tls_model("initial-exec")));

static CRADLE_COLD _Noreturn void entry_misuse(cradle_heap *heap, const char *what, const char *why) {
  crd_misuse(heap, "%s: %s", what, why);
}

/* Anything this close below the current frame is on the same stack. */
#define SAME_STACK_BYTES ((size_t)16 << 10)

/* Whether a scoped root can be one: a longjmp leaves those of frames that are gone, where other calls write. */
static bool is_scope(const cradle_mutator *mutator, const cradle_scoped_root *root, size_t reach) {
  uintptr_t here = address_of(__builtin_frame_address(0)), at = address_of(root);
  if (at < here && here - at <= reach) return false;
  return root->mutator == mutator && root->kind <= CRADLE_KIND_VALUE && root->previous != root;
}

/* A scoped root that lies deeper in the stack than the running function is left over. Frames of other stacks are not
 * told apart, so only builds with assertions look far; the verifier and stress look nearby. */
static void check_scopes(cradle_mutator *mutator, const char *what) {
  const cradle_options *options = &mutator->heap->options;
  if (!CRADLE_ASSERTIONS && !options->verify && options->stress_period == 0) return;
  for (const cradle_scoped_root *root = mutator->scoped_roots; root != NULL; root = root->previous)
    if (!is_scope(mutator, root, CRADLE_ASSERTIONS ? SIZE_MAX : SAME_STACK_BYTES))
      entry_misuse(mutator->heap, what,
                   "a scoped root of a frame that is gone is still open: cradle_unwind is missing after a longjmp");
}

/* What the heap is busy with when it is not the program's turn. */
static const char *called_from(crd_state state) {
  switch (state) {
  case HEAP_FORKING: return "called after cradle_fork_prepare and before cradle_fork_parent or cradle_fork_child";
  case HEAP_DESTROYING:
    return "called from a destructor, an external-size callback or a weak set's swept function, or after one was left "
           "with longjmp; they must not use the heap";
  case HEAP_TELLING: return "called from a listener, which must not use the heap";
  case HEAP_WALKING: return "called from a callback of a heap walk; callbacks must not use the heap";
  case HEAP_SAMPLING: return "called from a sampler's callback; callbacks must not use the heap";
  default: return "called from a callback while a collection runs; callbacks must not use the heap";
  }
}

void crd_heap_busy(cradle_heap *heap, const char *what) {
  entry_misuse(heap, what, called_from(heap->state));
}

void crd_mutator_check_thread(cradle_mutator *mutator, const char *what) {
  if (CRADLE_UNLIKELY(mutator_of(mutator)->thread != &thread_mark))
    entry_misuse(mutator->heap, what, "the mutator is not attached to the calling thread");
  heap_check(mutator->heap, what);
}

void crd_heap_check_thread(cradle_heap *heap, const char *what) {
  if (heap->mutator != NULL)
    crd_mutator_check_thread(&heap->mutator->public, what);
  else
    heap_check(heap, what);
}

void crd_mutator_check(cradle_mutator *mutator, const char *what) {
  crd_mutator_check_thread(mutator, what);
  if (CRADLE_UNLIKELY(mutator->no_collect_depth != 0))
    entry_misuse(mutator->heap, what, "may collect, but a no-collection region is open (cradle_no_collect_begin)");
  check_scopes(mutator, what);
}

CRADLE_UNCHECKED_COLLECTION cradle_mutator *cradle_mutator_new(cradle_heap *heap) {
  heap_check(heap, "cradle_mutator_new");
  if (heap->mutator != NULL)
    crd_misuse(heap, "cradle_mutator_new: the heap has a mutator already; this version has one a heap");
  crd_mutator *mutator = calloc(1, sizeof *mutator);
  if (mutator == NULL) return NULL;
  if (!crd_word_stack_init(&mutator->shadow, heap->options.shadow_stack_bytes, heap->hardware.page_bytes,
                           "cradle shadow stack") ||
      !crd_word_stack_grow(&mutator->shadow)) {
    crd_word_stack_fini(&mutator->shadow);
    free(mutator);
    return NULL;
  }
  mutator->thread = &thread_mark;
  mutator->public.heap = heap;
  mutator->public.weak_guard = crd_death_guards(heap);
  mutator->public.free = heap->nursery.start + heap->nursery.kept_bytes;
  mutator->public.shadow_base = mutator->public.shadow_top = mutator->shadow.base;
  mutator->public.shadow_limit = mutator->shadow.limit;
  ASSERT(mutator->public.shadow_base < mutator->public.shadow_limit, "[mutator.3] a shadow stack without memory");
  heap->mutator = mutator;
  crd_nursery_set_top(heap);
  return &mutator->public;
}

CRADLE_UNCHECKED_COLLECTION void cradle_mutator_free(cradle_mutator *mutator) {
  if (mutator == NULL) return;
  cradle_heap *heap = mutator->heap;
  crd_mutator_check(mutator, "cradle_mutator_free");
  if (mutator->shadow_top != mutator->shadow_base)
    entry_misuse(mutator->heap, "cradle_mutator_free", "the shadow stack is not empty");
  if (mutator->scoped_roots != NULL) entry_misuse(mutator->heap, "cradle_mutator_free", "a scoped root is still open");
  if (collection_is_off(heap)) {
    heap->nursery.kept_bytes = nursery_filled(heap);
    crd_registry_list_fresh(heap);
  } else {
    crd_collect_minor(heap, CRADLE_CAUSE_DETACH);
    ASSERT(nursery_filled(heap) == 0, "a mutator goes while there are young objects");
  }
  heap->mutator = NULL;
  crd_word_stack_fini(&mutator_of(mutator)->shadow);
  free(mutator);
}

CRADLE_UNCHECKED_COLLECTION void cradle_mutator_detach(cradle_mutator *mutator) {
  crd_mutator_check(mutator, "cradle_mutator_detach");
  ASSERT(mutator_of(mutator)->thread == &thread_mark, "[mutator.5] a mutator is detached by another thread");
  mutator_of(mutator)->thread = NULL;
}

CRADLE_UNCHECKED_COLLECTION void cradle_mutator_attach(cradle_mutator *mutator) {
  if (mutator_of(mutator)->thread != NULL)
    entry_misuse(mutator->heap, "cradle_mutator_attach", "the mutator is attached to a thread already");
  mutator_of(mutator)->thread = &thread_mark;
}

CRADLE_UNCHECKED_COLLECTION void cradle_no_collect_begin(cradle_mutator *mutator) {
  crd_mutator_check_thread(mutator, "cradle_no_collect_begin");
  mutator->no_collect_depth++;
  crd_nursery_set_top(mutator->heap);
}

CRADLE_UNCHECKED_COLLECTION void cradle_no_collect_end(cradle_mutator *mutator) {
  crd_mutator_check_thread(mutator, "cradle_no_collect_end");
  if (mutator->no_collect_depth == 0) entry_misuse(mutator->heap, "cradle_no_collect_end", "no region is open");
  mutator->no_collect_depth--;
  crd_nursery_set_top(mutator->heap);
}

cradle_checkpoint cradle_save(const cradle_mutator *mutator) {
  return (cradle_checkpoint){.shadow_depth = (size_t)(mutator->shadow_top - mutator->shadow_base),
                             .scoped_roots = mutator->scoped_roots,
                             .no_collect_depth = mutator->no_collect_depth};
}

void cradle_unwind(cradle_mutator *mutator, const cradle_checkpoint *checkpoint) {
  crd_mutator_check_thread(mutator, "cradle_unwind");
  if (checkpoint->shadow_depth > (size_t)(mutator->shadow_top - mutator->shadow_base))
    entry_misuse(mutator->heap, "cradle_unwind", "the shadow stack is lower than at the checkpoint already");
  mutator->shadow_top = mutator->shadow_base + checkpoint->shadow_depth;
  ASSERT(mutator->shadow_top <= mutator->shadow_limit, "[mutator.3] a checkpoint lies above the shadow stack");
  mutator->scoped_roots = checkpoint->scoped_roots;
  mutator->no_collect_depth = checkpoint->no_collect_depth;
  crd_nursery_set_top(mutator->heap);
}
