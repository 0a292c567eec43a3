/* Walks over the heap as it is, without a collection.
 *
 * Old objects are found by the bitmaps. Young ones are not: a reservation that was not filled leaves a hole, and in it lie
 * the headers of an earlier use of the nursery. They are found as a minor collection finds them, by following the roots and the
 * slots of old objects, and each sets a bit so that it is visited once. The large objects that are still young are found
 * in the same way; meanwhile the state of their page says that they were.
 *
 * Weak slots are not followed. The values of ephemerons are, whatever their keys: which of them live only a collection finds out.
 * While the order of death goes on (gc/death.c), an object that marking did not reach is dead until a finalizer brings it back.
 *
 * Objects found and not yet visited wait on the mark stack, above what a major collection has there.
 */
#include "gc/walk.h"

#include <stdlib.h>

#include "gc/check.h"
#include "gc/registry.h"
#include "gc/visit.h"

typedef struct walk_context {
  cradle_heap *heap;
  crd_walker *walker;
  uint64_t *seen;       /* a bit a word of the nursery */
  cradle_word *waiting; /* the mark stack's top when the walk began */
  const cradle_word *holder; /* NULL: a root */
  bool incomplete;
} walk_context;

cradle_object_info crd_object_info(const cradle_heap *heap, const cradle_word *object) {
  const crd_type *type = heap_type(heap, object[0]);
  cradle_object_info info = {.object = (void *)(uintptr_t)object,
                             .type_name = type->name,
                             .bytes = type_object_bytes(type, object),
                             .type = (uint32_t)object[0],
                             .is_young = heap_is_young(heap, (uintptr_t)object)};
  info.place_bytes = info.bytes;
  if (info.is_young || !arenas_contain(&heap->old.arenas, (uintptr_t)object)) return info;
  const crd_page *page = old_span_of(&heap->old, (uintptr_t)object);
  info.is_large = page->state != PAGE_SMALL;
  info.is_young = page->state == PAGE_LARGE_YOUNG || page->state == PAGE_LARGE_REACHED;
  info.place_bytes = info.is_large ? (uint64_t)page->pages << PAGE_SHIFT : heap->old.classes.of[page->size_class].bytes;
  return info;
}

/* --- finding --- */

static void wait(walk_context *context, uintptr_t address) {
  if (!word_stack_push(&context->heap->mark_stack, address)) context->incomplete = true;
}

static void found(walk_context *context, uintptr_t address) {
  cradle_heap *heap = context->heap;
  if (heap_is_young(heap, address)) {
    size_t word = (address - (uintptr_t)heap->nursery.start) / 8;
    uint64_t bit = UINT64_C(1) << word % 64;
    if (context->seen[word / 64] & bit) return;
    context->seen[word / 64] |= bit;
    wait(context, address);
  } else if (heap->old.young_large != PAGE_NONE &&
             heap->old.arenas.states[(address - heap->old.arenas.base) >> ARENA_SHIFT] == ARENA_USED) {
    crd_page *page = arenas_page(&heap->old.arenas, arenas_page_number(&heap->old.arenas, address));
    if (page->state != PAGE_LARGE_YOUNG) return;
    page->state = PAGE_LARGE_REACHED;
    wait(context, address);
  }
}

/* While the dead are found, an object that a finalizer brings back may still refer to one that it has not brought back yet, and the
 * value of a pair be as dead as its key: what is dead so far is not told, nor what is back without all that it leads to. */
static bool is_dead_so_far(const cradle_heap *heap, uintptr_t address) {
  return heap_is_known_dead(heap, address) || crd_registry_is_open(heap, (const cradle_word *)address);
}

static inline void walk_address(walk_context *context, cradle_word *slot, cradle_kind kind, uintptr_t address) {
  cradle_heap *heap = context->heap;
  bool young = address - (uintptr_t)heap->nursery.start < nursery_filled(heap);
  if (!young && !arenas_contain(&heap->old.arenas, address)) return;
  if (!young && heap->major.phase == MAJOR_CLEARING && is_dead_so_far(heap, address)) return;
  found(context, address);
  crd_walker *walker = context->walker;
  if (walker->slot != NULL && !walker->stopped) walker->slot(walker->data, context->holder, slot, kind, address);
}

static inline void walk_reference(void *data, cradle_word *slot) {
  if (*slot != 0) walk_address(data, slot, CRADLE_KIND_REFERENCE, (uintptr_t)*slot);
}

static inline void walk_value(void *data, cradle_word *slot) {
  walk_context *context = data;
  const cradle_encoding *encoding = &context->heap->encoding;
  if (value_is_reference(encoding, *slot)) walk_address(context, slot, CRADLE_KIND_VALUE, value_address(encoding, *slot));
}

static void walk_pair_value(void *data, bool value, cradle_word *slot) {
  (value ? walk_value : walk_reference)(data, slot);
}

static void walk_object(walk_context *context, cradle_word *object, bool slots) {
  crd_walker *walker = context->walker;
  if (walker->stopped || crd_registry_is_open(context->heap, object)) return;
  if (walker->object != NULL) {
    cradle_object_info info = crd_object_info(context->heap, object);
    walker->object(walker->data, &info);
  }
  const crd_type *type = heap_type(context->heap, object[0]);
  if (!slots || walker->stopped) return;
  context->holder = object;
  if (type->has_slots) visit_object(type, object, walk_reference, walk_value, context);
  if (CRADLE_UNLIKELY(type->registers >> REGISTERED_EPHEMERON & 1))
    crd_registry_each_value(context->heap, object, walk_pair_value, context);
}

/* --- roots --- */

static void walk_handles(walk_context *context) {
  const crd_handles *handles = &context->heap->handles;
  context->walker->root = CRADLE_HOLDER_HANDLE;
  for (uint32_t i = 0; i < handles->used; i++) {
    context->walker->index = i;
    if (handle_is_open(&handles->entries[i])) walk_reference(context, &handles->entries[i].word);
  }
}

static void walk_pins(walk_context *context) {
  const crd_pins *pins = &context->heap->pins;
  context->walker->root = CRADLE_HOLDER_PIN;
  for (uint32_t i = 0; i < pins->count; i++) {
    context->walker->index = i;
    walk_reference(context, (cradle_word *)&pins->pins[i].address);
  }
}

static void walk_prebuilts(walk_context *context) {
  const crd_prebuilts *prebuilts = &context->heap->prebuilts;
  context->walker->root = CRADLE_HOLDER_PREBUILT;
  for (uint32_t i = 0; i < prebuilts->written; i++) {
    cradle_word *object = prebuilts->objects[i];
    context->walker->prebuilt = object;
    visit_object(heap_type(context->heap, object[0]), object, walk_reference, walk_value, context);
  }
}

static void walk_waiting(void *data, uint32_t queue, cradle_word *word) {
  walk_context *context = data;
  context->walker->root = CRADLE_HOLDER_FINALIZER_QUEUE;
  context->walker->index = queue;
  walk_reference(context, word);
}

static void walk_roots(walk_context *context) {
  cradle_heap *heap = context->heap;
  context->holder = NULL;
  visit_roots(heap, walk_reference, walk_value, context);
  walk_handles(context);
  walk_pins(context);
  walk_prebuilts(context);
  if (heap->services != NULL) crd_registry_each_waiting(heap, walk_waiting, context);
  context->walker->root = CRADLE_HOLDER_OBJECT;
}

/* --- the walk --- */

static void old_with_slots(void *data, cradle_word *object) {
  walk_object(data, object, true);
}

static void old_alone(void *data, cradle_word *object) {
  walk_object(data, object, false);
}

static void walk_old(walk_context *context, bool slots) {
  const crd_old *old = &context->heap->old;
  for (uint32_t page = crd_old_next_span(old, 0), pages; page != PAGE_NONE && !context->walker->stopped;
       page = crd_old_next_span(old, page + pages)) {
    const crd_page *entry = arenas_page(&old->arenas, page);
    pages = entry->pages;
    if (entry->state == PAGE_LARGE_YOUNG || entry->state == PAGE_LARGE_REACHED) continue;
    crd_old_each_in(old, page, context->heap->major.phase == MAJOR_CLEARING, slots ? old_with_slots : old_alone, context);
  }
}

static void walk_young(walk_context *context) {
  crd_word_stack *stack = &context->heap->mark_stack;
  while (stack->top > context->waiting && !context->walker->stopped)
    walk_object(context, (cradle_word *)(uintptr_t)*--stack->top, true);
}

static void walk_all(walk_context *context) {
  cradle_heap *heap = context->heap;
  bool has_young = nursery_filled(heap) != 0 || heap->old.young_large != PAGE_NONE;
  crd_old_retire(&heap->old);
  if (has_young || context->walker->slot != NULL) walk_roots(context);
  walk_old(context, has_young || context->walker->slot != NULL);
  walk_young(context);
}

static void restore(walk_context *context) {
  const crd_old *old = &context->heap->old;
  context->heap->mark_stack.top = context->waiting;
  for (uint32_t page = old->young_large; page != PAGE_NONE; page = arenas_page(&old->arenas, page)->next)
    arenas_page(&old->arenas, page)->state = PAGE_LARGE_YOUNG;
}

void crd_walk_begin(cradle_heap *heap, const char *what) {
  crd_heap_check_thread(heap, what);
  crd_heap_enter(heap, HEAP_WALKING);
}

void crd_walk_end(cradle_heap *heap) {
  crd_heap_enter(heap, HEAP_MUTATING);
}

cradle_walk_result crd_walk(cradle_heap *heap, crd_walker *walker) {
  walk_context context = {.heap = heap, .walker = walker, .waiting = heap->mark_stack.top};
  context.seen = calloc(nursery_filled(heap) / 512 + 1, sizeof *context.seen);
  if (context.seen == NULL) return CRADLE_WALK_NO_MEMORY;
  walk_all(&context);
  restore(&context);
  free(context.seen);
  if (walker->stopped) return CRADLE_WALK_STOPPED;
  return context.incomplete ? CRADLE_WALK_NO_MEMORY : CRADLE_WALK_COMPLETE;
}

/* --- every object --- */

typedef struct each_context {
  crd_walker walker;
  cradle_walk_function function;
  void *data;
} each_context;

static void each_object(void *data, const cradle_object_info *info) {
  each_context *each = data;
  if (!each->function(each->data, info)) each->walker.stopped = true;
}

cradle_walk_result cradle_heap_walk(cradle_heap *heap, cradle_walk_function function, void *data) {
  each_context each = {.walker = {.object = each_object, .data = &each}, .function = function, .data = data};
  crd_walk_begin(heap, "cradle_heap_walk");
  cradle_walk_result result = crd_walk(heap, &each.walker);
  crd_walk_end(heap);
  return result;
}

/* --- who refers to an object --- */

const char *cradle_holder_name(cradle_holder holder) {
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

crd_root_names crd_root_names_begin(const cradle_heap *heap, const crd_walker *walker) {
  return (crd_root_names){.heap = heap,
                          .walker = walker,
                          .scope = heap->mutator == NULL ? NULL : heap->mutator->public.scoped_roots};
}

static void set_root(cradle_referrer *referrer, cradle_holder holder, uint64_t index) {
  referrer->holder = holder;
  referrer->name = cradle_holder_name(holder);
  referrer->index = index;
}

static void name_object(const cradle_heap *heap, cradle_holder kind, const cradle_word *holder, cradle_referrer *referrer) {
  const cradle_word *slot = referrer->slot;
  referrer->object = crd_object_info(heap, holder);
  bool inside = slot > holder && slot < holder + referrer->object.bytes / 8;
  set_root(referrer, kind, inside ? (uint64_t)(slot - holder) : CRADLE_INDEX_OUTSIDE);
}

/* Moves on to the scoped root that the slot is; when it is none, they are over. */
static bool is_next_scope(crd_root_names *names, const void *slot) {
  while (names->scope != NULL && names->scope->address != slot) {
    names->scope = names->scope->previous;
    names->scopes++;
  }
  return names->scope != NULL;
}

static bool is_next_global(crd_root_names *names, const void *slot) {
  const cradle_heap *heap = names->heap;
  while (names->global < heap->global_count && (const void *)heap->globals[names->global].address != slot) names->global++;
  return names->global < heap->global_count;
}

static bool is_in_range(const cradle_root_range *range, const void *slot) {
  return (uintptr_t)slot >= (uintptr_t)*range->base && (uintptr_t)slot < (uintptr_t)*range->top;
}

static bool name_mutator_root(crd_root_names *names, cradle_referrer *referrer, uint32_t *number) {
  const crd_mutator *mutator = names->heap->mutator;
  const cradle_word *slot = referrer->slot;
  if (slot >= mutator->public.shadow_base && slot < mutator->public.shadow_top) {
    set_root(referrer, CRADLE_HOLDER_SHADOW_STACK, (uint64_t)(slot - mutator->public.shadow_base));
    return true;
  }
  if (is_next_scope(names, slot)) {
    set_root(referrer, CRADLE_HOLDER_SCOPED_ROOT, names->scopes);
    return true;
  }
  for (const cradle_root_range *range = mutator->ranges; range != NULL; range = range->next, ++*number) {
    if (!is_in_range(range, slot)) continue;
    set_root(referrer, CRADLE_HOLDER_ROOT_RANGE, (uint64_t)(slot - (const cradle_word *)*range->base));
    if (range->name != NULL) referrer->name = range->name;
    return true;
  }
  *number = 0;
  return false;
}

void crd_root_name(crd_root_names *names, cradle_referrer *referrer, uint32_t *range) {
  const crd_walker *walker = names->walker;
  *range = 0;
  if (walker->root == CRADLE_HOLDER_PREBUILT) {
    name_object(names->heap, walker->root, walker->prebuilt, referrer);
    return;
  }
  if (walker->root != CRADLE_HOLDER_OBJECT) {
    set_root(referrer, walker->root, walker->index);
    return;
  }
  if (names->heap->mutator != NULL && name_mutator_root(names, referrer, range)) return;
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
  if (address != context->wanted) return;
  cradle_referrer referrer = {.kind = kind, .slot = slot};
  uint32_t range;
  if (holder != NULL)
    name_object(context->names.heap, CRADLE_HOLDER_OBJECT, holder, &referrer);
  else
    crd_root_name(&context->names, &referrer, &range);
  if (!context->function(context->data, &referrer)) context->walker.stopped = true;
}

cradle_walk_result cradle_referrers(cradle_heap *heap, const void *object, cradle_referrer_function function, void *data) {
  crd_walk_begin(heap, "cradle_referrers");
  referrer_context context = {.walker = {.slot = each_referrer, .data = &context},
                              .names = crd_root_names_begin(heap, &context.walker),
                              .wanted = (uintptr_t)object,
                              .function = function,
                              .data = data};
  cradle_walk_result result = crd_walk(heap, &context.walker);
  crd_walk_end(heap);
  return result;
}
