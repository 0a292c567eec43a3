#include "gc/instruments/walk.h"

#include "gc/death/services.h"
#include "gc/heap.h"
#include "gc/instruments/describe.h"
#include "gc/mutator.h"
#include "gc/world.h"

static void found(crd_walker *walker, uintptr_t address) {
  cradle_heap *heap = walker->heap;
  const crd_arenas *arenas = &heap->space.old.arenas;
  if (space_is_young(&heap->space, address)) {
    if (!young_search_found(&walker->young, address)) return;
  } else if (old_is_young_large(&heap->space.old, address)) {
    arenas_page(arenas, arenas_page_number(arenas, address))->state = PAGE_LARGE_REACHED;
  } else {
    return;
  }
  young_search_put_aside(&walker->young, address);
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
  crd_walker *walker = data;
  cradle_heap *heap = walker->heap;
  uintptr_t address = space_address_in(&heap->space, value, *slot);
  bool young = nursery_holds(&heap->space, address);
  if (!young && !arenas_contain(&heap->space.old.arenas, address)) return;
  if (!young && heap->marking.major.phase == MAJOR_CLEARING && is_dead_so_far(heap, address)) return;
  found(walker, address);
  cradle_kind kind = value ? CRADLE_KIND_VALUE : CRADLE_KIND_REFERENCE;
  if (walker->slot != NULL && !walker->stopped) walker->slot(walker->data, walker->holder, slot, kind, address);
}

/* Reports an object, then its slots. The values of an ephemeron come extra: they are not among the slots that are
 * visited for every object. */
static void walk_object(void *data, cradle_word *object) {
  crd_walker *walker = data;
  if (walker->stopped || space_has_open(&walker->heap->space, object)) return;
  ASSERT(type_table_has(&walker->heap->space.types, header_type(object[0])) && !header_is_forwarded(object[0]),
         "[header.1] a walk comes to what is no object");
  if (walker->object != NULL) {
    cradle_object_info info = crd_object_info(walker->heap, object);
    if (!walker->object(walker->data, &info)) walker->stopped = true;
  }
  const crd_type *type = space_type(&walker->heap->space, object[0]);
  if (!walker->wants_slots || walker->stopped) return;
  walker->holder = object;
  if (type->has_slots) visit_object(&walker->heap->space.types, object, walk_slot, walker);
  if (CRADLE_UNLIKELY(type->registers >> REGISTERED_EPHEMERON & 1))
    service_visit_all(&walker->heap->space, object, CRADLE_ITEMS_EPHEMERONS, 1, walk_slot, walker);
}

static void walk_ranges(cradle_root_range *range, crd_root_at *at, crd_slot_function visit, void *context) {
  at->holder = CRADLE_HOLDER_ROOT_RANGE;
  for (; range != NULL; range = range->next, at->range++) {
    at->name = range->name;
    at->base = range_base(range);
    (void)visit_range(range, visit, context);
  }
  at->name = NULL;
  at->base = NULL;
}

static void walk_root_stack(const cradle_heap *heap, crd_root_at *at, crd_slot_function visit, void *context) {
  const cradle_root_stack *stack = at->stack;
  at->holder = CRADLE_HOLDER_SHADOW_STACK;
  at->base = stack->shadow.base;
  visit_words(stack->shadow.base, stack->shadow.top, heap->options.shadow_stack == CRADLE_KIND_VALUE, visit, context);
  at->holder = CRADLE_HOLDER_SCOPED_ROOT;
  at->base = NULL;
  at->index = 0;
  for (const cradle_word *top = stack->scoped.top; top > stack->scoped.base + 1; at->index++) {
    crd_scoped_root root = scoped_root_next(&top);
    at->name = root.name;
    visit(context, root.kind == CRADLE_KIND_VALUE, root.variable);
  }
  walk_ranges(stack->ranges, at, visit, context);
}

static void walk_mutator(crd_mutator *mutator, crd_root_at *at, crd_slot_function visit, void *context) {
  crd_root_stack_store(mutator);
  at->mutator = mutator;
  for (at->ring = ROOT_STACKS_RAN; at->ring < ROOT_STACKS_RINGS; at->ring++)
    for (EACH_ROOT_STACK(stack, mutator, at->ring)) {
      at->stack = stack;
      walk_root_stack(mutator->public.heap, at, visit, context);
    }
  at->stack = NULL;
  walk_ranges(mutator->ranges, at, visit, context);
}

void crd_walk_roots(cradle_heap *heap, crd_root_at *at, crd_slot_function visit, void *context) {
  const crd_handles *handles = &heap->tables.handles;
  *at = (crd_root_at){.index = 0};
  for (EACH_MUTATOR(mutator, &heap->space)) walk_mutator(mutator, at, visit, context);
  at->mutator = NULL;
  at->holder = CRADLE_HOLDER_GLOBAL_ROOT;
  for (at->index = 0; at->index < heap->roots.global_count; at->index++) {
    const crd_global_root *root = &heap->roots.globals[at->index];
    visit(context, root->kind == CRADLE_KIND_VALUE, root->address);
  }
  at->holder = CRADLE_HOLDER_OTHER_ROOT;
  at->index = 0;
  (void)visit_callback_roots(&heap->roots, visit, context);
  at->holder = CRADLE_HOLDER_HANDLE;
  for (at->index = 0; at->index < handles->used; at->index++) {
    crd_handle_entry *entry = handle_entry(handles, (uint32_t)at->index);
    if (handle_is_open(entry)) visit(context, false, &entry->word);
  }
  at->holder = CRADLE_HOLDER_OBJECT;
}

static void walk_waiting(void *data, uint32_t queue, cradle_word *word) {
  crd_walker *walker = data;
  walker->at.index = queue;
  walk_slot(walker, false, word);
}

/* The roots that the verifier looks at otherwise: pins and finalizer queues. */
static void walk_tables(crd_walker *walker) {
  cradle_heap *heap = walker->heap;
  const crd_pins *pins = &heap->tables.pins;
  crd_root_at *at = &walker->at;
  at->holder = CRADLE_HOLDER_PIN;
  for (at->index = 0; at->index < pins->count; at->index++)
    walk_slot(walker, false, words_of(&pins->pins[at->index].address));
  at->holder = CRADLE_HOLDER_FINALIZER_QUEUE;
  if (heap->space.services != NULL) crd_registry_each_waiting(heap->space.services, walk_waiting, walker);
  at->holder = CRADLE_HOLDER_OBJECT;
}

/* While the order of death goes on, the marked objects are the live ones. Young large objects are left to walk_young,
 * so that they are visited only if something refers to them. */
static void walk_old(crd_walker *walker) {
  const crd_old *old = &walker->heap->space.old;
  for (uint32_t page = crd_old_next_span(old, 0); page != PAGE_NONE && !walker->stopped;
       page = old_span_after(old, page)) {
    const crd_page *entry = arenas_page(&old->arenas, page);
    if (entry->state == PAGE_LARGE_YOUNG || entry->state == PAGE_LARGE_REACHED) continue;
    crd_old_each_in(old, page, walker->heap->marking.major.phase == MAJOR_CLEARING, walk_object, walker);
  }
}

/* Roots first: with the old objects' slots, they lead to the young objects, which come last. */
static void walk_all(crd_walker *walker) {
  cradle_heap *heap = walker->heap;
  bool has_young = nursery_filled(&heap->space) != 0 || heap->space.old.young_large != PAGE_NONE;
  crd_old_retire(&heap->space.old);
  walker->wants_slots = has_young || walker->slot != NULL;
  if (walker->wants_slots) {
    crd_walk_roots(heap, &walker->at, walk_slot, walker);
    walk_tables(walker);
  }
  walk_old(walker);
  for (cradle_word *object; !walker->stopped && (object = young_search_next(&walker->young)) != NULL;)
    walk_object(walker, object);
}

/* Large young objects have the state that says that they were found [walk.1]. */
static void forget_found(const crd_old *old) {
  for (uint32_t page = old->young_large; page != PAGE_NONE; page = arenas_page(&old->arenas, page)->next) {
    crd_page *entry = arenas_page(&old->arenas, page);
    ASSERT(entry->state == PAGE_LARGE_YOUNG || entry->state == PAGE_LARGE_REACHED,
           "[walk.1] the list has an old object");
    entry->state = PAGE_LARGE_YOUNG;
  }
}

cradle_walk_result crd_walk(cradle_heap *heap, crd_walker *walker) {
  bool prepared = young_search_init(&walker->young, heap);
  ASSERT(heap->report.state == HEAP_WALKING, "a walk that was not begun");
  walker->heap = heap;
  if (prepared) walk_all(walker);
  forget_found(&heap->space.old);
  young_search_fini(&walker->young);
  if (walker->stopped) return CRADLE_WALK_STOPPED;
  return prepared && !walker->young.incomplete ? CRADLE_WALK_COMPLETE : CRADLE_WALK_NO_MEMORY;
}

/* what: the public function, for the message if the walk is refused, as in callbacks and on other threads. */
static cradle_walk_result walk(cradle_heap *heap, crd_walker *walker, const char *what) {
  crd_heap_enter(heap, what);
  crd_state before = crd_state_enter(&heap->report, HEAP_WALKING);
  cradle_walk_result result = crd_walk(heap, walker);
  crd_state_leave(&heap->report, before);
  crd_world_leave(&heap->space);
  return result;
}

cradle_walk_result cradle_heap_walk(cradle_heap *heap, cradle_walk_function function, void *data) {
  crd_walker walker = {.object = function, .data = data};
  return walk(heap, &walker, "cradle_heap_walk");
}

const char *crd_holder_name(cradle_holder holder) {
  static const char *const names[] = {"object",     "shadow stack", "scoped root", "root range",     "global root",
                                      "other root", "handle",       "pin",         "finalizer queue"};
  _Static_assert(sizeof names / sizeof *names == CRADLE_HOLDER_FINALIZER_QUEUE + 1, "each holder has a name");
  return (size_t)holder <= CRADLE_HOLDER_FINALIZER_QUEUE ? names[holder] : "unknown holder";
}

static void name_object(const cradle_heap *heap, const cradle_word *holder, cradle_referrer *referrer) {
  const cradle_word *slot = referrer->slot;
  referrer->object = crd_object_info(heap, holder);
  bool inside = slot > holder && slot < holder + referrer->object.bytes / 8;
  referrer->holder = CRADLE_HOLDER_OBJECT;
  referrer->name = crd_holder_name(CRADLE_HOLDER_OBJECT);
  referrer->index = inside ? (uint64_t)(slot - holder) : CRADLE_INDEX_OUTSIDE;
}

void crd_root_name(crd_root_at *at, cradle_referrer *referrer) {
  const cradle_word *slot = referrer->slot;
  referrer->holder = at->holder;
  referrer->name = at->name != NULL ? at->name : crd_holder_name(at->holder);
  referrer->index = at->base != NULL ? (uint64_t)(slot - at->base) : at->index;
  if (at->holder == CRADLE_HOLDER_OTHER_ROOT) at->index++; /* nobody else counts these */
}

typedef struct referrer_context {
  crd_walker walker;
  uintptr_t wanted;
  cradle_referrer_function function;
  void *data;
} referrer_context;

static void each_referrer(void *data, const cradle_word *holder, const cradle_word *slot, cradle_kind kind,
                          uintptr_t address) {
  referrer_context *context = data;
  crd_walker *walker = &context->walker;
  ASSERT(!walker->stopped, "the walk goes on after its function has stopped it");
  if (address != context->wanted) return;
  cradle_referrer referrer = {.kind = kind, .slot = slot};
  if (holder != NULL)
    name_object(walker->heap, holder, &referrer);
  else
    crd_root_name(&walker->at, &referrer);
  if (!context->function(context->data, &referrer)) walker->stopped = true;
}

cradle_walk_result cradle_referrers(cradle_heap *heap, const void *object, cradle_referrer_function function,
                                    void *data) {
  referrer_context context = {.walker = {.slot = each_referrer, .data = &context},
                              .wanted = address_of(object),
                              .function = function,
                              .data = data};
  return walk(heap, &context.walker, "cradle_referrers");
}
