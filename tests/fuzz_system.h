/* The system under a fuzzed heap: a clock that every reading moves on by the same time, so that an input is the same run each
 * time and a finding comes back, and memory that can be refused. It takes the place of the library's pages on Linux; elsewhere
 * time is the system's, and nothing is refused. */
#ifndef TESTS_FUZZ_SYSTEM_H
#define TESTS_FUZZ_SYSTEM_H

/* The clock starts, and nothing is refused any more. */
void system_reset(void);
/* After so many more calls for memory the next ones are refused, so many of them. */
void system_refuse(unsigned after, unsigned count);
void system_heal(void);

#endif
