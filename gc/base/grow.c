#include "gc/base/grow.h"

#include <stdlib.h>
#include <string.h>

#include "gc/base/check.h"

/* The variable is copied by memcpy, because each caller's has another pointer type, and a cast would break strict
 * aliasing. */
bool crd_grow(void *array_address, uint32_t count, uint32_t *capacity, size_t item_bytes) {
  ASSERT(count == *capacity, "[grow.1] an array holds more than it has room for");
  if (count >= GROW_MAX) return false;
  uint32_t wider = count == 0 ? GROW_FIRST : 2 * count;
  size_t bytes;
  if (__builtin_mul_overflow(wider, item_bytes, &bytes)) return false;
  void *array;
  memcpy(&array, array_address, sizeof array);
  array = realloc(array, bytes);
  if (array == NULL) return false;
  memcpy(array_address, &array, sizeof array);
  *capacity = wider;
  return true;
}
