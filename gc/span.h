/* Spans: the old generation's small objects, and large objects as page runs.
 *
 * A span is a run of pages with objects of one size class, from its first byte on. Its allocation bits say which places are
 * taken; the allocator of a class owns one run of free neighbouring places at a time and bumps through it, so that promotion
 * into a fresh span is a plain bump. The bits of the whole run are set when it is taken and those of the unused rest are
 * cleared when the allocator is retired, which every heap walk and sweep begins with.
 *
 *   [span.1] free <= end of an allocator, a multiple of the object size apart, inside one span.
 *   [span.2] With the allocators retired, an allocation bit is set exactly on the places that hold an object.
 *   [span.3] A span with room is in its class's partial list or is its allocator's, and in one of them only.
 *   [span.4] Between major collections every mark bit is zero.
 *   [span.5] used_bytes counts the places whose allocation bit is set, and the pages of large objects.
 */
#ifndef CRADLE_GC_SPAN_H
#define CRADLE_GC_SPAN_H

#include "gc/arena.h"
#include "gc/size_class.h"

typedef struct crd_allocator {
  char *free, *end; /* the run, or NULL */
  uint32_t span;    /* its first page, or PAGE_NONE */
  uint32_t partial; /* list of swept spans with room */
} crd_allocator;

typedef struct crd_old {
  crd_arenas arenas;
  crd_size_classes classes;
  crd_allocator allocators[SIZE_CLASS_MAX];
  uint64_t used_bytes, large_bytes;
  uint32_t young_large; /* list of large objects allocated since the last minor collection */
  uint32_t reserve;     /* arenas that must stay FREE outside a minor collection */
} crd_old;

typedef struct crd_swept {
  uint64_t freed_objects, freed_bytes, freed_spans;
} crd_swept;

bool crd_old_init(crd_old *old, const cradle_options *options, const cradle_hardware *hardware);
void crd_old_fini(crd_old *old);

/* Arenas that must be FREE so that a nursery of so many bytes can be promoted whatever it holds, and the reverse. */
uint32_t crd_old_arenas_for(const crd_old *old, size_t nursery_bytes);
size_t crd_old_nursery_for(const crd_old *old, uint32_t arenas);

/* Gets the class's allocator a run that is not empty. keep arenas stay FREE. false: no memory. */
bool crd_old_refill(crd_old *old, uint32_t size_class, uint32_t keep);
void crd_old_retire(crd_old *old);

/* A run of pages for one object of so many bytes, zeroed when zeroed is asked for. NULL: no memory. The object has its
 * allocation bit; its page says young when young is set. */
void *crd_old_take_large(crd_old *old, size_t bytes, bool young, bool zeroed, uint32_t keep);
void crd_old_free_large(crd_old *old, uint32_t page);

/* Frees what is not marked; mark bits become allocation bits. poison: a word for freed places, or 0 to leave them. */
void crd_old_sweep(crd_old *old, cradle_word poison, crd_swept *swept);

/* Calls visit for every object of the old generation (bits: that bitmap), allocators retired. */
typedef void (*crd_object_function)(void *context, cradle_word *object);
void crd_old_each(const crd_old *old, bool marked_only, crd_object_function visit, void *context);

/* Whether an object starts at address, as far as the allocation bits tell (allocators retired). */
bool crd_old_is_object(const crd_old *old, uintptr_t address);
/* Recounts spans, bits and lists for the verifier. NULL, or what is wrong. */
const char *crd_old_check(const crd_old *old);

static inline uint32_t old_class_of(const crd_old *old, size_t bytes) {
  return old->classes.by_words[bytes / 8];
}

static inline bool old_mark_test_and_set(const crd_old *old, uintptr_t address) {
  uint64_t *word = &arenas_of(&old->arenas, address)->marks[arena_bit_word(address)];
  uint64_t mask = arena_bit_mask(address);
  if (*word & mask) return true;
  *word |= mask;
  return false;
}

#endif
