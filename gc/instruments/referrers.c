#include "gc/instruments/referrers.h"

#include "gc/heap.h"
#include "gc/instruments/describe.h"
#include "gc/roots.h"

const char *crd_holder_name(cradle_holder holder) {
  switch (holder) {
  case CRADLE_HOLDER_OBJECT: return "object";
  case CRADLE_HOLDER_SHADOW_STACK: return "shadow stack";
  case CRADLE_HOLDER_SCOPED_ROOT: return "scoped root";
  case CRADLE_HOLDER_ROOT_RANGE: return "root range";
  case CRADLE_HOLDER_GLOBAL_ROOT: return "global root";
  case CRADLE_HOLDER_OTHER_ROOT: return "other root";
  case CRADLE_HOLDER_HANDLE: return "handle";
  case CRADLE_HOLDER_PIN: return "pin";
  case CRADLE_HOLDER_PREBUILT: return "prebuilt object";
  case CRADLE_HOLDER_FINALIZER_QUEUE: return "finalizer queue";
  }
  return "unknown holder";
}

/* Ranges are numbered as they are visited: those of root stacks first. */
static void begin_stack(crd_root_names *names, int ring, crd_ring *link) {
  crd_mutator *mutator = names->heap->space.mutator;
  while (link == &mutator->rings[ring] && ++ring < ROOT_STACKS_RINGS) link = mutator->rings[ring].next;
  names->ring = ring;
  names->stack = ring == ROOT_STACKS_RINGS ? NULL : root_stack_of(link);
  names->scope = names->stack == NULL ? NULL : names->stack->scoped.top;
  names->scopes = 0;
}

static void next_stack(crd_root_names *names) {
  for (const cradle_root_range *range = names->stack->ranges; range != NULL; range = range->next) names->ranges++;
  begin_stack(names, names->ring, names->stack->ring.next);
}

crd_root_names crd_root_names_begin(const cradle_heap *heap, const crd_walker *walker) {
  crd_root_names names = {.heap = heap, .walker = walker};
  if (heap->space.mutator == NULL) return names;
  crd_root_stack_store(heap->space.mutator);
  begin_stack(&names, ROOT_STACKS_RAN, heap->space.mutator->rings[ROOT_STACKS_RAN].next);
  return names;
}

static void set_root(cradle_referrer *referrer, cradle_holder holder, uint64_t index) {
  referrer->holder = holder;
  referrer->name = crd_holder_name(holder);
  referrer->index = index;
}

static void name_object(const cradle_heap *heap, cradle_holder kind, const cradle_word *holder,
                        cradle_referrer *referrer) {
  const cradle_word *slot = referrer->slot;
  referrer->object = crd_object_info(heap, holder);
  bool inside = slot > holder && slot < holder + referrer->object.bytes / 8;
  set_root(referrer, kind, inside ? (uint64_t)(slot - holder) : CRADLE_INDEX_OUTSIDE);
}

/* Goes on to the scoped root that the slot is. false: it is none, and all have been passed. The root that is found is
 * not passed yet: a variable may be rooted twice and is then reported twice, and the next search begins with it. */
static bool name_scope(crd_root_names *names, cradle_referrer *referrer) {
  while (names->scope > names->stack->scoped.base + 1) {
    const cradle_word *next = names->scope;
    crd_scoped_root root = scoped_root_next(&next);
    if (root.variable == referrer->slot) {
      set_root(referrer, CRADLE_HOLDER_SCOPED_ROOT, names->scopes);
      if (root.name != NULL) referrer->name = root.name;
      return true;
    }
    names->scope = next;
    names->scopes++;
  }
  return false;
}

static bool is_next_global(crd_root_names *names, const void *slot) {
  const cradle_heap *heap = names->heap;
  while (names->global < heap->roots.global_count && (const void *)heap->roots.globals[names->global].address != slot)
    names->global++;
  return names->global < heap->roots.global_count;
}

static bool is_in_range(const cradle_root_range *range, const cradle_word *slot) {
  return slot >= range_base(range) && slot < range_top(range);
}

/* number: of the first range. */
static bool name_range(const cradle_root_range *range, cradle_referrer *referrer, uint32_t first, uint32_t *number) {
  const cradle_word *slot = referrer->slot;
  for (*number = first; range != NULL; range = range->next, ++*number) {
    if (!is_in_range(range, slot)) continue;
    set_root(referrer, CRADLE_HOLDER_ROOT_RANGE, (uint64_t)(slot - range_base(range)));
    if (range->name != NULL) referrer->name = range->name;
    return true;
  }
  *number = 0;
  return false;
}

/* Roots are reported root stack by root stack, so the search goes on where the last one ended. */
static bool name_mutator_root(crd_root_names *names, cradle_referrer *referrer, uint32_t *number) {
  const cradle_word *slot = referrer->slot;
  for (; names->stack != NULL; next_stack(names)) {
    const crd_word_stack *shadow = &names->stack->shadow;
    if (slot >= shadow->base && slot < shadow->top) {
      set_root(referrer, CRADLE_HOLDER_SHADOW_STACK, (uint64_t)(slot - shadow->base));
      return true;
    }
    if (name_scope(names, referrer) || name_range(names->stack->ranges, referrer, names->ranges, number)) return true;
  }
  return name_range(names->heap->space.mutator->ranges, referrer, names->ranges, number);
}

/* What the walker does not name and no table has must be a root of the root callback. */
void crd_root_name(crd_root_names *names, cradle_referrer *referrer, uint32_t *range) {
  const crd_walker *walker = names->walker;
  ASSERT(referrer->slot != NULL, "a root without a slot");
  ASSERT(walker->root != CRADLE_HOLDER_PREBUILT || walker->prebuilt != NULL, "the walker does not say which object");
  *range = 0;
  if (walker->root == CRADLE_HOLDER_PREBUILT) {
    name_object(names->heap, walker->root, walker->prebuilt, referrer);
    return;
  }
  if (walker->root != CRADLE_HOLDER_OBJECT) {
    set_root(referrer, walker->root, walker->index);
    return;
  }
  if (names->heap->space.mutator != NULL && name_mutator_root(names, referrer, range)) return;
  if (is_next_global(names, referrer->slot))
    set_root(referrer, CRADLE_HOLDER_GLOBAL_ROOT, names->global);
  else
    set_root(referrer, CRADLE_HOLDER_OTHER_ROOT, names->others++);
}

typedef struct referrer_context {
  crd_walker walker;
  crd_root_names names;
  uintptr_t wanted;
  cradle_referrer_function function;
  void *data;
} referrer_context;

static void each_referrer(void *data, const cradle_word *holder, const cradle_word *slot, cradle_kind kind,
                          uintptr_t address) {
  referrer_context *context = data;
  ASSERT(!context->walker.stopped, "a slot is told after the walk was stopped");
  if (address != context->wanted) return;
  cradle_referrer referrer = {.kind = kind, .slot = slot};
  uint32_t range;
  if (holder != NULL)
    name_object(context->names.heap, CRADLE_HOLDER_OBJECT, holder, &referrer);
  else
    crd_root_name(&context->names, &referrer, &range);
  if (!context->function(context->data, &referrer)) context->walker.stopped = true;
}

cradle_walk_result cradle_referrers(cradle_heap *heap, const void *object, cradle_referrer_function function,
                                    void *data) {
  crd_walk_begin(heap, "cradle_referrers");
  referrer_context context = {.walker = {.slot = each_referrer, .data = &context},
                              .names = crd_root_names_begin(heap, &context.walker),
                              .wanted = address_of(object),
                              .function = function,
                              .data = data};
  cradle_walk_result result = crd_walk(heap, &context.walker);
  crd_walk_end(heap);
  return result;
}
