/* Heap images: the old generation of a heap in a file, which a later heap maps when it is made (docs/images.md).
 *
 *   cradle_image_root roots[] = {{"globals", &globals, CRADLE_KIND_REFERENCE}};
 *   cradle_image_contents contents = {.roots = roots, .root_count = 1};
 *   cradle_image_save(mutator, "library.image", &contents, &error);          once
 *
 *   cradle_image image = {.path = "library.image"};                          at each start
 *   options.image = &image;
 *   heap = cradle_heap_new(&options, &error);
 *   globals = (table *)(uintptr_t)cradle_image_root_get(heap, "globals");
 *
 * The file is mapped private and copy-on-write: processes share the pages that they do not write. It can be read only
 * by a program that has the same types by name and the same encoding, and whose library has the same image format and
 * layout. A file that does not fit, or is damaged, gives an error that says what is wrong. Never change a file in place
 * that a process has loaded; cradle_image_save replaces it.
 */
#ifndef CRADLE_IMAGE_H
#define CRADLE_IMAGE_H

#include <cradle/options.h>
#include <cradle/weak_set.h>

CRADLE_BEGIN_DECLS

/* Something of the program that words of objects lead to, such as a C function: it is found again by its name. */
typedef struct cradle_image_symbol {
  const char *name;
  const void *address;    /* of something that is no function, */
  void (*function)(void); /* or, with address NULL, a function, whatever its type */
} cradle_image_symbol;

/* A root by name: a variable that must be a root of the heap while the image is saved, and what it holds. */
typedef struct cradle_image_root {
  const char *name;
  const void *variable; /* 8 bytes */
  cradle_kind kind;
} cradle_image_root;

/* A weak set by name. */
typedef struct cradle_image_set {
  const char *name;
  cradle_weak_set *set;
} cradle_image_set;

/* What an image has besides the heap's objects; NULL in its place: nothing. Weak sets that are not named here are not
 * saved. */
typedef struct cradle_image_contents {
  const cradle_image_root *roots;
  size_t root_count;
  const cradle_image_set *sets;
  size_t set_count;
  const cradle_image_symbol *symbols;
  size_t symbol_count;
} cradle_image_contents;

/* Does a full and compacting collection, then saves every live object of the heap, with identity hashes, ids, weak
 * slots and ephemerons. Types of saved objects need names that differ. Words that are no slots are saved as they are,
 * but for those that cradle_type.symbols names: each is 0 or the address of a symbol. false: error says what cannot be
 * saved:
 *   - open handles, pins, objects with an open finalizer
 *   - an object with a destructor or an external size whose type has no cradle_type.mend
 *   - a slot that refers to memory outside of the heap, or lies outside of its object (a trace callback)
 *   - a heap that collects nothing
 * The file is written beside path under the name "PATH.new", and then takes path's place. */
CRADLE_API bool cradle_image_save(cradle_mutator *mutator, const char *path, const cradle_image_contents *contents,
                                  cradle_error *error) CRADLE_MAY_COLLECT;
/* The same to a function (a callback, cradle/base.h), which returns false if it cannot write. What it leaves in errno
 * then is a part of error, as the reason. */
CRADLE_API bool cradle_image_save_to(cradle_mutator *mutator, cradle_write_function write, void *data,
                                     const cradle_image_contents *contents, cradle_error *error) CRADLE_MAY_COLLECT;

/* Where an image comes from, for cradle_options.image. It is not needed any more when the heap has been made. The heap
 * is placed at the address where the image was saved, if that is free and options.base_address does not say otherwise;
 * elsewhere, or if types have other numbers, every object is looked at once, and pages that have references are not
 * shared. */
typedef struct cradle_image {
  const char *path; /* UTF-8 */
  int descriptor;   /* with path NULL: an open file, which stays open. Not on Windows */
  const cradle_image_symbol *symbols;
  size_t symbol_count;
  bool checksum; /* compares the checksum of all objects, which reads them. That of the rest is compared in any case */
  /* looks at every object and every slot. A file with damaged objects then gives an error; without verify, the heap may
   * crash. What is not an object is checked in any case */
  bool verify;
  /* the image's objects never die, and major collections do not look at those that the program has not stored into. So
   * they are never moved either, and nothing is allocated in their pages */
  bool sealed;
} cradle_image;

/* The value of a root by its name, 0 if the heap's image has no such root. Named roots stay roots as long as the heap.
 * Does not collect. */
CRADLE_API cradle_value cradle_image_root_get(cradle_heap *heap, const char *name);
/* A weak set of the image by its name. It becomes the program's, as if the program had made it with cradle_weak_set_new
 * and this function and data. NULL: the image has no such set, or it was taken before. Does not collect. */
CRADLE_API cradle_weak_set *cradle_image_set_take(cradle_heap *heap, const char *name, cradle_weak_swept_function swept,
                                                  void *data);

CRADLE_END_DECLS

#endif
