/* Hardware: finds out about the machine what the heap's sizes depend on: caches, huge pages, memory, processors. The
 * structure is public (cradle/options.h), because an embedder may describe the machine in the options.
 *
 * To read a file of /sys or /proc costs about 10 microseconds, and there are a dozen for each CPU. A program that ends
 * after a millisecond must not pay for all of them. So the machine is read by parts, and each part when its figures are
 * first needed (gc/outgrow.h says when that is).
 *
 * Each figure is looked for in sysfs, then asked of sysconf, then a stated default is used. The source is kept with the
 * figure, so that the log can say where a choice came from. The L2 is an exception: sysconf is asked first in C
 * libraries that keep what they asked the processor when the program began, if all cores are alike. (For the L3 it adds
 * up the caches of several groups of cores on some processors.)
 *
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
  HARDWARE_MEMORY = 16, /* memory_bytes, group_bytes, group_high_bytes */
  HARDWARE_PROCESSORS = 32,
  HARDWARE_ALL = 63,
};

/* Begins a description, in which only the page size is known. */
void crd_hardware_init(cradle_hardware *hardware);
/* Reads those of the parts that are not in *known yet, and adds them there. Never fails; opens and closes its files,
 * allocates nothing, keeps errno. */
void crd_hardware_learn(cradle_hardware *hardware, unsigned *known, unsigned parts);
/* The memory in bytes: what the description says or, if that part was not read, what the machine has. Opens no file. 0:
 * unknown. */
size_t crd_hardware_memory(const cradle_hardware *hardware);
/* For tests: reads the parts from the files under root, which ends with a slash, in place of "/". sysconf and prctl
 * still answer for the real machine, so even the L2 is looked for in sysfs first. Not on Windows. */
void crd_hardware_read_under(cradle_hardware *hardware, const char *root, unsigned parts);
/* A path longer than that names no file, and so much of a file is read; both with the terminating zero. */
#define HARDWARE_PATH_BYTES 512
#define HARDWARE_FILE_BYTES 8192

/* --- for the files of the systems --- */

/* Cache sizes; 0: not seen. */
typedef struct crd_caches {
  size_t l2_bytes, l3_bytes;
} crd_caches;

/* Lowers a figure to another one. 0 means unknown, not the smallest of all. */
static inline void crd_hardware_lower(size_t *bytes, size_t to) {
  if (to != 0 && (*bytes == 0 || to < *bytes)) *bytes = to;
}
#if !defined(__linux__) && !defined(_WIN32)
/* Reads the parts that sysctl knows, on systems without /sys and /proc. The other parts stay as they were. */
void crd_hardware_read_sysctl(cradle_hardware *hardware, unsigned parts);
#endif

#endif
