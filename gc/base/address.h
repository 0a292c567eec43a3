/* Addresses: the one place where a number becomes a pointer to memory, and a pointer a number. Objects have their
 * own accessors in gc/object/header.h. */
#ifndef CRADLE_GC_BASE_ADDRESS_H
#define CRADLE_GC_BASE_ADDRESS_H

#include <stdint.h>

static inline uintptr_t address_of(const void *memory) {
  return (uintptr_t)memory;
}

static inline void *memory_at(uintptr_t address) {
  return (void *)address;
}
static inline uintptr_t address_of_function(void (*function)(void)) {
  return (uintptr_t)function;
}

#endif
