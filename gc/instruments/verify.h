/* The verifier: walks the whole heap and reports the first thing that is wrong with it.
 *
 * It looks at every root, at every slot of every old object, and at every young object that these lead to, and asks:
 *
 *   - Does each reference lead to the start of an object?
 *   - Is each old object that refers to a young one remembered, or its slot recorded?
 *   - While a major collection marks: is all marked that a traced object refers to?
 *   - Do headers, sizes, bitmaps, tables and counts agree?
 *
 * What it finds is more often a mistake of the embedder's than of the collector's: a missing barrier, a root that was
 * not registered, a wrong descriptor. So the message names holder, slot and type.
 */
#ifndef CRADLE_GC_INSTRUMENTS_VERIFY_H
#define CRADLE_GC_INSTRUMENTS_VERIFY_H

#include "gc/base/text.h"

/* Verifies the heap; not to be called in a collection. false: *text says what is wrong. */
bool crd_verify(cradle_heap *heap, crd_text *text);

#endif
