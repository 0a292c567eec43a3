/* The system under a fuzzed heap: a clock that every reading moves on by the same time, so that an input is the same
 * run each time and a finding comes back, and memory that can be refused. It takes the place of the library's pages on
 * Linux; elsewhere time is the system's, nothing is refused, and nothing counted. */
#ifndef TESTS_FUZZ_SYSTEM_H
#define TESTS_FUZZ_SYSTEM_H

#include <stddef.h>

#include "cradle/heap.h"

/* Starts the clock and stops refusing memory. */
void system_reset(void);
long long system_clock_ns(void);
/* Refuses `count` calls for memory, after letting the next `after` calls pass. */
void system_refuse(unsigned after, unsigned count);
void system_heal(void);
/* Bytes of address space that the library has taken and not given back. */
size_t system_mapped_bytes(void);
/* Gives the second core time to take the round that was offered to it: most runs are over before it wakes up. */
void system_await_round(const cradle_heap *heap);

#endif
