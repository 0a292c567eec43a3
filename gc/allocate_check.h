/* Checks before an allocation: the type is one of the heap's, the size is the type's, and the function is one for
 * such types. Everything else is misuse, with a message for the person who writes a VM. */
#ifndef CRADLE_GC_ALLOCATE_CHECK_H
#define CRADLE_GC_ALLOCATE_CHECK_H

#include <cradle/detail/items.h>

/* Misuse unless the type has no services and its objects have the size. */
void crd_check_size(cradle_heap *heap, uint32_t type, size_t size, const char *what);
/* Misuse unless the type has no services. */
void crd_check_unregistered(cradle_heap *heap, uint32_t type, const char *what);
/* Misuse unless the type has items. Returns the bytes of an object of the length, 0 if they overflow. */
size_t crd_check_array(cradle_heap *heap, uint32_t type, size_t length, const char *what);
/* Misuse unless the layout is the descriptor's, or of zeros, and the type has items where count is not 0. Returns the
 * bytes of the object, 0 if they overflow. */
size_t crd_check_with(cradle_heap *heap, uint32_t type, cradle_array_layout layout, size_t count, const char *what);
/* Misuse unless the layout, which comes from the caller's structure, is the descriptor's. what: the public macro. */
void crd_check_layout(cradle_heap *heap, uint32_t type, cradle_array_layout layout, const char *what);

#endif
