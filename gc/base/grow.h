/* Arrays that grow, and the one way to make room in them.
 *
 *   [grow.1] count <= capacity, and capacity is 0 or GROW_FIRST times a power of two, at most GROW_MAX. So an index
 *            fits into 32 bits, and an index plus 1 as well.
 */
#ifndef CRADLE_GC_BASE_GROW_H
#define CRADLE_GC_BASE_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GROW_FIRST 64u
#define GROW_MAX (UINT32_C(1) << 31)

/* Makes room for one more item in an array of count items; an array that is full doubles. The array came from realloc,
 * or is NULL. false: memory was refused, or the array has GROW_MAX items; array and capacity are unchanged.
 *
 * Arrays that share one capacity: grow all but the last with a copy of the capacity, and the last with the capacity
 * itself.
 */
#define GROW(array, count, capacity) ((count) < (capacity) || crd_grow(&(array), (count), &(capacity), sizeof *(array)))

/* Doubles an array that is full. array_address: of the variable that points to it. */
bool crd_grow(void *array_address, uint32_t count, uint32_t *capacity, size_t item_bytes);

#endif
