/* Marking: finds the old objects that the program can still reach, so that sweeping may free all others.
 *
 * Three colours say how far marking has come with an object, which only ever moves to the right:
 *
 *        white  ------------------>  grey  -------------------->  black
 *     no mark bit    something     mark bit,   its slots were     mark bit,
 *                    refers to it  on the      visited ("traced") off the
 *                    (it is        mark stack                     mark stack
 *                    "marked")
 *
 * Marking begins by turning grey what the roots refer to, and ends when nothing is grey. Then black objects refer to
 * black objects only: what is still white is dead.
 *
 * Marking is done in increments, and between them the program runs. It may move the only reference to a white object W
 * out of a grey object into a black object B. Nobody visits B again, and W would be freed while in use. So while a
 * major collection marks, the write barrier remembers B, or records its slot, at every store and not only if a young
 * object is stored. Every increment comes right after a minor collection. That collection marks what roots, remembered
 * objects, recorded slots and newly promoted objects refer to. And an object that is allocated old or promoted
 * meanwhile is born marked [span.7]. So whenever an increment finds the stack empty, no black object refers to a white
 * one, and marking is over without another look at all roots [heap.6].
 *
 * The mark stack holds the grey objects. A long array of slots is traced in pieces: its rest goes back on the stack as
 * two words, the index of the rest's first item and, above it, the object with a tag bit.
 *
 * When the stack cannot grow, the object that did not fit is grey and on no stack; the flag overflowed says that there
 * are such objects. Once the stack is empty, a rescan traces every marked object again, span after span, until no
 * object overflows any more. So marking needs bounded memory.
 *
 *   [mark.1] What is traced is marked, and so is every object on the stack.
 *   [mark.2] The stack is empty when marking begins and when it is over; no object is grey then.
 *   [mark.3] A piece is two words on the stack, both or none; its index is that of an item, above 0.
 *   [mark.4] While a rescan is under way, rescan_page is the beginning of the heap, or the page behind the last span
 *            that was looked at. If an object overflows meanwhile, the rescan begins again.
 *   [mark.5] The list `again` has large arrays into which the program has stored so much since the last pause that old
 *            references are not recorded any more. The next minor collection empties it: marked arrays turn grey again.
 *   [mark.6] A large object without a trace callback that is allocated while marking goes on is born marked, and turns
 *            grey when it becomes old. The minor collection in which it does looks for young objects only: to mark the
 *            old ones that a long array refers to would take too long.
 */
#ifndef CRADLE_GC_OLD_MARK_H
#define CRADLE_GC_OLD_MARK_H

#include "gc/old/major.h"

/* Marks what the roots refer to. */
void crd_mark_start(crd_marking *marking);
/* Traces until the budget is used up. true: marking is over, nothing is left to trace. */
bool crd_mark_some(crd_marking *marking, crd_budget budget);
/* Marks the object at an address that may lie anywhere. */
void crd_mark_address(crd_marking *marking, uintptr_t address);
/* A marked large object turns grey again, because something was stored into it unseen. */
void crd_mark_again(crd_marking *marking, const cradle_word *object);
/* Puts a large array that is not in the list into the list of [mark.5]. Between pauses, also beside a round. */
void crd_mark_later(crd_marking *marking, uint32_t page);
/* Empties that list, in a pause. */
void crd_mark_listed(crd_marking *marking);

#endif
