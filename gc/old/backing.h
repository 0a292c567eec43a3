/* Backing: which pages a region is to be asked for, from its policy and the machine.
 *
 *   [backing.1] A huge page is used only where it is not larger than an arena, so that arenas come and go as wholes.
 *               Systems whose base page is 16 or 64 KiB have huge pages of 32 or 512 MiB: those regions get base pages.
 *   [backing.2] The size of transparent huge pages and that of the pool's pages are two figures, and neither is
 *               assumed. Where nobody tells the former, it follows from the base page: what one page of 8-byte table
 *               entries maps.
 */
#ifndef CRADLE_GC_OLD_BACKING_H
#define CRADLE_GC_OLD_BACKING_H

#include <cradle/options.h>

#define GIGANTIC_BYTES ((size_t)1 << 30)

typedef struct crd_backing {
  cradle_hugepages asked; /* the policy as it was given */
  bool transparent;       /* advise transparent huge pages; false: refuse them */
  bool pool;              /* a reserved pool comes first */
  bool gigantic;          /* and before it that of 1 GiB pages */
  bool strict;            /* what the pool refuses when the heap is made fails it */
  size_t pool_page_bytes; /* 0: there is no pool to ask, or its pages are larger than an arena */
} crd_backing;

crd_backing crd_backing_choose(cradle_hugepages policy, const cradle_hardware *hardware);
/* Why the region cannot have transparent huge pages although its policy wants them, in words; NULL: it can, as far as
 * the system tells, or does not want them. */
const char *crd_backing_doubt(const crd_backing *backing, const cradle_hardware *hardware);

#endif
