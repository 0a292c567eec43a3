/* The arenas' memory: where it comes from, and when it goes back to the system.
 *
 * The address space for all arenas is reserved when the heap is made. Arenas get memory when they are needed, lowest
 * address first (with a quarantine in turn, gc/old/arena.h), from the pool of huge pages if the policy asks for one and
 * it has some. The metadata is committed with them, in larger pieces.
 *
 * Giving back. Memory goes back only as whole arenas: to give back a part of a huge page frees nothing. An arena that
 * is soon wanted again would cost its page faults again. So time is cut into epochs of two seconds, and the heap keeps
 * as many arenas as it had in use at most in this epoch and the one before, and the promotion reserve besides. More go
 * at the end of a collection, and when a large object opens arenas, because the free ones did not suffice for it: at
 * most as many as it opened. A program that does neither gives nothing back unless it asks for that.
 *
 * The first arena. A heap that keeps a few hundred KiB would pay 2 MiB for a huge page of objects, and as much for one
 * of metadata. So under the policy auto the first arena, and the metadata of the first 25, never get one: where a heap
 * is large, that is a page of many; where it is small, it takes what it touches.
 *
 *   [arena_memory.1] The metadata of a committed arena is committed.
 *   [arena_memory.2] A RESERVED arena has no origin; pool_count counts the arenas whose origin is the pool.
 *   [arena_memory.3] The peak of the present epoch is at least the number of arenas in use.
 *   [arena_memory.4] Under the policy auto, the first 2 MiB of the arenas and of the metadata are advised against huge
 *                    pages for good.
 */
#ifndef CRADLE_GC_OLD_ARENA_MEMORY_H
#define CRADLE_GC_OLD_ARENA_MEMORY_H

#include "gc/old/arena.h"

/* The regions' names, in /proc/PID/maps and in reports. */
#define ARENAS_NAME "cradle arenas"
#define METADATA_NAME "cradle metadata"

/* Reserves the address space: the size that the options give, or one that serves the machine's memory. Where that is
 * refused or addresses are limited: a quarter of what is left, or 8 arenas if these are at most half of it. false: not
 * even 4 arenas. */
bool crd_arenas_init(crd_arenas *arenas, const cradle_options *options, const cradle_hardware *hardware);
void crd_arenas_fini(crd_arenas *arenas);
/* The heap is no longer small (gc/outgrow.h): with the policy auto, what is touched first now is on huge pages. */
void crd_arenas_enter_huge(crd_arenas *arenas);

/* Commits until count arenas are FREE. false: the limit, the reservation or the system refused some of them. */
bool crd_arenas_ensure_free(crd_arenas *arenas, uint32_t count);
/* Commits those of the count arenas from first on that are RESERVED; none of them may be USED. false as above. */
bool crd_arenas_commit_at(crd_arenas *arenas, uint32_t first, uint32_t count);
/* With a quarantine: the arena at which commits of count arenas begin again at the bottom, so that not all metadata has
 * to be committed. Otherwise the capacity. */
uint32_t crd_arenas_round_end(const crd_arenas *arenas, uint32_t count);
/* Makes count FREE arenas ready for use without a page fault: commits what is missing and populates the arenas and
 * their metadata, lowest first, outside of pauses: about 0.1 ms for an arena of huge pages, 0.7 ms of base pages.
 * Returns how many are ready. */
uint32_t crd_arenas_prepare(crd_arenas *arenas, uint32_t count);
/* Populates one arena and its metadata, without entering that. It may run beside everything but the giving back of the
 * arena. false: the system cannot. */
bool crd_arenas_populate(const crd_arenas *arenas, uint32_t index);

/* Gives FREE arenas back, the highest first, at most `most`, so that `keep` are left. Returns how many went. */
uint32_t crd_arenas_release(crd_arenas *arenas, uint32_t keep, uint32_t most);
/* The same among the count arenas from first on. */
uint32_t crd_arenas_release_at(crd_arenas *arenas, uint32_t first, uint32_t count, uint32_t keep);
/* With a quarantine: gives back those of these arenas that have just become FREE, so that a stale reference into them
 * faults. Commits others in their place, so that keep are FREE; if that is refused, fewer go. */
void crd_arenas_quarantine(crd_arenas *arenas, uint32_t first, uint32_t count, uint32_t keep);
/* The same for the FREE arenas that recent demand does not explain. If now_ns goes back, the epoch ends. */
uint32_t crd_arenas_settle(crd_arenas *arenas, uint32_t keep, uint64_t now_ns, uint32_t most);
/* Drops the contents of the FREE arenas and keeps them committed: before a fork, and to make what is resident less. Not
 * pages of a pool, which may not have them again, or of an image, and not with a quarantine, because FREE arenas
 * hold poison. */
void crd_arenas_discard_free(crd_arenas *arenas);

#endif
