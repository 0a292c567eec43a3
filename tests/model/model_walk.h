/* Compares what the heap says about itself (walk, referrers, dump, addresses) with a model's graph. */
#ifndef TESTS_MODEL_WALK_H
#define TESTS_MODEL_WALK_H

#include <cradle/cradle.h>

typedef struct view_object {
  void *object;
  uint32_t number; /* in the model */
  uint32_t type;
  uint64_t bytes;
  const uint32_t *slots; /* numbers of what its slots refer to, 0: nothing; one in slot_step */
  uint64_t slot_count, slot_step;
} view_object;

/* What the model says is reachable: fill it with view_add and view_add_root, then check, then free. */
typedef struct view {
  view_object *objects;
  uint32_t *roots; /* numbers, one a root slot that is not empty */
  size_t count, capacity, root_count, root_capacity;
  /* Objects that live though they are not reachable: so many for which is_kept says true, and so many that wait in a
   * finalizer queue, which is a root. */
  size_t kept, waiting;
  bool (*is_kept)(const void *data, const void *object);
  const void *data;
  cradle_encoding encoding; /* the heap's */
} view;

void view_add(view *view, view_object object);
void view_add_root(view *view, uint32_t number);
void view_free(view *view);
/* Returns what differs, or NULL. exact: everything that is neither reachable nor kept is gone, so nothing else may be
 * found. A slot may hold what is not in the view: an object outside of the heap, which is not told, or the value of a
 * dead pair, which may be. */
const char *view_check(view *view, cradle_heap *heap, bool exact);

#endif
