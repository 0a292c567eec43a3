/* Arenas: the memory of the old generation, and the runs of pages that are taken from it.
 *
 * The old generation gets memory in arenas of 2 MiB, the size of a huge page, one behind the other in one reservation
 * of address space. A second reservation has the metadata of each arena (its crd_arena), at the same index:
 *
 *                 arena 0    arena 1    arena 2    ...          2 MiB each: objects and nothing else
 *     base ----> [##########|######....|..........|- - - -
 *     meta ----> [m 0       |m 1       |m 2       |- - - -      80 KiB each: mark bits, allocation bits, page table
 *
 *     the arena of an address:  (address - base) / 2 MiB
 *     the bit of an object:     the number of its first word in the arena
 *
 * Headers inside the arenas would begin at the same offset in each, and compete for the same sets of the cache.
 *
 * An arena has 512 pages of 4 KiB. Neighbouring pages that are taken together are a run; a run that holds objects is a
 * span (gc/old/span.h).
 *
 *         commit            first run is taken
 *     RESERVED ------> FREE ------------------> USED
 *     no access,       committed,               some page
 *     not charged      holds nothing            is taken
 *         <------           <------------------
 *         release           last run is given back
 *
 * This file moves arenas between FREE and USED, gc/old/arena_memory.h between RESERVED and FREE.
 *
 * A run of up to 512 pages comes from the fullest USED arena that has room for it, so that sparse arenas become empty;
 * if there is none, the lowest FREE arena is opened. A longer run takes neighbouring arenas: committed ones if enough
 * of them lie side by side. With a quarantine, each commit takes the arena behind the one committed last, not the
 * lowest: memory that was given back stays inaccessible for long, and a stale reference into it faults.
 *
 *   [arena.1] A commit makes a RESERVED arena FREE. It becomes USED when the first run in it is taken, and FREE again
 *             when the last one is given back. Only a FREE arena goes back to the system.
 *   [arena.2] free_count counts the FREE arenas; committed_count the FREE and USED ones. No commit brings it above
 *             limit.
 *   [arena.3] No USED arena is at or above used_end, and no committed one at or above committed_end.
 *   [arena.4] A USED arena with free pages is in exactly one list, lists[i][j]: i is the logarithm (base 2, rounded
 *             down) of its number of free pages, j that of its longest free run. Only arenas that a compaction empties
 *             are in no list.
 *   [arena.5] Bitmap words and page entries of pages that are not taken are zero.
 *   [arena.6] A run of up to 512 pages lies in one arena. A longer one begins at the first page of an arena, and other
 *             runs may take the pages behind it in its last arena.
 *   [arena.7] Only metadata of known arenas is read: that of the others is not accessible. Every arena that is or was
 *             committed is known.
 */
#ifndef CRADLE_GC_OLD_ARENA_H
#define CRADLE_GC_OLD_ARENA_H

#include <string.h>

#include "gc/base/check.h"
#include "gc/old/backing.h"

#define ARENA_SHIFT 21
#define ARENA_BYTES ((size_t)1 << ARENA_SHIFT)
#define PAGE_SHIFT 12
#define PAGE_BYTES ((uint32_t)1 << PAGE_SHIFT)
#define ARENA_PAGES ((uint32_t)1 << (ARENA_SHIFT - PAGE_SHIFT))
#define ARENA_BITMAP_WORDS (ARENA_BYTES / 8 / 64)
#define ARENA_BUCKETS 10
#define ARENA_NONE UINT32_MAX
#define PAGE_NONE UINT32_MAX

enum { ARENA_RESERVED = 0, ARENA_FREE, ARENA_USED };

/* A span's first page says what the span is. The others are INSIDE in a span of small objects, so that any page finds
 * its span. The other pages of a large object have no entry: references lead to its first page. */
enum { PAGE_FREE = 0, PAGE_SMALL, PAGE_INSIDE, PAGE_LARGE, PAGE_LARGE_YOUNG, PAGE_LARGE_REACHED };

typedef struct crd_page {
  uint32_t pages; /* of the span, in its first page */
  uint32_t head;  /* number of the span's first page */
  union {
    uint32_t next;        /* the span's successor in the one list it is in, or PAGE_NONE */
    uint32_t recorded_at; /* old large objects: this and record_left are their crd_record_budget */
  };
  union {
    /* large objects that a minor collection has reached but not traced yet: the next such object, or PAGE_NONE */
    uint32_t pending;
    uint32_t record_left;
    uint32_t taken; /* while arenas are chosen for compaction: how many places of this small span hold objects */
  };
  uint8_t size_class;
  uint8_t state;
  uint8_t epoch;  /* the number of the last sweep that visited the span [span.6] */
  bool listed;    /* small spans: since it was opened last, it was put into the partial list of its class */
  uint32_t again; /* old large objects: the next one in a list [mark.5]; 0: not in it */
} crd_page;

typedef struct crd_arena {
  uint64_t marks[ARENA_BITMAP_WORDS];     /* a bit for each word: an object starts there and was reached */
  uint64_t allocated[ARENA_BITMAP_WORDS]; /* an object starts there, or an allocator owns the place */
  crd_page pages[ARENA_PAGES];
  uint64_t free_map[ARENA_PAGES / 64];  /* a bit for each page: not taken */
  uint64_t dirty_map[ARENA_PAGES / 64]; /* a bit for each page: written since the commit, so perhaps not zero */
  uint32_t next, previous;              /* in its list [arena.4] */
  uint16_t free_pages, longest;         /* pages; longest <= free_pages <= ARENA_PAGES, both 0 unless USED */
  uint32_t live;                        /* in a compaction: how many bytes live in it */
  uint8_t padding[4096 - 2 * ARENA_PAGES / 8 - 16];
} crd_arena;

/* Flags of a committed arena. */
enum {
  ARENA_FROM_POOL = 1, /* its memory comes from a reserved pool of huge pages */
  ARENA_FROM_FILE = 2, /* it is mapped from an image: to drop its contents would bring back those of the file */
  ARENA_TOUCHED = 4,   /* was in use or populated: the system has probably given it its pages */
  ARENA_CHOSEN = 8,    /* in a compaction: is to be emptied */
  ARENA_SEALED = 16,   /* its objects are those of a sealed image (gc/old/sealed.h) */
};

/* The most arenas that the heap has needed lately. It keeps that many (gc/old/arena_memory.h). */
typedef struct crd_arena_demand {
  uint64_t epoch_ns;       /* when the present epoch began; 0: no epoch has begun */
  uint32_t peak, previous; /* most arenas in use at once: in the present epoch, in the one before */
} crd_arena_demand;

/* What the second core populates; gc/old/supply.h. */
typedef struct crd_supply {
  uint32_t first, count; /* the arenas to populate; count 0: nothing is asked for */
  uint32_t asked, done;  /* arenas in all requests, and how many of these are populated; both wrap around; atomic */
  uint32_t ahead;        /* FREE arenas beyond the promotion reserve that are kept ready */
} crd_supply;

typedef struct crd_arenas {
  uintptr_t base;
  crd_arena *meta;
  size_t bytes;                                 /* of the reservation */
  size_t refused_bytes;                         /* more than the system had to give; 0: bytes are all that was wanted */
  size_t meta_bytes;                            /* of the metadata's reservation */
  size_t meta_committed;                        /* bytes; <= meta_bytes */
  size_t known_bytes;                           /* of the known arenas, from base on [arena.7]; never shrinks */
  uint32_t capacity;                            /* arenas in the reservation */
  uint32_t limit;                               /* arenas that may be committed; <= capacity */
  uint32_t free_count, committed_count;         /* [arena.2]; free_count <= committed_count */
  uint32_t round_next;                          /* with a quarantine: the arena behind the last one committed; else 0 */
  uint32_t used_end;                            /* [arena.3]; <= committed_end */
  uint32_t committed_end;                       /* <= capacity */
  uint32_t lists[ARENA_BUCKETS][ARENA_BUCKETS]; /* by free pages, then by the longest free run */
  uint16_t listed[ARENA_BUCKETS];               /* bit j of word i: lists[i][j] is not empty */
  uint8_t *states;                              /* one byte an arena */
  uint8_t *origins;                             /* one byte an arena: its flags; 0 unless committed */
  crd_backing backing, meta_backing;
  bool waits;             /* the policy is auto, and crd_arenas_enter_huge has not been called: base pages so far */
  uint32_t pool_count;    /* committed arenas whose memory is from a pool; <= committed_count */
  uint32_t pool_refusals; /* arenas that the pool had no page for */
  crd_arena_demand demand;
  crd_supply supply;
  uint64_t supplied_total;                /* arenas that the second core populated */
  uint64_t taken_total, given_back_total; /* arenas, since the heap began; their difference is committed_count */
  struct crd_closed *closed;              /* gc/old/closed.h; NULL: there is no quarantine */
} crd_arenas;

/* Takes a run of count pages, leaving at least keep arenas FREE. Returns the number of its first page, or PAGE_NONE if
 * there is no memory. Sets *clean to whether the run reads as zero, so that nobody need zero it again. */
uint32_t crd_arenas_take(crd_arenas *arenas, uint32_t count, uint32_t keep, bool *clean);
/* Gives a run back. If the run lies in several arenas, this may be just its part in some of them. The caller has zeroed
 * the bitmaps and page entries of these pages. */
void crd_arenas_give_back(crd_arenas *arenas, uint32_t page, uint32_t count);
/* A FREE arena becomes USED, with the free pages that its free_map says: it holds objects of an image. sealed: no page
 * of it counts as free. Its bitmaps and page entries are written already. */
void crd_arenas_adopt(crd_arenas *arenas, uint32_t index, bool sealed);
/* The first page after a page of a USED arena that is not free, or the end of the arena. */
uint32_t crd_arenas_skip_free(const crd_arenas *arenas, uint32_t page);
/* Takes a USED arena out of the lists, so that nothing new is placed in it; and puts it back. */
void crd_arenas_withdraw(crd_arenas *arenas, uint32_t index);
void crd_arenas_restore(crd_arenas *arenas, uint32_t index);
/* For the verifier: recounts every arena's maps and lists against [arena.2] to [arena.4]. NULL, or what is wrong. */
const char *crd_arenas_check(const crd_arenas *arenas);

static inline uint32_t arenas_in_use(const crd_arenas *arenas) {
  return arenas->committed_count - arenas->free_count;
}
/* Arenas are committed in turn with a quarantine. */
static inline bool arenas_go_round(const crd_arenas *arenas) {
  return arenas->closed != NULL;
}
/* The first arena of a state at or after from; end if there is none below. */
static inline uint32_t arenas_next(const crd_arenas *arenas, uint32_t from, uint32_t end, uint8_t state) {
  const uint8_t *found = from < end ? memchr(arenas->states + from, state, end - from) : NULL;
  return found == NULL ? end : (uint32_t)(found - arenas->states);
}

/* Whether an address lies in the reservation. That does not mean that it may be looked up. */
static inline bool arenas_contain(const crd_arenas *arenas, uintptr_t address) {
  return address - arenas->base < arenas->bytes;
}
/* Whether an address, which may be any word, may be looked up: it lies in a known arena [arena.7]. */
static inline bool arenas_know(const crd_arenas *arenas, uintptr_t address) {
  return address - arenas->base < arenas->known_bytes;
}
/* The number of the arena of an address, which must lie in the reservation. */
static inline uint32_t arenas_index(const crd_arenas *arenas, uintptr_t address) {
  return (uint32_t)((address - arenas->base) >> ARENA_SHIFT);
}
/* Whether the arena of an address, which must lie in the reservation, has memory. */
static inline bool arenas_are_committed(const crd_arenas *arenas, uintptr_t address) {
  return arenas->states[arenas_index(arenas, address)] != ARENA_RESERVED;
}
static inline uint32_t arenas_page_number(const crd_arenas *arenas, uintptr_t address) {
  return (uint32_t)((address - arenas->base) >> PAGE_SHIFT);
}
static inline uintptr_t arenas_page_address(const crd_arenas *arenas, uint32_t page) {
  return arenas->base + ((size_t)page << PAGE_SHIFT);
}
static inline crd_page *arenas_page(const crd_arenas *arenas, uint32_t page) {
  ASSERT((size_t)page << PAGE_SHIFT < arenas->known_bytes,
         "[arena.7] a page is looked up in an arena that is not known");
  return &arenas->meta[page / ARENA_PAGES].pages[page % ARENA_PAGES];
}
static inline crd_arena *arenas_of(const crd_arenas *arenas, uintptr_t address) {
  ASSERT(arenas_know(arenas, address), "[arena.7] an address is looked up in an arena that is not known");
  return &arenas->meta[(address - arenas->base) >> ARENA_SHIFT];
}
/* Where the bit of an address is in its arena's bitmaps: the index of the bitmap word, and the mask. */
static inline size_t arena_bit_word(uintptr_t address) {
  return (address & (ARENA_BYTES - 1)) >> 9;
}
static inline uint64_t arena_bit_mask(uintptr_t address) {
  return UINT64_C(1) << ((address >> 3) & 63);
}

#endif
