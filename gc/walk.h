/* Walks: every live object and every slot that refers into the heap, for cradle/inspect.h. */
#ifndef CRADLE_GC_WALK_H
#define CRADLE_GC_WALK_H

#include <cradle/inspect.h>

#include "gc/heap.h"

/* What a walk tells. Either function may be NULL; setting stopped ends it. An object is told before its slots. */
typedef struct crd_walker {
  void (*object)(void *data, const cradle_object_info *info);
  /* holder: NULL for a root. address: of the object in the heap that the slot refers to. */
  void (*slot)(void *data, const cradle_word *holder, const cradle_word *slot, cradle_kind kind, uintptr_t address);
  void *data;
  bool stopped;
  /* While a root is told that visit_roots does not come to, which it is; else CRADLE_HOLDER_OBJECT. */
  cradle_holder root;
  uint64_t index;              /* of it */
  const cradle_word *prebuilt; /* the object, for CRADLE_HOLDER_PREBUILT */
} crd_walker;

/* The heap walks from begin to end: refused in callbacks and other threads. what: the public function. */
void crd_walk_begin(cradle_heap *heap, const char *what);
cradle_walk_result crd_walk(cradle_heap *heap, crd_walker *walker);
void crd_walk_end(cradle_heap *heap);

/* Tells which root a slot is, for slots in the order of a walk: visit_roots comes to the shadow stack, the scoped roots from the
 * innermost, the root ranges, the global roots, and then to the root callback's. So each is looked for behind the last. Of the
 * others the walker says which they are. */
typedef struct crd_root_names {
  const cradle_heap *heap;
  const crd_walker *walker;
  const cradle_scoped_root *scope; /* the next that is expected */
  uint64_t scopes, global, others;
} crd_root_names;
crd_root_names crd_root_names_begin(const cradle_heap *heap, const crd_walker *walker);
/* Fills holder, name, index and perhaps object of the referrer whose slot is a root. range: the number of its root range, else
 * 0. */
void crd_root_name(crd_root_names *names, cradle_referrer *referrer, uint32_t *range);

/* What the object at an address of the old generation or the nursery, or the prebuilt one, is. */
cradle_object_info crd_object_info(const cradle_heap *heap, const cradle_word *object);

#endif
