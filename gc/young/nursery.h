/* The nursery: one block of memory in which objects are allocated by moving a pointer, free, through it. A minor
 * collection empties it as a whole. Its memory stays mapped.
 *
 *      start              free                    end      slack_end       start + committed_bytes
 *        |== objects =======|......................|..........|..................|
 *        handed out: allocation ends at end, but for one object that may reach into the slack
 *
 * Its first size follows the L2 cache: four times the L2, between 256 KiB and 32 MiB, and at most an eighth of the
 * maximum heap. gc/young/adapt.c changes it from there. docs/design/nursery.md holds the measurements behind the rule.
 *
 *   [nursery.1] start <= free of the mutator <= slack_end, and start <= end <= slack_end <= start + committed_bytes.
 *   [nursery.2] Whatever objects lie below slack_end, they can be promoted: old.reserve arenas are enough for them,
 *               and these arenas are FREE [heap.2]. Nothing is promoted where collection is off.
 *   [nursery.3] Its size changes, and it is handed out, only while it is empty.
 *   [nursery.4] At the address look of a chunk (gc/young/local.h), the next allocation's size is compared with its
 *               type's descriptor. free <= look, and the mutator's top is not above look. So the allocation that would
 *               move free past look takes the slow path even if there is room.
 *   [nursery.5] A huge page may begin at start + lead_bytes. The lead, which lies before it, never gets a huge page: it
 *               is the end of an aligned 2 MiB block whose beginning is not accessible. The lead is 0 unless the page
 *               policy is auto.
 */
#ifndef CRADLE_GC_YOUNG_NURSERY_H
#define CRADLE_GC_YOUNG_NURSERY_H

#include "gc/old/backing.h"
#include "gc/parts.h"

#define NURSERY_NAME "cradle nursery"

typedef struct crd_nursery {
  char *start, *end;      /* what is handed out: less while a major collection runs, or if the reserve is refused */
  char *slack_end;        /* one object or cradle_reserve of up to 32 KiB may reach over end, up to here */
  size_t sample_bytes;    /* one object in this many bytes is a sample (gc/young/adapt.h); 0: no samples */
  size_t bytes;           /* the size chosen; end - start is at most that */
  size_t lead_bytes;      /* the first so many lie on base pages [nursery.5] */
  size_t reserved_bytes;  /* of address space: room for the largest size; addresses in it are young */
  size_t committed_bytes; /* of these, committed: enough for the largest size so far */
  bool lowered;           /* the promotion reserve was refused in part */
  crd_backing backing;    /* which pages were asked for */
  size_t pool_bytes;      /* this many bytes, from start on, are from the reserved pool */
  bool pool_noted;        /* sent: the note that the huge-page pool refused arenas */
} crd_nursery;

/* The largest size that the nursery may grow to when the options give none. */
size_t crd_nursery_most(const cradle_options *options);
size_t crd_nursery_choose(const cradle_options *options, const cradle_hardware *hardware, const char **reason);
/* Reserves address space for a nursery of up to `max` bytes, and commits enough for its size, which the caller has
 * stored in it. */
bool crd_nursery_init(crd_young *young, size_t max);
void crd_nursery_fini(crd_young *young);
/* Changes the size of an empty nursery; the next hand_out uses it. false: memory was refused, nothing changed. What a
 * smaller nursery does not use keeps its pages, unless they would count towards a maximum heap. */
bool crd_nursery_resize(crd_young *young, size_t bytes, const char *reason);
/* Drops the pages of an empty nursery, or those that its size does not use. They stay committed. */
void crd_nursery_discard(crd_young *young, bool whole);
/* Empties the nursery after a minor collection. hand_out comes next. */
void crd_nursery_empty(crd_young *young);
/* Secures the promotion reserve for the empty nursery. Then hands out `most` bytes, or as many as can be promoted if
 * that is fewer. set_top comes later. */
void crd_nursery_hand_out(crd_young *young, size_t most);
/* After the slow path has compared the size: decides where the next look is. object: what was allocated or reserved;
 * NULL: that failed. */
void crd_nursery_looked(crd_mutator *mutator, const void *object);
/* Counts the ages of the samples. To be called after promotion, while the nursery still holds the forwarded headers.
 * filled: bytes of the nursery. */
void crd_nursery_count_ages(crd_young *young, uint64_t filled);
/* Sets top to the lowest of the chunk's end, the next look and the next sample point; to NULL if the next allocation is
 * to take the slow path in any case. The second does so for all mutators of the heap. */
void crd_nursery_set_top(crd_mutator *mutator);
void crd_nursery_set_tops(crd_young *young);

#endif
