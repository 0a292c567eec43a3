/* Mutators: their life, their thread, no-collection regions, and unwinding. */
#include "gc/mutator.h"

#include <stdlib.h>

#include "gc/collect.h"
#include "gc/death/order.h"
#include "gc/death/registry.h"
#include "gc/heap.h"
#include "gc/misuse.h"
#include "gc/roots.h"
#include "gc/young/nursery.h"

_Static_assert(offsetof(cradle_mutator, free) == CRADLE_MUTATOR_FREE_OFFSET, "published offset");
_Static_assert(offsetof(cradle_mutator, top) == CRADLE_MUTATOR_TOP_OFFSET, "published offset");
_Static_assert(offsetof(cradle_mutator, shadow_top) == CRADLE_MUTATOR_SHADOW_TOP_OFFSET, "published offset");
_Static_assert(offsetof(cradle_mutator, shadow_limit) == CRADLE_MUTATOR_SHADOW_LIMIT_OFFSET, "published offset");
_Static_assert(offsetof(cradle_mutator, shadow_watermark) == CRADLE_MUTATOR_SHADOW_WATERMARK_OFFSET,
               "published offset");

/* A thread is known by the address of a thread-local variable: that needs no call, and nothing to clean up. */
static CRD_THREAD_LOCAL char thread_mark;

static CRADLE_COLD _Noreturn void entry_misuse(cradle_heap *heap, const char *what, const char *why) {
  crd_misuse(heap, "%s: %s", what, why);
}

/* Anything this close below the current frame is on the same stack. */
#define SAME_STACK_BYTES ((size_t)16 << 10)
/* Anything this close is on the same stack in most programs, but may lie on the stack of a coroutine. */
#define SAME_STACK_MAYBE_BYTES ((size_t)1 << 20)

/* A scoped root whose variable lies deeper in the stack than the running function belongs to a frame that a longjmp
 * left. A variable on another stack may lie at such an address, too. So only builds with assertions look as far as
 * SAME_STACK_MAYBE_BYTES; the verifier and stress modes look as far as SAME_STACK_BYTES. */
static void check_scopes(cradle_mutator *mutator, const char *what) {
  const cradle_options *options = &mutator->heap->options;
  if (!CRADLE_ASSERTIONS && !options->verify && options->stress_period == 0) return;
  uintptr_t here = address_of(__builtin_frame_address(0));
  uintptr_t reach = CRADLE_ASSERTIONS ? SAME_STACK_MAYBE_BYTES : SAME_STACK_BYTES;
  for (const cradle_word *at = mutator->scoped_top; at > mutator->scoped_base;) {
    crd_scoped_root root = scoped_root_next(&at);
    uintptr_t variable = address_of(root.variable);
    if (variable >= here || here - variable > reach) continue;
    crd_misuse(mutator->heap,
               "%s: a scoped root of a frame that is gone is still open%s%s: cradle_checkpoint_restore is missing "
               "after a longjmp",
               what, root.name == NULL ? "" : ": ", root.name == NULL ? "" : root.name);
  }
}

/* Code that lowers shadow_top by itself must lower the watermark with it. A mistake shows here only by luck; the
 * verifier looks for it. */
static void check_watermark(cradle_mutator *mutator, const char *what) {
  if (CRADLE_UNLIKELY(mutator->shadow_top < mutator->shadow_watermark))
    entry_misuse(mutator->heap, what,
                 "the shadow stack's top is below its watermark: code that writes shadow_top lowers shadow_watermark, "
                 "too [mutator.6]");
}

/* Says what the heap is busy with, for the message. */
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

/* Asked before the state, which only the mutator's own thread may read safely. */
static void check_owner(cradle_mutator *mutator, const char *what) {
  if (CRADLE_UNLIKELY(mutator_of(mutator)->thread != &thread_mark))
    entry_misuse(mutator->heap, what, "the mutator is not attached to the calling thread");
}

void crd_heap_check_owner(cradle_heap *heap, const char *what) {
  if (heap->mutator != NULL) check_owner(&heap->mutator->public, what);
}

void crd_mutator_check_thread(cradle_mutator *mutator, const char *what) {
  check_owner(mutator, what);
  heap_check(mutator->heap, what);
}

void crd_heap_check_thread(cradle_heap *heap, const char *what) {
  crd_heap_check_owner(heap, what);
  heap_check(heap, what);
}

void crd_mutator_check(cradle_mutator *mutator, const char *what) {
  crd_mutator_check_thread(mutator, what);
  if (CRADLE_UNLIKELY(mutator->no_collect_depth != 0))
    entry_misuse(mutator->heap, what, "may collect, but a no-collection region is open (cradle_no_collect_begin)");
  check_watermark(mutator, what);
  check_scopes(mutator, what);
}

/* Opens the shadow stack and the stack of scoped roots. Fresh pages are zero, so the word below scoped_base is, too
 * [mutator.7]. */
static bool open_stacks(const cradle_heap *heap, crd_mutator *mutator) {
  cradle_mutator *m = &mutator->public;
  size_t bytes = heap->options.shadow_stack_bytes, page_bytes = heap->hardware.page_bytes;
  if (!crd_word_stack_init(&mutator->shadow, bytes, page_bytes, "cradle shadow stack") ||
      !crd_word_stack_init(&mutator->scoped, bytes, page_bytes, "cradle scoped roots") ||
      !crd_word_stack_grow(&mutator->shadow) || !crd_word_stack_grow(&mutator->scoped))
    return false;
  m->shadow_base = m->shadow_watermark = m->shadow_top = mutator->shadow.base;
  m->shadow_limit = mutator->shadow.limit;
  m->scoped_base = m->scoped_top = mutator->scoped.base + 1;
  m->scoped_limit = mutator->scoped.limit;
  ASSERT(m->shadow_base < m->shadow_limit && m->scoped_base < m->scoped_limit, "[mutator.3] a stack without memory");
  return true;
}

static void close_stacks(crd_mutator *mutator) {
  crd_word_stack_fini(&mutator->shadow);
  crd_word_stack_fini(&mutator->scoped);
}

CRADLE_UNCHECKED_COLLECTION cradle_mutator *cradle_mutator_new(cradle_heap *heap) {
  crd_heap_check_thread(heap, "cradle_mutator_new");
  if (heap->mutator != NULL)
    crd_misuse(heap, "cradle_mutator_new: the heap has a mutator already; in this version a heap has only one");
  crd_mutator *mutator = calloc(1, sizeof *mutator);
  if (mutator == NULL) return NULL;
  if (!open_stacks(heap, mutator)) {
    close_stacks(mutator);
    free(mutator);
    return NULL;
  }
  mutator->thread = &thread_mark;
  mutator->public.heap = heap;
  /* A major collection may have been clearing since the last mutator went. */
  mutator->public.weak_guard = crd_death_guards(heap);
  mutator->public.free = heap->nursery.start + heap->nursery.kept_bytes;
  heap->mutator = mutator;
  crd_nursery_set_top(heap);
  return &mutator->public;
}

/* Ends a mutator while scopes of scoped roots are still open: a main that frees the mutator has not left its own scope.
 * Each scope reads the mutator when it ends, so the structure stays until the last one has ended. A scope finds no
 * root of its own and takes the slow path, cradle_scope_close_slow, which counts the scopes and frees the structure.
 * That path reads nothing of the heap, which may be gone. */
static void leave_to_scopes(crd_mutator *mutator, uint64_t scopes) {
  *mutator = (crd_mutator){.open_scopes = scopes};
  mutator->public.scoped_top = mutator->public.scoped_limit = &mutator->no_root + 1;
}

static uint64_t count_scopes(const cradle_mutator *mutator) {
  uint64_t count = 0;
  for (const cradle_word *at = mutator->scoped_top; at > mutator->scoped_base; count++) (void)scoped_root_next(&at);
  return count;
}

CRADLE_UNCHECKED_COLLECTION void cradle_mutator_free(cradle_mutator *mutator) {
  if (mutator == NULL) return;
  cradle_heap *heap = mutator->heap;
  crd_mutator_check(mutator, "cradle_mutator_free");
  if (mutator->shadow_top != mutator->shadow_base)
    crd_misuse(heap, "cradle_mutator_free: the shadow stack is not empty (words held: %zu)",
               (size_t)(mutator->shadow_top - mutator->shadow_base));
  /* The nursery holds everything that was ever allocated: it is kept for the next mutator. */
  if (collection_is_off(heap)) {
    heap->nursery.kept_bytes = nursery_filled(heap);
    crd_registry_list_fresh(heap);
  } else {
    crd_collect_minor(heap, CRADLE_CAUSE_DETACH);
    ASSERT(nursery_filled(heap) == 0, "a mutator goes while there are young objects");
  }
  heap->mutator = NULL;
  uint64_t scopes = count_scopes(mutator);
  close_stacks(mutator_of(mutator));
  if (scopes > 0)
    leave_to_scopes(mutator_of(mutator), scopes);
  else
    free(mutator);
}

CRADLE_UNCHECKED_COLLECTION void cradle_mutator_detach(cradle_mutator *mutator) {
  crd_mutator_check(mutator, "cradle_mutator_detach");
  ASSERT(mutator_of(mutator)->thread == &thread_mark, "[mutator.5] a mutator is detached by another thread");
  mutator_of(mutator)->thread = NULL;
}

CRADLE_UNCHECKED_COLLECTION void cradle_mutator_attach(cradle_mutator *mutator) {
  heap_check(mutator->heap, "cradle_mutator_attach");
  if (mutator_of(mutator)->thread != NULL)
    entry_misuse(mutator->heap, "cradle_mutator_attach", "the mutator is attached to a thread already");
  mutator_of(mutator)->thread = &thread_mark;
}

CRADLE_UNCHECKED_COLLECTION void cradle_no_collect_begin(cradle_mutator *mutator) {
  crd_mutator_check_thread(mutator, "cradle_no_collect_begin");
  /* top becomes NULL in a region, so that an allocation takes the slow path, which refuses it. */
  mutator->no_collect_depth++;
  crd_nursery_set_top(mutator->heap);
}

CRADLE_UNCHECKED_COLLECTION void cradle_no_collect_end(cradle_mutator *mutator) {
  crd_mutator_check_thread(mutator, "cradle_no_collect_end");
  if (mutator->no_collect_depth == 0) entry_misuse(mutator->heap, "cradle_no_collect_end", "no region is open");
  mutator->no_collect_depth--;
  crd_nursery_set_top(mutator->heap);
}

cradle_checkpoint cradle_checkpoint_save(const cradle_mutator *mutator) {
  return (cradle_checkpoint){.shadow_depth = (size_t)(mutator->shadow_top - mutator->shadow_base),
                             .scoped_depth = (size_t)(mutator->scoped_top - mutator->scoped_base),
                             .no_collect_depth = mutator->no_collect_depth};
}

/* The words below the checkpoint were not written since, unless the watermark was lowered for it. So it is enough to
 * lower the watermark to the top. */
void cradle_checkpoint_restore(cradle_mutator *mutator, const cradle_checkpoint *checkpoint) {
  static const char name[] = "cradle_checkpoint_restore";
  crd_mutator_check_thread(mutator, name);
  if (checkpoint->shadow_depth > (size_t)(mutator->shadow_top - mutator->shadow_base))
    entry_misuse(mutator->heap, name, "the shadow stack is already lower than at the checkpoint");
  if (checkpoint->scoped_depth > (size_t)(mutator->scoped_top - mutator->scoped_base))
    entry_misuse(mutator->heap, name, "scopes that were open at the checkpoint have ended");
  mutator->shadow_top = mutator->shadow_base + checkpoint->shadow_depth;
  if (mutator->shadow_watermark > mutator->shadow_top) mutator->shadow_watermark = mutator->shadow_top;
  mutator->scoped_top = mutator->scoped_base + checkpoint->scoped_depth;
  mutator->no_collect_depth = checkpoint->no_collect_depth;
  crd_nursery_set_top(mutator->heap);
}
