/* Arenas: the old generation's memory, in pieces of 2 MiB found by arithmetic, and the runs of pages inside them.
 *
 * One reservation of address space holds every arena. A second one, parallel to it, holds what must be known about each
 * arena (bitmaps, page table), so that no header lies in an arena and marking one object touches one line of metadata.
 *
 * An arena is RESERVED (no access, not charged), FREE (committed, holds nothing) or USED (some page is taken). Memory
 * comes and goes between RESERVED and FREE (gc/old/arena_memory.h); runs of pages are taken and given back between FREE
 * and USED, which is this file.
 *
 * A run of up to 512 pages is taken from the fullest USED arena that has room, so that others empty; then from the
 * lowest FREE one. A longer run takes neighbouring arenas, those that are all committed before any other. With a
 * quarantine the arenas go round instead: what is committed next is behind what was committed last, so that memory
 * that was given back stays inaccessible for long.
 *
 *   [arena.1] A commit makes a RESERVED arena FREE, the first run in it USED. The last run that is given back makes it
 *             FREE again, and only a FREE arena goes back to the system.
 *   [arena.2] free_count counts the FREE arenas; committed_count the FREE and USED ones. No commit brings it above
 *             limit.
 *   [arena.3] No FREE arena is below free_hint, and without a quarantine no RESERVED one below reserved_hint. No USED
 *             arena is at or above used_end, and no committed one at or above committed_end.
 *   [arena.4] A USED arena with free pages is in the list of its number of free pages and its longest free run, each by
 *             its logarithm, and in no other list. A compaction takes the arenas that it empties out of their list.
 *   [arena.5] Bitmap words and page entries of pages that are not taken are zero.
 *   [arena.6] A run of up to 512 pages lies in one arena. A longer one starts at an arena, and the rest of its last
 *             arena is usable.
 */
#ifndef CRADLE_GC_OLD_ARENA_H
#define CRADLE_GC_OLD_ARENA_H

#include "gc/old/backing.h"

#define ARENA_SHIFT 21
#define ARENA_BYTES ((size_t)1 << ARENA_SHIFT)
#define PAGE_SHIFT 12
#define PAGE_BYTES ((uint32_t)1 << PAGE_SHIFT)
#define ARENA_PAGES ((uint32_t)1 << (ARENA_SHIFT - PAGE_SHIFT))
#define ARENA_BITMAP_WORDS (ARENA_BYTES / 8 / 64)
#define ARENA_BUCKETS 10
#define ARENA_NONE UINT32_MAX
/* A page number that is none. */
#define PAGE_NONE UINT32_MAX

enum { ARENA_RESERVED = 0, ARENA_FREE, ARENA_USED };

/* Page states; a span's first page has one of them, its other pages INSIDE (small spans only). */
enum { PAGE_FREE = 0, PAGE_SMALL, PAGE_INSIDE, PAGE_LARGE, PAGE_LARGE_YOUNG, PAGE_LARGE_REACHED };

typedef struct crd_page {
  uint32_t pages; /* of the span, in its first page */
  uint32_t head;  /* number of the span's first page */
  union {
    uint32_t next;        /* the span's successor in the one list it is in, or PAGE_NONE */
    uint32_t recorded_at; /* old large objects: their crd_record_budget, this and record_left */
  };
  union {
    /* large objects that a minor collection reached and has not traced: the next one, or PAGE_NONE */
    uint32_t pending;
    uint32_t record_left;
    uint32_t taken; /* small spans while arenas are chosen for compaction: places that objects have */
  };
  uint8_t size_class;
  uint8_t state;
  uint8_t epoch; /* the sweep that the span has behind it; see [span.6] */
  uint8_t unused[5];
} crd_page;

typedef struct crd_arena {
  uint64_t marks[ARENA_BITMAP_WORDS];     /* bit a word of the arena: an object starts here and was reached */
  uint64_t allocated[ARENA_BITMAP_WORDS]; /* the same: an object starts here, or the allocator owns the place */
  crd_page pages[ARENA_PAGES];
  uint64_t free_map[ARENA_PAGES / 64];  /* bit a page: not taken */
  uint64_t dirty_map[ARENA_PAGES / 64]; /* bit a page: touched since the arena was committed */
  uint32_t next, previous;              /* in its list [arena.4] */
  uint16_t free_pages, longest;         /* pages; longest <= free_pages <= ARENA_PAGES, both 0 unless USED */
  uint8_t padding[4096 - 2 * ARENA_PAGES / 8 - 12];
} crd_arena;

/* What is known of a committed arena's memory, as bits. */
enum {
  ARENA_FROM_POOL = 1,     /* from a reserved pool of huge pages */
  ARENA_FROM_GIGANTIC = 2, /* a part of a 1 GiB page, which comes and goes as a whole */
  ARENA_TOUCHED = 4,       /* was in use or populated: its pages are likely to be there */
};

/* The most arenas in use, now and in the recent past; gc/old/arena_memory.h. */
typedef struct crd_arena_demand {
  uint64_t epoch_ns;       /* when the present epoch began; 0: none has */
  uint32_t peak, previous; /* most arenas in use at once: in the present epoch, in the one before */
} crd_arena_demand;

/* What the second core populates; gc/old/supply.h. */
typedef struct crd_supply {
  uint32_t first;
  uint32_t count; /* 0: nothing; atomic */
  uint32_t done;  /* of these; atomic */
} crd_supply;

typedef struct crd_arenas crd_arenas;

/* A large object that died under a quarantine. Its pages are taken and no span's. */
typedef struct crd_dead_large {
  uint32_t page, pages;
  uint32_t type;
  bool swept;          /* by a major collection, else freed by a minor one */
  uint64_t collection; /* the minor collection that freed it, or the last one before the sweep that did */
} crd_dead_large;

/* What the old generation calls while there is a quarantine, which keeps the pages of dead large objects taken and
 * inaccessible for a while: they are closed. gc/instruments/closed_runs.h has the only table of this kind. */
typedef struct crd_closing_calls {
  /* Memory is short: gives the oldest closed pages back to be used again. false: none is closed, or the system
   * refuses. */
  bool (*make_room)(crd_arenas *arenas);
  /* count pages are taken from page on. */
  void (*pages_taken)(crd_arenas *arenas, uint32_t page, uint32_t count);
  /* Closes the pages of a large object, or gives them back. keep arenas stay FREE. */
  void (*large_died)(crd_arenas *arenas, crd_dead_large dead, uint32_t keep);
  /* Gives all closed pages back; arenas that they were all of become inaccessible. keep arenas stay FREE. */
  void (*retire)(crd_arenas *arenas, uint32_t keep);
  /* For the verifier: counts the closed pages, which are taken and no span's. NULL, or what is wrong. */
  const char *(*check)(const crd_arenas *arenas, uint32_t *closed_pages);
} crd_closing_calls;

struct crd_arenas {
  uintptr_t base;
  crd_arena *meta;
  size_t bytes;                                 /* of the reservation */
  size_t meta_bytes;                            /* of the metadata's reservation */
  size_t meta_committed;                        /* bytes; <= meta_bytes */
  uint32_t capacity;                            /* arenas in the reservation */
  uint32_t limit;                               /* arenas that may be committed; <= capacity */
  uint32_t free_count, committed_count;         /* [arena.2]; free_count <= committed_count */
  uint32_t free_hint;                           /* [arena.3], as are the three below */
  uint32_t reserved_hint;                       /* with a quarantine: behind the last arena that was committed */
  uint32_t used_end;                            /* <= committed_end */
  uint32_t committed_end;                       /* <= capacity */
  uint32_t lists[ARENA_BUCKETS][ARENA_BUCKETS]; /* by free pages, then by the longest free run */
  uint16_t listed[ARENA_BUCKETS];               /* bit j of word i: lists[i][j] is not empty */
  uint8_t *states;                              /* one an arena */
  uint8_t *origins;                             /* one an arena: ARENA_FROM_POOL and so on; 0 unless committed */
  crd_backing backing, meta_backing;
  bool waits;             /* with huge pages, where the policy is auto, until crd_arenas_enter_huge */
  uint32_t pool_count;    /* committed arenas whose memory is from a pool; <= committed_count */
  uint32_t pool_refusals; /* arenas that the pool had no page for */
  uint32_t pool_skip;     /* commits to go before the pool is tried again after a refusal */
  crd_arena_demand demand;
  crd_supply supply;
  uint64_t supplied_total;                /* arenas that the second core populated */
  uint64_t taken_total, given_back_total; /* arenas; their difference is committed_count */
  const crd_closing_calls *closing;       /* NULL: there is no quarantine */
  struct crd_closed_runs *closed_runs;    /* of the closing calls; NULL as well */
};

/* Takes a run of count pages, leaving at least keep arenas FREE. Returns its first page's number, or PAGE_NONE; *clean
 * tells whether the run reads as zero. */
uint32_t crd_arenas_take(crd_arenas *arenas, uint32_t count, uint32_t keep, bool *clean);
/* Gives a run back, or all that it has in some of its arenas; its bitmaps and page entries are already zero. */
void crd_arenas_give_back(crd_arenas *arenas, uint32_t page, uint32_t count);
/* Takes a USED arena out of the lists, so that nothing new is placed in it, and puts it back. */
void crd_arenas_withdraw(crd_arenas *arenas, uint32_t index);
void crd_arenas_restore(crd_arenas *arenas, uint32_t index);
/* Recounts every arena's maps and lists against [arena.2] to [arena.4]; for the verifier. NULL, or what is wrong. */
const char *crd_arenas_check(const crd_arenas *arenas);

static inline uint32_t arenas_in_use(const crd_arenas *arenas) {
  return arenas->committed_count - arenas->free_count;
}
/* Whether commits go round, so that memory that was given back stays inaccessible for long. */
static inline bool arenas_go_round(const crd_arenas *arenas) {
  return arenas->closing != NULL;
}
/* Where memory is short: whether closed pages were given back to be used again. */
static inline bool arenas_make_room(crd_arenas *arenas) {
  return arenas->closing != NULL && arenas->closing->make_room(arenas);
}
/* Has nothing closed any more: closed pages count as taken. */
static inline void arenas_retire_closed(crd_arenas *arenas, uint32_t keep) {
  if (arenas->closing != NULL) arenas->closing->retire(arenas, keep);
}

static inline bool arenas_contain(const crd_arenas *arenas, uintptr_t address) {
  return address - arenas->base < arenas->bytes;
}
/* Of an address in the reservation: the number of its arena. */
static inline uint32_t arenas_index(const crd_arenas *arenas, uintptr_t address) {
  return (uint32_t)((address - arenas->base) >> ARENA_SHIFT);
}
/* The same: whether there is memory. */
static inline bool arenas_are_committed(const crd_arenas *arenas, uintptr_t address) {
  return arenas->states[(address - arenas->base) >> ARENA_SHIFT] != ARENA_RESERVED;
}
static inline uint32_t arenas_page_number(const crd_arenas *arenas, uintptr_t address) {
  return (uint32_t)((address - arenas->base) >> PAGE_SHIFT);
}
static inline uintptr_t arenas_page_address(const crd_arenas *arenas, uint32_t page) {
  return arenas->base + ((size_t)page << PAGE_SHIFT);
}
static inline crd_page *arenas_page(const crd_arenas *arenas, uint32_t page) {
  return &arenas->meta[page / ARENA_PAGES].pages[page % ARENA_PAGES];
}
static inline crd_arena *arenas_of(const crd_arenas *arenas, uintptr_t address) {
  return &arenas->meta[(address - arenas->base) >> ARENA_SHIFT];
}
/* The bit of an address in its arena's bitmaps: word index and mask. */
static inline size_t arena_bit_word(uintptr_t address) {
  return (address & (ARENA_BYTES - 1)) >> 9;
}
static inline uint64_t arena_bit_mask(uintptr_t address) {
  return UINT64_C(1) << ((address >> 3) & 63);
}

#endif
