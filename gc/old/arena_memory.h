/* The arenas' memory: reserved once, committed by policy, and given back when nobody has wanted it for a while.
 *
 * Committing. Arenas are committed lowest address first; with a quarantine commits go round (gc/old/arena.h). The
 * metadata is committed with them, in larger pieces. Where the policy asks for a pool of huge pages, the pool is tried
 * first; after a refusal it is left alone for a few commits.
 *
 * Giving back. Memory goes only as whole arenas, because a part of a huge page frees nothing. A free arena that is
 * taken again costs what its pages cost again, so what the heap used a moment ago is kept: time is cut into epochs, and
 * the FREE arenas kept are the reserve and as many as bring those in use up to the most of this epoch and the one
 * before. What a heap no longer uses is thus given back after one to two epochs, and a load that rises and falls gives
 * and takes an arena at most once an epoch. Time comes with each collection: a program that does not collect gives
 * nothing back unless it asks for it.
 *
 *   [arena_memory.1] The metadata of a committed arena is committed.
 *   [arena_memory.2] A RESERVED arena has no origin; pool_count counts the arenas whose origin is the pool.
 *   [arena_memory.3] A page of 1 GiB is committed and given back as a whole, all 512 arenas of it.
 *   [arena_memory.4] The peak of the present epoch is at least the number of arenas in use.
 */
#ifndef CRADLE_GC_OLD_ARENA_MEMORY_H
#define CRADLE_GC_OLD_ARENA_MEMORY_H

#include "gc/old/arena.h"

/* The regions' names, in /proc/PID/maps and in reports. */
#define ARENAS_NAME "cradle arenas"
#define METADATA_NAME "cradle metadata"

/* Reserves address space (halved while refused, at least 8 arenas). false: not even that. */
bool crd_arenas_init(crd_arenas *arenas, const cradle_options *options, const cradle_hardware *hardware);
void crd_arenas_fini(crd_arenas *arenas);
/* Where the policy is auto, arenas and metadata are on base pages before this. What is in use by then stays there;
 * what is touched first from now on comes on huge pages. Called once. */
void crd_arenas_enter_huge(crd_arenas *arenas);

/* Commits until count arenas are FREE. false: refused by the limit, the reservation or the system; some may have
 * come. */
bool crd_arenas_ensure_free(crd_arenas *arenas, uint32_t count);
/* The same for the count arenas from first on, none of them USED. */
bool crd_arenas_commit_at(crd_arenas *arenas, uint32_t first, uint32_t count);
/* Commits of count arenas stay below it, if they can: with a quarantine they go round, and the metadata follows the
 * highest. */
uint32_t crd_arenas_round_end(const crd_arenas *arenas, uint32_t count);
/* Has count FREE arenas ready for use without a page fault: commits what is missing and populates them and their
 * metadata, lowest first. It costs the page faults that it saves later (about 0.1 ms for an arena of huge pages, 0.7 ms
 * of base pages), so it is for moments outside of pauses; when all are ready it costs a look at count bytes. Returns
 * how many are ready. */
uint32_t crd_arenas_prepare(crd_arenas *arenas, uint32_t count);

/* Populates one arena and its metadata, without a note of it. May run beside anything but the giving back of the
 * arena. false: the system cannot. */
bool crd_arenas_populate(const crd_arenas *arenas, uint32_t index);

/* Gives FREE arenas beyond keep back to the system, highest first, at most so many. Returns how many went. */
uint32_t crd_arenas_release(crd_arenas *arenas, uint32_t keep, uint32_t most);
/* The same for those of the count arenas from first on that are FREE. */
uint32_t crd_arenas_release_at(crd_arenas *arenas, uint32_t first, uint32_t count, uint32_t keep);
/* With a quarantine: gives those of count arenas back that have just been emptied, so that a stale reference into them
 * faults, as far as keep others are FREE then. */
void crd_arenas_quarantine(crd_arenas *arenas, uint32_t first, uint32_t count, uint32_t keep);
/* As crd_arenas_release, those that recent demand does not explain: what lay empty for a while beyond keep. now_ns
 * goes back only where the system's clock fails, and the epoch ends then. */
uint32_t crd_arenas_settle(crd_arenas *arenas, uint32_t keep, uint64_t now_ns, uint32_t most);
/* Drops the contents of the FREE arenas, but not of a pool's, and keeps them committed: a fork has nothing to share
 * there, and what is resident is little. With a quarantine nothing is dropped: it holds poison. */
void crd_arenas_discard_free(crd_arenas *arenas);

#endif
