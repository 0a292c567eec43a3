/* Tests what a mutator has of the young generation: that two heaps do not mix it up, that it goes with the mutator from
 * thread to thread, that it stays with the heap when the mutator is freed, and that a list of several is looked at.
 */
#include <pthread.h>

#include "tests/support/services.h"

#include "tests/inside.h"

enum { COUNT = 50, LENGTH = 4000, NUMBER = 77 };

static fixture f;

static int open_fixture(void **state) {
  (void)state;
  services_open(&f);
  return 0;
}

static int close_fixture(void **state) {
  (void)state;
  fixture_close(&f);
  return 0;
}

static void *peek(const fixture *from, size_t index) {
  return (void *)*cradle_peek(from->m, index);
}
static size_t remembered_of(const fixture *of) {
  return word_stack_count(&inside_local(of->heap)->remembered);
}
static size_t recorded_of(const fixture *of) {
  return word_stack_count(&inside_local(of->heap)->recorded);
}

/* Of a local without stress and samples. */
#define NO_POINTS .stress = {.point = UINTPTR_MAX}, .sample = {.point = UINTPTR_MAX}

static size_t fresh_of(const crd_local *local) {
  const crd_word_stack fresh = local_fresh(local);
  return word_stack_count(&fresh);
}
static size_t registered_of(const fixture *of) {
  return fresh_of(inside_local(of->heap));
}

/* An old pair that is remembered, and a large old array of which a slot is recorded; both refer to young objects. They
 * are pushed on the shadow stack. */
CRADLE_UNCHECKED_COLLECTION static void record(fixture *to) {
  cradle_push(to->m, CRADLE_NEW(to->m, pair, T_PAIR));
  cradle_push(to->m, cradle_new_array(to->m, T_VECTOR, LENGTH));
  cradle_collect(to->m, CRADLE_COLLECT_MINOR);
  string *text = cradle_new_array(to->m, T_STRING, NUMBER);
  pair *holder = peek(to, 1);
  cradle_store(to->m, holder, &holder->first, text);
  text = cradle_new_array(to->m, T_STRING, NUMBER + 1);
  vector *array = peek(to, 0);
  cradle_store(to->m, array, &array->item[LENGTH / 2], text);
  assert_heap_sound(to->heap);
}

/* What was recorded has led the minor collection to both. */
static void assert_kept(fixture *to) {
  const pair *holder = peek(to, 1);
  const vector *array = peek(to, 0);
  const string *texts[] = {(const string *)holder->first, array->item[LENGTH / 2]};
  for (size_t i = 0; i < 2; i++) {
    assert_false(space_is_young(&to->heap->space, (uintptr_t)texts[i]));
    assert_int_equal(cradle_type_of(texts[i]), T_STRING);
    assert_int_equal(texts[i]->length, NUMBER + i);
  }
  assert_heap_sound(to->heap);
}

static void pop_both(fixture *from) {
  cradle_pop(from->m);
  cradle_pop(from->m);
}

CRADLE_UNCHECKED_COLLECTION static void two_heaps_of_a_thread_have_their_own(void **state) {
  (void)state;
  fixture other;
  services_open(&other);
  record(&f);
  if (!f.stressed) assert_int_equal(remembered_of(&f), 1), assert_int_equal(recorded_of(&f), 1);
  assert_int_equal(remembered_of(&other) + recorded_of(&other), 0);
  record(&other);
  cradle_safepoint_request(other.m);
  assert_false(f.heap->space.mutators->pending_request);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_int_equal(remembered_of(&f) + recorded_of(&f), 0);
  if (!f.stressed) assert_int_equal(remembered_of(&other) + recorded_of(&other), 2);
  assert_kept(&f);
  cradle_safepoint(other.m); /* collects, because of the request */
  assert_false(other.heap->space.mutators->pending_request);
  assert_int_equal(remembered_of(&other) + recorded_of(&other), 0);
  assert_kept(&other);
  pop_both(&f);
  pop_both(&other);
  fixture_close(&other);
}

CRADLE_UNCHECKED_COLLECTION static void *collect_there(void *data) {
  fixture *there = data;
  cradle_mutator_attach(there->m);
  assert_heap_sound(there->heap);
  cradle_collect(there->m, CRADLE_COLLECT_MINOR);
  assert_kept(there);
  pop_both(there);
  record(there);
  cradle_mutator_detach(there->m);
  return NULL;
}

/* Records are pending as the mutator is handed over, there and back. */
CRADLE_UNCHECKED_COLLECTION static void it_goes_with_the_mutator_to_another_thread(void **state) {
  (void)state;
  pthread_t thread;
  const crd_mutator *inside = f.heap->space.mutators;
  int closed = 0;
  record(&f);
  (void)new_file(&f, &closed, 100);
  size_t records = remembered_of(&f) + recorded_of(&f), registered = registered_of(&f);
  assert_int_equal(inside->state, MUTATOR_RUNNING);
  cradle_mutator_detach(f.m);
  assert_int_equal(inside->state, MUTATOR_PARKED);
  assert_int_equal(remembered_of(&f) + recorded_of(&f), records);
  assert_int_equal(registered_of(&f), registered);
  assert_int_equal(pthread_create(&thread, NULL, collect_there, &f), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  if (!f.stressed) assert_int_equal(closed, 1);
  assert_int_equal(inside->state, MUTATOR_PARKED);
  cradle_mutator_attach(f.m);
  assert_int_equal(inside->state, MUTATOR_RUNNING);
  assert_heap_sound(f.heap);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_kept(&f);
  pop_both(&f);
}

CRADLE_UNCHECKED_COLLECTION static void *end_without_detaching(void *data) {
  cradle_mutator_attach(((fixture *)data)->m);
  return NULL;
}

/* A thread that ends parks its mutator. */
CRADLE_UNCHECKED_COLLECTION static void the_end_of_a_thread_parks(void **state) {
  (void)state;
  pthread_t thread;
  record(&f);
  cradle_mutator_detach(f.m);
  assert_int_equal(pthread_create(&thread, NULL, end_without_detaching, &f), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(f.heap->space.mutators->state, MUTATOR_PARKED);
  cradle_mutator_detach(f.m); /* does no harm */
  cradle_mutator_attach(f.m);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_kept(&f);
  pop_both(&f);
}

/* Frees the mutator, and makes the next. */
CRADLE_UNCHECKED_COLLECTION static void replace_mutator(void) {
  cradle_mutator_free(f.m);
  assert_null(f.heap->space.mutators);
  assert_ptr_equal(inside_local(f.heap)->registered, &inside_local(f.heap)->fresh.top);
  assert_heap_sound(f.heap);
  f.m = cradle_mutator_new(f.heap);
  assert_heap_sound(f.heap);
}

/* Registrations and records are pending as the mutator goes, and a request, which goes with it. */
CRADLE_UNCHECKED_COLLECTION static void the_next_mutator_finds_what_was_registered(void **state) {
  (void)state;
  int closed = 0;
  record(&f);
  cradle_handle handle = cradle_handle_new(f.m, peek(&f, 0));
  cradle_handle weakly = cradle_handle_new(f.m, new_weak(&f, CRADLE_NEW(f.m, pair, T_PAIR)));
  (void)new_final(&f, 5, NULL);
  (void)new_file(&f, &closed, 100);
  pop_both(&f);
  cradle_safepoint_request(f.m);
  replace_mutator();
  assert_false(f.heap->space.mutators->pending_request);
  if (f.stressed) cradle_collect(f.m, CRADLE_COLLECT_MAJOR); /* what was registered may have become old */
  assert_int_equal(closed, 1);
  final *dead = cradle_finalizer_next(f.m, QUEUE);
  assert_non_null(dead);
  assert_int_equal(dead->number, 5);
  weak *w = cradle_handle_get(f.m, weakly);
  assert_null(cradle_weak_get(f.m, &w->to));
  const vector *array = cradle_handle_get(f.m, handle);
  assert_int_equal(((const string *)array->item[LENGTH / 2])->length, NUMBER + 1);
  cradle_handle_free(f.m, handle);
  cradle_handle_free(f.m, weakly);
}

/* The first allocations of a heap are looked at, not those of each mutator. */
CRADLE_UNCHECKED_COLLECTION static void the_next_mutator_goes_on_with_the_looks(void **state) {
  (void)state;
  if (f.stressed) return;
  uint32_t first = inside_local(f.heap)->first_looks;
  for (int i = 0; i < COUNT; i++) (void)CRADLE_NEW(f.m, pair, T_PAIR);
  assert_int_equal(inside_local(f.heap)->first_looks, first - COUNT);
  replace_mutator();
  assert_int_equal(inside_local(f.heap)->first_looks, first - COUNT);
  for (int i = 0; i < COUNT; i++) (void)CRADLE_NEW(f.m, pair, T_PAIR);
  assert_int_equal(inside_local(f.heap)->first_looks, first - 2 * COUNT);
}

/* --- without collection --- */

static void turn_off(cradle_options *options) {
  fixture_unstress(options);
  options->gc = CRADLE_GC_OFF;
  options->nursery_bytes = (size_t)4 << 20;
}

CRADLE_UNCHECKED_COLLECTION static int open_off(void **state) {
  (void)state;
  services_open_with(&f, turn_off);
  return 0;
}

CRADLE_UNCHECKED_COLLECTION static int close_off(void **state) {
  (void)state;
  cradle_mutator_free(f.m);
  cradle_heap_free(f.heap);
  return 0;
}

static cradle_address_kind kind_of(const void *address) {
  cradle_address_info info;
  cradle_describe_address(f.heap, address, &info, sizeof info);
  return info.kind;
}

/* The nursery is filled as it was, and a pinned object, which is old, still remembered. */
CRADLE_UNCHECKED_COLLECTION static void without_collection_it_keeps_everything(void **state) {
  (void)state;
  pair *pinned = CRADLE_NEW_WITH(f.m, pair, T_PAIR, CRADLE_PINNED), *young = CRADLE_NEW(f.m, pair, T_PAIR);
  cradle_handle weakly = cradle_handle_new(f.m, new_weak(&f, young));
  cradle_store(f.m, pinned, &pinned->first, young);
  size_t filled = nursery_filled(&f.heap->space);
  char *free = f.m->free;
  assert_int_equal(remembered_of(&f), 1);
  assert_true(filled >= sizeof(pair) + sizeof(weak));
  assert_int_equal(registered_of(&f), 1);
  cradle_mutator_free(f.m);
  assert_int_equal(registered_of(&f), 1);
  assert_int_equal(nursery_filled(&f.heap->space), filled);
  assert_int_equal(remembered_of(&f), 1);
  assert_int_equal(kind_of(young), CRADLE_ADDRESS_NURSERY);
  assert_int_equal(kind_of(free), CRADLE_ADDRESS_NURSERY_FREE);
  assert_heap_sound(f.heap);
  f.m = cradle_mutator_new(f.heap);
  assert_ptr_equal(f.m->free, free);
  assert_int_equal(remembered_of(&f), 1);
  assert_int_equal(nursery_filled(&f.heap->space), filled);
  weak *w = cradle_handle_get(f.m, weakly);
  assert_ptr_equal(cradle_weak_get(f.m, &w->to), young);
  assert_heap_sound(f.heap);
  assert_true(cradle_finalizer_register(f.m, young, QUEUE));
  for (int i = 0; i < COUNT; i++) (void)new_weak(&f, young);
  assert_int_equal(registered_of(&f), COUNT + 2);
  assert_heap_sound(f.heap);
}

static void with_quarantine(cradle_options *options) {
  options->quarantine = 2;
}

static int open_quarantine(void **state) {
  (void)state;
  services_open_with(&f, with_quarantine);
  return 0;
}

/* --- a list of several --- */

/* A second one, which no mutator has, gets what the first recorded. */
CRADLE_UNCHECKED_COLLECTION static void each_of_a_list_is_looked_at(void **state) {
  (void)state;
  crd_local *first = inside_local(f.heap), second = {NO_POINTS, .left = first->start, .start = first->start};
  record(&f);
  size_t records = remembered_of(&f) + recorded_of(&f);
  second.free = &second.left, second.registered = &second.fresh.top;
  second.remembered = first->remembered, second.recorded = first->recorded;
  assert_true(crd_word_stack_init(&first->remembered, 4096, 4096, "test"));
  assert_true(crd_word_stack_init(&first->recorded, 4096, 4096, "test"));
  first->next = &second;
  assert_heap_sound(f.heap);
  cradle_statistics before = fixture_stats(&f);
  cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
  cradle_statistics after = fixture_stats(&f);
  assert_int_equal(after.remembered_objects + after.recorded_slots,
                   before.remembered_objects + before.recorded_slots + records);
  assert_true(word_stack_is_empty(&second.remembered) && word_stack_is_empty(&second.recorded));
  assert_kept(&f);
  /* Stores go to the mutator's own, and the verifier looks at all. */
  record(&f);
  if (!f.stressed) assert_int_equal(remembered_of(&f) + recorded_of(&f), 2);
  assert_true(word_stack_is_empty(&second.remembered) && word_stack_is_empty(&second.recorded));
  cradle_error error;
  assert_true(word_stack_push(&second.remembered, (uintptr_t)peek(&f, 0) + 8));
  assert_false(cradle_heap_verify(f.heap, &error));
  assert_non_null(strstr(error.message, "the remembered set holds what is no object"));
  second.remembered.top--;
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  for (int i = 0; i < 2; i++) pop_both(&f);
  first->next = NULL;
  crd_word_stack_fini(&first->remembered);
  crd_word_stack_fini(&first->recorded);
  /* Those that share the reservation of the type table. */
  first->remembered = second.remembered, first->recorded = second.recorded;
}

/* A second local, which no mutator has, gets what the first has registered. */
static void give_fresh(crd_local *first, crd_local *second) {
  *second = (crd_local){NO_POINTS, .left = first->start, .start = first->start, .fresh = first->fresh};
  second->free = &second->left, second->registered = &second->fresh.top;
  second->fresh.top = f.m->registered;
  first->fresh = (crd_word_stack){.base = NULL};
  f.m->registered = f.m->registered_end = NULL;
  first->next = second;
}

static void take_fresh_back(crd_local *first, const crd_local *second) {
  crd_word_stack_fini(&first->fresh);
  first->fresh = second->fresh;
  f.m->registered = f.m->registered_end = first->fresh.base;
  first->next = NULL;
}

/* All of these objects are dead but one, a weak one that refers to a dead pair. A finalizer brings another weak one
 * back. */
CRADLE_UNCHECKED_COLLECTION static cradle_handle register_all(int *closed, bool with_final) {
  cradle_handle weakly = cradle_handle_new(f.m, new_weak(&f, CRADLE_NEW(f.m, pair, T_PAIR)));
  (void)new_weak(&f, NULL);
  (void)new_file(&f, closed, 100);
  (void)new_file(&f, closed, 100);
  if (with_final) (void)new_final(&f, NUMBER, new_weak(&f, CRADLE_NEW(f.m, pair, T_PAIR)));
  return weakly;
}

static void assert_weak_is_cleared(cradle_handle weakly) {
  weak *w = cradle_handle_get(f.m, weakly);
  assert_null(cradle_weak_get(f.m, &w->to));
  if (!f.stressed) assert_false(space_is_young(&f.heap->space, (uintptr_t)w));
  cradle_handle_free(f.m, weakly);
}

/* Both lists are moved, and what stays in them is destroyed once; also if a finalizer makes the rest move, too. */
CRADLE_UNCHECKED_COLLECTION static void what_each_of_a_list_registered_is_looked_at(void **state) {
  (void)state;
  for (int with_final = 0; with_final < 2; with_final++) {
    crd_local *first = inside_local(f.heap), second;
    int closed = 0;
    cradle_handle of_second = register_all(&closed, with_final);
    cradle_statistics before = fixture_stats(&f);
    give_fresh(first, &second);
    assert_int_equal(fixture_stats(&f).committed_bytes, before.committed_bytes);
    first->next = NULL;
    assert_int_equal(fixture_stats(&f).committed_bytes + word_stack_committed(&second.fresh), before.committed_bytes);
    first->next = &second;
    size_t moved = fresh_of(&second);
    cradle_handle of_first = register_all(&closed, with_final);
    if (!f.stressed) assert_int_equal(moved, 4 + 2 * with_final), assert_int_equal(fresh_of(first), moved);
    assert_heap_sound(f.heap);
    cradle_error error;
    if (fresh_of(&second) != 0) {
      cradle_word last = second.fresh.top[-1];
      second.fresh.top[-1] = 4096;
      assert_false(cradle_heap_verify(f.heap, &error));
      assert_non_null(strstr(error.message, "what is no object was registered"));
      second.fresh.top[-1] = last;
    }
    cradle_collect(f.m, f.stressed ? CRADLE_COLLECT_COMPACTING : CRADLE_COLLECT_MINOR);
    assert_int_equal(fresh_of(first) + fresh_of(&second), 0);
    assert_int_equal(closed, 4);
    for (int i = 0; i < 2 * with_final; i++) {
      const final *back = cradle_finalizer_next(f.m, QUEUE);
      assert_non_null(back);
      assert_null(cradle_weak_get(f.m, &((weak *)back->to)->to));
    }
    assert_null(cradle_finalizer_next(f.m, QUEUE));
    assert_weak_is_cleared(of_first);
    assert_weak_is_cleared(of_second);
    assert_heap_sound(f.heap);
    cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
    assert_int_equal(closed, 4);
    take_fresh_back(first, &second);
  }
}

/* A second mutator, attached to no thread, whose chunk is empty. */
static void open_second(crd_mutator *mutator, crd_local *local) {
  crd_mutator *running = f.heap->space.mutators;
  crd_local *first = running->local;
  *local = (crd_local){NO_POINTS,           .free = &mutator->public.free, .start = first->start,
                       .end = first->start, .look = first->start,          .registered = &mutator->public.registered};
  *mutator = (crd_mutator){.public = {.free = first->start, .heap = f.heap},
                           .space = &f.heap->space,
                           .tables = &f.heap->tables,
                           .marking = &f.heap->marking,
                           .young = &f.heap->young,
                           .local = local};
  assert_true(crd_root_stack_open(mutator, f.heap->options.shadow_stack_bytes, f.heap->hardware.page_bytes));
  first->next = local;
  running->next = mutator;
}

static void close_second(crd_mutator *mutator, crd_local *local) {
  f.heap->space.mutators->next = NULL;
  inside_local(f.heap)->next = NULL;
  crd_root_stacks_close(mutator);
  crd_word_stack_fini(&local->fresh);
}

/* As the inline registration does it. The list of finalizers has room for all that both may register [services.3]. */
static void enter(crd_mutator *mutator, const void *object, cradle_word queue) {
  uintptr_t at;
  cradle_mutator *m = &mutator->public;
  if (m->registered == m->registered_end) assert_true(crd_registry_make_room(mutator, 1u << REGISTERED_FINALIZER));
  const crd_services *services = inside_services(f.heap);
  const crd_word_stack *list = &services->lists[REGISTERED_FINALIZER].words;
  size_t most = 0;
  for (EACH_MUTATOR(of, &f.heap->space)) most += (size_t)(of->public.registered_end - of->local->fresh.base);
  assert_true(most <= services->finalizer_room && most <= (size_t)(list->limit - list->top));
  assert_null(crd_registry_check(services, &at));
  *m->registered++ = (uintptr_t)object | queue;
}

/* One object, registered for a finalizer again and again by two, in turns and one alone. The lists have room for all of
 * that: the minor collection, and a verifier at each entry, would notice. */
CRADLE_UNCHECKED_COLLECTION static void two_mutators_have_room_together(void **state) {
  (void)state;
  enum { MANY = 3000 };
  if (f.stressed) return;
  crd_local second;
  static crd_mutator other;
  open_second(&other, &second);
  static const struct {
    size_t mine, its;
  } rounds[] = {{MANY, MANY / 2}, {7, MANY}, {MANY / 2, MANY / 2}};
  for (size_t round = 0; round < sizeof rounds / sizeof *rounds; round++) {
    const pair *object = CRADLE_NEW(f.m, pair, T_PAIR);
    size_t mine = rounds[round].mine, its = rounds[round].its;
    for (size_t i = 0; i < mine || i < its; i++) {
      if (i < mine) enter(f.heap->space.mutators, object, QUEUE);
      if (i < its) enter(&other, object, QUEUE);
    }
    assert_int_equal(fresh_of(&second), its);
    assert_int_equal(fresh_of(inside_local(f.heap)), mine);
    size_t quota = (size_t)(other.public.registered_end - other.public.registered);
    assert_heap_sound(f.heap);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    assert_int_equal(fresh_of(&second) + fresh_of(inside_local(f.heap)), 0);
    assert_int_equal(other.public.registered_end - other.public.registered, quota);
    assert_heap_sound(f.heap);
    for (size_t i = 0; i < mine + its; i++) assert_non_null(cradle_finalizer_next(f.m, QUEUE));
    assert_null(cradle_finalizer_next(f.m, QUEUE));
  }
  close_second(&other, &second);
}

/* A minor collection is asked for when both together have registered as much as fits the pause target. */
CRADLE_UNCHECKED_COLLECTION static void two_mutators_ask_for_a_collection_together(void **state) {
  (void)state;
  enum { MOST = 4096 };
  if (f.stressed) return;
  crd_local second;
  static crd_mutator other;
  open_second(&other, &second);
  const pair *object = CRADLE_NEW(f.m, pair, T_PAIR);
  crd_mutator *mutator = f.heap->space.mutators;
  for (size_t i = 0; !mutator->pending_request && !other.pending_request && i <= 2 * MOST; i++)
    enter(i % 4 == 0 ? &other : mutator, object, QUEUE);
  assert_in_range(fresh_of(&second) + fresh_of(mutator->local), MOST, MOST + 2);
  other.pending_request = false;
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  while (cradle_finalizer_next(f.m, QUEUE) != NULL) continue;
  close_second(&other, &second);
}

/* The filled part of the nursery, in two chunks. */
static void what_is_filled_is_the_sum_of_the_chunks(void **state) {
  (void)state;
  crd_local *local = inside_local(f.heap);
  for (int i = 0; i < COUNT; i++) cradle_push(f.m, CRADLE_NEW(f.m, pair, T_PAIR));
  char *start = local->start;
  if (f.m->free != start) {
    const void *in_first = start, *in_second = f.m->free - 8;
    size_t filled = nursery_filled(&f.heap->space), half = filled / 16 * 8;
    crd_local second = {NO_POINTS, .start = start, .end = start + half, .left = start + half};
    second.free = &second.left, second.registered = &second.fresh.top;
    local->start += half;
    local->next = &second;
    assert_int_equal(nursery_filled(&f.heap->space), filled);
    assert_true(nursery_holds(&f.heap->space, (uintptr_t)in_first));
    assert_true(nursery_holds(&f.heap->space, (uintptr_t)in_second));
    assert_false(nursery_holds(&f.heap->space, (uintptr_t)f.m->free));
    assert_int_equal(kind_of(in_first), CRADLE_ADDRESS_NURSERY);
    assert_int_equal(kind_of(in_second), CRADLE_ADDRESS_NURSERY);
    assert_heap_sound(f.heap);
    local->next = NULL;
    local->start = start;
  }
  for (int i = 0; i < COUNT; i++) cradle_pop(f.m);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(two_heaps_of_a_thread_have_their_own),
      TEST(it_goes_with_the_mutator_to_another_thread),
      TEST(the_end_of_a_thread_parks),
      TEST(the_next_mutator_finds_what_was_registered),
      TEST(the_next_mutator_goes_on_with_the_looks),
      TEST(each_of_a_list_is_looked_at),
      TEST(what_each_of_a_list_registered_is_looked_at),
      cmocka_unit_test_setup_teardown(what_each_of_a_list_registered_is_looked_at, open_quarantine, close_fixture),
      TEST(two_mutators_have_room_together),
      TEST(two_mutators_ask_for_a_collection_together),
      TEST(what_is_filled_is_the_sum_of_the_chunks),
      cmocka_unit_test_setup_teardown(without_collection_it_keeps_everything, open_off, close_off),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
