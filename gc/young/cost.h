/* What an allocated byte costs the collector with a nursery of another size, in ns:
 *
 *     price * promoted(size)  +  roots / size  +  what leaving the cache costs
 *
 * promoted(size) is the share of the bytes that such a nursery would promote, by the survival curve (gc/old/curve.h).
 * price is what a promoted byte takes, with its later share of marking and sweeping; it follows from the size of the
 * promoted objects. The last term grows with the square of the doublings of size above base. docs/design/nursery.md
 * has the measurements behind the constants. Only the length of a collection, promoted(size) * size, is measured by
 * the clock, and only where there is a pause target.
 */
#ifndef CRADLE_GC_YOUNG_COST_H
#define CRADLE_GC_YOUNG_COST_H

#include "gc/parts.h"

/* Shares of the pause target: a minor collection is expected to take at most MOST. */
#define PAUSE_SHARE_MOST 0.9

/* What so many promoted objects, of so many bytes in all, take for each byte. */
double crd_cost_price(uint64_t objects, uint64_t bytes);
/* The bytes that a full nursery of this size would promote. hints: what only marking has seen counts. */
double crd_cost_promoted(const crd_young *young, size_t bytes, bool hints);
/* How long a minor collection of this size takes, divided by what it may take; 0 without a pause target. */
double crd_cost_overrun(const crd_young *young, size_t bytes, bool hints);
/* The size that costs least, of those that are the present one times a power of two. */
size_t crd_cost_best_size(const crd_young *young, bool hints);

#endif
