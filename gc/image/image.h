/* The image that a heap is made with. gc/heap.c calls these functions in their order.
 *
 *   open     opens the file, reads its tables, and checks them against the heap's options: no memory was reserved yet
 *   enter    takes the arenas, and maps the objects into them
 *   settle   when the rest of the heap is made: calls mend, verifies, lists objects with destructors
 *
 * Afterwards only the roots and sets are left of it. */
#ifndef CRADLE_GC_IMAGE_IMAGE_H
#define CRADLE_GC_IMAGE_IMAGE_H

#include "gc/image/format.h"
#include "gc/platform/input.h"

/* name: an index, image_name. */
typedef struct crd_named_root {
  uint64_t name;
  cradle_word word; /* a global root, and does not move */
} crd_named_root;
typedef struct crd_named_set {
  uint64_t name;
  cradle_weak_set *set; /* NULL: it was taken */
} crd_named_set;

typedef struct crd_image {
  cradle_heap *heap;
  const cradle_image *from;
  crd_input input;
  image_header header;
  char *tables;       /* the parts: of the file, all from the end of the header to objects_at; in the end the names */
  uint32_t *types;    /* for each number in the file: that of the heap, or IMAGE_NUMBER_NONE */
  size_t type_end;    /* so many numbers */
  uintptr_t *symbols; /* for each symbol of the file: its address */
  uintptr_t moved;    /* the heap's base minus the image's */
  bool renumbers;     /* a type has another number here */
  crd_named_root *roots;
  crd_named_set *sets;
  size_t root_count, set_count;
} crd_image;

static inline uint64_t image_count(const crd_image *image, int part) {
  return image->header.parts[part].count;
}
static inline const void *image_part_of(const crd_image *image, int part) {
  return image->tables + (image->header.parts[part].at - sizeof image->header);
}
/* The name at an index of the table of names; NULL: the index is too large. */
static inline const char *image_name(const crd_image *image, uint64_t name) {
  return name < image_count(image, IMAGE_NAMES) ? (const char *)image_part_of(image, IMAGE_NAMES) + name : NULL;
}

/* false: it says what is wrong; the heap cannot be made. */
bool crd_image_make(cradle_heap *heap, cradle_error *error); /* if the options have one */
bool crd_image_open(crd_image *image, cradle_error *error);
/* When the heap's types are known: finds those of the file, and its symbols. */
bool crd_image_match(crd_image *image, cradle_error *error);
bool crd_image_enter(crd_image *image, cradle_error *error);
/* Of enter: looks at every object of spans that begin in these pages. It relocates slots, gives types their numbers,
 * and with image.verify, when the pages are all, compares each object with the lists. Two threads may look at once. */
bool crd_image_objects(const crd_image *image, uint32_t begin, uint32_t end, cradle_error *error);
bool crd_image_settle(crd_image *image, cradle_error *error);
/* NULL is ignored. */
void crd_image_fini(crd_image *image);

#endif
