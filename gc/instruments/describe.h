/* What an object, or an address, is, from its header, the page table and the bitmaps alone: nothing is changed, so it
 * works at any moment. */
#ifndef CRADLE_GC_INSTRUMENTS_DESCRIBE_H
#define CRADLE_GC_INSTRUMENTS_DESCRIBE_H

#include <cradle/inspect.h>

/* The object at an address of the old generation or the nursery, or the prebuilt one. */
cradle_object_info crd_object_info(const cradle_heap *heap, const cradle_word *object);

#endif
