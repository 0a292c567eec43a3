/* Says what an object is, or what lies at an address, for cradle/inspect.h, the debugger and messages. It reads
 * headers, the page table and the bitmaps and changes nothing, so it works at any moment, in a collection, too. */
#ifndef CRADLE_GC_INSTRUMENTS_DESCRIBE_H
#define CRADLE_GC_INSTRUMENTS_DESCRIBE_H

#include <cradle/inspect.h>

/* Describes an object: an old one, a young one, or a prebuilt one. */
cradle_object_info crd_object_info(const cradle_heap *heap, const cradle_word *object);

#endif
