/* Finalizers, destructors and external sizes. */
#include "tests/support/services.h"
#include "tests/support/waiting.h"

#include "tests/inside.h"

/* --- finalizers --- */

static void a_dead_object_comes_back_once(void **state) {
  (void)state;
  for (int way = 0; way < WAYS; way++) {
    fixture f;
    services_open(&f);
    {
      final *object = new_final(&f, 1, NULL);
      CRADLE_ROOT(f.m, object);
      pair *p = new_pair(&f, new_pair(&f, NULL));
      cradle_store(f.m, object, &object->to, p);
      age_for(&f, way);
      collect_by(&f, way);
      assert_int_equal(finalizers_waiting(f.m, QUEUE), 0);
      assert_null(cradle_finalizer_next(f.m, QUEUE));
      final *other = new_final(&f, 2, NULL);
      CRADLE_ROOT(f.m, other);
      age_for(&f, way);
      object = NULL;
      collect_by(&f, way == BY_MINOR ? BY_MAJOR : way);
      assert_int_equal(finalizers_waiting(f.m, QUEUE), 1);
      cradle_collect(f.m, CRADLE_COLLECT_MAJOR); /* what waits stays alive */
      cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
      object = cradle_finalizer_next(f.m, QUEUE);
      assert_int_equal(object->number, 1);
      assert_int_equal(cradle_type_of(((pair *)object->to)->first), T_PAIR);
      assert_null(cradle_finalizer_next(f.m, QUEUE));
      cradle_collect(f.m, CRADLE_COLLECT_MAJOR); /* resurrected: it is rooted here */
      assert_int_equal(cradle_type_of(((pair *)object->to)->first), T_PAIR);
      object = NULL;
      cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
      assert_int_equal(finalizers_waiting(f.m, QUEUE), 0); /* once */
      assert_int_equal(other->number, 2);
    }
    fixture_close(&f);
  }
}

static void a_young_object_comes_back_from_a_minor_collection(void **state) {
  (void)state;
  fixture f;
  services_open(&f);
  {
    final *object = new_final(&f, 7, new_pair(&f, NULL));
    CRADLE_ROOT(f.m, object);
    cradle_no_collect_begin(f.m);
    bool young = !f.stressed;
    object = NULL;
    cradle_no_collect_end(f.m);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    if (!young) cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    object = cradle_finalizer_next(f.m, QUEUE);
    assert_int_equal(object->number, 7);
    assert_int_equal(cradle_type_of(object->to), T_PAIR);
  }
  fixture_close(&f);
}

static void it_can_be_registered_again(void **state) {
  (void)state;
  fixture f;
  services_open(&f);
  {
    final *object = new_final(&f, 1, NULL);
    CRADLE_ROOT(f.m, object);
    for (int i = 0; i < 5; i++) {
      object = NULL;
      cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
      object = cradle_finalizer_next(f.m, QUEUE);
      assert_non_null(object);
      cradle_finalizer_register(f.m, object, QUEUE);
    }
    cradle_finalizer_register(f.m, object, OTHER_QUEUE); /* twice, in two queues */
    object = NULL;
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    object = cradle_finalizer_next(f.m, QUEUE);
    assert_ptr_equal(object, cradle_finalizer_next(f.m, OTHER_QUEUE));
    pair *plain = new_pair(&f, NULL); /* any type will do */
    cradle_finalizer_register(f.m, plain, OTHER_QUEUE);
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    assert_int_equal(cradle_type_of(cradle_finalizer_next(f.m, OTHER_QUEUE)), T_PAIR);
  }
  fixture_close(&f);
}

/* A heap whose types have no finalizer has lists for other services only, until the program registers an object. */
static void the_first_finalizer_may_come_after_a_destructor(void **state) {
  (void)state;
  fixture f;
  int closed = 0;
  fixture_open(&f);
  {
    uint32_t type = cradle_type_add(f.heap, &service_types[T_FILE - T_COUNT]);
    file *object = CRADLE_NEW_WITH(f.m, file, type, 0);
    object->closed = &closed;
    CRADLE_ROOT(f.m, object);
    cradle_finalizer_register(f.m, new_pair(&f, NULL), QUEUE);
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    assert_int_equal(finalizers_waiting(f.m, QUEUE), 1);
    assert_int_equal(cradle_type_of(cradle_finalizer_next(f.m, QUEUE)), T_PAIR);
    assert_int_equal(closed, 0);
  }
  fixture_close(&f);
  assert_int_equal(closed, 1);
}

/* Drains the queue and writes the delivered numbers to order. */
static size_t drain(fixture *f, uint64_t *order, size_t most) {
  size_t count = 0;
  for (final *object; (object = cradle_finalizer_next(f->m, QUEUE)) != NULL && count < most;)
    order[count++] = object->number;
  return count;
}

/* Objects 0 to count - 1, registered in this order, each with up to two references, all dead at once. */
typedef struct edge {
  size_t from, to;
} edge;
static void order_of(fixture *f, int way, size_t count, const edge *edges, size_t edge_count, uint64_t *order)
    CRADLE_MAY_COLLECT {
  vector *all = cradle_new_array(f->m, T_VECTOR, count);
  CRADLE_ROOT(f->m, all);
  for (size_t i = 0; i < count; i++) {
    final *object = new_final(f, i, NULL);
    cradle_store(f->m, all, &all->item[i], object);
  }
  for (size_t i = 0; i < edge_count; i++) {
    pair *between = new_pair(f, all->item[edges[i].to]); /* through an object without a finalizer */
    final *from = all->item[edges[i].from];
    cradle_store(f->m, from, from->to == NULL ? &from->to : &from->other, between);
  }
  age_for(f, way);
  all = NULL;
  collect_by(f, way);
  assert_int_equal(drain(f, order, count), count);
}

static void referrers_come_first(void **state) {
  (void)state;
  static const struct {
    size_t count;
    edge edges[8];
    size_t edge_count;
    uint64_t order[6];
  } cases[] = {
      {4, {{0, 0}}, 0, {0, 1, 2, 3}},      /* unrelated: registration order */
      {3, {{2, 1}, {1, 0}}, 2, {2, 1, 0}}, /* a chain, the last registered leads */
      {3, {{0, 1}, {1, 2}}, 2, {0, 1, 2}},
      {4, {{3, 1}, {3, 0}, {1, 2}, {0, 2}}, 4, {3, 1, 0, 2}}, /* a diamond: as the slots have them */
      {2, {{0, 1}, {1, 0}}, 2, {0, 1}},                       /* cycles: registration order */
      {3, {{0, 2}, {2, 1}, {1, 0}}, 3, {0, 1, 2}},
      {3, {{0, 2}, {2, 1}, {1, 2}}, 3, {0, 1, 2}},                               /* entered at its last member */
      {5, {{4, 3}, {3, 4}, {3, 1}, {1, 2}, {2, 1}, {2, 0}}, 6, {3, 4, 1, 2, 0}}, /* two cycles and an end */
      {1, {{0, 0}}, 1, {0}},
  };
  for (int way = 0; way < WAYS; way++)
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      fixture f;
      uint64_t order[6];
      services_open(&f);
      order_of(&f, way, cases[i].count, cases[i].edges, cases[i].edge_count, order);
      if (!f.stressed) /* in that case they need not die in the same collection */
        for (size_t at = 0; at < cases[i].count; at++)
          if (order[at] != cases[i].order[at])
            fail_msg("case %zu, way %d: object %d came at place %zu", i, way, (int)order[at], at);
      fixture_close(&f);
    }
}

typedef struct traced {
  uint64_t header;
  void *hidden;
} traced;
static void trace_hidden(void *user, void *object, cradle_visitor *visitor) {
  (void)user;
  cradle_visit(visitor, &((traced *)object)->hidden, CRADLE_KIND_REFERENCE);
}

/* The ways in which an object can lead to one that was registered before it. */
enum { BY_ITEM, BY_VALUE_ITEM, BY_CALLBACK, BY_PAIR, AS_KEY, LEADS };

/* An object that leads to the other, which lives until the caller drops both. */
static void *new_leader(fixture *f, int leads, uint32_t traced_type, void *to, vector *keep) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(f->m, to);
  CRADLE_ROOT(f->m, keep);
  if (leads == BY_ITEM) {
    vector *items = cradle_new_array(f->m, T_VECTOR, 3);
    items->item[2] = to;
    return items;
  }
  if (leads == BY_VALUE_ITEM) {
    values *items = cradle_new_array(f->m, T_VALUES, 3);
    items->item[2] = (uintptr_t)to;
    return items;
  }
  if (leads == BY_CALLBACK) {
    traced *object = CRADLE_NEW(f->m, traced, traced_type);
    object->hidden = to;
    return object;
  }
  pair *key = new_pair(f, NULL);
  CRADLE_ROOT(f->m, key);
  ephemeron *e = new_ephemeron(f, key, to);
  cradle_store(f->m, keep, &keep->item[0], leads == AS_KEY ? (void *)e : key);
  return leads == AS_KEY ? (void *)key : e;
}

static void referrers_of_every_kind_come_first(void **state) {
  (void)state;
  for (int way = 0; way < WAYS; way++)
    for (int leads = 0; leads < LEADS; leads++) {
      fixture f;
      services_open(&f);
      uint32_t traced_type =
          cradle_type_add(f.heap, &(cradle_type){.name = "traced", .size = sizeof(traced), .trace = trace_hidden});
      fixture_skip_stressed(&f, "the dead need not die in one collection");
      {
        vector *keep = cradle_new_array(f.m, T_VECTOR, 1);
        CRADLE_ROOT(f.m, keep);
        string *last = cradle_new_array(f.m, T_STRING, 7); /* leads nowhere */
        CRADLE_ROOT(f.m, last);
        cradle_finalizer_register(f.m, last, QUEUE);
        void *first = new_leader(&f, leads, traced_type, last, keep);
        CRADLE_ROOT(f.m, first);
        cradle_finalizer_register(f.m, first, QUEUE);
        age_for(&f, way);
        first = last = NULL;
        collect_by(&f, way);
        assert_int_equal(finalizers_waiting(f.m, QUEUE), 2);
        first = cradle_finalizer_next(f.m, QUEUE);
        if (cradle_type_of(first) == T_STRING) fail_msg("kind %d, way %d: the referrer came last", leads, way);
        last = cradle_finalizer_next(f.m, QUEUE);
        assert_int_equal(cradle_type_of(last), T_STRING);
      }
      fixture_close(&f);
    }
}

/* A leaf that the program registered comes after the object that leads to it, whichever was registered first; also if
 * it was registered twice. */
static void a_registered_leaf_comes_after_its_referrer(void **state) {
  (void)state;
  for (int way = 0; way < WAYS; way++)
    for (int leaf_first = 0; leaf_first < 2; leaf_first++) {
      fixture f;
      services_open(&f);
      fixture_skip_stressed(&f, "the dead need not die in one collection");
      {
        string *leaf = cradle_new_array(f.m, T_STRING, 7);
        CRADLE_ROOT(f.m, leaf);
        pair *holder = new_pair(&f, NULL);
        CRADLE_ROOT(f.m, holder);
        holder->first = (pair *)leaf;
        cradle_finalizer_register(f.m, leaf_first ? (void *)leaf : (void *)holder, QUEUE);
        cradle_finalizer_register(f.m, leaf_first ? (void *)holder : (void *)leaf, QUEUE);
        cradle_finalizer_register(f.m, leaf, QUEUE);
        age_for(&f, way);
        leaf = NULL;
        holder = NULL;
        collect_by(&f, way);
        assert_int_equal(finalizers_waiting(f.m, QUEUE), 3);
        if (cradle_type_of(cradle_finalizer_next(f.m, QUEUE)) != T_PAIR) fail_msg("way %d, order %d", way, leaf_first);
        leaf = cradle_finalizer_next(f.m, QUEUE);
        assert_int_equal(cradle_type_of(leaf), T_STRING);
        assert_ptr_equal(cradle_finalizer_next(f.m, QUEUE), leaf);
      }
      fixture_close(&f);
    }
}

/* Random graphs: whoever leads to another and is not led to by it comes first. */
static void random_graphs_come_in_order(void **state) {
  (void)state;
  enum { COUNT = 12, EDGES = 16 };
  uint64_t random = 12345;
  for (int round = 0; round < 60; round++) {
    fixture f;
    edge edges[EDGES];
    size_t edge_count = 0, out[COUNT] = {0};
    bool reaches[COUNT][COUNT] = {{false}};
    uint64_t order[COUNT];
    services_open(&f);
    if (f.stressed) {
      fixture_close(&f);
      return; /* they would not die together; the run without stress has it */
    }
    while (edge_count < EDGES) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      size_t from = random >> 33 & 0xfff, to = random >> 45 & 0xfff;
      from %= COUNT, to %= COUNT;
      if (out[from] == 2) continue;
      out[from]++;
      edges[edge_count++] = (edge){from, to};
      reaches[from][to] = true;
    }
    for (size_t k = 0; k < COUNT; k++)
      for (size_t i = 0; i < COUNT; i++)
        for (size_t j = 0; j < COUNT; j++) reaches[i][j] = reaches[i][j] || (reaches[i][k] && reaches[k][j]);
    order_of(&f, round % WAYS, COUNT, edges, edge_count, order);
    for (size_t i = 0; i < COUNT; i++)
      for (size_t j = i + 1; j < COUNT; j++) {
        size_t earlier = order[i], later = order[j];
        if (reaches[later][earlier] && !reaches[earlier][later])
          fail_msg("%zu came before %zu, which leads to it", earlier, later);
        if (reaches[later][earlier] && earlier > later)
          fail_msg("a cycle out of registration order: %zu, %zu", earlier, later);
      }
    fixture_close(&f);
  }
}

static void a_finalizer_may_allocate_resurrect_and_longjmp(void **state) {
  (void)state;
  fixture f;
  services_open(&f);
  {
    vector *saved = cradle_new_array(f.m, T_VECTOR, 100);
    CRADLE_ROOT(f.m, saved);
    for (size_t i = 0; i < 100; i++) (void)new_final(&f, i, NULL);
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    volatile size_t done = 0;
    cradle_checkpoint before = cradle_checkpoint_save(f.m);
    jmp_buf landing;
    while (finalizers_waiting(f.m, QUEUE) != 0) {
      if (setjmp(landing) != 0) {
        cradle_checkpoint_restore(f.m, &before);
        continue;
      }
      final *object = cradle_finalizer_next(f.m, QUEUE);
      CRADLE_ROOT(f.m, object);
      done++;
      for (int n = 0; n < 300; n++) (void)new_pair(&f, NULL); /* it collects on the way */
      (void)new_final(&f, 1000, NULL);                        /* and dies with work for another one */
      cradle_store(f.m, saved, &saved->item[object->number % 100], object);
      if (object->number % 3 == 0) longjmp(landing, 1);
      if (done > 400) break;
    }
    assert_true(done > 200); /* those that were made meanwhile came, too */
    for (size_t i = 1; i < 100; i++) assert_int_equal(((final *)saved->item[i])->number, i);
  }
  fixture_close(&f);
}

/* A young object comes back while marking goes on, and only it leads to an old one that has not been marked. */
static void what_it_leads_to_is_marked(void **state) {
  (void)state;
  fixture f;
  services_open(&f);
  {
    pair *list = NULL;
    CRADLE_ROOT(f.m, list);
    for (int i = 0; i < 3000; i++) {
      pair *p = new_pair(&f, NULL);
      p->rest = list;
      list = p;
      if (i != 0) continue;
      p = new_pair(&f, NULL);
      cradle_store(f.m, list, &list->first, p);
    }
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    (void)cradle_collect_step(f.m, 0); /* marks a few from the head */
    final *object = new_final(&f, 1, NULL);
    pair *tail = list;
    while (tail->rest != NULL) tail = tail->rest;
    cradle_store(f.m, object, &object->to, tail->first);
    cradle_store(f.m, tail, &tail->first, NULL);
    object = NULL;
    collect_by(&f, BY_STEPS);
    object = cradle_finalizer_next(f.m, QUEUE);
    assert_int_equal(cradle_type_of(object->to), T_PAIR);
    assert_null(((pair *)object->to)->first);
  }
  fixture_close(&f);
}

static void many_in_several_queues(void **state) {
  (void)state;
  fixture f;
  services_open(&f);
  {
    enum { COUNT = 10000 };
    size_t count = f.stressed ? 200 : COUNT, seen[2] = {0, 0};
    for (size_t i = 0; i < count; i++) {
      final *object = new_final(&f, i, NULL);
      CRADLE_ROOT(f.m, object);
      if (i % 4 == 0) cradle_finalizer_register(f.m, object, OTHER_QUEUE);
    }
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    assert_int_equal(finalizers_waiting(f.m, QUEUE), count);
    assert_int_equal(finalizers_waiting(f.m, OTHER_QUEUE), count / 4);
    while (cradle_finalizer_next(f.m, OTHER_QUEUE) != NULL) seen[1]++;
    while (cradle_finalizer_next(f.m, QUEUE) != NULL) seen[0]++;
    assert_int_equal(seen[0], count);
    assert_int_equal(seen[1], count / 4);
  }
  fixture_close(&f);
}

/* What waits in each queue, with what it leads to, lives through every kind of collection until it is taken out. */
static void what_waits_in_any_queue_lives(void **state) {
  (void)state;
  fixture f;
  services_open(&f);
  for (uint32_t queue = 1; queue <= CRADLE_FINALIZER_QUEUES; queue++)
    for (int way = 0; way < WAYS; way++) {
      int closed = 0;
      {
        file *owned = new_file(&f, &closed, 8);
        CRADLE_ROOT(f.m, owned);
        pair *object = new_pair(&f, (pair *)owned);
        CRADLE_ROOT(f.m, object);
        cradle_finalizer_register(f.m, object, queue);
      }
      collect_by(&f, way);
      assert_int_equal(finalizers_waiting(f.m, queue), 1);
      for (int again = 0; again < WAYS; again++) {
        collect_by(&f, again);
        (void)new_pair(&f, NULL); /* in the place of what was freed by mistake */
        assert_heap_sound(f.heap);
        assert_int_equal(closed, 0);
      }
      pair *object = cradle_finalizer_next(f.m, queue);
      assert_int_equal(cradle_type_of(object), T_PAIR);
      assert_int_equal(cradle_type_of(object->first), T_FILE);
      assert_ptr_equal(((file *)object->first)->closed, &closed);
      object = NULL;
      collect_by(&f, way);
      collect_by(&f, BY_MAJOR);
      assert_int_equal(closed, 1);
    }
  fixture_close(&f);
}

/* Compaction moves it, and the queue follows. */
static void what_waits_in_any_queue_moves(void **state) {
  (void)state;
  fixture f;
  services_open(&f);
  for (uint32_t queue = 1; queue <= CRADLE_FINALIZER_QUEUES; queue++)
    cradle_finalizer_register(f.m, new_final(&f, queue, NULL), queue);
  cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
  uint64_t moved = fixture_stats(&f).moved_old_objects;
  crd_collect_major(f.heap, CRADLE_CAUSE_STRESS, CRADLE_COLLECT_COMPACTING);
  assert_true(fixture_stats(&f).moved_old_objects >= moved + CRADLE_FINALIZER_QUEUES);
  for (int way = 0; way < WAYS; way++) collect_by(&f, way);
  for (uint32_t queue = 2; queue <= CRADLE_FINALIZER_QUEUES; queue++) {
    const final *object = cradle_finalizer_next(f.m, queue);
    assert_int_equal(cradle_type_of(object), T_FINAL);
    assert_int_equal(object->number, queue);
  }
  fixture_close(&f);
}

static void all_are_queued_at_the_end_of_a_program(void **state) {
  (void)state;
  fixture f;
  services_open(&f);
  {
    vector *keep = cradle_new_array(f.m, T_VECTOR, 20);
    CRADLE_ROOT(f.m, keep);
    for (size_t i = 0; i < 20; i++) {
      final *object = new_final(&f, i, NULL);
      cradle_store(f.m, keep, &keep->item[i], object);
    }
    cradle_finalizer_queue_all(f.m);
    uint64_t order[20];
    assert_int_equal(drain(&f, order, 20), 20);
    for (size_t i = 0; i < 20; i++) assert_int_equal(order[i], 19 - i);
    keep = NULL;
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    assert_null(cradle_finalizer_next(f.m, QUEUE));
  }
  fixture_close(&f);
}

/* --- destructors --- */

static void a_destructor_runs_once(void **state) {
  (void)state;
  for (int way = 0; way < WAYS; way++) {
    fixture f;
    int closed = 0, kept = 0;
    services_open(&f);
    {
      file *keep = new_file(&f, &kept, 0);
      CRADLE_ROOT(f.m, keep);
      file *dead = new_file(&f, &closed, 0);
      CRADLE_ROOT(f.m, dead);
      age_for(&f, way);
      assert_int_equal(closed, 0);
      dead = NULL;
      collect_by(&f, way);
      assert_int_equal(closed, 1);
      cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
      assert_int_equal(closed, 1);
      assert_int_equal(kept, 0);
    }
    fixture_close(&f);
    assert_int_equal(closed, 1);
    assert_int_equal(kept, 1); /* when the heap is freed */
  }
}

/* Freed while a major collection is anywhere: each destructor runs once all the same. */
static void a_heap_that_is_freed_half_way(void **state) {
  (void)state;
  for (int steps = 0; steps < 40; steps++) {
    fixture f;
    int closed[400] = {0};
    services_open(&f);
    {
      vector *keep = cradle_new_array(f.m, T_VECTOR, 200);
      CRADLE_ROOT(f.m, keep);
      for (size_t i = 0; i < 400; i++) {
        file *object = new_file(&f, &closed[i], 0);
        if (i < 200) cradle_store(f.m, keep, &keep->item[i], object);
      }
      cradle_collect(f.m, CRADLE_COLLECT_MINOR);
      for (size_t i = 0; i < 200; i += 2) cradle_store(f.m, keep, &keep->item[i], NULL);
      for (int i = 0; i < steps; i++) (void)cradle_collect_step(f.m, 0);
    }
    fixture_close(&f);
    for (size_t i = 0; i < 400; i++) assert_int_equal(closed[i], 1);
  }
}

/* An object that a finalizer holds is not destroyed until it is unreachable for good. */
static void what_a_finalizer_brings_back_is_not_destroyed(void **state) {
  (void)state;
  for (int way = 0; way < WAYS; way++) {
    fixture f;
    int closed = 0;
    services_open(&f);
    {
      final *object = new_final(&f, 1, NULL);
      CRADLE_ROOT(f.m, object);
      file *owned = new_file(&f, &closed, 0);
      cradle_store(f.m, object, &object->to, owned);
      age_for(&f, way);
      object = NULL;
      collect_by(&f, way);
      assert_int_equal(closed, 0);
      object = cradle_finalizer_next(f.m, QUEUE);
      assert_ptr_equal(((file *)object->to)->closed, &closed);
      object = NULL;
      cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
      assert_int_equal(closed, 1);
    }
    fixture_close(&f);
  }
}

/* --- bad destructors --- */

static fixture *victim;
static jmp_buf out;
enum { ALLOCATES, COLLECTS, READS_WEAK_SETS, LEAVES };
static int crime;

CRADLE_UNCHECKED_COLLECTION static void commit_a_crime(void *user, void *object) {
  (void)user;
  (void)object;
  if (victim == NULL) return;
  fixture *f = victim;
  victim = NULL;
  if (crime == ALLOCATES) (void)cradle_new(f->m, T_PAIR, sizeof(pair));
  if (crime == COLLECTS) cradle_collect(f->m, CRADLE_COLLECT_MINOR);
  if (crime == READS_WEAK_SETS) (void)cradle_weak_set_new(f->m, NULL, NULL);
  if (crime == LEAVES) longjmp(out, 1);
}

/* Refused with a message. The heap is in the middle of a collection then, and fit for nothing: the handler of a real
 * program ends it, and this test leaves it where it is. */
static void a_destructor_that_uses_the_heap_is_refused(void **state) {
  (void)state;
  for (crime = ALLOCATES; crime <= LEAVES; crime++)
    for (int way = 0; way < BY_STEPS; way++) {
      static fixture left[(LEAVES + 1) * BY_STEPS];
      fixture *f = &left[crime * BY_STEPS + way];
      services_open(f);
      uint32_t type =
          cradle_type_add(f->heap, &(cradle_type){.name = "criminal", .size = 16, .destructor = commit_a_crime});
      victim = NULL;
      (void)cradle_new_registered(f->m, type, 16);
      age_for(f, way);
      victim = f;
      if (crime == LEAVES && setjmp(out) == 0) collect_by(f, way);
      if (FIXTURE_LANDS(f)) {
        if (crime == LEAVES)
          (void)cradle_new(f->m, T_PAIR, sizeof(pair));
        else
          collect_by(f, way);
        if (victim == NULL) fail_msg("not refused: crime %d, way %d", crime, way);
      }
      if (victim != NULL) continue; /* under stress the object may have died before */
      assert_non_null(strstr(f->message, "called from a destructor"));
    }
}

/* --- external sizes --- */

static void external_sizes_count(void **state) {
  (void)state;
  fixture f;
  services_open(&f);
  {
    file *keep = new_file(&f, NULL, 1000000);
    CRADLE_ROOT(f.m, keep);
    file *dead = new_file(&f, NULL, 500000);
    CRADLE_ROOT(f.m, dead);
    if (!f.stressed) assert_int_equal(fixture_stats(&f).external_bytes, 0); /* young */
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    if (f.stressed) cradle_collect(f.m, CRADLE_COLLECT_MAJOR); /* promoted before they had their sizes */
    assert_int_equal(fixture_stats(&f).external_bytes, 1500000);
    keep->bytes = 3000000;
    dead = NULL;
    collect_by(&f, BY_STEPS);
    assert_int_equal(fixture_stats(&f).external_bytes, 3000000);
    cradle_external_memory(f.m, 77);
    keep = NULL;
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    assert_int_equal(fixture_stats(&f).external_bytes, 77);
    cradle_external_memory(f.m, -77);
  }
  fixture_close(&f);
}

static void what_objects_own_is_not_taken_away(void **state) {
  (void)state;
  fixture f;
  services_open(&f);
  cradle_handle keep = cradle_handle_new(f.m, new_file(&f, NULL, 1000000));
  cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
  if (f.stressed) cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
  assert_int_equal(fixture_stats(&f).external_bytes, 1000000);
  ASSERT_MISUSE(&f, "more bytes are removed than were added", cradle_external_memory(f.m, -1));
  cradle_handle_free(f.m, keep);
  fixture_close(&f);
}

/* Callbacks that answer nonsense count as the most that is counted, and nothing of it stays when the objects are
 * gone. */
static void external_sizes_do_not_wrap_around(void **state) {
  (void)state;
  const uint64_t most = UINT64_C(1) << 60;
  fixture f;
  services_open(&f);
  {
    file *object = new_file(&f, NULL, SIZE_MAX);
    CRADLE_ROOT(f.m, object);
    file *other = new_file(&f, NULL, 10);
    CRADLE_ROOT(f.m, other);
    cradle_external_memory(f.m, 77);
    for (int way = BY_MINOR; way < WAYS; way++) {
      collect_by(&f, way);
      if (!f.stressed || way != BY_MINOR) assert_int_equal(fixture_stats(&f).external_bytes, most + 77);
    }
    cradle_external_pressure(f.m, SIZE_MAX);
    cradle_external_pressure(f.m, 10);
    if (!f.stressed) assert_int_equal(fixture_stats(&f).external_bytes, 2 * most + 77);
    object = NULL;
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    assert_int_equal(fixture_stats(&f).external_bytes, 10 + 77);
    f.checkpoint = cradle_checkpoint_save(f.m);
    ASSERT_MISUSE(&f, "more bytes are removed than were added", cradle_external_memory(f.m, -78));
    cradle_external_memory(f.m, -77);
    assert_int_equal(fixture_stats(&f).external_bytes, 10);
  }
  fixture_close(&f);
}

/* A few small objects own large buffers: external memory causes collections, and the buffers are freed. */
static void pressure_brings_collections_forward(void **state) {
  (void)state;
  fixture f;
  int closed = 0;
  services_open(&f);
  {
    uint64_t minors = fixture_stats(&f).minor_collections;
    for (int i = 0; i < 300; i++) {
      (void)new_file(&f, &closed, 20000);
      cradle_external_pressure(f.m, 20000);
    }
    /* the nursery of 64 KiB is worth three buffers */
    assert_true(fixture_stats(&f).minor_collections >= minors + 50);
    assert_true(closed >= 290);
    assert_true(fixture_stats(&f).external_bytes <= 100000);
  }
  fixture_close(&f);
}

/* Between two increments its header may say where it is in the order instead of its flags: nobody gets to see it then,
 * and the verifier knows, also where something dead leads to it. */
static void what_is_on_its_way_back_is_not_seen(void **state) {
  (void)state;
  enum { LENGTH = 3000 };
  fixture f;
  services_open(&f);
  {
    pair *chain = NULL, *dead = NULL;
    CRADLE_ROOT(f.m, chain);
    CRADLE_ROOT(f.m, dead);
    for (int i = 0; i < LENGTH; i++) chain = new_pair(&f, chain);
    dead = new_pair(&f, chain);
    final *object = new_final(&f, 1, chain);
    CRADLE_ROOT(f.m, object);
    uint64_t id = cradle_id(f.m, object);
    uint32_t hash = cradle_identity_hash(f.m, object);
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    object = NULL;
    chain = dead = NULL;
    uint64_t steps = 0, clearing = 0;
    while (!cradle_collect_step(f.m, 0) || steps == 0) {
      assert_heap_sound(f.heap);
      steps++;
      if (fixture_stats(&f).phase != CRADLE_PHASE_CLEARING) continue;
      clearing++;
      final *found = cradle_object_of_id(f.m, id);
      if (found == NULL) continue;
      assert_int_equal(cradle_identity_hash(f.m, found), hash);
      assert_int_equal(cradle_id(f.m, found), id);
    }
    assert_true(clearing > 1 || f.stressed);
    collect_by(&f, BY_MAJOR);
    object = cradle_finalizer_next(f.m, QUEUE);
    assert_ptr_equal(cradle_object_of_id(f.m, id), object);
    assert_int_equal(cradle_identity_hash(f.m, object), hash);
    int length = 0;
    for (const pair *p = object->to; p != NULL; p = p->first) length++;
    assert_int_equal(length, LENGTH);
  }
  fixture_close(&f);
}

/* A large component closes over many increments, and between them the program sees all of its objects or none. */
static void a_component_is_seen_whole_or_not_at_all(void **state) {
  (void)state;
  enum { COUNT = 1500 };
  fixture f;
  services_open(&f);
  fixture_skip_stressed(&f, "it looks between increments of its own");
  {
    uint64_t ids[COUNT];
    vector *all = cradle_new_array(f.m, T_VECTOR, COUNT);
    CRADLE_ROOT(f.m, all);
    for (size_t i = 0; i < COUNT; i++) {
      final *object = new_final(&f, i, i == 0 ? NULL : all->item[i - 1]);
      cradle_store(f.m, all, &all->item[i], object);
      ids[i] = cradle_id(f.m, all->item[i]);
    }
    final *first = all->item[0];
    cradle_store(f.m, first, &first->to, all->item[COUNT - 1]);
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    all = NULL;
    size_t none = 0;
    while (finalizers_waiting(f.m, QUEUE) == 0) {
      (void)cradle_collect_step(f.m, 0);
      size_t seen = 0;
      for (size_t i = 0; i < COUNT; i++) seen += cradle_object_of_id(f.m, ids[i]) != NULL;
      if (seen != 0 && seen != COUNT) fail_msg("%zu of %d objects are seen", seen, COUNT);
      none += seen == 0;
    }
    assert_true(none > 20);
    for (size_t i = 0; i < COUNT; i++) assert_int_equal(((final *)cradle_finalizer_next(f.m, QUEUE))->number, i);
  }
  fixture_close(&f);
}

static void misuse_of_finalizers(void **state) {
  (void)state;
  fixture f;
  services_open(&f);
  {
    pair *p = new_pair(&f, NULL);
    CRADLE_ROOT(f.m, p);
    cradle_checkpoint rooted = cradle_checkpoint_save(f.m);
    f.checkpoint = rooted;
    ASSERT_MISUSE(&f, "cradle_finalizer_next: no queue 0: queues are 1 to 7", cradle_finalizer_next(f.m, 0));
    (void)new_weak(&f, NULL); /* from now on there is a fast path */
    ASSERT_MISUSE(&f, "allocation of 4294967295 bytes", (void)cradle_new_registered(f.m, T_WEAK, SIZE_MAX));
    ASSERT_MISUSE(&f, "no queue 8", cradle_finalizer_register(f.m, p, 8));
    ASSERT_MISUSE(&f, "not in this heap", cradle_finalizer_register(f.m, &f, QUEUE));
    assert_null(cradle_finalizer_next(f.m, 7));
    assert_int_equal(finalizers_waiting(f.m, 1), 0);
  }
  fixture_close(&f);
}

/* Each registration takes a place in every stack that it may come to [services.3]. */
static void many_are_registered_late(void **state) {
  (void)state;
  fixture f;
  services_open(&f);
  size_t count = f.stressed ? 100 : 50000;
  for (size_t i = 0; i < count; i++) cradle_finalizer_register(f.m, cradle_new(f.m, T_PAIR, sizeof(pair)), QUEUE);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  assert_int_equal(finalizers_waiting(f.m, QUEUE), count);
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_dead_object_comes_back_once),
      cmocka_unit_test(a_young_object_comes_back_from_a_minor_collection),
      cmocka_unit_test(it_can_be_registered_again),
      cmocka_unit_test(the_first_finalizer_may_come_after_a_destructor),
      cmocka_unit_test(many_are_registered_late),
      cmocka_unit_test(referrers_come_first),
      cmocka_unit_test(referrers_of_every_kind_come_first),
      cmocka_unit_test(a_registered_leaf_comes_after_its_referrer),
      cmocka_unit_test(a_component_is_seen_whole_or_not_at_all),
      cmocka_unit_test(random_graphs_come_in_order),
      cmocka_unit_test(a_finalizer_may_allocate_resurrect_and_longjmp),
      cmocka_unit_test(what_it_leads_to_is_marked),
      cmocka_unit_test(many_in_several_queues),
      cmocka_unit_test(what_waits_in_any_queue_lives),
      cmocka_unit_test(what_waits_in_any_queue_moves),
      cmocka_unit_test(all_are_queued_at_the_end_of_a_program),
      cmocka_unit_test(a_destructor_runs_once),
      cmocka_unit_test(a_heap_that_is_freed_half_way),
      cmocka_unit_test(what_a_finalizer_brings_back_is_not_destroyed),
      cmocka_unit_test(a_destructor_that_uses_the_heap_is_refused),
      cmocka_unit_test(external_sizes_count),
      cmocka_unit_test(external_sizes_do_not_wrap_around),
      cmocka_unit_test(what_objects_own_is_not_taken_away),
      cmocka_unit_test(pressure_brings_collections_forward),
      cmocka_unit_test(what_is_on_its_way_back_is_not_seen),
      cmocka_unit_test(misuse_of_finalizers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
