/* What a parked thread may not do: use the heap, collect, or touch a variable that is a root. */
#include "program.h"

#include <pthread.h>
#include <unistd.h>

typedef struct bytes {
  uint64_t header, length;
  char byte[];
} bytes;
enum { T_BYTES = T_BOXED + 1 };
bytes *make_bytes(cradle_mutator *m) CRADLE_MAY_COLLECT;

static pair *all; /* a global root */
bool add_all(cradle_heap *heap) {
  return cradle_global_root_add(heap, &all, CRADLE_KIND_REFERENCE);
}

void an_allocation(cradle_mutator *m, pthread_mutex_t *lock) {
  CRADLE_PARKED(m) {
    pthread_mutex_lock(lock);
    make(m); // expect: parked 'make' may collect
  }
}
void a_store(cradle_mutator *m, pair *a) {
  CRADLE_ROOT(m, a);
  CRADLE_PARKED(m) {
    cradle_store(m, a, &a->first, NULL); // expect: parked cradle_store // expect: parked 'a' // expect: parked 'a'
  }
}
void a_root_is_read(cradle_mutator *m, pair *a) {
  CRADLE_ROOT(m, a);
  CRADLE_PARKED(m) use(a); // expect: parked 'a' is used
}
void a_root_is_assigned(cradle_mutator *m, pair *a) {
  CRADLE_ROOT(m, a);
  CRADLE_PARKED(m) a = NULL; // expect: parked 'a', which is a root, is assigned to
}
void a_global(cradle_mutator *m) {
  CRADLE_PARKED(m) use(all); // expect: parked 'all' is used
}
void without_a_root(cradle_mutator *m, pair *a) {
  CRADLE_PARKED(m) sleep(1);
  use(a); // expect: stale 'a'
}
void without_a_root_inside(cradle_mutator *m, pair *a) {
  CRADLE_PARKED(m) use(a); // expect: stale 'a'
}
void parked_by_calls(cradle_mutator *m, pair *a) {
  CRADLE_ROOT(m, a);
  cradle_mutator_park(m);
  sleep(1);
  cradle_safepoint(m); // expect: parked 'cradle_safepoint' may collect
  cradle_mutator_unpark(m);
}
void detached(cradle_mutator *m, pair *a) {
  cradle_mutator_detach(m);
  cradle_mutator_attach(m);
  use(a); // expect: stale 'a'
}

/* --- right --- */

void rooted(cradle_mutator *m, pair *a, pthread_mutex_t *lock) {
  CRADLE_ROOT(m, a);
  if (pthread_mutex_trylock(lock) != 0) CRADLE_PARKED(m) pthread_mutex_lock(lock);
  use(a);
  cradle_store(m, a, &a->first, a);
}
void left_early(cradle_mutator *m, pair *a, int n) {
  CRADLE_ROOT(m, a);
  while (n-- > 0) {
    CRADLE_PARKED(m) {
      if (sleep(1) != 0) break;
      if (n == 5) return;
    }
    use(a);
  }
}
void numbers_of_its_own(cradle_mutator *m, int *n) {
  CRADLE_PARKED(m) {
    char line[100];
    *n += (int)read(0, line, sizeof line);
  }
}
void pinned(cradle_mutator *m, pair *a) {
  a = cradle_pin(m, a);
  CRADLE_PARKED(m) use(a);
  use(a);
  cradle_unpin(m, a);
}
void asked_from_outside(cradle_mutator *m, cradle_mutator *other) {
  CRADLE_PARKED(m) cradle_safepoint_request(other);
}
