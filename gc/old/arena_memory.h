/* The arenas' memory: where it comes from, and when it goes back to the system.
 *
 * Reserving. The address space for all arenas is reserved once, when the heap is made. That costs no memory, but
 * address space is the process's: a heap leaves room for other heaps and for the program, unless the program gave a
 * size.
 *
 * Committing. Arenas get memory when they are needed, lowest address first (with a quarantine in turn, gc/old/arena.h).
 * The metadata is committed with them, in larger pieces. If the policy asks for a pool of huge pages, the pool is tried
 * first; after a refusal it is left alone for a few commits.
 *
 * Giving back. Memory goes back only as whole arenas: to give back a part of a huge page frees nothing. An arena that
 * is given back and soon wanted again costs its page faults again, so what the heap used a moment ago is kept. Time is
 * cut into epochs of two seconds, and the heap keeps as many arenas as it had in use at most in this epoch and the one
 * before, and the promotion reserve besides:
 *
 *     arenas in use     most: 40             most: 55            now: 20
 *                   |---- epoch before ----|---- this epoch ----*           kept: 55 and the reserve
 *
 * So memory that is no longer used goes back after one to two epochs, and a load that rises and falls gives and takes
 * an arena at most once an epoch. The clock is read at collections only: a program that does not collect gives nothing
 * back unless it asks for that.
 *
 *   [arena_memory.1] The metadata of a committed arena is committed.
 *   [arena_memory.2] A RESERVED arena has no origin; pool_count counts the arenas whose origin is the pool.
 *   [arena_memory.4] The peak of the present epoch is at least the number of arenas in use.
 */
#ifndef CRADLE_GC_OLD_ARENA_MEMORY_H
#define CRADLE_GC_OLD_ARENA_MEMORY_H

#include "gc/old/arena.h"

/* The regions' names, in /proc/PID/maps and in reports. */
#define ARENAS_NAME "cradle arenas"
#define METADATA_NAME "cradle metadata"

/* Reserves the address space: the size that the options give, or one that serves the machine's memory. Where the system
 * refuses it, or the process has a limit on its address space, a quarter of what is left, but 8 arenas if these are at
 * most half of it. false: not even 4 arenas. */
bool crd_arenas_init(crd_arenas *arenas, const cradle_options *options, const cradle_hardware *hardware);
void crd_arenas_fini(crd_arenas *arenas);
/* The heap is no longer small (gc/outgrow.h), so from now on huge pages pay: with the policy auto, memory that is
 * touched first after this call comes on huge pages. Before, arenas and metadata are on base pages, and what has been
 * touched stays there. Called once. */
void crd_arenas_enter_huge(crd_arenas *arenas);

/* Commits until count arenas are FREE. false: the limit, the reservation or the system refused; some arenas may have
 * been committed all the same. */
bool crd_arenas_ensure_free(crd_arenas *arenas, uint32_t count);
/* Commits those of the count arenas from first on that are RESERVED; none of them may be USED. false as above. */
bool crd_arenas_commit_at(crd_arenas *arenas, uint32_t first, uint32_t count);
/* With a quarantine: the arena at which commits of count arenas begin again at the bottom, so that they do not use the
 * whole reservation, whose metadata would have to be committed too. Otherwise the capacity. */
uint32_t crd_arenas_round_end(const crd_arenas *arenas, uint32_t count);
/* Makes count FREE arenas ready for use without a page fault: commits what is missing and populates the arenas and
 * their metadata, lowest first. It takes the page faults that it saves later (about 0.1 ms for an arena of huge pages,
 * 0.7 ms of base pages), so call it outside of pauses. When all are ready it costs a look at count bytes. Returns how
 * many are ready. */
uint32_t crd_arenas_prepare(crd_arenas *arenas, uint32_t count);

/* Populates one arena and its metadata, without entering that. It may run beside everything but the giving back of the
 * arena. false: the system cannot. */
bool crd_arenas_populate(const crd_arenas *arenas, uint32_t index);

/* Gives FREE arenas back to the system, at most `most`, so that `keep` are left. Returns how many went. The highest go
 * first: arenas are taken lowest first, so the highest are wanted last. */
uint32_t crd_arenas_release(crd_arenas *arenas, uint32_t keep, uint32_t most);
/* The same among the count arenas from first on. */
uint32_t crd_arenas_release_at(crd_arenas *arenas, uint32_t first, uint32_t count, uint32_t keep);
/* With a quarantine: gives back those of the count arenas from first on that have just become FREE, so that a stale
 * reference into them faults. Commits other arenas in their place, so that keep are FREE; if that is refused, it gives
 * back fewer. */
void crd_arenas_quarantine(crd_arenas *arenas, uint32_t first, uint32_t count, uint32_t keep);
/* Gives back the FREE arenas that recent demand does not explain, beyond keep, at most `most`. Returns how many went.
 * If the system's clock fails and now_ns goes back, the epoch ends. */
uint32_t crd_arenas_settle(crd_arenas *arenas, uint32_t keep, uint64_t now_ns, uint32_t most);
/* Drops the contents of the FREE arenas and keeps them committed: before a fork, so that the processes share nothing
 * there, and to make what is resident less. Pages of a pool are not dropped, because the pool may not have them again.
 * With a quarantine nothing is dropped, because FREE arenas hold poison. */
void crd_arenas_discard_free(crd_arenas *arenas);

#endif
