/* Immediates whose bits look like addresses. A collector that takes a word for an address before it asks the encoding,
 * or looks an address up before it asks whether memory is there, is found by them: most quickly by those that lead into
 * address space that is reserved and not committed. */
#ifndef TESTS_LOOK_ALIKES_H
#define TESTS_LOOK_ALIKES_H

#include <cradle/cradle.h>

enum {
  LOOK_NURSERY,
  LOOK_COMMITTED,   /* arenas */
  LOOK_UNCOMMITTED, /* the whole reservation, nearly all of which is not committed */
  LOOK_METADATA,
  LOOK_SHADOW_STACK,
  LOOK_DATA, /* of the library */
  LOOK_REGIONS
};

/* Bytes from start to end; both 0: there is no such region. */
typedef struct look_region {
  uintptr_t start, end;
} look_region;

typedef struct look_regions {
  look_region of[LOOK_REGIONS];
} look_regions;

/* The regions of a heap, by what the heap says of its memory, which asks the kernel. The nursery may move later (with a
 * quarantine it does), and arenas may come and go: some words then are of another region. */
static inline look_regions look_regions_of(const cradle_heap *heap, const cradle_mutator *m) {
  cradle_memory memory;
  cradle_memory_report(heap, &memory, sizeof memory);
  const cradle_region *arenas = &memory.arenas, *metadata = &memory.metadata, *nursery = &memory.nursery;
  uintptr_t data = (uintptr_t)&cradle_heap_new, stack = (uintptr_t)m->shadow_base;
  return (look_regions){{
      [LOOK_NURSERY] = {nursery->start, nursery->start + nursery->reserved_bytes},
      [LOOK_COMMITTED] = {arenas->start, arenas->start + ((uintptr_t)4 << 20)},
      [LOOK_UNCOMMITTED] = {arenas->start, arenas->start + arenas->reserved_bytes},
      [LOOK_METADATA] = {metadata->start, metadata->start + metadata->reserved_bytes},
      [LOOK_SHADOW_STACK] = {stack, stack + 4096},
      [LOOK_DATA] = {data, data + 4096},
  }};
}

/* An address in a region; with an edge from 0 to 5, one at the region's ends, or one byte or word beside them. random:
 * 64 random bits. */
static inline uintptr_t look_address_in(const look_region *region, unsigned edge, uint64_t random) {
  if (region->start == region->end) return 8;
  switch (edge) {
  case 0: return region->start - 8;
  case 1: return region->start - 1;
  case 2: return region->start;
  case 3: return region->end - 8;
  case 4: return region->end;
  case 5: return region->end + 8;
  default: return region->start + (random % (region->end - region->start) & ~(uintptr_t)7);
  }
}

static inline uintptr_t look_address(const look_regions *regions, uint64_t random) {
  return look_address_in(&regions->of[random % LOOK_REGIONS], random >> 8 & 15, random >> 12);
}

/* An immediate with the bits of an address: all bits that are not the payload's are drawn until the word is no
 * reference. 0 if the encoding has none: with plain references the payload is the whole word, and then the collector
 * takes a word with a tag for an address, too. */
static inline uint64_t look_immediate(const cradle_encoding *encoding, uintptr_t address, uint64_t random) {
  if (encoding->payload_mask == UINT64_MAX) return 0;
  for (int tries = 0; tries < 16; tries++) {
    uint64_t word = (address & encoding->payload_mask) | (random & ~encoding->payload_mask);
    if (cradle_value_object(encoding, word) == NULL) return word;
    random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407); /* Knuth */
    random ^= random >> 32;
  }
  return 0;
}

#endif
