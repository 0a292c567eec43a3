#include "tests/model/fuzz_sample.h"

#include <stdint.h>

#include "tests/model/fuzz_calls.h"

#include "tests/inside.h"

static uint64_t state;
static bool all;

/* FNV-1a, whose offset basis is not 0, so that an empty input samples, too. */
void sample_begin(const unsigned char *data, size_t size) {
  state = UINT64_C(0xcbf29ce484222325);
  for (size_t i = 0; i < size; i++) state = (state ^ data[i]) * UINT64_C(0x100000001b3);
}

void sample_all(void) {
  all = true;
}

/* splitmix64 */
static bool one_in(unsigned count) {
  uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return all || (z ^ z >> 31) % count == 0;
}

bool sample_is_due(void) {
  return one_in(SAMPLE_OF);
}

bool sample_end_is_due(void) {
  return one_in(END_SAMPLE_OF);
}

/* The verifier and its history of where heaps were right, which costs a backtrace each time. fuzz_calls.h has given
 * both other names. */
static bool was_verified;

bool crd_verify(cradle_heap *heap, crd_text *text) {
  was_verified = sample_is_due();
  return !was_verified || verify_whole(heap, text);
}

void crd_history_right(cradle_heap *heap, bool before) {
  if (was_verified) note_right(heap, before);
}
