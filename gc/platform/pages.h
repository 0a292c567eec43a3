/* Pages: the only module that maps, commits, protects and releases memory. So every failure looks alike, and tests can
 * make any of them happen in one place.
 *
 *     reserve    gets address space: no access, no memory
 *     commit     gets memory for a part of it, which reads as zero
 *     discard    drops the contents: the part stays committed and reads as zero again
 *     release    gives the memory back: the part is reserved again
 *     unreserve  gives the address space back, too
 *
 * To reserve address space takes no memory, so the heap reserves all that it may ever want at once, and commits memory
 * in it as needed. That keeps addresses together, and arenas can be found by arithmetic.
 *
 *   [pages.1] Every address and length is a multiple of the unit the function names (base page or huge page); a release
 *             takes exactly what a commit gave.
 *   [pages.2] No function prints, aborts or changes errno: a failure is false or NULL.
 *   [pages.3] A failed call leaves the range as it was; above all it never leaves a hole in a reservation.
 *   [pages.4] Advice (huge pages, names, populate) may fail without consequence; only reserve and commit may refuse.
 *   [pages.5] What the kernel gave is measured (crd_pages_backing_of), never inferred from a return code.
 */
#ifndef CRADLE_GC_PLATFORM_PAGES_H
#define CRADLE_GC_PLATFORM_PAGES_H

#include <stdbool.h>
#include <stddef.h>

#ifdef _WIN32
#define PLATFORM_HAS_FORK false
#else
#define PLATFORM_HAS_FORK true
#endif

/* Reserves size bytes of address space without access, aligned to alignment (a power of two, at least the base page).
 * Nothing is committed or charged. NULL: there is no such address space, or RLIMIT_AS or the map count forbids it.
 * hint: the address to reserve at, for reproducible debugging, or NULL; if it is not aligned or not free, the result is
 * NULL. */
void *crd_pages_reserve(size_t size, size_t alignment, void *hint);
/* Gives a whole reservation back; false when the kernel refuses (the range then stays reserved). */
bool crd_pages_unreserve(void *address, size_t size);

/* Makes [address, address+size) of a reservation, none of it committed, readable and writable. */
bool crd_pages_commit(void *address, size_t size);
/* The same from the reserved pool of huge pages. Address and size must be multiples of pool_page_bytes. false: the pool
 * is empty or there is none. */
bool crd_pages_commit_pool(void *address, size_t size, size_t pool_page_bytes);
/* A whole reservation from the pool, readable and writable, for systems that reserve and commit such pages in one call
 * (Windows' large pages). size must be a multiple of pool_page_bytes, to which the reservation is aligned;
 * crd_pages_unreserve gives it back. NULL: refused, or this system commits from its pool. */
void *crd_pages_reserve_pool(size_t size, size_t pool_page_bytes);
/* Says in words why this process cannot have pages of the pool, whatever its options. NULL: as far as the system tells,
 * it can. in_parts asks about parts of a reservation, as arenas are. */
const char *crd_pages_pool_doubt(bool in_parts);
/* Gives the memory and its commit charge back, and leaves the range reserved without access. The mapping is a new one,
 * so advice and names must be given again. */
bool crd_pages_release(void *address, size_t size);
/* Drops the contents (they read as zero again) and keeps the range committed. */
bool crd_pages_discard(void *address, size_t size);
/* Removes or restores all access to a committed range; the contents stay. */
bool crd_pages_protect(void *address, size_t size, bool accessible);

/* Advice: use transparent huge pages for the range, or do not; make all its pages present and writable now (false: the
 * kernel could not, and they come at first touch); show the range under a name in /proc/PID/maps. */
void crd_pages_advise_huge(void *address, size_t size, bool wanted);
bool crd_pages_populate(void *address, size_t size);
void crd_pages_name(void *address, size_t size, const char *name);

/* How many bytes of the range are resident now, and how many of these are on huge pages. The shared page of zeros
 * counts for neither. The figures come from PAGEMAP_SCAN, else from /proc/self/smaps, which counts whole mappings: of
 * one that lies partly in the range, a proportional share is counted. false: the system tells neither, and the counts
 * mean nothing. */
typedef struct crd_pages_backing {
  size_t resident_bytes;
  size_t huge_bytes; /* <= resident_bytes */
} crd_pages_backing;
bool crd_pages_backing_of(const void *address, size_t size, crd_pages_backing *backing);

/* Writes the last words of a program to standard error; a failure is not reported. Blocks SIGPIPE and SIGXFSZ for good,
 * the signals of a write that is refused: the process must end by the abort that follows, not by them. */
void crd_platform_last_words(const char *text, size_t length);
/* Monotonic time in nanoseconds. */
unsigned long long crd_platform_now_ns(void);
/* For how many nanoseconds this thread has run on a processor. 0: the system does not say, or only in steps that are
 * longer than a pause (Windows). */
unsigned long long crd_platform_thread_ns(void);
/* How often the system took the processor from this thread and ran something else (involuntary context switches).
 * false: the system does not say (macOS, Windows). */
bool crd_platform_preemptions(unsigned long long *count);
/* What the two said when a pause began. */
typedef struct crd_pause_begin {
  unsigned long long processor_ns, preemptions;
  bool preemptions_known;
} crd_pause_begin;

#endif
