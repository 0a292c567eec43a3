/* Backing: which kind of pages to ask the system for, given what the user wants and what the machine has. Transparent
 * huge pages: the program advises a range, and the kernel uses huge pages there if it has some. The pool: pages that
 * the administrator set aside, which a program gets for certain or is refused.
 *
 *   [backing.1] A huge page is used only where it is not larger than an arena, so that arenas come and go as wholes.
 *               Systems whose base page is 16 or 64 KiB have huge pages of 32 or 512 MiB: those regions get base pages.
 *   [backing.2] The sizes of transparent huge pages and of the pool's pages are two figures; neither is assumed.
 */
#ifndef CRADLE_GC_OLD_BACKING_H
#define CRADLE_GC_OLD_BACKING_H

#include <cradle/options.h>

typedef struct crd_backing {
  cradle_hugepages asked; /* the policy as it was given */
  bool transparent;       /* advise transparent huge pages; false: advise against them */
  bool pool;              /* try the pool first */
  bool strict;            /* if the pool refuses while the heap is made, there is no heap */
  size_t pool_page_bytes; /* 0: there is no pool to ask, or its pages are larger than an arena */
} crd_backing;

crd_backing crd_backing_choose(cradle_hugepages policy, const cradle_hardware *hardware);
/* Says in words why a region will not have the huge pages that its policy asks for. NULL: the policy asks for none, or
 * the system gives no reason to doubt it. */
const char *crd_backing_doubt(const crd_backing *backing, const cradle_hardware *hardware);

#endif
