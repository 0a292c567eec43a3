/* Arenas: the old generation's memory, in pieces of 2 MiB found by arithmetic, and the runs of pages inside them.
 *
 * One reservation of address space holds every arena; a second one, parallel to it, holds what must be known about each
 * (bitmaps, page table), so that no header lies in an arena and marking one object touches one line of metadata.
 *
 *   [arena.1] An arena is RESERVED (no access, not charged), FREE (committed, holds nothing) or USED (some page is taken).
 *   [arena.2] free_count counts the FREE arenas; committed_count the FREE and USED ones; it never exceeds limit.
 *   [arena.3] Arenas are committed and used lowest address first, and a run of several where all of them are committed before
 *             anywhere else; memory is given back only as whole arenas, because a part of a huge page frees nothing.
 *             With a quarantine (rotating), commits go round instead, of one arena and of several if they can: memory that
 *             was given back stays inaccessible for long.
 *   [arena.4] A USED arena with free pages is in the list of its number of free pages and its longest free run, each by its
 *             logarithm, and in no other. A run is taken from the fullest arenas that have room, so that others empty.
 *   [arena.5] Bitmap words and page entries of pages that are not taken are zero, but for dirty_map.
 *   [arena.6] A run of up to 512 pages lies in one arena; a longer one starts at an arena and its tail is usable.
 */
#ifndef CRADLE_GC_ARENA_H
#define CRADLE_GC_ARENA_H

#include "gc/backing.h"

#define ARENA_SHIFT 21
#define ARENA_BYTES ((size_t)1 << ARENA_SHIFT)
#define PAGE_SHIFT 12
#define PAGE_BYTES ((uint32_t)1 << PAGE_SHIFT)
#define ARENA_PAGES ((uint32_t)1 << (ARENA_SHIFT - PAGE_SHIFT))
#define ARENA_BITMAP_WORDS (ARENA_BYTES / 8 / 64)
#define ARENA_BUCKETS 10
#define ARENA_NONE UINT32_MAX
/* The regions' names, in /proc/PID/maps and in reports. */
#define ARENAS_NAME "cradle arenas"
#define METADATA_NAME "cradle metadata"
/* A page number that is none. */
#define PAGE_NONE UINT32_MAX

enum { ARENA_RESERVED = 0, ARENA_FREE, ARENA_USED };

/* Page states; a span's first page has one of them, its other pages INSIDE (small spans only). */
enum { PAGE_FREE = 0, PAGE_SMALL, PAGE_INSIDE, PAGE_LARGE, PAGE_LARGE_YOUNG, PAGE_LARGE_REACHED };

typedef struct crd_page {
  uint32_t pages;      /* of the span, in its first page */
  uint32_t head;       /* number of the span's first page */
  union {
    uint32_t next;        /* the span's successor in the one list it is in, or PAGE_NONE */
    uint32_t recorded_at; /* old large objects: their crd_record_budget, this and record_left */
  };
  union {
    uint32_t pending;    /* large objects that a minor collection reached and has not traced: the next one, or PAGE_NONE */
    uint32_t record_left;
    uint32_t taken;      /* small spans while arenas are chosen for compaction: places that objects have */
  };
  uint8_t size_class;
  uint8_t state;
  uint8_t epoch;       /* the sweep that the span has behind it; see [span.6] */
  uint8_t unused[5];
} crd_page;

typedef struct crd_arena {
  uint64_t marks[ARENA_BITMAP_WORDS];     /* bit a word of the arena: an object starts here and was reached */
  uint64_t allocated[ARENA_BITMAP_WORDS]; /* the same: an object starts here, or the allocator owns the place */
  crd_page pages[ARENA_PAGES];
  uint64_t free_map[ARENA_PAGES / 64];  /* bit a page: not taken */
  uint64_t dirty_map[ARENA_PAGES / 64]; /* bit a page: touched since the arena was committed */
  uint32_t next, previous;              /* in its list [arena.4] */
  uint16_t free_pages, longest;         /* pages */
  uint8_t padding[4096 - 2 * ARENA_PAGES / 8 - 12];
} crd_arena;

/* What is known of a committed arena's memory, as bits. */
enum {
  ARENA_FROM_POOL = 1,     /* from a reserved pool of huge pages */
  ARENA_FROM_GIGANTIC = 2, /* a part of a 1 GiB page, which comes and goes as a whole */
  ARENA_TOUCHED = 4,       /* was in use or populated: its pages are likely to be there */
};

/* The most arenas in use, now and in the recent past; gc/arena_memory.c. */
typedef struct crd_arena_demand {
  uint64_t epoch_ns;       /* when the present epoch began; 0: none has */
  uint32_t peak, previous; /* most arenas in use at once: in the present epoch, in the one before */
} crd_arena_demand;

/* Where a large object was that died, with a quarantine; gc/closed.c. */
typedef struct crd_closed_run {
  uint32_t page, pages; /* of the object */
  uint32_t unused;      /* the first so many were not taken again [closed.2] */
  uint32_t closed;      /* the last so many of them */
  uint32_t type;
  bool swept;           /* by a major collection, else freed by a minor one */
  uint64_t collection;  /* the minor collection that did, or the last one before the sweep */
} crd_closed_run;

typedef struct crd_arenas {
  uintptr_t base;
  crd_arena *meta;
  size_t bytes;               /* of the reservation */
  size_t meta_bytes;          /* of the metadata's reservation */
  size_t meta_committed;      /* bytes */
  uint32_t capacity;          /* arenas in the reservation */
  uint32_t limit;             /* arenas that may be committed */
  uint32_t free_count, committed_count;
  uint32_t free_hint;         /* no FREE arena below it */
  uint32_t reserved_hint;     /* no RESERVED arena below it; rotating: behind the last one that was committed */
  uint32_t used_end;          /* no USED arena at or above it */
  uint32_t committed_end;     /* no committed arena at or above it */
  uint32_t lists[ARENA_BUCKETS][ARENA_BUCKETS]; /* by free pages, then by the longest free run */
  uint16_t listed[ARENA_BUCKETS]; /* bit j of word i: lists[i][j] is not empty */
  uint8_t *states;            /* one an arena */
  uint8_t *origins;           /* one an arena: ARENA_FROM_POOL and so on; 0 unless committed */
  crd_backing backing, meta_backing;
  uint32_t pool_count;        /* committed arenas whose memory is from a pool */
  uint32_t pool_refusals;     /* arenas that the pool had no page for */
  uint32_t pool_skip;         /* commits to go before the pool is tried again after a refusal */
  crd_arena_demand demand;
  uint64_t taken_total, given_back_total;
  bool rotating;              /* there is a quarantine: see [arena.3] */
  crd_closed_run *runs;       /* ring of what is or was closed [closed.1]; NULL: there is no quarantine */
  uint32_t first_run, run_count, closed_pages;
  bool can_close;             /* by pages, that is */
} crd_arenas;

static inline uint32_t arenas_in_use(const crd_arenas *arenas) {
  return arenas->committed_count - arenas->free_count;
}

/* --- memory (gc/arena_memory.c) --- */

/* Reserves address space (halved while refused, at least 8 arenas). false: not even that. */
bool crd_arenas_init(crd_arenas *arenas, const cradle_options *options, const cradle_hardware *hardware);
void crd_arenas_fini(crd_arenas *arenas);

/* Commits until count arenas are FREE. false: refused by the limit, the reservation or the system; some may have come. */
bool crd_arenas_ensure_free(crd_arenas *arenas, uint32_t count);
/* The same for the count arenas from first on, none of them USED. */
bool crd_arenas_commit_at(crd_arenas *arenas, uint32_t first, uint32_t count);
/* Commits of count arenas stay below it, if they can: with a quarantine they go round, and the metadata follows the highest. */
uint32_t crd_arenas_round_end(const crd_arenas *arenas, uint32_t count);
/* Has count FREE arenas ready for use without a page fault: commits what is missing and populates them and their metadata,
 * lowest first. It costs the page faults that it saves later (about 0.1 ms for an arena of huge pages, 0.7 ms of base pages), so
 * it is for moments outside of pauses; when all are ready it costs a look at count bytes. Returns how many are ready. */
uint32_t crd_arenas_prepare(crd_arenas *arenas, uint32_t count);

/* Gives FREE arenas beyond keep back to the system, highest first, at most so many. Returns how many went. */
uint32_t crd_arenas_release(crd_arenas *arenas, uint32_t keep, uint32_t most);
/* The same for those of the count arenas from first on that are FREE. */
uint32_t crd_arenas_release_at(crd_arenas *arenas, uint32_t first, uint32_t count, uint32_t keep);
/* With a quarantine: gives those of count arenas back that have just been emptied, so that a stale reference into them faults, as
 * far as keep others are FREE then. */
void crd_arenas_quarantine(crd_arenas *arenas, uint32_t first, uint32_t count, uint32_t keep);
/* As crd_arenas_release, those that recent demand does not explain: what lay empty for a while beyond keep. now_ns never goes
 * back. */
uint32_t crd_arenas_settle(crd_arenas *arenas, uint32_t keep, uint64_t now_ns, uint32_t most);
/* Drops the contents of the FREE arenas, but not of a pool's, and keeps them committed: a fork has nothing to share there, and
 * what is resident is little. With a quarantine nothing is dropped: it holds poison. */
void crd_arenas_discard_free(crd_arenas *arenas);

/* --- closed runs, with a quarantine (gc/closed.c) --- */

/* false: memory was refused. */
bool crd_arenas_closing_init(crd_arenas *arenas, size_t page_bytes);
void crd_arenas_closing_fini(crd_arenas *arenas);
/* In place of giving a run back, exactly as it was taken: closes it for a while. keep arenas stay FREE. */
void crd_arenas_close(crd_arenas *arenas, crd_closed_run run, uint32_t keep);
/* Gives the oldest back to be used again, where memory is short. false: none is closed, or the system refuses. */
bool crd_arenas_open_oldest(crd_arenas *arenas);
/* Gives all of them back; arenas that they were all of become inaccessible. */
void crd_arenas_retire_closed(crd_arenas *arenas, uint32_t keep);
/* Pages are taken: what died there is not told of any more. */
void crd_arenas_forget_closed(crd_arenas *arenas, uint32_t page, uint32_t count);
/* Pages that the ring's runs have closed, counted: closed_pages, for the verifier. */
uint32_t crd_arenas_count_closed(const crd_arenas *arenas);
/* The run that an address lies in where it is inaccessible, or NULL. Fit for signal handlers. */
const crd_closed_run *crd_arenas_closed_at(const crd_arenas *arenas, uintptr_t address);

/* --- runs of pages (gc/arena.c) --- */

/* Takes a run of count pages, leaving at least keep arenas FREE. Returns its first page's number, or PAGE_NONE; *clean tells
 * whether the run reads as zero. */
uint32_t crd_arenas_take(crd_arenas *arenas, uint32_t count, uint32_t keep, bool *clean);
/* Gives a run back, exactly as it was taken; its bitmaps and page entries are already zero. */
void crd_arenas_give_back(crd_arenas *arenas, uint32_t page, uint32_t count);
/* Takes a USED arena out of the lists, so that nothing new is placed in it, and puts it back. */
void crd_arenas_withdraw(crd_arenas *arenas, uint32_t index);
void crd_arenas_restore(crd_arenas *arenas, uint32_t index);
/* Recounts every arena's maps and lists against [arena.2] and [arena.4]; for the verifier. NULL, or what is wrong. */
const char *crd_arenas_check(const crd_arenas *arenas);

static inline bool arenas_contain(const crd_arenas *arenas, uintptr_t address) {
  return address - arenas->base < arenas->bytes;
}
/* Of an address in the reservation: whether there is memory. */
static inline bool arenas_are_committed(const crd_arenas *arenas, uintptr_t address) {
  return arenas->states[(address - arenas->base) >> ARENA_SHIFT] != ARENA_RESERVED;
}
static inline uint32_t arenas_page_number(const crd_arenas *arenas, uintptr_t address) {
  return (uint32_t)((address - arenas->base) >> PAGE_SHIFT);
}
static inline uintptr_t arenas_page_address(const crd_arenas *arenas, uint32_t page) {
  return arenas->base + ((uintptr_t)page << PAGE_SHIFT);
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
