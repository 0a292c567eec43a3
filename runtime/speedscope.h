/* Writes a call tree in the file format of speedscope (https://github.com/jlfwong/speedscope). */
#ifndef CRADLE_RUNTIME_SPEEDSCOPE_H
#define CRADLE_RUNTIME_SPEEDSCOPE_H

#include "runtime/call_tree.h"
#include "runtime/growing_text.h"

/* What the file says about itself besides the tree. */
typedef struct crd_profile_facts {
  uint64_t interval_bytes, seed, samples;
  uint64_t lost;          /* samples that were dropped because memory ran out */
  uint64_t process, heap; /* numbers */
} crd_profile_facts;

/* Three profiles over the same frames: bytes allocated, bytes that survived their first minor
 * collection, bytes that did not. If memory runs out, file->failed is set. */
void crd_speedscope_write(crd_growing_text *file, const crd_call_tree *tree, const crd_profile_facts *facts);

#endif
