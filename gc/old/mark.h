/* Marking: from the roots over the whole old generation, in increments, with an explicit stack.
 *
 * In the words of the three colours: a white object has no mark bit; a grey one is marked and its slots have not been
 * visited; a black one is marked and has been traced. Marking begins with all white but what the roots refer to, and is
 * over when nothing is grey: what is white then is dead.
 *
 * The mark stack holds the grey objects. A long array of slots is traced in pieces: the rest of it goes back on the
 * stack as two words, the index of its first item and above it the object with a tag bit. A popped object passes
 * through a short queue in which its first line is prefetched before it is looked at.
 *
 * When the stack cannot grow, the object that did not fit stays grey and is on no stack; overflowed says so. Once the
 * stack is empty, every marked object is traced again, span after span, until nothing overflows any more: the memory
 * that marking needs is bounded, its time grows.
 *
 * Between increments the mutator runs, and may store a white object into a black one. Every increment comes right after
 * a minor collection, which has marked all that a root, a remembered object, a recorded slot or a promoted object
 * refers to, and what is allocated or promoted is born marked [span.7]. So when the stack runs empty in an increment,
 * no black object leads to a white one, and roots need no second look [heap.6].
 *
 *   [mark.1] What is traced is marked, and so is every object on the stack.
 *   [mark.2] The stack is empty when marking begins and when it is over; no object is grey then.
 *   [mark.3] A piece is two words on the stack, both or none; its index is that of an item, above 0.
 *   [mark.4] While a rescan is under way, rescan_page is the end of a span that was looked at, or the beginning of the
 *            heap. What overflows meanwhile makes it begin again.
 */
#ifndef CRADLE_GC_OLD_MARK_H
#define CRADLE_GC_OLD_MARK_H

#include "gc/old/major.h"

/* Marks what the roots refer to. */
void crd_mark_start(cradle_heap *heap);
/* true: nothing is left to trace. */
bool crd_mark_some(cradle_heap *heap, crd_budget budget);
/* Marks the object at an address that may lie anywhere. */
void crd_mark_address(cradle_heap *heap, uintptr_t address);

/* --- entries of the mark stack: an object, or the rest of an array with the index of its first item below it --- */

#define MARK_PIECE 1

static inline cradle_word mark_piece(const cradle_word *object) {
  return address_of(object) | MARK_PIECE;
}
static inline bool mark_is_piece(cradle_word entry) {
  return entry & MARK_PIECE;
}
static inline cradle_word *mark_object_of(cradle_word entry) {
  return object_at(entry & ~(cradle_word)MARK_PIECE);
}

#endif
