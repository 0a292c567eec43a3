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

static void name_object(const cradle_heap *heap, cradle_holder kind, const cradle_word *holder,
                        cradle_referrer *referrer) {
  const cradle_word *slot = referrer->slot;
  referrer->object = crd_object_info(heap, holder);
  bool inside = slot > holder && slot < holder + referrer->object.bytes / 8;
  referrer->holder = kind;
  referrer->name = crd_holder_name(kind);
  referrer->index = inside ? (uint64_t)(slot - holder) : CRADLE_INDEX_OUTSIDE;
}

void crd_root_name(const cradle_heap *heap, crd_root_at *at, cradle_referrer *referrer) {
  if (at->holder == CRADLE_HOLDER_PREBUILT) {
    name_object(heap, at->holder, at->base, referrer);
    return;
  }
  const cradle_word *slot = referrer->slot;
  referrer->holder = at->holder;
  referrer->name = at->name != NULL ? at->name : crd_holder_name(at->holder);
  referrer->index = at->base != NULL ? (uint64_t)(slot - at->base) : at->index;
  if (at->holder == CRADLE_HOLDER_OTHER_ROOT) at->index++; /* nobody else counts these */
}

typedef struct referrer_context {
  cradle_heap *heap;
  crd_walker walker;
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
  if (holder != NULL)
    name_object(context->heap, CRADLE_HOLDER_OBJECT, holder, &referrer);
  else
    crd_root_name(context->heap, &context->walker.at, &referrer);
  if (!context->function(context->data, &referrer)) context->walker.stopped = true;
}

cradle_walk_result cradle_referrers(cradle_heap *heap, const void *object, cradle_referrer_function function,
                                    void *data) {
  referrer_context context = {.heap = heap,
                              .walker = {.slot = each_referrer, .data = &context},
                              .wanted = address_of(object),
                              .function = function,
                              .data = data};
  return crd_walk(heap, &context.walker, "cradle_referrers");
}
