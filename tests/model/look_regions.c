#include "tests/model/look_regions.h"

#include "gc/heap.h"

look_regions look_regions_inside(const cradle_heap *heap, const cradle_mutator *m) {
  const crd_arenas *arenas = &heap->space.old.arenas;
  uintptr_t meta = address_of(arenas->meta), nursery = address_of(heap->space.nursery.start), data = address_of(heap),
            stack = address_of(m->shadow_base);
  return (look_regions){{
      [LOOK_NURSERY] = {nursery, nursery + heap->space.nursery.reserved_bytes},
      [LOOK_COMMITTED] = {arenas->base, arenas->base + arenas->committed_end * ARENA_BYTES},
      [LOOK_UNCOMMITTED] = {arenas->base, arenas->base + arenas->bytes},
      [LOOK_METADATA] = {meta, meta + arenas->meta_bytes},
      [LOOK_SHADOW_STACK] = {stack, stack + 4096},
      [LOOK_DATA] = {data, data + sizeof *heap},
  }};
}
