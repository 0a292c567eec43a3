/* Tests that events report what the heap did, as counted by the test or by the heap's own statistics. */
#include "tests/support/services.h"

#include "tests/inside.h"

/* Sums of the events of a heap's life, and the last of each kind. */
typedef struct seen {
  uint64_t promoted_objects, promoted_bytes, marked_objects, marked_bytes, freed_objects, freed_bytes, steps, step_ns;
  uint64_t taken, given_back, arenas, idle_arenas;
  cradle_phase phase;
  bool phases_follow, major_ended; /* since the last event of arenas */
  cradle_event last[CRADLE_EVENT_NOTE + 1];
  cradle_event spans[SIZE_CLASS_MAX];
  size_t classes;
} seen;

static void see(void *data, const cradle_event *event) {
  assert_int_equal(event->size, sizeof *event);
  seen *s = data;
  s->last[event->kind] = *event;
  switch (event->kind) {
  case CRADLE_EVENT_MINOR_END:
    s->promoted_objects += event->u.minor.promoted_objects;
    s->promoted_bytes += event->u.minor.promoted_bytes;
    break;
  case CRADLE_EVENT_MAJOR_BEGIN:
    s->phase = CRADLE_PHASE_MARKING;
    s->phases_follow = true;
    s->steps = s->marked_objects = s->marked_bytes = s->freed_objects = s->freed_bytes = s->step_ns = 0;
    s->classes = 0;
    break;
  case CRADLE_EVENT_STEP_END:
    s->phases_follow &= event->u.step.from == s->phase;
    s->phase = event->u.step.to;
    s->marked_objects += event->u.step.marked_objects;
    s->marked_bytes += event->u.step.marked_bytes;
    s->freed_objects += event->u.step.freed_objects;
    s->freed_bytes += event->u.step.freed_bytes;
    s->step_ns += event->u.step.duration_ns;
    s->steps++;
    break;
  case CRADLE_EVENT_ARENAS:
    s->taken += event->u.arenas.taken;
    s->given_back += event->u.arenas.given_back;
    s->arenas++;
    s->idle_arenas += event->u.arenas.taken == 0 && event->u.arenas.given_back == 0 && !s->major_ended;
    s->major_ended = false;
    break;
  case CRADLE_EVENT_MAJOR_END: s->major_ended = true; break;
  case CRADLE_EVENT_SPANS:
    assert_true(s->classes < SIZE_CLASS_MAX);
    s->spans[s->classes++] = *event;
    break;
  default: break;
  }
}

static seen all;

static void listen(cradle_options *options) {
  fixture_unstress(options);
  options->verify = false; /* of long lists, at each collection */
  options->gc_threads = 0; /* what increments do is counted, whatever the environment says */
  options->listener = (cradle_listener){see, &all};
}

static void open_seen(fixture *f) {
  memset(&all, 0, sizeof all);
  services_open_with(f, listen);
}

/* A major collection in increments: each object that lives is marked by one of them, each that died is freed by one. */
static void increments_say_what_they_did(void **state) {
  (void)state;
  enum { LIVE = 30000, DEAD = 20000 };
  fixture f;
  open_seen(&f);
  {
    vector *roots = cradle_new_array(f.m, T_VECTOR, 3);
    CRADLE_ROOT(f.m, roots);
    for (size_t i = 0; i < LIVE + DEAD; i++) {
      pair *p = new_pair(&f, roots->item[i < LIVE]);
      cradle_store(f.m, roots, &roots->item[i < LIVE], p);
    }
    weak *looks = new_weak(&f, roots);
    cradle_store(f.m, roots, &roots->item[2], looks);
    void *large = cradle_new_array(f.m, T_STRING, 100000);
    cradle_store(f.m, roots->item[false], &((pair *)roots->item[false])->rest, large);
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    assert_int_equal(all.promoted_objects, fixture_stats(&f).promoted_objects);
    assert_int_equal(all.promoted_bytes, fixture_stats(&f).promoted_bytes);
    assert_int_equal(all.promoted_objects, LIVE + DEAD + 2); /* the large one does not move */
    roots->item[false] = NULL;
    uint64_t steps = fixture_stats(&f).major_steps, majors = fixture_stats(&f).major_collections;
    uint64_t used = fixture_stats(&f).old_bytes;
    while (!cradle_collect_step(f.m, 0) || fixture_stats(&f).major_collections == majors) continue;
    assert_true(all.phases_follow);
    assert_int_equal(all.phase, CRADLE_PHASE_IDLE);
    assert_int_equal(all.steps, fixture_stats(&f).major_steps - steps);
    assert_true(all.steps > 3);
    assert_int_equal(all.marked_objects, LIVE + 2);
    assert_int_equal(all.marked_bytes, LIVE * sizeof(pair) + sizeof(weak) + sizeof(vector) + 3 * sizeof(void *));
    assert_int_equal(all.freed_objects, DEAD + 1);
    assert_int_equal(all.freed_bytes, used - fixture_stats(&f).old_bytes);
    const cradle_event *end = &all.last[CRADLE_EVENT_MAJOR_END];
    assert_int_equal(end->u.major.number, majors + 1);
    assert_int_equal(end->u.major.duration_ns, all.step_ns);
    assert_int_equal(end->u.major.used_before, used);
    assert_int_equal(end->u.major.used_after, fixture_stats(&f).old_bytes);
    assert_int_equal(end->u.major.threshold_bytes, fixture_stats(&f).threshold_bytes);
  }
  fixture_close(&f);
}

/* After each major collection: the size classes in use, as crd_heap_spans tells them. */
static void spans_say_what_is_wasted(void **state) {
  (void)state;
  fixture f;
  open_seen(&f);
  {
    pair *list = NULL;
    CRADLE_ROOT(f.m, list);
    for (size_t i = 0; i < 5000; i++) list = new_pair(&f, list);
    vector *texts = cradle_new_array(f.m, T_VECTOR, 80);
    CRADLE_ROOT(f.m, texts);
    for (size_t i = 0; i < texts->length; i++) { /* one of nearly each size */
      string *text = cradle_new_array(f.m, T_STRING, 100 * i);
      cradle_store(f.m, texts, &texts->item[i], text);
    }
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    crd_span_info rows[SIZE_CLASS_MAX];
    size_t count = crd_heap_spans(f.heap, rows, SIZE_CLASS_MAX), told = 0;
    for (size_t i = 0; i < count; i++) {
      if (rows[i].spans == 0) continue;
      const cradle_event *event = &all.spans[told++];
      assert_int_equal(event->u.spans.object_bytes, rows[i].object_bytes);
      assert_int_equal(event->u.spans.span_bytes, rows[i].span_bytes);
      assert_int_equal(event->u.spans.objects, rows[i].span_objects);
      assert_int_equal(event->u.spans.spans, rows[i].spans);
      assert_int_equal(event->u.spans.used_bytes, rows[i].used_bytes);
      assert_int_equal(event->u.spans.memory_bytes, rows[i].memory_bytes);
      double wasted = 100.0 * (double)(rows[i].memory_bytes - rows[i].used_bytes) / (double)rows[i].memory_bytes;
      assert_true((double)event->u.spans.waste_percent >= wasted - 0.5);
      assert_true((double)event->u.spans.waste_percent <= wasted + 0.5);
    }
    assert_int_equal(told, all.classes);
    assert_true(told >= 2 && all.spans[0].u.spans.waste_percent != all.spans[told - 1].u.spans.waste_percent);
  }
  fixture_close(&f);
}

/* Of arenas there is an event when some came or went, or the kernel was asked; together they say how many there are. */
static void arenas_come_and_go(void **state) {
  (void)state;
  fixture f;
  open_seen(&f);
  {
    vector *roots = cradle_new_array(f.m, T_VECTOR, 40);
    CRADLE_ROOT(f.m, roots);
    for (int round = 0; round < 3; round++) {
      for (size_t i = 0; i < 40; i++) {
        string *large = cradle_new_array(f.m, T_STRING, (size_t)1 << 20);
        cradle_store(f.m, roots, &roots->item[i], large);
      }
      cradle_collect(f.m, CRADLE_COLLECT_FULL);
      assert_int_equal(all.taken - all.given_back, fixture_stats(&f).arenas_committed);
      assert_int_equal(all.last[CRADLE_EVENT_ARENAS].u.arenas.committed, fixture_stats(&f).arenas_committed);
      assert_int_equal(all.last[CRADLE_EVENT_ARENAS].u.arenas.in_use, fixture_stats(&f).arenas_in_use);
      for (size_t i = 0; i < 40; i++) roots->item[i] = NULL;
      cradle_collect(f.m, CRADLE_COLLECT_FULL);
      assert_int_equal(all.taken - all.given_back, fixture_stats(&f).arenas_committed);
    }
    assert_true(all.given_back > 0);
    assert_int_equal(all.idle_arenas, 0);
    uint64_t given_back = all.given_back;
    roots = NULL;
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR); /* keeps what it emptied */
    uint64_t released = cradle_release_memory(f.heap) / fixture_stats(&f).arena_bytes;
    assert_true(released > 0);
    assert_int_equal(all.given_back, given_back + released);
    (void)cradle_new_array(f.m, T_STRING, (size_t)20 << 20);
    given_back = all.given_back;
    assert_true(cradle_heap_set_max(f.m, (size_t)10 << 20, NULL)); /* gives back what the dead object had */
    assert_true(all.given_back > given_back);
    assert_int_equal(all.taken - all.given_back, fixture_stats(&f).arenas_committed);
    assert_true(cradle_heap_set_max(f.m, 0, NULL));
    (void)cradle_release_memory(f.heap);
    uint64_t arenas = all.arenas;
    for (int i = 0; i < 10; i++) cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    assert_true(cradle_heap_set_max(f.m, 0, NULL));
    assert_int_equal(cradle_release_memory(f.heap), 0);
    assert_int_equal(all.arenas, arenas);
    const cradle_event *last = &all.last[CRADLE_EVENT_ARENAS];
    uint64_t reach = inside_old(f.heap)->arenas.committed_end * fixture_stats(&f).arena_bytes;
    assert_true(last->u.arenas.resident_bytes <= (last->u.arenas.measured ? reach : 0));
    assert_true(last->u.arenas.huge_bytes <= last->u.arenas.resident_bytes);
  }
  fixture_close(&f);
}

/* Arenas are prepared for the next promotion, but however much was promoted until now, only those that are kept for it
 * anyway. */
static void no_more_arenas_are_prepared_than_are_kept(void **state) {
  (void)state;
  fixture f;
  open_seen(&f);
  (void)cradle_new_array(f.m, T_STRING, (size_t)1 << 20);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  inside_pacing(f.heap)->promoted_average = (uint64_t)100 << 20;
  cradle_safepoint_request(f.m);
  cradle_safepoint(f.m);
  cradle_statistics stats = fixture_stats(&f);
  assert_in_range(stats.arenas_committed - stats.arenas_in_use, 1, inside_old(f.heap)->reserve);
  fixture_close(&f);
}

/* A major collection that the heap begins by itself says which bound was reached. */
static void causes_are_those_that_led_there(void **state) {
  (void)state;
  fixture f;
  open_seen(&f);
  {
    pair *list = NULL;
    CRADLE_ROOT(f.m, list);
    while (all.last[CRADLE_EVENT_MAJOR_BEGIN].kind != CRADLE_EVENT_MAJOR_BEGIN) list = new_pair(&f, list);
    assert_int_equal(all.last[CRADLE_EVENT_MAJOR_BEGIN].u.begin.cause, CRADLE_CAUSE_THRESHOLD);
    assert_int_equal(all.last[CRADLE_EVENT_MINOR_END].u.minor.cause, CRADLE_CAUSE_NURSERY_FULL);
    while (!cradle_collect_step(f.m, 0)) continue;
    assert_int_equal(all.last[CRADLE_EVENT_MAJOR_END].u.major.cause, CRADLE_CAUSE_THRESHOLD);
    list = NULL;
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    assert_int_equal(all.last[CRADLE_EVENT_MAJOR_END].u.major.cause, CRADLE_CAUSE_REQUEST);
    vector *kept = cradle_new_array(f.m, T_VECTOR, 50);
    CRADLE_ROOT(f.m, kept);
    for (size_t i = 0; all.phase == CRADLE_PHASE_IDLE; i++) {
      assert_true(i < 50);
      string *large = cradle_new_array(f.m, T_STRING, 1 << 20);
      cradle_store(f.m, kept, &kept->item[i], large);
    }
    assert_int_equal(all.last[CRADLE_EVENT_MAJOR_BEGIN].u.begin.cause, CRADLE_CAUSE_LARGE);
  }
  fixture_close(&f);
}

static uint64_t begun_at; /* the old generation's bytes when the first major collection began */

static void note_begin(void *data, const cradle_event *event) {
  const fixture *f = data;
  if (event->kind == CRADLE_EVENT_MAJOR_BEGIN && begun_at == 0) begun_at = inside_old(f->heap)->used_bytes;
}

/* Without a pause target a major collection is one increment, which waits for the threshold. With a target, marking
 * begins earlier. */
static void one_increment_waits_for_the_threshold(void **state) {
  (void)state;
  for (int target = 0; target < 2; target++) {
    fixture f;
    cradle_options options;
    fixture_options(&f, &options);
    fixture_unstress(&options);
    options.verify = false;
    options.pause_ns = target ? 2000000 : 0;
    options.gc_threads = 0;
    options.major_min_bytes = (size_t)1 << 20;
    options.listener = (cradle_listener){note_begin, &f};
    fixture_open_with(&f, &options);
    pair *list = NULL;
    CRADLE_ROOT(f.m, list);
    begun_at = 0;
    while (begun_at == 0) list = new_pair(&f, list);
    assert_int_equal(begun_at < options.major_min_bytes, target);
    list = NULL;
    fixture_close(&f);
  }
}

/* A large object is allocated without a collection until it, the old objects and the external memory together come to
 * the threshold. */
static void large_objects_beside_external_memory(void **state) {
  (void)state;
  fixture large;
  cradle_options options;
  fixture_options(&large, &options);
  fixture_unstress(&options);
  options.major_min_bytes = (size_t)16 << 20;
  options.pause_ns = 0;
  options.gc_threads = 0;
  fixture_open_with(&large, &options);
  cradle_external_memory(large.m, (int64_t)8 << 20);
  cradle_push(large.m, cradle_new_array(large.m, T_STRING, (size_t)4 << 20));
  assert_int_equal(fixture_stats(&large).minor_collections, 0);
  (void)cradle_new_array(large.m, T_STRING, (size_t)4 << 20);
  assert_int_equal(fixture_stats(&large).minor_collections, 1);
  (void)cradle_pop(large.m);
  cradle_external_memory(large.m, -8 * ((int64_t)1 << 20));
  fixture_close(&large);
}

/* A minor collection looks at no word of the shadow stack that was there at the one before. */
static void unchanged_words_are_not_looked_at(void **state) {
  (void)state;
  enum { WORDS = 1000 };
  fixture f;
  open_seen(&f);
  for (int i = 0; i < WORDS; i++) cradle_push(f.m, NULL);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_true(all.last[CRADLE_EVENT_ROOTS_END].u.roots.words >= WORDS);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_true(all.last[CRADLE_EVENT_ROOTS_END].u.roots.words < WORDS);
  cradle_pop_many(f.m, WORDS);
  fixture_close(&f);
}

/* A heap's first events describe its nursery. Its last events describe its arenas, with what the kernel says of their
 * pages, even if no arena was taken or given back since the event before. */
static void a_heap_begins_with_its_nursery_and_ends_with_its_arenas(void **state) {
  (void)state;
  fixture f;
  open_seen(&f);
  assert_int_equal(all.last[CRADLE_EVENT_NURSERY_SIZED].kind, CRADLE_EVENT_NURSERY_SIZED);
  assert_int_equal(all.last[CRADLE_EVENT_NURSERY_SIZED].u.nursery.bytes, fixture_stats(&f).nursery_bytes);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  cradle_mutator_free(f.m);
  uint64_t arenas = all.arenas;
  cradle_heap_free(f.heap);
  assert_int_equal(all.arenas, arenas + 1);
  assert_int_equal(all.last[CRADLE_EVENT_ARENAS].u.arenas.taken, 0);
  assert_int_equal(all.last[CRADLE_EVENT_ARENAS].u.arenas.given_back, 0);
}

static const char *doubt; /* the last note about pages of the system */

static void note_doubt(void *data, const cradle_event *event) {
  (void)data;
  if (event->kind == CRADLE_EVENT_NOTE && strncmp(event->u.note.text, "the system", 10) == 0)
    doubt = event->u.note.text;
}

/* One note says what the system lacks, whether it is asked for the nursery, for arenas, or for both. */
static void a_system_without_huge_pages_is_noted(void **state) {
  (void)state;
  static const cradle_hugepages policies[] = {CRADLE_HUGEPAGES_OFF, CRADLE_HUGEPAGES_AUTO};
  for (int nursery = 0; nursery < 2; nursery++)
    for (int arenas = 0; arenas < 2; arenas++) {
      fixture f;
      cradle_options options;
      cradle_hardware hardware = {.page_bytes = (size_t)sysconf(_SC_PAGESIZE),
                                  .thp_mode = CRADLE_THP_ABSENT,
                                  .l2_bytes = (size_t)1 << 20,
                                  .memory_bytes = (size_t)1 << 30};
      fixture_options(&f, &options);
      fixture_unstress(&options);
      options.hardware = &hardware;
      options.hugepages_nursery = policies[nursery];
      options.hugepages_arenas = policies[arenas];
      options.listener = (cradle_listener){note_doubt, NULL};
      doubt = NULL;
      fixture_open_with(&f, &options);
      assert_int_equal(doubt != NULL, nursery || arenas);
      if (doubt != NULL) assert_string_equal(doubt, "the system has no transparent huge pages: base pages");
      fixture_close(&f);
    }
}

/* Another thread lowers top after it stored its request. If a collection came in between, the request was served, and
 * the safepoint collects nothing but raises top again. */
static void a_safepoint_raises_top_after_a_late_request(void **state) {
  (void)state;
  fixture f;
  open_seen(&f);
  fixture_pass_first_looks(&f);
  cradle_safepoint_request(f.m);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  char *top = f.m->top;
  assert_non_null(top);
  f.m->top = NULL;
  uint64_t minors = fixture_stats(&f).minor_collections;
  cradle_safepoint(f.m);
  assert_int_equal(fixture_stats(&f).minor_collections, minors);
  assert_ptr_equal(f.m->top, top);
  fixture_close(&f);
}

/* --- statistics --- */

static void a_quarantine_is_counted(void **state) {
  (void)state;
  uint64_t committed[2];
  for (size_t i = 0; i < 2; i++) {
    fixture f;
    cradle_options options;
    fixture_options(&f, &options);
    fixture_unstress(&options);
    options.quarantine = 1 + 2 * i;
    options.hugepages_arenas = i == 0 ? CRADLE_HUGEPAGES_AUTO : CRADLE_HUGEPAGES_OFF;
    fixture_open_with(&f, &options);
    cradle_statistics stats = fixture_stats(&f);
    committed[i] = stats.committed_bytes - stats.metadata_bytes - stats.arenas_committed * stats.arena_bytes;
    /* the nursery, one beside it, and those that are kept */
    assert_true(committed[i] >= (3 + 2 * i) * stats.nursery_bytes);
    fixture_close(&f);
  }
  assert_int_equal(committed[1] - committed[0], 2 * ((uint64_t)64 << 10));
}

/* Committed bytes that do not belong to the old generation. */
static uint64_t committed_beside(fixture *f) {
  cradle_statistics stats = fixture_stats(f);
  return stats.committed_bytes - stats.metadata_bytes - stats.arenas_committed * stats.arena_bytes;
}

static void what_lies_beside_the_objects_is_counted(void **state) {
  (void)state;
  enum { COUNT = 1000 };
  static pair *pinned[COUNT];
  fixture f;
  cradle_options options;
  fixture_options(&f, &options);
  fixture_unstress(&options);
  fixture_open_with(&f, &options);
  uint32_t type = cradle_type_add(f.heap, &service_types[T_WEAK - T_COUNT]);
  uint64_t before = committed_beside(&f);
  for (size_t i = 0; i < COUNT; i++) assert_int_not_equal(cradle_handle_new(f.m, NULL).number, 0);
  assert_true(committed_beside(&f) >= before + COUNT * 16);
  before = committed_beside(&f);
  for (size_t i = 0; i < COUNT; i++) assert_int_not_equal(cradle_id(f.m, cradle_new(f.m, T_PAIR, sizeof(pair))), 0);
  assert_true(committed_beside(&f) >= before + COUNT * 2 * 16);
  before = committed_beside(&f);
  for (size_t i = 0; i < COUNT; i++) assert_non_null(pinned[i] = CRADLE_NEW_WITH(f.m, pair, T_PAIR, CRADLE_PINNED));
  assert_true(committed_beside(&f) >= before + COUNT * 2 * 16);
  before = committed_beside(&f);
  cradle_weak_set *set = cradle_weak_set_new(f.m, NULL, NULL);
  cradle_weak_set_add(set, 1, pinned[0]);
  assert_in_range(committed_beside(&f) - before, 64 * 16, 64 * (16 + 8));
  before = committed_beside(&f);
  (void)cradle_new_registered(f.m, type, sizeof(weak));
  assert_true(committed_beside(&f) >= before + f.heap->hardware.page_bytes);
  cradle_weak_set_free(set);
  for (size_t i = 0; i < COUNT; i++) cradle_unpin(f.m, pinned[i]);
  fixture_close(&f);
}

/* A region says what the kernel gave if the kernel tells. Of a region without memory it is known: nothing. */
static void a_report_says_what_is_known(void **state) {
  (void)state;
  fixture f;
  cradle_options options;
  cradle_memory memory;
  crd_pages_backing backing;
  fixture_options(&f, &options);
  fixture_unstress(&options);
  for (int off = 0; off < 2; off++) {
    if (off) options.gc = CRADLE_GC_OFF;
    fixture_open_with(&f, &options);
    const crd_nursery *nursery = inside_nursery(f.heap);
    bool known = crd_pages_backing_of(nursery->start, nursery->committed_bytes, &backing);
    cradle_memory_report(f.heap, &memory, sizeof memory);
    assert_int_equal(memory.nursery.obtained != CRADLE_BACKING_UNKNOWN, known);
    if (!off) assert_int_equal(memory.arenas.obtained != CRADLE_BACKING_UNKNOWN, known);
    if (off) assert_int_equal(memory.arenas.committed_bytes, 0);
    if (off) assert_int_equal(memory.arenas.obtained, CRADLE_BACKING_NOTHING);
    cradle_mutator_free(f.m);
    cradle_heap_free(f.heap);
  }
}

/* A pause takes at least as long by the clock as it takes of the processor, but for the readings of both. */
CRADLE_UNCHECKED_COLLECTION static void a_pause_has_its_processor_time(void **state) {
  (void)state;
  if (crd_platform_thread_ns() == 0) skip();
  fixture f;
  open_seen(&f);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  const cradle_event *pause = &all.last[CRADLE_EVENT_PAUSE];
  assert_true(pause->u.pause.processor_ns > 0);
  assert_true(pause->u.pause.processor_ns <= pause->u.pause.duration_ns + 1000000);
  if (pause->u.pause.processor_ns + 50000 > pause->u.pause.duration_ns)
    assert_int_equal(pause->u.pause.preemptions_known, 0);
  fixture_close(&f);
}

/* The system is asked what else it ran only if time is missing. */
CRADLE_UNCHECKED_COLLECTION static void missing_time_is_asked_about(void **state) {
  (void)state;
  unsigned long long preemptions;
  if (crd_platform_thread_ns() == 0 || !crd_platform_preemptions(&preemptions)) skip();
  fixture f;
  open_seen(&f);
  crd_event_pause_begins(&f.heap->report);
  f.heap->report.pause_begin.preemptions -= 1000000;
  crd_event_pause(&f.heap->report, CRADLE_CAUSE_REQUEST, UINT64_C(1000000000));
  const cradle_event *pause = &all.last[CRADLE_EVENT_PAUSE];
  assert_int_equal(pause->u.pause.preemptions_known, 1);
  assert_in_range(pause->u.pause.preemptions, 1000000, 1001000);
  crd_event_pause_begins(&f.heap->report);
  crd_event_pause(&f.heap->report, CRADLE_CAUSE_REQUEST, 40000);
  assert_int_equal(all.last[CRADLE_EVENT_PAUSE].u.pause.preemptions_known, 0);
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(increments_say_what_they_did),
      cmocka_unit_test(a_pause_has_its_processor_time),
      cmocka_unit_test(missing_time_is_asked_about),
      cmocka_unit_test(spans_say_what_is_wasted),
      cmocka_unit_test(arenas_come_and_go),
      cmocka_unit_test(causes_are_those_that_led_there),
      cmocka_unit_test(one_increment_waits_for_the_threshold),
      cmocka_unit_test(large_objects_beside_external_memory),
      cmocka_unit_test(no_more_arenas_are_prepared_than_are_kept),
      cmocka_unit_test(unchanged_words_are_not_looked_at),
      cmocka_unit_test(a_heap_begins_with_its_nursery_and_ends_with_its_arenas),
      cmocka_unit_test(a_system_without_huge_pages_is_noted),
      cmocka_unit_test(a_safepoint_raises_top_after_a_late_request),
      cmocka_unit_test(a_quarantine_is_counted),
      cmocka_unit_test(a_report_says_what_is_known),
      cmocka_unit_test(what_lies_beside_the_objects_is_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
