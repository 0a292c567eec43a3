#include "gc/young/local.h"

#include <stdlib.h>

#include "gc/space.h"
#include "gc/young/young.h"

/* The first local has room for the largest heaps. If one of these is full, nothing is lost but time. */
#define REMEMBERED_BYTES ((size_t)8 << 20)
#define RECORDED_BYTES ((size_t)4 << 20)

/* It has no chunk, so the first allocation takes one. */
crd_local *crd_local_new(const crd_young *young, uint32_t number) {
  const crd_space *space = young->space;
  crd_local *local = calloc(1, sizeof *local);
  size_t page = space->hardware->page_bytes;
  if (local == NULL) return NULL;
  local->number = number;
  local->free = &local->left;
  local->registered = &local->fresh.top;
  local->start = local->end = local->left = local->look = space->nursery.start;
  if (!crd_word_stack_init(&local->remembered, REMEMBERED_BYTES + RECORDED_BYTES, page, "cradle remembered set")) {
    free(local);
    return NULL;
  }
  crd_word_stack_divide(&local->remembered, &local->recorded, RECORDED_BYTES, REMEMBERED_BYTES + RECORDED_BYTES, page);
  crd_stress_add(young->stress, local);
  crd_sampling_add(young->sampling, local);
  return local;
}

void crd_local_free(crd_local *local) {
  if (local->recorded.end != NULL) local->remembered.end = local->recorded.end;
  crd_word_stack_fini(&local->remembered);
  free(local);
}
