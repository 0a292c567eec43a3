/* What is asked of allocation, before it begins: that the type is one of the heap's, that the size is the type's, and
 * that the function is one for such types. Everything else is misuse, with a message for the person who writes a VM. */
#ifndef CRADLE_GC_ALLOCATE_CHECK_H
#define CRADLE_GC_ALLOCATE_CHECK_H

#include <cradle/items.h>

/* For types without services: an object of the type may have the size. */
void crd_check_size(cradle_heap *heap, uint32_t type, size_t size, const char *what);
/* For any type; the bytes of the object. what: the public function. */
size_t crd_check_registered_size(cradle_heap *heap, uint32_t type, size_t size, const char *what);
/* The bytes of a variable-size object, 0 when they overflow; the type has items. what: the public function. The first
 * is for types without services, the second for any. */
size_t crd_check_array(cradle_heap *heap, uint32_t type, size_t length, const char *what);
size_t crd_check_registered_array(cradle_heap *heap, uint32_t type, size_t length, const char *what);
/* The layout, which a caller's structure gave, is the descriptor's. what: the public macro. */
void crd_check_layout(cradle_heap *heap, uint32_t type, cradle_array_layout layout, const char *what);

#endif
