/* The verifier: walks the whole heap and says what is the first thing wrong with it.
 *
 * Every root and every slot of every old object is looked at, and from them every young object that can be reached: a
 * reference must lead to the start of an object; an old object that refers to a young one must be remembered, or the
 * slot recorded; while a major collection marks, what a traced object refers to must be marked; headers, sizes, bitmaps
 * and counts must agree. What it finds is more often a mistake of the embedder's (a missing barrier, a root that was
 * not registered, a wrong descriptor) than of the collector's, so the message names holder, slot and type.
 */
#ifndef CRADLE_GC_INSTRUMENTS_VERIFY_H
#define CRADLE_GC_INSTRUMENTS_VERIFY_H

#include "gc/base/text.h"

/* Verifies the heap, outside of a collection. false: *text says what is wrong. */
bool crd_verify(cradle_heap *heap, crd_text *text);

#endif
