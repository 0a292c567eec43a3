/* Slots that the workers share without a lock: exchanges, a stack, a queue, and a weak set as an intern table
 * (threads_model.h). Whatever is put in is taken out once: sums of numbers say so.
 */
#include "tests/model/threads_model.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

/* A chain has its number in each node; what is put in or taken out is counted. */
static void *put_in(worker *w, uint64_t number) {
  atomic_fetch_add(&w->s->slots.inside, number);
  return new_chain(w, number);
}
static void take_out(const worker *w, const void *chain) {
  if (chain == NULL) return;
  uint64_t number = ((const object *)chain)->number;
  check_chain(w, chain, number);
  atomic_fetch_sub(&w->s->slots.inside, number);
}

/* --- single slots --- */

static void **any_slot(worker *w, array **holder) {
  *holder = w->s->slots.arrays[below(w, SLOT_ARRAYS)];
  return &(*holder)->item[below(w, (*holder)->length)];
}

static void exchange_slot(worker *w) {
  array *holder;
  void *chain = below(w, 3) == 0 ? NULL : put_in(w, number_of_chain(w));
  void **slot = any_slot(w, &holder);
  take_out(w, cradle_exchange(w->m, holder, slot, chain));
}

static void compare_exchange_slot(worker *w) {
  array *holder;
  void *chain = put_in(w, number_of_chain(w)), *seen;
  void **slot = any_slot(w, &holder);
  require(w, !cradle_compare_exchange(w->m, holder, slot, &holder, chain), "a slot holds what was never stored");
  do seen = cradle_load_acquire(slot);
  while (!cradle_compare_exchange(w->m, holder, slot, seen, chain));
  take_out(w, seen);
}

/* Only this worker stores into these slots; the others look. */
static void release_slot(worker *w) {
  void *chain = new_chain(w, number_of_chain(w));
  array *board = w->s->slots.board; /* read after the allocation, which may have moved it */
  cradle_store_release(w->m, board, &board->item[w->number], chain);
  for (uint64_t i = 0; i < board->length; i++) {
    const object *seen = cradle_load_acquire(&board->item[i]);
    if (seen != NULL) check_chain(w, seen, seen->number);
  }
}

/* --- a stack: nodes are never pushed again, so an equal top is the same top --- */

static void push_node(worker *w) {
  uint64_t number = number_of_chain(w);
  void *chain = put_in(w, number);
  CRADLE_ROOT(w->m, chain);
  node *fresh = cradle_new(w->m, T_NODE, sizeof(node)), *stack = w->s->slots.stack;
  fresh->head.number = number;
  fresh->right = chain;
  do fresh->left = cradle_load_acquire(&stack->left); /* still fresh: nothing here collects */
  while (!cradle_compare_exchange(w->m, stack, &stack->left, fresh->left, fresh));
}

static bool pop_node(worker *w) {
  node *top, *stack = w->s->slots.stack;
  do top = cradle_load_acquire(&stack->left);
  while (top != NULL && !cradle_compare_exchange(w->m, stack, &stack->left, top, top->left));
  if (top == NULL) return false;
  require(w, ((object *)top->right)->number == top->head.number, "a stack's node has another's chain");
  take_out(w, top->right);
  return true;
}

static void use_stack(worker *w) {
  if (below(w, 2) == 0) {
    (void)pop_node(w);
  } else {
    push_node(w);
  }
}

/* --- a queue, of Michael and Scott: left is the next node; the first node's chain is gone --- */

static void enqueue(worker *w) {
  uint64_t number = ++w->queued * w->s->threads + w->number;
  void *chain = put_in(w, number);
  CRADLE_ROOT(w->m, chain);
  node *fresh = cradle_new(w->m, T_NODE, sizeof(node)), *queue = w->s->slots.queue, *last, *next;
  fresh->head.number = number;
  fresh->right = chain;
  for (;;) {
    last = cradle_load_acquire(&queue->right);
    next = cradle_load_acquire(&last->left);
    if (next == NULL && cradle_compare_exchange(w->m, last, &last->left, NULL, fresh)) break;
    if (next != NULL) (void)!cradle_compare_exchange(w->m, queue, &queue->right, last, next);
  }
  (void)!cradle_compare_exchange(w->m, queue, &queue->right, last, fresh);
}

static bool dequeue(worker *w) {
  node *queue = w->s->slots.queue, *first, *last, *next;
  do {
    first = cradle_load_acquire(&queue->left);
    last = cradle_load_acquire(&queue->right);
    next = cradle_load_acquire(&first->left);
    if (next == NULL) return false;
    if (first == last) (void)!cradle_compare_exchange(w->m, queue, &queue->right, last, next);
  } while (first == last || !cradle_compare_exchange(w->m, queue, &queue->left, first, next));
  uint64_t number = next->head.number, *before = &w->last_from[number % w->s->threads];
  require(w, number > *before, "a queue has changed the order of a worker's chains");
  *before = number;
  take_out(w, next->right);
  cradle_store(w->m, next, &next->right, NULL);
  return true;
}

static void use_queue(worker *w) {
  if (below(w, 2) == 0) {
    (void)dequeue(w);
  } else {
    enqueue(w);
  }
}

/* --- a weak set, from which nothing is removed but by its death --- */

/* Gives the processor away; others must wait for the set's lock. */
static bool has_number(const void *real, const void *key) {
  static _Atomic uint32_t callers;
  if (atomic_fetch_add(&callers, 1) != 0)
    fprintf(stderr, "threads_model: equal is called by two threads at once\n"), abort();
  (void)sched_yield();
  atomic_fetch_sub(&callers, 1);
  return ((const object *)real)->number == *(const uint64_t *)key;
}

static void intern(worker *w) {
  uint64_t key = 1 + below(w, MODEL_KEYS), hash = key % 16;
  cradle_weak_set *set = w->s->slots.set;
  object *mine = cradle_new(w->m, T_KEY, sizeof(object));
  mine->number = key;
  mine = cradle_weak_set_find_or_add(set, hash, has_number, &key, mine);
  require(w, mine != NULL && mine->number == key, "a weak set found another key");
  CRADLE_ROOT(w->m, mine);
  (void)new_chain(w, key);
  require(w, cradle_weak_set_find(set, hash, has_number, &key) == mine, "a weak set has an equal object beside");
}

/* --- all of it --- */

void slots_step(worker *w) {
  static const struct {
    void (*run)(worker *w);
    const char *name;
  } operations[] = {{exchange_slot, "exchange_slot"}, {compare_exchange_slot, "compare_exchange_slot"},
                    {release_slot, "release_slot"},   {use_stack, "use_stack"},
                    {use_queue, "use_queue"},         {intern, "intern"}};
  uint64_t at = below(w, sizeof operations / sizeof *operations);
  w->operation = operations[at].name;
  operations[at].run(w);
}

static void *new_root(worker *w, void *variable, void *object) {
  require(w, cradle_global_root_add(w->s->heap, variable, CRADLE_KIND_REFERENCE), "no memory for a global root");
  return object;
}

void slots_open(worker *w) {
  static const uint64_t lengths[SLOT_ARRAYS] = {3, 60, 700, LARGE_ITEMS};
  slots *all = &w->s->slots;
  for (int a = 0; a < SLOT_ARRAYS; a++)
    all->arrays[a] = new_root(w, &all->arrays[a], cradle_new_array(w->m, T_ARRAY, lengths[a]));
  all->board = new_root(w, &all->board, cradle_new_array(w->m, T_ARRAY, w->s->threads));
  all->stack = new_root(w, &all->stack, cradle_new(w->m, T_NODE, sizeof(node)));
  all->queue = new_root(w, &all->queue, cradle_new(w->m, T_NODE, sizeof(node)));
  node *first = cradle_new(w->m, T_NODE, sizeof(node));
  cradle_store(w->m, all->queue, &all->queue->left, first);
  cradle_store(w->m, all->queue, &all->queue->right, first);
  all->set = cradle_weak_set_new(w->m, NULL, NULL);
  require(w, all->set != NULL, "no memory for a weak set");
}

/* Takes everything out. A worker's chains come out of the queue in order for each who takes them, so this is a new one.
 */
void slots_close(worker *w) {
  slots *all = &w->s->slots;
  for (int a = 0; a < SLOT_ARRAYS; a++) {
    for (uint64_t i = 0; i < all->arrays[a]->length; i++) take_out(w, all->arrays[a]->item[i]);
    cradle_global_root_remove(w->s->heap, &all->arrays[a]);
  }
  while (pop_node(w)) continue;
  while (dequeue(w)) continue;
  require(w, atomic_load(&all->inside) == 0, "a chain was lost, or came out twice");
  cradle_global_root_remove(w->s->heap, &all->board);
  cradle_global_root_remove(w->s->heap, &all->stack);
  cradle_global_root_remove(w->s->heap, &all->queue);
  cradle_weak_set_free(all->set);
}
