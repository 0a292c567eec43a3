/* What other languages call: Cradle's inline functions as functions of a library, and types without bit fields of C.
 * Each does what the function of the same name does in cradle/cradle.h. Copy it and keep what your language needs. */
#ifndef SHIM_H
#define SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cradle_heap cradle_heap;
typedef struct cradle_mutator cradle_mutator;

enum { SHIM_NO_ITEMS, SHIM_BYTES, SHIM_REFERENCES };
typedef struct shim_type {
  const char *name;
  size_t size;         /* bytes, without items */
  uint64_t references; /* bit n: the word n of the object is a reference */
  uint32_t items;      /* SHIM_NO_ITEMS, or what follows the structure; its second word is their number then */
} shim_type;

/* With the options of the environment. NULL: message, which has room for so many bytes, says why. */
cradle_heap *shim_heap_new(const shim_type *types, size_t count, char *message, size_t room);

/* Both may collect. NULL never comes back: when memory runs out, the process ends with a message. */
void *shim_new(cradle_mutator *mutator, uint32_t type, size_t size);
void *shim_new_array(cradle_mutator *mutator, uint32_t type, size_t length);
/* The write barrier. */
void shim_store(cradle_mutator *mutator, void *object, void *slot, void *reference);

/* The shadow stack. shim_root: the place of the root that was pushed so many after the last one. */
void shim_push(cradle_mutator *mutator, void *reference);
void shim_pop_many(cradle_mutator *mutator, size_t count);
void **shim_root(cradle_mutator *mutator, size_t from_top);

#endif
