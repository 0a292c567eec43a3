/* The heap: its parts. Rooms below the spine take the parts that they work on (docs/design/collector.md). The
 * invariants promise that no young object is lost (1, 3 and 5: gc/young/remember.h), that promotion cannot fail (2),
 * that callbacks do not use the heap (4), and that marking misses nothing (6: gc/old/mark.h).
 *
 *   [heap.1] Outside a collection every old object without array flags (see [heap.3]) that refers to a young one is
 *            remembered, or remember_all is set.
 *   [heap.2] Outside a collection old.reserve arenas are FREE, enough to promote all that the nursery can hold. If
 *            collection is off, nothing is promoted and old.reserve is 0.
 *   [heap.3] An old object's barrier flag is set exactly when it is not remembered. The array flags (slots, values) say
 *            that stores into an array are recorded slot by slot. An array gets the array flags that its type chooses
 *            if it is above SLOTS_MIN_BYTES when it becomes old, or at birth [large.3]. It never loses them.
 *   [heap.4] The report's state says what runs now; no allocation and no barrier happens unless it is HEAP_MUTATING.
 *   [heap.5] If an array with array flags has a slot with a young reference, the slot is in `recorded`, or the array is
 *            remembered, or remember_all is set.
 *   [heap.6] While the heap marks and no round (gc/old/marker.h) runs: if a marked object's slot refers to an unmarked
 *            old object, the slot is recorded, or the marked object is remembered, stacked, put aside [marker.6] or
 *            listed [mark.5].
 */
#ifndef CRADLE_GC_HEAP_H
#define CRADLE_GC_HEAP_H

#include <cradle/heap.h>

#include "gc/old/marking.h"
#include "gc/roots.h"
#include "gc/tables/tables.h"
#include "gc/young/young.h"

struct cradle_heap {
  crd_heap_report report; /* first */
  cradle_options options;
  cradle_hardware hardware;
  unsigned known_hardware; /* which of its parts were read or given (gc/platform/hardware.h) */
  bool small, prepared;    /* small: gc/outgrow.h; prepared: no file is opened any more */
  crd_space space;
  crd_roots roots;
  crd_tables tables;
  crd_marking marking;
  crd_young young;
  uint32_t majors_disabled; /* open calls of cradle_major_hold */

  crd_quarantine quarantine;
  crd_stress stress;
  crd_sampling sampling;
  struct crd_image *image;     /* gc/image/image.h; NULL: the heap was made without one */
  struct crd_history *history; /* NULL: the heap is not verified (gc/instruments/history.h) */

  cradle_cause last_cause;
  uint64_t arenas_told[2];  /* taken_total and given_back_total as the last event had them */
  uint64_t majors_measured; /* stats.major_collections when the kernel was last asked which pages back the arenas */
  bool announced;           /* the event HEAP_CREATED was sent */
};

#endif
