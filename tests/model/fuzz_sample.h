/* How much of a fuzzed heap is looked at: whole verifications and looks cost more than all that is done between them,
 * so only one in SAMPLE_OF is made, and of the ends with several collections one in END_SAMPLE_OF. Which ones is a
 * function of the input's bytes, so that a finding comes back.
 *
 * This takes the place of the library's verifier: what a heap with options.verify does besides, poisoning what died,
 * happens at every collection. */
#ifndef TESTS_FUZZ_SAMPLE_H
#define TESTS_FUZZ_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>

#define SAMPLE_OF 16
#define END_SAMPLE_OF 4

/* An input begins. */
void sample_begin(const unsigned char *data, size_t size);
/* From now on, verifies and inspects everything, for all inputs. */
void sample_all(void);
/* Whether the next inspection belongs to the sample. */
bool sample_is_due(void);
bool sample_end_is_due(void);

#endif
