/* Tests the verifier's messages about lists, maps and counts that contradict their contents; test_verifier.c has the
 * rest. Each is broken in one place, checked and repaired. Where another rule of the verifier would report the fault
 * first, the test calls the check directly. */
#include "tests/support/services.h"

#include "tests/inside.h"

static fixture f;

static int open_heap(void **state) {
  (void)state;
  cradle_options options;
  fixture_options(&f, &options);
  fixture_unstress(&options);
  options.verify = false;
  options.gc_threads = 0; /* tests stop marking in the middle */
  fixture_open_with(&f, &options);
  for (uint32_t i = 0; i < T_SERVICES - T_COUNT; i++)
    assert_int_equal(cradle_type_add(f.heap, &service_types[i]), T_COUNT + i);
  return 0;
}

static int close_heap(void **state) {
  (void)state;
  assert_heap_sound(f.heap);
  fixture_close(&f);
  return 0;
}

static void assert_unsound(const char *words) {
  cradle_error error;
  if (cradle_heap_verify(f.heap, &error)) fail_msg("the verifier found nothing, where \"%s\" was planted", words);
  if (strstr(error.message, words) == NULL) fail_msg("the message is \"%s\", without \"%s\"", error.message, words);
}

/* Breaks one place, runs the verifier, and repairs the place. */
#define PLANT(place, broken, words) \
  do { \
    __typeof__(place) whole_ = (place); \
    (place) = (__typeof__(place))(broken); \
    assert_unsound(words); \
    (place) = whole_; \
  } while (0)

#define ADDRESS(object) ((uintptr_t)(object))

/* Checks the message of a check that the test called directly. */
static void assert_says(const char *said, const char *words) {
  if (said == NULL) fail_msg("the check found nothing, where \"%s\" was planted", words);
  assert_string_equal(said, words);
  fixture_log_misuse(said);
}

/* --- maps of addresses --- */

static void entries_of_maps_are_found(void **state) {
  (void)state;
  pair *p = new_pair(&f, NULL);
  CRADLE_ROOT(f.m, p);
  p = cradle_pin(f.m, p);
  crd_address_map *map = &f.heap->tables.pins.by_address;
  crd_address_entry *entry = crd_address_map_find(map, ADDRESS(p));
  crd_address_entry *behind = &map->entries[(size_t)(entry - map->entries + 1) % map->capacity];
  assert_int_equal(behind->address, 0);
  *behind = *entry;
  assert_unsound("an address is in a map twice [address_map.3]");
  *behind = (crd_address_entry){0, 0};
  /* An extra entry at its home slot makes the count wrong; elsewhere it cannot be found. */
  size_t lost = 0, uncounted = 0;
  for (size_t i = 0; i < map->capacity; i++) {
    if (map->entries[i].address != 0) continue;
    map->entries[i] = (crd_address_entry){ADDRESS(p) + 64, 9};
    const char *said = crd_address_map_check(map);
    bool is_home = strcmp(said, "the entries of a map are counted wrong") == 0;
    if (++*(is_home ? &uncounted : &lost) == 1)
      assert_unsound(is_home ? said : "an entry of a map lies behind an empty one [address_map.2]");
    map->entries[i] = (crd_address_entry){0, 0};
  }
  assert_int_equal(uncounted, 1);
  assert_true(lost > 0);
  cradle_unpin(f.m, p);
}

static void maps_have_room(void **state) {
  (void)state;
  crd_address_map map = {NULL, 0, 0};
  assert_true(crd_address_map_reserve(&map));
  for (uintptr_t address = 64; map.count < map.capacity / 4 * 3; address += 64) {
    assert_null(crd_address_map_check(&map));
    crd_address_map_insert(&map, address, 1);
  }
  assert_null(crd_address_map_check(&map));
  map.count++; /* count one entry more, and put it at the only slot where it is found */
  const char *says = "";
  for (size_t at = 0; at < map.capacity && strstr(says, "too full") == NULL; at++) {
    if (map.entries[at].address != 0) continue;
    map.entries[at] = (crd_address_entry){1 << 20, 1};
    says = crd_address_map_check(&map);
    map.entries[at].address = 0;
  }
  assert_says(says, "a map is too full [address_map.1]");
  crd_address_map_fini(&map);
}

/* --- lists of spans --- */

static void partial_lists_have_what_has_room(void **state) {
  (void)state;
  string *text = cradle_new_array(f.m, T_STRING, 100);
  CRADLE_ROOT(f.m, text);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  assert_heap_sound(f.heap); /* this also retires the allocators */
  crd_old *old = inside_old(f.heap);
  crd_class_spans *spans = &old->spans[old_span_of(old, ADDRESS(text))->size_class];
  uint32_t partial = spans->partial;
  assert_int_not_equal(partial, PAGE_NONE);
  assert_int_equal(spans->open, PAGE_NONE);
  PLANT(spans->partial, PAGE_NONE, "a span with room is not in its partial list [span.3]");
  PLANT(arenas_page(&old->arenas, partial)->next, partial, "a partial list has a span twice [span.3]");
  spans->open = partial;
  assert_says(crd_old_check(old), "a partial list holds the open span of its class [span.3]");
  spans->open = PAGE_NONE;
}

static void the_list_of_young_large_objects_has_no_others(void **state) {
  (void)state;
  string *large = cradle_new_array(f.m, T_STRING, 1 << 20);
  CRADLE_ROOT(f.m, large);
  pair *p = new_pair(&f, NULL);
  CRADLE_ROOT(f.m, p);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  large = cradle_new_array(f.m, T_STRING, 1 << 20);
  crd_old *old = inside_old(f.heap);
  PLANT(old->young_large, old_span_of(old, ADDRESS(p))->head,
        "the list of young large objects has another one, or one twice [large.1]");
  uint32_t page = old->young_large;
  PLANT(arenas_page(&old->arenas, page)->next, page,
        "the list of young large objects has another one, or one twice [large.1]");
}

static void large_objects_are_recounted(void **state) {
  (void)state;
  string *large = cradle_new_array(f.m, T_STRING, 1 << 20);
  CRADLE_ROOT(f.m, large);
  crd_old *old = inside_old(f.heap);
  PLANT(old->young_large, PAGE_NONE, "a young large object is not in its list [large.1]");
  PLANT(old->large_bytes, old->large_bytes - PAGE_BYTES,
        "the bytes of large objects do not match their pages [large.2]");
}

/* --- others --- */

/* Writes a word below the watermark without cradle_peek, while marking has not reached the object that it refers to. */
static void unchanged_words_refer_to_what_is_marked(void **state) {
  (void)state;
  pair *list = NULL;
  CRADLE_ROOT(f.m, list);
  cradle_push(f.m, NULL);
  for (int i = 0; i < 20000; i++) list = new_pair(&f, list);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  f.heap->options.pause_ns = 1;
  (void)cradle_collect_step(f.m, 0);
  assert_int_equal(inside_major(f.heap)->phase, MAJOR_MARKING);
  pair *unmarked = list;
  while (unmarked != NULL && old_is_marked(inside_old(f.heap), ADDRESS(unmarked))) unmarked = unmarked->first;
  assert_non_null(unmarked);
  assert_true(f.m->shadow_watermark > f.m->shadow_base);
  PLANT(f.m->shadow_base[0], ADDRESS(unmarked),
        "a shadow-stack word that counts as unchanged refers to an object that marking has not seen (no cradle_peek?) "
        "[mutator.6]");
  cradle_pop(f.m);
}

/* An object that waits in a queue, while a list of others is marked before it. */
static void waiting_objects_that_marking_has_passed_are_marked(void **state) {
  (void)state;
  pair *list = NULL;
  CRADLE_ROOT(f.m, list);
  cradle_finalizer_register(f.m, new_pair(&f, NULL), CRADLE_FINALIZER_QUEUES);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  for (int i = 0; i < 20000; i++) list = new_pair(&f, list);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  f.heap->options.pause_ns = 1;
  (void)cradle_collect_step(f.m, 0);
  crd_queue *queue = &inside_services(f.heap)->queues[CRADLE_FINALIZER_QUEUES - 1];
  assert_int_equal(inside_major(f.heap)->phase, MAJOR_MARKING);
  assert_int_equal(queue->unmarked, 1);
  PLANT(queue->unmarked, 0,
        "an object that waits in a finalizer queue, and that marking has passed, is not marked [finalizer.5]");
}

/* The same in a root stack that is suspended. */
static void suspended_roots_refer_to_what_is_marked(void **state) {
  (void)state;
  pair *list = NULL;
  CRADLE_ROOT(f.m, list);
  cradle_root_stack *stack = cradle_root_stack_new(f.m);
  cradle_root_stack_switch(f.m, stack);
  cradle_push(f.m, NULL);
  cradle_root_stack_switch(f.m, NULL);
  for (int i = 0; i < 20000; i++) list = new_pair(&f, list);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  f.heap->options.pause_ns = 1;
  (void)cradle_collect_step(f.m, 0);
  cradle_root_stack_switch(f.m, stack);
  cradle_root_stack_switch(f.m, NULL);
  (void)cradle_collect_step(f.m, 0);
  assert_int_equal(inside_major(f.heap)->phase, MAJOR_MARKING);
  pair *unmarked = list;
  while (unmarked != NULL && old_is_marked(inside_old(f.heap), ADDRESS(unmarked))) unmarked = unmarked->first;
  assert_non_null(unmarked);
  PLANT(stack->shadow.base[0], ADDRESS(unmarked),
        "a root of a suspended root stack refers to an object that marking has not seen: it was written while the root "
        "stack was suspended [root_stack.3]");
  cradle_root_stack_free(stack);
}

static void root_stacks_keep_their_rings(void **state) {
  (void)state;
  cradle_root_stack *stack = cradle_root_stack_new(f.m);
  PLANT(stack->mutator, NULL, "a root stack is in a ring that is not its own [root_stack.1]");
  PLANT(stack->looked_at, 1, "a root stack is half looked at and not the first [root_stack.4]");
  PLANT(*stack->scoped.base, 8, "the word below a root stack's scoped roots is not 0 [root_stack.5]");
  PLANT(stack->shadow.top, stack->shadow.limit + 1, "a root stack's bounds are out of order [word_stack.1]");
  cradle_root_stack whole = *stack;
  PLANT(f.heap->space.mutators->running, stack,
        "a root stack runs and is not in the ring of those that ran [root_stack.1]");
  *stack = whole; /* its tops became those of the mutator */
  cradle_root_stack_free(stack);
}

static void top_is_below_what_is_to_be_seen(void **state) {
  (void)state;
  PLANT(inside_local(f.heap)->look, f.m->top - 8, "top is above the next look [nursery.4]");
  PLANT(f.heap->space.locals.sample.point, ADDRESS(inside_nursery(f.heap)->slack_end),
        "there is a sample point without a sampler [sample.1]");
}

static void a_mutator_has_its_chunk_and_its_thread(void **state) {
  (void)state;
  static const char chunk[] = "a mutator's chunk is another's, or lies outside of the nursery [local.1]";
  PLANT(inside_local(f.heap)->free, &inside_local(f.heap)->left, chunk);
  PLANT(inside_local(f.heap)->end, inside_nursery(f.heap)->end + 8, chunk);
  PLANT(f.heap->space.mutators->state, MUTATOR_PARKED, "a mutator's state and its thread do not agree [mutator.5]");
}

/* Called directly, because the check of the object's header would report this first. */
static void weak_objects_in_lists_have_the_flag(void **state) {
  (void)state;
  weak *w = new_weak(&f, NULL);
  CRADLE_ROOT(f.m, w);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  uintptr_t at = 0;
  assert_null(crd_registry_check(inside_services(f.heap), &at));
  w->header &= ~HEADER_WEAK_FLAG;
  assert_says(crd_registry_check(inside_services(f.heap), &at), "a registered object lacks the weak flag [services.2]");
  w->header |= HEADER_WEAK_FLAG;
}

#define WITH_HEAP(test) cmocka_unit_test_setup_teardown(test, open_heap, close_heap)

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_HEAP(entries_of_maps_are_found),
      cmocka_unit_test(maps_have_room),
      WITH_HEAP(partial_lists_have_what_has_room),
      WITH_HEAP(the_list_of_young_large_objects_has_no_others),
      WITH_HEAP(large_objects_are_recounted),
      WITH_HEAP(unchanged_words_refer_to_what_is_marked),
      WITH_HEAP(waiting_objects_that_marking_has_passed_are_marked),
      WITH_HEAP(suspended_roots_refer_to_what_is_marked),
      WITH_HEAP(root_stacks_keep_their_rings),
      WITH_HEAP(top_is_below_what_is_to_be_seen),
      WITH_HEAP(a_mutator_has_its_chunk_and_its_thread),
      WITH_HEAP(weak_objects_in_lists_have_the_flag),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
