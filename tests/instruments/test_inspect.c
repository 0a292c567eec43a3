/* Looking into the heap: walks, referrers, addresses, and which calls are refused during a walk.
 * tests/model/model_walk.c compares them with whole random heaps. */
#include "tests/inside.h"
#include "tests/support/one_heap.h"
#include "tests/support/waiting.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define TAG 2
#define LARGE ((size_t)6000)

static void choose(cradle_options *options) {
  options->encoding = cradle_encoding_of(0, 0, 1 << TAG);
  options->verify = false; /* the tests say when */
}

static pair *new_pair(void) {
  return cradle_new(f.m, T_PAIR, sizeof(pair));
}

/* --- walks --- */

typedef struct tally {
  uint64_t objects, young, large, of_type[T_COUNT];
  const void *wanted;
  cradle_object_info found;
  uint64_t most; /* stops after so many; 0: never */
} tally;

static bool tell_object(void *data, const cradle_object_info *info) {
  tally *all = data;
  all->objects++;
  all->young += info->is_young;
  all->large += info->is_large;
  if (info->type < T_COUNT) all->of_type[info->type]++;
  if (info->object == all->wanted) all->found = *info;
  return all->objects != all->most;
}

static tally walk_for(const void *wanted) {
  tally all = {.wanted = wanted};
  assert_int_equal(cradle_heap_walk(f.heap, tell_object, &all), CRADLE_WALK_COMPLETE);
  return all;
}

static void each_object_once(void **state) {
  (void)state;
  pair *a = new_pair();
  CRADLE_ROOT(f.m, a);
  string *text = cradle_new_array(f.m, T_STRING, 13);
  cradle_store(f.m, a, &a->first, text);
  vector *large = cradle_new_array(f.m, T_VECTOR, LARGE);
  cradle_store(f.m, a, &a->rest, large);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  tally all = walk_for(a);
  assert_int_equal(all.objects, 3);
  assert_int_equal(all.young, 0);
  assert_int_equal(all.large, 1);
  assert_int_equal(all.found.type, T_PAIR);
  assert_string_equal(all.found.type_name, "pair");
  assert_int_equal(all.found.bytes, sizeof(pair));
  assert_false(all.found.is_young);
  all = walk_for(a->first);
  assert_int_equal(all.found.bytes, 32);
  all = walk_for(a->rest);
  assert_int_equal(all.found.bytes, sizeof(vector) + LARGE * 8);
  assert_int_equal(all.found.place_bytes, 12 * 4096);
  assert_true(all.found.is_large);
}

/* Young objects, with the holes of reservations that were not filled, over the headers of an earlier use of the
 * nursery. */
static void young_objects_and_holes(void **state) {
  (void)state;
  if (f.stressed) {
    print_message("not under stress: it leaves no object young\n");
    skip();
  }
  for (int i = 0; i < 1000; i++) (void)new_pair();
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  pair *list = NULL;
  CRADLE_ROOT(f.m, list);
  for (int i = 0; i < 10; i++) {
    cradle_reservation room = cradle_reserve(f.m, 20 * sizeof(pair));
    pair *fresh = cradle_new_reserved(&room, T_PAIR, sizeof(pair));
    fresh->first = NULL;
    fresh->rest = list;
    list = fresh;
    (void)new_pair(); /* nobody refers to it */
  }
  vector *large = cradle_new_array(f.m, T_VECTOR, LARGE);
  vector *lost = cradle_new_array(f.m, T_VECTOR, LARGE);
  list->first = (pair *)large;
  lost->item[0] = new_pair();
  pair *before = list;
  cradle_statistics stats = fixture_stats(&f);
  tally all = walk_for(list);
  assert_int_equal(all.objects, 11);
  assert_int_equal(all.young, 11);
  assert_int_equal(all.large, 1);
  assert_true(all.found.is_young);
  all = walk_for(large);
  assert_true(all.found.is_young && all.found.is_large);
  assert_int_equal(walk_for(NULL).objects, 11);
  assert_ptr_equal(list, before);
  assert_int_equal(fixture_stats(&f).minor_collections, stats.minor_collections);
  assert_heap_sound(f.heap);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  all = walk_for(list);
  assert_int_equal(all.objects, 11);
  assert_int_equal(all.young, 0);
}

static void a_large_object_may_be_all_that_is_young(void **state) {
  (void)state;
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  vector *large = cradle_new_array(f.m, T_VECTOR, LARGE);
  CRADLE_ROOT(f.m, large);
  tally all = walk_for(large);
  assert_int_equal(all.objects, 1);
  assert_ptr_equal(all.found.object, large);
  assert_true(all.found.is_large);
}

static void a_walk_can_be_stopped(void **state) {
  (void)state;
  vector *all = cradle_new_array(f.m, T_VECTOR, 100);
  CRADLE_ROOT(f.m, all);
  for (int old = 1; old >= 0; old--) {
    for (size_t i = 0; i < all->length; i++) {
      pair *fresh = new_pair();
      cradle_store(f.m, all, &all->item[i], fresh);
    }
    if (old) cradle_collect(f.m, CRADLE_COLLECT_FULL);
    for (uint64_t most = 1; most < 100; most += 17) {
      tally some = {.most = most};
      assert_int_equal(cradle_heap_walk(f.heap, tell_object, &some), CRADLE_WALK_STOPPED);
      assert_int_equal(some.objects, most);
    }
    assert_true(walk_for(NULL).objects >= 101);
  }
}

/* From the end of marking on what was not reached is dead, and its address says so until it is swept. */
static void the_dead_are_left_out(void **state) {
  (void)state;
  const size_t count = f.stressed ? 2000 : 20000;
  vector *all = cradle_new_array(f.m, T_VECTOR, count);
  CRADLE_ROOT(f.m, all);
  for (size_t i = 0; i < count; i++) {
    pair *fresh = new_pair();
    cradle_store(f.m, all, &all->item[i], fresh);
  }
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  pair *dead = all->item[count - 1], *alive = all->item[count - 2];
  for (size_t i = 1; i < count; i += 2) all->item[i] = NULL;
  cradle_major_hold(f.m, true); /* only the steps below */
  assert_int_equal(walk_for(dead).objects, count + 1);
  cradle_address_info what;
  cradle_describe_address(f.heap, dead, &what, sizeof what);
  assert_int_equal(what.kind, CRADLE_ADDRESS_OBJECT);
  while (fixture_stats(&f).phase != CRADLE_PHASE_SWEEPING) (void)cradle_collect_step(f.m, 0);
  tally live = walk_for(dead);
  assert_int_equal(live.objects, count / 2 + 1);
  assert_null(live.found.object);
  cradle_describe_address(f.heap, dead, &what, sizeof what);
  assert_int_equal(what.kind, CRADLE_ADDRESS_DEAD);
  assert_ptr_equal(what.object.object, dead);
  cradle_describe_address(f.heap, alive, &what, sizeof what);
  assert_int_equal(what.kind, CRADLE_ADDRESS_OBJECT);
  while (!cradle_collect_step(f.m, 0)) assert_int_equal(walk_for(dead).objects, count / 2 + 1);
  cradle_describe_address(f.heap, dead, &what, sizeof what);
  assert_int_equal(what.kind, CRADLE_ADDRESS_FREE);
  cradle_major_hold(f.m, false);
}

static void while_marking(void **state) {
  (void)state;
  pair *list = NULL;
  CRADLE_ROOT(f.m, list);
  for (int i = 0; i < 5000; i++) {
    pair *fresh = new_pair();
    fresh->rest = list;
    list = fresh;
  }
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  for (int i = 0; i < 100; i++) {
    pair *fresh = new_pair();
    fresh->rest = list->rest;
    cradle_store(f.m, list, &list->first, fresh);
    tally all = walk_for(list->first);
    assert_true(all.objects >= 5001);
    assert_ptr_equal(all.found.object, list->first);
    (void)cradle_collect_step(f.m, 0);
  }
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  assert_int_equal(walk_for(list).objects, 5001);
}

static bool count_object(void *data, const cradle_object_info *object) {
  (void)object;
  ++*(size_t *)data;
  return true;
}

/* As many young objects as can wait in a walk at once. The walk has room for them, however small the old generation
 * is. */
static void young_objects_beside_a_small_old_generation(void **state) {
  (void)state;
  enum { COUNT = 280000 };
  fixture small;
  cradle_options options;
  fixture_options(&small, &options);
  fixture_unstress(&options);
  options.verify = false;
  options.quarantine = 0;
  options.nursery_bytes = (size_t)6 << 20;
  options.reserve_bytes = (size_t)16 << 20;
  fixture_open_with(&small, &options);
  {
    vector *all = cradle_new_array(small.m, T_VECTOR, COUNT);
    CRADLE_ROOT(small.m, all);
    for (size_t i = 0; i < COUNT; i++) {
      string *fresh = cradle_new_array(small.m, T_STRING, 0);
      cradle_store(small.m, all, &all->item[i], fresh);
    }
    assert_int_equal(fixture_stats(&small).minor_collections, 0);
    size_t objects = 0;
    assert_int_equal(cradle_heap_walk(small.heap, count_object, &objects), CRADLE_WALK_COMPLETE);
    assert_int_equal(objects, COUNT + 1);
  }
  fixture_close(&small);
}

/* --- referrers --- */

typedef struct referrers {
  cradle_referrer all[16];
  size_t count, most;
} referrers;

static bool keep(void *data, const cradle_referrer *referrer) {
  referrers *r = data;
  assert_true(r->count < 16);
  r->all[r->count++] = *referrer;
  return r->count != r->most;
}

static referrers who(const void *object) {
  referrers r = {.count = 0};
  assert_int_equal(cradle_referrers(f.heap, object, keep, &r), CRADLE_WALK_COMPLETE);
  return r;
}

static void assert_referrer(const cradle_referrer *referrer, cradle_holder holder, const char *name, uint64_t index) {
  assert_int_equal(referrer->holder, holder);
  assert_string_equal(referrer->name, name);
  assert_int_equal(referrer->index, index);
}

static void *reported[2]; /* by the root callback */
static void report(void *data, cradle_visitor *visitor) {
  (void)data;
  for (size_t i = 0; i < 2; i++) cradle_visit(visitor, &reported[i], CRADLE_KIND_REFERENCE);
}

static void roots_have_names(void **state) {
  (void)state;
  static void *global_a, *global_b;
  pair *object = new_pair();
  reported[0] = NULL;
  cradle_push(f.m, object);
  cradle_push(f.m, NULL);
  cradle_push(f.m, object);
  cradle_push(f.m, NULL);
  void *unnamed_stack[2] = {NULL, object}, *stack[3] = {NULL, NULL, object};
  void *base = stack, *top = stack + 3, *unnamed_base = unnamed_stack, *unnamed_top = unnamed_stack + 2;
  cradle_root_range range = CRADLE_ROOT_RANGE(base, top, CRADLE_KIND_REFERENCE, "values");
  cradle_root_range unnamed = CRADLE_ROOT_RANGE(unnamed_base, unnamed_top, CRADLE_KIND_REFERENCE, NULL);
  cradle_root_range_add(f.m, &range);
  cradle_root_range_add(f.m, &unnamed);
  global_a = NULL;
  global_b = object;
  cradle_global_root_add(f.heap, &global_a, CRADLE_KIND_REFERENCE);
  cradle_global_root_add(f.heap, &global_b, CRADLE_KIND_REFERENCE);
  cradle_root_callback_set(f.heap, report, NULL);
  reported[1] = object;
  {
    CRADLE_ROOT(f.m, object);
    uint64_t tagged = (uint64_t)(uintptr_t)object + TAG;
    CRADLE_ROOT_VALUE(f.m, tagged);
    pair *inner = NULL;
    CRADLE_ROOT(f.m, inner);
    referrers r = who(object);
    assert_int_equal(r.count, 8);
    assert_referrer(&r.all[0], CRADLE_HOLDER_SHADOW_STACK, "shadow stack", 0);
    assert_referrer(&r.all[1], CRADLE_HOLDER_SHADOW_STACK, "shadow stack", 2);
    assert_referrer(&r.all[2], CRADLE_HOLDER_SCOPED_ROOT, "scoped root", 1);
    assert_int_equal(r.all[2].kind, CRADLE_KIND_VALUE);
    assert_referrer(&r.all[3], CRADLE_HOLDER_SCOPED_ROOT, "scoped root", 2);
    assert_ptr_equal(r.all[3].slot, &object);
    assert_int_equal(r.all[3].kind, CRADLE_KIND_REFERENCE);
    assert_referrer(&r.all[4], CRADLE_HOLDER_ROOT_RANGE, "root range", 1);
    assert_referrer(&r.all[5], CRADLE_HOLDER_ROOT_RANGE, "values", 2);
    assert_referrer(&r.all[6], CRADLE_HOLDER_GLOBAL_ROOT, "global root", 1);
    assert_referrer(&r.all[7], CRADLE_HOLDER_OTHER_ROOT, "other root", 0);
    assert_null(r.all[0].object.object);
  }
  cradle_root_callback_set(f.heap, NULL, NULL);
  cradle_global_root_remove(f.heap, &global_a);
  cradle_global_root_remove(f.heap, &global_b);
  cradle_root_range_remove(f.m, &range);
  cradle_root_range_remove(f.m, &unnamed);
  cradle_pop_many(f.m, 4);
}

/* --- other roots, weak slots and ephemerons --- */

enum { FINAL_QUEUE = 5 };
static struct {
  uint32_t weak, ephemeron, final;
} extra;

static void add_types(void) {
  extra.weak = cradle_type_add(f.heap, &(cradle_type){.name = "weak", .size = 16, .weak = UINT64_C(1) << 1});
  extra.ephemeron =
      cradle_type_add(f.heap, &(cradle_type){.name = "ephemeron", .size = 24, .ephemerons = UINT64_C(1) << 1});
  extra.final = cradle_type_add(
      f.heap, &(cradle_type){.name = "final", .size = 16, .references = UINT64_C(1) << 1, .finalizer = FINAL_QUEUE});
}

/* Covers the first and the last as well as those between. */
static void each_finalizer_queue_has_its_number(void **state) {
  (void)state;
  uintptr_t places[CRADLE_FINALIZER_QUEUES];
  for (uint32_t i = 0; i < CRADLE_FINALIZER_QUEUES; i++) cradle_push(f.m, new_pair());
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  for (uint32_t i = CRADLE_FINALIZER_QUEUES; i-- > 0;) {
    pair *object = cradle_pop(f.m);
    cradle_finalizer_register(f.m, object, i + 1);
    places[i] = (uintptr_t)object;
  }
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  for (uint32_t i = 0; i < CRADLE_FINALIZER_QUEUES; i++) {
    referrers r = who((void *)places[i]);
    assert_int_equal(r.count, 1);
    assert_referrer(&r.all[0], CRADLE_HOLDER_FINALIZER_QUEUE, "finalizer queue", i + 1);
    assert_ptr_equal(cradle_finalizer_next(f.m, i + 1), (void *)places[i]);
  }
}

static void more_roots_have_names(void **state) {
  (void)state;
  add_types();
  pair *object = cradle_new_registered(f.m, extra.final, 16);
  CRADLE_ROOT(f.m, object);
  cradle_handle first = cradle_handle_new(f.m, NULL), handle = cradle_handle_new(f.m, object);
  pair outside = {.header = T_PAIR};
  cradle_store(f.m, object, (void **)object + 1,
               &outside); /* no reference to an object of the heap, so it is not reported */
  for (int old = 0; old < 2; old++) {
    referrers r = who(object);
    assert_int_equal(r.count, 2);
    assert_referrer(&r.all[0], CRADLE_HOLDER_SCOPED_ROOT, "scoped root", 0);
    assert_referrer(&r.all[1], CRADLE_HOLDER_HANDLE, "handle", (uint32_t)handle.number);
    assert_int_equal(walk_for(object).objects, 1);
    assert_int_equal(walk_for(object).found.type, extra.final);
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
  }
  cradle_handle_free(f.m, handle);
  assert_ptr_equal(((void **)object)[1], &outside);
  object = cradle_pin(f.m, object);
  assert_non_null(cradle_pin(f.m, object));
  referrers r = who(object);
  assert_int_equal(r.count, 2);
  assert_referrer(&r.all[1], CRADLE_HOLDER_PIN, "pin", 0);
  cradle_unpin(f.m, object);
  cradle_unpin(f.m, object);
  cradle_store(f.m, object, (void **)object + 1, NULL);
  uintptr_t place = (uintptr_t)object;
  object = NULL;
  assert_int_equal(walk_for(NULL).objects, 1); /* dead, but not known to be */
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  r = who((void *)place);
  assert_int_equal(r.count, 1);
  assert_referrer(&r.all[0], CRADLE_HOLDER_FINALIZER_QUEUE, "finalizer queue", FINAL_QUEUE);
  assert_ptr_equal(cradle_finalizer_next(f.m, FINAL_QUEUE), (void *)place);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  assert_int_equal(walk_for(NULL).objects, 0);
  cradle_handle_free(f.m, first);
}

static void weak_slots_are_no_references(void **state) {
  (void)state;
  add_types();
  pair *key = new_pair(), *value = NULL;
  CRADLE_ROOT(f.m, key);
  CRADLE_ROOT(f.m, value);
  void **weak = NULL, **ephemeron = NULL;
  CRADLE_ROOT(f.m, weak);
  CRADLE_ROOT(f.m, ephemeron);
  weak = cradle_new_registered(f.m, extra.weak, 16);
  ephemeron = cradle_new_registered(f.m, extra.ephemeron, 24);
  value = new_pair();
  cradle_store(f.m, weak, weak + 1, key);
  cradle_store(f.m, ephemeron, ephemeron + 1, key);
  cradle_store(f.m, ephemeron, ephemeron + 2, value);
  value = NULL;
  for (int old = 0; old < 2; old++) {
    assert_int_equal(walk_for(NULL).objects, 4);
    referrers r = who(key);
    assert_int_equal(r.count, 1);
    assert_int_equal(r.all[0].holder, CRADLE_HOLDER_SCOPED_ROOT);
    r = who(ephemeron[2]);
    assert_int_equal(r.count, 1);
    assert_referrer(&r.all[0], CRADLE_HOLDER_OBJECT, "object", 2);
    assert_ptr_equal(r.all[0].object.object, ephemeron);
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
  }
  key = NULL;
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  assert_int_equal(walk_for(NULL).objects, 2);
}

/* An immediate may look like any address, of arenas that were never committed too. */
static void immediates_of_pairs_are_no_addresses(void **state) {
  (void)state;
  uint32_t type = cradle_type_add(
      f.heap, &(cradle_type){.name = "value pair", .size = 24, .ephemerons = UINT64_C(1) << 1, .weak_values = true});
  cradle_memory memory;
  cradle_memory_report(f.heap, &memory, sizeof memory);
  uint64_t *pair_of_values = cradle_new_registered(f.m, type, 24);
  CRADLE_ROOT(f.m, pair_of_values);
  pair_of_values[2] = (memory.arenas.start + memory.arenas.reserved_bytes / 2) | (TAG + 1);
  for (int old = 0; old < 2; old++) {
    assert_int_equal(walk_for(NULL).objects, 1);
    assert_int_equal(who((void *)(uintptr_t)pair_of_values[2]).count, 0);
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
  }
}

/* Between marking and sweeping: what marking did not reach is dead already, until a finalizer brings it back; pairs of
 * dead keys are not told, though they are not cleared yet. */
static void while_the_dead_are_found(void **state) {
  (void)state;
  enum { COUNT = 2000 };
  add_types();
  vector *all = cradle_new_array(f.m, T_VECTOR, COUNT), *holders = NULL;
  CRADLE_ROOT(f.m, all);
  CRADLE_ROOT(f.m, holders);
  holders = cradle_new_array(f.m, T_VECTOR, COUNT);
  for (size_t i = 0; i < COUNT; i++) {
    void **made = cradle_new_registered(f.m, i % 2 ? extra.final : extra.ephemeron, i % 2 ? 16 : 24);
    cradle_store(f.m, i % 2 ? all : holders, &(i % 2 ? all : holders)->item[i], made);
    pair *p = new_pair(); /* what a final one leads to, or a key whose value leads to it */
    made = i % 2 ? (void **)all->item[i] : (void **)holders->item[i];
    cradle_store(f.m, made, made + 1, p);
    if (i % 2 == 0) {
      cradle_store(f.m, all, &all->item[i], p);
      pair *value = new_pair();
      made = (void **)holders->item[i];
      cradle_store(f.m, made, made + 2, value);
      value->first = all->item[i];
    }
  }
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  assert_int_equal(walk_for(NULL).objects, 2 + COUNT / 2 * 5);
  void *final = all->item[1], *key = all->item[0], *value = ((void **)holders->item[0])[2];
  for (size_t i = 0; i < COUNT; i++) cradle_store(f.m, all, &all->item[i], NULL);
  uint64_t clearing = 0, less = 0;
  while (!cradle_collect_step(f.m, 0)) {
    if (fixture_stats(&f).phase != CRADLE_PHASE_CLEARING) continue;
    clearing++;
    tally found = walk_for(final);
    cradle_address_info what;
    cradle_describe_address(f.heap, final, &what, sizeof what);
    assert_int_equal(what.kind, found.found.object != NULL ? CRADLE_ADDRESS_OBJECT : CRADLE_ADDRESS_DEAD);
    cradle_describe_address(f.heap, key, &what, sizeof what);
    assert_int_equal(what.kind, CRADLE_ADDRESS_DEAD);
    assert_int_equal(who(value).count, 0);
    less += found.objects < 2 + COUNT / 2 * 3;
    assert_true(found.objects <= 2 + COUNT / 2 * 3);
  }
  if (!f.stressed) assert_true(clearing > 10 && less > 10);
  assert_int_equal(finalizers_waiting(f.m, FINAL_QUEUE), COUNT / 2);
  assert_int_equal(walk_for(NULL).objects, 2 + COUNT / 2 * 3);
}

/* A chain that a finalizer brings back an object at a time: each is seen when all that it leads to is back. What is
 * younger than the marking lives, large objects among it. */
static void what_comes_back_leads_to_nothing_dead(void **state) {
  (void)state;
  enum { COUNT = 1000 };
  static void *chain[COUNT];
  add_types();
  void **final = cradle_new_registered(f.m, extra.final, 16);
  CRADLE_ROOT(f.m, final);
  for (size_t i = 0; i < COUNT; i++) {
    pair *next = new_pair();
    cradle_store(f.m, next, &next->first, final[1]);
    cradle_store(f.m, final, &final[1], next);
  }
  void **ephemeron = cradle_new_registered(f.m, extra.ephemeron, 24);
  CRADLE_ROOT(f.m, ephemeron);
  cradle_store(f.m, ephemeron, ephemeron + 1, ephemeron);
  void **with_value = cradle_new_registered(f.m, extra.ephemeron, 24); /* the value and its key lead to each other */
  CRADLE_ROOT(f.m, with_value);
  pair *value = new_pair();
  value->first = (pair *) final;
  cradle_store(f.m, with_value, with_value + 1, final);
  cradle_store(f.m, with_value, with_value + 2, value);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  value = with_value[2];
  pair *p = final[1];
  for (size_t i = 0; i < COUNT; i++, p = p->first) chain[i] = p;
  final = NULL;
  size_t partly = 0;
  while (finalizers_waiting(f.m, FINAL_QUEUE) == 0) {
    (void)cradle_collect_step(f.m, 0);
    if (fixture_stats(&f).phase != CRADLE_PHASE_CLEARING) continue;
    size_t seen = 0; /* the first object of the chain that is */
    for (size_t end = COUNT; seen < end;) {
      size_t middle = (seen + end) / 2;
      if (walk_for(chain[middle]).found.object != NULL)
        end = middle;
      else
        seen = middle + 1;
    }
    cradle_address_info what;
    for (size_t i = 0; i < COUNT; i += 37) {
      assert_int_equal(walk_for(chain[i]).found.object != NULL, i >= seen);
      if (i != 0) assert_int_equal(who(chain[i]).count, i > seen);
      cradle_describe_address(f.heap, chain[i], &what, sizeof what);
      assert_int_equal(what.kind, i >= seen ? CRADLE_ADDRESS_OBJECT : CRADLE_ADDRESS_DEAD);
    }
    partly += seen > 0 && seen < COUNT;
    assert_int_equal(who(value).count, walk_for(value).found.object != NULL);
    vector *large = cradle_new_array(f.m, T_VECTOR, LARGE);
    cradle_store(f.m, ephemeron, ephemeron + 2, large);
    cradle_describe_address(f.heap, large, &what, sizeof what);
    assert_int_equal(what.kind, CRADLE_ADDRESS_OBJECT);
    assert_int_equal(who(large).count, 1);
    assert_ptr_equal(walk_for(large).found.object, large);
  }
  if (!f.stressed) assert_true(partly > 3);
  final = cradle_finalizer_next(f.m, FINAL_QUEUE);
  assert_int_equal(who(final).count, 2);
  assert_int_equal(who(final[1]).count, 1);
}

static void *buffer[3]; /* a traced object's own */
static void trace_buffer(void *user, void *object, cradle_visitor *visitor) {
  (void)user;
  cradle_visit(visitor, (void **)object + 1, CRADLE_KIND_REFERENCE);
  for (size_t i = 0; i < 3; i++) cradle_visit(visitor, &buffer[i], CRADLE_KIND_REFERENCE);
}

static void objects_are_told_with_their_slots(void **state) {
  (void)state;
  uint32_t traced_type = cradle_type_add(f.heap, &(cradle_type){.name = "traced", .size = 16, .trace = trace_buffer});
  buffer[1] = NULL;
  pair *object = new_pair();
  CRADLE_ROOT(f.m, object);
  vector *holder = cradle_new_array(f.m, T_VECTOR, 9);
  CRADLE_ROOT(f.m, holder);
  values *tagged = cradle_new_array(f.m, T_VALUES, 4);
  CRADLE_ROOT(f.m, tagged);
  void **traced = cradle_new(f.m, traced_type, 16);
  CRADLE_ROOT(f.m, traced);
  for (int old = 0; old < 2; old++) {
    cradle_store(f.m, holder, &holder->item[3], object);
    cradle_store(f.m, holder, &holder->item[8], object);
    cradle_store_value(f.m, tagged, &tagged->item[1], (uint64_t)(uintptr_t)object + TAG);
    tagged->item[2] = (uint64_t)(uintptr_t)object; /* not a reference */
    cradle_store(f.m, object, &object->first, object);
    cradle_store(f.m, traced, traced + 1, object);
    buffer[1] = object;
    referrers r = who(object);
    assert_int_equal(r.count, 7);
    assert_referrer(&r.all[0], CRADLE_HOLDER_SCOPED_ROOT, "scoped root", 3);
    for (size_t i = 1; i < r.count; i++) {
      const cradle_referrer *one = &r.all[i];
      assert_int_equal(one->holder, CRADLE_HOLDER_OBJECT);
      if (one->object.object == holder)
        assert_true(one->index == 5 || one->index == 10);
      else if (one->object.object == tagged)
        assert_true(one->index == 3 && one->kind == CRADLE_KIND_VALUE);
      else if (one->object.object == object)
        assert_int_equal(one->index, 1);
      else
        assert_true(one->index == (one->slot == &buffer[1] ? CRADLE_INDEX_OUTSIDE : 1) && one->object.object == traced);
    }
    tagged->item[2] = 0;
    buffer[1] = NULL;
    if (!old) cradle_collect(f.m, CRADLE_COLLECT_FULL);
  }
  referrers one = {.most = 2};
  assert_int_equal(cradle_referrers(f.heap, object, keep, &one), CRADLE_WALK_STOPPED);
  assert_int_equal(one.count, 2);
  assert_int_equal(who(&one).count, 0);
  assert_int_equal(who(NULL).count, 0);
}

/* A walk may be what finds a broken slot. So it bears one that leads to where no memory is, and reports it. */
static void a_walk_bears_stale_references(void **state) {
  (void)state;
  pair *holder = new_pair();
  CRADLE_ROOT(f.m, holder);
  vector *large = cradle_new_array(f.m, T_VECTOR, LARGE);
  CRADLE_ROOT(f.m, large);
  cradle_memory memory;
  cradle_memory_report(f.heap, &memory, sizeof memory);
  for (size_t part = 1; part <= 16; part++) {
    holder->first = (pair *)(memory.arenas.start + memory.arenas.reserved_bytes / 16 * part - 8);
    assert_int_equal(who(holder->first).count, 1);
  }
  holder->first = NULL;
}

/* --- addresses --- */

static void assert_place(const void *address, cradle_address_kind kind, const void *object, uint64_t offset) {
  cradle_address_info what;
  cradle_describe_address(f.heap, address, &what, sizeof what);
  if (what.kind != kind) fail_msg("%p is of the kind %d, not %d", address, (int)what.kind, (int)kind);
  assert_ptr_equal(what.object.object, object);
  assert_int_equal(what.offset, offset);
}

static void addresses(void **state) {
  (void)state;
  int local = 0;
  pair *object = new_pair();
  CRADLE_ROOT(f.m, object);
  if (!f.stressed) {
    assert_place(object, CRADLE_ADDRESS_NURSERY, NULL, 0);
    assert_place((char *)object + 9, CRADLE_ADDRESS_NURSERY, NULL, 0);
  }
  assert_place(f.m->free, CRADLE_ADDRESS_NURSERY_FREE, NULL, 0);
  assert_place(&local, CRADLE_ADDRESS_OUTSIDE, NULL, 0);
  assert_place(NULL, CRADLE_ADDRESS_OUTSIDE, NULL, 0);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_place(object, CRADLE_ADDRESS_OBJECT, object, 0);
  assert_place((char *)object + 17, CRADLE_ADDRESS_INTERIOR, object, 17);
  assert_place(object + 1, CRADLE_ADDRESS_FREE, NULL, 0); /* the allocator's, not filled */
  string *odd = cradle_new_array(f.m, T_STRING, 1000);
  CRADLE_ROOT(f.m, odd);
  string *huge = cradle_new_array(f.m, T_STRING, (size_t)5 << 20);
  CRADLE_ROOT(f.m, huge);
  assert_place(huge, CRADLE_ADDRESS_OBJECT, huge, 0);
  assert_place(&huge->byte[4500000], CRADLE_ADDRESS_INTERIOR, huge, 4500000 + sizeof(string));
  assert_place(&huge->byte[(size_t)5 << 20], CRADLE_ADDRESS_FREE, NULL, 0);
  assert_place((char *)huge + ((size_t)6 << 20) - 8, CRADLE_ADDRESS_FREE, NULL, 0);
  assert_place((char *)huge + ((size_t)100 << 20), CRADLE_ADDRESS_FREE, NULL, 0);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  tally all = walk_for(odd);
  assert_true(all.found.place_bytes > all.found.bytes); /* the rest of its size class is no part of it */
  assert_place((char *)odd + all.found.bytes, CRADLE_ADDRESS_FREE, NULL, 0);
  assert_place((char *)odd + all.found.bytes - 1, CRADLE_ADDRESS_INTERIOR, odd, all.found.bytes - 1);
}

/* --- what is refused --- */

CRADLE_UNCHECKED_COLLECTION static bool allocate(void *data, const cradle_object_info *info) {
  (void)data, (void)info;
  return cradle_new(f.m, T_PAIR, sizeof(pair)) != NULL;
}

CRADLE_UNCHECKED_COLLECTION static bool walk_again(void *data, const cradle_object_info *info) {
  (void)info;
  return cradle_heap_walk(f.heap, walk_again, data) == CRADLE_WALK_COMPLETE;
}

static bool only_describe(void *data, const cradle_object_info *info) {
  (void)data;
  cradle_address_info what;
  cradle_describe_address(f.heap, info->object, &what, sizeof what);
  return what.kind != CRADLE_ADDRESS_OUTSIDE;
}

static cradle_walk_function walking;
static void walk(cradle_mutator *m) {
  (void)m;
  (void)cradle_heap_walk(f.heap, walking, NULL);
}

/* Only instruments that look for poison have it written. Otherwise what died keeps its words until they are used. */
CRADLE_UNCHECKED_COLLECTION static void nothing_is_poisoned_without_an_instrument(void **state) {
  (void)state;
  enum { LENGTH = 40000 };
  cradle_options options;
  fixture_options(&f, &options);
  fixture_unstress(&options);
  options.verify = false;
  fixture_open_with(&f, &options);
  cradle_push(f.m, new_pair());
  pair *kept = (pair *)*cradle_peek(f.m, 0);
  kept->rest = new_pair();
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  kept = (pair *)*cradle_peek(f.m, 0);
  pair *small = kept->rest;
  small->first = small->rest = kept;
  string *large = cradle_new_array(f.m, T_STRING, LENGTH);
  memset(large->byte, 0x55, LENGTH);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR); /* large dies */
  assert_int_equal(large->byte[0], 0x55);
  assert_int_equal(large->byte[LENGTH - 1], 0x55);
  kept->rest = NULL;
  cradle_collect(f.m, CRADLE_COLLECT_MAJOR); /* small dies */
  assert_true(fixture_stats(&f).old_bytes == sizeof(pair));
  assert_ptr_equal(small->first, kept);
  assert_ptr_equal(small->rest, kept);
  cradle_pop(f.m);
  fixture_close(&f);
}

static void callbacks_that_use_the_heap(void **state) {
  (void)state;
  static const struct {
    cradle_walk_function function;
    const char *words;
  } cases[] = {{allocate, "cradle_new: called from a callback of a heap walk"},
               {walk_again, "cradle_heap_walk: called from a callback of a heap walk"}};
  pair *object = new_pair();
  CRADLE_ROOT(f.m, object);
  for (size_t i = 0; i < 2; i++) {
    walking = cases[i].function;
    assert_refused_in_child(&f, walk, cases[i].words);
  }
  assert_int_equal(cradle_heap_walk(f.heap, only_describe, NULL), CRADLE_WALK_COMPLETE);
  cradle_no_collect_begin(f.m);
  assert_int_equal(walk_for(object).objects >= 1, 1);
  cradle_no_collect_end(f.m);
}

CRADLE_UNCHECKED_COLLECTION static void *walk_elsewhere(void *data) {
  (void)data;
  f.message[0] = '\0';
  tally all = {.most = 0};
  if (FIXTURE_LANDS(&f)) (void)cradle_heap_walk(f.heap, tell_object, &all);
  return NULL;
}

static void another_thread(void **state) {
  (void)state;
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, walk_elsewhere, NULL), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_non_null(strstr(f.message, "cradle_heap_walk: the mutator is not attached"));
}

/* --- names --- */

/* Every number that means something has its own name; any other number gets a name that says so. */
#define ASSERT_NAMED(name_of, last, unknown) \
  do { \
    for (int i = 0; i <= (int)(last); i++) { \
      assert_string_not_equal(name_of(i), ""); \
      for (int j = 0; j < i; j++) assert_string_not_equal(name_of(i), name_of(j)); \
    } \
    assert_string_equal(name_of((int)(last) + 1), unknown); \
  } while (0)

static void everything_has_a_name(void **state) {
  (void)state;
  ASSERT_NAMED(crd_cause_name, CRADLE_CAUSE_AGE, "unknown cause");
  ASSERT_NAMED(crd_phase_name, CRADLE_PHASE_CLEARING, "unknown phase");
}

/* --- without a mutator --- */

CRADLE_UNCHECKED_COLLECTION static void a_heap_without_a_mutator(void **state) {
  (void)state;
  static void *global;
  global = new_pair();
  cradle_global_root_add(f.heap, &global, CRADLE_KIND_REFERENCE);
  cradle_mutator_free(f.m);
  assert_int_equal(walk_for(global).objects, 1);
  referrers r = who(global);
  assert_int_equal(r.count, 1);
  assert_referrer(&r.all[0], CRADLE_HOLDER_GLOBAL_ROOT, "global root", 0);
  assert_place(global, CRADLE_ADDRESS_OBJECT, global, 0);
  f.m = cradle_mutator_new(f.heap);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_FIXTURE(each_object_once),
      WITH_FIXTURE(young_objects_and_holes),
      WITH_FIXTURE(a_large_object_may_be_all_that_is_young),
      cmocka_unit_test(everything_has_a_name),
      WITH_FIXTURE(a_walk_can_be_stopped),
      WITH_FIXTURE(the_dead_are_left_out),
      WITH_FIXTURE(while_marking),
      WITH_FIXTURE(roots_have_names),
      WITH_FIXTURE(objects_are_told_with_their_slots),
      WITH_FIXTURE(a_walk_bears_stale_references),
      WITH_FIXTURE(addresses),
      WITH_FIXTURE(more_roots_have_names),
      WITH_FIXTURE(each_finalizer_queue_has_its_number),
      WITH_FIXTURE(weak_slots_are_no_references),
      WITH_FIXTURE(while_the_dead_are_found),
      WITH_FIXTURE(immediates_of_pairs_are_no_addresses),
      WITH_FIXTURE(what_comes_back_leads_to_nothing_dead),
      cmocka_unit_test(young_objects_beside_a_small_old_generation),
      cmocka_unit_test(nothing_is_poisoned_without_an_instrument),
      WITH_FIXTURE(callbacks_that_use_the_heap),
      WITH_FIXTURE(another_thread),
      WITH_FIXTURE(a_heap_without_a_mutator),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
