#include "gc/instruments/walk.h"

#include "gc/death/services.h"
#include "gc/heap.h"
#include "gc/instruments/describe.h"
#include "gc/instruments/young_set.h"
#include "gc/mutator.h"
#include "gc/roots.h"
#include "gc/report/report.h"
#include "gc/tables/handle.h"
#include "gc/tables/pin.h"
#include "gc/tables/prebuilt.h"

typedef struct walk_context {
  cradle_heap *heap;
  crd_walker *walker;
  young_set seen;
  cradle_word *waiting;      /* the mark stack's top when the walk began */
  const cradle_word *holder; /* NULL: a root; roots come before any object */
  bool wants_slots;          /* false: nobody asked for slots, and no young object is to be found by them */
  bool incomplete;
} walk_context;

/* --- finding --- */

static void put_aside(walk_context *context, uintptr_t address) {
  if (!word_stack_push(&context->heap->marking.mark_stack, address)) context->incomplete = true;
}

static void found(walk_context *context, uintptr_t address) {
  cradle_heap *heap = context->heap;
  if (space_is_young(&heap->space, address)) {
    if (young_set_add(&context->seen, address)) put_aside(context, address);
  } else if (heap->space.old.young_large != PAGE_NONE && old_is_young_large(&heap->space.old, address)) {
    arenas_page(&heap->space.old.arenas, arenas_page_number(&heap->space.old.arenas, address))->state =
        PAGE_LARGE_REACHED;
    put_aside(context, address);
  }
}

/* While the order of death goes on, an object that a finalizer has brought back may refer to one that has not been
 * brought back yet, and the value of an ephemeron's pair may be as dead as its key. So slots are left out if they refer
 * to an object that is dead so far, or to one that is back while something that it leads to is not. */
static bool is_dead_so_far(const cradle_heap *heap, uintptr_t address) {
  if (!crd_old_is_object(&heap->space.old, address)) return false;
  return marking_knows_dead(&heap->marking, address) || space_has_open(&heap->space, object_at(address));
}

/* Reports a slot if it refers into the heap. Empty slots, immediates and references to the program's own memory are
 * left out. */
static inline void walk_slot(void *data, bool value, cradle_word *slot) {
  walk_context *context = data;
  cradle_heap *heap = context->heap;
  uintptr_t address = space_address_in(&heap->space, value, *slot);
  bool young = address - address_of(heap->space.nursery.start) < nursery_filled(&heap->space);
  if (!young && !arenas_contain(&heap->space.old.arenas, address)) return;
  if (!young && heap->marking.major.phase == MAJOR_CLEARING && is_dead_so_far(heap, address)) return;
  found(context, address);
  crd_walker *walker = context->walker;
  cradle_kind kind = value ? CRADLE_KIND_VALUE : CRADLE_KIND_REFERENCE;
  if (walker->slot != NULL && !walker->stopped) walker->slot(walker->data, context->holder, slot, kind, address);
}

/* Reports an object, then its slots. The values of an ephemeron come extra: they are not among the slots that are
 * visited for every object. */
static void walk_object(void *data, cradle_word *object) {
  walk_context *context = data;
  crd_walker *walker = context->walker;
  if (walker->stopped || space_has_open(&context->heap->space, object)) return;
  ASSERT(header_type(object[0]) < context->heap->space.types.count && !header_is_forwarded(object[0]),
         "[header.1] a walk comes to what is no object");
  if (walker->object != NULL) {
    cradle_object_info info = crd_object_info(context->heap, object);
    walker->object(walker->data, &info);
  }
  const crd_type *type = space_type(&context->heap->space, object[0]);
  if (!context->wants_slots || walker->stopped) return;
  context->holder = object;
  if (type->has_slots) visit_object(&context->heap->space.types, object, walk_slot, context);
  if (CRADLE_UNLIKELY(type->registers >> REGISTERED_EPHEMERON & 1))
    service_visit_all(&context->heap->space, object, CRADLE_ITEMS_EPHEMERONS, 1, walk_slot, context);
}

/* --- roots --- */

static void walk_handles(walk_context *context) {
  const crd_handles *handles = &context->heap->tables.handles;
  context->walker->root = CRADLE_HOLDER_HANDLE;
  for (uint32_t i = 0; i < handles->used; i++) {
    context->walker->index = i;
    if (handle_is_open(&handles->entries[i])) walk_slot(context, false, &handles->entries[i].word);
  }
}

static void walk_pins(walk_context *context) {
  const crd_pins *pins = &context->heap->tables.pins;
  context->walker->root = CRADLE_HOLDER_PIN;
  for (uint32_t i = 0; i < pins->count; i++) {
    context->walker->index = i;
    walk_slot(context, false, words_of(&pins->pins[i].address));
  }
}

static void walk_prebuilts(walk_context *context) {
  const crd_prebuilts *prebuilts = &context->heap->tables.prebuilts;
  context->walker->root = CRADLE_HOLDER_PREBUILT;
  for (uint32_t i = 0; i < prebuilts->written; i++) {
    cradle_word *object = prebuilts->of[i].object;
    context->walker->prebuilt = object;
    visit_object(&context->heap->space.types, object, walk_slot, context);
  }
}

static void walk_waiting(void *data, uint32_t queue, cradle_word *word) {
  walk_context *context = data;
  context->walker->root = CRADLE_HOLDER_FINALIZER_QUEUE;
  context->walker->index = queue;
  walk_slot(context, false, word);
}

static void walk_roots(walk_context *context) {
  cradle_heap *heap = context->heap;
  visit_roots(&heap->roots, walk_slot, context);
  walk_handles(context);
  walk_pins(context);
  walk_prebuilts(context);
  if (heap->space.services != NULL) crd_registry_each_waiting(heap->space.services, walk_waiting, context);
  context->walker->root = CRADLE_HOLDER_OBJECT;
}

/* --- the walk --- */

/* While the order of death goes on, the marked objects are the live ones. Young large objects are left to walk_young,
 * so that they are visited only if something refers to them. */
static void walk_old(walk_context *context) {
  const crd_old *old = &context->heap->space.old;
  for (uint32_t page = crd_old_next_span(old, 0); page != PAGE_NONE && !context->walker->stopped;
       page = old_span_after(old, page)) {
    const crd_page *entry = arenas_page(&old->arenas, page);
    if (entry->state == PAGE_LARGE_YOUNG || entry->state == PAGE_LARGE_REACHED) continue;
    crd_old_each_in(old, page, context->heap->marking.major.phase == MAJOR_CLEARING, walk_object, context);
  }
}

static void walk_young(walk_context *context) {
  crd_word_stack *stack = &context->heap->marking.mark_stack;
  while (stack->top > context->waiting && !context->walker->stopped) walk_object(context, object_at(*--stack->top));
}

/* Roots first: with the old objects' slots, they lead to the young objects, which come last. */
static void walk_all(walk_context *context) {
  cradle_heap *heap = context->heap;
  bool has_young = nursery_filled(&heap->space) != 0 || heap->space.old.young_large != PAGE_NONE;
  crd_old_retire(&heap->space.old);
  context->wants_slots = has_young || context->walker->slot != NULL;
  if (context->wants_slots) walk_roots(context);
  walk_old(context);
  walk_young(context);
}

/* Undoes what the walk did to the heap [walk.1]: a walk that was stopped leaves objects on the stack, and large young
 * ones have the state that says that they were found. */
static void restore(walk_context *context) {
  const crd_old *old = &context->heap->space.old;
  ASSERT(context->heap->marking.mark_stack.top >= context->waiting, "[walk.1] a walk takes from marking");
  context->heap->marking.mark_stack.top = context->waiting;
  for (uint32_t page = old->young_large; page != PAGE_NONE; page = arenas_page(&old->arenas, page)->next) {
    crd_page *entry = arenas_page(&old->arenas, page);
    ASSERT(entry->state == PAGE_LARGE_YOUNG || entry->state == PAGE_LARGE_REACHED,
           "[walk.1] the list has an old object");
    entry->state = PAGE_LARGE_YOUNG;
  }
}

void crd_walk_begin(cradle_heap *heap, const char *what) {
  crd_heap_check_thread(heap, what);
  (void)crd_state_enter(&heap->report, HEAP_WALKING);
}

void crd_walk_end(cradle_heap *heap) {
  crd_state_leave(&heap->report, HEAP_MUTATING);
}

cradle_walk_result crd_walk(cradle_heap *heap, crd_walker *walker) {
  walk_context context = {.heap = heap, .walker = walker, .waiting = heap->marking.mark_stack.top};
  ASSERT(heap->report.state == HEAP_WALKING, "a walk that was not begun");
  if (!young_set_init(&context.seen, heap)) return CRADLE_WALK_NO_MEMORY;
  walk_all(&context);
  restore(&context);
  young_set_fini(&context.seen);
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
