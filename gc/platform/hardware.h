/* Hardware: what the machine is, where nothing described it in the options.
 *
 * A file of /sys or /proc costs about 10 microseconds, and there are a dozen for each CPU, so the machine is read by
 * parts, and a part when its figures are first needed (gc/outgrow.h says when that is).
 *
 * The L2 size is what sysconf says where that needs no file and holds for every CPU: in C libraries that keep what
 * they learnt from the processor as the program began, and on processors whose cores are alike. Else each figure is
 * found in the order sysfs, sysconf, a stated default. What sysconf says of the L3 is not asked before sysfs: for some
 * processors it adds up what several groups of cores have. The source goes with the figure so that the log can say
 * where a choice came from. The structure itself is public (cradle/options.h), because an embedder may give it.
 *
 * Invariants
 *   [hardware.1] Every field of a part that was read is set: a figure that nobody tells is 0 where the header says
 *                "0: unknown", else its default. A file that is missing or garbled tells nothing. A field of a part
 *                that was not read is 0, but for the page size.
 *   [hardware.2] Cache sizes are the smallest over the CPUs the process may run on.
 */
#ifndef CRADLE_GC_PLATFORM_HARDWARE_H
#define CRADLE_GC_PLATFORM_HARDWARE_H

#include <cradle/options.h>

enum {
  HARDWARE_L2 = 1,      /* l2_bytes and its source */
  HARDWARE_CACHES = 2,  /* l3_bytes and its source; the L2's, too, unless they are known */
  HARDWARE_THP = 4,     /* thp_mode, thp_page_bytes */
  HARDWARE_POOL = 8,    /* pool_page_bytes, pool_pages_free */
  HARDWARE_MEMORY = 16, /* memory_bytes, group_bytes */
  HARDWARE_PROCESSORS = 32,
  HARDWARE_ALL = 63,
};

/* Makes it the description of a machine of which nothing is known but the page size. */
void crd_hardware_init(cradle_hardware *hardware);
/* Reads those of the parts that are not among the known ones, which they are then. Never fails; opens and closes its
 * files, allocates nothing, keeps errno. */
void crd_hardware_learn(cradle_hardware *hardware, unsigned *known, unsigned parts);
/* Both, and all parts. */
void crd_hardware_detect(cradle_hardware *hardware);
/* The same with the tree under root, which ends with a slash, in place of "/" (tests give a
 * directory with sys/ and proc/). What sysconf and prctl tell is the machine's own; the L2 is sysfs's first. */
void crd_hardware_detect_under(cradle_hardware *hardware, const char *root);

#endif
