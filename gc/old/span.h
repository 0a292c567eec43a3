/* Spans: the runs of pages that hold the old generation's objects.
 *
 * Most spans hold small objects of one size class (gc/old/size_class.h). Such a span is an array of places of that
 * size, from its first byte on. Here is one of 16 KiB, with places of 24 bytes:
 *
 *     place:            0    1    2    3    4    5    6    7    ...   680  681   tail of 16 bytes
 *     holds:            obj  obj  -    -    -    obj  -    obj  ...   obj  -
 *     allocation bit:   1    1    0    0    0    1    0    1    ...   1    0     (of each place's first word)
 *
 * Each worker has an allocator for each class. It owns one run of free neighbouring places at a time, here places 2 to
 * 4, and hands them out by moving a pointer. When the run is used up, the allocator takes the next run of the class's
 * open span, then one of a span that has room (the class's partial list), then a new span, which is one long run.
 *
 * The allocation bits of a run are set when an allocator takes it. So heap walks and sweeps, which go by the bits,
 * retire the allocators first: that clears the bits of each run's unused rest.
 *
 * A large object is a span, too: the one object of its run of pages (gc/old/large.h).
 *
 *   [span.1] An allocator's free <= end. They lie in one span, a multiple of the object size apart.
 *   [span.2] With the allocators retired, an allocation bit is set exactly on the places that hold an object.
 *   [span.3] A swept small span with room is either in the partial list of its class or the open span of its class.
 *   [span.4] Mark bits are set on places with an allocation bit only, and on none while no major collection runs.
 *   [span.5] used_bytes counts the places whose allocation bit is set, and the pages of large objects.
 *   [span.6] A span whose epoch is not that of the generation waits to be swept: its live objects are the marked ones.
 *            It is exactly one epoch behind. Such spans exist only while a major collection sweeps, and no run is taken
 *            from one.
 *   [span.7] From the beginning of marking to that of the sweep, born_marked is set: what is allocated gets its mark
 *            bit with its allocation bit.
 *   [span.8] In a round of the second core (gc/old/marker.h) the words of bitmaps belong to the thread. A run that is
 *            taken in a round is noted, and its bits are written when the round is over: until then nobody reads them,
 *            because all objects of the run are new. The words of a new span, which no other object shares, are written
 *            at once.
 */
#ifndef CRADLE_GC_OLD_SPAN_H
#define CRADLE_GC_OLD_SPAN_H

#include "gc/base/address_map.h"
#include "gc/base/word_stack.h"
#include "gc/object/header.h"
#include "gc/old/arena.h"
#include "gc/old/census.h"
#include "gc/old/size_class.h"

typedef struct crd_allocator {
  char *free, *end; /* the run, or NULL */
} crd_allocator;

/* What one thread needs to put objects into the old generation. */
typedef struct crd_worker {
  crd_allocator allocators[SIZE_CLASS_MAX];
  struct crd_worker *next; /* another worker, or NULL */
  uint32_t run_words;      /* a run has at most so many words, or one place */
} crd_worker;

/* The spans of a size class. */
typedef struct crd_class_spans {
  uint32_t open;       /* the span that runs are taken from, by its first page; or PAGE_NONE */
  uint32_t from;       /* the word in the open span from which on no run was taken */
  uint32_t partial;    /* list of swept spans with room */
  uint32_t count;      /* of all spans */
  uint64_t used_bytes; /* those of the generation's */
} crd_class_spans;

typedef struct crd_old {
  crd_arenas arenas;
  crd_size_classes classes;
  crd_class_spans spans[SIZE_CLASS_MAX];
  crd_worker leader;           /* the worker of the program's thread */
  uint64_t used_bytes;         /* [span.5] */
  uint64_t large_bytes;        /* those of large objects [large.2]; <= used_bytes */
  uint32_t young_large;        /* list of young large objects [large.1], or PAGE_NONE */
  uintptr_t young_large_start; /* [young_large_start, young_large_start + young_large_bytes) */
  uintptr_t young_large_bytes; /* has the addresses of all young large objects [large.1] */
  bool is_shared; /* several mutators: the range does not move while others read it, it has all arenas from the start */
  uint64_t young_scanned_bytes; /* of young large objects that are scanned whole [large.3] */
  uint32_t rest_bytes;          /* at most so many stay unused in a team's runs of spans that are open no more */
  uint32_t reserve;             /* arenas kept FREE for the next minor collection, so that it cannot fail */
  bool born_marked;             /* [span.7] */
  bool marked_beside;           /* a round of the second core goes on (gc/old/marker.h) */
  crd_word_stack late_runs;     /* runs whose bits are still to be written [span.8] */
  size_t sealed_bytes;          /* from the base on; 0: no object is sealed (gc/old/sealed.h) */
  crd_address_map opened;       /* the sealed objects that the program has stored into */
  bool all_opened;              /* it counts as having stored into all */
  crd_census census;            /* what the sweep counts (gc/old/census.h) */
  uint8_t epoch;                /* of the last sweep that began [span.6]; wraps around */
} crd_old;

bool crd_old_init(crd_old *old, const cradle_options *options, const cradle_hardware *hardware);
void crd_old_fini(crd_old *old);

/* How many arenas must be FREE to promote a nursery, whatever it holds; and for how large a nursery so many do. */
uint32_t crd_old_arenas_for(const crd_old *old, size_t nursery_bytes);
size_t crd_old_nursery_for(const crd_old *old, uint32_t arenas);

/* Gives the worker's allocator of the class a run that is not empty. `keep` arenas stay FREE. false: no memory. */
bool crd_old_refill(crd_old *old, crd_worker *worker, uint32_t size_class, uint32_t keep);
/* Takes their runs from all allocators, so that the allocation bits say exactly where objects are [span.2]. */
void crd_old_retire(crd_old *old);
/* After a round: writes the bits of the runs that were taken in it [span.8]. */
void crd_old_write_late_runs(crd_old *old);
/* Bytes of the runs that allocators own and have not filled, of a class and of all. used_bytes counts them as used. */
uint64_t crd_old_unfilled_of(const crd_old *old, uint32_t size_class);
uint64_t crd_old_unfilled_bytes(const crd_old *old);
/* Objects of a small span have died or moved: so many are gone, and so many live, whose bits alone are set. Frees the
 * span if it is empty, which is returned, and lists it if it has room. */
bool crd_old_settle_span(crd_old *old, uint32_t page, uint32_t gone, uint32_t live);
/* A span of small objects of an image, whose bits are written. listed: its free places may be used. */
void crd_old_adopt_span(crd_old *old, uint32_t page, uint32_t size_class, uint32_t objects, bool listed);
/* Whether a live object starts at the address, which may lie anywhere: exact only with the allocators retired. */
bool crd_old_is_object(const crd_old *old, uintptr_t address);

static inline uint32_t old_class_of(const crd_old *old, size_t bytes) {
  return old->classes.by_words[bytes / 8];
}

/* A place for an object of the class. Its contents are undefined. `keep` arenas stay FREE. NULL: no memory. */
static inline char *old_take_small(crd_old *old, crd_worker *worker, uint32_t size_class, uint32_t keep) {
  crd_allocator *allocator = &worker->allocators[size_class];
  if (allocator->free == allocator->end && !crd_old_refill(old, worker, size_class, keep)) return NULL;
  char *place = allocator->free;
  allocator->free = place + old->classes.of[size_class].bytes;
  return place;
}

/* The bitmap words of a span; bit 0 of word 0 stands for its first word of memory. For an object that is longer than an
 * arena, only the words of its first page: its one bit is there. */
typedef struct span_bits {
  uint64_t *marks, *allocated;
  uint32_t words;
} span_bits;
static inline span_bits old_bits_of(const crd_old *old, uint32_t page, uint32_t pages) {
  crd_arena *arena = &old->arenas.meta[page / ARENA_PAGES];
  uint32_t first = page % ARENA_PAGES * (PAGE_BYTES / 8 / 64);
  return (span_bits){arena->marks + first, arena->allocated + first,
                     (pages < ARENA_PAGES ? pages : 1) * (PAGE_BYTES / 8 / 64)};
}
static inline cradle_word *old_page_start(const crd_old *old, uint32_t page) {
  return object_at(arenas_page_address(&old->arenas, page));
}
/* The entry of the first page of the span that an object is in. */
static inline const crd_page *old_span_of(const crd_old *old, uintptr_t object) {
  return arenas_page(&old->arenas, arenas_page(&old->arenas, arenas_page_number(&old->arenas, object))->head);
}
/* Whether a place of the span lies in the unfilled rest of an allocator's run: no object is there. */
static inline bool old_is_unfilled(const crd_old *old, const crd_page *span, uintptr_t place) {
  if (span->state != PAGE_SMALL) return false;
  for (const crd_worker *worker = &old->leader; worker != NULL; worker = worker->next) {
    const crd_allocator *allocator = &worker->allocators[span->size_class];
    if (place >= address_of(allocator->free) && place < address_of(allocator->end)) return true;
  }
  return false;
}
/* Whether an address, which may lie anywhere, lies in an arena of sealed objects. */
static inline bool old_is_sealed(const crd_old *old, uintptr_t address) {
  return CRADLE_UNLIKELY(address - old->arenas.base < old->sealed_bytes) &&
         old->arenas.origins[arenas_index(&old->arenas, address)] & ARENA_SEALED;
}
static inline bool old_is_unswept(const crd_old *old, const crd_page *span) {
  return span->epoch != old->epoch;
}
static inline bool old_is_marked(const crd_old *old, uintptr_t address) {
  const uint64_t *word = &arenas_of(&old->arenas, address)->marks[arena_bit_word(address)];
  return (__atomic_load_n(word, __ATOMIC_RELAXED) & arena_bit_mask(address)) != 0;
}
/* Whether an object begins at an address of the old generation, or an allocator owns the place. */
static inline bool old_is_allocated(const crd_old *old, uintptr_t address) {
  return (arenas_of(&old->arenas, address)->allocated[arena_bit_word(address)] & arena_bit_mask(address)) != 0;
}
static inline void old_mark(const crd_old *old, uintptr_t address) {
  ASSERT(old_is_allocated(old, address), "[span.4] what is marked is no object");
  arenas_of(&old->arenas, address)->marks[arena_bit_word(address)] |= arena_bit_mask(address);
}
static inline void old_unmark(const crd_old *old, uintptr_t address) {
  arenas_of(&old->arenas, address)->marks[arena_bit_word(address)] &= ~arena_bit_mask(address);
}

/* --- walking spans, small and large, in the order of their addresses, and the objects in them ---
 *
 * A walk may stop between two spans and go on later. It then meets each span that was there all the time once, and may
 * or may not meet spans that were opened meanwhile. A visitor that allocates must ask old_is_unfilled about each
 * object: its allocations give allocators new runs, and the walk may come to one. */

/* The first page of the first span at or after page, or PAGE_NONE. */
uint32_t crd_old_next_span(const crd_old *old, uint32_t page);
/* The first page of the span after the one at page, which must not have been freed. */
static inline uint32_t old_span_after(const crd_old *old, uint32_t page) {
  return crd_old_next_span(old, page + arenas_page(&old->arenas, page)->pages);
}
/* Calls visit for the objects of a span, or of all spans. Visits the marked objects if marked_only is set or the span
 * waits to be swept; otherwise the allocated ones. The allocators must be retired when the walk begins. */
typedef void (*crd_object_function)(void *context, cradle_word *object);
void crd_old_each_in(const crd_old *old, uint32_t page, bool marked_only, crd_object_function visit, void *context);
void crd_old_each(const crd_old *old, crd_object_function visit, void *context);
/* The number of a span's allocation bits: of its objects, and of the places that an allocator has not filled. */
uint32_t crd_old_count_taken(const crd_old *old, uint32_t page);
/* For the verifier (gc/old/span_check.c): recounts spans, bits and lists, arenas and closed runs against [span.2] to
 * [span.6], [large.1] and [large.2]. NULL, or what is wrong. */
const char *crd_old_check(const crd_old *old);

#endif
