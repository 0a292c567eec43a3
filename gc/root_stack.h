/* Root stacks: the roots of one coroutine each. A mutator has one of its own, embedded; a program makes others
 * (cradle/roots.h). Exactly one runs. Its tops, limits and watermark are in the public part of the mutator, where the
 * inline functions find them; those of a suspended one are in its structure.
 *
 * What suspended root stacks hold does not change, so a minor collection has nothing to do with those that it or an
 * earlier one has seen. There may be a hundred thousand, so it must not even count them: the mutator keeps its root
 * stacks in three rings, and moving one from ring to ring takes constant time:
 *
 *               a minor collection               marking begins
 *               has looked at it                 (all at once)
 *     RAN ----------------------------> RESTED -----------------> UNMARKED
 *      ^ ^                               |  ^                       |  |
 *      |  `-------- switched to --------'    `--- marked, some -----'   |
 *       `------------------- switched to --------  at a time ----------'
 *
 *   [root_stack.1] The running root stack and the mutator's own are in RAN. Each root stack is in one ring of its
 *                  mutator; if that was freed, in none.
 *   [root_stack.2] Root stacks in RESTED and UNMARKED refer to nothing young.
 *   [root_stack.3] While the heap marks, root stacks in RESTED refer to marked objects only. Those in UNMARKED are
 *                  marked in increments, before marking ends: a million suspended frames would be a long pause. If one
 *                  of them is switched to, the next minor collection looks at all of it, and marks what it refers to.
 *   [root_stack.4] looked_at is 0 but for the first in UNMARKED. Of that one, so many words have been marked.
 *   [root_stack.5] scoped.base[0] is 0, which is no root.
 *
 * Own stacks grow in place. The others are for programs that have very many: they begin right behind the structure and
 * move to a block of twice the size when they are full.
 */
#ifndef CRADLE_GC_ROOT_STACK_H
#define CRADLE_GC_ROOT_STACK_H

#include <cradle/roots.h>

#include "gc/base/ring.h"
#include "gc/base/word_stack.h"

enum { ROOT_STACKS_RAN = 0, ROOT_STACKS_RESTED, ROOT_STACKS_UNMARKED, ROOT_STACKS_RINGS };

struct cradle_root_stack {
  crd_ring ring;               /* first */
  struct crd_mutator *mutator; /* NULL: it was freed */
  crd_word_stack shadow;       /* the tops are those of a suspended one */
  crd_word_stack scoped;
  cradle_word *watermark;
  uint64_t no_collect_depth;
  cradle_root_range *ranges; /* that name it */
  size_t looked_at;          /* words [root_stack.4] */
};

static inline cradle_root_stack *root_stack_of(crd_ring *link) {
  return (cradle_root_stack *)link;
}
static inline size_t root_stack_scoped_words(const cradle_root_stack *stack) {
  return word_stack_count(&stack->scoped) - 1;
}

/* The mutator's own: opened with the mutator, closed with it. false: the system refused memory. */
bool crd_root_stack_open(struct crd_mutator *mutator, size_t bytes, size_t page_bytes);
/* The others are emptied, and forget the mutator. */
void crd_root_stacks_close(struct crd_mutator *mutator);
/* Writes down the tops of the running one, and reads them again. */
void crd_root_stack_store(struct crd_mutator *mutator);
void crd_root_stack_load(struct crd_mutator *mutator, cradle_root_stack *stack);
/* Makes room in one of the two parts of the running one. false: it is full, or memory was refused. */
bool crd_root_stack_grow(struct crd_mutator *mutator, crd_word_stack *part);
/* Makes the mutator's own run, and drops its scoped roots and no-collection regions. */
void crd_root_stack_drop_scopes(struct crd_mutator *mutator);
/* A suspended one was changed: the next minor collection looks at it. */
void crd_root_stack_changed(cradle_root_stack *stack);
/* When a minor collection has looked at those that ran, and as marking begins. */
void crd_root_stacks_rest(struct crd_mutator *mutator);
void crd_root_stacks_unmark(struct crd_mutator *mutator);

#endif
