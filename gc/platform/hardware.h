/* Hardware: what the machine is, read once when a heap is made and nothing described it in the
 * options.
 *
 * Each figure is found in the order sysfs, sysconf, a stated default; the source goes with the
 * figure so that the log can say where a choice came from. The structure itself is public
 * (cradle/options.h), because an embedder may give it.
 *
 * Invariants
 *   [hardware.1] Every field is set: a figure that nobody tells is 0 where the header says
 *                "0: unknown", else its default. A file that is missing or garbled tells nothing.
 *   [hardware.2] Cache sizes are the smallest over the CPUs the process may run on.
 */
#ifndef CRADLE_GC_PLATFORM_HARDWARE_H
#define CRADLE_GC_PLATFORM_HARDWARE_H

#include <cradle/options.h>

/* Reads the machine. Never fails; opens and closes its files, allocates nothing, keeps errno. */
void crd_hardware_detect(cradle_hardware *hardware);
/* The same with the tree under root, which ends with a slash, in place of "/" (tests give a
 * directory with sys/ and proc/). What sysconf and prctl tell is the machine's own. */
void crd_hardware_detect_under(cradle_hardware *hardware, const char *root);

#endif
