/* The system under a fuzzed heap: a clock that every reading moves on by the same time, so that an input is the same run each
 * time and a finding comes back. It takes the place of the library's pages on Linux; elsewhere time is the system's. */
#ifndef TESTS_FUZZ_SYSTEM_H
#define TESTS_FUZZ_SYSTEM_H

void system_reset(void);

#endif
