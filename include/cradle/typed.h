/* Typed allocation: what a program written by hand allocates with. Each macro names the structure and the type, and
 * its result is a pointer to the structure:
 *
 *     typedef struct { uint64_t header; double x, y; } point;
 *     typedef struct { uint64_t header, length; char bytes[]; } string;
 *
 *     point *p = CRADLE_NEW(m, point, POINT);
 *     string *s = CRADLE_NEW_ARRAY(m, string, STRING, bytes, length, 16);
 *
 * The second line makes a string with 16 items in its member `bytes`, and their number in its member `length`. As long
 * as the nursery has room, neither line makes a call.
 *
 * The type's descriptor must agree with the structure: its size is sizeof(structure), its item_size the size of an
 * item, its length_offset the offset of the length. cradle/new.h says when that is checked; in a reservation it is with
 * CRADLE_CHECKED=1 only. NULL: memory ran out. Arguments are evaluated once.
 */
#ifndef CRADLE_TYPED_H
#define CRADLE_TYPED_H

#include <cradle/detail/items.h>
#include <cradle/pin.h>

/* --- objects of a fixed size --- */

/* Zeroed after the header. May collect. */
#define CRADLE_NEW(mutator, structure, type) ((structure *)cradle_new((mutator), (type), CRADLE_SIZE_(structure)))
/* Undefined after the header: every slot must be written before the next call that may collect. May collect. */
#define CRADLE_NEW_UNINITIALIZED(mutator, structure, type) \
  ((structure *)cradle_new_uninitialized((mutator), (type), CRADLE_SIZE_(structure)))
/* As CRADLE_NEW_UNINITIALIZED, but NULL where that would call the slow path, in a callback of the collector and in a
 * no-collection region. On NULL, root what you need and call CRADLE_NEW. Does not collect. */
#define CRADLE_NEW_FAST(mutator, structure, type) \
  ((structure *)cradle_new_fast((mutator), (type), CRADLE_SIZE_(structure)))
/* For what CRADLE_NEW refuses: with flags 0, types with services (weak slots, ephemerons, a finalizer, a destructor or
 * an external size), inline; with CRADLE_PINNED, an object that is old and pinned from the start, into which even the
 * first store of a reference needs the barrier. Zeroed. May collect. */
#define CRADLE_NEW_WITH(mutator, structure, type, flags) \
  ((structure *)cradle_new_flagged((mutator), (type), CRADLE_SIZE_(structure), (flags)))
/* Carved out of the reservation at the given address. Undefined after the header. Does not collect. */
#define CRADLE_NEW_RESERVED(reservation, structure, type) \
  ((structure *)cradle_new_reserved((reservation), (type), CRADLE_SIZE_(structure)))

/* --- objects with items: items and length name the structure's last member and the one where count is stored --- */

/* Zeroed after header and length. A count whose size overflows is out of memory. May collect. */
#define CRADLE_NEW_ARRAY(mutator, structure, type, items, length, count) \
  ((structure *)cradle_new_items((mutator), (type), CRADLE_LAYOUT_(structure, items, length), (count)))
/* Undefined but for header and length: every slot must be written before the next call that may collect. Objects above
 * CRADLE_NURSERY_OBJECT_MAX_BYTES come zeroed. May collect. */
#define CRADLE_NEW_ARRAY_UNINITIALIZED(mutator, structure, type, items, length, count) \
  ((structure *)cradle_new_items_uninitialized((mutator), (type), CRADLE_LAYOUT_(structure, items, length), (count)))
/* As CRADLE_NEW_ARRAY_UNINITIALIZED, but NULL where that would call the slow path. Does not collect. */
#define CRADLE_NEW_ARRAY_FAST(mutator, structure, type, items, length, count) \
  ((structure *)cradle_new_items_fast((mutator), (type), CRADLE_LAYOUT_(structure, items, length), (count)))
/* Any type, with flags, as CRADLE_NEW_WITH. Zeroed after header and length. May collect. */
#define CRADLE_NEW_ARRAY_WITH(mutator, structure, type, items, length, count, flags) \
  ((structure *)cradle_new_with((mutator), (type), CRADLE_LAYOUT_(structure, items, length), (count), (flags)))
/* Carved out of the reservation at the given address. Undefined but for header and length. Does not collect. */
#define CRADLE_NEW_RESERVED_ARRAY(reservation, structure, type, items, length, count) \
  ((structure *)cradle_new_reserved_items((reservation), (type), CRADLE_LAYOUT_(structure, items, length), (count)))
/* The bytes that an array with count items takes, for adding up the size of a reservation. If the size overflows, the
 * result is more than a reservation can hold. */
#define CRADLE_ARRAY_BYTES(structure, items, count) \
  cradle_items_bytes(CRADLE_SIZE_(structure), CRADLE_ITEM_SIZE_(structure, items), (count))

#endif
