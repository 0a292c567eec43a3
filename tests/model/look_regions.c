#include "tests/model/look_regions.h"

#include "tests/inside.h"

look_regions look_regions_inside(const cradle_heap *heap, const cradle_mutator *m) {
  const crd_arenas *arenas = &inside_old(heap)->arenas;
  uintptr_t meta = address_of(arenas->meta), nursery = address_of(inside_nursery(heap)->start), data = address_of(heap),
            stack = address_of(m->shadow_base);
  return (look_regions){{
      [LOOK_NURSERY] = {nursery, nursery + inside_nursery(heap)->reserved_bytes},
      [LOOK_COMMITTED] = {arenas->base, arenas->base + arenas->committed_end * ARENA_BYTES},
      [LOOK_UNCOMMITTED] = {arenas->base, arenas->base + arenas->bytes},
      [LOOK_METADATA] = {meta, meta + arenas->meta_bytes},
      [LOOK_SHADOW_STACK] = {stack, stack + 4096},
      [LOOK_DATA] = {data, data + sizeof *heap},
  }};
}
