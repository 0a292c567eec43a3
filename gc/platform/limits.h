/* Limits: what the system lets this process have, and which limit stands behind a refusal. Address space belongs to the
 * whole process, so whoever reserves for the collector asks for a share of what is left.
 *
 *   [limits.1] Nothing here opens a file, keeps what it mapped, or changes errno: it may be called at any time, in a
 *              sandbox too.
 *   [limits.2] What is blamed was asked for again and refused again: the limit is not guessed from the options.
 */
#ifndef CRADLE_GC_PLATFORM_LIMITS_H
#define CRADLE_GC_PLATFORM_LIMITS_H

#include <stdbool.h>
#include <stddef.h>

/* How many bytes to reserve if `wanted` would be good: `wanted`, or one part in `parts` of the longest range that could
 * be reserved now, if that is less. The range is looked for only if the process has a limit on address space or on
 * locked memory that may bind, or if refused says that the system has refused `wanted`. The result may be 0. */
size_t crd_limits_share(size_t wanted, unsigned parts, bool refused);

/* A limit: its name, what moves it, and its value. */
typedef struct crd_limit {
  const char *name;         /* "RLIMIT_AS"; NULL: nothing is refused now, or this system does not tell */
  const char *remedy;       /* "ulimit -v" */
  unsigned long long bytes; /* 0: the limit is no number of bytes */
} crd_limit;
/* Which limit refuses so many bytes of address space, or of memory in it. If none does, more is asked for, up to 1 GiB:
 * the refused request may have been larger than its caller knows, as that of a table that doubles. Takes some twenty
 * system calls, so it is for messages. */
crd_limit crd_limits_blame(size_t bytes);
/* The same for exactly so many bytes of address space. */
crd_limit crd_limits_blame_addresses(size_t bytes);

#endif
