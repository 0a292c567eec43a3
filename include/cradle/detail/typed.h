/* What the macros of cradle/typed.h are made of: the layout of a structure, checked while the program is compiled. A
 * program does not use these. */
#ifndef CRADLE_DETAIL_TYPED_H
#define CRADLE_DETAIL_TYPED_H

#include <cradle/object.h>

#define CRADLE_SIZE_(structure) \
  (sizeof(structure) + CRADLE_REQUIRE_(__alignof__(structure) <= CRADLE_OBJECT_ALIGNMENT, "objects are aligned to 8"))
#define CRADLE_ITEM_SIZE_(structure, items) (sizeof(((structure *)0)->items[0]))
#define CRADLE_LENGTH_OFFSET_(structure, length) \
  (offsetof(structure, length) + \
   CRADLE_REQUIRE_(sizeof(((structure *)0)->length) == 8 && offsetof(structure, length) % 8 == 0, \
                   "the length is a uint64_t"))
#define CRADLE_LAYOUT_(structure, items, length) \
  cradle_array_layout_of(CRADLE_SIZE_(structure) + \
                             CRADLE_REQUIRE_(sizeof(structure) - offsetof(structure, items) < 8, \
                                             "the items are the last member, an array whose length is left open"), \
                         CRADLE_ITEM_SIZE_(structure, items), CRADLE_LENGTH_OFFSET_(structure, length))

#endif
