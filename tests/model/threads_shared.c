/* What the workers share, and its shadows (threads_model.h). */
#include "tests/model/threads_model.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* --- chains --- */

static uint64_t chain_length(uint64_t number) {
  return 1 + number % 7;
}

void *new_chain(worker *w, uint64_t number) {
  node *chain = NULL;
  CRADLE_ROOT(w->m, chain);
  for (uint64_t i = 0; i < chain_length(number); i++) {
    node *fresh = cradle_new(w->m, T_NODE, sizeof(node));
    fresh->head.number = number;
    fresh->left = chain;
    chain = fresh;
  }
  return chain;
}

void check_chain(const worker *w, const void *real, uint64_t number) {
  if (number == 0) {
    require(w, real == NULL, "where no chain is, there is something");
    return;
  }
  uint64_t length = 0;
  for (const node *n = real; n != NULL; n = n->left, length++) {
    require(w, cradle_type_of(n) == T_NODE, "a chain has another type");
    require(w, n->head.number == number, "a chain has another number");
    require(w, n->right == NULL, "a chain has a branch");
  }
  require(w, length == chain_length(number), "a chain has another length");
}

uint64_t number_of_chain(worker *w) {
  return 1 + below(w, 1000000);
}

/* --- arrays behind locks --- */

static void store_shared(worker *w) {
  guarded *g = &w->s->arrays[below(w, SHARED_ARRAYS)];
  uint64_t number = below(w, 6) == 0 ? 0 : number_of_chain(w);
  void *chain = number == 0 ? NULL : new_chain(w, number);
  CRADLE_ROOT(w->m, chain);
  take_lock(w, &g->lock);
  if (below(w, 3) == 0) cradle_safepoint(w->m); /* a collection while it holds the lock */
  for (int i = 0; i < 3; i++) {
    uint64_t at = below(w, g->items->length);
    check_chain(w, g->items->item[at], g->number[at]);
    cradle_store(w->m, g->items, &g->items->item[at], chain);
    g->number[at] = number;
  }
  (void)pthread_mutex_unlock(&g->lock);
}

static void copy_shared(worker *w) {
  guarded *g = &w->s->arrays[below(w, SHARED_ARRAYS)];
  take_lock(w, &g->lock);
  uint64_t count = below(w, g->items->length / 2);
  uint64_t to = below(w, g->items->length - count), from = below(w, g->items->length - count);
  cradle_copy_slots(w->m, g->items, &g->items->item[to], &g->items->item[from], count);
  memmove(&g->number[to], &g->number[from], count * sizeof *g->number);
  (void)pthread_mutex_unlock(&g->lock);
}

static void check_shared(worker *w) {
  guarded *g = &w->s->arrays[below(w, SHARED_ARRAYS)];
  take_lock(w, &g->lock);
  for (uint64_t i = 0; i < g->items->length; i++) check_chain(w, g->items->item[i], g->number[i]);
  (void)pthread_mutex_unlock(&g->lock);
}

/* --- handles from one worker to another --- */

static void send_letter(worker *w) {
  uint64_t number = number_of_chain(w);
  letter fresh = {cradle_handle_new(w->m, new_chain(w, number)), number};
  take_lock(w, &w->s->mail_lock);
  letter *at = &w->s->mail[below(w, MAILBOX)], old = *at;
  *at = fresh;
  (void)pthread_mutex_unlock(&w->s->mail_lock);
  if (old.number == 0) return;
  check_chain(w, cradle_handle_get(w->m, old.handle), old.number);
  cradle_handle_free(w->m, old.handle);
}

static void read_letter(worker *w) {
  uint64_t number = number_of_chain(w);
  void *chain = new_chain(w, number);
  CRADLE_ROOT(w->m, chain);
  take_lock(w, &w->s->mail_lock);
  letter *at = &w->s->mail[below(w, MAILBOX)];
  if (at->number != 0) {
    check_chain(w, cradle_handle_get(w->m, at->handle), at->number);
    if (below(w, 2) == 0) {
      cradle_handle_set(w->m, at->handle, chain);
      at->number = number;
    }
  }
  (void)pthread_mutex_unlock(&w->s->mail_lock);
}

/* --- hashes and ids that several ask for at once --- */

static void renew_public(worker *w) {
  void *chain = new_chain(w, number_of_chain(w));
  CRADLE_ROOT(w->m, chain);
  if (pthread_rwlock_trywrlock(&w->s->public_lock) != 0)
    CRADLE_PARKED(w->m)(void) pthread_rwlock_wrlock(&w->s->public_lock);
  uint64_t at = below(w, PUBLIC);
  cradle_store(w->m, w->s->public, &w->s->public->item[at], chain);
  atomic_store(&w->s->hash[at], 0);
  atomic_store(&w->s->id[at], 0);
  (void)pthread_rwlock_unlock(&w->s->public_lock);
}

static void agree(const worker *w, _Atomic uint64_t *on, uint64_t value, const char *what) {
  uint64_t before = 0;
  require(w, value != 0, what);
  if (!atomic_compare_exchange_strong(on, &before, value)) require(w, before == value, what);
}

static void ask_public(worker *w) {
  if (pthread_rwlock_tryrdlock(&w->s->public_lock) != 0)
    CRADLE_PARKED(w->m)(void) pthread_rwlock_rdlock(&w->s->public_lock);
  for (uint64_t at = 0; at < PUBLIC; at++) {
    void *object = w->s->public->item[at];
    if (object == NULL) continue;
    agree(w, &w->s->hash[at], cradle_identity_hash(w->m, object), "two workers got different hashes");
    if (below(w, 4) != 0) continue;
    uint64_t id = cradle_id(w->m, object);
    agree(w, &w->s->id[at], id, "two workers got different ids");
    require(w, cradle_object_of_id(w->m, id) == object, "an id has another object");
  }
  (void)pthread_rwlock_unlock(&w->s->public_lock);
}

/* --- objects into which all store without a lock, each into its own slots --- */

static void store_lane(worker *w) {
  uint64_t which = below(w, LANES), number = number_of_chain(w);
  void *chain = new_chain(w, number);
  array *lane = w->s->lanes[which];
  uint64_t at = below(w, lane->length / w->s->threads);
  void **slot = &lane->item[at * w->s->threads + w->number];
  check_chain(w, *slot, w->lanes[which][at]);
  if (below(w, 2) == 0) {
    cradle_store(w->m, lane, slot, chain);
  } else {
    *slot = chain;
    cradle_write_barrier(w->m, lane);
  }
  w->lanes[which][at] = number;
}

/* The pins, the id and the hash are in the same header as the barrier's flag. */
static void mark_lane(worker *w) {
  array **lane = &w->s->lanes[below(w, LANES)];
  void *pinned = cradle_pin(w->m, *lane);
  (void)cradle_identity_hash(w->m, *lane);
  if (below(w, 8) == 0) (void)cradle_id(w->m, *lane);
  if (below(w, 2) == 0) (void)new_chain(w, 6);
  if (below(w, 8) == 0) CRADLE_PARKED(w->m)(void) sched_yield();
  require(w, *lane == pinned, "a pinned object has moved");
  cradle_unpin(w->m, pinned);
}

/* --- a weak set --- */

static bool has_number(const void *real, const void *key) {
  return ((const object *)real)->number == *(const uint64_t *)key;
}
static uint64_t hash_of(uint64_t number) {
  return number * UINT64_C(0x9e3779b97f4a7c15) >> 7;
}

static void use_set(worker *w) {
  uint64_t key = 1 + below(w, MODEL_KEYS);
  object *mine = cradle_new(w->m, T_KEY, sizeof(object));
  mine->number = key;
  CRADLE_ROOT(w->m, mine);
  take_lock(w, &w->s->set_lock);
  object *found = cradle_weak_set_find(w->s->set, hash_of(key), has_number, &key);
  if (found == NULL)
    require(w, cradle_weak_set_add(w->s->set, hash_of(key), mine), "no memory for a weak set");
  else
    mine = found;
  if (below(w, 6) == 0)
    require(w,
            cradle_weak_set_remove(w->s->set, hash_of(key), mine) && cradle_weak_set_add(w->s->set, hash_of(key), mine),
            "what was found in a weak set is not in it");
  (void)pthread_mutex_unlock(&w->s->set_lock);
  (void)new_chain(w, key);
  take_lock(w, &w->s->set_lock);
  require(w, cradle_weak_set_find(w->s->set, hash_of(key), has_number, &key) == mine,
          "a weak set lost an object that lives");
  (void)pthread_mutex_unlock(&w->s->set_lock);
}

static void list_set(worker *w) {
  bool seen[MODEL_KEYS + 1] = {false};
  take_lock(w, &w->s->set_lock);
  cradle_weak_cursor cursor = {0};
  for (object *o; (o = cradle_weak_set_next(w->s->set, &cursor)) != NULL; seen[o->number] = true) {
    require(w, o->number >= 1 && o->number <= MODEL_KEYS, "a weak set has a strange object");
    require(w, !seen[o->number], "a weak set has an object twice");
  }
  (void)pthread_mutex_unlock(&w->s->set_lock);
}

/* --- finalizers --- */

bool drain(worker *w, uint32_t queue) {
  link *back = cradle_finalizer_next(w->m, queue);
  if (back == NULL) return false;
  require(w, cradle_type_of(back) == T_FINAL && back->head.number < w->s->due_limit, "a queue has a strange object");
  unsigned char before = atomic_fetch_sub(&w->s->due[back->head.number], 1);
  require(w, before != 0, "an object came back too often");
  w->drained++;
  return true;
}

static void drain_some(worker *w) {
  uint32_t queue = (uint32_t)(1 + below(w, QUEUES));
  for (uint64_t i = below(w, 64); i > 0 && drain(w, queue); i--) continue;
}

/* --- the heap as a whole --- */

static void collect(worker *w) {
  uint64_t which = below(w, 40);
  cradle_collect(w->m, which < 34   ? CRADLE_COLLECT_MINOR
                       : which < 37 ? CRADLE_COLLECT_MAJOR
                       : which < 39 ? CRADLE_COLLECT_FULL
                                    : CRADLE_COLLECT_COMPACTING);
}

static void collect_step(worker *w) {
  (void)cradle_collect_step(w->m, 1 + below(w, 200000));
}

static void poll(worker *w) {
  for (uint64_t i = below(w, 10); i > 0; i--) cradle_safepoint(w->m);
}

static void verify(worker *w) {
  cradle_error error = {.message = ""};
  require(w, cradle_heap_verify(w->s->heap, &error), error.message);
}

static void look(worker *w) {
  cradle_statistics now;
  cradle_heap_statistics(w->s->heap, &now, sizeof now);
  require(w, now.external_bytes < UINT64_C(1) << 40, "external memory is below zero");
  cradle_memory memory;
  if (below(w, 16) == 0) cradle_memory_report(w->s->heap, &memory, sizeof memory);
}

static void report_external(worker *w) {
  int64_t bytes = below(w, 2) == 0 ? (int64_t)below(w, 20000)
                                   : -(int64_t)(w->external == 0 ? 0 : below(w, (uint64_t)w->external + 1));
  w->external += bytes;
  cradle_external_memory(w->m, bytes);
  if (below(w, 4) == 0) cradle_external_pressure(w->m, below(w, 5000));
}

static void ask_other(worker *w) {
  take_lock(w, &w->s->workers_lock);
  cradle_mutator *other = w->s->workers[below(w, w->s->threads)].shown;
  if (other != NULL) cradle_safepoint_request(other);
  (void)pthread_mutex_unlock(&w->s->workers_lock);
}

static void rest(worker *w) {
  uint64_t length = below(w, 6);
  CRADLE_PARKED(w->m) {
    for (uint64_t i = 0; i < length && !w->s->turns; i++) (void)sched_yield();
  }
}

static bool count_object(void *data, const cradle_object_info *info) {
  (void)info;
  ++*(uint64_t *)data;
  return true;
}

static void walk_heap(worker *w) {
  uint64_t count = 0;
  require(w, cradle_heap_walk(w->s->heap, count_object, &count) != CRADLE_WALK_STOPPED && count != 0,
          "a walk of the heap saw nothing");
}

/* --- all of it --- */

void shared_step(worker *w) {
  static const struct {
    void (*run)(worker *w);
    const char *name;
    uint32_t weight;
  } operations[] = {
      {store_shared, "store_shared", 60},
      {copy_shared, "copy_shared", 4},
      {check_shared, "check_shared", 2},
      {send_letter, "send_letter", 20},
      {read_letter, "read_letter", 20},
      {renew_public, "renew_public", 12},
      {ask_public, "ask_public", 12},
      {store_lane, "store_lane", 60},
      {mark_lane, "mark_lane", 12},
      {use_set, "use_set", 30},
      {list_set, "list_set", 2},
      {drain_some, "drain_some", 12},
      {collect, "collect", 6},
      {collect_step, "collect_step", 4},
      {poll, "poll", 10},
      {verify, "verify", 1},
      {look, "look", 6},
      {walk_heap, "walk_heap", 1},
      {ask_other, "ask_other", 6},
      {report_external, "external", 10},
      {rest, "rest", 6},
      {slots_step, "slots", 150},
  };
  uint64_t all = 0, at = 0;
  for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) all += operations[i].weight;
  uint64_t drawn = below(w, all);
  while (drawn >= operations[at].weight) drawn -= operations[at++].weight;
  w->operation = operations[at].name;
  operations[at].run(w);
}

void shared_compare(worker *w) {
  for (int a = 0; a < SHARED_ARRAYS; a++)
    for (uint64_t i = 0; i < w->s->arrays[a].items->length; i++)
      check_chain(w, w->s->arrays[a].items->item[i], w->s->arrays[a].number[i]);
  for (int a = 0; a < LANES; a++)
    for (uint64_t i = 0; i < w->s->lanes[a]->length; i++) {
      const worker *of = &w->s->workers[i % w->s->threads];
      check_chain(w, w->s->lanes[a]->item[i], of->lanes[a][i / w->s->threads]);
    }
  for (int i = 0; i < MAILBOX; i++)
    if (w->s->mail[i].number != 0) check_chain(w, cradle_handle_get(w->m, w->s->mail[i].handle), w->s->mail[i].number);
}

static void *zeros(const worker *w, size_t count, size_t bytes) {
  void *fresh = calloc(count, bytes);
  require(w, fresh != NULL, "no memory for the model");
  return fresh;
}

/* w: of the main thread. */
void shared_open(shared *s, worker *w) {
  static const uint64_t lengths[SHARED_ARRAYS] = {40, 300, 1000, LARGE_ITEMS}, lanes[LANES] = {4, 100, 1300};
  for (int a = 0; a < SHARED_ARRAYS; a++) {
    guarded *g = &s->arrays[a];
    (void)pthread_mutex_init(&g->lock, NULL);
    g->number = zeros(w, lengths[a], sizeof *g->number);
    g->items = cradle_new_array(w->m, T_ARRAY, lengths[a]);
    require(w, cradle_global_root_add(s->heap, &g->items, CRADLE_KIND_REFERENCE), "no memory for a global root");
  }
  for (int a = 0; a < LANES; a++) {
    s->lanes[a] = cradle_new_array(w->m, T_ARRAY, lanes[a] * s->threads);
    require(w, cradle_global_root_add(s->heap, &s->lanes[a], CRADLE_KIND_REFERENCE), "no memory for a global root");
    for (uint32_t i = 0; i < s->threads; i++) s->workers[i].lanes[a] = zeros(w, lanes[a], sizeof(uint64_t));
  }
  s->public = cradle_new_array(w->m, T_ARRAY, PUBLIC);
  require(w, cradle_global_root_add(s->heap, &s->public, CRADLE_KIND_REFERENCE), "no memory for a global root");
  slots_open(w);
  s->set = cradle_weak_set_new(w->m, NULL, NULL);
  require(w, s->set != NULL, "no memory for a weak set");
  s->due_limit = s->ops * s->threads / 50 + 100;
  s->due = zeros(w, s->due_limit, sizeof *s->due);
  (void)pthread_mutex_init(&s->mail_lock, NULL);
  (void)pthread_rwlock_init(&s->public_lock, NULL);
  (void)pthread_mutex_init(&s->set_lock, NULL);
  (void)pthread_mutex_init(&s->workers_lock, NULL);
}

/* Whatever was finalizable has come back as often as it must. */
static void drain_all(worker *w) {
  cradle_finalizer_queue_all(w->m);
  for (uint32_t queue = 1; queue <= QUEUES; queue++)
    while (drain(w, queue)) continue;
  for (uint64_t i = 0; i < w->s->due_limit; i++) require(w, w->s->due[i] == 0, "an object did not come back");
  cradle_statistics now;
  cradle_heap_statistics(w->s->heap, &now, sizeof now);
  require(w, now.external_bytes == 0, "external memory is left");
  require(w, now.handles == 0 && now.pinned_objects == 0, "handles or pins are left");
}

void shared_close(shared *s, worker *w) {
  for (int i = 0; i < MAILBOX; i++)
    if (s->mail[i].number != 0) cradle_handle_free(w->m, s->mail[i].handle);
  slots_close(w);
  drain_all(w);
  cradle_weak_set_free(s->set);
  for (int a = 0; a < SHARED_ARRAYS; a++) {
    cradle_global_root_remove(s->heap, &s->arrays[a].items);
    (void)pthread_mutex_destroy(&s->arrays[a].lock);
    free(s->arrays[a].number);
  }
  for (int a = 0; a < LANES; a++) {
    cradle_global_root_remove(s->heap, &s->lanes[a]);
    for (uint32_t i = 0; i < s->threads; i++) free(s->workers[i].lanes[a]);
  }
  cradle_global_root_remove(s->heap, &s->public);
  (void)pthread_mutex_destroy(&s->mail_lock);
  (void)pthread_rwlock_destroy(&s->public_lock);
  (void)pthread_mutex_destroy(&s->set_lock);
  (void)pthread_mutex_destroy(&s->workers_lock);
  free((void *)(uintptr_t)s->due);
}
