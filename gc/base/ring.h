/* Rings: lists that are linked in both directions, through links inside their items. */
#ifndef CRADLE_GC_BASE_RING_H
#define CRADLE_GC_BASE_RING_H

#include <stdbool.h>

/* A link of a ring. An empty ring is one link that leads to itself. */
typedef struct crd_ring {
  struct crd_ring *next, *previous;
} crd_ring;

static inline void ring_init(crd_ring *ring) {
  ring->next = ring->previous = ring;
}
static inline bool ring_is_empty(const crd_ring *ring) {
  return ring->next == ring;
}
static inline void ring_remove(crd_ring *link) {
  link->next->previous = link->previous;
  link->previous->next = link->next;
}
static inline void ring_insert(crd_ring *ring, crd_ring *link) {
  *link = (crd_ring){ring->next, ring};
  ring->next = ring->next->previous = link;
}
/* Moves all of a ring to another one. */
static inline void ring_empty_into(crd_ring *from, crd_ring *to) {
  if (from->next == from) return;
  from->next->previous = to;
  from->previous->next = to->next;
  to->next->previous = from->previous;
  to->next = from->next;
  ring_init(from);
}

#endif
