/* Pages: the only module that maps, commits, protects and releases memory.
 *
 * Everything above asks here, so that a failure has one shape and one place to be counted or
 * injected.
 *
 * Invariants
 *   [pages.1] Every address and length is a multiple of the unit the function names (base page or
 *             huge page); a release takes exactly what a commit gave.
 *   [pages.2] No function prints, aborts or changes errno: a failure is false or NULL.
 *   [pages.3] A failed call leaves the range as it was; above all it never leaves a hole in a
 *             reservation.
 *   [pages.4] Advice (huge pages, names, populate) may fail without consequence; only reserve and
 *             commit may refuse.
 *   [pages.5] What the kernel gave is measured (crd_pages_backing_of), never inferred from a return
 *             code.
 */
#ifndef CRADLE_GC_PLATFORM_PAGES_H
#define CRADLE_GC_PLATFORM_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/* Reserves size bytes of address space without access, aligned to alignment (a power of two, at
 * least the base page). Nothing is committed or charged. NULL when the address space, RLIMIT_AS or
 * the map count refuses. hint is a wished address for reproducible debugging, or NULL; a wish that
 * is not aligned or cannot be had exactly is NULL too. */
void *crd_pages_reserve(size_t size, size_t alignment, void *hint);
/* Gives a whole reservation back; false when the kernel refuses (the range then stays reserved). */
bool crd_pages_unreserve(void *address, size_t size);

/* Makes [address, address+size) of a reservation, none of it committed, readable and writable; it
 * reads as zero on first touch. */
bool crd_pages_commit(void *address, size_t size);
/* The same from the reserved huge-page pool: mapped elsewhere without MAP_NORESERVE, populated,
 * then moved into its place with mremap, so that a refusal (an empty pool) leaves no hole. Address
 * and size are multiples of pool_page_bytes, else it refuses. false: commit it otherwise. */
bool crd_pages_commit_pool(void *address, size_t size, size_t pool_page_bytes);
/* A whole reservation from the pool, readable and writable, for systems that reserve and commit such pages in one call
 * (Windows' large pages). size is a multiple of pool_page_bytes, to which it is aligned; crd_pages_unreserve gives it
 * back. NULL: refused, or this system commits from its pool. */
void *crd_pages_reserve_pool(size_t size, size_t pool_page_bytes);
/* Why this process can have no pages of the pool whatever its options, in words; NULL: as far as the system tells, it
 * can. in_parts: for crd_pages_commit_pool, where that refuses crd_pages_reserve_pool. */
const char *crd_pages_pool_doubt(bool in_parts);
/* Gives the memory and its commit charge back and leaves the range reserved without access. The
 * mapping is new: advice and names given before are gone. */
bool crd_pages_release(void *address, size_t size);
/* Drops the contents (they read as zero again) and keeps the range committed. */
bool crd_pages_discard(void *address, size_t size);
/* Removes or restores all access to a committed range; the contents stay. */
bool crd_pages_protect(void *address, size_t size, bool accessible);

/* Advice: transparent huge pages wanted or refused for the range; populate for writing (false: the
 * kernel could not, and pages come at first touch); a name in /proc/PID/maps. */
void crd_pages_advise_huge(void *address, size_t size, bool wanted);
bool crd_pages_populate(void *address, size_t size);
void crd_pages_name(void *address, size_t size, const char *name);

/* Bytes of the range that huge pages back now, and bytes that are resident at all; the shared page
 * of zeros counts for neither. Found with PAGEMAP_SCAN, else /proc/self/smaps, which is in
 * proportion where a mapping lies in the range in part. false when the system tells neither; the
 * counts are then no figures. */
typedef struct crd_pages_backing {
  size_t resident_bytes;
  size_t huge_bytes; /* <= resident_bytes */
} crd_pages_backing;
bool crd_pages_backing_of(const void *address, size_t size, crd_pages_backing *backing);

/* Writes length bytes to standard error, for the last words of a default handler; never fails
 * visibly. Blocks the signals of a write that is refused (SIGPIPE, SIGXFSZ) from then on, as the
 * process is to end by abort. */
void crd_platform_last_words(const char *text, size_t length);
/* Whether a process can be forked here. */
bool crd_platform_can_fork(void);
/* Monotonic time in nanoseconds. */
unsigned long long crd_platform_now_ns(void);

#endif
