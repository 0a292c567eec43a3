/* Several mutators on one heap, compared with a model of it, through random operations from a seed.
 *
 * Each worker has a private graph (threads_private.c), whose shadow lies in malloc memory. What workers share has
 * shadows behind locks (threads_shared.c), or needs no lock (threads_slots.c). A worker is a row of threads: each
 * ends after some operations, and leaves its mutator to the next, or frees it. threads_model.c has the life of a
 * worker.
 *
 * Objects of the shared part are chains: a chain is told by one number, which says how many nodes it has. Every object
 * has its number in its first word.
 */
#ifndef TESTS_THREADS_MODEL_H
#define TESTS_THREADS_MODEL_H

#include <pthread.h>
#include <stdatomic.h>

#include <cradle/cradle.h>

/* --- objects --- */

enum { T_NODE, T_ARRAY, T_BYTES, T_WEAK, T_WEAKS, T_FINAL, T_KEY, T_COUNT };
extern const cradle_type model_types[T_COUNT];

typedef struct object {
  uint64_t header, number;
} object;
typedef struct node {
  object head;
  void *left, *right;
} node;
typedef struct array {
  object head;
  uint64_t length;
  void *item[];
} array;
typedef struct bytes {
  object head;
  uint64_t length;
  unsigned char byte[];
} bytes;
/* One slot, weak in T_WEAK; T_FINAL has a finalizer. */
typedef struct link {
  object head;
  void *to;
} link;

/* --- shadows --- */

typedef struct shadow {
  struct shadow *next, *to_walk;
  uint64_t number, epoch, id;
  void *real; /* as the walk of this epoch has found it */
  uint32_t type, hash;
  unsigned due; /* how often a finalizable one will come back */
  uint64_t length;
  struct shadow *slot[]; /* of a T_BYTES none */
} shadow;

typedef struct pin {
  shadow *of;
  void *address;
} pin;
typedef struct named {
  shadow *of;
  cradle_handle handle;
} named;

enum { VARIABLES = 20, STACK_WORDS = 40, PINS = 10, HANDLES = 10, LARGE_ITEMS = 5120, LARGE_BYTES = 40 << 10 };

enum { WORKERS_MOST = 100 };

struct shared;
typedef struct worker {
  struct shared *s;
  uint32_t number;
  uint64_t random, op, next_number, epoch;
  const char *operation;
  int64_t external; /* bytes that it has reported */

  /* the private graph; what is not in variables outlives a thread */
  shadow *all, *walk;
  shadow *variable[VARIABLES], *stack[STACK_WORDS];
  uint64_t depth;
  pin pins[PINS];
  named handles[HANDLES];
  void **roots; /* the variables, of the running thread's frame */

  cradle_mutator *m;
  cradle_mutator *shown;            /* the same, for the other workers; changes under workers_lock */
  cradle_mutator *left;             /* what the last thread left behind */
  atomic_bool begun;                /* its first thread is there */
  bool left_by_end;                 /* it ended attached: its scoped roots are gone */
  uint64_t *lanes[3];               /* numbers of the chains in its lanes */
  uint64_t queued;                  /* chains that it has put into the queue */
  uint64_t last_from[WORKERS_MOST]; /* the number of the last chain of each worker that it has taken out */
  /* counted for the last line */
  uint64_t walks, births, drained;
} worker;

/* --- what is shared --- */

enum { SHARED_ARRAYS = 4, MAILBOX = 16, PUBLIC = 16, LANES = 3, MODEL_KEYS = 400, QUEUES = 3 };

typedef struct guarded {
  pthread_mutex_t lock;
  array *items; /* a global root */
  uint64_t *number;
} guarded;

typedef struct letter {
  cradle_handle handle;
  uint64_t number; /* 0: no letter */
} letter;

/* Slots that all use without a lock. */
enum { SLOT_ARRAYS = 4 };
typedef struct slots {
  array *arrays[SLOT_ARRAYS], *board;
  node *stack, *queue;
  cradle_weak_set *set;
  _Atomic uint64_t inside; /* the sum of the numbers of all chains in arrays, stack and queue */
} slots;

typedef struct shared {
  cradle_heap *heap;
  uint64_t seed, ops;
  uint32_t threads;
  guarded arrays[SHARED_ARRAYS];
  pthread_mutex_t mail_lock;
  letter mail[MAILBOX];
  /* Objects that change only while nobody asks for their hash and id. */
  pthread_rwlock_t public_lock;
  array *public;
  _Atomic uint64_t hash[PUBLIC], id[PUBLIC];
  /* Of each, a worker stores into lanes of its own, without a lock. */
  array *lanes[LANES];
  pthread_mutex_t set_lock;
  cradle_weak_set *set;
  slots slots;
  /* Of each finalizable object how often it will still come back. */
  _Atomic unsigned char *due;
  uint64_t due_limit;
  _Atomic uint64_t finals;
  pthread_mutex_t workers_lock; /* over births and deaths of mutators, so that they may be asked for a safepoint */
  worker *workers;
  bool turns;
  uint64_t trace; /* of a run in turns: a number for all that happened */
} shared;

/* --- threads_model.c --- */

/* Ends the program with the seed, the worker and its operation, unless it holds. */
void require(const worker *w, bool holds, const char *what);
uint64_t draw(uint64_t *random);
uint64_t below(worker *w, uint64_t bound);
/* Waits for the lock as a program must: parked. */
void take_lock(worker *w, pthread_mutex_t *lock);

/* --- threads_private.c --- */

void private_step(worker *w);
/* Compares the private graph with its shadow, and frees the shadows that were not reached. */
void private_compare(worker *w);
/* The variables are no roots any more. */
void private_forget(worker *w);
void private_empty(worker *w);

/* --- threads_shared.c --- */

void shared_open(shared *s, worker *w);
void shared_step(worker *w);
/* Everything that is shared is what the shadows say. */
void shared_compare(worker *w);
void shared_close(shared *s, worker *w);
bool drain(worker *w, uint32_t queue);

uint64_t number_of_chain(worker *w);
void *new_chain(worker *w, uint64_t number);
/* Ends the program unless the chain has the number. */
void check_chain(const worker *w, const void *real, uint64_t number);

/* --- threads_slots.c --- */

void slots_open(worker *w);
void slots_step(worker *w);
/* Empties them, and compares what was in them with what was put in. */
void slots_close(worker *w);

#endif
