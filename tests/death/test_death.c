/* The order of death from the inside: its stages between increments, and the memory of its lists. */
#include "tests/support/allocated.h"
#include "tests/support/services.h"
#include "tests/support/waiting.h"

#include "tests/inside.h"

/* Without a pause target, so that all finalizers that fit may be young together. */
static void large_nursery(cradle_options *options) {
  options->nursery_bytes = 64 << 20;
  options->pause_ns = 0;
}

/* SIZE_MAX where the system does not tell. */
static size_t resident_in(const crd_word_stack *stack) {
  crd_pages_backing backing;
  return crd_pages_backing_of(stack->base, word_stack_committed(stack), &backing) ? backing.resident_bytes : SIZE_MAX;
}

/* The stacks that finalizers use. */
static size_t resident_in_all(const fixture *f) {
  const crd_services *s = inside_services(f->heap);
  const crd_word_stack *stacks[] = {&inside_local(f->heap)->fresh, &s->lists[REGISTERED_FINALIZER].words,
                                    &s->queues[QUEUE - 1].words,   &s->minor.candidates.entries,
                                    &s->minor.candidates.ordered,  &s->major.candidates.entries,
                                    &s->major.candidates.ordered};
  size_t bytes = 0;
  for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) bytes += resident_in(stacks[i]);
  return bytes;
}

/* Lists and queues give back memory that they no longer need, and keep their entries. */
static void lists_give_their_memory_back(void **state) {
  (void)state;
  fixture f;
  services_open_with(&f, large_nursery);
  fixture_skip_stressed(&f, "nothing is given back");
  {
    enum { COUNT = 200000, KEPT = 1000, WAITING = 500 };
    vector *keep = cradle_new_array(f.m, T_VECTOR, KEPT);
    CRADLE_ROOT(f.m, keep);
    for (size_t i = 0; i < COUNT; i++) {
      final *object = new_final(&f, i, NULL);
      if (i < KEPT) cradle_store(f.m, keep, &keep->item[i], object);
    }
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    const crd_word_stack *candidates = &inside_services(f.heap)->minor.candidates.entries;
    size_t full = resident_in_all(&f);
    bool told = resident_in(candidates) != SIZE_MAX;
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    if (told) assert_int_equal(resident_in(candidates), 0); /* more than a mebibyte goes with each major collection */
    for (size_t i = 0; i < COUNT - KEPT - WAITING; i++) assert_non_null(cradle_finalizer_next(f.m, QUEUE));
    assert_int_equal(finalizers_waiting(f.m, QUEUE), WAITING);
    cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
    assert_int_equal(finalizers_waiting(f.m, QUEUE), WAITING);
    while (cradle_finalizer_next(f.m, QUEUE) != NULL) continue;
    cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
    if (told) assert_in_range(resident_in_all(&f), 0, full / 32);
    keep = NULL;
    cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
    assert_int_equal(finalizers_waiting(f.m, QUEUE), KEPT);
  }
  fixture_close(&f);
}

static void quarantine(cradle_options *options) {
  options->quarantine = 2;
}

/* Uses every table that a heap has, and frees the heap with all of it. */
static void live_and_die(void (*change)(cradle_options *options)) CRADLE_MAY_COLLECT {
  enum { COUNT = 40 };
  static void *globals[COUNT];
  static cradle_handle handles[COUNT];
  fixture f;
  services_open_with(&f, change);
  cradle_weak_set *set = cradle_weak_set_new(f.m, NULL, NULL), *last = NULL;
  {
    vector *keep = cradle_new_array(f.m, T_VECTOR, COUNT);
    CRADLE_ROOT(f.m, keep);
    for (size_t i = 0; i < COUNT; i++) {
      pair *p = new_pair(&f, NULL);
      cradle_store(f.m, keep, &keep->item[i], p);
      (void)cradle_id(f.m, p);
      handles[i] = cradle_handle_new(f.m, p);
      cradle_weak_set_add(set, i, p);
      p = cradle_pin(f.m, p);
      assert_ptr_equal(cradle_handle_get(f.m, handles[i]), p);
      (void)new_ephemeron(&f, keep->item[i], keep);
      (void)new_final(&f, i, NULL);
      (void)new_file(&f, NULL, 0);
      globals[i] = NULL;
      cradle_global_root_add(f.heap, &globals[i], CRADLE_KIND_REFERENCE);
    }
    last = cradle_weak_set_new(f.m, NULL, NULL);
    cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
    assert_int_equal(set_count(set), COUNT);
    assert_int_equal(set_count(last), 0);
  }
  cradle_weak_set_free(set);
  cradle_weak_set_free(last);
  fixture_close(&f);
}

/* malloc counts what it keeps for the next caller as in use, so only growth that repeats is a leak. */
static void a_freed_heap_leaves_no_memory_behind(void **state) {
  (void)state;
  enum { LIVES = 20 };
  for (int way = 0; way < 2; way++) {
    bool grows = true;
    for (int life = 0; life < LIVES && grows; life++) {
      size_t before = allocated_bytes();
      live_and_die(way == 0 ? NULL : quarantine);
      grows = allocated_bytes() > before;
    }
    assert_false(grows);
  }
}

/* If the time is always over when the clock is read, an increment handles as many objects as there are between two
 * readings. */
static void many_finalizers_are_due_over_many_increments(void **state) {
  (void)state;
  enum { DUE = 20 * PACE_ENTRIES };
  fixture f;
  services_open(&f);
  {
    vector *due = cradle_new_array(f.m, T_VECTOR, DUE);
    CRADLE_ROOT(f.m, due);
    for (size_t i = 0; i < DUE; i++) {
      final *object = new_final(&f, i, new_pair(&f, NULL)); /* leads to dead objects: their order matters */
      cradle_store(f.m, due, &due->item[i], object);
    }
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    due = NULL;
    const crd_services *services = inside_services(f.heap);
    const crd_candidates *candidates = &services->major.candidates;
    size_t candidate = 0, numbered = 0, waiting = 0, steps[STAGE_NONE + 1] = {0};
    const crd_queue *queue = &services->queues[QUEUE - 1];
    while (!cradle_collect_step(f.m, 0) || waiting == 0) {
      size_t done = candidate > candidates->next ? candidate - candidates->next : candidates->next - candidate;
      steps[services->stage]++;
      if (services->stage >= STAGE_FIND && services->stage <= STAGE_QUEUE) {
        assert_true(done <= PACE_ENTRIES);
        assert_true(word_stack_count(&candidates->headers) <= numbered + PACE_ENTRIES);
      }
      assert_true((size_t)(queue->words.top - queue->head) - waiting <= PACE_ENTRIES);
      candidate = candidates->next;
      numbered = word_stack_count(&candidates->headers);
      waiting = (size_t)(queue->words.top - queue->head);
    }
    assert_int_equal(waiting, DUE);
    if (!f.stressed) { /* which does increments of its own between these */
      assert_true(steps[STAGE_FIND] >= DUE / PACE_ENTRIES);
      assert_true(steps[STAGE_REACH] >= 2 * DUE / PACE_ENTRIES); /* numbered, then reached */
      assert_true(steps[STAGE_QUEUE] >= DUE / PACE_ENTRIES);
    }
  }
  fixture_close(&f);
}

/* The object owns memory that its trace callback reads. */
typedef struct owner {
  uint64_t header;
  void **memory;
} owner;
static int traced_destroyed;

static void free_memory(void *user, void *object) {
  (void)user;
  owner *o = object;
  free(o->memory);
  o->memory = NULL;
}
static void trace_memory(void *user, void *object, cradle_visitor *visitor) {
  (void)user;
  owner *o = object;
  if (o->memory != NULL)
    cradle_visit(visitor, o->memory, CRADLE_KIND_REFERENCE);
  else
    traced_destroyed++;
}

/* Neither the verifier nor a minor collection that looks at all old objects traces what has been destroyed. */
static void what_was_destroyed_is_not_traced(void **state) {
  (void)state;
  enum { OWNERS = 1000 };
  fixture f;
  services_open(&f);
  uint32_t type = cradle_type_add(
      f.heap, &(cradle_type){.name = "owner", .size = sizeof(owner), .trace = trace_memory, .destructor = free_memory});
  {
    vector *owners = cradle_new_array(f.m, T_VECTOR, OWNERS);
    CRADLE_ROOT(f.m, owners);
    for (size_t i = 0; i < OWNERS; i++) {
      void **memory = calloc(1, sizeof *memory);
      assert_non_null(memory);
      owner *o = cradle_new_registered(f.m, type, sizeof(owner));
      o->memory = memory;
      cradle_store(f.m, owners, &owners->item[i], o);
    }
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    owners = NULL;
    traced_destroyed = 0;
    const crd_services *services = inside_services(f.heap);
    bool complete = false, between = false;
    while (!complete) {
      complete = cradle_collect_step(f.m, 0);
      if (inside_major(f.heap)->phase != MAJOR_CLEARING || services->stage != STAGE_DESTRUCTORS) continue;
      assert_heap_sound(f.heap);
      f.heap->young.remember_all = true;
      cradle_collect(f.m, CRADLE_COLLECT_MINOR);
      between = true;
    }
    assert_true(between || f.stressed);
    assert_int_equal(traced_destroyed, 0);
  }
  fixture_close(&f);
}

/* While the order of finalizers is looked for, headers of old objects are open. A minor collection that looks at all
 * old objects passes them by. */
static void open_headers_are_passed_by(void **state) {
  (void)state;
  enum { DUE = 20 * PACE_ENTRIES };
  fixture f;
  services_open(&f);
  {
    final *last = NULL;
    CRADLE_ROOT(f.m, last);
    for (size_t i = 0; i < DUE; i++) last = new_final(&f, i, last); /* each leads to the one before */
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    last = NULL;
    bool between = false;
    while (!cradle_collect_step(f.m, 0) || finalizers_waiting(f.m, QUEUE) == 0) {
      if (f.heap->space.open_flags == 0) continue;
      f.heap->young.remember_all = true;
      cradle_collect(f.m, CRADLE_COLLECT_MINOR);
      between = true;
    }
    assert_true(between || f.stressed);
    assert_heap_sound(f.heap);
    for (size_t i = DUE; i-- > 0;) assert_non_null(cradle_finalizer_next(f.m, QUEUE));
  }
  fixture_close(&f);
}

/* An array is shortened while a major collection is tracing it: the collection must not read behind the new end. */
static void an_array_becomes_shorter_between_increments(void **state) {
  (void)state;
  enum { WORDS = 20000 };
  static const struct {
    uint32_t type;
    size_t items; /* one more than an increment looks at */
    crd_major_phase phase;
  } ways[] = {{T_WEAKS, 131073, MAJOR_CLEARING}, {T_EPHEMERONS, 16385, MAJOR_MARKING}};
  for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
    fixture f;
    services_open(&f);
    fixture_skip_stressed(&f, "it stops at an increment of its own");
    {
      uint32_t words = cradle_type_add(f.heap, &(cradle_type){.name = "words",
                                                              .size = sizeof(values),
                                                              .item_size = 8,
                                                              .items = CRADLE_ITEMS_BYTES,
                                                              .length_offset = offsetof(values, length)});
      weaks *w = NULL;
      values *next = NULL;
      CRADLE_ROOT(f.m, w);
      CRADLE_ROOT(f.m, next);
      w = cradle_new_array(f.m, ways[way].type, ways[way].items);
      next = cradle_new_array(f.m, words, WORDS);
      pair *dead = new_pair(&f, NULL);
      CRADLE_ROOT(f.m, dead);
      weak *to_dead = new_weak(&f, dead);
      CRADLE_ROOT(f.m, to_dead);
      cradle_collect(f.m, CRADLE_COLLECT_FULL);
      /* a pair without a key would keep it */
      uint64_t plain[] = {ways[way].type == T_WEAKS ? (uintptr_t)dead : 0, (uintptr_t)dead};
      for (size_t i = 0; i < WORDS; i++) next->item[i] = plain[i % 2];
      dead = NULL;
      const crd_services *services = inside_services(f.heap);
      bool complete = false;
      while (!complete &&
             !(inside_major(f.heap)->phase == ways[way].phase && services->major.item + 1 == ways[way].items))
        complete = cradle_collect_step(f.m, 0);
      assert_false(complete);
      w->length = 10;
      while (!cradle_collect_step(f.m, 0)) continue;
      for (size_t i = 0; i < WORDS; i++) assert_true(next->item[i] == plain[i % 2]);
      assert_null(cradle_weak_get(f.m, &to_dead->to));
    }
    fixture_close(&f);
  }
}

/* [finalizer.3] Between the increments that queue them none is seen, nor what a minor collection has queued meanwhile;
 * then all are there, in all queues. */
static void all_that_a_collection_queues_appears_at_once(void **state) {
  (void)state;
  enum { DUE = 2000, LAST_QUEUE = CRADLE_FINALIZER_QUEUES };
  fixture f;
  services_open(&f);
  {
    vector *due = cradle_new_array(f.m, T_VECTOR, DUE);
    CRADLE_ROOT(f.m, due);
    for (size_t i = 0; i < DUE; i++) {
      final *object = new_final(&f, i, NULL);
      cradle_store(f.m, due, &due->item[i], object);
      cradle_finalizer_register(f.m, due->item[i], LAST_QUEUE);
    }
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    due = NULL;
    const crd_services *services = inside_services(f.heap);
    size_t between = 0, young = 0, seen = 0;
    while (seen == 0) {
      (void)cradle_collect_step(f.m, 0);
      size_t first = finalizers_waiting(f.m, QUEUE), last = finalizers_waiting(f.m, LAST_QUEUE);
      seen = first + last;
      if (services->stage == STAGE_QUEUE) {
        between++;
        assert_int_equal(seen, 0);
        assert_null(cradle_finalizer_next(f.m, QUEUE));
        assert_null(cradle_finalizer_next(f.m, LAST_QUEUE));
        if (young < 5) young++, (void)new_final(&f, DUE + young, NULL);
        cradle_collect(f.m, CRADLE_COLLECT_MINOR);
      } else if (seen != 0) {
        assert_int_equal(first, DUE + young);
        assert_int_equal(last, DUE);
      }
    }
    if (!f.stressed) assert_true(between > 10 && young == 5);
    for (size_t i = 0; i < DUE; i++) assert_int_equal(((final *)cradle_finalizer_next(f.m, LAST_QUEUE))->number, i);
    assert_null(cradle_finalizer_next(f.m, LAST_QUEUE));
  }
  fixture_close(&f);
}

/* There is room in each queue for all finalizers: for those on their way to it, and for those registered meanwhile. */
static void finalizers_are_registered_while_others_are_on_their_way(void **state) {
  (void)state;
  enum { DUE = 2500, MORE = 8000 };
  fixture f;
  services_open(&f);
  fixture_skip_stressed(&f, "it stops at an increment of its own");
  {
    vector *due = cradle_new_array(f.m, T_VECTOR, DUE);
    CRADLE_ROOT(f.m, due);
    for (size_t i = 0; i < DUE; i++) {
      final *object = new_final(&f, i, NULL);
      cradle_store(f.m, due, &due->item[i], object);
    }
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    due = NULL;
    const crd_services *services = inside_services(f.heap);
    while (candidates_count(&services->major.candidates) < DUE) assert_false(cradle_collect_step(f.m, 0));
    pair *p = new_pair(&f, NULL);
    CRADLE_ROOT(f.m, p);
    for (size_t i = 0; i < MORE; i++) cradle_finalizer_register(f.m, p, QUEUE);
    assert_int_equal(candidates_count(&services->major.candidates), DUE);
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR); /* ends the one under way */
    p = NULL;
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    assert_int_equal(finalizers_waiting(f.m, QUEUE), DUE + MORE);
    for (size_t i = 0; i < DUE; i++) assert_int_equal(((final *)cradle_finalizer_next(f.m, QUEUE))->number, i);
    for (size_t i = 0; i < MORE; i++) assert_int_equal(cradle_type_of(cradle_finalizer_next(f.m, QUEUE)), T_PAIR);
  }
  fixture_close(&f);
}

/* What the reaching of finalizers has done so far: it grows by one with each slot, object or item that was looked at,
 * as far as the stacks tell. */
static size_t steps_of_reach(const crd_death *major) {
  const crd_candidates *candidates = &major->candidates;
  return word_stack_count(&major->reach.open) / 3 + candidates->placed + word_stack_count(&candidates->headers);
}

enum { A_CHAIN, A_RING, A_SHUFFLED_RING, AN_ARRAY, MANY_PAIRS, BIG_SHAPES };

/* Many dead objects with finalizers; in the ring each leads to the next one, and the last to the first. */
static void die_in_shape(fixture *f, int shape, size_t count) CRADLE_MAY_COLLECT {
  vector *all = cradle_new_array(f->m, T_VECTOR, count);
  CRADLE_ROOT(f->m, all);
  for (size_t i = 0; i < count; i++) {
    final *object = new_final(f, i, NULL);
    cradle_store(f->m, all, &all->item[i], object);
  }
  size_t step = shape == A_SHUFFLED_RING ? 7919 : 1; /* a prime, so that all are in one ring */
  for (size_t i = 0; i < count && shape <= A_SHUFFLED_RING; i++) {
    final *from = all->item[i], *to = all->item[(i + step) % count];
    if (shape != A_CHAIN || i + 1 < count) cradle_store(f->m, from, &from->to, to);
  }
  if (shape == AN_ARRAY) cradle_finalizer_register(f->m, all, OTHER_QUEUE);
  if (shape == MANY_PAIRS) {
    ephemerons *pairs = cradle_new_array(f->m, T_EPHEMERONS, count);
    CRADLE_ROOT(f->m, pairs);
    for (size_t i = 0; i < count; i++) {
      cradle_store(f->m, pairs, &pairs->item[i].key, all->item[i]);
      cradle_store(f->m, pairs, &pairs->item[i].value, all->item[(i + 1) % count]);
    }
    cradle_finalizer_register(f->m, pairs, OTHER_QUEUE);
  }
  cradle_collect(f->m, CRADLE_COLLECT_MAJOR);
}

/* No increment looks at more than a piece, however many objects lead to each other; and the program sees none of them
 * before they are in the queue. */
static void big_shapes_come_back_in_increments(void **state) {
  (void)state;
  enum { COUNT = 4000 };
  for (int shape = 0; shape < BIG_SHAPES; shape++) {
    fixture f;
    services_open(&f);
    fixture_skip_stressed(&f, "it counts increments");
    {
      die_in_shape(&f, shape, COUNT);
      const crd_death *major = &inside_services(f.heap)->major;
      const crd_closing *closing = &major->reach.closing;
      size_t before = 0, at = 0, increments = 0, begun = 0;
      while (finalizers_waiting(f.m, QUEUE) == 0) {
        bool complete = cradle_collect_step(f.m, 0);
        assert_true(!complete || finalizers_waiting(f.m, QUEUE) != 0 || begun++ == 0);
        if (inside_services(f.heap)->stage != STAGE_REACH) continue;
        size_t steps = steps_of_reach(major), far = closing->at;
        size_t done = steps > before ? steps - before : before - steps;
        if (done > PACE_ENTRIES + SERVICE_PIECE_ITEMS) fail_msg("shape %d: %zu objects in an increment", shape, done);
        if (closing->step != CLOSING_NONE && far > at) assert_true(far - at <= COUNT);
        before = steps, at = far;
        if (++increments % 16 == 0) assert_heap_sound(f.heap);
      }
      if (increments < COUNT / PACE_ENTRIES) fail_msg("shape %d: %zu increments", shape, increments);
      for (size_t i = 0; i < COUNT; i++) {
        const final *object = cradle_finalizer_next(f.m, QUEUE);
        if (shape != MANY_PAIRS) assert_int_equal(object->number, i);
        assert_false(header_is_watched(object->header)); /* it would count as open while another component closes */
      }
      assert_null(cradle_finalizer_next(f.m, QUEUE));
      if (shape == AN_ARRAY || shape == MANY_PAIRS) assert_non_null(cradle_finalizer_next(f.m, OTHER_QUEUE));
    }
    fixture_close(&f);
  }
}

/* Objects that lead to leaves need no order, and no place in the stacks that find one. */
static void leaves_need_no_order(void **state) {
  (void)state;
  enum { COUNT = 1000 };
  for (int way = 0; way < WAYS; way++) {
    fixture f;
    services_open(&f);
    fixture_skip_stressed(&f, "the dead need not die in one collection");
    {
      vector *keep = cradle_new_array(f.m, T_VECTOR, COUNT);
      CRADLE_ROOT(f.m, keep);
      for (size_t i = 0; i < COUNT; i++) {
        void *leaf = cradle_new_array(f.m, T_STRING, 5);
        final *object = new_final(&f, i, leaf);
        cradle_store(f.m, keep, &keep->item[i], object);
      }
      age_for(&f, way);
      keep = NULL;
      const crd_services *services = inside_services(f.heap);
      collect_by(&f, way);
      assert_int_equal(finalizers_waiting(f.m, QUEUE), COUNT);
      assert_int_equal(services->minor.reach.open.base[0], 0); /* fresh memory: no object was ever opened */
      assert_int_equal(services->major.reach.open.base[0], 0);
      for (size_t i = 0; i < COUNT; i++) {
        const final *object = cradle_finalizer_next(f.m, QUEUE);
        assert_int_equal(object->number, i);
        assert_int_equal(cradle_type_of(object->to), T_STRING);
      }
    }
    fixture_close(&f);
  }
}

typedef struct clearing_steps {
  size_t steps, longest, taken;
} clearing_steps;
static void count_clearing(void *data, const cradle_event *event) {
  clearing_steps *count = data;
  if (event->kind == CRADLE_EVENT_STEP_END && event->u.step.from == CRADLE_PHASE_CLEARING) count->steps++;
}
static clearing_steps clearing;
static void count_steps_of_clearing(cradle_options *options) {
  options->listener = (cradle_listener){count_clearing, &clearing};
  options->nursery_bytes = (size_t)64 << 10;
  options->major_min_bytes = (size_t)1 << 20;
  options->verify = false; /* which would look at the whole heap three times in each of thousands of pauses */
}

/* A chain dies, and the program goes on promoting meanwhile: the heap grows beyond its threshold, and clearing goes on
 * in increments all the same. Less of the nursery is handed out then, so the heap grows little. */
static void clearing_above_the_threshold_takes_increments(void **state) {
  (void)state;
  enum { LENGTH = 20000 };
  fixture f;
  clearing = (clearing_steps){0};
  services_open_with(&f, count_steps_of_clearing);
  fixture_skip_stressed(&f, "it counts increments");
  {
    final *chain = NULL;
    pair *kept = NULL;
    CRADLE_ROOT(f.m, chain);
    CRADLE_ROOT(f.m, kept);
    for (size_t i = 0; i < LENGTH; i++) chain = new_final(&f, i, chain);
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    chain = NULL;
    clearing = (clearing_steps){0};
    while (finalizers_waiting(f.m, QUEUE) == 0) kept = new_pair(&f, kept);
    assert_int_equal(finalizers_waiting(f.m, QUEUE), LENGTH);
    if (clearing.steps < 3 * LENGTH / PACE_ENTRIES) fail_msg("%zu increments of clearing", clearing.steps);
    for (size_t i = LENGTH; i-- > 0;) {
      const final *object = cradle_finalizer_next(f.m, QUEUE);
      assert_int_equal(object->number, i);
    }
  }
  fixture_close(&f);
}

static void large_nursery_and_target(cradle_options *options) {
  options->nursery_bytes = 64 << 20;
  options->verify = false;
}

/* A minor collection finds the order of all young finalizers at once, so it comes before there are too many. */
static void few_finalizers_are_young_together(void **state) {
  (void)state;
  enum { COUNT = 20000 };
  fixture f;
  services_open_with(&f, large_nursery_and_target);
  fixture_skip_stressed(&f, "minor collections come at once anyway");
  {
    size_t most = 0;
    for (size_t i = 0; i < COUNT; i++) {
      (void)new_final(&f, i, NULL);
      size_t fresh = (size_t)(f.m->registered - inside_local(f.heap)->fresh.base);
      if (fresh > most) most = fresh;
    }
    assert_in_range(most, 1, 2 * 4096);
  }
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(big_shapes_come_back_in_increments),
      cmocka_unit_test(leaves_need_no_order),
      cmocka_unit_test(clearing_above_the_threshold_takes_increments),
      cmocka_unit_test(few_finalizers_are_young_together),
      cmocka_unit_test(lists_give_their_memory_back),
      cmocka_unit_test(a_freed_heap_leaves_no_memory_behind),
      cmocka_unit_test(many_finalizers_are_due_over_many_increments),
      cmocka_unit_test(all_that_a_collection_queues_appears_at_once),
      cmocka_unit_test(finalizers_are_registered_while_others_are_on_their_way),
      cmocka_unit_test(what_was_destroyed_is_not_traced),
      cmocka_unit_test(open_headers_are_passed_by),
      cmocka_unit_test(an_array_becomes_shorter_between_increments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
